"""The only place that chooses between the compiled and the pure engine.

FSM_PURE_PYTHON=1       take the pure engine whatever is built
FSM_REQUIRE_SPEEDUPS=1  a missing or unusable extension is an ImportError

Without either, the extension is taken when it is there; one that is there but cannot be used is warned about, since
a silent fallback costs its users most of their speed.

What decides has one source, Python, and is compiled from it as well (setup.py). Those modules are taken compiled with
the extension, all of them, or else from their sources, all of them: then a finder leads past what was built. Whether
they are taken is decided before any of them is imported, from what the build wrote down (`_built`): there is no way
back, since what was compiled holds on to what else was.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Sequence
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader, ModuleSpec
from importlib.util import spec_from_file_location
from types import ModuleType
from typing import Any, NamedTuple

from fsm import _built, _tables
from fsm.model.errors import UnknownEngineError, did_you_mean


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
COLD = ("fsm.dialects.anthropic", "fsm.dialects.base", "fsm.dialects.decoder", "fsm.dialects.gemini",
        "fsm.dialects.openai_chat", "fsm.dialects.openai_responses", "fsm.dialects.responses_items",
        "fsm.dialects.responses_memory", "fsm.dialects.think", "fsm.model.deltas", "fsm.model.events",
        "fsm.model.message", "fsm.model.metrics", "fsm.model.usage", "fsm.parts", "fsm.rebuild.accumulator",
        "fsm.rebuild.blocks", "fsm.rebuild.calls", "fsm.rebuild.finish", "fsm.rebuild.guards", "fsm.rebuild.store",
        "fsm.reconstructor", "fsm.sink", "fsm.values.arguments", "fsm.values.values")
_PACKAGE = os.path.dirname(os.path.abspath(__file__))
_ROOT = os.path.dirname(_PACKAGE)
_CHECKOUT = os.path.exists(os.path.join(_ROOT, "_speedups", "_speedups.pyx"))
_BUILD = ("`pip install -e '.[dev]'`, once, and `python setup.py build_ext --inplace` build it" if _CHECKOUT else
          "`pip install --force-reinstall --no-deps --no-binary deltafsm deltafsm` builds it")


def _flag(name: str) -> bool:
    return os.environ.get(name, "") not in ("", "0")


class _Sources:
    """A finder that takes the modules of COLD from their sources, whatever lies beside them."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        return spec_from_file_location(name, _file(name, ".py")) if name in COLD else None


def _file(name: str, suffix: str) -> str:
    return os.path.join(_PACKAGE, *name.split(".")[1:]) + suffix


def _compiled(name: str) -> str | None:
    """The compiled form of a module, or None."""
    return next((path for suffix in EXTENSION_SUFFIXES if os.path.exists(path := _file(name, suffix))), None)


def _load() -> Any:
    """The extension module, or None. Raises ImportError if it is required and cannot be used."""
    required, trouble = _flag("FSM_REQUIRE_SPEEDUPS"), None
    if not _flag("FSM_PURE_PYTHON"):
        record = _built.read(os.path.join(_PACKAGE, _built.RECORD))
        if record is not None or required or _compiled("fsm._speedups") is not None:
            trouble = _trouble(record)
            if trouble is None:
                return _extension()
    if trouble is not None:
        message = f"fsm._speedups is not used: {trouble}. {_BUILD}."
        if required:
            raise ImportError(message)
        warnings.warn(message, RuntimeWarning, stacklevel=2)
    sys.meta_path.insert(0, _Sources)
    return None


def _trouble(record: dict[str, Any] | None) -> str | None:
    """Why the compiled modules cannot be taken, or None. Nothing of them is run."""
    built = {name: _compiled(name) for name in ("fsm._speedups", *COLD)}
    missing = next((name for name, path in built.items() if path is None), None)
    if missing is not None:
        return f"{missing} was not built (a C compiler was missing, or the build failed)"
    if record is None:
        return f"the build did not finish, since it left no fsm/{_built.RECORD}"
    if record.get("spec") != _tables.SPEC_DIGEST:
        return f"it was built from another spec ({record.get('spec')}, the tables are {_tables.SPEC_DIGEST})"
    if _CHECKOUT and (changed := _built.changed(_ROOT, record["sources"])):
        return f"{changed[0]}{f' and {len(changed) - 1} more' if changed[1:] else ''} changed since it was built"
    for name, path in built.items():
        try:  # the linker's part, which is where a file that is cut or made for another machine fails
            ExtensionFileLoader(name, str(path)).create_module(ModuleSpec(name, None, origin=path))
        except ImportError as e:
            return f"{name} does not load: {e}"
    return None


def _extension() -> Any:
    try:
        from fsm import _speedups
    except Exception as e:
        message = f"fsm._speedups fails while it is loaded: {e}. {_BUILD}; FSM_PURE_PYTHON=1 does without it."
        raise ImportError(message) from e
    return _speedups


speedups = _load()

# behind the choice, since some of what they import is compiled
from fsm import stepper  # noqa: E402
from fsm.dialects import repeats  # noqa: E402
from fsm.framing import sse  # noqa: E402
from fsm.rebuild import buffer  # noqa: E402

PYTHON = Engine("python", sse.SSEParser, stepper.Stepper, buffer.Buffer, repeats.Recent)
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
        like = did_you_mean(name, ("python", "compiled"))
        raise UnknownEngineError(f"no engine is called {name!r}{like}; there are None, 'python', 'compiled', 'scan' and 'slow'")
    if COMPILED is None or _SLOW is None:
        raise UnknownEngineError(f"the engine {name!r} is not there: fsm._speedups was not built, or FSM_PURE_PYTHON is set; use engine='python'")
    return COMPILED if name == "compiled" else _SLOW if name == "slow" else COMPILED._replace(name="scan", learn=False)
