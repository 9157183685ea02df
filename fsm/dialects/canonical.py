"""The normalized alphabet as JSON: `{"type": "text_delta", "text": "…"}`, over SSE or JSON lines (DESIGN section 4)."""

from __future__ import annotations

from typing import Any

from fsm import _tables as T
from fsm.dialects.base import Dialect
from fsm.model.events import NormalizedEvent


class Canonical(Dialect):
    """One JSON object is one event of the alphabet; its fields have the alphabet's names."""

    name = "canonical"
    TYPES = frozenset(name.lower() for name in T.EVENTS) - {"ping", "error", "message_start", "message_stop"}
    #: what a peer may say; the rest of the alphabet is the local side's
    _SPOKEN = frozenset(name.lower() for name in T.EVENTS) - {"eof", "cancel", "timeout", "overflow"}

    __slots__ = ()

    def decode(self, payload: dict[str, Any], event: str | None, raw: bytes) -> bool | None:
        word = payload.get("type", event)
        if not isinstance(word, str) or word not in self._SPOKEN:
            return self.strange(payload, event)
        if word == "error":
            self.fail({key: value for key, value in payload.items() if key != "type"})
            return True
        self.sink.handle(NormalizedEvent.from_dict({**payload, "type": word}))
        return word != "ping"
