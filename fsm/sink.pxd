from fsm.model.events cimport NormalizedEvent
from fsm.model.message cimport Anomalies
from fsm.parts cimport BaseStepper

cdef class Sink:
    cdef public Anomalies anomalies
    cdef public BaseStepper stepper
    cdef public object limits, note
    cdef public dict dialect, reasons
    cpdef handle(self, NormalizedEvent ev)
    cpdef delta(self, event, index, text)
    cpdef owner(self, event, index)
