cimport cython

from fsm cimport _tables as T
from fsm.rebuild.accumulator cimport Accumulator
from fsm.rebuild.blocks cimport Block, Call

cdef class Ending:
    cdef Accumulator _acc
    cdef dict _table
    cpdef complete(self, bint at_eof)
    cpdef _arguments(self)
    cpdef _apply_snapshot(self)
    @cython.locals(block=Block, call=Call)
    cpdef _settle(self, mark, bint announce, bint failed=*)
    cpdef _settle_block(self, Block block, bint failed)
    cpdef _settle_call(self, Call call, mark, bint announce, bint failed)
    @cython.locals(block=Block, sorted_=bint)
    cpdef list _ordered(self)
    @cython.locals(block=Block)
    cpdef list _content(self)
