"""Bedrock Converse: the events as JSON lines, as SSE and in AWS event-stream messages; text without bounds; what invoke wraps."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fsm
from fsm.framing import event_stream
from helpers import a_text, a_tool, anthropic, cut_at, ended, frame, kinds, run, same_everywhere
from tiers import disagreement

START, STOP = {"messageStart": {"role": "assistant", "p": "abc"}}, {"messageStop": {"stopReason": "end_turn"}}
META = {"metadata": {"usage": {"inputTokens": 7, "outputTokens": 3, "cacheReadInputTokens": 2}, "metrics": {"latencyMs": 1}}}


def delta(index: int | None, **value: Any) -> dict[str, Any]:
    return {"contentBlockDelta": {"delta": value, "p": "xyz"} | ({} if index is None else {"contentBlockIndex": index})}


def text(index: int | None, value: str) -> dict[str, Any]:
    return delta(index, text=value)


def think(index: int | None, **value: Any) -> dict[str, Any]:
    return delta(index, reasoningContent=value)


def tool(index: int | None, id: str | None, name: str | None, **more: Any) -> dict[str, Any]:
    return {"contentBlockStart": {"contentBlockIndex": index, "start": {"toolUse": {"toolUseId": id, "name": name, **more}}}}


def args(index: int | None, value: Any) -> dict[str, Any]:
    return delta(index, toolUse={"input": value})


def stop(index: int | None) -> dict[str, Any]:
    return {"contentBlockStop": {} if index is None else {"contentBlockIndex": index}}


def lines(*events: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(e).encode() + b"\n" for e in events)


def message(payload: bytes, **headers: str) -> bytes:
    """One AWS event-stream message; underscores in header names are dashes behind a colon."""
    head = b""
    for name, value in headers.items():
        key = b":" + name.replace("_", "-").encode()
        head += bytes([len(key)]) + key + b"\x07" + struct.pack(">H", len(value.encode())) + value.encode()
    prelude = struct.pack(">II", len(head) + len(payload) + 16, len(head))
    whole = prelude + struct.pack(">I", zlib.crc32(prelude)) + head + payload
    return whole + struct.pack(">I", zlib.crc32(whole))


def binary(*events: dict[str, Any]) -> bytes:
    return b"".join(message(json.dumps(value).encode(), event_type=key, content_type="application/json", message_type="event")
                    for e in events for key, value in e.items())


ANSWER = [START, think(0, text="h"), think(0, text="m"), think(0, signature="si"), think(0, signature="g"), stop(0), text(1, "It "), text(1, "rains."), stop(1),
          tool(2, "t1", "f"), args(2, '{"a":'), args(2, "1}"), stop(2), {"messageStop": {"stopReason": "tool_use"}}, META]


@pytest.mark.parametrize("body", [lines(*ANSWER), b"".join(map(frame, ANSWER)), b"".join(frame(v, k) for e in ANSWER for k, v in e.items()), binary(*ANSWER)],
                         ids=["lines", "sse", "named", "binary"])
def test_an_answer_in_every_framing(engine: str, body: bytes):  # R-41
    if body[:1] == b"\0":
        pytest.importorskip("botocore")
    got = same_everywhere(engine, body)
    assert (got["dialect"], got["state"], got["anomalies"]) == ("bedrock-converse", "COMPLETED", [])
    assert got["message"]["content"] == [{"type": "thinking", "thinking": "hm", "signature": "sig"}, {"type": "text", "text": "It rains."},
                                         {"type": "tool_use", "id": "t1", "name": "f", "input": {"a": 1}}]
    assert got["message"]["usage"] == {"input_tokens": 7, "output_tokens": 3, "cache_read_input_tokens": 2}
    assert got["message"]["stop_reason"] == "tool_use"


def content(engine: str, *events: dict[str, Any]) -> list[dict[str, Any]]:
    got = same_everywhere(engine, lines(START, *events, STOP, META), "bedrock-converse")
    assert got["message"] is not None, got["error"]
    return got["message"]["content"]


# ---------------------------------------------------------------- text without bounds

def test_every_token_with_an_index_of_its_own_is_one_block(engine: str):
    tokens = ["On", " their", "", " first", ""]
    got = same_everywhere(engine, lines(START, *(e for i, t in enumerate(tokens) for e in (text(i, t), stop(i))), STOP, META))
    assert (got["message"]["content"], got["anomalies"]) == ([{"type": "text", "text": "On their first"}], [])


def test_a_gap_or_another_kind_ends_a_text(engine: str):
    assert [b["text"] for b in content(engine, text(0, "a"), stop(0), text(2, "b"), stop(2))] == ["a", "b"]
    got = content(engine, text(0, "a"), stop(0), tool(1, "t", "f"), stop(1), text(2, "b"), stop(2))
    assert [b["type"] for b in got] == ["text", "tool_use", "text"]


def test_interleaved_indexes_never_splice(engine: str):  # R-17
    got = content(engine, text(0, "a"), tool(1, "t", "f"), args(1, '{"x"'), text(0, "b"), args(1, ":1}"), stop(1), text(0, "c"), stop(0))
    assert [b.get("text", b.get("input")) for b in got] == ["abc", {"x": 1}]


def test_a_stopped_text_does_not_change(engine: str):  # R-23
    got = same_everywhere(engine, lines(START, text(0, "a"), stop(0), text(0, "b"), STOP, META), "bedrock-converse")
    assert got["message"]["content"] == [{"type": "text", "text": "a"}]
    assert "late_delta" in kinds(got)


def test_without_indexes(engine: str):
    got = content(engine, think(None, text="h"), text(None, "a"), text(None, "b"), tool(None, "t", "f"), args(None, "{}"), stop(None), text(None, "c"))
    assert [b["type"] for b in got] == ["thinking", "text", "tool_use", "text"]


def test_the_index_may_stand_beside_the_delta(engine: str):
    event = {"contentBlockIndex": 0, "contentBlockDelta": {"delta": {"text": "a"}}, "p": "x"}
    assert content(engine, event, stop(0)) == [{"type": "text", "text": "a"}]


def test_citations_belong_to_the_text_before_them(engine: str):
    cite = {"location": {"web": {"url": "u"}}}
    want = [{"type": "text", "text": "ab", "citations": [cite, cite]}]
    assert content(engine, text(2, "a"), stop(2), delta(3, citation=cite), delta(3, citation=cite), stop(3), text(4, "b"), stop(4)) == want
    assert content(engine, delta(0, citation=cite), delta(0, citation=cite), text(0, "ab"), stop(0)) == want


def test_redacted_reasoning_and_vendor_blocks(engine: str):
    got = content(engine, think(0, redactedContent="AA"), think(0, redactedContent="BB"), stop(0), think(1, redactedContent="CC"), stop(1),
                  tool(2, "s", "search", type="server_tool_use"), args(2, '{"q":1}'), stop(2),
                  {"contentBlockStart": {"contentBlockIndex": 3, "start": {"toolResult": {"toolUseId": "s", "type": "search_result"}}}},
                  delta(3, toolResult=[{"text": "x"}]), delta(3, toolResult=[{"text": "y"}]), stop(3), delta(4, brandNew={"x": 1}), text(5, "z"))
    assert got == [{"type": "redacted_thinking", "data": "AABB"}, {"type": "redacted_thinking", "data": "CC"},
                   {"type": "server_tool_use", "toolUseId": "s", "name": "search", "input": {"q": 1}},
                   {"type": "search_result", "toolUseId": "s", "content": [{"text": "x"}, {"text": "y"}]}, {"type": "text", "text": "z"}]


# ---------------------------------------------------------------- ends

@pytest.mark.parametrize(("tail", "state", "noted"), [
    ([STOP, META], "COMPLETED", set()), ([META, STOP], "COMPLETED", set()), ([STOP], "COMPLETED", {"no_terminator"}), ([], "ERRORED", set()),
    ([META], "ERRORED", set())])
def test_ends(engine: str, tail: list[dict[str, Any]], state: str, noted: set[str]):  # R-14 R-32
    got = same_everywhere(engine, lines(START, text(0, "a"), stop(0), *tail))
    assert (got["state"], kinds(got)) == (state, noted)


@pytest.mark.parametrize(("word", "stop_reason", "mark"), [("guardrail_intervened", "content_filter", "content_filter"),
                                                           ("malformed_tool_use", "tool_use", "failed_call")])
def test_reasons_that_mark_the_calls(engine: str, word: str, stop_reason: str, mark: str):
    got = same_everywhere(engine, lines(START, tool(0, "t", "f"), stop(0), {"messageStop": {"stopReason": word}}, META))["message"]
    assert (got["stop_reason"], [b["invalid"] for b in got["content"]]) == (stop_reason, [mark])


@pytest.mark.parametrize("error", [{"throttlingException": {"message": "slow down"}}, {"throttlingException": "slow down"},
                                   {"__type": "com.amazon#throttlingException", "message": "slow down"}])
@pytest.mark.parametrize("before", [[], [START, text(0, "a")]])
def test_exceptions(engine: str, before: list[dict[str, Any]], error: dict[str, Any]):  # R-90 R-91
    got = same_everywhere(engine, lines(*before, error))
    assert (got["dialect"], got["state"]) == ("bedrock-converse", "ERRORED")
    assert got["error"] == {"type": "throttlingException", "message": "slow down", "retry": "rate_limit"}


def test_an_answer_that_was_not_streamed(engine: str):
    blocks = [{"reasoningContent": {"reasoningText": {"text": "hm", "signature": "s"}}}, {"text": "hi"},
              {"toolUse": {"toolUseId": "t", "name": "f", "input": {"n": 2**70}}}]
    answer = {"output": {"message": {"role": "assistant", "content": blocks}}, "stopReason": "tool_use", "usage": {"inputTokens": 1, "outputTokens": 2}}
    body = json.dumps(answer, indent=1)
    got = same_everywhere(engine, body.encode())["message"]
    assert got["content"] == [{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": "hi"},
                              {"type": "tool_use", "id": "t", "name": "f", "input": {"n": 2**70}}]


# ---------------------------------------------------------------- any stream

INDEX = st.sampled_from([0, 0, 1, 1, 2, 3, None])
WORDS = st.sampled_from(["", "a", "é", "😀", '"', None])
EVENTS = st.one_of(
    st.builds(text, INDEX, WORDS), st.builds(text, INDEX, WORDS), st.builds(stop, INDEX), st.builds(lambda i, t: think(i, text=t), INDEX, WORDS),
    st.builds(lambda i, t: think(i, signature=t), INDEX, WORDS), st.builds(lambda i, t: think(i, redactedContent=t), INDEX, WORDS),
    st.builds(tool, INDEX, st.sampled_from(["t", "u", "", None]), st.sampled_from(["f", "g", "", None])),
    st.builds(args, INDEX, st.sampled_from(["{}", '{"a":1}', '{"a"', ":1}", "", None, {"a": 1}])),
    st.builds(lambda i, t: delta(i, text=t, toolUse={"input": "{}"}), INDEX, WORDS), st.builds(lambda i: delta(i, citation={"x": 1}), INDEX),
    st.sampled_from([START, STOP, META, {"messageStop": {"stopReason": "max_tokens"}}, {"contentBlockDelta": None}, {"modelStreamErrorException": {}}]))


@settings(max_examples=250)
@given(events=st.lists(EVENTS, max_size=14), cuts=st.lists(st.integers(0, 1500), max_size=5), as_lines=st.booleans())
def test_any_events_are_the_same_on_every_engine(tiers: tuple[str, ...], events: list[dict[str, Any]], cuts: list[int], as_lines: bool):  # R-42 R-52
    body = lines(*events) if as_lines else b"".join(map(frame, events))
    for deltas in ("each", "none"):
        assert disagreement(cut_at(body, cuts), "bedrock-converse", tiers, deltas=deltas) is None


def test_the_short_cut_takes_deltas(tiers: tuple[str, ...]):
    body = lines(START, *(think(0, text=f"w{i}") for i in range(30)), stop(0), *(text(1, f"w{i}") for i in range(30)), stop(1),
                 tool(2, "t", "f"), args(2, '{"a":"'), *(args(2, f"w{i}") for i in range(30)), args(2, '"}'), stop(2), STOP, META)
    for engine in tiers:
        r = fsm.Reconstructor("auto", engine=engine)
        r.feed(body)
        assert ended(r).completed
        assert (r._framing.appended >= 84) == (engine in ("scan", "compiled")), f"{engine}: {r._framing.appended}"


# ---------------------------------------------------------------- invoke: events in base64

def wrapped(body: bytes, form: str) -> bytes:
    events = [e.partition(b"data: ")[2].strip() for e in body.split(b"\n\n") if e]
    data = [{"bytes": base64.b64encode(e).decode(), "p": "abc"} for e in events]
    if form == "binary":
        return b"".join(message(json.dumps(d).encode(), event_type="chunk", message_type="event") for d in data)
    return lines(*({"chunk": d} if form == "chunk" else d for d in data))


@pytest.mark.parametrize("dialect", ["auto", "anthropic"])
@pytest.mark.parametrize("form", ["chunk", "bytes", "binary"])
def test_invoke_is_unwrapped(engine: str, form: str, dialect: str):
    if form == "binary":
        pytest.importorskip("botocore")
    body = anthropic(*a_text(0, "Hel", "lo"), *a_tool(1, "t", "f", '{"a"', ":1}"), stop="tool_use")
    got, plain = same_everywhere(engine, wrapped(body, form), dialect), run(engine, body)
    assert (got["dialect"], got["message"] | {"id": "msg_1"}) == ("anthropic", plain["message"])


@pytest.mark.parametrize("body", [b'{"bytes": "%%%"}\n', b'{"chunk": {"bytes": 5}}\n', b'{"bytes": ""}\n', b'{"bytes": "e30="}\n',
                                  b'{"bytes": "eyJieXRlcyI6ICJlMzA9In0="}\n', b'{"bytes": "W10="}\n', b'{"chunk": null}\n', b'{"bytes": "/w=="}\n'])
def test_odd_wrappings_never_raise(engine: str, body: bytes):  # R-42
    for dialect in ("auto", "anthropic", "openai-chat", "bedrock-converse"):
        assert same_everywhere(engine, body, dialect)["state"] == "ERRORED"


# ---------------------------------------------------------------- the binary framing

def test_without_botocore_the_outcome_says_what_to_install(engine: str, monkeypatch: pytest.MonkeyPatch):
    def missing() -> Any:
        raise ImportError("no botocore")

    monkeypatch.setattr(event_stream, "_reader", missing)
    got = same_everywhere(engine, binary(*ANSWER), "bedrock-converse")
    assert (got["state"], got["error"]["type"]) == ("ERRORED", "missing_dependency")
    assert 'pip install "deltafsm[bedrock]"' in got["error"]["message"]


def test_exceptions_and_errors_in_messages(engine: str):
    pytest.importorskip("botocore")
    head = binary(START, text(0, "a"))
    tail = message(b'{"message":"slow down"}', message_type="exception", exception_type="throttlingException", content_type="application/json")
    got = same_everywhere(engine, head + tail)
    assert got["error"] == {"type": "throttlingException", "message": "slow down", "retry": "rate_limit"}
    tail = message(b"", message_type="error", error_code="InternalError", error_message="broken")
    assert same_everywhere(engine, head + tail)["error"]["message"] == "broken"
    assert same_everywhere(engine, binary(START, STOP) + message(b"", message_type="event", event_type="new"))["state"] == "COMPLETED"


def test_any_broken_byte_is_an_error_and_never_raises(engine: str):  # R-42
    pytest.importorskip("botocore")
    body = binary(START, text(0, "abc"), stop(0), STOP, META)
    for at in range(12, len(body)):
        bad = bytearray(body)
        bad[at] ^= 0x41
        outcome = fsm.reconstruct(bytes(bad), "bedrock-converse", engine=engine)
        assert outcome.state == "ERRORED", f"byte {at}"
        assert outcome.error.type in ("checksum_mismatch", "bad_event_stream", "event_overflow"), f"byte {at}: {outcome.error}"
    for n in range(len(body)):
        outcome = fsm.reconstruct(body[:n], "bedrock-converse", engine=engine)
        assert outcome.completed == (n >= len(binary(START, text(0, "abc"), stop(0), STOP))), f"cut at {n}"


def test_a_message_over_the_limit(engine: str):  # R-97
    pytest.importorskip("botocore")
    got = same_everywhere(engine, binary(START, text(0, "x" * 900)), "bedrock-converse", limits=fsm.Limits(event_bytes=500))
    assert got["error"]["type"] == "event_overflow"


@settings(max_examples=60)
@given(events=st.lists(EVENTS, max_size=8), cuts=st.lists(st.integers(0, 1500), max_size=5))
def test_messages_are_the_same_at_every_split(engine: str, events: list[dict[str, Any]], cuts: list[int]):  # R-03
    pytest.importorskip("botocore")
    body = binary(START, *events)
    whole = run(engine, body, "bedrock-converse")
    assert run(engine, body, "bedrock-converse", None, cut_at(body, cuts)) == whole
    as_lines = run(engine, lines(START, *events), "bedrock-converse")
    given_ = (body + lines(*events)).decode("utf-8", "replace")
    from helpers import stable
    assert stable(whole["message"], given_) == stable(as_lines["message"], given_)
