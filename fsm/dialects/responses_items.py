"""What an item of an OpenAI response says, as blocks: pure functions on wire JSON."""

from __future__ import annotations

from typing import Any

from fsm.values.arguments import exactly, loads
from fsm.model.kinds import CUSTOM, OPAQUE, REFUSAL, TEXT, THINKING
from fsm.dialects.base import text, wording
from fsm.values.values import cleaned, compact, says_nothing

PER_ITEM = 1000  # addresses of an item; `hot` in spec/dialects/openai_responses.yaml has the same numbers
SUMMARY = 1  # its first summary part; 0 is its call or vendor block
CONTENT = 500  # its first content part
ROOM = 499  # parts of either kind that are told apart
_KINDS = {"output_text": TEXT, "text": TEXT, "refusal": REFUSAL, "reasoning_text": THINKING, "summary_text": THINKING}
#: items that are calls of the caller's tools
CALLS = frozenset({"function_call", CUSTOM})
_LOOKS = (("function_call", "arguments"), ("message", "content"), ("reasoning", "summary"))
#: fields that a block says otherwise, that only tell an item's progress, or that would hide a block's own
_SAID = frozenset({"id", "type", "role", "status", "content", "summary", "call_id", "name", "arguments", "input", "text", "refusal", "thinking",
                   "signature", "invalid", "raw_input"})


def address_of(index: int | None) -> int | None:
    """The address of an item's call or vendor block."""
    return None if index is None else index * PER_ITEM


def kind_of(item: dict[str, Any]) -> str | None:
    """The item's type; where it is missing, what the item looks like."""
    kind = text(item.get("type"))
    if kind is None:
        for looks, key in _LOOKS:
            if key in item:
                return looks
    return kind


def fields_of(item: dict[str, Any]) -> dict[str, Any]:
    """What an item's blocks keep of it beside their content."""
    fields = _further(item)
    id_, kind = text(item.get("id")), kind_of(item)
    if id_ and (item.get("call_id") or kind not in CALLS):
        fields["item_id"] = id_
    if kind == CUSTOM:
        fields["item_type"] = CUSTOM
    if item.get("status") == "incomplete":  # any other says nothing once the item is done
        fields["status"] = "incomplete"
    return cleaned(fields)[0] if fields else fields


def _further(wire: dict[str, Any]) -> dict[str, Any]:
    further = {}
    for key, value in wire.items():
        if (value or isinstance(value, (int, float))) and key not in _SAID:
            further[key] = value
    return further


def read_part(part: Any) -> tuple[str, str | None, dict[str, Any]] | None:
    """(kind, text, further fields) of a part of text, None for any other."""
    kind = _KINDS.get(str(part.get("type"))) if isinstance(part, dict) else None
    if kind is None:
        return None
    extra = _further(part)
    if part["type"] == "reasoning_text":
        extra["part"] = "reasoning_text"
    said = part.get("refusal" if kind == REFUSAL else "text")
    return kind, said or None if type(said) is str else wording(part if said is None else said), extra


def stated_parts(item: dict[str, Any]) -> list[tuple[str, int, str | None, dict[str, Any]]]:
    """(kind, base of its addresses, text, further fields) of each part that an item states.

    Reasoning without any text is one empty part: its encrypted content, or its id alone, is needed in the next turn.
    A part of an unknown kind is a vendor block, and the further fields are all of it.
    """
    found: list[tuple[str, int, str | None, dict[str, Any]]] = []
    for key, base in (("summary", SUMMARY), ("content", CONTENT)):
        stated = item.get(key)
        if isinstance(stated, str):
            stated = [{"type": "output_text" if key == "content" else "summary_text", "text": stated}]
        for part in stated if isinstance(stated, list) else ():
            read = read_part(part)
            if read is None and isinstance(part, dict) and text(part.get("type")):
                found.append((OPAQUE, base, None, part))
            elif read is not None and read[1]:
                found.append((read[0], base, *read[1:]))
    if not found and kind_of(item) == "reasoning":
        found.append((THINKING, SUMMARY, None, {}))
    return found


def arguments_of(item: dict[str, Any], raw: bytes, path: tuple[str | int, ...] = ()) -> str | None:
    """The arguments that a call, which stands at `path` in `raw`, states, as JSON text; None where it states nothing, or only an empty object.

    Those of a custom tool are free text (rule 19).
    """
    if item.get("type") == CUSTOM:
        return wording(item.get("input"))
    given = item.get("arguments")
    if isinstance(given, dict):
        return compact(exactly(given, raw, *path, "arguments")) if given else None
    given = text(given)
    return None if given is None or says_nothing(given) else given


def is_json(given: str) -> bool:
    """Whether arguments are whole."""
    try:
        loads(given)
    except ValueError:
        return False
    return True
