cimport cython

cdef class Usage:
    cdef public object input_tokens, output_tokens, cache_read_input_tokens, cache_creation_input_tokens, reasoning_tokens, basis, raw, _parts

cpdef _at(dict data, tuple path)
cpdef _whole(value)
@cython.locals(parts=dict, named=bint)
cpdef _sum(Usage usage, dict data, addends)
cpdef update(Usage usage, dict data, tuple table)
cpdef copied(Usage usage)
@cython.locals(made=Usage)
cpdef forked(Usage usage)
@cython.locals(usage=Usage)
cpdef reported(Usage before, bytes report, table)
