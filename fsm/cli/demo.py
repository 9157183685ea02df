"""`deltafsm demo`: a dirty stream, one byte at a time, and what becomes of each fault in it.

The `Narrator` feeds the bytes and says in sentences what happened; a stage shows it: `LiveStage` on a terminal,
`LineStage` anywhere else.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Any, NamedTuple, Protocol

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from fsm import _tables as T
from fsm import samples
from fsm.cli import terminal
from fsm.model.events import BlockFinished, BlockStarted, MessageFinished, StreamFailed, TextDelta, ToolInvalid, ToolReady
from fsm.model.message import Outcome, StreamState
from fsm.reconstructor import Reconstructor

SECONDS = 3.5  # for the bytes alone
FRAME = 1 / 25
# what a reader needs to take in a line: faults are the story, the rest is its rhythm
PAUSES = {"fault": 0.36, "ready": 0.25, "opened": 0.1, "closed": 0.1, "end": 0.0}
MARKS = {"fault": ("⚠", "yellow"), "ready": ("⚡", "bold cyan"), "opened": ("▸", "white"), "closed": ("✓", "green"), "end": ("■", "bold green")}
STATE_STYLES = {"INITIALIZING": "black on white", "STREAMING": "black on cyan", "COMPLETED": "black on green"}

# fault and cure in the words of a story, for the anomalies that the bundled stream brings
STORY = {
    "repeated_start": "the same call was started again: it stays one call",
    "name_inferred": "the name never came: only one tool takes these arguments, so it is that one",
    "stop_reason_replaced": "the stop reason denies the calls that were made: the content decides",
}

# a JSON string that ends in the first half of a surrogate pair
_HALF = re.compile(rb'\\u[dD][89abAB][0-9a-fA-F]{2}"')


class Note(NamedTuple):
    """One sentence of the story: at which byte, in which state, what kind (a key of `MARKS`), what happened."""

    offset: int
    state: str
    kind: str
    text: str


class Watch:
    """An observer: the reconstructor writes the machine's state, with its sub-state, into `state`."""

    state: str = T.STATES[T.INITIALIZING]


class Narrator:
    """Feeds a reconstructor and tells what came of it."""

    def __init__(self, r: Reconstructor, watch: Watch) -> None:
        self.r = r
        self.state = watch
        self.wire = b""
        self._anomalies = 0
        self._half = False  # the first half of a pair was on the wire, its character is not there yet

    def feed(self, data: bytes) -> list[Note]:
        """The next bytes of the body; what they changed."""
        events = self.r.feed(data)
        self.wire += data
        told = [*self._wire_faults(data), *self._survived(), *self._steps(events)]
        return [Note(len(self.wire), self.state.state, kind, terminal.clean(text)) for kind, text in told]

    def _wire_faults(self, data: bytes) -> Iterator[tuple[str, str]]:
        """Two faults leave no anomaly, since nothing had to be given up for them; they can only be seen on the wire."""
        if not data.endswith(b"\n"):
            return
        line = self.wire[self.wire.rfind(b"\n", 0, -1) + 1:]
        if line.startswith(b":"):
            yield "fault", "a keepalive comment: the line is alive, the message is no further"
        elif half := _HALF.search(line):
            self._half = True
            yield "fault", f"half an emoji, {half[0][:-1].decode()}, ends this delta: it waits for its other half"

    def _survived(self) -> Iterator[tuple[str, str]]:
        new = self.r.anomalies[self._anomalies:]
        self._anomalies += len(new)
        for anomaly in new:
            yield "fault", f"{STORY.get(anomaly.kind, T.ANOMALIES[anomaly.kind])} ({anomaly.detail})"

    def _steps(self, events: Sequence[object]) -> Iterator[tuple[str, str]]:
        for event in events:
            match event:
                case BlockStarted(index, "tool_use", id, None):
                    yield "fault", f"call #{index} {id!r} came without a name: its arguments must tell whose it is"
                case BlockStarted(index, kind, _, name):
                    yield "opened", f"block #{index} opened: {kind} {name or ''}".rstrip()
                case TextDelta(_, text) if self._half and (pairs := [c for c in text if ord(c) > 0xFFFF]):
                    self._half = False
                    yield "closed", f"the halves are joined: {pairs[0]}"
                case ToolReady(_, _, name, _):
                    early = "" if self.r.state is StreamState.COMPLETED else "; if it only reads, it may run now, before the message has ended"
                    yield "ready", f"{name} is ready, whole and valid{early}"
                case ToolInvalid(_, id, _, reason, _):
                    yield "fault", f"call {id!r} must not run: {reason}"
                case BlockFinished(index, block):
                    yield "closed", f"block #{index} archived: {block['type']}{', signed' if block.get('signature') else ''}"
                case MessageFinished(message):
                    yield "end", f"the message is whole: {len(message.content)} blocks, {len(message.tool_calls)} calls may run"
                case StreamFailed(state, error):
                    yield "end", f"{state}: {error.type}"


class Stage(Protocol):
    """Where the story is shown."""

    def __enter__(self) -> Any: ...
    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None: ...
    def tell(self, notes: list[Note]) -> None: ...
    def frame(self) -> None: ...


class LineStage:
    """One plain line per note."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def __enter__(self) -> LineStage:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._console.out("", highlight=False)

    def tell(self, notes: list[Note]) -> None:
        for note in notes:
            self._console.out(f"byte {note.offset:>5}  {note.state:<19}{note.kind:<8}{note.text}", highlight=False)

    def frame(self) -> None:
        """Lines are shown when they are told."""


class LiveStage:
    """Panels that are redrawn: state and pending block, the wire, the message so far, the story. At the end the story stays."""

    def __init__(self, console: Console, narrator: Narrator, size: int) -> None:
        self._console = console
        self._narrator = narrator
        self._size = size
        self._notes: list[Note] = []
        self._live = Live(console=console, auto_refresh=False, transient=True, vertical_overflow="crop")

    def __enter__(self) -> LiveStage:
        self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._live.stop()
        if kind is None:
            self._console.print(_framed("what came, and what was done", _story(self._notes)))

    def tell(self, notes: list[Note]) -> None:
        self._notes += notes

    def frame(self) -> None:
        inner, message = self._console.width - 4, self._message()
        room = self._console.height - 1 - (3 + 2) - (2 + 2) - (message.row_count + 2) - 2
        parts = [self._head(), self._wire(inner), _framed("message", message)]
        if recent := self._recent(room, inner):
            parts.append(_framed("story", _story(recent)))
        self._live.update(Group(*parts), refresh=True)

    def _head(self) -> Panel:
        r, seen = self._narrator.r, len(self._narrator.wire)
        pending = r.pending
        what = f"{pending.kind} #{pending.number} {pending.name or ''}".rstrip() + f", {pending.size} bytes" if pending else "nothing"
        state = self._narrator.state.state
        style = STATE_STYLES.get(state.partition(".")[0], "white on red")
        grid = Table.grid(padding=(0, 2))
        grid.add_row(Text("state", "bright_black"), Text(f" {state} ", style))
        grid.add_row(Text("pending", "bright_black"), Text(terminal.clean(what)))
        bar = Table.grid(padding=(0, 1))
        bar.add_row(ProgressBar(self._size, seen, width=40), Text(f"{seen:,} of {self._size:,} bytes", "bright_black"))
        grid.add_row(Text("received", "bright_black"), bar)
        return _framed("deltafsm: a dirty stream, one byte at a time", grid, "cyan")

    def _wire(self, width: int) -> Panel:
        """The last bytes, cut and not wrapped: the text moves under a still frame."""
        shown = terminal.clean(self._narrator.wire[-2 * width:].decode("utf-8", "ignore").replace("\n", "⏎"))
        shown = shown[-(2 * width - 1):].rjust(2 * width - 1)
        text = Text(f"{shown[:width]}\n{shown[width:]}", "green", overflow="crop", no_wrap=True)
        return _framed("wire", text.append("▌", "bold bright_green"))

    def _message(self) -> Table:
        """One line per block: its mark, its kind, the end of what is in it."""
        grid = Table.grid(padding=(0, 1), expand=True)
        grid.add_column(width=2)  # ⚡ is two cells wide
        grid.add_column(width=9, style="bright_black")
        grid.add_column(ratio=1, no_wrap=True)
        room = self._console.width - 21
        blocks = self._narrator.r.snapshot()["content"]
        for block in blocks:
            kind = str(block["type"])
            if kind == "tool_use":
                text = f"{block['name'] or '?'} {terminal.compact(block['input'])}"
            else:
                text = terminal.clean(str(block.get(kind, ""))).replace("\n", " ")
            shown = Text(text if len(text) <= room else "…" + text[1 - room:], terminal.STYLES.get(kind, ""))
            mark = MARKS["ready" if kind == "tool_use" else "closed"]
            if block.get("partial"):
                shown.append("▌", "blink bold")
                mark = ("…", "bright_black")
            grid.add_row(Text(*mark), kind, shown)
        if not blocks:
            grid.add_row("", "", Text("nothing yet", "bright_black"))
        return grid

    def _recent(self, room: int, width: int) -> list[Note]:
        """The last notes that fit into `room` lines."""
        fitting: list[Note] = []
        for note in reversed(self._notes):
            room -= -(-len(note.text) // max(width - 11, 1))
            if room < 0:
                break
            fitting.insert(0, note)
        return fitting


def _framed(title: str, content: RenderableType, style: str = "bright_black") -> Panel:
    return Panel(content, title=title, title_align="left", border_style=style, padding=(0, 1))


def _story(notes: list[Note]) -> Table:
    grid = Table.grid(padding=(0, 1))
    grid.add_column(justify="right", style="bright_black", width=5)
    grid.add_column(width=2)
    grid.add_column(overflow="fold")
    for note in notes:
        mark, style = MARKS[note.kind]
        grid.add_row(f"{note.offset:,}", Text(mark, style), Text(note.text, style if note.kind != "closed" else ""))
    return grid


def run(console: Console, fast: bool = False) -> Outcome:
    """Replay the bundled stream on `console`; `fast` without pauses."""
    body, watch = samples.demo_stream(), Watch()
    narrator = Narrator(Reconstructor("auto", samples.demo_tools(), observer=watch), watch)
    stage: Stage = LiveStage(console, narrator, len(body)) if console.is_interactive else LineStage(console)
    began, due, shown = time.monotonic(), 0.0, 0.0
    with stage:
        for at in range(len(body)):
            notes = narrator.feed(body[at:at + 1])
            stage.tell(notes)
            due += SECONDS / len(body) + sum(PAUSES[note.kind] for note in notes)
            if due - shown >= FRAME:
                stage.frame()
                shown = due
                if not fast:
                    time.sleep(max(0.0, began + due - time.monotonic()))
        narrator.r.end()
        outcome = narrator.r.outcome
    terminal.show_outcome(console, outcome)
    return outcome
