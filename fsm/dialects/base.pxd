cimport cython

from fsm cimport _tables as T
from fsm.sink cimport Sink

cdef class Dialect:
    cdef public Sink sink
    cdef public object choice
    cpdef decode(self, dict payload, event, bytes raw)

cpdef words(value)
cpdef wording(value)
@cython.locals(said=str)
cpdef text(value)
cpdef number(value)
