"""Cohere Chat v2, on each engine, at every split."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import cut_at, frame, kinds, run, same_everywhere
from tiers import disagreement

USAGE = {"billed_units": {"input_tokens": 5, "output_tokens": 3}, "cached_tokens": 16,
         "tokens": {"input_tokens": 60, "output_tokens": 25, "reasoning_tokens": 8}}


def event(type_: str, index: int | None = None, **message: Any) -> bytes:
    payload = {"type": type_, "index": index, "delta": {"message": message}}
    return frame({k: v for k, v in payload.items() if v is not None}, type_)


def content(index: int | None, kind: str, *pieces: str, end: bool = True) -> bytes:
    body = event("content-start", index, content={"type": kind, kind: ""})
    body += b"".join(event("content-delta", index, content={kind: p}) for p in pieces)
    return body + (event("content-end", index) if end else b"")


def call(index: int | None, id_: str | None, name: str | None, *pieces: str, end: bool = True) -> bytes:
    body = event("tool-call-start", index, tool_calls={"id": id_, "type": "function", "function": {"name": name, "arguments": ""}})
    body += b"".join(event("tool-call-delta", index, tool_calls={"function": {"arguments": p}}) for p in pieces)
    return body + (event("tool-call-end", index) if end else b"")


def plan(*pieces: str) -> bytes:
    return b"".join(event("tool-plan-delta", tool_plan=p) for p in pieces)


def stream(*parts: bytes, reason: str | None = "COMPLETE", done: bool = True, **end: Any) -> bytes:
    begun = {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": []}
    head = frame({"id": "m1", "type": "message-start", "delta": {"message": begun}}, "message-start")
    tail = frame({"type": "message-end", "delta": {"finish_reason": reason, "usage": USAGE, **end}}, "message-end") + (frame("[DONE]") if done else b"")
    return head + b"".join(parts) + tail


def test_everything_at_once(engine: str):
    """A plan, thinking, text with a citation, and two calls; content and calls both count from 0."""
    cited = {"start": 0, "end": 1, "text": "H", "sources": []}
    body = stream(content(0, "thinking", "Let", " me"), content(1, "text", "H", "i", end=False),
                  event("citation-start", 0, citations={**cited, "content_index": 1}), event("citation-end", 0),
                  event("content-end", 1), plan("I will", " call."), call(0, "a", "f", '{"x":', "1}"), call(1, "b", "g"), reason="TOOL_CALL")
    got = same_everywhere(engine, body)
    assert (got["dialect"], got["state"], kinds(got)) == ("cohere", "COMPLETED", set())
    assert got["message"]["content"] == [
        {"type": "thinking", "thinking": "Let me", "signature": None}, {"type": "text", "text": "Hi", "citations": [{**cited, "content_index": 1}]},
        {"type": "thinking", "thinking": "I will call.", "signature": None, "part": "tool_plan"},
        {"type": "tool_use", "id": "a", "name": "f", "input": {"x": 1}}, {"type": "tool_use", "id": "b", "name": "g", "input": {}}]
    assert got["message"]["usage"] == {"input_tokens": 60, "output_tokens": 25, "cache_read_input_tokens": 16, "reasoning_tokens": 8}
    assert (got["message"]["id"], got["message"]["stop_reason"], got["message"]["raw_stop_reason"]) == ("m1", "tool_use", "TOOL_CALL")


def test_interleaved_calls_and_content(engine: str):
    body = stream(content(0, "text", "a", end=False), call(0, "a", "f", '{"x"', end=False), call(1, "b", "f", '{"y"', end=False),
                  event("content-delta", 0, content={"text": "b"}), event("tool-call-delta", 0, tool_calls={"function": {"arguments": ":1}"}}),
                  event("tool-call-delta", 1, tool_calls={"function": {"arguments": ":2}"}}), event("content-end", 0),
                  event("tool-call-end", 0), event("tool-call-end", 1), reason="TOOL_CALL")
    got = same_everywhere(engine, body, "cohere")
    assert [b.get("text", b.get("input")) for b in got["message"]["content"]] == ["ab", {"x": 1}, {"y": 2}]


@pytest.mark.parametrize(("reason", "state", "stop", "calls"), [
    ("COMPLETE", "COMPLETED", "tool_use", 1), ("TOOL_CALL", "COMPLETED", "tool_use", 1), ("MAX_TOKENS", "COMPLETED", "max_tokens", 0),
    ("STOP_SEQUENCE", "COMPLETED", "tool_use", 1), (None, "COMPLETED", "tool_use", 1), ("ERROR", "ERRORED", None, 1), ("TIMEOUT", "ERRORED", None, 1)])
def test_the_finish_reasons(engine: str, reason: str | None, state: str, stop: str | None, calls: int):
    got = same_everywhere(engine, stream(call(0, "a", "f", "{}"), reason=reason), "cohere")
    message = got["message"] or got["partial"]
    assert (got["state"], message["stop_reason"], len(message["content"])) == (state, stop, calls)


def test_an_error_in_the_end(engine: str):
    got = same_everywhere(engine, stream(content(0, "text", "x"), reason="ERROR", error="the model broke"), "cohere")
    assert (got["state"], got["error"]["type"], got["error"]["message"]) == ("ERRORED", "error", "the model broke")


@pytest.mark.parametrize("cut", ["content-end", "message-end"])
def test_a_stream_that_breaks(engine: str, cut: str):
    body = stream(content(0, "text", "x"), call(0, "a", "f", "{}"))
    got = same_everywhere(engine, body[:body.index(b"event: " + cut.encode())], "cohere")
    assert got["state"] == "ERRORED"
    assert all(b.get("invalid") for b in got["partial"]["content"] if b["type"] == "tool_use")


def test_arguments_as_an_object_and_calls_in_a_list(engine: str):
    body = stream(event("tool-call-start", 0, tool_calls=[{"id": "a", "function": {"name": "f", "arguments": {"x": 12345678901234567890123}}}]))
    got = same_everywhere(engine, body, "cohere")
    assert got["message"]["content"] == [{"type": "tool_use", "id": "a", "name": "f", "input": {"x": 12345678901234567890123}}]


def test_a_whole_answer(engine: str):
    message = {"role": "assistant", "tool_plan": "P", "content": [{"type": "thinking", "thinking": "T"}, {"type": "text", "text": "x"}],
               "citations": [{"start": 0}],
               "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": '{"x":1}'}}]}
    got = same_everywhere(engine, json.dumps({"id": "m", "finish_reason": "TOOL_CALL", "message": message, "usage": USAGE}).encode())
    assert (got["dialect"], got["state"]) == ("cohere", "COMPLETED")
    assert got["message"]["content"] == [
        {"type": "thinking", "thinking": "T", "signature": None}, {"type": "text", "text": "x", "citations": [{"start": 0}]},
        {"type": "thinking", "thinking": "P", "signature": None, "part": "tool_plan"}, {"type": "tool_use", "id": "a", "name": "f", "input": {"x": 1}}]


def test_a_refused_request(engine: str):
    got = same_everywhere(engine, b'{"id":"x","message":"invalid api token"}', "cohere")
    assert (got["state"], got["error"]["message"]) == ("ERRORED", "invalid api token")


INDEX = st.sampled_from([0, 1, None])
PIECE = st.sampled_from(["a", " ", '"', "\\", "\n", "\u00e9", "\U0001f600", "{", "}"])
PARTS = st.one_of(
    st.builds(lambda i, k, p, e: content(i, k, *p, end=e), INDEX, st.sampled_from(["text", "thinking"]), st.lists(PIECE, max_size=4), st.booleans()),
    st.builds(lambda i, n, p, e: call(i, n, n, *p, end=e), INDEX, st.sampled_from(["f", "g", None, ""]), st.lists(PIECE, max_size=4), st.booleans()),
    st.builds(lambda p: plan(*p), st.lists(PIECE, min_size=1, max_size=3)),
    st.builds(lambda i, p: b"".join(event("content-delta", i, content={"text": q}) for q in p), INDEX, st.lists(PIECE, max_size=3)),
    st.builds(lambda i, p: event("tool-call-delta", i, tool_calls={"function": {"arguments": p}}), INDEX, PIECE),
    st.builds(lambda i: event("citation-start", 0, citations={"start": 0, "content_index": i}), INDEX),
    st.sampled_from([event("content-end", 0), event("tool-call-end", 0), frame({"type": "content-delta"}),
                     frame({"type": "tool-call-delta", "delta": None}), b": hi\n\n"]))


@given(parts=st.lists(PARTS, max_size=8), cuts=st.lists(st.integers(0, 3000), max_size=4), deltas=st.sampled_from(["chunk", "each", "none"]))
@settings(max_examples=120)
def test_the_tiers_agree_on_anything(tiers: tuple[str, ...], parts: list[bytes], cuts: list[int], deltas: str):
    body = stream(*parts)
    assert disagreement(cut_at(body, [c % len(body) for c in cuts]), "auto", tiers, deltas=deltas, look=True) is None


def test_a_late_index_is_closed(engine: str):
    body = stream(content(0, "text", "x"), event("content-delta", 0, content={"text": "late"}))
    got = run(engine, body, "cohere")
    assert (got["message"]["content"], kinds(got)) == ([{"type": "text", "text": "x"}], {"late_delta"})
