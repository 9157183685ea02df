"""What misleads the vendors' own clients: our broken streams (tests/corpus) and, if ../shared/corpus is there, what upstreams really sent.

`python -m benchmarks --fooled` runs every stream through the client's stream helper and through deltafsm, and says what the helper did where
the two disagree: all verdicts come from that run. With --write-readme they go into spec/FOOLED.md, and those of `TELLING` into the README.
That our own answer is right is proved by tests/test_corpus.py and tests/test_shared_corpus.py. If the helper raises an error for a broken
stream, or refuses one as its documentation says, it is not at fault.
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from textwrap import fill as _fill
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
#: the rows of the README: the case, and its fault in few words
TELLING = {
    "anthropic_cut_mid_tool_input": "cut inside a call's arguments",
    "openai_length_drops_calls": "stopped by length, one call cut",
    "anthropic_duplicate_tool_ids": "two calls with the same id",
    "anthropic_same_id_start_again": "a finished call, started again",
    "openai_name_never_arrives": "a tool name that never arrives",
    "openai_tool_index_from_one": "tool indexes that start at 1",
    "openai_arguments_double_encoded": "arguments encoded as JSON twice",
    "anthropic_signature_after_block_stop": "a signature after its block's stop",
    "openai_usage_zero_after_nonzero": "a last usage report of zeros",
    "responses_completed_empty_output": "a final response without output",
}
_HOW = ("Each row stands for one kind of fault and one thing that the client does with it. It gives one example (for captured streams: the upstreams), "
        "the number of such streams, and what deltafsm gives, which is also what the tests demand. If the client raises an error for a stream that holds "
        "no message, it is right and not listed. Where its stream helper refuses cut messages by its documentation, the sum of its plain stream is judged.")


class Stream(NamedTuple):
    kind: str
    fault: str
    dialect: str
    body: bytes
    tools: Any
    name: str = ""


class Row(NamedTuple):
    kind: str
    client: str
    verdict: str
    ours: str
    fault: str
    name: str


def fill(text: str) -> str:
    return _fill(text, 120, break_long_words=False, break_on_hyphens=False)


def streams() -> Iterator[Stream]:
    """Our broken streams, then the public ones whose bytes are as they came."""
    for path in sorted(CASES.glob("*.json")):
        case = json.loads(path.read_text(encoding="utf-8"))
        if case["dialect"] in officials.WAYS:
            kind = next(kind for kind, names in KINDS.items() if re.search(names, path.stem))
            yield Stream(kind, case["fault"], case["dialect"], path.with_suffix(".sse").read_bytes(), case.get("tools"), path.stem)
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
    return Row(stream.kind, f"{client}, {way}", verdict, given(outcome), stream.fault, stream.name)


def raised(outcome: fsm.Outcome, error: str) -> str | None:
    return f"raises {error}" if outcome.completed else None


def wrong(outcome: fsm.Outcome, answer: officials.Facts) -> str | None:
    """The worst that is wrong with the client's message, or None."""
    partial = outcome.to_dict()
    message = partial["message"] or partial["partial"]
    if not outcome.completed:
        return "reports a complete message" + (" and a call" if answer["calls"] else "")
    runnable = [[b["name"], b["input"]] for b in message["content"] if b["type"] == "tool_use" and not b.get("invalid")]
    calls = [call[1:] for call in answer["calls"]]
    if len(calls) > len(runnable) and (message["dropped_calls"] or any(b.get("invalid") for b in message["content"])):
        return "returns a call that must not run"
    if any(not isinstance(call[1], dict) for call in calls):
        return "returns arguments that are not JSON"
    if calls != runnable:
        return "loses calls" if len(calls) < len(runnable) else "returns wrong calls"
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


class Survey(NamedTuple):
    """How many streams were asked, and the rows of those that the client got wrong."""

    asked: int
    rows: list[Row]


def survey() -> Survey:
    judged = [judge(stream) for stream in streams()]
    return Survey(len(judged), [row for row in judged if row is not None])


def page(found: Survey) -> str:
    """All of it: for every kind of fault and verdict one stream and how many there are."""
    text = ("# Streams that crash or mislead the vendors' own clients\n\nGenerated by `python -m benchmarks --fooled --write-readme`: do not edit.\n\n"
            + fill(f"{_counts(found)} Versions: deltafsm {fsm.__version__}, {_versions()}. Date of the run: {datetime.date.today():%Y-%m-%d}.")
            + "\n\n" + fill(_HOW) + "\n")
    for kind in (*KINDS, REAL):
        rows: dict[tuple[str, str, str], list[str]] = {}
        for row in found.rows:
            if row.kind == kind:
                rows.setdefault((row.client, row.verdict, row.ours), []).append(row.fault)
        body = []
        for facts, faults in sorted(rows.items()):
            example = ", ".join(dict.fromkeys(faults)) if kind == REAL else faults[0]
            body.append([example.replace("<", r"\<"), str(len(faults)), *facts])
        if body:
            first = "upstreams" if kind == REAL else "for example"
            text += f"\n## {kind}\n\n" + markdown([first, "streams", "client", "what the client does", "what deltafsm gives"], body) + "\n"
    return text


def telling(found: Survey) -> str:
    """The rows of the README."""
    rows = {row.name: row for row in found.rows if row.name in TELLING}
    body = [[words, row.client.partition(",")[0], row.verdict, row.ours.removeprefix("the message; ")]
            for name, words in TELLING.items() if (row := rows.get(name)) is not None]
    head = f"{_counts(found)} Ten of them, with {_versions()}; [spec/FOOLED.md](spec/FOOLED.md) lists them all, and `python -m benchmarks --fooled` runs them:"
    return f"{fill(head)}\n\n" + markdown(["the stream", "client", "what the client does", "deltafsm"], body)


def _counts(found: Survey) -> str:
    return f"Of {found.asked} streams, {len(found.rows)} crash the vendor's own client or make it return something wrong."


def _versions() -> str:
    return f"anthropic {version('anthropic')} and openai {version('openai')}"
