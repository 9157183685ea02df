"""What every dialect is: wire JSON in, normalized events out. It accumulates nothing."""

from __future__ import annotations

from typing import Any, Protocol

from fsm import _tables as T
from fsm.events import NormalizedEvent
from fsm.values import ValueText, mend


class Sink(Protocol):
    """Where a dialect's events go (the accumulator)."""

    def handle(self, ev: NormalizedEvent) -> None:
        """Take any normalized event."""

    def delta(self, event: int, index: int | None, text: str | ValueText) -> None:
        """Take TEXT_DELTA, THINKING_DELTA or TOOL_INPUT_DELTA with this text, which is not empty: the hot path."""


class Dialect:
    """One vendor's wire. `sink` takes each normalized event at once; `choice` selects one of several answers.

    A dialect may remember what it needs to read the next event (that metadata is still missing, half a tag), never
    content.
    """

    name = ""

    __slots__ = ("choice", "sink")

    def __init__(self, sink: Sink, choice: int = 0) -> None:
        self.sink = sink
        self.choice = choice

    @property
    def direct(self) -> bool:
        """Whether content of the wire is a text delta of the alphabet now, so that the compiled engine may take it."""
        return True

    @property
    def holds(self) -> bool:
        """Whether content is held back that any other event would let go first."""
        return False

    def decode(self, payload: dict[str, Any], event: str | None, raw: bytes) -> bool | None:
        """Emit what `payload` says: True if it says something, False for a keepalive, None for an unknown type.

        `event` is its SSE name, `raw` its bytes.
        """
        raise NotImplementedError

    def address(self, event: int, index: int | None) -> int | None:
        """The index of the alphabet for a delta at `index` of the wire."""
        return index

    def word(self, data: bytes) -> bool:
        """Take data that is no JSON; False if it means nothing here."""
        return False

    def flush(self) -> None:
        """The stream ends or breaks here: emit what was held back."""


def words(value: Any) -> str | None:
    """Content that says something; half a surrogate pair may wait in it for the other half."""
    return value if isinstance(value, str) and value else None


def text(value: Any) -> str | None:
    """A wire string that says something: null, absent and empty are the same (R-49). It can be written as UTF-8."""
    if not isinstance(value, str) or not value:
        return None
    said = value  # which is known to be a string (base.pxd)
    return said if said.isascii() else mend(said)


def number(value: Any) -> int | None:
    """A wire index. Numbers in strings and whole floats are indexes too."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return int(value) if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10 else None


def report(usage: Any) -> dict[str, Any] | None:
    """A usage object that counts something; one without any number says nothing."""
    if isinstance(usage, dict):
        for value in usage.values():
            if type(value) is int or type(value) is float:
                return usage
    return None


def error_event(error: Any, fallback: str) -> NormalizedEvent:
    """An ERROR from any of the shapes an error object has: an object, a string, a nested `error`, an HTTP status."""
    if isinstance(error, dict) and isinstance(error.get("error"), dict):
        error = error["error"]
    if not isinstance(error, dict):
        return NormalizedEvent(T.ERROR, kind=fallback, message=text(str(error)) if error else fallback)
    codes = [error.get(key) for key in ("type", "code", "status", "status_code")]
    names = [mend(str(c)) for c in codes if isinstance(c, (str, int)) and not isinstance(c, bool) and str(c)]
    nested = error.get("metadata")
    if isinstance(nested, dict) and text(nested.get("error_type")):
        names.append(mend(nested["error_type"]))
    message = next((m for m in map(text, (error.get("message"), error.get("detail"), error.get("msg"))) if m), None)
    return NormalizedEvent(T.ERROR, kind=names[0] if names else fallback, code=names[1] if len(names) > 1 else None,
                           message=message or (names[0] if names else fallback))
