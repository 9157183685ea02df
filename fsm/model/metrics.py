"""What is measured per stream (R-104). Times are milliseconds from the first clock reading, None without a clock."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from fsm.model.signature import Signed


@dataclass
class Metrics:
    """Aggregates of one stream; never its content (R-103).

    time_to_first_token_ms: to the first content (text, thinking or a call).
    time_to_first_useful_chunk_ms: to the first event that is no keepalive (R-93).
    time_to_completion_ms: to the final state.
    total_chunks, bytes_received: what `feed` was given.
    events: wire events with data. keepalives: those of them that say nothing, comments not counted.
    idle_max_gap_ms: the longest pause between two chunks.
    cancellation_reason: why the stream was cancelled or timed out, if it was.
    """

    __signature__ = Signed()

    time_to_first_token_ms: float | None = None
    time_to_first_useful_chunk_ms: float | None = None
    time_to_completion_ms: float | None = None
    total_chunks: int = 0
    bytes_received: int = 0
    events: int = 0
    keepalives: int = 0
    idle_max_gap_ms: float | None = None
    cancellation_reason: str | None = None

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)
