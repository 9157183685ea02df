"""The command line: every command, every exit status, and that what a model wrote cannot harm who reads it."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner, Result

import fsm
from fsm import __main__ as entry
from fsm import _tables as T
from fsm import samples
from fsm.cli import app as cli
from fsm.cli import demo
from fsm.cli import terminal
from helpers import CORPUS, ROOT

CUT = CORPUS / "anthropic_cut_mid_tool_input.sse"
ERROR = CORPUS / "anthropic_error_midstream.sse"
WHOLE = CORPUS / "openai_surrogate_pair_across_deltas.sse"


def deltafsm(*args: Any, stdin: bytes | None = None) -> Result:
    """The command in this process, as typer runs it."""
    return CliRunner().invoke(cli.app, [str(a) for a in args], input=stdin)


@pytest.fixture
def main(capsys: pytest.CaptureFixture[str]):
    """The console script in this process: (status, stdout, stderr)."""
    def run(*args: Any) -> tuple[int, str, str]:
        status = entry.main([str(a) for a in args])
        return status, *capsys.readouterr()
    return run


@pytest.fixture
def demo_files(tmp_path: Path) -> tuple[Path, Path]:
    body, tools = tmp_path / "demo.sse", tmp_path / "tools.json"
    body.write_bytes(samples.demo_stream())
    tools.write_text(json.dumps(samples.demo_tools()), encoding="utf-8")
    return body, tools


def chat(*deltas: dict[str, Any]) -> bytes:
    """A whole Chat Completions body of these deltas."""
    chunks = [{"id": "c", "model": "m", "choices": [{"index": 0, "delta": d, "finish_reason": None}]} for d in deltas]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    return b"".join(b"data: " + json.dumps(c).encode() + b"\n\n" for c in chunks) + b"data: [DONE]\n\n"


# ---------------------------------------------------------------- the bundled stream

FAULTS = {
    "a keepalive comment": rb"(?m)^: keepalive$",
    "the first half of an emoji": rb'\\ud83e"',
    "the second half of an emoji": rb'"\\udd80',
    "reasoning with a signature": rb'"reasoning_details":\[\{[^]]*"signature"',
    "a lost name": rb'"id":"call_tides"[^}]*"name":""',
    "usage": rb'"prompt_tokens":1240',
    "the terminator": rb"data: \[DONE\]\n\n\Z",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_sample_holds(fault: str) -> None:
    assert re.search(FAULTS[fault], samples.demo_stream())


def test_the_sample_repeats_a_start() -> None:
    assert samples.demo_stream().count(b'"id":"call_notes","type":"function","function":{"name":"read_file"') == 2


def test_the_sample_completes_with_two_valid_calls(engine: str) -> None:
    body = samples.demo_stream()
    for chunks in ([body], [body[i:i + 1] for i in range(len(body))]):
        outcome = fsm.reconstruct(chunks, tools=samples.demo_tools(), engine=engine)
        message = outcome.message
        assert [b["type"] for b in message.content] == ["thinking", "text", "tool_use", "tool_use"]
        assert message.content[0]["signature"] == "EqMBCkYIBxgCKkDf9wQ2rMx7bHc1TzvL0uYk5sJg=="
        assert "crab walk \N{CRAB} for" in message.text
        assert [(c["name"], c["input"]) for c in message.tool_calls] == [
            ("read_file", {"path": "survey/crabs.md"}), ("tide_table", {"harbour": "B\u00fcsum", "days": 2})]
        assert message.usage.to_dict() == {"input_tokens": 1240, "output_tokens": 118, "cache_read_input_tokens": 960, "reasoning_tokens": 41}
        assert [a.kind for a in outcome.anomalies] == ["repeated_start", "name_inferred", "stop_reason_replaced"]


# ---------------------------------------------------------------- reconstruct

def test_a_whole_message_is_shown_and_exits_with_0(demo_files: tuple[Path, Path]) -> None:
    body, tools = demo_files
    result = deltafsm("reconstruct", body, "--tools", tools)
    assert result.exit_code == 0
    for part in ("COMPLETED", "openai-chat", "shore-mini", "signed, 42 characters", "\N{CRAB}", "tide_table  call_tides",
                 '{"harbour": "B\u00fcsum", "days": 2}',
                 "tool_use  (the upstream's word: stop)", "input 1,240", "77% of the input cached", "anomalies: 3", "name_inferred"):
        assert part in result.stdout
    assert not result.stderr
    assert "\x1b" not in result.stdout  # no terminal, no escape sequences


@pytest.mark.parametrize(("body", "type_"), [(CUT, "incomplete_stream"), (ERROR, "overloaded_error")])
def test_what_is_not_complete_exits_with_1_and_says_so(body: Path, type_: str) -> None:
    result = deltafsm("reconstruct", body)
    assert result.exit_code == 1
    assert result.stdout.startswith("ERRORED")
    assert terminal.PARTIAL in result.stdout
    assert re.search(rf"error +{type_}\n +message +\S", result.stdout)
    assert "retry the request with backoff" in result.stdout


def test_a_call_that_must_not_run_is_marked() -> None:
    assert "toolu_13  must not run: incomplete" in deltafsm("reconstruct", CUT).stdout


@pytest.mark.parametrize("body", [WHOLE, CUT, ERROR])
def test_json_is_the_outcome(body: Path) -> None:
    result = deltafsm("reconstruct", body, "--json")
    want = fsm.reconstruct(body)
    assert json.loads(result.stdout) == want.to_dict()
    assert result.stdout.startswith('{\n  "state"')
    assert result.exit_code == (0 if want.completed else 1)


def test_json_keeps_characters() -> None:
    assert "Well \N{GRINNING FACE} done" in deltafsm("reconstruct", WHOLE, "--json").stdout


def test_json_of_a_partial_says_so_and_stderr_has_the_advice() -> None:
    result = deltafsm("reconstruct", ERROR, "--json")
    data = json.loads(result.stdout)
    assert data["message"] is None
    assert data["partial"]["valid"] is False
    assert result.stderr.count("\n") == 1
    assert "INVALID" in result.stderr
    assert "retry the request with backoff" in result.stderr


def test_the_body_comes_from_stdin(demo_files: tuple[Path, Path]) -> None:
    result = deltafsm("reconstruct", "-", "--tools", demo_files[1], "--json", stdin=samples.demo_stream())
    assert result.exit_code == 0
    assert len(json.loads(result.stdout)["message"]["content"]) == 4


def test_an_empty_stdin_is_no_message() -> None:
    result = deltafsm("reconstruct", "-", stdin=b"")
    assert result.exit_code == 1
    assert "empty_body" in result.stdout


def test_stdin_is_read_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """What one read brings is told before the next read: an event is shown while the stream goes on."""
    first, second = chat({"content": "one"}).split(b"data: [DONE]")[0], b"data: [DONE]\n\n"
    shown = io.StringIO()
    console = Console(file=shown, markup=False)
    seen: list[str] = []

    pieces = [first, second, b""]

    class Slow:
        def read1(self, size: int) -> bytes:
            seen.append(shown.getvalue())
            return pieces.pop(0)

    monkeypatch.setattr(cli, "_console", lambda stderr=False: console)
    monkeypatch.setattr(sys, "stdin", type("Stdin", (), {"buffer": Slow()}))
    with pytest.raises(cli.typer.Exit) as ended:
        cli.reconstruct("-", events=True)
    assert ended.value.exit_code == 0
    assert 'TextDelta       #0 "one"' in seen[1]
    assert "MessageFinished" not in seen[1]
    assert "MessageFinished" in seen[2]


def test_events_are_one_line_each(demo_files: tuple[Path, Path]) -> None:
    body, tools = demo_files
    lines = deltafsm("reconstruct", body, "--tools", tools, "--events").stdout.splitlines()
    r = fsm.Reconstructor("auto", samples.demo_tools())
    want = [type(e).__name__ for e in r.feed(samples.demo_stream())]
    assert [line.split()[0] for line in lines[:len(want)]] == want
    assert lines[len(want)].startswith("COMPLETED")
    assert 'ToolReady       #3 tide_table call_tides {"harbour": "B\u00fcsum", "days": 2}' in lines
    assert "BlockStarted    #3 tool_use (no name yet) call_tides" in lines


def test_events_of_a_failure_include_those_of_the_end() -> None:
    lines = deltafsm("reconstruct", CUT, "--events").stdout.splitlines()
    assert any(re.match(r"ToolInvalid +#1 delete_files toolu_13 must not run: incomplete", line) for line in lines)
    assert any(line.startswith("StreamFailed    ERRORED incomplete_stream") for line in lines)


def test_events_beside_json_leave_stdout_one_document() -> None:
    result = deltafsm("reconstruct", WHOLE, "--events", "--json")
    assert json.loads(result.stdout)["state"] == "COMPLETED"
    assert "TextDelta" in result.stderr


def test_the_engine_can_be_chosen(engine: str) -> None:
    assert deltafsm("reconstruct", WHOLE, "--engine", engine).exit_code == 0


def test_the_choice_can_be_chosen(tmp_path: Path) -> None:
    choices = [{"index": i, "delta": {"content": f"answer {i}"}, "finish_reason": "stop"} for i in range(2)]
    body = tmp_path / "two.sse"
    body.write_text(f"data: {json.dumps({'choices': choices})}\n\ndata: [DONE]\n\n", encoding="utf-8")
    assert "answer 1" in deltafsm("reconstruct", body, "--choice", 1).stdout
    assert "answer 0" in deltafsm("reconstruct", body).stdout


def test_tools_may_be_a_mapping(tmp_path: Path, demo_files: tuple[Path, Path]) -> None:
    tools = tmp_path / "mapping.json"
    tools.write_text(json.dumps({t["function"]["name"]: t["function"]["parameters"] for t in samples.demo_tools()}), encoding="utf-8")
    assert deltafsm("reconstruct", demo_files[0], "--tools", tools).exit_code == 0


def test_without_tools_the_lost_name_stays_lost(demo_files: tuple[Path, Path]) -> None:
    assert "(no name)  call_tides  must not run: no_name" in deltafsm("reconstruct", demo_files[0]).stdout


# ---------------------------------------------------------------- misuse: one line on stderr, status 2

TOOLS_FILES = {"no JSON": b"{", "no UTF-8": b'["\xff"]', "a number": b"3", "no schema": b'{"Read": {"type": "nothing"}}', "no definition": b'[{"x": 1}]',
               "nesting without end": b"[" * 100_000}


@pytest.mark.parametrize("kind", TOOLS_FILES)
def test_a_bad_tools_file_is_misuse(main: Any, tmp_path: Path, kind: str) -> None:
    tools = tmp_path / "tools.json"
    tools.write_bytes(TOOLS_FILES[kind])
    status, out, err = main("reconstruct", WHOLE, "--tools", tools)
    assert (status, out) == (2, "")
    assert re.fullmatch(r"deltafsm: .*tools\.json.*\n", err)


@pytest.mark.parametrize(("args", "says"), [
    (["reconstruct", "no-such-file"], "cannot read no-such-file"),
    (["reconstruct", WHOLE, "--tools", "no-such-file"], "cannot read no-such-file"),
    (["reconstruct", WHOLE, "--dialect", "morse"], "no dialect is called 'morse'"),
    (["reconstruct", WHOLE, "--engine", "steam"], "no engine is called 'steam'"),
    (["reconstruct", WHOLE, "--choice", "-1"], "--choice"),
    (["reconstruct", WHOLE, "--faster"], "--faster"),
    (["reconstruct"], "FILE"),
    (["diagram", "--format", "oil"], "oil"),
    (["rebuild"], "rebuild"),
    ([], "--help"),
])
def test_misuse_is_one_line_and_status_2(main: Any, args: list[Any], says: str) -> None:
    status, out, err = main(*args)
    assert (status, out) == (2, "")
    assert re.fullmatch(r"deltafsm: .+\n", err)
    assert says in err


def test_a_folder_is_no_body(main: Any, tmp_path: Path) -> None:
    status, _, err = main("reconstruct", tmp_path)
    assert status == 2
    assert err.startswith("deltafsm: cannot read ")


@pytest.mark.parametrize("missing", ["typer", "rich"])
def test_without_the_extra_one_line_says_how_to_get_it(main: Any, monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    for name in ("fsm.cli.app", "fsm.cli.demo", "fsm.cli.terminal"):
        monkeypatch.delitem(sys.modules, name)
        monkeypatch.delattr(fsm.cli, name.removeprefix("fsm.cli."))
    for name in [n for n in sys.modules if n.partition(".")[0] == missing]:
        monkeypatch.setitem(sys.modules, name, None)
    status, out, err = main("--version")
    assert (status, out) == (2, "")
    assert re.fullmatch(r'deltafsm: .*pip install "deltafsm\[cli\]"\n', err)


def test_another_missing_module_is_not_blamed_on_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "fsm.cli.app")
    monkeypatch.delattr(fsm.cli, "app")
    monkeypatch.setitem(sys.modules, "fsm.cli.demo", None)
    monkeypatch.delattr(fsm.cli, "demo")
    with pytest.raises(ModuleNotFoundError):
        entry.main(["--version"])


# ---------------------------------------------------------------- what a model wrote is shown, never obeyed

HOSTILE = "\x1b]0;gone\x07\x1b[2J \u202e drow \x9b31m [bold]not markup[/bold] :crab:"


@pytest.mark.parametrize("options", [(), ("--events",)])
def test_control_characters_do_not_reach_the_terminal(options: tuple[str, ...]) -> None:
    call = {"index": 0, "id": HOSTILE, "function": {"name": HOSTILE, "arguments": json.dumps({"x": HOSTILE})}}
    out = deltafsm("reconstruct", "-", *options, stdin=chat({"content": HOSTILE}, {"tool_calls": [call]})).stdout
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", out)
    assert r"\x1b]0;gone\x07\x1b[2J \u202e drow \x9b31m [bold]not markup[/bold] :crab:" in out


def test_half_a_character_in_an_id_is_printed_as_replaced(main: Any, tmp_path: Path) -> None:
    body = tmp_path / "half.sse"
    body.write_bytes(chat({"tool_calls": [{"index": 0, "id": "call_\ud83d", "function": {"name": "f", "arguments": "{}"}}]}))
    for options in ((), ("--json",), ("--events",)):
        status, out, _ = main("reconstruct", body, *options)
        assert status == 0
        assert "call_\ufffd" in out


def test_deep_vendor_blocks_are_printed(main: Any, tmp_path: Path) -> None:
    deep = '{"a":' * 900 + "1" + "}" * 900
    body = tmp_path / "deep.sse"
    body.write_text('data: {"type":"message_start","message":{"id":"m","content":[]}}\n\n'
                    f'data: {{"type":"content_block_start","index":0,"content_block":{{"type":"vendor","v":{deep}}}}}\n\n'
                    'data: {"type":"content_block_stop","index":0}\n\n'
                    'data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}\n\ndata: {"type":"message_stop"}\n\n', encoding="utf-8")
    for options in ((), ("--json",), ("--events",)):
        status, out, _ = main("reconstruct", body, *options)
        assert status == 0
        assert out.count("}") >= 900


# ---------------------------------------------------------------- demo

TOLD = ["a keepalive comment", "opened: thinking", "archived: thinking, signed", r"half an emoji, \ud83e", "joined: \N{CRAB}", "it stays one call",
        "read_file is ready", "came without a name", "the name never came", "tide_table is ready", "2 calls may run"]


def test_the_demo_tells_its_story_in_plain_lines() -> None:
    result = deltafsm("demo", "--fast")
    assert result.exit_code == 0
    assert "\x1b" not in result.stdout
    at = 0
    for part in TOLD:  # in this order
        at = result.stdout.index(part, at)
    states = re.findall(r"(?m)^byte +\d+  (\S+)", result.stdout)
    assert list(dict.fromkeys(states)) == ["INITIALIZING", "STREAMING.thinking", "STREAMING.text", "STREAMING.tool", "COMPLETED"]
    assert "COMPLETED  openai-chat" in result.stdout
    assert "anomalies: 3" in result.stdout


@pytest.mark.parametrize("size", [(80, 24), (120, 50), (40, 12)])
def test_the_demo_draws_on_a_terminal(size: tuple[int, int]) -> None:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=size[0], height=size[1], color_system=None, legacy_windows=False,
                      _environ={"TERM": "xterm"}, markup=False, emoji=False)
    assert demo.run(console, fast=True).completed
    frames = screen.getvalue()
    for part in ("INITIALIZING", "STREAMING.thinking", "STREAMING.tool", "pending", "what came, and what was done", "anomalies: 3"):
        assert part in frames


def test_the_demo_takes_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr(demo.time, "monotonic", lambda: sum(slept))
    monkeypatch.setattr(demo.time, "sleep", slept.append)
    demo.run(Console(file=io.StringIO()))
    assert 6 <= sum(slept) <= 10


# ---------------------------------------------------------------- diagram, version, the process

def test_the_mermaid_diagram_is_the_one_of_the_generated_page() -> None:
    result = deltafsm("diagram")
    assert result.exit_code == 0
    assert result.stdout == deltafsm("diagram", "--format", "mermaid").stdout
    assert f"```mermaid\n{result.stdout}```" in (ROOT / "spec" / "STREAM.md").read_text(encoding="utf-8")


def test_the_dot_diagram_has_every_state_and_change() -> None:
    out = deltafsm("diagram", "--format", "dot").stdout
    assert out.startswith("digraph deltafsm {")
    assert out.endswith("}\n")
    assert out.count("{") == out.count("}")
    for name in T.STATES:
        assert f'"{name}"' in out or f'"cluster_{name}"' in out
    drawn = set(re.findall(r'"(\S+)" -> "(\S+)" \[label="[^"]+"\]', out))
    lifted = {to for _, to in re.findall(r'"(\S+)" -> "(\S+)" .*ltail="cluster_STREAMING"', out)}
    for row in T.MACHINE_TRANSITIONS:
        for source in row["source"]:
            if row["dest"] not in (None, source):
                assert (source, row["dest"]) in drawn or (source.startswith("STREAMING.") and row["dest"] in lifted)


def test_version_names_engine_and_spec() -> None:
    result = deltafsm("--version")
    assert result.exit_code == 0
    assert result.stdout == f"deltafsm {fsm.__version__} (engine: {fsm.BACKEND}, spec {T.SPEC_DIGEST})\n"


def test_help_names_the_commands() -> None:
    result = deltafsm("--help")
    assert result.exit_code == 0
    assert all(command in result.stdout for command in ("reconstruct", "demo", "diagram"))


def test_python_m_fsm() -> None:
    """As a process, in a locale whose encoding holds none of these characters."""
    env = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "ascii"}
    done = subprocess.run([sys.executable, "-m", "fsm", "reconstruct", str(WHOLE), "--json"], env=env, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert "\N{GRINNING FACE}" in json.loads(done.stdout)["message"]["content"][0]["text"]
    assert "\N{GRINNING FACE}" in done.stdout.decode()
