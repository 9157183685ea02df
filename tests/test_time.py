"""Clocks without a clock: deadlines are judged by `tick(now)`, keepalives neither kill nor mask a stream."""

from __future__ import annotations

import dataclasses

import pytest

import fsm
from helpers import STOP, TOOLS, a_text, anthropic, chat, ended, frag, frame, of, start, text

PING = b": keepalive\n\n"
PING_EVENT = frame({"type": "ping"}, "ping")
START = anthropic(end=False)
MORE = b"".join(frame(e) for e in a_text(0, "x", stop=False))


class Clock:
    """Time as the test says."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def stream(engine: str, clock: Clock, **timeouts: float | None) -> fsm.Reconstructor:
    return fsm.Reconstructor("anthropic", timeouts=fsm.Timeouts(**timeouts), clock=clock, engine=engine)


def test_defaults():  # R-81 R-82
    assert dataclasses.asdict(fsm.Timeouts()) == {"total": 120.0, "connect": 10.0, "first_event": 60.0, "idle": 30.0, "progress": 90.0}


@pytest.mark.parametrize("name", ["total", "connect", "first_event", "idle", "progress"])
def test_a_deadline_is_positive_or_none(name: str):
    fsm.Timeouts(**{name: None})
    with pytest.raises(ValueError, match=f"Timeouts.{name} is .* above 0"):
        fsm.Timeouts(**{name: 0})


# ---------------------------------------------------------------- the deadlines, one by one


def test_the_whole_stream(engine: str):  # R-81 R-83
    clock = Clock()
    r = stream(engine, clock, total=120, idle=None, progress=None)
    for _ in range(11):
        clock.now += 10
        r.feed(MORE if r.metrics.total_chunks else START)
        assert r.tick() == [] or r.state == "STREAMING"
    clock.now = 220.0
    told = r.tick()
    assert (r.state, told[-1].error.type, ended(r).metrics.cancellation_reason) == ("TIMED_OUT", "total_timeout", "total_timeout")


def test_silence(engine: str):
    clock = Clock()
    r = stream(engine, clock)
    r.feed(START)
    clock.now += 29.9
    assert (r.tick(), r.state) == ([], "STREAMING")
    clock.now += 0.2
    assert r.tick()[-1].state == "TIMED_OUT"
    outcome = ended(r)
    assert (outcome.state, outcome.error.type, outcome.error.retry) == ("TIMED_OUT", "idle_timeout", "backoff")
    with pytest.raises(fsm.StreamTimedOut):
        outcome.raise_for_state()


@pytest.mark.parametrize("ping", [PING, PING_EVENT, b"data:\n\n"], ids=["comment", "event", "blank"])
def test_keepalives_keep_a_slow_stream_alive(engine: str, ping: bytes):  # R-82 R-29
    clock = Clock()
    r = stream(engine, clock, total=None)
    r.feed(START)
    for _ in range(8):
        clock.now += 10
        r.feed(ping)
        assert r.tick() == []
    r.feed(MORE)
    assert r.state == "STREAMING"


@pytest.mark.parametrize("ping", [PING, PING_EVENT, b"data:\n\n"], ids=["comment", "event", "blank"])
def test_keepalives_do_not_mask_a_stalled_stream(engine: str, ping: bytes):  # R-82 R-29
    clock = Clock()
    r = stream(engine, clock, total=None)
    r.feed(START)
    for _ in range(10):
        clock.now += 10
        r.feed(ping)
        r.tick()
    assert (r.state, ended(r).error.type) == ("TIMED_OUT", "progress_timeout")


def test_deltas_are_progress(engine: str):
    """On the hot path, too."""
    clock = Clock()
    r = stream(engine, clock, total=None)
    r.feed(START)
    for _ in range(20):
        clock.now += 20
        r.feed(MORE)
        assert r.tick() == []
    assert r.state == "STREAMING"


def test_no_first_event(engine: str):
    clock = Clock()
    r = stream(engine, clock)
    for _ in range(3):
        clock.now += 19
        r.feed(PING)
        assert r.tick() == []
    clock.now += 4
    assert r.tick()[-1].error.type == "first_event_timeout"


def test_connect_is_carried_for_whoever_connects(engine: str):
    assert fsm.Reconstructor(timeouts=fsm.Timeouts(connect=3), engine=engine).timeouts.connect == 3


# ---------------------------------------------------------------- next_deadline


def test_the_next_deadline_is_the_earliest(engine: str):
    clock = Clock()
    r = stream(engine, clock)
    assert r.next_deadline() == 160.0, "no byte has come: the first event is due"
    r.feed(START)
    assert r.next_deadline() == 130.0, "idle"
    clock.now = 195.0
    r.feed(PING)
    assert r.next_deadline() == 190.0, "progress was due earlier"
    r.tick()
    assert r.next_deadline() is None, "the stream is over"


def test_ticking_at_the_next_deadline_always_suffices(engine: str):
    clock = Clock()
    r = stream(engine, clock)
    r.feed(START)
    clock.now = r.next_deadline()
    assert r.tick()[-1].state == "TIMED_OUT"


def test_without_deadlines_nothing_is_due(engine: str):
    r = stream(engine, Clock(), total=None, idle=None, first_event=None, progress=None)
    r.feed(START)
    assert r.next_deadline() is None


def test_no_clock_is_read_unless_given(engine: str):
    r = fsm.Reconstructor("anthropic", engine=engine)
    r.feed(START)
    assert r.next_deadline() is None
    with pytest.raises(fsm.MisuseError, match="pass now="):
        r.tick()


def test_the_caller_may_pass_the_time(engine: str):
    r = fsm.Reconstructor("anthropic", engine=engine)
    assert r.tick(1000.0) == []
    r.feed(START)
    assert r.tick(1010.0) == []
    assert r.next_deadline() == 1040.0
    assert r.tick(1040.0)[-1].error.type == "idle_timeout"


# ---------------------------------------------------------------- what a timeout leaves


def test_after_a_timeout_everything_partial_is_invalid(engine: str):
    r = fsm.Reconstructor("canonical", tools=TOOLS, clock=Clock(), engine=engine)
    r.push(start("t", "Read"))
    r.push(frag('{"file_path":"a"}'))
    told = r.tick(1e6)
    assert of(fsm.ToolReady, told) == []
    assert ended(r).partial.content[0]["invalid"] == "stream_timed_out"
    assert ended(r).partial.to_dict()["valid"] is False


def test_a_tick_after_the_end_changes_nothing(engine: str):
    clock = Clock()
    r = stream(engine, clock)
    r.feed(anthropic(*a_text(0, "x")))
    clock.now += 1e6
    assert (r.tick(), r.state) == ([], "COMPLETED")


# ---------------------------------------------------------------- metrics


def test_metrics_have_these_names():
    assert set(fsm.Metrics().to_dict()) == {"time_to_first_token_ms", "time_to_first_useful_chunk_ms", "time_to_completion_ms", "total_chunks",
                                            "bytes_received", "events", "keepalives", "idle_max_gap_ms", "cancellation_reason"}


def test_metrics_of_a_stream(engine: str):  # R-104 R-93
    clock = Clock()
    r = stream(engine, clock)
    chunks = [(1.0, PING_EVENT), (1.0, START), (0.5, MORE), (4.0, PING), (0.5, anthropic(*a_text(0, "x"))[len(START):])]
    for wait, chunk in chunks:
        clock.now += wait
        r.feed(chunk)
    m = ended(r).metrics
    assert (m.time_to_first_useful_chunk_ms, m.time_to_first_token_ms, m.time_to_completion_ms, m.idle_max_gap_ms) == (2000.0, 2500.0, 7000.0, 4000.0)
    assert (m.total_chunks, m.bytes_received) == (5, sum(len(c) for _w, c in chunks))
    assert (m.events, m.keepalives, m.cancellation_reason) == (1 + 1 + 2 + 5, 1, None)


def test_without_a_clock_only_counts_are_there(engine: str):
    body = chat({"content": "x"})
    m = fsm.reconstruct([body[:9], body[9:]], engine=engine).metrics
    assert (m.total_chunks, m.bytes_received, m.events) == (2, len(body), 3)
    assert m.time_to_first_token_ms is m.time_to_completion_ms is m.idle_max_gap_ms is None


def test_events_are_counted_alike_by_every_engine(engine: str):
    body = chat(*[{"content": "x"}] * 50)
    for size in (1, 7, len(body)):
        assert fsm.reconstruct([body[i:i + size] for i in range(0, len(body), size)], engine=engine).metrics.events == 52


def test_metrics_hold_no_content(engine: str):
    r = fsm.Reconstructor("canonical", engine=engine)
    r.push(text("SECRET"))
    r.push(STOP)
    assert "SECRET" not in str(ended(r).metrics.to_dict())


def test_bytes_count_as_activity_also_without_a_clock(engine: str):
    """Only `tick` knows the time here; a stream that is alive at every tick is not idle, whoever runs its feed loop."""
    r = fsm.Reconstructor("openai-chat", engine=engine, timeouts=fsm.Timeouts(total=None, idle=30.0, progress=60.0))
    chunk = b'data: {"id":"c","model":"m","choices":[{"index":0,"delta":{"content":"word"},"finish_reason":null}]}\n\n'
    now = 0.0
    r.tick(now)
    for _ in range(20):
        r.feed(chunk)
        now += 20.0
        assert r.tick(now) == []
    assert r.state == "STREAMING"
    assert r.next_deadline() == now + 30.0
    r.tick(now + 31.0)
    assert r.state == "TIMED_OUT"
