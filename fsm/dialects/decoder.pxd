from fsm cimport _tables as T

from fsm.sink cimport Sink
from fsm.dialects.base cimport Dialect
from fsm.model.message cimport Anomalies

cdef class Reader:
    cdef Anomalies _anomalies
    cdef object _choice, _foreign, _head, _frames, _new_frames, _new_recent, _serial
    cdef Sink _acc
    cdef bint _refused, _skip_bad
    cdef public bint curious, sniffed
    cdef public Dialect dialect
    cdef public object name, recent, shape
    cdef public Py_ssize_t keepalives, useful
    cpdef owner(self, event, index)
    cpdef take(self, frame, number)
    cpdef bytes look(self, bytes data)
    cpdef known(self)
    cpdef pushed(self)
    cpdef flush(self)
    cpdef end(self)
