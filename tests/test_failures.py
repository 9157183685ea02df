"""Errors without an envelope (rule 20): every common spelling, in every dialect, at any place, is an error; what is none stays ignored."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fsm
from fsm.dialects import DIALECTS
from fsm.dialects.failures import error_event, failure, refusal
from helpers import chat, ended, frame, same_everywhere
from test_detect import CLEAN

WORDS = "engine died"

#: what upstreams and gateways send, each with WORDS in it
FAILED: dict[str, dict[str, Any]] = {
    "code, message": {"code": 500, "message": WORDS},
    "code in a string": {"code": "500", "msg": WORDS},
    "a word for a code": {"code": "InvalidParameter", "message": WORDS, "request_id": "r1"},
    "status, title, detail": {"type": None, "title": "Error", "status": 503, "detail": WORDS},
    "statusCode": {"statusCode": 429, "message": WORDS},
    "status in a word": {"status": "failed", "message": WORDS},
    "error_code, error_msg": {"error_code": 336003, "error_msg": WORDS},
    "errorCode, errorMessage": {"errorCode": "E1", "errorMessage": WORDS},
    "Error-Message": {"Error-Message": WORDS},
    "errcode, errmsg": {"errcode": 40001, "errmsg": WORDS},
    "message alone": {"message": WORDS},
    "msg alone": {"msg": WORDS},
    "Message alone": {"Message": WORDS},
    "detail alone": {"detail": WORDS},
    "detail as a list": {"detail": [{"loc": ["body"], "msg": WORDS, "type": "value_error"}]},
    "detail as an object": {"detail": {"code": "x", "message": WORDS}},
    "error as a word": {"error": WORDS},
    "error with a code beside it": {"error": WORDS, "code": 502},
    "error with a type beside it": {"error": WORDS, "error_type": "overloaded"},
    "error true": {"error": True, "message": WORDS},
    "error as a list": {"error": [{"message": WORDS}]},
    "error in an error": {"error": {"error": {"type": "x", "message": WORDS}}},
    "an error's message as an object": {"error": {"message": {"text": WORDS}}},
    "errors": {"errors": [{"message": WORDS, "code": "rate_limited"}]},
    "errors as words": {"errors": [WORDS]},
    "Error": {"Error": {"Code": "x", "Message": WORDS}},
    "success false": {"success": False, "message": WORDS},
    "success false, errors": {"success": False, "errors": [{"code": 7003, "message": WORDS}], "messages": [], "result": None},
    "ok false": {"ok": False, "description": WORDS},
    "type error, flat": {"type": "error", "message": WORDS, "kind": "x"},
    "object error": {"object": "error", "message": WORDS, "code": 40303},
    "a type of an error": {"type": "server_error", "message": WORDS},
    "fault": {"fault": {"faultstring": WORDS, "detail": {"errorcode": "x"}}},
    "exception": {"exception": WORDS},
    "a status block": {"base_resp": {"status_code": 1004, "status_msg": WORDS}},
    "a header": {"header": {"code": 10013, "message": WORDS, "sid": "s"}},
    "a status object": {"status": {"code": 8, "message": WORDS}},
    "a response in a response": {"Response": {"Error": {"Code": "x", "Message": WORDS}, "RequestId": "r"}},
}

#: what says nothing of a failure
HARMLESS: dict[str, dict[str, Any]] = {
    "nothing": {}, "null": {"error": None}, "empty": {"error": "", "errors": [], "message": ""}, "code 0": {"code": 0, "message": "fine"},
    "code 200": {"code": 200, "msg": "fine"}, "code in words": {"code": "Success", "message": "fine"}, "success": {"success": True, "message": "fine"},
    "status ok": {"status": "ok", "message": "fine"}, "progress": {"status": "processing"}, "progress in numbers": {"status": 102},
    "a keepalive": {"message": "keep-alive"}, "a vendor's own event": {"type": "vendor.status", "message": "searching"},
    "a vendor's tool failed": {"type": "vendor.tool.error", "message": "no such page", "status": "failed"},
    "a good status block": {"base_resp": {"status_code": 0, "status_msg": "success"}}, "other": {"trace": "t1", "region": "eu"},
    "false flags": {"error": False, "is_error": False, "cached": False}, "a message that is none": {"message": {"note": "x"}},
}

#: where such an object is a whole answer
ANSWERS = {("cohere", "a message that is none")}


def opening(dialect: str) -> tuple[bytes, bytes]:
    """The first event of a clean stream, and the rest."""
    body = CLEAN[dialect]
    blank = next((blank for blank in (b"\r\n\r\n", b"\n\n", b"\n") if blank in body), b"")
    first, _blank, rest = body.partition(blank)
    return first + blank, rest


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("how", FAILED)
def test_an_error_in_midstream(engine: str, dialect: str, how: str):  # R-31 R-91
    first, rest = opening(dialect)
    got = same_everywhere(engine, first + frame(FAILED[how]) + rest, dialect)
    assert got["state"] == "ERRORED", how
    assert WORDS in got["error"]["message"]
    assert not [b for b in got["partial"]["content"] if b["type"] == "tool_use" and not b.get("invalid")]


@pytest.mark.parametrize("dialect", ["auto", *DIALECTS])
@pytest.mark.parametrize("how", FAILED)
@pytest.mark.parametrize("wrap", [frame, lambda e: json.dumps(e, indent=1).encode(), lambda e: frame(e, "error")], ids=["event", "body", "error event"])
def test_an_error_as_the_first_event(engine: str, dialect: str, how: str, wrap: Any):
    got = same_everywhere(engine, wrap(FAILED[how]) + frame("[DONE]"), dialect)
    assert got["state"] == "ERRORED"
    assert WORDS in got["error"]["message"]


@pytest.mark.parametrize(("dialect", "how"), sorted({(d, h) for d in DIALECTS for h in HARMLESS} - ANSWERS))
def test_what_speaks_of_no_failure_is_ignored(engine: str, dialect: str, how: str):
    first, rest = opening(dialect)
    plain = same_everywhere(engine, first + rest, dialect)
    got = same_everywhere(engine, first + frame(HARMLESS[how]) + rest, dialect)
    assert (got["state"], got["message"]) == (plain["state"], plain["message"])


@pytest.mark.parametrize("choices", [[], None])
@pytest.mark.parametrize("how", ["a status block", "code, message", "success false", "errors", "error_code, error_msg"])
def test_an_empty_envelope_with_a_status_that_failed(engine: str, choices: Any, how: str):
    chunk = {"id": "c1", "object": "chat.completion.chunk", "choices": choices, "usage": None, **FAILED[how]}
    for body in (chat({"content": "Hi"}, finish=None, done=False) + frame(chunk) + frame("[DONE]"), frame(chunk) + frame("[DONE]"),
                 chat({"content": "Hi"}, done=False) + frame(chunk) + frame("[DONE]")):
        got = same_everywhere(engine, body, "openai-chat")
        assert (got["state"], WORDS in got["error"]["message"]) == ("ERRORED", True)


@pytest.mark.parametrize("beside", [{"base_resp": {"status_code": 0, "status_msg": "success"}}, {"code": 0, "message": "ok"}, {"code": 200}, {"success": True},
                                    {"message": "a note"}, {"status": "running"}, {"service_tier": "default"}])
def test_a_good_status_beside_an_empty_envelope(engine: str, beside: dict[str, Any]):
    usage = {"id": "c1", "object": "chat.completion.chunk", "choices": [], "usage": {"prompt_tokens": 3}, **beside}
    got = same_everywhere(engine, chat({"content": "Hi"}, done=False) + frame(usage) + frame("[DONE]"), "openai-chat")
    assert (got["state"], got["message"]["usage"]["input_tokens"]) == ("COMPLETED", 3)


def test_an_error_on_a_choice(engine: str):
    body = chat({"content": "Hi"}, finish=None, done=False) + frame(
        {"object": "chat.completion.chunk",
         "choices": [{"index": 0, "delta": {}, "finish_reason": None, "error": {"code": 502, "message": WORDS}}]}) + frame("[DONE]")
    got = same_everywhere(engine, body, "openai-chat")
    assert (got["state"], got["error"]["message"], got["error"]["type"]) == ("ERRORED", WORDS, "502")


@pytest.mark.parametrize(("how", "kind", "code", "retry"), [
    ("errors", "rate_limited", None, "rate_limit"), ("statusCode", "429", None, "rate_limit"), ("status, title, detail", "503", None, "backoff"),
    ("error with a type beside it", "overloaded", None, "backoff"), ("a type of an error", "server_error", None, "backoff"),
    ("message alone", "error", None, "unknown")])
def test_the_kind_and_the_advice(engine: str, how: str, kind: str, code: str | None, retry: str):
    got = same_everywhere(engine, frame(FAILED[how]), "openai-chat")
    assert (got["error"]["type"], got["error"].get("code"), got["error"]["retry"]) == (kind, code, retry)


@pytest.mark.parametrize("dialect", [d for d in DIALECTS if d != "canonical"])
def test_after_the_end_it_is_evidence_only(engine: str, dialect: str):
    r = fsm.Reconstructor(dialect, engine=engine)
    r.feed(CLEAN[dialect])
    if r.state == "COMPLETED":
        r.feed(frame(FAILED["code, message"]))
        assert ended(r).completed
        assert "error_after_end" in r.anomalies.counts


KEYS = st.sampled_from(["error", "errors", "message", "msg", "code", "status", "detail", "success", "type", "object", "base_resp", "response", "title", "x",
                        "error_msg", "Error", "", "metadata", "error_type"])
VALUES = st.recursive(st.none() | st.booleans() | st.integers(-1000, 1000) | st.floats() | st.text(max_size=8),
                      lambda v: st.lists(v, max_size=3) | st.dictionaries(KEYS, v, max_size=4), max_leaves=12)


@given(payload=st.dictionaries(KEYS, VALUES, max_size=6), event=st.sampled_from([None, "error", "message", "x.y"]))
def test_anything_may_come(payload: dict[str, Any], event: str | None):
    for found in (failure(payload, event), refusal(payload)):
        if found is not None:
            said = error_event(found, "error")
            assert said.kind
            assert said.message


@pytest.mark.parametrize("code", ["--5", "-", "5-", "\uff15", "1" * 5000, "-1", "0500", " 500 ", "5e2", "\x00", "+500"])
@pytest.mark.parametrize("key", ["code", "status"])
def test_a_code_may_be_any_text(engine: str, key: str, code: str):
    got = same_everywhere(engine, frame({key: code, "message": "x"}), "openai-chat")
    assert got["state"] == "ERRORED"


@pytest.mark.parametrize("key", ["error", "response", "detail", "message", "status"])
def test_an_error_may_be_deep(key: str):  # R-52 R-97
    deep: Any = {"code": 500}
    for _ in range(900):
        deep = {key: [deep] if key == "detail" else deep}
    failure(deep, None)
    assert error_event(deep, "error").message
