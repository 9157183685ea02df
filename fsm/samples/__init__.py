"""Streams that come with the package: `demo.sse` is what `deltafsm demo` replays, `demo.tools.json` its tools."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any


def demo_stream() -> bytes:
    """The raw body of the demo: an OpenAI-style stream with the faults of several endpoints in one."""
    return resources.files(__name__).joinpath("demo.sse").read_bytes()


def demo_tools() -> list[dict[str, Any]]:
    """The tools that were offered in the demo's request, as its vendor writes them."""
    tools: list[dict[str, Any]] = json.loads(resources.files(__name__).joinpath("demo.tools.json").read_bytes())
    return tools
