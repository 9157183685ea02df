"""The two vocabularies.

`NormalizedEvent` is the alphabet between a dialect and the machine (`spec/stream.yaml`, DESIGN section 4): what
every vendor's wire says, in one set of words. A harness with a wire layer of its own pushes these by hand.

The other classes are what the reconstructor tells its caller. They are small, slotted and `match`-able.
`index` in them is the number of the block in the order of opening, from 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fsm.model.signature import Signed
from fsm import _tables as T
from fsm.model.deltas import Event, TextDelta, ThinkingDelta, ToolInputDelta
from fsm.model.deltas import Event as Base
from fsm.model.errors import MisuseError, did_you_mean
from fsm.model.usage import Paths, reported
from fsm.model.surrogates import mend

if TYPE_CHECKING:
    from fsm.model.errors import ErrorInfo
    from fsm.model.message import Message, Partial
    from fsm.model.usage import Usage

__all__ = ("BlockFinished", "BlockStarted", "Event", "FieldReady", "MessageFinished", "NormalizedEvent", "StreamFailed", "TextDelta", "ThinkingDelta",
           "ToolInputDelta", "ToolInvalid", "ToolReady", "UsageUpdated")

_IDS = {name.lower(): i for i, name in enumerate(T.EVENTS)}
#: fields in which half a surrogate pair may wait for the other half
_CONTENT = frozenset({"text", "fragment"})
_FIELDS = {i: frozenset(T.FIELDS[name]) for i, name in enumerate(T.EVENTS)}
_EVENTS = len(T.EVENTS)


def _id_of(word: Any) -> int:
    """The number of an event by its name. Raises MisuseError."""
    found = _IDS.get(word) if isinstance(word, str) else None
    if found is None:
        raise MisuseError(f"no normalized event is called {word!r}{did_you_mean(word, _IDS)}; the words are {', '.join(sorted(_IDS))}")
    return found


class NormalizedEvent:
    """One word of the normalized alphabet: `NormalizedEvent("text_delta", text="Hi")`. Every field but `type` may be missing (None).

    type: its name in the alphabet in lower case, or its number in `fsm._tables`; kept as the number.

    index, id, name: the address of a block or call on the wire, and a call's tool.
    text, fragment, signature: content (a dialect may give a fragment as a `ValueText`). reason: a stop reason, or why a stream was cut.
    usage: the vendor's usage object. code, message, kind: of an error; `kind` is also a block's type.
    block: vendor fields. input: a full restatement of the input in a start event (JSON text).
    extra: vendor fields of a call, kept beside id, name and input.
    restated: the event states again, in full, what was said before, as its protocol does: no anomaly.
    joins: of a restatement: the indexes under which the block may have come in pieces, to be joined if they add up to it (rule 23).
    sibling: the event stands beside another of its kind in one wire delta (rule 6).
    content: a full restatement of the message, blocks in canonical form.

    Raises MisuseError for a type that is not of the alphabet.
    """

    __signature__ = Signed()

    __slots__ = ("block", "code", "content", "extra", "fragment", "id", "index", "input", "joins", "kind", "message", "model", "name", "reason",
                 "restated", "sibling", "signature", "text", "type", "usage")

    def __init__(self, type: int | str, index: int | None = None, text: str | None = None, *, id: str | None = None, name: str | None = None,
                 fragment: Any = None, signature: str | None = None, usage: dict[str, Any] | None = None, reason: str | None = None,
                 code: str | None = None, message: str | None = None, model: str | None = None, kind: str | None = None,
                 block: dict[str, Any] | None = None, input: str | None = None, extra: dict[str, Any] | None = None, sibling: bool = False,
                 restated: bool = False, content: list[dict[str, Any]] | None = None, joins: list[int] | None = None) -> None:
        # one is made per lifecycle event: plain slots, set one by one, are the fastest that there is
        self.type = type if isinstance(type, int) and 0 <= type < _EVENTS else _id_of(type)
        self.index = index
        self.text = text
        self.id = id
        self.name = name
        self.fragment = fragment
        self.signature = signature
        self.usage = usage
        self.reason = reason
        self.code = code
        self.message = message
        self.model = model
        self.kind = kind
        self.block = block
        self.input = input
        self.extra = extra
        self.sibling = sibling
        self.restated = restated
        self.content = content
        self.joins = joins

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> NormalizedEvent:
        """The event that the canonical JSON form `{"type": "text_delta", …}` says.

        Unknown fields are left out, fields of the wrong type too (a peer may send anything).
        Raises MisuseError for an unknown type.
        """
        type_ = _id_of(data.get("type"))
        event = cls(type_)
        for key in _FIELDS[type_]:
            value = data.get(key)
            if value is not None and isinstance(value, _TYPES[key]) and not (key == "index" and isinstance(value, bool)):
                setattr(event, key, value)
        return event.normalized()

    def checked(self) -> NormalizedEvent:
        """The event, which somebody made by hand. Raises MisuseError for a field of a wrong type."""
        for key, kind in _TYPES.items():
            value = getattr(self, key)
            if value is not None and (not isinstance(value, kind) or (key == "index" and isinstance(value, bool))):
                raise MisuseError(f"{key} of {T.EVENTS[self.type].lower()} is a {kind.__name__}, not {value!r}")
        return self

    def normalized(self) -> NormalizedEvent:
        """The event as the accumulator wants it: empty strings are absent (R-49), names can be written as UTF-8."""
        for key in self.__slots__:
            value = getattr(self, key)
            if isinstance(value, str):
                if not value:
                    setattr(self, key, None)
                elif key not in _CONTENT and not value.isascii():
                    setattr(self, key, mend(value))
        return self

    def __repr__(self) -> str:
        given = [(key, getattr(self, key)) for key in _SHOWN]
        rest = ", ".join(f"{key}={value!r}" for key, value in given if value is not None and value is not False)
        return f"{T.EVENTS[self.type]}({rest})"


#: the fields in the order in which `repr` shows them
_SHOWN = ("index", "text", *sorted(set(NormalizedEvent.__slots__) - {"type", "index", "text"}))

_TYPES: dict[str, Any] = {
    "index": int, "text": str, "id": str, "name": str, "fragment": str, "signature": str, "usage": dict, "reason": str,
    "code": str, "message": str, "model": str, "kind": str, "block": dict, "input": str, "extra": dict, "sibling": bool,
    "restated": bool, "content": list, "joins": list,
}


class BlockStarted(Base):
    """A block was opened: `kind` as in the message; `id` and `name` for calls, as far as known."""

    __slots__ = ("id", "index", "kind", "name")
    __match_args__ = ("index", "kind", "id", "name")

    def __init__(self, index: int, kind: str, id: str | None = None, name: str | None = None) -> None:
        self.index = index
        self.kind = kind
        self.id = id
        self.name = name


class FieldReady(Base):
    """A top-level field of a call's arguments is complete (R-74): for display, the call itself still waits (R-76)."""

    __slots__ = ("index", "name", "value")
    __match_args__ = ("index", "name", "value")

    def __init__(self, index: int, name: str, value: Any) -> None:
        self.index = index
        self.name = name
        self.value = value


class BlockFinished(Base):
    """A block was archived; `block` is its canonical form (R-94: every block once, complete and in order)."""

    __slots__ = ("block", "index")
    __match_args__ = ("index", "block")

    def __init__(self, index: int, block: dict[str, Any]) -> None:
        self.index = index
        self.block = block


class ToolReady(Base):
    """A call is whole, valid, and ended by its own bounds (R-67): a read-only tool may start now (R-53, R-55)."""

    __slots__ = ("id", "index", "input", "name")
    __match_args__ = ("index", "id", "name", "input")

    def __init__(self, index: int, id: str, name: str, input: dict[str, Any]) -> None:
        self.index = index
        self.id = id
        self.name = name
        self.input = input


class ToolInvalid(Base):
    """A call must not be executed; `reason` is its `invalid` mark (R-47, R-65)."""

    __slots__ = ("id", "index", "name", "raw_input", "reason")
    __match_args__ = ("index", "id", "name", "reason", "raw_input")

    def __init__(self, index: int, id: str, name: str | None, reason: str, raw_input: str) -> None:
        self.index = index
        self.id = id
        self.name = name
        self.reason = reason
        self.raw_input = raw_input


class UsageUpdated(Base):
    """The token counts of this message so far."""

    __slots__ = ("_report", "_table", "_usage")
    __match_args__ = ("usage",)

    def __init__(self, usage: Usage) -> None:
        self._usage = usage
        self._report: bytes | None = None
        self._table: Paths = ()

    @property
    def usage(self) -> Usage:
        """The counts, a copy. Some upstreams report in every event, so a report is read when somebody asks."""
        if self._report is not None:
            self._usage, self._report = reported(self._usage, self._report, self._table), None
        return self._usage


def usage_updated(before: Usage, report: bytes, table: Paths) -> UsageUpdated:
    """The event for a report (JSON) that comes on top of the counts `before`, which nobody changes."""
    event = UsageUpdated.__new__(UsageUpdated)
    event._usage = before
    event._report = report
    event._table = table
    return event


class MessageFinished(Base):
    """The message is whole: side effects may be confirmed now (R-56)."""

    __slots__ = ("message",)
    __match_args__ = ("message",)

    def __init__(self, message: Message) -> None:
        self.message = message


class StreamFailed(Base):
    """The stream ended without a whole message; `partial` is invalid (R-85)."""

    __slots__ = ("error", "partial", "state")
    __match_args__ = ("state", "error", "partial")

    def __init__(self, state: str, error: ErrorInfo, partial: Partial) -> None:
        self.state = state
        self.error = error
        self.partial = partial
