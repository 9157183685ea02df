"""Block buffers, the Python twin of `_speedups/buffer.pxi`.

A `Buffer` holds the UTF-8 bytes of one block while it is open. Halves of surrogate pairs, which JSON escapes can
smuggle in, are kept as three bytes each, so that a pair whose halves come in two deltas is joined when the text is
read; a half without a partner becomes U+FFFD. All buffers of a stream share one `Meter`.

What came in one large piece, or as a value, stays what it was until more comes or the bytes are asked for.
"""

from __future__ import annotations

from fsm.values.cursor import ObjectCursor
from fsm.parts import Meter
from fsm.model.surrogates import mend
from fsm.values.values import ValueText

_SHARED = 4096  # from it on an ASCII text that begins a block is not copied


class Buffer:
    """Text under construction. `len()` is in UTF-8 bytes; nothing is copied until it is read."""

    __slots__ = ("_cursor", "_data", "_later", "_meter", "_shown", "odd")

    def __init__(self, meter: Meter) -> None:
        self._cursor: ObjectCursor | None = None
        self._data = bytearray()
        self._later: str | bytes | ValueText | None = None  # what there is instead of bytes (a text: ASCII); a value also beside them
        self._meter = meter
        self._shown = 0  # how far `unseen` has read
        self.odd = False  # whether a surrogate half is among the bytes

    def __len__(self) -> int:
        later = self._later
        if later is None or self._data:
            return len(self._data)
        return len(later) if isinstance(later, (str, bytes)) else later.size

    @property
    def given(self) -> ValueText | None:
        """All that there is, if it came as a value."""
        return None if isinstance(self._later, (str, bytes)) else self._later

    def append(self, text: str | ValueText) -> None:
        """Add `text`, which may hold surrogate halves, or a value's text."""
        if type(text) is not str or len(text) >= _SHARED or self._later is not None:
            if not len(self) and not (isinstance(text, str) and (len(text) < _SHARED or not text.isascii())):
                self._later = text
                self._meter.used += len(self)
                return
            self._write()
            self._later = None
            text = str(text)
        try:
            data = text.encode()
        except UnicodeEncodeError:
            data = text.encode("utf-8", "surrogatepass")
            self.odd = True
        self._data += data
        self._meter.used += len(data)

    def _write(self) -> None:
        """Let all that there is be bytes."""
        later = self._later
        if later is not None and not self._data:
            data = bytearray(later if isinstance(later, bytes) else str(later).encode())
            self._meter.used += len(data) - len(self)
            self._data = data
            if isinstance(later, (str, bytes)):
                self._later = None

    def tail(self, start: int, end: int | None = None) -> bytes:
        """The bytes from `start` on, or up to `end`."""
        self._write()
        return bytes(memoryview(self._data)[start:end])

    def octets(self) -> bytes:
        """All the bytes, which are kept as what is given out here."""
        if not isinstance(self._later, bytes):
            self._write()
            self._later, self._data = bytes(self._data), bytearray()
        return self._later

    def follow(self) -> ObjectCursor:
        """The cursor over the object that the text is, at the end of what is there."""
        if self._cursor is None:
            self._cursor = ObjectCursor()
        if self._cursor.at < len(self):
            self._cursor.follow(self.tail(self._cursor.at))
        return self._cursor

    def text(self) -> str:
        """Everything so far."""
        if isinstance(self._later, str):
            return self._later
        self._write()
        return self._decode(self._data)

    def unseen(self, final: bool = False) -> str:
        """What was added since the last call; unless `final`, half of a pair waits for its partner."""
        if isinstance(self._later, str):
            text, self._shown = self._later[self._shown:], len(self._later)
            return text
        self._write()
        data = self._data[self._shown:]
        if self.odd and not final and data[-3:-2] == b"\xed" and 0xA0 <= data[-2] < 0xB0:
            del data[-3:]
        self._shown += len(data)
        return self._decode(data) if data else ""

    def take(self) -> str:
        """Everything, for the last time: the bytes are given back."""
        text = self.text()
        self.drop()
        return text

    def drop(self) -> None:
        """Give the bytes back (the meter keeps counting them)."""
        self._data = bytearray()
        self._later = self._cursor = None
        self._shown = 0

    def _decode(self, data: bytearray) -> str:
        return mend(data.decode("utf-8", "surrogatepass")) if self.odd else data.decode()
