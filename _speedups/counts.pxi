# Usage that counts up: token counts in every event of a stream, taken without Python.
#
# The idea: some upstreams repeat the usage in each event, and between two deltas only its numbers grow. Then the last
# report says everything that those before it said, and one is enough: it is kept as bytes and given to the shared code
# (`counted`) before that sees the next event, or when somebody asks.
#
# Why it is sound: within a message the latest count that is not zero holds, per field (R-77). A report whose bytes are
# those of the one before, but for whole numbers that did not fall and are not zero, replaces all of its counts. The
# first report, and every one that differs in anything else, goes the slow way and is only remembered. The caller is told
# of each report (deltas="each") or of the last one of a feed, by an event that reads it when it is asked.
#
# Invariants: `known` are the bytes of the report that was taken last, whoever took it, or nothing; they are JSON. `before` are
# the counts that the shared code has, if somebody was told of what comes on top of them.

from fsm.model.events cimport usage_updated
from fsm.model.usage cimport forked

cdef extern from "lexer.h":
    const char* fsm_grown(const char*, const char*, const char*, const char*) nogil

cdef enum:
    MAX_COUNTS = 4096      # bytes of a report; a longer one goes the slow way


@cython.final
cdef class Counts:
    """The last usage report of a stream; `acc.counted(bytes, told)` takes one."""
    cdef:
        Accumulator acc
        char* known
        Py_ssize_t size, room
        bint pending        # `counted` was not told of it yet
        bint told           # the caller was
        bint fresh          # the slow way takes it right now
        object before, table

    def __cinit__(self, Accumulator acc):
        self.acc = acc

    def __dealloc__(self):
        PyMem_Free(self.known)

    cdef int keep(self, const char* p, Py_ssize_t n) except -1:
        copy(&self.known, &self.room, p, n)
        self.size = n
        return 0

    cdef int take(self, const char* p, const char* end) except -1:
        """Take a report that `fsm_grown` has found to say more of the same."""
        self.keep(p, end - p)
        self.pending = True
        self.told = False
        return 0

    cdef object event(self):
        """What the caller is told of the last report, which is pending."""
        if self.before is None:
            self.before, self.table = forked(self.acc.usage), self.acc.usage_table
        self.told = True
        return usage_updated(self.before, self.known[:self.size], self.table)

    cdef int pass_on(self, const char* p, const char* end) except -1:
        """The slow way takes this report now; the next is compared with it."""
        self.give()
        if end - p <= MAX_COUNTS:
            self.keep(p, end - p)
            self.fresh = True
        return 0

    cdef int give(self) except -1:
        """Let the shared code know."""
        self.before = None
        if self.pending:
            self.pending = False
            self.acc.counted(self.known[:self.size], self.told)
        return 0

    cdef int leave(self) except -1:
        """An event goes the slow way. Unless its own report was passed on, what it counts is not known here."""
        self.give()
        if not self.fresh:
            self.size = 0
        self.fresh = False
        return 0
