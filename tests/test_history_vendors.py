"""`to_request` to the message's own vendor: what each of them wants, and refuses, beyond its types."""

from __future__ import annotations

import copy
from typing import Any

import pytest

import fsm
from helpers import a_block, anthropic, chat, entry
from history import CHECKS, public_streams

TEXT = {"type": "text", "text": "Hi."}
CALL = {"type": "tool_use", "id": "t1", "name": "Read", "input": {}}


def history(dialect: str, *content: dict[str, Any], **fields: Any) -> fsm.History:
    return fsm.Message(copy.deepcopy(list(content)), dialect=dialect, **fields).to_request()


def thinking(text: str, signature: str | None = None, **fields: Any) -> dict[str, Any]:
    return {"type": "thinking", "thinking": text, "signature": signature, **fields}


# ---------------------------------------------------------------- Anthropic


def test_anthropic_refuses_blank_text_and_thinking_that_nothing_follows():
    got = history("anthropic", thinking("a", "s"), {"type": "text", "text": " \n"}, TEXT, thinking("b", "s"), {"type": "redacted_thinking", "data": "x"})
    assert got.entries == [{"role": "assistant", "content": [thinking("a", "s"), TEXT]}]
    assert got.dropped == ["text block 1: blank text is refused", "redacted_thinking block 4: nothing follows it", "thinking block 3: nothing follows it"]
    assert history("anthropic", thinking("a", "s")).entries == []


def test_anthropic_gets_unsigned_thinking_back():
    """Compatible vendors sign nothing and want it back; the types want a string."""
    got = history("anthropic", thinking("a"), TEXT)
    assert got.entries[0]["content"][0] == thinking("a", "")
    CHECKS["anthropic"](got.entries[0])


def test_the_cut_input_of_a_server_tool_becomes_an_object(engine: str):
    use = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    body = anthropic(*a_block(0, use, {"type": "input_json_delta", "partial_json": '{"query": "x'}), stop="pause_turn")
    got = fsm.reconstruct(body, engine=engine).message
    assert got.content[0]["raw_input"] == '{"query": "x'
    assert got.to_request() == ([{"role": "assistant", "content": [use]}], ["server_tool_use block 0: its arguments are no object; {} is sent"], {})


# ---------------------------------------------------------------- Chat Completions


def test_chat_reasoning_goes_back_beside_calls(engine: str):
    """DeepSeek and Kimi require it there, and DeepSeek's older models refuse it elsewhere."""
    reasoning = {"reasoning_content": "hm"}
    got = fsm.reconstruct(chat(reasoning, {"tool_calls": [entry(0, "t1", "Read", "{}")]}, finish="tool_calls"), engine=engine).message.to_request()
    assert (got.entries[0]["reasoning_content"], got.dropped) == ("hm", [])
    got = fsm.reconstruct(chat(reasoning, {"content": "Hi."}), engine=engine).message.to_request()
    assert got == ([{"role": "assistant", "content": "Hi."}], ["thinking block 0: reasoning goes back only beside calls"], {})
    got = fsm.reconstruct(chat(reasoning), engine=engine).message.to_request()
    assert got == ([], ["thinking block 0: nothing follows it"], {})


def test_chat_reasoning_with_a_seal_always_goes_back(engine: str):
    """OpenRouter's details, each with what it came with."""
    details = [{"type": "reasoning.text", "text": "hm", "signature": "sig"},
               {"type": "reasoning.encrypted", "data": "gAAA", "format": "openai-responses-v1", "id": "rs_1", "index": 0}]
    got = fsm.reconstruct(chat(*[{"reasoning_details": [d]} for d in details], {"content": "Hi."}), engine=engine).message
    assert got.to_request() == ([{"role": "assistant", "content": "Hi.", "reasoning_details": details}], [], {})


def test_chat_calls_keep_what_their_vendor_put_beside_them(engine: str):
    extra = {"google": {"thought_signature": "sig"}}
    body = chat({"tool_calls": [{**entry(0, "t1", "Read", "{}"), "extra_content": extra}]}, finish="tool_calls")
    call = fsm.reconstruct(body, engine=engine).message.to_request().entries[0]["tool_calls"][0]
    assert call == {"id": "t1", "type": "function", "function": {"name": "Read", "arguments": "{}"}, "extra_content": extra}


def test_chat_has_no_parts_for_vendor_blocks():
    got = history("openai-chat", TEXT, {"type": "reference", "reference_ids": [1]}, TEXT)
    assert got == ([{"role": "assistant", "content": "Hi.Hi."}], ["reference block 1: a message of the assistant has no such part"], {})


# ---------------------------------------------------------------- Responses


def test_blocks_of_one_item_are_one_item():
    got = history("openai-responses", thinking("a", item_id="rs_1", encrypted_content="gAAA"), thinking("b", item_id="rs_1"),
                  thinking("c", item_id="rs_2", part="reasoning_text"), {**TEXT, "item_id": "msg_1", "phase": "commentary", "annotations": [{"type": "x"}]},
                  {"type": "refusal", "refusal": "No.", "item_id": "msg_1"}, {**TEXT, "item_id": "msg_2", "status": "incomplete"})
    assert got.dropped == []
    assert got.entries == [
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "a"}, {"type": "summary_text", "text": "b"}],
         "encrypted_content": "gAAA"},
        {"type": "reasoning", "id": "rs_2", "summary": [], "content": [{"type": "reasoning_text", "text": "c"}]},
        {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "phase": "commentary",
         "content": [{"type": "output_text", "text": "Hi.", "annotations": [{"type": "x"}]}, {"type": "refusal", "refusal": "No."}]},
        {"type": "message", "id": "msg_2", "role": "assistant", "status": "incomplete",
         "content": [{"type": "output_text", "text": "Hi.", "annotations": []}]}]


def test_items_without_an_id():
    got = history("openai-responses", thinking("a"), thinking("", encrypted_content="gAAA"), {**TEXT, "annotations": [{}], "phase": "final_answer"}, TEXT, CALL)
    assert got.entries == [
        {"type": "reasoning", "summary": [], "encrypted_content": "gAAA"},
        {"type": "message", "role": "assistant", "content": "Hi.", "phase": "final_answer"}, {"type": "message", "role": "assistant", "content": "Hi."},
        {"type": "function_call", "call_id": "t1", "name": "Read", "arguments": "{}", "status": "completed"}]
    assert got.dropped == ["thinking block 0: it has neither an id nor encrypted_content", "text block 2: its annotations: its item has no id"]


@pytest.mark.parametrize(("before", "stop", "kept"), [((), "end_turn", 0), ((TEXT,), "max_tokens", 1), ((TEXT,), "end_turn", 2)])
def test_reasoning_whose_answer_was_cut_off_is_refused(before: tuple[dict[str, Any], ...], stop: str, kept: int):
    got = history("openai-responses", *before, thinking("a", item_id="rs_1"), stop_reason=stop)
    assert len(got.entries) == kept
    assert got.dropped == ([] if kept == 2 else [f"thinking block {len(before)}: nothing follows it"])


# ---------------------------------------------------------------- Gemini


def test_every_signature_goes_back_on_its_part():
    text = {"type": "text", "text": "añb", "signatures": [{"start": 1, "end": 2, "signature": "A"}, {"start": 3, "end": 3, "signature": "B"}]}
    got = history("gemini", thinking("hm"), text, {**CALL, "signature": "C"}, thinking("", "D"),
                  {"type": "executableCode", "executableCode": {"code": "1"}, "thoughtSignature": "E"})
    assert got == ([{"role": "model", "parts": [
        {"text": "hm", "thought": True}, {"text": "a"}, {"text": "ñ", "thoughtSignature": "A"}, {"text": "b"}, {"text": "", "thoughtSignature": "B"},
        {"functionCall": {"id": "t1", "name": "Read", "args": {}}, "thoughtSignature": "C"}, {"text": "", "thoughtSignature": "D"},
        {"executableCode": {"code": "1"}, "thoughtSignature": "E"}]}], [], {})


# ---------------------------------------------------------------- Bedrock Converse, Cohere, Ollama


def test_converse_blocks_stand_under_their_kinds():
    server = {"toolUseId": "s1", "name": "search", "input": {"q": 1}, "type": "server_tool_use"}
    found = {"toolUseId": "s1", "content": [{"text": "x"}], "type": "search_result"}
    got = history("bedrock-converse", thinking("a", "s"), {"type": "redacted_thinking", "data": "eA=="}, TEXT, {"type": "text", "text": " "},
                  {**TEXT, "citations": [{"title": "t"}]}, server, found, {"type": "toolResult", "toolUseId": "s2", "content": []},
                  {"type": "image", "format": "png"}, CALL, thinking("b"))
    assert got.entries == [{"role": "assistant", "content": [
        {"reasoningContent": {"reasoningText": {"text": "a", "signature": "s"}}}, {"reasoningContent": {"redactedContent": "eA=="}}, {"text": "Hi."},
        {"citationsContent": {"content": [{"text": "Hi."}], "citations": [{"title": "t"}]}}, {"toolUse": server}, {"toolResult": found},
        {"toolResult": {"toolUseId": "s2", "content": []}}, {"image": {"format": "png"}}, {"toolUse": {"toolUseId": "t1", "name": "Read", "input": {}}}]}]
    assert got.dropped == ["text block 3: blank text is refused", "thinking block 10: nothing follows it"]


def test_cohere_gets_its_plan_and_its_citations():
    got = history("cohere", thinking("a"), thinking("plan", part="tool_plan"), {**TEXT, "citations": [{"start": 0}]}, CALL, {"type": "image"})
    assert got == ([{"role": "assistant", "content": [{"type": "thinking", "thinking": "a"}, TEXT], "tool_plan": "plan",
                     "tool_calls": [{"id": "t1", "type": "function", "function": {"name": "Read", "arguments": "{}"}}], "citations": [{"start": 0}]}],
                   ["image block 4: a message of the assistant has no such part"], {})


def test_ollama_gets_thinking_and_images():
    got = history("ollama", thinking("a"), TEXT, {"type": "images", "images": ["eA=="]}, CALL, {"type": "x"})
    assert got == ([{"role": "assistant", "content": "Hi.", "thinking": "a", "images": ["eA=="],
                     "tool_calls": [{"id": "t1", "function": {"name": "Read", "arguments": {}}}]}],
                   ["x block 4: a message of the assistant has no such part"], {})


def test_other_public_streams_lose_nothing(engine: str):
    """Cohere, Ollama, Converse and Bedrock invoke."""
    seen = set()
    for name, body, _expected in public_streams():
        outcome = fsm.reconstruct(body, engine=engine) if name.startswith("other/") else None
        if outcome is not None and outcome.completed:
            seen.add(outcome.dialect)
            got = outcome.message.to_request()
            assert got.dropped == [], name
            assert bool(got.entries) == bool(outcome.message.content)
    assert not seen or {"cohere", "ollama", "bedrock-converse"} <= seen
