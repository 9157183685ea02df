"""The public streams in ../shared/corpus: our outcome against the vendors' own answers.

The comparison is that of ../shared/tools/score.py, imported from there. Both are skipped where the folder is absent.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from fsm import _tables as T
from helpers import SHARED, deliveries, run
from shared_score import ours_of, score

FOLDER = SHARED / "corpus"
#: streams whose vendor's answer is wrong for certain, with the reason
VENDOR_IS_WRONG: dict[str, str] = {}


if score is None:
    pytest.skip("../shared/corpus is not here", allow_module_level=True)


def _cases() -> Iterator[tuple[str, tuple[bytes, str, str, dict[str, Any]]]]:
    """(name, (body, our dialect, the index's, what is expected)) of every stream of our dialects."""
    for name, body, dialect, expected in score.corpus_cases(FOLDER):
        ours = ours_of(name, dialect)
        if ours in T.DIALECTS:
            yield name, (body, ours, dialect, expected)


CASES = dict(_cases())


def test_the_corpus_is_there():
    assert len(CASES) >= 142
    assert set(VENDOR_IS_WRONG) <= set(CASES)


@pytest.mark.parametrize("name", CASES)
def test_public_stream(engine: str, name: str):  # R-15 R-27 R-41
    body, ours, dialect, expected = CASES[name]
    first: dict[str, Any] | None = None
    for how, chunks in deliveries(body, name):
        got = run(engine, body, ours, None, chunks)
        if first is None:
            first = got
            why = score.corpus_mismatch(got, dialect, expected)
            assert why is None or name in VENDOR_IS_WRONG, f"{why}; the case is {json.dumps(expected.get('suspect'))}"
        assert got == first, f"fed {how}, the outcome differs in {[k for k in first if got[k] != first[k]]}"


def test_auto_finds_every_dialect(engine: str):
    wrong = {name: got for name, (body, ours, _d, _e) in CASES.items() if (got := run(engine, body)["dialect"]) != ours}
    assert not wrong


def test_every_stream_is_readable(engine: str):  # R-42 R-52
    """Also those of upstreams that we have no dialect for: no exception, and one outcome however it is cut."""
    for name, body, _dialect, _expected in score.corpus_cases(FOLDER):
        if name not in CASES:
            first = run(engine, body)
            assert all(run(engine, body, "auto", None, chunks) == first for how, chunks in deliveries(body, name) if how != "bytes"), name
