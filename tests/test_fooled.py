"""The table of the streams that fool the vendors' clients: its verdicts are those of a run."""

from __future__ import annotations

import importlib.util
import json

import pytest

for _client in ("anthropic", "openai"):
    if importlib.util.find_spec(_client) is None:
        pytest.skip(f"{_client} is not installed", allow_module_level=True)

from benchmarks import data, fooled, officials  # noqa: E402
from helpers import CORPUS, ROOT  # noqa: E402

VERDICTS = {
    "anthropic_data_only_frames": ("framing", "raises AssertionError"),
    "anthropic_cut_mid_tool_input": ("arguments", "reports a complete message and a call"),
    "anthropic_duplicate_tool_ids": ("indexes and ids", "gives two calls one id"),
    "anthropic_max_tokens_partial_tool": ("begin and end", "returns a call that must not run"),
    "anthropic_usage_cumulative": None,
    "openai_arguments_double_encoded": ("arguments", "returns arguments that are not JSON"),
    "openai_error_object_then_done": None,
    "openai_eof_without_finish": ("begin and end", "reports a complete message"),
    "openai_length_drops_calls": ("begin and end", "returns a call that must not run"),
    "openai_name_never_arrives": ("names of tools", "returns wrong calls"),
    "openai_tool_index_from_one": ("indexes and ids", "raises IndexError"),
    "openai_usage_zero_after_nonzero": ("usage", "wrong usage"),
    "responses_completed_empty_output": ("begin and end", "loses calls"),
}


@pytest.mark.parametrize("name", VERDICTS)
def test_verdict(name: str):
    fault = json.loads((CORPUS / f"{name}.json").read_text())["fault"]
    stream = next(s for s in fooled.streams() if s.fault == fault and s.kind != fooled.REAL)
    row = fooled.judge(stream)
    assert (row and (row.kind, row.verdict)) == VERDICTS[name]


@pytest.mark.parametrize("dialect", officials.WAYS)
def test_a_clean_stream_fools_nobody(dialect: str):
    assert fooled.judge(fooled.Stream("text", "none", dialect, data.make(dialect, 20).body, None)) is None


def test_the_page_has_every_kind_of_fault():
    page = (ROOT / "spec" / "FOOLED.md").read_text(encoding="utf-8")
    assert page.count("\n| ") > 60
    assert all(f"\n## {kind}\n" in page for kind in (*fooled.KINDS, fooled.REAL))


def test_the_rows_of_the_readme_are_those_of_a_run():
    judged = [fooled.judge(stream) for stream in fooled.streams() if stream.name in fooled.TELLING]
    assert len(judged) == len(fooled.TELLING) == 10
    table = fooled.telling(fooled.Survey(0, [row for row in judged if row is not None])).partition("\n\n")[2]
    assert table.count("\n") == 11
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert table == readme.partition("<!-- fooled -->")[2].partition("\n<!-- /fooled -->")[0].partition("\n\n")[2]


def test_a_page_is_grouped_by_kind_and_verdict():
    row = fooled.Row("text", "openai, chat", "wrong text", "the message", "a <tag>", "")
    page = fooled.page(fooled.Survey(5, [row, row._replace(fault="another"), row._replace(kind="usage", verdict="wrong usage")]))
    assert "Of 5 streams, 3 crash" in page
    assert page.index("\n## usage\n") < page.index("\n## text\n")
    line = next(line for line in page.splitlines() if "wrong text" in line)
    assert [cell.strip() for cell in line.split("|")[1:-1]] == [r"a \<tag>", "2", "openai, chat", "wrong text", "the message"]
