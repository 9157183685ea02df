"""JSON values: measured, compared and written, large ones in pieces (fsm/values/values.py)."""

from __future__ import annotations

import json

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsm.values import values
from fsm.model.surrogates import mend
from test_arguments import JSON


@given(JSON, JSON)
def test_same_is_equality_as_json(a: object, b: object):
    """Equal JSON texts, whatever the order of keys."""
    for x, y in ((a, b), (a, json.loads(json.dumps(a))), ([a, {"k": b}], [a, {"k": b}])):
        assert values.same(x, y) == (values.identity(x) == values.identity(y))


@pytest.mark.parametrize(("a", "b", "equal"), [
    ({"a": 1}, {"a": True}, False), ({"a": 1}, {"a": 1.0}, False), ({"a": 0.0}, {"a": -0.0}, False), ({"a": [1, 2]}, {"a": [1]}, False),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True), ({"a": None}, {}, False), ({"a": {}}, {"a": []}, False), (None, None, True), (None, {}, False)])
def test_same(a: object, b: object, equal: bool):
    assert values.same(a, b) is equal
    assert values.same(b, a) is equal


def as_orjson_writes(value: object) -> str | None:
    try:
        return orjson.dumps(value).decode()
    except TypeError:
        return None


@given(JSON, st.sampled_from(["", "é", "\x1f", '"', "\\", "\u2028", "😀", "\x7f"]), st.integers(4080, 4100))
def test_a_large_value_is_compared_in_pieces(value: object, char: str, near: int):
    """The same verdict as that of one `orjson.dumps`, which takes a multiple of the bytes."""
    large = {"value": value, "text": char * 3 + "x" * near + char * 3 + "y" * values.LARGE + char, char: [value, {"a": value}]}
    text = as_orjson_writes(large)
    if text is None:
        assert not values.written_as(large, json.dumps(large, ensure_ascii=False, separators=(",", ":")))
    else:
        assert values.written_as(large, text)
        assert values.written_as(large, text.encode())
        for i in (0, 5, len(text) // 2, len(text) - 1):
            assert not values.written_as(large, text[:i] + " " + text[i:])
            assert not values.written_as(large, (text[:i] + " " + text[i:]).encode())
            assert not values.written_as(large, text[:i] + text[i + 1:])
        assert not values.written_as(large, text + "}")
        assert not values.written_as(large, text.encode() + b"}")


@given(JSON, st.sampled_from(["", "é", "\x1f", '"', "\\", "\u2028", "😀", "\x7f", "\ud83d"]), st.integers(4080, 4100))
def test_a_large_value_has_the_size_that_is_written(value: object, char: str, near: int):
    """And halves of pairs are mended in it as in a small one."""
    large = {"value": value, "text": char * 3 + "x" * near + char * 3 + "y" * values.LARGE + char, char: [value, {"a": value}]}
    text = as_orjson_writes(large)
    fit, size = values.cleaned(large)
    if text is not None:
        assert (fit, size) == (large, len(text.encode()))
    else:
        written = mend(json.dumps(large, ensure_ascii=False, separators=(",", ":")))
        assert (fit, size) == (json.loads(written), len(written))


@given(JSON, st.sampled_from(["", "é", "\x00\x1f\b\f", '"', "\\", "\u2028", "😀", "\x7f", "\ud83d", "\ude00", "/"]), st.integers(4080, 4110))
def test_a_large_object_is_written_as_a_small_one(value: object, char: str, near: int):
    """The text does not depend on the way that is quick for long strings."""
    for large in ({"text": char * 3 + "x" * near + char * 9, "value": value, char: [value, {"a": value}]}, {"a": {"b": char * near}, "c": 1e16}):
        assert values.compact(large) == json.dumps(large, ensure_ascii=False, separators=(",", ":"))


@pytest.mark.parametrize("depth", [200, 252, 253, 254, 255, 256, 300])
def test_depth_of_a_large_value(depth: int):
    value: dict = {"text": "x" * values.LARGE, "deep": json.loads("[" * depth + "]" * depth)}
    assert values.written_as(value, values.compact(value)) == (as_orjson_writes(value) is not None)


@given(st.text(), st.text(), st.sampled_from([0, 4090, 4096, 9000]))
def test_a_text_is_compared_with_bytes_in_pieces(a: str, b: str, n: int):
    text = "x" * n + a
    assert values.is_utf8(text, text.encode())
    for other in (text + b, b + text, text[:-1], text[1:], "x" * n + b, text + "\ud83d"):
        assert values.is_utf8(other, text.encode()) == (other == text)


@given(st.text(alphabet=" \t\r\n{}x\"", max_size=5), st.sampled_from([0, 1, 4095, 4096, 9000]), st.text(alphabet=" {}[\u00a0", max_size=5))
def test_what_says_nothing(a: str, n: int, b: str):
    for text in (a + " " * n + b, a + "x" * n + b):
        assert values.says_nothing(text) == (not text.strip(" \t\r\n{}"))
