"""Cohere Chat v2: content blocks and calls with bounds, numbered apart; a plan for the calls; citations.

The plan is thinking, and says so in `part`: a request wants it back in a field of its own. Citations stand on the text
that they are about.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fsm import _tables as T
from fsm.values.arguments import exactly
from fsm.model.kinds import OPAQUE, TEXT, THINKING
from fsm.dialects.base import Dialect, number, text, wording, words
from fsm.sink import Sink
from fsm.model.events import NormalizedEvent
from fsm.values.values import ValueText

_CALLS = 1000  # the addresses of calls begin here: content and calls both count from 0
_PLAN = {"part": "tool_plan"}
_FAILED = frozenset({"ERROR", "TIMEOUT", "USER_CANCEL"})


class Cohere(Dialect):
    """`message-start`, `content-*`, `tool-plan-delta`, `tool-call-*`, `citation-*`, `message-end`; also a whole answer."""

    name = "cohere"
    TYPES = frozenset({"message-start", "content-start", "content-delta", "content-end", "tool-plan-delta", "tool-call-start", "tool-call-end",
                       "citation-start", "citation-end", "message-end"})

    __slots__ = ("_planning", "_text")

    def __init__(self, sink: Sink, choice: int = 0) -> None:
        super().__init__(sink, choice)
        self._planning = False  # the plan has begun, and no block since
        self._text = 0  # the index of the text that was started last

    def address(self, event: int, index: int | None) -> int | None:
        return index + _CALLS if event == T.TOOL_INPUT_DELTA and index is not None else index

    def decode(self, payload: dict[str, Any], event: str | None, raw: bytes) -> bool | None:
        word = payload.get("type")
        if not isinstance(word, str):
            word = event
        reader = _READERS.get(word) if word is not None else None
        if reader is not None:
            reader(self, payload, raw)
            return True
        message = payload.get("message")
        if isinstance(message, dict):
            self._whole(payload, message, raw)
            return True
        return self.strange({key: value for key, value in payload.items() if key != "id"}, event)

    def word(self, data: bytes) -> bool:
        return data.strip() == b"[DONE]"  # behind message-end, which is the end

    # ------------------------------------------------------------ the message

    def _start(self, payload: dict[str, Any], raw: bytes) -> None:
        self.sink.handle(NormalizedEvent(T.MESSAGE_START, id=text(payload.get("id")), model=text(payload.get("model"))))

    def _end(self, payload: dict[str, Any], raw: bytes) -> None:
        delta = payload.get("delta")
        self._finish(delta if isinstance(delta, dict) else payload)

    def _finish(self, stated: dict[str, Any]) -> None:
        if isinstance(stated.get("usage"), dict):
            self.sink.handle(NormalizedEvent(T.USAGE, usage=stated["usage"]))
        reason, error = text(stated.get("finish_reason")), stated.get("error")
        if error or reason in _FAILED:
            self.fail(error if isinstance(error, dict) else {"type": (reason or "error").lower(), "message": error})
            return
        if reason is not None:
            self.sink.handle(NormalizedEvent(T.STOP_REASON, reason=reason))
        self.sink.handle(NormalizedEvent(T.MESSAGE_STOP))

    def _whole(self, payload: dict[str, Any], message: dict[str, Any], raw: bytes) -> None:
        """An answer that was not streamed."""
        self._start(payload, raw)
        blocks: list[dict[str, Any]] = []
        content = message.get("content")
        for part in [{"type": TEXT, TEXT: content}] if isinstance(content, str) else content if isinstance(content, list) else ():
            if isinstance(part, dict) and isinstance(part.get("type"), str):
                blocks.append({**part, part["type"]: wording(part.get(part["type"])) or ""} if part["type"] in (TEXT, THINKING) else part)
        said = next((block for block in reversed(blocks) if block["type"] == TEXT), None)
        if said is not None and isinstance(message.get("citations"), list) and message["citations"]:
            said["citations"] = message["citations"]
        if text(message.get("tool_plan")):
            blocks.append({"type": THINKING, THINKING: text(message["tool_plan"]), **_PLAN})
        for i, call in enumerate(_listed(message.get("tool_calls"))):
            function = _function(call)
            given = _arguments(function, raw, "message", "tool_calls", i, "function")
            blocks.append({"type": "tool_use", "id": text(call.get("id")), "name": text(function.get("name")),
                           "arguments": str(given) if given else None})
        if blocks:
            self.sink.handle(NormalizedEvent(T.SNAPSHOT, content=blocks))
        self._finish(payload)

    # ------------------------------------------------------------ content, plan and citations

    def _content_start(self, payload: dict[str, Any], raw: bytes) -> None:
        index, content = number(payload.get("index")), _message(payload).get("content")
        self._planning = False
        if not isinstance(content, dict):
            return
        kind = content.get("type")
        if kind in (TEXT, THINKING):
            if kind == TEXT and index is not None:
                self._text = index
            self.sink.handle(NormalizedEvent(T.BLOCK_START, index, wording(content.get(kind)), kind=kind, signature=text(content.get("signature"))))
        elif isinstance(kind, str):
            self.sink.handle(NormalizedEvent(T.BLOCK_START, index, kind=OPAQUE, block=content))

    def _content_end(self, payload: dict[str, Any], raw: bytes) -> None:
        self.sink.handle(NormalizedEvent(T.BLOCK_STOP, number(payload.get("index"))))

    def _delta(self, payload: dict[str, Any], raw: bytes) -> None:
        """Any delta: what is in it counts, not what it calls itself."""
        message, index = _message(payload), payload.get("index")
        if type(index) is not int:
            index = number(index)
        content, plan = message.get("content"), wording(message.get("tool_plan"))
        if isinstance(content, dict):
            for event, key in ((T.THINKING_DELTA, THINKING), (T.TEXT_DELTA, TEXT)):
                if said := wording(content.get(key)):
                    self.sink.delta(event, index, said)
            if signature := text(content.get("signature")):
                self.sink.handle(NormalizedEvent(T.SIGNATURE_DELTA, index, signature=signature))
        elif said := wording(content):
            self.sink.delta(T.TEXT_DELTA, index, said)
        if plan and self._planning:
            self.sink.delta(T.THINKING_DELTA, index, plan)
        elif plan:
            self._planning = True
            self.sink.handle(NormalizedEvent(T.BLOCK_START, index, plan, kind=THINKING, block=_PLAN))
        self._calls(message, index, raw, False)

    def _citation(self, payload: dict[str, Any], raw: bytes) -> None:
        for cited in _listed(_message(payload).get("citations")):
            place = number(cited.get("content_index"))
            self.sink.handle(NormalizedEvent(T.OPAQUE_BLOCK, self._text if place is None else place, block={"citations": [cited]}))

    def _nothing(self, payload: dict[str, Any], raw: bytes) -> None:
        """The end of a citation, which came whole."""

    # ------------------------------------------------------------ calls

    def _call_start(self, payload: dict[str, Any], raw: bytes) -> None:
        self._planning = False
        self._calls(_message(payload), number(payload.get("index")), raw, True)

    def _call_end(self, payload: dict[str, Any], raw: bytes) -> None:
        self.sink.handle(NormalizedEvent(T.TOOL_USE_STOP, self.address(T.TOOL_INPUT_DELTA, number(payload.get("index")))))

    def _calls(self, message: dict[str, Any], index: int | None, raw: bytes, starts: bool) -> None:
        """`tool_calls`, which is one call, not a list."""
        stated = message.get("tool_calls")
        address = self.address(T.TOOL_INPUT_DELTA, index)
        path: tuple[str | int, ...]
        for at, call in enumerate(_listed(stated)):
            function = _function(call)
            path = ("tool_calls", at) if isinstance(stated, list) else ("tool_calls",)
            id_, name = text(call.get("id")), text(function.get("name"))
            fragment = _arguments(function, raw, "delta", "message", *path, "function")
            if starts or id_ or name:
                self.sink.handle(NormalizedEvent(T.TOOL_USE_START, address, id=id_, name=name, fragment=fragment))
            elif fragment:
                self.sink.delta(T.TOOL_INPUT_DELTA, address, fragment)


def _message(payload: dict[str, Any]) -> dict[str, Any]:
    delta = payload.get("delta")
    message = delta.get("message") if isinstance(delta, dict) else None
    return message if isinstance(message, dict) else {}


def _listed(value: Any) -> list[dict[str, Any]]:
    """Objects that come alone or in a list."""
    return [v for v in (value if isinstance(value, list) else [value]) if isinstance(v, dict)]


def _function(call: dict[str, Any]) -> dict[str, Any]:
    function = call.get("function")
    return function if isinstance(function, dict) else {}


def _arguments(function: dict[str, Any], raw: bytes, *path: str | int) -> str | ValueText | None:
    given = function.get("arguments")
    return ValueText(exactly(given, raw, *path, "arguments")) if isinstance(given, dict) else words(given)


_READERS: dict[str, Callable[[Cohere, dict[str, Any], bytes], None]] = {
    "content-delta": Cohere._delta, "tool-call-delta": Cohere._delta, "tool-plan-delta": Cohere._delta,
    "message-start": Cohere._start, "message-end": Cohere._end, "content-start": Cohere._content_start, "content-end": Cohere._content_end,
    "tool-call-start": Cohere._call_start, "tool-call-end": Cohere._call_end, "citation-start": Cohere._citation, "citation-end": Cohere._nothing,
}
