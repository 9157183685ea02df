"""`python -m spec.generate` writes every generated file; `--check` compares and exits 1 on a difference.

Exit status: 0 written or up to date, 1 stale (with --check), 2 the specification is broken.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from spec import emit
from spec.model import SpecError, load

ROOT = Path(__file__).resolve().parent.parent
OUTPUTS = {"fsm/_tables.py": emit.tables_py, "fsm/_tables.pxd": emit.tables_pxd, "_speedups/_tables.pxi": emit.tables_pxi, "spec/STREAM.md": emit.stream_md}


def stale(root: Path = ROOT) -> list[str]:
    """The generated files below `root` that differ from what the spec gives now."""
    spec = load(root / "spec")
    return [name for name, make in OUTPUTS.items()
            if not (root / name).exists() or (root / name).read_bytes() != make(spec).encode()]


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m spec.generate", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, compare with what is committed")
    args = parser.parse_args(argv)
    try:
        spec = load()
        if args.check:
            names = stale()
            for name in names:
                print(f"{name} is stale: run `python -m spec.generate` and commit the result", file=sys.stderr)
            return 1 if names else 0
    except SpecError as e:
        print(f"spec/stream.yaml is broken:\n{e}", file=sys.stderr)
        return 2
    for name, make in OUTPUTS.items():
        (ROOT / name).write_bytes(make(spec).encode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
