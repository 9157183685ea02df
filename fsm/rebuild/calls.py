"""Who owns a tool call's start or fragment, and when its arguments are final.

The rules of DESIGN section 5 ("Tool calls") and rules 2 to 9 live here and nowhere else. Addresses are, in
this order: the wire's index refined by the id, the id, the current call. The two `case_*` methods only look and say
which case of the event holds (a guard of `spec/stream.yaml`); the methods named after actions change something.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from fsm import _tables as T
from fsm.values import arguments
from fsm.values import values
from fsm.model.kinds import FREE
from fsm.rebuild.blocks import Call
from fsm.parts import Meter
from fsm.model.registry import ToolRegistry
from fsm.values.values import LARGE

if TYPE_CHECKING:
    from fsm.model.events import NormalizedEvent

#: note(kind, detail) records an anomaly
Note = Callable[[str, str], None]


class Calls:
    """The calls of one message."""

    __slots__ = ("_by_id", "_depth", "_meter", "_note", "_registry", "_slots", "all", "current", "found")

    def __init__(self, registry: ToolRegistry | None, max_depth: int, meter: Meter, note: Note) -> None:
        self._registry = registry
        self._depth = max_depth
        self._meter = meter
        self._note = note
        self._slots: dict[int, Call] = {}  # wire index -> the call it addresses now
        self._by_id: dict[str, Call] = {}  # id -> the first call of that id
        self.all: list[Call] = []
        self.current: Call | None = None
        self.found: Call | None = None  # the call that the last case_* named

    # ------------------------------------------------------------ starts

    def case_start(self, ev: NormalizedEvent) -> int:
        """fresh, repeat (of `found`) or twin (of `found`)."""
        case, self.found = self._start_alone(ev) if ev.index is None else self._start_on_index(ev)
        return case

    def _start_on_index(self, ev: NormalizedEvent) -> tuple[int, Call | None]:
        assert ev.index is not None
        slot = self._slots.get(ev.index)
        known = self._by_id.get(ev.id) if ev.id else None
        if ev.restated and (known or slot):
            return T.TOOL_USE_START_REPEAT, known or slot
        if slot is not None:
            if known is not None and known.index == ev.index:
                return T.TOOL_USE_START_REPEAT, known  # several calls on one index, told apart by id
            if ev.id is None or (slot.made_up and known is None):
                if not slot.stopped and not self._another_name(slot, ev):
                    return T.TOOL_USE_START_REPEAT, slot
            elif not slot.stopped and not ev.name and not slot.complete:
                return T.TOOL_USE_START_REPEAT, slot  # ids rotate; the first stays (rule 5)
        if known is not None:
            return (T.TOOL_USE_START_REPEAT if known.index is None else T.TOOL_USE_START_TWIN), known
        return self._fresh_or_headless(ev)

    def _start_alone(self, ev: NormalizedEvent) -> tuple[int, Call | None]:
        if ev.id:
            known = self._by_id.get(ev.id)
            return (T.TOOL_USE_START_REPEAT, known) if known is not None else self._fresh_or_headless(ev)
        current = self.current
        if current is None or current.stopped or ev.sibling or (ev.fragment and current.complete):
            return T.TOOL_USE_START_FRESH, None
        return T.TOOL_USE_START_REPEAT, current  # rule 6

    def _another_name(self, slot: Call, ev: NormalizedEvent) -> bool:
        """A second call on the same index without an id: another name with arguments, behind complete ones."""
        return bool(ev.name and slot.name and ev.name != slot.name and ev.fragment and slot.complete)

    def _fresh_or_headless(self, ev: NormalizedEvent) -> tuple[int, Call | None]:
        """A start may be the late header of fragments that came without any address (R-45)."""
        current = self.current
        if (current is not None and current.made_up and current.name is None and current.index is None
                and not current.stopped and not (ev.fragment and current.complete)):
            return T.TOOL_USE_START_REPEAT, current
        return T.TOOL_USE_START_FRESH, None

    def add(self, call: Call, ev: NormalizedEvent) -> None:
        """Take a call that was just opened; it is the current one from now on."""
        self.all.append(call)
        call.free = ev.kind == FREE
        self._by_id.setdefault(call.id, call)
        if call.index is not None:
            self._slots[call.index] = call
        self._fill(call, ev)
        self.current = call

    def supplement(self, call: Call, ev: NormalizedEvent) -> None:
        """Fill in what `call` lacks (R-43)."""
        if ev.id and ev.id != call.id:
            if call.made_up and ev.id not in self._by_id:
                self._by_id.pop(call.id, None)
                call.id, call.made_up = ev.id, False
                self._by_id.setdefault(call.id, call)
            else:
                self._note("id_changed", f"id {ev.id!r} on the {call.label}; the first stays")
        if ev.index is not None and call.index is None:
            call.index = ev.index
            self._slots[ev.index] = call
        self._fill(call, ev)
        if not call.stopped:
            self.current = call

    def _fill(self, call: Call, ev: NormalizedEvent) -> None:
        call.free = call.free or (ev.kind == FREE and not len(call.buffer))
        self._set_name(call, ev.name, ev.restated)
        if ev.extra:
            call.extra = {**(call.extra or {}), **ev.extra} if ev.restated else {**ev.extra, **(call.extra or {})}
        if ev.input:
            self.restate(call, ev.input)

    def restate(self, call: Call, text: str) -> None:
        """The input of `call` stated in full: kept where it says more than was streamed so far, compared at the seal."""
        if call.sealed:
            if call.invalid is not None:
                return
            if call.sent_as(text):
                call.sent = text  # of the two copies, one that need not be decoded
            elif not values.same(self._read_text(call, text).value, call.input):
                self._contradicted(call, text)
                call.invalid = "contradicted"
        elif call.snapshot is None:
            if not len(call.buffer) or call.buffer.text() != text:
                call.snapshot = text
                self._meter.used += len(text)
        elif text != call.snapshot and not values.same(self._read_text(call, text).value, self._read_text(call, call.snapshot).value):
            self._contradicted(call, text)
            call.ambiguous = True

    def _contradicted(self, call: Call, text: str) -> None:
        self._note("arguments_contradict", f"{call.label} was restated with the input {text[:200]}")

    def _set_name(self, call: Call, name: str | None, restated: bool = False) -> None:
        """Repeated names do not concatenate; pieces join into a registered name only (rule 9)."""
        if not name:
            return
        registry = self._registry
        if call.name is None:
            call.name = name
            self._meter.used += len(name)
            return
        joined = call.name + name
        if (registry is not None and not len(call.buffer) and call.name not in registry
                and (joined in registry or registry.has_prefix(joined))):
            call.name = joined
            self._meter.used += len(name)
            self._note("name_joined", f"pieces of a name joined into {joined!r}")
        elif name == call.name and restated:
            pass
        elif name == call.name:
            self._note("repeated_start", f"{call.label} was named again")
        else:
            self._note("name_changed", f"{call.label} is {call.name!r}; the later name {name!r} was not taken")

    # ------------------------------------------------------------ fragments

    def case_fragment(self, ev: NormalizedEvent) -> int:
        """owned, sealed or late (all of `found`), or orphan."""
        if ev.index is None:
            call = self._by_id.get(ev.id) if ev.id else self.current
            if call is not None and not ev.id and call.stopped and not self.undecided(call):
                call = None  # the current call is over; no address is left
        else:
            call = self._by_id.get(ev.id) if ev.id else None
            if call is None or call.index != ev.index:
                call = self._slots.get(ev.index)
        self.found = call
        if call is None:
            return T.TOOL_INPUT_DELTA_ORPHAN
        if call.open or self.undecided(call):
            return T.TOOL_INPUT_DELTA_OWNED
        # an index is a place, which its stop closes; under an id, the same call is said again
        return T.TOOL_INPUT_DELTA_LATE if call.stopped and ev.index is not None else T.TOOL_INPUT_DELTA_SEALED

    def owners(self) -> list[Call]:
        """The calls that an ownerless fragment can belong to: unfinished or argument-less ones."""
        return [c for c in self.all if not c.ambiguous and ((c.open and not c.complete) or self.undecided(c))]

    def alias(self, index: int | None, call: Call) -> None:
        """Further fragments on that unopened index go where the first one went."""
        if index is not None:
            self._slots[index] = call

    def undecided(self, call: Call) -> bool:
        """Stopped without the arguments that its schema requires: a stray fragment may still reach it (rule 7)."""
        return call.stopped and not call.sealed and not call.open

    def slot(self, index: int) -> Call | None:
        return self._slots.get(index)

    def by_id(self, id_: str) -> Call | None:
        return self._by_id.get(id_)

    # ------------------------------------------------------------ verdicts

    def wants_arguments(self, call: Call) -> bool:
        """Whether an argument-less call is refused by its schema."""
        if call.snapshot is not None or not call.bare:
            return False
        if call.name is None:
            return True
        tool = self._registry.get(call.name) if self._registry is not None else None
        return tool is not None and tool.complaint({}) is not None

    def judge(self, call: Call) -> None:
        """The one parse, the name, the schema: sets input, invalid and raw (R-04, R-46, R-75)."""
        parsed = self._at_once(call) if call.snapshot is None else None
        if parsed is None:
            parsed = self._read(call)
        if parsed.repair:
            self._note("arguments_repeated" if parsed.repair == "repetition" else "arguments_repaired",
                       f"the arguments of {call.label} parsed after a repair: {parsed.repair}")
        call.input = parsed.value
        call.invalid = parsed.fault or self._doubt(call)

    def _read_text(self, call: Call, text: str) -> arguments.Parsed:
        """What the text of a call's arguments says; free text is one string (rule 19)."""
        return arguments.Parsed({"input": text}) if call.free else arguments.parse(text, self._depth)

    def _at_once(self, call: Call) -> arguments.Parsed | None:
        """What needs no text: arguments that came as an object, and large ones, of which there are no more copies than the parser needs."""
        buffer = call.buffer
        if call.free:
            return None
        if buffer.given is not None:
            call.sent = buffer.given
            return arguments.stated(buffer.given, self._depth)
        if len(buffer) < LARGE or buffer.odd:
            return None
        call.sent = buffer.octets()
        return arguments.parse_large(call.sent, self._depth)

    def _read(self, call: Call) -> arguments.Parsed:
        call.sent = streamed = call.buffer.text()
        if call.snapshot is not None and call.snapshot.startswith(streamed if call.free else streamed.strip()):
            call.sent = call.snapshot  # what was streamed is nothing, or a part of it
            return self._read_text(call, call.snapshot)
        if call.free or streamed.strip():
            return self._read_text(call, streamed)
        return arguments.Parsed({})  # nothing was sent

    def _doubt(self, call: Call) -> str | None:
        value = call.input
        assert value is not None
        if call.ambiguous:
            return "ambiguous"
        if call.snapshot is not None and call.raw != call.snapshot:
            restated = self._read_text(call, call.snapshot).value
            if not values.same(restated, value):
                self._contradicted(call, call.snapshot)
                return "contradicted"
        registry = self._registry
        if call.name is None:
            fitting = [] if registry is None else registry.candidates(value)
            if len(fitting) != 1:
                return "no_name" if not fitting else "ambiguous_name"
            call.name = fitting[0]
            self._note("name_inferred", f"{call.label} can only be for {call.name!r}")
            return None
        if registry is None:
            return None
        tool = registry.get(call.name)
        if tool is None:
            return "unknown_tool"
        complaint = tool.complaint(value)
        if complaint is not None:
            self._note("invalid_call", f"{call.label}: {complaint}")
        return None if complaint is None else "schema"

    def settle_late(self, call: Call) -> None:
        """Compare what came after the seal: a repeat is harmless, anything else makes the call invalid."""
        assert call.late is not None
        whole = call.raw + call.late.text()
        parsed = self._read_text(call, whole)
        if parsed.value is not None and values.same(parsed.value, call.input):
            self._note("arguments_repeated", f"{call.label} was sent its arguments again")
        else:
            call.sent = whole
            call.invalid = parsed.fault or "ambiguous"

    def settle_twin(self, twin: Call) -> bool:
        """Whether a call under a known id turned out to be another one; it has a fresh id then (rule 4)."""
        first = twin.twin_of
        assert first is not None
        text = (twin.buffer.text() if twin.free else twin.buffer.text().strip()) or twin.snapshot or ""
        if not text if twin.free else values.says_nothing(text):
            return self._drop(twin, "brought no input")
        if not first.sealed and first.bare and first.snapshot is None:
            first.buffer.append(text)
            return self._drop(twin, "brought the input of the first")
        if first.inputs is None:
            first.inputs = {_identity(first.input, first.raw)}
        identity = _identity(self._read_text(twin, text).value, text)
        if identity in first.inputs:
            return self._drop(twin, "brought the same input")
        first.inputs.add(identity)
        twin.id, twin.made_up = self.new_id(), True
        self._by_id[twin.id] = twin
        self._note("id_reused", f"the id of {first.label} stood for another input on index {twin.index}; that is {twin.label} now, with a fresh id")
        return True

    def _drop(self, twin: Call, why: str) -> bool:
        twin.left_out = True
        twin.open = False
        twin.sealed = True
        first = twin.twin_of
        assert first is not None
        self._note("twin_dropped", f"{first.label} was said again on index {twin.index} and {why}")
        return False

    def kept(self) -> list[Call]:
        """The calls of the message."""
        return [c for c in self.all if not c.left_out]

    def new_id(self) -> str:
        """A random id that no call has (R-44)."""
        while True:
            made = f"call_{os.urandom(12).hex()}"
            if made not in self._by_id:
                return made


def _identity(value: dict[str, Any] | None, text: str) -> str:
    """Equal for equal inputs: the object whatever the order of its keys, else the text."""
    return text.strip() if value is None else values.identity(value)
