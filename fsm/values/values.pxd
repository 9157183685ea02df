cimport cython

cdef class ValueText:
    cdef readonly object value, size

cpdef bint rounded(value)
cpdef bint deeper(value, limit)
cpdef tuple cleaned(value)
cpdef Py_ssize_t _size(value)
@cython.locals(size=Py_ssize_t, stack=list, said=str, box=dict, row=list)
cpdef Py_ssize_t weight(value)
