"""Seeded streams that know their right answers.

Two shapes, after what the vendors send: "anthropic" (about 133 bytes per delta event) and "openai-chat" (about 337 bytes
per chunk); three flavours of text: "ascii", "cjk", "escapes" (quotes, backslashes, newlines and everything beyond ASCII
as JSON escapes). `make` gives some thinking, then text, then one tool call, in the proportions of an agent's turn;
`huge` one tool call with an argument of a megabyte, just within the default `Limits`. The same parameters give the same
bytes on every machine.
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
    "escapes": ['say "hi"', "line\nbreak", "tab\there", "back\\slash", "path C:\\new", 'a "quoted" word', "plain", "é\u2028ü", "\U0001f600"],
}
DIALECTS = ("anthropic", "openai-chat")
FLAVOURS = tuple(WORDS)
CHUNKINGS = {"4 KiB": 4096, "event": None}  # what `Stream.chunks` takes


@dataclass(frozen=True)
class Stream:
    """A body, its payloads as `orjson.loads` would get them, how many deltas it has, and the content that must come out."""

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
    """`text` in exactly `n` pieces, none empty."""
    edges = [0, *sorted(rng.sample(range(1, len(text)), n - 1)), len(text)]
    return [text[a:b] for a, b in itertools.pairwise(edges)]


def make(dialect: str, deltas: int = 2000, flavour: str = "ascii", seed: int = 1, tool_share: float = 0.25) -> Stream:
    """A stream of exactly `deltas` deltas: a quarter thinking, `tool_share` of them tool arguments, the rest text."""
    rng = random.Random(f"{dialect}{deltas}{flavour}{seed}")
    n_think, n_tool = deltas // 4, int(deltas * tool_share)
    thinking, text = _pieces(rng, flavour, n_think), _pieces(rng, flavour, deltas - n_think - n_tool)
    arguments = {"path": "src/main.py", "content": "".join(_pieces(rng, flavour, max(n_tool, 1)))}
    fragments = _cut(rng, json.dumps(arguments, ensure_ascii=flavour != "cjk"), n_tool) if n_tool else []
    return _stream(f"{dialect}-{flavour}-{deltas}", dialect, flavour, thinking, text, fragments, arguments)


def huge(dialect: str, size: int = 1_000_000, piece: int = 12, seed: int = 1) -> Stream:
    """One tool call whose argument has `size` bytes of ASCII and comes in deltas of `piece` bytes."""
    rng = random.Random(f"{dialect}{size}{seed}")
    text = "".join(_pieces(rng, "ascii", size // 8))[:size]
    arguments = {"path": "src/main.py", "content": text}
    whole = json.dumps(arguments)
    fragments = [whole[i:i + piece] for i in range(0, len(whole), piece)]
    return _stream(f"{dialect}-huge-{size}", dialect, "ascii", [], [], fragments, arguments)


def _stream(name: str, dialect: str, flavour: str, thinking: list[str], text: list[str], fragments: list[str], arguments: dict[str, Any]) -> Stream:
    """The bytes of a turn, and the content blocks that must come out of them."""
    anthropic = dialect == "anthropic"
    events = (_anthropic if anthropic else _chat)(thinking, text, fragments)
    payloads = [json.dumps(e, ensure_ascii=flavour == "escapes", separators=(",", ":")).encode() for e in events]
    names = [b"event: " + e["type"].encode() + b"\n" if anthropic else b"" for e in events]
    body = b"".join(name + b"data: " + payload + b"\n\n" for name, payload in zip(names, payloads, strict=True))
    content: list[dict[str, Any]] = []
    if thinking:
        content.append({"type": "thinking", "thinking": "".join(thinking), "signature": "c2lnbmF0dXJl" if anthropic else None})
    if text:
        content.append({"type": "text", "text": "".join(text)})
    if fragments:
        content.append({"type": "tool_use", "id": "call_1", "name": "write_file", "input": arguments})
    deltas = len(thinking) + len(text) + len(fragments)
    return Stream(name, dialect, body if anthropic else body + b"data: [DONE]\n\n", payloads, deltas, content)


def _anthropic(thinking: list[str], text: list[str], fragments: list[str]) -> list[dict[str, Any]]:
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


def _chat(thinking: list[str], text: list[str], fragments: list[str]) -> list[dict[str, Any]]:
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
