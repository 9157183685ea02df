"""One stream on all four engines: everything that a caller can see, as comparable data. Used by tests and by the fuzzer."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from typing import Any

import fsm
from helpers import ended, stable

#: the reference first; each next one leaves less to Python
TIERS = ("python", "slow", "scan", "compiled")
#: fields of events that the outcome holds too
_ELSEWHERE = frozenset({"message", "partial", "error"})


def rows(told: list[Any]) -> list[dict[str, Any]]:
    """Events for the caller as plain data."""
    return [{"event": type(e).__name__, **{n: _plain(getattr(e, n)) for n in e.__match_args__ if n not in _ELSEWHERE}} for e in told]


def _plain(value: Any) -> Any:
    return value.to_dict() if hasattr(value, "to_dict") else value


def outcome_of(r: fsm.Reconstructor) -> dict[str, Any]:
    """The outcome with all that is not a measurement, and where exactly an error happened."""
    outcome = ended(r)
    seen = outcome.to_dict()
    metrics = seen.pop("metrics")
    seen["counted"] = {k: metrics[k] for k in ("total_chunks", "bytes_received", "events", "keepalives")}
    seen["counts"] = dict(outcome.anomalies.counts)
    seen["where"] = outcome.error and (outcome.error.offset, outcome.error.event, str(outcome.error.state))
    return seen


def observe(engine: str, chunks: list[bytes], dialect: str = "auto", tools: Any = None, deltas: str = "chunk", look: bool = False,
            **options: Any) -> dict[str, Any]:
    """What a caller sees of one stream: events per feed, state after each, the outcome. `look`: also a snapshot before the end."""
    r = fsm.Reconstructor(dialect, tools=tools, engine=engine, deltas=deltas, **options)
    told, states = [], []
    for chunk in chunks:
        told.append(rows(r.feed(chunk)))
        states.append(str(r.state))
    snapshot = r.snapshot() if look else None
    told.append(rows(r.end()))
    outcome = outcome_of(r)
    seen = {"outcome": outcome, "told": told, "states": states, "snapshot": snapshot}
    return stable(seen, b"".join(chunks).decode("utf-8", "replace"))


def first_difference(a: Any, b: Any, path: str = "") -> str | None:
    """Where two observations differ first, for a message that can be read."""
    if type(a) is type(b) and isinstance(a, dict):
        return next((d for k in a | b if (d := first_difference(a.get(k), b.get(k), f"{path}.{k}"))), None)
    if type(a) is type(b) and isinstance(a, (list, tuple)) and len(a) == len(b):
        return next((d for i, (x, y) in enumerate(zip(a, b, strict=True)) if (d := first_difference(x, y, f"{path}[{i}]"))), None)
    return None if a == b else f"{path}: {a!r} is not {b!r}"


_TOLD_AS = {"TextDelta": "text", "ThinkingDelta": "thinking"}


def loss(seen: dict[str, Any]) -> str | None:
    """How what the caller was told is not what the message holds, or None: each character once, each block finished once (R-94).

    Only of streams whose caller hears of deltas.
    """
    told = {"text": Counter[str](), "thinking": Counter[str]()}
    finished: list[int] = []
    for event in chain.from_iterable(seen["told"]):
        if event["event"] in _TOLD_AS:
            told[_TOLD_AS[event["event"]]].update(event["text"])
        elif event["event"] == "BlockFinished":
            finished.append(event["index"])
    kept = {"text": Counter[str](), "thinking": Counter[str]()}
    for block in (seen["outcome"]["message"] or seen["outcome"]["partial"])["content"]:
        if block["type"] in ("text", "refusal", "thinking"):
            kept["thinking" if block["type"] == "thinking" else "text"].update(block[block["type"]])
    if told != kept:
        return f"told {told}, kept {kept}"
    return None if len(finished) == len(set(finished)) else f"finished twice: {finished}"


def disagreement(chunks: list[bytes], dialect: str = "auto", engines: tuple[str, ...] = TIERS, **options: Any) -> str | None:
    """How the first engine that differs from the reference does, or None."""
    want = observe(engines[0], chunks, dialect, **options)
    if options.get("deltas") != "none" and (lost := loss(want)) is not None:
        return f"{engines[0]}: {lost}"
    for engine in engines[1:]:
        got = observe(engine, chunks, dialect, **options)
        if got != want:
            return f"{engines[0]} and {engine} differ at {first_difference(want, got)}"
    return None
