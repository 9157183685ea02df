"""What `to_request` gives is what the vendors' own request types take, for every public stream and for made-up messages."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fsm
from fsm import _tables as T
from history import CHECKS, public_streams
from history_messages import CONTENTS, STRANGERS, messages

CASES = {name: body for name, body, _expected in public_streams()}


@pytest.fixture(scope="session")
def whole() -> dict[str, dict[str, fsm.Message]]:
    """Name -> message of every public stream that completes, on either engine."""
    found: dict[str, dict[str, fsm.Message]] = {}
    for engine in dict.fromkeys(["python", None]):
        outcomes = {name: fsm.reconstruct(body, engine=engine) for name, body in CASES.items()}
        found[str(engine)] = {name: outcome.message for name, outcome in outcomes.items() if outcome.completed}
    if not CASES:
        pytest.skip("../shared/corpus is not here")
    return found


def complaint(dialect: str, entries: list[dict[str, Any]], exact: bool) -> str | None:
    """Why the vendor's types refuse an entry, or which further fields they do not know."""
    json.dumps(entries)
    for entry in entries:
        try:
            read = CHECKS[dialect](entry)
        except ValueError as e:
            return str(e)[:500]
        if exact and read != entry:
            return f"{entry} was read as {read}"
    return None


BAD = {
    "anthropic": [{"role": "assistant", "content": [{"type": "thinking", "thinking": "a"}]}, {"role": "assistant"},
                  {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "Read", "input": "{}"}]}],
    "openai-chat": [{"role": "assistant", "tool_calls": [{"id": "t", "type": "function", "function": {"name": "Read", "arguments": {}}}]}],
    "openai-responses": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": 1}]}, {"type": "function_call", "name": "Read"}],
    "gemini": [{"role": "model", "parts": [{"text": "a", "signature": "QUJD"}]}, {"role": "model", "parts": [{"functionCall": {"args": "{}"}}]}],
    "bedrock-converse": [{"role": "assistant", "content": [{"toolUse": {"toolUseId": "t", "input": {}}}]}, {"role": "assistant", "content": [{"x": {}}]}],
}


@pytest.mark.parametrize("dialect", CHECKS)
def test_the_checks_refuse_what_is_wrong(dialect: str):
    for entry in BAD[dialect]:
        with pytest.raises(ValueError):
            CHECKS[dialect](entry)


@pytest.mark.parametrize("dialect", CHECKS)
def test_public_streams_go_back_to_their_vendor(whole: dict[str, dict[str, fsm.Message]], dialect: str):
    wrong, seen = {}, 0
    for found in whole.values():
        for name, message in found.items():
            if message.dialect == dialect:
                seen += 1
                why = complaint(dialect, message.to_request().entries, exact=False)
                if why is not None:
                    wrong[name] = why
    assert seen > 0
    assert wrong == {}


@pytest.mark.parametrize("dialect", CHECKS)
def test_public_streams_go_to_every_vendor(whole: dict[str, dict[str, fsm.Message]], dialect: str):
    """To another vendor nothing goes that its types do not name."""
    wrong = {}
    for name, message in whole["None"].items():
        if message.dialect != dialect:
            why = complaint(dialect, message.to_request(dialect).entries, exact=True)
            if why is not None:
                wrong[name] = why
    assert wrong == {}


def test_both_engines_give_the_same_request(whole: dict[str, dict[str, fsm.Message]]):
    python, best = whole["python"], whole["None"]
    assert python.keys() == best.keys()
    for name, message in python.items():
        if not any(b["id"] not in CASES[name].decode("utf-8", "replace") for b in message.tool_calls + message.invalid_calls):
            assert message.to_request() == best[name].to_request(), name


def test_every_public_message_survives_storage(whole: dict[str, dict[str, fsm.Message]]):
    for found in whole.values():
        for name, message in found.items():
            assert fsm.Message.from_dict(message.to_dict()) == message, name
            assert fsm.Message.from_dict(json.loads(json.dumps(message.to_dict()))) == message, name


def test_every_public_message_has_a_request_for_everybody(whole: dict[str, dict[str, fsm.Message]]):
    for message in whole["None"].values():
        for dialect in T.DIALECTS:
            json.dumps(message.to_request(dialect).entries)


@pytest.mark.parametrize("dialect", CHECKS)
@settings(max_examples=60)
@given(data=st.data())
def test_any_message_goes_to_any_vendor(dialect: str, data: st.DataObject):
    source = data.draw(st.sampled_from([*CONTENTS, "stranger"]))
    message = data.draw(STRANGERS if source == "stranger" else messages(source))
    before = json.dumps(message.to_dict())
    history = message.to_request(dialect)
    assert complaint(dialect, history.entries, exact=message.dialect != dialect) is None
    assert json.dumps(message.to_dict()) == before, "the message itself is not touched"
    sent = json.dumps(history.entries)
    assert all(sent.count(json.dumps(history.ids.get(b["id"], b["id"]))) >= 1 for b in message.content if b["type"] == "tool_use")
    if not history.dropped and message.dialect != dialect:
        assert {b["type"] for b in message.content} <= {"text", "tool_use", "refusal"}
