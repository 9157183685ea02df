# `Reconstructor.feed` for the compiled engine: the twin of fsm.sse.Feeder.
#
# The idea: a farm feeds thousands of small chunks that hold bare deltas and nothing else. For them no Python code runs
# at all: this base class of `Reconstructor` does the loop of `Reconstructor._feed` in C. Anything unusual (the first
# bytes, a clock to read, an engine in Python, another type than bytes, a stream that has ended) goes to `_feed`.
#
# It is armed by `_arm` once nothing unusual is to be expected, and disarmed by `end`.

from cpython.ref cimport Py_INCREF, Py_XDECREF, PyObject

cdef extern from "Python.h":
    Py_ssize_t Py_REFCNT(PyObject*)
    Py_ssize_t PyList_GET_SIZE(PyObject*)

cdef PyObject* _spare = NULL    # what the last feed returned that had nothing to tell; a reference is held


cdef class Feeder:
    """Base of Reconstructor: `feed`, and the two counters that every feed moves."""
    cdef SSEParser framing
    cdef object take
    cdef list out
    cdef readonly Py_ssize_t _chunks, _bytes

    def _arm(self, SSEParser framing, take, list out):
        """Take the loop over: `take(frame, number)` gets what needs Python, `out` holds events for the caller."""
        if framing is not None and framing.hot is None:
            raise TypeError("only a framing that is bound to a short cut can be armed")
        self.framing = framing
        self.take = take
        self.out = out

    def _count(self, Py_ssize_t size):
        self._chunks += 1
        self._bytes += size

    @cython.binding(False)
    def feed(self, data, /):
        """Take the next bytes of the body, cut anywhere; returns what they tell, in order.

        Raises UsageError after `end()` and for anything that is not bytes.
        """
        cdef SSEParser framing = self.framing
        cdef object frame
        cdef bint slow = False
        cdef Py_ssize_t size, taken = 0
        if framing is None or type(data) is not bytes:
            return self._feed(data)
        size = len(<bytes>data)
        self._chunks += 1
        self._bytes += size
        if framing.carry_len == 0 and not framing.exact and not framing.overflowed:  # at an event boundary
            taken = framing.hits(<const char*><bytes>data, <const char*><bytes>data + size)
            if taken == size:
                framing.win_at += size
                framing.hot.rest()
                return self.told(framing.hot)
        framing.begin(data)
        framing.win_pos += taken
        if framing.exact and framing.carry_len == 0:
            framing.carry_at = framing.win_at + taken
        while True:
            frame = framing.advance()
            if frame is None:
                break
            framing.events += 1
            framing.hot.leave()
            slow = True
            self.take(frame, framing.events)
        framing.finish()
        return self._told() if slow and framing.hot.live else self.told(framing.hot)

    cdef object told(self, Shortcut hot):
        """The events of a feed in which nothing went the slow way: all that is left to tell is the last block's text, and the usage."""
        if hot.given:
            hot.given = False
            return self._told()
        if hot.live and not hot.each:
            hot.tell()
        if not len(self.out):
            return empty()
        events = self.out[:]
        self.out.clear()
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
