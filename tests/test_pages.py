"""The pages: the README stays short and its examples run, links lead somewhere, lists name everything that they should."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import fsm
from fsm import _tables as T
from helpers import CORPUS, ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("spec/*.md"), *ROOT.glob("benchmarks/*.md")])


def test_the_readme_is_short():
    lines = README.splitlines()
    assert len(lines) <= 200
    assert [line for line in lines if len(line) > 120] == []


def test_the_set_up_commands():
    """CI runs the second as it stands: it is the first line that names pytest."""
    first, second = re.findall(r"^```sh\n(.*)\n```$", README, re.M)
    assert first == "python3 -m venv .venv && .venv/bin/pip install -q '.[cli]' && .venv/bin/deltafsm demo"
    assert second == "python3 -m venv .venv && .venv/bin/pip install -q -e '.[test]' && .venv/bin/python -m pytest -q"
    assert next(line for line in README.splitlines() if "python -m pytest" in line) == second


CALL = {"index": 0, "id": "call_1", "function": {"name": "Read", "arguments": '{"file_path": "nuts.py"}'}}
CHUNKS = [{"choices": [{"delta": {"content": "Let me look."}}]}, {"choices": [{"delta": {"tool_calls": [CALL]}, "finish_reason": "tool_calls"}]}]
BODY = b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in CHUNKS) + b"data: [DONE]\n\n"


class Response:
    """What an HTTP client gives."""

    def iter_raw(self):
        return [BODY[i:i + 50] for i in range(0, len(BODY), 50)]


def test_the_examples_of_the_readme_run(monkeypatch, tmp_path: Path, capsys):
    (tmp_path / "response.sse").write_bytes(BODY)
    monkeypatch.chdir(tmp_path)
    started: list[Any] = []
    names: dict[str, Any] = {"response": Response(), "start_if_read_only": lambda *call: started.append(call)}
    examples = re.findall(r"^```python\n(.*?)^```$", README, re.M | re.S)
    assert len(examples) == 4
    for example in examples:
        exec(example, names)
    assert started == [("call_1", "Read", {"file_path": "nuts.py"})]
    said = capsys.readouterr().out
    assert "run Read {'file_path': 'nuts.py'}" in said
    assert said.count("Let me look.") == 2


def anchors(page: Path) -> list[str]:
    """What a renderer of Markdown makes of the headings."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.M)
    return [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path):
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        file, _, place = target.partition("#")
        there = page.parent / file if file else page
        assert there.exists(), target
        assert not place or place in anchors(there), target


def test_every_dialect_is_listed():
    page = (ROOT / "spec" / "DIALECTS.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `([\w-]+)` \|", page, re.M)) == {*T.DIALECTS, "auto"}


def test_the_outcome_has_the_stated_keys():
    stated = json.loads(re.search(r"^```json\n(.*?)^```$", (ROOT / "spec" / "OUTCOME.md").read_text(encoding="utf-8"), re.M | re.S)[1])
    got = fsm.reconstruct((CORPUS / "anthropic_usage_cumulative.sse").read_bytes()).to_dict()
    assert stated.keys() == got.keys()
    assert stated["message"].keys() == {key for key in got["message"] if key not in ("arguments", "usage_source")}
    anomalous = fsm.reconstruct((CORPUS / "anthropic_message_start_twice.sse").read_bytes()).to_dict()
    assert stated["anomalies"][0].keys() == anomalous["anomalies"][0].keys()
