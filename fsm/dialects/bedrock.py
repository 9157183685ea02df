"""Bedrock ConverseStream: `{"contentBlockDelta": {"contentBlockIndex": 0, "delta": {…}}}`, or the inner object under the event's name.

Text has no start, and some models (Nova) give every token an index and a stop of its own: text that goes on at the
next index is one block. So the stop of a text block is held back until something else comes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fsm import _tables as T
from fsm.values.arguments import exactly
from fsm.dialects.base import Dialect, number, pieces, text, wording, words
from fsm.sink import Sink
from fsm.model.events import NormalizedEvent
from fsm.values.values import ValueText, compact


class BedrockConverse(Dialect):
    """`messageStart`, `contentBlockStart`, `contentBlockDelta`, `contentBlockStop`, `messageStop`, `metadata`, exceptions."""

    name = "bedrock-converse"
    TYPES = frozenset({"messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop", "metadata"})

    __slots__ = ("_ends", "_last", "_left", "_redacted", "_said", "_stopped", "_text_at")

    def __init__(self, sink: Sink, choice: int = 0) -> None:
        super().__init__(sink, choice)
        self._text_at: int | None = None  # the index that the text in hand began with
        self._last: int | None = None  # the index at which it went on
        self._said = False  # whether a block is open for it
        self._stopped = False  # whether it was stopped there: the stop is held back
        self._left: set[int] = set()  # text that something else interrupted before its stop
        self._redacted: int | None = None  # the index of redacted reasoning that may go on
        self._ends: set[str] = set()  # which halves of the end were seen

    @property
    def holds(self) -> bool:
        return self._text_at is not None and (self._stopped or not self._said)

    @property
    def direct(self) -> bool:
        return not self._left

    @staticmethod
    def speaks(payload: dict[str, Any], event: str | None) -> bool:
        """Whether an event has the shape of this dialect."""
        own = BedrockConverse.TYPES - {"metadata"}  # anybody's word
        return not own.isdisjoint(payload) or event in own or _exception(payload, event) is not None or _whole(payload) is not None

    def decode(self, payload: dict[str, Any], event: str | None, raw: bytes) -> bool | None:
        named = [key for key in payload if key in self.TYPES]
        for key in named:
            inner = payload[key]
            if isinstance(inner, dict):
                beside = {} if "contentBlockIndex" in inner or "contentBlockIndex" not in payload else {"contentBlockIndex": payload["contentBlockIndex"]}
                _READERS[key](self, {**inner, **beside} if beside else inner, raw, key)
        error = _exception(payload, event) or (payload if payload.get("error") else None)
        if error:
            self.fail(error)
        if named or error:
            return True
        if event in self.TYPES:
            _READERS[event](self, payload, raw)
            return True
        message = _whole(payload)
        if message is not None:
            self._answer(payload, message, raw)
            return True
        return self.strange(payload, event)

    # ------------------------------------------------------------ the message

    def _start_message(self, body: dict[str, Any], raw: bytes, *path: str | int) -> None:
        self.sink.handle(NormalizedEvent(T.MESSAGE_START))

    def _stop_message(self, body: dict[str, Any], raw: bytes, *path: str | int) -> None:
        self._leave_text()
        reason = text(body.get("stopReason"))
        if reason:
            self.sink.handle(NormalizedEvent(T.STOP_REASON, reason=reason))
        self._end("reason")

    def _metadata(self, body: dict[str, Any], raw: bytes, *path: str | int) -> None:
        if isinstance(body.get("usage"), dict):
            self.sink.handle(NormalizedEvent(T.USAGE, usage=body["usage"]))
        self._end("metadata")

    def _end(self, half: str) -> None:
        self._ends.add(half)
        if len(self._ends) == 2:
            self.sink.handle(NormalizedEvent(T.MESSAGE_STOP))

    # ------------------------------------------------------------ blocks

    def _start(self, body: dict[str, Any], raw: bytes, *path: str | int) -> None:
        index, start = number(body.get("contentBlockIndex")), body.get("start")
        kind, given = next(((k, v) for k, v in start.items() if isinstance(v, dict)), (None, {})) if isinstance(start, dict) else (None, {})
        if kind is None:
            return
        self._leave_text()
        if kind == "toolUse" and given.get("type") in (None, "", "tool_use"):
            self.sink.handle(NormalizedEvent(T.TOOL_USE_START, index, id=text(given.get("toolUseId")), name=text(given.get("name"))))
        else:
            self.sink.handle(NormalizedEvent(T.BLOCK_START, index, kind="opaque", block={"type": kind, **given}))

    def _delta(self, body: dict[str, Any], raw: bytes, *path: str | int) -> None:
        index, delta = number(body.get("contentBlockIndex")), body.get("delta")
        if not isinstance(delta, dict):
            return
        for kind, value in delta.items():
            if kind == "text":
                if (said := wording(value)) or len(delta) == 1:
                    self._text(index, said)
            elif kind == "reasoningContent" and isinstance(value, dict):
                self._reasoning(index, value)
            elif kind == "toolUse" and isinstance(value, dict):
                given = value.get("input")
                fragment = ValueText(exactly(given, raw, *path, "delta", "toolUse", "input")) if isinstance(given, dict) else words(given)
                if fragment:
                    self._leave_text()
                    self.sink.delta(T.TOOL_INPUT_DELTA, index, fragment)
            elif kind == "citation":
                self._citation(index, value)
            elif value is not None:
                self._leave_text()
                self.sink.handle(NormalizedEvent(T.OPAQUE_BLOCK, index, block={"content": value} if isinstance(value, list) else None))

    def _stop(self, body: dict[str, Any], raw: bytes, *path: str | int) -> None:
        index = number(body.get("contentBlockIndex"))
        if self._text_at is not None and index in (None, self._last):
            self._stopped = True
            return
        if index == self._redacted:
            self._redacted = None
        self._left.discard(-1 if index is None else index)
        self.sink.handle(NormalizedEvent(T.BLOCK_STOP, index))

    # ------------------------------------------------------------ text, and what belongs to it

    def _text(self, index: int | None, said: str | None) -> None:
        """Text, of which a block without any leaves no gap between its neighbours."""
        if index is not None and not self._goes_on(index):
            self._leave_text()
            self._left.discard(index)
            self._text_at = self._last = index
        if said:
            self._said = self._said or index is not None
            self.sink.delta(T.TEXT_DELTA, None if index is None else self._text_at, said)

    def _goes_on(self, index: int) -> bool:
        """Whether the text in hand goes on at `index`; then it is where it stands now."""
        if self._text_at is None or self._last is None:
            return False
        if self._stopped:
            if index != self._last + 1 or index in self._left:
                return False
            self._last, self._stopped = index, False
            return True
        return index in (self._last, self._text_at)

    def _leave_text(self) -> None:
        """Something else comes."""
        if self._text_at is not None and self._said:
            if self._stopped:
                self.sink.handle(NormalizedEvent(T.BLOCK_STOP, self._text_at))
            else:
                self._left.add(self._text_at)
        self._text_at = self._last = None
        self._said = self._stopped = False

    def _citation(self, index: int | None, citation: Any) -> None:
        if (index is None or self._goes_on(index)) and self._said:
            self.sink.handle(NormalizedEvent(T.OPAQUE_BLOCK, self._text_at, block={"citations": [citation]}))
        else:
            self._leave_text()
            self._text_at = self._last = index
            self._said = index is not None
            self.sink.handle(NormalizedEvent(T.BLOCK_START, index, kind="text", block={"citations": [citation]}))

    def _reasoning(self, index: int | None, value: dict[str, Any]) -> None:
        self._leave_text()
        for said, signature in pieces({"text": value.get("text") or value.get("reasoningText"), "signature": value.get("signature")}):
            if said:
                self.sink.delta(T.THINKING_DELTA, index, said)
            if signature:
                self.sink.handle(NormalizedEvent(T.SIGNATURE_DELTA, index, signature=signature))
        data = text(value.get("redactedContent"))
        if data:
            kind = {} if index is not None and index == self._redacted else {"type": "redacted_thinking"}
            self._redacted = index
            self.sink.handle(NormalizedEvent(T.OPAQUE_BLOCK, index, block={**kind, "data": data}))

    # ------------------------------------------------------------ an answer that was not streamed

    def _answer(self, payload: dict[str, Any], message: dict[str, Any], raw: bytes) -> None:
        given = message.get("content")
        blocks = [(i, b) for i, b in enumerate(given if isinstance(given, list) else ()) if isinstance(b, dict)]
        self.sink.handle(NormalizedEvent(T.SNAPSHOT, content=[_restated(b, raw, "output", "message", "content", i) for i, b in blocks]))
        self._metadata(payload, raw)
        self._stop_message(payload, raw)


def _whole(payload: dict[str, Any]) -> dict[str, Any] | None:
    output = payload.get("output")
    message = output.get("message") if isinstance(output, dict) else None
    return message if isinstance(message, dict) and "stopReason" in payload else None


def _restated(block: dict[str, Any], raw: bytes, *path: str | int) -> dict[str, Any]:
    """A block of a whole message in the form that a SNAPSHOT has."""
    kind = next(iter(block), "")
    value = block.get(kind)
    if kind == "toolUse" and isinstance(value, dict):
        given = value.get("input")
        given = compact(exactly(given, raw, *path, kind, "input")) if isinstance(given, dict) else text(given)
        return {"type": "tool_use", "id": text(value.get("toolUseId")), "name": text(value.get("name")), "arguments": given}
    if kind == "reasoningContent" and isinstance(value, dict):
        said = value.get("reasoningText")
        if isinstance(said, dict):
            return {"type": "thinking", "thinking": wording(said.get("text")) or "", "signature": text(said.get("signature"))}
        return {"type": "redacted_thinking", "data": value.get("redactedContent")}
    if kind == "text":
        return {"type": "text", "text": wording(value) or ""}
    return {"type": kind, **value} if isinstance(value, dict) else {"type": kind, "value": value}


def _exception(payload: dict[str, Any], event: str | None) -> dict[str, Any] | None:
    """The error of an exception, under its name or as AWS says it in a plain body."""
    for key, value in payload.items():
        if key.endswith("Exception"):
            return {"type": key, **(value if isinstance(value, dict) else {"message": value})}
    kind = payload.get("__type", event)
    if isinstance(kind, str) and kind.endswith("Exception"):
        return {"type": kind.rpartition("#")[2], "message": payload.get("message") or payload.get("Message")}
    return None


_READERS: dict[str | None, Callable[..., None]] = {
    "messageStart": BedrockConverse._start_message, "contentBlockStart": BedrockConverse._start, "contentBlockDelta": BedrockConverse._delta,
    "contentBlockStop": BedrockConverse._stop, "messageStop": BedrockConverse._stop_message, "metadata": BedrockConverse._metadata,
}
