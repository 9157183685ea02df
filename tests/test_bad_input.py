"""Bodies that nobody should send: each gives a clear outcome within its limits, never an exception."""

from __future__ import annotations

import gzip
import json
import time
import tracemalloc

import pytest

import fsm
from helpers import STOP, a_text, anthropic, chat, ended, frag, frame, lines, push_all, run, same_everywhere, start, text, tool

DIALECTS = ["auto", "anthropic", "openai-chat", "canonical"]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("body", [b"", b" ", b"\n\n\n", b"\xef\xbb\xbf", b"\xef"], ids=["empty", "space", "blank lines", "mark", "half a mark"])
def test_an_empty_body(engine: str, dialect: str, body: bytes):
    got = same_everywhere(engine, body, dialect)
    assert (got["state"], got["error"]["retry"]) == ("ERRORED", "backoff" if got["error"]["type"] == "empty_body" else "unknown")
    assert got["partial"]["content"] == []


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("body", [b"<!DOCTYPE html><html><body>502 Bad Gateway</body></html>",
                                  b"<html>\n\n<h1>\n" + b"x" * 9000, b"  \n<?xml version='1.0'?><e/>"])
def test_html(engine: str, dialect: str, body: bytes):
    got = same_everywhere(engine, body, dialect)
    assert (got["state"], got["error"]["type"]) == ("ERRORED", "not_event_stream")
    assert repr(body.strip()[:20])[2:-1] in got["error"]["message"]
    assert len(got["error"]["message"]) < 1500


@pytest.mark.parametrize("dialect", DIALECTS)
def test_compressed_bytes(engine: str, dialect: str):
    body = gzip.compress(chat({"content": "x"}), mtime=0)
    got = same_everywhere(engine, body, dialect)
    assert (got["state"], got["error"]["type"]) == ("ERRORED", "compressed_body")
    assert "Content-Encoding" in got["error"]["message"]


@pytest.mark.parametrize("dialect", ["auto", "anthropic", "openai-chat"])
@pytest.mark.parametrize(("payload", "type_"), [
    ({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, "overloaded_error"),
    ({"error": {"message": "Overloaded", "type": "invalid_request_error", "param": None, "code": None}}, "invalid_request_error"),
    ({"error": {"message": "Overloaded", "code": 429}}, "429"),
    ({"error": "Overloaded"}, "error"),
])
@pytest.mark.parametrize("indent", [None, 2])
def test_a_plain_json_error(engine: str, dialect: str, payload: dict, type_: str, indent: int | None):  # R-31 R-90
    got = same_everywhere(engine, json.dumps(payload, indent=indent).encode(), dialect)
    assert (got["state"], got["error"]["type"], got["error"]["message"]) == ("ERRORED", type_, "Overloaded")


def test_an_error_body_pasted_into_a_stream(engine: str):
    body = chat({"content": "x"}, finish=None, done=False) + b'{"error":{"message":"upstream died","code":502}}\n\n'
    got = same_everywhere(engine, body, "openai-chat")
    assert (got["state"], got["error"]["message"]) == ("ERRORED", "upstream died")


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("body", [b"null", b"[]", b"[1,2]", b"{}", b"true", b'"text"', b"upstream connect error", b"data: {}\n\n", b"\x00\x01\x02\x03" * 100,
                                  b"\xff\xfe\x00d\x00a", bytes(range(256)) * 8, b"data: \xff\xff\n\n", b"event: \xff\ndata: {}\n\n", b"[[[[", b"{{{{"],
                         ids=range(15))
def test_rubbish(engine: str, dialect: str, body: bytes):
    got = same_everywhere(engine, body, dialect)
    assert got["state"] == "ERRORED"
    assert got["error"]["message"]


def test_nul_bytes_in_text_are_text(engine: str):
    assert same_everywhere(engine, chat({"content": "a\x00b"}), "openai-chat")["message"]["content"][0]["text"] == "a\x00b"


def test_raw_nul_bytes_between_events(engine: str):
    got = same_everywhere(engine, b"\x00\n\n" + chat({"content": "x"}), "openai-chat")
    assert (got["state"], got["message"]["content"][0]["text"]) == ("COMPLETED", "x")


def test_invalid_utf8_in_text_is_replaced(engine: str):
    body = chat({"content": "aXb"}).replace(b"X", b"\xff")
    got = same_everywhere(engine, body, "openai-chat")
    assert (got["state"], got["message"]["content"][0]["text"]) == ("COMPLETED", "a\ufffdb")
    assert [a["kind"] for a in got["anomalies"]] == ["invalid_utf8"]


@pytest.mark.parametrize("half", ["\\ud83d", "\\ude00", "\\ud83d\\ud83d"])
def test_lone_surrogates(engine: str, half: str):
    body = b'data: {"choices":[{"index":0,"delta":{"content":"a' + half.encode() + b'b"}}]}\n\ndata: [DONE]\n\n'
    got = same_everywhere(engine, body, "openai-chat")
    assert got["message"]["content"][0]["text"] == "a" + "\ufffd" * (len(half) // 6) + "b"
    json.dumps(got, ensure_ascii=False).encode()


@pytest.mark.parametrize("where", ["id", "name", "model", "reason", "error", "signature"])
def test_lone_surrogates_elsewhere(engine: str, where: str):  # R-01 R-52
    """Whatever field they stand in, the outcome can be written as UTF-8."""
    half = "\ud83d"
    events = {"id": [start("t" + half, "X"), STOP], "name": [start("t", "X" + half), STOP],
              "model": [{"type": "message_start", "model": half}, text("x"), STOP],
              "reason": [text("x"), {"type": "stop_reason", "reason": half}, STOP], "error": [{"type": "error", "kind": "e", "message": half}],
              "signature": [{"type": "thinking_delta", "text": "x"}, {"type": "signature_delta", "signature": half}, STOP]}[where]
    for outcome in (push_all(engine, events)[1].to_dict(), run(engine, lines(events), "canonical")):
        json.dumps(outcome, ensure_ascii=False).encode()


@pytest.mark.parametrize("value", [None, 7, [], {}, "x", True, 1.5, [[]], {"a": None}])
@pytest.mark.parametrize("key", ["choices", "delta", "content", "tool_calls", "function", "arguments", "index", "finish_reason", "usage", "id", "model"])
def test_any_type_in_any_place_of_a_chunk(engine: str, key: str, value: object):
    def swap(x: object) -> object:
        return {k: value if k == key else swap(v) for k, v in x.items()} if isinstance(x, dict) else [swap(v) for v in x] if isinstance(x, list) else x

    call = {"index": 0, "id": "t", "function": {"name": "X", "arguments": "{}"}}
    chunk = {"id": "c", "model": "m", "choices": [{"index": 0, "delta": {"content": "x", "tool_calls": [call]}, "finish_reason": None}],
             "usage": {"prompt_tokens": 1}}
    body = frame(swap(chunk)) + frame("[DONE]")
    assert run(engine, body, "openai-chat")["state"] in ("COMPLETED", "ERRORED")


@pytest.mark.parametrize("value", [None, 7, [], {}, "x", True, 1.5, [[]], {"a": None}])
@pytest.mark.parametrize("key", ["type", "index", "content_block", "delta", "message", "usage", "stop_reason", "content", "text", "id", "name", "input",
                                 "partial_json", "signature", "error"])
def test_any_type_in_any_place_of_an_event(engine: str, key: str, value: object):
    events = [{"type": "message_start", "message": {"id": "m", "content": [], "usage": {"input_tokens": 1}}}, *a_text(0, "x"),
              {"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": "t", "name": "X", "input": {}}},
              {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": "{}"}},
              {"type": "content_block_delta", "index": 2, "delta": {"type": "signature_delta", "signature": "s"}},
              {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 1}}, {"type": "message_stop"}]

    def swap(x: object) -> object:
        return {k: value if k == key else swap(v) for k, v in x.items()} if isinstance(x, dict) else [swap(v) for v in x] if isinstance(x, list) else x

    assert run(engine, b"".join(frame(swap(e)) for e in events), "anthropic")["state"] in ("COMPLETED", "ERRORED")


# ---------------------------------------------------------------- large ones


def peak(engine: str, body: bytes, dialect: str, size: int = 65536, **kw) -> tuple[fsm.Outcome, int, float]:
    """The outcome, the most memory held while reading (bytes), and the seconds it took."""
    r = fsm.Reconstructor(dialect, engine=engine, deltas="none", **kw)
    tracemalloc.start()
    begin = time.process_time()
    for i in range(0, len(body), size):
        r.feed(body[i:i + size])
    outcome = ended(r)
    taken = time.process_time() - begin
    _now, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return outcome, most, taken


def test_ten_megabytes_without_a_newline(engine: str):
    outcome, most, _s = peak(engine, b"data: " + b"x" * (10 << 20), "openai-chat", limits=fsm.Limits(event_bytes=1 << 20))
    assert (outcome.state, outcome.error.type) == ("CANCELLED", "event_overflow")
    assert most < 8 << 20, "what is kept is bounded by the limit, not by the body"


def test_ten_megabytes_within_the_limit(engine: str):
    outcome, _m, _s = peak(engine, b"x" * (10 << 20), "openai-chat", size=1 << 16)
    assert outcome.state == "ERRORED"


def test_two_megabytes_of_text(engine: str):
    body = chat(*[{"content": "x" * 1000}] * 2100)
    outcome, most, _s = peak(engine, body, "openai-chat")
    assert (outcome.state, outcome.error.type) == ("CANCELLED", "content_overflow")
    assert len(outcome.partial.text) <= (1 << 20) + 1000
    assert most < 12 << 20


def test_a_hundred_thousand_blocks(engine: str):
    event = b'data: {"type":"content_block_start","index":%d,"content_block":{"type":"text","text":"x"}}\n\n'
    outcome = fsm.reconstruct([event % i for i in range(100_000)], "anthropic", engine=engine)
    assert (outcome.state, outcome.error.type) == ("CANCELLED", "block_overflow")
    assert (len(outcome.partial.content), len(outcome.anomalies)) == (4097, 100)


def test_a_hundred_thousand_calls_in_one_delta(engine: str):
    delta = {"tool_calls": [{"index": i, "id": f"t{i}", "function": {"name": "X", "arguments": "{}"}} for i in range(100_000)]}
    assert fsm.reconstruct(chat(delta), "openai-chat", engine=engine).error.type == "block_overflow"


@pytest.mark.parametrize("deep", ['{"a":' * 10_000, '{"a":' * 10_000 + "1" + "}" * 10_000, "[" * 10_000], ids=["open", "closed", "array"])
def test_ten_thousand_deep_arguments(engine: str, deep: str):
    got = run(engine, chat(tool(0, "t", "X", deep), finish="tool_calls"), "openai-chat")
    assert (got["state"], got["message"]["content"][0]["invalid"], got["message"]["content"][0]["raw_input"]) == ("COMPLETED", "too_deep", deep)


@pytest.mark.parametrize("deep", [b'{"choices":' + b"[" * 100_000, b"[" * 100_000 + b"]" * 100_000, b'{"a":' * 100_000 + b"1" + b"}" * 100_000])
def test_a_payload_nested_too_deeply(engine: str, deep: bytes):
    assert run(engine, b"data: " + deep + b"\n\n", "openai-chat")["state"] == "ERRORED"


def test_arguments_given_as_a_deep_object(engine: str):
    head = b'data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"t","function":{"name":"X","arguments":'
    body = head + b'{"a":' * 900 + b"1" + b"}" * 900 + \
        b'}}]},"finish_reason":"tool_calls"}]}\n\ndata: [DONE]\n\n'
    assert run(engine, body, "openai-chat")["message"]["content"][0]["invalid"] == "too_deep"


# ---------------------------------------------------------------- linear


def ratio(engine: str, make, small: int, factor: int) -> float:
    """How much more a stream `factor` times as long costs per unit; 1.0 is linear, `factor` is quadratic."""
    def best(n: int) -> float:
        body = make(n)
        limits = fsm.Limits(content_bytes=1 << 26, blocks=1 << 20)
        times = []
        for _ in range(3):
            begin = time.process_time()
            fsm.reconstruct(body, limits=limits, engine=engine)
            times.append(time.process_time() - begin)
        return min(times)
    return best(small * factor) / best(small) / factor


@pytest.mark.parametrize("make", [
    lambda n: chat(*[{"content": "x"}] * n), lambda n: chat(tool(0, "t", "X", '{"a":"'), *[tool(0, args="x")] * n),
    lambda n: chat(*[tool(i, f"t{i}", "X", "{}") for i in range(n)]), lambda n: anthropic(*[e for i in range(n) for e in a_text(i, "x")]),
    lambda n: lines([text("x"), *[frag("y")] * n]), lambda n: chat(tool(0, "t", "X", '{"a":1}'), *[tool(0, "t", "X", "")] * n),
    lambda n: anthropic(*[{"type": "content_block_delta", "index": 7, "delta": {"type": "citations_delta", "citation": {"n": i}}} for i in range(n)]),
    lambda n: lines([start("t", "X"), *[{"type": "stop_reason", "reason": f"r{i}"} for i in range(n)]]),
], ids=["text", "arguments", "calls", "blocks", "fragments", "repeated starts", "citations", "reasons"])
def test_cost_is_linear(engine: str, make):
    assert ratio(engine, make, 250, 16) < 6


def test_many_citations_on_one_block_are_linear(engine: str):
    def make(n: int) -> bytes:
        cites = [{"type": "content_block_delta", "index": 0, "delta": {"type": "citations_delta", "citation": {"n": i}}} for i in range(n)]
        return anthropic({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "x"}}, *cites)
    assert ratio(engine, make, 500, 16) < 6
