"""The blocks of a message under construction: opening and archiving them, and telling the caller of it.

What happens to a block whatever event it is about. Which event does what is in `fsm/rebuild/accumulator.py`.
"""

from __future__ import annotations

from collections.abc import Callable

from fsm.values.arguments import loads, parse
from fsm.model.kinds import OPAQUE, REFUSAL, TEXT, THINKING, TOOL
from fsm.rebuild.blocks import Block, Call
from fsm.rebuild.guards import Cases
from fsm.model.events import BlockFinished, BlockStarted, Event, FieldReady, TextDelta, ThinkingDelta, ToolInputDelta, ToolInvalid, ToolReady, UsageUpdated
from fsm.model.usage import copied
from fsm.values.values import ValueText

_DELTA_EVENTS: dict[str, Callable[[int, str], Event]] = {TEXT: TextDelta, REFUSAL: TextDelta, THINKING: ThinkingDelta, TOOL: ToolInputDelta}


class Ledger(Cases):
    """Blocks are opened, written to, stopped and archived here; `out` collects the events for the caller."""

    __slots__ = ()

    # ------------------------------------------------------------ writing

    def write(self, block: Block, text: str | ValueText) -> None:
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

    # ------------------------------------------------------------ opening and archiving

    def _position(self, index: int | None) -> int:
        """Where the block stands in the message: the wire's index if the vendor documents it so (rule 1)."""
        if self.dialect["positional"] and index is not None:
            self._last_position = index
        return self._last_position

    def _open(self, block: Block, explicit: bool) -> None:
        if self._loose is not None:
            self._archive(self._loose)
        if explicit and block.index is not None:
            self._closed.pop(block.index, None)
            for other in self.open_at(block.index):
                if other.kind != block.kind:
                    self.note("missing_stop", f"index {block.index} was opened again; its {other.kind} block ends there")
                    self._stop(other)
        self.blocks.append(block)
        if len(self.blocks) > self.limits.blocks:
            self._most = -1
        if block.kind == THINKING:
            self._last_thinking = block
        if block.index is not None:
            self._take_slot(block, block.index)
        elif block.kind != TOOL:
            self._loose = block
        self._turn_away()
        self.pending = block

    def _turn_away(self) -> None:
        """The next delta may be for another block than the last: let it say so (`touch`)."""
        self.tell()
        self._touched = None

    def _take_slot(self, block: Block, index: int) -> None:
        slot = self._slots.get(index)
        if slot is None:
            self._slots[index] = [block]
        else:
            slot[:] = [b for b in slot if b.kind != block.kind] + [block]

    def _announce(self, block: Block) -> None:
        block.announced = True
        if not self._silent:
            kind = block.vendor.get("type", OPAQUE) if block.vendor is not None else block.kind
            call = block if isinstance(block, Call) else None
            self._emit(BlockStarted(block.number, kind, call.id if call else None, call.name if call else None))

    def _archive(self, block: Block) -> None:
        """Turn the buffer into a finished block, once and for good; calls have been judged before.

        A block that is over is never the pending one.
        """
        if block.archived:
            return
        block.archived = True
        if not self._silent:
            self.tell()
            self._show(block, final=True)
        if self._touched is block:
            self._touched = None
        if self._loose is block:
            self._loose = None
        block.open = False
        if self.pending is block:
            self.pending = None
        if isinstance(block, Call):
            self._archive_call(block)
        elif block.kind == OPAQUE:
            _fold_input(block, self.limits.depth)
        else:
            if block.buffer.odd:
                self.note_surrogates(block)
            block.text = block.buffer.take()
            if not block.announced and not block.is_empty():
                self._announce(block)  # a signature or encrypted reasoning alone
        if block.announced and not block.left_out:
            self._emit(BlockFinished(block.number, block.canonical()))

    def _withdraw(self, block: Block, other: Block) -> None:
        """An open block turned out to be a part of `other`, which stands for it from now on."""
        assert block.index is not None
        block.buffer.drop()
        block.open, block.archived, block.left_out = False, True, True
        self._slots[block.index] = [other if b is block else b for b in self._slots[block.index]]
        self._closed[block.index] = None  # once `other` is closed
        if self.pending is block:
            self.pending = other
        if self._last_thinking is block:
            self._last_thinking = other

    def _archive_call(self, call: Call) -> None:
        call.sealed = True
        call.buffer.drop()
        if call.invalid:
            self.note("invalid_call", f"{call.label} must not run: {call.invalid}")
            self._emit(ToolInvalid(call.number, call.id, call.name, call.invalid, call.raw))
        else:
            assert call.name is not None
            assert call.input is not None
            self._emit(ToolReady(call.number, call.id, call.name, call.input))

    def note_surrogates(self, block: Block) -> None:
        if "\ufffd" in block.buffer.text():
            self.note("lone_surrogate", f"block {block.number} held half a surrogate pair")

    def _stop(self, block: Block) -> None:
        """The block's own stop."""
        if isinstance(block, Call):
            self._stop_call(block)
        else:
            self._archive(block)

    def _stop_call(self, call: Call) -> None:
        call.stopped = True
        if call.twin_of is not None:
            first = call.twin_of
            if not first.sealed or not self.calls.settle_twin(call):
                self._shut(call)
                return
            self._announce(call)
        elif self.calls.wants_arguments(call):
            self._shut(call)  # undecided: a stray fragment may still bring them
            return
        self.calls.judge(call)
        self._archive(call)

    def _shut(self, call: Call) -> None:
        """No more deltas for a call whose verdict has to wait."""
        call.open = False
        if self.pending is call:
            self.pending = None

    # ------------------------------------------------------------ telling the caller

    def _emit(self, event: Event) -> None:
        self.tell()
        self.out.append(event)

    def tell(self) -> None:
        """Tell the caller what was added to the touched block since the last time, and the usage if it moved."""
        if self._touched is not None and not self._silent:
            self._show(self._touched)
        if self._counted:
            self._counted = False
            self.out.append(UsageUpdated(copied(self.usage)))

    def _show(self, block: Block, final: bool = False) -> None:
        if block.announced and block.kind != OPAQUE:
            text = block.buffer.unseen(final)
            if text:
                self.out.append(_DELTA_EVENTS[block.kind](block.number, text))
                if block.kind == TOOL and ("," in text or "}" in text):  # nothing else completes a field
                    self.fields(block)

    def fields(self, call: Block) -> None:
        """Tell the caller which fields of the call's arguments became whole (R-74)."""
        assert isinstance(call, Call)
        spans = call.buffer.follow().spans
        if call.free:
            spans.clear()
        for span in spans:
            try:
                name = loads(call.buffer.tail(span.key, span.key_end).decode("utf-8", "replace"))
                value = loads(call.buffer.tail(span.value, span.value_end).decode("utf-8", "replace"))
            except ValueError:
                continue  # no JSON: the verdict on the call will say so
            self.out.append(FieldReady(call.number, name, value))
        spans.clear()

    def flush(self) -> list[Event]:
        """The events since the last flush."""
        if self._touched is not None or self._counted:
            self.tell()
        if not self.out:
            return []
        out = self.out[:]
        self.out.clear()  # the list itself is shared with the compiled engine
        return out


def _fold_input(block: Block, max_depth: int) -> None:
    """The input that a vendor block streamed becomes its `input`; cut, it is kept as text and never closed (R-70)."""
    if len(block.buffer):
        assert block.vendor is not None
        text = block.buffer.take()
        parsed = parse(text, max_depth)
        if parsed.value is not None:
            block.vendor["input"] = parsed.value
        else:
            block.vendor |= {"invalid": parsed.fault, "raw_input": text}
