"""FieldReady: a top-level argument is shown as soon as it is whole (R-74), from a cursor that reads each byte once."""

from __future__ import annotations

import json
import time
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fsm
from fsm import _engine
from fsm.values.cursor import ObjectCursor

CURSORS = [ObjectCursor] + ([_engine.speedups.ObjectCursor] if _engine.speedups is not None else [])

JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=8), lambda inner: st.lists(inner, max_size=3)
                    | st.dictionaries(st.text(max_size=5), inner, max_size=3), max_leaves=8)
OBJECTS = st.dictionaries(st.text(max_size=6), JSON, max_size=5)


def spans(text: bytes, cuts: list[int]) -> tuple[list[tuple[bytes, bytes]], ObjectCursor]:
    """What the cursors find; they must agree."""
    found = [_spans(kind(), text, cuts) for kind in CURSORS]
    assert all((f[0], f[1].closed, f[1].broken) == (found[0][0], found[0][1].closed, found[0][1].broken) for f in found)
    return found[0]


def _spans(cursor: ObjectCursor, text: bytes, cuts: list[int]) -> tuple[list[tuple[bytes, bytes]], ObjectCursor]:
    edges = [0, *sorted({c for c in cuts if 0 < c < len(text)}), len(text)]
    for a, b in pairwise(edges):
        cursor.follow(text[a:b])
    return [(text[s.key:s.key_end], text[s.value:s.value_end]) for s in cursor.spans], cursor


@settings(max_examples=200)
@given(value=OBJECTS, cuts=st.lists(st.integers(0, 120), max_size=8), indent=st.sampled_from([None, 1]), ascii_only=st.booleans())
def test_the_cursor_finds_every_field_at_every_cut(value: dict[str, object], cuts: list[int], indent: int | None, ascii_only: bool):  # R-73 R-74
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only).encode()
    found, cursor = spans(text, cuts)
    assert [(json.loads(k), json.loads(v)) for k, v in found] == list(value.items())
    assert cursor.closed
    assert not cursor.broken


@pytest.mark.parametrize(("text", "closed", "broken"), [
    (b"", False, False), (b"  {", False, False), (b"{}", True, False), (b"{} \n", True, False), (b"{}x", False, True), (b"[1]", False, True),
    (b'"{}"', False, True), (b'{"a":"}"', False, False), (b'{"a":"\\"}', False, False), (b'{"a":{"b":[1,{}]}}', True, False), (b"{}{}", False, True)])
def test_when_an_object_is_closed(text: bytes, closed: bool, broken: bool):
    for cuts in ([], list(range(len(text)))):
        cursor = spans(text, cuts)[1]
        assert (cursor.closed, cursor.broken) == (closed, broken)


def fields(engine: str, deltas: str, fragments: list[str]) -> list[tuple[str, object]]:
    r = fsm.Reconstructor("canonical", engine=engine, deltas=deltas)
    events = r.push({"type": "tool_use_start", "id": "t", "name": "write_file"})
    for fragment in fragments:
        events += r.push({"type": "tool_input_delta", "fragment": fragment})
    events += r.push({"type": "message_stop"})
    return [(e.name, e.value) for e in events if isinstance(e, fsm.FieldReady)]


@settings(max_examples=200)
@given(text=st.text(st.sampled_from('{}[]:,"\\ a1é\n'), max_size=30).map(str.encode), cuts=st.lists(st.integers(0, 40), max_size=4))
def test_both_cursors_agree_on_any_bytes(text: bytes, cuts: list[int]):
    spans(text, cuts)


@pytest.mark.parametrize("deltas", ["chunk", "each"])
def test_a_field_is_told_when_it_is_whole_and_once(engine: str, deltas: str):  # R-74 R-76
    pieces = ['{"path": "src', '/ma,in}.py"', ', "n": 12', '3, "deep": {"a": [1, 2', ']}', ', "last": tr', "ue", "}"]
    assert fields(engine, deltas, pieces) == [("path", "src/ma,in}.py"), ("n", 123), ("deep", {"a": [1, 2]}), ("last", True)]
    r = fsm.Reconstructor("canonical", engine=engine, deltas=deltas)
    r.push({"type": "tool_use_start", "id": "t", "name": "write_file"})
    assert not [e for e in r.push({"type": "tool_input_delta", "fragment": '{"path": "src"'}) if isinstance(e, fsm.FieldReady)]
    assert [e for e in r.push({"type": "tool_input_delta", "fragment": ',"'}) if isinstance(e, fsm.FieldReady)] == [fsm.FieldReady(0, "path", "src")]


def test_none_tells_no_fields(engine: str):
    assert fields(engine, "none", ['{"a":1,', '"b":2}']) == []


@pytest.mark.parametrize("pieces", [['{"a":1,}'], ['{"a":nope,"b":2}'], ["[1,2]"], ['{"a":1}{"a":1}'], ['{,,,"a":1}'], ['{"a"', ":", "}"]])
def test_broken_arguments_tell_what_is_whole_and_never_raise(engine: str, pieces: list[str]):
    for name, value in fields(engine, "each", pieces):
        assert (name, value) in [("a", 1), ("b", 2)]


def test_the_cursor_is_linear():
    def cost(n: int) -> float:
        best = 1e9
        for _ in range(3):
            cursor = ObjectCursor()
            t = time.process_time()
            cursor.follow(b'{"content":"')
            for _ in range(n):
                cursor.follow(b"twelve bytes")
            best = min(best, time.process_time() - t)
        return best / n

    assert cost(40_000) < 6 * cost(1_000)
