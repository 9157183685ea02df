"""What fools the vendors' own clients: our broken streams (tests/corpus) and, where ../shared/corpus is there, what upstreams really sent.

`python -m benchmarks --fooled` runs every stream through the client's stream helper and through deltafsm and says what the helper did where
the two do not agree: all verdicts come from that run. That our own answer is the right one is what tests/test_corpus.py and
tests/test_shared_corpus.py prove. Errors that the helper raises for broken streams, and its documented refusals, are no faults of it.
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import fsm
from benchmarks import officials
from benchmarks.report import markdown

ROOT = Path(__file__).resolve().parent.parent
CASES = ROOT / "tests" / "corpus"
PUBLIC = ROOT.parent / "shared" / "corpus"
REAL = "as upstreams really sent it"
#: kinds of fault, and what the names of their cases have in them; the first that fits
KINDS = {
    "framing": r"frames|event_lines|keepalive|named_events|crlf|no_space|last_event|html|plain_json|only_in_event|line_sep|utf8",
    "errors inside a 200": r"error|failed|empty_success",
    "usage": "usage",
    "thinking": "think|reasoning|signature",
    "indexes and ids": "index|_ids?_|_ids$|duplicate|headless|start_again|two_blocks|choices|unopened",
    "names of tools": "name",
    "arguments": "arguments|input|brace_pair|schema",
    "begin and end": "message_start|stop|finish|eof|cut|max_tokens|length|filter|terminal|incomplete|completed|snapshot|done",
    "text": "",
}
#: what a client's helper raises by its documentation where a message is cut or filtered: then the other way is asked
REFUSALS = ("LengthFinishReasonError", "ContentFilterFinishReasonError")


class Stream(NamedTuple):
    kind: str
    fault: str
    dialect: str
    body: bytes
    tools: Any


class Row(NamedTuple):
    kind: str
    client: str
    verdict: str
    ours: str
    fault: str


def streams() -> Iterator[Stream]:
    """Our broken streams, then the public ones whose bytes are as they came."""
    for path in sorted(CASES.glob("*.json")):
        case = json.loads(path.read_text(encoding="utf-8"))
        if case["dialect"] in officials.WAYS:
            kind = next(kind for kind, names in KINDS.items() if re.search(names, path.stem))
            yield Stream(kind, case["fault"], case["dialect"], path.with_suffix(".sse").read_bytes(), case.get("tools"))
    index = PUBLIC / "INDEX.jsonl"
    for line in index.read_text(encoding="utf-8").splitlines() if index.exists() else ():
        entry = json.loads(line)
        if entry["dialect"] in officials.WAYS and not entry["rewrapped"] and entry["provenance"].startswith("recorded"):
            yield Stream(REAL, entry["upstream"], entry["dialect"], (PUBLIC / entry["file"]).read_bytes(), None)


def judge(stream: Stream) -> Row | None:
    """What the client did wrong with a stream, or None if nothing."""
    outcome = fsm.reconstruct(stream.body, stream.dialect, tools=stream.tools)
    for way in officials.WAYS[stream.dialect]:
        answer = officials.ask(stream.dialect, way, stream.body)
        if answer not in REFUSALS:
            break
    verdict = raised(outcome, answer) if isinstance(answer, str) else wrong(outcome, answer)
    if verdict is None:
        return None
    client = "anthropic" if stream.dialect == "anthropic" else "openai"
    return Row(stream.kind, f"{client}, {way}", verdict, given(outcome), stream.fault)


def raised(outcome: fsm.Outcome, error: str) -> str | None:
    return f"raises {error}" if outcome.completed else None


def wrong(outcome: fsm.Outcome, answer: officials.Facts) -> str | None:
    """The worst that is wrong with the client's message, or None."""
    partial = outcome.to_dict()
    message = partial["message"] or partial["partial"]
    if not outcome.completed:
        return "takes a broken stream for a whole message" + (", its call to be run" if answer["calls"] else "")
    runnable = [[b["name"], b["input"]] for b in message["content"] if b["type"] == "tool_use" and not b.get("invalid")]
    calls = [call[1:] for call in answer["calls"]]
    if len(calls) > len(runnable) and (message["dropped_calls"] or any(b.get("invalid") for b in message["content"])):
        return "hands out a call that must not run"
    if any(not isinstance(call[1], dict) for call in calls):
        return "hands out arguments that are no JSON"
    if calls != runnable:
        return "loses calls" if len(calls) < len(runnable) else "hands out wrong calls"
    if len({call[0] for call in answer["calls"]}) < len(calls):
        return "gives two calls one id"
    got = officials.ours(message)
    facts = {"text": "wrong text", "thinking": "loses thinking", "signatures": "loses a signature", "usage": "wrong usage", "stop": "wrong stop reason"}
    return next((what for key, what in facts.items() if key in answer and answer[key] != got[key]), None)


def given(outcome: fsm.Outcome) -> str:
    """What deltafsm gives."""
    if not outcome.completed:
        return f"{outcome.state}, nothing may run"
    message = outcome.message
    if message.dropped_calls:
        return "the message; the cut call is dropped"
    return "the message; the bad call is marked invalid" if message.invalid_calls else "the message"


def table() -> str:
    """Every kind of fault and verdict with how many streams have it, and one of them."""
    rows: dict[tuple[str, ...], list[str]] = {}
    asked = 0
    for stream in streams():
        asked += 1
        row = judge(stream)
        if row is not None:
            rows.setdefault(row[:4], []).append(row.fault)
    order = [*KINDS, REAL]
    body = []
    for (kind, way, verdict, ours), faults in sorted(rows.items(), key=lambda item: (order.index(item[0][0]), item[0][1:])):
        what = ", ".join(dict.fromkeys(faults)) if kind == REAL else faults[0]
        body.append([kind, what, str(len(faults)), way, verdict, ours])
    fooled = sum(map(len, rows.values()))
    text = (f"`python -m benchmarks --fooled`: deltafsm {fsm.__version__}, anthropic {version('anthropic')}, openai {version('openai')}, "
            f"{datetime.date.today():%Y-%m-%d}. Of {asked} streams, {fooled} crash the vendor's own client or fool it. For each kind of fault: one example "
            "(for captured streams: the upstreams), how many streams, what the client does, what deltafsm gives, which is what the tests "
            "demand of it. An error that the client raises for a stream without a message is right, and where its helper refuses cut messages by "
            "its documentation, its sum of the plain stream is judged.\n\n")
    return text + markdown(["fault", "for example", "streams", "client", "what the client does", "what deltafsm gives"], body)
