# The events that are made per delta (fsm/model/deltas.py), made by the engine itself, without a call.
#
# The idea: the object is taken from the allocator as it is and its two fields are set, once each; going through tp_new
# means to clear them, to fill them with defaults and to take those out again. (Freelists do not work below a common base
# class; the allocator of small objects is as quick.)
#
# Assumption: DeltaEvent has exactly the fields that FSM_FILL sets, none of its subclasses has more, and no cycle can go
# through one, so the garbage collector knows nothing of them. That is checked when the extension is loaded.

from cpython.ref cimport Py_INCREF, PyObject

from fsm.model.deltas cimport DeltaEvent, TextDelta, ThinkingDelta, ToolInputDelta

cdef extern from *:
    """
    #define FSM_NEW(type) _PyObject_New((PyTypeObject *)(type))
    #define FSM_FILL(made, number, string) ((made)->index = (number), (made)->text = (string))
    """
    DeltaEvent FSM_NEW(type)
    void FSM_FILL(DeltaEvent, Py_ssize_t, PyObject*)

cdef enum:
    COLLECTED = 1 << 14     # Py_TPFLAGS_HAVE_GC

for _type in (TextDelta, ThinkingDelta, ToolInputDelta):
    if _type.__basicsize__ != object.__basicsize__ + sizeof(Py_ssize_t) + sizeof(PyObject*) or _type.__flags__ & COLLECTED:
        raise ImportError(f"{_type.__name__} is not laid out as _speedups/events.pxi fills it")
del _type


cdef DeltaEvent delta_event(int event, Py_ssize_t number, str text):
    """The caller's event for an append."""
    cdef DeltaEvent made
    if event == FSM_EVENT_TEXT_DELTA:
        made = FSM_NEW(TextDelta)
    elif event == FSM_EVENT_THINKING_DELTA:
        made = FSM_NEW(ThinkingDelta)
    else:
        made = FSM_NEW(ToolInputDelta)
    Py_INCREF(text)
    FSM_FILL(made, number, <PyObject*>text)
    return made
