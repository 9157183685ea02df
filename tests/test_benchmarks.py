"""The benchmarks' own correctness: data that is the same everywhere and knows its answers, gates that fail when they should.

No test here measures time.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
from dataclasses import replace

import orjson
import pytest

from benchmarks import __main__ as main
from benchmarks import gates, linear, measure, peers, report, suite
from benchmarks.afternoon import PARSERS
from benchmarks.data import DIALECTS, FLAVOURS, Stream, huge, make
from benchmarks.measure import Case, Key, Result, WrongAnswerError
from helpers import ROOT

DIGESTS = {"anthropic": "d6cb6ca90f8d44b8", "openai-chat": "725be4ea8d7238e8", "openai-responses": "0e9a4ea8066f3409", "gemini": "d7cb0994ed72c210"}


def streams(dialect: str) -> list[Stream]:
    return [*(make(dialect, n, f) for n in (0, 1, 200) for f in FLAVOURS), huge(dialect, 5000)]


@pytest.mark.parametrize("dialect", DIALECTS)
class TestData:
    def test_is_the_same_everywhere(self, dialect):
        digest = hashlib.sha256(b"".join(s.body for s in streams(dialect))).hexdigest()
        assert digest[:16] == DIGESTS[dialect], "the data changed: figures from before cannot be compared with those from now"

    def test_has_the_size_it_says(self, dialect):
        assert [s.deltas for s in streams(dialect)[:-1]] == [0] * 3 + [1] * 3 + [200] * 3
        s = make(dialect, 2000)
        assert len(s.body) / len(s.payloads) == pytest.approx({"anthropic": 133, "openai-chat": 337, "openai-responses": 274, "gemini": 361}[dialect], rel=0.05)

    def test_payloads_are_those_of_the_body(self, dialect):
        for s in streams(dialect):
            events = [event.rpartition(b"data: ")[2] for event in s.body.replace(b"\r", b"").split(b"\n\n") if event]
            assert [e for e in events if e != b"[DONE]"] == s.payloads

    def test_chunks_are_the_body(self, dialect):
        s = make(dialect, 20)
        for size in (1, 4096, None):
            assert b"".join(s.chunks(size)) == s.body
        assert all(chunk.replace(b"\r", b"").count(b"\n\n") == 1 for chunk in s.chunks(None))

    def test_flavours_are_what_they_say(self, dialect):
        ascii, cjk, escapes = (make(dialect, 200, f).body for f in FLAVOURS)
        assert ascii.isascii()
        assert not cjk.isascii()
        assert escapes.isascii()
        for escape in (b'\\"', b"\\\\", b"\\n", b"\\u2028", b"\\ud83d\\ude00"):
            assert escape in escapes

    def test_afternoon_parser_gives_the_answer(self, dialect):
        for s in streams(dialect):
            assert PARSERS[dialect](s.chunks(4096)) == s.content, s.name

    def test_every_engine_gives_the_answer(self, dialect):
        for engine in suite.ENGINES:
            for mode in suite.MODES:
                for s in streams(dialect):
                    for size in (4096, None):
                        measure.check(measure.engine_case(s, Key(dialect, engine, mode), s.chunks(size)))

    @pytest.mark.parametrize("mode", ["chunk", "each"])
    def test_live_events_carry_every_character(self, dialect, mode):
        for engine in suite.ENGINES:
            for s in streams(dialect):
                parts = measure.told(s, Key(dialect, engine, mode), s.chunks(4096))
                said = [(kind, text) if kind != "tool_use" else (kind, orjson.loads(text)) for kind, text in parts]
                assert said == [(b["type"], b["input" if b["type"] == "tool_use" else b["type"]]) for b in s.content], s.name


class TestMeasure:
    def test_wrong_answer_is_not_timed(self):
        s = make("anthropic", 8)
        ran = []

        def wrong():
            ran.append(1)
            return s.content[:-1]

        with pytest.raises(WrongAnswerError, match="anthropic-ascii-8"):
            measure.measure([Case(Key("anthropic", "wrong"), s, wrong)])
        assert len(ran) == 1

    def test_gives_a_result_per_case(self):
        keys = [Key(d, "python", size="8") for d in DIALECTS]
        results = measure.measure(suite.cases([*keys, *keys]), rounds=1)
        assert list(results) == keys
        assert all(r.ratio > 0 and r.seconds > 0 and r.deltas == 8 for r in results.values())


class TestGates:
    def measured(self, factor: float) -> dict[Key, float]:
        return {g.key: g.gate * factor for g in gates.RATIOS}

    def test_every_gate_has_a_measurement_of_its_own(self):
        assert len({g.key for g in gates.RATIOS}) == len(gates.RATIOS) == 24

    @pytest.mark.parametrize(("factor", "share", "passed"), [(1.0, 1.0, True), (0.99, 1.0, False), (0.5, 0.5, True), (0.49, 0.5, False)])
    def test_ratio(self, factor, share, passed):
        verdicts = gates.judge(gates.RATIOS, self.measured(factor), share)
        assert {v.passed for v in verdicts} == {passed}
        assert all(("FAIL" in str(v)) is not passed for v in verdicts)

    def test_goal_is_told(self):
        assert all("goal reached" in str(v) for v in gates.judge(gates.RATIOS, {g.key: g.goal for g in gates.RATIOS}))

    @pytest.mark.parametrize(("factor", "passed"), [(1.0, True), (1.01, False), (0.5, True)])
    def test_instructions_are_an_upper_bound_that_no_share_moves(self, factor, passed):
        verdicts = gates.judge(gates.INSTRUCTIONS, {g.key: g.gate * factor for g in gates.INSTRUCTIONS}, 0.5)
        assert [v.bound for v in verdicts] == [450, 750]
        assert {v.passed for v in verdicts} == {passed}

    @pytest.mark.parametrize(("measured", "share", "passed"), [(1.3, 1.0, True), (1.31, 1.0, False), (2.6, 0.5, True), (2.61, 0.5, False)])
    def test_a_share_makes_upper_bounds_of_what_is_timed_easier_too(self, measured, share, passed):
        verdicts = gates.judge(gates.LINEAR, {g.key: measured for g in gates.LINEAR}, share)
        assert len(verdicts) == 2 * len(linear.SHAPES)
        assert {v.passed for v in verdicts} == {passed}

    @pytest.mark.parametrize("gate", gates.LINEAR, ids=lambda g: f"{g.key.dialect}-{g.key.size}")
    def test_linear_streams_know_their_answers(self, monkeypatch, gate):
        shape = linear.SHAPES[gate.key.size]
        monkeypatch.setitem(linear.SHAPES, gate.key.size, shape._replace(size=max(shape.size // 512, 800)))
        assert linear.measure([gate.key], 1)[gate.key] > 0
        monkeypatch.setitem(linear.SHAPES, gate.key.size, shape._replace(size=800, make=lambda d, n: replace(shape.make(d, n), content=[])))
        with pytest.raises(WrongAnswerError):
            linear.measure([gate.key], 1)

    @pytest.mark.parametrize(("factor", "slow", "code"), [(2.0, 1.0, 0), (0.4, 1.0, 1), (2.0, 4.0, 1)])
    def test_exit_code(self, monkeypatch, capsys, factor, slow, code):
        results = {key: Result(value, 1.0, 1) for key, value in self.measured(factor).items()}
        monkeypatch.setattr(main.linear, "measure", lambda keys, rounds: dict.fromkeys(keys, slow))
        monkeypatch.setattr(main, "measure", lambda cases, rounds: results)
        monkeypatch.setattr(main.suite, "cases", lambda keys: [])
        monkeypatch.setattr(main, "BACKEND", "compiled")
        assert main.main(["--gates", "--gate-share", "0.5"]) == code
        assert ("FAIL" in capsys.readouterr().out) is bool(code)

    def test_no_valgrind_is_said_and_no_failure(self, monkeypatch, capsys):
        monkeypatch.setattr(main, "BACKEND", "compiled")
        monkeypatch.setattr(main.instructions, "available", lambda: False)
        assert main.main(["--instructions"]) == 0
        assert main.main(["--gates", "--instructions", "--no-ratios"]) == 0
        assert "valgrind is not installed" in capsys.readouterr().out


class TestReport:
    def test_table_has_every_engine_and_mode(self):
        text = report.ratios({key: Result(2.0, 1.0, 1) for key in suite.table_keys()})
        assert all(f"| {engine}, {mode}" in text for engine in suite.ENGINES for mode in suite.MODES)
        assert text.count("2.0 / 2.0 / 2.0 / 2.0") == 6 * len(suite.rows())

    def test_fixed_cost_has_no_cost_per_delta(self):
        text = report.lengths({key: Result(0.5, 1e-5, int(key.size) if key.size.isdigit() else 9) for key in suite.length_keys()})
        line = next(line for line in text.splitlines() if "python, 0 deltas" in line)
        assert [cell.strip() for cell in line.split("|")[2:5]] == ["10.0 / 10.0 / 10.0 / 10.0", "-", "0.5 / 0.5 / 0.5 / 0.5"]

    def test_headline_is_short(self):
        text = report.headline({key: Result(2.0, 1.0, 1) for key in suite.table_keys()})
        assert text.count("2.0 |") == 4 * (text.count("\n") - 1)
        assert max(map(len, text.splitlines())) <= 120

    def test_headline_of_the_peers_has_the_vendors_clients(self, monkeypatch):
        monkeypatch.setattr(peers, "version", lambda name: "1")
        keys = [Key("openai-chat", suite.ENGINES[-1]), Key("openai-chat", "openai"), Key("openai-chat", "litellm")]
        compared = peers.Comparison({key: Result(1.0, 10.0 ** i, 1) for i, key in enumerate(keys)}, ["httpx-sse"])
        rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in peers.headline(compared).splitlines()[2:]]
        assert rows == [["openai 1", "-", "10", "-", "-"]]
        assert peers.table(compared).endswith("Not installed: httpx-sse.")

    def test_everything_is_written_to_its_place(self, monkeypatch, tmp_path, capsys):
        for name in ("README", "RESULTS"):
            monkeypatch.setattr(main, name, tmp_path / name)
            (tmp_path / name).write_text("<!-- benchmarks -->\n<!-- /benchmarks -->\n", encoding="utf-8")
        monkeypatch.setattr(main, "measure", lambda keys, rounds: {key: Result(2.0, 1.0, 1) for key in keys})
        monkeypatch.setattr(main.suite, "cases", lambda keys: list(keys))
        assert main.main(["--write-readme"]) == 0
        readme, results = ((tmp_path / name).read_text(encoding="utf-8") for name in ("README", "RESULTS"))
        assert "speed, × orjson.loads" in readme
        assert results.partition("-->\n")[2].partition("\n<!--")[0] in capsys.readouterr().out
        assert len(readme) < 1500 < len(results)

    def test_text_is_written_between_the_markers(self, tmp_path):
        path = tmp_path / "README.md"
        path.write_text("a\n<!-- benchmarks -->\nold\n<!-- /benchmarks -->\nb\n", encoding="utf-8")
        for text in ("one", "two"):
            report.write_section(path, text)
        assert path.read_text(encoding="utf-8") == "a\n<!-- benchmarks -->\ntwo\n<!-- /benchmarks -->\nb\n"
        path.write_text("no markers", encoding="utf-8")
        with pytest.raises(ValueError, match="no <!-- benchmarks -->"):
            report.write_section(path, "x")


def test_every_benchmark_runs_and_has_the_right_answer():
    """`pytest benchmarks`, each of them once and untimed."""
    run = subprocess.run([sys.executable, "-m", "pytest", "benchmarks", "-q", "-x", "--benchmark-disable", "-p", "no:cacheprovider"],
                         cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout[-2000:]
