"""The facade: bytes in, events and an outcome out. Limits, clocks and metrics live here; no I/O does.

One source for both engines: `_engine` gives the twinned parts, everything else is the same Python.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

from fsm.model.signature import Signed
from fsm import dialects
from fsm import _engine
from fsm.framing import shapes
from fsm.rebuild import preview
from fsm import _tables as T
from fsm.rebuild.accumulator import Accumulator
from fsm.model.errors import ErrorInfo, OptionError, MisuseError, did_you_mean
from fsm.model.events import Event, NormalizedEvent
from fsm.model.limits import Limits, Timeouts
from fsm.model.message import Anomalies, Outcome, Partial, StreamState
from fsm.model.metrics import Metrics
from fsm.parts import BaseFraming, Meter
from fsm.dialects.decoder import Reader
from fsm.rebuild.preview import Pending
from fsm.model.registry import ToolRegistry
from fsm.model.usage import Usage

Body = bytes | bytearray | memoryview
DELTAS = ("none", "chunk", "each")


class Reconstructor:
    """Rebuilds one message from the raw bytes of one streaming response.

    dialect:  one of `fsm.dialects.DIALECTS` ("anthropic", "openai-chat", …), or "auto" (from the first telling event).
    tools:    a ToolRegistry, a mapping name -> JSON Schema, or a vendor's list of tools; None takes any name unchecked.
    limits:   default `Limits()`.
    timeouts: default `Timeouts()`; judged by `tick`.
    deltas:   "none" (finished blocks and the end only), "chunk" (what one `feed` adds to a block, or to the usage, is one event; default),
              "each" (one event per wire delta).
    observer: an object whose `on_enter_<STATE>`/`on_exit_<STATE>` are called at each change of state.
    clock:    seconds, for metrics and timeouts, such as `time.monotonic`; None (default) reads no clock.
    engine:   None (the best there is), "python", "compiled"; for tests and benchmarks "scan" (compiled without templates) and "slow"
              (compiled framing and buffers, Python dialect).
    choice:   which of several choices or candidates is rebuilt; default 0.
    on_bad_event: what an event does whose JSON does not parse: "error" (default) ends the stream, "skip" counts it.

    Raises MisuseError for values outside these. What the peer sends never raises (DESIGN section 8). What a callback of `observer` raises
    comes out of the call that led to it, once, when the stream is consistent again: nothing is lost, what that call had to tell is returned by
    the next one. It belongs to one thread at a time: a call within another one raises MisuseError where that is seen.
    """

    __signature__ = Signed()

    __slots__ = ("__weakref__", "_acc", "_armable", "_armed", "_busy", "_bytes", "_chunks", "_clock", "_dated",
                 "_deltas", "_framing", "_last_bytes", "_last_progress", "_metrics", "_observed", "_outcome",
                 "_parts", "_reader", "_setup", "_t0", "_unbound", "_useful", "timeouts")

    def __init__(self, dialect: str = "auto", tools: Any = None, limits: Limits | None = None, timeouts: Timeouts | None = None, deltas: str = "chunk",
                 observer: Any = None, clock: Callable[[], float] | None = None, engine: str | None = None, *, choice: int = 0,
                 on_bad_event: str = "error") -> None:
        _one_of("deltas", deltas, DELTAS)
        _one_of("on_bad_event", on_bad_event, ("error", "skip"))
        if limits is not None and not isinstance(limits, Limits):
            raise OptionError(f"limits is a fsm.Limits, such as fsm.Limits(content_bytes=1 << 22), not {limits!r}")
        if timeouts is not None and not isinstance(timeouts, Timeouts):
            raise OptionError(f"timeouts is a fsm.Timeouts, such as fsm.Timeouts(total=60), not {timeouts!r}")
        if type(choice) is not int or choice < 0:
            raise OptionError(f"choice is the number of an answer, from 0 on, not {choice!r}")
        if clock is not None and not callable(clock):
            raise OptionError(f"clock is a function that gives seconds, such as time.monotonic, not {clock!r}")
        self.timeouts = timeouts or _DEFAULT_TIMEOUTS
        self._parts = parts = _engine.engine(engine)
        self._setup: tuple[str, ToolRegistry | None, Limits, int, bool] | None = (
            dialects.check(dialect), ToolRegistry.of(tools), limits or _DEFAULT_LIMITS, choice, on_bad_event == "skip")
        self._deltas = deltas
        self._unbound = parts.shortcut is not None and choice == 0
        self._armable = self._unbound and clock is None
        self._armed: BaseFraming | None = None  # what takes the bytes by itself, once nothing unusual is to be expected any more
        self._chunks = self._bytes = 0
        self._outcome: Outcome | None = None
        self._clock = clock
        self._t0 = self._last_bytes = self._last_progress = None if clock is None else clock()
        self._dated: tuple[int, int] | None = (0, 0)  # chunks and useful events at the last reading of a clock
        self._useful = 0
        self._busy = False
        self._observed: Any = None
        if observer is not None:
            from fsm.machine import Observed

            self._observed = Observed(observer)
            self._armable = False  # what its callbacks raise is raised by `_feed`

    def _begin(self) -> None:
        """Make the stream's objects, when they are first needed.

        A farm holds thousands of reconstructors whose upstream has not said a word yet.
        """
        if self._setup is None:
            return
        dialect, registry, limits, choice, skip_bad = self._setup
        self._setup = None
        parts = self._parts
        self._metrics = Metrics()
        self._acc = Accumulator(parts.stepper(self._observed), Meter(), parts.buffer, registry, limits, self._deltas)
        self._reader = Reader(self._acc, dialect, choice, skip_bad, parts.recent, parts.frames)
        self._framing = parts.framing(limits.event_bytes)

    def _bind(self) -> None:
        """As soon as the dialect is known, let the engine take bare deltas by itself."""
        if self._unbound and self._reader.dialect is not None:
            self._unbound = False
            parts = self._parts
            assert parts.shortcut is not None
            self._framing.bind(parts.shortcut(self._reader, self._acc, self._deltas, parts.learn))

    def _reframe(self, shape: shapes.Shape) -> None:
        """The first bytes need another framing, which is one source for both engines and has no short cut."""
        self._reader.shape = None
        self._framing = shape(self._acc.limits.event_bytes, self._parts.framing)
        self._unbound = self._armable = False

    # ------------------------------------------------------------ input

    def feed(self, data: Body, /) -> list[Event]:
        """Take the next bytes of the body, cut anywhere; returns what they tell, in order.

        Raises MisuseError after `end()` and for anything that is not bytes.
        """
        armed = self._armed
        if armed is None or type(data) is not bytes:
            return self._feed(data)
        chunk = data  # which is now known to be bytes (reconstructor.pxd)
        self._chunks += 1
        self._bytes += len(chunk)
        return armed.fed(chunk)

    def _feed(self, data: Body) -> list[Event]:
        """What `feed` does wherever the engine cannot do it by itself."""
        if self._outcome is not None:
            raise MisuseError("feed() after end(): the outcome is final; make a new Reconstructor for the next response")
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise MisuseError(f"feed() takes bytes as they come from the network, not {type(data).__name__}; do not decode them before")
        self._enter("feed")
        try:
            return self._take(data)
        finally:
            self._busy = False

    def _enter(self, call: str) -> None:
        """A call begins that changes the stream. Raises MisuseError within another one."""
        if self._busy:
            raise MisuseError(f"{call}() was called while another call on this Reconstructor was at work: from one of its observer's callbacks, "
                             "or from another thread. Let that call return first; a Reconstructor belongs to one thread at a time")
        self._busy = True

    def _take(self, data: Body) -> list[Event]:
        if self._setup is not None:
            self._begin()
        reader, size = self._reader, len(data)
        self._chunks += 1
        self._bytes += size
        if reader.curious:
            data = reader.look(bytes(data))
            if reader.shape in shapes.SHAPES:
                self._reframe(shapes.SHAPES[reader.shape])
            if self._unbound:
                self._bind()
            if self._armable and not self._unbound and len(data) == size:
                return self._first(data)
        framing = self._framing
        for frame in framing.receive(data):
            reader.take(frame, framing.events)
            if self._unbound:
                self._bind()
        if reader.curious and framing.events:
            reader.known()
        if self._armable and not self._unbound and not reader.curious:
            self._armed = framing  # nothing unusual is to be expected any more
        return self._acc.flush() if self._clock is None and self._observed is None else self._told()

    def _first(self, data: bytes) -> list[Event]:
        """Let the engine have bytes that may hold the first event: without one the next bytes are looked at, too."""
        framing: BaseFraming = self._framing
        told: list[Event] = framing.fed(data)
        if self._framing.events:
            self._reader.known()
            self._armed = framing
        return told

    def push(self, event: NormalizedEvent | dict[str, Any]) -> list[Event]:
        """Take one normalized event from a wire layer of your own, as an object or in its canonical JSON form.

        Raises MisuseError after `end()` and for an unknown event.
        """
        if self._outcome is not None:
            raise MisuseError("push() after end(): the outcome is final; make a new Reconstructor for the next message")
        if isinstance(event, dict):
            event = NormalizedEvent.from_dict(event)
        elif isinstance(event, NormalizedEvent):
            event = event.checked().normalized()
        else:
            raise MisuseError(f"push() takes a NormalizedEvent or its JSON form, not {type(event).__name__}")
        self._enter("push")
        try:
            self._begin()
            self._stand_here()
            self._reader.pushed()
            self._acc.handle(event)
            return self._told()
        finally:
            self._busy = False

    def end(self) -> list[Event]:
        """The connection is closed: settle what is open; returns what that tells. `outcome` is there from now on.

        Called again, it tells nothing more.
        """
        if self._outcome is None:
            self._enter("end")
            try:
                self._begin()
                self._armed = None
                for frame in self._framing.end():
                    self._reader.take(frame, self._framing.events)
                self._stand_here()
                self._reader.end()
                self._finish()
                if self._observed is not None:
                    self._observed.settle()  # before anything is given out: the next call does
            finally:
                self._busy = False
        return self._acc.flush()

    def cancel(self, reason: str = "cancelled") -> list[Event]:
        """Stop here (R-84): the state is CANCELLED unless it is final already, all partial state is invalid (R-85)."""
        if not isinstance(reason, str):
            raise OptionError(f"cancel() takes a reason in words, not {reason!r}")
        self._enter("cancel")
        try:
            self._begin()
            self._stand_here()
            self._reader.flush()
            self._acc.handle(NormalizedEvent(T.CANCEL, kind="cancelled", message=f"cancelled by the caller: {reason}"))
            if self.state is StreamState.CANCELLED and self._metrics.cancellation_reason is None:
                self._metrics.cancellation_reason = reason
            return self._told()
        finally:
            self._busy = False

    def _stand_here(self) -> None:
        """Something happens that is no wire event: it happens behind the last byte."""
        self._framing.interrupted()
        self._acc.anomalies.offset = self._bytes
        self._acc.anomalies.event = self._framing.events

    # ------------------------------------------------------------ clocks

    def tick(self, now: float | None = None) -> list[Event]:
        """Judge the deadlines at `now` (seconds on the caller's clock; default a reading of `clock`).

        Raises MisuseError without either.
        """
        if now is None:
            if self._clock is None:
                raise MisuseError("tick() needs a time: pass now=, or give the Reconstructor a clock")
            now = self._clock()
        if type(now) not in (int, float):
            raise OptionError(f"tick() takes seconds, not {now!r}")
        self._enter("tick")
        try:
            return self._judge(now)
        finally:
            self._busy = False

    def _judge(self, now: float) -> list[Event]:
        self._begin()
        self._see(now)
        if self._acc.stepper.state in T.FINAL:
            return []
        for deadline, reason, what in self._deadlines():
            if now >= deadline:
                self._stand_here()
                self._reader.flush()
                self._acc.handle(NormalizedEvent(T.TIMEOUT, reason=reason, message=what))
                if self._metrics.cancellation_reason is None:
                    self._metrics.cancellation_reason = reason
                break
        return self._told(now)

    def next_deadline(self) -> float | None:
        """When `tick` is to be called at the latest, on the caller's clock; None when nothing is pending."""
        self._begin()
        if self._t0 is None or self._acc.stepper.state in T.FINAL:
            return None
        return min((d for d, _reason, _what in self._deadlines()), default=None)

    def _deadlines(self) -> Iterable[tuple[float, str, str]]:
        t = self.timeouts
        if self._t0 is None or self._last_bytes is None or self._last_progress is None:
            return
        if t.total is not None:
            yield self._t0 + t.total, "total_timeout", f"the stream took longer than {t.total} s"
        if not self._useful:
            if t.first_event is not None:
                yield self._t0 + t.first_event, "first_event_timeout", f"no event in the first {t.first_event} s"
        elif t.progress is not None:
            yield self._last_progress + t.progress, "progress_timeout", f"nothing but keepalives for {t.progress} s"
        if t.idle is not None and self._chunks:
            yield self._last_bytes + t.idle, "idle_timeout", f"no bytes for {t.idle} s"

    def _see(self, now: float) -> None:
        """A clock reading: date what happened since the last one."""
        if self._t0 is None:
            self._t0 = self._last_bytes = self._last_progress = now
        seen = (self._chunks, self._reader.useful)
        if seen == self._dated:
            return
        self._dated = seen
        metrics, acc = self._metrics, self._acc
        assert self._last_bytes is not None
        elapsed = (now - self._t0) * 1000
        if self._chunks > 1:
            metrics.idle_max_gap_ms = max(metrics.idle_max_gap_ms or 0.0, (now - self._last_bytes) * 1000)
        self._last_bytes = now
        useful = self._reader.useful + self._framing.appended
        if useful != self._useful:
            self._useful = useful
            self._last_progress = now
            if metrics.time_to_first_useful_chunk_ms is None:
                metrics.time_to_first_useful_chunk_ms = elapsed
        if acc.meter.used and metrics.time_to_first_token_ms is None:
            metrics.time_to_first_token_ms = elapsed
        if acc.stepper.state in T.FINAL and metrics.time_to_completion_ms is None:
            metrics.time_to_completion_ms = elapsed

    def _told(self, now: float | None = None) -> list[Event]:
        if self._clock is not None and now is None:
            self._see(self._clock())
        if self._observed is not None:
            self._observed.settle()  # before anything is given out: the next call does
        return self._acc.flush()

    # ------------------------------------------------------------ views

    @property
    def state(self) -> StreamState:
        """One of the six states (R-83)."""
        self._begin()
        return self._acc.state

    @property
    def done(self) -> bool:
        """Whether nothing more is to come: a final state was reached, or `end()` was called. What arrives then changes nothing."""
        return self._outcome is not None or (self._setup is None and self._acc.stepper.state in T.FINAL)

    @property
    def outcome(self) -> Outcome:
        """How it ended. Raises MisuseError before `end()`: until then more may come."""
        if self._outcome is None:
            raise MisuseError("outcome before end(): say that the connection is closed first; what there is so far is in snapshot()")
        return self._outcome

    @property
    def pending(self) -> Pending | None:
        """The block that is being written, or None (R-05)."""
        self._begin()
        return preview.pending(self._acc)

    @property
    def dialect(self) -> str:
        """The dialect's name; "auto" until it is known."""
        self._begin()
        return self._reader.name

    @property
    def metrics(self) -> Metrics:
        """What was measured so far."""
        self._begin()
        metrics = self._metrics
        metrics.total_chunks = self._chunks
        metrics.bytes_received = self._bytes
        metrics.events = self._framing.events
        metrics.keepalives = self._reader.keepalives
        return metrics

    @property
    def usage(self) -> Usage:
        """The token counts so far."""
        self._begin()
        self._framing.interrupted()  # it may hold some back
        return self._acc.usage

    @property
    def anomalies(self) -> Anomalies:
        self._begin()
        return self._acc.anomalies

    def snapshot(self) -> dict[str, Any]:
        """A valid intermediate view (R-73): the content so far, the arguments of an open call parsed as far as they go.

        For display only. The blocks of an unfinished message carry `"partial": True`.
        """
        self._begin()
        self._framing.interrupted()
        return preview.snapshot(self._acc)

    def __repr__(self) -> str:
        state = T.STATES[T.INITIALIZING if self._setup is not None else self._acc.stepper.state]
        return f"<Reconstructor {self._setup[0] if self._setup is not None else self._reader.name} {state}, {self._bytes:,} bytes, engine {self._parts.name}>"

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Raises MisuseError: a stream under construction is neither copied nor pickled."""
        raise MisuseError("a Reconstructor is neither copied nor pickled, since it holds half a stream; make a second one and feed it the same bytes, "
                         "or pass on its outcome")

    # ------------------------------------------------------------ the end

    def _finish(self) -> None:
        acc, metrics = self._acc, self.metrics
        if acc.failure is not None and metrics.cancellation_reason is None and acc.state in (StreamState.CANCELLED, StreamState.TIMED_OUT):
            metrics.cancellation_reason = acc.failure.type
        self._outcome = Outcome(acc.state, self._reader.name, acc.message, acc.partial, acc.failure, acc.anomalies, metrics)
        if self._clock is not None:  # behind the outcome, which is there whatever a clock raises
            self._dated = None  # the end is an event too
            self._see(self._clock())


def _one_of(name: str, value: object, values: tuple[str, ...]) -> None:
    if value not in values:
        raise OptionError(f"{name} is one of {', '.join(values)}, not {value!r}{did_you_mean(value, values)}")


_DEFAULT_LIMITS = Limits()
_DEFAULT_TIMEOUTS = Timeouts()


def reconstruct(body: Body | Iterable[Body] | str | os.PathLike[str], dialect: str = "auto", tools: Any = None, limits: Limits | None = None,
                **options: Any) -> Outcome:
    """Rebuild one message from a whole body: bytes, an iterable of chunks, or the path of a file (read in pieces).

    `options` are those of `Reconstructor`. Raises MisuseError for misuse and OSError for a file that cannot be read;
    never for what the body holds.
    """
    r = Reconstructor(dialect, tools, limits, deltas=options.pop("deltas", "none"), **options)
    if isinstance(body, (bytes, bytearray, memoryview)):
        r.feed(body)
    elif isinstance(body, (str, os.PathLike)):
        with open(body, "rb") as file:
            while chunk := file.read(1 << 16):
                r.feed(chunk)
    elif isinstance(body, Iterable):
        for piece in body:
            r.feed(piece)
    else:
        raise MisuseError(f"reconstruct() takes bytes, an iterable of bytes, or a path, not {type(body).__name__}")
    r.end()
    return r.outcome


def reconstruct_many(bodies: Iterable[Any], dialect: str = "auto", threads: int = 1, tools: Any = None, limits: Limits | None = None) -> list[Outcome]:
    """`reconstruct` for each of `bodies`, in their order, on `threads` threads (default 1).

    A body that cannot be read gives an ERRORED outcome of type `unreadable_body`; it never raises for one bad body.
    """
    registry = ToolRegistry.of(tools)
    if type(threads) is not int:
        raise OptionError(f"threads is a whole number, not {threads!r}")

    def one(body: Any) -> Outcome:
        try:
            return reconstruct(body, dialect, registry, limits)
        except (OSError, MisuseError) as e:
            info = ErrorInfo("unreadable_body", f"the body could not be read: {e}", "never")
            return Outcome(StreamState.ERRORED, dialect, None, Partial(), info, Anomalies(0), Metrics())

    if threads <= 1:
        return [one(body) for body in bodies]
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(one, bodies))
