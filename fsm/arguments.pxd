cimport cython

cpdef bint _rounded(value)
cpdef bint _deeper(value, limit)
cpdef loads(text)
cpdef parse(text, max_depth)
cpdef read(bytes data)
cpdef tuple cleaned(value)
cpdef Py_ssize_t _size(value)
@cython.locals(size=Py_ssize_t, stack=list, said=str, box=dict, row=list)
cpdef Py_ssize_t weight(value)
