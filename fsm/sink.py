"""The one interface through which the wire speaks to the rebuild.

A dialect knows a `Sink` and nothing behind it. What it says are normalized events; what it may see is where an anomaly is
noted, which state the stream is in, and the bounds.
"""

from __future__ import annotations

from typing import Any

from fsm import _tables as T
from fsm.model.events import NormalizedEvent
from fsm.model.limits import Limits
from fsm.model.message import Anomalies
from fsm.parts import BaseStepper


class Sink:
    """Where normalized events go. `dialect` is the table of the one that speaks (spec/dialects/*.yaml), `reasons` the stop reasons
    that were stated, the last one last."""

    __slots__ = ("anomalies", "dialect", "limits", "note", "reasons", "stepper")

    def __init__(self, stepper: BaseStepper, limits: Limits) -> None:
        self.stepper = stepper
        self.limits = limits
        self.anomalies = Anomalies(limits.anomalies)
        self.note = self.anomalies.note
        self.dialect: dict[str, Any] = T.DIALECTS["canonical"]
        self.reasons: dict[str, None] = {}

    def handle(self, ev: NormalizedEvent) -> None:
        """Take any normalized event."""
        raise NotImplementedError

    def delta(self, event: int, index: int | None, text: Any) -> None:
        """Take TEXT_DELTA, THINKING_DELTA or TOOL_INPUT_DELTA with this text, a `str` or a `ValueText`, which is not empty: the hot path."""
        raise NotImplementedError

    def owner(self, event: int, index: int | None) -> Any:
        """The open block that a bare delta goes to, or None if that takes a decision."""
        raise NotImplementedError
