"""Strings that are copied while they are being lexed (_speedups/text.h): every kind of bad UTF-8 and every escape, at every place of a block of sixteen.

A stream's first deltas make a template; what follows is tried against it. Good and bad strings alternate, so that each finds
the route that the one before it has left, and room in the buffer.
"""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterator

import pytest

import fsm
from helpers import ended
from test_template import END, PRIME, closed, opened
from tiers import disagreement

HEAD = b'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"'
LEADS = (0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED, 0xEE, 0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xFF, 0x80, 0xBF)
FOLLOWING = (0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC2)


@pytest.fixture(autouse=True)
def _all_engines(tiers: tuple[str, ...]) -> None:
    """Every test here needs the extension."""


def said(raw: bytes) -> bytes:
    return HEAD + raw + b'"}}\n\n'


def sequences(most: int) -> Iterator[bytes]:
    """Every lead with every row of up to `most` bytes that stand at the edge of what may follow one."""
    for n in range(most + 1):
        for lead in LEADS:
            for rest in itertools.product(FOLLOWING, repeat=n):
                yield bytes((lead, *rest))


def is_good(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


def told(engine: str, deltas: list[bytes], cut: bool = False) -> tuple[str, int, int]:
    """The text, how many anomalies, and how many deltas never became a frame."""
    r = fsm.Reconstructor("anthropic", engine=engine, deltas="none", limits=fsm.Limits(anomalies=1_000_000))
    for body in ([PRIME, *deltas, closed(0), END] if cut else [PRIME + b"".join(deltas) + closed(0) + END]):
        r.feed(body)
    outcome = ended(r)
    return outcome.message.text, outcome.anomalies.total, r._framing.appended


@pytest.mark.parametrize("cut", [False, True], ids=["whole", "cut"])
@pytest.mark.parametrize("before", range(0, 17, 4))
def test_every_edge_of_utf8_at_every_place(before: int, cut: bool) -> None:
    """Three bytes at all sixteen places; the text that comes out is what Python makes of the bytes."""
    deltas, want, bad = [], "abc", 0
    for i, raw in enumerate(sequences(2)):
        raw = b"x" * (before + i % 4) + raw + b"y" * (i // 4 % 18)
        deltas += [said(raw), said(b"ok ")]
        want += raw.decode("utf-8", "replace") + "ok "
        bad += not is_good(raw)
    text, anomalies, appended = told("compiled", deltas, cut)
    assert text == want
    assert anomalies == bad
    assert appended == len(deltas) - bad + 3


def test_every_edge_of_four_bytes() -> None:
    rng = random.Random(7)
    deltas, want, bad = [], "abc", 0
    for raw in sequences(3):
        if raw[0] >= 0xE0 or raw[0] < 0xC0:
            raw = b"z" * rng.randrange(18) + raw + b"q" * rng.randrange(18)
            deltas += [said(raw), said(b"ok ")]
            want += raw.decode("utf-8", "replace") + "ok "
            bad += not is_good(raw)
    text, anomalies, _appended = told("compiled", deltas)
    assert text == want
    assert anomalies == bad


@pytest.mark.parametrize("alphabet", ["aé", "a状态", "漢字かな", "한글과", "नमस्ते", "ไทย", "a😀", "aé状😀한न",
                                      "\ud7ff\ue000\uffff\U00010000\U0010ffff\x7f\x80\u07ff\u0800"])
def test_good_text_of_every_length(alphabet: str) -> None:
    rng = random.Random(alphabet)
    pieces = ["".join(rng.choice(alphabet) for _ in range(n)) for n in range(1, 80) for _ in range(3)]
    for cut in (False, True):
        text, anomalies, appended = told("compiled", [said(p.encode()) for p in pieces], cut)
        assert text == "abc" + "".join(pieces)
        assert anomalies == 0
        assert appended == len(pieces) + 3


@pytest.mark.parametrize("special", [b"\\n", b"\\\\", b'\\"', b"\\u00e9", b"\\ud83d\\ude00", b"\\ud83d", b"\\x", b"\x00", b"\x1f", b"\x7f", b"\t"])
def test_what_is_no_plain_text(special: bytes) -> None:
    """Control bytes and bad escapes are left to Python: at every place of a block."""
    deltas = [said(b"p" * n + special + b"s" * (n % 19)) for n in range(50)]
    assert disagreement([PRIME + b"".join(deltas) + closed(0) + END]) is None
    for delta in deltas[::7]:
        assert disagreement([PRIME, delta, said(b"ok"), delta, closed(0), END]) is None


UNITS = (0x0, 0x1F, 0x22, 0x5C, 0x7F, 0x80, 0x7FF, 0x800, 0xD7FF, 0xE000, 0xFFFD, 0xFFFF)
ESCAPES = [*(b"\\" + bytes((c,)) for c in b'"\\/bfnrt'), *(f"\\u{unit:04x}".encode() for unit in UNITS), b"\\u00E9", b"\\uAbCd",
           b"\\ud800\\udc00", b"\\uDBFF\\uDFFF", b"\\ud83d\\ude00", b"\\u72b6\\u6001", b'\\"\\"', b"\\\\\\n"]
NO_ESCAPES = [*(b"\\" + bytes((c,)) for c in range(0x20, 0x7F) if c not in b'"\\/bfnrtu'), b"\\u", b"\\u1", b"\\u12", b"\\u123", b"\\u123g", b"\\u-123",
              b"\\U0041", b"\\ud800", b"\\udc00", b"\\udfff", b"\\ud800\\ud800", b"\\ud800\\u0041", b"\\ud800x", b"\\ud800\\udc0", b"\\udc00\\ud800"]


@pytest.mark.parametrize("around", ["", "é", "状"])
@pytest.mark.parametrize("cut", [False, True], ids=["whole", "cut"])
def test_every_escape_at_every_place(around: str, cut: bool) -> None:
    """The text is what Python's json makes of it, and no delta left the fast path."""
    raws = [around.encode() + b"x" * before + escape + b"y" * (before * 7 % 18) + around.encode() + escape
            for escape in ESCAPES for before in range(18)]
    text, anomalies, appended = told("compiled", [said(raw) for raw in raws], cut)
    assert text == "abc" + "".join(json.loads(b'"' + raw + b'"') for raw in raws)
    assert anomalies == 0
    assert appended == len(raws) + 3


@pytest.mark.parametrize("escape", ESCAPES)
def test_an_escape_alone(escape: bytes) -> None:
    """Nothing else in the block says that it is not all ASCII."""
    for n in range(50, 70):  # at most of these lengths the buffer has room to spare, where the escape is copied
        text, anomalies, appended = told("compiled", [said(b"in ASCII ")] * n + [said(escape)])
        assert text == "abc" + n * "in ASCII " + json.loads(b'"' + escape + b'"')
        assert (anomalies, appended) == (0, n + 4)


@pytest.mark.parametrize("before", [0, 3, 9, 15])
def test_no_escape_is_made_up(before: int) -> None:
    """What is no escape, or half a character, is taken by the slow path alone."""
    for escape in NO_ESCAPES:
        for behind in (b"", b"y" * 20):
            delta = said(b"x" * before + escape + behind)
            assert disagreement([PRIME + said(b"ok") + delta + said(b"ok") + closed(0) + END]) is None, escape
            framing = fsm.Reconstructor("anthropic", engine="compiled", on_bad_event="skip")
            framing.feed(PRIME + said(b"ok") + delta + said(b"ok"))
            assert framing._framing.appended == 5, escape


@pytest.mark.parametrize("escape", [b"", b"\\n", b"\\u72b6"])
def test_text_for_another_block(escape: bytes) -> None:
    """What was copied behind one block's text belongs to another: nothing of it may stay, and its escapes are resolved there."""
    one = said(b"to the first block " + escape)
    two = said(escape + b"to the second one ").replace(b'"index":0', b'"index":1')
    rng = random.Random(3)
    order = [rng.randrange(2) for _ in range(60)]
    body = PRIME + opened(1) + b"".join((one, two)[i] for i in order) + closed(0) + closed(1) + END
    assert disagreement([body]) is None
    r = fsm.Reconstructor("anthropic", engine="compiled")
    r.feed(body)
    content = ended(r).message.content
    character = json.loads(b'"' + escape + b'"')
    assert content[0]["text"] == "abc" + f"to the first block {character}" * order.count(0)
    assert content[1]["text"] == f"{character}to the second one " * order.count(1)


@pytest.mark.parametrize("limit", range(40, 120))
def test_the_limit_is_met_to_the_byte(limit: int) -> None:
    deltas = [said(b"x" * 11), said("状".encode() * 5), said(b"y" * 20)] * 2
    assert disagreement([PRIME + b"".join(deltas) + closed(0) + END], limits=fsm.Limits(content_bytes=limit)) is None
