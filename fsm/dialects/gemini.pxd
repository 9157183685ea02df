from fsm cimport _tables as T
from fsm.dialects.base cimport Dialect

cdef class Gemini(Dialect):
    cdef object _unknown, _last, _args
    cdef bint _unsigned
