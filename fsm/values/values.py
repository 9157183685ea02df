"""JSON values: what they weigh, how deep they nest, whether two are equal, and how they are written.

A parser made them, so they are trees of plain types. What is done for every call takes no multiple of a large value's bytes:
orjson takes eight times those of a string while it writes, so a large value is written in pieces.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import orjson

from fsm.model.surrogates import mend

LARGE = 1 << 16  # characters from which on a value or its text is not given to orjson whole
_BOXES = (dict, list)
_INTEGERS_END = 2.0**63
_PIECE = 1 << 12
_NOTHING = " \t\r\n{}"
_ORJSON_DEPTH = 254  # deeper values it refuses to write
_compactly = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class ValueText:
    """The JSON text of arguments that the wire sends as a value (rule 15): written when somebody asks for it, read by nobody.

    `value` can be written as UTF-8. `size`, in bytes, is the text's but for the spelling of floats.
    """

    __slots__ = ("size", "value")

    def __init__(self, value: Any) -> None:
        self.value, self.size = cleaned(value)

    def __str__(self) -> str:
        return compact(self.value)

    def __repr__(self) -> str:
        return repr(str(self))

    @property
    def closed(self) -> bool:
        """Whether it is one whole object (what the cursor says of a text)."""
        return type(self.value) is dict


def rounded(value: Any) -> bool:
    """Whether `value`, which orjson made, holds a float that may have been an integer beyond 64 bits in the text."""
    stack = [value]
    while stack:
        top = stack.pop()
        kind = type(top)
        if kind is float:
            if not abs(top) < _INTEGERS_END:  # nor NaN, which no JSON holds
                return True
        elif kind is dict:
            stack += [item for item in top.values() if type(item) is not str]
        elif kind is list:
            stack += [item for item in top if type(item) is not str]
    return False


def deeper(value: Any, limit: int) -> bool:
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
    if weight(value) < LARGE:
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
    """An argument object as the JSON text it stands for (R-21, rule 15), however deep it nests."""
    if isinstance(value, dict) and any(isinstance(item, str) and len(item) > _PIECE for item in value.values()):
        return "".join(_flat(value, _quickly))  # the standard library writes long strings character by character
    try:
        return _compactly(value)
    except RecursionError:
        return "".join(_flat(value))


def says_nothing(text: str) -> bool:
    """Whether an argument text has nothing but blanks and braces (rule 7). A large one that has more is not copied for that."""
    return not text[:_PIECE].strip(_NOTHING) and not text.strip(_NOTHING)


def is_utf8(text: str, data: bytes) -> bool:
    """Whether `text` is what `data` says."""
    at = 0
    for start in range(0, len(text), _PIECE):
        piece = text[start:start + _PIECE].encode("utf-8", "surrogatepass")
        if not data.startswith(piece, at):
            return False
        at += len(piece)
    return at == len(data)


def written_as(value: Any, text: str | bytes) -> bool:
    """Whether `orjson.dumps` gives the text (or its UTF-8) for the value. A large one is written and compared in pieces."""
    try:
        if len(text) < LARGE:
            written = orjson.dumps(value)
            return (written if isinstance(text, bytes) else written.decode()) == text
        at = 0
        for piece in _flat(value, _strictly):
            said: Any = piece.encode() if isinstance(text, bytes) else piece
            if not text.startswith(said, at):
                return False
            at += len(said)
        return at == len(text) and not deeper(value, _ORJSON_DEPTH)
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
