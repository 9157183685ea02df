"""`python -m benchmarks`: one table of ratios, and what it takes to trust it. See --help."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import fooled, gates, instructions, linear, peers, report, suite
from benchmarks.measure import ROUNDS, measure
from fsm import BACKEND

ROOT = Path(__file__).resolve().parent.parent
README, RESULTS, FOOLED = ROOT / "README.md", ROOT / "benchmarks" / "RESULTS.md", ROOT / "spec" / "FOOLED.md"


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser("python -m benchmarks", description="Speed as a multiple of orjson.loads on the same payloads in the same run.")
    p.add_argument("--rounds", type=int, default=ROUNDS, metavar="N", help=f"interleaved rounds (default {ROUNDS})")
    p.add_argument("--gates", action="store_true", help="measure only what has a gate; exit 1 if one is missed")
    p.add_argument("--gate-share", type=float, default=1.0, metavar="X", help="scale the gates of what is timed (0.5 on noisy machines)")
    p.add_argument("--instructions", action="store_true", help="count instructions per event with callgrind (with --gates: gate them too)")
    p.add_argument("--no-ratios", action="store_true", help="with --gates --instructions: the instruction gates alone")
    p.add_argument("--peers", action="store_true", help="also compare with the packages of requirements-peers.txt that are installed")
    p.add_argument("--fooled", action="store_true", help="no figures: run our broken streams through the vendors' own clients, and say what they do")
    p.add_argument("--picture", type=Path, metavar="FILE", help="draw the table as a PNG (needs matplotlib)")
    p.add_argument("--write-readme", action="store_true", help="write it all into benchmarks/RESULTS.md, or spec/FOOLED.md, and some rows into README.md")
    return p


def check_gates(share: float, rounds: int, ratios: bool, counts: bool) -> int:
    """Print every gate; 1 if one is missed."""
    verdicts = []
    if ratios:
        results = measure(suite.cases(g.key for g in gates.RATIOS), rounds)
        verdicts += gates.judge(gates.RATIOS, {key: r.ratio for key, r in results.items()}, share)
        verdicts += gates.judge(gates.LINEAR, linear.measure([g.key for g in gates.LINEAR], rounds), share)
        print(report.origin(rounds, "python -m benchmarks --gates"))
    if counts:
        counted = instructions.count(g.key for g in gates.INSTRUCTIONS)
        verdicts += gates.judge(gates.INSTRUCTIONS, {key: c.per_event for key, c in counted.items()})
    print(*verdicts, sep="\n")
    return int(not all(v.passed for v in verdicts))


def count_instructions() -> None:
    keys = [gate.key._replace(engine=engine) for engine in ("scan", "compiled") for gate in gates.INSTRUCTIONS]
    for key, c in instructions.count(keys).items():
        print(f"{key.dialect:<12} {key.engine:<9} {c.per_event:>8,.0f} instructions per event, {c.fixed:>10,.0f} fixed per message")


def main(argv: Sequence[str] | None = None) -> int:
    args = parser().parse_args(argv)
    if args.fooled:
        try:
            survey = fooled.survey()
        except ImportError as missing:
            print(f"{missing}: pip install -r benchmarks/requirements-peers.txt", file=sys.stderr)
            return 2
        text = fooled.page(survey)
        print(text)
        if args.write_readme:
            report.write_section(README, fooled.telling(survey), "fooled")
            FOOLED.write_text(text, encoding="utf-8")
        return 0
    if (args.gates or args.instructions) and BACKEND != "compiled":
        print("fsm._speedups is not built: gates and instruction counts are about the compiled engine", file=sys.stderr)
        return 2
    if args.instructions and not instructions.available():
        print("instructions not counted: valgrind is not installed")
        args.instructions = False
        if args.no_ratios or not args.gates:
            return 0
    if args.gates:
        return check_gates(args.gate_share, args.rounds, not args.no_ratios, args.instructions)
    if args.instructions:
        count_instructions()
        return 0

    results = measure(suite.cases(suite.table_keys()), args.rounds)
    by_length = measure(suite.cases(suite.length_keys()), args.rounds)
    how = report.origin(args.rounds)
    parts = [how, report.ratios(results), report.lengths(by_length)]
    short = [report.headline(results)]
    if args.peers:
        compared = peers.compare(args.rounds)
        parts.append(peers.table(compared))
        short.append(peers.headline(compared))
    text = "\n\n".join(parts)
    print(text)
    print("\n" + (report.draw(args.picture, results, how) if args.picture else "no picture: --picture FILE draws one"))
    if args.write_readme:
        report.write_section(README, "\n\n".join(short))
        report.write_section(RESULTS, text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
