"""What somebody writes in an afternoon: split lines, orjson, lists of pieces. No limits, no faults, no live events.

The yardstick for the pure Python engine, which does everything this leaves out.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import orjson


def anthropic(chunks: Iterable[bytes]) -> list[dict[str, Any]]:
    """The content blocks of a well-behaved Anthropic stream."""
    blocks: dict[int, dict[str, Any]] = {}
    pieces: dict[int, list[str]] = {}
    buffer = b""
    for chunk in chunks:
        buffer += chunk
        *events, buffer = buffer.split(b"\n\n")
        for event in events:
            for line in event.split(b"\n"):
                if not line.startswith(b"data: "):
                    continue
                payload = orjson.loads(line[6:])
                kind = payload["type"]
                if kind == "content_block_delta":
                    delta = payload["delta"]
                    if delta["type"] == "text_delta":
                        pieces[payload["index"]].append(delta["text"])
                    elif delta["type"] == "thinking_delta":
                        pieces[payload["index"]].append(delta["thinking"])
                    elif delta["type"] == "input_json_delta":
                        pieces[payload["index"]].append(delta["partial_json"])
                    elif delta["type"] == "signature_delta":
                        blocks[payload["index"]]["signature"] = delta["signature"]
                elif kind == "content_block_start":
                    blocks[payload["index"]] = dict(payload["content_block"])
                    pieces[payload["index"]] = []
    for index, block in blocks.items():
        text = "".join(pieces[index])
        if block["type"] == "tool_use":
            block["input"] = orjson.loads(text or b"{}")
        else:
            block[block["type"]] = text
    return [blocks[i] for i in sorted(blocks)]


def openai_chat(chunks: Iterable[bytes]) -> list[dict[str, Any]]:
    """The content blocks of a well-behaved Chat Completions stream."""
    text: list[str] = []
    thinking: list[str] = []
    calls: dict[int, dict[str, Any]] = {}
    buffer = b""
    for chunk in chunks:
        buffer += chunk
        *events, buffer = buffer.split(b"\n\n")
        for event in events:
            for line in event.split(b"\n"):
                if not line.startswith(b"data: ") or line == b"data: [DONE]":
                    continue
                payload = orjson.loads(line[6:])
                if not payload["choices"]:
                    continue
                delta = payload["choices"][0]["delta"]
                if delta.get("content"):
                    text.append(delta["content"])
                if delta.get("reasoning_content"):
                    thinking.append(delta["reasoning_content"])
                for call in delta.get("tool_calls") or ():
                    entry = calls.setdefault(call["index"], {"arguments": []})
                    if call.get("id"):
                        entry["id"] = call["id"]
                    if call["function"].get("name"):
                        entry["name"] = call["function"]["name"]
                    entry["arguments"].append(call["function"]["arguments"])
    content: list[dict[str, Any]] = []
    if thinking:
        content.append({"type": "thinking", "thinking": "".join(thinking), "signature": None})
    if text:
        content.append({"type": "text", "text": "".join(text)})
    for entry in calls.values():
        content.append({"type": "tool_use", "id": entry["id"], "name": entry["name"], "input": orjson.loads("".join(entry["arguments"]))})
    return content


def openai_responses(chunks: Iterable[bytes]) -> list[dict[str, Any]]:
    """The content blocks of a well-behaved Responses stream, as its finished items state them."""
    content: list[dict[str, Any]] = []
    pieces: list[str] = []
    buffer = b""
    for chunk in chunks:
        buffer += chunk
        *events, buffer = buffer.split(b"\n\n")
        for event in events:
            for line in event.split(b"\n"):
                if not line.startswith(b"data: "):
                    continue
                payload = orjson.loads(line[6:])
                kind = payload["type"]
                if kind.endswith(".delta"):
                    pieces.append(payload["delta"])
                elif kind == "response.output_item.done":
                    item, text = payload["item"], "".join(pieces)
                    pieces = []
                    if item["type"] == "reasoning":
                        block = {"type": "thinking", "thinking": text, "signature": None}
                    elif item["type"] == "message":
                        block = {"type": "text", "text": text}
                    else:
                        block = {"type": "tool_use", "id": item["call_id"], "name": item["name"], "input": orjson.loads(text)}
                    content.append({**block, "item_id": item["id"]})
    return content


def gemini(chunks: Iterable[bytes]) -> list[dict[str, Any]]:
    """The content blocks of a well-behaved Gemini stream over SSE."""
    text: list[str] = []
    thinking: list[str] = []
    calls: list[dict[str, Any]] = []
    buffer = b""
    for chunk in chunks:
        buffer += chunk
        *lines, buffer = buffer.split(b"\r\n")
        for line in lines:
            if not line.startswith(b"data: "):
                continue
            for part in orjson.loads(line[6:])["candidates"][0]["content"]["parts"]:
                if "functionCall" in part:
                    call = part["functionCall"]
                    calls.append({"type": "tool_use", "id": call["id"], "name": call["name"], "input": call["args"]})
                else:
                    (thinking if part.get("thought") else text).append(part["text"])
    content: list[dict[str, Any]] = []
    if thinking:
        content.append({"type": "thinking", "thinking": "".join(thinking), "signature": None})
    if any(text):
        content.append({"type": "text", "text": "".join(text)})
    return content + calls


PARSERS = {"anthropic": anthropic, "openai-chat": openai_chat, "openai-responses": openai_responses, "gemini": gemini}
