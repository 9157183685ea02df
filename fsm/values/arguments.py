"""Tool arguments: from the text an upstream sent to the object a tool may run with, or the reason why not.

One strict parse (R-04, R-72). If it fails, the repairs of DESIGN section 5, rule 8, and no others: raw control
characters in strings, equal repetition, an empty object beside one object, double encoding, a full copy after a
prefix of itself. A prefix of an object is never closed into one (R-70).

Integers stay exact: a number that names something must come back as sent, and orjson turns integers beyond 64 bits
into floats.
"""

from __future__ import annotations

import json
import re
from math import isinf
from typing import Any, NamedTuple

import orjson

from fsm.model.surrogates import mend
from fsm.values.values import LARGE, ValueText, deeper, rounded, same

_fast = orjson.loads
_new: Any = tuple.__new__
_COPIES_TRIED = 8  # places where a full copy may begin; an attack could offer a million


class Parsed(NamedTuple):
    """`value` is the object, or None; then `fault` says why not. `repair` names the repair that was needed."""

    value: dict[str, Any] | None
    fault: str | None = None
    repair: str | None = None


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON")


_STRICT = json.JSONDecoder(parse_constant=_refuse)
_LOOSE = json.JSONDecoder(strict=False, parse_constant=_refuse)


def loads(text: str) -> Any:
    """Strict JSON with exact integers. Raises ValueError (RecursionError does not leave this function)."""
    if len(text) >= LARGE and (value := _large(text)) is not None:
        return value
    try:
        try:
            value = _fast(text)
        except ValueError:  # among them lone surrogate escapes, which JSON allows and orjson refuses
            if "\\u" not in text:
                raise
        else:
            if not rounded(value):
                return value
        return _mend(_STRICT.decode(text))
    except RecursionError as e:
        raise ValueError("nested too deeply") from e


def read(data: bytes) -> Any:
    """The JSON of a wire event; of an event that is not large, integers beyond 64 bits are floats (`exactly`). Raises ValueError."""
    if len(data) >= LARGE and (value := _large(data)) is not None:
        return value
    return _fast(data)


def _large(text: str | bytes) -> Any:
    """What a large text says, where that is plain, else None: orjson takes twelve times the bytes while it reads, jiter none."""
    import jiter

    try:
        value = jiter.from_json(text if isinstance(text, bytes) else text.encode(), allow_inf_nan=False, cache_mode="none")
    except ValueError:
        return None
    return None if rounded(value) else value  # it takes a number that no float can hold for infinity


def _mend(value: Any) -> Any:
    """Replace surrogate halves in strings, so that the value can be encoded. Raises ValueError for a number that no float can hold."""
    if isinstance(value, str):
        return value if value.isascii() else mend(value)
    if isinstance(value, float) and isinf(value):
        raise ValueError("a number is too large")
    if isinstance(value, dict):
        return {_mend(k): _mend(v) for k, v in value.items()}
    return [_mend(v) for v in value] if isinstance(value, list) else value


def exactly(value: Any, raw: bytes, *path: str | int) -> Any:
    """`value`, which stands at `path` in the payload `raw`, with its long integers exact."""
    if not rounded(value):
        return value
    found = json.loads(raw.decode("utf-8", "replace"))  # orjson has read it, so it is JSON and nests less than 1,024 deep
    for step in path:
        found = found[step]
    return found


_BRACKETS = re.compile(r'\\.|["\[\]{}]', re.S)


def depth_of(text: str, enough: int) -> int:
    """How deep `text` nests, counted outside strings; stops counting at `enough`."""
    if text.count("{") + text.count("[") < enough:
        return 0
    depth = deepest = 0
    string = False
    for token in _BRACKETS.finditer(text):
        char = token[0]
        if char == '"':
            string = not string
        elif string or char[0] == "\\":
            continue
        elif char in "{[":
            depth += 1
            deepest = max(deepest, depth)
            if deepest >= enough:
                return deepest
        else:
            depth -= 1
    return deepest


def parse(text: str, max_depth: int) -> Parsed:
    """The object that `text` stands for.

    Faults: "too_deep", "not_an_object", "ambiguous" (several different objects), "unparsable_arguments".
    """
    try:
        value = loads(text)
    except ValueError:
        return _repaired(text) if depth_of(text, max_depth + 1) <= max_depth else Parsed(None, "too_deep")
    if deeper(value, max_depth):
        return Parsed(None, "too_deep")
    if type(value) is dict:
        plain: Parsed = _new(Parsed, (value, None, None))  # what the generated constructor does, in a fifth of its time
        return plain
    if type(value) is str:
        if depth_of(value, max_depth + 1) > max_depth:
            return Parsed(None, "too_deep")
        if isinstance(inner := _decoded(value), dict):
            return Parsed(inner, repair="double encoding")
    return Parsed(None, "not_an_object")


def parse_large(data: bytes, max_depth: int) -> Parsed | None:
    """What `parse` says of a large text where that is plain, else None."""
    value = _large(data)
    return Parsed(value) if type(value) is dict and not deeper(value, max_depth) else None


def stated(given: ValueText, max_depth: int) -> Parsed:
    """What `parse` says of the text of arguments that came as an object, without the text."""
    if given.closed and not rounded(given.value) and not deeper(given.value, max_depth):
        return Parsed(given.value)
    return parse(str(given), max_depth)


def _decoded(text: str) -> Any:
    try:
        return loads(text)
    except ValueError:
        return None


def _repaired(text: str) -> Parsed:
    values = _sequence(text)
    if values is None:
        return _full_copy(text)
    objects = [v for v in values if v] or values[:1]  # empty objects beside one say nothing
    if any(not same(v, objects[0]) for v in objects[1:]):
        return Parsed(None, "ambiguous")
    return Parsed(objects[0], repair="repetition" if len(values) > 1 else "control characters")


def _sequence(text: str) -> list[dict[str, Any]] | None:
    """The objects that stand one behind the other in `text` (a string that holds one counts), or None."""
    values: list[dict[str, Any]] = []
    at = _skip_space(text, 0)
    while at < len(text):
        try:
            value, at = _LOOSE.raw_decode(text, at)
            value = _decoded(value) if isinstance(value, str) else _mend(value)
        except (ValueError, RecursionError):
            return None
        if not isinstance(value, dict):
            return None
        values.append(value)
        at = _skip_space(text, at)
    return values or None


def _skip_space(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n":
        at += 1
    return at


def _full_copy(text: str) -> Parsed:
    """A whole object behind a prefix of its own text."""
    at = tried = 0
    first = text[:1]
    while tried < _COPIES_TRIED and 0 < (at := text.find(first, at + 1)) <= len(text) // 2:
        if text.startswith(text[:at], at):
            tried += 1
            value = _decoded(text[at:])
            if isinstance(value, dict):
                return Parsed(value, repair="full copy after a prefix")
    return Parsed(None, "unparsable_arguments")
