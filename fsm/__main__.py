"""The command `deltafsm`, also `python -m fsm`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

_NEEDED = ("typer", "rich")  # the extra `cli`


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status. Without typer or rich it says how to get them and returns 2."""
    try:
        from fsm.cli import app as cli
    except ModuleNotFoundError as e:
        if (e.name or "").partition(".")[0] not in _NEEDED:
            raise
        print(f'deltafsm: the command line needs {" and ".join(_NEEDED)}: pip install "deltafsm[cli]"', file=sys.stderr)
        return 2
    return cli.run(argv)


if __name__ == "__main__":
    sys.exit(main())
