"""A body that is one JSON array of events, delivered in pieces: `[{…}\\n,\\n{…}\\n]` (Gemini without `alt=sse`).

An element is an event as soon as its last bracket has arrived. Only brackets and quotes are looked at, each byte once,
however the body is cut; what is kept is the element in hand, up to `max_bytes`. What stands between two elements and
is no comma is an event of its own (the reader says what is wrong with it). Behind the array the body is read as
any other is.

One source for both engines.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from fsm.framing.sse import Frame

_MARK = re.compile(rb'["\[\]{}]')
_STRING_END = re.compile(rb'["\\]')
_ELEMENT = re.compile(rb"[^\s,]")
_SCALAR_END = re.compile(rb"[,\[\]{}]")
_OPENERS = frozenset(b"[{")
_QUOTE, _BACKSLASH, _CLOSE = b'"\\]'

#: a beginning that decides: an array of objects
BEGINS = re.compile(rb"\[\s*\{")
MAY_BEGIN = re.compile(rb"\[\s*\Z")


class ArrayParser:
    """The framing of such a body; the interface is that of `fsm.framing.sse.SSEParser`. `make` makes what reads the rest."""

    __slots__ = ("_base", "_buf", "_depth", "_make", "_max", "_opened", "_overflowed", "_pos", "_rest", "_shift", "_start", "_string", "appended", "events")

    def __init__(self, max_bytes: int, make: Callable[[int], Any]) -> None:
        self._max = max_bytes
        self._make = make
        self.events = 0
        self.appended = 0
        self._buf = bytearray()
        self._base = 0  # stream offset of _buf[0]
        self._pos = 0  # what is before was looked at
        self._start = -1  # where the element in hand begins, -1 between elements
        self._depth = 0  # of brackets within the element; 0 for one that is no object or array
        self._string = False
        self._opened = False  # the array's own bracket was seen
        self._overflowed = False
        self._rest: Any = None  # the framing of what is behind the array
        self._shift = 0  # the stream offset at which that begins

    def interrupted(self) -> None:
        """As in SSEParser."""

    def receive(self, data: bytes | bytearray | memoryview) -> Iterator[Frame]:
        """Take the next bytes; iterate to get the events that they complete."""
        if self._rest is not None:
            yield from self._behind(self._rest.receive(data))
            return
        if self._overflowed:
            return
        self._buf += data
        while (frame := self._next()) is not None:
            self.events += 1
            yield frame
        if self._rest is not None:
            rest, self._buf = bytes(self._buf[self._pos:]), bytearray()
            yield from self._behind(self._rest.receive(rest))
            return
        done = self._start if self._start >= 0 else self._pos
        del self._buf[:done]
        self._base += done
        self._pos -= done
        if self._start >= 0:
            self._start = 0

    def end(self) -> Iterator[Frame]:
        """The input is over: what is pending still."""
        if self._rest is not None:
            yield from self._behind(self._rest.end())
        elif self._start >= 0 and not self._overflowed:
            self.events += 1
            yield None, bytes(self._buf[self._start:]), self._base + self._start, True
            self._start = -1

    def _behind(self, frames: Iterator[Frame]) -> Iterator[Frame]:
        for name, data, offset, cut in frames:
            self.events += 1
            yield name, data, offset + self._shift, cut

    def _next(self) -> Frame | None:
        buf = self._buf
        while not self._overflowed:
            if self._start < 0:
                match = _ELEMENT.search(buf, self._pos)
                if match is None:
                    self._pos = len(buf)
                    return None
                at = match.start()
                first = buf[at]
                self._pos = at + 1
                if not self._opened:
                    self._opened = first == 0x5B  # before it there may be a byte order mark
                elif first == _CLOSE:
                    self._rest = self._make(self._max)
                    self._shift = self._base + self._pos
                    return None
                else:
                    self._start = at
                    self._depth = 1 if first in _OPENERS else 0
                    self._string = False
                continue
            if not self._look_on(buf):
                if len(buf) - self._start > self._max:
                    return self._overflow()
                return None
            start, self._start = self._start, -1
            if self._pos - start > self._max:
                self._start = start
                return self._overflow()
            return None, bytes(buf[start:self._pos]), self._base + start, False
        return None

    def _look_on(self, buf: bytearray) -> bool:
        """Go on through the element in hand; whether its end was found (then it is before `_pos`)."""
        if not self._depth:
            match = _SCALAR_END.search(buf, self._pos)
            self._pos = len(buf) if match is None else match.start()
            return match is not None
        at, depth, string = self._pos, self._depth, self._string
        while True:
            match = (_STRING_END if string else _MARK).search(buf, at)
            if match is None:
                at = max(at, len(buf))
                break
            at = match.end()
            byte = buf[at - 1]
            if byte == _BACKSLASH:
                at += 1  # it may be the next piece's first byte
            elif byte == _QUOTE:
                string = not string
            elif byte in _OPENERS:
                depth += 1
            else:
                depth -= 1
                if not depth:
                    self._pos = at
                    return True
        self._pos, self._depth, self._string = at, depth, string
        return False

    def _overflow(self) -> Frame:
        """Report the element in hand once; nothing is parsed after it."""
        self._overflowed = True
        self._buf = bytearray()
        return None, None, self._base + self._start, False
