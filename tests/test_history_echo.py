"""A vendor that says what it was sent: message -> request -> stream -> the same message, and stream -> message -> the stream's own items."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fsm
from history import ECHOES, public_streams
from history_messages import messages

CASES = {name: body for name, body, _expected in public_streams()}
EXPECTED = {name: expected for name, _body, expected in public_streams()}


def of_vendor(folder: str) -> list[str]:
    return [name for name in CASES if name.startswith(f"{folder}/")]


# ---------------------------------------------------------------- message -> request -> stream -> message


@pytest.mark.parametrize("dialect", ECHOES)
@settings(max_examples=60)
@given(data=st.data())
def test_the_echo_of_a_message_is_the_message(engine: str, dialect: str, data: st.DataObject):  # R-01 R-12
    """So the request holds everything that the stream said."""
    sent = data.draw(messages(dialect))
    history = sent.to_request()
    assert history.ids == {}
    if not history.entries:
        return
    say, end_turn, tool_use = ECHOES[dialect]
    calls = any(b["type"] == "tool_use" for b in sent.content)
    got = fsm.reconstruct(say(history.entries, tool_use if calls else end_turn), dialect, engine=engine).message
    kept = sent.content[:-len(history.dropped)] if history.dropped else sent.content
    assert all(why.endswith("nothing follows it") for why in history.dropped)
    assert got.content == kept
    assert (got.id, got.model, got.dialect) == ("c1" if dialect == "openai-chat" else "msg_1", "m", dialect)
    assert got.stop_reason == ("tool_use" if calls else "end_turn")
    assert got.usage.to_dict() == {"input_tokens": 3, "output_tokens": 5}
    assert got.to_request().entries == history.entries, "and once more"
    assert fsm.Message.from_dict(json.loads(json.dumps(got.to_dict()))) == got


@pytest.mark.parametrize(("dialect", "place"), [("openai-chat", "function"), ("openai-responses", None)])
@pytest.mark.parametrize("given_", ['{"a": 1}', '{ "b":[1.0, 1e3],\n"a":"\\u00e9" }', '{"a":1}', '{"n":123456789012345678901234567890}', '{"a":1,"a":2}'])
def test_arguments_go_back_to_the_byte(engine: str, dialect: str, place: str | None, given_: str):
    say = ECHOES[dialect][0]
    call = {"id": "c", "type": "function", "function": {"name": "Read", "arguments": given_}}
    item = {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "Read", "arguments": given_, "status": "completed"}
    entries = [{"role": "assistant", "content": None, "tool_calls": [call]}] if place else [item]
    got = fsm.reconstruct(say(entries, ECHOES[dialect][2]), dialect, engine=engine).message
    assert got.to_request().entries == entries
    stored = fsm.Message.from_dict(json.loads(json.dumps(got.to_dict())))
    assert stored.to_request().entries == entries
    assert got.arguments == ({} if given_ == '{"a":1}' else {"c": given_})
    got.content[-1]["input"] = {"a": 3}
    assert '"{\\"a\\":3}"' in json.dumps(got.to_request().entries), "an edited input is what counts"


# ---------------------------------------------------------------- stream -> message -> the stream's own items


def events(body: bytes) -> Iterator[dict[str, Any]]:
    text = body.decode("utf-8", "replace")
    if text.lstrip().startswith("["):
        yield from json.loads(text)
        return
    for match in re.finditer(r"^data: ?(.*?)\r?$", text, re.M):
        if match[1].startswith("{"):
            yield json.loads(match[1])


def stated(value: Any) -> Any:
    """A wire value without what states nothing."""
    if isinstance(value, dict):
        return {k: stated(v) for k, v in value.items() if v is not None and v != [] and v != ""}
    return [stated(v) for v in value] if isinstance(value, list) else value


def item_of(item: dict[str, Any]) -> dict[str, Any]:
    """An item as far as it can be compared: how far it got says nothing unless it was cut."""
    keep = item.get("status") == "incomplete" or item["type"] not in ("message", "reasoning", "function_call", "custom_tool_call")
    return {k: v for k, v in stated(item).items() if k != "status" or keep}


@pytest.mark.parametrize("name", of_vendor("openai-responses") or [pytest.param("", marks=pytest.mark.skip("../shared/corpus is not here"))])
def test_the_items_of_a_response_go_back_as_they_were(engine: str, name: str):
    body = CASES[name]
    outcome = fsm.reconstruct(body, engine=engine)
    if not outcome.completed or "snapshot_contradicts" in outcome.anomalies.counts:  # what was streamed stays
        return
    message = outcome.message
    items = [e["item"] for e in sorted((e for e in events(body) if e.get("type") == "response.output_item.done"), key=lambda e: e["output_index"])]
    history = message.to_request()
    dropped = [item for item in items if message.dropped_calls and item["type"] == "function_call"]
    want = [item for item in items if item not in dropped]
    lost = len(history.dropped)
    assert [why for why in history.dropped if not why.endswith("nothing follows it")] == []
    assert [item_of(item) for item in history.entries] == [item_of(item) for item in want[:len(want) - lost]]
    assert all(item["type"] == "reasoning" for item in want[len(want) - lost:])


def parts_of(parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Gemini's parts with unsigned text joined: how it was cut says nothing."""
    out: list[dict[str, Any]] = []
    for part in parts:
        part = {k: v for k, v in part.items() if k != "thought" or v}
        if part == {"text": ""}:
            continue
        plain = part.keys() <= {"text", "thought"}
        if plain and out and out[-1].keys() == part.keys():
            out[-1] = {**part, "text": out[-1]["text"] + part["text"]}
        else:
            out.append(part)
    return out


@pytest.mark.parametrize("name", of_vendor("gemini") or [pytest.param("", marks=pytest.mark.skip("../shared/corpus is not here"))])
def test_the_parts_of_a_content_go_back_as_they_were(engine: str, name: str):  # R-01 R-12
    body = CASES[name]
    outcome = fsm.reconstruct(body, engine=engine)
    if not outcome.completed or b"partialArgs" in body:
        return
    parts: list[dict[str, Any]] = []
    for event in events(body):
        for candidate in (event.get("response") or event).get("candidates", [])[:1]:
            parts += (candidate.get("content") or {}).get("parts") or []
    history = outcome.message.to_request()
    assert history.dropped == []
    assert parts_of([part for entry in history.entries for part in entry["parts"]]) == parts_of(parts)


@pytest.mark.parametrize("name", of_vendor("anthropic") or [pytest.param("", marks=pytest.mark.skip("../shared/corpus is not here"))])
def test_the_blocks_of_a_message_go_back_as_they_were(engine: str, name: str):  # R-01 R-12
    outcome = fsm.reconstruct(CASES[name], engine=engine)
    final = EXPECTED[name].get("final")
    if not outcome.completed or final is None:
        return
    history = outcome.message.to_request()
    assert history.dropped == []
    want = [b for b in final["content"] if not (outcome.message.dropped_calls and b["type"] == "tool_use")]
    assert stated([block for entry in history.entries for block in entry["content"]]) == stated(want)


@pytest.mark.parametrize("name", of_vendor("openai-chat") or [pytest.param("", marks=pytest.mark.skip("../shared/corpus is not here"))])
def test_the_message_of_a_choice_goes_back_as_it_was(engine: str, name: str):  # R-01 R-21
    """Arguments to the byte."""
    outcome = fsm.reconstruct(CASES[name], engine=engine)
    choices = EXPECTED[name].get("final", {}).get("choices")
    if not outcome.completed or not choices:
        return
    theirs, entries = choices[0]["message"], outcome.message.to_request().entries
    ours = entries[0] if entries else {}
    calls = [[(c["id"], c["function"]["name"], c["function"]["arguments"]) for c in m.get("tool_calls") or ()] for m in (ours, theirs)]
    assert calls[0] == calls[1]
    assert (ours.get("refusal") or "") == (theirs.get("refusal") or "")
    if "text" not in EXPECTED[name].get("skip", ()) and "<think>" not in (theirs["content"] or ""):
        assert (ours.get("content") or "") == (theirs["content"] or "")
