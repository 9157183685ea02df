"""AWS event-stream framing (`application/vnd.amazon.eventstream`), which Bedrock streams in.

A message is length, checksum, headers, payload, checksum. This file cuts messages out of the bytes, each once however
they arrive; reading one is botocore's work (an extra: `pip install "deltafsm[bedrock]"`). A payload becomes an event
under its `:event-type`; an exception, a broken checksum or a missing botocore becomes an `error` event, after which
nothing is parsed.

One source for both engines.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterator
from typing import Any

from fsm.framing.sse import Frame

PRELUDE = 12  # length of the message, length of its headers, their checksum
_SMALLEST = 16  # a message without headers and payload


def begins(head: bytes) -> bool:
    """Whether a body that begins with these (at least PRELUDE) bytes is an AWS event stream."""
    return zlib.crc32(head[:8]) == int.from_bytes(head[8:PRELUDE])


class EventStreamParser:
    """The framing of such a body; the interface is that of `fsm.framing.sse.SSEParser`."""

    __slots__ = ("_base", "_buf", "_dead", "_max", "_read", "appended", "events")

    def __init__(self, max_bytes: int, make: Callable[[int], Any]) -> None:
        self._max = max_bytes
        self._buf = bytearray()
        self._base = 0  # stream offset of _buf[0]
        self._dead = False
        self._read: Callable[[bytes], Any] | None = None
        self.events = 0
        self.appended = 0

    def interrupted(self) -> None:
        """As in SSEParser."""

    def receive(self, data: bytes | bytearray | memoryview) -> Iterator[Frame]:
        """Take the next bytes; iterate to get the events that they complete."""
        if self._dead:
            return
        self._buf += data
        while (frame := self._next()) is not None:
            if frame[1] != b"":
                self.events += 1
                yield frame

    def end(self) -> Iterator[Frame]:
        """The input is over: a message that is not whole is no event, but it is told of."""
        if self._buf and not self._dead:
            self.events += 1
            yield None, bytes(self._buf), self._base, True

    def _next(self) -> Frame | None:
        """The event of the next message (its data is empty where it has none), or None."""
        buf = self._buf
        if len(buf) < PRELUDE or self._dead:
            return None
        size = int.from_bytes(buf[:4])
        if not begins(bytes(buf[:PRELUDE])):
            return self._fail("checksum_mismatch", "the checksum of a message's lengths is wrong: bytes were lost or changed on the way")
        if size < _SMALLEST:
            return self._fail("bad_event_stream", f"a message says that it has {size} bytes, and none has less than {_SMALLEST}")
        if size > self._max:
            self._dead = True
            return None, None, self._base, False
        if len(buf) < size:
            return None
        message = bytes(buf[:size])
        frame = self._frame(message)
        del buf[:size]
        self._base += size
        return frame

    def _frame(self, message: bytes) -> Frame:
        if self._read is None:
            try:
                self._read = _reader()
            except ImportError:
                return self._fail("missing_dependency", 'the body is an AWS event stream, and reading one needs botocore: pip install "deltafsm[bedrock]"')
        try:
            headers, payload = self._read(message)
        except Exception as e:  # botocore raises its own and several plain ones; all mean a broken message
            kind = "checksum_mismatch" if "hecksum" in type(e).__name__ else "bad_event_stream"
            return self._fail(kind, f"a message of the event stream cannot be read: {e}")
        kind = headers.get(":message-type")
        if kind == "exception":
            return self._error({"type": headers.get(":exception-type"), **_object(payload)})
        if kind == "error":
            return self._error({"type": headers.get(":error-code"), "message": headers.get(":error-message")})
        name = headers.get(":event-type")
        return name if isinstance(name, str) and name != "chunk" else None, payload if payload.strip() else b"", self._base, False

    def _error(self, error: dict[str, Any]) -> Frame:
        return "error", json.dumps({"error": error}).encode(), self._base, False

    def _fail(self, kind: str, message: str) -> Frame:
        self._dead = True
        return self._error({"type": kind, "message": message})


def _object(payload: bytes) -> dict[str, Any]:
    try:
        value = json.loads(payload)
    except (ValueError, RecursionError):
        value = payload.decode("utf-8", "replace")
    return value if isinstance(value, dict) else {"message": value}


def _reader() -> Callable[[bytes], Any]:
    from botocore.eventstream import EventStreamBuffer

    def read(message: bytes) -> Any:
        buffer = EventStreamBuffer()  # one per message: it copies what it has left after each
        buffer.add_data(message)
        event = next(buffer)
        return event.headers, event.payload

    return read
