cimport cython

from fsm.rebuild.accumulator cimport Accumulator
from fsm.model.metrics cimport Metrics
from fsm.parts cimport BaseFraming
from fsm.dialects.decoder cimport Reader

cdef class Reconstructor:
    cdef public Accumulator _acc
    cdef public Metrics _metrics
    cdef public object _observed
    cdef public Reader _reader
    cdef object __weakref__
    cdef BaseFraming _armed
    cdef public object timeouts, _clock, _dated, _deltas, _framing, _last_bytes, _last_progress, _outcome, _parts, _setup, _t0
    cdef public bint _armable, _busy, _unbound
    cdef public Py_ssize_t _bytes, _chunks, _useful
    @cython.locals(armed=BaseFraming, chunk=bytes)
    cpdef list feed(self, data)
    cpdef _begin(self)
    cpdef _bind(self)
    cpdef _reframe(self, shape)
    @cython.locals(reader=Reader, size=Py_ssize_t)
    cpdef list _feed(self, data)
    cpdef _enter(self, call)
    @cython.locals(reader=Reader, size=Py_ssize_t)
    cpdef list _take(self, data)
    @cython.locals(framing=BaseFraming)
    cpdef list _first(self, bytes data)
    cpdef _stand_here(self)
    @cython.locals(acc=Accumulator, metrics=Metrics)
    cpdef _finish(self)
