"""Linear everywhere: what a byte costs in a large stream, as a multiple of what it costs in eight that are an eighth as large.

The streams are those of issue 3: a tool argument of a megabyte in deltas of twelve bytes, 120,000 deltas of one character, one event of eight
megabytes in chunks of 64 bytes, one byte per chunk. 1 is linear; a quadratic step would give 8.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import NamedTuple

import fsm
from benchmarks import data
from benchmarks.data import Stream
from benchmarks.measure import Key, WrongAnswerError, no_gc

TIMES = 8  # how much larger the large stream is
LIMITS = fsm.Limits(content_bytes=1 << 26, event_bytes=1 << 26)


class Shape(NamedTuple):
    """`make(dialect, size)` gives a stream that comes in chunks of `chunk` bytes; the large one is that of `size`."""

    make: Callable[[str, int], Stream]
    size: int
    chunk: int


SHAPES = {
    "argument": Shape(data.huge, 1 << 20, 4096),
    "characters": Shape(lambda dialect, size: data.text(dialect, ["x"] * size), 120_000, 4096),
    "one event": Shape(lambda dialect, size: data.text(dialect, ["x" * size]), 8 << 20, 64),
    "one byte": Shape(lambda dialect, size: data.make(dialect, size // 100), 1 << 19, 1),
}


def key(dialect: str, shape: str) -> Key:
    return Key(dialect, "compiled", chunking=f"{SHAPES[shape].chunk} B", size=shape)


def measure(keys: list[Key], rounds: int) -> dict[Key, float]:
    """The ratio for each key, large and small in turns, the median over the rounds."""
    out = {}
    for k in keys:
        shape = SHAPES[k.size]
        large, small = (shape.make(k.dialect, size) for size in (shape.size, shape.size // TIMES))
        # as many small streams as make a large one, each with bytes of its own: else only the small one would stay in the processor's cache
        whole, parts = large.chunks(shape.chunk), [[bytes(bytearray(chunk)) for chunk in small.chunks(shape.chunk)] for _ in range(TIMES)]
        ratios = []
        with no_gc():
            for _ in range(rounds):
                few = sum(_per_byte(small, chunks) for chunks in parts) / TIMES
                ratios.append(_per_byte(large, whole) / few)
        out[k] = median(ratios)
    return out


def _per_byte(stream: Stream, chunks: list[bytes]) -> float:
    """Seconds of processor time per byte. Raises WrongAnswerError."""
    begin = time.process_time()
    r = fsm.Reconstructor(stream.dialect, limits=LIMITS, deltas="none")
    for chunk in chunks:
        r.feed(chunk)
    r.end()
    content = r.outcome.message.content
    took = time.process_time() - begin
    if content != stream.content:
        raise WrongAnswerError(f"{stream.name} in {len(chunks)} chunks")
    return took / len(stream.body)
