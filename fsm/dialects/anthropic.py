"""Anthropic Messages: named events, blocks with bounds, an index that is the position in the message."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fsm import _tables as T
from fsm.values.arguments import exactly
from fsm.dialects.base import Dialect, number, text, wording
from fsm.sink import Sink
from fsm.model.events import NormalizedEvent
from fsm.values.values import compact

_HOT = {"text_delta": (T.TEXT_DELTA, "text"), "thinking_delta": (T.THINKING_DELTA, "thinking"), "input_json_delta": (T.TOOL_INPUT_DELTA, "partial_json")}
#: the same by the field alone, where a delta does not say what it is
_BY_FIELD = tuple((field, kind) for kind, (_event, field) in _HOT.items())
_PLACES_KEPT = 4096  # indexes of thinking blocks that are remembered
_TOOL_FIELDS = frozenset({"type", "id", "name", "input"})


class Anthropic(Dialect):
    """`message_start`, `content_block_*`, `message_delta`, `message_stop`, `ping`, `error`."""

    name = "anthropic"
    TYPES = frozenset({"message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta", "message_stop"})

    __slots__ = ("_thinking",)

    def __init__(self, sink: Sink, choice: int = 0) -> None:
        super().__init__(sink, choice)
        self._thinking: set[int | None] | None = None  # where thinking was seen: a signature there is its own, whatever carries it (rule 22)

    def decode(self, payload: dict[str, Any], event: str | None, raw: bytes) -> bool | None:
        word = payload.get("type")
        if word == "content_block_delta":
            return self._delta(payload, raw)
        if not isinstance(word, str):
            word = event
        reader = _READERS.get(word) if word is not None else None
        if reader is not None:
            return reader(self, payload, raw)
        if word == "message" and isinstance(payload.get("content"), list):
            return self._whole(payload, raw)
        return self.strange(payload, event)

    # ------------------------------------------------------------ what an event says (`frames` in spec/dialects/anthropic.yaml)

    def text_start(self, index: int | None, text: str | None, rest: dict[str, Any] | None = None, signature: str | None = None) -> bool:
        self.sink.handle(NormalizedEvent(T.BLOCK_START, index, text or None, kind="text", signature=signature, block=rest))
        return True

    def thinking_start(self, index: int | None, text: str | None, signature: str | None, rest: dict[str, Any] | None = None) -> bool:
        self._thinks(index)
        self.sink.handle(NormalizedEvent(T.BLOCK_START, index, text or None, kind="thinking", signature=signature or None, block=rest))
        return True

    def call_start(self, index: int | None, id: str | None, name: str | None, caller: dict[str, Any] | None) -> bool:
        self._call(index, id or None, name or None, None, {"caller": caller} if caller else None)
        return True

    def _call(self, index: int | None, id: str | None, name: str | None, given: str | None, extra: dict[str, Any] | None) -> None:
        self.sink.handle(NormalizedEvent(T.TOOL_USE_START, index, id=id, name=name, input=given, extra=extra))

    def signature(self, index: int | None, signature: str | None) -> bool:
        self.sink.handle(NormalizedEvent(T.SIGNATURE_DELTA, index, signature=signature or None))
        return True

    def stop(self, index: int | None) -> bool:
        self.sink.handle(NormalizedEvent(T.BLOCK_STOP, index))
        return True

    def message_start(self, id: str | None, model: str | None, usage: dict[str, Any] | None) -> bool:
        self.sink.handle(NormalizedEvent(T.MESSAGE_START, id=id or None, model=model or None))
        if usage is not None:
            self.sink.handle(NormalizedEvent(T.USAGE, usage=usage))
        return True

    def message_delta(self, reason: str | None, usage: dict[str, Any] | None) -> bool:
        if usage is not None:
            self.sink.handle(NormalizedEvent(T.USAGE, usage=usage))
        if reason:
            self.sink.handle(NormalizedEvent(T.STOP_REASON, reason=reason))
        return True

    def message_stop(self) -> bool:
        self.sink.handle(NormalizedEvent(T.MESSAGE_STOP))
        return True

    def ping(self) -> bool:
        return False

    # ------------------------------------------------------------ payloads

    def _stop(self, payload: dict[str, Any], raw: bytes) -> bool:
        return self.stop(number(payload.get("index")))

    def _message_stop(self, payload: dict[str, Any], raw: bytes) -> bool:
        return self.message_stop()

    def _ping(self, payload: dict[str, Any], raw: bytes) -> bool:
        return self.ping()

    def _error(self, payload: dict[str, Any], raw: bytes) -> bool:
        self.fail(payload)
        return True

    def _message_start(self, payload: dict[str, Any], raw: bytes) -> bool:
        message = payload.get("message")
        self._message(message if isinstance(message, dict) else {}, raw, "message")
        return True

    def _whole(self, payload: dict[str, Any], raw: bytes) -> bool:
        """A whole answer that was not streamed."""
        self._message(payload, raw)
        return True

    def _delta(self, payload: dict[str, Any], raw: bytes) -> bool | None:
        delta = payload.get("delta")
        if not isinstance(delta, dict):
            return self.strange({key: value for key, value in payload.items() if key != "type"}, None)
        index = payload.get("index")
        if type(index) is not int:
            index = number(index)
        kind = delta.get("type")
        if kind is None:
            kind = next((kind for field, kind in _BY_FIELD if field in delta), "signature_delta" if "signature" in delta else None)
        hot = _HOT.get(kind) if isinstance(kind, str) else None
        if hot is not None:
            self._add(hot[0], index, delta, delta.get(hot[1]))
            return True
        if kind == "signature_delta":
            return self.signature(index, text(delta.get("signature")) or wording(delta.get("signature")))
        if kind == "citations_delta" and "citation" in delta:
            event = NormalizedEvent(T.OPAQUE_BLOCK, index, block={"citations": [delta["citation"]]})
        elif kind == "compaction_delta":
            event = NormalizedEvent(T.OPAQUE_BLOCK, index, block={k: v for k, v in delta.items() if k != "type"})
        else:
            event = NormalizedEvent(T.OPAQUE_BLOCK, index)  # a block that cannot be folded
        self.sink.handle(event)
        return True

    def _add(self, event: int, index: int | None, delta: dict[str, Any], said: Any) -> None:
        """Add what a delta says to its block, and sign it if it brings a signature (rule 22)."""
        if event != T.TOOL_INPUT_DELTA and not isinstance(said, str):
            said = wording(said or {key: value for key, value in delta.items() if key not in ("type", "signature")})
        if event == T.THINKING_DELTA:
            self._thinks(index)
        signature = text(delta.get("signature")) if "signature" in delta else None
        own = self._thinking is not None and index in self._thinking
        if signature and event == T.TEXT_DELTA and not own:
            self.sink.handle(NormalizedEvent(event, index, said or None, signature=signature))
            return
        if said and isinstance(said, str):
            self.sink.delta(event, index, said)
        if signature and own:
            self.signature(index, signature)

    def _thinks(self, index: int | None) -> None:
        if self._thinking is None:
            self._thinking = set()
        if len(self._thinking) < _PLACES_KEPT:
            self._thinking.add(index)

    def _start(self, payload: dict[str, Any], raw: bytes) -> bool:
        block = payload.get("content_block")
        if isinstance(block, dict):
            self._open(block, number(payload.get("index")), raw, "content_block")
        return True

    def _open(self, block: dict[str, Any], index: int | None, raw: bytes, *path: str | int) -> None:
        kind = block.get("type")
        if kind == "tool_use":
            given = block.get("input")
            given = compact(exactly(given, raw, *path, "input")) if isinstance(given, dict) and given else text(given)
            extra = {k: v for k, v in block.items() if k not in _TOOL_FIELDS and v is not None}
            self._call(index, text(block.get("id")), text(block.get("name")), given, extra or None)
        elif kind in ("text", "thinking"):
            rest = {k: v for k, v in block.items() if k not in ("type", kind, "signature") and v} or None
            if kind == "text":
                self.text_start(index, wording(block.get(kind)), rest, text(block.get("signature")))
            else:
                self.thinking_start(index, wording(block.get(kind)), text(block.get("signature")), rest)
        elif isinstance(kind, str):
            self.sink.handle(NormalizedEvent(T.BLOCK_START, index, kind="opaque", block=block))

    def _message(self, message: dict[str, Any], raw: bytes, *path: str | int) -> None:
        usage = message.get("usage")
        self.message_start(text(message.get("id")), text(message.get("model")), usage if isinstance(usage, dict) else None)
        content = message.get("content")
        if isinstance(content, list) and content:
            blocks = [self._restated(b, raw, *path, "content", i) for i, b in enumerate(content) if isinstance(b, dict)]
            self.sink.handle(NormalizedEvent(T.SNAPSHOT, content=blocks))
        reason = text(message.get("stop_reason"))
        if reason:
            self.sink.handle(NormalizedEvent(T.STOP_REASON, reason=reason))

    def _restated(self, block: dict[str, Any], raw: bytes, *path: str | int) -> dict[str, Any]:
        """A block of a whole message in the form that a SNAPSHOT has: a call's input as JSON text."""
        if block.get("type") != "tool_use":
            return block
        given = block.get("input")
        extra = {k: v for k, v in block.items() if k not in _TOOL_FIELDS and v is not None}
        return {"type": "tool_use", "id": text(block.get("id")), "name": text(block.get("name")), "extra": extra or None,
                "arguments": compact(exactly(given, raw, *path, "input")) if isinstance(given, dict) else text(given)}

    def _message_delta(self, payload: dict[str, Any], raw: bytes) -> bool:
        usage, delta = payload.get("usage"), payload.get("delta")
        reason = text(delta.get("stop_reason")) if isinstance(delta, dict) else None
        return self.message_delta(reason, usage if isinstance(usage, dict) else None)


_READERS: dict[str, Callable[[Anthropic, dict[str, Any], bytes], bool | None]] = {
    "message_start": Anthropic._message_start, "content_block_start": Anthropic._start, "content_block_delta": Anthropic._delta,
    "content_block_stop": Anthropic._stop, "message_delta": Anthropic._message_delta, "message_stop": Anthropic._message_stop,
    "ping": Anthropic._ping, "error": Anthropic._error,
}
