from fsm cimport _tables as T

from fsm.accumulator cimport Accumulator
from fsm.dialects.base cimport Dialect

cdef class Reader:
    cdef object _anomalies, _choice, _foreign, _head, _new_recent, _serial
    cdef Accumulator _acc
    cdef bint _refused, _skip_bad
    cdef public bint curious, sniffed
    cdef public Dialect dialect
    cdef public object name, recent, shape
    cdef public Py_ssize_t keepalives, useful
    cpdef owner(self, event, index)
    cpdef take(self, frame, number)
