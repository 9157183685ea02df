"""The forms that no vendor judges: the canonical one, which is `to_dict`, and dsh's blocks. They lose nothing."""

from __future__ import annotations

from typing import Any

from fsm.model.kinds import THINKING, TOOL
from fsm.history.base import Block, Writer, without


class CanonicalWriter(Writer):
    dialect = "canonical"

    def write(self) -> list[dict[str, Any]]:
        return [self.message.to_dict()]


class DshWriter(Writer):
    """Arguments stay text end to end (R-21); a call that must not run keeps its mark."""

    dialect = "dsh"

    def write(self) -> list[dict[str, Any]]:
        content = [self._block(block) for block in self.message.content]
        return [{"role": "assistant", "content": content}] if content else []

    def _block(self, block: Block) -> Block:
        if block["type"] == THINKING:
            return {"type": "reasoning", "text": block[THINKING], **{k: v for k, v in block.items() if k not in ("type", THINKING) and v is not None}}
        if block["type"] == TOOL:
            return {"type": "tool-call", "id": block["id"], "name": block["name"], "arguments": self.text(block),
                    **without(block, "type", "id", "name", "input", "raw_input")}
        return block
