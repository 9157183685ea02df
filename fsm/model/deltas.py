"""The base of all events, and those that are made per delta: by the compiled engine itself (`_speedups/events.pxi`), which so needs them apart."""

from __future__ import annotations

from typing import Any

from fsm.model.signature import Signed


class Event:
    """Base of what `feed` returns."""

    __signature__ = Signed()

    __slots__: tuple[str, ...] = ()
    __match_args__: tuple[str, ...] = ()
    __hash__ = None  # type: ignore[assignment]  # events hold lists and dictionaries

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__match_args__)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in self.__match_args__)})"


class DeltaEvent(Event):
    """Text was added to block `index`."""

    __slots__ = ("index", "text")
    __match_args__ = ("index", "text")

    def __init__(self, index: int, text: str) -> None:
        self.index = index
        self.text = text

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.index, self.text)


class TextDelta(DeltaEvent):
    """Text was added to a text (or refusal) block."""

    __slots__ = ()


class ThinkingDelta(DeltaEvent):
    """Text was added to a thinking block."""

    __slots__ = ()


class ToolInputDelta(DeltaEvent):
    """JSON text was added to a call's arguments: for display only, never for execution (R-76)."""

    __slots__ = ()
