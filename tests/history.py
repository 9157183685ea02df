"""What the tests of `to_request` share: the vendors' own request types, and vendors that say again what they were sent."""

from __future__ import annotations

import functools
import importlib.util
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from helpers import SHARED, a_block, anthropic, chat, frame

# ---------------------------------------------------------------- the vendors' request types


def _whole(value: Any) -> Any:
    """A validated value without iterators: pydantic checks what an Iterable holds only as it is read."""
    if isinstance(value, dict):
        return {k: _whole(v) for k, v in value.items()}
    return value if value is None or isinstance(value, (str, bytes, int, float)) or hasattr(value, "model_dump") else [_whole(v) for v in value]


@functools.cache
def _adapter(module: str, name: str) -> Any:
    pydantic = pytest.importorskip("pydantic")
    return pydantic.TypeAdapter(getattr(pytest.importorskip(module), name))


def _typed(*places: tuple[str, str]) -> Callable[[dict[str, Any]], Any]:
    """A check against the first of several types that takes the entry; returns what the type read of it."""
    def check(entry: dict[str, Any]) -> Any:
        for place in places:
            try:
                return _whole(_adapter(*place).validate_python(entry, strict=True))
            except ValueError as e:
                error = e
        raise error
    return check


def _gemini(entry: dict[str, Any]) -> Any:
    types = pytest.importorskip("google.genai.types")
    return types.Content.model_validate_json(json.dumps(entry)) and entry  # extra fields are forbidden there


@functools.cache
def _converse_shape() -> Any:
    session = pytest.importorskip("botocore.session")
    model = session.get_session().get_service_model("bedrock-runtime")
    return model.operation_model("Converse").input_shape.members["messages"].member


def _converse(entry: dict[str, Any]) -> Any:
    validate = pytest.importorskip("botocore.validate")
    report = validate.ParamValidator().validate(entry, _converse_shape())
    if report.has_errors():
        raise ValueError(report.generate_report())
    return entry


CHECKS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "anthropic": _typed(("anthropic.types", "MessageParam"), ("anthropic.types.beta", "BetaMessageParam")),
    "openai-chat": _typed(("openai.types.chat", "ChatCompletionAssistantMessageParam")),
    "openai-responses": _typed(("openai.types.responses", "ResponseInputItemParam")),
    "gemini": _gemini, "bedrock-converse": _converse,
}


# ---------------------------------------------------------------- the public streams


def public_streams() -> Iterator[tuple[str, bytes, dict[str, Any]]]:
    """(name, body, what is expected) of the streams in ../shared/corpus; none where it is absent."""
    path = SHARED / "tools" / "score.py"
    if not ((SHARED / "corpus").is_dir() and path.is_file()):
        return
    spec = importlib.util.spec_from_file_location("score", path)
    assert spec is not None
    assert spec.loader is not None
    score = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(score)
    for name, body, _dialect, expected in score.corpus_cases(SHARED / "corpus"):
        yield name, body, expected


# ---------------------------------------------------------------- vendors that say what they were sent

PIECE = 3


def pieces(text: str) -> list[str]:
    return [text[i:i + PIECE] for i in range(0, len(text), PIECE)]


def _say_anthropic(entries: list[dict[str, Any]], stop: str) -> bytes:
    events: list[dict[str, Any]] = []
    for index, block in enumerate(entries[0]["content"]):
        kind = block["type"]
        if kind == "tool_use":
            deltas = [{"type": "input_json_delta", "partial_json": p} for p in pieces(json.dumps(block["input"]))]
            events += a_block(index, {**block, "input": {}}, *deltas)
        elif kind in ("text", "thinking"):
            deltas = [{"type": f"{kind}_delta", kind: p} for p in pieces(block[kind])]
            deltas += [{"type": "signature_delta", "signature": p} for p in pieces(block.get("signature", ""))]
            deltas += [{"type": "citations_delta", "citation": c} for c in block.get("citations", ())]
            events += a_block(index, {"type": kind, kind: ""}, *deltas)
        else:
            events += a_block(index, block)
    return anthropic(*events, stop=stop)


def _say_chat(entries: list[dict[str, Any]], stop: str) -> bytes:
    entry = entries[0]
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"reasoning_content": p} for p in pieces(entry.get("reasoning_content", ""))]
    deltas += [{"reasoning_details": [detail]} for detail in entry.get("reasoning_details", ())]
    deltas += [{"content": p} for p in pieces(entry["content"] or "")]
    deltas += [{"refusal": p} for p in pieces(entry.get("refusal", ""))]
    for index, call in enumerate(entry.get("tool_calls", ())):
        given = call["function"]["arguments"]
        deltas.append({"tool_calls": [{**call, "index": index, "function": {**call["function"], "arguments": ""}}]})
        deltas += [{"tool_calls": [{"index": index, "function": {"arguments": p}}]} for p in pieces(given)]
    return chat(*deltas, finish=stop, usage={"prompt_tokens": 3, "completion_tokens": 5})


def _say_responses(entries: list[dict[str, Any]], stop: str) -> bytes:
    head = {"id": "msg_1", "object": "response", "model": "m", "status": "in_progress", "output": []}
    events: list[dict[str, Any]] = [{"type": "response.created", "response": head}]
    for at, item in enumerate(entries):
        empty = {key: [] if key in ("content", "summary") else "" for key in ("content", "summary", "arguments", "input") if key in item}
        events.append({"type": "response.output_item.added", "output_index": at, "item": {**item, **empty, "status": "in_progress"}})
        here = {"item_id": item.get("id"), "output_index": at}
        for key, word in (("summary", "reasoning_summary_text"), ("content", "reasoning_text" if item["type"] == "reasoning" else "output_text")):
            for n, part in enumerate(item.get(key, ())):
                place = {**here, f"{key}_index": n}
                word_, said = ("refusal", part["refusal"]) if part["type"] == "refusal" else (word, part["text"])
                events += [{"type": f"response.{word_}.delta", **place, "delta": p} for p in pieces(said)]
        for key, word in (("arguments", "function_call_arguments"), ("input", "custom_tool_call_input")):
            events += [{"type": f"response.{word}.delta", **here, "delta": p} for p in pieces(item.get(key, ""))]
        events.append({"type": "response.output_item.done", "output_index": at, "item": item})
    events.append({"type": "response.completed", "response": {**head, "status": stop, "output": entries, "usage": {"input_tokens": 3, "output_tokens": 5}}})
    return b"".join(frame(e, e["type"]) for e in events)


def _say_gemini(entries: list[dict[str, Any]], stop: str) -> bytes:
    chunks: list[dict[str, Any]] = []
    for part in entries[0]["parts"]:
        plain = "text" in part and part["text"] and "thoughtSignature" not in part
        chunks += [{"candidates": [{"content": {"role": "model", "parts": [p]}, "index": 0}]}
                   for p in ([{**part, "text": t} for t in pieces(part["text"])] if plain else [part])]
    usage = {"promptTokenCount": 3, "candidatesTokenCount": 5}
    chunks.append({"candidates": [{"finishReason": stop, "index": 0}], "usageMetadata": usage})
    return b"".join(frame({**c, "responseId": "msg_1", "modelVersion": "m"}) for c in chunks)


#: dialect -> (how it says again what it was sent, its words for end_turn and tool_use)
ECHOES: dict[str, tuple[Callable[[list[dict[str, Any]], str], bytes], str, str]] = {
    "anthropic": (_say_anthropic, "end_turn", "tool_use"), "openai-chat": (_say_chat, "stop", "tool_calls"),
    "openai-responses": (_say_responses, "completed", "completed"), "gemini": (_say_gemini, "STOP", "STOP"),
}
