"""The conditions of the fast path (../shared/design/FASTPATH.md), each by streams on which breaking it changes the outcome.

Every test primes an engine with a few bare deltas, so that the scanner is on and a template is learned, and then sends
something that only looks like another one. The outcome must be that of the Python engine, and `appended` (deltas that
never became a frame) must say that the fast path took what it should and left what it must not take.

tests/mutations.py breaks the conditions one by one and wants a failure here.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

import fsm
from helpers import frame
from tiers import disagreement, outcome_of

START = frame({"type": "message_start", "message": {"id": "m", "model": "x"}}, "message_start")
END = frame({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}, "message_delta") + frame({"type": "message_stop"}, "message_stop")


def opened(index: int, kind: str = "text") -> bytes:
    block = {"type": kind, "id": f"t{index}", "name": "f", "input": {}} if kind == "tool_use" else {"type": kind, kind: ""}
    return frame({"type": "content_block_start", "index": index, "content_block": block}, "content_block_start")


def closed(index: int) -> bytes:
    return frame({"type": "content_block_stop", "index": index}, "content_block_stop")


def delta(said: str = "a", index: Any = 0, kind: str = "text_delta", field: str = "text") -> bytes:
    """An Anthropic delta event; `said` is JSON text between quotes, as it is on the wire."""
    return (f'event: content_block_delta\ndata: {{"type":"content_block_delta","index":{index},"delta":{{"type":"{kind}","{field}":"{said}"}}}}\n\n').encode()


def chunk(inner: str = '"content":"a"', reason: str = "null", more: str = "", root: str = '"usage":null') -> bytes:
    """A Chat Completions event; `inner` stands in the delta, `more` in the choice, `root` in the chunk."""
    return (f'data: {{"id":"c","created":1,"choices":[{{"index":0,"delta":{{{inner}}},"finish_reason":{reason}{more}}}],{root}}}\n\n').encode()


PRIME = START + opened(0) + b"".join(delta(c) for c in "abc")
#: the first content takes Python (it opens the block), the other three do not
CHAT = b"".join(chunk(f'"content":"word {i}"') for i in range(4))
TOOL = chunk('"tool_calls":[{"index":0,"id":"t0","function":{"name":"f","arguments":""}}]')


def appended(engine: str, *chunks: bytes, dialect: str = "auto", **options: Any) -> int:
    """How many deltas the fast path took."""
    r = fsm.Reconstructor(dialect, engine=engine, **options)
    for c in chunks:
        r.feed(c)
    r.end()
    return r._framing.appended


def outcome(body: bytes, **options: Any) -> dict[str, Any]:
    r = fsm.Reconstructor(engine="compiled", **options)
    r.feed(body)
    return outcome_of(r)


def agree(*chunks: bytes, fast: int | None = None, **options: Any) -> None:
    """All engines see the same in these chunks, and `fast` deltas are taken on the fast path."""
    for deltas in ("chunk", "each", "none"):
        assert disagreement(list(chunks), deltas=deltas, **options) is None, f"deltas={deltas!r}"
    body = b"".join(chunks)
    if len(chunks) == 1:
        for n in (1, 64):
            assert disagreement([body[i:i + n] for i in range(0, len(body), n)], **options) is None, f"in pieces of {n}"
    if fast is not None:
        for engine in ("scan", "compiled"):
            assert appended(engine, *chunks, **options) == fast, engine
        assert appended("slow", *chunks, **options) == 0


@pytest.fixture(autouse=True)
def _all_engines(tiers: tuple[str, ...]) -> None:
    """Every test here needs the extension."""


def test_bare_deltas_are_taken():
    agree(PRIME + delta("d") + closed(0) + END, fast=4)
    agree(CHAT + chunk("", '"stop"') + frame("[DONE]"), fast=3)
    body = TOOL + b"".join(chunk(f'"tool_calls":[{{"index":0,"function":{{"arguments":"{a}"}}}}]') for a in ("{", r"\"a\"", ":1", "}"))
    agree(body + chunk("", '"tool_calls"') + frame("[DONE]"), fast=4)


# ---------------------------------------------------------------- 1: at an event boundary only, the whole terminator

COMMENT = b": x\n"


@pytest.mark.parametrize("head", [b"data: 1\n", b"data: {\n", b"data:\n", b"event: error\n", COMMENT, b"id: 1\n", b'{"a":\n', b"[\n"])
@pytest.mark.parametrize("ends", [b"\n", b"\r\n", b"\r"])
def test_an_event_that_begins_inside_another(head: bytes, ends: bytes):
    """What stands before belongs to the same event, also where a chunk begins in between and in the exact way."""
    body, odd = (x.replace(b"\n", ends) for x in (CHAT, chunk('"content":"odd"')))
    head = head.replace(b"\n", ends)
    agree(body + head + odd + body)
    agree(body + head, odd, body)
    agree(body, head, odd, body)
    agree(PRIME.replace(b"\n", ends) + head + delta("odd").replace(b"\n", ends) + delta().replace(b"\n", ends))


@pytest.mark.parametrize("tail", [b"data: x\n\n", b"data: {}\n\n", b": comment\n\n", b"event: ping\n\n", b"}\n\n", b" \n\n", b'{"a":1}\n\n'])
def test_an_event_that_goes_on(tail: bytes):
    """The literals run through the blank line: an event with one more line is another event."""
    for ends in (b"\n", b"\r\n"):
        whole = CHAT + chunk('"content":"odd"')[:-1] + tail + CHAT
        agree(whole.replace(b"\n", ends))
        cut = len(CHAT + chunk('"content":"odd"')) - 1
        agree(whole[:cut].replace(b"\n", ends), whole[cut:].replace(b"\n", ends))
        agree((PRIME + delta("odd")[:-1] + tail + delta("z")).replace(b"\n", ends))


def test_another_event_name_is_another_literal():
    """The name is not looked at by the dialect, so the scanner takes it; the template may not be fooled either way."""
    agree(PRIME + delta("d").replace(b"event: content_block_delta", b"event: error") + delta("e") + END, fast=5)


@pytest.mark.parametrize("name", [0, 3, 9, 20, 36, 60, 96, 130])
def test_every_byte_that_may_not_differ(name: int):
    """Wherever an event differs from the last, in literals of many lengths before the text and behind it."""
    body = CHAT.replace(b'"id":"c"', b'"id":"' + b"n" * name + b'"').replace(b'"usage":null', b'"usage":null,"model":"' + b"m" * name + b'"')
    event = body[:body.index(b"\n\n") + 2]
    agree(body + event, fast=4)
    for at, byte in enumerate(event):
        odd = event[:at] + bytes([byte ^ 1]) + event[at + 1:]
        assert disagreement([body + odd + event], deltas="none") is None, (at, odd)


def test_an_event_after_a_straddling_one():
    body = CHAT + chunk('"content":"end"')
    for cut in range(len(CHAT) - 4, len(CHAT) + 40):
        agree(body[:cut], body[cut:], fast=4)


def test_the_payload_stands_twice_in_its_event():
    """In the exact way the scanner sees a copy of the payload; the template's holes must lie in the data, not in a comment or a name like it."""
    payload, other = delta("one").split(b"data: ")[1].strip(), delta("two").split(b"data: ")[1].strip()
    for lead in (b"event: ", b": ", b"id: ", b":data: "):
        events = b"".join(lead + p + b"\ndata: " + payload + b"\n\n" for p in (payload, payload, payload, other, other))
        agree((START + opened(0) + events + END).replace(b"\n", b"\r\n"))


def test_blank_lines_and_comments_between():
    agree(PRIME + b"\n\n\n" + delta("d") + b": ping\n\n" + delta("e") + b"\n" + delta("f") + END, fast=6)


# ---------------------------------------------------------------- 2: holes at values only

@pytest.mark.parametrize("reason", ['"stop"', '"length"', '"tool_calls"', '"error"', "0", "false", '"x"'])
@pytest.mark.parametrize("blank", ["null", '""'])
def test_a_finish_reason_is_no_hole(reason: str, blank: str):
    """Null or empty so far: with a value the chunk says more than text, also when text comes with it."""
    body = b"".join(chunk(f'"content":"word {i}"', blank) for i in range(5))
    agree(body + chunk('"content":" end"', reason) + frame("[DONE]"), fast=4)
    got = outcome(body + chunk('"content":" end"', '"length"'))
    assert got["message"]["stop_reason"] == "max_tokens"


@pytest.mark.parametrize("blank", ["null", '""', "{}"])
def test_usage_is_no_hole(blank: str):
    body = b"".join(chunk(f'"content":"word {i}"', root=f'"usage":{blank}') for i in range(5))
    got = outcome(body + chunk('"content":"x"', '"stop"', root='"usage":{"prompt_tokens":7}'))
    assert got["message"]["usage"]["input_tokens"] == 7
    agree(body + chunk('"content":"x"', root='"usage":{"prompt_tokens":7}') + chunk("", '"stop"'), fast=4)


@pytest.mark.parametrize("field", ["refusal", "function_call", "audio", "annotations", "reasoning_details"])
def test_a_field_that_was_empty_is_no_hole(field: str):
    for blank in ("null", '""'):
        body = b"".join(chunk(f'"content":"w{i}","{field}":{blank}') for i in range(5))
        for value in ('"said"', '[{"type":"reasoning.text","text":"t","signature":"s"}]', '{"name":"f","arguments":"{}"}'):
            agree(body + chunk(f'"content":"z","{field}":{value}') + chunk("", '"stop"'), fast=4)


@pytest.mark.parametrize("kind", ["thinking_delta", "input_json_delta", "signature_delta", "nope_delta", "text_delt", "text_delta ", "Text_delta",
       "none_delta"])
def test_a_discriminator_is_no_hole(kind: str):
    agree(PRIME + delta("odd", kind=kind) + delta("d") + closed(0) + END,
          fast=3 if kind == "thinking_delta" else 4)  # which has a block of its own for the text that it brings (rule 22)


@pytest.mark.parametrize("word", ["content_block_stop", "ping", "error", "content_block_stopp", "xxxxxxx_block_delta"])
def test_an_event_type_is_no_hole(word: str):
    odd = delta("odd").replace(b'"content_block_delta"', f'"{word}"'.encode())
    agree(PRIME + odd + END, fast=3)


def test_the_key_is_no_hole():
    agree(PRIME + delta("odd", field="thinking") + delta("odd", field="txt_") + delta("d") + END)


def test_ignored_values_may_vary():
    """The obfuscation string, the creation time and the padding differ in every chunk: holes, lexed like the scanner does it."""
    events = [chunk(f'"content":"w{i}"', root=f'"obfuscation":"{"z" * i}","created":{i}{" " * (i % 3)}').replace(b'"created":1,', b"") for i in range(9)]
    agree(b"".join(events), fast=8)


@pytest.mark.parametrize("value", ["1.0", "01", "1e0", "-0", "1.", "+1", "NaN", '"1"', "1 2", "null", "18446744073709551616"])
def test_ignored_numbers_are_numbers(value: str):
    events = b"".join(chunk(f'"content":"w{i}"', root=f'"created":{i}').replace(b'"created":1,', b"") for i in range(5))
    agree(events + chunk('"content":"odd"', root=f'"created":{value}').replace(b'"created":1,', b"") + CHAT)


# ---------------------------------------------------------------- 3: string holes run the full lexer

GOOD = ["plain", r"\"", r"\\", r"\\\"", r"\/", r"\b\f\n\r\t", r"\u0041", r"\u00e9", r"\u0000", r"\ud83d\ude00", r"\uD83D\uDE00x", "é", "状态", "😀", "\x7f",
        "}}", "]}]", '{\\"a\\":1}', "data: x", r"\\u0041", "a" * 15 + r"\"", "a" * 16 + "é", "a" * 17 + r"\\", "\u2028\ufeff", "event: x", "\uffff", "\u0800",
        "\U0010ffff"]
BAD = [b"\x01", b"\t", b"\x1f", b"\x00", rb"\x", rb"\u12", rb"\u12g4", rb"\ud83d", rb"\ude00", rb"\ud83d\u0041", rb"\ud83dx", rb"\ud83d\ud83d",
       rb"\ude00\ud83d", b"\xff",
       b"\x80", b"\xc0\xaf", b"\xc1\xbf", b"\xe0\x80\x80", b"\xe0\x9f\xbf", b"\xed\xa0\x80", b"\xf0\x80\x80\x80", b"\xf0\x8f\xbf\xbf", b"\xf4\x90\x80\x80",
       b"\xf5\x80\x80\x80",
       b"\xe4\xbd", b"\xf0\x9f\x98", b"\xc3", b"\\", b'"', b'","x":"', b'"}', rb"\U0041"]


@pytest.mark.parametrize("said", GOOD)
def test_good_strings(said: str):
    """Quotes and braces in the text cannot fool it; escapes and every script come out as `json` reads them."""
    value = json.loads(f'"{said}"')
    agree(PRIME + delta(said) + delta("e") + closed(0) + END, fast=5)
    assert outcome(PRIME + delta(said) + END)["message"]["content"][0]["text"] == "abc" + value
    agree(CHAT + chunk(f'"content":"{said}"') + CHAT, fast=8)


@pytest.mark.parametrize("at", [0, 15, 16])
@pytest.mark.parametrize("said", BAD)
def test_bad_strings(said: bytes, at: int):
    """Control bytes, bad escapes, lone halves, bad UTF-8: never taken; the slow path says what becomes of them."""
    odd = delta("HERE").replace(b"HERE", b"p" * at + said)
    for on_bad_event in ("error", "skip"):
        agree(PRIME + odd + delta("e") + END, on_bad_event=on_bad_event)
    assert appended("compiled", PRIME + odd) == 3


@pytest.mark.parametrize("said", BAD)
def test_bad_strings_that_nobody_reads(said: bytes):
    """An ignored string that varies is a hole too."""
    events = b"".join(chunk(f'"content":"w{i}"', root=f'"obfuscation":"{"z" * i}"') for i in range(5))
    odd = chunk('"content":"odd"', root='"obfuscation":"HERE"').replace(b"HERE", b"p" + said)
    agree(events + odd + CHAT, on_bad_event="skip")
    assert appended("compiled", events + odd) == 4


def test_halves_of_a_pair_in_two_deltas():
    agree(PRIME + delta(r"\ud83d") + delta(r"\ude00") + delta("e") + END, fast=4)
    agree(PRIME + delta(r"\ud83d") + delta("e") + delta(r"\ude00") + END, fast=4)
    assert outcome(PRIME + delta(r"\ud83d") + delta(r"\ude00") + END)["message"]["content"][0]["text"] == "abc😀"


# ---------------------------------------------------------------- 4: nothing is written before the last literal matched

@pytest.mark.parametrize("odd", [
    chunk('"content":"odd"', '"stop"'), chunk('"content":"odd"', root='"usage":{"prompt_tokens":1}'), chunk('"content":"odd","refusal":"no"'),
    chunk('"content":"odd"')[:-4] + b"x}\n\n", chunk('"content":"odd"')[:-3] + b"\n\n", chunk('"content":"odd"', more=',"x":1'),
])
def test_a_mismatch_behind_the_text(odd: bytes):
    """The text is said once (by the slow path), or not at all where the event is lost."""
    for on_bad_event in ("error", "skip"):
        agree(CHAT + odd + CHAT, on_bad_event=on_bad_event)
    assert appended("compiled", CHAT + odd) == 3


def test_a_mismatch_behind_the_text_at_the_end_of_input():
    for body in (CHAT + chunk('"content":"odd"'), PRIME + delta("odd")):
        for cut in range(1, 60):
            agree(body[:-cut])
            agree(body[:-cut], body[-cut:])


@pytest.mark.parametrize("tail", [b"", delta("x").replace(b"\n", b"\r\n"), delta("x").replace(b"\n", b"\r"), delta("x")[:40], b": c\r\n", b"\r\n", b"\n\r"])
def test_what_follows_hits_in_one_chunk(tail: bytes):
    """Hits at the beginning of a chunk are taken before its window is opened; whatever follows them is parsed from there."""
    chunks = [START + opened(0) + delta("a") + delta("b") + delta("c"), delta("d") + delta("e") + tail, delta("f") + END]
    agree(*chunks)
    agree(*chunks[:2], delta("f").replace(b"\n", b"\r\n") + END)
