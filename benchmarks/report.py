"""What `python -m benchmarks` prints, draws, and writes into README.md and benchmarks/RESULTS.md."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path

import orjson

import fsm
from benchmarks.data import CHUNKINGS, DIALECTS, FLAVOURS
from benchmarks.measure import Key, Result
from benchmarks.suite import EMPTY, length, rows

LABELS = {"afternoon": "an afternoon's parser"}
COLUMNS = [(flavour, chunking) for flavour in FLAVOURS for chunking in CHUNKINGS]


def markdown(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    """A table whose columns also line up as plain text; the first column is left, the others right."""
    lines = [list(head), *map(list, body)]
    wide = [max(len(line[i]) for line in lines) for i in range(len(head))]
    pad = [[cell.rjust(w) if i else cell.ljust(w) for i, (cell, w) in enumerate(zip(line, wide, strict=True))] for line in lines]
    pad.insert(1, ["-" * (w - 1) + ":" if i else "-" * w for i, w in enumerate(wide)])
    return "\n".join(f"| {' | '.join(line)} |" for line in pad)


def ratio(value: float) -> str:
    return f"{value:.1f}" if value >= 1 else f"{value:.2g}"


def processor() -> str:
    """What the machine calls its processor."""
    try:
        info = Path("/proc/cpuinfo").read_text()
    except OSError:
        info = ""
    names = [line.partition(":")[2].strip() for line in info.splitlines() if line.startswith("model name")]
    return f"{names[0]}, {len(names)} logical" if names else platform.processor() or platform.machine()


def origin(rounds: int, what: str = "python -m benchmarks") -> str:
    """How the figures were got, without a date."""
    return (f"`{what}`: deltafsm {fsm.__version__}, {platform.python_implementation()} {platform.python_version()}, orjson {orjson.__version__}, "
            f"{processor()}; processor time, medians of {rounds} interleaved rounds.")


def ratios(results: Mapping[Key, Result]) -> str:
    """Engine × mode down, flavour × chunking across; "A / B" in a cell."""
    body = []
    for engine, mode in rows():
        name = LABELS.get(engine, f"{engine}, {mode}")
        cells = [" / ".join(ratio(results[Key(d, engine, mode, c, f, length(engine))].ratio) for d in DIALECTS) for f, c in COLUMNS]
        body.append([name, *cells])
    text = ("Speed as a multiple of `orjson.loads` on the split payloads (1.0: as fast as only decoding the JSON; bigger is better), "
            f"{' / '.join(DIALECTS)}, final message included:\n\n")
    return text + markdown(["engine, deltas", *(f"{f}, {c}" for f, c in COLUMNS)], body)


def headline(results: Mapping[Key, Result]) -> str:
    """The rows of the README: ASCII in chunks of 4 KiB, without the engines that are for tests."""
    body = []
    for engine, mode in rows():
        if engine in ("afternoon", "compiled") or (engine, mode) == ("python", "none"):
            name = LABELS.get(engine, f"deltafsm, {engine}, deltas {mode}")
            body.append([name, *(ratio(results[Key(d, engine, mode, size=length(engine))].ratio) for d in DIALECTS)])
    return markdown(["speed, × orjson.loads", *DIALECTS], body)


def lengths(results: Mapping[Key, Result]) -> str:
    """Whole messages by length; the message without deltas shows what a message costs by itself."""
    body = []
    for (engine, size), keys in groupby((k for k in results if k.mode == "none"), key=lambda k: (k.engine, k.size)):
        found = [results[key] for key in keys]
        name = "1 MB argument in 12-byte deltas" if size == "huge" else f"{int(size):,} deltas"
        each = "-" if size == EMPTY else " / ".join(f"{r.per_delta:.3f}" for r in found)
        whole = " / ".join(f"{r.seconds * 1e6:,.1f}" for r in found)
        body.append([f"{LABELS.get(engine, engine)}, {name}", whole, each, " / ".join(ratio(r.ratio) for r in found)])
    text = f"Whole messages (create, feed in 4 KiB chunks, end, blocks built), {' / '.join(DIALECTS)}:\n\n"
    return text + markdown(["engine, message", "µs per message", "µs per delta", "speed, × orjson.loads"], body)


def write_section(path: Path, text: str, section: str = "benchmarks") -> None:
    """Put `text` between the markers of a section of a page."""
    opening, closing = f"<!-- {section} -->", f"<!-- /{section} -->"
    old = path.read_text(encoding="utf-8")
    before, begin, rest = old.partition(opening)
    _, end, after = rest.partition(closing)
    if not begin or not end:
        raise ValueError(f"{path.name} has no {opening} … {closing}")
    path.write_text(f"{before}{opening}\n{text}\n{closing}{after}", encoding="utf-8")


def draw(path: Path, results: Mapping[Key, Result], caption: str) -> str:
    """One picture, on a logarithmic scale: each engine and mode, ASCII, 4 KiB chunks. Returns what was done."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return "no picture: matplotlib is not installed"
    shown = rows()
    figure = Figure(figsize=(8, 0.36 * len(shown) + 1.5), layout="constrained")
    axes = figure.add_subplot()
    for i, dialect in enumerate(DIALECTS):
        values = [results[Key(dialect, e, m, size=length(e))].ratio for e, m in shown]
        bars = axes.barh([y + 0.4 * i for y in range(len(shown))], values, 0.38, label=dialect)
        axes.bar_label(bars, [f"{ratio(v)}×" for v in values], padding=3, fontsize=7)
    axes.set_yticks([y + 0.2 for y in range(len(shown))], [LABELS.get(e, f"{e}, {m}") for e, m in shown], fontsize=8)
    axes.invert_yaxis()
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set(xscale="log", xlabel="speed as a multiple of orjson.loads on the split payloads (ASCII, 4 KiB chunks)")
    axes.margins(x=0.12)
    axes.legend(fontsize=8)
    figure.supxlabel(caption.replace("`", ""), fontsize=6)
    figure.savefig(path, dpi=150, format="png")
    return f"picture: {path}"
