cdef class Event:
    pass

cdef class DeltaEvent(Event):
    cdef readonly Py_ssize_t index
    cdef readonly str text

cdef class TextDelta(DeltaEvent):
    pass

cdef class ThinkingDelta(DeltaEvent):
    pass

cdef class ToolInputDelta(DeltaEvent):
    pass
