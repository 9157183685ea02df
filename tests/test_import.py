"""What importing costs, and what the public surface is."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import fsm
from fsm import _tables
from fsm import _engine
from helpers import ROOT

HEAVY = ("asyncio", "ssl", "socket", "concurrent.futures", "subprocess", "transitions.extensions",
         "yaml", "jsonschema_rs", "jiter", "typer", "click", "rich", "httpx", "httpx2", "aiohttp", "requests", "urllib3", "http.client",
         "hypothesis", "pytest", "anthropic", "openai", "pydantic", "zstandard", "pyarrow", "spec", "fsm.cli.app")


def python(code: str, **env: str) -> subprocess.CompletedProcess[str]:
    keep = {k: v for k, v in os.environ.items() if not k.startswith("FSM_")}
    return subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, cwd=ROOT, env={**keep, **env}, timeout=60)


@pytest.mark.parametrize("pure", ["", "1"])
def test_import_takes_nothing_heavy(pure: str):
    heavy = (*HEAVY, "transitions")
    got = python(f"import sys; import fsm; print([m for m in {heavy!r} if m in sys.modules], len(sys.modules))", FSM_PURE_PYTHON=pure)
    found, _sep, count = got.stdout.strip().rpartition(" ")
    assert found == "[]", got.stdout + got.stderr
    assert int(count) <= 190, "python itself, orjson and what the standard library has for data: 164 when this was written"


@pytest.mark.parametrize("pure", ["", "1"])
def test_a_stream_that_nobody_observes_takes_nothing_heavy(pure: str):
    """The Python engine needs the plain machine of `transitions`, the compiled one none."""
    heavy = HEAVY if pure or fsm.BACKEND == "python" else (*HEAVY, "transitions")
    body = b'data: {"choices":[{"delta":{"content":"x"}}]}\n\ndata: [DONE]\n\n'
    code = f"import sys, fsm; assert fsm.reconstruct({body!r}).completed; print([m for m in {heavy!r} if m in sys.modules])"
    got = python(code, FSM_PURE_PYTHON=pure)
    assert got.stdout.strip() == "[]", got.stdout + got.stderr


def test_the_public_surface():
    """Adding here is a decision; taking away is a break."""
    assert sorted(fsm.__all__) == [
        "Anomaly", "BACKEND", "BlockFinished", "BlockStarted", "ErrorInfo", "Event", "FieldReady", "FsmError",
        "History", "Limits", "Message", "MessageFinished", "Metrics", "MisuseError", "NormalizedEvent", "OptionError",
        "Outcome", "Partial", "Reconstructor", "SchemaError", "StreamCancelled", "StreamError", "StreamErrored",
        "StreamFailed", "StreamState", "StreamTimedOut", "TextDelta", "ThinkingDelta", "Timeouts", "ToolInputDelta",
        "ToolInvalid", "ToolReady", "ToolRegistry", "UnknownDialectError", "UnknownEngineError", "Usage",
        "UsageLedger", "UsageUpdated", "reconstruct", "reconstruct_many"]
    assert all(hasattr(fsm, name) for name in fsm.__all__)


def test_every_exception_has_the_one_base():
    errors = [getattr(fsm, n) for n in fsm.__all__ if n.endswith("Error") or n.startswith("Stream")]
    errors = [e for e in errors if isinstance(e, type) and issubclass(e, Exception)]
    assert len(errors) >= 9
    assert all(issubclass(e, fsm.FsmError) for e in errors)


# ---------------------------------------------------------------- which engine


def test_pure_python_is_taken_when_asked_for():
    got = python("import fsm; print(fsm.BACKEND)", FSM_PURE_PYTHON="1")
    assert got.stdout.strip() == "python", got.stderr


@pytest.mark.parametrize("engine_", ["compiled", "slow"])
def test_the_compiled_engine_is_refused_under_pure_python(engine_: str):
    got = python(f"import fsm; fsm.Reconstructor(engine={engine_!r})", FSM_PURE_PYTHON="1")
    assert "UnknownEngineError" in got.stderr


def test_the_backend_says_which():
    assert (fsm.BACKEND == "compiled") == (_engine.COMPILED is not None)
    assert _engine.engine(None).name == fsm.BACKEND


def test_the_extension_has_the_digest_of_the_tables():
    if _engine.speedups is not None:
        assert _engine.speedups.SPEC_DIGEST == _tables.SPEC_DIGEST
    else:
        assert fsm.BACKEND == "python"


# ---------------------------------------------------------------- what is compiled from its Python source


def test_a_module_with_a_pxd_is_compiled_and_nothing_else():
    declared = {".".join(path.relative_to(ROOT).with_suffix("").parts) for path in (ROOT / "fsm").rglob("*.pxd")} - {"fsm._tables"}
    assert declared == set(_engine.COLD)


@pytest.mark.parametrize("pure", [False, True])
def test_all_of_them_are_taken_or_none(pure: bool):
    if not pure and fsm.BACKEND != "compiled":
        pytest.skip("nothing is compiled here")
    code = f"import sys, fsm, fsm.cli.app; print([m for m in {_engine.COLD!r} if sys.modules[m].__file__.endswith('.py') is not {pure}])"
    assert python(code, FSM_PURE_PYTHON="1" if pure else "").stdout.strip() == "[]"
