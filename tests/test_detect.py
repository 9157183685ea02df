"""`auto`: the dialect is found in every stream that we have, wherever it is cut, in whatever order its keys come, whatever comes before."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fsm
from benchmarks import data
from fsm.dialects import DIALECTS, detect
from helpers import CORPUS, SHARED, cut_at, frame, lines, run, text
from shared_score import ours_of, score
from test_cohere import content as cohere_content, stream as cohere_stream
from test_gemini_interactions import step, stream as interactions_stream, text as interactions_text
from test_ollama import END as OLLAMA_END, body as ollama_body, line as ollama_line

#: a clean stream of each dialect
CLEAN: dict[str, bytes] = {dialect: data.make(dialect, 8).body for dialect in data.DIALECTS}
CLEAN |= {
    "canonical": lines([text("a"), text("b"), text("c"), text("d"), {"type": "message_stop"}]),
    "cohere": cohere_stream(cohere_content(0, "text", "a")),
    "ollama": ollama_body(ollama_line("a"), OLLAMA_END),
    "gemini-interactions": interactions_stream(step(0, "model_output", interactions_text("a"))),
    "bedrock-converse": b"".join(json.dumps(e).encode() + b"\n" for e in (
        {"messageStart": {"role": "assistant", "p": "ab"}}, {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "a"}}},
        {"messageStop": {"stopReason": "end_turn"}}, {"metadata": {"usage": {"inputTokens": 1}}})),
    "dsh": lines([{"type": "text-delta", "index": 0, "text": "a"}, {"type": "finish", "reason": {"kind": "stop"}}]),
}
DIRTY = {path.stem: (json.loads(path.read_text())["dialect"], path.with_suffix(".sse").read_bytes()) for path in sorted(CORPUS.glob("*.json"))}
#: bodies that are in no dialect at all
NOBODY = {"openai_html_body"}
PUBLIC = {name: (ours, body) for name, body, dialect, _e in (score.corpus_cases(SHARED / "corpus") if score else ())
          if (ours := ours_of(name, dialect)) in DIALECTS}


def found(engine: str, *chunks: bytes) -> str:
    r = fsm.Reconstructor(engine=engine)
    for chunk in chunks:
        r.feed(chunk)
    r.end()
    return r.dialect


def test_there_is_a_stream_of_each_dialect():
    assert CLEAN.keys() == DIALECTS.keys()


@pytest.mark.parametrize("name", DIRTY)
def test_dirty_stream(engine: str, name: str):
    dialect, body = DIRTY[name]
    assert found(engine, body) == ("auto" if name in NOBODY else dialect)


@pytest.mark.parametrize("dialect", CLEAN)
def test_every_split_of_the_first_bytes(engine: str, dialect: str):
    body = CLEAN[dialect]
    assert {found(engine, body[:k], body[k:]) for k in range(min(len(body), 301))} == {dialect}


@pytest.mark.parametrize("name", DIRTY)
def test_splits_of_dirty_streams(engine: str, name: str):
    """Some twenty of the first three hundred places each, others for each stream."""
    dialect, body = DIRTY[name]
    places = random.Random(name).sample(range(1, max(2, min(len(body), 300))), k=min(20, max(1, min(len(body), 300) - 1)))
    assert {found(engine, body[:k], body[k:]) for k in places} == {"auto" if name in NOBODY else dialect}


def test_public_streams_wherever_they_are_cut(engine: str):
    wrong = {}
    for name, (dialect, body) in PUBLIC.items():
        head = body if name.endswith(".ndjson") or body[:1] in (b"[", b"{") else b"".join(e + b"\n\n" for e in body.replace(b"\r\n", b"\n").split(b"\n\n")[:8])
        for k in (0, *random.Random(name).sample(range(1, 300), k=12)):
            if (got := found(engine, head[:k], head[k:])) != dialect:
                wrong[name] = (k, got)
    assert not wrong


@pytest.mark.parametrize("dialect", [d for d in CLEAN if d not in ("canonical", "ollama", "dsh", "bedrock-converse")])
@pytest.mark.parametrize("before", [
    b": hello\n\n", b":\n\n:\n\n", b"event: ping\ndata: {\"type\": \"ping\"}\n\n", b"data:\n\n", b"data: {}\n\n", b"data: []\n\n", b"data: null\n\n",
    b"event: keepalive\ndata: {\"type\": \"keepalive\"}\n\n",
    b"id: 7\nretry: 10\n\n", b"data: : keepalive\n\n", b"\n\n\n", b"\xef\xbb\xbf", b"data: {\"type\": null}\n\n"])
def test_what_tells_nothing_comes_first(engine: str, dialect: str, before: bytes):
    body = before + CLEAN[dialect]
    for chunks in ([body], cut_at(body, [1, len(before), len(before) + 7]), [body[i:i + 1] for i in range(len(body))]):
        assert found(engine, *chunks) == dialect


FIRST_ERRORS = [
    ("anthropic", {"type": "error", "error": {"type": "overloaded_error", "message": "no"}}),
    ("openai-chat", {"error": {"message": "no", "type": "server_error", "code": None}}), ("openai-chat", {"error": {"message": "no", "code": 429}}),
    ("openai-responses", {"type": "error", "code": "rate_limit_exceeded", "message": "no", "param": None, "sequence_number": 2}),
    ("openai-responses", {"type": "error", "sequence_number": 2, "error": {"type": "server_error", "code": "x", "message": "no"}}),
    ("openai-responses", {"type": "error", "code": "x", "message": "no"}),
    ("canonical", {"type": "error", "kind": "overloaded", "message": "no"}),
    ("gemini", {"error": {"code": 503, "message": "no", "status": "UNAVAILABLE"}}),
    ("gemini-interactions", {"event_type": "error", "error": {"code": "x", "message": "no"}}),
    ("bedrock-converse", {"throttlingException": {"message": "no"}}),
]


@pytest.mark.parametrize(("dialect", "error"), FIRST_ERRORS)
@pytest.mark.parametrize("name", [None, "error"])
def test_a_stream_of_one_error(engine: str, dialect: str, error: dict[str, Any], name: str | None):
    got = run(engine, frame(error, name))
    assert (got["dialect"], got["state"], got["error"]["message"]) == (dialect, "ERRORED", "no")


def shuffled(value: Any, rng: random.Random) -> Any:
    if isinstance(value, dict):
        keys = list(value)
        rng.shuffle(keys)
        return {k: shuffled(value[k], rng) for k in keys}
    return [shuffled(v, rng) for v in value] if isinstance(value, list) else value


@given(dialect=st.sampled_from(sorted(CLEAN)), rng=st.randoms(use_true_random=False), at=st.integers(0, 2))
def test_keys_in_any_order(engine: str, dialect: str, rng: random.Random, at: int):
    """Also where the stream is heard from its second or third event on."""
    payloads = [json.loads(line.removeprefix(b"data:")) for line in CLEAN[dialect].splitlines() if line.removeprefix(b"data:").strip()[:1] == b"{"]
    payloads = [shuffled(p, rng) for p in payloads[min(at, len(payloads) - 1):]]
    assert detect(payloads[0], None) in (dialect, None)
    assert found(engine, *(frame(p) for p in payloads)) == dialect
