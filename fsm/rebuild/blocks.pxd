from fsm cimport _tables as T

cdef class Block:
    cdef public object kind, event, index, number, position, buffer, text, signature, signed, extra, vendor
    cdef public bint open, announced, archived, left_out, signed_late
    cpdef canonical(self)
    cpdef bint is_empty(self)

cdef class Call(Block):
    cdef public object id, name, snapshot, late, twin_of, inputs, input, invalid, sent
    cdef public bint made_up, stopped, sealed, ambiguous, free
