"""The small parts of a stream that both engines and the shared code hold in common.

They stand apart so that they can be compiled before anything that uses them: the accumulator, which is compiled from its
Python source, and the compiled engine read the same fields, without a call.
"""

from __future__ import annotations

from typing import Any

from fsm import _tables as T


class Meter:
    """Counts the accumulated bytes of a stream: what all its buffers hold together is what `Limits.content_bytes` bounds."""

    __slots__ = ("used",)

    def __init__(self) -> None:
        self.used = 0


class BaseStepper:
    """The state of one stream, an id of `fsm._tables`; each engine has its own way of moving it."""

    __slots__ = ("state",)

    def __init__(self) -> None:
        self.state: int = T.INITIALIZING

    def fire(self, event: int, guard: int) -> None:
        """Move along the transition of `event` in the case `guard`. Only called where the table names another state."""
        raise NotImplementedError


class BaseFraming:
    """A framing that can take bare deltas by itself; only the compiled one does (`_speedups/feed.pxi`)."""

    __slots__ = ()

    def fed(self, data: bytes) -> list[Any]:
        """`Reconstructor.feed` for bytes that hold nothing unusual, as far as Python knows."""
        raise NotImplementedError
