"""What the message is once its stream is over: open blocks, restatements, twins, stop reason, order.

`Ending`, a short-lived view on an accumulator, builds the message or the partial. Rules: DESIGN section 5 ("End") and rules 1, 10, 11, 14, 15.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fsm import _tables as T
from fsm.model.kinds import OPAQUE, REFUSAL, TEXT, THINKING, TOOL
from fsm.rebuild.blocks import Block, Call
from fsm.rebuild.guards import end_case, stated_reason
from fsm.model.errors import ErrorInfo, classify
from fsm.model.events import NormalizedEvent
from fsm.model.message import Message, Partial
from fsm.values.values import written_as

if TYPE_CHECKING:
    from fsm.rebuild.accumulator import Accumulator

#: what the calls of a failed stream are marked with, unless they have a reason of their own
_STREAM_MARKS = {T.ERROR: "stream_error", T.MESSAGE_START: "stream_error", T.MESSAGE_STOP: "stream_error", T.EOF: "stream_incomplete",
                 T.CANCEL: "stream_cancelled", T.TIMEOUT: "stream_timed_out", T.OVERFLOW: "stream_overflow"}


def _plainly_sent(call: Call) -> bool:
    """Whether the input alone gives the text of the arguments back."""
    sent = call.sent if isinstance(call.sent, (str, bytes)) else call.raw
    return not sent.strip() or written_as(call.input, sent)


def _place(block: Block) -> tuple[int, int]:
    return block.position, block.number


class Ending:
    """The end of the message that `acc` holds."""

    __slots__ = ("_acc", "_table")

    def __init__(self, acc: Accumulator) -> None:
        self._acc = acc
        self._table = acc.dialect

    # ------------------------------------------------------------ the message

    def complete(self, at_eof: bool) -> Message:
        """Archive what is open and build the message."""
        acc = self._acc
        self._apply_snapshot()
        reason = stated_reason(self._acc)
        cut, filtered = reason in self._table["cut"], reason in self._table["filtered"]
        failed = reason in self._table["failed_call"]
        mark = (self._table["stop_reasons"][reason] if filtered else "failed_call" if failed else None) if reason else None
        self._settle(mark, announce=not cut)
        kept = acc.calls.kept()
        dropped: list[dict[str, Any]] = []
        if cut and kept:
            acc.note("calls_dropped", f"the stop reason {reason!r} dropped {len(kept)} call(s)")
            dropped = [c.canonical() for c in self._ordered() if isinstance(c, Call)]
            for call in kept:
                call.left_out = True
        canonical = self._table["stop_reasons"].get(reason) if reason else None
        has_calls = bool(kept) and not cut
        if reason is None:
            acc.note("no_stop_reason", "the message ended without a stop reason")
        elif at_eof and self._table["reason_ends"]:  # else the end of the connection is the terminator
            acc.note("no_terminator", "the connection ended after the stop reason, without the terminator")
        stop = canonical if cut or filtered else "tool_use" if has_calls else "end_turn" if reason is None or canonical == "tool_use" else canonical
        if reason is not None and canonical is not None and stop != canonical and (stop != "tool_use" or self._says_calls()):
            acc.note("stop_reason_replaced", f"{reason!r} was stated; the content says {stop!r}")
        return Message(content=self._content(), id=acc.id, model=acc.model, stop_reason=stop, raw_stop_reason=reason,
                       usage=acc.usage, dropped_calls=dropped, dialect=self._table["name"], arguments=self._arguments() if has_calls else {})

    def _arguments(self) -> dict[str, str]:
        """The texts that valid calls were streamed with, where the request takes text and the input alone would not give it back.

        Not of a call whose id was made up: its vendor knows no such call to compare it with.
        """
        if self._table["arguments"] != "text":
            return {}
        return {call.id: call.raw for call in self._acc.calls.kept()
                if not (call.invalid or call.made_up or call.free) and not _plainly_sent(call)}

    def _says_calls(self) -> bool:
        """Whether the dialect has a stop reason for calls; where it has none, any other is no deviation."""
        table = self._table
        return any(word == "tool_use" and raw not in table["failed_call"] for raw, word in table["stop_reasons"].items())

    def fail(self, ev: NormalizedEvent) -> tuple[ErrorInfo, Partial]:
        """Archive what is open, mark every call, and say what went wrong (rule 10)."""
        acc = self._acc
        info = self._failure(ev)
        if not acc.blocks:
            self._apply_snapshot()
        self._settle(_STREAM_MARKS[ev.type], announce=True, failed=True)
        partial = Partial(content=self._content(), id=acc.id, model=acc.model, stop_reason=None, raw_stop_reason=stated_reason(self._acc), usage=acc.usage,
                          dialect=self._table["name"])
        return info, partial

    def _failure(self, ev: NormalizedEvent) -> ErrorInfo:
        acc = self._acc
        if ev.type == T.MESSAGE_START:
            type_, message = "stream_restarted", "a second message began after content: two attempts were spliced; discard both"
        elif ev.type == T.MESSAGE_STOP or (ev.type == T.EOF and end_case(acc, at_eof=True) == T.EOF_FAILED_CALL):
            type_, message = "failed_call", f"the stop reason {stated_reason(acc)!r} says that a call failed, and there is none"
        else:
            type_ = ev.kind or ev.reason or ("incomplete_stream" if ev.type == T.EOF else "error")
            message = ev.message or type_
        code = ev.code if ev.code != type_ else None
        _class, retry = classify(type_, code)
        pending = acc.pending
        return ErrorInfo(type_, message, retry, code, acc.anomalies.offset, acc.anomalies.event, T.STATES[acc.stepper.state],
                         None if pending is None else pending.number)

    def _settle(self, mark: str | None, announce: bool, failed: bool = False) -> None:
        """Archive every open block and give every call its verdict; `mark` is what a call without fault gets."""
        for block in self._acc.blocks:
            if block.open and block.kind != TOOL:
                self._settle_block(block, failed)
        calls = self._acc.calls.all
        for call in calls:
            if call.twin_of is None:
                self._settle_call(call, mark, announce, failed)
        for call in calls:  # each is compared with its first, which has its verdict now
            if call.twin_of is not None:
                self._settle_call(call, mark, announce, failed)

    def _settle_block(self, block: Block, failed: bool) -> None:
        acc = self._acc
        if block.index is not None and self._table["explicit_stops"] and not failed:
            acc.note("missing_stop", f"block {block.number} was closed by the end of the message")
        acc._archive(block)

    def _settle_call(self, call: Call, mark: str | None, announce: bool, failed: bool) -> None:
        acc = self._acc
        calls = acc.calls
        if call.left_out:
            return
        if call.sealed:
            was_ready = call.invalid is None
            if call.late is not None:
                calls.settle_late(call)
            call.invalid = call.invalid or mark
            if was_ready and call.invalid and not failed:
                acc.take_back(call)
            return
        if call.twin_of is not None:
            if not calls.settle_twin(call):
                return
            call.announced = call.announced or announce
        if call.open and not call.stopped and self._table["explicit_stops"] and not failed:
            acc.note("missing_stop", f"{call.label} was closed by the end of the message")
        calls.judge(call)
        if failed and call.invalid == "unparsable_arguments":
            call.invalid = "incomplete"
        call.invalid = call.invalid or mark
        if announce:
            acc._archive(call)
        else:
            call.sealed, call.open = True, False

    def _ordered(self) -> list[Block]:
        """The blocks of the message in its order (rule 1); no empty ones."""
        blocks, last, sorted_ = [], -1, True
        for block in self._acc.blocks:
            if not block.left_out and not block.is_empty():
                blocks.append(block)
                sorted_ = sorted_ and block.position >= last
                last = block.position
        return blocks if sorted_ or not self._table["positional"] else sorted(blocks, key=_place)

    def _content(self) -> list[dict[str, Any]]:
        content = []
        for block in self._ordered():
            content.append(block.canonical())
        return content

    # ------------------------------------------------------------ restatements

    def _apply_snapshot(self) -> None:
        """Fill in from the last full restatement what was not streamed (rule 15)."""
        acc = self._acc
        if not acc.snapshot:
            return
        snapshot, acc.snapshot = acc.snapshot, None
        acc.meter.used -= acc.snapshot_size  # what it fills in is counted again
        acc.snapshot_size = 0
        streamed = self._streamed(snapshot)
        if streamed:
            acc._last_position = -1  # what is added stands behind the streamed block that precedes it in the restatement
        for i, restated in enumerate(snapshot):
            block: Block | None = streamed.get(i)
            if restated.get("type") == TOOL:
                block = self._snapshot_call(restated)
            elif block is None:
                self._add_from_snapshot(restated, str(restated.get("type")))
            if block is not None:
                acc._last_position = block.position

    def _streamed(self, snapshot: list[dict[str, Any]]) -> dict[int, Block]:
        """Which streamed block each restated one is, by its place in the snapshot; calls are matched by id elsewhere.

        Text that was streamed and restated in other pieces, or restated as something else, counts as streamed.
        """
        found: dict[int, Block] = {}
        for kind in (TEXT, THINKING, REFUSAL):
            have = [(b, b.text or b.buffer.text()) for b in self._acc.blocks if b.kind == kind and not b.is_empty()]
            want = [(i, str(r.get(kind) or "")) for i, r in enumerate(snapshot) if r.get("type") == kind]
            if not have or not want:
                continue
            pairs, rest = {}, iter(want)
            for block, text in have:
                place = next((i for i, said in rest if said == text), None)
                if place is None:
                    pairs = {i: have[min(n, len(have) - 1)][0] for n, (i, _said) in enumerate(want)}
                    if "".join(t for _b, t in have) != (said := "".join(t for _i, t in want)):
                        self._acc.note("snapshot_contradicts", f"the {kind} was restated as {said[:120]!r}")
                    break
                pairs[place] = block
            found |= pairs
        vendor = [b for b in self._acc.blocks if b.kind == OPAQUE]
        for i, restated in enumerate(snapshot):
            if restated.get("type") not in (TEXT, THINKING, REFUSAL, TOOL):
                same = next((b for b in vendor if b.vendor is not None and b.vendor.get("type") == restated.get("type")), None)
                if same is not None:  # ids may rotate
                    vendor.remove(same)
                    found[i] = same
        return found

    def _add_from_snapshot(self, block: dict[str, Any], kind: str) -> None:
        acc = self._acc
        acc.note("snapshot_used", f"a {kind} block came only in the restatement")
        rest = {k: v for k, v in block.items() if k not in ("type", kind, "signature")} or None
        if kind in (TEXT, REFUSAL):
            acc.open_text(NormalizedEvent(T.BLOCK_START, None, str(block.get(kind) or ""), kind=kind, block=rest))
        elif kind == THINKING:
            acc.open_thinking(NormalizedEvent(T.BLOCK_START, None, str(block.get(kind) or ""), kind=kind, signature=block.get("signature"), block=rest))
        else:
            acc.open_opaque(NormalizedEvent(T.OPAQUE_BLOCK, None, block=block))

    def _nameless(self, text: str) -> Call | None:
        """The first call of which only arguments were streamed that `text` repeats or goes on."""
        for call in self._acc.calls.kept():
            if call.made_up and call.name is None and not call.sealed:
                streamed = call.buffer.text()
                if text.startswith(streamed if call.free else streamed.strip()):
                    return call
        return None

    def _snapshot_call(self, block: dict[str, Any]) -> Call | None:
        """The call that `block` restates; None if it came only there and was opened now."""
        acc = self._acc
        id_, text = block.get("id"), block.get("arguments") or ""
        call = acc.calls.by_id(id_) if id_ else None
        if call is None:
            same = [c for c in acc.calls.kept() if c.name == block.get("name")] if not id_ or any(c.made_up for c in acc.calls.kept()) else []
            call = same[0] if len(same) == 1 else None
        if call is None and (call := self._nameless(text)) is not None:
            acc.calls.supplement(call, NormalizedEvent(T.TOOL_USE_START, None, id=id_, name=block.get("name"), extra=block.get("extra"), restated=True,
                                                       kind=block.get("kind")))
        if call is None:
            acc.note("snapshot_used", f"the call {id_!r} came only in the restatement")
            event = NormalizedEvent(T.TOOL_USE_START, None, id=id_, name=block.get("name"), input=text or None, extra=block.get("extra"),
                                    kind=block.get("kind"))
            acc.open_tool(event)
        elif text:
            was_valid = call.invalid is None
            acc.calls.restate(call, text)
            if call.sealed and was_valid and call.invalid:
                acc.take_back(call)
        return call
