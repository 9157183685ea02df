"""The public surface of one stream: events to the caller, views, observers, misuse, and the outcome as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import fsm
from fsm.model.events import NormalizedEvent
from helpers import (STOP, TOOLS, a_text, a_tool, anthropic, chat, ended, ev, feed_all, frag, lines, message, of, push_all, reason, sign, start,
                     text, think, tool, usage)

BODY = anthropic(*a_text(0, "Let me", " see."), *a_tool(1, "t1", "Read", '{"file', '_path":"a"}'), stop="tool_use")


def told(engine: str, deltas: str, *chunks: bytes) -> list:
    return feed_all(fsm.Reconstructor("anthropic", tools=TOOLS, deltas=deltas, engine=engine), *chunks)


# ---------------------------------------------------------------- deltas=


def test_deltas_none_tells_only_finished_blocks(engine: str):
    assert [type(e).__name__ for e in told(engine, "none", BODY)] == ["BlockFinished", "ToolReady", "BlockFinished", "MessageFinished"]


def test_deltas_chunk_joins_what_one_feed_brings(engine: str):
    events = told(engine, "chunk", BODY)
    assert [e.text for e in of(fsm.TextDelta, events)] == ["Let me see."]
    assert [e.text for e in of(fsm.ToolInputDelta, events)] == ['{"file_path":"a"}']
    half = BODY.index(b" see.") - 60
    assert [e.text for e in of(fsm.TextDelta, told(engine, "chunk", BODY[:half], BODY[half:]))] == ["Let me", " see."]


def test_deltas_each_tells_every_delta(engine: str):
    events = told(engine, "each", BODY)
    assert [(type(e).__name__, e.index, e.text) for e in events if hasattr(e, "text")] == [
        ("TextDelta", 0, "Let me"), ("TextDelta", 0, " see."), ("ToolInputDelta", 1, '{"file'), ("ToolInputDelta", 1, '_path":"a"}')]


def test_text_and_calls_are_told_apart(engine: str):  # R-25 R-76
    """Argument text never comes as TextDelta, and nothing but ToolReady says that a call may run."""
    events = told(engine, "each", BODY)
    assert "".join(e.text for e in of(fsm.TextDelta, events)) == "Let me see."
    ready, = of(fsm.ToolReady, events)
    assert (ready.id, ready.name, ready.input) == ("t1", "Read", {"file_path": "a"})
    assert events.index(ready) > max(i for i, e in enumerate(events) if isinstance(e, fsm.ToolInputDelta))


def test_a_delta_is_told_in_its_own_feed(engine: str):
    """Also behind a repeated start: the caller renders what this feed brought, not what the next one will."""
    pieces = [chat(tool(0, "t", "X", a), finish=None, done=False) for a in ('{"a":', "1", "}")]
    r = fsm.Reconstructor("openai-chat", engine=engine)
    assert [[e.text for e in of(fsm.ToolInputDelta, r.feed(p))] for p in pieces] == [['{"a":'], ["1"], ["}"]]


@pytest.mark.parametrize("deltas", ["none", "chunk", "each"])
def test_the_outcome_does_not_depend_on_what_is_told(engine: str, deltas: str):
    assert fsm.reconstruct(BODY, tools=TOOLS, deltas=deltas, engine=engine).to_dict()["message"] == \
        fsm.reconstruct(BODY, tools=TOOLS, engine=engine).to_dict()["message"]


@pytest.mark.parametrize("deltas", ["chunk", "each"])
def test_deltas_add_up_to_the_blocks(engine: str, deltas: str):  # R-24 R-94
    events = [think("a"), sign("s"), text("é"), text("😀"), start("t", "X"), frag('{"a"'), frag(":1}"), text("z"), STOP]
    told_, outcome = push_all(engine, events, deltas=deltas)
    sums: dict[int, str] = {}
    for e in told_:
        if isinstance(e, (fsm.TextDelta, fsm.ThinkingDelta, fsm.ToolInputDelta)):
            sums[e.index] = sums.get(e.index, "") + e.text
    assert sums == {0: "a", 1: "é😀", 2: '{"a":1}', 3: "z"}
    assert [b["type"] for b in outcome.message.content] == ["thinking", "text", "tool_use", "text"]


def test_a_split_emoji_is_told_whole(engine: str):
    body = b'data: {"choices":[{"index":0,"delta":{"content":"\\ud83d"}}]}\n\ndata: {"choices":[{"index":0,"delta":{"content":"\\ude00"}}]}\n\ndata: [DONE]\n\n'
    r = fsm.Reconstructor("openai-chat", deltas="each", engine=engine)
    assert "".join(e.text for e in of(fsm.TextDelta, feed_all(r, body))) == "😀" == ended(r).message.text


def test_events_can_be_matched(engine: str):
    match of(fsm.ToolReady, told(engine, "chunk", BODY))[0]:
        case fsm.ToolReady(1, "t1", "Read", {"file_path": path}):
            assert path == "a"
        case other:
            pytest.fail(f"not matched: {other!r}")


def test_a_block_is_started_before_its_deltas_and_finished_after(engine: str):
    events = told(engine, "each", BODY)
    for i in (0, 1):
        mine = [type(e).__name__ for e in events if getattr(e, "index", None) == i]
        assert (mine[0], mine[-1], mine.count("BlockFinished")) == ("BlockStarted", "BlockFinished", 1)


def test_an_event_keeps_what_it_told(engine: str):
    """A report of usage that was told is not changed by the next one."""
    told_ = of(fsm.UsageUpdated, push_all(engine, [usage(input_tokens=1), text("x"), usage(output_tokens=2), STOP])[0])
    assert [e.usage.output_tokens for e in told_] == [None, 2]


# ---------------------------------------------------------------- views


def test_snapshot_is_valid_at_every_byte(engine: str):  # R-73 R-76
    """Only values that the arguments can still have: whole fields, and strings as far as they go."""
    r = fsm.Reconstructor("anthropic", tools=TOOLS, engine=engine)
    inputs = []
    for i in range(len(BODY)):
        events = r.feed(BODY[i:i + 1])
        view = json.loads(json.dumps(r.snapshot()))
        call = next((b for b in view["content"] if b["type"] == "tool_use"), None)
        if call is not None and call.get("partial"):
            assert of(fsm.ToolReady, events) == []
            inputs.append(call["input"])
    assert {json.dumps(i) for i in inputs} == {"{}", '{"file_path": "a"}'}


def test_snapshot_shows_a_field_as_far_as_it_goes(engine: str):
    r = fsm.Reconstructor("canonical", engine=engine)
    r.push(start("t", "X"))
    seen = []
    for piece in ('{"path":"src', '/ma', 'in.py","n":1', "2}"):
        r.push(frag(piece))
        seen.append(r.snapshot()["content"][0]["input"])
    assert [s.get("path") for s in seen] == ["src", "src/ma", "src/main.py", "src/main.py"]
    assert seen[-1]["n"] == 12


def test_snapshot_does_not_disturb(engine: str):
    r = fsm.Reconstructor("anthropic", engine=engine)
    for i in range(0, len(BODY), 10):
        r.feed(BODY[i:i + 10])
        r.snapshot()
    assert ended(r).message.content == fsm.reconstruct(BODY, engine=engine).message.content


def test_snapshot_after_the_end_is_the_message(engine: str):
    r = fsm.Reconstructor("anthropic", engine=engine)
    r.feed(BODY)
    assert r.snapshot() == ended(r).message.to_dict()


def test_pending(engine: str):
    r = fsm.Reconstructor("canonical", engine=engine)
    assert r.pending is None
    r.push(text("é"))
    assert (r.pending.kind, r.pending.size, r.pending.number) == ("text", 2, 0)
    r.push(start("t", "X", index=3))
    assert (r.pending.kind, r.pending.index, r.pending.id, r.pending.name) == ("tool_use", 3, "t", "X")
    r.push(STOP)
    assert r.pending is None


def test_the_dialect_is_found(engine: str):
    for body, name in ((BODY, "anthropic"), (chat({"content": "x"}), "openai-chat"), (lines([text("x"), STOP]), "canonical")):
        r = fsm.Reconstructor(engine=engine)
        assert r.dialect == "auto"
        r.feed(b": hello\n\n" + body)
        r.end()
        assert (r.dialect, ended(r).dialect, r.state) == (name, name, "COMPLETED")


def test_self_hosted_servers(engine: str):
    """vLLM and TGI speak Chat Completions with fields of their own."""
    vllm = b'data: {"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":"","reasoning_content":null},' \
           b'"logprobs":null,"finish_reason":null,"stop_reason":null,"token_ids":null}],"prompt_token_ids":null}\n\n' \
           b'data: {"choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":"stop","stop_reason":128009}]}\n\ndata: [DONE]\n\n'
    tgi = b'data: {"object":"chat.completion.chunk","system_fingerprint":"3.0-sha","choices":[{"index":0,"delta":{"role":"assistant","content":"hi"},' \
          b'"finish_reason":"eos_token"}]}\n\ndata: [DONE]\n\n'
    for body in (vllm, tgi):
        m = fsm.reconstruct(body, engine=engine).message
        assert (m.text, m.stop_reason) == ("hi", "end_turn")


# ---------------------------------------------------------------- observer


class Watcher:
    def __init__(self) -> None:
        self.seen: list[str] = []

    def on_enter_STREAMING_text(self) -> None:
        self.seen.append(f"+text ({self.state})")

    def on_exit_STREAMING_text(self) -> None:
        self.seen.append("-text")

    def on_enter_STREAMING(self) -> None:
        self.seen.append("+streaming")

    def on_enter_COMPLETED(self) -> None:
        self.seen.append("+completed")

    def on_enter_ERRORED(self) -> None:
        self.seen.append("+errored")


def test_an_observer_hears_of_every_change_of_state(engine: str):
    watcher = Watcher()
    push_all(engine, [text("a"), text("b"), think("c"), text("d"), STOP], observer=watcher)
    assert watcher.seen == ["+streaming", "+text (STREAMING.text)", "-text", "+text (STREAMING.text)", "-text", "+completed"]
    assert watcher.state == "COMPLETED"


def test_an_observer_may_ignore_everything(engine: str):
    class Deaf:
        pass

    deaf = Deaf()
    push_all(engine, [text("a"), ev("error", kind="x")], observer=deaf)
    assert deaf.state == "ERRORED"


def test_two_streams_have_their_own_observers(engine: str):
    one, two = Watcher(), Watcher()
    push_all(engine, [text("a")], observer=one)
    push_all(engine, [text("a"), STOP], observer=two)
    assert (one.seen[-1], two.seen[-1]) == ("+errored", "+completed")


# ---------------------------------------------------------------- misuse


def test_misuse_raises_at_once_and_names_the_right_call(engine: str):
    r = fsm.Reconstructor("anthropic", engine=engine)
    with pytest.raises(fsm.MisuseError, match="takes bytes"):
        r.feed("text")  # type: ignore[arg-type]
    with pytest.raises(fsm.MisuseError, match="takes a NormalizedEvent"):
        r.push(b"{}")  # type: ignore[arg-type]
    with pytest.raises(fsm.MisuseError, match="no normalized event is called 'text'"):
        r.push({"type": "text"})
    r.end()
    with pytest.raises(fsm.MisuseError, match="make a new Reconstructor"):
        r.feed(b"")
    with pytest.raises(fsm.MisuseError, match="make a new Reconstructor"):
        r.push(STOP)


@pytest.mark.parametrize(("kwargs", "error", "match"), [
    ({"dialect": "klingon"}, fsm.UnknownDialectError, "auto, anthropic, openai-chat"), ({"engine": "steam"}, fsm.UnknownEngineError, "'python'"),
    ({"deltas": "some"}, fsm.MisuseError, "none, chunk, each"), ({"on_bad_event": "cry"}, fsm.MisuseError, "one of error, skip"),
    ({"tools": {"X": {"type": 3}}}, fsm.SchemaError, "'X'"), ({"tools": [3]}, fsm.MisuseError, "no tool definition"),
])
def test_bad_options(kwargs: dict, error: type, match: str):
    with pytest.raises(error, match=match) as caught:
        fsm.Reconstructor(**kwargs)
    assert isinstance(caught.value, fsm.FsmError)


def test_end_may_be_called_again(engine: str):
    r = fsm.Reconstructor("anthropic", engine=engine)
    r.feed(BODY)
    r.end()
    first = r.outcome
    assert (r.end(), r.outcome is first) == ([], True)


def test_a_pushed_event_may_be_an_object(engine: str):
    from fsm import _tables as T

    r = fsm.Reconstructor(engine=engine)
    r.push(NormalizedEvent(T.TEXT_DELTA, None, "x"))
    r.push(NormalizedEvent(T.MESSAGE_STOP))
    assert (r.dialect, ended(r).message.text) == ("canonical", "x")


# ---------------------------------------------------------------- the outcome


def test_the_message_survives_json(engine: str):
    m = message(engine, [ev("message_start", id="m", model="x"), think("a"), sign("s"), text("b"), start("t", "Read"), frag('{"file_path":"a"}'),
                         usage(input_tokens=1, reasoning_tokens=2), reason("tool_use"), STOP], TOOLS)
    again = fsm.Message.from_dict(json.loads(json.dumps(m.to_dict())))
    assert again.to_dict() == m.to_dict()
    assert again.content == m.content
    assert {"role": again.role, "content": again.content}["role"] == "assistant"


def test_the_shape_of_the_outcome(engine: str):
    done = fsm.reconstruct(BODY, engine=engine).to_dict()
    assert list(done) == ["state", "dialect", "message", "partial", "error", "anomalies", "metrics"]
    assert set(done["message"]) == {"role", "id", "model", "content", "stop_reason", "raw_stop_reason", "usage", "dropped_calls",
                                        "dialect", "usage_source"}
    assert (done["state"], done["partial"], done["error"]) == ("COMPLETED", None, None)
    cut = fsm.reconstruct(BODY[:300], engine=engine).to_dict()
    assert (cut["state"], cut["message"], cut["partial"]["valid"]) == ("ERRORED", None, False)
    assert {"type", "message", "retry"} <= set(cut["error"])


def test_asking_for_a_message_that_is_not_there_raises(engine: str):  # R-31 R-85
    outcome = fsm.reconstruct(BODY[:300], engine=engine)
    with pytest.raises(fsm.StreamError) as caught:
        outcome.raise_for_state()
    e = caught.value
    assert isinstance(e, fsm.FsmError)
    assert (e.partial, e.retry, e.offset > 0) == (outcome.partial, outcome.error.retry, True)
    assert "event" in str(e)


def test_a_completed_outcome_raises_nothing(engine: str):
    outcome = fsm.reconstruct(BODY, engine=engine)
    assert outcome.raise_for_state() is outcome.message


def test_there_is_no_message_of_what_did_not_complete(engine: str):
    outcome = fsm.reconstruct(BODY[:300], engine=engine)
    assert (outcome.message, outcome.completed) == (None, False)


def test_the_outcome_is_there_once_it_has_ended(engine: str):
    r = fsm.Reconstructor(engine=engine)
    for fed in (b"", BODY):
        r.feed(fed)
        with pytest.raises(fsm.MisuseError, match="before end"):
            _ = r.outcome
        assert r.done is bool(fed), "a final state is one before the connection is closed, too"
    r.end()
    assert (r.done, r.outcome.completed) == (True, True)


def test_the_end_tells_what_it_brings_like_any_other_call(engine: str):
    r = fsm.Reconstructor("gemini", engine=engine)
    r.feed(b'data: {"candidates":[{"content":{"parts":[{"text":"Hi"}]},"finishReason":"STOP"}]}\n\n')
    assert not r.done
    assert [type(e).__name__ for e in r.end()] == ["BlockFinished", "MessageFinished"]
    assert r.end() == []


def test_bytes_chunks_and_a_path_give_the_same(engine: str, tmp_path: Path):
    path = tmp_path / "body.sse"
    path.write_bytes(BODY)
    outcomes = [fsm.reconstruct(b, engine=engine) for b in (BODY, bytearray(BODY), memoryview(BODY), [BODY[:50], BODY[50:]], iter([BODY]), path, str(path))]
    assert all(o.to_dict()["message"] == outcomes[0].to_dict()["message"] for o in outcomes)


@pytest.mark.parametrize("threads", [1, 3])
def test_many_bodies_keep_their_order_and_never_raise(threads: int, tmp_path: Path):
    bodies = [chat({"content": str(i)}) for i in range(20)]
    outcomes = fsm.reconstruct_many([*bodies, tmp_path / "missing", [b"x", "y"], b"", b"<html>"], threads=threads)
    assert [o.message.text for o in outcomes[:20]] == [str(i) for i in range(20)]
    assert [o.state for o in outcomes[20:]] == ["ERRORED"] * 4
    assert outcomes[20].error.type == "unreadable_body"


def test_a_body_of_a_wrong_type_is_misuse_and_never_stops_the_others():
    with pytest.raises(fsm.MisuseError):
        fsm.reconstruct(7)  # type: ignore[arg-type]
    assert [o.error.type for o in fsm.reconstruct_many([7, None])] == ["unreadable_body"] * 2


def test_a_message_sums_itself_up(engine: str):
    m = message(engine, [think("a"), text("b"), start("t", "X"), frag("{}"), text("c"), start("u", "Y"), frag("{"), STOP])
    assert (m.thinking, m.text, [c["id"] for c in m.tool_calls], [c["id"] for c in m.invalid_calls]) == ("a", "bc", ["t"], ["u"])


def test_tools_reach_the_wire_too(engine: str):
    body = chat(tool(0, "t", None, '{"command":"ls"}'), finish="tool_calls")
    assert fsm.reconstruct(body, tools=TOOLS, engine=engine).message.tool_calls[0]["name"] == "Bash"


def test_a_subclass_that_overrides_feed_sees_each_chunk_once(engine: str):
    """`feed` is the caller's: the library does not go through it a second time."""
    seen: list[bytes] = []

    class Tapped(fsm.Reconstructor):
        def feed(self, data):  # type: ignore[no-untyped-def]
            seen.append(data)
            return super().feed(data)

    chunks = [b'data: {"choices": [{"index": 0, "delta": {"content": "a"}}]}\n\n', b"data: [DONE]\n\n"]
    r = Tapped("openai-chat", engine=engine)
    for chunk in chunks:
        r.feed(chunk)
    assert (seen, ended(r).message.text) == (chunks, "a")
