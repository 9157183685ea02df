"""OpenAI Chat Completions and its imitators: index-less text and reasoning, labelled tool calls, no bounds at all."""

from __future__ import annotations

from typing import Any

from fsm import _tables as T
from fsm.values.arguments import exactly
from fsm.model.kinds import FREE
from fsm.dialects.base import number, pieces, report, text, wording, words
from fsm.sink import Sink
from fsm.dialects.failures import refusal
from fsm.model.kinds import CUSTOM
from fsm.dialects.think import TaggedDialect, ThinkTags
from fsm.model.events import NormalizedEvent
from fsm.model.surrogates import mend
from fsm.values.values import ValueText, compact


_SAME_REASONING = ("reasoning_content", "reasoning", "thinking")  # up to three copies of one text; the first that says something is taken
_SIGNATURES = ("signature", "reasoning_signature", "thinking_signature")
_DETAILS = ("reasoning_details", "thinking_blocks")
_REASONING = frozenset({*_SAME_REASONING, *_SIGNATURES, *_DETAILS})
_THOUGHTS = frozenset({"thinking", "reasoning", "reasoning_text", "reasoning_content"})  # types of a content part
_WORDS = frozenset({"text", "output_text", None})
_WHOLE = ("chat.completion", "text_completion")
_LEGACY = -1  # the address of the one call that `function_call` can hold (rule 21); an index of the wire is never negative
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
        if not choices and not error:
            if "choices" not in payload and not isinstance(payload.get("usage"), dict) and not str(payload.get("object", "")).startswith(_WHOLE):
                return self.strange(payload, event)
            error = refusal(payload)
            if error is None and type(choices) is not list and not isinstance(payload.get("usage"), dict):
                return False
        if self._unknown:
            self._meta(text(payload.get("id")), text(payload.get("model")))
        for at, choice in enumerate(choices if isinstance(choices, list) else ()):
            if isinstance(choice, dict) and (choice.get("index") == self.choice or (number(choice.get("index")) or 0) == self.choice):
                reason = self._choice(choice, raw, at)
                if (reason == "error" or choice.get("error")) and not error:
                    error = choice.get("error") or _FINISHED_WITH_ERROR
        if payload.get("usage") or "x_groq" in payload:
            self._usage(payload)
        if error:
            self.fail(error if isinstance(error, dict) else payload)
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
            self.fail(_FINISHED_WITH_ERROR)
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

    def _choice(self, choice: dict[str, Any], raw: bytes, at: int) -> str | None:
        """One choice of a chunk; returns its finish_reason."""
        delta = choice.get("delta")
        if isinstance(delta, dict):
            self._delta(delta, raw, "choices", at, "delta")
        else:
            if choice.get("text"):  # legacy completions
                self._unknown = set()
                self._content(choice["text"])
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
            self._content(content)
        if not _OTHERS.isdisjoint(delta):
            self._others(delta, raw, *path)

    def _others(self, delta: dict[str, Any], raw: bytes, *path: str | int) -> None:
        """Refusals and calls, behind the content."""
        self._refuse(wording(delta.get("refusal")))
        calls = delta.get("tool_calls")
        if isinstance(calls, dict):
            calls = [calls] if calls else None
        if isinstance(calls, list) and calls:
            self.flush()
            entries = [c for c in calls if isinstance(c, dict)]
            for i, call in enumerate(entries):
                self._call(call, len(entries) > 1, raw, *path, "tool_calls", i)
        legacy = delta.get("function_call")
        if isinstance(legacy, dict) and legacy and not calls:
            self.flush()
            self._legacy(legacy, raw, *path, "function_call")

    def _refuse(self, said: str | None) -> None:
        if said:
            self.flush()
            self.sink.handle(NormalizedEvent(T.TEXT_DELTA, None, said, kind="refusal"))

    def _content(self, content: Any) -> None:
        """Content: a string, or typed parts in a list or alone (rule 22; Mistral and others)."""
        if isinstance(content, str):
            self.content(content)
            return
        for part in content if isinstance(content, list) else [content]:
            kind = text(part.get("type")) if isinstance(part, dict) else None
            if kind in _WORDS:
                for said, signature in pieces(part):
                    self._say(said, signature)
            elif kind in _THOUGHTS:
                for said, signature in pieces(part):
                    self._think(said, signature)
            elif kind == "refusal":
                self._refuse(wording(part.get("refusal")) or wording(part))
            else:
                self.flush()
                self.sink.handle(NormalizedEvent(T.OPAQUE_BLOCK, None, block=part))

    def _say(self, said: str | None, signature: str | None) -> None:
        """A piece of text, or the signature of the text before it."""
        if said:
            self.content(said)
        if signature:
            self.flush()
            self.sink.handle(NormalizedEvent(T.TEXT_DELTA, None, signature=signature))

    def _reasoning(self, delta: dict[str, Any]) -> None:
        """Up to three copies of the same reasoning in one delta: one channel is taken; signatures from any."""
        taken = False
        for key in _SAME_REASONING:
            found = pieces(delta.get(key))
            for said, signature in found:
                self._think(None if taken else said, signature)
            taken = taken or any(said for said, _signature in found)
        for key in _DETAILS:
            details = delta.get(key)
            details = [d for d in details if isinstance(d, dict)] if isinstance(details, list) else []
            for detail in details:
                if text(detail.get("data")):
                    self.flush()
                    self.sink.handle(NormalizedEvent(T.OPAQUE_BLOCK, None, block={**detail, "type": "redacted_thinking"}))
                for said, signature in pieces(detail):
                    self._think(None if taken else said, signature)
            taken = taken or any(wording(detail) for detail in details)
        for key in _SIGNATURES:
            self._think(None, text(delta.get(key)))

    def _think(self, thought: str | None, signature: str | None) -> None:
        if thought:
            self.flush()
            self.sink.delta(T.THINKING_DELTA, None, thought)
        if signature:
            self.sink.handle(NormalizedEvent(T.SIGNATURE_DELTA, None, signature=signature))

    def _call(self, call: dict[str, Any], sibling: bool, raw: bytes, *path: str | int) -> None:
        function: dict[str, Any] = next((f for f in (call.get("function"), call.get("custom")) if isinstance(f, dict)), {})
        index, id_, name = number(call.get("index")), text(call.get("id")), text(function.get("name"))
        index = None if index is not None and index < 0 else index
        extra = {k: v for k, v in call.items() if k in ("extra_content", "provider_metadata") and v}
        if isinstance(call.get("custom"), dict) and function is call["custom"]:
            self._custom(index, id_, name, wording(function.get("input")), sibling, extra)
            return
        self._called(index, id_, name, _given(function, raw, *path, "function"), sibling, extra or None)

    def _legacy(self, function: dict[str, Any], raw: bytes, *path: str | int) -> None:
        """The one call of a choice in the old form; some upstreams say all of it again in every chunk (rule 21)."""
        name, fragment = text(function.get("name")), _given(function, raw, *path)
        if name:
            self.sink.handle(NormalizedEvent(T.TOOL_USE_START, _LEGACY, name=name, fragment=fragment, restated=True))
        elif fragment:
            self.sink.delta(T.TOOL_INPUT_DELTA, _LEGACY, fragment)

    def _custom(self, index: int | None, id_: str | None, name: str | None, free: str | None, sibling: bool, extra: dict[str, Any]) -> None:
        """A custom tool's call, which takes free text (rule 19)."""
        if id_ or name or (sibling and index is None):
            self.sink.handle(NormalizedEvent(T.TOOL_USE_START, index, id=id_, name=name, fragment=free, sibling=sibling, kind=FREE,
                                             extra={**extra, "item_type": CUSTOM}))
        elif free:
            self.sink.delta(T.TOOL_INPUT_DELTA, index, free)

    def _called(self, index: int | None, id_: str | None, name: str | None, fragment: str | ValueText | None, sibling: bool = False,
                extra: dict[str, Any] | None = None) -> None:
        """A call's start, or a fragment of its arguments."""
        if index is not None and index < 0:
            index = None
        if id_ or name or (sibling and index is None):
            self.sink.handle(NormalizedEvent(T.TOOL_USE_START, index, id=id_, name=name, fragment=fragment, sibling=sibling, extra=extra))
        elif fragment:
            self.sink.delta(T.TOOL_INPUT_DELTA, index, fragment)

    # ------------------------------------------------------------ whole messages

    def _snapshot(self, message: dict[str, Any], raw: bytes, *path: str | int) -> None:
        """A `message` where a delta is due restates everything (rule 15)."""
        blocks: list[dict[str, Any]] = []
        tags = ThinkTags()
        thought = next((stated for key in (*_SAME_REASONING, *_DETAILS) if (stated := pieces(message.get(key)))), None)
        if thought:
            blocks.append(_thought(thought))
        content = message.get("content")
        for part in content if isinstance(content, list) else [content]:
            kind = text(part.get("type")) if isinstance(part, dict) else None
            if kind in _THOUGHTS:
                blocks.append(_thought(pieces(part)))
            elif kind in _WORDS and (said := wording(part)):
                for is_thinking, piece in [*tags.feed(mend(said)), *tags.flush()]:
                    kind = "thinking" if is_thinking else "text"
                    blocks.append({"type": kind, kind: piece})
        if refused := wording(message.get("refusal")):
            blocks.append({"type": "refusal", "refusal": mend(refused)})
        calls = message.get("tool_calls")
        for i, call in enumerate(calls if isinstance(calls, list) else ()):
            if isinstance(call, dict):
                blocks += _stated_call(call, raw, *path, "tool_calls", i)
        if isinstance(message.get("function_call"), dict) and not calls:
            blocks += _stated_call({"function": message["function_call"]}, raw, *path)
        if blocks:
            self.sink.handle(NormalizedEvent(T.SNAPSHOT, content=blocks))


def _given(function: dict[str, Any], raw: bytes, *path: str | int) -> str | ValueText | None:
    """The argument text that a function, which stands at `path` in `raw`, brings."""
    key = "arguments" if "arguments" in function else "input"
    given = function.get(key)
    return ValueText(exactly(given, raw, *path, key)) if isinstance(given, (dict, list)) else words(given)


def _thought(stated: list[tuple[str | None, str | None]]) -> dict[str, Any]:
    """A thinking block of a whole message."""
    block = {"type": "thinking", "thinking": mend("".join(said for said, _signature in stated if said))}
    signature = next((signature for _said, signature in stated if signature), None)
    return {**block, "signature": signature} if signature else block


def _stated_call(call: dict[str, Any], raw: bytes, *path: str | int) -> list[dict[str, Any]]:
    """A call of a whole message, in the form that a SNAPSHOT has; nothing if it is none."""
    if isinstance(call.get("custom"), dict):
        custom = call["custom"]
        return [{"type": "tool_use", "id": text(call.get("id")), "name": text(custom.get("name")), "arguments": wording(custom.get("input")),
                 "kind": FREE, "extra": {"item_type": CUSTOM}}]
    function = call.get("function")
    if not isinstance(function, dict):
        return []
    given = function.get("arguments")
    if isinstance(given, dict):
        key = "function" if path[-2:-1] == ("tool_calls",) else "function_call"
        given = compact(exactly(given, raw, *path, key, "arguments"))
    return [{"type": "tool_use", "id": text(call.get("id")), "name": text(function.get("name")), "arguments": text(given)}]
