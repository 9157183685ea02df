"""dsh: a closed union of chunks (R-16), one JSON object per line or per SSE event.

`block-start`, `text-delta`, `reasoning-delta`, `tool-call-delta`, `block-end` (which states its block in full), `usage`,
`finish`. A chunk may lie in its session log's envelope, `{"type": "assistant/chunk", "chunk": …}`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fsm import _tables as T
from fsm.values.arguments import exactly
from fsm.model.kinds import OPAQUE, TEXT, THINKING, TOOL
from fsm.dialects.base import Dialect, number, text, wording, words
from fsm.model.events import NormalizedEvent
from fsm.values.values import compact, says_nothing

_KINDS = {"text": TEXT, "reasoning": THINKING, "thinking": THINKING, "tool-call": TOOL, "tool-use": TOOL}
_FAILED = frozenset({"error", "aborted", "cancelled", "timeout"})


class Dsh(Dialect):
    """The chunks of the union; delta-only streams without bounds are read too (R-22)."""

    name = "dsh"

    __slots__ = ()

    @staticmethod
    def knows(word: str | None, payload: dict[str, Any]) -> bool:
        """Whether an event is one of the union's."""
        payload = _unwrapped(payload)
        word = payload.get("type", word)
        if word in ("block-start", "block-end", "reasoning-delta"):
            return "index" in payload
        key = {"text-delta": "text", "tool-call-delta": "argumentsDelta", "finish": "reason"}.get(str(word))
        if word == "usage":
            return isinstance(payload.get("usage"), dict) and not {"inputTokens", "outputTokens"}.isdisjoint(payload["usage"])
        return key is not None and key in payload

    def decode(self, payload: dict[str, Any], event: str | None, raw: bytes) -> bool | None:
        chunk = _unwrapped(payload)
        word = chunk.get("type")
        if not isinstance(word, str):
            word = event
        reader = _READERS.get(word) if word is not None else None
        if reader is not None:
            reader(self, chunk, raw, () if chunk is payload else ("chunk",))
            return True
        return False if word == "ping" else self.strange(chunk, event)

    def _start(self, chunk: dict[str, Any], raw: bytes, path: tuple[str, ...]) -> None:
        """A call is opened by its first delta, which has its id."""
        index, kind = number(chunk.get("index")), _kind(chunk.get("blockType"))
        if kind in (TEXT, THINKING):
            self.sink.handle(NormalizedEvent(T.BLOCK_START, index, kind=kind))
        elif kind == TOOL and (text(chunk.get("id")) or text(chunk.get("name"))):
            self.sink.handle(NormalizedEvent(T.TOOL_USE_START, index, id=text(chunk.get("id")), name=text(chunk.get("name"))))
        elif kind not in (TOOL, None):
            self.sink.handle(NormalizedEvent(T.BLOCK_START, index, kind=OPAQUE, block={"type": kind}))

    def _text(self, chunk: dict[str, Any], raw: bytes, path: tuple[str, ...]) -> None:
        if said := wording(chunk.get("text")):
            self.sink.delta(T.TEXT_DELTA, number(chunk.get("index")), said)

    def _reasoning(self, chunk: dict[str, Any], raw: bytes, path: tuple[str, ...]) -> None:
        index = number(chunk.get("index"))
        if said := wording(chunk.get("text")):
            self.sink.delta(T.THINKING_DELTA, index, said)
        if text(chunk.get("signature")):
            self.sink.handle(NormalizedEvent(T.SIGNATURE_DELTA, index, signature=text(chunk["signature"])))

    def _call(self, chunk: dict[str, Any], raw: bytes, path: tuple[str, ...]) -> None:
        index, id_, name = number(chunk.get("index")), text(chunk.get("id")), text(chunk.get("name"))
        fragment = words(chunk.get("argumentsDelta"))
        if id_ or name:
            self.sink.handle(NormalizedEvent(T.TOOL_USE_START, index, id=id_, name=name, fragment=fragment))
        elif fragment:
            self.sink.delta(T.TOOL_INPUT_DELTA, index, fragment)

    def _end(self, chunk: dict[str, Any], raw: bytes, path: tuple[str, ...]) -> None:
        """The end of a block fills in what was not streamed of it (rule 15)."""
        index, block = number(chunk.get("index")), chunk.get("block")
        kind = _kind(block.get("type")) if isinstance(block, dict) else None
        if not isinstance(block, dict) or kind is None:
            pass
        elif kind == TOOL:
            given = block.get("arguments")
            given = compact(exactly(given, raw, *path, "block", "arguments")) if isinstance(given, dict) else text(given)
            self.sink.handle(NormalizedEvent(T.TOOL_USE_START, index, id=text(block.get("id")), name=text(block.get("name")), restated=True,
                                      input=given if given and not says_nothing(given) else None))
        elif kind in (TEXT, THINKING):
            rest = {k: v for k, v in block.items() if k not in ("type", "text", "thinking", "signature") and v is not None}
            self.sink.handle(NormalizedEvent(T.BLOCK_START, index, wording(block.get("text")) or wording(block.get("thinking")), kind=kind,
                                      signature=text(block.get("signature")), block=rest or None, restated=True))
        else:
            self.sink.handle(NormalizedEvent(T.BLOCK_START, index, kind=OPAQUE, block=block, restated=True))
        self.sink.handle(NormalizedEvent(T.BLOCK_STOP, index))

    def _usage(self, chunk: dict[str, Any], raw: bytes, path: tuple[str, ...]) -> None:
        if isinstance(chunk.get("usage"), dict):
            self.sink.handle(NormalizedEvent(T.USAGE, usage=chunk["usage"]))

    def _finish(self, chunk: dict[str, Any], raw: bytes, path: tuple[str, ...]) -> None:
        """The end (R-19). What is in `replayState` is its provider's affair and has no place in a message."""
        reason = chunk.get("reason")
        kind = text(reason.get("kind")) if isinstance(reason, dict) else text(reason)
        if kind in _FAILED:
            detail = reason if isinstance(reason, dict) else {}
            self.fail(detail.get("error") or {"type": kind, "message": detail.get("message")})
            return
        if kind is not None:
            self.sink.handle(NormalizedEvent(T.STOP_REASON, reason=kind))
        self.sink.handle(NormalizedEvent(T.MESSAGE_STOP))


def _unwrapped(payload: dict[str, Any]) -> dict[str, Any]:
    chunk = payload.get("chunk")
    return chunk if payload.get("type") in ("assistant/chunk", None) and isinstance(chunk, dict) else payload


def _kind(word: Any) -> str | None:
    """Our word for a block type; a vendor's own stays."""
    return _KINDS.get(word, word) if isinstance(word, str) and word else None


_READERS: dict[str, Callable[[Dsh, dict[str, Any], bytes, tuple[str, ...]], None]] = {
    "block-start": Dsh._start, "text-delta": Dsh._text, "reasoning-delta": Dsh._reasoning, "tool-call-delta": Dsh._call, "block-end": Dsh._end,
    "usage": Dsh._usage, "finish": Dsh._finish,
}
