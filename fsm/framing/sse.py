"""Server-sent events, the Python twin of `_speedups/sse.pxi`.

`receive` takes bytes and gives the events that they complete; no JSON is known here. The rules are those
of the WHATWG text, with three deliberate additions:

- at the end of input the pending event is delivered (R-26): upstreams forget the last blank line;
- an event without data is not delivered, and neither is one whose data is blank;
- a line that begins with `{` or `[` where a field is due is data without its `data:`. Such a *bare* event ends with
  its line if the line also ends with the matching bracket, else at a blank line, a field line or the next bare line.
  So JSON lines, a plain JSON body and an error body pasted into a stream all arrive as events.

An event's *block* runs from its first line, whatever that is, to the end of its last line; it may be `max_bytes`
long. An event's *offset* is that of its first `data`, `event` or bare line.

Everything is linear in bytes under any split: the parser remembers how far it has searched, consumed bytes are cut
off in blocks, and an event over `max_bytes` is reported once (a frame without data), after which nothing is parsed.

A stream without carriage returns takes the short way, which looks for the blank line and splits what is before it.
The first CR (it can only be a line end: JSON escapes it) switches to the exact way, line by line, for good.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

#: (event name or None, data, byte offset of the event's first line, whether the input ended inside the event).
#: Data is None where the event is longer than the limit: a signal that no peer can spell.
Frame = tuple[str | None, bytes | None, int, bool]

_LINE_END = re.compile(rb"[\r\n]")
BOM = b"\xef\xbb\xbf"
_NAMES_KEPT = 32  # different event names that are remembered
_NAME_KEPT = 80  # bytes of a line that names an event, to be remembered
_PORTION = 1 << 16  # bytes of events that are taken together
_TERMINATOR = 4  # the longest blank line with the end of the line before it: CR LF CR LF


def _fields(block: bytes) -> tuple[str | None, bytes | None, int]:
    """Name, data and the offset of the first field line of an event block without CR."""
    name, data, start, offset = None, None, -1, 0
    for line in block.split(b"\n"):
        if line[:5] == b"data:" or line == b"data":
            value = line[6:] if line[5:6] == b" " else line[5:]
            data = value if data is None else data + b"\n" + value
            start = offset if start < 0 else start
        elif line[:6] == b"event:":
            name = (line[7:] if line[6:7] == b" " else line[6:]).decode("utf-8", "replace")
            start = offset if start < 0 else start
        offset += len(line) + 1
    return name, data, max(start, 0)


class SSEParser:
    """One stream's framing. `max_bytes` bounds an event, counted from its first byte to its terminator."""

    __slots__ = ("_bare", "_base", "_block", "_buf", "_data", "_exact", "_max", "_name", "_names", "_overflowed", "_pos", "_search", "_skip_lf",
                 "_start", "_started", "appended", "events")

    def __init__(self, max_bytes: int) -> None:
        self._max = max_bytes
        self.events = 0  # events given out
        self.appended = 0  # deltas that never became a frame: the compiled engine's short cut, none here
        self._buf = bytearray()
        self._base = 0  # stream offset of _buf[0]
        self._pos = 0  # start of the first line that was not parsed
        self._search = 0  # how far the search for its end has come
        self._block = -1  # stream offset of the block's first line, -1 between blocks
        self._start = -1  # stream offset of its first data or event line
        self._started = False  # whether the byte order mark was dealt with
        self._exact = False
        self._skip_lf = False
        self._overflowed = False
        self._name: str | None = None
        self._names: dict[bytes, str] = {}  # event lines of the short way, as names
        self._data: list[bytes] | None = None
        self._bare = False

    def interrupted(self) -> None:
        """Something else than this stream's bytes may have changed the blocks: nothing that this twin would know."""

    def receive(self, data: bytes | bytearray | memoryview) -> Iterator[Frame]:
        """Take the next bytes; iterate to get the events that they complete."""
        if self._overflowed:
            return iter(())
        self._buf += data
        if not (self._started or self._skip_bom()):
            return iter(())
        return self._exactly() if self._exact else self._short(len(data))

    def _exactly(self) -> Iterator[Frame]:
        while not self._overflowed and (frame := self._next_exact()) is not None:
            self.events += 1
            yield frame

    def end(self) -> Iterator[Frame]:
        """The input is over: the events that are still pending."""
        self._started = True  # half a byte order mark is no mark
        if not self._exact:
            self._exact = True
            self._search = 0
        while not self._overflowed and (frame := self._last()) is not None:
            self.events += 1
            yield frame

    def _last(self) -> Frame | None:
        frame = self._next_exact()
        if frame is None and self._pos < len(self._buf):
            line = bytes(memoryview(self._buf)[self._pos:])
            self._pos = self._search = len(self._buf)
            frame = self._line(line, self._pos - len(line))
            if frame is not None:
                return frame[0], frame[1], frame[2], True
        return self._dispatch(cut=True) if frame is None and self._data is not None else frame

    # ------------------------------------------------------------ internals

    def _skip_bom(self) -> bool:
        head = bytes(self._buf[:3])
        if len(head) < 3 and BOM.startswith(head):
            return False
        if head == BOM:
            self._cut_off(3)
        self._started = True
        return True

    def _cut_off(self, size: int) -> None:
        """Forget the first `size` bytes of the buffer."""
        del self._buf[:size]
        self._base += size
        self._pos = 0
        self._search = max(0, self._search - size)

    def _short(self, added: int) -> Iterator[Frame]:
        """The short way: what is before a blank line is an event. Only at an event boundary, only without CR."""
        buf, names, most = self._buf, self._names, self._max
        if buf.find(b"\r", max(0, len(buf) - added)) >= 0:
            yield from self._go_exact()
            return
        while buf:
            if buf[0] == 10:
                self._cut_off(len(buf) - len(buf.lstrip(b"\n")))
            if buf.startswith((b"{", b"[")):  # bare data needs the line rules, and its lines are not to wait for a blank one
                yield from self._go_exact()
                return
            end = buf.rfind(b"\n\n", self._search) if len(buf) <= _PORTION else self._portion()
            if end < 0:
                break
            blocks = bytes(buf[:end] if end <= _PORTION else memoryview(buf)[:end]).split(b"\n\n")
            at = self._base  # the stream offset of the block in hand
            self._cut_off(end + 2)
            self._search = 0
            blocks.reverse()
            while blocks:
                block = blocks.pop()
                size = len(block)
                name: str | None = None
                data = b""
                if block.startswith(b"event: "):
                    head, _found, data = block.partition(b"\ndata: ")
                    if b"\n" in data or b"\n" in head:
                        data = b""
                    elif data:
                        name = names.get(head) or self._named(head)
                elif block.startswith(b"data: ") and b"\n" not in block:
                    data = block[6:]
                if data[:1] > b" " and size <= most:  # an event as most upstreams write it
                    self.events += 1
                    block = b""  # the caller may want the memory
                    yield name, data, at, False
                else:
                    frame = self._odd(block, at, blocks)
                    if frame is not None:
                        self.events += not self._overflowed  # which has counted itself
                        yield frame
                    if self._overflowed:
                        return
                    if self._exact:
                        yield from self._exactly()
                        return
                at += size + 2
        else:
            return
        self._search = max(0, len(buf) - 1)
        if len(buf) > self._max + _TERMINATOR:
            if buf.find(b"\n{") >= 0 or buf.find(b"\n[") >= 0:
                yield from self._go_exact()  # only the line rules tell how long this block is
            else:
                yield self._overflow(0)

    def _portion(self) -> int:
        """Where the last blank line of what is taken next is, or -1: a large event goes alone, so that it is not copied with the others."""
        buf, search = self._buf, self._search
        if search < _PORTION and (end := buf.rfind(b"\n\n", search, _PORTION)) >= 0:
            return end
        return buf.find(b"\n\n", max(search, _PORTION - 1))

    def _named(self, head: bytes) -> str | None:
        """The name that an event line gives; few are remembered, and no long one."""
        name = head[7:].decode("utf-8", "replace")
        if name and len(head) < _NAME_KEPT:
            if len(self._names) >= _NAMES_KEPT:
                self._names.clear()
            self._names[head] = name
        return name or None

    def _odd(self, block: bytes, at: int, behind: list[bytes]) -> Frame | None:
        """The frame of any other event block, if it gives one; from the first bare line on the exact way takes it, and the blocks behind it."""
        trimmed = block.strip(b"\n")
        start = block.find(trimmed)
        at += start
        if trimmed[:1] in (b"{", b"[") or b"\n{" in trimmed or b"\n[" in trimmed:
            self._put_back([block[start:], *reversed(behind), b""])
            self._exact = True
            return None
        if len(trimmed) > self._max:
            return self._overflow(at - self._base)
        name, data, first = _fields(trimmed)
        return (name or None, data, at + first, False) if data is not None and data.strip() else None

    def _put_back(self, blocks: list[bytes]) -> None:
        """Undo the cut of these blocks."""
        cut = b"\n\n".join(blocks)
        self._buf[:0] = cut
        self._base -= len(cut)

    def _go_exact(self) -> Iterator[Frame]:
        """Go on line by line from the beginning of the buffer, which is an event boundary."""
        self._exact = True
        self._search = 0
        return self._exactly()

    def _next_exact(self) -> Frame | None:
        """The exact way, line by line."""
        if self._pos > 65536:
            self._cut_off(self._pos)
        while True:
            buf = self._buf
            if self._skip_lf and self._pos < len(buf):
                self._skip_lf = False
                if buf[self._pos] == 10:
                    self._pos += 1
            match = _LINE_END.search(buf, max(self._search, self._pos))
            if match is None:
                self._search = len(buf)
                # a line that is not whole yet may belong to a bare event or begin the next one
                begun = self._base + self._pos if self._block < 0 or self._bare else self._block
                return self._overflow(begun - self._base) if self._base + len(buf) - begun > self._max + _TERMINATOR else None
            end = match.start()
            line, at = bytes(memoryview(buf)[self._pos:end]), self._pos
            self._skip_lf = buf[end] == 13
            self._pos = self._search = end + 1
            if len(line) > _PORTION and not self._bare:  # a large line is not kept beside what carried it; no bare event ends before it
                self._cut_off(end + 1)
                at -= end + 1
            frame = self._line(line, at)
            if frame is not None:
                return frame

    def _line(self, line: bytes, at: int) -> Frame | None:
        """Take one line that began at `at` in the buffer; a frame if it completes one."""
        if not line:
            return self._dispatch()
        first = line[0]
        field = line.startswith((b"data:", b"event:", b"id:", b"retry:", b":")) or line in (b"data", b"event", b"id", b"retry")
        bare = not field and first in (0x7B, 0x5B)
        if self._bare and (field or first == 0x7B):  # the bare event is over, this line begins something else
            frame = self._dispatch()
            self._pos = self._search = at
            self._skip_lf = False
            return frame
        begins = bare and self._data is None
        if self._block < 0:
            self._block = self._base + at
        if self._base + at + len(line) - self._block > self._max:
            return self._overflow(self._block - self._base)
        if self._bare:
            assert self._data is not None
            self._data.append(line)
        elif begins:
            self._bare = True
            self._data = [line]
            self._start = self._base + at
            if line.rstrip()[-1] == first + 2:  # } closes {, ] closes [
                return self._dispatch()
        elif line[:4] == b"data" and field:
            value = line[6:] if line[5:6] == b" " else line[5:]
            if self._data is None:
                self._data = [value]
            else:
                self._data.append(value)
            self._start = self._base + at if self._start < 0 else self._start
        elif line[:6] == b"event:":
            self._name = (line[7:] if line[6:7] == b" " else line[6:]).decode("utf-8", "replace") or None
            self._start = self._base + at if self._start < 0 else self._start
        return None

    def _dispatch(self, cut: bool = False) -> Frame | None:
        """End the block here; a frame unless there is no data in it."""
        data, name, start = self._data, self._name, self._start
        self._data = self._name = None
        self._bare = False
        self._block = self._start = -1
        if data is None:
            return None
        joined = data[0] if len(data) == 1 else b"\n".join(data)
        return (name, joined, start, cut) if joined.strip() else None

    def _overflow(self, pos: int) -> Frame:
        """Report the event at `pos` once; nothing is parsed after it."""
        self._overflowed = True
        self.events += not self._exact
        offset = self._base + pos
        self._buf = bytearray()
        self._data = None
        return None, None, offset, False
