"""The scoring script beside the clone, ../shared/tools/score.py, as a module; None where it or the public streams are absent."""

from __future__ import annotations

import importlib.util
from typing import Any

from helpers import SHARED

SCRIPT = SHARED / "tools" / "score.py"


def _load() -> Any:
    spec = importlib.util.spec_from_file_location("score", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


score: Any = _load() if SCRIPT.is_file() and (SHARED / "corpus").is_dir() else None
