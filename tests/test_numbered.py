"""Events that the wire numbers, items with parts: what the compiled core may take of them, on all tiers.

The memory of numbered events has a twin in each engine; the short cut may take only an event whose number is the
highest so far, and must remember what it took, so that its repetition is known (R-39, rule 16).
"""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fsm
from fsm import _engine
from fsm.dialects import repeats
from helpers import cut_at, frame
from tiers import disagreement, observe

ADDED = frame({"type": "response.output_item.added", "sequence_number": 1, "output_index": 0, "item": {"id": "m", "type": "message"}})
END = frame({"type": "response.completed", "response": {"status": "completed"}})


def begun(*places: tuple[int, int]) -> bytes:
    return b"".join(frame({"type": "response.content_part.added", "output_index": o, "content_index": c, "part": {"type": "output_text", "text": ""}})
                    for o, c in places)


def delta(text: str, number: Any = None, place: tuple[Any, Any] = (0, 0), word: str = "output_text", key: str = "content_index", **more: Any) -> bytes:
    payload = {"type": f"response.{word}.delta", "sequence_number": number, "item_id": "m", "output_index": place[0], key: place[1], "delta": text, **more}
    return frame({k: v for k, v in payload.items() if v is not None}, payload["type"])


#: behind these the block's buffer has room, so that hits are copied there in one run
ROOMY = [delta("x" * 100, 3 + i) for i in range(12)]


def agree(tiers: tuple[str, ...], parts: list[bytes], **options: Any) -> dict[str, Any]:
    """The outcome of the events, the same on all tiers, whole, one by one, and in pieces."""
    body = b"".join(parts)
    ways = ([body], "each"), (parts, "none"), ([body[i:i + 61] for i in range(0, len(body), 61)], "chunk"), ([body.replace(b"\n", b"\r\n")], "each")
    for chunks, deltas in ways:
        assert disagreement(chunks, "openai-responses", tiers, deltas=deltas, **options) is None
    return observe("compiled", [body], "openai-responses")["outcome"]


def appended(engine: str, parts: list[bytes]) -> int:
    r = fsm.Reconstructor("openai-responses", engine=engine)
    r.feed(b"".join(parts))
    r.end()
    return r._framing.appended


# ---------------------------------------------------------------- the memory


@given(st.lists(st.tuples(st.integers(1, 4) | st.just(10**30), st.sampled_from([b"a", b"b", b"c", b"d", b"e", b"f"])), max_size=30))
def test_the_memories_are_twins(tiers: tuple[str, ...], events: list[tuple[int, bytes]]):
    slow, fast = repeats.Recent(), _engine.engine("compiled").recent()
    for number, data in events:
        data = b"%d%b" % (number, data)
        assert slow.again(number, data) == fast.again(number, data)
        assert min(slow.top, 1 << 62) == fast.top


@pytest.mark.parametrize("size", [repeats.LONGEST - 1, repeats.LONGEST, repeats.LONGEST + 1])
def test_a_long_payload_is_not_remembered(engine: str, size: int):
    memory = _engine.engine(engine).recent()
    assert [memory.again(1, b"x" * size), memory.again(1, b"x" * size)] == [False, size <= repeats.LONGEST]


def test_only_the_last_few_are_remembered(engine: str):
    memory = _engine.engine(engine).recent()
    for n in range(repeats.KEPT + 1):
        assert not memory.again(n + 1, b"%d" % n)
    assert [memory.again(2, b"1"), memory.again(1, b"0")] == [True, False]


# ---------------------------------------------------------------- the short cut and the memory


@pytest.mark.parametrize("back", range(1, repeats.KEPT + 2))
@pytest.mark.parametrize("length", [1, 2, 3, 4, 12])
@pytest.mark.parametrize("before", [[], ROOMY])
def test_what_the_short_cut_took_is_known_again(tiers: tuple[str, ...], before: list[bytes], length: int, back: int):
    """The last events are sent once more, also where template and scanner had taken them."""
    said = [delta(f"w{i} ", 20 + i) for i in range(length)]
    got = agree(tiers, [ADDED, begun((0, 0)), *before, *said, *said[-back:], delta("end", 50), END])
    repeated = min(back, length)
    want = "x" * 100 * len(before) + "".join(f"w{i} " for i in range(length))
    want += ("".join(f"w{i} " for i in range(length - repeated, length)) if repeated > repeats.KEPT else "") + "end"
    assert got["message"]["content"][0]["text"] == want
    assert got["counts"].get("duplicate_event", 0) == (repeated if repeated <= repeats.KEPT else 0)


@given(seed=st.integers(0, 10_000), steps=st.lists(st.sampled_from([1, 1, 1, 1, 0, -1, -3, 2, 1000]), min_size=5, max_size=40), start=st.integers(-1, 4))
@settings(max_examples=60)
def test_any_numbers(tiers: tuple[str, ...], seed: int, steps: list[int], start: int):
    """Numbers that stand still, go back, or jump: nothing but an exact repetition is dropped, on any tier."""
    rng = random.Random(seed)
    number, parts, text = start, [ADDED, begun((0, 0))], ""
    for step in steps:
        if rng.random() < 0.15 and len(parts) > 2:
            parts.append(parts[-1])
            continue
        number += step
        parts.append(delta(rng.choice("ab"), number))
    seen: list[bytes] = []
    for part in parts[2:]:
        data = part[part.index(b"data: "):]
        n = int(data.split(b'"sequence_number": ')[1].split(b",")[0])
        if n > 0:
            if data in seen[-repeats.KEPT:]:
                continue
            seen.append(data)
        text += data.split(b'"delta": "')[1][:1].decode()
    assert agree(tiers, [*parts, END])["message"]["content"][0]["text"] == text


@pytest.mark.parametrize("numbers", [["2", "2"], [2.0, 2.0], [True, True], [None, None], [-4, -4], [0, 0], [10**9, 10**9 + 1], [10**25, 10**25 + 1]])
def test_numbers_that_do_not_count(tiers: tuple[str, ...], numbers: list[Any]):
    said = [delta("a", 5), delta("a", 6), delta("a", 7)]
    got = agree(tiers, [ADDED, begun((0, 0)), *said, *[delta("b", n) for n in numbers], delta("c", 9), END])
    assert got["message"]["content"][0]["text"] == "aaabbc"


def test_numbers_within_one_run_of_hits(tiers: tuple[str, ...]):
    """An event is sent twice in a row, or once more after one, two, ... others; and a number goes back to another text."""
    words = [delta(f"w{i} ", 20 + i) for i in range(8)]
    for back in range(1, 7):
        got = agree(tiers, [ADDED, begun((0, 0)), *ROOMY, *words[:back], words[0], *words[back:], END])
        again = "w0 " if back > repeats.KEPT else ""
        assert got["message"]["content"][0]["text"][1200:] == "".join(f"w{i} " for i in range(back)) + again + "".join(f"w{i} " for i in range(back, 8))
        got = agree(tiers, [ADDED, begun((0, 0)), *ROOMY, *words[:back], delta("other ", 20), *words[back:], END])
        assert got["message"]["content"][0]["text"].count("other ") == 1


def test_a_number_that_stands_still_is_in_no_template(tiers: tuple[str, ...]):
    """Equal numbers are literal bytes of a template, and still say that the event may be one just seen."""
    parts = [ADDED, begun((0, 0)), *[delta(t, 5) for t in "abcabc"], END]
    got = agree(tiers, parts)
    assert got["message"]["content"][0]["text"] == "abc"
    assert appended("compiled", parts) <= 1


def test_the_short_cut_takes_numbered_events(tiers: tuple[str, ...]):
    parts = [ADDED, begun((0, 0)), *[delta("a", 3 + i) for i in range(100)], END]
    assert [appended(engine, parts) >= 97 for engine in tiers] == [False, False, True, True]
    parts = [ADDED, begun((0, 0)), *[delta("a") for i in range(100)], END]  # not numbered at all
    assert appended("compiled", parts) >= 97


# ---------------------------------------------------------------- addresses and parts


@given(st.lists(st.tuples(st.sampled_from([0, 1, 2]), st.sampled_from([0, 1, 2]), st.sampled_from(["output_text", "reasoning_text", "refusal"])),
                min_size=4, max_size=30))
@settings(max_examples=25)
def test_interleaved_items_and_parts(tiers: tuple[str, ...], order: list[tuple[int, int, str]]):
    """Parts of several items take turns; nothing is spliced, and the blocks stand in the order of the output."""
    parts, want = [], {}
    for n, (o, c, word) in enumerate(order):
        c += 10 * ["output_text", "reasoning_text", "refusal"].index(word)
        parts.append(delta(f"{n} ", n + 1, (o, c), word))
        want[o, c] = want.get((o, c), "") + f"{n} "
    got = agree(tiers, [*parts, END])["message"]["content"]
    assert [b.get("text") or b.get("thinking") or b.get("refusal") for b in got] == [want[k] for k in sorted(want)]


@pytest.mark.parametrize("place", [(0, 498), (0, 499), (0, 500), (0, 10**8), (0, -1), (0, None), (0, "1"), (0, 1.0), (0, True), (1000001, 0), (10**8, 3),
                                   (10**12, 0), ("0", 0), (0.0, 0), (-1, 0), (None, 0), (True, 0)])
def test_odd_places(tiers: tuple[str, ...], place: tuple[Any, Any]):
    """Whatever an index may be, every tier takes it for the same."""
    for word, key in (("output_text", "content_index"), ("reasoning_summary_text", "summary_index"), ("reasoning_text", "content_index"),
                      ("output_text", "summary_index"), ("reasoning_text", "summary_index"), ("reasoning_summary_text", "content_index")):
        parts = [ADDED, begun((0, 0), (0, 1)), *[delta("x", 10 + i, (0, i % 2), word, key) for i in range(6)]]
        parts += [delta("y", 20 + i, place, word, key) for i in range(4)]
        parts += [delta("z", 30 + i, (0, 1), word, key) for i in range(3)]
        assert agree(tiers, [*parts, END])["state"] == "COMPLETED"


def test_both_kinds_of_part_in_one_event(tiers: tuple[str, ...]):
    """Its own kind of index counts, whichever comes last; the blocks of both are there."""
    parts = [delta("s", 1 + i, (0, 0), "reasoning_summary_text", "summary_index") for i in range(3)]
    parts += [delta("t", 10 + i, (0, 0), "reasoning_text", summary_index=0) for i in range(3)]
    parts += [delta("s", 20 + i, (0, 0), "reasoning_summary_text", "summary_index", content_index=0) for i in range(3)]
    got = agree(tiers, [*parts, END])
    assert [b["thinking"] for b in got["message"]["content"]] == ["ssssss", "ttt"]


def test_an_event_without_its_items_index(tiers: tuple[str, ...]):
    """The item's id says which call it is for, and that is not the call in hand."""
    parts = [frame({"type": "response.output_item.added", "output_index": i, "item": {"id": f"i{i}", "type": "function_call", "call_id": f"c{i}", "name": "f"}})
             for i in range(2)]
    for i, piece in enumerate(['{"a":', "1", "}"]):
        for j in range(2):
            parts += [frame({"type": "response.function_call_arguments.delta", **({} if i else {"output_index": j}), "item_id": f"i{j}", "delta": piece})]
    got = agree(tiers, [*parts, END])
    assert [b.get("input") for b in got["message"]["content"]] == [{"a": 1}, {"a": 1}]


def test_more_items_than_are_remembered(tiers: tuple[str, ...]):
    """An item that was forgotten is known again to the tiers at the same moment."""
    rng = random.Random(3)
    parts = []
    for i in range(70):
        parts.append(frame({"type": "response.output_item.added", "output_index": i, "item": {"id": f"i{i}", "type": "message"}}))
        parts += [delta("a", None, (i, 1)) for _ in range(3)]
    parts += [delta("b", None, (rng.randrange(70), 1)) for _ in range(60)]
    parts += [frame({"type": "response.output_item.done", "output_index": i, "item": {"type": "message", "content": [{"type": "output_text", "text": "aaa"}]}})
              for i in (0, 1, 2, 69)]
    body = b"".join([*parts, END])
    for chunks in ([body], cut_at(body, list(range(0, len(body), 997)))):
        assert disagreement(chunks, "openai-responses", tiers, deltas="none") is None
