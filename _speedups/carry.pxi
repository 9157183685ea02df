# What the framing keeps between two calls: the beginning of an event, or lines that were not parsed yet.
#
# The idea: one growing run of bytes that lie in a `bytes` object, so that a large event need not be copied once more when
# it is handed on. It grows by three eighths, so that it and the text copied from it are not 2.5 times the event, and gives back what a large one needed.
#
# Invariants: size <= room, which is the length of `kept`, and `data` are its bytes; nobody else has `kept`.

cdef extern from "Python.h":
    PyObject* new_bytes "PyBytes_FromStringAndSize"(const char*, Py_ssize_t) except NULL
    char* bytes_of "PyBytes_AS_STRING"(PyObject*)
    int _PyBytes_Resize(PyObject**, Py_ssize_t) except -1

cdef enum:
    KEPT = 65536    # room that is kept when there is nothing in it


ctypedef struct Carry:
    PyObject* kept
    char* data
    Py_ssize_t size, room
    Py_ssize_t at       # the stream offset of the first byte


cdef void carry_free(Carry* c) noexcept:
    Py_XDECREF(c.kept)
    c.kept = NULL
    c.data = NULL
    c.size = c.room = 0


cdef int carry_add(Carry* c, const char* p, Py_ssize_t n) except -1:
    if c.size + n > c.room:
        carry_resize(c, max(c.size + n + 16, c.room + (c.room >> 2) + (c.room >> 3)))
    memcpy(c.data + c.size, p, n)
    c.size += n
    return 0


cdef int carry_resize(Carry* c, Py_ssize_t room) except -1:
    cdef Py_ssize_t held = c.size
    c.size = c.room = 0  # where there is no memory, what was held is gone
    if c.kept is NULL:
        c.kept = new_bytes(NULL, room)
    else:
        _PyBytes_Resize(&c.kept, room)
    c.data = bytes_of(c.kept)
    c.size, c.room = held, room
    return 0


cdef void carry_empty(Carry* c) noexcept:
    """Nothing of it is needed any more."""
    c.size = 0
    if c.room > KEPT:
        carry_free(c)


cdef void carry_drop(Carry* c, Py_ssize_t n) noexcept:
    """The first n bytes are not needed any more."""
    memcpy_down(c.data, c.data + n, c.size - n)
    c.size -= n
    c.at += n


cdef bytes carry_taken(Carry* c, const char* data, Py_ssize_t n):
    """The bytes [data, data + n) of it, which are all that is needed: they are not copied to another place."""
    cdef bytes taken
    memcpy_down(c.data, data, n)
    c.size = c.room = 0
    c.data = NULL
    _PyBytes_Resize(&c.kept, n)
    taken = owned(c.kept)
    c.kept = NULL
    return taken
