# The events that are made per delta (fsm/_events.py), made by the engine itself, without a call.
# (Freelists do not work below a common base class; the allocator of small objects is as quick.)

from fsm._events cimport DeltaEvent, TextDelta, ThinkingDelta, ToolInputDelta


cdef DeltaEvent delta_event(int event, Py_ssize_t number, str text):
    """The caller's event for an append."""
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
