"""Whole messages of 2,000 deltas end to end, by engine, mode, chunking and flavour; the huge argument by the fast engines.

    pytest benchmarks/bench_engine.py -k "compiled and ascii" --benchmark-columns=median,ops
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from benchmarks import suite
from benchmarks.data import CHUNKINGS, FLAVOURS
from benchmarks.measure import Key, check

pytestmark = pytest.mark.benchmark(disable_gc=True, max_time=0.1, min_rounds=3)


def bench(benchmark: Callable[..., Any], key: Key) -> None:
    benchmark.group = f"{key.dialect}, {key.flavour}, {key.size} deltas, {key.chunking} chunks"
    case = suite.case(key)
    check(case)
    benchmark(case.run)


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("chunking", CHUNKINGS)
@pytest.mark.parametrize("mode", suite.MODES)
def test_message(benchmark: Callable[..., Any], dialect: str, engine: str, mode: str, chunking: str, flavour: str) -> None:
    bench(benchmark, Key(dialect, engine, mode, chunking, flavour, suite.MEDIUM))


@pytest.mark.parametrize("chunking", CHUNKINGS)
@pytest.mark.parametrize("flavour", FLAVOURS)
def test_afternoon(benchmark: Callable[..., Any], dialect: str, chunking: str, flavour: str) -> None:
    """What somebody writes in an afternoon, for scale."""
    bench(benchmark, Key(dialect, "afternoon", "none", chunking, flavour, suite.MEDIUM))


@pytest.mark.parametrize("fast", [e for e in suite.ENGINES if e in ("scan", "compiled")])
def test_huge_argument(benchmark: Callable[..., Any], dialect: str, fast: str) -> None:
    """A megabyte of tool argument in 12-byte deltas."""
    bench(benchmark, Key(dialect, fast, size=suite.HUGE))
