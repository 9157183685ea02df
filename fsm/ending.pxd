from fsm cimport _tables as T
from fsm.accumulator cimport Accumulator
from fsm.blocks cimport Block, Call

cdef class Ending:
    cdef Accumulator _acc
    cdef dict _table
    cpdef complete(self, bint at_eof)
    cpdef _arguments(self)
    cpdef _apply_snapshot(self)
    cpdef _settle(self, mark, bint announce, bint failed=*)
    cpdef _settle_block(self, Block block, bint failed)
    cpdef _settle_call(self, Call call, mark, bint announce, bint failed)
    cpdef list _ordered(self)
    cpdef list _content(self)
