# The events that are made per delta, the compiled twin of fsm/_events.py: made by the engine itself, without a call.
# (Freelists do not work below a common base class; the allocator of small objects is as quick.)

from cpython.object cimport Py_EQ, Py_NE


cdef class Event:
    """Base of what `feed` returns."""
    __match_args__ = ()
    __hash__ = None

    def __eq__(self, other):
        if type(self) is not type(other):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__match_args__)

    def __repr__(self):
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in self.__match_args__)})"


cdef class DeltaEvent(Event):
    """Text was added to block `index`."""
    cdef readonly Py_ssize_t index
    cdef readonly str text
    __match_args__ = ("index", "text")

    def __init__(self, Py_ssize_t index, str text not None):
        self.index = index
        self.text = text

    def __reduce__(self):
        return type(self), (self.index, self.text)


@cython.final
cdef class TextDelta(DeltaEvent):
    """Text was added to a text (or refusal) block."""


@cython.final
cdef class ThinkingDelta(DeltaEvent):
    """Text was added to a thinking block."""


@cython.final
cdef class ToolInputDelta(DeltaEvent):
    """JSON text was added to a call's arguments: for display only, never for execution (R-76)."""


cdef DeltaEvent delta_event(int event, Py_ssize_t number, str text):
    """The caller's event for an append, made without a call."""
    cdef DeltaEvent made
    if event == FSM_EVENT_TEXT_DELTA:
        made = TextDelta.__new__(TextDelta)
    elif event == FSM_EVENT_THINKING_DELTA:
        made = ThinkingDelta.__new__(ThinkingDelta)
    else:
        made = ToolInputDelta.__new__(ToolInputDelta)
    made.index = number
    made.text = text
    return made
