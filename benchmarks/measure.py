"""Interleaved timing against a yardstick: `orjson.loads` alone on the stream's already split payloads, each value thrown away.

Every timing of a case stands next to a timing of the yardstick on the same stream, rounds go over all cases before any
case has its next turn, and what is reported is the median over the rounds of (yardstick ÷ case): 2.0 is twice as fast as
decoding the JSON. What is timed is the process's processor time, so that other work on a busy machine is not in it, with
the garbage collector off. A case must give the stream's content before it is timed.
"""

from __future__ import annotations

import contextlib
import gc
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, NamedTuple

import orjson

import fsm
from benchmarks.afternoon import PARSERS
from benchmarks.data import Stream

ROUNDS = 9
LEAST = 0.002  # seconds that one timing lasts at least, by repetition


class Key(NamedTuple):
    """What was measured: who, how, on what."""

    dialect: str
    engine: str
    mode: str = "none"
    chunking: str = "4 KiB"
    flavour: str = "ascii"
    size: str = "2000"  # deltas, or "huge"


@dataclass(frozen=True)
class Case:
    """`run` rebuilds the content of `stream`, whole: create, feed, end, blocks built."""

    key: Key
    stream: Stream
    run: Callable[[], list[dict[str, Any]]]


@dataclass(frozen=True)
class Result:
    """`ratio` to the yardstick (bigger is faster), `seconds` of processor time per message; both medians of the rounds."""

    ratio: float
    seconds: float
    deltas: int

    @property
    def per_delta(self) -> float:
        """Microseconds per delta."""
        return self.seconds / max(self.deltas, 1) * 1e6


class WrongAnswerError(Exception):
    """A case does not give its stream's content: its speed means nothing."""


def engine_case(stream: Stream, key: Key, chunks: Sequence[bytes]) -> Case:
    """One of the engines of `fsm.Reconstructor`, fed chunk by chunk; the events it tells are taken and dropped."""
    dialect, engine, mode = key.dialect, key.engine, key.mode

    def run() -> list[dict[str, Any]]:
        r = fsm.Reconstructor(dialect, deltas=mode, engine=engine)
        feed = r.feed
        for chunk in chunks:
            feed(chunk)
        r.end()
        message = r.outcome.message
        if message is None:
            raise WrongAnswerError(f"{key}: no message")
        return message.content

    return Case(key, stream, run)


def afternoon_case(stream: Stream, key: Key, chunks: Sequence[bytes]) -> Case:
    parse = PARSERS[key.dialect]
    return Case(key, stream, lambda: parse(chunks))


def told(stream: Stream, key: Key, chunks: Sequence[bytes]) -> list[tuple[str, str]]:
    """(kind of block, characters) that the live events of one run carry, adjacent ones joined."""
    kinds = {fsm.TextDelta: "text", fsm.ThinkingDelta: "thinking", fsm.ToolInputDelta: "tool_use"}
    out: list[tuple[str, list[str]]] = []
    r = fsm.Reconstructor(key.dialect, deltas=key.mode, engine=key.engine)
    for chunk in chunks:
        for event in r.feed(chunk):
            kind = kinds.get(type(event))
            if kind is None:
                continue
            if not out or out[-1][0] != kind:
                out.append((kind, []))
            out[-1][1].append(event.text)
    return [(kind, "".join(pieces)) for kind, pieces in out]


def check(case: Case) -> None:
    """Raises WrongAnswerError unless the case gives the right content."""
    if case.run() != case.stream.content:
        raise WrongAnswerError(f"{case.key} does not give the content of {case.stream.name}")


def yardstick(stream: Stream) -> Callable[[], None]:
    loads, payloads = orjson.loads, stream.payloads

    def run() -> None:
        for payload in payloads:
            loads(payload)

    return run


@contextlib.contextmanager
def no_gc() -> Iterator[None]:
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _time(run: Callable[[], object], times: int) -> float:
    """Seconds of processor time per call, over `times` calls in a row."""
    again = range(times)
    start = time.process_time()
    for _ in again:
        run()
    return (time.process_time() - start) / times


def _times(run: Callable[[], object]) -> int:
    return math.ceil(LEAST / min(_time(run, 1) for _ in range(3))) or 1


def measure(cases: Sequence[Case], rounds: int = ROUNDS) -> dict[Key, Result]:
    """Check, then time all cases in interleaved rounds."""
    for case in cases:
        check(case)
    turns = [(case, case.run, _times(case.run), base := yardstick(case.stream), _times(base)) for case in cases]
    seconds: dict[Key, list[float]] = {case.key: [] for case in cases}
    ratios: dict[Key, list[float]] = {case.key: [] for case in cases}
    for _ in range(rounds):
        with no_gc():
            for case, run, times, base, base_times in turns:
                unit = _time(base, base_times)
                took = _time(run, times)
                seconds[case.key].append(took)
                ratios[case.key].append(unit / took)
    return {case.key: Result(median(ratios[case.key]), median(seconds[case.key]), case.stream.deltas) for case in cases}
