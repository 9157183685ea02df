"""dsh's closed union of chunks (founding document S3), as JSON lines and over SSE, on each engine, at every split."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import cut_at, frame, kinds, run, same_everywhere
from helpers import lines as json_lines
from tiers import disagreement

Chunk = dict[str, Any]
USAGE: Chunk = {"type": "usage", "usage": {"inputTokens": 8123, "outputTokens": 412}}


def start(index: int, kind: str) -> Chunk:
    return {"type": "block-start", "index": index, "blockType": kind}


def text(index: int, said: str) -> Chunk:
    return {"type": "text-delta", "index": index, "text": said}


def args(index: int, piece: str, id_: str = "call_a", **name: str) -> Chunk:
    return {"type": "tool-call-delta", "index": index, "id": id_, "argumentsDelta": piece, **name}


def end(index: int, **block: Any) -> Chunk:
    return {"type": "block-end", "index": index, **({"block": block} if block else {})}


def finish(kind: str = "stop", **more: Any) -> Chunk:
    return {"type": "finish", "reason": {"kind": kind}, **more}


def both(engine: str, *chunks: Chunk, dialect: str = "auto") -> dict[str, Any]:
    """The outcome of the chunks, which is the same as JSON lines, over SSE, and in the session log's envelope."""
    got = same_everywhere(engine, json_lines(list(chunks)), dialect)
    logged: list[Chunk] = [{"type": "assistant/chunk", "turn": 1, "step": 2, "chunk": c} for c in chunks]
    named = b"".join(frame({k: v for k, v in c.items() if k != "type"}, c["type"]) for c in chunks)
    for body in (b"".join(frame(c) for c in chunks), named, json_lines(logged)):
        other = same_everywhere(engine, body, dialect)
        assert {k: other[k] for k in ("state", "dialect", "message", "partial")} == {k: got[k] for k in ("state", "dialect", "message", "partial")}
    return got


CALL = '{"path": "src/main.ts", "content": "export const x = 1\\n"}'
WORKED = [start(1, "tool-call"), args(1, '{"pa', name="write_file"), args(1, 'th": "src/ma'), args(1, 'in.ts", "content": "expo'), args(1, "rt const x"),
          args(1, ' = 1\\n"}'), end(1, type="tool-call", id="call_a", name="write_file", arguments=CALL), USAGE, finish("tool-calls")]


def test_the_worked_example(engine: str):  # R-16 R-38
    got = both(engine, *WORKED)
    assert (got["dialect"], got["state"], kinds(got)) == ("dsh", "COMPLETED", set())
    assert got["message"]["content"] == [{"type": "tool_use", "id": "call_a", "name": "write_file",
                                          "input": {"path": "src/main.ts", "content": "export const x = 1\n"}}]
    assert (got["message"]["stop_reason"], got["message"]["usage"]) == ("tool_use", {"input_tokens": 8123, "output_tokens": 412})


def test_interleaved_blocks_are_kept_apart_and_in_order(engine: str):  # R-17 R-15
    got = both(engine, start(0, "text"), text(0, "Hi"), start(1, "tool-call"), start(2, "tool-call"), args(2, '{"x":', "b", name="g"),
               args(1, '{"p"', name="f"),
               args(2, "1}", "b"), args(1, ":2}"), text(0, " you"), end(0, type="text", text="Hi you"), end(1), end(2), USAGE, finish("tool-calls"))
    assert got["message"]["content"] == [{"type": "text", "text": "Hi you"}, {"type": "tool_use", "id": "call_a", "name": "f", "input": {"p": 2}},
                                         {"type": "tool_use", "id": "b", "name": "g", "input": {"x": 1}}]
    assert kinds(got) == set()


def test_deltas_without_bounds(engine: str):  # R-22
    got = both(engine, {"type": "reasoning-delta", "index": 0, "text": "T"}, text(1, "a"), args(2, "{}", name="f"), finish())
    assert [b["type"] for b in got["message"]["content"]] == ["thinking", "text", "tool_use"]


def test_nothing_arrives_after_finish(engine: str):  # R-18 R-19
    got = both(engine, text(0, "a"), USAGE, finish("stop", replayState={"v": 1}), text(0, "b"), USAGE)
    assert (got["message"]["content"], kinds(got) & {"event_after_end"}) == ([{"type": "text", "text": "a"}], {"event_after_end"})


def test_a_closed_index_never_changes(engine: str):  # R-23
    got = both(engine, start(0, "text"), text(0, "a"), end(0), text(0, "late"), finish())
    assert (got["message"]["content"], kinds(got)) == ([{"type": "text", "text": "a"}], {"late_delta"})


@pytest.mark.parametrize(("streamed", "stated", "input_"), [
    ([], CALL, json.loads(CALL)), (['{"x":1}'], None, {"x": 1}), (['{"x":1}'], '{"x": 1}', {"x": 1}), ([], {"x": 1}, {"x": 1}), (['{"x"'], '{"x":1}', {"x": 1}),
    ([], "{}", {}), (['{"x":1}'], {"x": 2}, None)])
def test_the_end_of_a_block_states_its_arguments(engine: str, streamed: list[str], stated: Any, input_: Chunk | None):  # R-21 rule 15
    block = {"type": "tool-call", "id": "call_a", "name": "f", "arguments": stated}
    (got,) = both(engine, start(0, "tool-call"), *[args(0, s, name="f") for s in streamed], end(0, **block), USAGE, finish("tool-calls"))["message"]["content"]
    assert got["input"] == input_ if input_ is not None else got["invalid"]


def test_text_and_reasoning_may_come_only_at_the_end(engine: str):
    got = both(engine, start(0, "reasoning"), end(0, type="reasoning", text="T", signature="s"), end(1, type="text", text="a"), finish())
    assert got["message"]["content"] == [{"type": "thinking", "thinking": "T", "signature": "s"}, {"type": "text", "text": "a"}]


@pytest.mark.parametrize("kind", ["max-tokens", "length"])
def test_max_tokens_drops_every_call(engine: str, kind: str):  # R-62
    got = both(engine, text(0, "a"), args(1, "{}", name="f"), end(1), finish(kind))
    assert (got["message"]["stop_reason"], len(got["message"]["content"]), len(got["message"]["dropped_calls"])) == ("max_tokens", 1, 1)


@pytest.mark.parametrize("chunks", [[text(0, "a")], [args(0, "{}", name="f"), end(0)], [text(0, "a"), USAGE]])
def test_without_finish_nothing_is_complete(engine: str, chunks: list[Chunk]):  # R-32
    assert both(engine, *chunks)["state"] == "ERRORED"


def test_a_failed_finish(engine: str):
    got = both(engine, text(0, "a"), {"type": "finish", "reason": {"kind": "error", "error": {"type": "overloaded", "message": "busy"}}})
    assert (got["state"], got["error"]["type"], got["error"]["message"]) == ("ERRORED", "overloaded", "busy")
    assert both(engine, text(0, "a"), finish("aborted"))["error"]["type"] == "aborted"


CHUNKS = st.one_of(
    st.builds(start, st.integers(0, 2), st.sampled_from(["text", "reasoning", "tool-call", "image"])),
    st.builds(text, st.integers(0, 2), st.sampled_from(["a", "", " ", "\u00e9", '"'])),
    st.builds(lambda i, t: {"type": "reasoning-delta", "index": i, "text": t}, st.integers(0, 2), st.sampled_from(["a", "b"])),
    st.builds(lambda i, p, n: args(i, p, **({"name": n} if n else {})), st.integers(0, 2),
              st.sampled_from(["{", "}", '"x":1', ""]), st.sampled_from(["f", ""])),
    st.builds(end, st.integers(0, 2)), st.builds(lambda i: end(i, type="text", text="a"), st.integers(0, 2)),
    st.sampled_from([USAGE, finish(), {"type": "text-delta"}, {"type": "block-end", "block": None}, {"type": "odd"}]))


@given(chunks=st.lists(CHUNKS, max_size=12), cuts=st.lists(st.integers(0, 2000), max_size=4), sse=st.booleans())
@settings(max_examples=120)
def test_the_tiers_agree_on_anything(tiers: tuple[str, ...], chunks: list[Chunk], cuts: list[int], sse: bool):  # R-52
    body = b"".join(frame(c) for c in chunks) if sse else json_lines(chunks)
    assert disagreement(cut_at(body, [c % (len(body) + 1) for c in cuts]), "dsh", tiers, deltas="each") is None


def test_canonical_lines_and_events_are_one(engine: str):
    """The normalized alphabet itself, as JSON lines and over SSE."""
    events: list[Chunk] = [{"type": "message_start", "id": "m"}, {"type": "thinking_delta", "text": "T"}, {"type": "text_delta", "text": "a"},
                           {"type": "tool_use_start", "id": "t", "name": "f"}, {"type": "tool_input_delta", "fragment": "{}"},
                           {"type": "usage", "usage": {"input_tokens": 1}}, {"type": "stop_reason", "reason": "tool_use"}, {"type": "message_stop"}]
    got = same_everywhere(engine, json_lines(events), "canonical")
    assert got["message"] == same_everywhere(engine, b"".join(frame(e) for e in events), "canonical")["message"]
    assert run(engine, json_lines(events[1:]))["dialect"] == "canonical"
