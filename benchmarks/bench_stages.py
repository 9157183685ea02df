"""The stages of one message, each on the same 2,000 deltas in 4 KiB chunks: what JSON costs alone, framing, framing and
JSON, the scan, the template; then a whole short message and one without any delta.

    pytest benchmarks/bench_stages.py --benchmark-group-by=group --benchmark-columns=median,ops
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson
import pytest

from benchmarks import suite
from benchmarks.data import Stream
from benchmarks.measure import Key, check, yardstick
from fsm import _engine

EVENT_BYTES = 16 << 20
FRAMINGS = [name for name in ("python", "slow") if name in suite.ENGINES]  # "slow" is the compiled framing by itself
SCANS = [name for name in ("scan", "compiled") if name in suite.ENGINES]

pytestmark = pytest.mark.benchmark(disable_gc=True, max_time=0.2, min_rounds=5)
Benchmark = Callable[..., Any]


def datas(framing: str, chunks: list[bytes]) -> list[bytes]:
    """The data of every event, as framing gives it out."""
    parser = _engine.engine(framing).framing(EVENT_BYTES)
    out = [frame[1] for chunk in chunks for frame in parser.receive(chunk)]
    return out + [frame[1] for frame in parser.end()]


def wanted(stream: Stream) -> list[bytes]:
    return stream.payloads + ([b"[DONE]"] if stream.dialect == "openai-chat" else [])


def test_json_alone(benchmark: Benchmark, stream: Stream) -> None:
    """The yardstick."""
    benchmark.group = f"{stream.name}: stages"
    benchmark(yardstick(stream))


@pytest.mark.parametrize("framing", FRAMINGS)
def test_framing(benchmark: Benchmark, stream: Stream, framing: str) -> None:
    benchmark.group = f"{stream.name}: stages"
    assert benchmark(datas, framing, stream.chunks(4096)) == wanted(stream)


@pytest.mark.parametrize("framing", FRAMINGS)
def test_framing_and_json(benchmark: Benchmark, stream: Stream, framing: str) -> None:
    benchmark.group = f"{stream.name}: stages"

    def run(chunks: list[bytes]) -> int:
        return sum(1 for data in datas(framing, chunks) if data != b"[DONE]" and orjson.loads(data) is not None)

    assert benchmark(run, stream.chunks(4096)) == len(stream.payloads)


@pytest.mark.parametrize("engine", SCANS)
def test_scan_and_template(benchmark: Benchmark, stream: Stream, engine: str) -> None:
    """The short cut with and without templates; a message's fixed cost is in it, but for one that is nothing but that."""
    benchmark.group = f"{stream.name}: stages"
    case = suite.case(Key(stream.dialect, engine, size=suite.MEDIUM))
    check(case)
    benchmark(case.run)


@pytest.mark.parametrize("size", [suite.SHORT, suite.EMPTY])
def test_short_message(benchmark: Benchmark, dialect: str, engine: str, size: str) -> None:
    """Create, feed, end, blocks built: 200 deltas, and none."""
    benchmark.group = f"{dialect}: a message of {size} deltas"
    case = suite.case(Key(dialect, engine, size=size))
    check(case)
    benchmark(case.run)
