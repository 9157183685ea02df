"""The rebuild keeps its own rules whatever the upstream sends (R-52): random event sequences, both engines."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fsm
from fsm import _tables as T
from fsm.model.events import NormalizedEvent
from helpers import CORPUS, TOOLS, cut_at, lines, stable

INDEX = st.sampled_from([None, None, 0, 1, 2])
IDS = st.sampled_from([None, "", "t1", "t2", "t3"])
NAMES = st.sampled_from([None, "", "Read", "Re", "ad", "Grep", "Nope"])
PIECES = st.sampled_from(["", "{", "}", "{}", '{"file_path":"a"}', '{"file_path":', '"a"}', '{"pattern":"x","path":"y"}',
                          '{"command":"', 'ls"}', "x", " ", '"', "\\"])
WORDS = st.sampled_from(["", "a", "b ", "é", "😀", "\ud83d", "\ude00", "\n"])
REASONS = st.sampled_from(["stop", "tool_use", "length", "content_filter", "failed_call", "new"])


def event(type_: str, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({"type": st.just(type_), **fields})


CONTENT = st.one_of(
    event("text_delta", index=INDEX, text=WORDS), event("text_delta", text=WORDS, signature=WORDS),
    event("thinking_delta", index=INDEX, text=WORDS), event("signature_delta", index=INDEX, signature=WORDS),
    event("tool_use_start", index=INDEX, id=IDS, name=NAMES, fragment=PIECES | st.none(), sibling=st.booleans()),
    event("tool_use_start", index=INDEX, id=IDS, name=NAMES), event("tool_input_delta", index=INDEX, id=st.none() | IDS, fragment=PIECES),
    event("tool_input_delta", index=INDEX, fragment=PIECES), event("tool_use_stop", index=INDEX, id=IDS), event("block_stop", index=INDEX),
    event("block_start", index=INDEX, kind=st.sampled_from(["text", "thinking", "opaque", "refusal"]), text=WORDS),
    event("opaque_block", index=INDEX, block=st.sampled_from([{"type": "v", "x": "1"}, {"x": "2"}, {}])),
    event("usage", usage=st.sampled_from([{"input_tokens": 1}, {"output_tokens": 0}, {"output_tokens": 7}])), event("ping"),
    event("snapshot", content=st.sampled_from([[{"type": "text", "text": "a"}],
                                               [{"type": "tool_use", "id": "t1", "name": "Read", "arguments": '{"file_path":"a"}'}]])),
)
ENDS = st.one_of(event("stop_reason", reason=REASONS), event("message_stop"), event("message_start", id=IDS), event("error", kind=st.just("api_error")))
TAIL = st.lists(ENDS | CONTENT, max_size=4)
STREAMS = st.tuples(st.lists(CONTENT, max_size=12), TAIL).map(lambda t: [{k: v for k, v in e.items() if v is not None} for e in t[0] + t[1]])
DIALECTS = st.sampled_from(list(T.DIALECTS))
TOOLSETS = st.sampled_from([None, TOOLS])


def pushed(engine: str, events: list[dict[str, Any]], dialect: str, tools: Any, deltas: str = "each") -> tuple[list[Any], fsm.Outcome, list[str]]:
    """What is told, the outcome, and the state after each event."""
    r = fsm.Reconstructor(dialect, tools=tools, engine=engine, deltas=deltas)
    told, states = [], [str(r.state)]
    for e in events:
        told += r.push(NormalizedEvent.from_dict(e))
        states.append(str(r.state))
    told += r.end()
    outcome = r.outcome
    return told, outcome, [*states, str(outcome.state)]


def plain(told: list[Any], outcome: fsm.Outcome, given_: str) -> Any:
    """Everything comparable about a run."""
    d = outcome.to_dict()
    d.pop("metrics")
    rows = [{"event": type(e).__name__, **{n: getattr(e, n) for n in e.__match_args__ if n not in ("message", "partial", "error", "usage")}} for e in told]
    where = outcome.error and [outcome.error.offset, outcome.error.event, outcome.error.state]
    return stable(json.loads(json.dumps({"told": rows, "outcome": d, "error": where})), given_)


@settings(max_examples=120)
@given(events=STREAMS, dialect=DIALECTS, tools=TOOLSETS)
def test_the_rules_hold_for_any_sequence(engine: str, events: list[dict[str, Any]], dialect: str, tools: Any):  # R-42 R-50 R-51 R-52 R-83
    told, outcome, states = pushed(engine, events, dialect, tools)

    for before, after in pairwise(states):
        assert before == after or before in ("INITIALIZING", "STREAMING"), "a terminal state never changes"
        assert after != "INITIALIZING" or before == "INITIALIZING"
    final = outcome.message if outcome.completed else outcome.partial
    json.dumps(outcome.to_dict(), ensure_ascii=False).encode()

    ids = [b["id"] for b in final.content if b["type"] == "tool_use"]
    assert len(ids) == len(set(ids)), "one call per id"
    assert all(isinstance(i, str) and i for i in ids)
    if not outcome.completed:
        assert final.tool_calls == [], "nothing of a failed stream may run"
    for b in final.content:
        assert b["type"] not in ("text", "thinking") or b[b["type"]] or b.get("signature"), "no empty blocks"
    has_call = any(b["type"] == "tool_use" for b in final.content)
    assert outcome.state != "COMPLETED" or has_call == (final.stop_reason == "tool_use") or (has_call and final.stop_reason in ("content_filter", "refusal"))

    for kind in (fsm.BlockStarted, fsm.BlockFinished):
        numbers = [e.index for e in told if isinstance(e, kind)]
        assert len(numbers) == len(set(numbers)), f"{kind.__name__} comes once per block"
    ends = [e for e in told if isinstance(e, (fsm.MessageFinished, fsm.StreamFailed))]
    assert len(ends) == 1
    assert ends[0] is told[-1]


@settings(max_examples=80)
@given(events=STREAMS, dialect=DIALECTS, tools=TOOLSETS)
def test_what_was_told_is_what_the_message_holds(engine: str, events: list[dict[str, Any]], dialect: str, tools: Any):  # R-06 R-24 R-94
    """Every archived block once; runnable calls were told as ready, and nothing was ready that is not runnable, except what was taken back."""
    told, outcome, _states = pushed(engine, events, dialect, tools)
    final = outcome.message if outcome.completed else outcome.partial
    ready = {e.index: e for e in told if isinstance(e, fsm.ToolReady)}
    taken_back = {e.index for e in told if isinstance(e, fsm.ToolInvalid)}
    if outcome.completed:
        assert sorted(e.id for i, e in ready.items() if i not in taken_back and not outcome.message.dropped_calls) == \
            sorted(c["id"] for c in final.tool_calls if not outcome.message.dropped_calls)
    texts: dict[int, str] = {}
    for e in told:
        if isinstance(e, (fsm.TextDelta, fsm.ThinkingDelta)):
            texts[e.index] = texts.get(e.index, "") + e.text
    for e in told:
        if isinstance(e, fsm.BlockFinished) and e.block["type"] in ("text", "thinking", "refusal"):
            assert texts.get(e.index, "") == e.block[e.block["type"]], "deltas add up to the block"


@settings(max_examples=120)
@given(events=STREAMS, dialect=DIALECTS, tools=TOOLSETS, deltas=st.sampled_from(["none", "chunk", "each"]))
def test_engines_agree_on_pushed_events(engine: str, events: list[dict[str, Any]], dialect: str, tools: Any, deltas: str):  # R-20 R-52
    given_ = json.dumps(events)
    runs = []
    for name in dict.fromkeys(["python", engine]):
        told, outcome, states = pushed(name, events, dialect, tools, deltas)
        runs.append((plain(told, outcome, given_), states))
    assert all(r == runs[0] for r in runs)


@settings(max_examples=120)
@given(events=STREAMS, tools=TOOLSETS, cuts=st.lists(st.integers(0, 800), max_size=5))
def test_engines_and_splits_agree_on_canonical_lines(engine: str, events: list[dict[str, Any]], tools: Any, cuts: list[int]):  # R-03 R-20 R-52
    body = lines(events)
    runs = []
    for name in dict.fromkeys(["python", engine]):
        for chunks in ([body], cut_at(body, cuts)):
            r = fsm.Reconstructor("canonical", tools=tools, engine=name, deltas="each")
            told = [e for c in chunks for e in r.feed(c)]
            told += r.end()
            runs.append(plain(told, r.outcome, json.dumps(events)))
    assert all(r == runs[0] for r in runs)


@settings(max_examples=80)
@given(events=STREAMS)
def test_replay_equals_live(engine: str, events: list[dict[str, Any]]):
    """Pushed one by one or read back from JSON lines: one fold, one message."""
    live = pushed(engine, events, "canonical", TOOLS)[1].to_dict()
    stored = fsm.reconstruct(lines(events), "canonical", TOOLS, engine=engine).to_dict()
    text = json.dumps(events)
    for part in ("state", "message", "partial"):
        assert stable(json.loads(json.dumps(stored[part])), text) == stable(json.loads(json.dumps(live[part])), text)


# ---------------------------------------------------------------- both engines tell the same, on the wire

CASES = sorted(p.stem for p in CORPUS.glob("*.json"))


@pytest.mark.parametrize("deltas", ["none", "chunk", "each"])
@pytest.mark.parametrize("name", CASES)
def test_engines_tell_the_same(engine: str, name: str, deltas: str):  # R-52 R-94
    """Not only the outcome: every event to the caller, in its order, for the same chunks."""
    body, case = (CORPUS / f"{name}.sse").read_bytes(), json.loads((CORPUS / f"{name}.json").read_text())
    for size in (len(body), 61):
        runs = []
        for engine_ in dict.fromkeys(["python", engine]):
            r = fsm.Reconstructor(case["dialect"], tools=case.get("tools"), engine=engine_, deltas=deltas)
            told = [e for i in range(0, len(body), size) for e in r.feed(body[i:i + size])]
            told += r.end()
            runs.append(plain(told, r.outcome, body.decode("utf-8", "replace")))
        assert runs[0] == runs[-1], f"in chunks of {size}"


@settings(max_examples=60)
@given(name=st.sampled_from(CASES), data=st.data())
def test_mutated_streams_never_raise_and_engines_agree(engine: str, name: str, data: st.DataObject):  # R-42 R-52
    """Events of a real stream lost, doubled, swapped and cut."""
    body, case = (CORPUS / f"{name}.sse").read_bytes(), json.loads((CORPUS / f"{name}.json").read_text())
    parts = body.split(b"\n\n")[:40]
    for _ in range(data.draw(st.integers(1, 3))):
        i, j = data.draw(st.tuples(st.integers(0, len(parts) - 1), st.integers(0, len(parts) - 1)))
        match data.draw(st.sampled_from(["lose", "double", "swap", "cut"])):
            case "lose":
                parts[i] = b""
            case "double":
                parts.insert(j, parts[i])
            case "swap":
                parts[i], parts[j] = parts[j], parts[i]
            case "cut":
                parts[i] = parts[i][: len(parts[i]) // 2]
    mutant = b"\n\n".join(parts)
    runs = []
    for engine_ in dict.fromkeys(["python", engine]):
        for chunks in ([mutant], cut_at(mutant, [len(mutant) // 3, len(mutant) // 2])):
            r = fsm.Reconstructor(case["dialect"], tools=case.get("tools"), engine=engine_)
            told = [e for c in chunks for e in r.feed(c)]
            told += r.end()
            outcome = r.outcome
            final = outcome.message if outcome.completed else outcome.partial
            ids = [b["id"] for b in final.content if b["type"] == "tool_use"]
            assert len(ids) == len(set(ids))
            runs.append(plain([], outcome, mutant.decode("utf-8", "replace")))
    assert all(r == runs[0] for r in runs)


def test_the_alphabet_of_these_tests_is_the_alphabet():
    """A new word of the vocabulary must come into the strategies above."""
    used = {"text_delta", "thinking_delta", "signature_delta", "tool_use_start", "tool_input_delta", "tool_use_stop", "block_stop", "block_start",
            "opaque_block", "usage", "ping", "snapshot", "stop_reason", "message_stop", "message_start", "error"}
    assert {e.lower() for e in T.EVENTS} - used == {"cancel", "timeout", "overflow", "eof"}
