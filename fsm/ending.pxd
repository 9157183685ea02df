from fsm cimport _tables as T
from fsm.blocks cimport Block, Call

cdef class Ending:
    cdef object _acc
    cdef dict _table
    cpdef _settle_block(self, Block block, bint failed)
    cpdef _settle_call(self, Call call, mark, bint announce, bint failed)
