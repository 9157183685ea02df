"""What the command line shows of events, messages and anomalies: panels on a terminal, plain lines anywhere else.

Everything here shows text that a model or an upstream wrote, so control characters are made visible first: an escape
sequence in an answer must not drive the reader's terminal.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from rich import box
from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from fsm.model.events import (BlockFinished, BlockStarted, Event, MessageFinished, StreamFailed, TextDelta, ThinkingDelta, ToolInputDelta, ToolInvalid,
                        ToolReady, UsageUpdated)
from fsm.model.message import Anomalies, Message, Outcome, Partial
from fsm.model.usage import FIELDS, Usage

Row = tuple[str, Text]  # a label, and what stands beside it

PARTIAL = "partial and INVALID: not a message, none of its calls may run"

STYLES = {"thinking": "italic bright_black", "tool_use": "cyan", "refusal": "magenta", "redacted_thinking": "bright_black"}

# C0 without tab and line feed, DEL, C1, and the marks that reorder the text around them
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def clean(text: str) -> str:
    """`text` with everything that could drive a terminal made visible."""
    return _UNSAFE.sub(lambda m: f"\\x{ord(m[0]):02x}" if ord(m[0]) < 256 else f"\\u{ord(m[0]):04x}", text)


def compact(value: Any) -> str:
    """`value` as JSON in one line."""
    return clean(json.dumps(value, ensure_ascii=False))


# ------------------------------------------------------------ events

def event_line(event: Event) -> str:
    """One event in one line: its name, the number of its block, what it says."""
    match event:
        case BlockStarted(index, kind, id, name):
            what = f"#{index} {kind}" + (f" {name or '(no name yet)'} {id}" if id else "")
        case TextDelta(index, text) | ThinkingDelta(index, text) | ToolInputDelta(index, text):
            what = f"#{index} {compact(text)}"
        case BlockFinished(index, block):
            what = f"#{index} {compact(block)}"
        case ToolReady(index, id, name, input):
            what = f"#{index} {name} {id} {compact(input)}"
        case ToolInvalid(index, id, name, reason, raw_input):
            what = f"#{index} {name or '(no name)'} {id} must not run: {reason}; received {compact(raw_input)}"
        case UsageUpdated(usage):
            what = usage_line(usage)
        case MessageFinished(message):
            what = f"{message.stop_reason or 'no stop reason'}, {len(message.content)} blocks"
        case StreamFailed(state, error):
            what = f"{state} {error.type}: {error.message}"
        case _:
            what = repr(event)
    return clean(f"{type(event).__name__:<16}{what}").replace("\n", "\\n")


def usage_line(usage: Usage) -> str:
    """The counts that are known, and the share of the input that came from the cache."""
    counts = [f"{name.removesuffix('_tokens').replace('_', ' ')} {value:,}" for name in FIELDS if (value := getattr(usage, name)) is not None]
    share = usage.cached_share
    return ", ".join(counts) + (f" ({share:.0%} of the input cached)" if share else "") if counts else "no usage was sent"


# ------------------------------------------------------------ messages

def block_rows(block: dict[str, Any]) -> list[Row]:
    """One block of a message's content."""
    kind = str(block.get("type"))
    if kind == "tool_use":
        head = Text.assemble((clean(block.get("name") or "(no name)"), "bold cyan"), "  ", (clean(str(block.get("id"))), "bright_black"))
        if block.get("invalid"):
            head.append(f"  must not run: {block['invalid']}", "bold red")
            return [("tool_use", head), ("", Text(f"received {compact(block.get('raw_input', ''))}", "red"))]
        return [("tool_use", head), ("", Text(compact(block.get("input")), "cyan"))]
    if isinstance(block.get(kind), str):
        rows = [(clean(kind), Text(clean(block[kind]), STYLES.get(kind, "")))]
        if block.get("signature"):
            signature = clean(block["signature"])
            rows.append(("", Text(f"signed, {len(signature)} characters: {signature[:24]}{'…' if len(signature) > 24 else ''}", "green")))
        return rows
    return [(clean(kind), Text(compact(block), "bright_black"))]  # a vendor's block, carried through unread


def message_rows(message: Message) -> list[Row]:
    """The blocks, the dropped calls, then stop reason and usage."""
    rows = [row for block in message.content for row in block_rows(block)] or [("", Text("no content", "bright_black"))]
    rows += [("dropped" if label else label, text) for call in message.dropped_calls for label, text in block_rows(call)]
    stop = Text(clean(message.stop_reason or "none"), "bold")
    if message.raw_stop_reason not in (None, message.stop_reason):
        stop.append(f"  (the upstream's word: {clean(str(message.raw_stop_reason))})", "not bold bright_black")
    return [*rows, ("stop", stop), ("usage", Text(usage_line(message.usage)))]


def show_outcome(console: Console, outcome: Outcome) -> None:
    """The message, or why there is none and what is left of it; then the anomalies."""
    message = outcome.message
    origin = clean(" · ".join(filter(None, (outcome.dialect, (message or outcome.partial or Partial()).model))))
    if message is not None:
        section(console, f"{outcome.state}  {origin}", message_rows(message), "green")
    else:
        error, partial = outcome.error, outcome.partial or Partial()
        assert error is not None
        code = f" ({error.code})" if error.code else ""
        section(console, f"{outcome.state}  {origin}", [
            ("error", Text(clean(error.type + code), "bold red")), ("message", Text(clean(error.message))),
            ("where", Text(f"state {error.state}, event {error.event}, byte {error.offset}")), ("advice", Text(error.advice, "bold")),
        ], "red")
        section(console, PARTIAL, message_rows(partial), "red")
    show_anomalies(console, outcome.anomalies)


def section(console: Console, title: str, rows: Iterable[Row], style: str) -> None:
    """A titled list of rows."""
    if console.is_terminal:
        console.print(Panel(grid(rows), title=Text(title, f"bold {style}"), title_align="left", border_style=style, padding=(0, 1)))
        return
    console.out(title, highlight=False)
    for label, text in rows:
        first, *more = text.plain.split("\n")
        console.out(f"  {label:<10}{first}", highlight=False)
        for line in more:
            console.out(" " * 12 + line, highlight=False)


def grid(rows: Iterable[Row]) -> Table:
    """Labels at the left, what they label beside them."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bright_black", no_wrap=True)
    table.add_column(overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table


# ------------------------------------------------------------ anomalies

def show_anomalies(console: Console, anomalies: Anomalies) -> None:
    """What the upstream did wrong and what was done about it."""
    if not anomalies:
        console.out("no anomalies: the stream kept to its protocol" if console.is_terminal else "anomalies: none", highlight=False)
        return
    unseen = anomalies.total - len(anomalies)
    if console.is_terminal:
        table = Table(box=box.SIMPLE_HEAD, title=f"anomalies: {anomalies.total}", title_style="bold yellow", title_justify="left", header_style="bright_black")
        table.add_column("byte", justify="right", style="bright_black")
        table.add_column("kind", style="yellow", no_wrap=True)
        table.add_column("what was done", overflow="fold")
        for a in anomalies:
            table.add_row(f"{a.offset:,}", a.kind, Text(clean(a.detail)))
        console.print(table)
    else:
        console.out(f"anomalies: {anomalies.total}", highlight=False)
        for a in anomalies:
            console.out(f"  byte {a.offset:<8}{a.kind:<22}{clean(a.detail)}".replace("\n", "\\n"), highlight=False)
    if unseen:
        console.out(f"  and {unseen} more, counted but not kept", highlight=False)

