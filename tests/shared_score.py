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

#: streams that the index files under "other", by the beginning of their names
OTHERS = {"other/ollama-": "ollama", "other/cohere-": "cohere", "other/gemini-interactions-": "gemini-interactions"}
OTHERS |= {f"other/bedrock-{head}": "bedrock-converse" for head in ("chat-", "converse-", "model-", "titan-converse-", "invoke-nova-", "invoke-testnova")}


def ours_of(name: str, dialect: str) -> str:
    """Our name for the dialect of a public stream, whose index says `dialect`."""
    return next((ours for head, ours in OTHERS.items() if name.startswith(head)), dialect)
