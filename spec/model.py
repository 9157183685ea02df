"""Load `spec/*.yaml` into one checked object.

Everything that can be wrong with the specification is found here and reported together, so that the
emitters (`spec/emit.py`) may assume a sound one. Each check is a function of its own with a test that
feeds it a broken spec (`tests/test_spec.py`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).resolve().parent


class SpecError(ValueError):
    """The specification contradicts itself; `problems` lists every sentence."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


@dataclass(frozen=True)
class Cell:
    """What happens to one (event, guard) in one state."""

    do: tuple[str, ...]
    to: str | None
    anomaly: str | None
    why: str

    @property
    def kind(self) -> str:
        if self.do:
            return "do"
        return "anomaly" if self.anomaly else "ignore"


@dataclass
class Spec:
    states: dict[str, dict[str, Any]]
    events: dict[str, dict[str, Any]]
    actions: dict[str, dict[str, Any]]
    anomalies: dict[str, dict[str, Any]]
    groups: dict[str, list[str]]
    errors: dict[str, Any]
    dialects: dict[str, dict[str, Any]]
    digest: str
    #: (state, event, guard) -> Cell; the guard is "" for an event without cases
    cells: dict[tuple[str, str, str], Cell] = field(default_factory=dict)

    @property
    def leaves(self) -> list[str]:
        """The states a stream can be in, by id (a parent is only a name for its children)."""
        parents = {s.get("parent") for s in self.states.values()}
        return [n for n in sorted(self.states, key=lambda n: self.states[n]["id"]) if n not in parents]

    def guards(self, event: str) -> list[str]:
        return list(self.events[event].get("guards") or {"": ""})

    def columns(self) -> Iterator[tuple[str, str]]:
        """Every (event, guard), in the order of the flat tables' columns."""
        for event in sorted(self.events, key=lambda e: self.events[e]["id"]):
            for guard in self.guards(event):
                yield event, guard


def _listed(value: Any) -> list[str]:
    return [] if value is None else list(value) if isinstance(value, list) else [value]


def load(folder: Path = HERE) -> Spec:
    """The checked specification in `folder`. Raises SpecError with every problem found."""
    stream = yaml.safe_load((folder / "stream.yaml").read_text("utf-8"))
    errors = yaml.safe_load((folder / "errors.yaml").read_text("utf-8"))
    dialects = {d["name"]: d for p in sorted((folder / "dialects").glob("*.yaml"))
                for d in [yaml.safe_load(p.read_text("utf-8"))]}
    return build(stream, errors, dialects)


def build(stream: dict[str, Any], errors: dict[str, Any], dialects: dict[str, dict[str, Any]]) -> Spec:
    """Check the parsed YAML and return the Spec. Raises SpecError."""
    text = json.dumps([stream, errors, dialects], sort_keys=True)
    spec = Spec(stream["states"], stream["events"], stream["actions"], stream["anomalies"], stream.get("groups", {}),
                errors, dialects, hashlib.sha256(text.encode()).hexdigest()[:16])
    problems = [*_check_ids(spec), *_fill_cells(spec, stream["transitions"])]
    if not problems:  # the graph can be walked only when every name is known and every cell is decided
        problems = [*_check_unused(spec, stream["transitions"]), *_check_reachable(spec), *_check_ways_out(spec),
                    *_check_archived(spec), *_check_dialects(spec)]
    if problems:
        raise SpecError(problems)
    return spec


def _check_ids(spec: Spec) -> Iterator[str]:
    for what in ("states", "events", "anomalies"):
        table = getattr(spec, what)
        ids = [entry["id"] for entry in table.values()]
        if sorted(ids) != list(range(len(ids))):
            yield f"{what}: ids must be 0..{len(ids) - 1}, each once; they are append-only"
    for name, state in spec.states.items():
        if state.get("parent") and state["parent"] not in spec.states:
            yield f"state {name}: unknown parent {state['parent']}"
    if [n for n, s in spec.states.items() if s.get("initial")] != [n for n in spec.states if spec.states[n]["id"] == 0]:
        yield "states: the one with id 0, and only it, must be initial"


def _expand(spec: Spec, names: Any, seen: tuple[str, ...] = ()) -> Iterator[str]:
    for name in _listed(names):
        if name in spec.groups and name not in seen:
            yield from _expand(spec, spec.groups[name], (*seen, name))
        else:
            yield name


def _fill_cells(spec: Spec, transitions: list[dict[str, Any]]) -> Iterator[str]:
    """Decide every cell; unknown names, two answers for one cell and missing answers are problems."""
    leaves = spec.leaves
    unguarded: dict[tuple[str, str], Cell] = {}
    for t in transitions:
        where = f"transition {t.get('event')} from {t.get('from')}"
        cell = Cell(tuple(_listed(t.get("do"))), t.get("to"), t.get("anomaly"), t.get("why", ""))
        if not cell.why:
            yield f"{where}: no reason given (why)"
        if bool(t.get("ignore")) == bool(cell.do or cell.anomaly) or (cell.to and not cell.do):
            yield f"{where}: exactly one of do, ignore and a bare anomaly is needed"
        for action in cell.do:
            if action not in spec.actions:
                yield f"{where}: unknown action {action}"
        if cell.anomaly is not None and cell.anomaly not in spec.anomalies:
            yield f"{where}: unknown anomaly {cell.anomaly}"
        if cell.to is not None and cell.to not in leaves:
            yield f"{where}: unknown state {cell.to} (a state with children is no target)"
        for event in _listed(t["event"]):
            if event not in spec.events:
                yield f"{where}: unknown event {event}"
                continue
            for guard in _listed(t.get("guard")):
                if guard not in spec.guards(event):
                    yield f"{where}: unknown guard {guard} of {event}"
            for state in _expand(spec, t["from"]):
                if state not in leaves:
                    yield f"{where}: unknown state {state}"
                elif "guard" in t:
                    for guard in _listed(t["guard"]):
                        if (state, event, guard) in spec.cells:
                            yield f"{where}: two transitions for {event} [{guard}] in {state}"
                        spec.cells[state, event, guard] = cell
                elif (state, event) in unguarded:
                    yield f"{where}: two unguarded transitions for {event} in {state}"
                else:
                    unguarded[state, event] = cell
    for (state, event), cell in unguarded.items():
        free = [g for g in spec.guards(event) if (state, event, g) not in spec.cells]
        if not free:
            yield f"{event} in {state}: the unguarded transition can never be taken"
        for guard in free:
            spec.cells[state, event, guard] = cell
    for state in leaves:
        for event, guard in spec.columns():
            if (state, event, guard) not in spec.cells:
                yield f"undecided: {event}{f' [{guard}]' if guard else ''} in {state} (the guards there are not exhaustive)"


def _check_unused(spec: Spec, transitions: list[dict[str, Any]]) -> Iterator[str]:
    used = {a for c in spec.cells.values() for a in c.do}
    yield from (f"action {a} is never used" for a in spec.actions if a not in used)
    noted = {c.anomaly for c in spec.cells.values()}
    for name, entry in spec.anomalies.items():
        if (name in noted) == ("by" in entry):
            yield f"anomaly {name} must be used by a transition or say which layer records it (by), not both"
    mentioned = {n for t in transitions for n in _listed(t["from"])} | {n for g in spec.groups.values() for n in g}
    yield from (f"group {g} is never used" for g in spec.groups if g not in mentioned)


def _edges(spec: Spec) -> Iterator[tuple[str, Cell, str]]:
    for (state, _event, _guard), cell in spec.cells.items():
        yield state, cell, cell.to or state


def _check_reachable(spec: Spec) -> Iterator[str]:
    seen, todo = set(), [n for n in spec.leaves if spec.states[n].get("initial")]
    while todo:
        state = todo.pop()
        if state not in seen:
            seen.add(state)
            todo += [to for source, _cell, to in _edges(spec) if source == state]
    yield from (f"state {n} is unreachable" for n in spec.leaves if n not in seen)


def _check_ways_out(spec: Spec) -> Iterator[str]:
    leaving = {state for state, _cell, to in _edges(spec) if to != state}
    for name in spec.leaves:
        final = bool(spec.states[name].get("final"))
        if final and (name in leaving or any(c.do for (s, _e, _g), c in spec.cells.items() if s == name)):
            yield f"final state {name} has a way out or an action"
        if not final and name not in leaving:
            yield f"state {name} has no way out"


def _check_archived(spec: Spec) -> Iterator[str]:
    """Follow every path with the question "may a block be open here?"; none may be open in a final state."""
    seen: set[tuple[str, bool]] = set()
    todo = [(n, False) for n in spec.leaves if spec.states[n].get("initial")]
    while todo:
        state, may_be_open = todo.pop()
        if (state, may_be_open) in seen:
            continue
        seen.add((state, may_be_open))
        for source, cell, to in _edges(spec):
            if source != state:
                continue
            now = may_be_open
            for action in cell.do:
                now = (now or bool(spec.actions[action].get("opens"))) and spec.actions[action].get("archives") != "all"
            if now and spec.states[to].get("final"):
                yield f"a block opened before {state} is never archived on the way to {to} ({cell.why})"
            else:
                todo.append((to, now))


# What the `hot` tree of a dialect may say of a key (_speedups/scan.pxi takes the event only if every key agrees):
#   skip            any value, which says nothing in a delta
#   empty           null, "", [] or {}
#   zero, false     0; false or empty
#   literal: word   this string, or one of a list of them (a discriminator: it must be there)
#   kind: {w: E}    one of these strings, and which event the capture must be then (a discriminator too)
#   flag: E         true makes the capture this event; false or empty does not
#   index: kind     the index of the block or call
#   address: n      the same, n addresses apart
#   part: [a, n]    which of the n addresses from a on within it
#   serial          the wire's own number of the event (`serial` of the dialect); a delta whose number is not new is left to Python
#   counts          a usage report: the event says USAGE too, behind its text (_speedups/counts.pxi)
#   capture: E      the string that is the delta's text; `kind` leaves the event to the discriminator
#   {key: …}        an object; under the one key "[0]", an array with one object or nothing; under "list" the same, and it must be there
ROLES = ("literal", "index", "kind", "capture", "flag", "address", "part")
# What a shape under `frames` may say as well: what the dialect's method of the shape's name is given, in the order of the shape, by these
# names. So a shape says what the Python code reads in such an event, and every other key is one that it does not read.
#   string: name    a string; None where it is null or missing
#   number: name    a whole number; it must be there
#   object: name    an object that is not empty; None where it is null or missing
GIVEN = ("string", "number", "object")
CANONICAL_REASONS = {"end_turn", "tool_use", "max_tokens", "stop_sequence", "refusal", "pause_turn", "content_filter"}
USAGE_FIELDS = ["input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "reasoning_tokens"]


def _check_dialects(spec: Spec) -> Iterator[str]:
    ids = sorted(d["id"] for d in spec.dialects.values())
    if ids != list(range(len(ids))):
        yield "dialects: ids must be 0..n, each once"
    for name, d in spec.dialects.items():
        for raw, reason in d["stop_reasons"].items():
            if reason not in CANONICAL_REASONS:
                yield f"dialect {name}: stop reason {raw} has no canonical word {reason}"
        for group in ("cut", "filtered", "failed_call"):
            yield from (f"dialect {name}: {group} names the unlisted reason {raw}" for raw in d[group] if raw not in d["stop_reasons"])
        if d.get("arguments") not in ("text", "object"):
            yield f"dialect {name}: a request takes arguments as text or object, not {d.get('arguments')}"
        yield from (f"dialect {name}: unknown usage field {f}" for f in d["usage"] if f not in USAGE_FIELDS)
        yield from _check_hot(spec, name, d["hot"], "")
        for shape, tree in d.get("frames", {}).items():
            yield from _check_hot(spec, name, tree, shape, frame=True)
        if "serial" in d and d.get("frames"):
            yield f"dialect {name}: an event with a number of its own may be a repeat, so it goes through JSON: no frames"
        if "serial" in d and d["hot"] and d["hot"].get(d["serial"]) != "serial":
            yield f"dialect {name}: {d['serial']} numbers the events, so its role in the hot tree is serial"
    for code, cls in spec.errors["codes"].items():
        if cls not in spec.errors["classes"]:
            yield f"errors: code {code} has the unknown class {cls}"


def given(tree: Any) -> list[str]:
    """The names of what a shape under `frames` gives, in its order."""
    if isinstance(tree, str):
        return []
    if len(tree) == 1 and next(iter(tree)) in GIVEN:
        return list(tree.values())
    return [name for value in tree.values() for name in given(value)]


def _check_hot(spec: Spec, dialect: str, tree: Any, path: str, frame: bool = False) -> Iterator[str]:
    """The roles of a tree; a shape of `frames` only has those that make no delta."""
    if isinstance(tree, str):
        if tree not in (("skip", "empty", "zero", "false") if frame else ("skip", "empty", "zero", "false", "serial", "counts")):
            yield f"dialect {dialect}: unknown role {tree} at {path}"
    elif frame and len(tree) == 1 and next(iter(tree)) in (*GIVEN, "literal"):
        pass
    elif len(tree) == 1 and next(iter(tree)) in ROLES:
        if frame:
            yield f"dialect {dialect}: the role {next(iter(tree))} at {path} is for deltas only"
        (role, value), = tree.items()
        hot = {e for e in spec.events if spec.events[e].get("hot")}
        named = {value} - {"kind"} if role in ("capture", "flag") else set(value.values()) if role == "kind" else set()
        yield from (f"dialect {dialect}: {event} at {path} is no hot event" for event in named - hot)
    else:
        for key, value in tree.items():
            yield from _check_hot(spec, dialect, value, f"{path}.{key}" if path else key, frame)
