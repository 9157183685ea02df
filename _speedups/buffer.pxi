# Block buffers, the compiled twin of fsm/rebuild/buffer.py (read that first: same names, same meaning).
#
# The idea: one growing run of UTF-8 bytes per open block. It grows by half and is allocated when the first byte comes.
# The bytes lie in a `str`: whether they are pure ASCII is known for free, and then that string, cut to its length, is the
# text; a large first text is the buffer as it was given. Text of any other kind is decoded once, when the block is archived.
# What came as a value, or was given out as bytes, is kept as that (`later`) until text is asked for or more comes.
#
# Invariants: size <= room, which is the length of `home`, and `data` are its characters; where there is room behind them,
# nobody else has `home`; `odd` is set as soon as half a surrogate pair (three bytes, from Python code only: the
# scanner refuses them) is among the bytes; `shown` never splits a character; with `later`, nothing
# else was added, and what bytes there are are those of that value.

from cpython.mem cimport PyMem_Calloc, PyMem_Realloc, PyMem_Free
from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF, Py_INCREF, Py_XDECREF
from cpython.unicode cimport PyUnicode_DecodeUTF8

cdef extern from "Python.h":
    const char* PyUnicode_AsUTF8AndSize(object, Py_ssize_t*) except NULL
    PyObject* PyUnicode_New(Py_ssize_t, Py_UCS4) except NULL
    int PyUnicode_Resize(PyObject**, Py_ssize_t) except -1
    void* PyUnicode_DATA(PyObject*)
    bint PyUnicode_IS_ASCII(object)
    bint PyUnicode_CheckExact(object)

cdef extern from "lexer.h":
    const int FSM_ESCAPED, FSM_WIDE
    size_t fsm_unescape(const char*, const char*, char*) nogil


cdef enum:
    SPARE = 80      # room behind what is written: `straight` (engine.pxi) copies a delta only where it surely fits
    FEW = 4096      # below it the room doubles, so that a short message grows its blocks a few times only
    SHARED = 4096   # from it on an ASCII text is not copied, neither when it begins a block nor when it is asked for


cdef object _mend(str text):
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


cdef int copy(char** to, Py_ssize_t* room, const char* p, Py_ssize_t n) except -1:
    """Let `to`, whose size `room` is, begin with these n bytes; it is made larger if need be."""
    cdef char* grown
    if n > room[0]:
        grown = <char*>PyMem_Realloc(to[0], n + 32)
        if grown is NULL:
            raise MemoryError
        to[0] = grown
        room[0] = n + 32
    if n:  # else there may be no memory at all
        memcpy(to[0], p, n)
    return 0


cdef str utf8(const char* p, Py_ssize_t n, bint wide):
    """The text of n bytes of UTF-8, all of them ASCII unless `wide`."""
    cdef PyObject* text
    if wide:
        return PyUnicode_DecodeUTF8(p, n, NULL)
    text = PyUnicode_New(n, 127)
    memcpy(PyUnicode_DATA(text), p, n)
    return owned(text)


cdef inline object owned(PyObject* made):
    """`made` as an object, with the reference that we have."""
    cdef object out = <object>made
    Py_DECREF(out)
    return out


@cython.final
cdef class Buffer:
    """Text under construction; see fsm.rebuild.buffer.Buffer."""
    cdef PyObject* home
    cdef char* data
    cdef Py_ssize_t size, room, shown
    cdef bint wide
    cdef readonly bint odd
    cdef object later       # instead of bytes; a value also beside them
    cdef Meter meter
    cdef ObjectCursor cursor

    def __cinit__(self, Meter meter not None):
        self.meter = meter

    def __dealloc__(self):
        Py_XDECREF(self.home)

    def __len__(self):
        return self.length()

    cdef Py_ssize_t length(self) except -1:
        if self.later is None or self.size:
            return self.size
        return len(<bytes>self.later) if type(self.later) is bytes else self.later.size

    @property
    def given(self):
        """All that there is, if it came as a value."""
        return None if type(self.later) is bytes else self.later

    cdef int need(self, Py_ssize_t more) except -1:
        """Make room for `more` bytes."""
        cdef Py_ssize_t room = self.size + more
        if room > self.room:
            room = max(room + SPARE, self.room + (self.room >> (self.room >= FEW)))
            if self.home is NULL:
                self.home = PyUnicode_New(room, 127)
            else:
                PyUnicode_Resize(&self.home, room)
            self.data = <char*>PyUnicode_DATA(self.home)
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

    def append(self, text not None):
        """Add `text`, which may hold surrogate halves, or a value's text."""
        if not isinstance(text, str):
            if not self.length():
                self.later = text
                self.meter.used += self.length()
                return
            text = str(text)
        self.settle()
        self.add(<str>text)

    cdef int settle(self) except -1:
        """More is to come."""
        if self.later is not None:
            self.write()
            self.later = None
        return 0

    cdef inline int write(self) except -1:
        """Let all that there is be bytes."""
        return 0 if self.later is None or self.size else self.write_later()

    cdef int write_later(self) except -1:
        cdef Py_ssize_t n = self.length()
        cdef const char* data
        self.meter.used -= n
        if type(self.later) is not bytes:
            return self.add(str(self.later))
        if n:  # else there is no memory to copy to
            data = self.later
            self.put(data, data + n, 0)
        self.later = None
        return 0

    cdef int add(self, str text) except -1:
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
        if n == 0:
            return 0
        if self.size == 0 and n >= SHARED and PyUnicode_IS_ASCII(text) and PyUnicode_CheckExact(text):
            return self.adopt(text, n)
        self.need(n)
        memcpy(self.data + self.size, data, n)
        if not PyUnicode_IS_ASCII(text):
            self.wide = True
        self.size += n
        self.meter.used += n
        return 0

    cdef int adopt(self, str text, Py_ssize_t n) except -1:
        """Begin with `text` itself: somebody else may have it too, but there is no room in it, and what makes room makes it ours."""
        Py_INCREF(text)
        Py_XDECREF(self.home)
        self.home = <PyObject*>text
        self.data = <char*>PyUnicode_DATA(self.home)
        self.size = self.room = n
        self.meter.used += n
        return 0

    def tail(self, Py_ssize_t start, end=None):
        """The bytes from `start` on, or up to `end`."""
        self.write()
        cdef Py_ssize_t stop = self.size if end is None else min(<Py_ssize_t>end, self.size)
        return self.data[start:stop] if start < stop else b""

    def octets(self):
        """All the bytes, which are kept as what is given out here."""
        if type(self.later) is not bytes:
            self.write()
            self.later = self.data[:self.size]
            self.release()
        return self.later

    cpdef ObjectCursor follow(self):
        """The cursor over the object that the text is, at the end of what is there."""
        self.write()
        if self.cursor is None:
            self.cursor = ObjectCursor()
        if self.cursor.at < self.size:
            self.cursor.run(self.data + self.cursor.at, self.size - self.cursor.at)
        return self.cursor

    def text(self):
        """Everything so far."""
        return self.whole(SHARED)

    cpdef str unseen(self, bint final=False):
        """What was added since the last call; unless `final`, half of a pair waits for its partner."""
        self.write()
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
        cdef str text = self.whole(1)
        self.drop()
        return text

    cpdef drop(self):
        """Give the bytes back (the meter keeps counting them)."""
        self.release()
        self.cursor = self.later = None
        self.shown = 0

    cdef void release(self) noexcept:
        Py_XDECREF(self.home)
        self.home = NULL
        self.data = NULL
        self.size = self.room = 0

    cdef str whole(self, Py_ssize_t least):
        """Everything so far; `least` bytes or more are the text themselves if they are ASCII, and have no room behind them then."""
        self.write()
        if self.size < least or self.wide or self.odd:
            return self.decode(0, self.size)
        PyUnicode_Resize(&self.home, self.size)
        self.data = <char*>PyUnicode_DATA(self.home)
        self.room = self.size
        return <str>self.home

    cdef str decode(self, Py_ssize_t start, Py_ssize_t end):
        if end <= start:
            return ""
        if self.odd:
            return _mend(self.data[start:end].decode("utf-8", "surrogatepass"))
        return utf8(self.data + start, end - start, self.wide)
