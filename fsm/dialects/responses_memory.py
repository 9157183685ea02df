"""Which item of an OpenAI response an event is about, and which of its parts.

Items are known by the `output_index`, or where an upstream leaves that out or changes it, by other names (rule 24). What is
remembered is names and bounds, no content.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

from fsm.dialects.base import number, text
from fsm.dialects.responses_items import ROOM

_KEPT = 64  # items, and names of items that no item has, that are remembered


class Item:
    """What must be known of an item to read what comes next of it."""

    __slots__ = ("call_id", "claimed", "counts", "done", "fields", "free", "id", "kind", "parts")

    def __init__(self) -> None:
        self.id: str | None = None
        self.call_id: str | None = None
        self.kind: str | None = None  # as it began, None if nothing was heard of that
        self.claimed = False  # an event has named it
        self.counts = False  # deltas alone opened a part behind another one
        self.done = False
        self.fields: dict[str, Any] = {}
        #: (kind, address) of each block, in order of appearance -> whether its part is bounded: it was announced, or stated in full
        self.parts: dict[tuple[str, int], bool] = {}
        self.free = False  # a custom tool's call, whose free text has begun

    def places(self) -> list[int]:
        """The addresses of its parts, each once, in order of appearance."""
        return list(dict.fromkeys([address for _kind, address in self.parts]))

    def addresses(self, kind: str, base: int) -> Iterator[int]:
        """The addresses of the parts of a kind, beginning at `base`; where they end, those that follow."""
        known = [a for k, a in self.parts if k == kind and base <= a < base + ROOM]
        return chain(known, range(max(known) + 1 if known else base, base + ROOM))

    def runs(self, kind: str, base: int) -> list[list[int]]:
        """The same addresses, together those that may be one part: behind the first of them deltas alone moved on (rule 23)."""
        runs: list[list[int]] = []
        for (k, address), bounded in self.parts.items():
            if k == kind and base <= address < base + ROOM:
                if runs and not bounded:
                    runs[-1].append(address)
                else:
                    runs.append([address])
        return runs

    def settle(self, kind: str, base: int, address: int) -> list[int] | None:
        """The run that a part belongs to which is stated in full at `address`; None if it came only there. It is bounded from now on."""
        for run in self.runs(kind, base) if self.counts else ():
            if address in run:
                for at in run:
                    self.parts[kind, at] = True
                return run if len(run) > 1 else None
        return None

    def first(self, kind: str) -> int | None:
        """The address of the first part of a kind."""
        for k, address in self.parts:
            if k == kind:
                return address
        return None


class Items:
    """The items of one response, by their output_index."""

    __slots__ = ("_aliases", "_items")

    def __init__(self) -> None:
        self._items: dict[int, Item] = {}
        self._aliases: dict[str, int] = {}  # item ids that no item has, and the output_index that each stands for

    def known(self, index: int) -> Item | None:
        """The item at an output_index, if one was heard of."""
        return self._items.get(index)

    def at(self, index: int) -> Item:
        """The item at an output_index, which is heard of now."""
        item = self._items.get(index)
        return self._new(index) if item is None else item

    def _new(self, index: int) -> Item:
        if len(self._items) >= _KEPT:
            del self._items[next(iter(self._items))]
        item = self._items[index] = Item()
        return item

    def begin(self, index: int | None) -> tuple[int, Item]:
        """An item begins at an output_index, or behind all others; one that was done there is forgotten."""
        index = max(self._items, default=-1) + 1 if index is None else index
        if index in self._items and self._items[index].done:
            del self._items[index]
        return index, self.at(index)

    def meant(self, payload: dict[str, Any], kinds: frozenset[str]) -> int | None:
        """The output_index of the item that an event is about, which is of one of `kinds`.

        That is the one it states, if an item is there or nothing else says which is meant; else the item of its `item_id`, of
        the `call_id` in it, or the next in the order of appearance.
        """
        index = number(payload.get("output_index"))
        if index is not None and index >= 0 and index in self._items:
            return index
        id_ = text(payload.get("item_id"))
        named = self._named(id_, text(payload.get("call_id")))
        if named is not None:
            return named
        return index if index is not None and index >= 0 else self._next(id_, kinds)

    def brought(self, wire: dict[str, Any], payload: dict[str, Any], ended: str | None = None) -> int | None:
        """The output_index of an item that an event brings whole; where it is not stated, that of the item of its id.

        `ended`: the kind of an item that is over, which without an id is the next that is not done.
        """
        index = number(payload.get("output_index"))
        if index is not None and index >= 0:
            return index
        id_ = text(wire.get("id"))
        named = self._named(id_, text(wire.get("call_id")))
        return named if named is not None or ended is None else self._next(id_, frozenset({ended}))

    def _named(self, id_: str | None, call_id: str | None) -> int | None:
        """The item that an id means: its own, or that of its call, as it stands or behind a prefix."""
        found, longest = None, 0
        for i, item in self._items.items():
            if (id_ and item.id == id_) or (call_id and item.call_id == call_id):
                found = i
                break
            if id_ and item.call_id and len(item.call_id) > longest and id_.endswith(item.call_id):
                found, longest = i, len(item.call_id)
        if found is not None:
            self._items[found].claimed = True
        return found if found is not None or id_ is None else self._aliases.get(id_)

    def _next(self, id_: str | None, kinds: frozenset[str]) -> int | None:
        """The item that an id means which nobody has: the first that no event has named yet, else the last that is not done."""
        last = None
        for i, item in self._items.items():
            if item.done or item.kind not in kinds:
                continue
            if id_ is not None and not item.claimed:
                item.claimed = True
                if len(self._aliases) < _KEPT:
                    self._aliases[id_] = i
                return i
            last = i
        return last
