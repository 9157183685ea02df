"""Other ways from a body to a message, each as its users would go, on a stream of 200 deltas in 4 KiB chunks.

Vendors' clients read from a mock transport and their stream helper builds the message; pure SSE parsers get `json.loads` and
the obvious lists of pieces. Clients are made before the clock starts. Every answer is checked against the stream's content.
"""

from __future__ import annotations

import asyncio
import importlib
import io
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.metadata import version
from typing import Any, NamedTuple

from benchmarks import suite
from benchmarks.data import DIALECTS, Stream
from benchmarks.measure import Case, Key, Result, measure
from benchmarks.report import markdown, ratio

Content = list[dict[str, Any]]
Run = Callable[[], Content]


def _blocks(thinking: str, signature: str | None, text: str, calls: Iterable[tuple[str, str, Any]]) -> Content:
    """The content in the form of `Stream.content`."""
    out: Content = []
    if thinking:
        out.append({"type": "thinking", "thinking": thinking, "signature": signature})
    if text:
        out.append({"type": "text", "text": text})
    return out + [{"type": "tool_use", "id": i, "name": n, "input": json.loads(a) if isinstance(a, str) else a} for i, n, a in calls]


# ---------------------------------------------------------------- mock transports


def transport(http: Any, chunks: Sequence[bytes]) -> Any:
    """A transport of `http` (httpx, or the httpx2 of the vendors' clients) that answers with `chunks`, to sync and async clients."""
    class Body(http.SyncByteStream, http.AsyncByteStream):  # type: ignore[misc]
        def __iter__(self) -> Iterator[bytes]:
            return iter(chunks)

        async def __aiter__(self) -> Any:
            for chunk in chunks:
                yield chunk

    return http.MockTransport(lambda request: http.Response(200, headers={"content-type": "text/event-stream"}, stream=Body()))


def http_of(client: Any) -> Any:
    """The HTTP package that a vendor's client is built on: httpx2, in older versions httpx."""
    names = {base.__module__.partition(".")[0] for base in type(client._client).__mro__}
    return importlib.import_module("httpx2" if "httpx2" in names else "httpx")


# ---------------------------------------------------------------- vendors' clients


def _anthropic(stream: Stream, chunks: Sequence[bytes]) -> Run:
    import anthropic

    http = http_of(anthropic.Anthropic(api_key="none"))
    client = anthropic.Anthropic(api_key="none", http_client=http.Client(transport=transport(http, chunks)))

    def run() -> Content:
        with client.messages.stream(model="m", max_tokens=1, messages=[{"role": "user", "content": "?"}]) as events:
            message = events.get_final_message()
        thinking, text, call = message.content
        return _blocks(thinking.thinking, thinking.signature, text.text, [(call.id, call.name, call.input)])

    return run


def _openai(stream: Stream, chunks: Sequence[bytes]) -> Run:
    import openai

    http = http_of(openai.OpenAI(api_key="none"))
    client = openai.OpenAI(api_key="none", http_client=http.Client(transport=transport(http, chunks)))
    if stream.dialect == "openai-responses":
        return lambda: _responses(client)

    def run() -> Content:
        with client.chat.completions.stream(model="m", messages=[{"role": "user", "content": "?"}]) as events:
            message = events.get_final_completion().choices[0].message
        calls = [(c.id, c.function.name, c.function.arguments) for c in message.tool_calls]
        return _blocks(message.reasoning_content, None, message.content, calls)

    return run


def _responses(client: Any) -> Content:
    with client.responses.stream(model="m", input="?") as events:
        thinking, text, call = events.get_final_response().output
    out = _blocks(thinking.summary[0].text, None, text.content[0].text, [(call.call_id, call.name, call.arguments)])
    for block, item in zip(out, (thinking, text, call), strict=True):
        block["item_id"] = item.id
    return out


def _google_genai(stream: Stream, chunks: Sequence[bytes]) -> Run:
    """google-genai gives out chunks and adds nothing up; the lists of pieces are its users'."""
    import httpx
    from google import genai
    from google.genai import types

    client = genai.Client(api_key="none", http_options=types.HttpOptions(client_args={"transport": transport(httpx, chunks)}))

    def run() -> Content:
        thinking, text, calls = [], [], []
        for chunk in client.models.generate_content_stream(model="m", contents="?"):
            for part in chunk.candidates[0].content.parts:
                if part.function_call:
                    calls.append((part.function_call.id, part.function_call.name, part.function_call.args))
                else:
                    (thinking if part.thought else text).append(part.text)
        return _blocks("".join(thinking), None, "".join(text), calls)

    return run


# ---------------------------------------------------------------- SSE parsers, and what their users write behind them


def _accumulate(dialect: str, datas: Iterable[str]) -> Content:
    return (_accumulate_anthropic if dialect == "anthropic" else _accumulate_chat)(datas)


def _accumulate_anthropic(datas: Iterable[str]) -> Content:
    blocks: dict[int, dict[str, Any]] = {}
    for data in datas:
        event = json.loads(data)
        if event["type"] == "content_block_start":
            blocks[event["index"]] = {"start": event["content_block"], "pieces": [], "signature": None}
        elif event["type"] == "content_block_delta":
            block, delta = blocks[event["index"]], event["delta"]
            if delta["type"] == "signature_delta":
                block["signature"] = delta["signature"]
            else:
                block["pieces"].append(delta[{"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}[delta["type"]]])
    thinking, text, call = (blocks[i] for i in sorted(blocks))
    joined = ["".join(b["pieces"]) for b in (thinking, text, call)]
    return _blocks(joined[0], thinking["signature"], joined[1], [(call["start"]["id"], call["start"]["name"], joined[2])])


def _accumulate_chat(datas: Iterable[str]) -> Content:
    thinking: list[str] = []
    text: list[str] = []
    calls: dict[int, dict[str, Any]] = {}
    for data in datas:
        if data == "[DONE]":
            break
        for choice in json.loads(data)["choices"]:
            delta = choice["delta"]
            thinking.append(delta.get("reasoning_content") or "")
            text.append(delta.get("content") or "")
            for call in delta.get("tool_calls") or ():
                entry = calls.setdefault(call["index"], {"id": call.get("id"), "name": call["function"].get("name"), "pieces": []})
                entry["pieces"].append(call["function"]["arguments"])
    return _blocks("".join(thinking), None, "".join(text), [(c["id"], c["name"], "".join(c["pieces"])) for c in calls.values()])


def _httpx_sse(stream: Stream, chunks: Sequence[bytes]) -> Run:
    import httpx
    import httpx_sse

    client = httpx.Client(transport=transport(httpx, chunks))

    def run() -> Content:
        with httpx_sse.connect_sse(client, "POST", "http://mock/") as source:
            return _accumulate(stream.dialect, (event.data for event in source.iter_sse()))

    return run


def _sseclient(stream: Stream, chunks: Sequence[bytes]) -> Run:
    import sseclient

    class Source(list[bytes]):
        def close(self) -> None: ...

    return lambda: _accumulate(stream.dialect, (event.data for event in sseclient.SSEClient(Source(chunks)).events()))


# ---------------------------------------------------------------- frameworks


def _langchain(stream: Stream, chunks: Sequence[bytes]) -> Run:
    """langchain-core reads no bytes: lines and `json.loads`, a message chunk per delta, and its own sum over them."""
    from langchain_core.messages import AIMessageChunk
    from langchain_core.messages.ai import add_ai_message_chunks

    def pieces() -> Iterator[Any]:
        for line in io.BytesIO(b"".join(chunks)):
            if not line.startswith(b"data: ") or line == b"data: [DONE]\n":
                continue
            for choice in json.loads(line[6:])["choices"]:
                delta = choice["delta"]
                calls = [{"type": "tool_call_chunk", "index": c["index"], "id": c.get("id"), "name": c["function"].get("name"),
                          "args": c["function"]["arguments"]} for c in delta.get("tool_calls") or ()]
                reasoning = delta.get("reasoning_content")
                yield AIMessageChunk(content=delta.get("content") or "", tool_call_chunks=calls,
                                     additional_kwargs={"reasoning_content": reasoning} if reasoning else {})

    def run() -> Content:
        first, *rest = pieces()
        message = add_ai_message_chunks(first, *rest)
        calls = [(c["id"], c["name"], c["args"]) for c in message.tool_calls]
        return _blocks(message.additional_kwargs["reasoning_content"], None, message.content, calls)

    return run


def _pydantic_ai(stream: Stream, chunks: Sequence[bytes]) -> Run:
    from pydantic_ai.direct import model_request_stream
    from pydantic_ai.messages import ModelRequest

    model: Any
    if stream.dialect == "anthropic":
        import anthropic
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider

        http = http_of(anthropic.Anthropic(api_key="none"))
        a = anthropic.AsyncAnthropic(api_key="none", http_client=http.AsyncClient(transport=transport(http, chunks)))
        model = AnthropicModel("m", provider=AnthropicProvider(anthropic_client=a))
    else:
        import openai
        from pydantic_ai.models.openai import OpenAIChatModel
        from pydantic_ai.providers.openai import OpenAIProvider

        http = http_of(openai.OpenAI(api_key="none"))
        o = openai.AsyncOpenAI(api_key="none", http_client=http.AsyncClient(transport=transport(http, chunks)))
        model = OpenAIChatModel("m", provider=OpenAIProvider(openai_client=o))
    request = [ModelRequest.user_text_prompt("?")]

    async def rebuild() -> Any:
        async with model_request_stream(model, request) as events:
            async for _ in events:
                pass
        return events.get()

    def run() -> Content:
        thinking, text, call = asyncio.run(rebuild()).parts
        return _blocks(thinking.content, getattr(thinking, "signature", None), text.content, [(call.tool_call_id, call.tool_name, call.args)])

    return run


def _litellm(stream: Stream, chunks: Sequence[bytes]) -> Run:
    """litellm's builder over the chunks that its own stream wrapper would give out; lines and `json.loads` by hand."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # it asks the network for a price list otherwise
    import litellm
    from litellm.types.utils import ModelResponseStream

    litellm.suppress_debug_info = True

    def run() -> Content:
        lines = (line[6:] for line in io.BytesIO(b"".join(chunks)) if line.startswith(b"data: {"))
        message = litellm.stream_chunk_builder([ModelResponseStream(**json.loads(line)) for line in lines]).choices[0].message
        calls = [(c.id, c.function.name, c.function.arguments) for c in message.tool_calls]
        return _blocks(message.reasoning_content, None, message.content, calls)

    return run


PEERS: dict[str, tuple[tuple[str, ...], Callable[[Stream, Sequence[bytes]], Run]]] = {
    "anthropic": (("anthropic",), _anthropic),
    "openai": (("openai-chat", "openai-responses"), _openai),
    "google-genai": (("gemini",), _google_genai),
    "httpx-sse": (("anthropic", "openai-chat"), _httpx_sse),
    "sseclient-py": (("anthropic", "openai-chat"), _sseclient),
    "langchain-core": (("openai-chat",), _langchain),
    "pydantic-ai-slim": (("anthropic", "openai-chat"), _pydantic_ai),
    "litellm": (("openai-chat",), _litellm),
}
OFFICIAL = ("anthropic", "openai", "google-genai")  # the vendors' own


def cases() -> tuple[list[Case], list[str]]:
    """A case per installed peer and dialect, and the names of the peers that are not installed."""
    found, missing = [], []
    for name, (dialects, prepare) in PEERS.items():
        for dialect in dialects:
            key = Key(dialect, name, size=suite.SHORT)
            stream = suite.stream(dialect, key.flavour, key.size)
            try:
                found.append(Case(key, stream, prepare(stream, stream.chunks(4096))))
            except ImportError:
                missing.append(name)
                break
    return found, missing


class Comparison(NamedTuple):
    """What a run measured: each peer and, for the same bytes, deltafsm; and which peers are not installed."""

    results: Mapping[Key, Result]
    missing: Sequence[str]

    def named(self, key: Key) -> str:
        return f"deltafsm, {key.engine}" if key.engine in suite.ENGINES else f"{key.engine} {version(key.engine)}"

    def times(self) -> dict[Key, float]:
        """How many times as long each takes as deltafsm."""
        base = {key.dialect: r.seconds for key, r in self.results.items() if key.engine in suite.ENGINES}
        return {key: r.seconds / base[key.dialect] for key, r in self.results.items()}


def compare(rounds: int) -> Comparison:
    found, missing = cases()
    own = suite.cases(Key(d, "compiled" if "compiled" in suite.ENGINES else "python", size=suite.SHORT) for d in dict.fromkeys(c.key.dialect for c in found))
    return Comparison(measure([*own, *found], rounds), missing)


def table(compared: Comparison) -> str:
    """Each peer's time per delta, and how many times as long that is as deltafsm takes for the same bytes in the same run."""
    times = compared.times()
    body = []
    for key, r in sorted(compared.results.items(), key=lambda item: (item[0].dialect, item[1].seconds)):
        body.append([compared.named(key), key.dialect, f"{r.per_delta:,.2f}", ratio(times[key]), ratio(r.ratio)])
    text = ("Other ways to the same message, 200 deltas in 4 KiB chunks, every answer checked (the peers' HTTP client over a mock transport "
            "is part of their figure where they read through one):\n\n")
    text += markdown(["way", "stream", "µs per delta", "time, × deltafsm", "speed, × orjson.loads"], body)
    return text + (f"\n\nNot installed: {', '.join(compared.missing)}." if compared.missing else "")


def headline(compared: Comparison) -> str:
    """The rows of the README: one for each vendor's client, a column for each dialect."""
    ways: dict[str, dict[str, str]] = {}
    for key, times in compared.times().items():
        if key.engine in OFFICIAL:
            ways.setdefault(compared.named(key), {})[key.dialect] = f"{times:,.0f}"
    return markdown(["time, × deltafsm", *DIALECTS], [[way, *(found.get(d, "-") for d in DIALECTS)] for way, found in ways.items()])
