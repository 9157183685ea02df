"""OpenAI Chat Completions and its imitators: index-less text and reasoning, labelled tool calls, no bounds at all."""

from __future__ import annotations

from typing import Any

from fsm import _tables as T
from fsm.arguments import exactly
from fsm.dialects.base import Sink, error_event, number, report, text, words
from fsm.dialects.think import TaggedDialect, ThinkTags
from fsm.events import NormalizedEvent
from fsm.values import ValueText, compact


_REASONING = frozenset({"reasoning_content", "reasoning", "reasoning_details", "reasoning_signature"})
_OTHERS = frozenset({"refusal", "tool_calls", "function_call"})
_FINISHED_WITH_ERROR = {"type": "error", "message": "the upstream finished with an error"}


class OpenAIChat(TaggedDialect):
    """`choices[].delta`, `finish_reason`, `usage`, `[DONE]`; also whole `message`s and legacy `text` (R-36)."""

    name = "openai-chat"

    __slots__ = ("_unknown",)

    def __init__(self, sink: Sink, choice: int = 0) -> None:
        super().__init__(sink, choice)
        self._unknown = {"id", "model"}  # metadata to look for, until content begins

    def decode(self, payload: dict[str, Any], event: str | None, raw: bytes) -> bool | None:
        choices = payload.get("choices")
        error = payload.get("error")
        if type(choices) is not list and not error and not isinstance(payload.get("usage"), dict):
            if event == "error" or payload.get("object") == "error" or payload.get("type") == "error":
                self._fail(payload)
                return True
            return False if "choices" in payload or str(payload.get("object", "")).startswith("chat.completion") else None
        if self._unknown:
            self._meta(text(payload.get("id")), text(payload.get("model")))
        for at, choice in enumerate(choices if isinstance(choices, list) else ()):
            if isinstance(choice, dict) and (choice.get("index") == self.choice or (number(choice.get("index")) or 0) == self.choice):
                reason = self._choice(choice, raw, at)
                if reason == "error" and not error:
                    error = choice.get("error") or _FINISHED_WITH_ERROR
        if payload.get("usage") or "x_groq" in payload:
            self._usage(payload)
        if error:
            self._fail(error)
        return True

    def word(self, data: bytes) -> bool:
        if data.strip() != b"[DONE]":
            return False
        self.flush()
        self.sink.handle(NormalizedEvent(T.MESSAGE_STOP))
        return True

    # ------------------------------------------------------------ one chunk

    def chunk(self, id: str | None, model: str | None, content: str | None, reasoning_content: str | None, reasoning: str | None,
              index: int | None, call: str | None, name: str | None, arguments: str | None, reason: str | None, usage: dict[str, Any] | None) -> bool:
        """A chunk with one choice or none, whose fields all have their plain form (`frames` in spec/dialects/openai_chat.yaml).

        An index is there if a call is.
        """
        thought = reasoning_content or reasoning
        if self._unknown:
            self._meta(id, model)
            if content or thought or index is not None:
                self._unknown = set()
        self._think(thought, None)
        if content:
            self.content(content)
        if index is not None:
            self.flush()
            self._called(index, call or None, name or None, arguments or None)
        if reason:
            self._finish(reason)
        self._report(usage)
        if reason == "error":
            self._fail(_FINISHED_WITH_ERROR)
        return True

    def _meta(self, id: str | None, model: str | None) -> None:
        """Every chunk repeats id and model, some in the first chunks only as empty strings: take each once."""
        unknown = self._unknown
        id = id if "id" in unknown else None
        model = model if "model" in unknown else None
        if id or model:
            self._unknown = unknown - {"id" if id else "", "model" if model else ""}
            self.sink.handle(NormalizedEvent(T.MESSAGE_START, id=id or None, model=model or None))

    def _usage(self, payload: dict[str, Any]) -> None:
        usage = payload.get("usage")
        if not isinstance(usage, dict):
            groq = payload.get("x_groq")
            usage = groq.get("usage") if isinstance(groq, dict) else None
        self._report(usage)

    def _report(self, usage: Any) -> None:
        usage = report(usage)
        if usage is not None:
            self.sink.handle(NormalizedEvent(T.USAGE, usage=usage))

    def _fail(self, error: Any) -> None:
        self.flush()
        self.sink.handle(error_event(error, "error"))

    def _choice(self, choice: dict[str, Any], raw: bytes, at: int) -> str | None:
        """One choice of a chunk; returns its finish_reason."""
        delta = choice.get("delta")
        if isinstance(delta, dict):
            self._delta(delta, raw, "choices", at, "delta")
        else:
            if words(choice.get("text")):  # legacy completions
                self._unknown = set()
                self.content(choice["text"])
            if isinstance(choice.get("message"), dict):
                self._snapshot(choice["message"], raw, "choices", at, "message")
        reason = choice.get("finish_reason")
        if reason is None:
            return None
        reason = text(reason)
        if reason:
            self._finish(reason)
        return reason

    def _finish(self, reason: str) -> None:
        if reason != "error":
            self.flush()
            self.sink.handle(NormalizedEvent(T.STOP_REASON, reason=reason))

    def _delta(self, delta: dict[str, Any], raw: bytes, *path: str | int) -> None:
        if self._unknown and any(value for key, value in delta.items() if key != "role"):
            self._unknown = set()  # content began: a start would be a second attempt now
        if not _REASONING.isdisjoint(delta):
            self._reasoning(delta)
        content = delta.get("content")
        if content:
            if type(content) is str:
                self.content(content)
            elif isinstance(content, list):
                self._parts(content)
        if not _OTHERS.isdisjoint(delta):
            self._others(delta, raw, *path)

    def _others(self, delta: dict[str, Any], raw: bytes, *path: str | int) -> None:
        """Refusals and calls, behind the content."""
        if words(delta.get("refusal")):
            self.flush()
            self.sink.handle(NormalizedEvent(T.TEXT_DELTA, None, delta["refusal"], kind="refusal"))
        calls = delta.get("tool_calls")
        if isinstance(calls, dict):
            calls = [calls] if calls else None
        if isinstance(calls, list) and calls:
            self.flush()
            entries = [c for c in calls if isinstance(c, dict)]
            for i, call in enumerate(entries):
                self._call(call, len(entries) > 1, raw, *path, "tool_calls", i)
        legacy = delta.get("function_call")
        if isinstance(legacy, dict) and legacy:
            self.flush()
            self._call({"function": legacy}, False, raw, *path)

    def _parts(self, parts: list[Any]) -> None:
        """Content as a list of typed parts (Mistral and others)."""
        for part in parts:
            if isinstance(part, str):
                self.content(part)
            elif isinstance(part, dict):
                if words(part.get("text")) and part.get("type") in ("text", "output_text", None):
                    self.content(part["text"])
                elif part.get("type") in ("thinking", "reasoning"):
                    inner = part.get("thinking") or part.get("text") or part.get("reasoning")
                    pieces = [p.get("text") if isinstance(p, dict) else p for p in inner] if isinstance(inner, list) else [inner]
                    for piece in pieces:
                        self._think(words(piece), text(part.get("signature")))
                elif part.get("type") not in ("text", None):
                    self.sink.handle(NormalizedEvent(T.OPAQUE_BLOCK, None, block=part))

    def _reasoning(self, delta: dict[str, Any]) -> None:
        """Up to three copies of the same reasoning in one delta: one channel is taken; signatures from any."""
        details = delta.get("reasoning_details")
        details = [d for d in details if isinstance(d, dict)] if isinstance(details, list) else []
        plain = words(delta.get("reasoning_content")) or words(delta.get("reasoning"))
        if plain is None and isinstance(delta.get("reasoning"), dict):
            plain = words(delta["reasoning"].get("content")) or words(delta["reasoning"].get("text"))
        self._think(plain, None)
        for detail in details:
            thought = None if plain else words(detail.get("text")) or words(detail.get("summary"))
            self._think(thought, text(detail.get("signature")))
            if text(detail.get("data")):
                self.flush()
                self.sink.handle(NormalizedEvent(T.OPAQUE_BLOCK, None, block={**detail, "type": "redacted_thinking"}))
        self._think(None, text(delta.get("reasoning_signature")))

    def _think(self, thought: str | None, signature: str | None) -> None:
        if thought:
            self.flush()
            self.sink.delta(T.THINKING_DELTA, None, thought)
        if signature:
            self.sink.handle(NormalizedEvent(T.SIGNATURE_DELTA, None, signature=signature))

    def _call(self, call: dict[str, Any], sibling: bool, raw: bytes, *path: str | int) -> None:
        function: dict[str, Any] = next((f for f in (call.get("function"), call.get("custom")) if isinstance(f, dict)), {})
        index, id_, name = number(call.get("index")), text(call.get("id")), text(function.get("name"))
        given = function.get("arguments", function.get("input"))
        fragment: str | ValueText | None = words(given)
        if isinstance(given, (dict, list)):
            key = "arguments" if "arguments" in function else "input"
            fragment = ValueText(exactly(given, raw, *path, "function", key) if "function" in call and path[-1:] != ("delta",) else given)
        extra = {k: v for k, v in call.items() if k in ("extra_content", "provider_metadata") and v}
        self._called(index, id_, name, fragment, sibling, extra or None)

    def _called(self, index: int | None, id_: str | None, name: str | None, fragment: str | ValueText | None, sibling: bool = False,
                extra: dict[str, Any] | None = None) -> None:
        """A call's start, or a fragment of its arguments."""
        if id_ or name or (sibling and index is None):
            self.sink.handle(NormalizedEvent(T.TOOL_USE_START, index, id=id_, name=name, fragment=fragment, sibling=sibling, extra=extra))
        elif fragment:
            self.sink.delta(T.TOOL_INPUT_DELTA, index, fragment)

    # ------------------------------------------------------------ whole messages

    def _snapshot(self, message: dict[str, Any], raw: bytes, *path: str | int) -> None:
        """A `message` where a delta is due restates everything (fine print 15)."""
        blocks: list[dict[str, Any]] = []
        tags = ThinkTags()
        thinking = text(message.get("reasoning_content")) or text(message.get("reasoning"))
        if thinking:
            blocks.append({"type": "thinking", "thinking": thinking})
        content = message.get("content")
        parts = content if isinstance(content, list) else [content]
        for part in parts:
            said = text(part.get("text")) if isinstance(part, dict) else text(part)
            if isinstance(part, dict) and part.get("type") == "thinking":
                inner = part.get("thinking")
                said = "".join(text(p.get("text")) or "" for p in inner if isinstance(p, dict)) if isinstance(inner, list) else text(inner)
                blocks.append({"type": "thinking", "thinking": said or ""})
            elif said:
                for is_thinking, piece in [*tags.feed(said), *tags.flush()]:
                    kind = "thinking" if is_thinking else "text"
                    blocks.append({"type": kind, kind: piece})
        if text(message.get("refusal")):
            blocks.append({"type": "refusal", "refusal": message["refusal"]})
        calls = message.get("tool_calls")
        for i, call in enumerate(calls if isinstance(calls, list) else ()):
            function = call.get("function") if isinstance(call, dict) else None
            if isinstance(function, dict):
                given = function.get("arguments")
                if isinstance(given, dict):
                    given = compact(exactly(given, raw, *path, "tool_calls", i, "function", "arguments"))
                blocks.append({"type": "tool_use", "id": text(call.get("id")), "name": text(function.get("name")), "arguments": text(given)})
        if blocks:
            self.sink.handle(NormalizedEvent(T.SNAPSHOT, content=blocks))
