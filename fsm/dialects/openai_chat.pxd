from fsm cimport _tables as T

from fsm.dialects.base cimport Dialect

cdef class OpenAIChat(Dialect):
    cdef object _tags, _unknown
