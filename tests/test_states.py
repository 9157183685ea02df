"""The six states, the ways between them, what an end needs, and the ranking of stop reasons."""

from __future__ import annotations

import json

import pytest

import fsm
from helpers import (STOP, TOOLS, a_block, a_text, a_tool, anthropic, chat, ended, ev, frag, frame, kinds, message, of, push_all, reason, same_everywhere,
                     start, text, think, tool)

ERROR = ev("error", kind="overloaded_error", message="Overloaded")


def state_after(engine: str, *events: dict) -> str:
    r = fsm.Reconstructor("canonical", engine=engine)
    for event in events:
        r.push(event)
    return r.state


def test_there_are_six_states():  # R-83
    assert [str(s) for s in fsm.StreamState] == ["INITIALIZING", "STREAMING", "COMPLETED", "CANCELLED", "ERRORED", "TIMED_OUT"]


@pytest.mark.parametrize(("events", "state"), [
    ([], "INITIALIZING"), ([ev("ping")], "INITIALIZING"), ([text("")], "INITIALIZING"), ([ev("message_start")], "STREAMING"), ([text("x")], "STREAMING"),
    ([reason("stop")], "STREAMING"), ([text("x"), STOP], "COMPLETED"), ([text("x"), ERROR], "ERRORED"), ([STOP], "COMPLETED"),
])
def test_the_state_follows_the_events(engine: str, events: list, state: str):  # R-83
    assert state_after(engine, *events) == state


@pytest.mark.parametrize("end", [STOP, ERROR], ids=["completed", "errored"])
@pytest.mark.parametrize("then", [text("x"), ERROR, STOP, start("t", "X"), reason("length"), ev("message_start", id="b"),
                                  ev("usage", usage={"input_tokens": 9})])
def test_a_terminal_state_never_changes(engine: str, end: dict, then: dict):  # R-83 R-91
    before, _ = push_all(engine, [text("a"), end])
    told, outcome = push_all(engine, [text("a"), end, then])
    assert (outcome.state, len(told)) == ("COMPLETED" if end is STOP else "ERRORED", len(before))
    assert set(kinds(outcome)) & {"event_after_end", "error_after_end"}


def test_nothing_reopens_a_cancelled_stream(engine: str):  # R-83 R-85
    r = fsm.Reconstructor("canonical", engine=engine)
    r.push(text("a"))
    r.cancel("user")
    assert r.push(STOP) == []
    assert r.cancel("again") == []
    assert (ended(r).state, ended(r).metrics.cancellation_reason) == ("CANCELLED", "user")


def test_a_cancel_after_the_end_changes_nothing(engine: str):  # R-83
    r = fsm.Reconstructor("canonical", engine=engine)
    r.push(text("a"))
    r.push(STOP)
    assert r.cancel() == []
    assert (ended(r).state, ended(r).metrics.cancellation_reason) == ("COMPLETED", None)


# ---------------------------------------------------------------- cancel


def test_after_a_cancel_everything_partial_is_invalid(engine: str):  # R-85
    r = fsm.Reconstructor("canonical", tools=TOOLS, engine=engine)
    r.push(text("x"))
    r.push(start("t", "Read"))
    r.push(frag('{"file_path":"a"}'))
    told = r.cancel("budget exceeded")
    outcome = ended(r)
    assert (outcome.state, outcome.error.type, outcome.error.retry) == ("CANCELLED", "cancelled", "never")
    assert outcome.partial.to_dict()["valid"] is False
    assert outcome.partial.invalid_calls[0]["invalid"] == "stream_cancelled"
    assert of(fsm.ToolReady, told) == []
    assert "budget exceeded" in outcome.error.message
    with pytest.raises(fsm.StreamCancelled):
        outcome.raise_for_state()


def test_cancel_is_there_before_the_first_byte(engine: str):  # R-85 R-83
    r = fsm.Reconstructor("anthropic", engine=engine)
    r.cancel()
    assert (r.state, ended(r).partial.content) == ("CANCELLED", [])


def test_a_call_given_out_before_the_cancel_is_marked(engine: str):  # R-85
    r = fsm.Reconstructor("canonical", engine=engine)
    r.push(start("t", "X"))
    r.push(ev("tool_use_stop", id="t"))
    r.cancel()
    assert ended(r).partial.content[0]["invalid"] == "stream_cancelled"


# ---------------------------------------------------------------- what an end needs


@pytest.mark.parametrize(("tail", "state"), [
    ([], "ERRORED"), ([reason("stop")], "COMPLETED"), ([STOP], "COMPLETED"), ([reason("stop"), ERROR], "ERRORED"),
])
def test_the_end_of_a_text(engine: str, tail: list, state: str):  # R-32 R-40
    assert push_all(engine, [text("x"), *tail])[1].state == state


@pytest.mark.parametrize(("word", "state"), [("tool_use", "ERRORED"), ("length", "COMPLETED")])
def test_an_open_cut_call_makes_the_end_an_error_unless_the_reason_drops_it(engine: str, word: str, state: str):  # R-33 rule 11
    assert push_all(engine, [start("t", "X"), frag('{"a'), reason(word)])[1].state == state


def test_an_open_text_block_is_no_obstacle_behind_a_stated_end(engine: str):  # rule 11
    body = anthropic(*a_text(0, "x", stop=False), end=False) + frame({"type": "message_delta", "delta": {"stop_reason": "end_turn"}})
    got = same_everywhere(engine, body, "anthropic")
    assert (got["state"], kinds(got)) == ("COMPLETED", {"missing_stop", "no_terminator"})


def test_a_missing_terminator_is_an_explicit_outcome(engine: str):  # R-40
    outcome = fsm.reconstruct(chat({"content": "x"}, finish=None, done=False), engine=engine)
    assert (outcome.state, outcome.error.type, outcome.error.retry, outcome.completed) == ("ERRORED", "incomplete_stream", "backoff", False)
    with pytest.raises(fsm.StreamErrored, match="incomplete_stream"):
        outcome.raise_for_state()


def test_a_terminator_without_a_reason_completes_with_an_anomaly(engine: str):  # rule 11
    got = same_everywhere(engine, anthropic(*a_text(0, "x"), stop=None), "anthropic")
    assert (got["state"], got["message"]["stop_reason"], got["message"]["raw_stop_reason"]) == ("COMPLETED", "end_turn", None)
    assert kinds(got) == {"no_stop_reason"}


@pytest.mark.parametrize("events", [[], [ev("ping")], [ev("message_start")], [think("x")], [start("t", "X")], [frag("{}")]])
def test_no_end_at_all_is_never_complete(engine: str, events: list):  # R-32 R-40
    assert push_all(engine, events)[1].state == "ERRORED"


# ---------------------------------------------------------------- errors (R-31, R-71, R-90, R-91)


@pytest.mark.parametrize(("code", "advice"), [
    ("overloaded_error", "backoff"), ("rate_limit_exceeded", "rate_limit"), ("rate_limit_error", "rate_limit"), ("invalid_request_error", "never"),
    ("output_filter_triggered", "never"), ("tool_use_error", "unknown"), ("api_error", "backoff"), ("OVERLOADED_ERROR", "backoff"), ("made_up", "unknown"),
])
def test_retry_advice(engine: str, code: str, advice: str):  # R-90
    body = anthropic(*a_text(0, "half"), end=False) + frame({"type": "error", "error": {"type": code, "message": "m"}}, "error")
    outcome = fsm.reconstruct(body, engine=engine)
    assert (outcome.state, outcome.error.type, outcome.error.message, outcome.error.retry) == ("ERRORED", code, "m", advice)
    assert outcome.error.advice


def test_reading_stops_at_an_error(engine: str):  # R-31 R-91
    error = frame({"type": "error", "error": {"type": "overloaded_error", "message": "m"}}, "error")
    body = anthropic(*a_text(0, "half"), end=False) + error + anthropic(*a_text(1, "more"))[-300:]
    got = same_everywhere(engine, body, "anthropic")
    assert (got["state"], got["message"], got["partial"]["content"]) == ("ERRORED", None, [{"type": "text", "text": "half"}])


def test_a_tool_use_error_leaves_no_call_to_run(engine: str):  # R-71 R-70
    told, outcome = push_all(engine, [start("t", "X"), frag('{"a":1}'), ev("error", kind="tool_use_error", message="m")])
    assert outcome.partial.tool_calls == of(fsm.ToolReady, told) == []
    assert outcome.partial.content[0]["invalid"] == "stream_error"


def test_an_error_behind_the_terminator_is_only_evidence(engine: str):  # R-83
    got = same_everywhere(engine, anthropic(*a_text(0, "x")) + frame({"type": "error", "error": {"type": "api_error"}}, "error"), "anthropic")
    assert (got["state"], kinds(got)) == ("COMPLETED", {"error_after_end"})


@pytest.mark.parametrize(("payload", "type_", "code"), [
    ({"error": {"message": "m", "type": "server_error", "code": "overloaded"}}, "server_error", "overloaded"),
    ({"error": {"message": "m", "code": 429}}, "429", None), ({"error": "m"}, "error", None),
    ({"error": {"error": {"type": "api_error", "message": "m"}}}, "api_error", None),
    ({"error": {"message": "m", "code": 502, "metadata": {"error_type": "provider_unavailable"}}}, "502", "provider_unavailable"),
    ({"object": "error", "message": "m", "type": "BadRequestError", "code": 400}, "BadRequestError", "400"),
])
def test_shapes_of_errors(engine: str, payload: dict, type_: str, code: str | None):  # R-31 rule 17
    got = same_everywhere(engine, chat({"content": "x"}, finish=None, done=False) + frame(payload), "openai-chat")
    assert (got["error"]["type"], got["error"].get("code"), got["error"]["message"]) == (type_, code, "m")


def test_a_finish_reason_error_is_an_error(engine: str):  # R-31
    body = chat({"content": "x"}, finish=None, done=False) + frame({"choices": [{"index": 0, "delta": {}, "finish_reason": "error"}]}) + frame("[DONE]")
    assert same_everywhere(engine, body, "openai-chat")["state"] == "ERRORED"


def test_an_error_says_where(engine: str):  # R-31
    head = anthropic(*a_text(0, "half", stop=False), end=False)
    info = fsm.reconstruct(head + frame({"type": "error", "error": {"type": "api_error", "message": "m"}}, "error"), engine=engine).error
    assert (info.offset, info.event, info.state, info.block) == (len(head), 4, "STREAMING.text", 0)


# ---------------------------------------------------------------- bad payloads (rule 12)

BAD = b"data: {\"choices\": oops\n\n"


def test_a_payload_that_does_not_parse_is_a_loss(engine: str):
    got = same_everywhere(engine, chat({"content": "x"}, finish=None, done=False) + BAD + chat({"content": "y"}), "openai-chat")
    assert (got["state"], got["error"]["type"]) == ("ERRORED", "bad_payload")


def test_it_is_counted_where_the_caller_says_skip(engine: str):
    got = same_everywhere(engine, chat({"content": "x"}, finish=None, done=False) + BAD + chat({"content": "y"}), "openai-chat", on_bad_event="skip")
    assert (got["state"], got["message"]["content"][0]["text"], kinds(got)) == ("COMPLETED", "xy", {"bad_json"})


def test_behind_the_terminator_it_is_noise(engine: str):
    assert same_everywhere(engine, chat({"content": "x"}) + BAD, "openai-chat")["state"] == "COMPLETED"


def test_the_cut_last_event_behind_a_stated_end_is_noise(engine: str):
    assert same_everywhere(engine, chat({"content": "x"}, done=False) + b'data: {"choices":[', "openai-chat")["state"] == "COMPLETED"


def test_a_whole_bad_event_behind_a_stated_end_is_a_loss(engine: str):
    assert same_everywhere(engine, chat({"content": "x"}, done=False) + BAD, "openai-chat")["state"] == "ERRORED"


@pytest.mark.parametrize("noise", [b"data: OPENROUTER PROCESSING\n\n", b"data: 1\n\n", b"data: null\n\n", b"event: heartbeat\ndata: x\n\n", b"event: x\n\n"])
def test_other_data_is_ignored(engine: str, noise: bytes):  # R-29 R-30
    got = same_everywhere(engine, noise + chat({"content": "x"}).replace(b"\n\n", b"\n\n" + noise), "openai-chat")
    assert (got["state"], got["message"]["content"]) == ("COMPLETED", [{"type": "text", "text": "x"}])


# ---------------------------------------------------------------- stop reasons (rule 14)

CALL = [start("t", "X"), frag('{"a":1}')]


@pytest.mark.parametrize(("events", "words", "stop"), [
    ([text("x")], ["stop"], "end_turn"), ([text("x")], ["tool_calls"], "end_turn"), (CALL, ["stop"], "tool_use"), (CALL, ["end_turn"], "tool_use"),
    (CALL, ["stop_sequence"], "tool_use"), ([text("x")], ["stop_sequence"], "stop_sequence"), ([text("x")], ["pause_turn"], "pause_turn"),
    ([text("x")], ["length"], "max_tokens"), ([text("x")], ["content_filter"], "content_filter"), (CALL, ["refusal"], "refusal"),
    ([text("x")], ["brand_new"], None), (CALL, ["brand_new"], "tool_use"), ([text("x")], [], "end_turn"), (CALL, [], "tool_use"),
    ([text("x")], ["stop", "length"], "max_tokens"), ([text("x")], ["length", "stop"], "max_tokens"), (CALL, ["length", "refusal", "stop"], "max_tokens"),
    ([text("x")], ["content_filter", "stop"], "content_filter"), ([text("x")], ["stop_sequence", "stop"], "end_turn"),
])
def test_the_stop_reason_follows_from_the_content(engine: str, events: list, words: list[str], stop: str | None):  # R-62
    assert message(engine, [*events, *map(reason, words), STOP]).stop_reason == stop


@pytest.mark.parametrize("word", ["content_filter", "refusal"])
def test_a_filter_marks_the_calls(engine: str, word: str):
    m = message(engine, [*CALL, reason(word), STOP])
    assert (m.stop_reason, m.content[0]["invalid"], m.tool_calls) == (word, word, [])


def test_a_failed_call_reason(engine: str):
    with_call = message(engine, [*CALL, reason("failed_call"), STOP])
    assert (with_call.stop_reason, with_call.content[0]["invalid"]) == ("tool_use", "failed_call")
    without = push_all(engine, [text("x"), reason("failed_call"), STOP])[1]
    assert (without.state, without.error.type) == ("ERRORED", "failed_call")


def test_a_stop_reason_that_the_content_overrules_is_recorded(engine: str):
    outcome = push_all(engine, [*CALL, reason("stop"), STOP])[1]
    assert (outcome.message.raw_stop_reason, kinds(outcome)) == ("stop", {"stop_reason_replaced"})


# ---------------------------------------------------------------- restatements (rule 15)


def test_a_whole_message_instead_of_a_stream(engine: str):
    body = json.dumps({"type": "message", "id": "m", "role": "assistant", "content": [
        {"type": "text", "text": "x"}, {"type": "tool_use", "id": "t", "name": "X", "input": {"a": 1}}], "stop_reason": "tool_use",
        "usage": {"input_tokens": 1, "output_tokens": 2}}).encode()
    got = same_everywhere(engine, body)
    assert (got["state"], got["dialect"], [b["type"] for b in got["message"]["content"]]) == ("COMPLETED", "anthropic", ["text", "tool_use"])


def test_a_plain_chat_completion(engine: str):
    answer = {"role": "assistant", "content": "x", "tool_calls": [{"id": "t", "type": "function", "function": {"name": "X", "arguments": '{"a":1}'}}]}
    body = json.dumps({"object": "chat.completion", "choices": [{"index": 0, "message": answer, "finish_reason": "tool_calls"}]}).encode()
    got = same_everywhere(engine, body)["message"]
    assert [b.get("text", b.get("input")) for b in got["content"]] == ["x", {"a": 1}]


def test_a_restatement_fills_in_only_what_was_not_streamed(engine: str):
    calls = [{"id": "t", "function": {"name": "X", "arguments": '{"a":1}'}}]
    final = {"choices": [{"index": 0, "message": {"role": "assistant", "content": "xy", "tool_calls": calls}, "finish_reason": "tool_calls"}]}
    body = chat({"content": "x"}, {"content": "y"}, finish=None, done=False) + frame(final) + frame("[DONE]")
    got = same_everywhere(engine, body, "openai-chat")
    assert [b.get("text", b.get("input")) for b in got["message"]["content"]] == ["xy", {"a": 1}]


def test_a_restatement_that_contradicts_makes_the_call_invalid(engine: str):
    calls = [{"id": "t", "function": {"name": "X", "arguments": '{"a":2}'}}]
    final = {"choices": [{"index": 0, "message": {"tool_calls": calls}, "finish_reason": "tool_calls"}]}
    body = chat(tool(0, "t", "X", '{"a":1}'), finish=None, done=False) + frame(final) + frame("[DONE]")
    call, = same_everywhere(engine, body, "openai-chat")["message"]["content"]
    assert (call["invalid"], call["raw_input"]) == ("contradicted", '{"a":1}')


def test_a_choice_can_be_selected(engine: str):
    body = b"".join(frame({"choices": [{"index": i, "delta": {"content": c}}]}) for i, c in ((0, "a"), (1, "b"), (0, "c"))) + frame("[DONE]")
    assert [same_everywhere(engine, body, "openai-chat", choice=i)["message"]["content"][0]["text"] for i in (0, 1)] == ["ac", "b"]


def test_the_pieces_of_a_partial(engine: str):  # rule 10, R-85
    body = anthropic(*a_block(0, {"type": "thinking", "thinking": ""}, {"type": "thinking_delta", "thinking": "h"}),
                     *a_tool(1, "t", "X", stop=False), end=False)
    partial = same_everywhere(engine, body, "anthropic")["partial"]
    assert partial["content"][1] == {"type": "tool_use", "id": "t", "name": "X", "input": {}, "invalid": "stream_incomplete", "raw_input": ""}
    assert partial["valid"] is False


def test_a_cut_counts_however_many_reasons_came_before(engine: str):  # R-62
    """The number of reasons that are remembered is bounded; a known word is never forgotten."""
    r = fsm.Reconstructor("canonical", engine=engine)
    r.push({"type": "tool_use_start", "id": "t", "name": "Read"})
    r.push({"type": "tool_input_delta", "fragment": '{"a":1}'})
    for i in range(100):
        r.push({"type": "stop_reason", "reason": f"word {i}"})
    r.push({"type": "stop_reason", "reason": "length"})
    r.push({"type": "message_stop"})
    message = ended(r).message
    assert (message.tool_calls, len(message.dropped_calls), message.stop_reason) == ([], 1, "max_tokens")
