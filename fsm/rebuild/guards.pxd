cimport cython

from fsm cimport _tables as T
from fsm.rebuild.blocks cimport Block
from fsm.rebuild.calls cimport Calls
from fsm.model.events cimport NormalizedEvent
from fsm.sink cimport Sink
from fsm.parts cimport BaseStepper, Meter
from fsm.model.usage cimport Usage

cdef class Cases(Sink):
    cdef public Usage usage
    cdef public Meter meter
    cdef public object _new_buffer, id, model, snapshot, failure, message, partial
    cdef public Py_ssize_t _most, snapshot_size
    cdef public object _last_position
    cdef public bint _silent, _each, _counted
    cdef public dict _closed, _slots
    cdef public list blocks, out
    cdef public Calls calls
    cdef public Block pending, found, _loose, _touched, _last_thinking
    @cython.locals(call=Block)
    cpdef owner(self, event, index)
    cpdef _case_message_start(self, NormalizedEvent ev)
    cpdef _case_text(self, NormalizedEvent ev)
    cpdef _case_signature(self, NormalizedEvent ev)
    cpdef _case_start(self, NormalizedEvent ev)
    cpdef _case_fragment(self, NormalizedEvent ev)
    cpdef _case_stop(self, NormalizedEvent ev)
    cpdef _case_block_start(self, NormalizedEvent ev)
    cpdef _case_opaque(self, NormalizedEvent ev)
    cpdef _case_reason(self, NormalizedEvent ev)
    @cython.locals(block=Block)
    cpdef _lookup(self, index, kind)
    @cython.locals(block=Block)
    cpdef _at(self, index, kind)
    @cython.locals(slot=list, block=Block)
    cpdef open_at(self, index)

cpdef end_case(Cases acc, bint at_eof)
cpdef stated_reason(Cases acc)
