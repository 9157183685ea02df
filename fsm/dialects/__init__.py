"""The dialects: one class each, one vendor's wire JSON each. `wire` says what a stream needs of its own, `detect` finds out which."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from fsm import _tables as T
from fsm.dialects.anthropic import Anthropic
from fsm.dialects.base import Dialect
from fsm.sink import Sink
from fsm.dialects.bedrock import BedrockConverse
from fsm.dialects.canonical import Canonical
from fsm.dialects.cohere import Cohere
from fsm.dialects.dsh import Dsh
from fsm.dialects.failures import failure
from fsm.dialects.gemini import Gemini
from fsm.dialects.gemini_interactions import GeminiInteractions
from fsm.dialects.ollama import Ollama
from fsm.dialects.openai_chat import OpenAIChat
from fsm.dialects.openai_responses import OpenAIResponses
from fsm.model.errors import UnknownDialectError, did_you_mean

DIALECTS: dict[str, type[Dialect]] = {cls.name: cls for cls in (
    Anthropic, OpenAIChat, Canonical, Gemini, Ollama, BedrockConverse, OpenAIResponses, Cohere, Dsh, GeminiInteractions)}
assert DIALECTS.keys() == T.DIALECTS.keys()

AUTO = "auto"


def check(name: str) -> str:
    """`name` if it is a dialect's or "auto". Raises UnknownDialectError."""
    if not isinstance(name, str) or (name != AUTO and name not in DIALECTS):
        names = [AUTO, *DIALECTS]
        raise UnknownDialectError(f"no dialect is called {name!r}{did_you_mean(name, names)}; there are {', '.join(names)}")
    return name


class Wire(NamedTuple):
    """What a stream needs of its dialect: the class, its number and table, the key that numbers events or "", the methods for `frames`."""

    make: Callable[[Sink, int], Dialect]
    id: int
    table: dict[str, Any]
    serial: str
    frames: tuple[Callable[..., bool], ...]


@cache
def wire(name: str) -> Wire:
    """The dialect of that name; see spec/dialects/*.yaml for what its table says."""
    cls, table = DIALECTS[name], T.DIALECTS[name]
    return Wire(cls, table["id"], table, table.get("serial", ""), tuple(getattr(cls, shape) for shape in table["frames"]))


def detect(payload: dict[str, Any], event: str | None) -> str | None:
    """The dialect of a stream whose first telling event is this one, or None if it tells nothing.

    The rules, in this order:
    1. the event's type (in the payload, else the SSE name) is one of Anthropic's -> anthropic;
    2. it begins with `response.`, or the payload is a whole response -> openai-responses;
    3. the event type begins with `interaction.` or `step.`, or the payload is a whole interaction -> gemini-interactions;
    4. it is one of Cohere's, or the payload is a whole answer of Cohere's -> cohere;
    5. it is a chunk of dsh's union, by its own fields -> dsh;
    6. it is a word of the normalized alphabet -> canonical (`ping` and `error` tell nothing, all have them);
    7. there are `choices`, or the object is a completion's -> openai-chat;
    8. there are `candidates`, a `promptFeedback` or `usageMetadata` (also inside `response`), or an error with a numeric
       code and a status in words -> gemini;
    9. `done` is a boolean beside a `message` or a `response` -> ollama;
    10. an event key, an event name or an exception of Bedrock Converse -> bedrock-converse;
    11. an error that is numbered, or says its message beside its type -> openai-responses (with a `kind`: canonical); in Anthropic's shape
        -> anthropic; any other object that speaks of a failure (rule 20) -> openai-chat, the plainest reader of errors.
    """
    word = payload.get("type")
    if not isinstance(word, str):
        word = event
    if word in Anthropic.TYPES or (word == "message" and isinstance(payload.get("content"), list)):
        return Anthropic.name
    if (word or "").startswith("response.") or payload.get("object") == "response":
        return OpenAIResponses.name
    if GeminiInteractions.speaks(payload, event):
        return GeminiInteractions.name
    if word in Cohere.TYPES or (word == "tool-call-delta" and "delta" in payload) or ("finish_reason" in payload and isinstance(payload.get("message"), dict)):
        return Cohere.name
    if Dsh.knows(word, payload):
        return Dsh.name
    if word in Canonical.TYPES:
        return Canonical.name
    if "choices" in payload or str(payload.get("object", "")).startswith(("chat.completion", "text_completion")):
        return OpenAIChat.name
    error = payload.get("error")
    wrapped = payload.get("response")
    if not (Gemini.KEYS.isdisjoint(payload) and Gemini.KEYS.isdisjoint(wrapped if isinstance(wrapped, dict) else ())):
        return Gemini.name
    if isinstance(error, dict) and isinstance(error.get("code"), int) and isinstance(error.get("status"), str) and "type" not in error:
        return Gemini.name
    if Ollama.speaks(payload):
        return Ollama.name
    if BedrockConverse.speaks(payload, event):
        return BedrockConverse.name
    if word == "error" and ("sequence_number" in payload or isinstance(payload.get("message"), str)):
        return Canonical.name if "kind" in payload else OpenAIResponses.name
    if word == "error" and isinstance(error, dict) and "type" in error and "code" not in error:
        return Anthropic.name
    return OpenAIChat.name if error or failure(payload, event) is not None else None
