"""`Message.to_request`: what each vendor gets of a message, and what is said of the rest."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

import fsm
from fsm import _tables as T
from fsm.parts import Meter
from fsm.rebuild.calls import Calls
from fsm.history.writers import WRITERS
from fsm.history.base import MADE_UP, NAMELESS
from helpers import ROOT, TOOLS, a_text, a_tool, anthropic, chat, entry, frame, frag, message, start, think, tool
from history import CHECKS

SIGNED = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
TEXT = {"type": "text", "text": "Hi."}
CALL = {"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": "a"}}
BROKEN = {**CALL, "id": "t2", "input": {}, "invalid": "unparsable_arguments", "raw_input": '{"file_path": '}
REFUSED = {**CALL, "id": "t3", "input": {"file": 1}, "invalid": "schema", "raw_input": '{"file": 1}'}


def msg(*content: dict[str, Any], dialect: str | None = None, **fields: Any) -> fsm.Message:
    return fsm.Message(copy.deepcopy(list(content)), dialect=dialect, **fields)


def only(history: fsm.History) -> dict[str, Any]:
    assert len(history.entries) == 1
    return history.entries[0]


# ---------------------------------------------------------------- the call itself


def test_every_dialect_has_a_history():
    assert WRITERS.keys() == T.DIALECTS.keys()


def test_a_message_knows_its_dialect(engine: str):
    outcome = fsm.reconstruct(anthropic(*a_text(0, "Hi.")), engine=engine)
    assert outcome.message.dialect == outcome.dialect == "anthropic"
    assert outcome.message.to_request() == outcome.message.to_request("anthropic") == ([{"role": "assistant", "content": [TEXT]}], [], {})
    cut = fsm.reconstruct(anthropic(*a_text(0, "Hi."), end=False), engine=engine)
    assert cut.partial.dialect == "anthropic"


def test_misuse_names_the_right_call():
    with pytest.raises(fsm.MisuseError, match=r"to_request\('anthropic'\)"):
        msg(TEXT).to_request()
    with pytest.raises(fsm.UnknownDialectError, match="no dialect is called 'openai'"):
        msg(TEXT).to_request("openai")


def test_a_partial_is_no_history(engine: str):
    partial = fsm.reconstruct(anthropic(*a_text(0, "Hi."), end=False), engine=engine).partial
    stored = fsm.Message.from_dict(json.loads(json.dumps(partial.to_dict())))
    assert stored == partial
    assert type(stored) is fsm.Partial
    for p in (partial, stored):
        with pytest.raises(fsm.MisuseError, match="a partial is no history"):
            p.to_request("anthropic")


@pytest.mark.parametrize("usage", [fsm.Usage(), fsm.Usage(0, 3, basis="includes_cached"), fsm.Usage(1, None, 2, 3, 4, "mixed", {"x": [1]})])
def test_storage_keeps_all_of_usage(usage: fsm.Usage):
    stored = fsm.Message.from_dict(json.loads(json.dumps(msg(TEXT, usage=usage).to_dict())))
    assert stored.usage == usage


@pytest.mark.parametrize("dialect", [d for d in T.DIALECTS if d != "canonical"])
def test_nothing_left_is_no_entry(dialect: str):
    assert msg(dialect=dialect).to_request().entries == []
    if dialect != "dsh":
        history = msg(SIGNED, {"type": "vendor"}, dialect=None).to_request(dialect)
        assert history == ([], ["thinking block 0: its signature is an unknown vendor's", "vendor block 1: a block of an unknown vendor's own"], {})


# ---------------------------------------------------------------- calls


@pytest.mark.parametrize(("dialect", "path"), [("openai-chat", ("tool_calls", 0, "function", "arguments")), ("openai-responses", ("arguments",)),
                                               ("cohere", ("tool_calls", 0, "function", "arguments")), ("dsh", ("content", 0, "arguments"))])
def test_arguments_as_text(dialect: str, path: tuple[Any, ...]):  # R-21 R-47
    def sent(block: dict[str, Any], **fields: Any) -> Any:
        value: Any = only(msg(block, **fields).to_request(dialect))
        for step in path:
            value = value[step]
        return value
    assert sent(CALL) == '{"file_path":"a"}'
    assert sent(CALL, arguments={"t1": ' {"file_path" : "a"}'}) == ' {"file_path" : "a"}'
    assert sent(CALL, arguments={"t1": '{"file_path": "b"}'}) == '{"file_path":"a"}', "it was edited"
    assert sent({**CALL, "input": {"n": 10**30}}) == '{"n":' + str(10**30) + "}"
    assert sent(BROKEN) == '{"file_path": ', "the model sees what it said"
    assert sent(REFUSED) == '{"file": 1}'
    assert sent({**BROKEN, "invalid": "schema", "raw_input": " "}) == "{}"


@pytest.mark.parametrize(("dialect", "path"), [("anthropic", ("content", 0, "input")), ("gemini", ("parts", 0, "functionCall", "args")),
                                               ("bedrock-converse", ("content", 0, "toolUse", "input")),
                                               ("ollama", ("tool_calls", 0, "function", "arguments"))])
def test_arguments_as_an_object(dialect: str, path: tuple[Any, ...]):
    for block, want, dropped in ((CALL, {"file_path": "a"}, []), (REFUSED, {"file": 1}, []),
                                 (BROKEN, {}, ["tool_use block 0: its arguments are no object; {} is sent"])):
        history = msg(block, dialect=dialect).to_request()
        value: Any = only(history)
        for step in path:
            value = value[step]
        assert (value, history.dropped) == (want, dropped)
        assert "invalid" not in json.dumps(history.entries)


@pytest.mark.parametrize("dialect", CHECKS)
def test_a_call_without_a_name_is_sent_under_one(dialect: str):
    history = msg({**REFUSED, "name": None, "invalid": "no_name"}, dialect=dialect).to_request()
    assert NAMELESS in json.dumps(history.entries)
    assert history.dropped == [f"tool_use block 0: it has no name; it is sent as {NAMELESS!r}"]
    CHECKS[dialect](only(history))


@pytest.mark.parametrize("dialect", CHECKS)
def test_a_name_that_is_refused(dialect: str):
    odd = {**CALL, "name": "get weather!"}
    history = msg(odd).to_request(dialect)
    assert history.dropped == ["tool_use block 0: the name 'get weather!' is refused; it is sent as 'get_weather_'"]
    assert '"get_weather_"' in json.dumps(history.entries)
    own = msg(odd, {**odd, "id": "t2", "invalid": "unknown_tool", "raw_input": ""}, dialect=dialect).to_request()
    sent = json.dumps(own.entries)
    assert ('"get weather!"' in sent, '"get_weather_"' in sent) == (True, True), "a vendor takes its own valid names back"
    assert '"_9"' in json.dumps(msg({**CALL, "name": "9"}).to_request("gemini").entries)


def test_an_id_that_is_refused_is_mapped_for_good():
    odd = {**CALL, "id": "functions.Read:0"}
    history = msg(odd, {**CALL, "id": "ok_1"}, dialect="openai-chat").to_request("anthropic")
    fit = history.ids["functions.Read:0"]
    assert [b["id"] for b in only(history)["content"]] == [fit, "ok_1"]
    assert history.dropped == [f"tool_use block 0: its id 'functions.Read:0' is refused; it is sent as {fit!r}, and its result must be"]
    assert msg(odd).to_request("bedrock-converse").ids == history.ids, "the same everywhere and every time"
    assert msg(odd, dialect="anthropic").to_request() == ([{"role": "assistant", "content": [odd]}], [], {}), "who made it takes it back"
    assert msg({**CALL, "id": "x" * 41}).to_request("openai-chat").ids.keys() == {"x" * 41}
    assert msg({**CALL, "id": "x" * 64}).to_request("openai-responses").ids == {}


def test_made_up_ids_go_only_where_one_is_needed():
    made = Calls(None, 9, Meter(), lambda kind, detail: None).new_id()
    assert MADE_UP.fullmatch(made)
    for dialect in WRITERS:
        sent = made in json.dumps(msg({**CALL, "id": made}, dialect=dialect).to_request().entries)
        assert sent == (dialect not in ("gemini", "ollama")), dialect


@pytest.mark.parametrize("dialect", [d for d in T.DIALECTS if d != "canonical"])
def test_the_calls_of_a_cut_message_are_not_sent(engine: str, dialect: str):
    cut = fsm.reconstruct(anthropic(*a_text(0, "Hi."), *a_tool(1, "t1", "Read", '{"file_path": "a"}'), stop="max_tokens"), engine=engine).message
    assert [c["id"] for c in cut.dropped_calls] == ["t1"]
    assert "Read" not in json.dumps(cut.to_request(dialect).entries)


# ---------------------------------------------------------------- another vendor


def test_what_another_vendor_does_not_get_is_named():
    cited = {**TEXT, "citations": [{"type": "char_location"}]}
    history = msg(SIGNED, {"type": "redacted_thinking", "data": "x"}, cited, {**CALL, "caller": {"type": "direct"}}, {"type": "server_tool_use", "id": "s"},
                  {**SIGNED, "signature": None}, dialect="anthropic").to_request("openai-chat")
    assert history.dropped == ["thinking block 0: its signature is anthropic's", "redacted_thinking block 1: a block of anthropic's own",
                               "text block 2: its citations (anthropic's)", "tool_use block 3: its caller (anthropic's)",
                               "server_tool_use block 4: a block of anthropic's own", "thinking block 5: thinking of anthropic without a signature"]
    assert only(history) == {"role": "assistant", "content": "Hi.", "tool_calls": [
        {"id": "t1", "type": "function", "function": {"name": "Read", "arguments": '{"file_path":"a"}'}}]}


@pytest.mark.parametrize(("dialect", "want"), [
    ("anthropic", {"role": "assistant", "content": [{"type": "text", "text": "No."}]}),
    ("openai-chat", {"role": "assistant", "content": None, "refusal": "No."}),
    ("openai-responses", {"type": "message", "role": "assistant", "content": "No."}),
    ("gemini", {"role": "model", "parts": [{"text": "No."}]}),
    ("bedrock-converse", {"role": "assistant", "content": [{"text": "No."}]}),
    ("cohere", {"role": "assistant", "content": [{"type": "text", "text": "No."}]}),
    ("ollama", {"role": "assistant", "content": "No."})])
def test_a_refusal_is_text_where_there_is_none(dialect: str, want: dict[str, Any]):
    assert msg({"type": "refusal", "refusal": "No."}).to_request(dialect) == ([want], [], {})


def test_local_forms_lose_nothing():
    m = msg(SIGNED, TEXT, CALL, BROKEN, {"type": "vendor", "x": 1}, dialect="anthropic", arguments={"t1": '{ "file_path":"a"}'})
    assert m.to_request("canonical") == ([m.to_dict()], [], {})
    assert m.to_request("dsh") == ([{"role": "assistant", "content": [
        {"type": "reasoning", "text": "hm", "signature": "c2ln"}, TEXT, {"type": "tool-call", "id": "t1", "name": "Read", "arguments": '{ "file_path":"a"}'},
        {"type": "tool-call", "id": "t2", "name": "Read", "arguments": '{"file_path": ', "invalid": "unparsable_arguments"},
        {"type": "vendor", "x": 1}]}], [], {})


# ---------------------------------------------------------------- streams of the engines


def test_arguments_are_kept_only_where_they_are_needed(engine: str):
    spaced, plain = '{"file_path": "a"}', '{"file_path":"a"}'
    body = chat({"tool_calls": [entry(0, "t1", "Read", spaced), entry(1, "t2", "Read", plain), entry(2, "t3", "Read", '{"file_path": '), entry(3, "t4", "LS")]},
                finish="tool_calls")
    got = fsm.reconstruct(body, engine=engine).message
    assert got.arguments == {"t1": spaced}
    assert fsm.reconstruct(chat(tool(0, None, "Read", spaced), finish="tool_calls"), engine=engine).message.arguments == {}, "nobody knows its id"
    assert "arguments" not in fsm.reconstruct(anthropic(*a_tool(0, "t1", "Read", spaced), stop="tool_use"), engine=engine).message.to_dict()
    assert fsm.reconstruct(chat(tool(0, "t1", "Read", spaced), finish="length"), engine=engine).message.arguments == {}
    sent = [c["function"]["arguments"] for c in only(got.to_request())["tool_calls"]]
    assert sent == [spaced, plain, '{"file_path": ', "{}"]


def test_pushed_events_have_a_history_too(engine: str):
    m = message(engine, [think("hm"), start("t1", "Read"), frag('{"file_path": "a"}'), {"type": "message_stop"}], TOOLS)
    assert m.dialect == "canonical"
    assert m.to_request() == ([m.to_dict()], [], {})
    m.dialect = "anthropic"  # the harness knows whose signatures it pushed
    assert [b["type"] for b in only(m.to_request())["content"]] == ["thinking", "tool_use"]


def test_custom_tools_get_their_text_back(engine: str):
    item = {"type": "custom_tool_call", "id": "ctc_1", "call_id": "c1", "name": "sh", "input": 'echo "é"\n\t\\', "status": "completed"}
    events = [{"type": "response.output_item.done", "output_index": 0, "item": item}, {"type": "response.completed", "response": {"status": "completed"}}]
    m = fsm.reconstruct(b"".join(frame(e, e["type"]) for e in events), engine=engine).message
    del item["status"]
    assert (m.to_request().entries, m.arguments) == ([item], {})
    m.content[0] |= {"input": {}, "invalid": "unparsable_arguments", "raw_input": "cut"}
    assert only(m.to_request())["input"] == "cut"


def test_the_example_of_the_readme_runs():
    section = (ROOT / "README.md").read_text("utf-8").split("### History\n")[1]
    exec(section.split("```python\n")[1].split("```")[0], {})
