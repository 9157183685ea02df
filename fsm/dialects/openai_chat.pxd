from fsm cimport _tables as T
from fsm.dialects.think cimport TaggedDialect

cdef class OpenAIChat(TaggedDialect):
    cdef object _unknown
