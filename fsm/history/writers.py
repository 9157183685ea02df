"""The writers of history: one class each, one vendor's request JSON each. `fsm.history.request` chooses."""

from __future__ import annotations

from fsm.history.anthropic import AnthropicWriter
from fsm.history.base import Writer
from fsm.history.bedrock import BedrockWriter
from fsm.history.gemini import GeminiWriter, InteractionsWriter
from fsm.history.local import CanonicalWriter, DshWriter
from fsm.history.openai_chat import ChatWriter
from fsm.history.openai_responses import ResponsesWriter
from fsm.history.others import CohereWriter, OllamaWriter

WRITERS: dict[str, type[Writer]] = {cls.dialect: cls for cls in (
    AnthropicWriter, ChatWriter, CanonicalWriter, GeminiWriter, OllamaWriter, BedrockWriter, ResponsesWriter, CohereWriter, DshWriter, InteractionsWriter)}
