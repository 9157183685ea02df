from fsm cimport _tables as T
from fsm.accumulator cimport Accumulator

cdef class Dialect:
    cdef public Accumulator sink
    cdef public object choice
    cpdef decode(self, payload, event, raw)

cpdef words(value)
cpdef text(value)
cpdef number(value)
