"""Which case of an event holds: the guards of `spec/stream.yaml`.

`Cases` is the state of a message under construction and the looking at it. Nothing is changed here but `found`, the
block that an event turned out to be about, which the actions then take (`fsm/rebuild/accumulator.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from fsm import _tables as T
from fsm.values import arguments
from fsm.model.kinds import OPAQUE, REFUSAL, TEXT, THINKING, TOOL
from fsm.rebuild.blocks import Block, Call
from fsm.rebuild.calls import Calls
from fsm.model.events import Event, NormalizedEvent
from fsm.sink import Sink
from fsm.parts import BaseStepper, Meter
from fsm.model.usage import Usage

if TYPE_CHECKING:
    from fsm.model.errors import ErrorInfo
    from fsm.model.limits import Limits
    from fsm.model.message import Message, Partial
    from fsm.model.registry import ToolRegistry


class Cases(Sink):
    """The ledgers of one message: archived and open blocks, addresses, calls, usage, stated reasons (R-05)."""

    __slots__ = ("_closed", "_counted", "_each", "_last_position", "_last_thinking", "_loose", "_most", "_new_buffer", "_silent", "_slots", "_touched",
                 "blocks", "calls", "failure", "found", "id", "message", "meter", "model", "out", "partial", "pending", "snapshot", "snapshot_size",
                 "usage")

    def __init__(self, stepper: BaseStepper, meter: Meter, new_buffer: Callable[[Any], Any], registry: ToolRegistry | None, limits: Limits,
                 deltas: str) -> None:
        super().__init__(stepper, limits)
        self.meter = meter
        self._new_buffer = new_buffer
        self._most = limits.content_bytes  # what the meter may show; negative once there are too many blocks
        self._silent = deltas == "none"
        self._each = deltas == "each"
        self._counted = False  # the caller was not told the latest usage yet
        self.calls = Calls(registry, limits.depth, meter, self.note)
        self.blocks: list[Block] = []
        self.out: list[Event] = []
        self.pending: Block | None = None  # the block that was written to last, while it is open
        self._loose: Block | None = None  # the open text or thinking block that has no index
        self._touched: Block | None = None  # the block whose additions were not told to the caller yet
        self.found: Block | None = None  # the block that the last _case_* named
        self._slots: dict[int, list[Block]] = {}  # wire index -> the last block of each kind that was opened there
        self._last_thinking: Block | None = None
        self._closed: dict[int | None, None] = {}  # wire indexes that were stopped
        self._last_position = -1
        self.id: str | None = None
        self.model: str | None = None
        self.usage = Usage()
        self.snapshot: list[dict[str, Any]] | None = None
        self.snapshot_size = 0
        self.failure: ErrorInfo | None = None  # set by whoever sends ERROR, CANCEL, TIMEOUT, OVERFLOW or a cut EOF
        self.message: Message | None = None
        self.partial: Partial | None = None

    def _case_message_start(self, ev: NormalizedEvent) -> int:
        return T.MESSAGE_START_AFTER_CONTENT if self.meter.used > self.snapshot_size else T.MESSAGE_START_BEFORE_CONTENT

    def owner(self, event: int, index: int | None) -> Block | None:
        """The open block that a bare delta of `event` goes to, or None if that takes a decision.

        The compiled engine asks this once per block and then appends by itself.
        """
        if event == T.TOOL_INPUT_DELTA:
            call = self.calls.current if index is None else self.calls.slot(index)
            return call if call is not None and call.open else None
        return self._lookup(index, TEXT if event == T.TEXT_DELTA else THINKING)

    def _case_text(self, ev: NormalizedEvent) -> int:
        if not ev.text and not ev.signature:
            return T.TEXT_DELTA_BLANK
        kind = THINKING if ev.type == T.THINKING_DELTA else REFUSAL if ev.kind == REFUSAL else TEXT
        block = self.pending
        if block is None or block.kind != kind or block.index != ev.index or not block.open:
            block = self._lookup(ev.index, kind)
        self.found = block
        if block is not None:
            return T.TEXT_DELTA_OWNED
        if not ev.text:
            return T.TEXT_DELTA_BLANK  # a signature alone opens no text
        return T.TEXT_DELTA_LATE if ev.index in self._closed else T.TEXT_DELTA_FRESH

    def _lookup(self, index: int | None, kind: str) -> Block | None:
        """The open block of `kind` at `index`; without an index the one that has none, else the pending one."""
        if index is None:
            block = self._loose if self._loose is not None else self.pending
        else:
            block = self._at(index, kind)
        return block if block is not None and block.open and block.kind == kind else None

    def _at(self, index: int, kind: str) -> Block | None:
        """The block of `kind` that was opened last at a wire index."""
        for block in self._slots.get(index, ()):
            if block.kind == kind:
                return block
        return None

    def _stated_before(self, index: int | None, kind: str) -> Block | None:
        """The block, open or not, that a restatement is about; without an index the last one of its kind."""
        if index is not None:
            return self._at(index, kind)
        return next((b for b in reversed(self.blocks) if b.kind == kind), None)

    def open_at(self, index: int | None) -> Sequence[Block]:
        """The open blocks at a wire index, whatever their kind: one, but where an upstream mixes kinds on an index."""
        slot = self._slots.get(index) if index is not None else None
        if slot is None:
            return ()
        if len(slot) == 1:
            block = slot[0]
            return slot if block.open else ()
        return [b for b in slot if b.open]

    def _case_signature(self, ev: NormalizedEvent) -> int:
        if not ev.signature:
            return T.SIGNATURE_DELTA_BLANK
        if ev.index is not None:
            block = self._at(ev.index, THINKING)
        else:
            block = self._last_thinking
            if block is not None and not block.open and block.signature and not block.signed_late:
                block = None  # a signed block is whole; this signature is for another
        self.found = block
        if block is None:
            return T.SIGNATURE_DELTA_LATE if ev.index in self._closed else T.SIGNATURE_DELTA_FRESH
        if block.open:
            return T.SIGNATURE_DELTA_OWNED
        # the pieces of a late signature go on where it began
        return T.SIGNATURE_DELTA_UNSIGNED if block.signature is None or block.signed_late else T.SIGNATURE_DELTA_LATE

    def _case_start(self, ev: NormalizedEvent) -> int:
        case = self.calls.case_start(ev)
        self.found = self.calls.found
        return case

    def _case_fragment(self, ev: NormalizedEvent) -> int:
        if not ev.fragment:
            return T.TOOL_INPUT_DELTA_BLANK
        if ev.index is not None:
            vendor = self._at(ev.index, OPAQUE)
            if vendor is not None and vendor.open:
                self.found = vendor
                return T.TOOL_INPUT_DELTA_VENDOR
        case = self.calls.case_fragment(ev)
        self.found = self.calls.found
        if case == T.TOOL_INPUT_DELTA_ORPHAN and ev.index in self._closed:
            return T.TOOL_INPUT_DELTA_LATE
        return case

    def _case_stop(self, ev: NormalizedEvent) -> int:
        found: Sequence[Block]
        if ev.index is not None:
            found = self.open_at(ev.index)
        elif ev.type == T.TOOL_USE_STOP:
            call = self.calls.by_id(ev.id) if ev.id else self.calls.current
            found = [call] if call is not None and not call.stopped else []
        else:
            found = [self.pending] if self.pending is not None else []
        self.found = found[0] if found else None
        if not found:
            slot = self._slots.get(ev.index) if ev.index is not None and ev.type == T.BLOCK_STOP else None
            return T.BLOCK_STOP_JOINED if slot and slot[0].index != ev.index else T.BLOCK_STOP_UNKNOWN
        return T.BLOCK_STOP_PENDING if self.pending in found else T.BLOCK_STOP_OTHER

    def _case_block_start(self, ev: NormalizedEvent) -> int:
        kind = ev.kind or TEXT
        if ev.restated:
            self.found = block = self._stated_before(ev.index, kind)
            if block is not None and (block.open or block.text or block.kind == OPAQUE or not ev.text):
                return T.BLOCK_START_RESTATED
        block = self._lookup(ev.index, kind) if ev.index is not None else None
        self.found = block
        if block is not None:
            return T.BLOCK_START_REPEAT
        return T.BLOCK_START_TEXT if kind in (TEXT, REFUSAL) else T.BLOCK_START_THINKING if kind == THINKING else T.BLOCK_START_OPAQUE

    def _case_opaque(self, ev: NormalizedEvent) -> int:
        found = self.open_at(ev.index)
        self.found = found[0] if found else None
        if found:
            return T.OPAQUE_BLOCK_OWNED if ev.block is not None else T.OPAQUE_BLOCK_STRANGE
        if ev.index in self._closed:
            return T.OPAQUE_BLOCK_LATE
        whole = ev.block is not None and isinstance(ev.block.get("type"), str)
        return T.OPAQUE_BLOCK_FRESH if whole else T.OPAQUE_BLOCK_STRANGE

    def _case_reason(self, ev: NormalizedEvent) -> int:
        return T.STOP_REASON_BOUNDARY if self.dialect["reason_ends"] else T.STOP_REASON_REMARK

    def _case_end(self, ev: NormalizedEvent) -> int:
        return end_case(self, at_eof=ev.type == T.EOF)


def end_case(acc: Cases, at_eof: bool) -> int:
    """whole, cut or failed_call (the guards of MESSAGE_STOP and EOF)."""
    reason, table = stated_reason(acc), acc.dialect
    if reason in table["failed_call"] and not _has_call(acc):
        return T.EOF_FAILED_CALL
    if at_eof and (reason is None or (reason not in table["cut"] and _open_call(acc) is not None)):
        return T.EOF_CUT
    return T.EOF_WHOLE


def _has_call(acc: Cases) -> bool:
    return bool(acc.calls.kept()) or any(b.get("type") == TOOL for b in acc.snapshot or ())


def stated_reason(acc: Cases) -> str | None:
    """The stated reason that counts: a cut stays, then a filter, then failed calls, then the last one (rule 14)."""
    reasons = acc.reasons
    if len(reasons) > 1:
        for group in ("cut", "filtered", "failed_call"):
            for reason in reasons:
                if reason in acc.dialect[group]:
                    return reason
    last = None
    for last in reasons:  # noqa: B007
        pass
    return last


def _open_call(acc: Cases) -> Call | None:
    """A call that the end of the connection would cut (rule 11)."""
    for call in acc.calls.kept():
        if call.open and call.twin_of is None:
            if acc.dialect["explicit_stops"]:
                return call
            if not (call.complete or call.free) and (not call.bare or acc.calls.wants_arguments(call)) and not _parses(call, acc.limits.depth):
                return call
    return None


def _parses(call: Call, max_depth: int) -> bool:
    return len(call.buffer) > 0 and arguments.parse(call.buffer.text(), max_depth).value is not None


_METHODS = {
    T.MESSAGE_START: "_case_message_start", T.TEXT_DELTA: "_case_text", T.THINKING_DELTA: "_case_text", T.SIGNATURE_DELTA: "_case_signature",
    T.TOOL_USE_START: "_case_start", T.TOOL_INPUT_DELTA: "_case_fragment", T.TOOL_USE_STOP: "_case_stop", T.BLOCK_START: "_case_block_start",
    T.BLOCK_STOP: "_case_stop", T.OPAQUE_BLOCK: "_case_opaque", T.STOP_REASON: "_case_reason", T.MESSAGE_STOP: "_case_end", T.EOF: "_case_end",
}
#: event id -> the method that says which case holds, None for an event that has but one
CASES: tuple[Callable[[Cases, NormalizedEvent], int] | None, ...] = tuple(
    getattr(Cases, _METHODS[event]) if event in _METHODS else None for event in range(len(T.EVENTS)))
