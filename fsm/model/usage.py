"""Token counts. Within a message the latest non-zero value per field (R-77, R-78); across messages the sum (R-79)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from fsm.model.signature import Signed

import orjson

FIELDS = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "reasoning_tokens")


@dataclass(init=False)
class Usage:
    """Token counts of one message, or of several added up.

    Counts are None until an upstream named them. `output_tokens` includes reasoning in every dialect. `basis` says
    whether `input_tokens` includes cached tokens: "includes_cached" (OpenAI, Gemini), "excludes_cached" (Anthropic),
    "mixed" after adding both, "unknown". `raw` is the vendor's last non-empty usage object.
    """

    __signature__ = Signed()

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    reasoning_tokens: int | None = None
    basis: str = "unknown"
    raw: dict[str, Any] = field(default_factory=dict)
    _parts: dict[tuple[str, ...], int] | None = field(default=None, init=False, repr=False, compare=False)  # the latest addends of sums

    def __init__(self, input_tokens: int | None = None, output_tokens: int | None = None, cache_read_input_tokens: int | None = None,
                 cache_creation_input_tokens: int | None = None, reasoning_tokens: int | None = None, basis: str = "unknown",
                 raw: dict[str, Any] | None = None) -> None:
        # by hand, since one is made per stream: what a dataclass generates takes ten times as long
        self.input_tokens = input_tokens
        self.output_tokens = output_tokens
        self.cache_read_input_tokens = cache_read_input_tokens
        self.cache_creation_input_tokens = cache_creation_input_tokens
        self.reasoning_tokens = reasoning_tokens
        self.basis = basis
        self.raw = {} if raw is None else raw
        self._parts = None

    def to_dict(self) -> dict[str, Any]:
        """The counts that are known; `input_tokens` and `output_tokens` always (0 where unknown)."""
        out: dict[str, Any] = {"input_tokens": self.input_tokens or 0, "output_tokens": self.output_tokens or 0}
        for name in FIELDS[2:]:
            value = getattr(self, name)
            if value is not None:
                out[name] = value
        return out

    def source(self) -> dict[str, Any]:
        """What `to_dict` leaves out: `basis`, `raw`, and which of its zeros nobody stated (`unstated`); only what is there."""
        out: dict[str, Any] = {"basis": self.basis} if self.basis != "unknown" else {}
        if self.raw:
            out["raw"] = self.raw
        unstated = [name for name in FIELDS[:2] if getattr(self, name) is None]
        if unstated:
            out["unstated"] = unstated
        return out

    @classmethod
    def from_dict(cls, data: dict[str, Any], basis: str = "unknown", raw: dict[str, Any] | None = None, unstated: Sequence[str] = ()) -> Usage:
        """The inverse of `to_dict`; with what `source` gives, of both."""
        return cls(**{k: v for k, v in data.items() if k in FIELDS and k not in unstated}, basis=basis, raw=raw or {})

    @property
    def cached_share(self) -> float | None:
        """Cached input tokens over all input tokens, 0.0 to 1.0 (R-80); None while it cannot be known."""
        read, given = self.cache_read_input_tokens or 0, self.input_tokens
        if given is None or self.basis not in ("includes_cached", "excludes_cached"):
            return None
        whole = given if self.basis == "includes_cached" else given + read + (self.cache_creation_input_tokens or 0)
        return read / whole if whole else None


Path = tuple[str, ...]


class Sum(tuple[Path, ...]):
    """A count that a vendor gives in parts."""

    __slots__ = ()


#: (our field, its place in the vendor's object): a place is a key, the keys of nested objects, or a sum of such
Paths = tuple[tuple[str, str | Sum | Path], ...]


def paths(table: dict[str, list[str]]) -> Paths:
    """The `usage` table of a dialect (spec/dialects/*.yaml), flat: of the places of a field the first that counts is taken."""
    return tuple((name, _place(words)) for name, candidates in table.items() for words in candidates)


def _place(words: str) -> str | Sum | Path:
    if " + " in words:
        return Sum(tuple(path.split(".")) for path in words.split(" + "))
    return tuple(words.split(".")) if "." in words else words


def _at(data: dict[str, Any], path: tuple[str, ...]) -> Any:
    """What stands at `path`, or None."""
    value: Any = data
    for key in path:
        if type(value) is not dict:
            return None
        value = value.get(key)
    return value


def _whole(value: Any) -> int | None:
    """`value` as a count; None for anything but a whole number that is not negative."""
    if type(value) is int:
        return value if value >= 0 else None
    return int(value) if isinstance(value, float) and value.is_integer() and value >= 0 else None


def _sum(usage: Usage, data: dict[str, Any], addends: Sum) -> int | None:
    """The sum of what is there; a part that is missing or zero counts as it did before."""
    parts = usage._parts
    if parts is None:
        parts = usage._parts = {}
    named, total = False, 0
    for path in addends:
        count = _whole(_at(data, path))
        named = named or count is not None
        if count:
            parts[path] = count
            total += count
        else:
            total += parts.get(path, 0)
    return total if named else None


def update(usage: Usage, data: dict[str, Any], table: Paths) -> str | None:
    """Take the latest non-zero counts of `data` (R-77). Returns a sentence when the basis seems to have changed.

    Some compatible vendors put the whole prompt into the first report and only its uncached rest into a later one:
    input_tokens falls while cached tokens rise.
    """
    before, cached = usage.input_tokens, usage.cache_read_input_tokens or 0
    taken = None
    for name, place in table:
        count = data.get(place) if isinstance(place, str) else _sum(usage, data, place) if isinstance(place, Sum) else _at(data, place)
        if count is None or name == taken:
            continue
        if type(count) is not int and (count := _whole(count)) is None:
            continue
        if count > 0:
            setattr(usage, name, count)
            taken = name
        elif count == 0 and getattr(usage, name) is None:
            setattr(usage, name, 0)
    usage.raw = data
    if before and usage.input_tokens and usage.input_tokens < before and (usage.cache_read_input_tokens or 0) > cached:
        return f"input_tokens fell from {before} to {usage.input_tokens} while cached tokens rose from {cached} to {usage.cache_read_input_tokens}"
    return None


def copied(usage: Usage) -> Usage:
    """The counts as they are now, for a caller to keep; one is made per report of a live stream, by hand for the same reason as in `Usage`."""
    return Usage(usage.input_tokens, usage.output_tokens, usage.cache_read_input_tokens, usage.cache_creation_input_tokens, usage.reasoning_tokens,
                 usage.basis, usage.raw)


def forked(usage: Usage) -> Usage:
    """A copy that takes reports as `usage` itself would."""
    made = copied(usage)
    made._parts = None if usage._parts is None else dict(usage._parts)
    return made


def reported(before: Usage, report: bytes, table: Paths) -> Usage:
    """`before`, with a report that is still JSON."""
    usage = forked(before)
    update(usage, orjson.loads(report), table)
    return usage


class UsageLedger:
    """Adds up the usage of messages (R-79): message 1 with 1000 and message 2 with 600 input tokens are 1600."""

    __signature__ = Signed()

    __slots__ = ("messages", "total")

    def __init__(self) -> None:
        self.total = Usage()
        self.messages = 0

    def add(self, usage: Usage) -> Usage:
        """Add one message's final usage; returns the total."""
        self.total.basis = usage.basis if not self.messages or self.total.basis == usage.basis else "mixed"
        self.messages += 1
        for name in FIELDS:
            value = getattr(usage, name)
            if value is not None:
                setattr(self.total, name, (getattr(self.total, name) or 0) + value)
        return self.total

    def cost(self, prices: dict[str, float]) -> float:
        """The total in the currency of `prices`, which maps our field names to a price per million tokens (R-80).

        Where input_tokens includes cached tokens, those are charged at their own price only.
        """
        counts = {name: getattr(self.total, name) or 0 for name in FIELDS}
        if self.total.basis == "includes_cached":
            counts["input_tokens"] -= counts["cache_read_input_tokens"] + counts["cache_creation_input_tokens"]
        return sum(counts[name] * price for name, price in prices.items()) / 1_000_000
