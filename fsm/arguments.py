"""Tool arguments: from the text an upstream sent to the object a tool may run with, or the reason why not.

One strict parse (R-04, R-72). If it fails, the repairs of DESIGN section 5, fine print 8, and no others: raw control
characters in strings, equal repetition, an empty object beside one object, double encoding, a full copy after a
prefix of itself. A prefix of an object is never closed into one (R-70).

Integers stay exact: a number that names something must come back as sent, and orjson turns integers beyond 64 bits
into floats.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from math import isinf
from typing import Any, NamedTuple

import orjson

from fsm.buffer import mend

_fast = orjson.loads
_new: Any = tuple.__new__
_BOXES = (dict, list)
_INTEGERS_END = 2.0**63
_LARGE = 1 << 16  # characters
_PIECE = 1 << 12
_ORJSON_DEPTH = 254  # deeper values it refuses to write
_COPIES_TRIED = 8  # places where a full copy may begin; an attack could offer a million


class Parsed(NamedTuple):
    """`value` is the object, or None; then `fault` says why not. `repair` names the repair that was needed."""

    value: dict[str, Any] | None
    fault: str | None = None
    repair: str | None = None


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON")


_compactly = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_STRICT = json.JSONDecoder(parse_constant=_refuse)
_LOOSE = json.JSONDecoder(strict=False, parse_constant=_refuse)


def _rounded(value: Any) -> bool:
    """Whether `value`, which orjson made, holds a float that may have been an integer beyond 64 bits in the text."""
    stack = [value]
    while stack:
        top = stack.pop()
        kind = type(top)
        if kind is float:
            if abs(top) >= _INTEGERS_END:
                return True
        elif kind is dict:
            stack += [item for item in top.values() if type(item) is not str]
        elif kind is list:
            stack += [item for item in top if type(item) is not str]
    return False


def loads(text: str) -> Any:
    """Strict JSON with exact integers. Raises ValueError (RecursionError does not leave this function)."""
    if len(text) >= _LARGE and (value := _large(text)) is not None:
        return value
    try:
        try:
            value = _fast(text)
        except ValueError:  # among them lone surrogate escapes, which JSON allows and orjson refuses
            if "\\u" not in text:
                raise
        else:
            if not _rounded(value):
                return value
        return _mend(_STRICT.decode(text))
    except RecursionError as e:
        raise ValueError("nested too deeply") from e


def read(data: bytes) -> Any:
    """The JSON of a wire event; of an event that is not large, integers beyond 64 bits are floats (`exactly`). Raises ValueError."""
    if len(data) >= _LARGE and (value := _large(data)) is not None:
        return value
    return _fast(data)


def _large(text: str | bytes) -> Any:
    """What a large text says, where that is plain, else None: orjson takes twelve times the bytes while it reads, jiter none."""
    import jiter

    try:
        value = jiter.from_json(text if isinstance(text, bytes) else text.encode(), allow_inf_nan=False, cache_mode="none")
    except ValueError:
        return None
    return None if _rounded(value) else value  # it takes a number that no float can hold for infinity


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
    if not _rounded(value):
        return value
    found = json.loads(raw.decode("utf-8", "replace"))  # orjson has read it, so it is JSON and nests less than 1,024 deep
    for step in path:
        found = found[step]
    return found


def same(a: Any, b: Any) -> bool:
    """Whether two argument objects are equal as JSON: true is not 1, and 1 is not 1.0."""
    stack = [(a, b)]
    while stack:
        a, b = stack.pop()
        if type(a) is not type(b):
            return False
        if type(a) is dict:
            if a.keys() != b.keys():
                return False
            stack += [(value, b[key]) for key, value in a.items()]
        elif type(a) is list:
            if len(a) != len(b):
                return False
            stack += zip(a, b, strict=True)
        elif a != b or (type(a) is float and repr(a) != repr(b)):  # 0.0 is not -0.0
            return False
    return True


def identity(value: Any) -> str:
    """Equal for equal JSON values, whatever the order of their keys."""
    return json.dumps(value, sort_keys=True)


def cleaned(value: Any) -> tuple[Any, int]:
    """A vendor's JSON value as it can be written again (no surrogate halves), and its size in bytes."""
    try:
        return value, _size(value)
    except TypeError:  # surrogate halves, integers beyond 64 bits, deep nesting
        text = compact(value)
        fit = mend(text)
        return (value if fit == text else json.loads(fit)), len(fit)


def _size(value: Any) -> int:
    """How many bytes orjson writes for `value`, a large one in pieces (`written_as`). Raises TypeError for what it cannot write."""
    if weight(value) < _LARGE:
        return len(orjson.dumps(value))
    size = 0
    for piece in _flat(value, _strictly):
        size += len(piece) if piece.isascii() else len(piece.encode())
    return size


def weight(value: Any) -> int:
    """About as many bytes as the strings in `value` have, whatever they are wrapped in."""
    size, stack = 0, [value]
    while stack:
        top = stack.pop()
        kind = type(top)
        if kind is str:
            said = top  # what a name of its own makes known to be a string, an object, an array: see arguments.pxd
            size += len(said) if said.isascii() else len(said.encode("utf-8", "surrogatepass"))
        elif kind is dict:
            box = top
            for item in box.values():
                stack.append(item)
        elif kind is list:
            row = top
            stack += row
    return size


def compact(value: Any) -> str:
    """An argument object as the JSON text it stands for (R-21, fine print 15), however deep it nests."""
    if isinstance(value, dict) and any(isinstance(item, str) and len(item) > _PIECE for item in value.values()):
        return "".join(_flat(value, _quickly))  # the standard library writes long strings character by character
    try:
        return _compactly(value)
    except RecursionError:
        return "".join(_flat(value))


def written_as(value: Any, text: str) -> bool:
    """Whether `orjson.dumps` gives the text for the value. It takes eight times the bytes of a string while it writes, so a large value goes in pieces."""
    try:
        if len(text) < _LARGE:
            return orjson.dumps(value).decode() == text
        at = 0
        for piece in _flat(value, _strictly):
            if not text.startswith(piece, at):
                return False
            at += len(piece)
        return at == len(text) and not _deeper(value, _ORJSON_DEPTH)
    except TypeError:  # integers beyond 64 bits, deep nesting
        return False


def _loosely(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _strictly(value: Any) -> str:
    return orjson.dumps(value).decode()


def _quickly(value: Any) -> str:
    """`_loosely` for a scalar, which orjson writes the same way where it is a string without halves of pairs."""
    try:
        return orjson.dumps(value).decode() if isinstance(value, str) else _loosely(value)
    except TypeError:
        return _loosely(value)


def _flat(value: Any, write: Callable[[Any], str] = _loosely) -> Iterator[str]:
    """The pieces of `value`'s JSON text, of at most _PIECE characters before they are escaped, without recursion; `write` gives those of scalars.

    What waits on the stack is a value or a piece of text.
    """
    stack: list[tuple[bool, Any]] = [(True, value)]
    while stack:
        is_value, top = stack.pop()
        if not is_value:
            yield top
        elif isinstance(top, dict):
            parts: list[tuple[bool, Any]] = [(False, "{")]
            for key, item in top.items():
                parts += [(False, ("," if len(parts) > 1 else "") + write(key) + ":"), (True, item)]
            stack += reversed([*parts, (False, "}")])
        elif isinstance(top, list):
            parts = [(False, "[")]
            for item in top:
                parts += [(False, "," if len(parts) > 1 else ""), (True, item)]
            stack += reversed([*parts, (False, "]")])
        elif isinstance(top, str) and len(top) > _PIECE:
            yield '"'
            for start in range(0, len(top), _PIECE):
                yield write(top[start:start + _PIECE])[1:-1]
            yield '"'
        else:
            yield write(top)


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


def _deeper(value: Any, limit: int) -> bool:
    """Whether `value`, as a JSON parser made it, nests deeper than `limit`."""
    level = [value] if type(value) in _BOXES else []
    depth = 0
    while level:
        depth += 1
        if depth > limit:
            return True
        below: list[Any] = []
        for box in level:
            below += [item for item in (box.values() if type(box) is dict else box) if type(item) in _BOXES]
        level = below
    return False


def parse(text: str, max_depth: int) -> Parsed:
    """The object that `text` stands for.

    Faults: "too_deep", "not_an_object", "ambiguous" (several different objects), "unparsable_arguments".
    """
    try:
        value = loads(text)
    except ValueError:
        return _repaired(text) if depth_of(text, max_depth + 1) <= max_depth else Parsed(None, "too_deep")
    if _deeper(value, max_depth):
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
