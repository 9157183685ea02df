"""Token counts: the latest non-zero value within a message, the sum across messages."""

from __future__ import annotations

import pytest

import fsm
from helpers import STOP, a_text, anthropic, chat, ev, frame, kinds, message, of, push_all, same_everywhere, text, usage


def totals(engine: str, *reports: dict) -> dict:
    return message(engine, [text("x"), *[ev("usage", usage=r) for r in reports], STOP]).usage.to_dict()


def test_the_latest_non_zero_value_counts(engine: str):
    assert totals(engine, {"input_tokens": 10, "output_tokens": 1}, {"output_tokens": 7}, {"output_tokens": 9}) == {"input_tokens": 10, "output_tokens": 9}


@pytest.mark.parametrize("nothing", [0, None, "x", -5, True, [], 1.5])
def test_nothing_clobbers_a_count(engine: str, nothing: object):
    assert totals(engine, {"input_tokens": 10, "output_tokens": 3}, {"input_tokens": nothing, "output_tokens": 4}) == {"input_tokens": 10, "output_tokens": 4}


def test_usage_null_in_a_later_chunk(engine: str):
    body = chat({"content": "x"}, usage={"prompt_tokens": 5, "completion_tokens": 6}, done=False) + frame({"choices": [], "usage": None}) + frame("[DONE]")
    assert same_everywhere(engine, body, "openai-chat")["message"]["usage"] == {"input_tokens": 5, "output_tokens": 6}


def test_unknown_counts_are_absent(engine: str):
    m = message(engine, [text("x"), STOP])
    assert (m.usage.input_tokens, m.usage.to_dict()) == (None, {"input_tokens": 0, "output_tokens": 0})


def test_anthropic_fields(engine: str):
    start = {"input_tokens": 1000, "cache_read_input_tokens": 800, "cache_creation_input_tokens": 50, "output_tokens": 1}
    body = frame({"type": "message_start", "message": {"usage": start}}) + b"".join(frame(e) for e in a_text(0, "x")) + \
        frame({"type": "message_delta", "delta": {"stop_reason": "end_turn"},
               "usage": {"input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 120, "output_tokens_details": {"thinking_tokens": 20}}}) + \
        frame({"type": "message_stop"})
    assert same_everywhere(engine, body, "anthropic")["message"]["usage"] == {
        "input_tokens": 1000, "output_tokens": 120, "cache_read_input_tokens": 800, "cache_creation_input_tokens": 50, "reasoning_tokens": 20}


@pytest.mark.parametrize("cached", [{"prompt_tokens_details": {"cached_tokens": 40}}, {"prompt_cache_hit_tokens": 40}, {"cached_tokens": 40}])
def test_openai_fields(engine: str, cached: dict):
    body = chat({"content": "x"}, usage={"prompt_tokens": 100, "completion_tokens": 30, "completion_tokens_details": {"reasoning_tokens": 10}, **cached})
    assert same_everywhere(engine, body, "openai-chat")["message"]["usage"] == {
        "input_tokens": 100, "output_tokens": 30, "cache_read_input_tokens": 40, "reasoning_tokens": 10}


def test_the_vendors_own_object_is_kept(engine: str):
    raw = {"prompt_tokens": 1, "completion_tokens": 2, "cost": 0.1}
    assert fsm.reconstruct(chat({"content": "x"}, usage=raw), engine=engine).message.usage.raw == raw


def test_a_change_of_basis_is_an_anomaly(engine: str):
    outcome = push_all(engine, [text("x"), usage(input_tokens=1000), usage(input_tokens=200, cache_read_tokens=800), STOP])[1]
    assert "usage_basis_changed" in kinds(outcome)


def test_the_basis_of_each_dialect(engine: str):
    assert fsm.reconstruct(anthropic(*a_text(0, "x")), engine=engine).message.usage.basis == "excludes_cached"
    assert fsm.reconstruct(chat({"content": "x"}, usage={"prompt_tokens": 1}), engine=engine).message.usage.basis == "includes_cached"


def test_each_report_is_told(engine: str):
    told, _ = push_all(engine, [usage(input_tokens=1), text("x"), usage(output_tokens=2), STOP])
    assert len(of(fsm.UsageUpdated, told)) == 2
    assert of(fsm.UsageUpdated, push_all(engine, [usage(input_tokens=1), STOP], deltas="none")[0]) == []


def test_the_running_count_is_visible(engine: str):
    r = fsm.Reconstructor("canonical", engine=engine)
    r.push(usage(input_tokens=7))
    assert r.usage.input_tokens == 7


# ---------------------------------------------------------------- across messages


def test_the_ledger_adds(engine: str):
    ledger = fsm.UsageLedger()
    for given, cached in ((1000, 800), (600, 0)):
        ledger.add(message(engine, [usage(input_tokens=given, cache_read_tokens=cached, output_tokens=10), text("x"), STOP]).usage)
    assert ledger.total.to_dict() == {"input_tokens": 1600, "output_tokens": 20, "cache_read_input_tokens": 800}


def test_cost_and_cache_hit_rate_use_the_totals():
    ledger = fsm.UsageLedger()
    for given in (1000, 600):
        ledger.add(fsm.Usage(input_tokens=given, output_tokens=100, cache_read_input_tokens=given // 2, basis="includes_cached"))
    assert ledger.cost({"input_tokens": 2.0, "cache_read_input_tokens": 0.5, "output_tokens": 10.0}) == pytest.approx((800 * 2 + 800 * 0.5 + 200 * 10) / 1e6)
    assert ledger.total.cached_share == 0.5


def test_cost_where_input_excludes_cached():
    ledger = fsm.UsageLedger()
    ledger.add(fsm.Usage(input_tokens=200, cache_read_input_tokens=800, basis="excludes_cached"))
    assert ledger.cost({"input_tokens": 1.0, "cache_read_input_tokens": 0.1}) == pytest.approx((200 + 80) / 1e6)
    assert ledger.total.cached_share == 0.8


def test_a_mixed_basis_gives_no_rate():
    ledger = fsm.UsageLedger()
    ledger.add(fsm.Usage(input_tokens=1, basis="includes_cached"))
    ledger.add(fsm.Usage(input_tokens=1, basis="excludes_cached"))
    assert (ledger.total.basis, ledger.total.cached_share) == ("mixed", None)


def test_the_ledger_leaves_the_messages_alone():
    one = fsm.Usage(input_tokens=1)
    ledger = fsm.UsageLedger()
    ledger.add(one)
    ledger.add(fsm.Usage(input_tokens=2))
    assert (one.input_tokens, ledger.total.input_tokens) == (1, 3)


def test_usage_as_json():
    usage_ = fsm.Usage(input_tokens=1, output_tokens=2, reasoning_tokens=0)
    assert fsm.Usage.from_dict(usage_.to_dict()).to_dict() == usage_.to_dict()
