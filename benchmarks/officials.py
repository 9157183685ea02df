"""What the vendors' own clients make of a body: the message that their stream helpers build, as plain facts, or how they fail.

Each client reads the bytes through its whole stack over a mock transport; there is no network. `WAYS` are the documented ways to a
message; `facts` are what can be compared with a message of ours (`ours`): text, thinking, signatures, calls, stop reason, usage, id, model.
"""

from __future__ import annotations

import contextlib
import functools
import json
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.peers import http_of, transport

Facts = dict[str, Any]
ASKED: Any = [{"role": "user", "content": "?"}]


@functools.cache
def _http(make: Any) -> Any:
    with make(api_key="none") as client:  # once: it loads certificates
        return http_of(client)


@contextlib.contextmanager
def _client(make: Any, body: bytes) -> Iterator[Any]:
    """A vendor's client that gets `body` for an answer, whatever it asks."""
    http = _http(make)
    with http.Client(transport=transport(http, [body])) as wire, make(api_key="none", http_client=wire, max_retries=0) as client:
        yield client


def loads(arguments: Any) -> Any:
    """Arguments as data; text that is no JSON stays text."""
    try:
        return json.loads(arguments) if isinstance(arguments, str) else arguments
    except (ValueError, RecursionError):
        return arguments


# ---------------------------------------------------------------- the clients


def anthropic_stream(body: bytes) -> Facts:
    """`messages.stream(...)`, `get_final_message()`."""
    import anthropic

    with _client(anthropic.Anthropic, body) as client, client.messages.stream(model="m", max_tokens=1, messages=ASKED) as events:
        return _of_anthropic(events.get_final_message())


def anthropic_beta(body: bytes) -> Facts:
    """`beta.messages.stream(...)`, `get_final_message()`: the helper that knows the newest blocks."""
    import anthropic

    with _client(anthropic.Anthropic, body) as client, client.beta.messages.stream(model="m", max_tokens=1, messages=ASKED) as events:
        return _of_anthropic(events.get_final_message())


def _of_anthropic(message: Any) -> Facts:
    f = message.to_dict(mode="json")
    blocks = f["content"]
    usage = f.get("usage") or {}
    return {"id": f.get("id"), "model": f.get("model"), "text": _join(blocks, "text"), "thinking": _join(blocks, "thinking"),
            "signatures": [b["signature"] for b in blocks if b["type"] == "thinking" and b.get("signature")],
            "calls": [[b.get("id"), b.get("name"), b.get("input")] for b in blocks if b["type"] == "tool_use"], "stop": f.get("stop_reason"),
            "usage": _counts(usage.get("input_tokens"), usage.get("output_tokens"), usage.get("cache_read_input_tokens"),
                             usage.get("cache_creation_input_tokens"))}


def _join(blocks: list[dict[str, Any]], kind: str) -> str:
    return "".join(b.get(kind) or "" for b in blocks if b["type"] == kind)


def chat_stream(body: bytes) -> Facts:
    """`chat.completions.stream(...)`, `get_final_completion()`."""
    import openai

    with _client(openai.OpenAI, body) as client, client.chat.completions.stream(model="m", messages=ASKED) as events:
        return _of_chat(events.get_final_completion())


def chat_create(body: bytes) -> Facts:
    """`chat.completions.create(stream=True)`, the chunks into a `ChatCompletionStreamState`."""
    import openai
    from openai.lib.streaming.chat import ChatCompletionStreamState

    state = ChatCompletionStreamState()
    with _client(openai.OpenAI, body) as client, client.chat.completions.create(model="m", messages=ASKED, stream=True) as chunks:
        for chunk in chunks:
            state.handle_chunk(chunk)
    return _of_chat(state.current_completion_snapshot)


def _of_chat(completion: Any) -> Facts:
    f = completion.to_dict(mode="json")
    choice = f["choices"][0]
    message = choice["message"]
    usage = f.get("usage") or {}
    calls = [[c.get("id"), c["function"].get("name"), loads(c["function"].get("arguments") or "{}")] for c in message.get("tool_calls") or []]
    return {"id": f.get("id"), "model": f.get("model"), "text": message.get("content") or "",
            "thinking": message.get("reasoning_content") or message.get("reasoning") or "", "calls": calls, "stop": choice.get("finish_reason"),
            "usage": _counts(usage.get("prompt_tokens"), usage.get("completion_tokens"),
                             (usage.get("prompt_tokens_details") or {}).get("cached_tokens"), None)}


def responses_stream(body: bytes) -> Facts:
    """`responses.stream(...)`, `get_final_response()`."""
    import openai

    with _client(openai.OpenAI, body) as client, client.responses.stream(model="m", input="?") as events:
        return _of_response(events.get_final_response())


def responses_create(body: bytes) -> Facts:
    """`responses.create(stream=True)`, the response of its last event."""
    import openai

    last = None
    with _client(openai.OpenAI, body) as client, client.responses.create(model="m", input="?", stream=True) as events:
        for event in events:
            if event.type in ("response.completed", "response.incomplete", "response.failed"):
                last = event.response
    if last is None:
        raise EOFError("no final response")
    return _of_response(last)


def _of_response(response: Any) -> Facts:
    f = response.to_dict(mode="json")
    texts, thoughts, calls = [], [], []
    for item in f.get("output") or []:
        if item["type"] == "message":
            texts += [c.get("text") or "" for c in item.get("content") or [] if c["type"] == "output_text"]
        elif item["type"] == "reasoning":
            thoughts += [c.get("text") or "" for c in [*(item.get("summary") or []), *(item.get("content") or [])]]
        elif item["type"] == "function_call":
            calls.append([item.get("call_id"), item.get("name"), loads(item.get("arguments") or "{}")])
    usage = f.get("usage") or {}
    return {"id": f.get("id"), "model": f.get("model"), "text": "".join(texts), "thinking": "".join(thoughts), "calls": calls,
            "stop": (f.get("incomplete_details") or {}).get("reason") or f.get("status"),
            "usage": _counts(usage.get("input_tokens"), usage.get("output_tokens"), (usage.get("input_tokens_details") or {}).get("cached_tokens"), None)}


def _counts(*values: Any) -> dict[str, int]:
    """Counts by our names; null, absent and zero are the same."""
    return {name: n for name, n in zip(("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"), values, strict=True) if n}


#: dialect -> the ways of its vendor's client
WAYS: dict[str, dict[str, Callable[[bytes], Facts]]] = {
    "anthropic": {"messages.stream": anthropic_stream, "beta.messages.stream": anthropic_beta},
    "openai-chat": {"chat.completions.stream": chat_stream, "chat.completions.create": chat_create},
    "openai-responses": {"responses.stream": responses_stream, "responses.create": responses_create},
}


def ask(dialect: str, way: str, body: bytes) -> Facts | str:
    """The facts, or the name of the exception that the client raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of pydantic, about fields that are not what the client declares them to be
        try:
            return WAYS[dialect][way](body)
        except ImportError:
            raise  # a client that is not there says nothing about the stream
        except Exception as error:
            return type(error).__name__


# ---------------------------------------------------------------- ours


def ours(message: dict[str, Any]) -> Facts:
    """The same facts of a message (or partial) of ours, in its JSON form."""
    blocks = message["content"]
    return {"id": message["id"], "model": message["model"], "text": _join(blocks, "text"), "thinking": _join(blocks, "thinking"),
            "signatures": [b["signature"] for b in blocks if b["type"] == "thinking" and b.get("signature")],
            "calls": [[b["id"], b["name"], loads(b["raw_input"]) if b.get("invalid") else b["input"]] for b in blocks if b["type"] == "tool_use"],
            "stop": message["raw_stop_reason"], "usage": {k: n for k, n in message["usage"].items() if k in _FIELDS and n}}


_FIELDS = frozenset({"input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"})
