"""Whole events that the scanner takes apart (_speedups/frames.pxi): what it takes is what `decode` says, for any bytes.

`read` gives up or has exactly the effect of `decode`: the same words to the sink, the same answer, the same state behind it. The events here
are plain ones of each shape with faults put in; whole streams of them run on all four engines.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fsm
from benchmarks import data
from fsm import dialects
from fsm import _engine
from fsm import _tables as T
from fsm.rebuild.accumulator import Accumulator
from fsm.dialects.base import Dialect
from fsm.parts import Meter
from helpers import cut_at
from tiers import disagreement

CHUNK = b'{"id":"c1","object":"chat.completion.chunk","created":1790000000,"model":"m","service_tier":"default","system_fingerprint":"fp","choices":[%s]%s}'
TEXT_DELTA = b'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}'

#: one plain event of each shape, with what it gives
PLAIN: list[tuple[str, str, bytes, tuple[Any, ...]]] = [
    ("anthropic", "stop", b'{"type":"content_block_stop","index":3}', (3,)),
    ("anthropic", "text_start", b'{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Hi","citations":null}}', (0, "Hi")),
    ("anthropic", "thinking_start", b'{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"Hm","signature":"c2ln"}}',
     (0, "Hm", "c2ln")),
    ("anthropic", "call_start", b'{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t1","name":"Read","input":{},'
     b'"caller":{"type":"direct"}}}', (1, "t1", "Read", {"type": "direct"})),
    ("anthropic", "signature", b'{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}', (0, "c2ln")),
    ("anthropic", "message_start", b'{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],'
     b'"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":3,"service_tier":"standard"}}}',
     ("msg_1", "m", {"input_tokens": 3, "service_tier": "standard"})),
    ("anthropic", "message_delta", b'{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":5},'
     b'"context_management":{"applied_edits":[]}}', ("end_turn", {"output_tokens": 5})),
    ("anthropic", "message_stop", b'{"type":"message_stop","amazon-bedrock-invocationMetrics":{"inputTokenCount":3}}', ()),
    ("anthropic", "ping", b'{"type":"ping"}', ()),
    ("openai-chat", "chunk", CHUNK % (b'{"index":0,"delta":{"role":"assistant","content":"a","reasoning_content":"b","reasoning":"c","refusal":null,'
                                      b'"tool_calls":[{"index":2,"id":"t1","type":"function","function":{"name":"Read","arguments":"{"}}]},"logprobs":null,"finish_reason":"stop"}',
                                      b',"usage":{"prompt_tokens":3}'),
     ("c1", "m", "a", "b", "c", 2, "t1", "Read", "{", "stop", {"prompt_tokens": 3})),
]
#: further plain events of the same shapes, to begin with
MORE: dict[str, list[bytes]] = {
    "anthropic": [
        b'{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}',
        b'{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}',
        b'{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t1","name":"Read","input":{}}}',
        b'{"type":"message_delta","delta":{"stop_reason":null}}',
        b'{"type":"message_start","message":{"id":"","model":"","usage":{"input_tokens":1}}}'],
    "openai-chat": [
        CHUNK % (b'{"index":0,"delta":{"role":"assistant","content":"","refusal":null},"logprobs":null,"finish_reason":null}', b',"usage":null'),
        CHUNK % (b'{"index":0,"delta":{},"finish_reason":"stop"}', b""),
        CHUNK % (b'{"index":0,"delta":{},"finish_reason":"error"}', b',"usage":{"prompt_tokens":3}'),
        CHUNK % (b'{"index":0,"delta":{"content":"<thi"},"finish_reason":null}', b""),
        CHUNK % (b'{"index":0,"delta":{"reasoning":"hm"},"finish_reason":null}', b""),
        CHUNK % (b'{"index":0,"delta":{"tool_calls":[{"index":0,"id":"t1","type":"function","function":{"name":"Read","arguments":""}}]}}', b""),
        CHUNK % (b'{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}}', b""),
        CHUNK % (b"", b',"usage":{"prompt_tokens":3,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":1}}'),
        b'{"id":"","model":"","choices":[{"index":0,"delta":{"role":"assistant"}}]}',
        b'{"choices":[{"delta":{"content":"a"}}]}'],
}
#: what may have come before: metadata that is known or not, half a tag, a whole one, content
BEFORE: dict[str, list[list[bytes]]] = {
    "anthropic": [[]],
    "openai-chat": [[], [b'{"id":"","model":"m","choices":[]}'], [b'{"id":"c0","model":"m0","choices":[]}'],
                    *([b'{"choices":[{"index":0,"delta":{"content":"%s"}}]}' % said] for said in (b"<thi", b" ", b"<think>", b"<think>a</th", b"a"))],
}
#: what comes behind, in which the state shows that was left
BEHIND = {"anthropic": TEXT_DELTA, "openai-chat": b'{"id":"c9","model":"m9","choices":[{"index":0,"delta":{"content":"nk>b"}}]}'}


class Recorder(Accumulator):
    """A sink that only writes down what it is told (the dialects that are compiled want an Accumulator)."""

    def __init__(self) -> None:
        parts = _engine.engine("compiled")
        super().__init__(parts.stepper(lambda *_a: None), Meter(), parts.buffer, None, fsm.Limits(), "none")
        self.told: list[str] = []

    def handle(self, ev: Any) -> None:
        self.told.append(repr(ev))

    def delta(self, event: int, index: int | None, text: str) -> None:
        self.told.append(f"{T.EVENTS[event]} {index!r} {text!r}")


def frames(name: str, dialect: Dialect | None, methods: tuple[Callable[..., Any], ...]) -> Any:
    from fsm._speedups import Frames

    return Frames(dialects.wire(name).id, dialect, methods)


def given_by(name: str, *events: bytes) -> Any:
    """Which shape takes the last event (all of them are read), and what it gives; None without one."""
    shapes = T.DIALECTS[name]["frames"]
    reader = frames(name, None, tuple(lambda _self, *args, _shape=shape: (_shape, args) for shape in shapes))
    return [reader.read(e) for e in events][-1]


def told_of(name: str, event: bytes, before: list[bytes] = []) -> bool:  # noqa: B006 (never written to)
    """Whether the event was taken; in any case it must have the effect that it has on the reference, which is asserted."""
    wire = dialects.wire(name)
    sinks = [Recorder(), Recorder()]
    taker, reference = [wire.make(sink, 0) for sink in sinks]
    for payload in before:
        for dialect in (taker, reference):
            dialect.decode(orjson.loads(payload), None, payload)
    said = len(sinks[0].told)
    got = frames(name, taker, wire.frames).read(event)
    try:
        payload = orjson.loads(event)
    except ValueError:
        payload = None
    if got is None:
        assert len(sinks[0].told) == said, f"given up, but something was said: {event!r}"
    if type(payload) is not dict:
        assert got is None, f"taken, and no JSON object: {event!r}"
        return False
    want = reference.decode(payload, None, event)
    taken = got is not None
    if not taken:
        got = taker.decode(payload, None, event)
    for dialect in (taker, reference):
        dialect.decode(orjson.loads(BEHIND[name]), None, BEHIND[name])
        dialect.flush()
    assert (got, sinks[0].told) == (want, sinks[1].told), f"taken {taken}: {event!r} behind {before!r}"
    return taken


# ---------------------------------------------------------------- each shape


def test_every_shape_has_an_example():
    assert {p[:2] for p in PLAIN} == {(name, shape) for name, d in T.DIALECTS.items() for shape in d["frames"]}


@pytest.mark.parametrize(("name", "shape", "event", "gives"), PLAIN, ids=[f"{p[0]}-{p[1]}" for p in PLAIN])
def test_a_plain_event_is_taken_by_its_shape(tiers: tuple[str, ...], name: str, shape: str, event: bytes, gives: tuple[Any, ...]):
    assert given_by(name, event) == (shape, gives)
    assert told_of(name, event)


@pytest.mark.parametrize("name", MORE)
def test_other_plain_events_are_taken(tiers: tuple[str, ...], name: str):
    for event in MORE[name]:
        assert all(told_of(name, event, before) for before in BEFORE[name]), event


@pytest.mark.parametrize("name", ["anthropic", "openai-chat"])
@pytest.mark.parametrize("flavour", ["ascii", "cjk", "escapes"])
def test_a_clean_stream_needs_no_json(tiers: tuple[str, ...], name: str, flavour: str):
    """Every event that is no plain delta, and every delta that comes this way, is taken: only `[DONE]` is not."""
    stream = data.make(name, 200, flavour)
    deltas = 0
    for payload in stream.payloads:
        if name == "anthropic" and orjson.loads(payload).get("delta", {}).get("type") in ("text_delta", "thinking_delta", "input_json_delta"):
            deltas += 1
        else:
            assert told_of(name, payload), payload
    assert deltas == (200 if name == "anthropic" else 0), "chunks of Chat Completions have one shape, deltas too"
    assert given_by(name, b"[DONE]") is None


def test_what_is_missing_is_none_whatever_was_there_before(tiers: tuple[str, ...]):
    """No value of an earlier event or of a shape that did not fit is left in a slot."""
    for name, shape, event, gives in PLAIN:
        for _name, bare, least, left in (
                ("anthropic", "message_start", b'{"type":"message_start"}', (None, None, None)),
                ("anthropic", "message_delta", b'{"type":"message_delta"}', (None, None)),
                ("anthropic", "thinking_start", b'{"type":"content_block_start","index":0,"content_block":{"type":"thinking"}}', (0, None, None)),
                ("anthropic", "call_start", b'{"type":"content_block_start","index":0,"content_block":{"type":"tool_use"}}', (0, None, None, None)),
                ("openai-chat", "chunk", b'{"choices":[]}', (None,) * 11)):
            if _name == name:
                assert given_by(name, event) == (shape, gives)
                assert given_by(name, event, least) == (bare, left)


def test_null_is_none_and_an_empty_string_is_one(tiers: tuple[str, ...]):
    """The dialect treats both alike (R-49), but is not told that there was a string where there was none."""
    event = b'{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":%s,"name":%s,"caller":null}}'
    assert given_by("anthropic", event % (b"null", b'""')) == ("call_start", (0, None, "", None))
    assert given_by("anthropic", event % (b'""', b"null")) == ("call_start", (0, "", None, None))


@pytest.mark.parametrize("text", ["é", "状态", "😀", 'a"b\\c/d', "\n\t\r\b\f", "\x00\x1f\x7f", "\u2028", "a" * 15 + "é" + "b" * 20, "\\u0041"])
def test_strings_come_through(tiers: tuple[str, ...], text: str):
    for ascii_only in (False, True):
        quoted = (json.dumps(text) if ascii_only else orjson.dumps(text).decode()).encode()
        event = b'{"type":"content_block_start","index":0,"content_block":{"type":"text","text":%s}}' % quoted
        assert given_by("anthropic", event) == ("text_start", (0, text))
        assert told_of("anthropic", event)
        assert told_of("openai-chat", b'{"choices":[{"delta":{"content":%s,"reasoning":%s}}]}' % (quoted, quoted))


# ---------------------------------------------------------------- what is left to Python

LEFT: list[tuple[str, str, bytes]] = [
    ("a start without its block", "anthropic", b'{"type":"content_block_start","index":0}'),
    ("a delta without its delta", "anthropic", b'{"type":"content_block_delta","index":0}'),
    ("a block without its type", "anthropic", b'{"type":"content_block_start","index":0,"content_block":{}}'),
    ("a type that is missing", "anthropic", b'{"index":0}'),
    ("an index that is missing", "anthropic", b'{"type":"content_block_stop"}'),
    ("an index that is null", "anthropic", b'{"type":"content_block_stop","index":null}'),
    ("an index with a leading zero", "anthropic", b'{"type":"content_block_stop","index":01}'),
    ("an index with a point", "anthropic", b'{"type":"content_block_stop","index":1.0}'),
    ("an index with an exponent", "anthropic", b'{"type":"content_block_stop","index":1e0}'),
    ("an index below 0", "anthropic", b'{"type":"content_block_stop","index":-1}'),
    ("an index that is long", "anthropic", b'{"type":"content_block_stop","index":18446744073709551616}'),
    ("an empty caller", "anthropic", b'{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"R","caller":{}}}'),
    ("an empty caller with a space", "anthropic",
     b'{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"R","caller":{ }}}'),
    ("a caller that is no object", "anthropic", b'{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","caller":"x"}}'),
    ("an input", "anthropic", b'{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"R","input":{"a":1}}}'),
    ("citations", "anthropic", b'{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"","citations":[1]}}'),
    ("an empty usage", "anthropic", b'{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{}}'),
    ("a message with content", "anthropic", b'{"type":"message_start","message":{"id":"m","content":[{"type":"text","text":"a"}]}}'),
    ("a key twice", "anthropic", b'{"type":"content_block_stop","index":0,"index":1}'),
    ("a key twice, the other null", "anthropic", b'{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_reason":null}}'),
    ("an escaped key", "anthropic", b'{"\\u0074ype":"content_block_stop","index":0}'),
    ("an escaped word", "anthropic", b'{"type":"pin\\u0067"}'),
    ("an unknown key", "anthropic", b'{"type":"content_block_stop","index":0,"error":{"type":"overloaded_error"}}'),
    ("something behind", "anthropic", b'{"type":"ping"}x'),
    ("a second object behind", "anthropic", b'{"type":"ping"}{"type":"ping"}'),
    ("half of an event", "anthropic", b'{"type":"content_block_stop","index":1'),
    ("no event", "anthropic", b""),
    ("half a surrogate pair", "anthropic", b'{"type":"message_delta","delta":{"stop_reason":"\\ud83d"}}'),
    ("bad UTF-8", "anthropic", b'{"type":"message_delta","delta":{"stop_reason":"\xff"}}'),
    ("a choice of another index", "openai-chat", b'{"choices":[{"index":1,"delta":{"content":"a"}}]}'),
    ("two choices", "openai-chat", b'{"choices":[{"index":0,"delta":{"content":"a"}},{"index":0,"delta":{"content":"b"}}]}'),
    ("choices that are null", "openai-chat", b'{"id":"c","choices":null}'),
    ("choices that are missing", "openai-chat", b'{"id":"c","model":"m"}'),
    ("choices that are no array", "openai-chat", b'{"choices":{}}'),
    ("two calls", "openai-chat", b'{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a"},{"index":1,"id":"b"}]}}]}'),
    ("a call without index", "openai-chat", b'{"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"R"}}]}}]}'),
    ("an empty call", "openai-chat", b'{"choices":[{"delta":{"tool_calls":[{}]}}]}'),
    ("a call that is no array", "openai-chat", b'{"choices":[{"delta":{"tool_calls":{"index":0,"id":"a"}}}]}'),
    ("arguments as an object", "openai-chat", b'{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"arguments":{"a":1}}}]}}]}'),
    ("a delta that is null", "openai-chat", b'{"choices":[{"delta":null}]}'),
    ("content as a list", "openai-chat", b'{"choices":[{"delta":{"content":[{"type":"text","text":"a"}]}}]}'),
    ("a refusal", "openai-chat", b'{"choices":[{"delta":{"refusal":"no"}}]}'),
    ("an error", "openai-chat", b'{"choices":[],"error":{"message":"no"}}'),
    ("an error of a choice", "openai-chat", b'{"choices":[{"delta":{},"finish_reason":"error","error":{"message":"no"}}]}'),
    ("a whole message", "openai-chat", b'{"choices":[{"message":{"content":"a"}}]}'),
    ("a usage that is a number", "openai-chat", b'{"choices":[],"usage":1}'),
    ("a usage with a long number", "openai-chat", b'{"choices":[],"usage":{"prompt_tokens":18446744073709551616}}'),
]


@pytest.mark.parametrize(("name", "event"), [case[1:] for case in LEFT], ids=[case[0] for case in LEFT])
def test_what_is_odd_is_left_to_python(tiers: tuple[str, ...], name: str, event: bytes):
    for before in BEFORE[name]:
        assert not told_of(name, event, before)


@pytest.mark.parametrize("number", ["18446744073709551616", "9223372036854775808", "1" * 18, "1" * 40, "1.5", "3.0", "1e3", "1.7976931348623157", "0.1", "-1",
                                    "-0", "-0.0"])
def test_numbers_in_reports_and_vendor_fields_are_exact(tiers: tuple[str, ...], number: str):
    """An object is given as orjson reads it, or the event goes there whole."""
    n = number.encode()
    for event in (b'{"type":"message_delta","delta":{},"usage":{"output_tokens":%s,"x":{"y":[%s]}}}' % (n, n),
                  b'{"type":"message_start","message":{"usage":{"input_tokens":%s}}}' % n,
                  b'{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"R","caller":{"at":%s}}}' % n):
        taken = told_of("anthropic", event)
        assert taken or len(number) > 18 or "e" in number
    told_of("openai-chat", b'{"choices":[],"usage":{"prompt_tokens":%s}}' % n)


@pytest.mark.parametrize(("size", "taken"), [(4096, True), (4097, False)])
def test_a_large_object_is_left_to_python(tiers: tuple[str, ...], size: int, taken: bool):
    """Whose parser takes no multiple of its bytes."""
    usage = b'{"output_tokens":5,"x":"%s"}' % (b"y" * (size - 26))
    assert len(usage) == size
    event = b'{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":%s}' % usage
    assert (given_by("anthropic", event) is not None) == told_of("anthropic", event) == taken


@pytest.mark.parametrize("depth", [20, 100, 1023, 1024, 1100, 100_000])
def test_deep_nesting_is_left_to_python(tiers: tuple[str, ...], depth: int):
    """Where orjson refuses it as well as where it does not; what is shallow is taken."""
    for nest in (b"[" * depth + b"]" * depth, b'{"a":' * depth + b"1" + b"}" * depth):
        for event in (b'{"type":"message_delta","delta":{},"usage":{"a":%s}}', b'{"type":"message_stop","amazon-bedrock-invocationMetrics":%s}'):
            assert told_of("anthropic", event % nest) == (depth == 20)


# ---------------------------------------------------------------- faults by chance

ODD = ["null", '""', "[]", "{}", "{ }", "[ ]", "0", "1", "-1", "-0", "1.0", "1e0", "01", "true", "false", '"x"', '"é"', '"😀"',
       r'"\u00e9\n"', r'"\ud83d\ude00"',
       r'"\ud83d"', r'"\ude00"', r'"\x"', '"0"', "18446744073709551616", "1" * 30, "999999999", "1000000000", '{"a":1}', '{"a":{"b":[1,{"c":null}]}}', "[{}]",
       "[[]]", "[null]", '[{"index":0}]', '[{"index":0,"id":"t2","function":{"name":"Grep"}}]', '"error"', '"stop"', '"text"', '"tool_use"', '"ping"',
       '"content_block_stop"', "nul", "NaN", "", "[" * 31 + "]" * 31, '{"error":{"message":"no"}}', '"<think>"', '"</think>"', '"<thi"']
KEYS = ["error", "x", "type", "index", "id", "usage", "delta", "message", "content_block", "signature", "text", "content", "caller", "input", "choices",
        "tool_calls", "finish_reason", "x_groq", "role", "refusal", "reasoning", "extra_content", "object", ""]
SPACE = [" ", "  ", "\n", "\t", "\r"]


class Broken:
    """Writes an event again with `faults` faults in random places."""

    def __init__(self, rng: random.Random, faults: int) -> None:
        self.rng = rng
        self.faults = faults
        self.space = rng.random() < 0.2

    def event(self, plain: bytes) -> bytes:
        tree = orjson.loads(plain)
        at = sorted(self.rng.randrange(_size(tree)) for _ in range(self.faults))
        self.todo, self.at = at, 0
        out = self.write(tree)
        if self.rng.random() < 0.05:
            out += self.rng.choice([" ", "\n", "x", "}", ",", "\x00", "{}", " null"])
        if self.rng.random() < 0.03:
            out = out[:self.rng.randrange(len(out) + 1)]
        raw = out.encode()
        if self.rng.random() < 0.05 and raw:
            flipped = bytearray(raw)
            flipped[self.rng.randrange(len(raw))] = self.rng.choice([self.rng.randrange(256), 0x22, 0x5C, 0xFF, 0x20])
            raw = bytes(flipped)
        return raw

    def hit(self) -> bool:
        """Whether the fault in hand comes here, at the next place of the tree."""
        self.at += 1
        if self.todo and self.todo[0] < self.at:
            self.todo.pop(0)
            return True
        return False

    def gap(self) -> str:
        return self.rng.choice(SPACE) if self.space and self.rng.random() < 0.2 else ""

    def write(self, value: Any) -> str:
        rng, odd = self.rng, self.hit()
        if odd and (not isinstance(value, (dict, list)) or rng.random() < 0.3):
            return rng.choice(ODD)
        if isinstance(value, dict):
            return self.object([(f'"{k}"', self.write(v)) for k, v in value.items()], odd)
        if isinstance(value, list):
            items = [self.write(v) for v in value]
            if odd:
                items = rng.choice([items * 2, [*items, rng.choice(ODD)], [rng.choice(ODD), *items], []])
            return f"[{self.gap()}" + ",".join(items) + f"{self.gap()}]"
        return orjson.dumps(value).decode()

    def object(self, pairs: list[tuple[str, str]], odd: bool) -> str:
        rng = self.rng
        if odd:
            what = rng.choice(["drop", "twice", "other", "move", "escape", "add"]) if pairs else "add"
            at = rng.randrange(len(pairs)) if pairs else 0
            if what == "drop":
                del pairs[at]
            elif what == "twice":
                pairs.insert(rng.randrange(len(pairs) + 1), pairs[at])
            elif what == "other":
                pairs.insert(rng.randrange(len(pairs) + 1), (pairs[at][0], rng.choice(ODD)))
            elif what == "move":
                rng.shuffle(pairs)
            elif what == "escape":
                key = pairs[at][0]
                pairs[at] = (f'"\\u{ord(key[1]):04x}{key[2:]}', pairs[at][1])
            else:
                pairs.insert(rng.randrange(len(pairs) + 1), (f'"{rng.choice(KEYS)}"', rng.choice(ODD)))
        body = ",".join(f"{self.gap()}{k}{self.gap()}:{self.gap()}{v}{self.gap()}" for k, v in pairs)
        return "{" + body + self.gap() + "}"


def _size(value: Any) -> int:
    """How many places a fault may come to."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(_size(v) for v in inner)


def broken(name: str, rng: random.Random) -> bytes:
    plain = [event for dialect, _s, event, _g in PLAIN if dialect == name] + MORE[name]
    return Broken(rng, rng.choice([0, 1, 1, 1, 2, 3])).event(rng.choice(plain))


@pytest.mark.parametrize("name", ["anthropic", "openai-chat"])
@settings(max_examples=400)
@given(seed=st.integers(0, 2**32))
def test_any_event_is_given_up_or_means_the_same(tiers: tuple[str, ...], name: str, seed: int):
    rng = random.Random(seed)
    for _ in range(10):
        told_of(name, broken(name, rng), rng.choice(BEFORE[name]))


@pytest.mark.parametrize("name", ["anthropic", "openai-chat"])
def test_many_of_these_events_are_taken_and_many_are_not(tiers: tuple[str, ...], name: str):
    """Else the agreement would be that of one side with itself."""
    rng = random.Random(name)
    taken = sum(told_of(name, broken(name, rng), rng.choice(BEFORE[name])) for _ in range(1000))
    assert 200 < taken < 900


# ---------------------------------------------------------------- whole streams


def lifecycle(name: str, rng: random.Random) -> list[bytes]:
    """The payloads of a message in which some events are broken, missing or twice."""
    stream = list(data.make(name, rng.randint(4, 12), rng.choice(["ascii", "cjk", "escapes"]), rng.randrange(1000)).payloads)
    if name == "openai-chat":
        stream.append(b"[DONE]")
    out = []
    for payload in stream:
        if rng.random() < 0.25 and payload != b"[DONE]":
            payload = Broken(rng, rng.choice([0, 1, 1, 2])).event(payload)
        if rng.random() < 0.1:
            out.append(broken(name, rng))
        out += [payload] * rng.choice([1] * 18 + [0, 2])
    return out


@pytest.mark.parametrize("ends", [b"\n", b"\r\n"], ids=["lf", "crlf"])
@pytest.mark.parametrize("name", ["anthropic", "openai-chat"])
def test_whole_streams_of_such_events(tiers: tuple[str, ...], name: str, ends: bytes):
    for seed in range(120):
        rng = random.Random(f"{name}{ends!r}{seed}")
        named = name == "anthropic" and rng.random() < 0.7
        body = b"".join((b"event: " + _word(p) + ends if named else b"") + b"data: " + b" ".join(p.splitlines()) + ends + ends for p in lifecycle(name, rng))
        if rng.random() < 0.2:
            body = body[:rng.randrange(len(body) + 1)]
        chunks = rng.choice([[body], cut_at(body, [rng.randrange(len(body) + 1) for _ in range(rng.choice([1, 5, 40]))])])
        found = disagreement(chunks, rng.choice([name, name, "auto"]), tiers, deltas=rng.choice(["chunk", "each", "none"]),
                             on_bad_event=rng.choice(["error", "skip", "skip"]), look=rng.random() < 0.3)
        assert found is None, f"seed {seed}: {found}\n{body!r}"


def _word(payload: bytes) -> bytes:
    """The name of an event, as the upstream would write it."""
    try:
        word = orjson.loads(payload)["type"]
    except (ValueError, KeyError, TypeError):
        word = "content_block_delta"
    return word.encode() if isinstance(word, str) and word.isidentifier() else b"ping"


@pytest.mark.parametrize("name", ["anthropic", "openai-chat"])
def test_another_choice_takes_no_frames(tiers: tuple[str, ...], name: str):
    """A shape speaks of choice 0: a stream that wants another one goes through `decode`."""
    body = b"".join(b"data: " + p + b"\n\n" for p in data.make(name, 8).payloads)
    both = body.replace(b'"choices":[{"index":0', b'"choices":[{"index":1')
    for stream in (body, both, body + both):
        assert disagreement([stream], name, tiers, choice=1) is None
