# Whole events of one shape, taken apart for the dialect: the starts, stops and statements around the deltas.
#
# The idea: a short message is mostly such events, and a payload that is made an object only to be asked for two of its
# keys costs more than all that is done with them. `frames` in spec/dialects/*.yaml names shapes; the scanner (scan.pxi)
# walks a payload along each of them, and the first that fits is a call of the dialect's method of that name with what the
# shape gives. What that means is decided there, in the Python that `decode` of the same dialect calls for the same event.
#
# As with deltas, giving up is always right: `read` says None, and the payload goes through orjson and `decode`.

from cpython.tuple cimport PyTuple_New, PyTuple_SET_ITEM
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize


@cython.final
cdef class Frames:
    """Reads the events of one stream; `dialect` has the number `id`, `methods` are those of its class in the order of its shapes."""
    cdef object dialect
    cdef tuple methods
    cdef int first, count

    def __init__(self, int id, dialect, tuple methods not None):
        self.dialect = dialect
        self.methods = methods
        self.first, self.count = FSM_FRAMES[id].first, FSM_FRAMES[id].count

    def read(self, bytes data not None):
        """What the dialect's method says of the event (see Dialect.decode); None where no shape fits."""
        cdef Scan s
        cdef Given given[MAX_GIVEN]
        cdef const char* p = data
        cdef const char* end = p + len(data)
        cdef int i, slot
        cdef tuple args
        s.given = given
        for i in range(self.count):
            for slot in range(FSM_SHAPES[self.first + i].count):
                given[slot].start = NULL
            if scan_frame(&s, FSM_SHAPES[self.first + i].first, p, end):
                break
        else:
            return None
        args = PyTuple_New(FSM_SHAPES[self.first + i].count + 1)
        fill(args, 0, self.dialect)
        for slot in range(FSM_SHAPES[self.first + i].count):
            fill(args, slot + 1, value_of(&given[slot]))
        return self.methods[i](*args)


cdef inline int fill(tuple args, Py_ssize_t i, object value) except -1:
    Py_INCREF(value)
    PyTuple_SET_ITEM(args, i, value)
    return 0


cdef object value_of(const Given* g):
    """The Python object that was given."""
    if g.start is NULL:
        return None
    if g.role == FSM_ROLE_GIVE_NUMBER:
        return g.number
    if g.role == FSM_ROLE_GIVE_STRING:
        return string_of(g.start, g.end, g.flags)
    return _loads(g.start[:g.end - g.start])


cdef str string_of(const char* p, const char* end, int flags):
    """The lexed JSON string [p, end)."""
    cdef bytes plain
    if flags & FSM_ESCAPED:
        plain = PyBytes_FromStringAndSize(NULL, end - p)
        return utf8(PyBytes_AS_STRING(plain), fsm_unescape(p, end, PyBytes_AS_STRING(plain)), True)
    return utf8(p, end - p, flags & FSM_WIDE)
