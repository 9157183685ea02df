"""Ollama's own API: JSON lines, `message` (chat) or `response` (generate), calls with whole arguments, `done` at the end."""

from __future__ import annotations

from typing import Any

from fsm import _tables as T
from fsm.values.arguments import exactly
from fsm.dialects.base import text, wording, words
from fsm.sink import Sink
from fsm.dialects.think import TaggedDialect
from fsm.model.events import NormalizedEvent
from fsm.values.values import ValueText

_COUNTS = ("_count", "_duration")


class Ollama(TaggedDialect):
    """`{"model": …, "message": {"content": …, "thinking": …, "tool_calls": […]}, "done": false}`."""

    name = "ollama"

    __slots__ = ("_named",)

    def __init__(self, sink: Sink, choice: int = 0) -> None:
        super().__init__(sink, choice)
        self._named = False  # whether the model is known, or content came without

    @staticmethod
    def speaks(payload: dict[str, Any]) -> bool:
        """Whether a line has the shape of this dialect."""
        return isinstance(payload.get("done"), bool) and (isinstance(payload.get("message"), dict) or isinstance(payload.get("response"), str))

    def decode(self, payload: dict[str, Any], event: str | None, raw: bytes) -> bool | None:
        if payload.get("error"):
            self.fail(payload)
            return True
        message = payload.get("message")
        whole = payload.get("done") is True
        if not (isinstance(message, dict) or "response" in payload or "thinking" in payload or whole):
            return self.strange(payload, event)
        if not self._named and text(payload.get("model")):
            self._named = True
            self.sink.handle(NormalizedEvent(T.MESSAGE_START, model=text(payload["model"])))
        message = message if isinstance(message, dict) else {}
        thought = wording(message.get("thinking")) or wording(payload.get("thinking"))
        if thought:
            self._named = True
            self.flush()
            self.sink.delta(T.THINKING_DELTA, None, thought)
        said = wording(message.get("content")) or wording(payload.get("response"))
        if said:
            self._named = True
            self.content(said)
        self._others(message, raw)
        if whole:
            self._done(payload)
        return True

    def _others(self, message: dict[str, Any], raw: bytes) -> None:
        """Images and calls, behind the content."""
        images = message.get("images")
        if isinstance(images, list) and images:
            self._named = True
            self.flush()
            self.sink.handle(NormalizedEvent(T.OPAQUE_BLOCK, None, block={"type": "images", "images": images}))
        calls = message.get("tool_calls")
        if isinstance(calls, list) and calls:
            self._named = True
            self.flush()
            for at, call in enumerate(calls):
                if isinstance(call, dict) and isinstance(call.get("function"), dict):
                    self._call(call, raw, "message", "tool_calls", at, "function", "arguments")

    def _call(self, call: dict[str, Any], raw: bytes, *path: str | int) -> None:
        id_, given = text(call.get("id")), call["function"].get("arguments")
        given = ValueText(exactly(given, raw, *path)) if isinstance(given, dict) else words(given)
        self.sink.handle(NormalizedEvent(T.TOOL_USE_START, None, id=id_, name=text(call["function"].get("name")), fragment=given, sibling=id_ is None))
        self.sink.handle(NormalizedEvent(T.TOOL_USE_STOP, None, id=id_))

    def _done(self, payload: dict[str, Any]) -> None:
        self.flush()
        counts = {key: value for key, value in payload.items() if key.endswith(_COUNTS)}
        if counts:
            self.sink.handle(NormalizedEvent(T.USAGE, usage=counts))
        reason = text(payload.get("done_reason"))
        if reason:
            self.sink.handle(NormalizedEvent(T.STOP_REASON, reason=reason))
        self.sink.handle(NormalizedEvent(T.MESSAGE_STOP))
