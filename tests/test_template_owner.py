"""The conditions of the fast path, continued (see tests/test_template.py): who owns the text, and what the scanner must not understand."""

from __future__ import annotations

import json
from typing import Any

import pytest

import fsm
from fsm import _tables as T
from helpers import ended, frame
from tiers import TIERS
from test_template import CHAT, END, PRIME, START, TOOL, agree, appended, chunk, closed, delta, opened, outcome


@pytest.fixture(autouse=True)
def _all_engines(tiers: tuple[str, ...]) -> None:
    """Every test here needs the extension."""


def arguments(said: str, index: Any = 0) -> bytes:
    return chunk(f'"tool_calls":[{{"index":{index},"function":{{"arguments":"{said}"}}}}]')


# ---------------------------------------------------------------- 5: block, kind and table on every hit

def test_an_index_that_was_closed():
    """A late delta, while another block of the kind is open and the template of the closed one still stands."""
    agree(PRIME + closed(0) + opened(1) + delta("x", 1) + delta("y", 1) + delta("late", 0) + delta("z", 1) + END, fast=6)
    agree(PRIME + opened(1) + delta("x", 1) + delta("y", 0) + closed(0) + delta("x", 1) + delta("late", 0) + END)
    got = outcome(PRIME + closed(0) + opened(1) + delta("x", 1) + delta("late", 0) + END)
    assert [b["text"] for b in got["message"]["content"]] == ["abc", "x"]


def test_an_index_that_was_never_opened():
    agree(PRIME + delta("new", 7) + delta("d", 0) + delta("more", 7) + END)


def test_text_after_the_reason_and_after_the_end():
    reason = frame({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}, "message_delta")
    agree(PRIME + reason + delta("late") + delta("late") + END, fast=3)
    agree(PRIME + END + delta("late") + delta("late"), fast=3)
    agree(CHAT + chunk("", '"stop"') + chunk('"content":"late"') + chunk('"content":"late"'), fast=3)
    agree(CHAT + frame("[DONE]") + CHAT, fast=3)
    agree(CHAT + frame({"error": {"message": "no"}}) + CHAT, fast=3)


def test_nothing_is_appended_in_a_terminal_state():
    for stop in ("cancel", "tick"):
        seen = []
        for engine in ("python", "scan", "compiled"):
            r = fsm.Reconstructor(engine=engine)
            r.feed(PRIME)
            r.cancel() if stop == "cancel" else (r.tick(0.0), r.tick(1e9))
            r.feed(delta("late") + delta("late"))
            seen.append(ended(r).to_dict() | {"metrics": 0})
            assert r._framing.appended == (0 if engine == "python" else 3)
        assert seen[0] == seen[1] == seen[2]


def test_a_carriage_return_in_the_name():
    """It ends the line: what stands behind it is another."""
    whole = delta("z")
    at = whole.index(b"\ndata")
    for between in (b"\rdata: 1", b"\r", b"\r: comment", b"\revent: other"):
        odd = whole[:at] + between + whole[at:]
        agree(PRIME + odd + delta("d") + END)
        agree(PRIME, odd + odd, delta("d") + END)


def test_a_hit_of_another_kind_than_the_last_append():
    """Text and thinking share an index; the last text went by the scanner, which learned nothing of an event cut inside its blank line."""
    think = delta("some thought ", 0, "thinking_delta", "thinking").replace(b"\n", b"\r\n")
    text = delta("a text long enough for room behind it ", 0).replace(b"\n", b"\r\n")
    begin = START + opened(0, "thinking")
    agree(begin + think * 3 + text, text[:-1], text[-1:] + think, think + text[:-1], text[-1:] + think + END)
    r = fsm.Reconstructor(engine="compiled")
    for chunk_ in (begin + think * 3 + text, text[:-1], text[-1:] + think, END):
        r.feed(chunk_)
    thinking, said = ended(r).message.content
    assert thinking["thinking"] == "some thought " * 4
    assert said["text"] == "a text long enough for room behind it " * 2


@pytest.mark.parametrize("limit", range(6, 24))
def test_the_limit_is_met_at_another_block(limit: int):
    agree(PRIME + opened(1) + delta("to 1", 1) + delta("to 0") + delta("to 1", 1) + delta("to 0") + delta("to 0") + END,
          limits=fsm.Limits(content_bytes=limit))


@pytest.mark.parametrize("long", ["", "a text long enough for room behind it " * 4])
def test_the_state_is_looked_at_on_every_hit(long: str):
    """Whatever moved it: the route of the last hit still stands here, as it never does when an event moves the state."""
    r = fsm.Reconstructor(engine="compiled")
    r.feed(PRIME + delta("d" + long))
    r._acc.stepper.state = T.COMPLETED
    r.feed(delta("late") + delta("late"))
    assert r._framing.appended == 4
    assert r._acc.blocks[0].buffer.text() == "abcd" + long


@pytest.mark.parametrize(("kind", "field"), [("thinking_delta", "thinking"), ("input_json_delta", "partial_json")])
def test_a_delta_of_another_kind_on_the_same_index(kind: str, field: str):
    agree(PRIME + delta("odd", kind=kind, field=field) + delta("odd", kind=kind, field=field) + delta("d") + END)


@pytest.mark.parametrize("kind", ["text", "thinking", "tool_use"])
def test_all_kinds_open_at_once(kind: str):
    """Three blocks side by side, deltas in turn: what owns each is asked anew whenever anything else happened."""
    words = {"text": ("text_delta", "text"), "thinking": ("thinking_delta", "thinking"), "tool_use": ("input_json_delta", "partial_json")}
    kinds = ["text", "thinking", "tool_use", kind]
    body = START + b"".join(opened(i, k) for i, k in enumerate(kinds))
    for turn in range(6):
        for i, k in enumerate(kinds):
            body += delta(f"{turn}", i, *words[k]) * (1 + turn % 2)
    agree(body + END)


def test_interleaved_calls():
    """The index is a hole, and it decides."""
    start = b"".join(opened(i, "tool_use") for i in range(11))
    body = START + start
    pieces = ["{", r'\"a\"', ":", "1", "}"]
    for piece in pieces:
        for i in range(11):  # more than the engine keeps routes for
            body += delta(piece, i, "input_json_delta", "partial_json")
    body += b"".join(closed(i) for i in range(11))
    agree(body + frame({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}, "message_delta") + END)
    assert [b["input"] for b in outcome(body + END)["message"]["content"]] == [{"a": 1}] * 11
    assert appended("compiled", body) >= 54
    chat = TOOL + TOOL.replace(b'"index":0,"id":"t0"', b'"index":1,"id":"t1"')
    for piece in pieces:
        chat += arguments(piece, 0) + arguments(piece, 1)
    agree(chat + chunk("", '"tool_calls"'), fast=10)


def test_a_second_call_on_an_index_while_the_first_is_written_to():
    """A stray fragment goes to the first, the only one that lacks arguments; the index is the second's from its start on."""
    second = TOOL.replace(b'"id":"t0"', b'"id":"t1"')
    body = [TOOL, arguments("{}", 7), second, arguments(r"{\"a\":", 7), arguments("1}", 0), chunk("", '"tool_calls"')]
    agree(*body)
    for engine in TIERS:
        r = fsm.Reconstructor("openai-chat", engine=engine)
        for part in body[:5]:
            r.feed(part)
        assert [call.buffer.text() for call in r._acc.calls.all] == ['{}{"a":', "1}"], engine


def test_a_call_without_an_index():
    body = TOOL + b"".join(chunk(f'"tool_calls":[{{"function":{{"arguments":"{a}"}}}}]') for a in ("{", " ", "}"))
    agree(body + chunk("", '"tool_calls"'), fast=3)


@pytest.mark.parametrize("limit", range(1, 9))
def test_the_content_limit(limit: int):
    """Reached exactly it is no overflow; the delta that goes over it is for the slow path, and the stream ends."""
    events = PRIME + delta("dd") + delta("ee") + delta("f") + closed(0) + END
    limits = fsm.Limits(content_bytes=limit)
    agree(events, limits=limits)
    assert appended("compiled", events, limits=limits) == {1: 1, 2: 2, 3: 3, 4: 3, 5: 4, 6: 4, 7: 5, 8: 6}[limit]
    assert outcome(events, limits=limits)["state"] == ("COMPLETED" if limit == 8 else "CANCELLED")


@pytest.mark.parametrize("more", range(-3, 4))
def test_the_event_limit(more: int):
    big = delta("x" * 300)
    agree(PRIME + delta("y" * 250) + delta("y" * 251) + big + delta("e") + END, limits=fsm.Limits(event_bytes=len(big) - 2 + more))


def test_held_back_content_comes_first():
    """Content that may yet be a tag is held back; a delta of another kind says it, so it is none for the fast path."""
    for held in ("<thi", "\\n", " ", "<think>a</thi"):
        odd = chunk(f'"content":"{held}"')
        thought, end = chunk('"reasoning":"t"'), chunk('"content":"end"') + chunk("", '"stop"')
        agree(thought + thought + odd + thought + thought + odd + end)
        agree(TOOL + arguments("{") + odd + arguments(r'\"a\":1') + arguments("}") + end)


def test_metadata_that_comes_late():
    """Legacy `text` opens a block too: the first id behind it means the same on each tier."""
    legacy = frame({"choices": [{"index": 0, "text": "some content"}]})
    agree(legacy + CHAT + chunk("", '"stop"'))


@pytest.mark.parametrize("between", [b"", b": ping\n\n", frame({"choices": []}), frame({"id": "c", "choices": [], "usage": {"prompt_tokens": 1}})])
def test_whoever_was_written_to_last_is_the_current_call(between: bytes):
    """Also where the caller wants no deltas and Python is told late: a fragment without an index goes on with that call."""
    start = TOOL + TOOL.replace(b'"index":0,"id":"t0"', b'"index":1,"id":"t1"')
    without = chunk('"tool_calls":[{"function":{"arguments":"2}"}}]')
    body = start + b"".join(arguments(r"{\"a\":" if i < 2 else "1", i % 2) for i in range(3)) + between + without + arguments("}", 1)
    agree(body + chunk("", '"tool_calls"'))


def test_an_index_comes_back_to_an_older_block():
    """The block that is written to is the pending one, whatever was opened meanwhile."""
    agree(START + opened(2) + delta("a", 2) + opened(3) + delta("b", 2) + delta("c", "null") + END)
    calls = opened(2, "tool_use") + delta("{", 2, "input_json_delta", "partial_json") + opened(3, "tool_use")
    agree(START + calls + delta("}", 2, "input_json_delta", "partial_json") + delta("{}", "null", "input_json_delta", "partial_json") + END)


# ---------------------------------------------------------------- 6: what the scanner gives up on

@pytest.mark.parametrize("index", ["1.0", "0.0", "00", "01", "0e0", "1e0", "-0", "-1", '"0"', "null", "true", "1000000000", "18446744073709551616", "0x0",
       "[0]", ""])
def test_odd_indexes(index: str):
    for on_bad_event in ("error", "skip"):
        agree(PRIME + delta("odd", index) + delta("d") + END, on_bad_event=on_bad_event)
        interleaved = opened(1) + delta("x", 1) + delta("d", 0) + delta("x", 1)  # now the index is a hole
        agree(PRIME + interleaved + delta("odd", index) + delta("d") + END, on_bad_event=on_bad_event)
    assert appended("compiled", PRIME + delta("odd", index)) == 3


def anthropic_payload(root: str, inner: str) -> bytes:
    return f'event: content_block_delta\ndata: {{{root},"delta":{{{inner}}}}}\n\n'.encode()


TYPE, INDEX, INNER = '"type":"content_block_delta"', '"index":0', '"type":"text_delta","text":"odd"'


@pytest.mark.parametrize("odd", [
    anthropic_payload(f"{TYPE},{INDEX},{INDEX}", INNER), anthropic_payload(f'{TYPE},{INDEX},"index":1', INNER),
    anthropic_payload(f"{TYPE},{TYPE},{INDEX}", INNER),
    anthropic_payload(f'{TYPE},"type":"ping",{INDEX}', INNER), anthropic_payload(f'"type":"ping",{TYPE},{INDEX}', INNER),
    anthropic_payload(f"{TYPE},{INDEX}", f'{INNER},"text":"x"'), anthropic_payload(f"{TYPE},{INDEX}", f'{INNER},"text":""'),
    anthropic_payload(f"{TYPE},{INDEX}", f'{INNER},"type":"thinking_delta"'), anthropic_payload(f"{TYPE},{INDEX}", f'"type":"nope",{INNER}'),
    anthropic_payload(f'{TYPE},{INDEX},"delta":{{{INNER}}}', '"type":"text_delta","text":""'), anthropic_payload(f"{TYPE},{INDEX}", f'{INNER},"text":null'),
])
def test_duplicate_keys(odd: bytes):
    agree(PRIME + odd + delta("d") + odd + odd + END)
    assert appended("compiled", PRIME + odd) == 3


@pytest.mark.parametrize("odd", [
    anthropic_payload(f'{TYPE},{INDEX},"error":{{"type":"x"}}', INNER), anthropic_payload(f"{TYPE},{INDEX}", f'{INNER},"extra":1'),
    anthropic_payload(f'{TYPE},{INDEX},"usage":{{}}', INNER), anthropic_payload(f'{TYPE},{INDEX},"":0', INNER),
    anthropic_payload(f'{TYPE},{INDEX}', r'"type":"text_delta","te\u0078t":"odd"'), anthropic_payload(rf'"t\u0079pe":"content_block_delta",{INDEX}', INNER),
    anthropic_payload(f'{TYPE},"index2":0', INNER), anthropic_payload(f'{TYPE},"inde":0', INNER),
    anthropic_payload(f"{TYPE},{INDEX}", '"type":"text_delta","texts":"odd"'),
    anthropic_payload(f'{TYPE},{INDEX}', r'"type":"text\u005fdelta","text":"odd"'),
    anthropic_payload(f"{TYPE},{INDEX}", '"text":"odd"'), anthropic_payload(INDEX, INNER),
    anthropic_payload(f"{TYPE},{INDEX}", '"type":"input_json_delta","text":"odd"'),
    anthropic_payload(INDEX, INNER).replace(b"event: content_block_delta", b"event: ping"),
    anthropic_payload(f"{TYPE},{INDEX}", '"type":"text_delta","text":["odd"]'),
    anthropic_payload(f"{TYPE},{INDEX}", f'{INNER},"thinking":"two"'), anthropic_payload(f"{TYPE},{INDEX}", ""), anthropic_payload(f"{TYPE},{INDEX},", INNER),
    anthropic_payload(f"{TYPE},{INDEX}", f"{INNER},"), anthropic_payload(f"{TYPE} {INDEX}", INNER),
    anthropic_payload(f"{TYPE},{INDEX}", INNER).replace(b"}}\n", b"}} x\n"),
    anthropic_payload(f"{TYPE},{INDEX}", INNER).replace(b"}}\n", b"}}}\n"), anthropic_payload(f"{TYPE},{INDEX}", INNER).replace(b"}}\n", b"}}\0\n"),
])
def test_undeclared_escaped_missing_and_broken(odd: bytes):
    for on_bad_event in ("error", "skip"):
        agree(PRIME + odd + delta("d") + odd + odd + END, on_bad_event=on_bad_event)
    assert appended("compiled", PRIME + odd) == 3


@pytest.mark.parametrize("odd", [
    chunk('"content":"a"', root='"error":{"message":"no"}'), chunk('"content":"a"', root='"error":null'),
    chunk('"content":"a"', root='"x_groq":{"usage":{"prompt_tokens":1}}'),
    chunk('"content":"a","reasoning":"b"'), chunk('"reasoning":"a","reasoning_content":"a"'), chunk('"content":"a","content":""'),
    chunk('"content":"a","content":"b"'),
    chunk('"content":"a","reasoning_signature":"s"'), chunk('"content":["a"]'), chunk('"content":"a"', more=',"message":{"content":"z"}'),
    chunk('"content":"a"').replace(b'"index":0', b'"index":1'), chunk('"content":"a"').replace(b'"index":0', b'"index":0.0'),
    chunk('"content":"a"').replace(b'"index":0', b'"index":00'),
    chunk('"content":"a"').replace(b"}],", b'},{"index":1,"delta":{"content":"b"}}],'), chunk('"content":"a"').replace(b"}],", b"},{}],"),
    chunk('"content":"a"').replace(b"}],", b"},],"), chunk('"content":"a"').replace(b"}],", b"},null],"),
    chunk('"content":"a"', root='"usage":{"prompt_tokens":1}'),
    chunk('"content":"a","tool_calls":[{"index":0,"function":{"arguments":"x"}}]'), chunk('"tool_calls":[{"index":0,"function":{"arguments":"x","name":"g"}}]'),
    chunk('"tool_calls":[{"index":0,"id":"new","function":{"arguments":"x"}}]'), chunk('"tool_calls":[{"index":0,"function":{"arguments":{"a":1}}}]'),
    chunk('"tool_calls":[{"index":0,"function":{"arguments":"x"}},{"index":1,"function":{"arguments":"y"}}]'),
    chunk('"tool_calls":[{"index":0,"custom":{"input":"x"}}]'),
])
def test_chat_chunks_that_say_more(odd: bytes):
    agree(CHAT + odd + CHAT + odd + odd + chunk("", '"stop"'), on_bad_event="skip")
    assert appended("compiled", CHAT + odd) == 3


@pytest.mark.parametrize("depth", [1, 25, 29, 30, 31, 32, 100, 255, 256, 257, 1023, 1024, 1025, 3000])
def test_depth(depth: int):
    """Deep nesting in a field that nobody reads: taken up to 30, after that the slow path decides whether it is JSON at all."""
    for value in ("[" * depth + "]" * depth, '{"a":' * depth + "0" + "}" * depth):
        odd = chunk('"content":"odd"', root=f'"citations":{value}')
        agree(CHAT + odd + CHAT + odd + odd, on_bad_event="skip")
        took = appended("compiled", CHAT + odd) - 3
        assert took == (1 if depth <= 25 else 0 if depth > 31 else took)


@pytest.mark.parametrize("value", ["[1,]", '{"a"}', '{"a":1,}', "[1 2]", "{1:2}", "tru", "nul", "[01]", '["\x01"]', '{"a\x01":1}', "[1.]", "[}", '{"a":1]',
       "[NaN]", "[-]", '["\\x"]'])
def test_ignored_values_are_strict_json(value: str):
    agree(CHAT + chunk('"content":"odd"', root=f'"citations":{value}') + CHAT, on_bad_event="skip")
    assert appended("compiled", CHAT + chunk('"content":"odd"', root=f'"citations":{value}')) == 3


def test_reordered_keys_and_whitespace_are_understood():
    inner = '{"text":"d","type":"text_delta"}'
    for payload in (f'{{"delta":{inner},"index":0,{TYPE}}}', f'{{ {TYPE} ,\t"index" : 0 , "delta" : {inner} }}',
                    json.dumps(json.loads(f'{{{TYPE},"index":0,"delta":{inner}}}'))):
        agree(PRIME + frame(payload) * 3 + delta("e") + closed(0) + END, fast=7)


def test_data_in_several_lines_and_carriage_returns():
    split = delta("odd").replace(b',"delta"', b',\ndata: "delta"')
    for ends in (b"\n", b"\r\n", b"\r"):
        agree((PRIME + split + delta("d") + split + END).replace(b"\n", ends))
    agree((PRIME + delta("d") + delta("e") + closed(0) + END).replace(b"\n", b"\r\n"), fast=5)
    agree((PRIME + delta("d") + delta("e") + closed(0) + END).replace(b"\n", b"\r"), fast=5)
    agree(PRIME + (delta("d") + delta("e")).replace(b"\n", b"\r\n") + delta("f") + END, fast=6)
    agree(PRIME + delta("odd").replace(b"}}\n", b"}}\r\n") + delta("e") + END)
    agree(PRIME + delta("odd").replace(b'"delta":', b'"delta":\r') + delta("e") + END, on_bad_event="skip")


def test_bare_json_is_never_taken():
    bare = delta("d").split(b"data: ")[1]
    agree(PRIME + bare + bare + END)
    agree(PRIME + bare[:-1] * 3 + delta("e") + END)
