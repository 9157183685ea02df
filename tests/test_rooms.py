"""The rooms of `fsm/`: imports point one way, in `.py` and by `cimport` in `.pxd`, for types as well, and there are no circles."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from helpers import ROOT

#: from the bottom up: a room, or a module of the ground floor, may import what stands in a line above its own
FLOORS: tuple[frozenset[str], ...] = tuple(frozenset(line.split()) for line in (
    "_tables _built samples",
    "model",
    "values parts",
    "stepper history",
    "machine sink",
    "framing dialects rebuild",
    "_speedups",
    "_engine",
    "reconstructor",
    "fsm",
    "cli",
    "__main__"))
#: what does not keep to that yet. It may only become less.
STILL = {("dialects", "framing")}  # the decoder looks at the first bytes, which is the framing's affair
_IMPORT = re.compile(r"^\s*(?:from (fsm[\w.]*) c?import (\([^)]*\)|[^\n#]+)|import (fsm[\w.]*))", re.M)


def modules() -> dict[str, str]:
    """Every module by its dotted name, with its text, and that of the `.pxd` beside it."""
    found: dict[str, str] = {}
    for path in [*(ROOT / "fsm").rglob("*.py"), *(ROOT / "fsm").rglob("*.pxd")]:
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        found[name] = found.get(name, "") + path.read_text("utf-8") + "\n"
    return found


def imports(text: str, known: set[str]) -> Iterator[str]:
    """The modules of ours that a text imports."""
    for match in _IMPORT.finditer(text):
        package = match[1] or match[3]
        for name in (match[2] or "").strip("()").split(","):
            whole = f"{package}.{name.split(' as ')[0].strip()}"
            yield whole if whole in known or whole == "fsm._speedups" else package


def room(module: str) -> str:
    return module.split(".")[1] if "." in module else "fsm"


def floor(name: str) -> int:
    return next(i for i, rooms in enumerate(FLOORS) if name in rooms)


def test_every_room_has_a_floor():
    assert {room(name) for name in modules()} | {"_speedups"} == set().union(*FLOORS)


def test_imports_point_one_way():
    known = modules()
    wrong = {(room(a), room(b)): (a, b) for a, text in known.items() for b in imports(text, set(known))
             if room(a) != room(b) and floor(room(a)) <= floor(room(b)) and (room(a), room(b)) != ("fsm", "fsm")}
    assert wrong.keys() == STILL, [v for k, v in wrong.items() if k not in STILL]


def test_the_test_sees_an_import_that_points_upwards():
    assert list(imports("    from fsm.rebuild import calls as c\nfrom fsm.a cimport (B,\n  C)\nimport fsm.x\n", {"fsm.rebuild.calls"})) == [
        "fsm.rebuild.calls", "fsm.a", "fsm.a", "fsm.x"]


def circles(graph: dict[str, set[str]]) -> list[set[str]]:
    """The groups of modules that import one another, by Tarjan."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[set[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in graph.get(node, ()):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            group = set(stack[stack.index(node):])
            del stack[stack.index(node):]
            if len(group) > 1:
                found.append(group)

    for node in graph:
        if node not in index:
            visit(node)
    return found


#: modules of one room that still know one another
KNOTS: list[set[str]] = [{"fsm.rebuild.accumulator", "fsm.rebuild.finish"}]


def test_there_are_no_circles():
    known = modules()
    graph = {a: {b for b in imports(text, set(known)) if b != a and b in known} for a, text in known.items()}
    assert circles(graph) == KNOTS


def test_a_room_says_what_it_is():
    for folder in (ROOT / "fsm").iterdir():
        if (folder / "__init__.py").exists() and folder.name != "samples":
            said = Path(folder / "__init__.py").read_text("utf-8")
            assert said.startswith('"""'), folder
