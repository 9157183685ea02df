"""Four engines, one behaviour: the same outcome and the same events per feed, whatever tier takes a delta.

`python` is the reference: it is the code that `slow` runs behind compiled framing, and what `scan` and `compiled`
(see tests/test_template.py for their conditions) must not be told from.
"""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

import fsm
from benchmarks import data
from fsm.values import values
from helpers import CORPUS, chat, cut_at, deliveries, ended, tool
from tiers import disagreement, observe

CASES = sorted(p.stem for p in CORPUS.glob("*.json"))
STREAMS = [(dialect, flavour) for dialect in ("anthropic", "openai-chat") for flavour in ("ascii", "cjk", "escapes")]
MODES = ("chunk", "each", "none")


def load(name: str) -> tuple[bytes, dict[str, Any]]:
    return (CORPUS / f"{name}.sse").read_bytes(), json.loads((CORPUS / f"{name}.json").read_text())


@pytest.mark.parametrize("name", CASES)
def test_every_dirty_stream_at_every_delivery(tiers: tuple[str, ...], name: str):  # R-20 R-52
    body, case = load(name)
    for i, (how, chunks) in enumerate(deliveries(body, name, case.get("cuts"))):
        if how == "bytes" and len(body) > 1500:
            continue
        for deltas in ("chunk", "each") if how in ("whole", "events") else (MODES[i % 3],):
            assert disagreement(chunks, case["dialect"], tiers, tools=case.get("tools"), deltas=deltas, look=True) is None, f"fed {how}, deltas={deltas!r}"


@pytest.mark.parametrize("name", CASES)
def test_every_dirty_stream_cut_off(tiers: tuple[str, ...], name: str):  # R-32 R-52
    """Partial state, offsets and anomalies of a stream that breaks anywhere."""
    body, case = load(name)
    rng = random.Random(name)
    for n in sorted({rng.randrange(len(body)) for _ in range(12)}):
        chunks = cut_at(body[:n], [rng.randrange(n + 1)]) if n else [b""]
        assert disagreement(chunks, case["dialect"], tiers, tools=case.get("tools"), deltas=MODES[n % 3]) is None, f"cut off at byte {n}"


@pytest.mark.parametrize("name", CASES[::3])
def test_every_dirty_stream_with_other_line_ends(tiers: tuple[str, ...], name: str):
    body, case = load(name)
    for ends in (b"\r\n", b"\r"):
        other = body.replace(b"\r\n", b"\n").replace(b"\n", ends)
        for chunks in ([other], cut_at(other, list(range(0, len(other), 101)))):
            assert disagreement(chunks, case["dialect"], tiers, tools=case.get("tools")) is None, f"lines end with {ends!r}, {len(chunks)} chunks"


@pytest.mark.parametrize("ends", [b"\n", b"\r\n", b"\r"], ids=["lf", "crlf", "cr"])
@pytest.mark.parametrize("dialect", ["anthropic", "openai-chat", "openai-responses", "gemini"])
def test_large_events_among_small_ones(tiers: tuple[str, ...], dialect: str, ends: bytes):
    """What is carried of a large event is handed on, given back or forgotten; what follows goes on as before."""
    stream = data.text(dialect, ["a", "b" * 70_000, "é", "c" * 200_000, "d", "e", "f", "é" * 40_000, "g" * 66_000])
    body = stream.body.replace(b"\r\n", b"\n").replace(b"\n", ends)
    for size in (3000, 70_000, len(body)):
        chunks = [body[i:i + size] for i in range(0, len(body), size)]
        assert disagreement(chunks, dialect, tiers, deltas="none" if size == 3000 else "chunk") is None, f"in pieces of {size}"
        assert observe("compiled", chunks, dialect)["outcome"]["message"]["content"] == stream.content


LONG = "x" * 40_000
ARGUMENTS = {
    "plain": f'{{"a":"{LONG}","b":"{LONG}"}}', "blanks": f' {{"a": "{LONG}",\n"b": "{LONG}"}} ', "wide": f'{{"a":"{LONG}é状😀","b":"{LONG}"}}',
    "cut": f'{{"a":"{LONG}","b":"{LONG}', "twice": f'{{"a":"{LONG}"}}' * 2, "control": f'{{"a":"{LONG}\n","b":"{LONG}"}}',
    "half a pair": f'{{"a":"{LONG}\\ud83d","b":"{LONG}"}}', "array": f'["{LONG}","{LONG}"]', "deep": f'{{"a":"{LONG * 2}","b":{"[" * 300}{"]" * 300}}}',
    "long number": f'{{"a":"{LONG * 2}","b":12345678901234567890123}}', "too large a number": f'{{"a":"{LONG * 2}","b":1e999}}',
}


@pytest.mark.parametrize("name", ARGUMENTS)
@pytest.mark.parametrize("deltas", MODES)
def test_large_arguments(tiers: tuple[str, ...], name: str, deltas: str):
    """They are read from bytes where they are plain; whatever they are, the verdict is that of a small text, and their text is not lost."""
    text = ARGUMENTS[name]
    for end in ([], [tool(0, args=" ")], [tool(1, "u", "Y", {"c": 1})], [tool(0, "t", "X", args=text)]):
        body = chat(tool(0, "t", "X"), *[tool(0, args=text[i:i + 30_000]) for i in range(0, len(text), 30_000)], *end, finish="tool_calls")
        chunks = [body[i:i + 50_000] for i in range(0, len(body), 50_000)]
        assert disagreement(chunks, "openai-chat", tiers, deltas=deltas, look=True, limits=fsm.Limits(depth=256)) is None
        call = observe("compiled", chunks, "openai-chat", deltas=deltas)["outcome"]["message"]["content"][0]
        assert ("invalid" in call) == (name in ("cut", "array", "deep", "too large a number")), call.get("invalid")
        assert "invalid" not in call or call["raw_input"].startswith(text)


@pytest.mark.parametrize("size", [1, 5000, 100_000])
@pytest.mark.parametrize("deltas", MODES)
def test_deltas_behind_an_object(tiers: tuple[str, ...], size: int, deltas: str):
    """What came as an object is text as soon as text is added to it."""
    for value in ({"a": "x" * size}, {"a": "é" * size, "b": 1e-7}):
        body = chat(tool(0, "t", "X", value), *[tool(0, args=" ") for _ in range(9)], tool(0, args="!"), tool(0, args="!"), finish="tool_calls")
        for chunks in ([body], cut_at(body, list(range(0, len(body), 3000)))):
            assert disagreement(chunks, "openai-chat", tiers, deltas=deltas, look=True) is None
            call, = observe("compiled", chunks, "openai-chat", deltas=deltas)["outcome"]["message"]["content"]
            assert call["raw_input"] == values.compact(value) + " " * 9 + "!!"


@pytest.mark.parametrize("deltas", MODES)
@pytest.mark.parametrize(("dialect", "flavour"), STREAMS)
def test_generated_streams(tiers: tuple[str, ...], dialect: str, flavour: str, deltas: str):
    stream = data.make(dialect, 200, flavour)
    for size in (None, 4096, 61, len(stream.body)):
        assert disagreement(stream.chunks(size), stream.dialect, tiers, deltas=deltas, look=True) is None, f"in pieces of {size}"
    got = observe("compiled", stream.chunks(4096), stream.dialect, deltas=deltas)
    assert got["outcome"]["message"]["content"] == stream.content, "and it is the content that was put in"


@pytest.mark.parametrize("dialect", ["anthropic", "openai-chat"])
def test_a_long_stream_with_other_line_ends(tiers: tuple[str, ...], dialect: str):
    """Longer than what the exact way keeps before it moves the rest, also in the middle of an event."""
    body = data.make(dialect, 1500, "escapes").body.replace(b"\n", b"\r\n")
    assert len(body) > 200_000
    for size in (777, 4096, 70_000, len(body)):
        chunks = [body[i:i + size] for i in range(0, len(body), size)]
        assert disagreement(chunks, dialect, tiers, deltas="chunk") is None, f"in pieces of {size}"


@pytest.mark.parametrize(("dialect", "flavour"), STREAMS)
def test_generated_streams_cut_off(tiers: tuple[str, ...], dialect: str, flavour: str):
    stream = data.make(dialect, 40, flavour)
    rng = random.Random(f"{dialect}{flavour}")
    for n in sorted(rng.randrange(len(stream.body)) for _ in range(40)):
        chunks = cut_at(stream.body[:n], list(range(0, n, 1024)))
        assert disagreement(chunks, "auto", tiers, deltas=MODES[n % 3]) is None, f"cut off at byte {n}"


@pytest.mark.parametrize("cut", ["end", "cancel", "tick", "push"])
@pytest.mark.parametrize("dialect", ["anthropic", "openai-chat"])
def test_interruptions_between_feeds(tiers: tuple[str, ...], dialect: str, cut: str):
    """Whatever is done by hand between two feeds is seen by the next delta, on whatever tier."""
    stream = data.make(dialect, 40, "escapes")
    seen = []
    for engine in tiers:
        r = fsm.Reconstructor(dialect, engine=engine, deltas="each")
        told = []
        for i, chunk in enumerate(stream.chunks(None)):
            told.append(r.feed(chunk))
            if i == 15:
                if cut == "cancel":
                    told.append(r.cancel("no"))
                elif cut == "tick":
                    r.tick(0.0)
                    told.append(r.tick(1e6))
                elif cut == "push":
                    told.append(r.push({"type": "thinking_delta", "text": "by hand"}))
                    told.append(r.push({"type": "tool_use_start", "index": 1, "id": "x", "name": "by_hand"}))
                else:
                    break
        last = str(r.end())
        seen.append((str(told), r.outcome.to_dict() | {"metrics": None}, last))
    for engine, other in zip(tiers[1:], seen[1:], strict=True):
        assert other == seen[0], f"{engine} differs"


def test_what_feed_returns_is_the_callers(tiers: tuple[str, ...]):
    """Empty or not, a list that was kept or written into is nobody else's."""
    chunks = data.make("anthropic", 40).chunks(None)
    for engine in tiers:
        for deltas in MODES:
            kept = []
            one, other = (fsm.Reconstructor("anthropic", engine=engine, deltas=deltas) for _ in range(2))
            for chunk in chunks:
                mine = one.feed(chunk)
                size = len(mine)
                theirs = other.feed(chunk)
                assert len(theirs) == size
                assert theirs is not mine
                kept.append(theirs)
                mine.append("scribbled")
                del mine
                other.feed(b"").append("scribbled")
            assert not any("scribbled" in told for told in kept), f"{engine}, {deltas}"
            assert len({id(told) for told in kept}) == len(kept), f"{engine}, {deltas}"


def test_the_fast_path_takes_the_deltas(tiers: tuple[str, ...]):
    """Else everything above would compare Python with Python."""
    stream = data.make("anthropic", 200)
    for engine in tiers:
        r = fsm.Reconstructor(engine=engine)
        r.feed(stream.body)
        assert ended(r).completed
        assert (r._framing.appended >= 190) == (engine in ("scan", "compiled")), f"{engine}: {r._framing.appended}"
