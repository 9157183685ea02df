"""The one fold from normalized events to blocks (R-20): live use, replay and both engines go through it.

For each event `fsm/rebuild/guards.py` says which case (guard) holds; the table cell of (state, case) names the actions, which
are methods of the same names here; if the cell names another state the stepper moves there. So this file holds what
an event does, `fsm/rebuild/store.py` what is done to a block, `spec/stream.yaml` when, `fsm/rebuild/calls.py` who owns what of a tool
call, and `fsm/rebuild/finish.py` what the message is once it is over.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson

from fsm import _tables as T
from fsm.rebuild import finish
from fsm.model import usage as usage_rules
from fsm.model.kinds import OPAQUE, REFUSAL, TEXT, THINKING
from fsm.rebuild.blocks import Block, Call
from fsm.rebuild.guards import CASES
from fsm.model.events import MessageFinished, NormalizedEvent, StreamFailed, ToolInvalid, UsageUpdated
from fsm.rebuild.store import Ledger
from fsm.model.message import StreamState
from fsm.model.surrogates import mend
from fsm.values.values import ValueText, cleaned, weight

_REASONS_KEPT = 32  # different unknown stop reasons of one message


class Accumulator(Ledger):
    """Blocks of one message under construction. `out` collects the events for the caller."""

    __slots__ = ()

    # ------------------------------------------------------------ the one entry

    def handle(self, ev: NormalizedEvent) -> None:
        """Take one normalized event."""
        event = ev.type
        case = CASES[event]
        guard = 0 if case is None else case(self, ev)
        action, to, anomaly = _CELLS[self.stepper.state][event][guard]
        if action is not None:
            action(self, ev)
        if anomaly is not None:
            self.note(anomaly, _describe(ev))
        if to >= 0:
            self.stepper.fire(event, guard)
        if event == _TOOL_USE_START and ev.fragment and action is not None:
            self.handle(NormalizedEvent(T.TOOL_INPUT_DELTA, ev.index, fragment=ev.fragment, id=ev.id))
        elif self.meter.used > self._most and self.stepper.state not in T.FINAL:
            self._overflow()

    def _overflow(self) -> None:
        """All memory is bounded (R-97)."""
        what, field = ("content", "content_bytes") if self.meter.used > self.limits.content_bytes else ("block", "blocks")
        self.handle(NormalizedEvent(T.OVERFLOW, reason=f"{what}_overflow",
                                    message=f"the stream went over Limits.{field} = {getattr(self.limits, field)}; raise it if that is expected"))

    def delta(self, event: int, index: int | None, text: str | ValueText) -> None:
        """Take a bare delta. Where the table says nothing but "append" for it, it is appended without further ado.

        This short cut is what the compiled engine does for whole streams; `handle` would do the same, more slowly.
        """
        block = self.pending
        if event == T.TOOL_INPUT_DELTA or block is None or block.event != event or block.index != index or not block.open:
            block = self.owner(event, index)  # of a call also while it is pending: another one may have its index now
        if block is None or self.stepper.state != T.HOT[event]:
            if event == T.TOOL_INPUT_DELTA:
                self.handle(NormalizedEvent(event, index, fragment=text))
            else:
                self.handle(NormalizedEvent(event, index, str(text)))
            return
        if self._touched is not block:
            self.touch(block)
        block.buffer.append(text)
        if self._each:
            self.tell()
        if self.meter.used > self._most:
            self._overflow()

    @property
    def state(self) -> StreamState:
        state: int = self.stepper.state
        return _TOP_STATES[state]

    # ------------------------------------------------------------ actions: text and thinking

    def append(self, ev: NormalizedEvent) -> None:
        block = self.found
        assert block is not None
        start = len(block.buffer)
        self.write(block, ev.text or ev.fragment or "")
        if ev.signature:
            self._sign_text(block, start, ev.signature)

    def open_text(self, ev: NormalizedEvent) -> None:
        self._open_text(ev, REFUSAL if ev.kind == REFUSAL else TEXT)

    def open_thinking(self, ev: NormalizedEvent) -> None:
        block = self._open_text(ev, THINKING)
        if ev.signature:
            self.found = block
            self.sign(ev)

    def _open_text(self, ev: NormalizedEvent, kind: str) -> Block:
        explicit = ev.type == T.BLOCK_START
        if not explicit and ev.index is not None and self.dialect["explicit_stops"] and not self.dialect.get("implicit_starts"):
            self.note("implicit_start", f"a {kind} block was opened by its delta on index {ev.index}")
        block = Block(kind, ev.index, len(self.blocks), self._position(ev.index), self._new_buffer(self.meter))
        self._open(block, explicit)
        if ev.block:
            block.extra, size = cleaned(ev.block)
            self.meter.used += size
        if ev.text:
            self.write(block, ev.text)
            if ev.signature and ev.type == T.TEXT_DELTA:
                self._sign_text(block, 0, ev.signature)
        return block

    def _sign_text(self, block: Block, start: int, signature: str) -> None:
        """The text from byte `start` on has a signature of its own, which must not cover what comes later."""
        if block.signed is None:
            block.signed = []
        block.signed.append((start, len(block.buffer), signature))
        self.meter.used += len(signature)

    def sign(self, ev: NormalizedEvent) -> None:
        block = self.found
        assert block is not None
        assert ev.signature is not None
        if block.signature is None:
            block.signature = self._new_buffer(self.meter)
            block.signed_late = not block.open
        block.signature.append(ev.signature)

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
        block = self.found
        assert block is not None
        if isinstance(block, Call):
            self._turn_away()
            placed = block.index is not None
            was_valid = block.invalid is None
            self.calls.supplement(block, ev)
            if block.sealed and was_valid and block.invalid:
                self.take_back(block)
            if block.index is not None and not placed:
                self._take_slot(block, block.index)
        elif ev.text and block.is_empty():
            self.write(block, ev.text)

    def restate(self, ev: NormalizedEvent) -> None:
        block = self.found
        assert block is not None
        if ev.joins:
            block = self._joined(block, ev.joins, ev.text)
        if block.kind == OPAQUE:
            if block.open and ev.block:
                self._take_vendor(block, ev.block)
            return
        if ev.block:
            fields, size = cleaned(ev.block)
            self.meter.used += size
            block.extra = {**(block.extra or {}), **fields}  # the last word on a vendor's own fields
        if ev.signature and block.signature is None and block.kind == THINKING:
            self.sign(ev)
        have, want = block.buffer.text() if block.open else block.text, ev.text or ""
        if not want or want == have:
            return
        want = mend(want)
        if block.open and len(want) > len(have) and want.startswith(have):
            self._turn_away()
            if not block.announced:
                self._announce(block)
            block.buffer.append(want[len(have):])
            self._show(block)
            if have:
                self.note("snapshot_used", f"the end of a {block.kind} block came only in its restatement")
        elif want != have:
            self.note("snapshot_contradicts", f"the {block.kind} of block {block.number} was restated as {want[:120]!r}")

    def _joined(self, block: Block, indexes: list[int], said: str | None) -> Block:
        """The one block that those at `indexes` are, if together they are what was `said`; else `block` (rule 23)."""
        found = dict.fromkeys([b for i in indexes if type(i) is int and (b := self._at(i, block.kind)) is not None and b.open])
        if len(found) < 2 or said is None or "".join([b.buffer.text() for b in found]) != mend(said):
            return block
        self._turn_away()
        first, *pieces = found
        self.note("parts_joined", f"{len(found)} blocks of {first.kind} are one, as its restatement says")
        for piece in pieces:
            self.meter.used -= len(piece.buffer)  # counted again where it goes
            first.buffer.append(piece.buffer.text())
            first.signature = first.signature or piece.signature
            self._withdraw(piece, first)
        first.buffer.unseen(True)  # it was told as that of its pieces
        return first

    def open_twin(self, ev: NormalizedEvent) -> None:
        first = self.calls.found
        assert first is not None
        self._seal_previous()
        twin = self._new_call(ev, first.id, False)
        twin.twin_of = first if first.twin_of is None else first.twin_of

    def keep_late(self, ev: NormalizedEvent) -> None:
        call = self.calls.found
        assert call is not None
        assert ev.fragment is not None
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
        """A next start ends the call before it, if that holds a whole object (rule 7)."""
        call = self.calls.current
        if (call is None or not call.open or call.twin_of is not None or call.name is None or call.ambiguous
                or self.dialect["explicit_stops"] or not call.complete or call.bare):
            return
        self.calls.judge(call)
        if call.input is not None:
            self._archive(call)

    # ------------------------------------------------------------ actions: vendor blocks

    def open_opaque(self, ev: NormalizedEvent) -> None:
        block = Block(OPAQUE, ev.index, len(self.blocks), self._position(ev.index), self._new_buffer(self.meter))
        self._take_vendor(block, ev.block or {})
        self._open(block, ev.type == T.BLOCK_START)
        self._announce(block)
        if ev.index is None:  # whole, and nothing can be added
            self._archive(block)

    def _take_vendor(self, block: Block, vendor: dict[str, Any]) -> None:
        fields, size = cleaned(vendor)
        block.vendor = {"type": OPAQUE, **fields}
        self.meter.used += size

    def merge(self, ev: NormalizedEvent) -> None:
        """Fold fields into an open block: strings are appended, lists extended, anything else is set."""
        block = self.found
        assert block is not None
        assert ev.block is not None
        target = block.vendor
        if target is None:
            target = block.extra = dict(block.extra or {})
        addition, size = cleaned(ev.block)
        self.meter.used += size
        for key, value in addition.items():
            old: Any = target.get(key)
            joins = (isinstance(old, str) and isinstance(value, str)) or (isinstance(old, list) and isinstance(value, list))
            target[key] = old + value if joins else value

    def unfold(self, ev: NormalizedEvent) -> None:
        block = self.found
        if block is not None and block.kind == OPAQUE:
            block.left_out = True

    # ------------------------------------------------------------ actions: facts and bounds

    def close(self, ev: NormalizedEvent) -> None:
        block = self.found
        assert block is not None
        if ev.index is not None:
            self._closed[ev.index] = None
            for other in self.open_at(ev.index):
                if other is not block:
                    self._stop(other)
        self._stop(block)

    def set_meta(self, ev: NormalizedEvent) -> None:
        if self.id and ev.id:
            self.note("repeated_start", f"the message {self.id!r} began again as {ev.id!r}")
        self.id = ev.id or self.id
        self.model = ev.model or self.model

    def set_usage(self, ev: NormalizedEvent) -> None:
        self._count(ev.usage or {})
        if self._each:
            self._emit(UsageUpdated(usage_rules.copied(self.usage)))
        elif not self._silent:
            self._counted = True

    def _count(self, report: dict[str, Any]) -> None:
        self.usage.basis = self.dialect["basis"]
        complaint = usage_rules.update(self.usage, report, self.usage_table)
        if complaint is not None:
            self.note("usage_basis_changed", complaint)

    def counted(self, report: bytes, told: bool) -> None:
        """Take a usage report that the compiled engine has kept back (_speedups/counts.pxi). `told`: the caller heard of it."""
        self._count(orjson.loads(report))
        if not told and not self._silent:
            self._counted = True

    @property
    def usage_table(self) -> usage_rules.Paths:
        """Where the counts stand in a report."""
        return _USAGE_PATHS[self.dialect["name"]]

    def set_reason(self, ev: NormalizedEvent) -> None:
        last = next(reversed(self.reasons), ev.reason)
        if not ev.reason or (len(self.reasons) >= _REASONS_KEPT and ev.reason not in self.dialect["stop_reasons"]):
            return  # a known word always counts: it may drop calls
        if ev.reason != last:
            self.note("reason_changed", f"{ev.reason!r} after {last!r}")
        self.reasons.pop(ev.reason, None)
        self.reasons[ev.reason] = None

    def keep_snapshot(self, ev: NormalizedEvent) -> None:
        self.id, self.model = self.id or ev.id, self.model or ev.model
        if ev.content is None:
            return
        self.snapshot, _size = cleaned(ev.content)
        streamed = self.meter.used - self.snapshot_size
        self.snapshot_size = max(0, weight(self.snapshot) - streamed)  # what was streamed is not counted twice
        self.meter.used = streamed + self.snapshot_size

    def complete(self, ev: NormalizedEvent) -> None:
        self.tell()
        self.message = finish.Ending(self).complete(at_eof=ev.type == T.EOF)
        self._emit(MessageFinished(self.message))
        self._release()

    def fail(self, ev: NormalizedEvent) -> None:
        self.tell()
        self.failure, self.partial = finish.Ending(self).fail(ev)
        self._emit(StreamFailed(STATE_AFTER[ev.type], self.failure, self.partial))
        self._release()

    def _release(self) -> None:
        """Give back what only a live message needs."""
        self.pending = self._touched = self.found = None
        self._loose = None
        self._slots = {}

    def take_back(self, call: Call) -> None:
        """A call that was ready must not run after all."""
        assert call.invalid is not None
        self._emit(ToolInvalid(call.number, call.id, call.name, call.invalid, call.raw))

def _describe(ev: NormalizedEvent) -> str:
    """An event in a few words for an anomaly's detail."""
    text = repr(ev)
    return text if len(text) <= 160 else text[:157] + "..."


_TOP_STATES = tuple(StreamState(name.partition(".")[0]) for name in T.STATES)
STATE_AFTER = {T.ERROR: "ERRORED", T.EOF: "ERRORED", T.MESSAGE_START: "ERRORED", T.MESSAGE_STOP: "ERRORED",
               T.CANCEL: "CANCELLED", T.OVERFLOW: "CANCELLED", T.TIMEOUT: "TIMED_OUT"}

_TOOL_USE_START = T.TOOL_USE_START
_USAGE_PATHS = {name: usage_rules.paths(table["usage"]) for name, table in T.DIALECTS.items()}


def _cell(actions: tuple[str, ...], to: int, anomaly: str | None) -> tuple[Callable[[Accumulator, NormalizedEvent], None] | None, int, str | None]:
    assert len(actions) <= 1  # the spec could name several; none does
    return (getattr(Accumulator, actions[0]) if actions else None), to, anomaly


#: [state][event][guard] -> (action or None, next state or -1, anomaly or None)
_CELLS = [[[_cell(*c) for c in row[first:first + max(1, len(T.GUARDS[event]))]] for event, first in enumerate(T.FIRST_COLUMN)] for row in T.CELLS]
