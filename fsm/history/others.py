"""Cohere Chat v2 and Ollama: one message each, with calls in the form of Chat Completions."""

from __future__ import annotations

from typing import Any

from fsm.model.kinds import REFUSAL, TEXT, THINKING, TOOL
from fsm.history.base import MADE_UP, Writer


class CohereWriter(Writer):
    """`content` with text and thinking, `tool_plan`, `tool_calls` with their arguments as text, `citations`."""

    dialect = "cohere"

    def write(self) -> list[dict[str, Any]]:
        content: list[dict[str, Any]] = []
        calls: list[dict[str, Any]] = []
        citations: list[dict[str, Any]] = []
        plan = ""
        for number, block in self.blocks():
            kind = block["type"]
            if kind in (TEXT, REFUSAL) and block[kind]:
                content.append({"type": TEXT, TEXT: block[kind]})
                citations += block.get("citations", ())
            elif kind == THINKING and block.get("part") == "tool_plan":
                plan += block[THINKING]
            elif kind == THINKING:
                content.append({"type": THINKING, THINKING: block[THINKING]})
            elif kind == TOOL:
                calls.append({"id": self.call_id(number, block), "type": "function",
                              "function": {"name": self.name(number, block), "arguments": self.text(block)}})
            else:
                self.say(number, block, "a message of the assistant has no such part")
        parts = {"content": content, "tool_plan": plan, "tool_calls": calls, "citations": citations}
        return [{"role": "assistant", **{key: value for key, value in parts.items() if value}}] if content or plan or calls else []


class OllamaWriter(Writer):
    """`content`, `thinking`, `images`, `tool_calls` with their arguments as objects."""

    dialect = "ollama"

    def write(self) -> list[dict[str, Any]]:
        text = thinking = ""
        calls: list[dict[str, Any]] = []
        images: list[Any] = []
        for number, block in self.blocks():
            kind = block["type"]
            if kind in (TEXT, REFUSAL):
                text += block[kind]
            elif kind == THINKING:
                thinking += block[THINKING]
            elif kind == TOOL:
                id_ = {} if MADE_UP.fullmatch(block["id"]) else {"id": self.call_id(number, block)}
                calls.append({**id_, "function": {"name": self.name(number, block), "arguments": self.object(number, block)}})
            elif kind == "images":
                images += block["images"]
            else:
                self.say(number, block, "a message of the assistant has no such part")
        parts = {"thinking": thinking, "images": images, "tool_calls": calls}
        return [{"role": "assistant", "content": text, **{key: value for key, value in parts.items() if value}}] if text or any(parts.values()) else []
