"""Our own dirty streams (`tests/corpus`, copies of ../shared/dirty): the exact outcome, on each engine, at each delivery.

The rules of comparison are those of ../shared/dirty/README.md, written out here once more, so that a slip in the
scoring script is not a slip here.
"""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

import fsm
from fsm import _tables as T
from fsm import stepper
from helpers import CORPUS, run, same_everywhere

CASES = sorted(p.stem for p in CORPUS.glob("*.json"))
COUNTS = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "reasoning_tokens")


def load(name: str) -> tuple[bytes, dict[str, Any]]:
    return (CORPUS / f"{name}.sse").read_bytes(), json.loads((CORPUS / f"{name}.json").read_text())


def accepted(case: dict[str, Any]) -> list[dict[str, Any]]:
    """The outcomes that this project may give."""
    others = [a["expect"] for a in case.get("alternatives", []) if "expect" in a and not a.get("peers_only")]
    return [case["expect"], *(others if case.get("debatable") else [])]


def differences(got: dict[str, Any], want: dict[str, Any]) -> list[str]:
    """Every way in which an outcome is not the wanted one, as sentences."""
    if got["state"] != want["state"]:
        return [f"the state is {got['state']}, not {want['state']} (error: {got['error']})"]
    found = got["message"] or got["partial"] or {"content": []}
    out = list(_blocks(found["content"], want["content"]))
    if want["state"] == "COMPLETED":
        out += _ends(found, want)
    else:
        out += _failure(got, want)
    return out


def _blocks(got: list[dict[str, Any]], want: list[dict[str, Any]]):
    if [b["type"] for b in got] != [b["type"] for b in want]:
        yield f"the blocks are {[b['type'] for b in got]}, not {[b['type'] for b in want]}"
        return
    ids = [b["id"] for b in got if b["type"] == "tool_use"]
    if len(ids) != len(set(ids)) or not all(ids):
        yield f"the ids {ids} are not one per call"
    for i, (g, w) in enumerate(zip(got, want, strict=True)):
        for key in ("text", "thinking", "data"):
            if key in w and g.get(key) != w[key]:
                yield f"block {i} has the {key} {g.get(key)!r}, not {w[key]!r}"
        if w["type"] == "thinking" and (g.get("signature") or None) != (w.get("signature") or None):
            yield f"block {i} is signed {g.get('signature')!r}, not {w.get('signature')!r}"
        if w["type"] == "tool_use":
            yield from _call(i, g, w)


def _call(i: int, got: dict[str, Any], want: dict[str, Any]):
    if want["id"] != "*" and got["id"] != want["id"]:
        yield f"call {i} has the id {got['id']!r}, not {want['id']!r}"
    if (got["name"] or None) != (want.get("name") or None):
        yield f"call {i} is named {got['name']!r}, not {want.get('name')!r}"
    if bool(got.get("invalid")) != bool(want.get("invalid")):
        yield f"call {i} has invalid={got.get('invalid')!r}, not {want.get('invalid')!r}"
    elif want.get("invalid"):
        if "raw" in want and got["raw_input"] != want["raw"]:
            yield f"call {i} kept the text {got['raw_input']!r}, not {want['raw']!r}"
    elif got["input"] != want["input"]:
        yield f"call {i} has the input {got['input']!r}, not {want['input']!r}"


def _ends(got: dict[str, Any], want: dict[str, Any]):
    if got["stop_reason"] != want.get("stop_reason"):
        yield f"the stop reason is {got['stop_reason']!r}, not {want.get('stop_reason')!r}"
    for key in COUNTS:
        if (got["usage"].get(key) or 0) != ((want.get("usage") or {}).get(key) or 0):
            yield f"usage.{key} is {got['usage'].get(key)!r}, not {(want.get('usage') or {}).get(key)!r}"


def _failure(got: dict[str, Any], want: dict[str, Any]):
    error, due = got["error"], want.get("error") or "*"
    if not error:
        yield "no error is given"
    elif due != "*":
        if due.get("type") not in (None, "*") and error["type"] != due["type"]:
            yield f"the error is a {error['type']!r}, not a {due['type']!r}"
        if due.get("message") not in (None, "*") and due["message"] not in error["message"]:
            yield f"the error says {error['message']!r}, not {due['message']!r}"
    yield from (f"the call {b['id']} of a failed stream may run" for b in got["partial"]["content"] if b["type"] == "tool_use" and not b.get("invalid"))


def test_the_corpus_is_there():
    assert len([c for c in CASES if c.startswith("anthropic_")]) >= 35
    assert len([c for c in CASES if c.startswith("openai_")]) >= 70
    assert len([c for c in CASES if c.startswith("gemini_")]) >= 11
    assert len([c for c in CASES if c.startswith("responses_")]) >= 12
    assert len([c for c in CASES if c.startswith("interactions_")]) >= 6


@pytest.mark.parametrize("name", CASES)
def test_dirty_stream(engine: str, name: str):  # R-42 R-52
    body, case = load(name)
    got = same_everywhere(engine, body, case["dialect"], case.get("tools"), seed=name, cuts=case.get("cuts"))
    verdicts = [differences(got, want) for want in accepted(case)]
    assert [] in verdicts, f"{case['fault']}: {'; '.join(verdicts[0])}. Due because: {case.get('why')}"


def test_the_comparison_can_fail():
    body, case = load("anthropic_lost_name")
    got = run(None, body, case["dialect"])  # without the registry nothing can be inferred
    assert any("invalid" in d for d in differences(got, case["expect"]))


# ---------------------------------------------------------------- cut anywhere

STATED = {
    "anthropic": re.compile(rb'message_stop|"stop_reason":\s*"[^"]+"'),
    "openai-chat": re.compile(rb'\[DONE\]|"finish_reason":\s*"[^"]+"'),
    "gemini": re.compile(rb'"(?:finishReason|blockReason)":\s*"[^"]+"'),
    "openai-responses": re.compile(rb'"type":\s*"response\.(completed|incomplete)"'),
    "gemini-interactions": re.compile(rb"interaction\.completed"),
}


def opened_calls(prefix: bytes) -> set[int]:
    """The indexes of tool_use blocks that were started and not stopped, by a reading of complete lines only."""
    still: set[int] = set()
    for line in prefix.replace(b"\r\n", b"\n").split(b"\n"):
        try:
            data = json.loads(line.removeprefix(b"data:"))
        except ValueError:
            continue
        if isinstance(data, dict) and data.get("type") == "content_block_start" and data["content_block"]["type"] == "tool_use":
            still.add(data["index"])
        elif isinstance(data, dict) and data.get("type") == "content_block_stop":
            still.discard(data.get("index"))
    return still


def whole_inputs(case: dict[str, Any], full: fsm.Outcome) -> list[Any]:
    """Every input that a call of this stream may run with, whatever the cut."""
    blocks = [b for e in accepted(case) for b in e["content"]]
    if full.completed:
        blocks += full.message.dropped_calls + full.message.content
    inputs = [b["input"] for b in blocks if b["type"] == "tool_use" and not b.get("invalid")]
    decoder = json.JSONDecoder()
    for raw in [b.get("raw") or b.get("raw_input") or "" for b in blocks if b["type"] == "tool_use" and b.get("invalid")]:
        at = 0
        while at < len(raw):
            try:
                value, at = decoder.raw_decode(raw, at)
            except (ValueError, RecursionError):
                break
            inputs.append(value)
    return inputs


def table_step(moved: stepper.Stepper, event: int, guard: int) -> None:
    """What `transitions` does, as a look-up: tests/test_spec.py proves that they agree in every cell."""
    moved.state = T.CELLS[moved.state][T.FIRST_COLUMN[event] + guard][1]


@pytest.mark.parametrize("name", CASES)
def test_truncated_anywhere(engine: str, name: str, monkeypatch: pytest.MonkeyPatch):  # R-32 R-33 R-40 R-70
    """No prefix is complete without a stated end, none gives a runnable call with cut arguments, none raises."""
    monkeypatch.setattr(stepper.Stepper, "fire", table_step)  # half the time of 120,000 runs
    body, case = load(name)
    dialect, tools = case["dialect"], case.get("tools")
    registry = fsm.ToolRegistry(tools) if tools else None
    whole = whole_inputs(case, fsm.reconstruct(body, dialect, registry, engine=engine))
    stated = STATED[dialect]
    for n in [*range(min(len(body), 6000)), *range(6000, len(body), 97)]:
        prefix = body[:n]
        r = fsm.Reconstructor(dialect, tools=registry, engine=engine, deltas="none")
        told = r.feed(prefix)
        told += r.end()
        outcome = r.outcome
        if outcome.state == "COMPLETED":
            assert stated.search(prefix), f"cut at byte {n}: complete without a stated end"
            if dialect == "anthropic" and b"message_stop" not in prefix:
                assert not outcome.message.tool_calls or not opened_calls(prefix), f"cut at byte {n}: complete with an open call"
        else:
            assert outcome.state == "ERRORED", f"cut at byte {n}: {outcome.state}"
            assert not outcome.partial.tool_calls, f"cut at byte {n}: a failed stream has a runnable call"
        for e in told:
            if isinstance(e, fsm.ToolReady):
                assert e.input in whole, f"cut at byte {n}: {e.name} would run with {e.input}"
