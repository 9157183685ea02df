# `Reconstructor.feed` for the compiled engine: the twin of fsm.sse.Feeder.
#
# The idea: a farm feeds thousands of small chunks that hold bare deltas and nothing else. For them no Python code runs
# at all: this base class of `Reconstructor` does the loop of `Reconstructor._feed` in C. Anything unusual (the first
# bytes, a clock to read, an engine in Python, another type than bytes, a stream that has ended) goes to `_feed`.
#
# It is armed by `_arm` once nothing unusual is to be expected, and disarmed by `end`.

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
    def feed(self, data):
        """Take the next bytes of the body, cut anywhere; returns what they tell, in order.

        Raises UsageError after `end()` and for anything that is not bytes.
        """
        cdef SSEParser framing = self.framing
        cdef object frame
        cdef bint slow = False
        if framing is None or type(data) is not bytes:
            return self._feed(data)
        self._chunks += 1
        self._bytes += len(<bytes>data)
        framing.begin(data)
        while True:
            frame = framing.advance()
            if frame is None:
                break
            framing.events += 1
            framing.hot.leave()
            slow = True
            self.take(frame, framing.events)
        framing.finish()
        if len(self.out) or (slow and framing.hot.live):
            return self._told()
        if not framing.hot.live:
            return []
        framing.hot.tell()
        return self.take_out()

    cdef list take_out(self):
        cdef list out = self.out[:]
        self.out.clear()
        return out
