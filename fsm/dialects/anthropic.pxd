from fsm cimport _tables as T

from fsm.dialects.base cimport Dialect

cdef class Anthropic(Dialect):
    pass
