# `Reconstructor.feed` where nothing unusual is to be expected.
#
# The idea: a farm feeds thousands of small chunks that hold bare deltas and nothing else. For them no Python code runs
# at all. Anything unusual (the first bytes, a clock to read, an engine in Python, another type than bytes, a stream that
# has ended) is for `Reconstructor._feed`, which is what `feed` does as long as it has no framing that is bound to a short cut.

from cpython.ref cimport Py_XDECREF

cdef extern from "Python.h":
    Py_ssize_t Py_REFCNT(PyObject*)
    Py_ssize_t PyList_GET_SIZE(PyObject*)

cdef PyObject* _spare = NULL    # what the last feed returned that had nothing to tell; a reference is held


cdef list feed_bound(SSEParser framing, bytes data):
    """The loop of `Reconstructor._feed`, with the deltas taken where they lie."""
    cdef Py_ssize_t size = len(data), taken = 0
    if framing.carry.size == 0 and not framing.exact and not framing.overflowed:  # at an event boundary
        taken = framing.hits(<const char*>data, <const char*>data + size)
        if taken == size:
            framing.win_at += size
            framing.hot.rest()
            return told(framing.hot)
    return feed_rest(framing, data, taken)


cdef list feed_rest(SSEParser framing, bytes data, Py_ssize_t taken):
    """The same behind the first bytes, which were taken already."""
    cdef Shortcut hot = framing.hot
    cdef object frame
    cdef bint slow = False
    framing.begin(data)
    framing.win_pos += taken
    if framing.exact and framing.carry.size == 0:
        framing.carry.at = framing.win_at + taken
    while True:
        frame = framing.advance()
        if frame is None:
            break
        framing.events += 1
        hot.leave()
        slow = True
        hot.reader.take(frame, framing.events)
    framing.finish()
    return hot.acc.flush() if slow and hot.live else told(hot)


cdef list told(Shortcut hot):
    """The events of a feed in which nothing went the slow way: all that is left to tell is the last block's text, and the usage."""
    cdef list events, out = hot.out
    if hot.live and not hot.each:
        hot.tell()
    if not len(out):
        return empty()
    events = out[:]
    out.clear()
    return events


cdef list empty():
    """An empty list for the caller: the one before, unless somebody still has it or wrote into it."""
    global _spare
    cdef list made
    if _spare is NULL or Py_REFCNT(_spare) > 1 or PyList_GET_SIZE(_spare):
        made = []
        Py_INCREF(made)
        Py_XDECREF(_spare)
        _spare = <PyObject*>made
    return <list>_spare
