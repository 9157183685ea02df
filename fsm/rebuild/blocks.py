"""Blocks under construction. They hold what was received; what it means is decided in the accumulator."""

from __future__ import annotations

from typing import Any

from fsm import _tables as T
from fsm.model.kinds import OPAQUE, TEXT, THINKING, TOOL
from fsm.rebuild.buffer import Buffer
from fsm.values.values import ValueText, is_utf8, says_nothing

_DELTA_OF = {TEXT: T.TEXT_DELTA, THINKING: T.THINKING_DELTA, TOOL: T.TOOL_INPUT_DELTA}


class Block:
    """One content block. `index` is its wire index (None where the wire has none), `number` its place in the order
    of opening, `open` whether it still takes deltas, `archived` whether it is finished for good."""

    __slots__ = ("announced", "archived", "buffer", "event", "extra", "index", "kind", "left_out", "number", "open", "position", "signature", "signed",
                 "signed_late", "text", "vendor")

    def __init__(self, kind: str, index: int | None, number: int, position: int, buffer: Buffer) -> None:
        self.kind = kind
        self.event = _DELTA_OF.get(kind, -1)  # the event whose bare deltas it takes
        self.index = index
        self.number = number
        self.position = position
        self.buffer = buffer
        self.open = True
        self.announced = self.archived = False
        self.left_out = False
        self.text = ""  # set when it is archived
        self.signature: Buffer | None = None
        self.signed: list[tuple[int, int, str]] | None = None  # of text: stretches (in bytes) with a signature of their own
        self.signed_late = False  # the signature began after the block was closed
        self.extra: dict[str, Any] | None = None
        self.vendor: dict[str, Any] | None = None

    def canonical(self) -> dict[str, Any]:
        """The block as it stands in `message.content`."""
        if self.kind == OPAQUE:
            assert self.vendor is not None
            return self.vendor
        text = self.buffer.text() if self.open else self.text
        block: dict[str, Any] = {"type": self.kind, self.kind: text}
        if self.kind == THINKING:
            block["signature"] = self.signature.text() if self.signature else None
        if self.signed:
            block["signatures"] = _stretches(text, self.signed)
        if self.extra:
            _add(block, self.extra)
        return block

    def is_empty(self) -> bool:
        if len(self.buffer) or self.text or self.signature or self.kind == OPAQUE:
            return False
        return self.kind != THINKING or not self.extra  # encrypted reasoning has fields and no text


def _add(block: dict[str, Any], extra: dict[str, Any]) -> None:
    """Add a vendor's own fields, which never stand for what the block holds."""
    for key, value in extra.items():
        if key not in block:
            block[key] = value


def _stretches(text: str, signed: list[tuple[int, int, str]]) -> list[dict[str, Any]]:
    """The signed stretches of a text, in characters."""
    data, byte, char = text.encode(), 0, 0
    out = []
    for start, end, signature in signed:
        char += len(data[byte:start].decode("utf-8", "replace"))
        length = len(data[start:end].decode("utf-8", "replace"))
        out.append({"start": char, "end": char + length, "signature": signature})
        byte, char = end, char + length
    return out


class Call(Block):
    """A tool call. `made_up` tells a random id; `stopped` its own stop, `sealed` that its verdict was given out, `free` that it takes
    free text instead of JSON."""

    __slots__ = ("ambiguous", "free", "id", "input", "inputs", "invalid", "late", "made_up", "name", "sealed", "sent", "snapshot", "stopped", "twin_of")

    def __init__(self, index: int | None, number: int, position: int, buffer: Buffer, id: str, made_up: bool) -> None:
        super().__init__(TOOL, index, number, position, buffer)
        self.id = id
        self.made_up = made_up
        self.name: str | None = None
        self.snapshot: str | None = None  # the input as the start event restated it
        self.late: Buffer | None = None  # argument text that came after a next start had sealed the call
        self.stopped = False
        self.sealed = False
        self.ambiguous = False
        self.free = False
        self.twin_of: Call | None = None
        self.inputs: set[str] | None = None  # of the first call of an id: the inputs that came under it
        self.input: dict[str, Any] | None = None
        self.invalid: str | None = None
        self.sent: str | bytes | ValueText = ""  # what the verdict is about

    @property
    def label(self) -> str:
        """How an anomaly names the call; a random id would make two runs of one stream differ."""
        return f"call {self.number}" if self.made_up else f"call {self.id!r}"

    def is_empty(self) -> bool:
        return False  # a call without arguments is a call

    @property
    def raw(self) -> str:
        """The text of the arguments as they were sent."""
        return self.sent.decode() if isinstance(self.sent, bytes) else str(self.sent)

    def sent_as(self, text: str) -> bool:
        """Whether `text` is the text of the arguments as they were sent. A large one is not decoded for that."""
        return is_utf8(text, self.sent) if isinstance(self.sent, bytes) else str(self.sent) == text

    @property
    def complete(self) -> bool:
        """Whether the arguments so far are one closed object. No end signal by itself (R-64); free text has none."""
        if self.free:
            return False
        given = self.buffer.given
        return given.closed if given is not None else len(self.buffer) > 0 and self.buffer.follow().closed

    @property
    def bare(self) -> bool:
        """Whether no argument was received: nothing at all, or only `{}` (rule 7)."""
        if self.free:
            return not len(self.buffer)
        return len(self.buffer) < 16 and says_nothing(self.buffer.text())

    def canonical(self) -> dict[str, Any]:
        block: dict[str, Any] = {"type": TOOL, "id": self.id, "name": self.name, "input": self.input or {}}
        if self.extra:
            _add(block, self.extra)
        if self.invalid:
            block["invalid"] = self.invalid
            block["raw_input"] = self.raw
        return block
