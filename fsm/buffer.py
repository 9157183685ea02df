"""Block buffers, the Python twin of `_speedups/buffer.pxi`.

A `Buffer` holds the UTF-8 bytes of one block while it is open. Halves of surrogate pairs, which JSON escapes can
smuggle in, are kept as three bytes each, so that a pair whose halves come in two deltas is joined when the text is
read; a half without a partner becomes U+FFFD. All buffers of a stream share one `Meter`.
"""

from __future__ import annotations

from fsm.partial import ObjectCursor
from fsm.parts import Meter


def mend(text: str) -> str:
    """`text` with split surrogate pairs joined and lone halves replaced by U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text  # the usual case, at a fraction of the cost


class Buffer:
    """Text under construction. `len()` is in UTF-8 bytes; nothing is copied until it is read."""

    __slots__ = ("_cursor", "_data", "_meter", "_shown", "odd")

    def __init__(self, meter: Meter) -> None:
        self._cursor: ObjectCursor | None = None
        self._data = bytearray()
        self._meter = meter
        self._shown = 0  # how far `unseen` has read
        self.odd = False  # whether a surrogate half is among the bytes

    def __len__(self) -> int:
        return len(self._data)

    def append(self, text: str) -> None:
        """Add `text`, which may hold surrogate halves."""
        try:
            data = text.encode()
        except UnicodeEncodeError:
            data = text.encode("utf-8", "surrogatepass")
            self.odd = True
        self._data += data
        self._meter.used += len(data)

    def tail(self, start: int, end: int | None = None) -> bytes:
        """The bytes from `start` on, or up to `end`."""
        return bytes(self._data[start:end])

    def follow(self) -> ObjectCursor:
        """The cursor over the object that the text is, at the end of what is there."""
        if self._cursor is None:
            self._cursor = ObjectCursor()
        if self._cursor.at < len(self._data):
            self._cursor.follow(self.tail(self._cursor.at))
        return self._cursor

    def text(self) -> str:
        """Everything so far."""
        return self._decode(self._data)

    def unseen(self, final: bool = False) -> str:
        """What was added since the last call; unless `final`, half of a pair waits for its partner."""
        data = self._data[self._shown:]
        if self.odd and not final and data[-3:-2] == b"\xed" and 0xA0 <= data[-2] < 0xB0:
            del data[-3:]
        self._shown += len(data)
        return self._decode(data) if data else ""

    def take(self) -> str:
        """Everything, for the last time: the bytes are given back."""
        text = self._decode(self._data)
        self.drop()
        return text

    def drop(self) -> None:
        """Give the bytes back (the meter keeps counting them)."""
        self._data = bytearray()
        self._cursor = None
        self._shown = 0

    def _decode(self, data: bytearray) -> str:
        return mend(data.decode("utf-8", "surrogatepass")) if self.odd else data.decode()
