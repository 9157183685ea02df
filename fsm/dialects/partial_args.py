"""Arguments that come as (path, value) pieces, written as the JSON text that they stand for.

`{"jsonPath": "$.order.items[0].name", "stringValue": "red ", "willContinue": true}` adds `{"order":{"items":[{"name":"red `.
The pieces come in the order of the text, so every piece is text at once and nothing is collected: what is remembered
is where the text stands. A piece that would have to go back (a key once more, an index left out) cannot be written
into it; then the pieces follow as objects of their own, which makes arguments that no call may run with.
"""

from __future__ import annotations

import json
import re
from typing import Any

from fsm.values.values import compact

Step = str | int

_STEP = re.compile(r"""\.([^.\[\]]+)|\[([0-9]{1,9})\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]""")
VALUES = ("stringValue", "numberValue", "boolValue", "nullValue")


def steps_of(path: Any) -> list[Step] | None:
    """The keys and indexes of a JSON path, or None if it is none that names one value."""
    if not isinstance(path, str) or not path:
        return None
    at = 1 if path[0] == "$" else 0
    path = path if at or path[0] in ".[" else "." + path
    steps: list[Step] = []
    while at < len(path):
        match = _STEP.match(path, at)
        if match is None:
            return None
        key, index, single, double = match.groups()
        quoted = single if single is not None else double
        steps.append(key if key is not None else int(index) if index is not None else re.sub(r"\\(.)", r"\1", quoted))
        at = match.end()
    return steps or None


class ArgumentText:
    """The arguments of one call. `put` and `close` return the text that is to be added."""

    __slots__ = ("_at", "_seen", "broken", "id", "name", "string")

    def __init__(self, id: str | None, name: str | None) -> None:
        self.id = id
        self.name = name
        self.broken = False
        self.string: list[Step] | None = None  # the path of the string that goes on
        self._at: list[Step] = []  # the path of the last value
        self._seen: list[set[str]] = []  # the keys of each container on that path

    def put(self, piece: dict[str, Any], value: Any) -> str:
        """The text of one piece. `value` is its value; None also where it has none."""
        path = steps_of(piece.get("jsonPath"))
        goes_on = piece.get("willContinue") is True
        if self.string is not None and path == self.string and (value is None or isinstance(value, str)):
            if not goes_on:
                self.string = None
            return _escaped(value or "") + ("" if goes_on else '"')
        if value is None and "nullValue" not in piece:
            return ""
        if value == "" and not goes_on and path == self._at:
            return ""  # the end of a string said twice
        opened = None if self.broken or path is None else self._open(path)
        if opened is None:
            self.broken = True
            self.string = None
            return compact({str(piece.get("jsonPath")): value})
        if isinstance(value, str) and goes_on:
            self.string = path
            return f'{opened}"{_escaped(value)}'
        return opened + compact(value)

    def _open(self, path: list[Step]) -> str | None:
        """The text between the last value and the one at `path`; None where the text cannot go there."""
        at, seen = self._at, self._seen
        n = 0
        while n < len(path) and n < len(at) and path[n] == at[n] and type(path[n]) is type(at[n]):
            n += 1
        if n == len(path) or (at and n == len(at)):
            return None  # that value is there already, or it is no container
        step = path[n]
        if at and (type(step) is not type(at[n]) or (step in seen[n] if isinstance(step, str) else step != int(at[n]) + 1)):
            return None
        if (not at and isinstance(step, int)) or any(s != 0 for s in path[n + 1:] if isinstance(s, int)):
            return None
        out = '"' if self.string is not None else ""  # the next value is there, so this string is over
        self.string = None
        out += _closers(at[n + 1:]) + ("," if at else "{") + _key(step)
        out += "".join(("{" if isinstance(s, str) else "[") + _key(s) for s in path[n + 1:])
        del seen[n + 1:]
        seen += [set() for _ in range(len(path) - len(seen))]
        for k in range(n, len(path)):
            seen[k].add(str(path[k]))
        self._at = path
        return out

    def close(self) -> str:
        """The text that ends the arguments."""
        if self.broken or not self._at:
            return ""
        end = '"' if self.string is not None else ""
        return end + _closers(self._at)


def _closers(steps: list[Step]) -> str:
    return "".join("}" if isinstance(s, str) else "]" for s in reversed(steps))


def _key(step: Step) -> str:
    return json.dumps(step, ensure_ascii=False) + ":" if isinstance(step, str) else ""


def _escaped(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]
