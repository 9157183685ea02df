"""OpenAI Responses: items in the order of the output, parts within them, everything stated again when it is done.

An item's address is its `output_index` (item ids rotate with some upstreams, or are missing), and each of its parts
has one: a thousand addresses per item, so that blocks sort as the output does. A part becomes a block: `output_text`
text, `refusal` a refusal, a summary or `reasoning_text` thinking. Calls are tool_use, free text of a custom tool the
`input` of an object with that one key. Any other item is a vendor block, carried through.

So that a message can be sent back as it came, blocks keep `item_id` and what else their item has (`phase`,
`encrypted_content`, `namespace`, …) as fields of their own. Blocks of one item have one `item_id`; a thinking block
that is no summary says so in `part`, the call of a custom tool in `item_type`, an item that was cut in `status`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from fsm import _tables as T
from fsm.model.kinds import FREE, OPAQUE, REFUSAL, TEXT, THINKING
from fsm.dialects.base import Dialect, number, text, wording
from fsm.sink import Sink
from fsm.dialects.failures import error_event
from fsm.model.kinds import CUSTOM
from fsm.dialects.responses_items import (CALLS, CONTENT, PER_ITEM, ROOM, SUMMARY, address_of, arguments_of,
                                          fields_of, is_json, kind_of, read_part, stated_parts)
from fsm.dialects.responses_memory import Item, Items
from fsm.model.events import NormalizedEvent

_SAYS, _THINKS = frozenset({"message"}), frozenset({"reasoning"})
_VENDOR_EVENT = re.compile(r"response\.(\w+_call|\w+_call_\w+|mcp_list_tools|tool_search\w*|audio\w*|compaction\w*)\.")


class OpenAIResponses(Dialect):
    """`response.*` events, `error`; also a whole response that was not streamed."""

    name = "openai-responses"

    __slots__ = ("_created", "_items", "_unknown")

    def __init__(self, sink: Sink, choice: int = 0) -> None:
        super().__init__(sink, choice)
        self._unknown = {"id", "model"}  # metadata to look for, until content begins
        self._created = False
        self._items = Items()

    def decode(self, payload: dict[str, Any], event: str | None, raw: bytes) -> bool | None:
        word = payload.get("type")
        if not isinstance(word, str):
            word = event
        reader = _READERS.get(word) if word is not None else None
        if reader is not None:
            reader(self, payload, raw)
            return True
        if word is not None and word.startswith("response."):
            return True if _VENDOR_EVENT.match(word) else None  # its item is stated whole when it is done
        if payload.get("object") == "response" or isinstance(payload.get("output"), list):
            self._meta(payload)
            self._end(payload, raw)
            return True
        return False if word in ("ping", "keepalive") else self.strange(payload, event)

    def word(self, data: bytes) -> bool:
        return data.strip() == b"[DONE]"  # no part of this dialect, and often there

    def address(self, event: int, index: int | None) -> int | None:
        """A part is taken without this class only once it has heard of it."""
        kind = {T.TEXT_DELTA: TEXT, T.THINKING_DELTA: THINKING}.get(event)
        if kind is None or index is None:
            return index
        item = self._items.known(index // PER_ITEM)
        return index if item is not None and (kind, index) in item.parts else -1

    # ------------------------------------------------------------ the response

    def _begin(self, payload: dict[str, Any], raw: bytes) -> None:
        if self._created:
            self._unknown = {"id", "model"}  # once more: the machine decides what that means
        self._created = True
        self._goes_on(payload, raw)

    def _goes_on(self, payload: dict[str, Any], raw: bytes) -> None:
        if isinstance(payload.get("response"), dict):
            self._meta(payload["response"])

    def _meta(self, response: dict[str, Any]) -> None:
        """Every response object repeats id and model, and the id may rotate: take each once."""
        found: dict[str, Any] = {key: value for key in self._unknown if (value := text(response.get(key)))}
        if found:
            self._unknown -= found.keys()
            self.sink.handle(NormalizedEvent(T.MESSAGE_START, **found))

    def _completed(self, payload: dict[str, Any], raw: bytes) -> None:
        self._over(payload, raw, "completed")

    def _incomplete(self, payload: dict[str, Any], raw: bytes) -> None:
        self._over(payload, raw, "incomplete")

    def _failed(self, payload: dict[str, Any], raw: bytes) -> None:
        self._over(payload, raw, "failed")

    def _cancelled(self, payload: dict[str, Any], raw: bytes) -> None:
        self._over(payload, raw, "cancelled")

    def _over(self, payload: dict[str, Any], raw: bytes, word: str) -> None:
        """A terminal event. Of its name and the response's own status the worse counts."""
        response = payload.get("response")
        response = response if isinstance(response, dict) else {}
        if word == "completed" and response.get("status") in ("incomplete", "failed", "cancelled"):
            word = response["status"]
        self._end({**response, "status": word}, raw, ("response",))

    def _end(self, response: dict[str, Any], raw: bytes, path: tuple[str, ...] = ()) -> None:
        """What a response, which stands at `path` in `raw`, states when it is over; one that is still in progress is not over."""
        status, error, output = response.get("status"), response.get("error"), response.get("output")
        if isinstance(response.get("usage"), dict):
            self.sink.handle(NormalizedEvent(T.USAGE, usage=response["usage"]))
        blocks: list[dict[str, Any]] = []
        for i, item in enumerate(output if isinstance(output, list) else ()):
            if isinstance(item, dict):
                known = self._items.known(i)
                if known is not None and known.counts and not known.done and kind_of(item) == known.kind:
                    self._parts(item, i, True)  # the last chance to see which deltas were one part
                self._restate(blocks, item, raw, (*path, "output", i))
        self.sink.handle(NormalizedEvent(T.SNAPSHOT, content=blocks or None, id=text(response.get("id")), model=text(response.get("model"))))
        if error or status in ("failed", "cancelled"):
            self.sink.handle(error_event(error or {"code": status}, "failed"))
        elif status not in ("queued", "in_progress"):
            details = response.get("incomplete_details")
            reason = text(details.get("reason")) if isinstance(details, dict) else None
            self.sink.handle(NormalizedEvent(T.STOP_REASON, reason=reason or ("incomplete" if status == "incomplete" else "completed")))
            self.sink.handle(NormalizedEvent(T.MESSAGE_STOP))

    def _error(self, payload: dict[str, Any], raw: bytes) -> None:
        """Nested or flat; in the flat form `type` is only the event's name."""
        error = payload.get("error")
        self.fail(error if isinstance(error, dict) else {key: value for key, value in payload.items() if key != "type"})

    # ------------------------------------------------------------ items

    def _added(self, payload: dict[str, Any], raw: bytes) -> None:
        if isinstance(payload.get("item"), dict):
            self._item_begins(payload["item"], payload, raw)

    def _done(self, payload: dict[str, Any], raw: bytes) -> None:
        if isinstance(payload.get("item"), dict):
            self._item_ends(payload["item"], payload, raw)

    def _item_begins(self, wire: dict[str, Any], payload: dict[str, Any], raw: bytes) -> None:
        self._unknown = set()  # content begins: a start would be a second attempt now
        id_, kind, fields = text(wire.get("id")), kind_of(wire), fields_of(wire)
        index, item = self._items.begin(self._items.brought(wire, payload))
        item.id, item.call_id, item.kind, item.fields = id_, text(wire.get("call_id")), kind, fields
        if kind in CALLS:
            given = arguments_of(wire, raw, ("item",))
            item.free = kind == CUSTOM
            whole = given is not None and (item.free or is_json(given))
            self.sink.handle(NormalizedEvent(T.TOOL_USE_START, address_of(index), id=item.call_id or id_, name=text(wire.get("name")),
                                      input=given if whole else None, fragment=None if whole else given, extra=fields or None,
                                      kind=FREE if item.free else None))
        elif kind == "message":
            self._parts(wire, index, False)
        elif kind not in ("reasoning", None):
            self.sink.handle(NormalizedEvent(T.BLOCK_START, address_of(index), kind=OPAQUE, block=wire))

    def _item_ends(self, wire: dict[str, Any], payload: dict[str, Any], raw: bytes) -> None:
        """An item in full: fills in what was not streamed of it, and ends it."""
        self._unknown = set()
        id_, kind = text(wire.get("id")), kind_of(wire)
        index = self._items.brought(wire, payload, kind)
        address = address_of(index)
        if index is not None:
            self._items.at(index).done = True
        if kind in CALLS:
            call_id = text(wire.get("call_id")) or id_
            self.sink.handle(NormalizedEvent(T.TOOL_USE_START, address, id=call_id, name=text(wire.get("name")), input=arguments_of(wire, raw, ("item",)),
                                      extra=fields_of(wire) or None, restated=True, kind=FREE if kind == CUSTOM else None))
            self.sink.handle(NormalizedEvent(T.TOOL_USE_STOP, None if call_id else address, id=call_id))
        elif kind == "message" or kind == "reasoning":
            self._parts(wire, index, True)
            if index is not None:
                for at in self._items.at(index).places():
                    self.sink.handle(NormalizedEvent(T.BLOCK_STOP, at))
        elif kind is not None and index is not None:
            self.sink.handle(NormalizedEvent(T.BLOCK_START, address, kind=OPAQUE, block=wire, restated=True))
            self.sink.handle(NormalizedEvent(T.BLOCK_STOP, address))
        elif kind is not None:
            self.sink.handle(NormalizedEvent(T.OPAQUE_BLOCK, None, block=wire))

    def _parts(self, wire: dict[str, Any], index: int | None, restated: bool) -> None:
        """The parts that a message or reasoning item states."""
        item = self._items.at(index) if index is not None else Item()
        fields = fields_of(wire)
        places: dict[tuple[str, int], Iterator[int]] = {}
        joins: dict[int | None, list[int]] = {}
        stated = stated_parts(wire)
        for kind, base, said, extra in stated:
            address = None
            if index is not None:
                base += index * PER_ITEM
                if (kind, base) not in places:
                    runs = item.runs(kind, base) if restated and item.counts else []
                    alike = len([1 for k, b, _said, _extra in stated if k == kind and b + index * PER_ITEM == base])
                    if len(runs) == alike:
                        joins |= {run[0]: run for run in runs if len(run) > 1}
                    places[kind, base] = iter([run[0] for run in runs]) if len(runs) == alike else item.addresses(kind, base)
                address = next(places[kind, base], base)
                if said is None and kind == THINKING and (streamed := item.first(kind)) is not None:
                    address = streamed  # it states no text, but some was streamed
                item.parts[kind, address] = True
            self.sink.handle(NormalizedEvent(T.BLOCK_START, address, said, kind=kind, block=extra if kind == OPAQUE else {**extra, **fields} or None,
                                      restated=restated, joins=joins.get(address)))
            fields = {"item_id": fields["item_id"]} if "item_id" in fields else {}  # the rest stands on the first block only

    def _restate(self, blocks: list[dict[str, Any]], wire: dict[str, Any], raw: bytes, path: tuple[str | int, ...]) -> None:
        """Add an item of the final output, which stands at `path` in `raw`, as blocks in the form that a SNAPSHOT has."""
        kind = kind_of(wire)
        fields = fields_of(wire)
        if kind in CALLS:
            blocks.append({"type": "tool_use", "id": text(wire.get("call_id")) or text(wire.get("id")), "name": text(wire.get("name")),
                           "arguments": arguments_of(wire, raw, path), "extra": fields or None, "kind": FREE if kind == CUSTOM else None})
        elif kind == "message" or kind == "reasoning":
            for block_kind, _base, said, extra in stated_parts(wire):
                blocks.append(extra if block_kind == OPAQUE else {"type": block_kind, block_kind: said or "", **extra, **fields})
                fields = {"item_id": fields["item_id"]} if "item_id" in fields else {}
        elif kind is not None:
            blocks.append(wire)

    # ------------------------------------------------------------ parts

    def _part(self, payload: dict[str, Any], kind: str, key: str, bounded: bool) -> tuple[int | None, dict[str, Any]]:
        """The address of the part that an event is about, and the fields of its item if this is the first to be heard of it.

        `bounded`: the event begins the part, or states it in full.
        """
        index = self._items.meant(payload, _THINKS if kind == THINKING else _SAYS)
        if index is None:
            return None, {}
        if key not in payload and (other := "content_index" if key == "summary_index" else "summary_index") in payload:
            key = other  # whatever the event calls itself
        base = index * PER_ITEM + (SUMMARY if key == "summary_index" else CONTENT)
        address = base + min(max(number(payload.get(key)) or 0, 0), ROOM - 1)
        item = self._items.at(index)
        if (kind, address) in item.parts:
            return address, {}
        fields = item.fields if not item.parts else {"item_id": item.id} if item.id else {}
        item.counts = item.counts or (not bounded and bool(item.parts))
        item.parts[kind, address] = bounded
        return address, fields

    def _text(self, payload: dict[str, Any], raw: bytes) -> None:
        self._say(T.TEXT_DELTA, payload, TEXT, "content_index")

    def _thought(self, payload: dict[str, Any], raw: bytes) -> None:
        self._say(T.THINKING_DELTA, payload, THINKING, "content_index")

    def _summary(self, payload: dict[str, Any], raw: bytes) -> None:
        self._say(T.THINKING_DELTA, payload, THINKING, "summary_index")

    def _say(self, event: int, payload: dict[str, Any], kind: str, key: str) -> None:
        delta = payload.get("delta")
        if not isinstance(delta, str):
            delta = wording(delta)
        if delta:
            self.sink.delta(event, self._part(payload, kind, key, False)[0], delta)
        signature = text(payload.get("signature")) if kind == THINKING and "signature" in payload else None
        if signature:
            self.sink.handle(NormalizedEvent(T.SIGNATURE_DELTA, self._part(payload, kind, key, False)[0], signature=signature))

    def _refusal(self, payload: dict[str, Any], raw: bytes) -> None:
        if delta := wording(payload.get("delta")):
            self.sink.handle(NormalizedEvent(T.TEXT_DELTA, self._part(payload, REFUSAL, "content_index", False)[0], delta, kind=REFUSAL))

    def _part_added(self, payload: dict[str, Any], raw: bytes) -> None:
        self._state(payload, payload.get("part"), False)

    def _part_done(self, payload: dict[str, Any], raw: bytes) -> None:
        self._state(payload, payload.get("part"), True)

    def _text_done(self, payload: dict[str, Any], raw: bytes) -> None:
        self._state(payload, {"type": "output_text", "text": payload.get("text"), "logprobs": payload.get("logprobs")}, True)

    def _refusal_done(self, payload: dict[str, Any], raw: bytes) -> None:
        self._state(payload, {"type": "refusal", "refusal": payload.get("refusal")}, True)

    def _thought_done(self, payload: dict[str, Any], raw: bytes) -> None:
        self._state(payload, {"type": "reasoning_text", "text": payload.get("text")}, True)

    def _summary_done(self, payload: dict[str, Any], raw: bytes) -> None:
        self._state(payload, {"type": "summary_text", "text": payload.get("text")}, True)

    def _state(self, payload: dict[str, Any], part: Any, restated: bool) -> None:
        """A part begins, or is stated in full."""
        read = read_part(part)
        if read is None:
            return
        kind, said, extra = read
        address, fields = self._part(payload, kind, "summary_index" if part.get("type") == "summary_text" else "content_index", True)
        if said or not restated:
            joins = None
            if restated and address is not None:
                base = address - address % PER_ITEM + (SUMMARY if address % PER_ITEM < CONTENT else CONTENT)
                joins = self._items.at(address // PER_ITEM).settle(kind, base, address)
            self.sink.handle(NormalizedEvent(T.BLOCK_START, address, said, kind=kind, block={**extra, **fields} or None, restated=restated, joins=joins))

    def _annotation(self, payload: dict[str, Any], raw: bytes) -> None:
        address = self._part(payload, TEXT, "content_index", False)[0]
        if address is not None and isinstance(payload.get("annotation"), dict):
            self.sink.handle(NormalizedEvent(T.OPAQUE_BLOCK, address, block={"annotations": [payload["annotation"]]}))

    # ------------------------------------------------------------ calls

    def _arguments_delta(self, payload: dict[str, Any], raw: bytes) -> None:
        delta = payload.get("delta")
        if delta and isinstance(delta, str):
            self.sink.delta(T.TOOL_INPUT_DELTA, address_of(self._items.meant(payload, CALLS)), delta)

    def _arguments_done(self, payload: dict[str, Any], raw: bytes) -> None:
        index = self._items.meant(payload, CALLS)
        given = arguments_of(payload, raw)
        if given is not None:
            self.sink.handle(NormalizedEvent(T.TOOL_USE_START, address_of(index), id=text(payload.get("call_id")), name=text(payload.get("name")),
                                      input=given, restated=True))

    def _free_text(self, payload: dict[str, Any], raw: bytes) -> None:
        """A custom tool takes text, not JSON (rule 19)."""
        delta = wording(payload.get("delta"))
        if not delta:
            return
        index = self._items.meant(payload, CALLS)
        if index is None or self._items.at(index).free:
            self.sink.delta(T.TOOL_INPUT_DELTA, address_of(index), delta)
            return
        self._items.at(index).free = True
        self.sink.handle(NormalizedEvent(T.TOOL_USE_START, address_of(index), fragment=delta, kind=FREE, restated=True))

    def _free_text_done(self, payload: dict[str, Any], raw: bytes) -> None:
        given = wording(payload.get("input"))
        if given:
            self.sink.handle(NormalizedEvent(T.TOOL_USE_START, address_of(self._items.meant(payload, CALLS)), id=text(payload.get("call_id")), input=given,
                                      kind=FREE, restated=True))


_READERS: dict[str, Callable[[OpenAIResponses, dict[str, Any], bytes], None]] = {
    "response.output_text.delta": OpenAIResponses._text, "response.output_text.done": OpenAIResponses._text_done,
    "response.refusal.delta": OpenAIResponses._refusal, "response.refusal.done": OpenAIResponses._refusal_done,
    "response.reasoning_text.delta": OpenAIResponses._thought, "response.reasoning_text.done": OpenAIResponses._thought_done,
    "response.reasoning_summary_text.delta": OpenAIResponses._summary, "response.reasoning_summary_text.done": OpenAIResponses._summary_done,
    "response.function_call_arguments.delta": OpenAIResponses._arguments_delta, "response.function_call_arguments.done": OpenAIResponses._arguments_done,
    "response.custom_tool_call_input.delta": OpenAIResponses._free_text, "response.custom_tool_call_input.done": OpenAIResponses._free_text_done,
    "response.output_text.annotation.added": OpenAIResponses._annotation,
    "response.output_item.added": OpenAIResponses._added, "response.output_item.done": OpenAIResponses._done,
    "response.created": OpenAIResponses._begin, "response.queued": OpenAIResponses._goes_on, "response.in_progress": OpenAIResponses._goes_on,
    "response.completed": OpenAIResponses._completed, "response.done": OpenAIResponses._completed, "response.incomplete": OpenAIResponses._incomplete,
    "response.failed": OpenAIResponses._failed, "response.cancelled": OpenAIResponses._cancelled, "error": OpenAIResponses._error,
    **dict.fromkeys(("response.content_part.added", "response.reasoning_part.added", "response.reasoning_summary_part.added"), OpenAIResponses._part_added),
    **dict.fromkeys(("response.content_part.done", "response.reasoning_part.done", "response.reasoning_summary_part.done"), OpenAIResponses._part_done),
}
