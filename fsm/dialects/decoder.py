"""From wire events to the dialect: JSON, detection, and bodies that are no event stream.

The reader knows bytes and JSON objects. What they mean to a vendor is the dialect's, what they do to the message the
accumulator's.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

from fsm import _tables as T
from fsm import dialects
from fsm.framing import shapes
from fsm.sink import Sink
from fsm.values.arguments import depth_of, read
from fsm.dialects.base import Dialect
from fsm.dialects.failures import error_event
from fsm.model.events import NormalizedEvent
from fsm.framing.sse import BOM, Frame

MAX_ODD_DEPTH = 256  # nesting of a payload that only the slower parser reads
_DONE = b"[DONE]"
_FIELDS = (b"event: ", b"data: ")
HEAD = 200  # bytes of a body that is no event stream, shown in the error


class Reader:
    """Decodes the wire events of one stream. `useful` counts those that said something."""

    __slots__ = ("_acc", "_anomalies", "_choice", "_foreign", "_frames", "_head", "_new_frames", "_new_recent", "_refused", "_serial", "_skip_bad",
                 "curious", "dialect", "keepalives", "name", "recent", "shape", "sniffed", "useful")

    def __init__(self, acc: Sink, dialect: str, choice: int, skip_bad: bool, new_recent: Callable[[], Any],
                 new_frames: Callable[..., Any] | None) -> None:
        self._acc = acc
        self._anomalies = acc.anomalies
        self._new_recent = new_recent
        self._new_frames = new_frames
        self._frames: Any = None  # of the compiled engine: what takes whole events apart for the dialect (_speedups/frames.pxi)
        self._choice = choice
        self._skip_bad = skip_bad
        self._head = b""
        self._foreign: str | None = None
        self.name = dialect
        self.dialect: Dialect | None = None
        self._refused = False
        self.curious = True  # `look` wants to see what comes
        self.sniffed = False  # the first bytes were seen and begin an event stream
        self.shape: str | None = None  # which framing they need (a key of `shapes.SHAPES`), None for the usual one
        self.useful = 0
        self.keepalives = 0
        self._serial = ""  # the key of the wire's own chunk number
        self.recent: Any = None  # the last numbered events, where the wire numbers them
        if self.name != dialects.AUTO:
            self._choose(self.name)

    def _choose(self, name: str) -> Dialect:
        make, number, table, serial, frames = dialects.wire(name)
        self.name = name
        self.dialect = made = make(self._acc, self._choice)
        self._acc.dialect = table
        if serial:
            self._serial = serial
            self.recent = self._new_recent()
        if frames and self._new_frames is not None and self._choice == 0:
            self._frames = self._new_frames(number, made, frames)
        return made

    # ------------------------------------------------------------ the first bytes

    def look(self, data: bytes) -> bytes:
        """Look at the first bytes while `curious`; returns what of them is to be parsed now.

        A body that begins like markup or compressed bytes is no event stream: it ends as ERRORED, with its beginning
        in the message, once enough of it is there to show, and nothing behind that is read. The beginning is kept also
        of a body that gives no event.
        One that needs another framing than lines says so in `shape`, before any of it is given out.
        """
        if not self._head and data.startswith(_FIELDS):  # as most bodies do
            self._head = data[:HEAD]
            self.sniffed = True
            return data
        undecided = self._foreign is None and not self.sniffed
        held = self._head if undecided else b""
        self._head += data[: HEAD - len(self._head)]
        if undecided:
            first = self._head.removeprefix(BOM).lstrip()[:4]
            self.shape = shapes.shape_of(self._head)
            if self.shape == shapes.UNDECIDED and len(self._head) < HEAD:
                return b""
            if first[:1] == b"<":
                self._foreign = "not_event_stream"
            elif first[:2] == b"\x1f\x8b" or first == b"\x28\xb5\x2f\xfd":
                self._foreign = "compressed_body"
            elif first and not (len(first) < 4 and (b"\x1f\x8b".startswith(first) or b"\x28\xb5\x2f\xfd".startswith(first))):
                self.sniffed = True
            elif len(self._head) < HEAD:
                return b""
            else:
                self.sniffed = True  # nothing but blank space so far
        if self._foreign is None:
            return held + data
        if len(self._head) == HEAD:
            self._refuse_foreign()
        return b""

    def known(self) -> None:
        """An event came: this is an event stream, and its beginning will not be shown."""
        self.curious = False
        self._head = b""

    def _refuse_foreign(self) -> None:
        if self._refused:
            return
        self._refused = True
        hint = {"not_event_stream": "it begins like a page of markup; look at the URL, the proxy and the status code",
                "compressed_body": "it is compressed; let the HTTP client decode Content-Encoding"}[self._foreign or ""]
        self._acc.note("body_not_stream", hint)
        self._acc.handle(NormalizedEvent(T.ERROR, kind=self._foreign, message=f"the body is no event stream: {hint}. It begins with {self._head!r}"))

    def flush(self) -> None:
        """The stream ends or breaks here: what the dialect held back is said."""
        if self.dialect is not None:
            self.dialect.flush()

    def owner(self, event: int, index: int | None) -> Any:
        """The open block that takes a bare delta of the wire as it is, or None if that takes a decision.

        What the compiled engine asks before it appends by itself.
        """
        dialect = self.dialect
        if dialect is None or dialect.holds or (event == T.TEXT_DELTA and not dialect.direct):
            return None
        return self._acc.owner(event, dialect.address(event, index))

    def pushed(self) -> None:
        """A normalized event was pushed by hand: it is in the canonical dialect unless another was named."""
        self.useful += 1
        if self.dialect is None:
            self._choose("canonical")

    def end(self) -> None:
        """The input is over."""
        acc = self._acc
        if self._foreign is not None:
            self._refuse_foreign()
            return
        self.flush()
        if acc.stepper.state in T.FINAL:
            return
        if acc.anomalies.event == 0 and not self.useful:
            kind = "not_event_stream" if self._head.strip() else "empty_body"
            message = f"no event in the body, which begins with {self._head!r}" if self._head.strip() else "the body is empty"
        else:
            kind, message = "incomplete_stream", "the connection ended before the message did; nothing here may be taken for complete"
        acc.handle(NormalizedEvent(T.EOF, kind=kind, message=message))

    # ------------------------------------------------------------ wire events

    def take(self, frame: Frame, number: int) -> None:
        """Decode one wire event, the `number`th of the stream, and hand it on."""
        event, data, offset, cut = frame
        anomalies = self._anomalies
        anomalies.offset = offset
        anomalies.event = number
        if data is None:
            self._acc.handle(NormalizedEvent(T.OVERFLOW, reason="event_overflow",
                                             message=f"one event is longer than Limits.event_bytes = {self._acc.limits.event_bytes}"))
            return
        if self._frames is not None and (said := self._frames.read(data)) is not None:
            if said:
                self.useful += 1
            else:
                self.keepalives += 1
            return
        if data == _DONE:  # what most streams end with need not be refused by the JSON parser first
            payload = self._odd(event, data, cut)
        else:
            try:
                payload = read(data)
            except ValueError:
                payload = self._odd(event, data, cut)
        dialect = self.dialect
        if type(payload) is not dict:
            self._no_object(payload, event, data)
        elif dialect is None and (inner := unwrapped(payload)) is not None:
            self.take((None, inner, offset, cut), number)
        elif dialect is not None or (dialect := self._find_out(payload, event, data)) is not None:
            if self.recent is not None and self._again(payload, data):
                return
            told = dialect.decode(payload, event, data)
            if told:
                self.useful += 1
            elif told is None and (inner := unwrapped(payload)) is not None:
                self.take((None, inner, offset, cut), number)
            else:
                self.keepalives += 1
                if told is None:
                    anomalies.note("unknown_event", f"{event or payload.get('type') or 'data'}: {data[:80]!r}")

    def _again(self, payload: dict[str, Any], data: bytes) -> bool:
        """Whether the wire's own number and the payload are those of an event just seen (rule 16)."""
        number = payload.get(self._serial)
        if type(number) is not int or number <= 0 or not self.recent.again(number, data):
            return False
        self.keepalives += 1
        self._acc.note("duplicate_event", f"event {number} came again: {data[:80]!r}")
        return True

    def _no_object(self, payload: Any, event: str | None, data: bytes) -> None:
        """A list stands for its objects; any other value says nothing."""
        if isinstance(payload, list):
            for item in payload:
                if isinstance(item, dict) and (self.dialect is not None or self._find_out(item, event, data) is not None):
                    assert self.dialect is not None
                    self.useful += bool(self.dialect.decode(item, event, data))
        elif payload is not None:
            self._acc.note("unknown_event", f"data is no object: {data[:80]!r}")

    def _find_out(self, payload: dict[str, Any], event: str | None, data: bytes) -> Dialect | None:
        """The dialect, from the first event that tells it."""
        found = dialects.detect(payload, event)
        if found is not None:
            return self._choose(found)
        self.keepalives += 1
        self._acc.note("unknown_event", f"nothing tells the dialect yet: {data[:80]!r}")
        return None

    def _odd(self, event: str | None, data: bytes, cut: bool) -> Any:
        """Data that orjson refuses: lone surrogates and bad UTF-8 are mended, a word may mean something, the rest is lost."""
        acc = self._acc
        bare = data.strip()
        if bare[:1] in (b"{", b"[") and bare != _DONE:
            try:
                return self._mended(data)
            except (ValueError, RecursionError) as e:
                self._bad(data, cut, str(e))
                return None
        if self.dialect is None and bare == _DONE:
            self._choose("openai-chat")
        if self.dialect is not None and self.dialect.word(data):
            self.useful += 1
            return None
        if event == "error" and acc.stepper.state not in T.FINAL:
            acc.handle(error_event(bare.decode("utf-8", "replace"), "error"))
            return None
        self.keepalives += 1
        acc.note("not_json", f"{event or 'data'}: {data[:80]!r}")
        return None

    def _mended(self, data: bytes) -> Any:
        try:
            text = data.decode()
        except UnicodeDecodeError:
            text = data.decode("utf-8", "replace")
            self._acc.note("invalid_utf8", f"{data[:80]!r}")
        if depth_of(text, MAX_ODD_DEPTH) >= MAX_ODD_DEPTH:
            raise ValueError("nested too deeply")
        return json.loads(text, parse_constant=_refuse)  # surrogate halves stay: two deltas may hold one pair

    def _bad(self, data: bytes, cut: bool, why: str) -> None:
        acc = self._acc
        acc.note("bad_json", f"{why}: {data[:80]!r}")
        if self._skip_bad or acc.stepper.state in T.FINAL or (cut and acc.reasons):
            return
        self.flush()
        if cut:
            acc.handle(NormalizedEvent(T.ERROR, kind="incomplete_stream", message=f"the connection ended inside an event: {data[-80:]!r}"))
        else:
            acc.handle(NormalizedEvent(T.ERROR, kind="bad_payload", message=f"an event was lost, since its JSON does not parse ({why}): {data[:120]!r}"))


def unwrapped(payload: dict[str, Any]) -> bytes | None:
    """The event inside `{"chunk": {"bytes": "<base64>"}}` or `{"bytes": …}` (Bedrock InvokeModel), or None."""
    chunk = payload.get("chunk", payload)
    data = chunk.get("bytes") if isinstance(chunk, dict) else None
    if not isinstance(data, str):
        return None
    try:
        return base64.b64decode(data, validate=True)
    except ValueError:
        return None


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON")
