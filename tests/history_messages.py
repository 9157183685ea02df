"""Hypothesis: messages as the streams of each vendor make them, and messages as a hostile one might."""

from __future__ import annotations

import base64
from typing import Any

from hypothesis import strategies as st

from fsm.model.message import Message

Blocks = list[dict[str, Any]]

WORDS = st.text(st.characters(exclude_characters="<", exclude_categories=["Cs"]), min_size=1, max_size=12)
SAID = WORDS.filter(str.strip)
OPAQUE = st.binary(min_size=1, max_size=9).map(lambda b: base64.b64encode(b).decode())
VALUES = st.recursive(st.none() | st.booleans() | st.integers(-2**53, 2**53) | st.floats(allow_nan=False, allow_infinity=False) | WORDS,
                      lambda inner: st.lists(inner, max_size=2) | st.dictionaries(WORDS, inner, max_size=2), max_leaves=4)
INPUTS = st.dictionaries(WORDS, VALUES, max_size=3)
NAMES = st.sampled_from(["Read", "Grep", "get_weather"])


def block(kind: str, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({"type": st.just(kind), **fields})


def calls(prefix: str, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return block("tool_use", id=st.integers(0, 10**6).map(lambda n: f"{prefix}{n}"), name=NAMES, input=INPUTS, **fields)


def cut_calls(prefix: str) -> st.SearchStrategy[dict[str, Any]]:
    return st.builds(lambda call, raw: {**call, "input": {}, "invalid": "unparsable_arguments", "raw_input": raw},
                     calls(prefix), st.sampled_from(['{"a": ', "no JSON", '{"a": 1}}']))


def _unlike_neighbours(blocks: Blocks) -> Blocks:
    """No two calls of one id, and no neighbours that would be one block."""
    out: Blocks = []
    seen: set[str] = set()
    for b in blocks:
        joins = out and b["type"] == out[-1]["type"] and b["type"] in ("text", "thinking", "refusal")
        if not joins and b.get("id") not in seen:
            out.append(b)
            seen |= {b["id"]} if b["type"] == "tool_use" else set()
    return out


TEXT = block("text", text=SAID)
_ANTHROPIC = st.lists(st.one_of(
    TEXT, block("thinking", thinking=WORDS, signature=OPAQUE), block("redacted_thinking", data=OPAQUE), calls("toolu_"),
    block("server_tool_use", id=st.just("srvtoolu_1"), name=st.just("web_search"), input=INPUTS)), max_size=6).map(_unlike_neighbours)


@st.composite
def _chat(draw: st.DrawFn) -> Blocks:
    signed = draw(st.booleans())
    found = draw(st.lists(calls("call_x") | cut_calls("call_x"), max_size=3))
    thinking = draw(st.lists(block("thinking", thinking=WORDS, signature=OPAQUE if signed else st.none()), max_size=1)) if signed or found else []
    secret = draw(st.lists(block("redacted_thinking", data=OPAQUE, format=st.just("v1"), id=st.just("rs_1")), max_size=1)) if signed else []
    said = draw(st.lists(TEXT, min_size=not found, max_size=1))
    return _unlike_neighbours([*thinking, *secret, *said, *draw(st.lists(block("refusal", refusal=WORDS), max_size=1)), *found])


@st.composite
def _responses(draw: st.DrawFn) -> Blocks:
    content: Blocks = []
    for n in range(draw(st.integers(0, 3))):
        parts = draw(st.lists(block("thinking", thinking=WORDS, signature=st.none()), max_size=2)) or [{"type": "thinking", "thinking": "", "signature": None}]
        if draw(st.booleans()) and parts[0]["thinking"]:
            parts = [{**p, "part": "reasoning_text"} for p in parts]
        parts[0] |= draw(st.sampled_from([{}, {"encrypted_content": "gAAA"}]))
        content += [{**p, "item_id": f"rs_{n}"} for p in parts]
        found = draw(calls("call_x") | cut_calls("call_x"))
        custom = {"type": "tool_use", "id": f"custom{n}", "name": "sh", "input": {"input": draw(WORDS)}, "item_type": "custom_tool_call"}
        content.append({**draw(st.sampled_from([found, custom])), "item_id": f"fc_{n}"})
    said = draw(st.lists(TEXT | block("refusal", refusal=WORDS), min_size=1, max_size=2))
    said[0] |= draw(st.sampled_from([{}, {"phase": "final_answer"}]))
    if said[0]["type"] == "text":
        said[0] |= draw(st.sampled_from([{}, {"annotations": [{"type": "url_citation", "url": "u", "title": "t", "start_index": 0, "end_index": 1}]}]))
    ids = [b["id"] for b in content if b["type"] == "tool_use"]
    return [*(content if len(ids) == len(set(ids)) else []), *[{**b, "item_id": "msg_a"} for b in said]]


@st.composite
def _signed_text(draw: st.DrawFn) -> dict[str, Any]:
    parts = draw(st.lists(st.tuples(WORDS, st.none() | OPAQUE), min_size=1, max_size=3))
    text, signatures = "", []
    for said, signature in parts:
        if signature:
            signatures.append({"start": len(text), "end": len(text) + len(said), "signature": signature})
        text += said
    if draw(st.booleans()):
        signatures.append({"start": len(text), "end": len(text), "signature": draw(OPAQUE)})
    return {"type": "text", "text": text, **({"signatures": signatures} if signatures else {})}


_CODE = {"type": "executableCode", "executableCode": {"language": "PYTHON", "code": "1"}}
_GEMINI = st.lists(st.one_of(
    _signed_text(), block("thinking", thinking=WORDS, signature=st.none() | OPAQUE), calls("fn-"), calls("fn-", signature=OPAQUE),
    st.sampled_from([_CODE, {**_CODE, "thoughtSignature": "QUJD"}])), max_size=6).map(_unlike_neighbours)

#: dialect -> the content of messages that its streams can make
CONTENTS: dict[str, st.SearchStrategy[Blocks]] = {"anthropic": _ANTHROPIC, "openai-chat": _chat(), "openai-responses": _responses(), "gemini": _GEMINI}


def messages(dialect: str) -> st.SearchStrategy[Message]:
    """Messages as a vendor's streams make them."""
    return CONTENTS[dialect].map(lambda content: Message(content, "msg_1", "m", dialect=dialect))


_ODD = st.sampled_from(["", " ", "\n", "a", "é b", "<think>", "x" * 70, "functions.Read:0", "9lives"])
_HOSTILE = st.lists(st.one_of(
    block("text", text=_ODD), block("refusal", refusal=_ODD), block("thinking", thinking=_ODD, signature=st.none() | _ODD, x=_ODD),
    block("redacted_thinking", data=OPAQUE), block("vendor", x=VALUES), block("text", text=_ODD, citations=st.just([{"y": 1}])),
    block("tool_use", id=_ODD.filter(bool), name=st.none() | _ODD, input=INPUTS, signature=_ODD),
    st.builds(lambda id_, name, raw: {"type": "tool_use", "id": id_, "name": name, "input": {}, "invalid": "no_name", "raw_input": raw},
              _ODD.filter(bool), st.none() | _ODD, _ODD)), max_size=6).map(_unlike_neighbours)
#: messages of a vendor that no request type knows
STRANGERS = st.builds(lambda content, source: Message(content, dialect=source), _HOSTILE, st.sampled_from([None, "dsh", "cohere"]))
