"""Block buffers: the twins in `fsm/rebuild/buffer.py` and `_speedups/buffer.pxi` do the same with whatever they are given."""

from __future__ import annotations

import random
from typing import Any

import pytest

import fsm._engine
from fsm.rebuild.buffer import Buffer
from fsm.parts import Meter
from fsm.values.values import ValueText

PIECES = ["", "x", "é", "漢字", "🎈", "\ud83d", "\ude00", "\0", '{"a": 1}']
SIZES = [0, 1, 2, 31, 95, 96, 97, 500, 4095, 4096, 4097, 9000]  # about where room is made, and where a text is kept as it is


@pytest.fixture
def made(tiers: tuple[str, ...]) -> Any:
    """A compiled buffer and its twin, each with a meter of its own."""
    compiled, twin = Meter(), Meter()
    return fsm._engine.speedups.Buffer(compiled), Buffer(twin), compiled, twin


def some(rng: random.Random) -> str:
    kind = rng.random()
    if kind < 0.3:
        return rng.choice(PIECES)
    return rng.choice(["x", "ab", "é", "字", "🎈"] if kind < 0.5 else ["x", "ab"]) * rng.choice(SIZES)


@pytest.mark.parametrize("seed", range(200))
def test_the_twins_agree(made: Any, seed: int) -> None:
    """Whatever is added and read in between; a text that was given is never written to."""
    rng = random.Random(seed)
    ours, theirs, meter, twin = made
    given, copies, seen, copies_seen = [], [], [], []
    for _ in range(rng.randrange(1, 12)):
        what = rng.randrange(9)
        if what < 5:
            said = some(rng)
            piece = ValueText({"a": said, "b": [1e-7, {}]}) if rng.random() < 0.2 else said
            text = str(piece)
            given.append(text)
            copies.append(text.encode("utf-8", "surrogatepass"))
            ours.append(piece)
            theirs.append(piece)
        elif what == 5:
            final = rng.random() < 0.3
            assert ours.unseen(final) == theirs.unseen(final)
        elif what == 6:
            start = rng.randrange(len(theirs) + 2)
            end = rng.choice([None, start + rng.randrange(9)])
            assert ours.tail(start, end) == theirs.tail(start, end)
        elif what == 7:
            assert ours.octets() == theirs.octets()
        elif rng.random() < 0.5:
            seen.append(ours.text())
            copies_seen.append(theirs.text())
        elif rng.random() < 0.3:
            ours.drop()
            theirs.drop()
        assert len(ours) == len(theirs)
        assert ours.odd == theirs.odd
        assert ours.given is theirs.given
        assert meter.used == twin.used
        if rng.random() < 0.3:
            assert ours.text() == theirs.text()
    text = theirs.take()
    assert ours.take() == text
    assert len(ours) == len(theirs) == 0
    assert ours.text() == theirs.text() == ""
    assert [text.encode("utf-8", "surrogatepass") for text in given] == copies
    assert seen == copies_seen


def test_a_large_text_is_kept_as_it_is(made: Any) -> None:
    """And what is added behind it is not written into what somebody else has."""
    buffer = made[0]
    text = "x" * 10_000
    buffer.append(text)
    seen = buffer.text()
    buffer.append("y")
    assert text == seen == "x" * 10_000
    assert buffer.text() == buffer.take() == text + "y"
    buffer.append(text)
    assert buffer.take() is text


def test_what_was_taken_is_out_of_reach(made: Any) -> None:
    """The text of a block was its buffer: what the buffer is used for afterwards is another."""
    buffer = made[0]
    buffer.append("abc")
    text = buffer.take()
    buffer.append("z" * 50)
    buffer.append("z" * 500)
    assert text == "abc"
    assert hash(text) == hash("abc")
    assert buffer.take() == "z" * 550


def test_the_text_has_its_own_length_only(made: Any) -> None:
    """Room behind the last byte is no part of the string."""
    for n in (1, 5, 95, 96, 97, 400, 5000):
        buffer = made[0]
        for _ in range(n):
            buffer.append("a")
        text = buffer.take()
        assert text == "a" * n
        assert text.encode() == b"a" * n
        assert not text.partition("a" * n)[2]
