# The last numbered events, the compiled twin of fsm/dialects/repeats.py (read that first). The short cut remembers what it takes
# here too, so that there is one memory for both ways.

cdef enum:
    RECENT_LONGEST = 16384


@cython.final
cdef class Recent:
    """See fsm.dialects.repeats.Recent."""
    cdef readonly long long top
    cdef char* data[LAST]
    cdef Py_ssize_t size[LAST]
    cdef Py_ssize_t room[LAST]
    cdef int next

    def __dealloc__(self):
        cdef int i
        for i in range(LAST):
            PyMem_Free(self.data[i])

    def again(self, number, bytes data not None):
        """Whether this is an event just seen; if not, it is remembered."""
        cdef const char* p = <const char*>data
        cdef Py_ssize_t n = len(data)
        cdef int i
        if 0 < n <= RECENT_LONGEST:
            for i in range(LAST):  # the number is in the payload: equal bytes are equal numbers
                if self.size[i] == n and memcmp(self.data[i], p, n) == 0:
                    return True
        self.push(<long long>min(number, 1 << 62), p, p + n)
        return False

    cdef int push(self, long long number, const char* p, const char* end) except -1:
        """Remember the payload [p, end)."""
        cdef Py_ssize_t n = end - p
        cdef int i = self.next
        if n > RECENT_LONGEST:
            n = 0
        copy(&self.data[i], &self.room[i], p, n)
        self.size[i] = n
        self.next = (i + 1) % LAST
        if number > self.top:
            self.top = number
        return 0
