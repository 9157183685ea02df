"""The writers of history: one class each, one vendor's request JSON each. `fsm.history` chooses."""

from __future__ import annotations

from fsm.histories.anthropic import AnthropicWriter
from fsm.histories.base import Writer
from fsm.histories.bedrock import BedrockWriter
from fsm.histories.gemini import GeminiWriter, InteractionsWriter
from fsm.histories.local import CanonicalWriter, DshWriter
from fsm.histories.openai_chat import ChatWriter
from fsm.histories.openai_responses import ResponsesWriter
from fsm.histories.others import CohereWriter, OllamaWriter

WRITERS: dict[str, type[Writer]] = {cls.dialect: cls for cls in (
    AnthropicWriter, ChatWriter, CanonicalWriter, GeminiWriter, OllamaWriter, BedrockWriter, ResponsesWriter, CohereWriter, DshWriter, InteractionsWriter)}
