# Server-sent events, the compiled twin of fsm/sse.py (read that first: same rules, same frames, same offsets).
#
# The idea: whole events are looked at where they lie in the caller's bytes; only an event that straddles two calls is
# copied, into `carry`, which remembers what it holds so that every byte is searched once. In the exact way (a stream
# with carriage returns or bare data) all bytes go through `carry` line by line. Carriage returns are looked for wherever
# nothing else rules them out: what the template or the scanner took has none.
#
# The class also carries the short cut of the engine (engine.pxi): an event that is a bare delta for an open block is
# appended here and never becomes a frame. Unbound (no `bind`), it is framing and nothing else.
#
# Invariants: between calls the window is empty; `carry` holds an event's beginning (short way) or everything that was
# not parsed yet (exact way), and `carry_at` is the stream offset of its first byte.

cdef extern from "Python.h":
    object PyBytes_FromStringAndSize(const char*, Py_ssize_t)
    PyObject* new_bytes "PyBytes_FromStringAndSize"(const char*, Py_ssize_t) except NULL
    char* bytes_of "PyBytes_AS_STRING"(PyObject*)
    int _PyBytes_Resize(PyObject**, Py_ssize_t) except -1

cdef enum:
    TERMINATOR = 4     # the longest blank line with the end of the line before it: CR LF CR LF
    COMPACT = 65536    # parsed bytes that the exact way keeps before it moves the rest, and room that is kept when it holds nothing

OVERFLOW_DATA = b"\x00overflow"


ctypedef struct Lines:
    Py_ssize_t first       # the length of an event block's first line
    int breaks             # how many line feeds the block has


cdef Py_ssize_t find_blank(const char* p, const char* end, Lines* lines) noexcept nogil:
    """Where the first LF LF of [p, end) is, or -1; `lines` tells of what stands before it."""
    cdef const char* q = p
    lines.breaks = 0
    while True:
        q = <const char*>memchr(q, c'\n', end - q)
        if q is NULL or q + 1 >= end:
            return -1
        if lines.breaks == 0:
            lines.first = q - p
        if q[1] == c'\n':
            return q - p
        lines.breaks += 1
        q += 2


@cython.final
cdef class SSEParser(BaseFraming):
    """One stream's framing; see fsm.sse.SSEParser."""
    cdef:
        Py_ssize_t max_bytes
        readonly Py_ssize_t events
        readonly Py_ssize_t appended
        # the window: the caller's bytes, between receive() and the end of the iteration
        object holder
        const char* win
        Py_ssize_t win_len, win_pos, win_at
        # what is kept between calls
        PyObject* kept          # bytes that nobody else has; `carry` are theirs
        char* carry
        Py_ssize_t carry_len, carry_room, carry_at
        bint started, exact, overflowed, ended
        # the exact way
        Py_ssize_t x_pos, x_search, x_block, x_start, x_value
        bint skip_lf, bare
        object name
        list data
        # the short cut
        Shortcut hot
        Py_ssize_t usual        # the size of the last event that was scanned

    def __cinit__(self, Py_ssize_t max_bytes):
        self.max_bytes = max_bytes
        self.x_block = self.x_start = -1

    def __dealloc__(self):
        Py_XDECREF(self.kept)

    def bind(self, Shortcut hot not None):
        """Let `hot` take the bare deltas."""
        self.hot = hot

    cdef list fed(self, bytes data):
        return feed_bound(self, data)

    def interrupted(self):
        """Something else than this stream's bytes may have changed the blocks."""
        if self.hot is not None:
            self.hot.forget()

    def receive(self, data):
        """Take the next bytes; iterate to get the events that they complete."""
        self.begin(data)
        return self

    def end(self):
        """The input is over; iterate to get the events that are still pending."""
        self.begin(b"")
        if not self.started:  # half a byte order mark is no mark
            self.started = True
        if not self.exact:
            self.go_exact(NULL, self.carry_at if self.carry_len else self.win_at)
        self.ended = True
        return self

    def __iter__(self):
        return self

    def __next__(self):
        cdef object frame = self.advance()
        if frame is None:
            self.finish()
            raise StopIteration
        self.events += 1
        if self.hot is not None:
            self.hot.leave()
        return frame

    # ------------------------------------------------------------ the window

    cdef int begin(self, data) except -1:
        """Open the window on `data`."""
        if self.win_pos < self.win_len:  # an iteration was given up: what it left comes first
            data = self.win[self.win_pos:self.win_len] + bytes(data)
        if type(data) is not bytes:
            data = bytes(data)
        self.holder = data
        self.win = <const char*><bytes>data
        self.win_len = len(<bytes>data)
        self.win_pos = 0
        if self.overflowed:
            self.win_pos = self.win_len
            return 0
        if not self.started:
            self.start()
        return 0

    cdef int start(self) except -1:
        """Deal with the byte order mark."""
        cdef bytes head
        if self.carry_len == 0 and self.win_len == 0:
            return 0
        head = self.carry[:self.carry_len] + self.win[:self.win_len]
        if len(head) < 3 and b"\xef\xbb\xbf".startswith(head):
            self.stash(self.win, self.win_len)
            self.win_pos = self.win_len
            return 0
        self.started = True
        self.carry_len = 0
        self.win_at = 0
        if head.startswith(b"\xef\xbb\xbf"):
            head = head[3:]
            self.win_at = 3
        self.holder = head
        self.win = <const char*>head
        self.win_len = len(head)
        return 0

    cdef int finish(self) except -1:
        """Close the window; everything in it was taken."""
        if self.hot is not None:
            self.hot.rest()
        self.win_at += self.win_len
        self.holder = None
        self.win = NULL
        self.win_len = self.win_pos = 0
        return 0

    cdef int stash(self, const char* p, Py_ssize_t n) except -1:
        """Append to the carry."""
        if self.carry_len + n > self.carry_room:
            self.resize(max(self.carry_len + n + 16, self.carry_room + (self.carry_room >> 1)))
        memcpy(self.carry + self.carry_len, p, n)
        self.carry_len += n
        return 0

    cdef int resize(self, Py_ssize_t room) except -1:
        """Let the carry have this room."""
        cdef Py_ssize_t held = self.carry_len
        self.carry_len = self.carry_room = 0  # where there is no memory, what was held is gone
        if self.kept is NULL:
            self.kept = new_bytes(NULL, room)
        else:
            _PyBytes_Resize(&self.kept, room)
        self.carry = bytes_of(self.kept)
        self.carry_len, self.carry_room = held, room
        return 0

    cdef void empty(self) noexcept:
        """The carry holds nothing any more; a stream is not to keep what one large event needed."""
        self.carry_len = 0
        if self.carry_room > COMPACT:
            Py_XDECREF(self.kept)
            self.kept = NULL
            self.carry = NULL
            self.carry_room = 0

    # ------------------------------------------------------------ the short way

    cdef object advance(self):
        """The next frame of the window, or None when it is used up."""
        cdef const char* p
        cdef const char* end
        cdef Py_ssize_t n
        cdef bint seen = False
        cdef Lines lines
        cdef object frame
        while not self.overflowed:
            if self.exact:
                return self.advance_exact()
            p = self.win + self.win_pos
            end = self.win + self.win_len
            if self.carry_len == 0:
                while p < end and p[0] == c'\n':
                    p += 1
                self.win_pos = p - self.win
            if p == end:
                return None
            if self.carry_len == 0 and (p[0] == c'{' or p[0] == c'['):
                self.go_exact(p, self.win_at + self.win_pos)  # bare lines are not to wait for a blank one
                continue
            if self.carry_len:
                n = self.straddling(p, end)
                if memchr(p, c'\r', n if n >= 0 else end - p) is not NULL:
                    self.go_exact(NULL, self.carry_at)
                    continue
                if n < 0:
                    self.stash(p, end - p)
                    self.win_pos = self.win_len
                    if self.carry_len > self.max_bytes + TERMINATOR:
                        return self.too_long()
                    return None
                self.stash(p, n)
                self.win_pos += n
                if self.hot is not None and self.hits(self.carry, self.carry + self.carry_len):
                    self.empty()
                    continue
                find_blank(self.carry, self.carry + self.carry_len, &lines)
                frame = self.block(self.carry, self.carry_len - 2, self.carry_at, &lines, False)
                if not self.exact:
                    self.empty()
            else:
                if self.hot is not None:
                    n = self.hits(p, end)
                    seen = n == 0 and end - p >= self.usual  # else it has most likely no end yet
                    if seen:
                        n = self.scanned(p, end)
                    if n:
                        self.win_pos += n
                        continue
                n = find_blank(p, end, &lines)
                if memchr(p, c'\r', n if n >= 0 else end - p) is not NULL:
                    self.go_exact(p, self.win_at + self.win_pos)
                    continue
                if n < 0:
                    self.carry_at = self.win_at + self.win_pos
                    self.stash(p, end - p)
                    self.win_pos = self.win_len
                    if self.carry_len > self.max_bytes + TERMINATOR:
                        return self.too_long()
                    return None
                self.win_pos += n + 2
                frame = self.block(p, n, self.win_at + self.win_pos - n - 2, &lines, seen)
            if frame is not None:
                return frame
        return None

    cdef Py_ssize_t hits(self, const char* p, const char* end) except -1:
        """How many bytes of [p, end), which begins at an event boundary, are events that the template took."""
        cdef Py_ssize_t taken = 0
        cdef const char* behind = self.hot.run(p, end, self.max_bytes, &taken)
        self.events += taken
        self.appended += taken
        return behind - p

    cdef Py_ssize_t scanned(self, const char* p, const char* end) except -1:
        """How many bytes of [p, end), which begins at an event boundary, are an event that the scanner took: one data line, named or not."""
        cdef const char* data = p
        cdef const char* behind
        if end - p > self.max_bytes + 2:
            end = p + self.max_bytes + 2
        if end - p >= 7 and memcmp(p, b"event: ", 7) == 0:
            data = <const char*>memchr(p + 7, c'\n', end - p - 7)
            if data is NULL or memchr(p + 7, c'\r', data - p - 7) is not NULL:
                return 0
            data += 1
        if end - data < 6 or memcmp(data, b"data: ", 6) != 0:
            return 0
        behind = self.hot.scan_event(p, data + 6, end)
        if behind is NULL:
            return 0
        self.usual = behind - p
        self.events += 1
        self.appended += 1
        return behind - p

    cdef object too_long(self):
        """The event in the carry has no end yet and is over the limit."""
        if self.has_bare(self.carry, self.carry_len):  # only the line rules tell how long this block is
            self.go_exact(NULL, self.carry_at)
            return self.advance_exact()
        return self.overflow(self.carry_at)

    cdef Py_ssize_t straddling(self, const char* p, const char* end) noexcept:
        """How many bytes of [p, end) end the event in the carry, its blank line included, or -1."""
        cdef Py_ssize_t n
        cdef Lines lines
        if self.carry[self.carry_len - 1] == c'\n' and p[0] == c'\n':
            return 1
        n = find_blank(p, end, &lines)
        return n + 2 if n >= 0 else -1

    cdef object block(self, const char* p, Py_ssize_t n, Py_ssize_t at, const Lines* lines, bint seen):
        """The frame of an event block without CR that is followed by LF LF; None if it gives none. `seen` by the scanner already."""
        cdef const char* q
        cdef const char* name = NULL
        cdef Py_ssize_t name_len = 0, skip = 0
        if lines.breaks == 0:
            if n >= 6 and memcmp(p, b"data: ", 6) == 0:
                skip = 6
        elif lines.breaks == 1 and n >= 7 and memcmp(p, b"event: ", 7) == 0:
            q = p + lines.first
            if p + n - q >= 7 and memcmp(q, b"\ndata: ", 7) == 0:
                name = p + 7
                name_len = q - name
                skip = q + 7 - p
        if n > self.max_bytes:
            return self.overflow(at) if skip or not self.has_bare(p, n) else self.go_exact(p, at)
        if skip == 0:
            return self.odd_block(p, n, at)
        if self.hot is not None and not seen and self.hot.scan_at(p, n + 2, p + skip, p + n):
            self.usual = n + 2
            self.events += 1
            self.appended += 1
            return None
        return self.frame(name, name_len, p + skip, n - skip, at)

    cdef object frame(self, const char* name, Py_ssize_t name_len, const char* data, Py_ssize_t n, Py_ssize_t at):
        cdef object word = name[:name_len].decode("utf-8", "replace") if name_len else None
        cdef bytes payload = self.given_up(data, n) if n > COMPACT and self.carry_len and not self.exact else data[:n]
        if not payload or (payload[0] <= 32 and not payload.strip()):
            return None
        return (word, payload, at, False)

    cdef bytes given_up(self, const char* data, Py_ssize_t n):
        """The carry itself, of which only [data, data + n) is wanted any more."""
        cdef bytes payload
        memcpy_down(self.carry, data, n)
        self.carry_len = self.carry_room = 0
        self.carry = NULL
        _PyBytes_Resize(&self.kept, n)
        payload = owned(self.kept)
        self.kept = NULL
        return payload

    cdef bint has_bare(self, const char* p, Py_ssize_t n):
        cdef bytes block = p[:n]
        return block[:1] in (b"{", b"[") or b"\n{" in block or b"\n[" in block

    cdef object odd_block(self, const char* p, Py_ssize_t n, Py_ssize_t at):
        """Any other block: comments, several data lines, no space; bare data goes the exact way."""
        cdef Py_ssize_t start
        if self.has_bare(p, n):
            return self.go_exact(p, at)
        name, data, start = _fields(p[:n])
        if data is None or not data.strip():
            return None
        return (name or None, data, at + start, False)

    cdef object overflow(self, Py_ssize_t at):
        """Report the event at `at` once; nothing is parsed after it."""
        self.overflowed = True
        self.empty()
        self.win_pos = self.win_len
        self.data = None
        return (None, OVERFLOW_DATA, at, False)

    # ------------------------------------------------------------ the exact way

    cdef object go_exact(self, const char* p, Py_ssize_t at):
        """Go on line by line from the event at `p` (its offset is `at`), which lies in the carry or in the window."""
        self.exact = True
        if p is NULL or p == self.carry:
            if self.carry_len == 0:
                self.carry_at = at
        else:
            self.carry_len = 0
            self.carry_at = at
            self.win_pos = p - self.win
        self.x_pos = self.x_search = 0
        return None

    cdef object advance_exact(self):
        cdef object frame
        cdef Py_ssize_t end, at, begun, took
        cdef bytes line
        if self.win_pos < self.win_len:
            self.compact()
            self.stash(self.win + self.win_pos, self.win_len - self.win_pos)
            self.win_pos = self.win_len
        while not self.overflowed:
            if self.skip_lf and self.x_pos < self.carry_len:
                self.skip_lf = False
                if self.carry[self.x_pos] == c'\n':
                    self.x_pos += 1
            if self.hot is not None and self.x_block < 0 and not self.skip_lf and self.x_pos < self.carry_len:
                took = self.hits(self.carry + self.x_pos, self.carry + self.carry_len)
                if took:
                    self.x_pos += took
                    self.x_search = self.x_pos
                    continue
            end = self.line_end(max(self.x_search, self.x_pos))
            if end < 0:
                self.x_search = self.carry_len
                begun = self.carry_at + self.x_pos if self.x_block < 0 or self.bare else self.x_block
                if self.carry_at + self.carry_len - begun > self.max_bytes + TERMINATOR:
                    return self.overflow(begun)
                break
            at = self.x_pos
            line = self.carry[at:end]
            self.skip_lf = self.carry[end] == c'\r'
            self.x_pos = self.x_search = end + 1
            if end - at > COMPACT and end - at > self.carry_len - self.x_pos and not self.bare:
                at -= self.x_pos  # the line is all that is needed of a large event, and much of the carry
                self.drop(self.x_pos)
                self.resize(self.carry_len + 64)
            frame = self.line(line, at)
            if frame is not None:
                return frame
        if not self.ended or self.overflowed:
            return None
        if self.x_pos < self.carry_len:
            at = self.x_pos
            line = self.carry[at:self.carry_len]
            self.x_pos = self.x_search = self.carry_len
            frame = self.line(line, at)
            if frame is not None:
                return (frame[0], frame[1], frame[2], True)
        return self.dispatch(True) if self.data is not None else None

    cdef int compact(self) except -1:
        """Forget what was parsed; the block in hand stays whole."""
        cdef Py_ssize_t done = self.x_pos if self.x_block < 0 else self.x_block - self.carry_at
        if done > COMPACT:
            self.drop(done)
        return 0

    cdef void drop(self, Py_ssize_t done) noexcept:
        """Forget so many bytes of the carry. A value that stood there has a negative place then."""
        memcpy_down(self.carry, self.carry + done, self.carry_len - done)
        self.carry_len -= done
        self.carry_at += done
        self.x_pos -= done
        self.x_search = max(0, self.x_search - done)
        self.x_value -= done

    cdef Py_ssize_t line_end(self, Py_ssize_t start) noexcept:
        cdef const char* p = self.carry + start
        cdef Py_ssize_t n = self.carry_len - start
        cdef const char* lf = <const char*>memchr(p, c'\n', n) if n > 0 else NULL
        cdef const char* cr = <const char*>memchr(p, c'\r', lf - p if lf is not NULL else n) if n > 0 else NULL
        if cr is not NULL:
            return cr - self.carry
        return lf - self.carry if lf is not NULL else -1

    cdef object line(self, bytes line, Py_ssize_t at):
        """Take one line that began at `at` in the carry; a frame if it completes one."""
        cdef unsigned char first
        cdef bint field, begins
        cdef bytes value
        if not line:
            return self.dispatch(False)
        first = line[0]
        field = line.startswith((b"data:", b"event:", b"id:", b"retry:", b":")) or line in (b"data", b"event", b"id", b"retry")
        if self.bare and (field or first == c'{'):  # the bare event is over, this line begins something else
            frame = self.dispatch(False)
            self.x_pos = self.x_search = at
            self.skip_lf = False
            return frame
        begins = not field and (first == c'{' or first == c'[') and self.data is None
        if self.x_block < 0:
            self.x_block = self.carry_at + at
        if self.carry_at + at + len(line) - self.x_block > self.max_bytes:
            return self.overflow(self.x_block)
        if self.bare:
            self.data.append(line)
        elif begins:
            self.bare = True
            self.data = [line]
            self.x_start = self.carry_at + at
            self.x_value = at
            if line.rstrip()[-1] == first + 2:  # } closes {, ] closes [
                return self.dispatch(False)
        elif field and line[:4] == b"data":
            value = line[6:] if line[5:6] == b" " else line[5:]
            if self.data is None:
                self.data = [value]
                self.x_value = at + len(line) - len(value)
            else:
                self.data.append(value)
            if self.x_start < 0:
                self.x_start = self.carry_at + at
        elif line[:6] == b"event:":
            self.name = (line[7:] if line[6:7] == b" " else line[6:]).decode("utf-8", "replace") or None
            if self.x_start < 0:
                self.x_start = self.carry_at + at
        return None

    cdef object dispatch(self, bint cut):
        """End the block here; a frame unless there is no data in it, or the short cut takes it."""
        cdef list data = self.data
        cdef object name = self.name
        cdef bytes payload
        cdef Py_ssize_t begin = self.x_block - self.carry_at, start = self.x_start, behind = self.x_pos
        cdef bint bare = self.bare
        cdef const char* p
        cdef Py_ssize_t whole
        self.data = self.name = None
        self.bare = False
        self.x_block = self.x_start = -1
        if data is None:
            return None
        if len(data) > 1:
            payload = b"\n".join(data)
            return (name, payload, start, cut) if payload.strip() else None
        payload = data[0]
        if self.hot is not None and not cut and self.x_value >= 0:
            p = self.carry + self.x_value
            if self.skip_lf:  # the template runs through the whole blank line; with half of it there is nothing to learn
                behind = behind + 1 if behind < self.carry_len and self.carry[behind] == c'\n' else begin
            whole = behind - begin
            if bare and p != self.carry + begin:  # a template of bare data begins with it (see `bound`)
                whole = 0
            if self.hot.scan_at(self.carry + begin, whole, p, p + len(payload)):
                self.events += 1
                self.appended += 1
                return None
        return (name, payload, start, cut) if payload.strip() else None
