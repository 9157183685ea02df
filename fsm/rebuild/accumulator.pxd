from fsm cimport _tables as T
from fsm.rebuild.blocks cimport Block, Call
from fsm.rebuild.store cimport Ledger
from fsm.model.events cimport NormalizedEvent

cdef class Accumulator(Ledger):
    cpdef handle(self, NormalizedEvent ev)
    cpdef delta(self, event, index, text)
    cpdef append(self, NormalizedEvent ev)
    cpdef _open_text(self, NormalizedEvent ev, kind)
    cpdef sign(self, NormalizedEvent ev)
    cpdef _sign_text(self, Block block, start, signature)
    cpdef open_tool(self, NormalizedEvent ev)
    cpdef _open_call_id(self, NormalizedEvent ev)
    cpdef _new_call(self, NormalizedEvent ev, id_, made_up)
    cpdef _seal_previous(self)
    cpdef close(self, NormalizedEvent ev)
    cpdef set_usage(self, NormalizedEvent ev)
    cpdef set_reason(self, NormalizedEvent ev)
    cpdef counted(self, report, bint told)
    cpdef _count(self, report)
