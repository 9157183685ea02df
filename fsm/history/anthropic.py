"""Anthropic Messages, also for Bedrock invoke and Vertex: one message whose content has the blocks as they were.

Only Anthropic's own signatures count there, so thinking of others is left out. Blank text is refused, and so is thinking
that nothing follows: it says nothing to the next turn.
"""

from __future__ import annotations

import re
from typing import Any

from fsm.model.kinds import REFUSAL, TEXT, THINKING, TOOL
from fsm.history.base import Block, Writer, without


class AnthropicWriter(Writer):
    dialect = "anthropic"
    ID = re.compile(r"[a-zA-Z0-9_-]+")

    def write(self) -> list[dict[str, Any]]:
        content = [(number, sent) for number, block in self.blocks() if (sent := self._block(number, block)) is not None]
        while content and content[-1][1]["type"] in (THINKING, "redacted_thinking"):
            self.say(*content.pop(), "nothing follows it")
        return [{"role": "assistant", "content": [block for _number, block in content]}] if content else []

    def _block(self, number: int, block: Block) -> Block | None:
        kind = block["type"]
        if kind == TEXT:
            return None if self.blank(number, block, block[TEXT]) else block
        if kind == REFUSAL:
            return None if self.blank(number, block, block[REFUSAL]) else {"type": TEXT, TEXT: block[REFUSAL]}
        if kind == THINKING:
            return {**block, "signature": block.get("signature") or ""}  # compatible vendors sign nothing and want it back
        if kind == TOOL:
            return {**without(block, "invalid", "raw_input"), "id": self.call_id(number, block), "name": self.name(number, block),
                    "input": self.object(number, block)}
        if block.get("invalid"):  # its streamed input did not parse
            return {**without(block, "invalid", "raw_input"), "input": self.object(number, block)}
        return block
