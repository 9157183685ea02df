"""OpenAI Chat Completions and its imitators: one message with `content`, `refusal` and `tool_calls`.

Reasoning is no part of OpenAI's own messages, and its imitators disagree. What is sent to the message's own vendor:
- signed or encrypted reasoning as `reasoning_details` (OpenRouter), always, since it is meant to come back;
- other reasoning as `reasoning_content` (DeepSeek, Kimi, vLLM), only beside calls: there it is required until the turn
  is over, and elsewhere it is ignored or refused. Which field it came in is not kept: for an upstream that takes none, or
  takes `reasoning` instead (Groq), the caller takes it out or renames it.
"""

from __future__ import annotations

import re
from typing import Any

from fsm.model.kinds import REFUSAL, TEXT, THINKING, TOOL
from fsm.model.kinds import CUSTOM
from fsm.history.base import Block, Writer, free_text


class ChatWriter(Writer):
    dialect = "openai-chat"
    ID = re.compile(r".{1,40}", re.S)

    def write(self) -> list[dict[str, Any]]:
        text, refusal = "", ""
        calls: list[dict[str, Any]] = []
        reasoning: list[tuple[int, Block]] = []
        for number, block in self.blocks():
            kind = block["type"]
            if kind == TEXT:
                text += block[TEXT]
            elif kind == REFUSAL:
                refusal += block[REFUSAL]
            elif kind == TOOL:
                calls.append(self._call(number, block))
            elif kind in (THINKING, "redacted_thinking"):
                reasoning.append((number, block))
            else:
                self.say(number, block, "a message of the assistant has no such part")
        if not (text or refusal or calls):
            for number, block in reasoning:
                self.say(number, block, "nothing follows it")
            return []
        entry: dict[str, Any] = {"role": "assistant", "content": text or None}
        if refusal:
            entry["refusal"] = refusal
        entry |= self._reasoning(reasoning, bool(calls))
        if calls:
            entry["tool_calls"] = calls
        return [entry]

    def _call(self, number: int, block: Block) -> dict[str, Any]:
        call: dict[str, Any] = {"id": self.call_id(number, block)}
        if block.get("item_type") == CUSTOM:
            call |= {"type": "custom", "custom": {"name": self.name(number, block), "input": free_text(block)}}
        else:
            call |= {"type": "function", "function": {"name": self.name(number, block), "arguments": self.text(block)}}
        return call | {key: block[key] for key in ("extra_content", "provider_metadata") if key in block}

    def _reasoning(self, blocks: list[tuple[int, Block]], calls: bool) -> dict[str, Any]:
        if any(block.get("signature") or block["type"] != THINKING for _number, block in blocks):
            return {"reasoning_details": [_detail(block) for _number, block in blocks]}
        said = "".join(block[THINKING] for _number, block in blocks)
        if said and calls:
            return {"reasoning_content": said}
        for number, block in blocks:
            self.say(number, block, "reasoning goes back only beside calls")
        return {}


def _detail(block: Block) -> dict[str, Any]:
    if block["type"] != THINKING:
        return {**block, "type": "reasoning.encrypted"}
    signature = {"signature": block["signature"]} if block.get("signature") else {}
    return {"type": "reasoning.text", "text": block[THINKING], **signature}
