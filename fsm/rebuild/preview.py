"""Views of an unfinished message: what is pending, and what is there so far. Made on demand, never kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fsm.rebuild.blocks import Block, Call

if TYPE_CHECKING:
    from fsm.rebuild.accumulator import Accumulator


@dataclass(frozen=True, slots=True)
class Pending:
    """The pending block: its kind as in the message, number, wire index, bytes so far; id and name of a call."""

    kind: str
    number: int
    index: int | None
    size: int
    id: str | None = None
    name: str | None = None


def pending(acc: Accumulator) -> Pending | None:
    """What `Reconstructor.pending` shows."""
    block = acc.pending
    if block is None:
        return None
    call = block if isinstance(block, Call) else None
    return Pending(block.kind, block.number, block.index, len(block.buffer), call.id if call else None, call.name if call else None)


def snapshot(acc: Accumulator) -> dict[str, Any]:
    """What `Reconstructor.snapshot()` returns."""
    finished = acc.message or acc.partial
    if finished is not None:
        return finished.to_dict()
    blocks = [b for b in acc.blocks if not b.left_out and not b.is_empty() and not (isinstance(b, Call) and b.twin_of is not None)]
    if acc.dialect["positional"]:
        blocks.sort(key=lambda b: (b.position, b.number))
    return {"role": "assistant", "id": acc.id, "model": acc.model, "content": [_view(b) for b in blocks], "stop_reason": None,
            "usage": acc.usage.to_dict(), "valid": False}


def _view(block: Block) -> dict[str, Any]:
    view = dict(block.canonical())
    if isinstance(block, Call) and not block.sealed:
        view["input"] = {"input": block.buffer.text()} if block.free else _so_far(block.buffer.text())
    if block.open:
        view["partial"] = True
    return view


def _so_far(text: str) -> dict[str, Any]:
    """The part of an argument object that is there, through jiter; {} while there is none or it is broken."""
    import jiter

    try:
        value = jiter.from_json(text.encode("utf-8", "replace"), partial_mode="trailing-strings")
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
