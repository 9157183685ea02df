"""A model of an OpenAI response and the streams that say it: what the tests of that dialect share."""

from __future__ import annotations

import json
import random
from typing import Any

from helpers import frame

USAGE = {"input_tokens": 60, "output_tokens": 25, "total_tokens": 85, "output_tokens_details": {"reasoning_tokens": 8}}


def message(*parts: tuple[str, str], **fields: Any) -> dict[str, Any]:
    """A message item; a part is ("output_text" or "refusal", text)."""
    return {"type": "message", "role": "assistant", "content": [{"type": k, "refusal" if k == "refusal" else "text": t} for k, t in parts], **fields}


def reasoning(*summary: str, content: tuple[str, ...] = (), **fields: Any) -> dict[str, Any]:
    return {"type": "reasoning", "summary": [{"type": "summary_text", "text": t} for t in summary],
            "content": [{"type": "reasoning_text", "text": t} for t in content], **fields}


def call(call_id: str, name: str, arguments: str, **fields: Any) -> dict[str, Any]:
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments, **fields}


def custom(call_id: str, name: str, free: str, **fields: Any) -> dict[str, Any]:
    return {"type": "custom_tool_call", "call_id": call_id, "name": name, "input": free, **fields}


def blocks(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the rebuild makes of the items, without the fields that tell where a block came from."""
    out: list[dict[str, Any]] = []
    for item in items:
        kind = item["type"]
        if kind == "function_call":
            out.append({"type": "tool_use", "id": item["call_id"], "name": item["name"], "input": json.loads(item["arguments"] or "{}")})
        elif kind == "custom_tool_call":
            out.append({"type": "tool_use", "id": item["call_id"], "name": item["name"], "input": {"input": item["input"]}})
        elif kind in ("message", "reasoning"):
            parts = [*item.get("summary", ()), *item["content"]]
            for part in parts:
                block = {"refusal": "refusal", "output_text": "text"}.get(part["type"], "thinking")
                out.append({"type": block, block: part.get("text", part.get("refusal"))})
            if kind == "reasoning" and not parts:
                out.append({"type": "thinking", "thinking": ""})
        else:
            out.append({"type": kind})
    return out


def bare(content: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Blocks of an outcome in the form of `blocks`."""
    keep = ("type", "text", "thinking", "refusal")
    return [{k: b[k] for k in ("type", "id", "name", "input")} if b["type"] == "tool_use" else {k: b[k] for k in keep if k in b} for b in content]


class Upstream:
    """Writes the stream of a response. Each flag is a fault, or a habit, of some upstream.

    rotate: other item ids in every event; shuffle: keys in any order; silent: these events are not sent ("added", "part", "delta",
    "done", "item"); twice: each event may be sent twice under its number; output: "full", "empty" or "absent"; unplaced: no output_index.
    """

    def __init__(self, seed: int = 0, rotate: bool = False, shuffle: bool = False, silent: frozenset[str] = frozenset(), twice: bool = False,
                 output: str = "full", unplaced: bool = False, numbered: bool = True) -> None:
        self.rng = random.Random(seed)
        self.rotate, self.shuffle, self.silent, self.twice, self.output = rotate, shuffle, silent, twice, output
        self.unplaced, self.numbered = unplaced, numbered
        self.sent: list[bytes] = []
        self.ids = 0

    def say(self, type_: str, **fields: Any) -> None:
        payload = {"type": type_, **fields}
        if self.unplaced:
            payload.pop("output_index", None)
        if self.numbered:
            payload["sequence_number"] = len(self.sent)
        if self.shuffle:
            pairs = list(payload.items())
            self.rng.shuffle(pairs)
            payload = dict(pairs)
        self.sent.append(frame(payload, type_ if self.rng.random() < 0.5 else None))

    def id(self, index: int) -> str:
        self.ids += 1
        return f"id_{self.ids}" if self.rotate else f"item_{index}"

    def body(self, items: list[dict[str, Any]], end: str = "completed", **response: Any) -> bytes:
        self.say("response.created", response={"id": "resp_1", "model": "m", "object": "response", "status": "in_progress", "output": []})
        self.say("response.in_progress", response={"id": "resp_1", "model": "m"})
        for index, item in enumerate(items):
            self._item(index, item)
        final: dict[str, Any] = {"id": "resp_1", "model": "m", "object": "response", "status": end, "usage": USAGE, **response}
        if self.output != "absent":
            final["output"] = [{"id": self.id(i), **item, "status": "completed"} for i, item in enumerate(items)] if self.output == "full" else []
        self.say(f"response.{end}", response=final)
        return b"".join(e * (2 if self.twice and self.rng.random() < 0.5 else 1) for e in self.sent)

    def _item(self, index: int, item: dict[str, Any]) -> None:
        begun = {**item, "status": "in_progress"}
        for key in ("content", "summary", "arguments", "input", "encrypted_content"):
            if key in begun:
                begun[key] = [] if isinstance(begun[key], list) else ""
        if "added" not in self.silent:
            self.say("response.output_item.added", output_index=index, item={"id": self.id(index), **begun})
        for key, word in (("summary", "summary_index"), ("content", "content_index")):
            for at, part in enumerate(item.get(key) or ()):
                self._part(part, {"output_index": index, word: at}, index)
        if item["type"] == "function_call":
            self._deltas("function_call_arguments", item["arguments"], "arguments", {"output_index": index}, index)
        elif item["type"] == "custom_tool_call":
            self._deltas("custom_tool_call_input", item["input"], "input", {"output_index": index}, index)
        if "item" not in self.silent:
            self.say("response.output_item.done", output_index=index, item={"id": self.id(index), **item, "status": "completed"})

    def _part(self, part: dict[str, Any], place: dict[str, Any], index: int) -> None:
        key = "refusal" if part["type"] == "refusal" else "text"
        group = {"summary_text": "reasoning_summary_part", "reasoning_text": "reasoning_part"}.get(part["type"], "content_part")
        word = {"summary_text": "reasoning_summary_text"}.get(part["type"], part["type"])
        if "part" not in self.silent:
            self.say(f"response.{group}.added", item_id=self.id(index), part={**part, key: ""}, **place)
        self._deltas(word, part[key], key, place, index)
        if "done" not in self.silent:
            self.say(f"response.{group}.done", item_id=self.id(index), part=part, **place)

    def _deltas(self, word: str, text: str, key: str, place: dict[str, Any], index: int) -> None:
        at = 0
        while at < len(text) and "delta" not in self.silent:
            size = self.rng.randint(1, 6)
            self.say(f"response.{word}.delta", item_id=self.id(index), delta=text[at:at + size], obfuscation="x" * self.rng.randrange(4), **place)
            at += size
        if "done" not in self.silent:
            self.say(f"response.{word}.done", item_id=self.id(index), **{key: text}, **place)
