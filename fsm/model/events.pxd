cimport cython

from fsm.model.deltas cimport Event as Base

cdef class NormalizedEvent:
    cdef public int type
    cdef public object index, text, id, name, fragment, signature, usage, reason, code, message, model, kind, block, input, extra, sibling, restated, content, joins

cdef class BlockStarted(Base):
    cdef public object index, kind, id, name

cdef class FieldReady(Base):
    cdef public object index, name, value

cdef class BlockFinished(Base):
    cdef public object index, block

cdef class ToolReady(Base):
    cdef public object index, id, name, input

cdef class ToolInvalid(Base):
    cdef public object index, id, name, reason, raw_input

cdef class UsageUpdated(Base):
    cdef object _usage, _report, _table

@cython.locals(event=UsageUpdated)
cpdef UsageUpdated usage_updated(before, bytes report, table)

cdef class MessageFinished(Base):
    cdef public object message

cdef class StreamFailed(Base):
    cdef public object state, error, partial
