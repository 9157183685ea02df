"""What a stream costs in memory, and that nothing of it stays.

The figures asserted are limits with a margin over what is true (`python tests/test_memory.py` prints that). The goals are
those of issue 3: idle at most 512 B beyond the Python object, active with three blocks at most 6 KB, peak at most 2.5
times the message's bytes.
"""

from __future__ import annotations

import functools
import gc
import json
import resource
import subprocess
import sys
import tracemalloc
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jiter  # noqa: F401  # else its import would be counted to the stream that needs it first
import pytest

import fsm
from benchmarks import data
from fsm.model.message import StreamState
from helpers import ROOT, a_text, a_tool, anthropic, chat, ended

N = 200
ACTIVE = anthropic(*a_text(0, "hello ", "world"), *a_text(1, "more ", stop=False), *a_tool(2, "t1", "f", '{"a"', ": 1", stop=False), end=False)


@contextmanager
def traced() -> Iterator[Callable[[], tuple[int, int]]]:
    """Bytes allocated and peak since the beginning, Python's and (through PyMem) the extension's."""
    gc.collect()
    tracemalloc.start()
    try:
        base = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()

        def used() -> tuple[int, int]:
            now, peak = tracemalloc.get_traced_memory()
            return now - base, peak - base

        yield used
    finally:
        tracemalloc.stop()


def bytes_each(engine: str, *chunks: bytes, **options: Any) -> float:
    """Bytes per reconstructor that has got these chunks."""
    def one() -> fsm.Reconstructor:
        r = fsm.Reconstructor(engine=engine, **options)
        for chunk in chunks:
            r.feed(chunk)
        return r

    one()
    with traced() as used:
        kept = [one() for _ in range(N)]
        each = used()[0] / N
    assert len(kept) == N
    return each


def peak_of(engine: str, body: bytes, size: int = 4096) -> tuple[int, fsm.Outcome]:
    """The peak while the body comes in pieces that nobody keeps, and the outcome."""
    view = memoryview(body)
    with traced() as used:
        r = fsm.Reconstructor(engine=engine, limits=fsm.Limits(content_bytes=1 << 28, event_bytes=1 << 28), deltas="none")
        for i in range(0, len(body), size):
            r.feed(bytes(view[i:i + size]))
        outcome = ended(r)
        return used()[1], outcome


@functools.cache
def large(dialect: str, tool_share: float = 0.0) -> bytes:
    return data.make(dialect, 20_000, tool_share=tool_share).body


# ---------------------------------------------------------------- sizes

def test_an_idle_reconstructor(engine: str):
    """Whose upstream has not said a word yet."""
    assert bytes_each(engine) - sys.getsizeof(fsm.Reconstructor()) <= 512


def test_an_active_reconstructor(engine: str):
    """Three blocks, two of them open."""
    assert bytes_each(engine, ACTIVE[:100], ACTIVE[100:]) <= 6 * 1024


def test_a_closed_block_gives_its_buffer_back(engine: str):
    body = anthropic(*a_text(0, *["x" * 100] * 1000), *a_text(1, "y", stop=False), end=False)
    assert bytes_each(engine, body, deltas="none") <= 100_000 * 1.3 + 20_000


def test_what_a_large_event_needed_is_given_back(engine: str):
    """An event in many pieces: its block keeps it, the framing does not."""
    body = anthropic(*a_text(0, "x" * 200_000, stop=False), end=False)
    pieces = [body[i:i + 4096] for i in range(0, len(body), 4096)]
    assert bytes_each(engine, *pieces, deltas="none") <= 200_000 * 1.2


def times(peak: int, outcome: fsm.Outcome) -> float:
    """The peak in sizes of the message's content."""
    content = len(json.dumps(outcome.message.content, ensure_ascii=False).encode())
    assert content > 200_000
    return peak / content


@pytest.mark.parametrize("dialect", ["anthropic", "openai-chat"])
def test_the_peak_of_a_large_message(engine: str, dialect: str):
    """Buffers grow by half, are decoded once and given back: never three copies of the content at a time."""
    assert times(*peak_of(engine, large(dialect))) <= 2.5


@pytest.mark.parametrize("dialect", ["anthropic", "openai-chat"])
def test_the_peak_of_large_arguments(engine: str, dialect: str):
    """A quarter of this message is one call: neither its parse nor the comparison of its text takes a multiple of its bytes."""
    assert times(*peak_of(engine, large(dialect, 0.25))) <= 2.5


def piece(dialect: str, kind: str, size: int) -> data.Stream:
    """A message of one text event, or of one call in small deltas, where there are such."""
    return data.text(dialect, ["x" * size]) if kind == "text" else data.huge(dialect, size)


@pytest.mark.parametrize("kind", ["text", "call"])
@pytest.mark.parametrize("dialect", ["anthropic", "openai-chat", "openai-responses", "gemini"])
def test_the_peak_of_one_large_piece(engine: str, dialect: str, kind: str):
    """A text in one event; a call in small deltas, where there are such: two copies at a time, an event and its JSON, or arguments and what
    they are parsed from.

    One more where the message keeps the text of arguments that their object does not give back (Chat Completions, Responses), and one more
    on Responses, which states everything four times: what was streamed is there beside the event that restates it.
    """
    most = 2.5 + (dialect == "openai-responses") * 1.0 + (kind == "call" and dialect in ("openai-chat", "openai-responses")) * 0.7
    body = piece(dialect, kind, 1 << 19).body
    peak, outcome = peak_of(engine, body)
    assert times(peak, outcome) <= most
    assert peak <= 2.5 * len(body), "of what was received"


def test_the_peak_does_not_depend_on_the_split(tiers: tuple[str, ...]):
    """One event of a megabyte in small chunks: what is carried, what was decoded, and the block."""
    body = anthropic(*a_text(0, "x" * (1 << 20)))
    peak, outcome = peak_of("compiled", body, 64)
    assert outcome.completed
    assert peak <= 6 * (1 << 20), f"{peak / (1 << 20):.2f} times the message"


def test_a_long_stream_of_nothing_costs_nothing(engine: str):
    """Keepalives, comments, and a body of carriage returns: parsed bytes are not kept."""
    for noise in (b": keepalive\n\n", b"event: ping\ndata: {\"type\": \"ping\"}\n\n", b": keepalive\r\n\r\n"):
        r = fsm.Reconstructor("anthropic", engine=engine)
        r.feed(anthropic(end=False))
        r.feed(noise * 100)
        with traced() as used:
            for _ in range(50):
                r.feed(noise * 100)
            assert used()[0] <= 150_000, noise


# ---------------------------------------------------------------- nothing stays

WHOLE = data.make("anthropic", 60).body
CHAT = data.make("openai-chat", 60).body


def completed(r: fsm.Reconstructor) -> None:
    r.feed(WHOLE)
    assert ended(r).completed


def completed_chat(r: fsm.Reconstructor) -> None:
    for i in range(0, len(CHAT), 500):
        r.feed(CHAT[i:i + 500])
    assert ended(r).completed


def errored(r: fsm.Reconstructor) -> None:
    r.feed(WHOLE[:3000] + b'\n\nevent: error\ndata: {"type": "error", "error": {"type": "x"}}\n\n')
    assert ended(r).state is StreamState.ERRORED


def truncated(r: fsm.Reconstructor) -> None:
    r.feed(WHOLE[:3001])
    assert ended(r).state is StreamState.ERRORED


def cancelled(r: fsm.Reconstructor) -> None:
    r.feed(WHOLE[:3001])
    r.cancel()
    r.feed(WHOLE[3001:])
    r.end()


def timed_out(r: fsm.Reconstructor) -> None:
    r.tick(0.0)
    r.feed(WHOLE[:3001])
    r.tick(1e6)
    r.end()


def abandoned(r: fsm.Reconstructor) -> None:
    r.feed(WHOLE[:3001])


def abandoned_chat(r: fsm.Reconstructor) -> None:
    r.feed(CHAT[:-300])
    r.snapshot()


def overflown(r: fsm.Reconstructor) -> None:
    r.feed(anthropic(*a_text(0, *["x" * 999] * 1200)))
    assert ended(r).state is StreamState.CANCELLED


ENDS = [completed, completed_chat, errored, truncated, cancelled, timed_out, abandoned, abandoned_chat]


@pytest.mark.parametrize("deltas", ["chunk", "each", "none"])
def test_two_thousand_streams_leave_nothing(engine: str, deltas: str):
    """Every way to end, and none: neither objects nor bytes grow."""
    def rounds(n: int) -> None:
        for i in range(n):
            ENDS[i % len(ENDS)](fsm.Reconstructor(engine=engine, deltas=deltas))

    rounds(40)
    gc.collect()
    objects = len(gc.get_objects())
    n = 1000 if engine == "compiled" and deltas == "chunk" else 100
    with traced() as used:
        rounds(n)  # what replaces objects that were there before (free lists, the parsers' caches) is seen as growth once
        gc.collect()
        before, _peak = used()
        rounds(n)
        gc.collect()
        grown = used()[0] - before
    assert grown <= 10_000, f"{grown} bytes stayed"
    assert len(gc.get_objects()) - objects <= 50


GROWTH = """
import resource, sys
sys.path.insert(0, "tests")
from test_memory import ENDS, overflown, fsm
def rounds(n):
    for i in range(n):
        ENDS[i % len(ENDS)](fsm.Reconstructor(engine=sys.argv[1]))
    for i in range(n // 40):
        overflown(fsm.Reconstructor(engine=sys.argv[1]))
rounds(400)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
rounds(2000)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_the_process_does_not_grow(tiers: tuple[str, ...]):
    """What tracemalloc would not see: the resident size of a process, in KiB."""
    run = subprocess.run([sys.executable, "-c", GROWTH, "compiled"], cwd=ROOT, capture_output=True, text=True, check=True,
                         env={"PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}", "PATH": ""})
    assert int(run.stdout) <= 4096


@pytest.mark.parametrize("ending", ENDS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("deltas", ["chunk", "each", "none"])
def test_no_cycles(engine: str, ending: Callable[[fsm.Reconstructor], None], deltas: str):
    """Without the garbage collector, dropping a reconstructor frees it and all that is behind it at once."""
    gc.collect()
    gc.disable()
    try:
        r = fsm.Reconstructor(engine=engine, deltas=deltas)
        ending(r)
        gone = weakref.ref(r)
        del r
        assert gone() is None, "the reconstructor refers to itself"
        assert gc.collect() == 0, "something behind it refers to itself"
    finally:
        gc.enable()


def test_an_outcome_keeps_no_stream_alive(engine: str):
    r = fsm.Reconstructor(engine=engine)
    r.feed(WHOLE)
    outcome = ended(r)
    gone = weakref.ref(r)
    del r
    assert gone() is None
    assert outcome.message.content


def half_done(n: int) -> tuple[list[fsm.Reconstructor], int]:
    """So many streams with three blocks each, and the resident memory that they took, in bytes (Linux)."""
    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()

    before, kept = resident(), []
    for _ in range(n):
        r = fsm.Reconstructor("anthropic")
        r.feed(ACTIVE[:100])
        r.feed(ACTIVE[100:])
        kept.append(r)
    return kept, resident() - before


def figures() -> Iterator[str]:
    """What benchmarks/RESULTS.md states, and more."""
    for name in ("python", "compiled"):
        shell = sys.getsizeof(fsm.Reconstructor(engine=name))
        known = bytes_each(name, chat({"content": "a"}, finish=None, done=False))
        yield (f"{name}: idle {bytes_each(name):.0f} B (of it the object {shell} B), with a dialect {known:.0f} B, "
               f"active with three blocks {bytes_each(name, ACTIVE[:100], ACTIVE[100:]):.0f} B; at the peak, in sizes of the content:")
        for wire in ("anthropic", "openai-chat", "openai-responses", "gemini"):
            peaks = [times(*peak_of(name, large(wire, share))) for share in (0.0, 0.25)]
            whole = [times(*peak_of(name, piece(wire, kind, 1 << 20).body)) for kind in ("text", "call")]
            yield (f"    {wire}: 20,000 deltas {peaks[0]:.2f}, with a quarter of arguments {peaks[1]:.2f}; "
                   f"one event of a megabyte {whole[0]:.2f}, one call of that size {whole[1]:.2f}")
    kept, took = half_done(100_000)
    yield f"{len(kept):,} half-done streams: {took / 1e6:.0f} MB resident, {took / len(kept):.0f} B each"


if __name__ == "__main__":
    for line in figures():
        print(line, flush=True)
