"""What the vendors send for the same turn: one function each that gives the JSON of its events, and what else there is to it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Wire:
    """`events(thinking, text, fragments)` are the payloads; the rest says how they are framed and what blocks carry beside their content."""

    events: Callable[[list[str], list[str], list[str]], list[dict[str, Any]]]
    named: bool = False  # an `event:` line before each
    terminator: bytes = b""
    crlf: bool = False
    whole_calls: bool = False  # a call comes in one piece
    signature: str | None = None
    thinking: dict[str, Any] = field(default_factory=dict)
    text: dict[str, Any] = field(default_factory=dict)
    call: dict[str, Any] = field(default_factory=dict)


def anthropic(thinking: list[str], text: list[str], fragments: list[str]) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = [{"type": "message_start", "message": {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "model-x", "content": [], "stop_reason": None, "stop_sequence": None,
        "usage": {"input_tokens": 1000, "cache_read_input_tokens": 800, "output_tokens": 1}}}]
    index = 0
    for kind, delta_kind, key, pieces in (("thinking", "thinking_delta", "thinking", thinking), ("text", "text_delta", "text", text),
                                          ("tool_use", "input_json_delta", "partial_json", fragments)):
        if not pieces:
            continue
        block = {"type": "tool_use", "id": "call_1", "name": "write_file", "input": {}} if kind == "tool_use" else {"type": kind, kind: ""}
        out.append({"type": "content_block_start", "index": index, "content_block": block})
        out += [{"type": "content_block_delta", "index": index, "delta": {"type": delta_kind, key: piece}} for piece in pieces]
        if kind == "thinking":
            out.append({"type": "content_block_delta", "index": index, "delta": {"type": "signature_delta", "signature": "c2lnbmF0dXJl"}})
        out.append({"type": "content_block_stop", "index": index})
        index += 1
    out.append({"type": "message_delta", "delta": {"stop_reason": "tool_use" if fragments else "end_turn", "stop_sequence": None},
                "usage": {"output_tokens": 120}})
    out.append({"type": "message_stop"})
    return out


def openai_chat(thinking: list[str], text: list[str], fragments: list[str]) -> list[dict[str, Any]]:
    def chunk(delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        return {"id": "chatcmpl-AbCdEfGhIjKlMnOpQrStUvWxYz012", "object": "chat.completion.chunk", "created": 1790000000, "model": "gpt-x-2026-08-06",
                "service_tier": "default", "system_fingerprint": "fp_0123456789", "choices": [choice], "usage": None, "obfuscation": "Zk3pQ9xL"}

    out = [chunk({"role": "assistant", "content": "", "refusal": None})]
    out += [chunk({"reasoning_content": piece}) for piece in thinking]
    out += [chunk({"content": piece}) for piece in text]
    for i, piece in enumerate(fragments):
        head = {"id": "call_1", "type": "function"} if i == 0 else {}
        name = {"name": "write_file"} if i == 0 else {}
        out.append(chunk({"tool_calls": [{"index": 0, **head, "function": {**name, "arguments": piece}}]}))
    out.append(chunk({}, "tool_calls" if fragments else "stop"))
    out.append({"id": "chatcmpl-AbCdEfGhIjKlMnOpQrStUvWxYz012", "object": "chat.completion.chunk", "created": 1790000000, "model": "gpt-x-2026-08-06",
                "choices": [], "usage": {"prompt_tokens": 1000, "completion_tokens": 120, "total_tokens": 1120}})
    return out


def openai_responses(thinking: list[str], text: list[str], fragments: list[str]) -> list[dict[str, Any]]:
    """About 270 bytes per delta; everything is said again when its part, its item and the response are done."""
    head = {"id": "resp_1", "object": "response", "created_at": 1790000000, "model": "gpt-x-2026-08-06", "parallel_tool_calls": True}
    out: list[dict[str, Any]] = []
    output: list[dict[str, Any]] = []

    def say(kind: str, **fields: Any) -> None:
        out.append({"type": f"response.{kind}", "sequence_number": len(out), **fields})

    def item(kind: str, started: dict[str, Any], whole: dict[str, Any], place: dict[str, Any], part: dict[str, Any] | None, words: str,
             pieces: list[str], extra: dict[str, Any]) -> None:
        at = {"item_id": whole["id"], "output_index": len(output), **place}
        said = "".join(pieces)
        done = {"text": said} if part else {"arguments": said}
        say("output_item.added", output_index=len(output), item=started)
        if part:
            say(f"{kind}.added", **at, part={**part, "text": ""})
        for piece in pieces:
            say(f"{words}.delta", **at, delta=piece, **extra, obfuscation="Zk3pQ9xL")
        say(f"{words}.done", **at, **done, **extra)
        if part:
            say(f"{kind}.done", **at, part={**part, "text": said})
        say("output_item.done", output_index=len(output), item=whole)
        output.append(whole)

    say("created", response={**head, "status": "in_progress", "output": [], "usage": None})
    say("in_progress", response={**head, "status": "in_progress", "output": [], "usage": None})
    if thinking:
        part: dict[str, Any] = {"type": "summary_text"}
        whole: dict[str, Any] = {"id": "rs_1", "type": "reasoning", "summary": [{**part, "text": "".join(thinking)}]}
        item("reasoning_summary_part", {**whole, "summary": []}, whole, {"summary_index": 0}, part, "reasoning_summary_text", thinking, {})
    if text:
        part = {"type": "output_text", "annotations": [], "logprobs": []}
        whole = {"id": "msg_1", "type": "message", "status": "completed", "role": "assistant", "content": [{**part, "text": "".join(text)}]}
        started = {**whole, "status": "in_progress", "content": []}
        item("content_part", started, whole, {"content_index": 0}, part, "output_text", text, {"logprobs": []})
    if fragments:
        whole = {"id": "fc_1", "type": "function_call", "status": "completed", "call_id": "call_1", "name": "write_file", "arguments": "".join(fragments)}
        item("", {**whole, "status": "in_progress", "arguments": ""}, whole, {}, None, "function_call_arguments", fragments, {})
    usage = {"input_tokens": 1000, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 120, "output_tokens_details": {"reasoning_tokens": 30},
             "total_tokens": 1120}
    say("completed", response={**head, "status": "completed", "output": output, "usage": usage})
    return out


def gemini(thinking: list[str], text: list[str], fragments: list[str]) -> list[dict[str, Any]]:
    """About 360 bytes per chunk, each of which counts the tokens so far; a call comes whole, so its arguments are one delta."""
    out: list[dict[str, Any]] = []

    def chunk(parts: list[dict[str, Any]], reason: str | None = None) -> None:
        thought = min(4 * (len(out) + 1), 4 * len(thinking))
        count = {"promptTokenCount": 1000, "candidatesTokenCount": 4 * (len(out) + 1), "totalTokenCount": 1000 + thought + 4 * (len(out) + 1),
                 "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 1000}], **({"thoughtsTokenCount": thought} if thought else {})}
        candidate = {"content": {"parts": parts, "role": "model"}, **({"finishReason": reason} if reason else {}), "index": 0}
        out.append({"candidates": [candidate], "usageMetadata": count, "modelVersion": "gemini-x-flash", "responseId": "zwCzaYWfAbnoz7IPmc_m6Q4"})

    for piece in thinking:
        chunk([{"text": piece, "thought": True}])
    for piece in text:
        chunk([{"text": piece}])
    if fragments:
        call = {"id": "call_1", "name": "write_file", "args": json.loads("".join(fragments))}
        chunk([{"functionCall": call}])
    chunk([{"text": ""}], "STOP")
    return out


WIRES = {
    "anthropic": Wire(anthropic, named=True, signature="c2lnbmF0dXJl"),
    "openai-chat": Wire(openai_chat, terminator=b"data: [DONE]\n\n"),
    "openai-responses": Wire(openai_responses, named=True, thinking={"item_id": "rs_1"}, text={"item_id": "msg_1"}, call={"item_id": "fc_1"}),
    "gemini": Wire(gemini, crlf=True, whole_calls=True),
}
