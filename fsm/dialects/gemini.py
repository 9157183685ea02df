"""Google Gemini: every chunk is a response with candidates, whose content is a list of parts.

A part is text, a thought (`thought: true`), a function call, or something of the vendor's own. A finish reason is no
end (rule 11). A thought signature belongs to its part and has to go back with it: it is kept as `signature` on
calls and thinking, in `signatures` (with the signed stretch) on text, and as `thoughtSignature` on vendor blocks.
A signed part without text joins the text or thinking before it; behind anything else it is a thinking block without text.
"""

from __future__ import annotations

from typing import Any

from fsm import _tables as T
from fsm.values.arguments import exactly
from fsm.dialects.base import Dialect, number, pieces, report, text, wording, words
from fsm.sink import Sink
from fsm.dialects.failures import refusal
from fsm.dialects.partial_args import VALUES, ArgumentText
from fsm.model.events import NormalizedEvent
from fsm.values.values import ValueText

_BESIDE = frozenset({"text", "thought", "thoughtSignature", "partMetadata"})  # keys that do not say what a part is
_FILTERED = frozenset(T.DIALECTS["gemini"]["filtered"])
_OTHER, _TEXT, _THINKING = range(3)


class Gemini(Dialect):
    """`candidates[].content.parts`, `promptFeedback`, `usageMetadata`; streamed or whole."""

    name = "gemini"
    KEYS = frozenset({"candidates", "promptFeedback", "usageMetadata"})

    __slots__ = ("_args", "_last", "_unknown", "_unsigned")

    def __init__(self, sink: Sink, choice: int = 0) -> None:
        super().__init__(sink, choice)
        self._unknown = {"id": "responseId", "model": "modelVersion"}  # metadata to look for, until content begins
        self._last = _OTHER  # what the part before was, if its block goes on
        self._unsigned = False  # whether the last thinking may still be signed
        self._args: ArgumentText | None = None  # of the call whose arguments go on

    @property
    def holds(self) -> bool:
        return bool(self._unknown)  # until then a chunk says more than its text

    def decode(self, payload: dict[str, Any], event: str | None, raw: bytes) -> bool | None:
        wrapped = payload.get("response")
        path: tuple[str, ...] = ()
        if isinstance(wrapped, dict) and not self.KEYS.isdisjoint(wrapped):  # Code Assist
            payload, path = wrapped, ("response",)
        if payload.get("error"):
            self.fail(_named(payload["error"] if isinstance(payload["error"], dict) else payload))
            return True
        if self.KEYS.isdisjoint(payload):
            return self.strange(payload, event)
        if self._unknown:
            self._meta(payload)
        candidates = payload.get("candidates")
        candidates = candidates if isinstance(candidates, list) else []
        if not candidates and (error := refusal(payload)) is not None:
            self.fail(_named(error))
            return True
        numbered = _numbered(candidates)
        for at, candidate in enumerate(candidates):
            if isinstance(candidate, dict) and (number(candidate.get("index")) or 0 if numbered else at) == self.choice:
                self._candidate(candidate, raw, *path, "candidates", at)
        usage = report(payload.get("usageMetadata"))
        if usage is not None:
            self.sink.handle(NormalizedEvent(T.USAGE, usage=usage))
        feedback = payload.get("promptFeedback")
        if isinstance(feedback, dict) and text(feedback.get("blockReason")):
            word = text(feedback["blockReason"])
            self.sink.handle(NormalizedEvent(T.STOP_REASON, reason=word if word in _FILTERED else "PROMPT_BLOCKED"))
        return True

    def _meta(self, payload: dict[str, Any]) -> None:
        """Every chunk repeats id and model: take each once."""
        found: dict[str, Any] = {ours: value for ours, theirs in self._unknown.items() if (value := text(payload.get(theirs)))}
        if found:
            for key in found:
                del self._unknown[key]
            self.sink.handle(NormalizedEvent(T.MESSAGE_START, **found))

    def _candidate(self, candidate: dict[str, Any], raw: bytes, *path: str | int) -> None:
        content = candidate.get("content")
        parts = content.get("parts") if isinstance(content, dict) else None
        if isinstance(parts, list):
            for at, part in enumerate(parts):
                if isinstance(part, dict):
                    self._part(part, raw, *path, "content", "parts", at)
        elif content:
            self._part({"text": content}, raw)  # text in another shape (rule 22)
        reason = text(candidate.get("finishReason"))
        if reason and reason != "FINISH_REASON_UNSPECIFIED":
            self.sink.handle(NormalizedEvent(T.STOP_REASON, reason=reason))

    # ------------------------------------------------------------ parts

    def _part(self, part: dict[str, Any], raw: bytes, *path: str | int) -> None:
        signature = text(part.get("thoughtSignature"))
        said = part.get("text")
        if not isinstance(said, str):
            signature = signature or next((s for _said, s in pieces(said) if s), None)
            said = wording(said)
        said = said or None
        kind = None if said else next((k for k, v in part.items() if k not in _BESIDE and v is not None), None)
        if kind is None and not said and not signature:
            return
        self._unknown = {}  # content began: a start would be a second attempt now
        if kind is None:
            self._text(said, part.get("thought") is True, signature)
        elif kind == "functionCall":
            if isinstance(part[kind], dict):
                self._call(part[kind], signature, raw, *path, kind)
        else:
            self.sink.handle(NormalizedEvent(T.OPAQUE_BLOCK, None, block={**part, "type": kind}))
            self._last = _OTHER

    def _text(self, said: str | None, thought: bool, signature: str | None) -> None:
        if said and thought:
            self.sink.delta(T.THINKING_DELTA, None, said)
            self._last, self._unsigned = _THINKING, True
        elif said or (self._last == _TEXT and not thought):
            if signature:
                self.sink.handle(NormalizedEvent(T.TEXT_DELTA, None, said, signature=signature))
            elif said:
                self.sink.delta(T.TEXT_DELTA, None, said)
            self._last = _TEXT
            return
        if not signature:
            return
        if self._unsigned and (thought or self._last == _THINKING):
            self.sink.handle(NormalizedEvent(T.SIGNATURE_DELTA, None, signature=signature))
            self._unsigned = False
            if self._last != _THINKING:
                return  # it was late
        else:
            self.sink.handle(NormalizedEvent(T.BLOCK_START, None, kind="thinking", signature=signature))
        self.sink.handle(NormalizedEvent(T.BLOCK_STOP))  # a signature is whole, so its block is
        self._last = _OTHER

    def _call(self, call: dict[str, Any], signature: str | None, raw: bytes, *path: str | int) -> None:
        id_, name = text(call.get("id")), text(call.get("name"))
        pieces, given = call.get("partialArgs"), call.get("args")
        pieces = pieces if isinstance(pieces, list) else []
        goes_on = call.get("willContinue") is True
        extra = {"signature": signature} if signature else None
        given = ValueText(exactly(given, raw, *path, "args")) if isinstance(given, dict) else words(given)
        args = self._args
        if args is None or (name and not (name == args.name and pieces and id_ in (None, args.id))):
            if not (name or id_ or given or pieces or signature):
                return  # it closes a call that is closed
            self._last = _OTHER
            self.sink.handle(NormalizedEvent(T.TOOL_USE_START, None, id=id_, name=name, fragment=given, sibling=id_ is None, extra=extra))
            args = self._args = ArgumentText(id_, name)
        elif given or extra:
            self.sink.handle(NormalizedEvent(T.TOOL_USE_START, None, id=args.id, input=str(given) if given else None, extra=extra))
        fragment = "".join(args.put(p, self._value(p, raw, *path, "partialArgs", i)) for i, p in enumerate(pieces) if isinstance(p, dict))
        if not goes_on:
            self._args = None
            fragment += args.close()
        if fragment:
            self.sink.delta(T.TOOL_INPUT_DELTA, None, fragment)
        if not goes_on:
            self.sink.handle(NormalizedEvent(T.TOOL_USE_STOP, None, id=args.id))

    @staticmethod
    def _value(piece: dict[str, Any], raw: bytes, *path: str | int) -> Any:
        key = next((k for k in VALUES if k in piece), None)
        return None if key is None or key == "nullValue" else exactly(piece[key], raw, *path, key)


def _numbered(candidates: list[Any]) -> bool:
    return any(isinstance(c, dict) and "index" in c for c in candidates)


def _named(error: Any) -> Any:
    """An error whose type is the vendor's word for its kind, `status`; `code` is the HTTP status."""
    return {**error, "type": error["status"]} if isinstance(error, dict) and text(error.get("status")) and not error.get("type") else error
