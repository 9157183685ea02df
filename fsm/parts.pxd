from fsm cimport _tables as T

cdef class Meter:
    cdef public Py_ssize_t used

cdef class BaseStepper:
    cdef public int state
    cpdef fire(self, int event, int guard)

cdef class BaseFraming:
    cdef list fed(self, bytes data)
