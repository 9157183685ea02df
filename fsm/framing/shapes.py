"""Bodies that are no lines: which framing the first bytes ask for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fsm.framing import event_stream
from fsm.framing.json_array import BEGINS, MAY_BEGIN, ArrayParser
from fsm.framing.sse import BOM

#: (max_bytes, what makes the usual framing) -> a framing
Shape = Callable[[int, Callable[[int], Any]], Any]

SHAPES: dict[str | None, Shape] = {"array": ArrayParser, "eventstream": event_stream.EventStreamParser}
UNDECIDED = "undecided"


def shape_of(head: bytes) -> str | None:
    """The key in SHAPES that a body with this beginning needs, UNDECIDED while it may still need one, else None."""
    if head[:1] == b"\0":  # the first byte of a length
        if len(head) < event_stream.PRELUDE:
            return UNDECIDED
        return "eventstream" if event_stream.begins(head) else None
    if len(head) < len(BOM) and BOM.startswith(head):
        return UNDECIDED
    begin = head.removeprefix(BOM).lstrip()
    if begin[:1] == b"[":
        return "array" if BEGINS.match(begin) else UNDECIDED if MAY_BEGIN.match(begin) else None
    return None
