"""The registry: what it takes, which name a nameless call gets, and the verdict of the schema."""

from __future__ import annotations

import pytest

import fsm
from helpers import STOP, TOOLS, ended, frag, kinds, message, of, push_all, reason, start


def call(engine: str, name: str | None, arguments: str, tools: object = TOOLS) -> dict:
    return message(engine, [start("t", name), frag(arguments), STOP], tools).content[0]


# ---------------------------------------------------------------- registration

ANTHROPIC = [{"name": "Read", "description": "d", "input_schema": TOOLS["Read"]}]
OPENAI = [{"type": "function", "function": {"name": "Read", "parameters": TOOLS["Read"]}}]
RESPONSES = [{"type": "function", "name": "Read", "parameters": TOOLS["Read"]}]
GEMINI = [{"functionDeclarations": [{"name": "Read", "parameters": TOOLS["Read"]}]}]


@pytest.mark.parametrize("tools", [{"Read": TOOLS["Read"]}, ANTHROPIC, OPENAI, RESPONSES, GEMINI, fsm.ToolRegistry(ANTHROPIC)],
                         ids=["mapping", "anthropic", "openai", "responses", "gemini", "registry"])
def test_every_vendors_list_registers(engine: str, tools: object):
    assert call(engine, None, '{"file_path":"a"}', tools)["name"] == "Read"


@pytest.mark.parametrize("schema", [{"type": "nonsense"}, {"properties": 3}, {"$ref": "#/nowhere"}, 7])
def test_a_bad_schema_raises_when_it_is_registered(schema: object):
    with pytest.raises(fsm.SchemaError, match="Broken"):
        fsm.ToolRegistry({"Broken": schema})


@pytest.mark.parametrize("tools", [[{"description": "no name"}], ["Read"], {"": {}}])
def test_what_is_no_tool_raises(tools: object):
    with pytest.raises(fsm.MisuseError, match="tool"):
        fsm.ToolRegistry(tools)


def test_a_schema_that_is_absent_takes_any_arguments(engine: str):
    assert call(engine, "X", '{"a":1}', [{"name": "X"}]).get("invalid") is None


def test_registering_again_replaces(engine: str):
    registry = fsm.ToolRegistry(ANTHROPIC)
    registry.register("Read", {"required": ["url"]})
    assert (len(registry), call(engine, "Read", '{"file_path":"a"}', registry)["invalid"]) == (1, "schema")


# ---------------------------------------------------------------- inference


@pytest.mark.parametrize(("arguments", "name"), [
    ('{"file_path":"a"}', "Read"), ('{"pattern":"x","path":"."}', "Grep"), ('{"command":"ls"}', "Bash"),
    ('{"file_path":"a","old_string":"b","new_string":"c"}', "Edit"),
])
def test_the_one_tool_that_fits(engine: str, arguments: str, name: str):
    assert call(engine, None, arguments)["name"] == name


@pytest.mark.parametrize(("arguments", "why"), [
    ('{"file_path":"a","extra":1}', "a field that no tool declares"), ('{"file_path":7}', "the schema refuses it"), ("{}", "nothing is required of it"),
    ('{"pattern":"x"}', "a required field is missing"),
])
def test_no_tool_fits(engine: str, arguments: str, why: str):  # R-47 rule 9
    got = call(engine, None, arguments)
    assert (got["name"], got["invalid"]) == (None, "no_name"), why


def test_several_tools_fit(engine: str):
    told, outcome = push_all(engine, [start("t"), frag('{"file_path":"a"}'), STOP], {"A": TOOLS["Read"], "B": TOOLS["Read"]})
    assert outcome.message.invalid_calls[0]["invalid"] == "ambiguous_name"
    assert of(fsm.ToolReady, told) == []
    assert [e.reason for e in of(fsm.ToolInvalid, told)] == ["ambiguous_name"]


def test_a_tool_that_declares_nothing_takes_any_field(engine: str):  # rule 9
    assert call(engine, None, '{"q":1,"z":2}', {"Any": {"required": ["q"]}})["name"] == "Any"


def test_inference_waits_for_the_end_of_the_call(engine: str):
    r = fsm.Reconstructor("canonical", tools=TOOLS, engine=engine)
    r.push(start("t"))
    r.push(frag('{"file_path":"a"}'))
    assert r.pending.name is None
    r.push(start(None, "Bash"))
    r.push(STOP)
    assert ended(r).message.content[0]["name"] == "Bash", "a name that came is not second-guessed"


# ---------------------------------------------------------------- names that came


def test_an_unregistered_name_is_damaged_not_lost(engine: str):  # R-47 rule 9
    got = call(engine, "Raed", '{"file_path":"a"}')
    assert (got["name"], got["invalid"]) == ("Raed", "unknown_tool")


def test_without_a_registry_any_name_is_taken(engine: str):
    assert call(engine, "Raed", '{"file_path":"a"}', None) == {"type": "tool_use", "id": "t", "name": "Raed", "input": {"file_path": "a"}}


def test_an_empty_registry_knows_no_name(engine: str):  # rule 9
    assert call(engine, "Read", "{}", {})["invalid"] == "unknown_tool"


def pieces(engine: str, tools: object, *names: str, first: str = "") -> fsm.Message:
    return message(engine, [start("t", names[0]), frag(first), *[start("t", n) for n in names[1:]], frag('{"file_path":"a"}'), STOP], tools)


def test_pieces_of_a_name_join_into_a_registered_one(engine: str):  # rule 9
    assert pieces(engine, TOOLS, "Re", "ad").content[0]["name"] == "Read"
    assert pieces(engine, {"get_user_name": {}}, "get_", "user_", "name").content[0]["name"] == "get_user_name"


def test_pieces_do_not_join_without_a_registry(engine: str):  # rule 9
    assert pieces(engine, None, "Re", "ad").content[0]["name"] == "Re"


def test_pieces_do_not_join_behind_argument_text(engine: str):  # rule 9
    assert pieces(engine, TOOLS, "Re", "ad", first=" ").content[0]["name"] == "Re"


def test_a_registered_name_is_not_joined_with_its_repetition(engine: str):  # R-43 rule 9
    assert pieces(engine, {**TOOLS, "ReadRead": {}}, "Read").content[0]["name"] == "Read"
    assert pieces(engine, TOOLS, "Read", "Read").content[0]["name"] == "Read"


# ---------------------------------------------------------------- the schema's verdict


@pytest.mark.parametrize("arguments", ['{"file_path":1}', "{}", '{"file_path":null}', '{"path":"a"}'])
def test_the_schema_always_judges(engine: str, arguments: str):
    told, outcome = push_all(engine, [start("t", "Read"), frag(arguments), reason("tool_use"), STOP], TOOLS)
    assert outcome.message.content[0]["invalid"] == "schema"
    assert outcome.message.content[0]["raw_input"] == arguments
    assert of(fsm.ToolReady, told) == []
    assert "invalid_call" in kinds(outcome)


def test_nothing_is_coerced(engine: str):
    tools = {"X": {"type": "object", "properties": {"n": {"type": "integer"}}}}
    assert call(engine, "X", '{"n":"1"}', tools)["invalid"] == "schema"
    assert call(engine, "X", '{"n":1}', tools)["input"] == {"n": 1}


def test_the_schema_is_no_verdict_while_arguments_arrive(engine: str):
    r = fsm.Reconstructor("canonical", tools=TOOLS, engine=engine)
    told = [e for event in [start("t", "Read"), frag("{"), frag('"file_path":'), frag('"a"}')] for e in r.push(event)]
    assert of(fsm.ToolInvalid, told) == of(fsm.ToolReady, told) == []
    assert r.anomalies == []


def test_an_invalid_call_still_gives_tool_use(engine: str):  # R-65 rule 14
    m = message(engine, [start("t", "Read"), frag("{}x"), reason("tool_use"), STOP], TOOLS)
    assert (m.stop_reason, len(m.invalid_calls), m.tool_calls) == ("tool_use", 1, [])
