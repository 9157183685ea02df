"""Gemini: what becomes of the parts: signatures, calls in pieces, vendor blocks, reasons, counts, candidates."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fsm
from fsm.dialects.partial_args import ArgumentText, steps_of
from helpers import ended, kinds, same_everywhere
from test_gemini import STOP, call, chunk, content, sse, text, think

SIG = {"thoughtSignature": "c2ln"}


# ---------------------------------------------------------------- signatures

def test_a_signed_part_of_text_keeps_its_stretch(engine: str):  # R-11
    block, = content(engine, chunk(text("é一 ")), chunk(text("two ", **SIG)), chunk(text("three")), chunk(text("", thoughtSignature="end"), finish="STOP"))
    assert block == {"type": "text", "text": "é一 two three", "signatures": [{"start": 3, "end": 7, "signature": "c2ln"},
                                                                              {"start": 12, "end": 12, "signature": "end"}]}


def test_signed_thinking_is_whole(engine: str):  # R-11 R-12
    got = content(engine, chunk(think("a")), chunk(think("b", **SIG)), chunk(think("c", thoughtSignature="two")), chunk(text("x"), finish="STOP"))
    assert got == [{"type": "thinking", "thinking": "ab", "signature": "c2ln"}, {"type": "thinking", "thinking": "c", "signature": "two"},
                   {"type": "text", "text": "x"}]


@pytest.mark.parametrize("late", [think("", **SIG)])
def test_a_late_signature_of_thinking_is_bound_to_it(engine: str, late: dict[str, Any]):
    got = content(engine, chunk(think("a")), chunk(text("x")), chunk(late), chunk(text("y"), finish="STOP"))
    assert got == [{"type": "thinking", "thinking": "a", "signature": "c2ln"}, {"type": "text", "text": "xy"}]


def test_a_signature_on_an_empty_part_goes_back_from_where_it_stood(engine: str):
    thought = {"type": "thinking", "thinking": "a", "signature": "c2ln"}
    assert content(engine, chunk(think("a")), chunk(text("", **SIG), finish="STOP")) == [thought]
    got = content(engine, chunk(call(id="1", name="f", args={"a": 1})), chunk(text("", **SIG), finish="STOP"))
    assert got == [{"type": "tool_use", "id": "1", "name": "f", "input": {"a": 1}}, {"type": "thinking", "thinking": "", "signature": "c2ln"}]


def test_a_call_keeps_its_signature(engine: str):
    got = content(engine, chunk({**call(name="f", willContinue=True), **SIG}), chunk(call(partialArgs=[{"jsonPath": "$.a", "numberValue": 1}])), STOP)
    assert [(b["input"], b["signature"]) for b in got] == [({"a": 1}, "c2ln")]
    got = content(engine, chunk(call(name="f", willContinue=True)), chunk({**call(partialArgs=[{"jsonPath": "$.a", "numberValue": 1}]), **SIG}), STOP)
    assert [(b["input"], b["signature"]) for b in got] == [({"a": 1}, "c2ln")]


def test_vendor_parts_are_carried_through(engine: str):
    parts = [{"executableCode": {"language": "PYTHON", "code": "1"}, **SIG}, {"codeExecutionResult": {"outcome": "OUTCOME_OK"}},
             {"inlineData": {"mimeType": "image/png", "data": "AA=="}, "thought": True}, {"brandNew": {"x": [1]}}]
    got = content(engine, chunk(text("a")), *map(chunk, parts), chunk(text("b"), finish="STOP"))
    assert [b.pop("type") for b in got] == ["text", "executableCode", "codeExecutionResult", "inlineData", "brandNew", "text"]
    assert got[1:-1] == parts


# ---------------------------------------------------------------- calls

def test_parts_without_ids_are_calls_of_their_own(engine: str):  # R-37
    got = content(engine, chunk(call(name="f"), call(name="f"), call(name="f", args={"a": 1})), chunk(call(name="f", args={"a": 1})), STOP)
    assert [(b["name"], b["input"]) for b in got] == [("f", {}), ("f", {}), ("f", {"a": 1}), ("f", {"a": 1})]
    assert len({b["id"] for b in got}) == 4


def test_a_repeated_id_is_one_call(engine: str):  # R-43
    same = call(id="1", name="f", args={"a": 1})
    assert [(b["id"], b.get("invalid")) for b in content(engine, chunk(same), chunk(same), STOP)] == [("1", None)]
    other = call(id="1", name="f", args={"a": 2})
    assert [(b["id"], bool(b.get("invalid"))) for b in content(engine, chunk(same), chunk(other), STOP)] == [("1", True)]


def test_long_integers_stay_exact(engine: str):
    big = 2**70 + 1
    got = content(engine, chunk(call(name="f", args={"n": big})), chunk(call(name="g", partialArgs=[{"jsonPath": "$.n", "numberValue": big}])), STOP)
    assert [b["input"]["n"] for b in got] == [big, big]


def test_no_arguments_where_the_schema_wants_some(engine: str):  # R-75
    tools = [{"functionDeclarations": [{"name": "f", "parameters": {"type": "OBJECT", "properties": {"a": {"type": "STRING"}}, "required": ["a"]}}]}]
    assert [b["invalid"] for b in content(engine, chunk(call(name="f")), STOP, tools=tools)] == ["schema"]
    assert [b["name"] for b in content(engine, chunk(call(args={"a": "x"})), STOP, tools=tools)] == ["f"]  # R-46


# ---------------------------------------------------------------- streamed arguments

KEYS = st.text(st.sampled_from("ab.c['\"]\\é$0"), max_size=3)
SCALARS = st.none() | st.booleans() | st.integers(-9, 2**70) | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5)
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, min_size=1, max_size=3) | st.dictionaries(KEYS, inner, min_size=1, max_size=3), max_leaves=8)
OBJECTS = st.dictionaries(KEYS, VALUES, min_size=1, max_size=3)


def path_of(steps: list[str | int]) -> str:
    def step(s: str | int) -> str:
        if isinstance(s, int):
            return f"[{s}]"
        quoted = s.replace("\\", "\\\\").replace("'", "\\'")
        return f".{s}" if s and not set(s) & set(".[]") else f"['{quoted}']"
    return "$" + "".join(map(step, steps))


def pieces_of(value: Any, cut: int, steps: tuple[Any, ...] = ()) -> list[dict[str, Any]]:
    """An object as a vendor would stream it: one piece per scalar, strings in pieces of `cut` characters."""
    if isinstance(value, (dict, list)):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        return [p for k, v in items for p in pieces_of(v, cut, (*steps, k))]
    path = {"jsonPath": path_of(list(steps))}
    if isinstance(value, bool):
        return [path | {"boolValue": value}]
    if isinstance(value, str):
        return [path | {"stringValue": value[i:i + cut], "willContinue": True} for i in range(0, len(value), cut)] + [path | {"stringValue": ""}]
    return [path | ({"nullValue": "NULL_VALUE"} if value is None else {"numberValue": value})]


@settings(max_examples=150)
@given(value=OBJECTS, cut=st.integers(1, 3), last=st.booleans())
def test_streamed_arguments_are_the_object(engine: str, value: dict[str, Any], cut: int, last: bool):  # R-03 R-04
    pieces = pieces_of(value, cut)
    chunks = [chunk(call(name="f", willContinue=True)), *(chunk(call(partialArgs=[p], willContinue=True)) for p in pieces[:-1])]
    chunks += [chunk(call(partialArgs=pieces[-1:], willContinue=True)), chunk(call())] if last else [chunk(call(partialArgs=pieces[-1:]))]
    outcome = fsm.reconstruct(sse(*chunks, STOP), "gemini", engine=engine)
    block, = outcome.message.content
    assert json.dumps(block["input"]) == json.dumps(value)


@settings(max_examples=150)
@given(value=OBJECTS, seed=st.randoms(use_true_random=False), keep=st.integers(0, 12))
def test_pieces_out_of_order_never_give_wrong_arguments(engine: str, value: dict[str, Any], seed: Any, keep: int):  # R-70
    """Shuffled, doubled or cut: the object itself (in another order), or an invalid call, or part of it as the vendor ended it."""
    pieces = pieces_of(value, 2)
    broken = seed.sample(pieces, len(pieces)) + pieces[:keep]
    outcome = fsm.reconstruct(sse(chunk(call(name="f", partialArgs=broken)), STOP), "gemini", engine=engine)
    block, = outcome.message.content
    if not block.get("invalid"):
        text_ = ArgumentText(None, None)
        assert len(broken) == len(pieces) or keep
        assert json.loads("".join(text_.put(p, next((p[k] for k in ("stringValue", "numberValue", "boolValue") if k in p), None)) for p in broken)
                          + text_.close()) == block["input"]
        assert not text_.broken
    again = fsm.reconstruct(sse(chunk(call(name="f", partialArgs=[*pieces, *pieces]))), "gemini", engine=engine)
    assert not again.completed


@pytest.mark.parametrize("second", ["$.a", "$.a.b", "$.x[2]", "$.x[0]", "$", "", "$.x", "$.x.y", "$[0]", "$.b[1]", "$..b", "$.b[*]"])
def test_a_piece_that_would_go_back_makes_the_call_invalid(engine: str, second: str):
    pieces = [{"jsonPath": "$.a", "numberValue": 1}, {"jsonPath": "$.x[0]", "stringValue": "s"}, {"jsonPath": second, "numberValue": 2}]
    block, = content(engine, chunk(call(name="f", partialArgs=pieces)), STOP)
    assert block["invalid"]
    assert json.dumps(second) in block["raw_input"], "no argument text is lost"


def test_an_unfinished_call_is_no_call_to_run(engine: str):  # R-32 R-70
    cut = sse(chunk(call(name="f", partialArgs=[{"jsonPath": "$.a", "stringValue": "x", "willContinue": True}], willContinue=True)))
    for body in (cut, cut + sse(STOP), cut + sse(chunk(call(name="g")), STOP)):
        got = same_everywhere(engine, body, "gemini")
        assert got["state"] == "ERRORED"
        assert got["partial"]["content"][0]["raw_input"] == '{"a":"x'


@pytest.mark.parametrize(("path", "steps"), [("$.a.b[0].c", ["a", "b", 0, "c"]), ("$['a.b'][\"c'\"]", ["a.b", "c'"]), ("a.b", ["a", "b"]), ("$", None),
                                             ("$.", None), ("$.a[", None), ("$.a[-1]", None), (None, None), (7, None), ("$.a[9999999999]", None), ("[0]", [0])])
def test_paths(path: Any, steps: Any):
    assert steps_of(path) == steps


# ---------------------------------------------------------------- reasons, counts, candidates

def test_content_behind_a_reason_counts_and_the_last_reason_wins(engine: str):
    got = same_everywhere(engine, sse(chunk(text("a"), finish="STOP"), chunk(text("b"), finish="OTHER"), chunk(text("c"))), "gemini")
    assert (got["message"]["content"][0]["text"], got["message"]["raw_stop_reason"], got["message"]["stop_reason"]) == ("abc", "OTHER", None)
    assert kinds(got) == {"reason_changed"}


@pytest.mark.parametrize("word", ["SAFETY", "OTHER", "WHO_KNOWS"])
def test_a_blocked_prompt_is_a_filter(engine: str, word: str):
    got = same_everywhere(engine, sse({"promptFeedback": {"blockReason": word}}), "gemini")["message"]
    assert (got["stop_reason"], got["content"]) == ("content_filter", [])


@pytest.mark.parametrize("word", ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "MALFORMED_RESPONSE"])
def test_a_failed_call_is_no_normal_end(engine: str, word: str):
    assert same_everywhere(engine, sse(chunk(text("a"), finish=word)), "gemini")["state"] == "ERRORED"
    got = same_everywhere(engine, sse(chunk(call(name="f")), chunk(finish=word)), "gemini")["message"]
    assert (got["stop_reason"], got["content"][0]["invalid"]) == ("tool_use", "failed_call")


def test_output_counts_thoughts_whatever_the_last_report_lacks(engine: str):  # R-77 R-78
    reports = [{"promptTokenCount": 9, "thoughtsTokenCount": 5}, {"promptTokenCount": 9, "candidatesTokenCount": 2, "thoughtsTokenCount": 7},
               {"promptTokenCount": 12, "thoughtsTokenCount": 0, "cachedContentTokenCount": 4}]
    got = same_everywhere(engine, sse(*(chunk(text("a"), usageMetadata=u) for u in reports), STOP), "gemini")["message"]["usage"]
    assert got == {"input_tokens": 12, "output_tokens": 9, "cache_read_input_tokens": 4, "reasoning_tokens": 7}


@pytest.mark.parametrize("choice", [0, 1])
def test_candidates_are_told_apart(engine: str, choice: int):
    def candidates(numbered: bool) -> dict[str, Any]:
        pair = [{"content": {"parts": [text(t)]}, "finishReason": "STOP"} for t in "ab"]
        return {"candidates": [pair[0], pair[1] | ({"index": 1} if numbered else {})]}

    for numbered in (True, False):
        got = same_everywhere(engine, sse(candidates(numbered)), "gemini", choice=choice)
        assert got["message"]["content"] == [{"type": "text", "text": "ab"[choice]}]


def test_id_and_model_are_taken_once(engine: str):
    chunks = [chunk(text("a")), chunk(text("b")) | {"responseId": "other"}, STOP | {"modelVersion": "n"}]
    got = same_everywhere(engine, sse({"candidates": []}, *chunks))["message"]
    assert (got["id"], got["model"]) == ("r", "m")


# ---------------------------------------------------------------- the fast path

@pytest.mark.parametrize("part", [text, think])
def test_the_fast_path_takes_plain_chunks(tiers: tuple[str, ...], part: Any):
    chunks = [chunk(part(f"word {i} "), usageMetadata={"trafficType": "ON_DEMAND"}) for i in range(50)]
    for engine in tiers:
        r = fsm.Reconstructor("gemini", engine=engine)
        r.feed(sse(*chunks, STOP))
        assert ended(r).completed
        assert (r._framing.appended >= 48) == (engine in ("scan", "compiled")), f"{engine}: {r._framing.appended}"
