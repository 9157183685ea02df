"""What comes out: `Message`, `Partial`, `Anomaly`, `Outcome`, and their JSON form, which is a stable contract."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

from fsm.model.signature import Signed
from fsm.model.errors import ErrorInfo, StreamCancelled, StreamErrored, StreamTimedOut, MisuseError
from fsm.model.usage import Usage

if TYPE_CHECKING:
        from fsm.model.metrics import Metrics


class StreamState(StrEnum):
    """The six states of a stream (R-83). The sub-state of STREAMING is `Reconstructor.pending`."""

    INITIALIZING = "INITIALIZING"
    STREAMING = "STREAMING"
    COMPLETED = "COMPLETED"
    CANCELLED = "CANCELLED"
    ERRORED = "ERRORED"
    TIMED_OUT = "TIMED_OUT"


class History(NamedTuple):
    """What `Message.to_request` gives.

    entries: what goes into the request's list of messages (Responses: its `input` items), JSON-ready; empty if nothing
             is left to send.
    dropped: a sentence for each thing that is not sent, or not as it was; empty if nothing was lost.
    ids:     the call ids that the vendor refuses -> what they are sent as. The results need the same.
    """

    entries: list[dict[str, Any]]
    dropped: list[str]
    ids: dict[str, str]


#: what writes a message as history: `fsm.history.request`, which comes later than a noun, puts it here
writing: Callable[[Message, str | None], History] | None = None


@dataclass(init=False)
class Message:
    """A whole assistant message (R-01).

    content:         Anthropic-shaped blocks: text, thinking (+signature), redacted_thinking, tool_use (+invalid and
                     raw_input when it must not run), refusal, and vendor blocks carried through.
    stop_reason:     end_turn, tool_use, max_tokens, stop_sequence, refusal, pause_turn, content_filter, or None where
                     the upstream's word has no canonical one. It follows from the content.
    raw_stop_reason: the upstream's own word.
    dropped_calls:   the calls that a max-tokens stop dropped (R-62).
    dialect:         whose stream it was, so whose signatures and vendor blocks it holds; None if nobody said.
    arguments:       id of a valid call -> its arguments as the text that was received, where the vendor's request takes
                     text and `orjson.dumps` of the input is another; not of calls whose ids were made up.
    """

    __signature__ = Signed()

    content: list[dict[str, Any]] = field(default_factory=list)
    id: str | None = None
    model: str | None = None
    stop_reason: str | None = None
    raw_stop_reason: str | None = None
    usage: Usage = field(default_factory=Usage)
    dropped_calls: list[dict[str, Any]] = field(default_factory=list)
    role: str = "assistant"
    dialect: str | None = None
    arguments: dict[str, str] = field(default_factory=dict)

    def __init__(self, content: list[dict[str, Any]] | None = None, id: str | None = None, model: str | None = None, stop_reason: str | None = None,
                 raw_stop_reason: str | None = None, usage: Usage | None = None, dropped_calls: list[dict[str, Any]] | None = None,
                 role: str = "assistant", dialect: str | None = None, arguments: dict[str, str] | None = None) -> None:
        # by hand, since one is made per stream: what a dataclass generates takes ten times as long
        self.content = [] if content is None else content
        self.id = id
        self.model = model
        self.stop_reason = stop_reason
        self.raw_stop_reason = raw_stop_reason
        self.usage = Usage() if usage is None else usage
        self.dropped_calls = [] if dropped_calls is None else dropped_calls
        self.role = role
        self.dialect = dialect
        self.arguments = {} if arguments is None else arguments

    @property
    def text(self) -> str:
        """The text blocks, joined."""
        return "".join(b["text"] for b in self.content if b["type"] == "text")

    @property
    def thinking(self) -> str:
        """The thinking blocks, joined."""
        return "".join(b["thinking"] for b in self.content if b["type"] == "thinking")

    @property
    def tool_calls(self) -> list[dict[str, Any]]:
        """The calls that may run, in order."""
        return [b for b in self.content if b["type"] == "tool_use" and not b.get("invalid")]

    @property
    def invalid_calls(self) -> list[dict[str, Any]]:
        """The calls that need a result but must not run (R-47)."""
        return [b for b in self.content if b["type"] == "tool_use" and b.get("invalid")]

    def to_request(self, dialect: str | None = None) -> History:
        """The message as the history of a request to `dialect`; None means the message's own (R-01).

        Exact for the message's own vendor; for another, `dropped` names what is lost. See `fsm.History`, `fsm/history/request.py`.
        Raises UnknownDialectError, and MisuseError for a partial or where no dialect is known.
        """
        assert writing is not None, "fsm.history.request gives it"
        return writing(self, dialect)

    def to_dict(self) -> dict[str, Any]:
        """The message as JSON-ready data; `from_dict` gives it back (R-01)."""
        data = {"role": self.role, "id": self.id, "model": self.model, "content": self.content, "stop_reason": self.stop_reason,
                "raw_stop_reason": self.raw_stop_reason, "usage": self.usage.to_dict(), "dropped_calls": self.dropped_calls, "dialect": self.dialect}
        beside = {"arguments": self.arguments, "usage_source": self.usage.source()}
        return data | {key: value for key, value in beside.items() if value}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Message:
        """The inverse of `to_dict`. The data of a partial gives a Partial, never a message (R-85)."""
        kind = Partial if data.get("valid") is False else cls
        return kind(content=data["content"], id=data.get("id"), model=data.get("model"), stop_reason=data.get("stop_reason"),
                    raw_stop_reason=data.get("raw_stop_reason"), usage=Usage.from_dict(data.get("usage") or {}, **data.get("usage_source") or {}),
                    dropped_calls=data.get("dropped_calls") or [], role=data.get("role", "assistant"), dialect=data.get("dialect"),
                    arguments=data.get("arguments") or {})


@dataclass(init=False)
class Partial(Message):
    """What came of a message that did not complete. Never to be taken for one (R-85): every call is `invalid`."""

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "valid": False}

    def to_request(self, dialect: str | None = None) -> History:
        """Raises MisuseError: what did not complete is no history (R-85)."""
        raise MisuseError("a partial is no history: send the request again without it, or quote its text in a message of the user")


@dataclass(frozen=True, slots=True)
class Anomaly:
    """A deviation that was survived: `kind` from the closed list in spec/stream.yaml, where, and what was done."""

    kind: str
    offset: int
    event: int
    detail: str

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "offset": self.offset, "event": self.event, "detail": self.detail}


class Anomalies(list):  # type: ignore[type-arg]  # of Anomaly; a compiled class has no parameters
    """The anomalies kept (the first `Limits.anomalies`); `counts` has all of them by kind, `total` their number.

    `offset` and `event` are those of the wire event in hand, which is where the next one will be noted.
    """

    __signature__ = Signed()

    __slots__ = ("_limit", "counts", "event", "offset")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.counts: dict[str, int] = {}
        self.offset = 0
        self.event = 0

    def note(self, kind: str, detail: str) -> None:
        """Record an anomaly at the wire event in hand."""
        self.counts[kind] = self.counts.get(kind, 0) + 1
        if len(self) < self._limit:
            self.append(Anomaly(kind, self.offset, self.event, detail))

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    def __reduce__(self) -> tuple[Any, ...]:
        return _anomalies, (self._limit, list(self), self.counts, self.offset, self.event)


def _anomalies(limit: int, kept: list[Anomaly], counts: dict[str, int], offset: int, event: int) -> Anomalies:
    """Anomalies as they were pickled: of a compiled list the class alone would keep nothing in it."""
    found = Anomalies(limit)
    found.extend(kept)
    found.counts, found.offset, found.event = counts, offset, event
    return found


_RAISED = {"CANCELLED": StreamCancelled, "ERRORED": StreamErrored, "TIMED_OUT": StreamTimedOut}


class Outcome:
    """The end of a stream.

    state:     a StreamState, one of the four final ones.
    dialect:   its dialect's name; "auto" if nothing told which it is.
    message:   the whole Message if `state` is COMPLETED, else None.
    partial:   what came of it if it did not complete, a Partial, else None.
    error:     why it did not complete, an ErrorInfo, else None.
    anomalies: what was survived, a list of Anomaly with `counts` and `total`.
    metrics:   a Metrics.
    """

    __signature__ = Signed()

    __slots__ = ("anomalies", "dialect", "error", "message", "metrics", "partial", "state")

    def __init__(self, state: StreamState, dialect: str, message: Message | None, partial: Partial | None,
                 error: ErrorInfo | None, anomalies: Anomalies, metrics: Metrics) -> None:
        self.state = state
        self.dialect = dialect
        self.message = message
        self.partial = partial
        self.error = error
        self.anomalies = anomalies
        self.metrics = metrics

    @property
    def completed(self) -> bool:
        return self.message is not None

    def raise_for_state(self) -> Message:
        """The whole message. Raises StreamErrored, StreamCancelled or StreamTimedOut when there is none (R-31, R-85)."""
        if self.message is None:
            assert self.error is not None
            raise _RAISED[self.state](self.error, self.partial)
        return self.message

    def to_dict(self) -> dict[str, Any]:
        """The stable JSON form (DESIGN section 6)."""
        return {"state": str(self.state), "dialect": self.dialect,
                "message": None if self.message is None else self.message.to_dict(),
                "partial": None if self.partial is None else self.partial.to_dict(),
                "error": None if self.error is None else self.error.to_dict(),
                "anomalies": [a.to_dict() for a in self.anomalies], "metrics": self.metrics.to_dict()}

    def __eq__(self, other: object) -> bool:
        """By value: everything but the metrics, which are measurements of a run."""
        if not isinstance(other, Outcome):
            return NotImplemented
        return (self.state, self.dialect, self.message, self.partial, self.error, list(self.anomalies)) == (
            other.state, other.dialect, other.message, other.partial, other.error, list(other.anomalies))

    __hash__ = None  # type: ignore[assignment]  # it holds lists and dictionaries

    def __repr__(self) -> str:
        what = f"{len(self.message.content)} blocks" if self.message is not None else f"error={self.error.type!r}" if self.error else ""
        return f"<Outcome {self.state} {self.dialect} {what}>"
