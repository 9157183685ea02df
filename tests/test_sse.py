"""Framing, on both implementations: bytes to (name, data, offset, cut), the same at every split."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsm import _engine
from fsm.framing.sse import SSEParser
from helpers import cut_at

Parser = Callable[[int], Any]
BIG = 1 << 24


def frames(parser: Parser, chunks: list[bytes], max_bytes: int = BIG) -> list[tuple[str | None, bytes | None, int, bool]]:
    p = parser(max_bytes)
    out = [(n, d if d is None else bytes(d), o, bool(c)) for chunk in chunks for n, d, o, c in p.receive(chunk)]
    out += [(n, d if d is None else bytes(d), o, bool(c)) for n, d, o, c in p.end()]
    assert p.events == len(out), "each is counted once"
    return out


def parse(parser: Parser, body: bytes, max_bytes: int = BIG) -> list[tuple[str | None, bytes]]:
    """(name, data) of every event; the same whole, in bytes and cut in two anywhere."""
    whole = frames(parser, [body], max_bytes)
    assert frames(parser, [body[i:i + 1] for i in range(len(body))], max_bytes) == whole, "fed byte by byte"
    for cut in range(1, len(body)):
        assert frames(parser, [body[:cut], body[cut:]], max_bytes) == whole, f"cut at byte {cut}"
    return [(n, d) for n, d, _o, _c in whole]


CASES: dict[str, tuple[bytes, list[tuple[str | None, bytes]]]] = {
    "lf": (b"data: 1\n\ndata: 2\n\n", [(None, b"1"), (None, b"2")]),
    "crlf": (b"data: 1\r\n\r\ndata: 2\r\n\r\n", [(None, b"1"), (None, b"2")]),
    "cr": (b"data: 1\r\rdata: 2\r\r", [(None, b"1"), (None, b"2")]),
    "mixed line ends": (b"data: 1\n\r\ndata: 2\r\n\ndata: 3\r\n\rdata: 4\r\ndata: 5\n\n", [(None, b"1"), (None, b"2"), (None, b"3"), (None, b"4\n5")]),
    "crlf after lf events": (b"data: 1\n\ndata: 2\r\n\r\n", [(None, b"1"), (None, b"2")]),
    "a cr and an lf end two lines only apart": (b"data: 1\r\ndata: 2\r\r", [(None, b"1\n2")]),
    "byte order mark": (b"\xef\xbb\xbfdata: 1\n\n", [(None, b"1")]),
    "a second mark is no mark": (b"data: 1\n\n\xef\xbb\xbfdata: 2\n\n", [(None, b"1")]),
    "half a mark is the whole input": (b"\xef\xbb", []),
    "no space": (b"data:1\n\n", [(None, b"1")]),
    "one space only is taken": (b"data:  1\n\n", [(None, b" 1")]),
    "a tab is no space": (b"data:\t1\n\n", [(None, b"\t1")]),
    "several data lines": (b'data: {"a":\ndata: 1}\n\n', [(None, b'{"a":\n1}')]),
    "an empty data line in the middle": (b"data: 1\ndata\ndata: 2\n\n", [(None, b"1\n\n2")]),
    "named": (b"event: ping\ndata: 1\n\n", [("ping", b"1")]),
    "named without a space": (b"event:ping\ndata:1\n\n", [("ping", b"1")]),
    "named afterwards": (b"data: 1\nevent: ping\n\n", [("ping", b"1")]),
    "the last name counts": (b"event: a\nevent: b\ndata: 1\n\n", [("b", b"1")]),
    "an empty name is none": (b"event:\ndata: 1\n\n", [(None, b"1")]),
    "a name does not last": (b"event: a\ndata: 1\n\ndata: 2\n\n", [("a", b"1"), (None, b"2")]),
    "a name without data is no event": (b"event: a\n\ndata: 1\n\n", [(None, b"1")]),
    "id and retry": (b"id: 7\nretry: 100\ndata: 1\n\n", [(None, b"1")]),
    "comments": (b": ping\n\ndata: 1\n: more\ndata: 2\n\n:\n\n", [(None, b"1\n2")]),
    "unknown fields": (b"datas: 0\nfoo: 1\nbar\ndata: 1\n\n", [(None, b"1")]),
    "fields are case-sensitive": (b"Data: 0\ndata: 1\n\n", [(None, b"1")]),
    "blank data is no event": (b"data:\n\ndata: \n\ndata\n\ndata: 1\n\n", [(None, b"1")]),
    "many blank lines": (b"\n\n\n\ndata: 1\n\n\n\n\ndata: 2\n\n", [(None, b"1"), (None, b"2")]),
    "the last event is flushed": (b"data: 1\n\ndata: 2", [(None, b"1"), (None, b"2")]),
    "the last event is flushed behind its line end": (b"data: 1\n\ndata: 2\n", [(None, b"1"), (None, b"2")]),
    "nothing": (b"", []),
    "nul and bytes that are no UTF-8 pass": (b"data: \x00\xff\xfe\n\n", [(None, b"\x00\xff\xfe")]),
    "a colon in the data": (b"data: a: b\n\n", [(None, b"a: b")]),
    "json lines": (b'{"a":1}\n{"b":2}\n', [(None, b'{"a":1}'), (None, b'{"b":2}')]),
    "json lines with crlf": (b'{"a":1}\r\n{"b":2}\r\n', [(None, b'{"a":1}'), (None, b'{"b":2}')]),
    "the last json line without its end": (b'{"a":1}\n{"b":2}', [(None, b'{"a":1}'), (None, b'{"b":2}')]),
    "a plain JSON body over several lines": (b'{\n "a": 1\n}\n', [(None, b'{\n "a": 1\n}')]),
    "an error body pasted into a stream": (b'data: 1\n\n{"error":"x"}\n\ndata: 2\n\n', [(None, b"1"), (None, b'{"error":"x"}'), (None, b"2")]),
}


@pytest.mark.parametrize("name", CASES)
def test_framing(parser: Parser, name: str):
    body, want = CASES[name]
    assert parse(parser, body) == want


def test_offsets_are_those_of_the_first_line(parser: Parser):
    body = b": hello\n\nevent: a\ndata: 1\n\n\ndata: 2\r\n\r\ndata: 3"
    found = [(body[o:o + 5], d) for _n, d, o, _c in frames(parser, [body])]
    assert found == [(b"event", b"1"), (b"data:", b"2"), (b"data:", b"3")]


def test_offsets_count_the_mark(parser: Parser):
    assert frames(parser, [b"\xef\xbb\xbfdata: 1\n\n"])[0][2] == 3


def test_an_event_that_the_end_cuts_is_marked(parser: Parser):
    assert [c for _n, _d, _o, c in frames(parser, [b"data: 1\n\ndata: 2"])] == [False, True]


def test_memoryviews_and_bytearrays(parser: Parser):
    p = parser(BIG)
    got = [bytes(f[1]) for chunk in (memoryview(b"data: 1\n"), bytearray(b"\ndata: 2\n\n")) for f in p.receive(chunk)]
    assert got == [b"1", b"2"]


@pytest.mark.parametrize("chunk", [b'{"a":1}\n', b"data: 1\n\n", b"data: 1\r\n\r\n", b"data: 1\r\r"], ids=["json line", "lf", "crlf", "cr"])
def test_an_event_is_delivered_as_soon_as_it_is_whole(parser: Parser, chunk: bytes):
    """A live stream must not wait for its end, or for the next event."""
    p = parser(BIG)
    assert [len(list(p.receive(chunk))) for _ in range(3)] == [1, 1, 1]


def test_the_cap_counts_one_json_line_not_all(parser: Parser):
    assert len(frames(parser, [b'{"a":1}\n' * 10], 20)) == 10


@pytest.mark.parametrize("before", [b"", b"\n", b"\n\n", b"data: 0\n\n\n", b": ping\n\n\n", b"\xef\xbb\xbf\n"])
def test_an_event_is_given_with_its_last_byte(parser: Parser, before: bytes):
    """Whatever blank lines came before it."""
    event = b"event: ping\ndata: 1\n\n"
    for size in (1, 11, len(event)):
        p = parser(BIG)
        list(p.receive(before))
        given = [[f[1] for f in p.receive(event[i:i + size])] for i in range(0, len(event), size)]
        assert given == [[]] * (len(given) - 1) + [[b"1"]]


def test_the_number_of_events_is_counted(parser: Parser):
    p = parser(BIG)
    list(p.receive(b"data: 1\n\n: x\n\ndata: 2\n\ndata: 3"))
    list(p.end())
    assert p.events == 3


# ---------------------------------------------------------------- the size cap


@pytest.mark.parametrize("end", [b"\n\n", b"\r\n\r\n", b"\r\r", b""], ids=["lf", "crlf", "cr", "none"])
@pytest.mark.parametrize("size", range(40, 60, 3))
def test_the_cap_gives_one_verdict_at_every_split(parser: Parser, end: bytes, size: int):
    body = b"data: ok\n\ndata: " + b"x" * (size - 6) + end + b"data: after\n\n"
    whole = [d for _n, d in parse(parser, body, 50)]
    if end:
        assert whole == [b"ok", b"x" * (size - 6), b"after"] if size <= 50 else whole == [b"ok", None]


def test_nothing_is_parsed_behind_an_overflow(parser: Parser):
    p = parser(20)
    got = [f[1] for f in [*p.receive(b"data: " + b"x" * 40), *p.receive(b"\n\ndata: 1\n\n"), *p.end()]]
    assert got == [None]


def test_many_small_lines_make_one_large_event(parser: Parser):
    body = b"data: 123456\n" * 10 + b"\n"
    assert [d for _n, d in parse(parser, body, 60)] == [None]


def test_an_event_without_an_end_is_not_kept(parser: Parser):
    p = parser(1000)
    out = [f[1] for _ in range(100) for f in p.receive(b"x" * 100)]
    assert out == [None]


@pytest.mark.parametrize("body", [
    b"event:\ndata:  x\n\n2]\r", b"id: 3\ndata: 1\n\n\r\n", b"data: 1\ndata\n\n\n", b'{"a":1}\ndata:  x\n\n',
    b"\ndata\n2]\n{}\n\n", b":\n\n:\ndata:\ndata:  x\n",
])
@pytest.mark.parametrize("cap", [12, BIG])
def test_one_verdict_and_one_offset_for_what_the_soups_found(parser: Parser, body: bytes, cap: int):
    """Small bodies on which the short and the exact way, or the two implementations, once differed."""
    parse(parser, body, cap)
    assert frames(parser, [body], cap) == frames(SSEParser, [body], cap)


# ---------------------------------------------------------------- linear under any split


def cost(parser: Parser, size: int) -> float:
    """Seconds per byte for one event of `size` bytes in chunks of 64."""
    body = b"data: " + b"x" * size + b"\n\n"
    chunks = [body[i:i + 64] for i in range(0, len(body), 64)]
    best = 1e9
    for _ in range(3):
        p = parser(BIG)
        t = time.perf_counter()
        for chunk in chunks:
            for _frame in p.receive(chunk):
                pass
        best = min(best, time.perf_counter() - t)
    return best / size


def test_a_large_event_costs_no_more_per_byte(parser: Parser):
    """64 times the size: a quadratic search would cost 64 times as much per byte."""
    assert cost(parser, 4 << 20) < 8 * cost(parser, 64 << 10)


# ---------------------------------------------------------------- line soups

LINES = st.sampled_from([b"data: 1", b"data:", b"data", b"data:  x", b"event: ping", b"event:", b"id: 3", b"retry: 1", b": c", b":", b"", b"", b"",
                         b'{"a":1}', b'{"a":', b"}", b"[1,", b"2]", b"[DONE]", b"data: [DONE]", b"  data: 1", b"junk", b"\xef\xbb\xbf", b"dat", b"data: \xff"])
ENDS = st.sampled_from([b"\n", b"\n", b"\n", b"\r\n", b"\r", b"\n\n"])
SOUPS = st.lists(st.tuples(LINES, ENDS), max_size=14).map(lambda rows: b"".join(a + b for a, b in rows))


BODIES = st.tuples(st.sampled_from([b"", b"\xef\xbb\xbf"]), SOUPS, st.sampled_from([b"", b"data: 9", b"{", b"\r"])).map(b"".join)
CUTS = st.lists(st.integers(0, 200), max_size=6)


def agree(parser: Parser, body: bytes, cuts: list[int], cap: int) -> None:
    """Any split, either implementation: the same events."""
    whole = frames(parser, [body], cap)
    assert frames(parser, cut_at(body, cuts), cap) == whole, "cut"
    assert frames(parser, [body[i:i + 1] for i in range(len(body))], cap) == whole, "byte by byte"
    assert frames(SSEParser, [body], cap) == whole, "the Python implementation"
    offsets = [o for _n, _d, o, _c in whole]
    assert offsets == sorted(offsets), "offsets go forward"
    assert all(d is None or d.strip() for _n, d, _o, _c in whole), "no blank event"


@settings(max_examples=250)
@given(body=BODIES, cuts=CUTS)
def test_line_soups(parser: Parser, body: bytes, cuts: list[int]):  # R-26 R-52
    agree(parser, body, cuts, BIG)


@settings(max_examples=150)
@given(body=BODIES, cuts=CUTS, cap=st.integers(8, 30))
def test_line_soups_under_a_cap(parser: Parser, body: bytes, cuts: list[int], cap: int):
    agree(parser, body, cuts, cap)


def test_both_implementations_are_what_the_engines_use():
    assert _engine.PYTHON.framing is SSEParser
    assert _engine.COMPILED is None or _engine.COMPILED.framing is not SSEParser


def test_a_rest_over_the_limit_is_told_at_once(parser: Parser):
    """Behind complete events of the same chunk as well as alone."""
    p = parser(20)
    assert [f[1] for f in p.receive(b"data: 1\n\ndata: " + b"x" * 40)] == [b"1", None]
    p = parser(20)
    assert [f[1] for f in p.receive(b"data: " + b"x" * 40)] == [None]


LONG = [b"data: ", b"data:", b": ", b"event: ", b"junk", b'{"a":"', b"[", b"data: {\"a\":\""]


@pytest.mark.parametrize("seed", range(40))
def test_large_lines(parser: Parser, seed: int):
    """Lines that are most of what is carried are not kept twice: among small ones, at every kind of end, in several chunks."""
    rng = random.Random(seed)
    short = [b"data: 1", b"data: 2", b"event: ping", b": c", b"", b"", b"", b'{"a":1}', b"junk", b"]"]
    rows = []
    for _ in range(rng.randrange(3, 14)):
        line = rng.choice(short) if rng.random() < 0.7 else rng.choice(LONG) + b"x" * rng.choice([65500, 65540, 70_000, 200_000])
        rows.append(line + rng.choice([b"\n", b"\r\n", b"\r\n", b"\r"]))
    body = b"".join(rows)
    whole = frames(SSEParser, [body])
    for size in (3000, 65_536, 100_001, len(body)):
        assert frames(parser, [body[i:i + size] for i in range(0, len(body), size)]) == whole, f"chunks of {size}"
    cuts = sorted(rng.sample(range(len(body)), min(6, len(body) - 1)))
    assert frames(parser, cut_at(body, cuts)) == whole
    capped = frames(SSEParser, [body], 65_550)
    assert frames(parser, cut_at(body, cuts), 65_550) == capped
