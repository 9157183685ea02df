"""Every requirement that is proved so far is named beside a test (`grep -r "R-43" tests` finds its proof)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from helpers import SHARED

PROVED = [*range(1, 16), *range(17, 53), 62, *range(64, 68), *range(70, 74), *range(75, 81), 82, 83, 85, 90, 91, 97, 104]


def numbers(text: str) -> set[int]:
    return {int(n) for n in re.findall(r"\bR-(\d+)\b", text)}


def beside_tests() -> set[int]:
    """The numbers on the lines that begin a test, in the other files."""
    found: set[int] = set()
    for path in Path(__file__).parent.glob("test_*.py"):
        if path.name != Path(__file__).name:
            found |= numbers("\n".join(line for line in path.read_text("utf-8").splitlines() if line.startswith("def test_")))
    return found


def test_every_requirement_is_named_beside_a_test():
    assert sorted(set(PROVED) - beside_tests()) == []


def test_no_requirement_is_invented():
    page = SHARED / "design" / "REQUIREMENTS.md"
    if not page.exists():
        pytest.skip("../shared/design is not here")
    assert beside_tests() <= numbers(page.read_text("utf-8"))
    assert set(PROVED) <= numbers(page.read_text("utf-8"))
