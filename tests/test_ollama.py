"""Ollama: JSON lines, whole calls, `done`, thoughts in a field or in tags, and the short cut for bare lines."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fsm
from helpers import cut_at, ended, kinds, same_everywhere
from tiers import disagreement


def line(content: str | None = "", done: bool = False, **more: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": content, **{k: more.pop(k) for k in ("thinking", "tool_calls", "images") if k in more}}
    return {"model": "m", "created_at": "2026-01-01T00:00:00Z", "message": message, "done": done, **more}


def said(response: str, **more: Any) -> dict[str, Any]:
    return {"model": "m", "response": response, "done": False, **more}


END = line("", True, done_reason="stop", total_duration=5, prompt_eval_count=7, eval_count=3)


def body(*lines: dict[str, Any], end: bytes = b"\n") -> bytes:
    return b"".join(json.dumps(e, ensure_ascii=False).encode() + end for e in lines)


def call(name: str | None, arguments: Any, **more: Any) -> dict[str, Any]:
    return {**more, "function": {"name": name, "arguments": arguments}}


def test_chat(engine: str):
    got = same_everywhere(engine, body(line("", thinking="hm"), line("It "), line("rains."), END))
    assert (got["dialect"], got["state"], got["anomalies"]) == ("ollama", "COMPLETED", [])
    assert got["message"]["content"] == [{"type": "thinking", "thinking": "hm", "signature": None}, {"type": "text", "text": "It rains."}]
    assert (got["message"]["model"], got["message"]["stop_reason"], got["message"]["raw_stop_reason"]) == ("m", "end_turn", "stop")
    assert got["message"]["usage"] == {"input_tokens": 7, "output_tokens": 3}


def test_generate(engine: str):
    got = same_everywhere(engine, body(said("It ", thinking="hm"), said("rains."), said("", done=True, done_reason="length", context=[1])))
    assert got["dialect"] == "ollama"
    assert [b["type"] for b in got["message"]["content"]] == ["thinking", "text"]
    assert got["message"]["stop_reason"] == "max_tokens"


def test_calls_come_whole(engine: str):  # R-37 R-43
    calls = [call("f", {"n": 2**70}), call("f", {"n": 2**70}), call("g", {}), call("g", '{"s":1}', id="c1")]
    got = same_everywhere(engine, body(line("x", tool_calls=calls[:3]), line("", tool_calls=calls[3:]), line("", tool_calls=calls[3:]), END))["message"]
    assert [(b["name"], b["input"]) for b in got["content"][1:]] == [("f", {"n": 2**70}), ("f", {"n": 2**70}), ("g", {}), ("g", {"s": 1})]
    assert (got["stop_reason"], got["content"][4]["id"]) == ("tool_use", "c1")
    twice = [line("", tool_calls=[call("f", {"a": n}, id="c1")]) for n in (1, 2)]
    got = same_everywhere(engine, body(*twice, END))["message"]
    assert [bool(b.get("invalid")) for b in got["content"]] == [True], "two inputs under one id"


def test_a_call_that_was_ready_is_taken_back_when_its_id_gets_another_input(engine: str):  # R-67
    r = fsm.Reconstructor("ollama", engine=engine)
    told = r.feed(body(line("", tool_calls=[call("f", {"a": 1}, id="c1")])))
    assert [type(e).__name__ for e in told if isinstance(e, (fsm.ToolReady, fsm.ToolInvalid))] == ["ToolReady"]
    told = r.feed(body(line("", tool_calls=[call("f", {"a": 2}, id="c1")]), END))
    assert [type(e).__name__ for e in told if isinstance(e, (fsm.ToolReady, fsm.ToolInvalid))] == ["ToolInvalid"]


def test_a_cut_drops_the_calls(engine: str):  # R-62
    got = same_everywhere(engine, body(line("", tool_calls=[call("f", {})]), line("", True, done_reason="length")))["message"]
    assert (got["content"], len(got["dropped_calls"])) == ([], 1)


@pytest.mark.parametrize("tail", [[], [line("", False)]])
def test_without_done_nothing_is_complete(engine: str, tail: list[dict[str, Any]]):  # R-32
    assert same_everywhere(engine, body(line("a"), *tail))["error"]["type"] == "incomplete_stream"


def test_done_without_a_reason(engine: str):
    got = same_everywhere(engine, body(line("a"), line("", True)))
    assert (got["message"]["stop_reason"], kinds(got)) == ("end_turn", {"no_stop_reason"})


def test_tags_at_the_start_are_thinking(engine: str):
    got = same_everywhere(engine, body(line("<thi"), line("nk>hm</th"), line("ink>yes <think>"), END))["message"]["content"]
    assert [b.get("thinking", b.get("text")) for b in got] == ["hm", "yes <think>"]


@pytest.mark.parametrize("error", ["model not found", {"message": "model not found"}])
def test_errors(engine: str, error: Any):  # R-91
    got = same_everywhere(engine, body(line("a"), {"error": error}))
    assert (got["state"], got["error"]["message"]) == ("ERRORED", "model not found")


# ---------------------------------------------------------------- any stream

WORDS = st.sampled_from(["", "a", "é", "状", "😀", "\\", '"', "<think>", "</think>", "<", None, 7])
LINES = st.one_of(
    st.builds(lambda c: line(c), WORDS), st.builds(lambda c: line("", thinking=c), WORDS), st.builds(lambda c: said(c), WORDS),
    st.builds(lambda a, b: line(a) | {"thinking": b}, WORDS, WORDS), st.builds(lambda a, b: line(a) | {"response": b}, WORDS, WORDS),
    st.builds(lambda a, i: line("", tool_calls=[call("f", a, id=i), call("f", a)]),
              st.sampled_from([{}, {"a": 1}, '{"a":1}', None]), st.sampled_from(["1", "", None])),
    st.sampled_from([END, line("z", True), {"done": None, "message": {"content": "n"}}, {"message": None, "done": False}, {"error": "e"}, {"model": "x"}, {}]))


@settings(max_examples=150)
@given(lines=st.lists(LINES, max_size=8), cuts=st.lists(st.integers(0, 1500), max_size=5), end=st.sampled_from([b"\n", b"\r\n", b"\n\n", b"\r"]),
       dialect=st.sampled_from(["ollama", "auto"]))
def test_any_lines_are_the_same_on_every_engine(tiers: tuple[str, ...], lines: list[dict[str, Any]], cuts: list[int], end: bytes, dialect: str):  # R-42 R-52
    whole = body(*lines, end=end)
    for deltas in ("each", "none"):
        assert disagreement(cut_at(whole, cuts), dialect, tiers, deltas=deltas) is None


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_the_short_cut_takes_bare_lines(tiers: tuple[str, ...], end: bytes):
    for lines in ([line(f"w{i} ") for i in range(60)], [line("", thinking=f"w{i} ") for i in range(60)], [said(f"w{i} ") for i in range(60)]):
        whole = body(*lines, END, end=end)
        for engine in tiers:
            r = fsm.Reconstructor("ollama", engine=engine)
            for i in range(0, len(whole), 100):
                r.feed(whole[i:i + 100])
            assert ended(r).completed
            assert (r._framing.appended >= 55) == (engine in ("scan", "compiled")), f"{engine}: {r._framing.appended}"


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("comment", [b"", b": x\n"])
def test_a_bare_line_at_the_limit(tiers: tuple[str, ...], end: bytes, comment: bytes):  # R-97
    """The bound counts the same whether a line is parsed, scanned or matched."""
    for extra in range(-4, 4):
        lines = [line("a" * (200 + (extra if i == 5 else 0))) for i in range(8)]
        whole = comment.join(body(e, end=end) for e in [line(""), *lines, END])
        limit = fsm.Limits(event_bytes=len(comment) + len(body(line("a" * 200), end=b"")))
        for chunks in ([whole], [whole[i:i + 64] for i in range(0, len(whole), 64)]):
            assert disagreement(chunks, "ollama", tiers, limits=limit) is None, f"{extra} bytes over"
