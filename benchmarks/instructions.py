"""Instructions per event, counted by callgrind: the least noisy figure there is.

By differences between child processes under valgrind, which all read a message of N deltas and one of 3N: the first rebuilds
the short one, the second the short one twice, the third the short one and the long one. So start-up, imports and
warming-up cancel: (third - second) / 2N is the cost of an event, and second - first - N events the fixed cost of a message.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from benchmarks.measure import Key
from benchmarks.suite import chunks

N = 2000
PLANS = ("short", "short short", "short long")
CHILD = """
import gc, json, sys, fsm
dialect, engine, mode, plan = sys.argv[1:]
messages = {}
for name, sizes in json.loads(sys.stdin.buffer.readline()).items():
    messages[name] = [sys.stdin.buffer.read(size) for size in sizes]
gc.disable()
for name in plan.split():
    r = fsm.Reconstructor(dialect, engine=engine, deltas=mode)
    for chunk in messages[name]:
        r.feed(chunk)
    r.end()
    assert r.outcome.message.content
"""


class Count(NamedTuple):
    """Instructions."""

    per_event: float
    fixed: float  # per message


def available() -> bool:
    return shutil.which("valgrind") is not None


def count(keys: Iterable[Key], n: int = N) -> dict[Key, Count]:
    """Count for each key (its size is not regarded), children on all processors."""
    runs = [(key, plan) for key in keys for plan in PLANS]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        counted = dict(zip(runs, pool.map(lambda run: _child(*run, n), runs), strict=True))
    out = {}
    for key in dict.fromkeys(key for key, _ in runs):
        first, second, third = (counted[key, plan] for plan in PLANS)
        per_event = (third - second) / (2 * n)
        out[key] = Count(per_event, second - first - n * per_event)
    return out


def _child(key: Key, plan: str, n: int) -> int:
    """Instructions of one child process, all of it."""
    messages = {name: chunks(key.dialect, key.flavour, str(deltas), key.chunking) for name, deltas in (("short", n), ("long", 3 * n))}
    sizes = json.dumps({name: [len(piece) for piece in pieces] for name, pieces in messages.items()}).encode() + b"\n"
    command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={os.devnull}", sys.executable, "-c", CHILD, key.dialect, key.engine, key.mode, plan]
    done = subprocess.run(command, input=sizes + b"".join(b"".join(pieces) for pieces in messages.values()), capture_output=True,
                          env={**os.environ, "PYTHONHASHSEED": "0"})
    said = done.stderr.decode(errors="replace")
    found = re.search(r"Collected : (\d+)", said)
    if done.returncode or found is None:
        raise RuntimeError(f"callgrind failed for {key}, {plan}:\n{said}")
    return int(found[1])
