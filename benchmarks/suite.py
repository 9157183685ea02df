"""Which cases there are: every engine, mode, chunking and flavour; whole messages by length; nothing but the fixed cost."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from benchmarks.data import CHUNKINGS, DIALECTS, FLAVOURS, Stream, huge, make
from benchmarks.measure import Case, Key, afternoon_case, engine_case
from fsm import BACKEND

MODES = ("none", "chunk", "each")
COMPILED = ("slow", "scan", "compiled")
ENGINES = ("python", *COMPILED) if BACKEND == "compiled" else ("python",)
LONG, MEDIUM, SHORT, EMPTY, HUGE = "20000", "2000", "200", "0", "huge"


@cache
def stream(dialect: str, flavour: str, size: str) -> Stream:
    return huge(dialect) if size == HUGE else make(dialect, int(size), flavour)


@cache
def chunks(dialect: str, flavour: str, size: str, chunking: str) -> tuple[bytes, ...]:
    return tuple(stream(dialect, flavour, size).chunks(CHUNKINGS[chunking]))


def case(key: Key) -> Case:
    make_case = afternoon_case if key.engine == "afternoon" else engine_case
    return make_case(stream(key.dialect, key.flavour, key.size), key, chunks(key.dialect, key.flavour, key.size, key.chunking))


def cases(keys: Iterable[Key]) -> list[Case]:
    """A case for each key, once."""
    return [case(key) for key in dict.fromkeys(keys)]


def length(engine: str) -> str:
    """20,000 deltas; 2,000 for those that take microseconds per delta, where a message's fixed cost is lost in the noise."""
    return LONG if engine in ("scan", "compiled") else MEDIUM


def rows() -> list[tuple[str, str]]:
    """(engine, mode) of each row of the table."""
    return [("afternoon", "none"), *((engine, mode) for engine in ENGINES for mode in MODES)]


def table_keys() -> list[Key]:
    return [Key(d, e, m, c, f, length(e)) for e, m in rows() for d in DIALECTS for c in CHUNKINGS for f in FLAVOURS]


def length_keys() -> list[Key]:
    """Whole messages of each length, finished blocks only, by each engine that is not for tests."""
    engines = [e for e in ("afternoon", "python", "compiled") if e in ("afternoon", *ENGINES)]
    return [Key(d, e, size=s) for e in engines for s in (EMPTY, SHORT, LONG, HUGE) if e == "compiled" or s in (EMPTY, SHORT) for d in DIALECTS]
