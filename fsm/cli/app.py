"""The commands of `deltafsm`. Needs the extra `cli` (typer, rich); only `fsm.__main__` imports this module.

Exit status: 0 the message is complete, 1 it is not, 2 misuse (one line on stderr).
"""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from enum import StrEnum
from typing import Annotated, Any, cast

import typer
from rich.console import Console

import fsm
from fsm import _tables as T
from fsm.cli import demo as show
from fsm.cli import diagrams
from fsm.cli import terminal

COMPLETE, NOT_COMPLETE, MISUSE, INTERRUPTED = 0, 1, 2, 130

# a vendor's block comes through unread, nested as deep as orjson reads (1,024); json.dumps needs some frames per level
DEEP = 8_000

# the base of everything typer says about the command line; which module it lives in depends on typer's version
_CommandLineError: type[Exception] = typer.BadParameter.__mro__[2]

app = typer.Typer(name="deltafsm", add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


class Picture(StrEnum):
    """The languages that `diagram` writes."""

    MERMAID = "mermaid"
    DOT = "dot"


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"deltafsm {fsm.__version__} (engine: {fsm.BACKEND}, spec {T.SPEC_DIGEST})")
        raise typer.Exit


@app.callback()
def _common(version: Annotated[bool, typer.Option("--version", help="Show version, engine and spec.", callback=_version, is_eager=True)] = False) -> None:
    """From the raw bytes of an LLM's streaming response to a structured message."""


@app.command()
def reconstruct(
    file: Annotated[str, typer.Argument(metavar="FILE|-", help="The raw body of a streaming response; - reads standard input.")],
    dialect: Annotated[str, typer.Option(help=f"One of {', '.join(T.DIALECTS)}, or auto.")] = "auto",
    tools: Annotated[str | None, typer.Option(metavar="FILE.json", help="The tools of the request: name -> JSON Schema, or a vendor's list.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the outcome as JSON.")] = False,
    events: Annotated[bool, typer.Option("--events", help="Print each event as it arrives (with --json on stderr).")] = False,
    engine: Annotated[str | None, typer.Option(help="python or compiled; default the best there is.")] = None,
    choice: Annotated[int, typer.Option(min=0, metavar="N", help="Which of several choices is rebuilt.")] = 0,
) -> None:
    """Rebuild one message; exit with 0 if it is complete, 1 if it is not."""
    console = _console()
    trace = _console(stderr=True) if as_json else console
    try:
        r = fsm.Reconstructor(dialect, _tools(tools), deltas="chunk" if events else "none", engine=engine, choice=choice)
        for chunk in _chunks(file):
            _trace(trace, r.feed(chunk), events)
    except fsm.MisuseError as e:
        _complain(str(e))
        raise typer.Exit(MISUSE) from e
    _trace(trace, r.end(), events)
    outcome = r.outcome
    if as_json:
        typer.echo(json.dumps(outcome.to_dict(), ensure_ascii=False, indent=2))
        if outcome.error is not None:
            _complain(f"{outcome.state}, {terminal.PARTIAL}. {outcome.error.type}: {outcome.error.message}; {outcome.error.advice}")
    else:
        terminal.show_outcome(console, outcome)
    raise typer.Exit(COMPLETE if outcome.completed else NOT_COMPLETE)


@app.command()
def demo(fast: Annotated[bool, typer.Option("--fast", help="Without delay.")] = False) -> None:
    """Replay a bundled dirty stream, byte by byte, and show what becomes of each fault."""
    outcome = show.run(_console(), fast)
    raise typer.Exit(COMPLETE if outcome.completed else NOT_COMPLETE)


@app.command()
def diagram(format: Annotated[Picture, typer.Option(help="The language of the picture.")] = Picture.MERMAID) -> None:
    """Print the state machine as a diagram."""
    typer.echo(diagrams.mermaid() if format is Picture.MERMAID else diagrams.dot())


# ------------------------------------------------------------ input and output

def _console(stderr: bool = False) -> Console:
    """Made per command, since a test replaces the streams; what a model wrote is never read as markup or emoji codes."""
    return Console(stderr=stderr, markup=False, emoji=False, highlight=False)


def _trace(console: Console, events: list[fsm.Event], wanted: bool) -> None:
    for event in events if wanted else ():
        console.out(terminal.event_line(event), highlight=False)
        console.file.flush()


def _chunks(name: str) -> Iterator[bytes]:
    """The body in pieces, each as soon as it is there."""
    try:
        with nullcontext(cast(io.BufferedReader, sys.stdin.buffer)) if name == "-" else open(name, "rb") as file:
            while chunk := file.read1(1 << 16):
                yield chunk
    except OSError as e:
        raise fsm.MisuseError(f"cannot read {name}: {e.strerror or e}") from e


def _tools(name: str | None) -> fsm.ToolRegistry | None:
    """The registry that a JSON file describes. Raises MisuseError for a file that describes none."""
    if name is None:
        return None
    content = b"".join(_chunks(name))
    try:
        tools: Any = json.loads(content)
    except (ValueError, RecursionError) as e:
        raise fsm.MisuseError(f"{name} is no JSON: {e}") from e
    if not isinstance(tools, (dict, list)):
        raise fsm.MisuseError(f"{name} holds no tools; it is to be an object name -> JSON Schema, or a vendor's list of tools")
    try:
        return fsm.ToolRegistry(tools)
    except fsm.MisuseError as e:
        raise fsm.MisuseError(f"{name}: {e}") from e


def _complain(message: str) -> None:
    """One line on stderr."""
    typer.echo("deltafsm: " + terminal.clean(" ".join(message.split())), err=True)


def run(argv: Sequence[str] | None = None) -> int:
    """Run a command line (default: the process's own); returns the exit status and never shows a traceback for misuse."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # JSON in a pipe is UTF-8 whatever the locale; nothing the model wrote fails to print
            stream.reconfigure(encoding=None if stream.isatty() else "utf-8", errors="backslashreplace")
    sys.setrecursionlimit(max(sys.getrecursionlimit(), DEEP))
    try:
        status = app(argv, prog_name="deltafsm", standalone_mode=False)
        sys.stdout.flush()
    except _CommandLineError as e:
        _complain(f"{e.format_message()} (deltafsm --help shows what there is)")  # type: ignore[attr-defined]
        return MISUSE
    except (typer.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except BrokenPipeError:
        # the reader went away, as `| head` does: nothing is wrong, but what is buffered has nowhere to go at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return NOT_COMPLETE
    return status if isinstance(status, int) else COMPLETE
