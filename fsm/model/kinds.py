"""The kinds of blocks, as they stand in `message.content`."""

from __future__ import annotations

TEXT, THINKING, TOOL, OPAQUE, REFUSAL = "text", "thinking", "tool_use", "opaque", "refusal"
FREE = "free"  # the kind of a call that takes free text instead of JSON (rule 19)
CUSTOM = "custom_tool_call"  # what such a call's block says in `item_type`, which is the vendor's word for it
