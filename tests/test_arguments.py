"""From argument text to an object: the strict parse, the allowed repairs, and nothing else (fine print 8 and 15)."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsm import arguments, partial
from helpers import STOP, chat, frag, kinds, message, push_all, same_everywhere, start, tool


def parse(text: str, depth: int = 256) -> arguments.Parsed:
    return arguments.parse(text, depth)


@pytest.mark.parametrize(("text", "value"), [
    ("{}", {}), (' {"a": 1}\n', {"a": 1}), ('{"a":"\\u00e9\\ud83d\\ude00"}', {"a": "é😀"}), ('{"a":1,"a":2}', {"a": 2}), ('{"a":null}', {"a": None}),
    ('{"a":{"b":[1,{"c":"}"}]}}', {"a": {"b": [1, {"c": "}"}]}}), ('{"a":1e3}', {"a": 1000.0}), ('{"":""}', {"": ""}),
])
def test_strict_json(text: str, value: dict):
    assert parse(text) == (value, None, None)


def test_integers_stay_exact():
    n = 12345678901234567890123
    assert parse(f'{{"id":{n}}}').value == {"id": n}
    assert isinstance(parse(f'{{"id":{n}}}').value["id"], int)


# ---------------------------------------------------------------- the repairs


@pytest.mark.parametrize(("text", "value", "repair"), [
    ('{"a":1}{"a":1}', {"a": 1}, "repetition"),
    ('{"a":1} {"a": 1}\n{"a":1}', {"a": 1}, "repetition"),
    ('{"a":1,"b":2}{"b":2,"a":1}', {"a": 1, "b": 2}, "repetition"),
    ('{}{"a":1}', {"a": 1}, "repetition"),
    ('{"a":1}{}', {"a": 1}, "repetition"),
    ("{}{}", {}, "repetition"),
    ('"{\\"a\\":1}"', {"a": 1}, "double encoding"),
    ('{"a{"a":1}', {"a": 1}, "full copy after a prefix"),
    ('{"a":{"a":1}', {"a": 1}, "full copy after a prefix"),
    ('{"a":"x\ny\tz"}', {"a": "x\ny\tz"}, "control characters"),
])
def test_repairs(text: str, value: dict, repair: str):
    assert parse(text) == (value, None, repair)


@pytest.mark.parametrize(("text", "fault"), [
    ("{", "unparsable_arguments"), ('{"a":', "unparsable_arguments"), ('{"a":1', "unparsable_arguments"), ('{"a":"x', "unparsable_arguments"),
    ('{"a":1,}', "unparsable_arguments"), ("{'a':1}", "unparsable_arguments"), ("{a:1}", "unparsable_arguments"), ('{"a":True}', "unparsable_arguments"),
    ('{"a":NaN}', "unparsable_arguments"), ('{"a":Infinity}', "unparsable_arguments"), ('{"a":1}}', "unparsable_arguments"),
    ('{"a":1} trailing', "unparsable_arguments"), ('x{"a":1}', "unparsable_arguments"), ('```json\n{"a":1}\n```', "unparsable_arguments"),
    ('// c\n{"a":1}', "unparsable_arguments"), ('{"a":01}', "unparsable_arguments"), ('{"a":"\\x"}', "unparsable_arguments"),
    ('{"b{"a":1}', "unparsable_arguments"),
    ('{"a":1}{"a":2}', "ambiguous"), ('{"a":1}{"b":1}', "ambiguous"), ('{"a":1}{}{"a":2}', "ambiguous"),
    ("[]", "not_an_object"), ("1", "not_an_object"), ("null", "not_an_object"), ('"text"', "not_an_object"), ('[{"a":1}]', "not_an_object"),
    ('"[1]"', "not_an_object"), ("true", "not_an_object"),
])
def test_what_is_not_repaired(text: str, fault: str):  # R-47 R-65
    assert parse(text) == (None, fault, None)


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity"])
def test_words_that_are_no_json_stay_refused_beside_other_repairs(word: str):
    assert parse(f'{{"a":"x\ny","b":{word}}}').value is None
    assert parse(f'{{"n":12345678901234567890,"b":{word}}}').value is None


def test_true_is_not_one():
    """Equal repetition means equal JSON: `true` and `1` are two inputs."""
    assert parse('{"a":true}{"a":1}').fault == "ambiguous"


VALUES = st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=5),
                      lambda v: st.lists(v, max_size=2) | st.dictionaries(st.text(max_size=3), v, max_size=2), max_leaves=5)


@given(st.dictionaries(st.text(max_size=5), VALUES, max_size=3))
def test_any_object_comes_back(value: dict):
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False), arguments.compact(value)):
        assert parse(text) == (value, None, None)


@given(st.dictionaries(st.text(max_size=4), st.integers() | st.text(max_size=4), min_size=1, max_size=3), st.data())
def test_no_proper_prefix_is_closed(value: dict, data: st.DataObject):  # R-70 R-33
    text = json.dumps(value)
    assert parse(text[:data.draw(st.integers(1, len(text) - 1))]).value is None


# ---------------------------------------------------------------- depth


def test_the_depth_limit_counts_brackets_outside_strings():
    deep = '{"a":' * 5 + "1" + "}" * 5
    assert parse(deep, 5).value is not None
    assert parse(deep, 4).fault == "too_deep"
    assert parse('{"a":"' + "[" * 50 + '"}', 4).value == {"a": "[" * 50}


def test_depth_inside_a_doubly_encoded_string():
    inner = '{"a":' * 10 + "1" + "}" * 10
    assert parse(json.dumps(inner), 5).fault == "too_deep"


@pytest.mark.parametrize("text", ["[" * 10_000, '{"a":' * 10_000, '{"a":' * 10_000 + "1" + "}" * 10_000])
def test_ten_thousand_deep(text: str):
    assert parse(text).fault == "too_deep"
    parse(text, 1_000_000)  # whatever the verdict, no RecursionError leaves


# ---------------------------------------------------------------- through the engines


@pytest.mark.parametrize(("pieces", "input", "kind"), [
    (['{"a":1}', '{"a":1}'], {"a": 1}, "arguments_repeated"),
    (['"{\\"a\\"', ':1}"'], {"a": 1}, "arguments_repaired"),
    (['{"a', '{"a":1}'], {"a": 1}, "arguments_repaired"),
    (['{"a":"x\n', 'y"}'], {"a": "x\ny"}, "arguments_repaired"),
])
def test_a_repair_is_recorded(engine: str, pieces: list[str], input: dict, kind: str):
    outcome = push_all(engine, [start("t", "X"), *map(frag, pieces), STOP])[1]
    assert outcome.message.tool_calls[0]["input"] == input
    assert kind in kinds(outcome)


def test_no_text_of_an_invalid_call_is_lost(engine: str):
    broken = '{"a":"é😀'
    call, = message(engine, [start("t", "X"), *[frag(c) for c in broken], STOP]).content
    assert (call["invalid"], call["raw_input"]) == ("unparsable_arguments", broken)


def test_arguments_given_as_an_object(engine: str):  # R-21 fine print 15
    given_ = {"a": "é", "n": 12345678901234567890123}
    content = same_everywhere(engine, chat(tool(0, "t", "X", given_), finish="tool_calls"), "openai-chat")["message"]["content"]
    assert content[0]["input"] == given_


def test_an_object_that_is_refused_keeps_its_compact_json(engine: str):  # R-21 fine print 15
    content = same_everywhere(engine, chat(tool(0, "t", "X", {"a": 1, "b": [1, 2]}), finish="tool_calls"), "openai-chat", {"Y": {}})["message"]["content"]
    assert (content[0]["invalid"], content[0]["raw_input"]) == ("unknown_tool", '{"a":1,"b":[1,2]}')


def test_a_surrogate_pair_split_over_two_deltas(engine: str):
    assert message(engine, [start("t", "X"), frag('{"a":"\\ud83d'), frag('\\ude00"}'), STOP]).content[0]["input"] == {"a": "😀"}


def test_a_lone_surrogate_does_not_leak(engine: str):
    outcome = push_all(engine, [start("t", "X"), frag('{"a":"\\ud83d"}'), STOP])[1]
    json.dumps(outcome.to_dict(), ensure_ascii=False).encode()
    assert outcome.message.content[0]["input"] == {"a": "\ufffd"}


def test_the_bracket_follower_knows_where_an_object_ends():
    cursor = partial.ObjectCursor()
    seen = []
    for byte in b' {"a":"}\\"","b":[{}]} ':
        cursor.follow(bytes([byte]))
        seen.append(cursor.closed)
    assert seen == [False] * 20 + [True] * 2
    cursor.follow(b"x")
    assert (cursor.closed, cursor.broken) == (False, True)
