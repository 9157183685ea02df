"""The one fold from normalized events to blocks (R-20): live use, replay and both engines go through it.

For each event a `_case_*` method says which case (guard) holds; the table cell of (state, case) names the actions,
which are methods of the same names here; if the cell names another state the stepper moves there. So this file holds
what is decided about blocks, `spec/stream.yaml` holds when, `fsm/calls.py` who owns what of a tool call, and
`fsm/ending.py` what the message is once it is over.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from fsm import _tables as T
from fsm import usage as usage_rules
from fsm.arguments import compact
from fsm.blocks import OPAQUE, REFUSAL, TEXT, THINKING, TOOL, Block, Call
from fsm.calls import Calls
from fsm.ending import Ending
from fsm.events import (BlockFinished, BlockStarted, Event, MessageFinished, NormalizedEvent, StreamFailed, TextDelta,
                        ThinkingDelta, ToolInputDelta, ToolInvalid, ToolReady, UsageUpdated)
from fsm.message import Anomalies, StreamState
from fsm.usage import Usage

if TYPE_CHECKING:
    from fsm.errors import ErrorInfo
    from fsm.limits import Limits
    from fsm.message import Message, Partial
    from fsm.tools import ToolRegistry

_REASONS_KEPT = 32  # different stop reasons of one message

_DELTA_EVENTS: dict[str, Callable[[int, str], Event]] = {TEXT: TextDelta, REFUSAL: TextDelta, THINKING: ThinkingDelta, TOOL: ToolInputDelta}


class Accumulator:
    """Blocks of one message under construction. `out` collects the events for the caller."""

    __slots__ = ("_closed", "_each", "_found", "_last_position", "_loose", "_new_buffer", "_silent", "_slots", "_touched", "anomalies",
                 "blocks", "calls", "dialect", "failure", "id", "limits", "message", "meter", "model", "note", "out",
                 "partial", "pending", "reasons", "snapshot", "stepper", "usage")

    def __init__(self, stepper: Any, meter: Any, new_buffer: Callable[[Any], Any], registry: ToolRegistry | None, limits: Limits, deltas: str) -> None:
        self.stepper = stepper
        self.meter = meter
        self._new_buffer = new_buffer
        self.limits = limits
        self._silent = deltas == "none"
        self._each = deltas == "each"
        self.dialect: dict[str, Any] = T.DIALECTS["canonical"]
        self.anomalies = Anomalies(limits.anomalies)
        self.note = self.anomalies.note
        self.calls = Calls(registry, limits.depth, meter, self.note)
        self.blocks: list[Block] = []
        self.out: list[Event] = []
        self.pending: Block | None = None  # the block that was written to last, while it is open
        self._loose: Block | None = None  # the open text or thinking block that has no index
        self._touched: Block | None = None  # the block whose additions were not told to the caller yet
        self._found: Block | None = None  # the block that the last _case_* named
        self._slots: dict[tuple[int, str], Block] = {}  # (wire index, kind) -> the block opened there last
        self._closed: set[int] = set()  # wire indexes that were stopped
        self._last_position = -1
        self.id: str | None = None
        self.model: str | None = None
        self.usage = Usage()
        self.reasons: dict[str, None] = {}  # the stop reasons as stated, the last one last
        self.snapshot: list[dict[str, Any]] | None = None
        self.failure: ErrorInfo | None = None  # set by whoever sends ERROR, CANCEL, TIMEOUT, OVERFLOW or a cut EOF
        self.message: Message | None = None
        self.partial: Partial | None = None

    # ------------------------------------------------------------ the one entry

    def handle(self, ev: NormalizedEvent) -> None:
        """Take one normalized event."""
        event = ev.type
        case = _CASES[event]
        guard = 0 if case is None else case(self, ev)
        actions, to, anomaly = _CELLS[self.stepper.state][T.FIRST_COLUMN[event] + guard]
        for action in actions:
            action(self, ev)
        if anomaly is not None:
            self.note(anomaly, _describe(ev))
        if to >= 0:
            self.stepper.fire(event, guard)
        if event == T.TOOL_USE_START and ev.fragment and actions:
            self.handle(NormalizedEvent(T.TOOL_INPUT_DELTA, ev.index, fragment=ev.fragment, id=ev.id))
        elif (self.meter.used > self.limits.content_bytes or len(self.blocks) > self.limits.blocks) and self.stepper.state not in T.FINAL:
            self._overflow()

    def _overflow(self) -> None:
        """All memory is bounded (R-97)."""
        what, field = ("content", "content_bytes") if self.meter.used > self.limits.content_bytes else ("block", "blocks")
        self.handle(NormalizedEvent(T.OVERFLOW, reason=f"{what}_overflow",
                                    message=f"the stream went over Limits.{field} = {getattr(self.limits, field)}; raise it if that is expected"))

    def delta(self, event: int, index: int | None, text: str) -> None:
        """Take a bare delta. Where the table says nothing but "append" for it, it is appended without further ado.

        This short cut is what the compiled engine does for whole streams; `handle` would do the same, more slowly.
        """
        block = self.pending
        if block is None or block.event != event or block.index != index or not block.open:
            block = self.owner(event, index)
        if block is None or self.stepper.state != _HOT_STATE[event]:
            if event == T.TOOL_INPUT_DELTA:
                self.handle(NormalizedEvent(event, index, fragment=text))
            else:
                self.handle(NormalizedEvent(event, index, text))
            return
        if self._touched is not block:
            self.touch(block)
        block.buffer.append(text)
        if self._each:
            self.tell()
        if self.meter.used > self.limits.content_bytes:
            self._overflow()

    @property
    def state(self) -> StreamState:
        return _TOP_STATES[self.stepper.state]

    # ------------------------------------------------------------ cases (guards)

    def _case_message_start(self, ev: NormalizedEvent) -> int:
        return T.MESSAGE_START_AFTER_CONTENT if self.meter.used else T.MESSAGE_START_BEFORE_CONTENT

    def owner(self, event: int, index: int | None) -> Block | None:
        """The open block that a bare delta of `event` goes to, or None if that takes a decision.

        The compiled engine asks this once per block and then appends by itself.
        """
        if event == T.TOOL_INPUT_DELTA:
            call = self.calls.current if index is None else self.calls.slot(index)
            return call if call is not None and call.open else None
        return self._lookup(index, TEXT if event == T.TEXT_DELTA else THINKING)

    def _case_text(self, ev: NormalizedEvent) -> int:
        if not ev.text:
            return T.TEXT_DELTA_BLANK
        kind = ev.kind or (TEXT if ev.type == T.TEXT_DELTA else THINKING)
        block = self.pending
        if block is None or block.kind != kind or block.index != ev.index or not block.open:
            block = self._lookup(ev.index, kind)
        self._found = block
        if block is not None:
            return T.TEXT_DELTA_OWNED
        return T.TEXT_DELTA_LATE if ev.index in self._closed else T.TEXT_DELTA_FRESH

    def _lookup(self, index: int | None, kind: str) -> Block | None:
        """The open block of `kind` at `index`; without an index the one that has none, else the pending one."""
        if index is None:
            block = self._loose if self._loose is not None else self.pending
        else:
            block = self._slots.get((index, kind))
        return block if block is not None and block.open and block.kind == kind else None

    def _case_signature(self, ev: NormalizedEvent) -> int:
        if not ev.signature:
            return T.SIGNATURE_DELTA_BLANK
        if ev.index is not None:
            block = self._slots.get((ev.index, THINKING))
        else:
            block = next((b for b in reversed(self.blocks) if b.kind == THINKING), None)
            if block is not None and not block.open and block.signature and not block.signed_late:
                block = None  # a signed block is whole; this signature is for another
        self._found = block
        if block is None:
            return T.SIGNATURE_DELTA_LATE if ev.index in self._closed else T.SIGNATURE_DELTA_FRESH
        if block.open:
            return T.SIGNATURE_DELTA_OWNED
        # the pieces of a late signature go on where it began
        return T.SIGNATURE_DELTA_UNSIGNED if block.signature is None or block.signed_late else T.SIGNATURE_DELTA_LATE

    def _case_start(self, ev: NormalizedEvent) -> int:
        case = self.calls.case_start(ev)
        self._found = self.calls.found
        return case

    def _case_fragment(self, ev: NormalizedEvent) -> int:
        if not ev.fragment:
            return T.TOOL_INPUT_DELTA_BLANK
        if ev.index is not None:
            vendor = self._slots.get((ev.index, OPAQUE))
            if vendor is not None and vendor.open:
                self._found = vendor
                return T.TOOL_INPUT_DELTA_VENDOR
        case = self.calls.case_fragment(ev)
        self._found = self.calls.found
        if case == T.TOOL_INPUT_DELTA_ORPHAN and ev.index in self._closed:
            return T.TOOL_INPUT_DELTA_LATE
        return case

    def _case_stop(self, ev: NormalizedEvent) -> int:
        if ev.index is not None:
            found = [b for b in self._at(ev.index) if b.open]
        elif ev.type == T.TOOL_USE_STOP:
            call = self.calls.by_id(ev.id) if ev.id else self.calls.current
            found = [call] if call is not None and not call.stopped else []
        else:
            found = [self.pending] if self.pending is not None else []
        self._found = found[0] if found else None
        if not found:
            return T.BLOCK_STOP_UNKNOWN
        return T.BLOCK_STOP_PENDING if self.pending in found else T.BLOCK_STOP_OTHER

    def _at(self, index: int) -> list[Block]:
        """Every block opened last at a wire index, whatever its kind."""
        found = [b for kind in (TEXT, THINKING, OPAQUE, REFUSAL) if (b := self._slots.get((index, kind))) is not None]
        call = self.calls.slot(index)
        return [*found, call] if call is not None and call.index == index else found

    def _case_block_start(self, ev: NormalizedEvent) -> int:
        kind = ev.kind or TEXT
        block = self._lookup(ev.index, kind) if ev.index is not None else None
        self._found = block
        if block is not None:
            return T.BLOCK_START_REPEAT
        return T.BLOCK_START_TEXT if kind in (TEXT, REFUSAL) else T.BLOCK_START_THINKING if kind == THINKING else T.BLOCK_START_OPAQUE

    def _case_opaque(self, ev: NormalizedEvent) -> int:
        found = [b for b in self._at(ev.index) if b.open] if ev.index is not None else []
        self._found = found[0] if found else None
        if found:
            return T.OPAQUE_BLOCK_OWNED if ev.block is not None else T.OPAQUE_BLOCK_STRANGE
        if ev.index in self._closed:
            return T.OPAQUE_BLOCK_LATE
        return T.OPAQUE_BLOCK_FRESH if ev.block is not None else T.OPAQUE_BLOCK_STRANGE

    def _case_reason(self, ev: NormalizedEvent) -> int:
        return T.STOP_REASON_BOUNDARY if self.dialect["reason_ends"] else T.STOP_REASON_REMARK

    def _case_end(self, ev: NormalizedEvent) -> int:
        return Ending(self).case(at_eof=ev.type == T.EOF)

    # ------------------------------------------------------------ actions: text and thinking

    def append(self, ev: NormalizedEvent) -> None:
        block = self._found
        assert block is not None
        self.write(block, ev.text or ev.fragment or "")

    def open_text(self, ev: NormalizedEvent) -> None:
        self._open_text(ev, REFUSAL if ev.kind == REFUSAL else TEXT)

    def open_thinking(self, ev: NormalizedEvent) -> None:
        block = self._open_text(ev, THINKING)
        if ev.signature:
            self._found = block
            self.sign(ev)

    def _open_text(self, ev: NormalizedEvent, kind: str) -> Block:
        explicit = ev.type == T.BLOCK_START
        if not explicit and ev.index is not None and self.dialect["explicit_stops"]:
            self.note("implicit_start", f"a {kind} block was opened by its delta on index {ev.index}")
        block = Block(kind, ev.index, len(self.blocks), self._position(ev.index), self._new_buffer(self.meter))
        self._open(block, explicit)
        if ev.block:
            block.extra = ev.block
            self.meter.used += len(compact(ev.block))
        if ev.text:
            self.write(block, ev.text)
        return block

    def sign(self, ev: NormalizedEvent) -> None:
        block = self._found
        assert block is not None and ev.signature is not None
        if block.signature is None:
            block.signature = self._new_buffer(self.meter)
            block.signed_late = not block.open
        block.signature.append(ev.signature)

    def write(self, block: Block, text: str) -> None:
        """Add text to an open block; it is the pending one from now on."""
        self.touch(block)
        block.buffer.append(text)
        if self._each:
            self.tell()

    def touch(self, block: Block) -> None:
        """`block` is the one that is written to now."""
        if self._touched is not block:
            self.tell()
            self._touched = block
        self.pending = block
        if block.kind == TOOL:
            self.calls.current = block  # type: ignore[assignment]
        elif not block.announced:
            self._announce(block)

    # ------------------------------------------------------------ actions: calls

    def open_tool(self, ev: NormalizedEvent) -> None:
        self._seal_previous()
        call = self._new_call(ev, self._open_call_id(ev), ev.id is None)
        if call.made_up:
            self.note("id_made_up", f"a call for {ev.name!r} came without an id; {call.label} got a random one")
        self._announce(call)

    def _open_call_id(self, ev: NormalizedEvent) -> str:
        return ev.id if ev.id is not None and self.calls.by_id(ev.id) is None else self.calls.new_id()

    def _new_call(self, ev: NormalizedEvent, id_: str, made_up: bool) -> Call:
        call = Call(ev.index, len(self.blocks), self._position(ev.index), self._new_buffer(self.meter), id_, made_up)
        old = self.calls.slot(ev.index) if ev.index is not None else None
        if old is not None and old.open and old.index == ev.index and self.dialect["explicit_stops"]:
            self.note("missing_stop", f"index {ev.index} was opened again; {old.label} ends there")
            self._stop(old)
        self._open(call, ev.type == T.TOOL_USE_START)
        self.meter.used += len(id_)
        self.calls.add(call, ev)
        return call

    def supplement(self, ev: NormalizedEvent) -> None:
        block = self._found
        assert block is not None
        if isinstance(block, Call):
            self.calls.supplement(block, ev)
        elif ev.text and block.empty:
            self.write(block, ev.text)

    def open_twin(self, ev: NormalizedEvent) -> None:
        first = self.calls.found
        assert first is not None
        self._seal_previous()
        twin = self._new_call(ev, first.id, False)
        twin.twin_of = first if first.twin_of is None else first.twin_of

    def keep_late(self, ev: NormalizedEvent) -> None:
        call = self.calls.found
        assert call is not None and ev.fragment is not None
        if call.late is None:
            call.late = self._new_buffer(self.meter)
        call.late.append(ev.fragment)

    def adopt(self, ev: NormalizedEvent) -> None:
        owners = self.calls.owners()
        if len(owners) == 1:
            self.note("orphan_fragment", f"{_describe(ev)} can only belong to {owners[0].label}")
            self.calls.alias(ev.index, owners[0])
            self.write(owners[0], ev.fragment or "")
            return
        call = self._new_call(ev, self._open_call_id(ev), ev.id is None)
        if owners:
            call.ambiguous = True
            self.note("ambiguous_fragment", f"{_describe(ev)} could belong to {len(owners)} calls")
        else:
            self.note("implicit_start", f"a call was opened by {_describe(ev)}")
        self._announce(call)
        self.write(call, ev.fragment or "")

    def _seal_previous(self) -> None:
        """A next start ends the call before it, if that holds a whole object (fine print 7)."""
        call = self.calls.current
        if (call is None or not call.open or call.twin_of is not None or call.name is None or call.ambiguous
                or self.dialect["explicit_stops"] or not call.complete or call.bare):
            return
        self.calls.judge(call)
        if call.input is not None:
            self._archive(call)

    def _stop(self, block: Block) -> None:
        """The block's own stop."""
        if not isinstance(block, Call):
            self._archive(block)
            return
        block.stopped = True
        if block.twin_of is not None:
            first = block.twin_of
            if not first.sealed or not self.calls.settle_twin(block):
                block.open = False
                return
            self._announce(block)
        elif self.calls.wants_arguments(block):
            block.open = False  # undecided: a stray fragment may still bring them
            return
        self.calls.judge(block)
        self._archive(block)

    # ------------------------------------------------------------ actions: vendor blocks

    def open_opaque(self, ev: NormalizedEvent) -> None:
        block = Block(OPAQUE, ev.index, len(self.blocks), self._position(ev.index), self._new_buffer(self.meter))
        block.vendor = dict(ev.block or {})
        self.meter.used += len(compact(block.vendor))
        self._open(block, ev.type == T.BLOCK_START)
        self._announce(block)
        if ev.index is None:  # whole, and nothing can be added
            self._archive(block)
            self.pending = None

    def merge(self, ev: NormalizedEvent) -> None:
        """Fold fields into an open block: strings are appended, lists extended, anything else is set."""
        block = self._found
        assert block is not None and ev.block is not None
        target = block.vendor
        if target is None:
            target = block.extra = dict(block.extra or {})
        for key, value in ev.block.items():
            old = target.get(key)
            if isinstance(old, str) and isinstance(value, str):
                target[key] = old + value
            elif isinstance(old, list) and isinstance(value, list):
                target[key] = old + value
            else:
                target[key] = value
        self.meter.used += len(compact(ev.block))

    def unfold(self, ev: NormalizedEvent) -> None:
        block = self._found
        if block is not None and block.kind == OPAQUE:
            block.left_out = True

    # ------------------------------------------------------------ actions: facts and bounds

    def close(self, ev: NormalizedEvent) -> None:
        block = self._found
        assert block is not None
        if ev.index is not None:
            self._closed.add(ev.index)
            for other in self._at(ev.index):
                if other.open and other is not block:
                    self._stop(other)
        was_pending = self.pending is block
        self._stop(block)
        if was_pending:
            self.pending = None

    def set_meta(self, ev: NormalizedEvent) -> None:
        if self.id and ev.id:
            self.note("repeated_start", f"the message {self.id!r} began again as {ev.id!r}")
        self.id = ev.id or self.id
        self.model = ev.model or self.model

    def set_usage(self, ev: NormalizedEvent) -> None:
        self.usage.basis = self.dialect["basis"]
        complaint = usage_rules.update(self.usage, ev.usage or {}, self.dialect["usage"])
        if complaint is not None:
            self.note("usage_basis_changed", complaint)
        if not self._silent:
            self._emit(UsageUpdated(self.usage))

    def set_reason(self, ev: NormalizedEvent) -> None:
        last = next(reversed(self.reasons), ev.reason)
        if not ev.reason or len(self.reasons) >= _REASONS_KEPT:
            return
        if ev.reason != last:
            self.note("reason_changed", f"{ev.reason!r} after {last!r}")
        self.reasons.pop(ev.reason, None)
        self.reasons[ev.reason] = None

    def keep_snapshot(self, ev: NormalizedEvent) -> None:
        self.snapshot = ev.content

    def complete(self, ev: NormalizedEvent) -> None:
        self.tell()
        self.message = Ending(self).complete(at_eof=ev.type == T.EOF)
        self._emit(MessageFinished(self.message))
        self._release()

    def fail(self, ev: NormalizedEvent) -> None:
        self.tell()
        self.failure, self.partial = Ending(self).fail(ev)
        self._emit(StreamFailed(STATE_AFTER[ev.type], self.failure, self.partial))
        self._release()

    def _release(self) -> None:
        """Give back what only a live message needs."""
        self.pending = self._touched = self._found = None
        self._loose = None
        self._slots = {}

    def take_back(self, call: Call) -> None:
        """A call that was ready must not run after all."""
        assert call.invalid is not None
        self._emit(ToolInvalid(call.number, call.id, call.name, call.invalid, call.raw))

    # ------------------------------------------------------------ opening and archiving

    def _position(self, index: int | None) -> int:
        """Where the block stands in the message: the wire's index if the vendor documents it so (fine print 1)."""
        if self.dialect["positional"] and index is not None:
            self._last_position = index
        return self._last_position

    def _open(self, block: Block, explicit: bool) -> None:
        if self._loose is not None:
            self._archive(self._loose)
        if explicit and block.index is not None:
            self._closed.discard(block.index)
            for other in self._at(block.index):
                if other.open and other.kind != block.kind:
                    self.note("missing_stop", f"index {block.index} was opened again; its {other.kind} block ends there")
                    self._stop(other)
        self.blocks.append(block)
        if block.kind == TOOL:
            pass  # self.calls knows its addresses
        elif block.index is None:
            self._loose = block
        else:
            self._slots[block.index, block.kind] = block
        if self._touched is not block:
            self.tell()
        self.pending = block

    def _announce(self, block: Block) -> None:
        block.announced = True
        if not self._silent:
            kind = block.vendor.get("type", OPAQUE) if block.vendor is not None else block.kind
            call = block if isinstance(block, Call) else None
            self._emit(BlockStarted(block.number, kind, call.id if call else None, call.name if call else None))

    def _archive(self, block: Block) -> None:
        """Turn the buffer into a finished block, for good; calls have been judged before."""
        if self._touched is block:
            self.tell(final=True)
            self._touched = None
        if self._loose is block:
            self._loose = None
        block.open = False
        if isinstance(block, Call):
            block.sealed = True
            block.buffer.take()
            if block.invalid:
                self.note("invalid_call", f"{block.label} must not run: {block.invalid}")
                self._emit(ToolInvalid(block.number, block.id, block.name, block.invalid, block.raw))
            else:
                assert block.name is not None and block.input is not None
                self._emit(ToolReady(block.number, block.id, block.name, block.input))
        elif block.kind == OPAQUE:
            Ending.fold_input(block, self.limits.depth)
        else:
            if block.buffer.odd:
                self.note_surrogates(block)
            block.text = block.buffer.take()
        if block.announced and not block.left_out:
            self._emit(BlockFinished(block.number, block.canonical()))

    def note_surrogates(self, block: Block) -> None:
        if "\ufffd" in block.buffer.text():
            self.note("lone_surrogate", f"block {block.number} held half a surrogate pair")

    # ------------------------------------------------------------ telling the caller

    def _emit(self, event: Event) -> None:
        self.tell()
        self.out.append(event)

    def tell(self, final: bool = False) -> None:
        """Tell the caller what was added to the touched block since the last time."""
        block = self._touched
        if block is not None and not self._silent and block.announced and block.kind != OPAQUE:
            text = block.buffer.unseen(final)
            if text:
                self.out.append(_DELTA_EVENTS[block.kind](block.number, text))

    def flush(self) -> list[Event]:
        """The events since the last flush."""
        self.tell()
        out, self.out = self.out, []
        return out


def _describe(ev: NormalizedEvent) -> str:
    """An event in a few words for an anomaly's detail."""
    text = repr(ev)
    return text if len(text) <= 160 else text[:157] + "..."


_TOP_STATES = tuple(StreamState(name.partition(".")[0]) for name in T.STATES)
STATE_AFTER = {T.ERROR: "ERRORED", T.EOF: "ERRORED", T.MESSAGE_START: "ERRORED", T.MESSAGE_STOP: "ERRORED",
               T.CANCEL: "CANCELLED", T.OVERFLOW: "CANCELLED", T.TIMEOUT: "TIMED_OUT"}

_CASE_METHODS: dict[int, Callable[[Accumulator, NormalizedEvent], int]] = {
    T.MESSAGE_START: Accumulator._case_message_start, T.TEXT_DELTA: Accumulator._case_text, T.THINKING_DELTA: Accumulator._case_text,
    T.SIGNATURE_DELTA: Accumulator._case_signature, T.TOOL_USE_START: Accumulator._case_start, T.TOOL_INPUT_DELTA: Accumulator._case_fragment,
    T.TOOL_USE_STOP: Accumulator._case_stop, T.BLOCK_START: Accumulator._case_block_start, T.BLOCK_STOP: Accumulator._case_stop,
    T.OPAQUE_BLOCK: Accumulator._case_opaque, T.STOP_REASON: Accumulator._case_reason, T.MESSAGE_STOP: Accumulator._case_end,
    T.EOF: Accumulator._case_end,
}
_HOT_STATE = {event: state for event, state in T.HOT.items()}
_CASES = tuple(_CASE_METHODS.get(event) for event in range(len(T.EVENTS)))
_CELLS = [[(tuple(getattr(Accumulator, name) for name in actions), to, anomaly) for actions, to, anomaly in row] for row in T.CELLS]
