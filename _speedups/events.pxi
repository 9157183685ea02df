# The events that are made per delta (fsm/_events.py), made by the engine itself, without a call.
#
# The idea: the object is taken from the allocator as it is and its two fields are set, once each; going through tp_new
# means to clear them, to fill them with defaults and to take those out again. (Freelists do not work below a common base
# class; the allocator of small objects is as quick.)
#
# Assumption: DeltaEvent has exactly the fields that FSM_FILL sets, none of its subclasses has more, and no cycle can go
# through one, so the garbage collector knows nothing of them. The last is checked where it is compiled.

from cpython.ref cimport Py_INCREF, Py_XDECREF, PyObject

from fsm._events cimport DeltaEvent, TextDelta, ThinkingDelta, ToolInputDelta

cdef extern from *:
    """
    #define FSM_NEW(type) _PyObject_New((PyTypeObject *)(type))
    #define FSM_FILL(made, number, string) ((made)->index = (number), (made)->text = (string))
    """
    DeltaEvent FSM_NEW(type)
    void FSM_FILL(DeltaEvent, Py_ssize_t, PyObject*)


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
