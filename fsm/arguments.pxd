cimport cython

cpdef bint _rounded(value)
cpdef bint _deeper(value, limit)
cpdef loads(text)
cpdef parse(text, max_depth)
cpdef tuple cleaned(value)
@cython.locals(size=Py_ssize_t, stack=list)
cpdef Py_ssize_t weight(value)
