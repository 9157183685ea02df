"""Seeded streams that know their right answers.

The shapes are those of the vendors (`benchmarks/wires.py`), from 130 to 360 bytes per delta; three flavours of text: "ascii",
"cjk", "escapes" (quotes, backslashes, newlines and everything beyond ASCII as JSON escapes). `make` gives some thinking,
then text, then one tool call, in the proportions of an agent's turn; `huge` one tool call with an argument of a megabyte,
just within the default `Limits`. The same parameters give the same bytes on every machine.
"""

from __future__ import annotations

import itertools
import json
import random
from dataclasses import dataclass
from typing import Any

from benchmarks import wires

WORDS = {
    "ascii": "the quick state machine reads every delta once and keeps no copy of what it saw before moving on to more".split(" "),
    "cjk": "状态机 逐个 读取 增量 数据 并且 不会 保留 任何 副本 然后 继续 处理 下一个 事件 直到 消息 结束 为止 完成".split(" "),
    "escapes": ['say "hi"', "line\nbreak", "tab\there", "back\\slash", "path C:\\new", 'a "quoted" word', "plain", "é\u2028ü", "\U0001f600"],
}
DIALECTS = tuple(wires.WIRES)
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
            blank = b"\r\n\r\n" if b"\r" in self.body else b"\n\n"
            return [e + blank for e in self.body.split(blank) if e]
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
    pieces = min(n_tool, 1) if wires.WIRES[dialect].whole_calls else n_tool
    thinking, text = _pieces(rng, flavour, n_think), _pieces(rng, flavour, deltas - n_think - pieces)
    arguments = {"path": "src/main.py", "content": "".join(_pieces(rng, flavour, max(n_tool, 1)))}
    fragments = _cut(rng, json.dumps(arguments, ensure_ascii=flavour != "cjk"), pieces) if n_tool else []
    return _stream(f"{dialect}-{flavour}-{deltas}", dialect, flavour, thinking, text, fragments, arguments)


def huge(dialect: str, size: int = 1_000_000, piece: int = 12, seed: int = 1) -> Stream:
    """One tool call whose argument has `size` bytes of ASCII and comes in deltas of `piece` bytes."""
    rng = random.Random(f"{dialect}{size}{seed}")
    text = "".join(_pieces(rng, "ascii", size // 8))[:size]
    arguments = {"path": "src/main.py", "content": text}
    whole = json.dumps(arguments)
    if wires.WIRES[dialect].whole_calls:
        piece = len(whole)
    fragments = [whole[i:i + piece] for i in range(0, len(whole), piece)]
    return _stream(f"{dialect}-huge-{size}", dialect, "ascii", [], [], fragments, arguments)


def text(dialect: str, pieces: list[str]) -> Stream:
    """Nothing but text, in these deltas of ASCII."""
    return _stream(f"{dialect}-text-{len(pieces)}", dialect, "ascii", [], pieces, [], {})


def _stream(name: str, dialect: str, flavour: str, thinking: list[str], text: list[str], fragments: list[str], arguments: dict[str, Any]) -> Stream:
    """The bytes of a turn, and the content blocks that must come out of them."""
    wire = wires.WIRES[dialect]
    events = wire.events(thinking, text, fragments)
    payloads = [json.dumps(e, ensure_ascii=flavour == "escapes", separators=(",", ":")).encode() for e in events]
    names = [b"event: " + e["type"].encode() + b"\n" if wire.named else b"" for e in events]
    body = b"".join(name + b"data: " + payload + b"\n\n" for name, payload in zip(names, payloads, strict=True)) + wire.terminator
    content: list[dict[str, Any]] = []
    if thinking:
        content.append({"type": "thinking", "thinking": "".join(thinking), "signature": wire.signature, **wire.thinking})
    if text:
        content.append({"type": "text", "text": "".join(text), **wire.text})
    if fragments:
        content.append({"type": "tool_use", "id": "call_1", "name": "write_file", "input": arguments, **wire.call})
    deltas = len(thinking) + len(text) + len(fragments)
    return Stream(name, dialect, body.replace(b"\n", b"\r\n") if wire.crlf else body, payloads, deltas, content)
