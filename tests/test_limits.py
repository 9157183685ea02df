"""Every bound of `fsm.Limits`, and that memory and output stay within it."""

from __future__ import annotations

import dataclasses
import json

import pytest

import fsm
from helpers import STOP, a_text, anthropic, chat, ended, ev, frag, frame, kinds, message, push_all, reason, same_everywhere, start, text, think, tool

SMALL = fsm.Limits(content_bytes=100)


def test_defaults():
    assert dataclasses.asdict(fsm.Limits()) == {"content_bytes": 1 << 20, "event_bytes": 16 << 20, "blocks": 4096, "depth": 256, "anomalies": 100}


@pytest.mark.parametrize("name", ["content_bytes", "event_bytes", "blocks", "depth", "anomalies"])
@pytest.mark.parametrize("value", [0, -1])
def test_a_bound_is_positive(name: str, value: int):
    with pytest.raises(ValueError, match=f"Limits.{name} is .* above 0"):
        fsm.Limits(**{name: value})


# ---------------------------------------------------------------- content


def test_over_one_megabyte_is_cancelled(engine: str):
    chunk = "x" * 1024
    r = fsm.Reconstructor("canonical", engine=engine)
    for _ in range(1024):
        r.push(text(chunk))
    assert r.state == "STREAMING", "exactly 1 MiB is within the bound"
    r.push(text("x"))
    outcome = ended(r)
    assert (outcome.state, outcome.error.type, outcome.error.retry) == ("CANCELLED", "content_overflow", "never")
    assert outcome.metrics.cancellation_reason == "content_overflow"
    assert "Limits.content_bytes" in outcome.error.message


@pytest.mark.parametrize("events", [
    [text("x" * 101)], [think("x" * 101)], [ev("signature_delta", signature="x" * 101)], [start("t", "X"), frag('"' + "x" * 101)], [start("t", "x" * 101)],
    [start("x" * 101, "X")], [text("x" * 60), think("x" * 60)], [text("é" * 51)], [ev("opaque_block", block={"type": "v", "data": "x" * 101})],
    [start("t", "X", input='{"a":"' + "x" * 101 + '"}')], [start("t", "X", fragment="x" * 101)],
], ids=["text", "thinking", "signature", "arguments", "name", "id", "sum", "utf8", "opaque", "input", "start with fragment"])
def test_everything_kept_is_counted(engine: str, events: list):
    assert push_all(engine, [*events, STOP], limits=SMALL)[1].state == "CANCELLED"


@pytest.mark.parametrize("body", [
    anthropic(*a_text(0, "x" * 60, "y" * 60)), chat({"content": "x" * 60}, {"content": "y" * 60}), chat({"reasoning_content": "x" * 60}, {"content": "y" * 60}),
    chat(tool(0, "t", "X", '{"a":"' + "x" * 60), tool(0, args="y" * 60 + '"}')),
], ids=["anthropic", "chat", "reasoning", "arguments"])
def test_the_bound_holds_on_the_wire_at_every_split(engine: str, body: bytes):
    got = same_everywhere(engine, body, limits=SMALL)
    assert (got["state"], got["error"]["type"], got["message"]) == ("CANCELLED", "content_overflow", None)


def test_a_late_fragment_for_a_sealed_call_is_counted(engine: str):
    events = [start("a", "A", index=0), frag('{"x":1}', index=0), start("b", "B", index=1), *[frag("y" * 20, index=0) for _ in range(10)]]
    assert push_all(engine, events, limits=SMALL)[1].state == "CANCELLED"


def test_a_restatement_is_counted(engine: str):
    """A SNAPSHOT is kept until the end: it is accumulated content."""
    snapshot = {"choices": [{"index": 0, "message": {"content": "x" * 500}, "finish_reason": "stop"}]}
    assert same_everywhere(engine, frame(snapshot) + frame("[DONE]"), "openai-chat", limits=SMALL)["state"] == "CANCELLED"


def test_a_filled_bound_does_not_cut_the_message(engine: str):
    assert message(engine, [text("x" * 100), STOP], limits=SMALL).text == "x" * 100


# ---------------------------------------------------------------- events, blocks, depth, anomalies


def test_one_event_over_its_size(engine: str):
    got = same_everywhere(engine, chat({"content": "ok"}, {"content": "x" * 3000}), "openai-chat", limits=fsm.Limits(event_bytes=1000))
    assert (got["state"], got["error"]["type"], got["partial"]["content"]) == ("CANCELLED", "event_overflow", [{"type": "text", "text": "ok"}])


def test_too_many_blocks(engine: str):
    events = [e for i in range(6) for e in (text(f"{i}"), think(f"{i}"))]
    outcome = push_all(engine, events, limits=fsm.Limits(blocks=5))[1]
    assert (outcome.state, outcome.error.type) == ("CANCELLED", "block_overflow")
    assert message(engine, [*events[:5], STOP], limits=fsm.Limits(blocks=5)).content


def test_calls_count_as_blocks(engine: str):
    assert push_all(engine, [start(f"t{i}", "X") for i in range(10)], limits=fsm.Limits(blocks=5))[1].error.type == "block_overflow"


def test_too_deep_arguments_make_an_invalid_call_and_the_stream_goes_on(engine: str):
    deep = '{"a":' * 6 + "1" + "}" * 6
    m = message(engine, [start("t", "X"), frag(deep), text("on"), STOP], limits=fsm.Limits(depth=5))
    assert (m.content[0]["invalid"], m.content[0]["raw_input"], m.text) == ("too_deep", deep, "on")


def test_anomalies_are_all_counted_and_the_first_kept(engine: str):
    outcome = push_all(engine, [text("x"), reason("stop"), *[text("late")] * 500, STOP], limits=fsm.Limits(anomalies=7))[1]
    assert (len(outcome.anomalies), outcome.anomalies.counts, outcome.anomalies.total) == (7, {"content_after_stop": 500}, 500)


def test_anomalies_say_what_and_where(engine: str):
    body = chat({"content": "x"}, done=False) + frame({"choices": [{"index": 0, "delta": {"content": "LATE"}}]}) + frame("[DONE]")
    anomaly, = fsm.reconstruct(body, engine=engine).anomalies
    assert anomaly.to_dict() == {"kind": "content_after_stop", "offset": body.index(b'data: {"choices": [{"index": 0, "delta": {"content": "LATE'), "event": 3,
                                 "detail": anomaly.detail}
    assert "LATE" in anomaly.detail


def test_details_of_anomalies_are_short(engine: str):
    outcome = push_all(engine, [text("x"), reason("stop"), text("y" * 100_000), start("t" * 9000, "n" * 9000), STOP])[1]
    assert max(len(a.detail) for a in outcome.anomalies) < 1000


def test_stop_reasons_cannot_pile_up(engine: str):
    r = fsm.Reconstructor("canonical", engine=engine)
    for i in range(1000):
        r.push(reason(f"r{i}"))
    assert len(json.dumps(r.snapshot())) < 10_000
    assert ended(r).state == "COMPLETED"


def test_the_outcome_does_not_outgrow_the_body(engine: str):
    """An error message, an anomaly, a partial: none repeats the body many times."""
    body = chat(*[tool(0, f"id{i}", None, "x" * 50) for i in range(300)], finish="tool_calls")
    assert len(json.dumps(fsm.reconstruct(body, engine=engine).to_dict())) < 3 * len(body)


def test_kinds_of_anomalies_are_declared(engine: str):
    from fsm import _tables as T

    assert kinds(push_all(engine, [text("x"), reason("a"), reason("b"), text("z"), STOP])[1]) <= set(T.ANOMALIES)
