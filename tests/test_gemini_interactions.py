"""Gemini's Interactions API, on each engine, at every split."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fsm
from helpers import cut_at, frame, kinds, same_everywhere
from tiers import disagreement

USAGE = {"total_tokens": 133, "total_input_tokens": 53, "total_cached_tokens": 8, "total_output_tokens": 15, "total_thought_tokens": 65}
COUNTED = {"input_tokens": 53, "output_tokens": 80, "cache_read_input_tokens": 8, "reasoning_tokens": 65}
WRITE = {"write": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}}


def event(type_: str, **fields: Any) -> bytes:
    return frame({**fields, "event_type": type_}, type_)


def delta(index: int | None, **fields: Any) -> bytes:
    return event("step.delta", index=index, delta=fields)


def text(value: str, index: int | None = 0) -> bytes:
    return delta(index, text=value, type="text")


def thought(value: str, index: int | None = 0) -> bytes:
    return delta(index, content={"text": value, "type": "text"}, type="thought_summary")


def sign(value: str, index: int | None = 0) -> bytes:
    return delta(index, signature=value, type="thought_signature")


def piece(value: Any, index: int | None = 0) -> bytes:
    return delta(index, arguments=value, type="arguments_delta")


def step(index: int, kind: str, *deltas: bytes, stop: bool = True, **fields: Any) -> bytes:
    return event("step.start", index=index, step={"type": kind, **fields}) + b"".join(deltas) + (event("step.stop", index=index) if stop else b"")


def stream(*parts: bytes, status: str | None = "completed", done: bool = True, **end: Any) -> bytes:
    head = event("interaction.created", interaction={"id": "i1", "status": "in_progress", "object": "interaction", "model": "m"})
    head += event("interaction.status_update", interaction_id="i1", status="in_progress")
    tail = event("interaction.completed", interaction={"id": "i1", "status": status, "usage": USAGE, "object": "interaction", "model": "m", **end})
    return head + b"".join(parts) + (tail if status else b"") + (frame("[DONE]", "done") if done else b"")


def test_everything_at_once(engine: str):
    """Thinking in parts with its signature, text with annotations, a search, and a call."""
    cited = {"type": "url_citation", "url": "u", "start_index": 0}
    body = stream(
        step(0, "thought", thought("Let"), sign(""), thought(" me"), sign("c2ln")),
        step(1, "model_output", text("H", 1), text("i", 1), delta(1, annotations=[cited], type="text_annotation_delta")),
        step(2, "google_search_call", delta(2, type="google_search_call", arguments={"queries": ["q"]}), id="s1", signature=""),
        step(3, "google_search_result", delta(3, type="google_search_result", result=[{"a": 1}]), call_id="s1"),
        step(4, "function_call", piece('{"path":', 4), piece('"a"}', 4), id="c1", name="write", arguments={}, signature="s2"), status="requires_action")
    got = same_everywhere(engine, body, tools=WRITE)
    assert (got["dialect"], got["state"], kinds(got)) == ("gemini-interactions", "COMPLETED", set())
    assert got["message"]["content"] == [
        {"type": "thinking", "thinking": "Let me", "signature": "c2ln"}, {"type": "text", "text": "Hi", "annotations": [cited]},
        {"type": "google_search_call", "id": "s1", "signature": "", "arguments": {"queries": ["q"]}},
        {"type": "google_search_result", "call_id": "s1", "result": [{"a": 1}]},
        {"type": "tool_use", "id": "c1", "name": "write", "input": {"path": "a"}, "signature": "s2"}]
    assert got["message"]["usage"] == COUNTED
    assert (got["message"]["id"], got["message"]["model"]) == ("i1", "m")
    assert (got["message"]["stop_reason"], got["message"]["raw_stop_reason"]) == ("tool_use", "requires_action")


def test_a_whole_interaction(engine: str):
    steps = [{"type": "user_input", "content": [{"type": "text", "text": "?"}]},
             {"type": "thought", "signature": "c2ln", "summary": [{"type": "text", "text": "hm"}]},
             {"type": "model_output", "content": [{"type": "text", "text": "Hi"}]},
             {"type": "function_call", "id": "c1", "name": "write", "arguments": {"path": "a", "n": 12345678901234567890123}}]
    got = same_everywhere(engine, frame({"id": "i1", "object": "interaction", "model": "m", "status": "requires_action", "steps": steps, "usage": USAGE}))
    assert (got["dialect"], got["state"], kinds(got)) == ("gemini-interactions", "COMPLETED", set())
    assert got["message"]["content"] == [
        {"type": "thinking", "thinking": "hm", "signature": "c2ln"}, {"type": "text", "text": "Hi"},
        {"type": "tool_use", "id": "c1", "name": "write", "input": {"path": "a", "n": 12345678901234567890123}}]


def test_history_gives_the_steps_back():
    steps = [{"type": "thought", "summary": [{"type": "text", "text": "hm"}], "signature": "c2ln"},
             {"type": "model_output", "content": [{"type": "text", "text": "Hi"}]},
             {"type": "function_call", "id": "c1", "name": "write", "arguments": {"path": "a"}, "signature": "s2"},
             {"type": "google_search_call", "id": "s1", "arguments": {"queries": ["q"]}}]
    whole = frame({"id": "i1", "object": "interaction", "model": "m", "status": "requires_action", "steps": steps})
    history = fsm.reconstruct(whole).message.to_request()
    assert (history.entries, history.dropped, history.ids) == (steps, [], {})


def test_usage_beside_any_event(engine: str):
    first = {"total_input_tokens": 11, "total_output_tokens": 0, "total_thought_tokens": 68}
    body = frame({"interaction": {"id": "i1", "model": "m"}, "event_type": "interaction.created", "metadata": {"usage": first}})
    body += step(0, "model_output", text("Hi"), stop=False)
    got = same_everywhere(engine, body, "gemini-interactions")
    assert got["state"] == "ERRORED"
    assert got["partial"]["usage"] == {"input_tokens": 11, "output_tokens": 68, "reasoning_tokens": 68}


@pytest.mark.parametrize(("status", "stop"), [("incomplete", "max_tokens"), ("budget_exceeded", "max_tokens")])
def test_a_cut_interaction_drops_its_calls(engine: str, status: str, stop: str):
    body = stream(step(0, "model_output", text("Hi")), step(1, "function_call", piece('{"pa', 1), id="c1", name="write"), status=status)
    got = same_everywhere(engine, body, tools=WRITE)["message"]
    assert ([b["type"] for b in got["content"]], got["stop_reason"], len(got["dropped_calls"])) == (["text"], stop, 1)


@pytest.mark.parametrize("end", [
    stream(step(0, "model_output", text("Hi")), status="failed", error={"code": "quota", "message": "no more"}),
    stream(step(0, "model_output", text("Hi")), frame({"event_type": "error", "error": {"code": "quota", "message": "no more"}}, "error"), status=None),
    stream(step(0, "model_output", text("Hi")), frame({"error": {"code": "quota", "message": "no more"}}), status=None)])
def test_errors(engine: str, end: bytes):
    got = same_everywhere(engine, end)
    assert (got["dialect"], got["state"]) == ("gemini-interactions", "ERRORED")
    assert (got["error"]["type"], got["error"]["message"]) == ("quota", "no more")
    assert got["partial"]["content"] == [{"type": "text", "text": "Hi"}]


def test_no_end_is_no_message(engine: str):
    got = same_everywhere(engine, stream(step(0, "function_call", piece('{"path":"a"}'), id="c1", name="write"), status=None), tools=WRITE)
    assert got["state"] == "ERRORED"
    assert got["partial"]["content"][0]["invalid"]


@pytest.mark.parametrize("given", ['{"path":"a"}', {"path": "a"}])
def test_arguments_in_one_piece(engine: str, given: Any):
    """As text or as an object, in a delta or with the start."""
    for call in (step(0, "function_call", piece(given), id="c1", name="write", arguments={}),
                 step(0, "function_call", id="c1", name="write", arguments=given)):
        got = same_everywhere(engine, stream(call, status="requires_action"), tools=WRITE)["message"]["content"]
        assert got == [{"type": "tool_use", "id": "c1", "name": "write", "input": {"path": "a"}}]


def test_pictures_stand_between_texts(engine: str):
    picture = {"type": "image", "mime_type": "image/png", "data": "QUJD"}
    got = same_everywhere(engine, stream(step(0, "model_output", text("a"), delta(0, **picture)), step(1, "model_output", text("b", 1))))
    assert [b["type"] for b in got["message"]["content"]] == ["text", "image", "text"]
    assert got["message"]["content"][1] == picture


def test_the_short_cut_takes_plain_deltas(tiers: tuple[str, ...]):
    for make, kind in ((text, "model_output"), (thought, "thought"), (piece, "function_call")):
        body = stream(step(0, kind, *[make(f"w{i} ") for i in range(60)], id="c1", name="f"))
        for engine in tiers:
            r = fsm.Reconstructor("gemini-interactions", engine=engine)
            for i in range(0, len(body), 100):
                r.feed(body[i:i + 100])
            r.end()
            assert (r._framing.appended >= 50) == (engine in ("scan", "compiled")), f"{kind}, {engine}: {r._framing.appended}"


WORDS = st.sampled_from(["", "a", "é", "状态", "😀", '"}', "\\", "{", '{"path":', '"a"}'])
INDEXES = st.sampled_from([0, 0, 1, 2, None])
EVENTS = st.one_of(
    st.builds(text, WORDS, INDEXES), st.builds(thought, WORDS, INDEXES), st.builds(piece, WORDS | st.sampled_from([{}, {"path": "a"}, None]), INDEXES),
    st.builds(sign, WORDS, INDEXES),
    st.builds(lambda i, t: delta(i, type=t, text="x", arguments="{}", content={"text": "y"}), INDEXES, st.sampled_from(["text", "image", "nope", None])),
    st.builds(lambda i, k, s: step(i, k, stop=s, id="c1", name="write"), st.integers(0, 2),
              st.sampled_from(["model_output", "thought", "function_call", "search", "user_input"]), st.booleans()),
    st.builds(lambda i: event("step.stop", index=i), INDEXES), st.just(frame({"event_type": "step.delta", "index": 0, "delta": None})))


@settings(max_examples=150)
@given(parts=st.lists(EVENTS, max_size=9), cuts=st.lists(st.integers(0, 1500), max_size=5), status=st.sampled_from(["completed", "incomplete", "failed", None]),
       deltas=st.sampled_from(["each", "chunk", "none"]))
def test_any_events_are_the_same_on_every_engine(tiers: tuple[str, ...], parts: list[bytes], cuts: list[int], status: str | None, deltas: str):  # R-42 R-52
    assert disagreement(cut_at(stream(*parts, status=status), cuts), "gemini-interactions", tiers, deltas=deltas) is None
