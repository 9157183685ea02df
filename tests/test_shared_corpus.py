"""The public streams in ../shared/corpus: our outcome against the vendors' own answers.

The comparison is that of ../shared/tools/score.py, imported from there. Both are skipped where the folder is absent.
"""

from __future__ import annotations

import importlib.util
import json
from typing import Any

import pytest

from helpers import SHARED, deliveries, run

FOLDER = SHARED / "corpus"
SCORE = SHARED / "tools" / "score.py"
DIALECTS = ("anthropic", "openai-chat", "openai-responses")

#: streams whose vendor's answer is wrong for certain, with the reason
VENDOR_IS_WRONG: dict[str, str] = {}


def _score() -> Any:
    spec = importlib.util.spec_from_file_location("score", SCORE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if not (FOLDER.is_dir() and SCORE.is_file()):
    pytest.skip("../shared/corpus is not here", allow_module_level=True)

score = _score()
#: streams that the corpus files under "other", by their upstream
OTHERS = {"cohere": "cohere"}


def _dialect(name: str, dialect: str) -> str:
    return next((ours for upstream, ours in OTHERS.items() if name.startswith(f"other/{upstream}-")), dialect)


CASES = {name: (body, ours, exp) for name, body, dialect, exp in score.corpus_cases(FOLDER)
         if (ours := _dialect(name, dialect)) in (*DIALECTS, *OTHERS.values())}


def test_the_corpus_is_there():
    assert len(CASES) >= 142
    assert set(VENDOR_IS_WRONG) <= set(CASES)


@pytest.mark.parametrize("name", CASES)
def test_public_stream(engine: str, name: str):  # R-15 R-27 R-41
    body, dialect, expected = CASES[name]
    first: dict[str, Any] | None = None
    for how, chunks in deliveries(body, name):
        got = run(engine, body, dialect, None, chunks)
        if first is None:
            first = got
            why = score.corpus_mismatch(got, dialect if dialect in DIALECTS else "other", expected)
            assert why is None or name in VENDOR_IS_WRONG, f"{why}; the case is {json.dumps(expected.get('suspect'))}"
        assert got == first, f"fed {how}, the outcome differs in {[k for k in first if got[k] != first[k]]}"


def test_auto_finds_every_dialect(engine: str):
    wrong = {name: got for name, (body, dialect, _e) in CASES.items()
             if (got := run(engine, body)["dialect"]) != dialect}
    assert not wrong
