"""`spec/RULES.md`: the rules that code and tests cite are all there, in order, and the cases that it names exist."""

from __future__ import annotations

import re

import pytest

from helpers import CORPUS, ROOT

PAGE = (ROOT / "spec" / "RULES.md").read_text(encoding="utf-8")
SECTIONS = ("Blocks", "Tool calls", "End", "Usage", "Anomalies", "Limits")
RULES = 24
CASES = {path.stem for path in CORPUS.glob("*.json")}
HEADS = {name.partition("_")[0] for name in CASES}


def anchor(heading: str) -> str:
    """What a renderer of Markdown makes of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def test_the_rules_are_all_there_in_order():
    assert [int(n) for n in re.findall(r"^### Rule (\d+): \S", PAGE, re.M)] == list(range(1, RULES + 1))


def test_the_sections_stand_before_the_rules():
    headings = re.findall(r"^### (.+)$", PAGE, re.M)
    assert tuple(headings[:len(SECTIONS)]) == SECTIONS
    assert len(headings) == len(SECTIONS) + RULES


def test_each_rule_says_why():
    rules = re.split(r"^### Rule ", PAGE, flags=re.M)[1:]
    assert [rule.partition("\n")[0] for rule in rules if "\n*Why.* " not in rule] == []


def shown() -> list[str]:
    """Every name in a list that begins with "Shown by"."""
    return [name for listed in re.findall(r"^Shown by ([^.]+)\.$", PAGE, re.M) for name in re.findall(r"`([^`]+)`", listed)]


def test_the_cases_exist():
    assert len(shown()) > 60
    assert [name for name in shown() if name not in CASES] == []


def test_no_case_is_named_outside_of_a_list():
    """Else the test before this one would not see it."""
    named = [name for name in re.findall(r"`(\w+)`", PAGE) if name.partition("_")[0] in HEADS and "_" in name]
    assert sorted(named) == sorted(name for name in shown() if name in named)


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\]\(([^)]+)\)", PAGE))))
def test_links_lead_somewhere(target: str):
    file, _, place = target.partition("#")
    text = (ROOT / "spec" / file).read_text(encoding="utf-8") if file else PAGE
    assert not place or place in [anchor(heading) for heading in re.findall(r"^#+ (.+)$", text, re.M)]
