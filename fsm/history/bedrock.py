"""Bedrock Converse: one message whose content has the blocks under the names of their kinds.

It is the JSON of the API. An SDK that takes bytes for blobs wants `redactedContent` decoded from base64 first.
"""

from __future__ import annotations

import re
from typing import Any

from fsm.model.kinds import REFUSAL, TEXT, THINKING, TOOL
from fsm.history.base import Block, Writer, without


class BedrockWriter(Writer):
    dialect = "bedrock-converse"
    ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")

    def write(self) -> list[dict[str, Any]]:
        content = [(number, block, sent) for number, block in self.blocks() if (sent := self._block(number, block)) is not None]
        while content and "reasoningContent" in content[-1][2]:
            number, block, _sent = content.pop()
            self.say(number, block, "nothing follows it")
        return [{"role": "assistant", "content": [sent for _number, _block, sent in content]}] if content else []

    def _block(self, number: int, block: Block) -> dict[str, Any] | None:
        kind = block["type"]
        if kind in (TEXT, REFUSAL):
            if self.blank(number, block, block[kind]):
                return None
            text = {"text": block[kind]}
            return {"citationsContent": {"content": [text], "citations": block["citations"]}} if block.get("citations") else text
        if kind == THINKING:
            signature = {"signature": block["signature"]} if block.get("signature") else {}
            return {"reasoningContent": {"reasoningText": {"text": block[THINKING], **signature}}}
        if kind == "redacted_thinking":
            return {"reasoningContent": {"redactedContent": block["data"]}}
        if kind == TOOL:
            return {"toolUse": {"toolUseId": self.call_id(number, block), "name": self.name(number, block), "input": self.object(number, block)}}
        if block.get("invalid"):  # its streamed input did not parse
            block = {**without(block, "invalid", "raw_input"), "input": self.object(number, block)}
        for key, sign in (("toolUse", "name"), ("toolResult", "content")):
            if "toolUseId" in block and sign in block:  # the vendor's own `type` of these stands where the kind would
                return {key: block if kind != key else without(block, "type")}
        return {kind: without(block, "type")}
