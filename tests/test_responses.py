"""OpenAI Responses: the kinds of faults and habits of its upstreams, on each engine, at every split."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fsm
from helpers import frame, kinds, run, same_everywhere
from responses import USAGE, Upstream, bare, blocks, call, custom, message, reasoning
from tiers import disagreement

TEXT = st.text(st.sampled_from('ab "\\\n{}é状😀'), min_size=1, max_size=20)
ARGUMENTS = st.dictionaries(st.sampled_from(["a", "b", "é"]), st.integers(0, 9) | TEXT, max_size=3).map(json.dumps)


@st.composite
def items(draw: st.DrawFn) -> list[dict[str, Any]]:
    """A few items as a model makes them; no two neighbours could be taken for one another."""
    made: list[dict[str, Any]] = []
    for i in range(draw(st.integers(1, 4))):
        kind = draw(st.sampled_from(["message", "parts", "refusal", "reasoning", "raw", "secret", "call", "custom", "search"]))
        if kind in ("message", "parts"):
            made.append(message(*[("output_text", draw(TEXT)) for _ in range(1 if kind == "message" else 2)]))
        elif kind == "refusal":
            made.append(message(("output_text", draw(TEXT)), ("refusal", draw(TEXT))))
        elif kind == "reasoning":
            made.append(reasoning(*[draw(TEXT) for _ in range(draw(st.integers(1, 3)))], encrypted_content=f"secret_{i}"))
        elif kind == "raw":
            made.append(reasoning(content=(draw(TEXT),)))
        elif kind == "secret":
            made.append(reasoning(encrypted_content=f"secret_{i}"))
        elif kind == "call":
            made.append(call(f"call_{i}", "f", draw(ARGUMENTS)))
        elif kind == "custom":
            made.append(custom(f"call_{i}", "g", draw(TEXT)))
        else:
            made.append({"type": "web_search_call", "action": {"query": draw(TEXT)}})
    return made


HABITS: list[dict[str, Any]] = [
    {}, {"rotate": True}, {"shuffle": True}, {"output": "empty"}, {"output": "absent"}, {"unplaced": True}, {"numbered": False}, {"twice": True},
    {"twice": True, "rotate": True, "shuffle": True}, {"silent": frozenset({"part"})}, {"silent": frozenset({"part", "done"})},
    {"silent": frozenset({"delta"})}, {"silent": frozenset({"delta", "part", "done"})}, {"silent": frozenset({"added"})},
    {"silent": frozenset({"added", "part"}), "rotate": True}, {"silent": frozenset({"delta", "added", "part", "done"}), "output": "empty"},
    {"silent": frozenset({"delta", "added", "part", "done", "item"})},
]


@pytest.mark.parametrize("habit", HABITS, ids=[" ".join(f"{k}={'+'.join(sorted(v)) if isinstance(v, frozenset) else v}" for k, v in h.items()) or "plain"
                                               for h in HABITS])
@given(model=items(), seed=st.integers(0, 9))
@settings(max_examples=25)
def test_every_habit_tells_the_same_message(engine: str, habit: dict[str, Any], model: list[dict[str, Any]], seed: int):  # R-42 R-52
    """Ids that rotate or are missing, keys in any order, repeats under one number, restatements alone or not at all."""
    got = run(engine, Upstream(seed, **habit).body(model), "openai-responses")
    assert got["state"] == "COMPLETED"
    assert bare(got["message"]["content"]) == blocks(model)
    usage = got["message"]["usage"]
    assert (usage["input_tokens"], usage["output_tokens"], usage["reasoning_tokens"]) == (60, 25, 8)


@given(model=items(), seed=st.integers(0, 9))
@settings(max_examples=30)
def test_the_protocol_itself_is_no_anomaly(engine: str, model: list[dict[str, Any]], seed: int):
    """Done events and the final output restate everything: that is how this protocol is."""
    assert kinds(run(engine, Upstream(seed).body(model), "openai-responses")) == set()


@given(model=items(), seed=st.integers(0, 9), habit=st.sampled_from(HABITS), cuts=st.lists(st.integers(0, 4000), max_size=6))
@settings(max_examples=40)
def test_the_tiers_agree_at_any_split(tiers: tuple[str, ...], model: list[dict[str, Any]], seed: int, habit: dict[str, Any], cuts: list[int]):  # R-52
    body = Upstream(seed, **habit).body(model)
    edges = sorted({0, *[c % len(body) for c in cuts], len(body)})
    chunks = [body[a:b] for a, b in pairwise(edges)]
    for deltas in ("chunk", "each", "none"):
        assert disagreement(chunks, "auto", tiers, deltas=deltas) is None


@given(model=items(), cut=st.integers(0, 100_000))
@settings(max_examples=40)
def test_a_stream_that_breaks_is_never_complete(engine: str, model: list[dict[str, Any]], cut: int):  # R-32
    body = Upstream().body(model)
    got = run(engine, body[:cut % (len(body) - 3)], "openai-responses")
    assert got["state"] == "ERRORED"
    assert all(b.get("invalid") for b in got["partial"]["content"] if b["type"] == "tool_use")


# ---------------------------------------------------------------- what must survive for the next turn


def test_reasoning_can_be_sent_back(engine: str):
    """Item id, encrypted content and the parts of the summary are all there; so are phase and namespace."""
    model = [reasoning("A.", "B.", encrypted_content="gAAA", id="rs_1"), reasoning(encrypted_content="gBBB", id="rs_2"),
             message(("output_text", "x"), phase="commentary", id="msg_1"), call("c", "f", "{}", namespace="n", id="fc_1")]
    content = same_everywhere(engine, Upstream().body(model), "openai-responses")["message"]["content"]
    assert content == [
        {"type": "thinking", "thinking": "A.", "signature": None, "item_id": "rs_1", "encrypted_content": "gAAA"},
        {"type": "thinking", "thinking": "B.", "signature": None, "item_id": "rs_1"},
        {"type": "thinking", "thinking": "", "signature": None, "item_id": "rs_2", "encrypted_content": "gBBB"},
        {"type": "text", "text": "x", "item_id": "msg_1", "phase": "commentary"},
        {"type": "tool_use", "id": "c", "name": "f", "input": {}, "item_id": "fc_1", "namespace": "n"}]


def test_ids_and_what_is_encrypted_come_from_one_statement(engine: str):
    """Where ids rotate, the encrypted content belongs to the id that was said with it."""
    body = Upstream(rotate=True).body([reasoning("A.", "B.", encrypted_content="gAAA")])
    ids = {b["item_id"] for b in run(engine, body)["message"]["content"]}
    done = next(json.loads(e[e.index(b"{"):]) for e in body.split(b"\n\n") if b"output_item.done" in e)
    assert ids == {done["item"]["id"]}


def test_annotations_stay_with_their_text(engine: str):
    note = {"type": "url_citation", "url": "u"}
    part = {"type": "output_text", "text": "x", "annotations": [note]}
    place = {"output_index": 0, "content_index": 0}
    body = (frame({"type": "response.output_text.delta", "delta": "x", **place})
            + frame({"type": "response.output_text.annotation.added", "annotation": note, "annotation_index": 0, **place}))
    for tail in (b"", frame({"type": "response.content_part.done", "part": part, **place})):
        got = same_everywhere(engine, body + tail + frame({"type": "response.completed", "response": {}}), "openai-responses")
        assert got["message"]["content"] == [{"type": "text", "text": "x", "annotations": [note]}]


def test_a_vendor_item_is_carried_as_it_ended(engine: str):
    item = {"type": "code_interpreter_call", "id": "ci", "status": "completed", "code": "1", "outputs": [{"type": "logs", "logs": "1"}]}
    got = same_everywhere(engine, Upstream().body([item]), "openai-responses")
    assert got["message"]["content"] == [item]


# ---------------------------------------------------------------- restatements


def places(text: str | None, **done: Any) -> bytes:
    """A stream of one call with the streamed arguments `text` and further statements of them."""
    body = frame({"type": "response.output_item.added", "output_index": 0, "item": {"type": "function_call", "call_id": "c", "name": "f",
                                                                                     "arguments": done.get("added", "")}})
    if text:
        body += frame({"type": "response.function_call_arguments.delta", "output_index": 0, "delta": text})
    if "done" in done:
        body += frame({"type": "response.function_call_arguments.done", "output_index": 0, "arguments": done["done"]})
    if "item" in done:
        body += frame({"type": "response.output_item.done", "output_index": 0, "item": {"type": "function_call", "call_id": "c", "arguments": done["item"]}})
    if "late" in done:
        body += frame({"type": "response.function_call_arguments.done", "output_index": 0, "arguments": done["late"]})
    output = [{"type": "function_call", "call_id": "c", "name": "f", "arguments": done["final"]}] if "final" in done else []
    return body + frame({"type": "response.completed", "response": {"output": output, "usage": USAGE}})


ONE, OTHER = '{"a":1}', '{"a":2}'


@pytest.mark.parametrize(("text", "done"), [
    (None, {"done": ONE}), (None, {"item": ONE}), (None, {"final": ONE}), (None, {"added": ONE}), (ONE, {"added": "{}", "done": '{"a": 1}'}),
    (ONE, {"done": ONE, "item": ONE, "final": ONE}), (ONE, {"done": "", "item": "{}", "final": ""}), ('{"a"', {"done": ONE}), ('{"a"', {"final": ONE}),
    (ONE, {"item": ONE, "late": ONE, "final": '{ "a" : 1 }'}), (None, {"done": {"a": 1}, "item": {"a": 1}}), (":1}", {"added": '{"a"', "done": ONE}),
])
def test_restated_arguments_fill_in(engine: str, text: str | None, done: dict[str, Any]):  # rule 15
    got = same_everywhere(engine, places(text, **done), "openai-responses")
    assert got["message"]["content"] == [{"type": "tool_use", "id": "c", "name": "f", "input": {"a": 1}}]


@pytest.mark.parametrize(("text", "done"), [
    (ONE, {"done": OTHER}), (ONE, {"item": OTHER}), (ONE, {"final": OTHER}), (None, {"done": ONE, "item": OTHER}), (None, {"done": ONE, "final": OTHER}),
    (ONE, {"item": ONE, "late": OTHER}), (ONE, {"item": ONE, "final": OTHER}), ('{"a":', {"done": '{"b":1}'}), (ONE, {"added": OTHER}),
])
def test_restated_arguments_that_contradict_make_the_call_invalid(engine: str, text: str | None, done: dict[str, Any]):  # rule 15
    got = same_everywhere(engine, places(text, **done), "openai-responses")
    (block,) = got["message"]["content"]
    assert block["invalid"]
    assert block["raw_input"] == (text or ONE)


def test_the_final_output_fills_in_only_what_is_missing(engine: str):  # rule 15
    """Of three messages one was streamed: the others come from the final output, at their places."""
    streamed = frame({"type": "response.output_text.delta", "output_index": 1, "content_index": 0, "delta": "two"})
    output = [message(("output_text", "one")), message(("output_text", "two")), call("c", "f", "{}"), message(("output_text", "three"))]
    got = same_everywhere(engine, streamed + frame({"type": "response.completed", "response": {"id": "r", "model": "m", "output": output}}), "openai-responses")
    assert bare(got["message"]["content"]) == blocks(output)
    assert (got["message"]["id"], got["message"]["model"]) == ("r", "m")


def test_a_text_that_is_restated_otherwise_stays_as_streamed(engine: str):
    body = frame({"type": "response.output_text.delta", "output_index": 0, "delta": "ab"})
    body += frame({"type": "response.output_text.done", "output_index": 0, "text": "xy"}) + frame({"type": "response.completed", "response": {}})
    got = same_everywhere(engine, body, "openai-responses")
    assert got["message"]["content"] == [{"type": "text", "text": "ab"}]
    assert "snapshot_contradicts" in kinds(got)


def test_a_long_answer_is_not_counted_twice(engine: str):  # R-97
    """Everything is said four times, and the bound is on what the message holds."""
    body = Upstream().body([message(("output_text", "é\n" * 300)), call("c", "f", json.dumps({"a": '"' * 300}))])
    assert run(engine, body, limits=fsm.Limits(content_bytes=2500))["state"] == "COMPLETED"


# ---------------------------------------------------------------- numbers, ends


def delta(text: str, number: Any) -> bytes:
    return frame({"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": text, "sequence_number": number})


@pytest.mark.parametrize(("numbers", "text"), [
    ([4, 4, 5], "aa"), ([4, 5, 4, 5, 6], "aaa"), ([0, 0, 0], "aaa"), ([-1, -1], "aa"), ([None, None], "aa"), (["4", "4"], "aa"), ([7, 7], "a"),
    ([9, 3, 9], "aa"), ([4.0, 4.0], "aa"), ([True, True], "aa"), ([1, 2, 3, 4, 5, 1], "aaaaaa"), ([10**12, 10**12], "a"),
])
def test_only_the_number_and_the_payload_make_a_duplicate(engine: str, numbers: list[Any], text: str):  # R-39 rule 16
    body = b"".join(delta("a", n) for n in numbers) + frame({"type": "response.completed", "response": {}})
    got = same_everywhere(engine, body, "openai-responses")
    assert got["message"]["content"] == [{"type": "text", "text": text}]
    assert ("duplicate_event" in kinds(got)) == (len(text) < len(numbers))


def test_another_payload_under_the_same_number_is_no_duplicate(engine: str):  # rule 16
    got = same_everywhere(engine, delta("a", 4) + delta("b", 4) + delta("a", 4) + frame({"type": "response.completed", "response": {}}))
    assert got["message"]["content"] == [{"type": "text", "text": "ab"}]


@pytest.mark.parametrize(("end", "response", "state", "stop"), [
    ("completed", {}, "COMPLETED", "end_turn"), ("completed", {"status": "in_progress"}, "COMPLETED", "end_turn"),
    ("incomplete", {"incomplete_details": {"reason": "max_output_tokens"}}, "COMPLETED", "max_tokens"),
    ("incomplete", {"incomplete_details": None}, "COMPLETED", "max_tokens"), ("completed", {"status": "incomplete"}, "COMPLETED", "max_tokens"),
    ("incomplete", {"incomplete_details": {"reason": "content_filter"}}, "COMPLETED", "content_filter"),
    ("failed", {"error": {"code": "server_error", "message": "no"}}, "ERRORED", "server_error"), ("failed", {}, "ERRORED", "failed"),
    ("cancelled", {}, "ERRORED", "cancelled"),
    ("completed", {"error": {"code": "e"}}, "ERRORED", "e"), ("completed", {"status": "failed"}, "ERRORED", "failed"),
])
def test_the_ends(engine: str, end: str, response: dict[str, Any], state: str, stop: str):
    got = same_everywhere(engine, Upstream().body([message(("output_text", "x"))], end, **response), "openai-responses")
    assert got["state"] == state
    assert (got["message"] or {}).get("stop_reason", (got["error"] or {}).get("type")) == stop


def test_a_whole_response_that_was_not_streamed(engine: str):
    model = [reasoning("A", encrypted_content="g"), message(("output_text", "x"), ("refusal", "no")), call("c", "f", ONE), custom("d", "g", "free"),
             {"type": "web_search_call", "id": "ws"}]
    response = {"object": "response", "id": "r", "model": "m", "status": "completed", "output": model, "usage": USAGE, "error": None}
    for text in (json.dumps(response), json.dumps(response, indent=2)):
        got = same_everywhere(engine, text.encode())
        assert (got["dialect"], got["state"], got["message"]["id"]) == ("openai-responses", "COMPLETED", "r")
        assert bare(got["message"]["content"]) == blocks(model)
    response["status"] = "in_progress"
    assert same_everywhere(engine, json.dumps(response).encode())["state"] == "ERRORED"


def test_a_second_attempt_is_not_spliced_to_the_first(engine: str):  # rule 13
    body = Upstream().body([message(("output_text", "x"))])
    first = body[:body.index(b"response.output_item.done") - 60]
    got = run(engine, first[:first.rindex(b"\n\n") + 2] + body, "openai-responses")
    assert (got["state"], got["error"]["type"]) == ("ERRORED", "stream_restarted")
