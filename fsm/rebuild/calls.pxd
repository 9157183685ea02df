from fsm cimport _tables as T
from fsm.rebuild.blocks cimport Call
from fsm.model.events cimport NormalizedEvent
from fsm.parts cimport Meter

cdef class Calls:
    cdef object _registry, _depth, _note
    cdef Meter _meter
    cdef dict _slots, _by_id
    cdef public list all
    cdef public Call current, found
    cpdef case_start(self, NormalizedEvent ev)
    cpdef _start_on_index(self, NormalizedEvent ev)
    cpdef _start_alone(self, NormalizedEvent ev)
    cpdef _fresh_or_headless(self, NormalizedEvent ev)
    cpdef add(self, Call call, NormalizedEvent ev)
    cpdef supplement(self, Call call, NormalizedEvent ev)
    cpdef _fill(self, Call call, NormalizedEvent ev)
    cpdef _set_name(self, Call call, name, bint restated=*)
    cpdef case_fragment(self, NormalizedEvent ev)
    cpdef bint undecided(self, Call call)
    cpdef slot(self, index)
    cpdef by_id(self, id_)
    cpdef bint wants_arguments(self, Call call)
    cpdef judge(self, Call call)
    cpdef _read_text(self, Call call, text)
    cpdef _at_once(self, Call call)
    cpdef _read(self, Call call)
    cpdef _doubt(self, Call call)
