"""Blocks: how deltas become them, where they end, in which order they stand (DESIGN section 5, "Blocks")."""

from __future__ import annotations

import pytest

import fsm
from helpers import (STOP, a_block, a_delta, a_stop, a_text, a_tool, anthropic, chat, ev, feed_all, frag, kinds, lines, message, of, push_all, reason,
                     same_everywhere, sign, start, text, think, tool)


def shape(content: list[dict]) -> list[tuple]:
    return [(b["type"], b.get("text") or b.get("thinking") or b.get("name")) for b in content]


# ---------------------------------------------------------------- switches of kind


def test_text_ends_thinking(engine: str):
    told, outcome = push_all(engine, [think("a"), text("b"), STOP])
    assert shape(outcome.message.content) == [("thinking", "a"), ("text", "b")]
    order = [type(e).__name__ for e in told if isinstance(e, (fsm.BlockFinished, fsm.TextDelta))]
    assert order == ["BlockFinished", "TextDelta", "BlockFinished"], "thinking is archived before the text begins"


def test_thinking_ends_text(engine: str):
    assert shape(message(engine, [text("a"), think("b"), text("c"), STOP]).content) == [("text", "a"), ("thinking", "b"), ("text", "c")]


@pytest.mark.parametrize("before", [text("a"), think("a")])
def test_a_tool_start_ends_text_and_thinking(engine: str, before: dict):
    told, _ = push_all(engine, [before, start("t", "X")])
    assert len(of(fsm.BlockFinished, told[: told.index(of(fsm.BlockStarted, told)[1])])) == 1


def test_adjacent_deltas_make_one_block(engine: str):  # R-10 R-24
    m = message(engine, [*[think(c) for c in "abc"], *[text(c) for c in "def"], STOP])
    assert shape(m.content) == [("thinking", "abc"), ("text", "def")]


def test_the_order_is_that_of_the_switches(engine: str):  # R-06 R-94
    events = [think("1"), text("2"), start("a", "A"), text("3"), think("4"), start("b", "B"), text("5"), STOP]
    told, outcome = push_all(engine, events)
    want = [("thinking", "1"), ("text", "2"), ("tool_use", "A"), ("text", "3"), ("thinking", "4"), ("tool_use", "B"), ("text", "5")]
    assert shape(outcome.message.content) == want
    assert sorted(e.index for e in of(fsm.BlockFinished, told)) == list(range(7)), "every block is archived once"


def test_empty_deltas_make_no_block(engine: str):
    assert message(engine, [text(""), think(""), text("x"), text(""), STOP]).content == [{"type": "text", "text": "x"}]


def test_an_empty_anthropic_text_block_is_left_out(engine: str):
    assert shape(same_everywhere(engine, anthropic(*a_text(0), *a_text(1, "x")), "anthropic")["message"]["content"]) == [("text", "x")]


# ---------------------------------------------------------------- thinking and its signature


def test_pieces_of_a_signature_join(engine: str):
    assert message(engine, [think("a"), sign("sig_"), sign("abc"), text("b"), STOP]).content[0]["signature"] == "sig_abc"


def test_a_signature_before_its_thinking(engine: str):  # R-11 R-12
    assert message(engine, [sign("s1"), think("a"), STOP]).content == [{"type": "thinking", "thinking": "a", "signature": "s1"}]


def test_a_late_signature_finds_its_thinking(engine: str):  # R-12 rule 3
    outcome = push_all(engine, [think("a"), text("b"), sign("s"), sign("1"), STOP])[1]
    assert outcome.message.content == [{"type": "thinking", "thinking": "a", "signature": "s1"}, {"type": "text", "text": "b"}]
    assert "late_signature" in kinds(outcome)


def test_a_signed_closed_block_never_changes(engine: str):  # R-12 R-23
    thinking = {"type": "thinking", "thinking": "", "signature": ""}
    body = anthropic(*a_block(0, thinking, {"type": "thinking_delta", "thinking": "a"}, {"type": "signature_delta", "signature": "s1"}),
                     a_delta(0, {"type": "signature_delta", "signature": "s2"}), a_delta(0, {"type": "thinking_delta", "thinking": "b"}), *a_text(1, "x"))
    got = same_everywhere(engine, body, "anthropic")
    assert got["message"]["content"][0] == {"type": "thinking", "thinking": "a", "signature": "s1"}
    assert [a["kind"] for a in got["anomalies"]] == ["late_delta", "late_delta"]


def test_thinking_bytes_are_those_received(engine: str):
    odd = "  \n\u200b\ufeff \u0000é\U0001f9e0\\n\t "
    m = message(engine, [think(odd), sign("AbC+/=="), STOP])
    assert m.content == [{"type": "thinking", "thinking": odd, "signature": "AbC+/=="}]


def test_thinking_without_text_keeps_its_signature(engine: str):
    body = anthropic(*a_block(0, {"type": "thinking", "thinking": "", "signature": ""}, {"type": "signature_delta", "signature": "s"}), *a_text(1, "x"))
    assert same_everywhere(engine, body, "anthropic")["message"]["content"][0] == {"type": "thinking", "thinking": "", "signature": "s"}


def test_redacted_thinking_is_carried_through(engine: str):  # R-12 R-15
    block = {"type": "redacted_thinking", "data": "EvAB=="}
    assert same_everywhere(engine, anthropic(*a_block(0, block), *a_text(1, "x")), "anthropic")["message"]["content"][0] == block


# ---------------------------------------------------------------- indexes


def test_interleaved_indexes_never_splice(engine: str):
    body = anthropic(*a_text(0, "a", stop=False), *a_text(1, "x", stop=False), a_delta(0, {"type": "text_delta", "text": "b"}),
                     a_delta(1, {"type": "text_delta", "text": "y"}), a_stop(0), a_stop(1))
    assert shape(same_everywhere(engine, body, "anthropic")["message"]["content"]) == [("text", "ab"), ("text", "xy")]


def test_a_closed_index_never_changes(engine: str):
    body = anthropic(*a_text(0, "ok"), a_delta(0, {"type": "text_delta", "text": "LATE"}), *a_tool(1, "t", "X", '{"a":1}'),
                     a_delta(1, {"type": "input_json_delta", "partial_json": '{"a":2}'}), stop="tool_use")
    got = same_everywhere(engine, body, "anthropic")
    assert (got["message"]["content"][0]["text"], got["message"]["content"][1]["input"]) == ("ok", {"a": 1})
    assert [a["kind"] for a in got["anomalies"]] == ["late_delta", "late_delta"]


def test_anthropic_blocks_stand_in_the_order_of_their_index(engine: str):  # R-15 rule 1
    assert shape(same_everywhere(engine, anthropic(*a_text(2, "c"), *a_text(0, "a"), *a_text(1, "b")), "anthropic")["message"]["content"]) == \
        [("text", "a"), ("text", "b"), ("text", "c")]


def test_elsewhere_an_index_is_only_a_label(engine: str):  # R-06 rule 1
    body = chat(tool(5, "a", "A", "{}"), tool(2, "b", "B", "{}"), finish="tool_calls")
    assert [b["id"] for b in same_everywhere(engine, body, "openai-chat")["message"]["content"]] == ["a", "b"]


def test_a_start_on_a_closed_index_opens_a_new_block(engine: str):  # rule 2
    assert shape(same_everywhere(engine, anthropic(*a_text(0, "a"), *a_text(0, "b")), "anthropic")["message"]["content"]) == [("text", "a"), ("text", "b")]


def test_a_start_on_an_open_index_closes_what_is_there(engine: str):  # rule 2
    body = anthropic(*a_tool(0, "t1", "X", '{"a":1}', stop=False), *a_tool(0, "t2", "Y", '{"b":2}'), stop="tool_use")
    got = same_everywhere(engine, body, "anthropic")
    assert [(b["id"], b["input"]) for b in got["message"]["content"]] == [("t1", {"a": 1}), ("t2", {"b": 2})]
    assert "missing_stop" in kinds(got)


def test_a_delta_opens_its_block(engine: str):  # R-22 R-42
    body = anthropic(a_delta(0, {"type": "text_delta", "text": "hi"}), a_stop(0))
    got = same_everywhere(engine, body, "anthropic")
    assert shape(got["message"]["content"]) == [("text", "hi")]
    assert "implicit_start" in kinds(got)


def test_a_stop_for_nothing_is_noise(engine: str):
    got = same_everywhere(engine, anthropic(a_stop(9), *a_text(0, "x")), "anthropic")
    assert (shape(got["message"]["content"]), kinds(got)) == ([("text", "x")], {"unknown_stop"})


def test_explicit_bounds_end_a_block(engine: str):  # R-35 R-27
    told = feed_all(fsm.Reconstructor("anthropic", engine=engine), anthropic(*a_text(0, "x"), end=False))
    assert of(fsm.BlockFinished, told)[0].block == {"type": "text", "text": "x"}


def test_delta_only_protocols_are_tolerated(engine: str):
    assert shape(same_everywhere(engine, chat({"content": "a"}, {"content": "b"}), "openai-chat")["message"]["content"]) == [("text", "ab")]


# ---------------------------------------------------------------- the message's own start and what follows its end


def test_a_second_start_before_content_refreshes_metadata(engine: str):  # R-42 rule 13
    m = message(engine, [ev("message_start", id="a", model="m1"), ev("message_start", id="b"), text("x"), STOP])
    assert (m.id, m.model) == ("b", "m1")


def test_a_second_start_after_content_is_an_error(engine: str):  # R-42 rule 13
    outcome = push_all(engine, [ev("message_start", id="a"), text("x"), ev("message_start", id="b"), STOP])[1]
    assert (outcome.state, outcome.error.type) == ("ERRORED", "stream_restarted")


def test_nothing_is_taken_after_the_stated_end(engine: str):
    outcome = push_all(engine, [text("hi"), reason("stop"), text("LATE"), think("LATE"), start("t", "LATE"), frag('{"a":1}'), STOP])[1]
    assert outcome.message.content == [{"type": "text", "text": "hi"}]
    assert outcome.anomalies.counts["content_after_stop"] == 4


def test_nothing_is_taken_after_the_end(engine: str):  # R-19 R-91
    outcome = push_all(engine, [text("hi"), STOP, text("LATE"), ev("usage", usage={"output_tokens": 9}), STOP])[1]
    assert (outcome.message.text, outcome.message.usage.output_tokens) == ("hi", None)
    assert outcome.anomalies.counts == {"no_stop_reason": 1, "event_after_end": 3}


def test_usage_is_taken_after_the_stated_end(engine: str):
    assert message(engine, [text("hi"), reason("stop"), ev("usage", usage={"output_tokens": 9}), STOP]).usage.output_tokens == 9


def test_identical_deltas_are_both_kept(engine: str):  # R-39 rule 16
    """No chunk number, no evidence: `haha` is what the model said."""
    assert same_everywhere(engine, chat({"content": "ha"}, {"content": "ha"}), "openai-chat")["message"]["content"][0]["text"] == "haha"


# ---------------------------------------------------------------- one fold


def test_one_fold_for_every_way_in(engine: str):
    """Pushed by hand, as canonical lines and as two vendors' wires: the same content."""
    events = [text("Let me see."), start("t1", "Read"), frag('{"p":'), frag("1}"), reason("tool_use"), STOP]
    pushed = message(engine, events).content
    wires = {"canonical": lines(events), "anthropic": anthropic(*a_text(0, "Let me see."), *a_tool(1, "t1", "Read", '{"p":', "1}"), stop="tool_use"),
             "openai-chat": chat({"content": "Let me see."}, tool(0, "t1", "Read", '{"p":'), tool(0, args="1}"), finish="tool_calls")}
    for dialect, body in wires.items():
        assert same_everywhere(engine, body, dialect)["message"]["content"] == pushed, dialect


def test_replay_gives_the_same_blocks_one_by_one(engine: str):
    body = anthropic(*a_text(0, "x"), *a_tool(1, "t", "X", '{"a":1}'), stop="tool_use")
    finished = [[e.block for e in of(fsm.BlockFinished, feed_all(fsm.Reconstructor(engine=engine, deltas=d), body))] for d in ("none", "chunk", "each")]
    assert finished[0] == finished[1] == finished[2] == fsm.reconstruct(body, engine=engine).message.content


# ---------------------------------------------------------------- vendor blocks


def test_vendor_blocks_are_carried_through_unread(engine: str):  # R-15 rule 17
    block = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [{"url": "u", "n": 1}]}
    assert same_everywhere(engine, anthropic(*a_block(0, block)), "anthropic")["message"]["content"] == [block]


def test_a_vendor_block_that_streams_strange_deltas_is_left_out(engine: str):  # rule 17
    body = anthropic(*a_block(0, {"type": "hologram"}, {"type": "hologram_delta", "voxels": "01"}), *a_text(1, "x"))
    got = same_everywhere(engine, body, "anthropic")
    assert (shape(got["message"]["content"]), kinds(got)) == ([("text", "x")], {"unfolded_block"})


def test_a_refusal_is_a_block_of_its_own(engine: str):
    body = chat({"content": "a"}, {"refusal": "I "}, {"refusal": "won't"})
    assert same_everywhere(engine, body, "openai-chat")["message"]["content"] == [{"type": "text", "text": "a"}, {"type": "refusal", "refusal": "I won't"}]


def test_citations_stay_with_their_text(engine: str):
    cite = {"type": "char_location", "cited_text": "c"}
    body = anthropic(*a_block(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": "x"}, {"type": "citations_delta", "citation": cite}))
    assert same_everywhere(engine, body, "anthropic")["message"]["content"] == [{"type": "text", "text": "x", "citations": [cite]}]


# ---------------------------------------------------------------- <think> (rule 18)


@pytest.mark.parametrize(("content", "want"), [
    ("<think>why</think>so", [("thinking", "why"), ("text", "so")]),
    ("\n <think>why</think>so", [("thinking", "why"), ("text", "so")]),
    ("<think>why", [("thinking", "why")]),
    ("so <think>why</think>", [("text", "so <think>why</think>")]),
    ("<thinking>why</thinking>", [("text", "<thinking>why</thinking>")]),
    ("<think>a</think>b<think>c</think>", [("thinking", "a"), ("text", "b<think>c</think>")]),
    ("<thi", [("text", "<thi")]),
    ('<tool_call>{"name":"x"}</tool_call>', [("text", '<tool_call>{"name":"x"}</tool_call>')]),
])
def test_think_tags(engine: str, content: str, want: list):
    for size in (1, 3, len(content)):
        pieces = [{"content": content[i:i + size]} for i in range(0, len(content), size)]
        assert shape(same_everywhere(engine, chat(*pieces), "openai-chat")["message"]["content"]) == want, f"in pieces of {size}"


def test_anthropic_text_is_not_looked_through(engine: str):
    body = anthropic(*a_text(0, "<think>a</think>"))
    assert shape(same_everywhere(engine, body, "anthropic")["message"]["content"]) == [("text", "<think>a</think>")]


# ---------------------------------------------------------------- found by random sequences (tests/test_properties.py)


def test_a_block_without_a_type_is_no_block(engine: str):
    """A message's own views must work on whatever was carried through."""
    body = anthropic(a_delta(7, {"type": "citations_delta", "citation": {"n": 1}}), *a_text(0, "x"))
    m = fsm.reconstruct(body, engine=engine).message
    assert (m.text, m.thinking, m.tool_calls, m.invalid_calls) == ("x", "", [], [])
    assert all(isinstance(b.get("type"), str) for b in m.content)


@pytest.mark.parametrize("event", [ev("opaque_block", block={"x": 1}), ev("block_start", kind="opaque"), ev("block_start", kind="opaque", index=1, block={})])
def test_a_pushed_vendor_block_without_a_type(engine: str, event: dict):
    m = message(engine, [event, text("x"), STOP])
    assert m.text == "x"


def test_half_a_surrogate_pair_at_the_end_of_a_block_is_told_too(engine: str):
    told, outcome = push_all(engine, [ev("block_start", index=0, kind="text", text="a\ud83d"), think("b"), STOP])
    assert "".join(e.text for e in of(fsm.TextDelta, told)) == outcome.message.text == "a\ufffd"
