"""Arguments that are still coming: which fields are whole, and whether the object is closed.

The cursor follows the bytes of one JSON object as they arrive, each byte once (R-72, R-74). What it finds is for
display: that an object is closed is no end of the call (R-64), it only tells whether a next start may seal it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_DEEP = re.compile(rb'["\[\]{}]')
_FIELDS = re.compile(rb'["\[\]{}:,]')
_INSIDE = re.compile(rb'["\\]')


class Span(NamedTuple):
    """Where a whole field of the object stands: its key (with quotes) and its value, in bytes from the beginning."""

    key: int
    key_end: int
    value: int
    value_end: int


class ObjectCursor:
    """Follows one JSON object in pieces. `spans` gains a Span for each top-level field that became whole."""

    __slots__ = ("_depth", "_escape", "_key", "_key_end", "_string", "_value", "at", "broken", "closed", "spans")

    def __init__(self) -> None:
        self.at = 0  # bytes followed so far
        self.closed = False  # the value that began with a brace has ended
        self.broken = False  # it begins as no object, or something follows it
        self.spans: list[Span] = []
        self._depth = 0
        self._string = False
        self._escape = False
        self._key = self._key_end = -1
        self._value = -1  # where the value of the field in hand begins, -1 before its colon

    def follow(self, piece: bytes) -> None:
        """Take the next bytes."""
        base = self.at
        self.at += len(piece)
        if self.broken:
            return
        at, end = 0, len(piece)
        while at < end:
            if self._escape:
                self._escape = False
                at += 1
            elif self._string:
                match = _INSIDE.search(piece, at)
                if match is None:
                    return
                at = match.end()
                self._escape = piece[at - 1] == 0x5C
                self._string = self._escape
                if not self._string and self._depth == 1 and self._value < 0:
                    self._key_end = base + at
            elif self.closed or not self._depth:
                char = piece[at]
                at += 1
                if char in b" \t\r\n":
                    continue
                if self.closed or char != 0x7B:
                    self.broken = True
                    self.closed = False
                    return
                self._depth = 1
            else:
                match = (_FIELDS if self._depth == 1 else _DEEP).search(piece, at)
                if match is None:
                    return
                at = match.end()
                self._structure(piece[at - 1], base + at)

    def _structure(self, char: int, behind: int) -> None:
        """A quote, bracket, colon or comma outside strings; `behind` is the position behind it."""
        if char == 0x22:
            self._string = True
            if self._depth == 1 and self._value < 0:
                self._key = behind - 1
        elif char == 0x3A:
            self._value = behind
        elif char == 0x2C:
            self._end_field(behind - 1)
        elif char in b"{[":
            self._depth += 1
        else:
            self._depth -= 1
            if not self._depth:
                self._end_field(behind - 1)
                self.closed = True

    def _end_field(self, end: int) -> None:
        if self._value >= 0:
            self.spans.append(Span(self._key, self._key_end, self._value, end))
        self._value = -1
