"""Gemini: parts and their signatures, streamed arguments, reasons that are no ends, and the three ways it is framed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fsm
from helpers import cut_at, ended, frame, run, same_everywhere
from tiers import disagreement

TOOL = {"write": {"type": "OBJECT", "properties": {"path": {"type": "STRING"}}, "required": ["path"]}}


def chunk(*parts: dict[str, Any], finish: str | None = None, **more: Any) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"parts": list(parts), "role": "model"}, "index": 0}
    return {"candidates": [candidate | ({"finishReason": finish} if finish else {})], "modelVersion": "m", "responseId": "r", **more}


def sse(*chunks: dict[str, Any]) -> bytes:
    return b"".join(map(frame, chunks))


def array(*chunks: dict[str, Any], indent: int | None = 1) -> bytes:
    return ("[" + ("\n,\n" if indent else ",").join(json.dumps(c, indent=indent) for c in chunks) + "\n]\n").encode()


def text(value: str, **more: Any) -> dict[str, Any]:
    return {"text": value, **more}


def think(value: str, **more: Any) -> dict[str, Any]:
    return {"text": value, "thought": True, **more}


def call(**fields: Any) -> dict[str, Any]:
    return {"functionCall": fields}


STOP = chunk(finish="STOP")


def content(engine: str, *chunks: dict[str, Any], tools: Any = None) -> list[dict[str, Any]]:
    got = same_everywhere(engine, sse(*chunks), "gemini", tools)
    assert got["message"] is not None, got["error"]
    return got["message"]["content"]


# ---------------------------------------------------------------- framing: three forms, one outcome

WORDS = st.sampled_from(["", "a", "b c", "é", "状态", "😀", '"}]', "\\", "\n", "[{"])
SIGNED = st.sampled_from([{}, {}, {"thoughtSignature": "c2ln"}, {"thoughtSignature": ""}, {"thoughtSignature": None}])
CALLS = st.fixed_dictionaries({}, optional={"id": st.sampled_from(["c1", "c2", "", None]), "name": st.sampled_from(["write", "read", "", None]),
                                            "args": st.sampled_from([{}, {"path": "a"}, None]), "willContinue": st.booleans(),
                                            "partialArgs": st.lists(st.fixed_dictionaries(
                                                {"jsonPath": st.sampled_from(["$.path", "$.a[0].b", "$.a[1]", "$", ""])},
                                                optional={"stringValue": WORDS, "numberValue": st.integers(), "willContinue": st.booleans()}), max_size=2)})
PARTS = st.one_of(
    st.builds(lambda t, s: text(t) | s, WORDS, SIGNED), st.builds(lambda t, s: text(t) | s, WORDS, SIGNED),
    st.builds(lambda t, s: think(t) | s, WORDS, SIGNED), st.builds(lambda t, s: {"thought": False, **s, "text": t}, WORDS, SIGNED),
    st.builds(lambda c, s: {"functionCall": c} | s, CALLS, SIGNED),
    st.sampled_from([{"executableCode": {"code": "1"}, "thoughtSignature": "c"}, {"inlineData": None}, {}, {"functionCall": None}, {"text": None}]))
REASONS = st.sampled_from([None, None, None, "STOP", "", "MAX_TOKENS", "SAFETY", "NEW_WORD", "FINISH_REASON_UNSPECIFIED", "MALFORMED_FUNCTION_CALL"])
EXTRAS = st.sampled_from([{}, {}, {"usageMetadata": {"trafficType": "X"}}, {"usageMetadata": {"promptTokenCount": 4, "thoughtsTokenCount": 2}},
                          {"promptFeedback": {"blockReason": "SAFETY"}}, {"error": {"code": 503, "status": "UNAVAILABLE"}}])
CHUNKS = st.builds(lambda parts, finish, extra: chunk(*parts, finish=finish, **extra), st.lists(PARTS, max_size=3), REASONS, EXTRAS)
STREAMS = st.lists(st.one_of(CHUNKS, st.builds(lambda t: chunk(text(t)), WORDS), st.builds(lambda t: chunk(think(t)), WORDS)), max_size=10)


@settings(max_examples=120)
@given(chunks=STREAMS, cuts=st.lists(st.integers(0, 3000), max_size=6), ends=st.sampled_from([b"\n", b"\r\n", b"\r"]))
def test_any_stream_is_the_same_on_every_engine(tiers: tuple[str, ...], chunks: list[dict[str, Any]], cuts: list[int], ends: bytes):  # R-20 R-42 R-52
    body = sse(*chunks).replace(b"\n", ends)
    for deltas in ("each", "chunk", "none"):
        assert disagreement(cut_at(body, cuts), "gemini", tiers, deltas=deltas, tools=TOOL) is None


@settings(max_examples=80)
@given(chunks=STREAMS, cuts=st.lists(st.integers(0, 4000), max_size=6), indent=st.sampled_from([None, 2]))
def test_the_array_form_gives_what_the_event_stream_gives(engine: str, chunks: list[dict[str, Any]], cuts: list[int], indent: int | None):
    body = array(*chunks, indent=indent)
    given_ = sse(*chunks) + body
    as_events, whole = run(engine, sse(*chunks), "gemini"), run(engine, body, "gemini")
    if chunks:
        for part in ("state", "message", "partial"):
            assert fsm_stable(whole[part], given_) == fsm_stable(as_events[part], given_)
    assert run(engine, body, "gemini", None, cut_at(body, cuts)) == whole
    assert run(engine, body, "gemini", None, [body[i:i + 1] for i in range(len(body))]) == whole


def fsm_stable(value: Any, given_: bytes) -> Any:
    from helpers import stable
    return stable(value, given_.decode())


@settings(max_examples=60)
@given(chunks=STREAMS, seed=st.randoms(use_true_random=False))
def test_the_order_of_keys_says_nothing(engine: str, chunks: list[dict[str, Any]], seed: Any):
    def shuffled(value: Any) -> Any:
        if isinstance(value, dict):
            return {k: shuffled(value[k]) for k in seed.sample(list(value), len(value))}
        return [shuffled(v) for v in value] if isinstance(value, list) else value

    def facts(body: bytes) -> Any:
        got = run(engine, body, "gemini", TOOL)
        for b in (got["message"] or got["partial"])["content"]:
            b.pop("raw_input", None)  # arguments sent as an object keep the order of their keys
        return got["state"], got["message"], got["partial"]

    assert facts(sse(*map(shuffled, chunks))) == facts(sse(*chunks))


def test_an_array_element_is_an_event_when_its_brace_arrives(engine: str):
    r = fsm.Reconstructor("gemini", engine=engine)
    body = array(chunk(text("one")), chunk(text("two"), finish="STOP"))
    first = body.index(b"\n,\n")
    assert [e.text for e in r.feed(body[:first]) if isinstance(e, fsm.TextDelta)] == ["one"]
    assert [e.text for e in r.feed(body[first:]) if isinstance(e, fsm.TextDelta)] == ["two"]
    assert ended(r).completed
    assert r.metrics.events == 2


def test_offsets_in_an_array_are_those_of_the_elements(engine: str):
    body = array(chunk(text("é")), {"nothing": 1}, STOP)
    anomaly = next(a for a in same_everywhere(engine, body, "gemini")["anomalies"] if a["kind"] == "unknown_event")
    assert body[anomaly["offset"]:].startswith(b'{\n "nothing"')


@pytest.mark.parametrize("size", [100, 5000])
def test_an_array_element_over_the_limit_ends_the_stream_once(engine: str, size: int):
    body = array(chunk(text("a")), chunk(text("x" * size)), chunk(text("b"), finish="STOP"))
    got = same_everywhere(engine, body, "gemini", limits=fsm.Limits(event_bytes=1000))
    assert (got["error"] or {}).get("type") == ("event_overflow" if size > 1000 else None)


@pytest.mark.parametrize("body", [b"[{]", b"[{}", b"[{}]]", b"[{}}", b'[{"a":"\\', b"[{},,{}]", b"[{} 5 {}]", b'[{}, "x]"]', b"[{}]{}", b"[[]]",
                                  b"[{}]\n[{}]\n", b"[", b"[ ", b"[]", b"[\xff{", b"\xef\xbb\xbf[{}]", b"\xef\xbb", b"[1]",
                                  b'[{"a":1}]data: {}\n\n', b"[{}]\r\n\r\n: x\r\n"])
def test_odd_arrays_never_raise_and_splits_agree(tiers: tuple[str, ...], body: bytes):
    for engine in tiers:
        assert same_everywhere(engine, body, "gemini") == same_everywhere("python", body, "gemini")


def test_array_framing_is_linear():
    import time

    def cost(n: int) -> float:
        body = array(chunk(text("x" * n)), STOP)
        best = 9.0
        for _ in range(3):
            r = fsm.Reconstructor("gemini", engine="python")
            t = time.process_time()
            for i in range(0, len(body), 50):
                r.feed(body[i:i + 50])
            best = min(best, time.process_time() - t)
        return best / n

    assert cost(400_000) < 5 * cost(20_000)


@pytest.mark.parametrize("body", [json.dumps(chunk(text("whole"), finish="STOP")), json.dumps(chunk(text("whole"), finish="STOP"), indent=2),
                                  json.dumps({"response": chunk(text("whole"), finish="STOP")})])
def test_an_answer_that_was_not_streamed(engine: str, body: str):
    got = same_everywhere(engine, body.encode())
    assert (got["dialect"], got["message"]["content"], got["message"]["model"]) == ("gemini", [{"type": "text", "text": "whole"}], "m")


@pytest.mark.parametrize("wrap", [lambda e: json.dumps(e).encode(), lambda e: json.dumps([e], indent=1).encode(), lambda e: sse(chunk(text("a")), e)])
def test_errors_wherever_they_stand(engine: str, wrap: Any):  # R-90 R-91
    got = same_everywhere(engine, wrap({"error": {"code": 429, "message": "slow down", "status": "RESOURCE_EXHAUSTED"}}))
    assert (got["dialect"], got["state"]) == ("gemini", "ERRORED")
    assert got["error"] == {"type": "RESOURCE_EXHAUSTED", "message": "slow down", "retry": "rate_limit", "code": "429"}
