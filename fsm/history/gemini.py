"""Google Gemini: one content of role `model`, whose parts are what they were, each thought signature on its own.

Made-up ids are not sent: the vendor pairs calls and results without one by name and order. Gemini 3 wants a signature on the
first call of a turn; calls of another vendor have none, and what stands in for it is for the caller to say.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from fsm.model.kinds import REFUSAL, TEXT, THINKING, TOOL
from fsm.history.base import MADE_UP, Block, Writer, without


class GeminiWriter(Writer):
    dialect = "gemini"
    NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}")

    def write(self) -> list[dict[str, Any]]:
        parts = [part for number, block in self.blocks() for part in self._parts(number, block)]
        return [{"role": "model", "parts": parts}] if parts else []

    def name(self, number: int, block: Block) -> str:
        name = super().name(number, block)
        return name if self.own or self.NAME.fullmatch(name) else f"_{name}"[:64]  # it begins with a digit or a dash

    def _parts(self, number: int, block: Block) -> Iterator[dict[str, Any]]:
        kind = block["type"]
        if kind == TEXT:
            yield from _stretches(block[TEXT], block.get("signatures", ()))
        elif kind == REFUSAL:
            yield from _stretches(block[REFUSAL], ())
        elif kind == THINKING:
            thought = {"thought": True} if block[THINKING] else {}
            yield _signed({"text": block[THINKING], **thought}, block.get("signature"))
        elif kind == TOOL:
            id_ = {} if MADE_UP.fullmatch(block["id"]) else {"id": self.call_id(number, block)}
            yield _signed({"functionCall": {**id_, "name": self.name(number, block), "args": self.object(number, block)}}, block.get("signature"))
        else:
            yield without(block, "type")


class InteractionsWriter(GeminiWriter):
    """The steps of the model, each as it was."""

    dialect = "gemini-interactions"

    def write(self) -> list[dict[str, Any]]:
        return [self._step(number, block) for number, block in self.blocks()]

    def _step(self, number: int, block: Block) -> dict[str, Any]:
        kind = block["type"]
        if kind in (TEXT, REFUSAL):
            return {"type": "model_output", "content": [{"type": "text", "text": block[kind], **without(block, "type", kind)}]}
        if kind == THINKING:
            summary = {"summary": [{"type": "text", "text": block[THINKING]}]} if block[THINKING] else {}
            return {"type": "thought", **summary, **({"signature": block["signature"]} if block.get("signature") else {})}
        if kind == TOOL:
            beside = without(block, "type", "id", "name", "input", "invalid", "raw_input")
            return {"type": "function_call", "id": self.call_id(number, block), "name": self.name(number, block),
                    "arguments": self.object(number, block), **beside}
        if kind in ("image", "audio", "video", "document"):
            return {"type": "model_output", "content": [block]}
        return block


def _stretches(text: str, signed: Any) -> Iterator[dict[str, Any]]:
    """The parts of a text: signed stretches, and what stands between them."""
    at = 0
    for stretch in signed:
        start, end = stretch["start"], stretch["end"]
        if start > at:
            yield {"text": text[at:start]}
        yield _signed({"text": text[start:end]}, stretch["signature"])
        at = end
    if at < len(text):
        yield {"text": text[at:]}


def _signed(part: dict[str, Any], signature: str | None) -> dict[str, Any]:
    return {**part, "thoughtSignature": signature} if signature else part
