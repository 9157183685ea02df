"""Random wire bodies by a grammar, on all four engines: `python -m tests.fuzz --seconds 60 [--seed N]`.

The grammar makes what a template or an on-demand scanner could get wrong: duplicate, escaped and reordered keys, `1.0`
and `01` indexes, odd numbers, deep nesting, undeclared keys, null and empty fields, padding, odd whitespace, several
data lines, interleaved calls, CR and CRLF, truncations, flipped bytes. Most events are plain, so that templates are
learned, and an odd one then comes next to its likes. Every seed is one stream; a failure prints the seed and the shortest
stream that still fails, and the exit status is 1.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import fsm
import fuzz_dialects
from helpers import cut_at
from tiers import disagreement

TEXTS = ["a", "b c", " ", "\n", "", "é", "状态", "😀", '"', "\\", "}", "]}", '","', "{", "<", "<think>", "</think>", "data: x", "\u2028", "\x7f", "\x00",
         "word " * 5, "x" * 15, "x" * 16 + '"', "y" * 31, "\ufeff"]
FRAGMENTS = ["{", "}", '{"a":', '"b"', ',"c":1', '"x}"', "{}", " ", '{"file_path":"', 'a"}', "\\", '\\"', "12345678901234567890", "é"]
RAW = [rb"\ud83d", rb"\ude00", rb"\ud83d\ude00", rb"\/", rb"\u0041", rb"\u00e9", rb"\x", b"\x01", b"\t", b"\xff", b"\xed\xa0\x80", b"\xc0\xaf",
       b"\xf4\x90\x80\x80", b"\xe4\xbd", rb"\u12", b"\\", rb"\u0000"]
NUMBERS = ["0", "1", "2", "7", "1.0", "01", "1e0", "-0", "-1", "0.5", "1E2", "18446744073709551616", "1" * 19, "1" * 25, "NaN", "Infinity", "null", '"1"',
           "true", "1.", "+1"]
VALUES = ["null", '""', "[]", "{}", "0", "1", "true", "false", '"x"', "[1]", '{"a":1}', "[null]", "1.5e3", "nul", "tru"]
EXTRA = ["error", "usage", "x", "id", "type", "index", "delta", "text", "obfuscation", "logprobs", "refusal", "finish_reason", "reasoning", "name", "citations",
         "service_tier", "p", "message", "sequence_number", "output_index", "content_index", "summary_index", "delta", "signature", "caller", "content",
         "content_block", "stop_reason", "choices", "tool_calls"]

Pairs = list[tuple[str, Any]]  # an object before it is written: keys may repeat; values are Pairs, lists or raw JSON text


class Writer:
    """Writes objects as JSON, with faults at the rate `odd`; `style` is kept, as upstreams do."""

    def __init__(self, rng: random.Random, odd: float) -> None:
        self.rng = rng
        self.odd = odd
        self.comma, self.colon = rng.choice([(",", ":"), (", ", ": "), (",", ": "), (" , ", " : ")])
        self.ascii = rng.random() < 0.5
        self.pad = rng.random() < 0.2

    def hit(self, rate: float = 1.0) -> bool:
        return self.rng.random() < self.odd * rate

    def string(self, text: str) -> str:
        return json.dumps(text, ensure_ascii=self.ascii)

    def key(self, name: str) -> str:
        if self.hit(0.1) and name:
            return f'"\\u{ord(name[0]):04x}{name[1:]}"'
        if self.hit(0.1):
            return f'"{self.rng.choice([name + "x", name[:-1], name.upper(), name + " ", ""])}"'
        return f'"{name}"'

    def value(self, value: Any, depth: int) -> str:
        if self.hit(0.08):
            return self.rng.choice(VALUES + NUMBERS)
        if isinstance(value, list):
            if value and isinstance(value[0], tuple):
                return self.object(value, depth + 1)
            items = [self.value(v, depth + 1) for v in value]
            if self.hit(0.2) and items:
                items.append(self.rng.choice(items))
            return "[" + ",".join(items) + "]"
        return value

    def object(self, pairs: Pairs, depth: int = 0) -> str:
        pairs = list(pairs)
        rng = self.rng
        if self.hit(0.4):
            rng.shuffle(pairs)
        if self.hit(0.25) and pairs:
            pairs.insert(rng.randrange(len(pairs) + 1), rng.choice(pairs))
        if self.hit(0.25) and pairs:
            pairs.insert(rng.randrange(len(pairs) + 1), (rng.choice(pairs)[0], rng.choice([*VALUES, *NUMBERS])))
        if self.hit(0.25):
            pairs.insert(rng.randrange(len(pairs) + 1), (rng.choice(EXTRA), rng.choice([*VALUES, *NUMBERS, self.nest()])))
        if self.hit(0.15) and pairs:
            pairs.pop(rng.randrange(len(pairs)))
        space = rng.choice([" ", "  ", "\t"]) if self.hit(0.2) else ""
        tail = " " * rng.randrange(6) if self.pad and depth == 0 else space
        return "{" + space + self.comma.join(self.key(k) + space + self.colon + self.value(v, depth) for k, v in pairs) + tail + "}"

    def nest(self) -> str:
        n = self.rng.choice([1, 5, 28, 29, 30, 31, 32, 60, 255, 256, 257, 1100])
        return "[" * n + "]" * n if self.rng.random() < 0.5 else '{"a":' * n + "1" + "}" * n

    def index(self, i: int) -> str:
        return self.rng.choice(NUMBERS) if self.hit(0.3) else str(i)


def anthropic(rng: random.Random, w: Writer) -> list[tuple[str | None, str]]:
    """(event name, payload) of a message in the Anthropic manner."""
    out: list[tuple[str | None, str]] = []

    def say(word: str, pairs: Pairs) -> None:
        name = rng.choice([None, "ping", "error", "content_block_delta"]) if w.hit(0.2) else word
        out.append((name, w.object([("type", w.string(word)), *pairs])))

    def delta(i: int, kind: str) -> None:
        word, field = {"text": ("text_delta", "text"), "thinking": ("thinking_delta", "thinking"), "tool_use": ("input_json_delta", "partial_json")}[kind]
        if w.hit(0.3):
            word = rng.choice(["text_delta", "thinking_delta", "input_json_delta", "signature_delta", "nope_delta", "text_del\\u0074a"])
        if w.hit(0.2):
            field = rng.choice(["text", "thinking", "partial_json", "signature"])
        piece = rng.choice(FRAGMENTS if kind == "tool_use" else TEXTS)
        pairs: Pairs = [("type", f'"{word}"'), (field, w.string(piece))]
        if w.hit(0.2):
            pairs.append((rng.choice(["text", "thinking", "partial_json"]), rng.choice(['""', w.string(piece), "null"])))
        say("content_block_delta", [("index", w.index(i)), ("delta", pairs)])

    def counts(field: str) -> Pairs:
        pairs: Pairs = [(field, rng.choice(NUMBERS) if w.hit(0.3) else str(rng.randrange(1, 30)))]
        if rng.random() < 0.3:
            pairs.append((rng.choice(["cache_read_input_tokens", "output_tokens", "service_tier"]), rng.choice(["1", "0", "null", '"standard"'])))
        return pairs

    def signed(i: int) -> None:
        signature = w.string(rng.choice(["c2ln", "", *TEXTS]))
        say("content_block_delta", [("index", w.index(i)), ("delta", [("type", '"signature_delta"'), ("signature", signature)])])

    message: Pairs = [("id", '"m"'), ("model", '"x"'), ("usage", counts("input_tokens"))]
    if rng.random() < 0.5:  # as the vendor says it
        message[1:1] = [("type", '"message"'), ("role", '"assistant"')]
        message[-1:-1] = [("content", "[]"), ("stop_reason", "null"), ("stop_sequence", "null")]
    say("message_start", [("message", message)])
    open_: list[tuple[int, str]] = []
    for i in range(rng.randint(1, 4)):
        kind = rng.choice(["text", "text", "thinking", "tool_use"])
        block: Pairs = [("type", f'"{kind}"'), *([("id", f'"t{i % 3}"'), ("name", '"Read"'), ("input", "{}")] if kind == "tool_use" else
                                                  [(kind, w.string(rng.choice(TEXTS)) if w.hit(0.5) else '""')])]
        if kind == "thinking" and rng.random() < 0.5:
            block.append(("signature", w.string(rng.choice(["", "", "c2ln"]))))
        elif kind == "tool_use" and rng.random() < 0.3:
            block.append(("caller", rng.choice(["null", [("type", '"direct"')], [("type", '"direct"'), ("at", rng.choice(NUMBERS) if w.hit() else "1")]])))
        elif kind == "text" and rng.random() < 0.2:
            block.append(("citations", "null"))
        say("content_block_start", [("index", w.index(i)), ("content_block", block)])
        open_.append((i, kind))
        for _ in range(rng.randint(0, 7)):
            delta(*(rng.choice(open_) if rng.random() < 0.3 else open_[-1]))
            if w.hit(0.2):
                say("ping", [])
        if kind == "thinking" and rng.random() < 0.6:
            signed(i)
        if w.hit(0.1):
            signed(rng.randrange(i + 1))
        while open_ and rng.random() < 0.6:
            at = open_.pop(rng.randrange(len(open_)))
            say("content_block_stop", [("index", w.index(at[0]))])
            if w.hit(0.3):
                delta(*at)
    delta_: Pairs = [("stop_reason", rng.choice(['"end_turn"', '"tool_use"', '"max_tokens"', "null"]))]
    if rng.random() < 0.5:
        delta_.append(("stop_sequence", rng.choice(["null", '"x"'])))
    say("message_delta", [("delta", delta_), ("usage", counts("output_tokens"))])
    if w.hit(0.5):
        delta(0, "text")
    say("message_stop", [])
    return out


def chat(rng: random.Random, w: Writer) -> list[tuple[str | None, str]]:
    """(None, payload) of a message in the manner of Chat Completions."""
    out: list[tuple[str | None, str]] = []
    blank = rng.choice(["null", '""', None])
    noise = rng.random() < 0.5
    thought = rng.choice(["reasoning", "reasoning_content"])

    def chunk(delta: Pairs, reason: str | None = blank, choices: bool = True, usage: str | Pairs | None = blank) -> None:
        choice: Pairs = [("index", w.index(0)), ("delta", delta or "{}"), *([] if reason is None else [("finish_reason", reason)])]
        if w.hit(0.1):
            choice[1] = ("text", w.string(rng.choice(TEXTS)))
        id_ = rng.choice(['""', '"c"']) if w.hit(0.3) else '"c1"'
        pairs: Pairs = [("id", id_), ("object", '"chat.completion.chunk"'), ("created", rng.choice(["1790000000", "1790000001"])),
                        ("choices", [choice] if choices else "[]"), *([] if usage is None else [("usage", usage)])]
        if noise:
            pairs.append(("obfuscation", w.string("z" * rng.randrange(4) + rng.choice(["", "é", '"']))))
        out.append(("error" if w.hit(0.05) else None, w.object(pairs)))

    if rng.random() < 0.6:
        role: Pairs = [("role", '"assistant"'), ("content", rng.choice(['""', "null", '"hello there"', '"<thi"']))]
        chunk([*role, ("refusal", "null")] if rng.random() < 0.3 else role)
    calls = 0
    for _ in range(rng.randint(1, 6)):
        kind = rng.choice(["content", "content", thought, "call"])
        if kind == "call":
            calls += 1
            chunk([("tool_calls", [[("index", w.index(calls - 1)), ("id", f'"t{calls if not w.hit(0.3) else 1}"'), ("type", '"function"'),
                                    ("function", [("name", '"Read"'), ("arguments", rng.choice(['""', '"{"']))])]])])
        for _ in range(rng.randint(0, 6)):
            if kind != "call":
                pairs: Pairs = [(kind, w.string(rng.choice(TEXTS)))]
                if w.hit(0.4):
                    pairs.append((rng.choice(["content", "reasoning", "reasoning_content", "refusal", "tool_calls", "role", "function_call"]),
                                  rng.choice(['""', "null", "[]", "{}", '"dup"'])))
            else:
                call: Pairs = [("index", w.index(rng.randrange(calls) if rng.random() < 0.4 else calls - 1)),
                               ("function", [("arguments", w.string(rng.choice(FRAGMENTS)))])]
                if w.hit(0.3):
                    call.append(("id", rng.choice(["null", '""', '"t1"'])))
                pairs = [("tool_calls", [call])]
            if w.hit(0.3):
                pairs = [*pairs, ("role", '"assistant"')]
            chunk(pairs)
            if w.hit(0.15):
                chunk(pairs, rng.choice(['"stop"', '"error"']))
    counts: Pairs = [("prompt_tokens", rng.choice(NUMBERS) if w.hit(0.3) else "1"), ("prompt_tokens_details", [("cached_tokens", "1")])]
    chunk([], rng.choice(['"stop"', '"tool_calls"', '"length"', '"error"']), usage=counts if rng.random() < 0.2 else blank)
    if rng.random() < 0.5:
        chunk([], choices=False, usage=counts[:rng.choice([1, 2])])
    out.append((None, "[DONE]"))
    return out


GRAMMARS: dict[str, Callable[[random.Random, Writer], list[tuple[str | None, str]]]] = {
    "anthropic": anthropic, "openai-chat": chat, "openai-responses": fuzz_dialects.responses, "cohere": fuzz_dialects.cohere,
    "gemini": fuzz_dialects.gemini, "gemini-interactions": fuzz_dialects.interactions, "bedrock-converse": fuzz_dialects.bedrock,
    "ollama": fuzz_dialects.ollama, "dsh": fuzz_dialects.dsh}


def events(seed: int) -> tuple[list[bytes], str]:
    """The events of stream `seed` as bytes, and its dialect."""
    rng = random.Random(seed)
    w = Writer(rng, rng.choice([0.0, 0.05, 0.15, 0.4]))
    dialect: str = rng.choice(list(GRAMMARS))
    line = rng.choice(["\n"] * 5 + ["\r\n", "\r\n", "\r"])
    sep = "" if rng.random() < 0.1 else " "
    out = []
    for name, payload in GRAMMARS[dialect](rng, w):
        block = f"event:{sep}{name}{line}" if name else ""
        if w.hit(0.1):
            block += rng.choice([": comment", "id: 7", f": {payload}", "data: ", "datum", f"event: {payload}"]) + line
        if w.hit(0.1) and "," in payload:
            payload = payload.replace(",", f",{line}data: ", 1)
        if w.hit(0.05):
            payload += rng.choice([" ", "x", "}", "\t", " {}"])
        end = rng.choice(["\n", "\r\n", "\r", line * 2]) if w.hit(0.05) else line
        if dialect in fuzz_dialects.BARE and not w.hit(0.05):
            raw = f"{payload}{line}".encode()
        else:
            raw = f"{block}data:{sep}{payload}{line}{end}".encode()
        if w.hit(0.15):  # something that no JSON library writes, inside some string
            quotes = [i for i, c in enumerate(raw) if c == 0x22]
            at = rng.choice(quotes) if quotes else 0
            raw = raw[:at] + rng.choice(RAW) + raw[at:]
        out += [raw] * (1 + (rng.random() < 0.3 and w.hit(0.5)))
    if w.hit(0.3):
        at = rng.randrange(len(out))
        flipped = bytearray(out[at])
        flipped[rng.randrange(len(flipped))] = rng.choice([rng.randrange(256), 0x20, 0x22, 0x0A, 0x0D, 0x5C])
        out[at] = bytes(flipped)
    if rng.random() < 0.2 and len(out) > 1:
        del out[rng.randrange(1, len(out)):]
        out[-1] = out[-1][:rng.randrange(len(out[-1]) + 1)]
    return out, dialect


def deliver(body: bytes, how: int, seed: int, parts: list[bytes]) -> list[bytes]:
    """One of the ways in which a body is cut."""
    rng = random.Random(seed)
    if how == 0:
        return [body]
    if how == 1:
        return parts
    if how == 2:
        return [body[i:i + 1] for i in range(len(body))]
    return cut_at(body, [rng.randrange(len(body) + 1) for _ in range(rng.choice([1, 2, 5, 20]))])


def trial(seed: int) -> tuple[list[bytes], Callable[[list[bytes]], str | None]]:
    """The events of stream `seed`, and what tells how the engines differ on (a part of) them."""
    parts, dialect = events(seed)
    rng = random.Random(-seed - 1)
    how = rng.choice([0, 0, 1, 1, 1, 3, 3, 2])
    options: dict[str, Any] = {"deltas": rng.choice(["chunk", "each", "none"]), "look": rng.random() < 0.3,
                               "on_bad_event": rng.choice(["error", "skip", "skip"])}
    if rng.random() < 0.1:
        options["limits"] = fsm.Limits(content_bytes=rng.randint(1, 120), event_bytes=rng.choice([1 << 20, 100, 200]), blocks=rng.choice([2, 100]))
    name = rng.choice(["auto", dialect, dialect])

    def check(parts: list[bytes]) -> str | None:
        return disagreement(deliver(b"".join(parts), how, seed, parts), name, **options)

    return parts, check


def shortest(parts: list[bytes], check: Callable[[list[bytes]], str | None]) -> list[bytes]:
    """Fewer events that still fail."""
    size = len(parts) // 2
    while size:
        at = 0
        while at < len(parts):
            fewer = parts[:at] + parts[at + size:]
            if fewer and check(fewer):
                parts = fewer
            else:
                at += size
        size //= 2
    return parts


def fuzz(first: int, seconds: float | None = None, cases: int | None = None, failures: int = 1) -> tuple[int, list[str]]:
    """Run streams from seed `first` on until the time or the number is used up; (how many, a report per failure)."""
    end = None if seconds is None else time.monotonic() + seconds
    done, found = 0, []
    while (cases is None or done < cases) and (end is None or time.monotonic() < end) and len(found) < failures:
        parts, check = trial(first + done)
        done += 1
        if check(parts):
            few = shortest(parts, check)
            found.append(f"seed {first + done - 1}: {check(few)}\n" + "\n".join(f"    {p!r}" for p in few))
    return done, found


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Random streams on all four engines, which must agree.")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long (default 60)")
    parser.add_argument("--seed", type=int, default=None, help="the first stream; default from the clock")
    parser.add_argument("--failures", type=int, default=1, help="stop after so many (default 1)")
    args = parser.parse_args()
    first = args.seed if args.seed is not None else int(time.time()) * 1000
    print(f"from seed {first} on, {args.seconds:g} s", flush=True)
    done, found = fuzz(first, args.seconds, failures=args.failures)
    print(*found, sep="\n")
    print(f"{done} streams, {len(found)} failures")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
