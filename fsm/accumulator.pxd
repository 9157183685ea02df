from fsm cimport _tables as T
from fsm.blocks cimport Block, Call
from fsm.cases cimport Cases
from fsm.events cimport NormalizedEvent

cdef class Accumulator(Cases):
    cpdef handle(self, NormalizedEvent ev)
    cpdef delta(self, event, index, text)
    cpdef append(self, NormalizedEvent ev)
    cpdef _open_text(self, NormalizedEvent ev, kind)
    cpdef sign(self, NormalizedEvent ev)
    cpdef _sign_text(self, Block block, start, signature)
    cpdef write(self, Block block, text)
    cpdef touch(self, Block block)
    cpdef open_tool(self, NormalizedEvent ev)
    cpdef _open_call_id(self, NormalizedEvent ev)
    cpdef _new_call(self, NormalizedEvent ev, id_, made_up)
    cpdef _seal_previous(self)
    cpdef _stop(self, Block block)
    cpdef close(self, NormalizedEvent ev)
    cpdef set_usage(self, NormalizedEvent ev)
    cpdef set_reason(self, NormalizedEvent ev)
    cpdef _position(self, index)
    cpdef _open(self, Block block, bint explicit)
    cpdef _turn_away(self)
    cpdef _take_slot(self, Block block, index)
    cpdef _announce(self, Block block)
    cpdef _archive(self, Block block)
    cpdef _emit(self, event)
    cpdef tell(self)
    cpdef _show(self, Block block, bint final=*)
