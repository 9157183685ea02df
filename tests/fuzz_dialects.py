"""Grammars of further dialects for tests/fuzz.py: numbered items and parts (Responses), calls and content counted apart (Cohere)."""

from __future__ import annotations

import random
from typing import Any

Said = list[tuple[str | None, str]]
TEXTS = ["a", "b c", " ", "\n", "", "é", "状态", "😀", '"', "\\", "}", '","', "data: x", "word " * 5, "x" * 16 + '"', "y" * 31]
FRAGMENTS = ["{", "}", '{"a":', '"b"', ',"c":1', "{}", " ", '{"file_path":"', 'a"}', '\\"', "é"]


def responses(rng: random.Random, w: Any) -> Said:
    """(event name, payload) of a message in the manner of Responses: done events at random, numbers that may repeat or stand still."""
    out: Said = []
    number = rng.choice([0, 0, 7, 999_999_990])
    numbered = rng.random() < 0.85
    order = rng.random() < 0.3  # keys sorted, as some proxies do

    def say(word: str, pairs: list[tuple[str, Any]]) -> None:
        nonlocal number
        all_ = [("type", w.string(word)), *pairs]
        if numbered:
            shown = w.index(number) if not w.hit(0.3) else str(max(0, number - rng.choice([1, 1, 2, 5])))
            all_.insert(rng.choice([1, len(all_)]), ("sequence_number", shown))
            number += rng.choice([1] * 12 + [0, 2])
        if order:
            all_.sort(key=lambda pair: pair[0])
        out.append((rng.choice([None, "error", "response.output_text.delta"]) if w.hit(0.2) else word, w.object(all_)))
        if rng.random() < 0.06:
            out.append(out[-1])  # sent twice
            if rng.random() < 0.2 and len(out) > 3:
                out.append(out[-3])

    def at(i: int) -> list[tuple[str, Any]]:
        name = f'"it{i}"' if rng.random() < 0.7 else f'"r{rng.randrange(99)}"'
        return [("item_id", name), *([] if w.hit(0.2) else [("output_index", w.index(i))])]

    def part(i: int, at_: int, kind: str) -> list[tuple[str, Any]]:
        key = "summary_index" if kind == "reasoning_summary_text" else "content_index"
        if w.hit(0.15):
            key = rng.choice(["summary_index", "content_index"])
        return [*at(i), *([] if w.hit(0.15) else [(key, w.index(at_))])]

    say("response.created", [("response", [("id", '"r"'), ("model", '"m"')])])
    begun: list[tuple[int, int, str]] = []
    for i in range(rng.randint(1, 4)):
        kind = rng.choice(["output_text", "output_text", "reasoning_summary_text", "reasoning_text", "refusal", "function_call_arguments",
                           "custom_tool_call_input"])
        call = kind in ("function_call_arguments", "custom_tool_call_input")
        item = {"function_call_arguments": "function_call", "custom_tool_call_input": "custom_tool_call", "output_text": "message",
                "refusal": "message"}.get(kind, "reasoning")
        fields: list[tuple[str, Any]] = [("id", f'"it{i}"'), ("type", f'"{item}"')]
        fields += [("call_id", f'"c{i if not w.hit(0.2) else 0}"'), ("name", '"Read"')] if call else []
        if rng.random() < 0.9:
            say("response.output_item.added", [("output_index", w.index(i)), ("item", fields)])
        for n in range(1 if call else rng.randint(1, 2)):
            begun.append((i, n, kind))
            if not call and rng.random() < 0.7:
                word = "reasoning_summary_part" if kind == "reasoning_summary_text" else "content_part"
                type_ = "summary_text" if kind == "reasoning_summary_text" else kind
                say(f"response.{word}.added", [*part(i, n, kind), ("part", [("type", f'"{type_}"'), ("text", '""')])])
            for _ in range(rng.randint(0, 8)):
                j, m, k = rng.choice(begun) if rng.random() < 0.2 else begun[-1]
                piece = rng.choice(FRAGMENTS if k == "function_call_arguments" else TEXTS)
                extra = [("logprobs", "[]"), ("obfuscation", w.string("z" * rng.randrange(4)))] if rng.random() < 0.7 else []
                say(f"response.{k}.delta", [*(at(j) if k == "function_call_arguments" else part(j, m, k)), ("delta", w.string(piece)), *extra])
            if rng.random() < 0.5 and kind in ("output_text", "reasoning_summary_text", "reasoning_text"):
                say(f"response.{kind}.done", [*part(i, n, kind), ("text", w.string(rng.choice(TEXTS)))])
        if rng.random() < 0.7:
            stated = [("arguments", rng.choice(['""', '"{}"', '"{\\"a\\":1}"']))] if kind == "function_call_arguments" else []
            say("response.output_item.done", [("output_index", w.index(i)), ("item", [*fields, *stated])])
    end = rng.choice(["completed", "completed", "completed", "incomplete", "failed"])
    say(f"response.{end}", [("response", [("id", '"r"'), ("status", f'"{end}"'), ("usage", [("input_tokens", "1")])])])
    return out


def cohere(rng: random.Random, w: Any) -> Said:
    """(event name, payload) of a message in the manner of Cohere."""
    out: Said = []

    def say(word: str, index: int | None, message: list[tuple[str, Any]] | None) -> None:
        pairs: list[tuple[str, Any]] = [("type", w.string(word))]
        if index is not None and not w.hit(0.2):
            pairs.append(("index", w.index(index)))
        if message is not None:
            pairs.append(("delta", [("message", message)]))
        out.append((rng.choice([None, "content-delta"]) if w.hit(0.2) else word, w.object(pairs)))

    say("message-start", None, [("role", '"assistant"')])
    for i in range(rng.randint(1, 4)):
        kind = rng.choice(["text", "thinking", "call", "plan"])
        if kind == "plan":
            for _ in range(rng.randint(1, 4)):
                say("tool-plan-delta", None, [("tool_plan", w.string(rng.choice(TEXTS)))])
            continue
        if kind == "call":
            call = [("id", f'"t{i}"'), ("type", '"function"'), ("function", [("name", '"Read"'), ("arguments", '""')])]
            say("tool-call-start", i % 2, [("tool_calls", call)])
        elif rng.random() < 0.9:
            say("content-start", i, [("content", [("type", f'"{kind}"'), (kind, '""')])])
        for _ in range(rng.randint(0, 8)):
            if kind == "call":
                say("tool-call-delta", i % 2, [("tool_calls", [("function", [("arguments", w.string(rng.choice(FRAGMENTS)))])])])
            else:
                key = rng.choice(["text", "thinking"]) if w.hit(0.2) else kind
                say("content-delta" if not w.hit(0.1) else "tool-call-delta", i, [("content", [(key, w.string(rng.choice(TEXTS)))])])
            if w.hit(0.1):
                say("citation-start", 0, [("citations", [("start", "0")])])
        if rng.random() < 0.7:
            say("tool-call-end" if kind == "call" else "content-end", i % 2 if kind == "call" else i, None)
    reason = rng.choice(['"COMPLETE"', '"TOOL_CALL"', '"MAX_TOKENS"'])
    out.append(("message-end", w.object([("type", '"message-end"'), ("delta", [("finish_reason", reason)])])))
    return out


def gemini(rng: random.Random, w: Any) -> Said:
    """(None, payload) of a message in the manner of Gemini: parts in chunks that mostly count tokens, reasons anywhere, streamed arguments."""
    out: Said = []
    counts, every = rng.random() < 0.6, rng.random() < 0.3
    said = 0

    def chunk(parts: list[list[tuple[str, Any]]], reason: str | None = None) -> None:
        nonlocal said
        said += rng.choice([1, 1, 2, 0])
        content = [("parts", "[" + ",".join(w.object(p) for p in parts) + "]" if len(parts) != 1 else [parts[0]]), ("role", '"model"')]
        candidate: list[tuple[str, Any]] = [("content", [*content] if not w.hit(0.05) else "{}"), ("index", w.index(0))]
        if reason or every or w.hit(0.1):
            candidate.append(("finishReason", reason or '"STOP"'))
        pairs: list[tuple[str, Any]] = [("candidates", [candidate])]
        if counts:
            more = [("thoughtsTokenCount", str(said))] if rng.random() < 0.3 else []
            pairs.append(("usageMetadata", w.object([("promptTokenCount", "7"), ("candidatesTokenCount", w.index(said)), *more])))
        pairs += [("modelVersion", '"m"'), ("responseId", '"r"')]
        out.append((None, w.object(pairs)))

    for i in range(rng.randint(1, 4)):
        kind = rng.choice(["text", "text", "thought", "call", "streamed"])
        if kind == "call":
            chunk([[("functionCall", [("id", f'"c{i}"'), ("name", '"Read"'), ("args", rng.choice(['{"file_path":"a"}', "{}", '{"n":1}']))])]])
        elif kind == "streamed":
            chunk([[("functionCall", [("name", '"Read"'), ("willContinue", "true")])]])
            for _ in range(rng.randint(0, 3)):
                piece = [("jsonPath", '"$.file_path"'), ("stringValue", w.string(rng.choice(TEXTS))), ("willContinue", "true")]
                chunk([[("functionCall", [("partialArgs", [piece]), ("willContinue", "true")])]])
            if rng.random() < 0.8:
                chunk([[("functionCall", "{}")]])
        for _ in range(rng.randint(0, 8) if kind in ("text", "thought") else 0):
            part: list[tuple[str, Any]] = [("text", w.string(rng.choice(TEXTS)))]
            part += [("thought", "true")] if kind == "thought" or w.hit(0.1) else []
            part += [("thoughtSignature", '"c2ln"')] if w.hit(0.2) else []
            chunk([part] if rng.random() < 0.9 else [part, [("text", w.string(rng.choice(TEXTS)))]])
    chunk([[("text", '""')]], rng.choice(['"STOP"', '"STOP"', '"MAX_TOKENS"', '"SAFETY"']))
    return out


def interactions(rng: random.Random, w: Any) -> Said:
    """(event name, payload) of a message in the manner of Gemini's Interactions."""
    out: Said = []
    ahead = rng.random() < 0.3

    def say(word: str, pairs: list[tuple[str, Any]]) -> None:
        kind = [("event_type", w.string(word))]
        meta = [("metadata", [("usage", [("total_input_tokens", "3")])])] if w.hit(0.1) else []
        out.append((rng.choice([None, "step.delta"]) if w.hit(0.2) else word, w.object([*kind, *pairs, *meta] if ahead else [*pairs, *kind, *meta])))

    say("interaction.created", [("interaction", [("id", '"i"'), ("model", '"m"')])])
    begun: list[tuple[int, str]] = []
    for i in range(rng.randint(1, 4)):
        kind = rng.choice(["model_output", "model_output", "thought", "function_call", "google_search_call"])
        named = [("id", f'"c{i}"'), ("name", '"Read"'), ("arguments", "{}")] if kind == "function_call" else []
        if rng.random() < 0.9:
            say("step.start", [("index", w.index(i)), ("step", [*named, ("type", w.string(kind))])])
        begun.append((i, kind))
        for _ in range(rng.randint(0, 8)):
            at, of = rng.choice(begun) if rng.random() < 0.2 else begun[-1]
            of = rng.choice(["model_output", "thought", "function_call", "nope"]) if w.hit(0.2) else of
            if of == "model_output":
                pairs: list[tuple[str, Any]] = [("text", w.string(rng.choice(TEXTS))), ("type", '"text"')]
            elif of == "thought":
                signed = rng.random() < 0.1
                pairs = [("signature", '"c2ln"'), ("type", '"thought_signature"')] if signed else [
                    ("content", [("text", w.string(rng.choice(TEXTS))), ("type", '"text"')]), ("type", '"thought_summary"')]
            else:
                pairs = [("arguments", w.string(rng.choice(FRAGMENTS))), ("type", '"arguments_delta"' if of == "function_call" else f'"{of}"')]
            say("step.delta", [("index", w.index(at)), ("delta", pairs)])
        if rng.random() < 0.8:
            say("step.stop", [("index", w.index(i))])
    status = rng.choice(["completed", "requires_action", "incomplete", "failed"])
    say("interaction.completed", [("interaction", [("status", f'"{status}"'), ("usage", [("total_input_tokens", "5")])])])
    out.append(("done", "[DONE]"))
    return out


def bedrock(rng: random.Random, w: Any) -> Said:
    """(event name, payload) of a message in the manner of Bedrock Converse: the event key outside, padding, text without starts."""
    out: Said = []

    def say(word: str, pairs: list[tuple[str, Any]]) -> None:
        pad = [("p", w.string("abcdef"[:rng.randrange(6)]))] if rng.random() < 0.7 else []
        out.append((None, w.object([(word, [*pairs, *pad])])))

    say("messageStart", [("role", '"assistant"')])
    for i in range(rng.randint(1, 4)):
        kind = rng.choice(["text", "text", "reasoning", "call"])
        if kind == "call":
            start = [("toolUse", [("toolUseId", f'"t{i}"'), ("name", '"Read"')])]
            say("contentBlockStart", [("contentBlockIndex", w.index(i)), ("start", start)])
        for n in range(rng.randint(0, 8)):
            piece = w.string(rng.choice(FRAGMENTS if kind == "call" else TEXTS))
            inner = {"text": [("text", piece)], "reasoning": [("reasoningContent", [("text", piece)])], "call": [("toolUse", [("input", piece)])]}[kind]
            if kind == "reasoning" and w.hit(0.3):
                inner = [("reasoningContent", [("signature", '"c2ln"')])]
            say("contentBlockDelta", [("contentBlockIndex", w.index(i if not w.hit(0.1) else n)), ("delta", inner)])
        if rng.random() < 0.8:
            say("contentBlockStop", [("contentBlockIndex", w.index(i))])
    say("messageStop", [("stopReason", rng.choice(['"end_turn"', '"tool_use"', '"max_tokens"']))])
    say("metadata", [("usage", [("inputTokens", "5"), ("outputTokens", "7")])])
    return out


def ollama(rng: random.Random, w: Any) -> Said:
    """(None, payload) of a message in the manner of Ollama; the lines are bare (see `BARE`)."""
    out: Said = []
    generate = rng.random() < 0.2

    def line(message: list[tuple[str, Any]], done: str = "false", more: list[tuple[str, Any]] | None = None) -> None:
        said = message if generate else [("message", [("role", '"assistant"'), *message])]
        out.append((None, w.object([("model", '"m"'), ("created_at", '"2026"'), *said, ("done", done), *(more or [])])))

    key = "response" if generate else "content"
    for _ in range(rng.randint(1, 4)):
        kind = rng.choice([key, key, "thinking", "call"])
        if kind == "call" and not generate:
            line([("content", '""'), ("tool_calls", [[("function", [("name", '"Read"'), ("arguments", rng.choice(['{"file_path":"a"}', "{}", '"{}"']))])]])])
        for _ in range(rng.randint(0, 8) if kind != "call" else 0):
            line([(kind, w.string(rng.choice([*TEXTS, "<think>", "</think>"]))), *([("content", '""')] if kind == "thinking" else [])])
    line([(key, '""')], "true", [("done_reason", rng.choice(['"stop"', '"length"'])), ("eval_count", "5")])
    return out


def dsh(rng: random.Random, w: Any) -> Said:
    """(None, payload) of a message in the manner of dsh: bounds and full statements at random."""
    out: Said = []

    def say(word: str, pairs: list[tuple[str, Any]]) -> None:
        out.append((None, w.object([("type", w.string(word)), *pairs])))

    for i in range(rng.randint(1, 4)):
        kind = rng.choice(["text", "text", "reasoning", "tool-call"])
        if rng.random() < 0.8:
            say("block-start", [("index", w.index(i)), ("blockType", w.string(kind))])
        for _ in range(rng.randint(0, 8)):
            said = ("argumentsDelta", w.string(rng.choice(FRAGMENTS))) if kind == "tool-call" else ("text", w.string(rng.choice(TEXTS)))
            named = [("id", f'"c{i}"'), ("name", '"Read"')] if kind == "tool-call" else []
            say(f"{kind}-delta", [("index", w.index(i)), *named, said])
        if rng.random() < 0.8:
            say("block-end", [("index", w.index(i)), *([("block", [("type", w.string(kind)), ("text", '"x"')])] if w.hit(0.3) else [])])
    say("usage", [("usage", [("inputTokens", "5")])])
    say("finish", [("reason", [("kind", rng.choice(['"stop"', '"max-tokens"', '"error"']))])])
    return out


#: dialects whose events are lines without `data:`
BARE = frozenset({"ollama", "dsh"})
