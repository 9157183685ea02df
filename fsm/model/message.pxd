cdef class Message:
    cdef public object content, id, model, stop_reason, raw_stop_reason, usage, dropped_calls, role, dialect, arguments

cdef class Partial(Message):
    pass

cdef class Anomalies(list):
    cdef object _limit
    cdef public dict counts
    cdef public Py_ssize_t offset, event

cdef class Outcome:
    cdef public object message, anomalies, dialect, error, metrics, partial, state
