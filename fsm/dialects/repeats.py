"""The last numbered events of a stream, for upstreams that send one twice (R-39, rule 16).

An event is a duplicate only if the wire's own chunk number and its payload, byte for byte, are those of an event just
seen. Text alone is never compared, and a number that does not count (0, or none) makes nothing a duplicate.
"""

from __future__ import annotations

KEPT = 4  # events that are remembered
LONGEST = 16384  # bytes of a payload that is remembered; a longer one is a restatement, which does no harm twice


class Recent:
    """What came last. `top` is the highest number so far."""

    __slots__ = ("_seen", "top")

    def __init__(self) -> None:
        self.top = 0
        self._seen: list[bytes] = []

    def again(self, number: int, data: bytes) -> bool:
        """Whether this is an event just seen; if not, it is remembered."""
        if len(data) > LONGEST:
            data = b""
        elif data in self._seen:  # the number is in the payload: equal bytes are equal numbers
            return True
        self._seen.append(data)
        del self._seen[:-KEPT]
        self.top = max(self.top, number)
        return False
