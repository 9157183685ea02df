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
    "anthropic_cut_mid_tool_input": ("arguments", "takes a broken stream for a whole message, its call to be run"),
    "anthropic_duplicate_tool_ids": ("indexes and ids", "gives two calls one id"),
    "anthropic_max_tokens_partial_tool": ("begin and end", "hands out a call that must not run"),
    "anthropic_usage_cumulative": None,
    "openai_arguments_double_encoded": ("arguments", "hands out arguments that are no JSON"),
    "openai_error_object_then_done": None,
    "openai_eof_without_finish": ("begin and end", "takes a broken stream for a whole message"),
    "openai_length_drops_calls": ("begin and end", "hands out a call that must not run"),
    "openai_name_never_arrives": ("names of tools", "hands out wrong calls"),
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


def test_the_readme_has_a_table():
    section = (ROOT / "README.md").read_text(encoding="utf-8").partition("<!-- fooled -->")[2].partition("<!-- /fooled -->")[0]
    assert section.count("\n| ") > 30
    assert all(f"\n| {kind} " in section for kind in (*fooled.KINDS, fooled.REAL))
