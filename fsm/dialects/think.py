"""`<think>…</think>` at the very start of the content is thinking (rule 18).

The tags may be cut anywhere. What could still become a tag is held back: a dozen characters at most, or blank space
before the first word.
"""

from __future__ import annotations

from collections.abc import Iterator

from fsm import _tables as T
from fsm.dialects.base import Dialect
from fsm.sink import Sink

OPEN, CLOSE = "<think>", "</think>"
_SPACE_HELD = 64

_START, _INSIDE, _OFF = range(3)


class ThinkTags:
    """Splits content into (is_thinking, text) pieces."""

    __slots__ = ("_held", "_stage")

    def __init__(self) -> None:
        self._stage = _START
        self._held = ""

    @property
    def off(self) -> bool:
        """Whether the rest of the content is plain."""
        return self._stage == _OFF

    @property
    def holds(self) -> bool:
        """Whether something is held back."""
        return bool(self._held)

    def feed(self, text: str) -> Iterator[tuple[bool, str]]:
        """Take content; yields the pieces whose kind is certain."""
        text = self._held + text
        self._held = ""
        if self._stage == _START:
            bare = text.lstrip()
            if OPEN.startswith(bare) and len(text) - len(bare) <= _SPACE_HELD and bare != OPEN:
                self._held = text
                return
            if not bare.startswith(OPEN):
                self._stage = _OFF
            else:
                self._stage = _INSIDE
                text = bare[len(OPEN):]
        if self._stage == _INSIDE:
            thought, tag, rest = text.partition(CLOSE)
            if tag:
                self._stage = _OFF
                text = rest
            else:
                keep = next((n for n in range(min(len(CLOSE) - 1, len(text)), 0, -1) if CLOSE.startswith(text[-n:])), 0)
                thought, self._held = (text[:-keep], text[-keep:]) if keep else (text, "")
                text = ""
            if thought:
                yield True, thought
        if text:
            yield False, text

    def flush(self) -> Iterator[tuple[bool, str]]:
        """The content ends or another kind begins: what was held is what it looks like."""
        held, self._held = self._held, ""
        if held:
            yield self._stage == _INSIDE, held
        if self._stage == _START and held:
            self._stage = _OFF


class TaggedDialect(Dialect):
    """A dialect whose content may begin with `<think>`."""

    __slots__ = ("_tags",)

    def __init__(self, sink: Sink, choice: int = 0) -> None:
        super().__init__(sink, choice)
        self._tags = ThinkTags()

    @property
    def direct(self) -> bool:
        return self._tags.off  # the content cannot begin with <think> any more

    @property
    def holds(self) -> bool:
        return self._tags.holds

    def content(self, content: str) -> None:
        """Take content, which is not empty."""
        if self._tags.off:
            self.sink.delta(T.TEXT_DELTA, None, content)
            return
        for thinking, piece in self._tags.feed(content):
            self.sink.delta(T.THINKING_DELTA if thinking else T.TEXT_DELTA, None, piece)

    def flush(self) -> None:
        if not self._tags.holds:
            return
        for thinking, piece in self._tags.flush():
            self.sink.delta(T.THINKING_DELTA if thinking else T.TEXT_DELTA, None, piece)
