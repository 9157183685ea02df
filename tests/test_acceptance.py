"""What released clients do with hostile streams, and what this project must do (the table in REQUIREMENTS.md, a row a test)."""

from __future__ import annotations

import pytest

import fsm
from helpers import TOOLS, a_block, a_delta, a_text, a_tool, anthropic, chat, frame, kinds, same_everywhere, tool


def openai(engine: str, body: bytes, tools: dict | None = None, **kw) -> dict:
    return same_everywhere(engine, body, "openai-chat", tools, **kw)


def calls(got: dict) -> list[tuple]:
    return [(b["id"], b["name"], b["input"]) for b in got["message"]["content"]]


def test_same_id_and_name_on_two_chunks(engine: str):
    assert calls(openai(engine, chat(tool(0, "t1", "Read", '{"a":'), tool(0, "t1", "Read", "1}"), finish="tool_calls"))) == [("t1", "Read", {"a": 1})]


def test_fragment_without_id_and_name(engine: str):  # R-44 R-45 R-46 R-47
    body = chat(tool(0, args='{"file_path":"a"}'), finish="tool_calls")
    assert calls(openai(engine, body, TOOLS)) == [("*0", "Read", {"file_path": "a"})]
    assert openai(engine, body)["message"]["content"][0]["invalid"] == "no_name"


def test_missing_index(engine: str):
    assert calls(openai(engine, chat(tool(None, "t1", "Read", '{"a":'), tool(None, None, None, "1}"), finish="tool_calls"))) == [("t1", "Read", {"a": 1})]


def test_index_from_one(engine: str):
    body = chat(tool(1, "t1", "Read", '{"a":1}'), tool(2, "t2", "Grep", '{"b":2}'), finish="tool_calls")
    assert calls(openai(engine, body)) == [("t1", "Read", {"a": 1}), ("t2", "Grep", {"b": 2})]


def test_two_ids_on_index_0(engine: str):  # R-17 R-50
    body = chat(tool(0, "t1", "Read", '{"a":1}'), tool(0, "t2", "Grep", '{"b":2}'), finish="tool_calls")
    assert calls(openai(engine, body)) == [("t1", "Read", {"a": 1}), ("t2", "Grep", {"b": 2})]


@pytest.mark.parametrize("arguments", ['{"a":', '{"a":1}'], ids=["cut", "parse"])
def test_length_drops_every_call(engine: str, arguments: str):
    got = openai(engine, chat({"content": "x"}, tool(0, "t1", "Read", arguments), finish="length"))["message"]
    assert (got["content"], got["stop_reason"], len(got["dropped_calls"])) == ([{"type": "text", "text": "x"}], "max_tokens", 1)


def test_end_without_finish(engine: str):
    got = openai(engine, chat(tool(0, "t1", "Read", '{"a":1}'), finish=None, done=False))
    assert (got["state"], got["partial"]["content"][0]["invalid"]) == ("ERRORED", "stream_incomplete")


def test_text_after_finish(engine: str):
    late = frame({"choices": [{"index": 0, "delta": {"content": "LATE"}, "finish_reason": None}]})
    got = openai(engine, chat({"content": "hi"}, done=False) + late + frame("[DONE]"))
    assert (got["message"]["content"], kinds(got)) == ([{"type": "text", "text": "hi"}], {"content_after_stop"})


def test_usage_then_null_usage(engine: str):
    late = frame({"choices": [], "usage": None})
    got = openai(engine, chat({"content": "x"}, usage={"prompt_tokens": 2, "completion_tokens": 6}, done=False) + late + frame("[DONE]"))
    assert got["message"]["usage"]["output_tokens"] == 6


@pytest.mark.parametrize("noise", [b": ping\n\n", b"data:\n\n", b"data: \n\n"])
def test_ping_comments_and_blank_data(engine: str, noise: bytes):
    got = openai(engine, noise + chat({"content": "x"}).replace(b"\n\n", b"\n\n" + noise))
    assert (got["message"]["content"], got["anomalies"]) == ([{"type": "text", "text": "x"}], [])


@pytest.mark.parametrize(("policy", "state"), [("error", "ERRORED"), ("skip", "COMPLETED")])
def test_one_bad_json_line(engine: str, policy: str, state: str):
    got = openai(engine, chat({"content": "a"}, finish=None, done=False) + b'data: {"choices":[}\n\n' + chat({"content": "b"}), on_bad_event=policy)
    assert (got["state"], "bad_json" in kinds(got)) == (state, True)


# ---------------------------------------------------------------- the anthropic helper's row


def claude(engine: str, body: bytes) -> dict:
    return same_everywhere(engine, body, "anthropic")


def test_zero_usage_in_message_delta(engine: str):
    zeros = {"input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 5}
    events = [{"type": "message_start", "message": {"usage": {"input_tokens": 1000, "cache_read_input_tokens": 800}}}, *a_text(0, "x"),
              {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": zeros}, {"type": "message_stop"}]
    body = b"".join(map(frame, events))
    assert claude(engine, body)["message"]["usage"] == {"input_tokens": 1000, "output_tokens": 5, "cache_read_input_tokens": 800}


def test_late_text(engine: str):
    assert claude(engine, anthropic(*a_text(0, "ok"), a_delta(0, {"type": "text_delta", "text": "LATE"})))["message"]["content"][0]["text"] == "ok"


def test_cut_input_at_max_tokens(engine: str):
    got = claude(engine, anthropic(*a_tool(0, "t", "X", '{"a'), stop="max_tokens"))["message"]
    assert (got["content"], got["dropped_calls"][0]["raw_input"]) == ([], '{"a')


def test_cut_input_at_the_end_of_the_connection(engine: str):  # R-33 R-34
    got = claude(engine, anthropic(*a_tool(0, "t", "X", '{"a', stop=False), end=False))
    assert (got["state"], got["partial"]["content"][0]["invalid"], got["partial"]["content"][0]["raw_input"]) == ("ERRORED", "incomplete", '{"a')


def test_signature_in_two_deltas(engine: str):
    body = anthropic(*a_block(0, {"type": "thinking", "thinking": "", "signature": ""}, {"type": "thinking_delta", "thinking": "x"},
                              {"type": "signature_delta", "signature": "sig_"}, {"type": "signature_delta", "signature": "abc"}))
    assert claude(engine, body)["message"]["content"][0]["signature"] == "sig_abc"


def test_delta_without_start_and_an_index_gap(engine: str):
    body = anthropic(a_delta(0, {"type": "text_delta", "text": "a"}), *a_text(5, "b"))
    assert [b["text"] for b in claude(engine, body)["message"]["content"]] == ["a", "b"]


def test_no_message_start(engine: str):
    body = anthropic(*a_text(0, "x"))
    assert claude(engine, body[body.index(b"\n\n") + 2:])["message"]["content"] == [{"type": "text", "text": "x"}]


def test_no_event_lines(engine: str):
    body = anthropic(*a_text(0, "x"))
    bare = b"\n".join(line for line in body.split(b"\n") if not line.startswith(b"event:"))
    assert claude(engine, bare)["message"] == claude(engine, body)["message"]


def test_type_only_in_the_event_line(engine: str):
    body = anthropic(*a_text(0, "x"))
    for word in (b"message_start", b"content_block_start", b"content_block_delta", b"content_block_stop", b"message_delta", b"message_stop"):
        body = body.replace(b'{"type": "' + word + b'", ', b"{").replace(b'{"type": "' + word + b'"}', b"{}")
    assert body.count(b'"type"') == 2, "only the block's and the delta's own types are left"
    assert claude(engine, body)["message"]["content"] == [{"type": "text", "text": "x"}]


def test_unknown_event_ping_comment_and_blank_data(engine: str):  # R-29 R-30
    noise = frame({"type": "sparkle"}, "sparkle") + frame({"type": "ping"}, "ping") + b": c\n\n" + b"data:\n\n"
    body = anthropic(*a_text(0, "x")).replace(b"\n\n", b"\n\n" + noise)
    assert claude(engine, body)["message"]["content"] == [{"type": "text", "text": "x"}]


def test_error_event(engine: str):
    error = frame({"type": "error", "error": {"type": "api_error", "message": "m"}}, "error")
    outcome = fsm.reconstruct(anthropic(*a_text(0, "x"), end=False) + error, engine=engine)
    with pytest.raises(fsm.StreamErrored, match="api_error"):
        outcome.raise_for_state()
