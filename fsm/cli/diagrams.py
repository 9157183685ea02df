"""Pictures of the state machine, as text: Mermaid (drawn by `transitions`) and Graphviz DOT.

Both show changes of state only, and what every sub-state of STREAMING does alike is drawn once, from STREAMING: a
picture of all transitions would be a black square. `spec/STREAM.md` has the complete table.
"""

from __future__ import annotations

from collections.abc import Iterator

from fsm import _tables as T

Edges = dict[tuple[str, str], set[str]]


def edges() -> Edges:
    """(from, to) -> the events that lead there, with what the sub-states have in common lifted to their parent."""
    found: Edges = {}
    for row in T.MACHINE_TRANSITIONS:
        for source in row["source"]:
            if row["dest"] not in (None, source):
                found.setdefault((source, row["dest"]), set()).add(row["trigger"])
    for parent, children in _families():
        for to in [s for s in T.STATES if s not in children and s != parent]:
            common = set.intersection(*(found.get((child, to), set()) for child in children))
            if common:
                found[parent, to] = common
                for child in children:
                    found[child, to] = found.get((child, to), set()) - common
    rank = {name: i for i, name in enumerate(T.STATES)}
    return {pair: found[pair] for pair in sorted(found, key=lambda p: (rank[p[0]], rank[p[1]])) if found[pair]}


def _families() -> Iterator[tuple[str, list[str]]]:
    for state in T.MACHINE_STATES:
        if isinstance(state, dict) and "children" in state:
            yield state["name"], [f"{state['name']}.{child}" for child in state["children"]]


def mermaid() -> str:
    """The machine as a Mermaid state diagram, as the generator drew it (spec/emit.py)."""
    return T.MERMAID


def dot() -> str:
    """The machine as a Graphviz DOT graph, for example for `dot -Tsvg`."""
    out = ["digraph deltafsm {", "  compound=true; rankdir=LR; nodesep=0.4; ranksep=0.9;",
           '  node [shape=box, style="rounded,filled", fillcolor=white, fontname="Helvetica"];',
           '  edge [fontname="Helvetica", fontsize=9, color=gray40];']
    families = dict(_families())
    nested = {child for children in families.values() for child in children}
    for parent, children in families.items():
        out += [f'  subgraph "cluster_{parent}" {{', f'    label="{parent}"; style="rounded,filled"; fillcolor=gray95; fontname="Helvetica";']
        out += [f'    "{child}" [label="{child.rpartition(".")[2]}"];' for child in children]
        out.append("  }")
    for i, name in enumerate(T.STATES):
        if name not in nested and name not in families:
            out.append(f'  "{name}"{" [peripheries=2]" if i in T.FINAL else ""};')
    for (source, to), events in edges().items():
        tail = families.get(source)
        # an edge from a cluster starts at one of its nodes and is clipped at the border
        start, clip = (tail[len(tail) // 2], f', ltail="cluster_{source}"') if tail else (source, "")
        out.append(f'  "{start}" -> "{to}" [label="{_wrapped(sorted(events))}"{clip}];')
    return "\n".join([*out, "}"])


def _wrapped(words: list[str], width: int = 3) -> str:
    """`words` with a line break after every `width`, so that an edge's label stays near its edge."""
    return ",\\n".join(", ".join(words[i:i + width]) for i in range(0, len(words), width))
