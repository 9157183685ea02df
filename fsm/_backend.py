"""The only place that chooses between the compiled and the pure engine.

FSM_PURE_PYTHON=1       take the pure engine whatever is built
FSM_REQUIRE_SPEEDUPS=1  a missing or unusable extension is an ImportError

Without either, the extension is taken when it is there; one that is there but cannot be used is warned about, since
a silent fallback costs its users most of their speed.

What decides has one source, Python, and is compiled from it as well (setup.py). Those modules are taken compiled with
the extension, all of them, or else from their sources, all of them: then a finder leads past what was built.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from importlib.machinery import EXTENSION_SUFFIXES, ModuleSpec
from types import ModuleType
from typing import Any, NamedTuple

from fsm import _tables
from fsm.errors import UnknownEngineError


class Engine(NamedTuple):
    """The twinned parts of one engine: framing, the table step, block buffers, the memory of numbered events.

    Compiled only: `shortcut` makes what appends bare deltas without Python, `learn` tells whether it uses templates, `frames` makes what
    takes whole events apart for the dialect.
    """

    name: str
    framing: Callable[..., Any]
    stepper: Callable[[Any], Any]
    buffer: Callable[[Any], Any]
    recent: Callable[[], Any]
    shortcut: Callable[..., Any] | None = None
    learn: bool = False
    frames: Callable[..., Any] | None = None


#: the modules that are compiled from their Python sources: those with a `.pxd` beside them
COLD = ("fsm._events", "fsm.accumulator", "fsm.arguments", "fsm.blocks", "fsm.calls", "fsm.cases", "fsm.dialects.anthropic", "fsm.dialects.base",
        "fsm.dialects.gemini", "fsm.dialects.openai_chat", "fsm.dialects.openai_responses", "fsm.dialects.responses_items", "fsm.dialects.responses_memory",
        "fsm.dialects.think", "fsm.ending", "fsm.events", "fsm.ledger", "fsm.message", "fsm.metrics",
        "fsm.parts", "fsm.reader", "fsm.reconstructor", "fsm.usage", "fsm.values")
_SLACK = 10.0  # seconds that a source may be younger than what was built from it: an installer writes the two in any order


def _flag(name: str) -> bool:
    return os.environ.get(name, "") not in ("", "0")


class _Sources:
    """A finder that takes the modules of COLD from their sources, whatever lies beside them."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        source = _source(name)
        return importlib.util.spec_from_file_location(name, source) if name in COLD and os.path.exists(source) else None


def _source(name: str) -> str:
    return os.path.join(os.path.dirname(__file__), *name.split(".")[1:]) + ".py"


def _unusable(name: str) -> str | None:
    """Why the compiled form of a module cannot be taken."""
    source = _source(name)
    built = next((path for suffix in EXTENSION_SUFFIXES if os.path.exists(path := source.removesuffix(".py") + suffix)), None)
    if built is None:
        return f"{name} was not built"
    if os.path.exists(source) and os.path.getmtime(source) > os.path.getmtime(built) + _SLACK:
        return f"{name} was changed since it was built; build it again"
    return None


def _load() -> Any:
    """The extension module, or None. Raises ImportError if it is required and cannot be used."""
    loaded = None if _flag("FSM_PURE_PYTHON") else _extension()
    if loaded is None:
        for name in COLD:  # an extension that was refused may have brought some of them
            sys.modules.pop(name, None)
        sys.meta_path.insert(0, _Sources)
    return loaded


def _extension() -> Any:
    required = _flag("FSM_REQUIRE_SPEEDUPS")
    if importlib.util.find_spec("fsm._speedups") is None:
        if not required:
            return None
        trouble: str | None = "it was not built (a C compiler was missing, or the build failed)"
    else:
        trouble = next(filter(None, map(_unusable, COLD)), None)
    if trouble is None:
        try:
            from fsm import _speedups
        except ImportError as e:
            trouble = f"it does not load: {e}"
        else:
            if _speedups.SPEC_DIGEST == _tables.SPEC_DIGEST:
                return _speedups
            trouble = f"it was built from another spec ({_speedups.SPEC_DIGEST}, the tables are {_tables.SPEC_DIGEST}); build it again"
    message = f"fsm._speedups is not used: {trouble}. `pip install --force-reinstall --no-binary deltafsm deltafsm` builds it."
    if required:
        raise ImportError(message)
    warnings.warn(message, RuntimeWarning, stacklevel=2)
    return None


speedups = _load()

from fsm import buffer, machine, recent, sse  # noqa: E402  # behind the choice, since some of what they import is compiled

PYTHON = Engine("python", sse.SSEParser, machine.Stepper, buffer.Buffer, recent.Recent)
_SLOW = None if speedups is None else Engine("slow", speedups.SSEParser, speedups.Stepper, speedups.Buffer, speedups.Recent)
COMPILED = None if _SLOW is None else _SLOW._replace(name="compiled", shortcut=speedups.Shortcut, learn=True, frames=speedups.Frames)
BACKEND = "python" if COMPILED is None else "compiled"


def engine(name: str | None = None) -> Engine:
    """The engine of that name; None takes the best there is. Raises UnknownEngineError."""
    if name is None:
        return COMPILED or PYTHON
    if name == "python":
        return PYTHON
    if name not in ("compiled", "scan", "slow"):
        raise UnknownEngineError(f"no engine is called {name!r}; there are None, 'python', 'compiled', 'scan' and 'slow'")
    if COMPILED is None or _SLOW is None:
        raise UnknownEngineError(f"the engine {name!r} is not there: fsm._speedups was not built, or FSM_PURE_PYTHON is set; use engine='python'")
    return COMPILED if name == "compiled" else _SLOW if name == "slow" else COMPILED._replace(name="scan", learn=False)
