"""OpenAI Responses: a list of input items. Blocks with one `item_id` are one item again, with its id and its fields.

Reasoning is known to the vendor by its `encrypted_content`, or by its id if the response was stored; with neither it is left
out. Reasoning whose answer was cut off or dropped is refused, so it is left out too. Text without the id of an item goes as a plain
message; so does that of another vendor.
"""

from __future__ import annotations

import re
from itertools import groupby
from typing import Any

from fsm.model.kinds import REFUSAL, TEXT, THINKING, TOOL
from fsm.model.kinds import CUSTOM
from fsm.history.base import Block, Writer, free_text, without

_MESSAGE, _REASONING = "message", "reasoning"
_FAMILY = {TEXT: _MESSAGE, REFUSAL: _MESSAGE, THINKING: _REASONING}
_OF_PART = frozenset({"annotations", "logprobs", "part"})  # the rest of a block's further fields is its item's

Numbered = tuple[int, Block]


class ResponsesWriter(Writer):
    dialect = "openai-responses"
    ID = re.compile(r".{1,64}", re.S)

    def write(self) -> list[dict[str, Any]]:
        items: list[tuple[Numbered, dict[str, Any]]] = []
        for (family, item), group in groupby(self.blocks(), _item_of):
            blocks, id_ = list(group), item if isinstance(item, str) else None
            made = self._message(blocks, id_) if family == _MESSAGE else self._reasoning(blocks, id_) if family == _REASONING else None
            if made is not None:
                items.append((blocks[0], made))
            elif family is None:
                items += [(b, self._call(*b) if b[1]["type"] == TOOL else b[1]) for b in blocks]
        cut = self.message.stop_reason == "max_tokens" or all(item.get("type") == _REASONING for _block, item in items)
        while cut and items and items[-1][1].get("type") == _REASONING:
            self.say(*items.pop()[0], "nothing follows it")
        return [item for _block, item in items]

    def _message(self, blocks: list[Numbered], id_: str | None) -> dict[str, Any] | None:
        first, fields = blocks[0][1], _fields(blocks)
        if id_ is not None:
            return {"type": _MESSAGE, "id": id_, "role": "assistant", "status": "completed", "content": [_part(b) for _n, b in blocks], **fields}
        text = first[first["type"]]
        if not text:
            self.say(*blocks[0], "empty text")
            return None
        if "annotations" in first:
            self.say(*blocks[0], "its annotations: its item has no id")
        return {"type": _MESSAGE, "role": "assistant", "content": text, **fields}

    def _reasoning(self, blocks: list[Numbered], id_: str | None) -> dict[str, Any] | None:
        fields = _fields(blocks)
        if id_ is None and "encrypted_content" not in fields:
            self.say(*blocks[0], "it has neither an id nor encrypted_content")
            return None
        item: dict[str, Any] = {"type": _REASONING, **({"id": id_} if id_ else {}), "summary": []}
        for _number, block in blocks:
            key, kind = ("content", "reasoning_text") if block.get("part") == "reasoning_text" else ("summary", "summary_text")
            if block[THINKING]:
                item.setdefault(key, []).append({"type": kind, "text": block[THINKING]})
        return {**item, **fields}

    def _call(self, number: int, block: Block) -> dict[str, Any]:
        fields = without(block, "type", "id", "name", "input", "invalid", "raw_input", "item_id", "item_type")
        call = {"call_id": self.call_id(number, block), "name": self.name(number, block), **({"id": block["item_id"]} if block.get("item_id") else {})}
        if block.get("item_type") == CUSTOM:
            return {"type": CUSTOM, **call, "input": free_text(block), **fields}
        return {"type": "function_call", **call, "arguments": self.text(block), "status": "completed", **fields}


def _item_of(numbered: Numbered) -> tuple[str | None, str | int | None]:
    """What tells the items apart: blocks of one item have its id, and without an id each is an item."""
    number, block = numbered
    family = _FAMILY.get(block["type"])
    return family, None if family is None else block.get("item_id") or number


def _fields(blocks: list[Numbered]) -> dict[str, Any]:
    """What the blocks keep of their item."""
    kept = {"type", TEXT, REFUSAL, THINKING, "signature", "item_id"} | _OF_PART
    return {key: value for _number, block in blocks for key, value in block.items() if key not in kept}


def _part(block: Block) -> dict[str, Any]:
    if block["type"] == REFUSAL:
        return {"type": REFUSAL, REFUSAL: block[REFUSAL]}
    return {"type": "output_text", "text": block[TEXT], "annotations": block.get("annotations", []),
            **({"logprobs": block["logprobs"]} if "logprobs" in block else {})}
