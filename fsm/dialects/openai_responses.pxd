from fsm cimport _tables as T
from fsm.dialects.base cimport Dialect

cdef class _Item:
    cdef public object id
    cdef public bint done, quoted
    cdef public dict fields, parts

cdef class OpenAIResponses(Dialect):
    cdef object _unknown
    cdef bint _created
    cdef dict _items
