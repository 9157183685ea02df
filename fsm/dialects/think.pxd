from fsm cimport _tables as T
from fsm.dialects.base cimport Dialect

cdef class ThinkTags:
    cdef object _stage, _held

cdef class TaggedDialect(Dialect):
    cdef ThinkTags _tags
