# Which fields of arguments are whole, and whether the object is closed: the compiled twin of fsm/values/cursor.py.
#
# The idea: the same cursor over the same bytes, as a byte loop over the buffer's own memory. It is the engine's own
# (no Python object is made unless a field became whole), so that live streams can ask after every delta.
#
# Invariants: `at` bytes were followed, each once; in a string nothing but its end is looked for.

from fsm.values.cursor import Span as _Span

cdef extern from "lexer.h":
    const char* fsm_plain(const char*, const char*) nogil


@cython.final
cdef class ObjectCursor:
    """See fsm.values.cursor.ObjectCursor."""
    cdef readonly Py_ssize_t at
    cdef readonly bint closed, broken
    cdef readonly list spans
    cdef Py_ssize_t depth, key, key_end, value
    cdef bint string, escape

    def __cinit__(self):
        self.spans = []
        self.key = self.key_end = self.value = -1

    def follow(self, bytes piece not None):
        """Take the next bytes."""
        self.run(piece, len(piece))

    cdef int run(self, const char* p, Py_ssize_t n) except -1:
        cdef Py_ssize_t base = self.at, i = 0
        cdef char c
        self.at += n
        if self.broken:
            return 0
        while i < n:
            c = p[i]
            i += 1
            if self.escape:
                self.escape = False
            elif self.string:
                if c == c'\\':
                    self.escape = True
                elif c == c'"':
                    self.string = False
                    if self.depth == 1 and self.value < 0:
                        self.key_end = base + i
                else:
                    i = fsm_plain(p + i, p + n) - p
            elif self.closed or self.depth == 0:
                if c == c' ' or c == c'\t' or c == c'\r' or c == c'\n':
                    continue
                if self.closed or c != c'{':
                    self.broken = True
                    self.closed = False
                    return 0
                self.depth = 1
            elif c == c'"':
                self.string = True
                if self.depth == 1 and self.value < 0:
                    self.key = base + i - 1
            elif c == c'{' or c == c'[':
                self.depth += 1
            elif c == c'}' or c == c']':
                self.depth -= 1
                if self.depth == 0:
                    self.end_field(base + i - 1)
                    self.closed = True
            elif self.depth == 1:
                if c == c':':
                    self.value = base + i
                elif c == c',':
                    self.end_field(base + i - 1)
        return 0

    cdef int end_field(self, Py_ssize_t end) except -1:
        if self.value >= 0:
            self.spans.append(_Span(self.key, self.key_end, self.value, end))
        self.value = -1
        return 0
