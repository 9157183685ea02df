"""What a caller can do wrong, and what he is told: observers that raise or call back, copies, wrong values, two threads."""

from __future__ import annotations

import copy
import gc
import inspect
import json
import os
import pickle
import subprocess
import sys
import threading
import weakref
from typing import Any

import pytest

import fsm
from helpers import ROOT, TOOLS, chat, ended, push_all, stable, start, text, tool

BODY = chat({"reasoning_content": "hm"}, {"content": "Hello"}, tool(0, "c1", "Read", '{"file_path": "a"}'), usage={"prompt_tokens": 3})
HOOKS = ("on_enter_STREAMING_text", "on_exit_STREAMING_thinking", "on_enter_STREAMING_tool", "on_enter_COMPLETED", "on_enter_STREAMING")


def outcome_of(engine: str, **options: Any) -> fsm.Outcome:
    return fsm.reconstruct(BODY, "openai-chat", engine=engine, **options)


# ---------------------------------------------------------------- observers


@pytest.mark.parametrize("hook", HOOKS)
@pytest.mark.parametrize("size", [1, 64, 10_000])
@pytest.mark.parametrize("error", [RuntimeError("mine"), KeyboardInterrupt()], ids=["error", "interrupt"])
def test_what_a_callback_raises_comes_out_once(engine: str, hook: str, size: int, error: BaseException):  # R-83
    def callback(self: Any) -> None:
        raise error

    observer = type("Observer", (), {hook: callback})()
    r = fsm.Reconstructor("openai-chat", engine=engine, observer=observer)
    told, raised = [], []
    for at in range(0, len(BODY), size):
        try:
            told += r.feed(BODY[at:at + size])
        except (RuntimeError, KeyboardInterrupt) as e:
            raised.append(e)
    try:
        told += r.end()
    except (RuntimeError, KeyboardInterrupt) as e:
        raised.append(e)
        told += r.end()
    outcome = r.outcome
    assert raised == [error]
    assert observer.state == "COMPLETED"
    assert outcome == outcome_of(engine)
    plain = fsm.Reconstructor("openai-chat", engine=engine)
    want = [e for at in range(0, len(BODY), size) for e in plain.feed(BODY[at:at + size])]
    want += plain.end()
    assert "".join(e.text for e in told if isinstance(e, fsm.TextDelta)) == "Hello"
    assert [e for e in told if not isinstance(e, fsm.UsageUpdated)] == [e for e in want if not isinstance(e, fsm.UsageUpdated)]


@pytest.mark.parametrize("call", [lambda r: r.feed(b"x"), lambda r: r.push({"type": "ping"}), lambda r: r.end(), lambda r: r.cancel(), lambda r: r.tick(1.0)],
                         ids=["feed", "push", "end", "cancel", "tick"])
def test_a_call_from_within_a_callback_is_misuse(engine: str, call: Any):
    class Observer:
        def on_enter_STREAMING_text(self) -> None:
            call(r)

    r = fsm.Reconstructor("openai-chat", engine=engine, observer=Observer())
    with pytest.raises(fsm.MisuseError, match="from one of its observer's callbacks"):
        r.feed(BODY)
    assert ended(r) == outcome_of(engine)


def test_looking_from_within_a_callback_is_fine(engine: str):
    seen = []

    class Observer:
        def on_enter_COMPLETED(self) -> None:
            seen.append((r.dialect, r.usage.input_tokens, bool(r.snapshot()["content"])))

    r = fsm.Reconstructor("openai-chat", engine=engine, observer=Observer())
    r.feed(BODY)
    assert seen == [("openai-chat", 3, True)]


@pytest.mark.parametrize("hook", ["on_enter_CANCELLED", "on_enter_TIMED_OUT"])
def test_a_callback_that_raises_at_an_end_of_ours(engine: str, hook: str):
    def callback(self: Any) -> None:
        raise RuntimeError("mine")

    r = fsm.Reconstructor(engine=engine, observer=type("Observer", (), {hook: callback})(), clock=lambda: 0.0)
    r.push(text("a"))
    with pytest.raises(RuntimeError, match="mine"):
        r.cancel() if hook.endswith("CANCELLED") else r.tick(1e6)
    assert [type(e) for e in r.end()].count(fsm.StreamFailed) == 1
    assert r.outcome.state == hook.removeprefix("on_enter_")


def test_an_observer_whose_state_cannot_be_set(engine: str):
    class Observer:
        __slots__ = ()

    with pytest.raises(fsm.MisuseError, match="can be set"):
        fsm.Reconstructor(engine=engine, observer=Observer())


def test_an_observer_that_changes_its_state_changes_no_stream(engine: str):
    class Observer:
        def on_enter_STREAMING_text(self) -> None:
            self.state = "COMPLETED"

    r = fsm.Reconstructor("openai-chat", engine=engine, observer=Observer())
    r.feed(BODY)
    assert ended(r) == outcome_of(engine)


# ---------------------------------------------------------------- threads


def test_two_threads_in_one_stream_are_told(engine: str):
    """Where it can be seen cheaply: while the first is within a call that runs Python code."""
    inside, go = threading.Event(), threading.Event()

    class Observer:
        def on_enter_STREAMING_text(self) -> None:
            inside.set()
            assert go.wait(10)

    r = fsm.Reconstructor("openai-chat", engine=engine, observer=Observer())
    first = threading.Thread(target=r.feed, args=(BODY,))
    first.start()
    assert inside.wait(10)
    with pytest.raises(fsm.MisuseError, match="from another thread"):
        r.feed(b"data: x\n\n")
    go.set()
    first.join(10)
    assert ended(r) == outcome_of(engine)


# ---------------------------------------------------------------- copies


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy, pickle.dumps, lambda r: pickle.dumps(r, 0)], ids=["copy", "deepcopy", "pickle", "pickle 0"])
@pytest.mark.parametrize("fed", [b"", BODY[:100], BODY])
def test_a_stream_is_not_copied(engine: str, how: Any, fed: bytes):
    r = fsm.Reconstructor("openai-chat", engine=engine)
    if fed:
        r.feed(fed)
    with pytest.raises(fsm.FsmError, match="neither copied nor pickled"):
        how(r)
    r.feed(BODY[len(fed):])
    assert ended(r) == outcome_of(engine)


@pytest.mark.parametrize("body", [BODY, BODY[:-200], b"<html>", chat({"content": "a"}, tool(0, "c", "Read", "{"), finish="stop")])
def test_an_outcome_is_a_value(engine: str, body: bytes):
    one, two = (fsm.reconstruct(body, "openai-chat", TOOLS, engine=engine) for _ in range(2))
    assert one == two
    assert one != fsm.reconstruct(chat({"content": "other"}), "openai-chat", engine=engine)
    assert one != 1
    back = pickle.loads(pickle.dumps(one))
    assert (back, back.to_dict(), back.anomalies.counts) == (one, one.to_dict(), one.anomalies.counts)
    assert copy.deepcopy(one) == one
    with pytest.raises(TypeError):
        hash(one)


def test_outcomes_of_both_engines_are_equal(tiers: tuple[str, ...]):
    first, *others = [outcome_of(name) for name in tiers]
    assert all(other == first for other in others)


def test_events_are_pickled(engine: str):
    told, _outcome = push_all(engine, [text("a"), start("c1", "Read"), {"type": "usage", "usage": {"input_tokens": 1}}, {"type": "message_stop"}])
    for event in told:
        assert pickle.loads(pickle.dumps(event)) == event
    failed, _outcome = push_all(engine, [text("a"), {"type": "error", "message": "x"}])
    for event in failed:
        assert pickle.loads(pickle.dumps(event)) == event


def test_a_registry_is_copied_and_pickled():
    registry = fsm.ToolRegistry(TOOLS)
    for other in (copy.copy(registry), copy.deepcopy(registry), pickle.loads(pickle.dumps(registry))):
        assert repr(other) == repr(registry)
        assert other.candidates({"command": "ls"}) == ["Bash"]
        other.register("Other")
        assert "Other" not in registry
    assert stable(fsm.reconstruct(BODY, "openai-chat", pickle.loads(pickle.dumps(registry))).message.content, BODY.decode())


def test_a_stream_can_be_weakly_referred_to(engine: str):
    r = fsm.Reconstructor(engine=engine)
    seen = weakref.ref(r)
    assert seen() is r
    del r
    gc.collect()
    assert seen() is None


# ---------------------------------------------------------------- what it says of itself, and of wrong values


def test_repr(engine: str):
    r = fsm.Reconstructor("openai-chat", engine=engine)
    assert repr(r) == f"<Reconstructor openai-chat INITIALIZING, 0 bytes, engine {engine}>"
    r.feed(chat({"content": "a"}, finish=None, done=False))
    assert "STREAMING.text" in repr(r)
    assert repr(fsm.ToolRegistry(TOOLS)) == "<ToolRegistry Read, Grep, Bash, Edit>"
    assert len(repr(fsm.ToolRegistry({f"t{i}": None for i in range(500)}))) < 300


@pytest.mark.parametrize(("options", "says"), [
    ({"dialect": "antropic"}, "did you mean 'anthropic'"), ({"dialect": 5}, "no dialect is called 5"), ({"dialect": None}, "no dialect"),
    ({"deltas": "chunks"}, "did you mean 'chunk'"), ({"deltas": 3}, "deltas is one of"), ({"deltas": []}, "deltas is one of"),
    ({"on_bad_event": "skipp"}, "did you mean 'skip'"), ({"engine": "compield"}, "did you mean 'compiled'"), ({"engine": 1}, "no engine is called 1"),
    ({"limits": 5}, "limits is a fsm.Limits"), ({"limits": {}}, "limits is a fsm.Limits"), ({"timeouts": 5}, "timeouts is a fsm.Timeouts"),
    ({"choice": "0"}, "choice is"), ({"choice": -1}, "choice is"), ({"choice": True}, "choice is"), ({"clock": 5}, "clock is a function"),
    ({"tools": 5}, "tools are a ToolRegistry"),
    ({"tools": "Read"}, "no tool"), ({"tools": [5]}, "no tool definition"), ({"tools": {5: {}}}, "a tool needs a name")])
def test_a_wrong_option_is_refused_at_once(engine: str, options: dict[str, Any], says: str):
    with pytest.raises(fsm.MisuseError, match=says):
        fsm.Reconstructor(**{"engine": engine, **options})


@pytest.mark.parametrize("make", [
    lambda: fsm.Limits(content_bytes=0), lambda: fsm.Limits(depth="x"), lambda: fsm.Limits(blocks=True), lambda: fsm.Limits(blocks=1.5),
    lambda: fsm.Limits(anomalies=None), lambda: fsm.Timeouts(total=0), lambda: fsm.Timeouts(idle="30"), lambda: fsm.Timeouts(idle=float("nan")),
    lambda: fsm.Timeouts(progress=True)])
def test_a_wrong_bound_is_refused_at_once(make: Any):
    for kind in (fsm.FsmError, ValueError):
        with pytest.raises(kind, match="above 0"):
            make()


def test_an_event_by_its_public_name(engine: str):
    r = fsm.Reconstructor(engine=engine)
    r.push(fsm.NormalizedEvent("text_delta", text="Hi"))
    r.push(fsm.NormalizedEvent("message_stop"))
    assert ended(r).message.text == "Hi"
    assert repr(fsm.NormalizedEvent("text_delta", text="Hi")) == "TEXT_DELTA(text='Hi')"


@pytest.mark.parametrize("type_", ["text_dleta", "TEXT_DELTA", 99, -1, None, 1.0, ["text_delta"]])
def test_no_event_is_called_that(type_: Any):
    with pytest.raises(fsm.MisuseError, match="no normalized event is called"):
        fsm.NormalizedEvent(type_)


@pytest.mark.parametrize("fields", [{"text": 5}, {"index": "0"}, {"index": True}, {"usage": []}, {"block": "x"}, {"content": {}}, {"restated": 1}])
def test_a_pushed_event_with_a_field_of_a_wrong_type(engine: str, fields: dict[str, Any]):
    r = fsm.Reconstructor(engine=engine)
    with pytest.raises(fsm.MisuseError, match=next(iter(fields))):
        r.push(fsm.NormalizedEvent("text_delta", **fields))


@pytest.mark.parametrize(("call", "says"), [
    (lambda r: r.cancel(5), "reason in words"), (lambda r: r.tick("now"), "takes seconds"), (lambda r: r.tick(True), "takes seconds"),
    (lambda r: fsm.reconstruct_many([], threads="2"), "threads is"),
    (lambda r: fsm.Message().to_request("antropic"), "did you mean 'anthropic'"), (lambda r: fsm.Message().to_request(5), "no dialect is called 5"),
    (lambda r: fsm.Message().to_request(), "does not know its dialect")])
def test_a_wrong_argument_is_refused_at_once(engine: str, call: Any, says: str):
    with pytest.raises(fsm.MisuseError, match=says):
        call(fsm.Reconstructor(engine=engine))


def test_the_outcome_is_there_although_the_clock_raises(engine: str):
    times = iter([0.0, 0.0])
    r = fsm.Reconstructor("openai-chat", engine=engine, clock=lambda: next(times))
    r.feed(BODY)
    with pytest.raises(StopIteration):
        r.end()
    assert r.outcome == outcome_of(engine)


@pytest.mark.parametrize("data", [5, "x", None, [b"x"], object()])
def test_feed_takes_bytes(engine: str, data: Any):
    with pytest.raises(fsm.MisuseError, match="feed"):
        fsm.Reconstructor(engine=engine).feed(data)


# ---------------------------------------------------------------- what the compiled classes say of themselves

SIGNATURES = """
import inspect, fsm, json
def written(f):
    return str(inspect.signature(f)).replace(" -> None", "").replace(" -> 'None'", "").replace("'", "").replace("NoneType", "None")
found = {}
def show(name, f):
    found[name] = written(f)
    if name.startswith(("Reconstructor.", "reconstruct")):
        found["=" + name] = [(p.name, repr(p.default)) for p in inspect.signature(f).parameters.values()]
for name in fsm.__all__:
    thing = getattr(fsm, name)
    if callable(thing) and not (isinstance(thing, type) and issubclass(thing, Exception)):
        if name != "StreamState":
            show(name, thing)
        for key, method in sorted(vars(thing).items()) if isinstance(thing, type) else ():
            if not key.startswith("_") and inspect.isroutine(method):
                show(name + "." + key, getattr(thing, key))
print(json.dumps(found))
"""


def test_signatures_are_those_of_the_source():
    """`inspect.signature` (and so `help`) shows the same of both engines, annotations included but for the hot module's functions (setup.py)."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("FSM_")}
    shown = [json.loads(subprocess.run([sys.executable, "-c", SIGNATURES], capture_output=True, text=True, check=True, cwd=ROOT,
                                       env={**env, "FSM_PURE_PYTHON": pure}).stdout) for pure in ("", "1")]
    hot = {name for name in shown[0] if name.startswith(("Reconstructor.", "reconstruct"))}
    bare = {"=" + name for name in hot}
    assert {n: shown[0][n] for n in shown[0].keys() - hot - bare} == {n: shown[1][n] for n in shown[1].keys() - hot - bare}
    assert {name: shown[0]["=" + name] for name in hot} == {name: shown[1]["=" + name] for name in hot}
    assert shown[0]["Reconstructor.feed"] == "(self, /, data)"
    assert shown[0]["Reconstructor"].startswith("(dialect: str = auto, ")
    assert shown[0]["TextDelta"] == "(index: int, text: str)"
    assert len(shown[0]) >= 55


def test_a_class_of_the_callers_has_its_own_signature():
    class Mine(fsm.Reconstructor):
        def __init__(self, path: str) -> None:
            super().__init__("anthropic")

    assert list(inspect.signature(Mine).parameters) == ["path"]
