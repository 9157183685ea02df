"""Some thousand streams of the fuzzer (tests/fuzz.py) from fixed seeds; CI and people run it for longer."""

from __future__ import annotations

import subprocess
import sys

import pytest

import fuzz
from helpers import ROOT, ended
from spec.model import load


@pytest.mark.parametrize("first", range(0, 800, 100))
def test_the_engines_agree(tiers: tuple[str, ...], first: int):
    done, found = fuzz.fuzz(first, cases=100)
    assert not found, found[0]
    assert done == 100


def test_the_grammar_makes_good_and_bad_streams(tiers: tuple[str, ...]):
    """Else the agreement would be that of streams that are all lost, or all plain."""
    seen = {"COMPLETED": 0, "ERRORED": 0}
    fast = 0
    for seed in range(120):
        parts, dialect = fuzz.events(seed)
        r = fuzz.fsm.Reconstructor(dialect, engine="compiled", on_bad_event="skip")
        r.feed(b"".join(parts))
        seen[str(ended(r).state)] += 1
        fast += r._framing.appended
    assert min(seen.values()) >= 20, seen
    assert fast >= 300


def test_every_hot_dialect_has_a_grammar_that_the_short_cut_takes(tiers: tuple[str, ...]):
    taken = dict.fromkeys(fuzz.GRAMMARS, 0)
    for seed in range(400):
        parts, dialect = fuzz.events(seed)
        r = fuzz.fsm.Reconstructor(dialect, engine="compiled", on_bad_event="skip")
        r.feed(b"".join(parts))
        taken[dialect] += r._framing.appended
    assert {name for name, d in load().dialects.items() if d["hot"]} == taken.keys()
    assert min(taken.values()) >= 10, taken


def test_a_seed_is_a_stream():
    assert fuzz.events(7) == fuzz.events(7)
    assert fuzz.events(7) != fuzz.events(8)


def test_a_failure_is_found_and_made_short(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(fuzz, "disagreement", lambda chunks, *_a, **_k: "differs" if b"content_block_start" in b"".join(chunks) else None)
    _done, found = fuzz.fuzz(0, cases=50, failures=1)
    assert len(found) == 1
    assert found[0].count("\n") == 1, "one event is left"


def test_the_command(tiers: tuple[str, ...]):
    run = subprocess.run([sys.executable, "-m", "tests.fuzz", "--seconds", "0.5", "--seed", "5"], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "from seed 5 on" in run.stdout
    assert "0 failures" in run.stdout
