from fsm cimport _tables as T
from fsm.rebuild.blocks cimport Block, Call
from fsm.rebuild.guards cimport Cases

cdef class Ledger(Cases):
    cpdef write(self, Block block, text)
    cpdef touch(self, Block block)
    cpdef _stop(self, Block block)
    cpdef _stop_call(self, Call call)
    cpdef _shut(self, Call call)
    cpdef _position(self, index)
    cpdef _open(self, Block block, bint explicit)
    cpdef _turn_away(self)
    cpdef _take_slot(self, Block block, index)
    cpdef _announce(self, Block block)
    cpdef _archive(self, Block block)
    cpdef _withdraw(self, Block block, Block other)
    cpdef _archive_call(self, Call call)
    cpdef _emit(self, event)
    cpdef tell(self)
    cpdef _show(self, Block block, bint final=*)
    cpdef fields(self, Block call)
    cpdef list flush(self)
