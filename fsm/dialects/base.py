"""What every dialect is: wire JSON in, normalized events out. It accumulates nothing."""

from __future__ import annotations

from typing import Any

from fsm.dialects.failures import error_event, failure
from fsm.sink import Sink
from fsm.model.surrogates import mend


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

    def fail(self, error: Any, fallback: str = "error") -> None:
        """Emit an error in its own words; `fallback` is its type where it names none."""
        self.flush()
        self.sink.handle(error_event(error, fallback))

    def strange(self, payload: dict[str, Any], event: str | None) -> bool | None:
        """What `decode` says of an object that has nothing of this dialect: an error if it speaks of a failure (rule 20)."""
        error = failure(payload, event)
        if error is None:
            return None
        self.fail(error)
        return True


def words(value: Any) -> str | None:
    """Content that says something; half a surrogate pair may wait in it for the other half."""
    return value if isinstance(value, str) and value else None


#: where an object has the text that it stands for, the first that is there (rule 22)
_TEXT_KEYS = ("text", "content", "value", "thinking", "reasoning", "reasoning_content", "summary", "parts")
_SHAPES_DEEP = 5  # objects and lists in one another that are looked through for a text


def wording(value: Any) -> str | None:
    """Content in whatever shape it comes: a string, an object, or a list of parts (rule 22). None if it says nothing."""
    if isinstance(value, str):
        return value or None
    return "".join([said for said, _signature in pieces(value) if said]) or None if value else None


def pieces(value: Any, depth: int = 0) -> list[tuple[str | None, str | None]]:
    """(text, signature) of each piece of such content."""
    if isinstance(value, str):
        return [(value, None)] if value else []
    if depth >= _SHAPES_DEEP:
        return []
    if isinstance(value, list):
        return [piece for item in value for piece in pieces(item, depth + 1)]
    if not isinstance(value, dict):
        return []
    found = next((said for key in _TEXT_KEYS if (said := pieces(value.get(key), depth + 1))), [])
    signature = text(value.get("signature"))
    return [*found, (None, signature)] if signature else found


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
