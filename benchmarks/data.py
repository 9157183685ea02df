"""Seeded streams that know their right answers.

Two shapes, after what the vendors send: "anthropic" (about 133 bytes per delta event) and "openai-chat" (about 337 bytes
per chunk); three flavours of text: "ascii", "cjk", "escapes". A stream holds some thinking, then text, then one tool
call, in the proportions of an agent's turn.
"""

from __future__ import annotations

import itertools
import json
import random
from dataclasses import dataclass
from typing import Any

WORDS = {
    "ascii": "the quick state machine reads every delta once and keeps no copy of what it saw before moving on to more".split(" "),
    "cjk": "状态机 逐个 读取 增量 数据 并且 不会 保留 任何 副本 然后 继续 处理 下一个 事件 直到 消息 结束 为止 完成".split(" "),
    "escapes": ['say "hi"', "line\nbreak", "tab\there", "back\\slash", "path C:\\new", 'a "quoted" word', "plain", "é\u2028ü"],
}


@dataclass(frozen=True)
class Stream:
    """A body, its payloads as `orjson.loads` would get them, and the content that must come out."""

    name: str
    dialect: str
    body: bytes
    payloads: list[bytes]
    deltas: int
    content: list[dict[str, Any]]

    def chunks(self, size: int | None) -> list[bytes]:
        """The body in pieces of `size` bytes; None cuts after every event."""
        if size is None:
            return [e + b"\n\n" for e in self.body.split(b"\n\n") if e]
        return [self.body[i:i + size] for i in range(0, len(self.body), size)]


def _pieces(rng: random.Random, flavour: str, n: int) -> list[str]:
    words = WORDS[flavour]
    return [" " + " ".join(rng.choice(words) for _ in range(rng.randint(2, 4))) for _ in range(n)]


def _cut(rng: random.Random, text: str, n: int) -> list[str]:
    edges = sorted({0, len(text), *(rng.randrange(len(text)) for _ in range(n - 1))})
    return [text[a:b] for a, b in itertools.pairwise(edges)]


def make(dialect: str, deltas: int = 2000, flavour: str = "ascii", seed: int = 1, tool_share: float = 0.25) -> Stream:
    """A stream of about `deltas` deltas."""
    rng = random.Random(f"{dialect}{deltas}{flavour}{seed}")
    n_think, n_tool = deltas // 4, int(deltas * tool_share)
    thinking, text = _pieces(rng, flavour, n_think), _pieces(rng, flavour, deltas - n_think - n_tool)
    arguments = {"path": "src/main.py", "content": "".join(_pieces(rng, flavour, max(n_tool, 1)))}
    fragments = _cut(rng, json.dumps(arguments, ensure_ascii=flavour != "cjk"), max(n_tool, 1)) if n_tool else []
    payloads = (_anthropic if dialect == "anthropic" else _chat)(thinking, text, fragments, flavour)
    events = [(b"event: " + p["type"].encode() + b"\n" if dialect == "anthropic" else b"") + b"data: " + _dump(p, flavour) + b"\n\n" for p in payloads]
    content: list[dict[str, Any]] = []
    if thinking:
        content.append({"type": "thinking", "thinking": "".join(thinking), "signature": "c2lnbmF0dXJl" if dialect == "anthropic" else None})
    if text:
        content.append({"type": "text", "text": "".join(text)})
    if fragments:
        content.append({"type": "tool_use", "id": "call_1", "name": "write_file", "input": arguments})
    body = b"".join(events) + (b"" if dialect == "anthropic" else b"data: [DONE]\n\n")
    return Stream(f"{dialect}-{flavour}-{deltas}", dialect, body, [_dump(p, flavour) for p in payloads], len(thinking) + len(text) + len(fragments), content)


def _dump(payload: dict[str, Any], flavour: str) -> bytes:
    return json.dumps(payload, ensure_ascii=False, separators=(",", ":")).encode()


def _anthropic(thinking: list[str], text: list[str], fragments: list[str], flavour: str) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = [{"type": "message_start", "message": {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "model-x", "content": [], "stop_reason": None, "stop_sequence": None,
        "usage": {"input_tokens": 1000, "cache_read_input_tokens": 800, "output_tokens": 1}}}]
    index = 0
    for kind, delta_kind, field, pieces in (("thinking", "thinking_delta", "thinking", thinking), ("text", "text_delta", "text", text),
                                            ("tool_use", "input_json_delta", "partial_json", fragments)):
        if not pieces:
            continue
        block = {"type": "tool_use", "id": "call_1", "name": "write_file", "input": {}} if kind == "tool_use" else {"type": kind, kind: ""}
        out.append({"type": "content_block_start", "index": index, "content_block": block})
        out += [{"type": "content_block_delta", "index": index, "delta": {"type": delta_kind, field: piece}} for piece in pieces]
        if kind == "thinking":
            out.append({"type": "content_block_delta", "index": index, "delta": {"type": "signature_delta", "signature": "c2lnbmF0dXJl"}})
        out.append({"type": "content_block_stop", "index": index})
        index += 1
    out.append({"type": "message_delta", "delta": {"stop_reason": "tool_use" if fragments else "end_turn", "stop_sequence": None},
                "usage": {"output_tokens": 120}})
    out.append({"type": "message_stop"})
    return out


def _chat(thinking: list[str], text: list[str], fragments: list[str], flavour: str) -> list[dict[str, Any]]:
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
