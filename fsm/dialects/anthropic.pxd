from fsm cimport _tables as T

from fsm.dialects.base cimport Dialect

cdef class Anthropic(Dialect):
    cdef set _thinking
    cpdef _add(self, event, index, dict delta, said)
    cpdef _thinks(self, index)
