# The line rules of server-sent events, and what both ways of the framing stand on: the window on the caller's bytes, the carry.
#
# The idea: in the exact way (a stream with carriage returns or bare data) all bytes go through the carry and are taken line by
# line. `SSEParser` (sse.pxi) adds the short way, which most streams never leave.
#
# The class also carries the short cut of the engine (engine.pxi): an event that is a bare delta for an open block is
# appended here and never becomes a frame. Unbound (no `bind`), it is framing and nothing else.
#
# Invariants: between calls the window is empty; the carry holds an event's beginning (short way) or everything that was
# not parsed yet (exact way).

cdef enum:
    TERMINATOR = 4     # the longest blank line with the end of the line before it: CR LF CR LF
    COMPACT = 65536    # parsed bytes that the exact way keeps before it moves the rest


cdef class LineFraming(BaseFraming):
    """The window, the carry and the exact way of `SSEParser`."""
    cdef:
        Py_ssize_t max_bytes
        readonly Py_ssize_t events
        readonly Py_ssize_t appended
        # the window: the caller's bytes, between receive() and the end of the iteration
        object holder
        const char* win
        Py_ssize_t win_len, win_pos, win_at
        # what is kept between calls
        Carry carry
        bint started, exact, overflowed, ended
        # the exact way
        Py_ssize_t x_pos, x_search, x_block, x_start, x_value
        bint skip_lf, bare
        object name
        list data
        # the short cut
        Shortcut hot

    def __cinit__(self, Py_ssize_t max_bytes):
        self.max_bytes = max_bytes
        self.x_block = self.x_start = -1

    def __dealloc__(self):
        carry_free(&self.carry)

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
        if self.carry.size == 0 and self.win_len == 0:
            return 0
        head = self.carry.data[:self.carry.size] + self.win[:self.win_len]
        if len(head) < 3 and b"\xef\xbb\xbf".startswith(head):
            carry_add(&self.carry, self.win, self.win_len)
            self.win_pos = self.win_len
            return 0
        self.started = True
        self.carry.size = 0
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

    @cython.final
    cdef Py_ssize_t hits(self, const char* p, const char* end) except -1:
        """How many bytes of [p, end), which begins at an event boundary, are events that the template took."""
        cdef Py_ssize_t taken = 0
        cdef const char* behind = self.hot.run(p, end, self.max_bytes, &taken)
        self.events += taken
        self.appended += taken
        return behind - p

    cdef object overflow(self, Py_ssize_t at):
        """Report the event at `at` once; nothing is parsed after it."""
        self.overflowed = True
        carry_empty(&self.carry)
        self.win_pos = self.win_len
        self.data = None
        return (None, None, at, False)

    # ------------------------------------------------------------ the exact way

    cdef object go_exact(self, const char* p, Py_ssize_t at):
        """Go on line by line from the event at `p` (its offset is `at`), which lies in the carry or in the window."""
        self.exact = True
        if p is NULL or p == self.carry.data:
            if self.carry.size == 0:
                self.carry.at = at
        else:
            self.carry.size = 0
            self.carry.at = at
            self.win_pos = p - self.win
        self.x_pos = self.x_search = 0
        return None

    cdef object advance_exact(self):
        cdef object frame
        cdef Py_ssize_t end, at, begun, took
        cdef bytes line
        if self.win_pos < self.win_len:
            self.compact()
            carry_add(&self.carry, self.win + self.win_pos, self.win_len - self.win_pos)
            self.win_pos = self.win_len
        while not self.overflowed:
            if self.skip_lf and self.x_pos < self.carry.size:
                self.skip_lf = False
                if self.carry.data[self.x_pos] == c'\n':
                    self.x_pos += 1
            if self.hot is not None and self.x_block < 0 and not self.skip_lf and self.x_pos < self.carry.size:
                took = self.hits(self.carry.data + self.x_pos, self.carry.data + self.carry.size)
                if took:
                    self.x_pos += took
                    self.x_search = self.x_pos
                    continue
            end = self.line_end(max(self.x_search, self.x_pos))
            if end < 0:
                self.x_search = self.carry.size
                begun = self.carry.at + self.x_pos if self.x_block < 0 or self.bare else self.x_block
                if self.carry.at + self.carry.size - begun > self.max_bytes + TERMINATOR:
                    return self.overflow(begun)
                break
            at = self.x_pos
            line = self.carry.data[at:end]
            self.skip_lf = self.carry.data[end] == c'\r'
            self.x_pos = self.x_search = end + 1
            if end - at > COMPACT and end - at > self.carry.size - self.x_pos and not self.bare:
                at -= self.x_pos  # the line is all that is needed of a large event, and much of the carry
                self.drop(self.x_pos)
                carry_resize(&self.carry, self.carry.size + 64)
            frame = self.line(line, at)
            if frame is not None:
                return frame
        if not self.ended or self.overflowed:
            return None
        if self.x_pos < self.carry.size:
            at = self.x_pos
            line = self.carry.data[at:self.carry.size]
            self.x_pos = self.x_search = self.carry.size
            frame = self.line(line, at)
            if frame is not None:
                return (frame[0], frame[1], frame[2], True)
        return self.dispatch(True) if self.data is not None else None

    cdef int compact(self) except -1:
        """Forget what was parsed; the block in hand stays whole."""
        cdef Py_ssize_t done = self.x_pos if self.x_block < 0 else self.x_block - self.carry.at
        if done > COMPACT:
            self.drop(done)
        return 0

    cdef void drop(self, Py_ssize_t done) noexcept:
        """Forget so many bytes of the carry. A value that stood there has a negative place then."""
        carry_drop(&self.carry, done)
        self.x_pos -= done
        self.x_search = max(0, self.x_search - done)
        self.x_value -= done

    cdef Py_ssize_t line_end(self, Py_ssize_t start) noexcept:
        cdef const char* p = self.carry.data + start
        cdef Py_ssize_t n = self.carry.size - start
        cdef const char* lf = <const char*>memchr(p, c'\n', n) if n > 0 else NULL
        cdef const char* cr = <const char*>memchr(p, c'\r', lf - p if lf is not NULL else n) if n > 0 else NULL
        if cr is not NULL:
            return cr - self.carry.data
        return lf - self.carry.data if lf is not NULL else -1

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
            self.x_block = self.carry.at + at
        if self.carry.at + at + len(line) - self.x_block > self.max_bytes:
            return self.overflow(self.x_block)
        if self.bare:
            self.data.append(line)
        elif begins:
            self.bare = True
            self.data = [line]
            self.x_start = self.carry.at + at
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
                self.x_start = self.carry.at + at
        elif line[:6] == b"event:":
            self.name = (line[7:] if line[6:7] == b" " else line[6:]).decode("utf-8", "replace") or None
            if self.x_start < 0:
                self.x_start = self.carry.at + at
        return None

    cdef object dispatch(self, bint cut):
        """End the block here; a frame unless there is no data in it, or the short cut takes it."""
        cdef list data = self.data
        cdef object name = self.name
        cdef bytes payload
        cdef Py_ssize_t begin = self.x_block - self.carry.at, start = self.x_start, behind = self.x_pos
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
            p = self.carry.data + self.x_value
            if self.skip_lf:  # the template runs through the whole blank line; with half of it there is nothing to learn
                behind = behind + 1 if behind < self.carry.size and self.carry.data[behind] == c'\n' else begin
            whole = behind - begin
            if bare and p != self.carry.data + begin:  # a template of bare data begins with it (see `bound`)
                whole = 0
            if self.hot.scan_at(self.carry.data + begin, whole, p, p + len(payload)):
                self.events += 1
                self.appended += 1
                return None
        return (name, payload, start, cut) if payload.strip() else None
