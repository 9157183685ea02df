"""What the writers of history share: which blocks may go to a vendor, and what calls look like there."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import orjson

from fsm.values import arguments
from fsm.values import values
from fsm.model.kinds import REFUSAL, TEXT, THINKING, TOOL

if TYPE_CHECKING:
    from fsm.model.message import Message

Block = dict[str, Any]

NAMELESS = "unnamed_tool"  # no request takes a call without a name, and the model must see that it called
#: the ids that `Calls.new_id` makes up; no vendor heard of them
MADE_UP = re.compile(r"call_[0-9a-f]{24}")
#: the fields of a block that every vendor's form says in its own way, or that are our verdict
_OURS = {TEXT: {"type", "text"}, REFUSAL: {"type", "refusal"}, TOOL: {"type", "id", "name", "input", "invalid", "raw_input"}}
_DEPTH = 10_000  # of arguments that were accepted before


class Writer:
    """Writes one message. `own` tells whether it came from the vendor it goes to; only then it goes back exactly.

    `dropped` collects sentences about what the vendor does not get, `ids` the call ids that it gets in another form.
    """

    dialect = ""
    ID = re.compile(r".*", re.S)
    NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")

    def __init__(self, message: Message) -> None:
        self.message = message
        self.own = message.dialect == self.dialect
        self.dropped: list[str] = []
        self.ids: dict[str, str] = {}

    def write(self) -> list[dict[str, Any]]:
        """The entries of the vendor's history; none if nothing is left to send."""
        raise NotImplementedError

    def say(self, number: int, block: Block, why: str) -> None:
        """Something of the block is not sent, or not as it was."""
        self.dropped.append(f"{block.get('type')} block {number}: {why}")

    def blocks(self) -> Iterator[tuple[int, Block]]:
        """(number, block) of what may be sent: everything to the message's own vendor; text, refusals and calls, without further fields, to another."""
        source = self.message.dialect or "an unknown vendor"
        for number, block in enumerate(self.message.content):
            kind = str(block.get("type"))
            if self.own:
                yield number, block
            elif kind in _OURS:
                beside = sorted(block.keys() - _OURS[kind])
                if beside:
                    self.say(number, block, f"its {', '.join(beside)} ({source}'s)")
                yield number, {key: value for key, value in block.items() if key in _OURS[kind]}
            elif kind == THINKING:
                self.say(number, block, f"its signature is {source}'s" if block.get("signature") else f"thinking of {source} without a signature")
            else:
                self.say(number, block, f"a block of {source}'s own")

    def blank(self, number: int, block: Block, text: str) -> bool:
        """Whether a text is one that the vendor refuses because it is blank; then it says so."""
        if not text.strip():
            self.say(number, block, "blank text is refused")
            return True
        return False

    # ------------------------------------------------------------ calls

    def call_id(self, number: int, block: Block) -> str:
        """The id of a call as the vendor takes it: the same call always gets the same one."""
        id_ = str(block["id"])
        if self.own or self.ID.fullmatch(id_):
            return id_
        fit = f"call_{hashlib.sha256(id_.encode()).hexdigest()[:24]}"
        if id_ not in self.ids:
            self.ids[id_] = fit
            self.say(number, block, f"its id {id_!r} is refused; it is sent as {fit!r}, and its result must be")
        return fit

    def name(self, number: int, block: Block) -> str:
        """The name of a call as the vendor takes it."""
        name = str(block["name"] or "")
        if not name:
            self.say(number, block, f"it has no name; it is sent as {NAMELESS!r}")
            return NAMELESS
        if self.NAME.fullmatch(name) or (self.own and not block.get("invalid")):
            return name
        fit = re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:64]
        self.say(number, block, f"the name {name[:200]!r} is refused; it is sent as {fit!r}")
        return fit

    def object(self, number: int, block: Block) -> dict[str, Any]:
        """The input of a call for a vendor who takes an object."""
        given: dict[str, Any] = block.get("input") or {}
        if not given and block.get("invalid") and str(block.get("raw_input") or "").strip(" \t\r\n{}"):
            self.say(number, block, "its arguments are no object; {} is sent")
        return given

    def text(self, block: Block) -> str:
        """The arguments of a call for a vendor who takes text: as received, whatever they are."""
        value = block.get("input") or {}
        if block.get("invalid"):
            given = str(block.get("raw_input") or "")
        else:
            given = self.message.arguments.get(block["id"], "")
            if given and not values.same(arguments.parse(given, _DEPTH).value, value):
                given = ""  # the input was edited since
        return given if given.strip() else dumps(value)


def dumps(value: Any) -> str:
    """An input as the text that it has where nothing else was kept."""
    try:
        return orjson.dumps(value).decode()
    except TypeError:  # integers beyond 64 bits, deep nesting
        return values.compact(value)


def free_text(block: Block) -> str:
    """What a custom tool was given: free text, which stands in the input as one string (rule 19)."""
    text = (block.get("input") or {}).get("input", block.get("raw_input"))
    return text if isinstance(text, str) else ""


def without(block: Block, *keys: str) -> Block:
    """The block without these fields."""
    return {key: value for key, value in block.items() if key not in keys}
