# Server-sent events, the compiled twin of fsm/framing/sse.py (read that first: same rules, same frames, same offsets).
#
# The idea: whole events are looked at where they lie in the caller's bytes; only an event that straddles two calls is
# copied, into the carry, which remembers what it holds so that every byte is searched once. What this short way is not for
# (carriage returns, bare data) goes line by line (lines.pxi). Carriage returns are looked for wherever nothing else rules them
# out: what the template or the scanner took has none.
#
# Invariant: between calls the carry holds an event's beginning, or nothing.

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
cdef class SSEParser(LineFraming):
    """One stream's framing; see fsm.framing.sse.SSEParser."""
    cdef Py_ssize_t usual   # the size of the last event that was scanned

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
            self.go_exact(NULL, self.carry.at if self.carry.size else self.win_at)
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
            if self.carry.size == 0:
                while p < end and p[0] == c'\n':
                    p += 1
                self.win_pos = p - self.win
            if p == end:
                return None
            if self.carry.size == 0 and (p[0] == c'{' or p[0] == c'['):
                self.go_exact(p, self.win_at + self.win_pos)  # bare lines are not to wait for a blank one
                continue
            if self.carry.size:
                n = self.straddling(p, end)
                if memchr(p, c'\r', n if n >= 0 else end - p) is not NULL:
                    self.go_exact(NULL, self.carry.at)
                    continue
                if n < 0:
                    carry_add(&self.carry, p, end - p)
                    self.win_pos = self.win_len
                    if self.carry.size > self.max_bytes + TERMINATOR:
                        return self.too_long()
                    return None
                carry_add(&self.carry, p, n)
                self.win_pos += n
                p, end = self.carry.data, self.carry.data + self.carry.size
                if self.hot is not None and (self.hits(p, end) or self.scanned(p, end)):
                    carry_empty(&self.carry)
                    continue
                find_blank(p, end, &lines)
                frame = self.block(p, self.carry.size - 2, self.carry.at, &lines, True)
                if not self.exact:
                    carry_empty(&self.carry)
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
                    self.carry.at = self.win_at + self.win_pos
                    carry_add(&self.carry, p, end - p)
                    self.win_pos = self.win_len
                    if self.carry.size > self.max_bytes + TERMINATOR:
                        return self.too_long()
                    return None
                self.win_pos += n + 2
                frame = self.block(p, n, self.win_at + self.win_pos - n - 2, &lines, seen)
            if frame is not None:
                return frame
        return None

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
        if self.has_bare(self.carry.data, self.carry.size):  # only the line rules tell how long this block is
            self.go_exact(NULL, self.carry.at)
            return self.advance_exact()
        return self.overflow(self.carry.at)

    cdef Py_ssize_t straddling(self, const char* p, const char* end) noexcept:
        """How many bytes of [p, end) end the event in the carry, its blank line included, or -1."""
        cdef Py_ssize_t n
        cdef Lines lines
        if self.carry.data[self.carry.size - 1] == c'\n' and p[0] == c'\n':
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
        cdef bytes payload = carry_taken(&self.carry, data, n) if n > KEPT and self.carry.size else data[:n]  # where it lies in the carry
        if not payload or (payload[0] <= 32 and not payload.strip()):
            return None
        return (word, payload, at, False)

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
