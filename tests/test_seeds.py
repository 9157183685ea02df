"""The worked examples of the founding documents, word for word (../shared/seeds)."""

from __future__ import annotations

import pytest

import fsm
from helpers import (STOP, TOOLS, a_block, a_text, a_tool, anthropic, chat, ev, feed_all, frag, frame, kinds, lines, message, of, push_all, reason,
                     same_everywhere, sign, start, text, think, tool, usage)

READ = {"type": "tool_use", "id": "tool_1", "name": "Read", "input": {"file_path": "main.py"}}

# ---------------------------------------------------------------- S0, the opening example

OPENING = [text("Let me"), text(" read the"), text(" file first."), start("tool_1", "Read"),
           frag('{"file'), frag('_path":'), frag('"main.py"'), frag("}"), STOP]


def test_the_opening_example(engine: str):  # R-01 R-02
    m = message(engine, OPENING, TOOLS)
    assert m.role == "assistant"
    assert m.content == [{"type": "text", "text": "Let me read the file first."}, READ]


def test_the_opening_example_at_every_delivery(engine: str):  # R-01 R-03
    assert same_everywhere(engine, lines(OPENING), "canonical", TOOLS)["message"]["content"] == message(engine, OPENING, TOOLS).content


# ---------------------------------------------------------------- S0 section 4

WORKED = [think("The user wants code analysis, "), think("so I need to read the file first."), sign("sig_abc"),
          text("Let me look at the relevant file."), start("tool_1", "Read"),
          frag('{"file_path":'), frag('"jollysammy/nuts/nuts.py"}'), STOP]


def test_thinking_text_and_tool(engine: str):  # R-13 R-06 R-09 R-14
    assert message(engine, WORKED, TOOLS).content == [
        {"type": "thinking", "thinking": "The user wants code analysis, so I need to read the file first.", "signature": "sig_abc"},
        {"type": "text", "text": "Let me look at the relevant file."},
        {"type": "tool_use", "id": "tool_1", "name": "Read", "input": {"file_path": "jollysammy/nuts/nuts.py"}},
    ]


def test_the_ledgers_step_by_step(engine: str):
    r = fsm.Reconstructor("canonical", tools=TOOLS, engine=engine)
    seen = []
    for event in WORKED:
        r.push(event)
        seen.append((r.pending.kind, r.pending.id, r.pending.name) if r.pending else None)
    thinking, words, call = ("thinking", None, None), ("text", None, None), ("tool_use", "tool_1", "Read")
    assert seen == [thinking, thinking, thinking, words, call, call, call, None]


# ---------------------------------------------------------------- S0 section 1: the splits

FRAGMENTS = [
    ['{"file', '_path": "src/', 'query_loop.py",', ' "limit": ', "100}"],
    ['{"query": "hello \\', 'n world"}'],
]
INPUTS = [{"file_path": "src/query_loop.py", "limit": 100}, {"query": "hello \n world"}]


@pytest.mark.parametrize(("fragments", "value"), list(zip(FRAGMENTS, INPUTS, strict=True)))
def test_the_escape_split(engine: str, fragments: list[str], value: dict[str, object]):
    assert message(engine, [start("t", "X"), *map(frag, fragments), STOP]).content[0]["input"] == value


@pytest.mark.parametrize(("fragments", "value"), list(zip(FRAGMENTS, INPUTS, strict=True)))
def test_any_split_gives_the_same_input(engine: str, fragments: list[str], value: dict[str, object]):
    whole = "".join(fragments)
    for cut in range(1, len(whole)):
        pieces = [frag(whole[:cut]), frag(whole[cut:])]
        assert message(engine, [start("t", "X"), *pieces, STOP]).content[0]["input"] == value, f"cut at {cut}"


# ---------------------------------------------------------------- S0 section 5: the end of a call

TWO = [start("tool_1", "Read"), frag('{"file_path":"main.py"}'), start("tool_2", "Grep"), frag('{"pattern":"TODO",'), frag('"path":"."}'), STOP]


def test_tool_a_is_final_when_tool_b_starts(engine: str):  # R-36 R-37
    told, _outcome = push_all(engine, TWO, TOOLS)
    order = [(type(e).__name__, e.index) for e in told if isinstance(e, (fsm.ToolReady, fsm.ToolInputDelta, fsm.MessageFinished)) and hasattr(e, "index")]
    assert order == [("ToolInputDelta", 0), ("ToolReady", 0), ("ToolInputDelta", 1), ("ToolInputDelta", 1), ("ToolReady", 1)]


def test_tool_a_is_final_when_tool_b_starts_on_the_openai_wire(engine: str):  # R-36 R-37
    body = chat(tool(0, "tool_1", "Read", '{"file'), tool(0, args='_path":'), tool(0, args='"main.py"}'),
                tool(1, "tool_2", "Grep", '{"pattern":"TODO","path":"."}'), finish="tool_calls")
    r = fsm.Reconstructor("openai-chat", tools=TOOLS, engine=engine, deltas="each")
    told = feed_all(r, body)
    ready = [told.index(e) for e in of(fsm.ToolReady, told)]
    second = next(i for i, e in enumerate(told) if isinstance(e, fsm.ToolInputDelta) and e.index == 1)
    assert ready[0] < second < ready[1]
    assert told[ready[0]].input == {"file_path": "main.py"}


def test_there_is_no_third_end_signal(engine: str):  # R-36 R-64
    """Arguments that parse, text behind them, usage, a stop reason: none of these ends a call."""
    r = fsm.Reconstructor("canonical", tools=TOOLS, engine=engine)
    events = [start("tool_1", "Read"), frag('{"file_path":"main.py"}'), text("and"), usage(output_tokens=4), reason("tool_use")]
    told = [e for event in events for e in r.push(event)]
    assert of(fsm.ToolReady, told) == []
    assert len(of(fsm.ToolReady, r.push(STOP))) == 1


# ---------------------------------------------------------------- S0 section 7: three traps


def test_trap_1_a_duplicated_start(engine: str):
    told, outcome = push_all(engine, [start("tool_1", "Read"), frag('{"file_path":"main.py"}'), start("tool_1", "Read"), STOP], TOOLS)
    assert outcome.message.content == [READ]
    assert len(of(fsm.ToolReady, told)) == 1


def test_trap_1_fills_in_a_missing_name(engine: str):  # R-43 R-45
    assert message(engine, [start("tool_1"), frag('{"file_path":"main.py"}'), start("tool_1", "Read"), STOP]).content == [READ]


def test_trap_2_headless_fragments(engine: str):  # R-44 R-46
    runs = [message(engine, [frag('{"file_path":"main.py"}'), STOP], TOOLS).content for _ in range(2)]
    for content in runs:
        assert content == [{**READ, "id": content[0]["id"]}]
    assert runs[0][0]["id"] != runs[1][0]["id"], "the id is random"


def test_trap_2_without_a_registry(engine: str):  # R-44 R-47
    call, = message(engine, [frag('{"file_path":"main.py"}'), STOP]).content
    assert (call["name"], call["invalid"], call["raw_input"]) == (None, "no_name", '{"file_path":"main.py"}')


def test_trap_2_a_name_that_shows_up_later(engine: str):
    call, = message(engine, [frag('{"file_path":'), start(None, "Read"), frag('"main.py"}'), STOP], TOOLS).content
    assert (call["name"], call["input"]) == ("Read", {"file_path": "main.py"})


@pytest.mark.parametrize(("arguments", "name"), [('{"file_path":"main.py"}', "Read"), ('{"pattern":"TODO","path":"."}', "Grep")])
def test_trap_3_the_lost_name(engine: str, arguments: str, name: str):  # R-46 R-48 R-49
    outcome = push_all(engine, [start("tool_abc", None), frag(arguments), STOP], TOOLS)[1]
    assert (outcome.message.content[0]["name"], outcome.message.content[0]["id"]) == (name, "tool_abc")
    assert "name_inferred" in kinds(outcome)


def test_trap_3_when_several_or_none_match(engine: str):
    tools = {"Read": TOOLS["Read"], "Cat": TOOLS["Read"]}
    assert message(engine, [start("t"), frag('{"file_path":"main.py"}'), STOP], tools).content[0]["invalid"] == "ambiguous_name"
    assert message(engine, [start("t"), frag('{"url":"x"}'), STOP], tools).content[0]["invalid"] == "no_name"


# ---------------------------------------------------------------- S0 section 8: usage


def test_usage_is_cumulative_within_a_message(engine: str):  # R-77 R-78
    m = message(engine, [usage(input_tokens=1000, cache_read_tokens=800, output_tokens=0), text("x"),
                         usage(input_tokens=1000, cache_read_tokens=800, output_tokens=120), STOP])
    assert (m.usage.input_tokens, m.usage.cache_read_input_tokens, m.usage.output_tokens) == (1000, 800, 120)


def test_usage_adds_up_across_messages(engine: str):
    ledger = fsm.UsageLedger()
    for tokens in (1000, 600):
        ledger.add(message(engine, [usage(input_tokens=tokens), text("x"), STOP]).usage)
    assert (ledger.total.input_tokens, ledger.messages) == (1600, 2)


# ---------------------------------------------------------------- S2: the lesson's four asserts


def lesson(*, closed: bool = True, stop: bool = True) -> bytes:
    return anthropic(*a_text(0, "Let me ", "add."), *a_tool(1, "t1", "add", '{"a": 2,', ' "b": 3}', stop=closed), stop="tool_use", end=stop)


def test_lesson_1_text_comes_in_pieces(engine: str):  # R-02 R-25
    r = fsm.Reconstructor("anthropic", engine=engine, deltas="each")
    assert [e.text for e in of(fsm.TextDelta, feed_all(r, lesson()))] == ["Let me ", "add."]


def test_lesson_2_fragments_join(engine: str):  # R-03 R-27
    got = same_everywhere(engine, lesson(), "anthropic")["message"]
    assert got["content"][1] == {"type": "tool_use", "id": "t1", "name": "add", "input": {"a": 2, "b": 3}}
    assert got["stop_reason"] == "tool_use"


def test_lesson_3_a_block_that_never_closes_raises(engine: str):
    body = anthropic(*a_tool(0, "t1", "add", '{"a": 2,', stop=False), end=False)
    with pytest.raises(fsm.StreamError):
        fsm.reconstruct(body, "anthropic", engine=engine).raise_for_state()


def test_lesson_3_also_behind_a_stated_end(engine: str):
    body = anthropic(*a_tool(0, "t1", "add", '{"a": 2,', stop=False), end=False) + frame({"type": "message_delta", "delta": {"stop_reason": "tool_use"}})
    with pytest.raises(fsm.StreamErrored):
        fsm.reconstruct(body, "anthropic", engine=engine).raise_for_state()


def test_lesson_4_an_early_end_and_an_error_raise(engine: str):  # R-31 R-32
    early = lesson(stop=False)
    error = early + frame({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, "error")
    for body, why in ((early, "incomplete_stream"), (error, "Overloaded")):
        outcome = fsm.reconstruct(body, "anthropic", engine=engine)
        with pytest.raises(fsm.StreamErrored, match=why):
            outcome.raise_for_state()


def test_lesson_unknown_events_and_pings_are_ignored(engine: str):  # R-29 R-30
    ping = frame({"type": "ping"}, "ping")
    noise = frame({"type": "content_block_shimmer", "index": 0}, "content_block_shimmer")
    plain = lesson()
    noisy = plain.replace(b"\n\n", b"\n\n" + ping + noise)
    assert same_everywhere(engine, noisy, "anthropic")["message"] == same_everywhere(engine, plain, "anthropic")["message"]


def test_lesson_also_keeps_thinking_and_server_tools(engine: str):
    body = anthropic(*a_block(0, {"type": "thinking", "thinking": "", "signature": ""}, {"type": "thinking_delta", "thinking": "hm"},
                              {"type": "signature_delta", "signature": "sig"}),
                     *a_block(1, {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}},
                              {"type": "input_json_delta", "partial_json": '{"query":'}, {"type": "input_json_delta", "partial_json": '"x"}'}),
                     *a_block(2, {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}), *a_text(3, "done"))
    content = same_everywhere(engine, body, "anthropic")["message"]["content"]
    assert [b["type"] for b in content] == ["thinking", "server_tool_use", "web_search_tool_result", "text"]
    assert content[0] == {"type": "thinking", "thinking": "hm", "signature": "sig"}
    assert content[1]["input"] == {"query": "x"}


# ---------------------------------------------------------------- S3: write_file

WRITE = ['{"pa', 'th": "src/ma', 'in.ts", "content": "expo', "rt const x", ' = 1\\n"}']
WRITTEN = {"path": "src/main.ts", "content": "export const x = 1\n"}


def write_file(last: str = "tool_use") -> list[dict[str, object]]:
    """In canonical form: a name on the first fragment only, an index throughout."""
    return [start("call_a7", "write_file", index=1), *[frag(f, index=1, id="call_a7") for f in WRITE],
            ev("tool_use_stop", index=1, id="call_a7"), usage(input_tokens=8123, output_tokens=412), reason(last), STOP]


def test_write_file(engine: str):  # R-18 R-21 R-38
    got = same_everywhere(engine, lines(write_file()), "canonical")["message"]
    assert got["content"] == [{"type": "tool_use", "id": "call_a7", "name": "write_file", "input": WRITTEN}]
    assert got["usage"] == {"input_tokens": 8123, "output_tokens": 412}


def test_write_file_is_never_dispatched_on_a_fragment_that_parses(engine: str):  # R-64 R-67 R-70
    told, _ = push_all(engine, [start("c", "write_file", index=1), frag('{"path":"a"}', index=1)])
    assert of(fsm.ToolReady, told) == []


def test_write_file_cut_by_max_tokens_is_dropped(engine: str):
    m = message(engine, write_file("max_tokens"))
    assert (m.content, m.stop_reason) == ([], "max_tokens")
    assert m.dropped_calls[0]["input"] == WRITTEN


def test_two_calls_interleave_by_index(engine: str):
    m = message(engine, [start("a", "X", index=1), start("b", "Y", index=2), frag('{"p":', index=1), frag('{"q":', index=2), text("between", index=3),
                         frag("1}", index=1), frag("2}", index=2), STOP])
    assert [(b.get("id"), b.get("input", b.get("text"))) for b in m.content] == [("a", {"p": 1}), ("b", {"q": 2}), (None, "between")]
