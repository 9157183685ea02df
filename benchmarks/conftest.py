"""`pytest benchmarks`: the figures of pytest-benchmark, wall time per message, grouped by stream.

Compare within a group. On a busy machine trust `python -m benchmarks`, which times the processor and interleaves.
"""

from __future__ import annotations

import pytest

from benchmarks import suite
from benchmarks.data import DIALECTS, Stream


@pytest.fixture(params=DIALECTS)
def dialect(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(params=suite.ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def stream(dialect: str) -> Stream:
    """2,000 deltas of ASCII."""
    return suite.stream(dialect, "ascii", suite.MEDIUM)
