"""The vendors' own clients as oracles: on every clean stream their stream helpers build the message that we build, from the same bytes.

Where a client raises, or builds something else, the stream stands in `FOOLED` with what it does. The list cannot rot: the client must still
do exactly that, and we must give what the expectation beside the stream says. See benchmarks/officials.py for how they are asked.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

for _client in ("anthropic", "openai"):
    if importlib.util.find_spec(_client) is None:  # not importorskip: a client that is there and broken must fail
        pytest.skip(f"{_client} is not installed", allow_module_level=True)

import fsm  # noqa: E402
from benchmarks import data, officials  # noqa: E402
from fsm import _tables as T  # noqa: E402
from helpers import SHARED, frame, run  # noqa: E402
from shared_score import score  # noqa: E402

A, C, R = "anthropic/anthropic-", "openai-chat/", "openai-responses/"
HELPER, CREATE = "chat.completions.stream", "chat.completions.create"
BOTH_A, BOTH_C, BOTH_R = (tuple(officials.WAYS[d]) for d in ("anthropic", "openai-chat", "openai-responses"))

#: (why, the ways that are fooled, what comes of it: an exception or the facts that differ, the streams)
FOOLED: list[tuple[str, tuple[str, ...], str | set[str], list[str]]] = [
    ("data without `event:` lines means nothing to the client", BOTH_A, "AssertionError", [A + n for n in (
        "code-execution-20250825.1", "code-execution-20260120-prompt-cache.1", "mcp.1", "programmatic-tool-calling.1-part1",
        "programmatic-tool-calling.1-part15", "programmatic-tool-calling.1-part2", "tool-search-deferred-bm25-part1", "tool-search-deferred-bm25-part2",
        "tool-search-regex.1-part1", "web-fetch-tool-20260209.1", "web-fetch-tool.1", "spliced-message-start")]),
    ("a count of the start is overwritten by the zero of the end", BOTH_A, {"usage"}, [A + "compaction-usage-with-cache-streaming"]),
    ("a choice has no delta", BOTH_C, "AttributeError", [C + "azure-openai-azure-chat-completion-streamed"]),
    ("text_completion objects from a chat endpoint", (HELPER,), "AssertionError", [C + "local-openai-server-completion-streaming"]),
    ("text_completion objects from a chat endpoint", (CREATE,), "AttributeError", [C + "local-openai-server-completion-streaming"]),
    ("chunks have no `object`: the helper takes them for none of its own", (HELPER,), "AssertionError", [C + n for n in (
        "ai21-provider-i1", "github-copilot-example-streaming-with-tools-i1", "github-copilot-example-streaming-with-tools",
        "github-copilot-raw-stream-surfaces-two-distinct-tool-calls-before-text", "moonshotai-stream")]),
    ("id and model are those of the first chunk, which are empty", (CREATE,), {"id"}, [C + n for n in (
        "github-copilot-example-streaming-with-tools-i1", "github-copilot-example-streaming-with-tools",
        "github-copilot-raw-stream-surfaces-two-distinct-tool-calls-before-text")]),
    ("id and model are those of the first chunk, which are empty", (CREATE,), {"id", "model"}, [C + "azure-openai-simple-streaming"]),
    ("indexes of tool calls begin at 1", BOTH_C, "IndexError", [C + "anthropic-openai-compat-anthropic-fallback-tool-call"]),
    ("tool calls have no index", BOTH_C, "TypeError", [C + "mistral-synchronous-streaming-chat-c-se-emits-expected-spans-false"]),
    ("a call's index rises with each piece, which has no type", BOTH_C, "AssertionError", [C + "writer-async-streaming-chat-ple-tool-call-requests-legacy"]),
    ("the content is a list of parts", BOTH_C, "RuntimeError", [C + "mistral-reasoning"]),
    ("the content is a list of parts, then a string: a part is lost", BOTH_C, {"text", "thinking"}, [
        C + "mistral-chat-mistral-hybrid-reasonin-nking-separately-from-content"]),
    ("thinking comes as reasoning_details alone, which the client does not join", BOTH_C, {"thinking"}, [
        C + "snowflake-cortex-snowflake-thinking-streaming"]),
    ("cut by its length: the helper gives no completion at all", (HELPER,), "LengthFinishReasonError", [C + n for n in (
        "deepseek-streaming-low-length-top-absent", "mistral-streaming-ministral-3b-tiny-plain-two", "openai-llama-index-complete-stream",
        "venice-prompt-caching-streaming-probe", "vllm-trace-propagation-stream-chatopenai")]),
    ("an error in the stream", BOTH_C, "APIError", [C + "groq-tool-use-failed-error-streaming-with-text", C + "groq-tool-use-failed-error-streaming"]),
    ("usage is lost if another chunk follows it, or if it stands in x_groq", BOTH_C, {"usage"}, [C + n for n in (
        "groq-model-web-search-tool-stream", "litellm-proxy-completion-stream-multiple-choices-proxy", "openai-moderation-stream")]),
    ("chunks of another object are none of the helper's own: the stop reason in the last one is lost", (HELPER,), {"stop"}, [C + n for n in (
        "perplexity-chat-streaming-responses-per-supports-streaming-responses", "perplexity-citations",
        "perplexity-stream-raw-exposes-terminal-usage-and-object")]),
    ("content_index 1 for the only part", ("responses.stream",), "IndexError", [
        R + "bedrock-mantle-providers-bedrock-mantle-res-through-the-responses-surface"]),
    ("the final response has no output", BOTH_R, {"text"}, [R + "chatgpt-codex-store-false-and-prompt-cache-fields-roundtrip"]),
    ("the final response has no output", BOTH_R, {"calls"}, [R + "chatgpt-codex-tool-call-completed-response-without-output"]),
    ("the response's id rotates", ("responses.stream",), "RuntimeError", [R + "github-copilot-id-rotation.1"]),
    ("the response's id rotates: ours is the first", ("responses.create",), {"id"}, [R + "github-copilot-id-rotation.1"]),
    ("the stream begins with response.queued", ("responses.stream",), "RuntimeError", [R + "openai-background-mode-streaming-starting-after-vcr-i1"]),
    ("an error in the stream", BOTH_R, "APIError", [R + "openai-error.1"]),
    ("incomplete by its length: the helper gives no response at all", ("responses.stream",), "RuntimeError", [
        R + "openai-incomplete-max-output-tokens", R + "openai-response-stream-incomplete"]),
    ("a capture shortened by hand, whose deltas contradict its final text", BOTH_R, {"text"}, [R + "openai-shell-container.1"]),
]
DOES = {(f"{name}.sse", way): what for _why, ways, what, names in FOOLED for name in names for way in ways}


def ways(cases: dict[str, tuple[str, bytes, Any]]) -> Iterator[tuple[str, str]]:
    for name, (dialect, _body, _expected) in cases.items():
        for way in officials.WAYS[dialect]:
            yield name, way


def own() -> Iterator[tuple[str, tuple[str, bytes, Any]]]:
    """Streams of our own making."""
    for dialect in officials.WAYS:
        for flavour in data.FLAVOURS:
            for deltas, seed in ((4, 1), (60, 2)):
                stream = data.make(dialect, deltas, flavour, seed)
                yield f"{stream.name}-{seed}", (dialect, stream.body, stream.content)


PUBLIC = {name: (dialect, body, expected) for name, body, dialect, expected in (score.corpus_cases(SHARED / "corpus") if score else ())
          if dialect in officials.WAYS}
OWN = dict(own())


@functools.cache
def asked(name: str, way: str) -> Any:
    dialect, body, _expected = (PUBLIC | OWN)[name]
    return officials.ask(dialect, way, body)


def by_our_rules(dialect: str, facts: dict[str, Any]) -> dict[str, Any]:
    """The client's facts as the rules of the rebuild want them: a cut message has no calls, `<think>` is thinking; empty ids are none."""
    facts = {**facts, "id": facts["id"] or None, "model": facts["model"] or None}
    if facts["stop"] in T.DIALECTS[dialect]["cut"]:
        facts["calls"] = []
    lifted = re.fullmatch(r"\s*<think>(.*?)</think>(.*)", facts["text"], re.S)
    if dialect == "openai-chat" and lifted and not facts["thinking"]:
        facts["thinking"], facts["text"] = lifted.groups()
    return facts


def differing(outcome: dict[str, Any], dialect: str, facts: dict[str, Any]) -> set[str]:
    got = officials.ours(outcome["message"] or outcome["partial"])
    return {key for key, value in by_our_rules(dialect, facts).items() if got[key] != value}


def event_names(body: bytes) -> bytes:
    """Anthropic's data with the `event:` lines that belong to it."""
    payloads = [json.loads(line[5:]) for line in body.splitlines() if line.startswith(b"data:")]
    return b"".join(frame(p, p["type"]) for p in payloads)


@pytest.mark.parametrize(("name", "way"), list(ways(PUBLIC)))
def test_public_stream(engine: str, name: str, way: str):
    dialect, body, expected = PUBLIC[name]
    outcome, answer, does = run(engine, body, dialect), asked(name, way), DOES.get((name, way))
    if does is None:
        assert not isinstance(answer, str), f"{way} raises {answer}"
        assert outcome["state"] == "COMPLETED"
        assert not differing(outcome, dialect, answer)
        return
    assert (answer if isinstance(answer, str) else differing(outcome, dialect, answer)) == does, f"{way} does not do what FOOLED says"
    assert score.corpus_mismatch(outcome, dialect, expected) is None
    if dialect == "anthropic" and answer == "AssertionError" and outcome["state"] == "COMPLETED":
        named = officials.ask(dialect, way, event_names(body))
        assert isinstance(named, dict)
        assert not differing(outcome, dialect, named), "and with event names the client agrees"


@pytest.mark.parametrize(("name", "way"), list(ways(OWN)))
def test_our_own_stream(engine: str, name: str, way: str):
    dialect, body, content = OWN[name]
    outcome = run(engine, body, dialect)
    assert outcome["message"]["content"] == content
    answer = asked(name, way)
    assert not isinstance(answer, str), f"{way} raises {answer}"
    assert not differing(outcome, dialect, answer)


def test_the_demo_fools_the_client():
    from fsm.samples import demo_stream, demo_tools

    assert fsm.reconstruct(demo_stream(), tools=demo_tools()).completed
    assert isinstance(officials.ask("openai-chat", HELPER, demo_stream()), str)


def test_the_list_names_streams_that_are_there():
    if score:
        assert {name for name, _way in DOES} <= set(PUBLIC)
        assert len(PUBLIC) >= 164
