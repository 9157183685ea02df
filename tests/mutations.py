"""Proof that the tests of the fast path test it: `python -m tests.mutations [name ...]`.

Each mutation breaks one condition of the compiled core by replacing text. The tree is copied to a temporary folder, the
mutant is built there, and the tests of the fast path must fail. Prints killed, SURVIVED or STALE (the text to replace is not
there once) per mutation; exits 1 unless all were killed. `--unmutated` also wants the tests to pass on a plain copy first.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
TREES = ("fsm", "_speedups", "spec", "tests", "benchmarks")
FILES = ("setup.py", "pyproject.toml", "README.md", "LICENSE")
TESTS = ("tests/test_counts.py", "tests/test_template.py", "tests/test_template_owner.py", "tests/test_numbered.py", "tests/test_tiers.py",
         "tests/test_frames.py")


class Mutation(NamedTuple):
    """`edits`: (file, old text, new text); the old text stands in the file exactly once."""

    name: str
    condition: str
    edits: tuple[tuple[str, str, str], ...]


def one(name: str, condition: str, file: str, old: str, new: str) -> Mutation:
    return Mutation(name, condition, ((file, old, new),))


MUTATIONS = (
    # 1: at an event boundary only, through the whole terminator
    one("boundary-exact", "1: the template is not tried inside an event (exact way)", "sse.pxi",
        "if self.hot is not None and self.x_block < 0 and not self.skip_lf:", "if self.hot is not None and not self.skip_lf:"),
    one("boundary-carry", "1: the template is not tried behind carried bytes", "sse.pxi",
        "            if self.carry_len:\n                n = self.straddling(p, end)",
        "            if self.carry_len and (self.hot is None or self.hot.match_at(p, end) is NULL):\n                n = self.straddling(p, end)"),
    one("boundary-end", "1: the literals include the whole blank line", "template.pxi",
        "cdef int i, start, which, size = <int>whole\n", "cdef int i, start, which, size = <int>whole - 1\n"),
    one("boundary-data", "1: holes lie in the payload that was scanned, not in an earlier copy of it", "sse.pxi",
        "            p = self.carry + self.x_value\n",
        "            p = <const char*>memchr(self.carry + begin, c'{', self.x_value - begin)\n"
        "            if p is NULL:\n                p = self.carry + self.x_value\n"),
    # 2: holes at values only
    Mutation("hole-kind", "2: a discriminator is no hole", (
        ("template.pxi", "if s.holes[i].kind != HOLE_TEXT and s.holes[i].kind != HOLE_COUNTS and not t.varies >> i & 1:", "if False:"),
        ("scan.pxi", "                if role == FSM_ROLE_KIND:\n", "                if role == FSM_ROLE_KIND and note(s, HOLE_STRING, p + 1, q):\n"))),
    Mutation("hole-empty", "2: a null-checked field is no hole", (
        ("template.pxi", "if s.holes[i].kind != HOLE_TEXT and s.holes[i].kind != HOLE_COUNTS and not t.varies >> i & 1:", "if False:"),
        ("scan.pxi", "    if role == FSM_ROLE_EMPTY:\n        return nothing(s, p)",
         "    if role == FSM_ROLE_EMPTY:\n"
         "        if end - p > 2 and p[0] == p[1] == c'\"' and not note(s, HOLE_STRING, p + 1, p + 1):\n"
         "            return NULL\n        return nothing(s, p)"))),
    one("empty-skipped", "2: finish_reason must be empty", "_tables.pxi",
        '{"finish_reason", 13, FSM_ROLE_EMPTY, 0, 0}', '{"finish_reason", 13, FSM_ROLE_SKIP, 0, 0}'),
    # 3: the full lexer in string holes
    one("lex-template", "3: the text hole runs the lexer", "template.pxi", "p = fsm_string(p, end, &m.flags)", "p = <const char*>memchr(p, c'\"', end - p)"),
    one("lex-ignored", "3: a hole that nobody reads runs the lexer", "template.pxi",
        "return fsm_string(p, end, &flags)", "return <const char*>memchr(p, c'\"', end - p)"),
    one("lex-control", "3: raw control bytes are refused", "lexer.h",
        "        } else {\n            return NULL;\n        }\n    }", "        } else {\n            p++;\n        }\n    }"),
    one("lex-escape", "3: unknown escapes are refused", "lexer.h",
        "            default:\n                return NULL;", "            default:\n                p += 2; break;"),
    one("lex-surrogate", "3: lone halves are refused", "lexer.h", "if (low < 0xDC00 || low >= 0xE000) return NULL;", ""),
    one("lex-halves", "3: surrogates as UTF-8 are refused", "lexer.h", " || (c == 0xED && s[1] >= 0xA0)", ""),
    one("lex-overlong", "3: overlong UTF-8 is refused", "lexer.h", "(c == 0xF0 && s[1] < 0x90) || ", ""),
    one("lex-utf8", "3: bad UTF-8 is refused", "lexer.h", "                p = fsm_wide(p, e);\n", "                p++;\n"),
    # 4: nothing is written before the last literal
    one("tentative", "4: the text is appended only when all matched", "engine.pxi",
        "        if behind is NULL:\n            return NULL\n        if self.template.placing:",
        "        if behind is NULL:\n            if m.text_end is not NULL:\n"
        "                self.append(self.template.event, m.index, m.text, m.text_end, m.flags)\n"
        "            return NULL\n        if self.template.placing:"),
    # 5: block, kind and table on every hit
    one("owner-state", "5: the table's cell says append", "engine.pxi", "self.stepper.state != FSM_HOT[event] or ", ""),
    one("owner-limit", "5: the content limit", "engine.pxi", "if self.meter.used + (end - text) > self.limit:", "if False:"),
    one("owner-exact-limit", "5: the content limit may be reached", "engine.pxi",
        "self.meter.used + (end - text) > self.limit", "self.meter.used + (end - text) >= self.limit"),
    one("owner-stale", "5: owners are asked anew after anything else", "engine.pxi",
        "            self.counts.leave()\n        self.clear()\n", "            self.counts.leave()\n"),
    one("owner-index", "5: the index of the hit decides", "engine.pxi", "route.index != index or ", ""),
    one("owner-settle", "5: Python learns who was written to last", "engine.pxi",
        "            self.acc.touch(self.blocks[self.route - self.routes])\n", "            pass\n"),
    one("index-zero", "5: leading zeros in indexes", "lexer.h", "p - digits > 9 || (*digits == '0' && p - digits > 1)", "p - digits > 9"),
    one("index-last", "5: an index hole gives the index", "template.pxi", "p = fsm_small(p, end, &m.index)", "p = fsm_number(p, end)"),
    # 5, for what the wire numbers and for parts of items
    one("serial-top", "5: only the highest number so far is taken", "engine.pxi", "place[SERIAL] <= self.recent.top", "place[SERIAL] < self.recent.top"),
    one("serial-any", "5: only the highest number so far is taken", "engine.pxi", " or place[SERIAL] <= self.recent.top", ""),
    one("serial-memory", "5: what was taken is remembered", "engine.pxi", "        self.recent.push(place[SERIAL], payload, payload_end)\n", ""),
    one("serial-payload", "5: it remembers the payload, not the event", "engine.pxi", "p + self.template.head, behind", "p, behind"),
    one("part-room", "5: one part too many", "lexer.h", "place->count ? number >= place->count : ", "place->count ? 0 : "),
    one("part-template", "5: a part hole gives the part", "template.pxi", "fsm_placed(p, end, &t.placed[hole - HOLE_PLACED])", "fsm_number(p, end)"),
    one("part-two", "6: two parts", "scan.pxi", "        if s.place[i] >= 0:\n            return NULL\n", ""),
    one("address-missing", "6: an item's index that is missing", "scan.pxi",
        "    return p + 1 if FSM_NODES[node].needed & ~seen == 0 else NULL",
        "    for i in range(count):\n        if FSM_KEYS[first + i].role == FSM_ROLE_ADDRESS:\n            seen |= 1ULL << i\n"
        "    return p + 1 if FSM_NODES[node].needed & ~seen == 0 else NULL"),
    # 6: tier 2 gives up
    one("scan-duplicate", "6: duplicate keys", "scan.pxi", "if seen >> i & 1:", "if False:"),
    one("scan-two", "6: two captures", "scan.pxi", "if s.event != -1 or not note(s, HOLE_TEXT, p + 1, q):", "if not note(s, HOLE_TEXT, p + 1, q):"),
    one("scan-key", "6: undeclared keys", "scan.pxi",
        "if key.size == size and fsm_same(key.name, name, size):", "if key.size <= size and fsm_same(key.name, name, key.size):"),
    one("scan-error", "6: an error key", "_tables.pxi",
        *(f'{{"usage", 5, FSM_ROLE_COUNTS, 0, 0}},\n        {{"obfuscation", 11, FSM_ROLE_SKIP, 0, 0}},\n        {{"p", 1, FSM_ROLE_SKIP, 0, 0}},\n'
          f'        {{{key}, FSM_ROLE_SKIP, 0, 0}}' for key in ('"citations", 9', '"error", 5'))),
    one("scan-enum", "6: unknown words", "scan.pxi",
        "FSM_WORDS[i].size == q - p - 1 and fsm_same(FSM_WORDS[i].text, p + 1, q - p - 1)", "FSM_WORDS[i].size == q - p - 1"),
    one("scan-demand", "6: the kind and the captured field agree", "scan.pxi", " or (s.demanded >= 0 and s.demanded != s.event)", ""),
    one("scan-missing", "6: a discriminator that is missing", "scan.pxi",
        "FSM_NODES[node].needed & ~seen == 0 else NULL", "FSM_NODES[node].needed & ~seen == 0 or s.given is NULL else NULL"),
    one("scan-rest", "6: something behind the object", "scan.pxi", "return fsm_space(p, end) == end", "return True"),
    one("scan-depth", "6: depth", "scan.pxi", "MAX_DEPTH = 30", "MAX_DEPTH = 100000"),
    one("scan-number", "6: unusual numbers", "lexer.h", "p - digits > 18 || (*digits == '0' && p - digits > 1)", "p - digits > 18"),
    one("scan-lines", "6: several data lines", "sse.pxi",
        "        if lines.breaks == 0:\n            if n >= 6", "        if lines.breaks >= 0:\n            if n >= 6"),
    one("scan-cr", "6: carriage returns", "sse.pxi", "if not self.exact and memchr(self.win, c'\\r', self.win_len) is not NULL:", "if False:"),
    # usage reports that are kept back
    one("counts-fall", "a count that falls", "lexer.h", "now < old || now > 18", "now > 18"),
    one("counts-less", "a count that is less", "lexer.h", " || (now == old && memcmp(p, k, (size_t)now) < 0)", ""),
    one("counts-zero", "a count that is zero", "lexer.h", "*k == '0' || *p == '0' || ", ""),
    one("counts-float", "numbers with a point", "lexer.h", " || (*k != ',' && *k != '}' && *k != ']' && *k != ' ')", ""),
    one("counts-stale", "what Python took in between is not known", "counts.pxi", "        if not self.fresh:\n            self.size = 0\n", ""),
    one("counts-lost", "a report that is kept back is given before the next event", "counts.pxi",
        "        self.give()\n        if not self.fresh", "        if not self.fresh"),
    one("counts-passed", "a report that goes the slow way does not replace one that is kept back", "counts.pxi",
        "        self.give()\n        if end - p", "        if end - p"),
    one("counts-live", "live callers hear of each", "engine.pxi", "        if self.each:  # the caller hears of each\n            return False\n", ""),
    one("counts-literal", "a report is never literal", "template.pxi", " and s.holes[i].kind != HOLE_COUNTS", ""),
    # whole events that are taken apart for the dialect
    one("frames-needed", "a key of a shape that is missing", "scan.pxi",
        "FSM_NODES[node].needed & ~seen == 0 else NULL", "FSM_NODES[node].needed & ~seen == 0 or s.given is not NULL else NULL"),
    one("frames-bare", "an empty object without a key of the shape that has to be there", "scan.pxi",
        "p + 1 if FSM_NODES[node].needed == 0 and s.given is not NULL else NULL", "p + 1 if s.given is not NULL else NULL"),
    one("frames-empty", "an empty object is left to Python", "scan.pxi", "    if g.end < end and g.end[0] == c'}':\n", "    if False:\n"),
    one("frames-null", "null is no empty string", "scan.pxi",
        "        return p + 4\n    if g.role == FSM_ROLE_GIVE_STRING:",
        "        if g.role == FSM_ROLE_GIVE_STRING:\n            g.start = g.end = p\n            g.flags = 0\n"
        "        return p + 4\n    if g.role == FSM_ROLE_GIVE_STRING:"),
    one("frames-number", "a number with a leading zero", "scan.pxi", "        return fsm_small(p, end, &g.number)",
        "        if end - p > 1 and p[0] == c'0' and p[1] >= c'0' and p[1] <= c'9':\n            p += 1\n        return fsm_small(p, end, &g.number)"),
    one("frames-rest", "something behind the event", "scan.pxi", "return p is not NULL and fsm_space(p, end) == end", "return p is not NULL"),
    one("frames-slots", "nothing is left in a slot", "frames.pxi",
        "            for slot in range(FSM_SHAPES[self.first + i].count):\n                given[slot].start = NULL\n", ""),
    one("frames-escapes", "escapes of a string that is given", "frames.pxi", "    if flags & FSM_ESCAPED:\n", "    if False:\n"),
    one("frames-wide", "characters beyond ASCII of a string that is given", "frames.pxi", "    if flags & FSM_WIDE:\n", "    if False:\n"),
    one("frames-list", "an array that has to be there", "scan.pxi", "return nothing(s, p) if role == FSM_ROLE_ONLY else NULL", "return nothing(s, p)"),
    one("frames-depth", "depth within what is given or skipped", "scan.pxi",
        "    if p >= end or depth > MAX_DEPTH:\n        return NULL\n    if p[0] == c'\"':", "    if p >= end:\n        return NULL\n    if p[0] == c'\"':"),
)


def copy(to: Path) -> None:
    skip = shutil.ignore_patterns("__pycache__", "*.so", "_speedups.c", ".*cache")
    for tree in TREES:
        shutil.copytree(ROOT / tree, to / tree, ignore=skip)
    for file in FILES:
        shutil.copy(ROOT / file, to / file)
    setup = to / "setup.py"
    setup.write_text(setup.read_text().replace('"-O3"', '"-O0"'))  # builds in a third of the time


def tested(folder: Path) -> tuple[bool, str]:
    """Build and test what is in `folder`: whether the tests pass, and the line that says what failed."""
    env = {**os.environ, "PYTHONPATH": str(folder), "FSM_REQUIRE_SPEEDUPS": "1"}
    build = subprocess.run([sys.executable, "setup.py", "-q", "build_ext", "--inplace"], cwd=folder, env=env, capture_output=True, text=True)
    if build.returncode:
        return True, "it does not build: " + build.stderr[-300:]  # proves nothing
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--tb=line", "-p", "no:cacheprovider", *TESTS]
    run = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=900)
    found = [line for line in run.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    crashed = run.returncode < 0 or "Fatal" in run.stderr
    return run.returncode == 0, found[0][:150] if found else "it crashed" if crashed else run.stdout[-300:]


def judge(mutation: Mutation) -> tuple[Mutation, str, str]:
    with tempfile.TemporaryDirectory(prefix="mutant-") as temp:
        folder = Path(temp)
        copy(folder)
        for name, old, new in mutation.edits:
            file = folder / "_speedups" / name
            source = file.read_text()
            if source.count(old) != 1:
                return mutation, "STALE", f"{name} has {source.count(old)} times {old[:60]!r}"
            file.write_text(source.replace(old, new))
        passed, why = tested(folder)
        return mutation, "SURVIVED" if passed else "killed", why


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutations", description="Break the compiled core on purpose; the tests must notice.")
    parser.add_argument("names", nargs="*", help="only these (default all)")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--unmutated", action="store_true", help="first: the tests must pass on a plain copy")
    args = parser.parse_args()
    if args.unmutated:
        with tempfile.TemporaryDirectory(prefix="mutant-") as temp:
            copy(Path(temp))
            passed, why = tested(Path(temp))
            if not passed:
                print(f"without a mutation the tests fail: {why}")
                return 1
    chosen = [m for m in MUTATIONS if not args.names or m.name in args.names]
    bad = 0
    with ThreadPoolExecutor(args.jobs) as pool:
        for mutation, verdict, why in pool.map(judge, chosen):
            bad += verdict != "killed"
            print(f"{verdict:9}{mutation.name:20}{mutation.condition}\n{'':29}{why}", flush=True)
    print(f"{len(chosen) - bad} of {len(chosen)} mutations killed")
    return 1 if bad or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
