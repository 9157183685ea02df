"""The engines, as one fixture: every test of behaviour runs on each of them.

FSM_PURE_PYTHON=1       only the pure engine runs
FSM_REQUIRE_SPEEDUPS=1  a missing extension fails instead of skipping
"""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

from fsm import _engine
from fsm.framing.sse import SSEParser

#: the engines on which every test of behaviour runs; the first needs no extension
ENGINES = ("python", "compiled")
#: every engine that `Reconstructor(engine=...)` knows, the reference first: what the tests of the fast path compare
TIERS = ("python", "slow", "scan", "compiled")


def flag(name: str) -> bool:
    return os.environ.get(name, "") not in ("", "0")


TESTED = ENGINES[:1] if flag("FSM_PURE_PYTHON") else ENGINES


def require(name: str) -> None:
    """Skip (or, under FSM_REQUIRE_SPEEDUPS, fail) where the engine `name` is not built."""
    if name != "python" and _engine.COMPILED is None:
        if flag("FSM_REQUIRE_SPEEDUPS"):
            pytest.fail("FSM_REQUIRE_SPEEDUPS is set and fsm._speedups is missing")
        pytest.skip("fsm._speedups is not built")


@pytest.fixture(scope="session", params=TESTED)
def engine(request: pytest.FixtureRequest) -> str:
    """The name of an engine, for `Reconstructor(engine=...)`."""
    require(request.param)
    return request.param


@pytest.fixture(scope="session")
def tiers() -> tuple[str, ...]:
    """All four engines, for tests that compare them; skipped without the extension."""
    require("compiled")
    return TIERS


@pytest.fixture(scope="session", params=[name for name in TESTED if name in ("python", "compiled")])
def parser(request: pytest.FixtureRequest):
    """The SSE parser class of an engine."""
    require(request.param)
    return SSEParser if request.param == "python" else _engine.engine("compiled").framing


settings.register_profile("fsm", deadline=None, derandomize=True, database=None,
                          suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
settings.load_profile("fsm")
