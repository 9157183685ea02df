"""What a caller can see go wrong.

`FsmError` is the base of everything this package raises. Misuse (feeding after the end, wrong types, an unknown
dialect, a bad schema) raises at once and names the right call. What the peer sends never raises from `feed` or
`end`: it becomes `Outcome.error`, and `Outcome.raise_for_state()` raises the matching `StreamError` for callers who want
that.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from fsm import _tables as T

ADVICE = {
    "backoff": "retry the request with backoff",
    "rate_limit": "wait as the provider's rate limit says, then retry",
    "never": "do not retry the same request; surface the error",
    "unknown": "nothing is known about a retry; decide by the message",
}


class FsmError(Exception):
    """Base class of every exception of this package."""


class MisuseError(FsmError):
    """The package was called in a way it cannot serve (R-83); the message names the right call."""


class OptionError(MisuseError, ValueError):
    """An option has a value that it cannot have."""


class SchemaError(MisuseError, ValueError):
    """A tool was registered with a JSON Schema that is none."""


class UnknownDialectError(MisuseError, ValueError):
    """No dialect has that name."""


class UnknownEngineError(MisuseError, ValueError):
    """No engine has that name, or it is not built here."""


def did_you_mean(word: object, words: Iterable[str]) -> str:
    """`; did you mean 'anthropic'?`, for a sentence about a name that nobody has; empty where none is like it."""
    from difflib import get_close_matches

    like = get_close_matches(word, list(words), 1) if isinstance(word, str) else []
    return f"; did you mean {like[0]!r}?" if like else ""


@dataclass(frozen=True, slots=True)
class ErrorInfo:
    """Why a stream did not complete.

    type:    the vendor's own word, or ours (`incomplete_stream`, `content_overflow`, `idle_timeout`, …).
    message: what happened and where.
    retry:   "backoff", "rate_limit", "never" or "unknown" (R-90, spec/errors.yaml).
    code:    the vendor's code where it differs from the type.
    offset:  byte offset of the event in the response body.
    event:   number of that event, from 1; 0 when no event was seen.
    state:   the state in which it happened, e.g. "STREAMING.tool".
    block:   number of the block that was pending, or None.
    """

    type: str
    message: str
    retry: str
    code: str | None = None
    offset: int = 0
    event: int = 0
    state: str = "INITIALIZING"
    block: int | None = None

    @property
    def advice(self) -> str:
        """The retry advice as a sentence."""
        return ADVICE[self.retry]

    def to_dict(self) -> dict[str, Any]:
        """As in the outcome's JSON: type, message and retry, and code where there is one."""
        out: dict[str, Any] = {"type": self.type, "message": self.message, "retry": self.retry}
        if self.code is not None:
            out["code"] = self.code
        return out


def classify(*codes: str | None) -> tuple[str, str]:
    """(class, retry) of the first code that spec/errors.yaml knows (R-90); ("unknown", "unknown") without one."""
    for code in codes:
        if code is not None:
            known = T.ERROR_CODES.get(code) or T.ERROR_CODES.get(code.lower())
            if known is not None:
                return known, T.ERROR_CLASSES[known]
    return "unknown", "unknown"


class StreamError(FsmError):
    """The stream ended without a whole message. `info` says why, `partial`, a fsm.Partial, holds what came, marked invalid.

    Its kinds: StreamErrored, StreamCancelled, StreamTimedOut, one for each final state but COMPLETED.
    """

    def __init__(self, info: ErrorInfo, partial: Any = None) -> None:
        where = f"in state {info.state}" + (f", block {info.block}" if info.block is not None else "")
        super().__init__(f"{info.type}: {info.message} ({where}, event {info.event}, byte {info.offset}); {info.advice}")
        self.info = info
        self.partial = partial

    @property
    def state(self) -> str:
        return self.info.state

    @property
    def block(self) -> int | None:
        return self.info.block

    @property
    def offset(self) -> int:
        return self.info.offset

    @property
    def retry(self) -> str:
        return self.info.retry


class StreamErrored(StreamError):
    """The upstream sent an error, broke the protocol, or went away."""


class StreamCancelled(StreamError):
    """The caller or a limit ended the stream."""


class StreamTimedOut(StreamError):
    """A deadline passed."""
