# Block buffers, the compiled twin of fsm/buffer.py (read that first: same names, same meaning).
#
# The idea: one growing run of UTF-8 bytes per open block. It grows by half, is allocated when the first byte comes,
# and is decoded once, when the block is archived. Whether it is pure ASCII is known for free, which makes decoding a copy.
#
# Invariants: size <= room; `odd` is set as soon as half a surrogate pair (three bytes, from Python code only: the
# scanner refuses them) is among the bytes; `shown` never splits a character.

from cpython.mem cimport PyMem_Calloc, PyMem_Realloc, PyMem_Free
from cpython.unicode cimport PyUnicode_DecodeUTF8

cdef extern from "Python.h":
    const char* PyUnicode_AsUTF8AndSize(object, Py_ssize_t*) except NULL
    object PyUnicode_New(Py_ssize_t, Py_UCS4)
    void* PyUnicode_DATA(object)
    bint PyUnicode_IS_ASCII(object)

cdef extern from "lexer.h":
    const int FSM_ESCAPED, FSM_WIDE
    size_t fsm_unescape(const char*, const char*, char*) nogil


cdef object _mend(str text):
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


@cython.final
cdef class Buffer:
    """Text under construction; see fsm.buffer.Buffer."""
    cdef char* data
    cdef Py_ssize_t size, room, shown
    cdef bint wide
    cdef readonly bint odd
    cdef Meter meter
    cdef ObjectCursor cursor

    def __cinit__(self, Meter meter not None):
        self.meter = meter

    def __dealloc__(self):
        PyMem_Free(self.data)

    def __len__(self):
        return self.size

    cdef int need(self, Py_ssize_t more) except -1:
        """Make room for `more` bytes."""
        cdef Py_ssize_t room = self.size + more
        cdef char* data
        if room > self.room:
            room = max(room + 32, self.room + (self.room >> 1))
            data = <char*>PyMem_Realloc(self.data, room)
            if data is NULL:
                raise MemoryError
            self.data = data
            self.room = room
        return 0

    cdef int put(self, const char* text, const char* end, int flags) except -1:
        """Append the lexed JSON string [text, end)."""
        cdef Py_ssize_t n = end - text
        if n > self.room - self.size:
            self.need(n)
        if flags & FSM_ESCAPED:
            n = <Py_ssize_t>fsm_unescape(text, end, self.data + self.size)
        else:
            memcpy(self.data + self.size, text, n)
        self.keep(n, flags)
        return 0

    cdef inline void keep(self, Py_ssize_t n, int flags) noexcept:
        """Take the n bytes that were written behind the last one (text.h)."""
        if flags & FSM_WIDE:
            self.wide = True
        self.size += n
        self.meter.used += n

    def append(self, str text not None):
        """Add `text`, which may hold surrogate halves."""
        cdef Py_ssize_t n
        cdef const char* data
        cdef bytes encoded
        try:
            data = PyUnicode_AsUTF8AndSize(text, &n)
        except UnicodeEncodeError:
            encoded = text.encode("utf-8", "surrogatepass")
            data, n = encoded, len(encoded)
            self.odd = True
        self.need(n)
        memcpy(self.data + self.size, data, n)
        if not PyUnicode_IS_ASCII(text):
            self.wide = True
        self.size += n
        self.meter.used += n

    def tail(self, Py_ssize_t start, end=None):
        """The bytes from `start` on, or up to `end`."""
        cdef Py_ssize_t stop = self.size if end is None else min(<Py_ssize_t>end, self.size)
        return self.data[start:stop] if start < stop else b""

    cpdef ObjectCursor follow(self):
        """The cursor over the object that the text is, at the end of what is there."""
        if self.cursor is None:
            self.cursor = ObjectCursor()
        if self.cursor.at < self.size:
            self.cursor.run(self.data + self.cursor.at, self.size - self.cursor.at)
        return self.cursor

    def text(self):
        """Everything so far."""
        return self.decode(0, self.size)

    cpdef str unseen(self, bint final=False):
        """What was added since the last call; unless `final`, half of a pair waits for its partner."""
        cdef Py_ssize_t end = self.size
        cdef Py_ssize_t start = self.shown
        cdef unsigned char* tail
        if self.odd and not final and end - start >= 3:
            tail = <unsigned char*>self.data + end - 3
            if tail[0] == 0xED and 0xA0 <= tail[1] < 0xB0:
                end -= 3
        self.shown = end
        return self.decode(start, end) if end > start else ""

    def take(self):
        """Everything, for the last time: the bytes are given back."""
        text = self.decode(0, self.size)
        self.drop()
        return text

    cpdef drop(self):
        """Give the bytes back (the meter keeps counting them)."""
        PyMem_Free(self.data)
        self.data = NULL
        self.cursor = None
        self.size = self.room = self.shown = 0

    cdef object decode(self, Py_ssize_t start, Py_ssize_t end):
        cdef object text
        if end <= start:
            return ""
        if self.odd:
            return _mend(self.data[start:end].decode("utf-8", "surrogatepass"))
        if self.wide:
            return PyUnicode_DecodeUTF8(self.data + start, end - start, NULL)
        text = PyUnicode_New(end - start, 127)
        memcpy(PyUnicode_DATA(text), self.data + start, end - start)
        return text
