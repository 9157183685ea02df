"""What the tests share: ways to cut a body, ways to run one, and builders for wire bodies and normalized events."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import fsm

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"
CORPUS = Path(__file__).resolve().parent / "corpus"

# ---------------------------------------------------------------- delivering a body


def cut_at(body: bytes, cuts: list[int]) -> list[bytes]:
    edges = [0, *sorted({c for c in cuts if 0 < c < len(body)}), len(body)]
    return [body[a:b] for a, b in pairwise(edges)]


def deliveries(body: bytes, seed: object = 0, cuts: list[int] | None = None) -> Iterator[tuple[str, list[bytes]]]:
    """(name, chunks) of every way in which a body is delivered in these tests."""
    yield "whole", [body]
    if cuts:
        yield "cuts", cut_at(body, cuts)
    if len(body) <= 20_000:
        yield "bytes", [body[i:i + 1] for i in range(len(body))]
    rng = random.Random(str(seed))
    for k, n in enumerate((1, 3, 30)):
        yield f"random{k}", cut_at(body, [rng.randrange(len(body) + 1) for _ in range(n)])
    yield "events", cut_at(body, [i + 2 for i in range(len(body) - 1) if body[i:i + 2] == b"\n\n"])


# ---------------------------------------------------------------- running


def ended(r: fsm.Reconstructor) -> fsm.Outcome:
    """The outcome of a stream whose connection is closed."""
    r.end()
    return r.outcome


def stable(value: Any, given: str, seen: dict[str, str] | None = None) -> Any:
    """`value` with made-up ids (those that do not stand in `given`) named in order of first sight."""
    seen = {} if seen is None else seen
    if isinstance(value, dict):
        return {k: seen.setdefault(v, f"*{len(seen)}") if k == "id" and isinstance(v, str) and v not in given
                else v if k == "input" else stable(v, given, seen) for k, v in value.items()}
    return [stable(v, given, seen) for v in value] if isinstance(value, list) else value


def run(engine: str | None, body: bytes, dialect: str = "auto", tools: Any = None, chunks: list[bytes] | None = None, **kw: Any) -> dict[str, Any]:
    """One stream's outcome as JSON data, without metrics, made-up ids made comparable."""
    r = fsm.Reconstructor(dialect, tools=tools, engine=engine, **kw)
    for chunk in [body] if chunks is None else chunks:
        r.feed(chunk)
    out = json.loads(json.dumps(ended(r).to_dict()))
    out.pop("metrics")
    return stable(out, body.decode("utf-8", "replace"))


def same_everywhere(engine: str, body: bytes, dialect: str = "auto", tools: Any = None, seed: object = 0, cuts: list[int] | None = None,
                    **kw: Any) -> dict[str, Any]:
    """The outcome, which must be the same at every delivery."""
    first: dict[str, Any] | None = None
    for how, chunks in deliveries(body, seed, cuts):
        got = run(engine, body, dialect, tools, chunks, **kw)
        first = got if first is None else first
        assert got == first, f"fed {how}, the outcome differs in {[k for k in first if got[k] != first[k]]}"
    assert first is not None
    return first


def push_all(engine: str | None, events: list[dict[str, Any]], tools: Any = None, **kw: Any) -> tuple[list[Any], fsm.Outcome]:
    """Push normalized events in their JSON form; returns what the caller is told, and the outcome."""
    r = fsm.Reconstructor("canonical", tools=tools, engine=engine, **kw)
    told = [e for event in events for e in r.push(event)]
    told += r.end()
    outcome = r.outcome
    return told, outcome


def message(engine: str | None, events: list[dict[str, Any]], tools: Any = None, **kw: Any) -> fsm.Message:
    """The message of pushed events, which must complete."""
    return push_all(engine, events, tools, **kw)[1].message


def feed_all(r: fsm.Reconstructor, *chunks: bytes) -> list[Any]:
    """Feed the chunks and end; everything the caller is told."""
    told = [e for chunk in chunks for e in r.feed(chunk)]
    return told + r.end()


def kinds(outcome: dict[str, Any] | fsm.Outcome) -> set[str]:
    """The kinds of the anomalies that were recorded."""
    return {a["kind"] for a in outcome["anomalies"]} if isinstance(outcome, dict) else set(outcome.anomalies.counts)


def of(kind: type, told: list[Any]) -> list[Any]:
    return [e for e in told if type(e) is kind]


# ---------------------------------------------------------------- normalized events


def ev(type_: str, **fields: Any) -> dict[str, Any]:
    return {"type": type_, **fields}


def text(value: str, **fields: Any) -> dict[str, Any]:
    return ev("text_delta", text=value, **fields)


def think(value: str, **fields: Any) -> dict[str, Any]:
    return ev("thinking_delta", text=value, **fields)


def sign(value: str, **fields: Any) -> dict[str, Any]:
    return ev("signature_delta", signature=value, **fields)


def start(id: str | None = None, name: str | None = None, **fields: Any) -> dict[str, Any]:
    return ev("tool_use_start", id=id, name=name, **fields)


def frag(fragment: str, **fields: Any) -> dict[str, Any]:
    return ev("tool_input_delta", fragment=fragment, **fields)


def reason(word: str) -> dict[str, Any]:
    return ev("stop_reason", reason=word)


def usage(**counts: int) -> dict[str, Any]:
    return ev("usage", usage=counts)


STOP = ev("message_stop")


def lines(events: list[dict[str, Any]]) -> bytes:
    """Normalized events as canonical JSON lines."""
    return b"".join(json.dumps(e).encode() + b"\n" for e in events)


# ---------------------------------------------------------------- wire bodies


def frame(payload: Any, event: str | None = None) -> bytes:
    head = f"event: {event}\n" if event else ""
    return f"{head}data: {payload if isinstance(payload, str) else json.dumps(payload)}\n\n".encode()


def anthropic(*events: dict[str, Any], end: bool = True, stop: str | None = "end_turn") -> bytes:
    """An Anthropic body: message_start, `events`, then message_delta (with `stop`) and message_stop unless `end` is False."""
    body = frame({"type": "message_start", "message": {"id": "msg_1", "model": "m", "content": [], "usage": {"input_tokens": 3}}}, "message_start")
    tail = [{"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 5}}, {"type": "message_stop"}] if end else []
    return body + b"".join(frame(e, e["type"]) for e in [*events, *tail])


def a_block(index: int, block: dict[str, Any], *deltas: dict[str, Any], stop: bool = True) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = [{"type": "content_block_start", "index": index, "content_block": block}]
    events += [a_delta(index, d) for d in deltas]
    return [*events, a_stop(index)] if stop else events


def a_delta(index: int, delta: dict[str, Any]) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": delta}


def a_stop(index: int) -> dict[str, Any]:
    return {"type": "content_block_stop", "index": index}


def a_text(index: int, *pieces: str, stop: bool = True) -> list[dict[str, Any]]:
    return a_block(index, {"type": "text", "text": ""}, *[{"type": "text_delta", "text": p} for p in pieces], stop=stop)


def a_tool(index: int, id: str | None, name: str | None, *pieces: str, stop: bool = True) -> list[dict[str, Any]]:
    return a_block(index, {"type": "tool_use", "id": id, "name": name, "input": {}},
                   *[{"type": "input_json_delta", "partial_json": p} for p in pieces], stop=stop)


def chat(*deltas: dict[str, Any], finish: str | None = "stop", done: bool = True, usage: dict[str, Any] | None = None) -> bytes:
    """A Chat Completions body: one chunk per delta, then the finish chunk, the usage chunk, and [DONE]."""
    base = {"id": "c1", "object": "chat.completion.chunk", "model": "m"}
    chunks = [{**base, "choices": [{"index": 0, "delta": d, "finish_reason": None}]} for d in deltas]
    if finish:
        chunks.append({**base, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    if usage is not None:
        chunks.append({**base, "choices": [], "usage": usage})
    return b"".join(frame(c) for c in chunks) + (frame("[DONE]") if done else b"")


def tool(index: int | None = None, id: str | None = None, name: str | None = None, args: Any = None) -> dict[str, Any]:
    """A delta with one tool_calls entry; what is None is absent."""
    return {"tool_calls": [entry(index, id, name, args)]}


def entry(index: int | None = None, id: str | None = None, name: str | None = None, args: Any = None) -> dict[str, Any]:
    function = {k: v for k, v in (("name", name), ("arguments", args)) if v is not None}
    return {k: v for k, v in (("index", index), ("id", id), ("function", function)) if v is not None}


# ---------------------------------------------------------------- the registry of the founding document

TOOLS = {
    "Read": {"type": "object", "properties": {"file_path": {"type": "string"}}, "required": ["file_path"]},
    "Grep": {"type": "object", "properties": {"pattern": {"type": "string"}, "path": {"type": "string"}}, "required": ["pattern", "path"]},
    "Bash": {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]},
    "Edit": {"type": "object", "properties": {"file_path": {"type": "string"}, "old_string": {"type": "string"}, "new_string": {"type": "string"}},
             "required": ["file_path", "old_string", "new_string"]},
}


def call_block(id: str, name: str | None, input: dict[str, Any]) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": name, "input": input}
