"""Linear everywhere: the cost per byte of a large stream is that of a small one, under any split.

Ratios of two measurements in the same run, the better of several, with a margin of 3 where 1.3 is expected: a quadratic step
shows as a factor of the size ratio, which is 8 and more.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import pytest

import fsm
from fsm.framing.sse import SSEParser
from helpers import a_text, a_tool, anthropic, chat, ended, tool
from tiers import TIERS

FACTOR = 3.0
LIMITS = fsm.Limits(content_bytes=1 << 26, event_bytes=1 << 26)
#: how much smaller everything is for the engines that run Python per delta or per byte
SHRINK = {"python": 8, "slow": 8, "scan": 1, "compiled": 1}


def pieces(data: bytes, size: int) -> list[bytes]:
    return [data[i:i + size] for i in range(0, len(data), size)]


def per_byte(make: Callable[[int], list[bytes]], size: int, engine: str, rounds: int, deltas: str) -> float:
    """Seconds of processor time per byte of the whole run of a stream of `size`, the best of `rounds`."""
    chunks = make(size)
    best = float("inf")
    for _ in range(rounds):
        begin = time.process_time()
        r = fsm.Reconstructor(engine=engine, limits=LIMITS, deltas=deltas)
        for chunk in chunks:
            r.feed(chunk)
        outcome = ended(r)
        best = min(best, time.process_time() - begin)
        assert outcome.completed, outcome
    return best / sum(map(len, chunks))


def assert_linear(make: Callable[[int], list[bytes]], size: int, engine: str, ratio: int = 8, deltas: str = "chunk") -> None:
    """`make(size)` costs per byte what `make(size / ratio)` costs; measured again before it is called a failure."""
    size //= SHRINK[engine]
    for _attempt in range(3):
        small = per_byte(make, size // ratio, engine, 5, deltas)
        large = per_byte(make, size, engine, 2, deltas)
        if large <= FACTOR * small:
            return
    pytest.fail(f"{engine}: {large * 1e9:.1f} ns per byte for size {size}, {small * 1e9:.1f} for an eighth of it")


@pytest.fixture(params=TIERS)
def any_engine(request: pytest.FixtureRequest, tiers: tuple[str, ...]) -> str:
    return request.param


def argument_anthropic(size: int) -> list[bytes]:
    text = json.dumps({"path": "a", "content": "x" * size})
    return [anthropic(*a_tool(0, "t", "f", *[text[i:i + 12] for i in range(0, len(text), 12)]), stop="tool_use")]


def argument_chat(size: int) -> list[bytes]:
    text = json.dumps({"path": "a", "content": "x" * size})
    return [chat(tool(0, "t", "f", ""), *[tool(0, args=text[i:i + 12]) for i in range(0, len(text), 12)], finish="tool_calls")]


def one_character(size: int) -> list[bytes]:
    return pieces(anthropic(*a_text(0, *["x"] * size)), 4096)


def one_event(size: int) -> list[bytes]:
    return pieces(anthropic(*a_text(0, "x" * size)), 64)


def one_byte(size: int) -> list[bytes]:
    return pieces(anthropic(*a_text(0, *["word "] * (size // 130))), 1)


@pytest.mark.parametrize("make", [argument_anthropic, argument_chat])
def test_a_megabyte_of_arguments_in_short_deltas(any_engine: str, make: Callable[[int], list[bytes]]):
    assert_linear(make, 1 << 20, any_engine)


def test_a_megabyte_of_arguments_told_one_by_one(any_engine: str):
    assert_linear(argument_anthropic, 1 << 19, any_engine, deltas="each")


def test_deltas_of_one_character(any_engine: str):
    assert_linear(one_character, 120_000, any_engine)


def test_one_event_in_small_chunks(any_engine: str):
    assert_linear(one_event, 8 << 20, any_engine)


def test_one_byte_per_chunk(any_engine: str):
    assert_linear(one_byte, 1 << 20, any_engine)


def test_one_byte_per_chunk_with_carriage_returns(any_engine: str):
    assert_linear(lambda size: pieces(b"".join(one_byte(size)).replace(b"\n", b"\r\n"), 1), 1 << 18, any_engine)


def test_a_template_that_never_quite_matches(tiers: tuple[str, ...]):
    """Long text in front of a literal that differs each time: the text is lexed twice, not more."""
    def make(size: int) -> list[bytes]:
        said = {"content": "x" * 4000}
        deltas = [{**said, "role": "assistant"} if i % 2 else {"role": "assistant", **said} for i in range(size // 4000)]
        return [chat(*deltas)]

    assert_linear(make, 4 << 20, "compiled")


@pytest.mark.parametrize("lead", [b": ", b"id: ", b"{"])
def test_look_alikes_of_a_payload_cost_little(tiers: tuple[str, ...], lead: bytes):
    """An event in the exact way whose comment is full of beginnings of its payload: finding the payload again is not quadratic."""
    def make(size: int) -> list[bytes]:
        payload = b'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"' + b"{" * size + b'"}}'
        event = lead.replace(b"{", b": {") + b"{" * size + b"\r\ndata: " + payload + b"\r\n\r\n"
        begin, end = anthropic(*a_text(0, "a", stop=False), end=False), anthropic().split(b"\n\n", 1)[1]
        return [begin.replace(b"\n", b"\r\n") + event + end.replace(b"\n", b"\r\n")]

    assert_linear(make, 1 << 21, "compiled")


@pytest.mark.parametrize("twin", ["python", "compiled"])
def test_framing_alone(tiers: tuple[str, ...], twin: str):
    from fsm import _engine

    parser = SSEParser if twin == "python" else _engine.engine("compiled").framing

    def seconds(size: int) -> float:
        chunks, best = pieces(b"data: " + b"x" * size + b"\n\n", 64), float("inf")
        for _ in range(5):
            begin = time.process_time()
            p = parser(1 << 30)
            assert sum(1 for chunk in chunks for _ in p.receive(chunk)) == 1
            best = min(best, time.process_time() - begin)
        return best / size

    assert any(seconds(1 << 21) <= FACTOR * seconds(1 << 18) for _attempt in range(3))
