"""What comes in another shape than the vendor's: text in objects and lists (rule 22), free text for tools (19), one call said again and again (21),
parts that only count (23), items under other names (24)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fsm
from helpers import a_block, a_delta, a_stop, anthropic, chat, ended, frame, kinds, lines, same_everywhere
from responses import USAGE

# ---------------------------------------------------------------- rule 22: where a text comes from

#: ways to write a text where a string is due
SHAPES: dict[str, Any] = {
    "a string": lambda t: t, "text": lambda t: {"text": t}, "content": lambda t: {"content": t}, "value": lambda t: {"value": t},
    "thinking": lambda t: {"thinking": t}, "typed": lambda t: {"type": "text", "text": t}, "a list": lambda t: [{"type": "text", "text": t}],
    "a list of strings": lambda t: [t], "two parts": lambda t: [{"text": t[:1]}, {"text": t[1:]}], "deeper": lambda t: {"text": {"value": t}},
    "a list in an object": lambda t: {"content": [{"text": t}]},
}


def content_of(got: dict[str, Any]) -> list[dict[str, Any]]:
    assert got["state"] == "COMPLETED", got["error"]
    return [{k: v for k, v in b.items() if k in ("type", "text", "thinking", "signature", "refusal") and v is not None} for b in got["message"]["content"]]


THINKS = {
    "openai-chat reasoning_content": lambda x, y: ("openai-chat", chat({"reasoning_content": x}, {"reasoning_content": y}, {"content": "z"})),
    "openai-chat reasoning": lambda x, y: ("openai-chat", chat({"reasoning": x}, {"reasoning": y}, {"content": "z"})),
    "openai-chat thinking": lambda x, y: ("openai-chat", chat({"thinking": x}, {"thinking": y}, {"content": "z"})),
    "anthropic": lambda x, y: ("anthropic", anthropic(*a_block(0, {"type": "thinking", "thinking": ""}, {"type": "thinking_delta", "thinking": x},
                                                               {"type": "thinking_delta", "thinking": y}),
                                                      *a_block(1, {"type": "text", "text": ""}, {"type": "text_delta", "text": "z"}))),
    "ollama": lambda x, y: ("ollama", lines([{"message": {"thinking": x}, "done": False}, {"message": {"thinking": y}, "done": False},
                                             {"message": {"content": "z"}, "done": True}])),
}
SAYS = {
    "openai-chat content": lambda x, y: ("openai-chat", chat({"content": x}, {"content": y})),
    "openai-chat legacy": lambda x, y: ("openai-chat", b"".join(frame({"object": "text_completion", "choices": [{"index": 0, "text": t, "finish_reason": r}]})
                                                                for t, r in ((x, None), (y, "stop"))) + frame("[DONE]")),
    "anthropic": lambda x, y: ("anthropic", anthropic(*a_block(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": x},
                                                               {"type": "text_delta", "text": y}))),
    "anthropic start": lambda x, y: ("anthropic", anthropic(*a_block(0, {"type": "text", "text": x}, {"type": "text_delta", "text": y}))),
    "openai-responses": lambda x, y: ("openai-responses", responses(
        {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": x},
        {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": y})),
    "gemini": lambda x, y: ("gemini", b"".join(frame({"candidates": [{"content": {"parts": [{"text": t}]}, "finishReason": "STOP"}]}) for t in (x, y))),
    "gemini content": lambda x, y: ("gemini", b"".join(frame({"candidates": [{"content": t, "finishReason": "STOP"}]}) for t in (x, y))),
    "gemini-interactions": lambda x, y: ("gemini-interactions", b"".join(frame(e) for e in (
        {"event_type": "step.start", "index": 0, "step": {"type": "model_output"}},
        {"event_type": "step.delta", "index": 0, "delta": {"type": "text", "text": x}},
        {"event_type": "step.delta", "index": 0, "delta": {"type": "text", "text": y}},
        {"event_type": "step.stop", "index": 0}, {"event_type": "interaction.completed", "interaction": {"status": "completed"}}))),
    "cohere": lambda x, y: ("cohere", b"".join(frame(e) for e in (
        {"type": "message-start", "id": "m"}, {"type": "content-start", "index": 0, "delta": {"message": {"content": {"type": "text", "text": ""}}}},
        {"type": "content-delta", "index": 0, "delta": {"message": {"content": {"text": x}}}},
        {"type": "content-delta", "index": 0, "delta": {"message": {"content": {"text": y}}}},
        {"type": "content-end", "index": 0}, {"type": "message-end", "delta": {"finish_reason": "COMPLETE"}}))),
    "ollama": lambda x, y: ("ollama", lines([{"message": {"content": x}, "done": False}, {"message": {"content": y}, "done": True}])),
    "bedrock-converse": lambda x, y: ("bedrock-converse", lines([
        {"messageStart": {"role": "assistant"}}, {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": x}}},
        {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": y}}}, {"contentBlockStop": {"contentBlockIndex": 0}},
        {"messageStop": {"stopReason": "end_turn"}}, {"metadata": {"usage": {"inputTokens": 1}}}])),
    "dsh": lambda x, y: ("dsh", lines([{"type": "text-delta", "index": 0, "text": x}, {"type": "text-delta", "index": 0, "text": y},
                                       {"type": "finish", "reason": {"kind": "stop"}}])),
}


def responses(*events: dict[str, Any], output: list[dict[str, Any]] | None = None) -> bytes:
    end = {"id": "resp_1", "object": "response", "status": "completed", "output": output or [], "usage": USAGE}
    return b"".join(frame(e, e["type"]) for e in ({"type": "response.created", "response": {"id": "resp_1"}}, *events,
                                                  {"type": "response.completed", "response": end}))


@pytest.mark.parametrize("first", SHAPES)
@pytest.mark.parametrize("where", SAYS)
def test_text(engine: str, where: str, first: str):  # R-03
    dialect, body = SAYS[where](SHAPES[first]("Hel"), "lo")
    assert content_of(same_everywhere(engine, body, dialect)) == [{"type": "text", "text": "Hello"}]


@pytest.mark.parametrize("first", SHAPES)
@pytest.mark.parametrize("where", THINKS)
def test_thinking(engine: str, where: str, first: str):  # R-11
    dialect, body = THINKS[where](SHAPES[first]("Hm"), "m.")
    got = content_of(same_everywhere(engine, body, dialect))
    assert got == [{"type": "thinking", "thinking": "Hmm."}, {"type": "text", "text": "z"}]


@pytest.mark.parametrize("where", [w for w in THINKS if w.startswith("openai-chat")])
@pytest.mark.parametrize("signed", [{"signature": "c2ln"}, {"text": "m.", "signature": "c2ln"}, [{"thinking": "m.", "signature": "c2ln"}],
                                    {"text": "", "signature": "c2ln"}])
def test_a_signature_in_the_same_field(engine: str, where: str, signed: Any):  # R-12
    dialect, body = THINKS[where]("Hm", signed)
    thinking, _text = content_of(same_everywhere(engine, body, dialect))
    assert thinking["signature"] == "c2ln"
    assert thinking["thinking"] == ("Hmm." if "m." in str(signed) else "Hm")


@pytest.mark.parametrize("field", ["signature", "reasoning_signature", "thinking_signature"])
def test_a_signature_beside_the_reasoning(engine: str, field: str):  # R-12
    got = same_everywhere(engine, chat({"reasoning_content": "Hm"}, {"reasoning_content": "m.", field: "c2ln"}, {"content": "z"}), "openai-chat")
    assert content_of(got)[0] == {"type": "thinking", "thinking": "Hmm.", "signature": "c2ln"}


def test_thinking_blocks_are_a_copy_that_brings_the_signature(engine: str):  # R-12
    both = [{"reasoning_content": "Hmm.", "thinking_blocks": [{"type": "thinking", "thinking": "Hmm.", "signature": None}]},
            {"reasoning_content": "", "thinking_blocks": [{"type": "thinking", "thinking": "", "signature": "c2ln"}]}]
    assert content_of(same_everywhere(engine, chat(*both, {"content": "z"}), "openai-chat"))[0] == {"type": "thinking", "thinking": "Hmm.", "signature": "c2ln"}
    alone = [{"thinking_blocks": [{"type": "thinking", "thinking": "Hmm.", "signature": "c2ln"}]}, {"content": "z"}]
    assert content_of(same_everywhere(engine, chat(*alone), "openai-chat"))[0] == {"type": "thinking", "thinking": "Hmm.", "signature": "c2ln"}


@pytest.mark.parametrize("delta", [
    {"type": "thinking_delta", "thinking": "", "signature": "c2ln"}, {"type": "thinking_delta", "signature": "c2ln"},
    {"type": "text_delta", "text": "", "signature": "c2ln"},
    {"type": "signature_delta", "signature": "c2ln"}, {"signature": "c2ln"}, {"type": "input_json_delta", "partial_json": "", "signature": "c2ln"},
    {"type": "signature_delta", "signature": {"value": "c2ln"}}])
@pytest.mark.parametrize("begun", [True, False])
def test_a_signature_on_any_delta_of_thinking(engine: str, delta: dict[str, Any], begun: bool):  # R-12
    events = a_block(0, {"type": "thinking", "thinking": ""}, {"type": "thinking_delta", "thinking": "Hm"}, delta)[0 if begun else 1:]
    got = same_everywhere(engine, anthropic(*events, *a_block(1, {"type": "text", "text": ""}, {"type": "text_delta", "text": "z"})), "anthropic")
    assert content_of(got) == [{"type": "thinking", "thinking": "Hm", "signature": "c2ln"}, {"type": "text", "text": "z"}]


@pytest.mark.parametrize("field", ["text", "thinking", "partial_json"])
def test_a_delta_that_does_not_say_what_it_is(engine: str, field: str):
    kind = {"text": "text", "thinking": "thinking", "partial_json": "tool_use"}[field]
    block = {"type": kind, "id": "t", "name": "f", "input": {}} if kind == "tool_use" else {"type": kind, kind: ""}
    got = same_everywhere(engine, anthropic(*a_block(0, block, {field: '{"a":1}'})), "anthropic")["message"]["content"][0]
    assert (got["input"] if kind == "tool_use" else got[field]) == ({"a": 1} if kind == "tool_use" else '{"a":1}')


PARTS = st.recursive(st.text(max_size=4) | st.none() | st.integers() | st.booleans(), lambda v: st.lists(v, max_size=3) | st.dictionaries(
    st.sampled_from(["text", "content", "value", "thinking", "type", "signature", "summary"]), v, max_size=3), max_leaves=8)


@settings(max_examples=60)
@given(value=PARTS)
def test_any_shape_at_all(engine: str, value: Any):  # R-52
    for where, build in {**SAYS, **{f"{k} thinking": v for k, v in THINKS.items()}}.items():
        dialect, body = build(value, "x")
        outcome = fsm.reconstruct(body, dialect, engine=engine)
        assert outcome.completed or "openai-chat" not in where


# ---------------------------------------------------------------- rule 19: custom tools

FREE = st.text(st.characters(codec="utf-8"), max_size=30) | st.sampled_from(['*** "quoted"\r\n\\', "{}", '{"a":1}', " \n ", '"', "\u2028\x00", "{}{}"])


def entry(index: int, free: str | None, id: str | None = None, name: str | None = None) -> dict[str, Any]:
    custom = {k: v for k, v in (("name", name), ("input", free)) if v is not None}
    return {"tool_calls": [{"index": index, **({"id": id, "type": "custom"} if id else {}), "custom": custom}]}


@settings(max_examples=40)
@given(pieces=st.lists(FREE, max_size=4), other=st.booleans())
def test_free_text_in_chat(engine: str, pieces: list[str], other: bool):  # R-03
    deltas = [entry(0, "", "c1", "patch"), *(entry(0, p) for p in pieces)]
    if other:
        deltas += [{"tool_calls": [{"index": 1, "id": "c2", "function": {"name": "f", "arguments": '{"a":1}'}}]}, entry(0, "!")]
    outcome = fsm.reconstruct(chat(*deltas, finish="tool_calls"), "openai-chat", engine=engine)
    call = outcome.message.content[0]
    assert (call.get("invalid"), call["input"], call["name"]) == (None, {"input": "".join(pieces) + ("!" if other else "")}, "patch")
    sent = outcome.message.to_request("openai-chat").entries[0]["tool_calls"][0]
    assert sent == {"id": "c1", "type": "custom", "custom": {"name": "patch", "input": call["input"]["input"]}}


def test_free_text_in_a_whole_message(engine: str):
    body = json.dumps({"object": "chat.completion", "choices": [{"index": 0, "finish_reason": "tool_calls", "message": {
        "role": "assistant", "tool_calls": [{"id": "c1", "type": "custom", "custom": {"name": "sh", "input": 'echo "x"\n'}}]}}]}).encode()
    assert same_everywhere(engine, body, "openai-chat")["message"]["content"][0]["input"] == {"input": 'echo "x"\n'}


def custom(free: str, **fields: Any) -> dict[str, Any]:
    return {"type": "custom_tool_call", "id": "ctc_1", "call_id": "c1", "name": "patch", "input": free, **fields}


@settings(max_examples=60)
@given(free=FREE, cut=st.integers(0, 30), added=st.booleans(), done=st.booleans(), item_done=st.booleans(), final=st.booleans(), addressed=st.booleans())
def test_free_text_that_its_restatement_continues(engine: str, free: str, cut: int, added: bool, done: bool, item_done: bool, final: bool, addressed: bool):
    """The beginning is streamed, the rest comes in one of three restatements; or all of it is streamed."""
    whole = not (done or item_done or final)
    address: dict[str, Any] = {"output_index": 0} if addressed else {"item_id": "ctc_1", "output_index": 0}
    events = [{"type": "response.output_item.added", "output_index": 0, "item": custom("")}] if added else []
    for piece in [free] if whole else [free[:cut]]:
        events.append({"type": "response.custom_tool_call_input.delta", **address, "delta": piece})
    events += [{"type": "response.custom_tool_call_input.done", **address, "input": free}] if done else []
    events += [{"type": "response.output_item.done", "output_index": 0, "item": custom(free)}] if item_done else []
    outcome = fsm.reconstruct(responses(*events, output=[custom(free)] if final else None), "openai-responses", engine=engine)
    if not (added or item_done or final or (free if whole or done else free[:cut])):
        return  # nothing tells of a call
    assert outcome.completed
    call, = outcome.message.content
    if added or item_done or final:
        assert (call.get("invalid"), call["input"], call["name"]) == (None, {"input": free}, "patch")


def test_free_text_that_was_restated_otherwise_must_not_run(engine: str):
    events = [{"type": "response.output_item.added", "output_index": 0, "item": custom("")},
              {"type": "response.custom_tool_call_input.delta", "output_index": 0, "delta": "one"},
              {"type": "response.output_item.done", "output_index": 0, "item": custom("two")}]
    call, = same_everywhere(engine, responses(*events), "openai-responses")["message"]["content"]
    assert (call["invalid"], call["raw_input"]) == ("contradicted", "one")


# ---------------------------------------------------------------- rule 21: the legacy call

LEGACY = {"name": "f", "arguments": '{"a": 1}'}


@pytest.mark.parametrize("deltas", [
    [LEGACY], [LEGACY] * 2, [LEGACY] * 5, [{"name": "f", "arguments": ""}, {"arguments": '{"a":'}, {"arguments": " 1}"}],
    [{"name": "f"}, LEGACY, LEGACY], [{"name": "f", "arguments": {"a": 1}}] * 3, [{"name": "f", "arguments": '{"a":'}, LEGACY],
    [LEGACY, {"name": "f", "arguments": ""}, {"name": "f"}]])
@pytest.mark.parametrize("finish", ["function_call", "stop"])
def test_the_legacy_call_is_one(engine: str, deltas: list[dict[str, Any]], finish: str):
    got = same_everywhere(engine, chat(*({"function_call": d} for d in deltas), finish=finish), "openai-chat")
    call, = got["message"]["content"]
    assert (call.get("invalid"), call["name"], call["input"], got["message"]["stop_reason"]) == (None, "f", {"a": 1}, "tool_use")


def test_a_second_legacy_call_is_none(engine: str):
    other = {"name": "g", "arguments": '{"b": 2}'}
    call, = same_everywhere(engine, chat({"function_call": LEGACY}, {"function_call": other}), "openai-chat")["message"]["content"]
    assert call["invalid"], "two different objects are no call that may run"


def test_the_legacy_call_beside_its_copy(engine: str):
    both = {"function_call": LEGACY, "tool_calls": [{"index": 0, "id": "c1", "function": LEGACY}]}
    call, = same_everywhere(engine, chat(both), "openai-chat")["message"]["content"]
    assert (call["id"], call["input"]) == ("c1", {"a": 1})


def test_the_legacy_call_of_a_whole_message(engine: str):
    body = json.dumps({"object": "chat.completion", "choices": [{"index": 0, "finish_reason": "function_call", "message": {"content": None, "function_call": {
        "name": "f", "arguments": {"n": 12345678901234567890123}}}}]}).encode()
    assert same_everywhere(engine, body, "openai-chat")["message"]["content"][0]["input"] == {"n": 12345678901234567890123}


@pytest.mark.parametrize("index", [-1, -2])
def test_a_negative_index_is_none(engine: str, index: int):
    calls = [{"tool_calls": [{"index": index, "id": i, "function": {"name": "f", "arguments": '{"a": 1}'}}]} for i in ("x", "y")]
    assert [b["id"] for b in same_everywhere(engine, chat(*calls), "openai-chat")["message"]["content"]] == ["x", "y"]


# ---------------------------------------------------------------- rule 23: parts that only count

FORMS = {  # event of a delta, of a part, key of the number, the part, the item
    "text": ("output_text", "content_part", "content_index", "output_text", "message", "content"),
    "reasoning": ("reasoning_text", "reasoning_part", "content_index", "reasoning_text", "reasoning", "content"),
    "summary": ("reasoning_summary_text", "reasoning_summary_part", "summary_index", "summary_text", "reasoning", "summary"),
}


def counting(form: str, numbers: list[int], pieces: list[str], stated: list[str], announced: bool, said: set[str]) -> bytes:
    delta, part, key, kind, item, field = FORMS[form]
    whole = {"type": item, "id": "i1", field: [{"type": kind, "text": t} for t in stated]}
    events: list[dict[str, Any]] = [{"type": "response.output_item.added", "output_index": 0, "item": {"type": item, "id": "i1", field: []}}]
    events += [{"type": f"response.{part}.added", "output_index": 0, key: 0, "part": {"type": kind, "text": ""}}] if announced else []
    events += [{"type": f"response.{delta}.delta", "output_index": 0, key: n, "delta": p} for n, p in zip(numbers, pieces, strict=True)]
    if "text" in said:
        events.append({"type": f"response.{delta}.done", "output_index": 0, key: numbers[-1], "text": stated[0]})
    if "part" in said:
        events.append({"type": f"response.{part}.done", "output_index": 0, key: -1, "part": {"type": kind, "text": stated[0]}})
    if "item" in said:
        events.append({"type": "response.output_item.done", "output_index": 0, "item": whole})
    return responses(*events, output=[whole] if "final" in said else None)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("announced", [True, False])
@pytest.mark.parametrize("said", [{"text"}, {"part"}, {"item"}, {"final"}, {"text", "part"}, {"text", "part", "item", "final"}], ids="+".join)
@pytest.mark.parametrize("deltas", ["chunk", "each", "none"])
def test_parts_that_only_count(engine: str, form: str, announced: bool, said: set[str], deltas: str):
    body = counting(form, [0, 1, 2], ["It", " didn't", " print."], ["It didn't print."], announced, said)
    got = same_everywhere(engine, body, "openai-responses", deltas=deltas)
    kind = "text" if form == "text" else "thinking"
    assert content_of(got) == [{"type": kind, kind: "It didn't print."}]
    assert kinds(got) & {"snapshot_used", "snapshot_contradicts", "unknown_stop", "missing_stop"} <= {"missing_stop"}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("said", [{"item"}, {"final"}, {"item", "final"}], ids="+".join)
def test_parts_that_are_several(engine: str, form: str, said: set[str]):
    got = same_everywhere(engine, counting(form, [0, 0, 1, 1], ["A", "B", "C", "D"], ["AB", "CD"], False, said), "openai-responses")
    kind = "text" if form == "text" else "thinking"
    assert content_of(got) == [{"type": kind, kind: "AB"}, {"type": kind, kind: "CD"}]


def test_what_the_caller_was_told_of_parts_that_were_joined(engine: str):  # R-94
    r = fsm.Reconstructor("openai-responses", engine=engine)
    told = r.feed(counting("reasoning", [0, 1, 2], ["It", " didn't", " print."], ["It didn't print."], True, {"text", "part", "item"}))
    r.end()
    assert "".join(e.text for e in told if isinstance(e, fsm.ThinkingDelta)) == "It didn't print."
    assert [e.block["thinking"] for e in told if isinstance(e, fsm.BlockFinished)] == ["It didn't print."]
    plain = fsm.Reconstructor("openai-responses", engine=engine)
    plain.feed(counting("reasoning", [0, 0, 0], ["It", " didn't", " print."], ["It didn't print."], True, {"text", "part", "item"}))
    assert r._acc.meter.used == plain._acc.meter.used, "each byte is counted once"


# ---------------------------------------------------------------- rule 24: addresses by another name

TWO = [{"type": "function_call", "call_id": f"call_{n}", "name": "f", "arguments": ""} for n in "ab"]


@pytest.mark.parametrize("ids", [("fc_call_a", "fc_call_b"), ("call_a", "call_b"), ("item-call_a", "item-call_b"), ("x1", "x2"), ("0", "1")])
@pytest.mark.parametrize("index", [{}, {"output_index": None}, "given", "elsewhere"])
@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("done", [False, True])
def test_items_by_another_name(engine: str, ids: tuple[str, str], index: Any, own: bool, done: bool):
    if index == "elsewhere" and "call_a" not in ids[0]:
        return  # nothing tells which is meant but a number of its own
    events = [{"type": "response.output_item.added", "item": {**item, **({"id": f"own_{n}"} if own else {})}} for n, item in enumerate(TWO)]
    for piece in ('{"n":', " ?}"):
        for n in (0, 1):
            at = {"output_index": n + (7 if index == "elsewhere" else 0)} if isinstance(index, str) else index
            events.append({"type": "response.function_call_arguments.delta", "item_id": ids[n], **at, "delta": piece.replace("?", str(n))})
    if done:
        events += [{"type": "response.output_item.done", "item": {**item, "arguments": f'{{"n": {n}}}'}} for n, item in enumerate(TWO)]
    got = same_everywhere(engine, responses(*events), "openai-responses")
    assert [(b["id"], b["input"], b.get("invalid")) for b in got["message"]["content"]] == [("call_a", {"n": 0}, None), ("call_b", {"n": 1}, None)]


def test_ids_that_rotate(engine: str):
    events = [{"type": "response.output_item.added", "item": TWO[0]}]
    events += [{"type": "response.function_call_arguments.delta", "item_id": f"r{n}", "delta": p} for n, p in enumerate('{"n": 1}')]
    assert [b["input"] for b in same_everywhere(engine, responses(*events), "openai-responses")["message"]["content"]] == [{"n": 1}]


@pytest.mark.parametrize("ids", [("m1", "m2"), ("x1", "x2"), (None, None)])
def test_texts_by_another_name(engine: str, ids: tuple[str | None, str | None]):
    events: list[dict[str, Any]] = []
    for n in (0, 1):
        events.append({"type": "response.output_item.added", "item": {"type": "message", "id": f"m{n + 1}", "content": []}})
        events += [{"type": "response.output_text.delta", **({"item_id": ids[n]} if ids[n] else {}), "delta": d} for d in ("a", f"{n}")]
        item = {"type": "message", "id": f"m{n + 1}", "content": [{"type": "output_text", "text": f"a{n}"}]}
        events.append({"type": "response.output_item.done", "item": item})
    assert content_of(same_everywhere(engine, responses(*events), "openai-responses")) == [{"type": "text", "text": "a0"}, {"type": "text", "text": "a1"}]


# ---------------------------------------------------------------- blocks are closed once; markup; signals


STOPS = st.lists(st.sampled_from([None, 0, 1]), min_size=1, max_size=5)


@settings(max_examples=120)
@given(order=st.permutations(["thinking", "text", "tool_use"]), stops=STOPS, index=st.sampled_from([0, None]))
def test_no_block_is_closed_twice(engine: str, order: list[str], stops: list[int | None], index: int | None):  # R-23
    """Several kinds share one index; whatever the order of the stops, what was told is in the message."""
    fields = {"thinking": ("thinking_delta", "thinking", "Hm."), "text": ("text_delta", "text", "Hello"),
              "tool_use": ("input_json_delta", "partial_json", '{"a":1}')}
    events = [a_delta(0, {"type": fields[kind][0], fields[kind][1]: fields[kind][2]}) for kind in order]
    events += [{"type": "content_block_stop"} if s is None else a_stop(s) for s in stops]
    r = fsm.Reconstructor("anthropic", engine=engine)
    told = r.feed(anthropic(*events))
    outcome = ended(r)
    assert outcome.completed
    assert (outcome.message.thinking, outcome.message.text) == ("Hm.", "Hello")
    assert [b["input"] for b in outcome.message.content if b["type"] == "tool_use"] == [{"a": 1}]
    finished = [e.index for e in told if isinstance(e, fsm.BlockFinished)]
    assert len(finished) == len(set(finished))
    assert "".join(e.text for e in told if isinstance(e, fsm.TextDelta)) == "Hello"


@pytest.mark.parametrize("head", [b"<html>", b"<!DOCTYPE html><html><body>x</body></html>", b"\n <html>" + b"x" * 300,
                                  b"\x1f\x8b\x08" + b"\0" * 20, b"\xef\xbb\xbf<html>"])
@pytest.mark.parametrize("behind", [chat({"content": "Hi"}), b"data: {broken\n\n" * 40, b"\n\ndata: hello\n\n", b""])
@pytest.mark.parametrize("dialect", ["auto", "openai-chat"])
def test_nothing_is_read_behind_what_is_no_stream(engine: str, head: bytes, behind: bytes, dialect: str):
    got = same_everywhere(engine, head + b"\n\n" + behind, dialect)
    assert got["state"] == "ERRORED"
    assert got["error"]["type"] == ("compressed_body" if head[:1] == b"\x1f" else "not_event_stream")
    assert kinds(got) == {"body_not_stream"}
    assert repr((head + b"\n\n" + behind)[:200]) in got["error"]["message"]


@pytest.mark.parametrize("data", [b"\x00overflow", b"overflow", b"None", b"\x00cancel", b"\x00eof", b"EOF", b"\x00"])
@pytest.mark.parametrize("ends", [b"\n", b"\r\n"])
def test_no_signal_can_be_forged(engine: str, data: bytes, ends: bytes):
    forged = b"data: " + data + ends + ends
    clean = chat({"content": "Hi"}).replace(b"\n", ends)
    for body in (forged + clean, clean[:clean.index(ends + ends) + 2 * len(ends)] + forged + clean[clean.index(ends + ends) + 2 * len(ends):]):
        got = same_everywhere(engine, body, "openai-chat")
        assert (got["state"], content_of(got)) == ("COMPLETED", [{"type": "text", "text": "Hi"}])


@pytest.mark.parametrize("kind", ["tool_use", "opaque", "thinking", "x"])
def test_no_kind_of_ours_can_be_forged(engine: str, kind: str):
    body = lines([{"type": "tool_use_start", "id": "a", "name": "f", "index": 0}, {"type": "text_delta", "text": "Hi", "index": 0, "kind": kind},
                  {"type": "tool_input_delta", "fragment": "{}", "index": 0}, {"type": "message_stop"}])
    got = same_everywhere(engine, body, "canonical")["message"]["content"]
    assert [(b["type"], b.get("text"), b.get("input")) for b in got] == [("tool_use", None, {}), ("text", "Hi", None)]


@pytest.mark.parametrize("field", ["text", "type", "signature", "thinking"])
def test_a_vendors_fields_never_stand_for_the_blocks_own(engine: str, field: str):  # found by the fuzzer: text was told, and another stood in the message
    body = lines([{"type": "block_start", "kind": "text", "index": 0, "text": "Hi"}, {"type": "opaque_block", "index": 0, "block": {field: "x", "more": 1}},
                  {"type": "block_stop", "index": 0}, {"type": "message_stop"}])
    block, = same_everywhere(engine, body, "canonical")["message"]["content"]
    assert (block["type"], block["text"], block["more"]) == ("text", "Hi", 1)
