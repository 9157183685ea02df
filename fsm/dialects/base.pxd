from fsm cimport _tables as T

cdef class Dialect:
    cdef public object choice, delta, emit
    cpdef decode(self, payload, event, raw)

cpdef words(value)
cpdef text(value)
cpdef number(value)
