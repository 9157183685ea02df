"""Gemini's Interactions API: steps with bounds, whose index is the position; a status at the end.

A `model_output` step is text, a `thought` thinking (its signature comes as a delta), a `function_call` a call. Any other step is a vendor
block, carried through with what its deltas bring; the user's own input is none of the message.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fsm import _tables as T
from fsm.values.arguments import exactly
from fsm.dialects.base import Dialect, number, report, text, wording, words
from fsm.sink import Sink
from fsm.model.events import NormalizedEvent
from fsm.values.values import ValueText, compact

_CALL_FIELDS = frozenset({"type", "id", "call_id", "name", "arguments"})
_FAILED = frozenset({"failed", "cancelled"})
_PREFIXES = ("interaction.", "step.")


class GeminiInteractions(Dialect):
    """`interaction.created`, `step.start`, `step.delta`, `step.stop`, `interaction.completed`; also a whole interaction."""

    name = "gemini-interactions"

    __slots__ = ("_unknown",)

    def __init__(self, sink: Sink, choice: int = 0) -> None:
        super().__init__(sink, choice)
        self._unknown = {"id", "model"}  # metadata to look for, until it came or content began

    @staticmethod
    def speaks(payload: dict[str, Any], event: str | None) -> bool:
        """Whether an event is one of this dialect."""
        word = payload.get("event_type")
        word = word if isinstance(word, str) else event or ""
        return word.startswith(_PREFIXES) or payload.get("object") == "interaction" or payload.get("event_type") == "error"

    def decode(self, payload: dict[str, Any], event: str | None, raw: bytes) -> bool | None:
        word = payload.get("event_type")
        if not isinstance(word, str):
            word = event
        reader = _READERS.get(word) if word is not None else None
        if reader is not None:
            reader(self, payload, raw)
        elif payload.get("object") == "interaction" and not payload.get("error"):
            self._whole(payload, raw)
        else:
            return False if word == "interaction.status_update" else self.strange(payload, event)
        metadata = payload.get("metadata")
        usage = report(metadata.get("usage")) if isinstance(metadata, dict) else None
        if usage is not None and word != "interaction.completed":
            self.sink.handle(NormalizedEvent(T.USAGE, usage=usage))
        return True

    def word(self, data: bytes) -> bool:
        return data.strip() == b"[DONE]"  # behind interaction.completed, which is the end

    # ------------------------------------------------------------ the interaction

    def _created(self, payload: dict[str, Any], raw: bytes) -> None:
        self._meta(_object(payload, "interaction"), self._unknown or {"id", "model"})  # once more: the machine decides what that means

    def _completed(self, payload: dict[str, Any], raw: bytes) -> None:
        stated = _object(payload, "interaction")
        self._meta(stated, self._unknown)
        self._end(stated)

    def _meta(self, interaction: dict[str, Any], wanted: set[str]) -> None:
        found: dict[str, Any] = {key: value for key in wanted if (value := text(interaction.get(key)))}
        self._unknown = self._unknown - found.keys()
        if found:
            self.sink.handle(NormalizedEvent(T.MESSAGE_START, **found))

    def _end(self, interaction: dict[str, Any]) -> None:
        usage, status = report(interaction.get("usage")), text(interaction.get("status"))
        if usage is not None:
            self.sink.handle(NormalizedEvent(T.USAGE, usage=usage))
        if status in _FAILED:
            self.fail(interaction.get("error") or {"type": status, "message": f"the interaction was {status}"})
            return
        if status:
            self.sink.handle(NormalizedEvent(T.STOP_REASON, reason=status))
        self.sink.handle(NormalizedEvent(T.MESSAGE_STOP))

    def _whole(self, interaction: dict[str, Any], raw: bytes) -> None:
        """An interaction that was not streamed."""
        self._meta(interaction, self._unknown)
        steps = interaction.get("steps")
        for at, step in enumerate(steps if isinstance(steps, list) else ()):
            if isinstance(step, dict) and self._open(step, at, raw, "steps", at):
                self.sink.handle(NormalizedEvent(T.BLOCK_STOP, at))
        self._end(interaction)

    # ------------------------------------------------------------ steps

    def _start(self, payload: dict[str, Any], raw: bytes) -> None:
        self._open(_object(payload, "step"), number(payload.get("index")), raw, "step")

    def _stop(self, payload: dict[str, Any], raw: bytes) -> None:
        self.sink.handle(NormalizedEvent(T.BLOCK_STOP, number(payload.get("index"))))

    def _open(self, step: dict[str, Any], index: int | None, raw: bytes, *path: str | int) -> bool:
        """Open the block that a step is; False if it is none."""
        kind = step.get("type")
        if not isinstance(kind, str) or kind == "user_input":
            return False
        self._unknown = set()  # content began: a start would be a second attempt now
        if kind == "function_call":
            extra = {k: v for k, v in step.items() if k not in _CALL_FIELDS and v}
            given = step.get("arguments")
            given = compact(exactly(given, raw, *path, "arguments")) if isinstance(given, dict) and given else words(given)
            self.sink.handle(NormalizedEvent(T.TOOL_USE_START, index, id=text(step.get("id")) or text(step.get("call_id")), name=text(step.get("name")),
                                      input=given, extra=extra or None))
        elif kind == "model_output":
            self._text("text", index, step.get("content"))
        elif kind == "thought":
            self._text("thinking", index, step.get("summary"), text(step.get("signature")))
        else:
            self.sink.handle(NormalizedEvent(T.BLOCK_START, index, kind="opaque", block=step))
        return True

    def _text(self, kind: str, index: int | None, parts: Any, signature: str | None = None) -> None:
        """A step of text, with what stands in it from the start."""
        self.sink.handle(NormalizedEvent(T.BLOCK_START, index, wording(parts), kind=kind, signature=signature))

    def _delta(self, payload: dict[str, Any], raw: bytes) -> None:
        index, delta = number(payload.get("index")), _object(payload, "delta")
        kind = delta.get("type") or ("text" if "text" in delta else None)
        said: str | ValueText | None
        if kind == "text":
            said, event = wording(delta.get("text") or delta.get("content")), T.TEXT_DELTA
        elif kind == "thought_summary":
            said, event = wording(delta.get("content") or delta.get("text")), T.THINKING_DELTA
        elif kind == "arguments_delta":
            given = delta.get("arguments")
            said, event = (ValueText(exactly(given, raw, "delta", "arguments")) if isinstance(given, dict) else words(given)), T.TOOL_INPUT_DELTA
        else:
            self._other(kind, index, delta)
            return
        if said:
            self._unknown = set()
            self.sink.delta(event, index, said)
        if event == T.THINKING_DELTA and (signature := text(delta.get("signature")) or text(_object(delta, "content").get("signature"))):
            self.sink.handle(NormalizedEvent(T.SIGNATURE_DELTA, index, signature=signature))

    def _other(self, kind: Any, index: int | None, delta: dict[str, Any]) -> None:
        """A signature, a text's annotations, or what belongs to a vendor's step."""
        if kind == "thought_signature":
            if text(delta.get("signature")):
                self.sink.handle(NormalizedEvent(T.SIGNATURE_DELTA, index, signature=text(delta.get("signature"))))
        elif kind == "text_annotation_delta":
            self.sink.handle(NormalizedEvent(T.OPAQUE_BLOCK, index, block={"annotations": delta.get("annotations") or []}))
        elif kind in ("image", "audio", "video", "document"):  # whole, between the texts of a step
            self.sink.handle(NormalizedEvent(T.OPAQUE_BLOCK, None, block=delta))
        else:
            self.sink.handle(NormalizedEvent(T.OPAQUE_BLOCK, index, block={k: v for k, v in delta.items() if k != "type"}))


def _object(payload: dict[str, Any], key: str) -> dict[str, Any]:
    value = payload.get(key)
    return value if isinstance(value, dict) else {}


_READERS: dict[str, Callable[[GeminiInteractions, dict[str, Any], bytes], None]] = {
    "step.delta": GeminiInteractions._delta, "step.start": GeminiInteractions._start, "step.stop": GeminiInteractions._stop,
    "interaction.created": GeminiInteractions._created, "interaction.completed": GeminiInteractions._completed,
}
