"""Proof that the tests of the fast path test it: `python -m tests.mutations [name ...]`.

Each mutation breaks one condition of the compiled core by replacing text. The tree is copied to a temporary folder and built
there once; each mutant is a copy of that, in which the extension alone is built anew, and the tests of the fast path must fail. Prints
killed, SURVIVED or STALE (the text to replace is not there once) per mutation; exits 1 unless all were killed. `--unmutated` also
wants the tests to pass on a plain copy first.
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
TESTS = ("tests/test_buffer.py", "tests/test_counts.py", "tests/test_template.py", "tests/test_template_owner.py", "tests/test_numbered.py",
         "tests/test_tiers.py", "tests/test_frames.py", "tests/test_text.py")


class Mutation(NamedTuple):
    """`edits`: (file, old text, new text); the old text stands in the file exactly once."""

    name: str
    condition: str
    edits: tuple[tuple[str, str, str], ...]


def one(name: str, condition: str, file: str, old: str, new: str) -> Mutation:
    return Mutation(name, condition, ((file, old, new),))


MUTATIONS = (
    # 1: at an event boundary only, through the whole terminator
    one("boundary-exact", "1: the template is not tried inside an event (exact way)", "lines.pxi",
        "if self.hot is not None and self.x_block < 0 and not self.skip_lf and", "if self.hot is not None and not self.skip_lf and"),
    one("boundary-carry", "1: the template is not tried behind carried bytes", "sse.pxi",
        "            if self.carry.size:\n                n = self.straddling(p, end)",
        "            if self.carry.size and (self.hot is None or self.hits(p, end) == 0):\n                n = self.straddling(p, end)"),
    one("boundary-end", "1: the literals include the whole blank line", "template.pxi",
        "cdef int i, start, which, size = <int>whole\n", "cdef int i, start, which, size = <int>whole - 1\n"),
    one("boundary-data", "1: holes lie in the payload that was scanned, not in an earlier copy of it", "lines.pxi",
        "            p = self.carry.data + self.x_value\n",
        "            p = <const char*>memchr(self.carry.data + begin, c'{', self.x_value - begin)\n"
        "            if p is NULL:\n                p = self.carry.data + self.x_value\n"),
    # 2: holes at values only
    Mutation("hole-kind", "2: a discriminator is no hole", (
        ("template.pxi", "if s.holes[i].kind != HOLE_TEXT and s.holes[i].kind != HOLE_COUNTS and not t.varies >> i & 1:", "if False:"),
        ("scan.pxi", "                if role == FSM_ROLE_KIND:\n",
         "                if role == FSM_ROLE_KIND and note(s, HOLE_STRING, p + 1, p + 1 + FSM_WORDS[i].size):\n"))),
    Mutation("hole-empty", "2: a null-checked field is no hole", (
        ("template.pxi", "if s.holes[i].kind != HOLE_TEXT and s.holes[i].kind != HOLE_COUNTS and not t.varies >> i & 1:", "if False:"),
        ("scan.pxi", "    if role == FSM_ROLE_EMPTY:\n        return nothing(s, p)",
         "    if role == FSM_ROLE_EMPTY:\n"
         "        if end - p > 2 and p[0] == p[1] == c'\"' and not note(s, HOLE_STRING, p + 1, p + 1):\n"
         "            return NULL\n        return nothing(s, p)"))),
    one("empty-skipped", "2: finish_reason must be empty", "_tables.pxi",
        '{FSM_KEY("finish_reason"), FSM_ROLE_EMPTY, 0, 0}', '{FSM_KEY("finish_reason"), FSM_ROLE_SKIP, 0, 0}'),
    # 3: the full lexer in string holes
    one("lex-template", "3: the text hole runs the lexer", "match.h",
        "q = fsm_any_string(text, e, &m->flags);", "q = (const char *)memchr(text, '\"', (size_t)(e - text));"),
    one("lex-ignored", "3: a hole that nobody reads runs the lexer", "match.h",
        "return fsm_string(p, e, &flags);", "return (const char *)memchr(p, '\"', (size_t)(e - p));"),
    one("lex-control", "3: raw control bytes are refused", "lexer.h",
        "        } else {\n            return NULL;\n        }\n    }", "        } else {\n            p++;\n        }\n    }"),
    one("lex-escape", "3: unknown escapes are refused", "lexer.h",
        "                if (e - p < 2 || p[1] != 'u') return NULL;\n", "                if (e - p >= 2 && p[1] != 'u') { p += 2; continue; }\n"),
    one("lex-surrogate", "3: lone halves are refused", "lexer.h", "if (low < 0xDC00 || low >= 0xE000) return NULL;", ""),
    one("lex-halves", "3: surrogates as UTF-8 are refused", "lexer.h", " || (c == 0xED && s[1] >= 0xA0)", ""),
    one("lex-overlong", "3: overlong UTF-8 is refused", "lexer.h", "(c == 0xF0 && s[1] < 0x90) || ", ""),
    one("lex-utf8", "3: bad UTF-8 is refused", "lexer.h", "                p = fsm_wide(p, e);\n", "                p++;\n"),
    # a buffer is the text itself
    one("buffer-length", "a text is as long as what was written", "buffer.pxi", "        PyUnicode_Resize(&self.home, self.size)\n", ""),
    one("buffer-wide", "only ASCII is taken as it lies there", "buffer.pxi",
        "if self.size < least or self.wide or self.odd:", "if self.size < least or self.odd:"),
    one("buffer-room", "what somebody else has is not written to", "buffer.pxi",
        "        self.room = self.size\n        return <str>self.home", "        return <str>self.home"),
    one("buffer-adopt-wide", "only ASCII is kept as it was given", "buffer.pxi", "n >= SHARED and PyUnicode_IS_ASCII(text) and", "n >= SHARED and"),
    one("buffer-later-more", "what has text behind it did not come as a value", "buffer.pxi",
        "            self.write()\n            self.later = None\n", "            self.write()\n"),
    one("buffer-later-append", "what came as a value is there before text behind it", "buffer.pxi",
        "        self.settle()\n        self.add(<str>text)", "        self.add(<str>text)"),
    one("buffer-later-route", "what came as a value is there before a delta behind it", "engine.pxi", "            (<Buffer>block.buffer).settle()\n", ""),
    one("buffer-later-meter", "a value is counted once", "buffer.pxi", "        self.meter.used -= n\n", ""),
    one("buffer-adopt-first", "only a first text is kept as it was given", "buffer.pxi", "if self.size == 0 and n >= SHARED", "if n >= SHARED"),
    # 3, where strings are copied while they are lexed
    one("text-due", "3: a continuation stands where it is due and nowhere else", "text.h", "(due & 0xFFFF & here) != more || ", ""),
    one("text-escape", "3: unknown escapes are refused", "text.h", "                if (!*out++) return NULL;\n", "                out++;\n"),
    one("text-escaped", "3: an escape may bring a character beyond ASCII", "text.h", "                wide |= (unsigned char)*character >= 0x80;\n", ""),
    one("text-again", "4: who cannot keep the copy resolves the escapes again", "text.h", "            *flags |= FSM_ESCAPED;", "            "),
    one("text-hex", "3: four hexadecimal digits", "lexer.h", "return a & b & c & d & 0x10 ?", "return a & b & c & 0x10 ?"),
    one("text-carried", "3: a continuation that is due in the next block", "text.h", "        due >>= 16;\n", "        due = 0;\n"),
    one("text-end", "3: a continuation that is due at the end", "text.h", "return due <= here;", "return 1;"),
    one("text-full-end", "3: a continuation that is due behind a full block", "text.h", "    return due == 0;", "    return 1;"),
    one("text-never", "3: leads that cannot be", "text.h", " || never) return 0;", ") return 0;"),
    one("text-above", "3: leads above F4", "text.h", "if (four & FSM_BITS(_mm_cmpgt_epi8(x, _mm_set1_epi8(-0x0C)))) return 0;", ""),
    *(one(f"text-{lead}", f"3: what may follow {lead}", "text.h", f"({lead} & {also})", "0")
      for lead, also in (("e0", "~a0"), ("ed", "a0"), ("f0", "~x90"), ("f4", "x90"))),
    one("text-edge-carried", "3: a lead at the end of a block", "text.h",
        "            e0 >>= 16, ed >>= 16, f0 >>= 16, f4 >>= 16;\n", "            e0 = ed = f0 = f4 = 0;\n"),
    one("text-wide", "3: characters beyond ASCII are looked at", "text.h", "wide |= high & ((1u << n) - 1);", ";"),
    one("text-wide-block", "3: also those in full blocks", "text.h", "        wide |= high;\n", ""),
    one("text-plain-last", "what stands before the last bytes", "text.h", " >> (32 - left);", ";"),
    one("text-plain-room", "the room behind the copy", "text.h", "while (e - p >= 32 && room - out >= 32)", "while (e - p >= 32)"),
    one("match-most", "an event over the limit is left", "match.h", "        if (q - p > to->most) goto none;\n", ""),
    one("match-tail", "literals are compared to their end", "lexer.h",
        "__m128i same = fsm_equal_64(a + last, b + last);", "__m128i same = fsm_equal_64(a, b);"),
    one("match-between", "and from their beginning", "lexer.h", "for (; i < last; i += 64) same", "for (i += 64; i < last; i += 64) same"),
    one("text-room", "the room behind the copy", "text.h", "if (room - out < 2 * FSM_SLOP) return NULL;", "if (room == out) return NULL;"),
    # 4: nothing is written before the last literal
    one("tentative", "4: the text is appended only when all matched", "match.h",
        "                if (q == NULL || q == text) goto none;\n",
        "                if (q == NULL || q == text) goto none;\n                if (copied != NULL) out = copied;\n"),
    one("tentative-other", "4: a copy behind one block's text is nothing to another block", "engine.pxi",
        "            copied = -1  # to another block\n", ""),
    # 5: block, kind and table on every hit
    one("owner-state", "5: the table's cell says append", "engine.pxi", "self.stepper.state != FSM_HOT[event] or ", ""),
    one("owner-hot", "5: the table's cell says append, on every hit", "engine.pxi", "self.stepper.state == route.state and ", ""),
    one("owner-hot-copied", "5: the same of what was copied", "engine.pxi", " and route.state == self.stepper.state", ""),
    one("owner-limit", "5: the content limit", "engine.pxi", " and self.meter.used + n <= self.limit", ""),
    one("owner-limit-copied", "5: the content limit, for what is copied", "engine.pxi",
        "min((<Buffer>route.buffer).room - (<Buffer>route.buffer).size, self.limit - self.meter.used)",
        "(<Buffer>route.buffer).room - (<Buffer>route.buffer).size"),
    one("owner-limit-turn", "5: the content limit at another block", "engine.pxi", "self.meter.used + (end - text) > self.limit or ", ""),
    one("owner-exact-limit", "5: the content limit may be reached", "engine.pxi",
        "self.meter.used + n <= self.limit", "self.meter.used + n < self.limit"),
    one("owner-stale", "5: owners are asked anew after anything else", "engine.pxi",
        "            self.counts.leave()\n        self.clear()\n", "            self.counts.leave()\n"),
    one("owner-index", "5: the index of the hit decides", "engine.pxi", "route.index != index or ", ""),
    one("owner-index-copied", "5: the index of the hit decides, also of what was copied", "match.h", "m->index == to->index)) {", "1)) {"),
    one("owner-index-placed", "5: also where numbers say it", "match.h",
        "    if ((shape->placing ? fsm_index(place) : m->index) != to->index) return 0;\n", ""),
    one("owner-event-copied", "5: the event of the hit decides, also of what was copied", "engine.pxi", "route.event == t.event and ", ""),
    one("owner-settle", "5: Python learns who was written to last", "engine.pxi",
        "            self.acc.touch(self.blocks[self.route - self.routes])\n", "            pass\n"),
    one("index-zero", "5: leading zeros in indexes", "lexer.h", "p - digits > 9 || (*digits == '0' && p - digits > 1)", "p - digits > 9"),
    one("index-last", "5: an index hole gives the index", "match.h", "return fsm_small(p, e, &m->index);", "return fsm_number(p, e);"),
    # 5, for what the wire numbers and for parts of items
    one("serial-top", "5: only the highest number so far is taken", "engine.pxi", "place[SERIAL] <= self.recent.top", "place[SERIAL] < self.recent.top"),
    one("serial-any", "5: only the highest number so far is taken", "engine.pxi", " or place[SERIAL] <= self.recent.top", ""),
    one("serial-top-copied", "5: also of what was copied", "match.h", "place[FSM_SERIAL] <= to->top", "place[FSM_SERIAL] < to->top"),
    one("serial-top-moves", "5: and within a run of hits", "match.h", "        to->top = place[FSM_SERIAL];\n", ""),
    one("serial-memory-copied", "5: what was taken is remembered, of a run its last", "engine.pxi",
        "range(max(before, to.taken - LAST), to.taken)", "range(before, to.taken - 1)"),
    one("serial-memory-begin", "5: of a run its own", "engine.pxi",
        "range(max(before, to.taken - LAST), to.taken)", "range(max(0, to.taken - LAST), to.taken)"),
    one("serial-payload-copied", "5: it remembers the payload, not the event", "match.h", "= p + shape->head;", "= p;"),
    one("serial-payload-end", "5: it remembers the payload, not the event", "match.h", "= q - shape->tail;", "= q;"),
    one("counts-run", "a report is compared with the one before", "match.h",
        "    if (shape->counting) to->known = m->counts, to->known_end = m->counts_end;\n", ""),
    one("serial-memory", "5: what was taken is remembered", "engine.pxi", "        self.recent.push(place[SERIAL], payload, payload_end)\n", ""),
    one("serial-payload", "5: it remembers the payload, not the event", "engine.pxi", "p + t.shape.head, m.behind", "p, m.behind"),
    one("part-room", "5: one part too many", "lexer.h", "place->count ? number >= place->count : ", "place->count ? 0 : "),
    one("part-template", "5: a part hole gives the part", "match.h", "fsm_placed(p, e, &shape->placed[hole - FSM_HOLE_PLACED])", "fsm_number(p, e)"),
    one("part-two", "6: two parts", "scan.pxi", "        if s.place[i] >= 0:\n            return NULL\n", ""),
    one("address-missing", "6: an item's index that is missing", "scan.pxi",
        "    return p + 1 if FSM_NODES[node].needed & ~seen == 0 else NULL",
        "    for i in range(count):\n        if FSM_KEYS[first + i].role == FSM_ROLE_ADDRESS:\n            seen |= 1ULL << i\n"
        "    return p + 1 if FSM_NODES[node].needed & ~seen == 0 else NULL"),
    # 6: tier 2 gives up
    one("scan-duplicate", "6: duplicate keys", "scan.pxi", "if seen >> i & 1:", "if False:"),
    one("scan-two", "6: two captures", "scan.pxi", "if s.event != -1 or not note(s, HOLE_TEXT, p + 1, q):", "if not note(s, HOLE_TEXT, p + 1, q):"),
    one("scan-key", "6: undeclared keys", "scan.pxi",
        "if key.size == size and fsm_same(key.whole + 1, name, size):", "if key.size <= size and fsm_same(key.whole + 1, name, key.size):"),
    one("scan-whole-key", "6: undeclared keys that begin like a declared one", "scan.pxi",
        "if end - p >= key.size + 3 and fsm_same(key.whole, p, key.size + 3):", "if end - p >= key.size + 3 and fsm_same(key.whole, p, key.size + 1):"),
    one("scan-lines-space", "6: a payload of several lines", "lexer.h", "(*p == ' ' || *p == '\\t')", "(*p == ' ' || *p == '\\t' || *p == '\\n')"),
    one("scan-error", "6: an error key", "_tables.pxi",
        *("".join(f'{{FSM_KEY("{name}"), FSM_ROLE_{role}, 0, 0}},\n        ' for name, role in (("usage", "COUNTS"), ("obfuscation", "SKIP"), ("p", "SKIP")))
          + f'{{FSM_KEY("{key}"), FSM_ROLE_SKIP, 0, 0}}' for key in ("citations", "error"))),
    one("scan-enum", "6: unknown words", "scan.pxi",
        "fsm_same(FSM_WORDS[i].whole, p, FSM_WORDS[i].size + 2)", "p[FSM_WORDS[i].size + 1] == c'\"'"),
    one("scan-demand", "6: the kind and the captured field agree", "scan.pxi", " or (s.demanded >= 0 and s.demanded != s.event)", ""),
    one("scan-missing", "6: a discriminator that is missing", "scan.pxi",
        "FSM_NODES[node].needed & ~seen == 0 else NULL", "FSM_NODES[node].needed & ~seen == 0 or s.given is NULL else NULL"),
    one("scan-rest", "6: something behind the object", "engine.pxi", "behind[0] != c'\\n' or behind[1] != c'\\n'", "False"),
    one("scan-rest-carried", "6: something behind the object, of an event in two pieces", "engine.pxi",
        "scan_payload(&s, self.dialect, p, end) == end and", "scan_payload(&s, self.dialect, p, end) is not NULL and"),
    one("scan-depth", "6: depth", "scan.pxi", "MAX_DEPTH = 30", "MAX_DEPTH = 100000"),
    one("scan-number", "6: unusual numbers", "lexer.h", "p - digits > 18 || (*digits == '0' && p - digits > 1)", "p - digits > 18"),
    one("scan-lines", "6: several data lines", "sse.pxi",
        "        if lines.breaks == 0:\n            if n >= 6", "        if lines.breaks >= 0:\n            if n >= 6"),
    one("scan-cr", "6: carriage returns", "sse.pxi",
        "if memchr(p, c'\\r', n if n >= 0 else end - p) is not NULL:\n                    self.go_exact(p,", "if False:\n                    self.go_exact(p,"),
    one("scan-cr-carried", "6: carriage returns in the rest of an event", "sse.pxi",
        "if memchr(p, c'\\r', n if n >= 0 else end - p) is not NULL:\n                    self.go_exact(NULL,",
        "if False:\n                    self.go_exact(NULL,"),
    one("scan-cr-name", "6: carriage returns in an event's name", "sse.pxi", " or memchr(p + 7, c'\\r', data - p - 7) is not NULL", ""),
    # usage reports that are kept back
    one("counts-fall", "a count that falls", "lexer.h", "now - p < old - k || ", ""),
    one("counts-less", "a count that is less", "lexer.h", " || (now - p == old - k && *p < *k)", ""),
    one("counts-zero", "a count that is zero", "lexer.h", "p[-equal] == '0' || k[-equal] == '0' || ", ""),
    one("counts-float", "numbers with a point", "lexer.h", " || (*old != ',' && *old != '}' && *old != ']' && *old != ' ')", ""),
    one("counts-stale", "what Python took in between is not known", "counts.pxi", "        if not self.fresh:\n            self.size = 0\n", ""),
    one("counts-lost", "a report that is kept back is given before the next event", "counts.pxi",
        "        self.give()\n        if not self.fresh", "        if not self.fresh"),
    one("counts-passed", "a report that goes the slow way does not replace one that is kept back", "counts.pxi",
        "        self.give()\n        if end - p", "        if end - p"),
    one("counts-each", "live callers hear of each", "engine.pxi",
        "                self.tell()\n                if t.shape.counting:\n                    self.tell_usage()\n", "                self.tell()\n"),
    one("counts-each-hit", "live callers hear of each", "engine.pxi",
        "                self.counts.take(m.counts, m.counts_end)\n                if self.each:\n                    self.tell_usage()\n",
        "                self.counts.take(m.counts, m.counts_end)\n"),
    one("counts-each-scan", "live callers hear of each", "engine.pxi",
        "            self.counts.take(s.counts, s.counts_end)\n            if self.each:\n                self.tell_usage()\n",
        "            self.counts.take(s.counts, s.counts_end)\n"),
    one("counts-told", "the caller hears of a report once", "counts.pxi", "        self.told = True\n", ""),
    one("counts-untold", "the caller hears of the next report too", "counts.pxi", "        self.told = False\n", ""),
    one("counts-order", "the caller hears of the text before its usage", "engine.pxi",
        "            self.tell()\n            self.acc._counted = False", "            self.acc._counted = False"),
    one("counts-both", "of the reports of one feed the caller hears of the last", "engine.pxi",
        "            self.acc._counted = False  # an earlier one of this feed says nothing beside it\n", ""),
    one("counts-before", "a report comes on top of what is known now", "counts.pxi", "        self.before = None\n", ""),
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
    one("frames-wide", "characters beyond ASCII of a string that is given", "frames.pxi", "utf8(p, end - p, flags & FSM_WIDE)", "utf8(p, end - p, False)"),
    one("frames-size", "what is given is small", "scan.pxi", "if g.end - p <= MAX_GIVEN_SIZE else", "if g.end - p >= 0 else"),
    one("frames-list", "an array that has to be there", "scan.pxi", "return nothing(s, p) if role == FSM_ROLE_ONLY else NULL", "return nothing(s, p)"),
    one("frames-depth", "depth within what is given or skipped", "scan.pxi",
        "    if p >= end or depth > MAX_DEPTH:\n        return NULL\n    if p[0] == c'\"':", "    if p >= end:\n        return NULL\n    if p[0] == c'\"':"),
    # what feed returns
    one("told-kept", "a list that the caller still has is not returned again", "feed.pxi",
        "Py_REFCNT(_spare) > 1 or PyList_GET_SIZE(_spare):", "PyList_GET_SIZE(_spare):"),
    one("told-written", "a list that somebody wrote into is not returned as empty", "feed.pxi",
        "Py_REFCNT(_spare) > 1 or PyList_GET_SIZE(_spare):", "Py_REFCNT(_spare) > 1:"),
)


def copy(to: Path) -> None:
    """The tree, not built."""
    skip = shutil.ignore_patterns("__pycache__", "*.so", "*.c", ".*cache")
    for tree in TREES:
        shutil.copytree(ROOT / tree, to / tree, ignore=skip)
    for file in FILES:
        shutil.copy(ROOT / file, to / file)
    setup = to / "setup.py"
    setup.write_text(setup.read_text().replace('"-O3"', '"-O0"'))  # builds in a third of the time


def environment(folder: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(folder), "FSM_REQUIRE_SPEEDUPS": "1"}


def build(folder: Path) -> str | None:
    """Build what is in `folder` as far as it changed; what went wrong, or None."""
    command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
    done = subprocess.run(command, cwd=folder, env=environment(folder), capture_output=True, text=True)
    return done.stderr[-300:] if done.returncode else None


def tested(folder: Path) -> tuple[bool, str]:
    """Test what was built in `folder`: whether the tests pass, and the line that says what failed."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--tb=line", "-p", "no:cacheprovider", *TESTS]
    run = subprocess.run(command, cwd=folder, env=environment(folder), capture_output=True, text=True, timeout=900)
    found = [line for line in run.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    crashed = run.returncode < 0 or "Fatal" in run.stderr
    return run.returncode == 0, found[0][:150] if found else "it crashed" if crashed else run.stdout[-300:]


def judge(mutation: Mutation, built: Path) -> tuple[Mutation, str, str]:
    with tempfile.TemporaryDirectory(prefix="mutant-") as temp:
        folder = Path(temp) / "tree"
        shutil.copytree(built, folder)
        for name, old, new in mutation.edits:
            file = folder / "_speedups" / name
            source = file.read_text()
            if source.count(old) != 1:
                return mutation, "STALE", f"{name} has {source.count(old)} times {old[:60]!r}"
            file.write_text(source.replace(old, new))
        trouble = build(folder)
        if trouble is not None:
            return mutation, "SURVIVED", f"it does not build, which proves nothing: {trouble}"
        passed, why = tested(folder)
        return mutation, "SURVIVED" if passed else "killed", why


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutations", description="Break the compiled core on purpose; the tests must notice.")
    parser.add_argument("names", nargs="*", help="only these (default all)")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--unmutated", action="store_true", help="first: the tests must pass on a plain copy")
    args = parser.parse_args()
    chosen = [m for m in MUTATIONS if not args.names or m.name in args.names]
    bad = 0
    with tempfile.TemporaryDirectory(prefix="mutant-") as temp, ThreadPoolExecutor(args.jobs) as pool:
        built = Path(temp) / "tree"
        copy(built)
        trouble = build(built)
        if trouble is None and args.unmutated:
            passed, why = tested(built)
            trouble = None if passed else why
        if trouble is not None:
            print(f"without a mutation: {trouble}")
            return 1
        for mutation, verdict, why in pool.map(lambda m: judge(m, built), chosen):
            bad += verdict != "killed"
            print(f"{verdict:9}{mutation.name:20}{mutation.condition}\n{'':29}{why}", flush=True)
    print(f"{len(chosen) - bad} of {len(chosen)} mutations killed")
    return 1 if bad or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
