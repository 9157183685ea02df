"""Tool calls: who owns a start or a fragment, and when a call is final (DESIGN section 5, rules 2 to 9)."""

from __future__ import annotations

import pytest

import fsm
from fsm.values import arguments
from helpers import (STOP, TOOLS, a_block, a_delta, a_stop, a_tool, anthropic, chat, ended, entry, ev, feed_all, frag, kinds, message, of, push_all, reason,
                     same_everywhere, start, text, tool)


def calls(engine: str, *deltas: dict, tools: dict | None = None, **kw) -> list[dict]:
    """The blocks of a chat body of these deltas."""
    kw.setdefault("finish", "tool_calls")
    return same_everywhere(engine, chat(*deltas, **kw), "openai-chat", tools)["message"]["content"]


def brief(content: list[dict]) -> list[tuple]:
    return [(b["id"], b["name"], b.get("invalid") or b["input"]) for b in content]


# ---------------------------------------------------------------- addresses


def test_by_index(engine: str):  # R-17 R-66 R-68
    assert brief(calls(engine, tool(0, "a", "A", ""), tool(1, "b", "B", ""), tool(0, args='{"x":'), tool(1, args='{"y":'), tool(0, args="1}"),
                       tool(1, args="2}"))) == [("a", "A", {"x": 1}), ("b", "B", {"y": 2})]


def test_by_id(engine: str):
    assert brief(message(engine, [start("a", "A"), start("b", "B"), frag('{"x":', id="a"), frag('{"y":', id="b"), frag("1}", id="a"), frag("2}", id="b"),
                                  STOP]).content) == [("a", "A", {"x": 1}), ("b", "B", {"y": 2})]


def test_by_neither(engine: str):
    assert brief(message(engine, [start("a", "A"), frag('{"x":1}'), start("b", "B"), frag('{"y":2}'), STOP]).content) == \
        [("a", "A", {"x": 1}), ("b", "B", {"y": 2})]


@pytest.mark.parametrize("index", [None, 1, 7])
def test_a_missing_or_odd_index_is_fine(engine: str, index: int | None):
    assert brief(calls(engine, tool(index, "a", "A", '{"x":'), tool(index, args="1}"))) == [("a", "A", {"x": 1})]


def test_two_ids_on_one_index_are_two_calls(engine: str):  # rule 5
    assert brief(calls(engine, tool(0, "t1", "Read", '{"a":1}'), tool(0, "t2", "Grep", '{"b":2}'))) == [("t1", "Read", {"a": 1}), ("t2", "Grep", {"b": 2})]


def test_an_id_that_rotates_without_a_name_continues_the_call(engine: str):  # rule 5
    body = chat(tool(0, "t1", "Read", '{"a"'), tool(0, "t2", None, ":1}"), finish="tool_calls")
    got = same_everywhere(engine, body, "openai-chat")
    assert brief(got["message"]["content"]) == [("t1", "Read", {"a": 1})]
    assert "id_changed" in kinds(got)


def test_a_new_id_behind_complete_arguments_opens_a_call(engine: str):  # rule 5
    tools = {"Read": TOOLS["Read"]}
    assert brief(calls(engine, tool(0, "t1", "Read", '{"file_path":"a"}'), tool(0, "t2", None, '{"file_path":"b"}'), tools=tools)) == \
        [("t1", "Read", {"file_path": "a"}), ("t2", "Read", {"file_path": "b"})]


def test_entries_side_by_side_without_index_or_id(engine: str):  # rule 6
    pair = {"tool_calls": [entry(name="A", args='{"x":1}'), entry(name="B", args='{"y":2}')]}
    got = calls(engine, pair)
    assert [(b["name"], b["input"]) for b in got] == [("A", {"x": 1}), ("B", {"y": 2})]
    assert got[0]["id"] != got[1]["id"]


def test_a_name_with_arguments_behind_a_complete_call_starts_another(engine: str):  # rule 6
    assert [b["input"] for b in calls(engine, tool(name="A", args='{"x":1}'), tool(name="B", args='{"y":2}'))] == [{"x": 1}, {"y": 2}]


def test_a_name_alone_is_a_supplement(engine: str):  # rule 6, R-45
    assert [(b["name"], b["input"]) for b in calls(engine, tool(args='{"x":'), tool(name="A"), tool(args="1}"))] == [("A", {"x": 1})]


# ---------------------------------------------------------------- repeated starts and ids


def test_a_repeated_start_opens_nothing(engine: str):  # R-43 R-50
    r = fsm.Reconstructor("openai-chat", engine=engine)
    told = feed_all(r, chat(tool(0, "t1", "Read", '{"a":1}'), tool(0, "t1", "Read", ""), finish="tool_calls"))
    assert len(of(fsm.ToolReady, told)) == len(of(fsm.BlockStarted, told)) == 1


def test_a_repeated_name_does_not_concatenate(engine: str):  # R-43 R-38
    assert brief(calls(engine, tool(0, "t1", "Read", '{"a"'), tool(0, "t1", "Read", ":1}"))) == [("t1", "Read", {"a": 1})]


def test_the_name_of_the_first_fragment_is_kept(engine: str):
    assert brief(calls(engine, tool(0, "t1", "Read"), tool(0, args='{"a":'), tool(0, args="1}"))) == [("t1", "Read", {"a": 1})]


@pytest.mark.parametrize("nothing", [None, ""])
def test_null_absent_and_empty_are_the_same(engine: str, nothing: str | None):
    first = {"tool_calls": [{"index": 0, "id": "t1", "function": {"name": "Read", "arguments": nothing}}]}
    later = {"tool_calls": [{"index": 0, "id": nothing, "function": {"name": nothing, "arguments": '{"a":1}'}}]}
    assert calls(engine, first, later) == calls(engine, tool(0, "t1", "Read"), tool(0, args='{"a":1}'))


def test_another_name_for_the_same_call_is_not_taken(engine: str):
    got = push_all(engine, [start("t", "Read"), frag('{"a":1}'), start("t", "Write"), STOP])[1]
    assert (got.message.content[0]["name"], "name_changed" in kinds(got)) == ("Read", True)


def test_one_id_without_index_is_one_call_and_fails_locally(engine: str):  # R-50 R-51
    """Two tools under one id: one block, invalid, one result; never two tool_use of one id."""
    m = message(engine, [start("t", "A"), frag('{"x":1}'), start("t", "B"), frag('{"y":2}'), STOP])
    assert brief(m.content) == [("t", "A", "ambiguous")]
    assert m.content[0]["raw_input"] == '{"x":1}{"y":2}'


def test_one_id_on_two_indexes_with_other_input_is_two_calls(engine: str):  # R-50 R-51 rule 4
    got = same_everywhere(engine, anthropic(*a_tool(0, "t", "A", '{"x":1}'), *a_tool(1, "t", "B", '{"y":2}'), stop="tool_use"), "anthropic")
    (one, two) = got["message"]["content"]
    assert (one["id"], two["id"], one["input"], two["input"]) == ("t", "*0", {"x": 1}, {"y": 2})
    assert "id_reused" in kinds(got)


@pytest.mark.parametrize("again", ['{"x": 1}', "", "{}"])
def test_one_id_on_two_indexes_with_the_same_input_is_one_call(engine: str, again: str):  # R-50 rule 4
    got = same_everywhere(engine, anthropic(*a_tool(0, "t", "A", '{"x":1}'), *a_tool(1, "t", "A", again), stop="tool_use"), "anthropic")
    assert brief(got["message"]["content"]) == [("t", "A", {"x": 1})]
    assert "twin_dropped" in kinds(got)


def test_a_twin_is_not_given_out_before_it_is_seen_to_differ(engine: str):  # R-43 R-50 rule 4
    r = fsm.Reconstructor("anthropic", engine=engine)
    told = feed_all(r, anthropic(*a_tool(0, "t", "A", '{"x":1}'), *a_tool(1, "t", "A", '{"x":1}'), stop="tool_use"))
    assert len(of(fsm.ToolReady, told)) == len(of(fsm.BlockStarted, told)) == 1


def test_other_ids_with_the_same_input_are_two_calls(engine: str):
    assert len(calls(engine, tool(0, "a", "A", '{"x":1}'), tool(1, "b", "A", '{"x":1}'))) == 2


# ---------------------------------------------------------------- fragments without an owner


def test_a_fragment_without_any_call_makes_one(engine: str):
    got = same_everywhere(engine, chat(tool(args='{"file_path":'), tool(args='"a"}'), finish="tool_calls"), "openai-chat", TOOLS)
    assert brief(got["message"]["content"]) == [("*0", "Read", {"file_path": "a"})]


def test_a_fragment_on_an_unknown_index_goes_to_the_one_open_call(engine: str):  # R-42 R-44
    body = anthropic(*a_tool(0, "t", "X", '{"a"', stop=False), a_delta(4, {"type": "input_json_delta", "partial_json": ":1}"}), a_stop(0), stop="tool_use")
    got = same_everywhere(engine, body, "anthropic")
    assert (brief(got["message"]["content"]), "orphan_fragment" in kinds(got)) == ([("t", "X", {"a": 1})], True)


def test_a_fragment_that_two_calls_could_own_is_nobodys(engine: str):  # R-44 R-47
    got = push_all(engine, [start("a", "A", index=0), frag('{"x":', index=0), start("b", "B", index=1), frag('{"y":', index=1), frag('1}', index=9), STOP])[1]
    assert brief(got.message.content)[:2] == [("a", "A", "unparsable_arguments"), ("b", "B", "unparsable_arguments")]
    stray = got.message.content[2]
    assert (bool(stray["invalid"]), stray["raw_input"]) == (True, "1}")
    assert "ambiguous_fragment" in kinds(got)


def test_a_stopped_call_without_its_required_arguments_waits(engine: str):  # rule 7
    body = anthropic(*a_tool(0, "t", "Read"), a_delta(0, {"type": "input_json_delta", "partial_json": '{"file_path":"a"}'}), stop="tool_use")
    assert brief(same_everywhere(engine, body, "anthropic", TOOLS)["message"]["content"]) == [("t", "Read", {"file_path": "a"})]


# ---------------------------------------------------------------- the end of a call


def test_an_open_object_is_not_sealed_by_the_next_start(engine: str):  # R-36 R-64
    events = [start("a", "A", index=0), frag('{"x":', index=0), start("b", "B", index=1), frag('{"y":2}', index=1), frag("1}", index=0), STOP]
    told, outcome = push_all(engine, events)
    assert brief(outcome.message.content) == [("a", "A", {"x": 1}), ("b", "B", {"y": 2})]
    assert [e.id for e in of(fsm.ToolReady, told)] == ["a", "b"]


@pytest.mark.parametrize("bare", ["", "{}"])
def test_an_empty_call_is_not_sealed_by_the_next_start(engine: str, bare: str):  # rule 7
    told, outcome = push_all(engine, [start("a", "A", index=0), frag(bare, index=0), start("b", "B", index=1), frag('{"x":1}', index=0), STOP])
    assert outcome.message.content[0]["input"] == {"x": 1}
    assert [e.id for e in of(fsm.ToolReady, told)] == ["a", "b"]


def test_parsing_is_no_end(engine: str):  # R-64 R-70
    m = message(engine, [start("t", "A"), frag('{"path":"a"}'), frag(" "), text("hm"), frag(" "), STOP])
    assert m.content[0]["input"] == {"path": "a"}


def test_arguments_that_go_on_behind_a_closed_object_make_it_invalid(engine: str):
    m = message(engine, [start("a", "A", index=0), frag('{"x":1}', index=0), start("b", "B", index=1), frag('{"x":2}', index=0), STOP])
    assert (m.content[0]["invalid"], m.content[0]["raw_input"]) == ("ambiguous", '{"x":1}{"x":2}')


def test_a_call_taken_back_is_told(engine: str):  # R-47 R-65
    told, _ = push_all(engine, [start("a", "A", index=0), frag('{"x":1}', index=0), start("b", "B", index=1), frag('{"x":2}', index=0), STOP])
    assert [type(e).__name__ for e in told if getattr(e, "id", None) == "a" and not isinstance(e, fsm.BlockStarted)] == ["ToolReady", "ToolInvalid"]


def test_a_call_runs_only_after_its_own_stop(engine: str):  # R-67 R-70
    r = fsm.Reconstructor("anthropic", engine=engine)
    assert of(fsm.ToolReady, r.feed(anthropic(*a_tool(0, "t", "A", '{"x":1}', stop=False), end=False))) == []
    assert len(of(fsm.ToolReady, r.feed(b'data: {"type":"content_block_stop","index":0}\n\n'))) == 1


def test_each_call_is_ready_as_it_completes(engine: str):
    told, _ = push_all(engine, [start("a", "A", index=0), start("b", "B", index=1), frag('{"x":1}', index=0), frag("{", index=1), ev("tool_use_stop", index=0)])
    assert [e.id for e in of(fsm.ToolReady, told)] == ["a"]


def test_arguments_are_parsed_once_when_the_call_is_final(engine: str, monkeypatch: pytest.MonkeyPatch):  # R-04 R-72
    seen: list[str] = []
    real = arguments.parse
    monkeypatch.setattr(arguments, "parse", lambda text_, depth: seen.append(text_) or real(text_, depth))
    r = fsm.Reconstructor("canonical", engine=engine, tools=TOOLS)
    r.push(start("t", "Read"))
    for char in '{"file_path":"main.py"}':
        r.push(frag(char))
    assert seen == [], "nothing is parsed as it arrives"
    r.push(STOP)
    assert seen == ['{"file_path":"main.py"}']


def test_no_fragment_means_an_empty_object(engine: str):
    assert brief(message(engine, [start("t", "A"), STOP]).content) == [("t", "A", {})]
    assert brief(same_everywhere(engine, anthropic(*a_tool(0, "t", "A"), stop="tool_use"), "anthropic")["message"]["content"]) == [("t", "A", {})]


def test_cut_arguments_never_become_an_empty_object(engine: str):  # R-34 R-33 R-65
    for cut in ("{", '{"a"', '{"a":1'):
        call, = message(engine, [start("t", "A"), frag(cut), STOP]).content
        assert (call["invalid"], call["raw_input"]) == ("unparsable_arguments", cut)


def test_the_rest_of_an_open_call_is_taken_after_the_stated_end(engine: str):  # rule 11
    assert message(engine, [start("t", "A"), frag('{"a"'), reason("tool_use"), frag(":1}"), STOP]).content[0]["input"] == {"a": 1}


def test_input_in_the_start_is_a_restatement(engine: str):  # rule 15
    block = {"type": "tool_use", "id": "t", "name": "A", "input": {"x": 1}}
    same = anthropic(*a_block(0, block, {"type": "input_json_delta", "partial_json": '{"x":1}'}), stop="tool_use")
    alone = anthropic(*a_block(0, block), stop="tool_use")
    other = anthropic(*a_block(0, block, {"type": "input_json_delta", "partial_json": '{"x":2}'}), stop="tool_use")
    got = [brief(same_everywhere(engine, b, "anthropic")["message"]["content"])[0][2] for b in (same, alone, other)]
    assert got == [{"x": 1}, {"x": 1}, "contradicted"]


# ---------------------------------------------------------------- every id, one result


def test_every_call_takes_exactly_one_result(engine: str):  # R-51 R-01
    m = message(engine, [start("a", "Read"), frag('{"file_path":"x"}'), start("a", "Read"), frag('{"command":"ls"}'), start(None, None, index=4),
                         frag('{"zzz":1}', index=4), STOP], TOOLS)
    results = [{"type": "tool_result", "tool_use_id": c["id"], "content": "", "is_error": c in m.invalid_calls} for c in m.tool_calls + m.invalid_calls]
    ids = [b["id"] for b in m.content if b["type"] == "tool_use"]
    assert sorted(r["tool_use_id"] for r in results) == sorted(ids) == sorted(set(ids))


@pytest.mark.parametrize("word", ["length", "max_tokens", "max_output_tokens", "MAX_TOKENS", "model_context_window_exceeded"])
def test_max_tokens_drops_every_call(engine: str, word: str):
    m = message(engine, [text("x"), start("a", "A"), frag('{"x":1}'), start("b", "B"), frag('{"y":'), reason(word), STOP])
    assert (m.content, m.stop_reason, m.raw_stop_reason) == ([{"type": "text", "text": "x"}], "max_tokens", word)
    assert brief(m.dropped_calls) == [("a", "A", {"x": 1}), ("b", "B", "unparsable_arguments")]


# ---------------------------------------------------------------- found by random sequences (tests/test_properties.py)


@pytest.mark.parametrize("dialect", ["canonical", "anthropic", "openai-chat"])
def test_an_empty_id_is_no_id(engine: str, dialect: str):
    """Also when it is pushed: null, absent and empty are the same."""
    r = fsm.Reconstructor(dialect, engine=engine)
    for event in (start("", "A", index=0), start("", "B", index=1), STOP):
        r.push(event)
    ids = [b["id"] for b in ended(r).message.content]
    assert len(set(ids)) == 2
    assert all(ids)


def test_an_id_that_another_call_has_is_not_given_twice(engine: str):  # R-50 R-51
    """A made-up call that is told an id later must not take one that stands for another call."""
    m = message(engine, [frag("{", index=0), start("t1"), start("t1", index=0), STOP])
    ids = [b["id"] for b in m.content]
    assert len(ids) == len(set(ids))
