# The engine: the table step, and the short cut from bytes to block.
#
# `Stepper` is the state of one stream as an index into FSM_NEXT, the table that spec/stream.yaml gives.
#
# `Shortcut` takes bare deltas. An event is appended without entering Python when all of this holds: the template or the
# scanner understood it completely; in the state it meets, the table says that this event is a bare append (FSM_HOT); an
# open block of its kind owns it. Who owns it is decided by the shared code: the accumulator's `owner` is asked once per
# (event, index) and the answer is kept until anything else happens (`leave`, `forget`). Whatever else an event may
# be, it becomes a frame and goes the slow way.
#
# Invariant: before Python code sees the blocks again, the accumulator has been told which block was written to last
# (`settle`): that is all that an append changes beside the buffer.

cdef enum:
    MAX_ROUTES = 8

ctypedef struct Route:      # 24 bytes, since every stream has MAX_ROUTES of them
    long index
    void* buffer            # borrowed from `blocks`, which holds the block
    int number              # of the block, for the caller's events
    signed char event
    signed char state       # the one in which the event is a bare append
    signed char announced   # whether the caller hears of it at all


@cython.final
cdef class Stepper(BaseStepper):
    """The state of one stream; see fsm.stepper.Stepper."""
    cdef object observed

    def __init__(self, observed=None):
        self.observed = observed

    cpdef fire(self, int event, int guard):
        """Move along the transition of `event` in the case `guard`."""
        cdef int to = FSM_NEXT[self.state][FSM_FIRST_COLUMN[event] + guard]
        if self.observed is not None:
            from fsm.stepper import trigger
            trigger(self.observed, event, guard)
        if to != FSM_STAY:
            self.state = to


@cython.final
cdef class Shortcut:
    """Appends the bare deltas of one stream.

    reader: knows the dialect, whose key paths are followed, and the open block that an event on an index belongs to (`owner`); takes
    what becomes a frame; acc: the accumulator, whose `out` is for the caller; deltas: as in Reconstructor; learn: whether
    templates are used.
    """
    cdef:
        Stepper stepper
        Meter meter
        Py_ssize_t limit
        int dialect
        bint learning, each, live
        Reader reader
        Accumulator acc
        list out, blocks
        Route routes[MAX_ROUTES]
        int used
        Recent recent           # the last numbered events, None where the wire does not number them
        Counts counts           # the last usage report
        Route* route            # the one that was appended to last, NULL for none
        bint unsettled          # the accumulator does not know that yet
        Template* template      # made when there is something to learn

    def __init__(self, Reader reader not None, Accumulator acc not None, str deltas not None, bint learn):
        self.reader = reader
        self.recent = reader.recent
        self.acc = acc
        self.dialect = acc.dialect["id"]
        self.stepper = acc.stepper
        self.meter = acc.meter
        self.limit = acc.limits.content_bytes
        self.out = acc.out
        self.learning = learn
        self.each = deltas == "each"
        self.live = deltas != "none"
        self.blocks = []

    def __dealloc__(self):
        if self.template is not NULL:
            PyMem_Free(self.template.bytes)
            PyMem_Free(self.template)

    # ------------------------------------------------------------ bytes to block

    cdef const char* run(self, const char* p, const char* end, Py_ssize_t most, Py_ssize_t* taken) except? NULL:
        """Tier 1: behind those of the events at p that match the template and were appended; `taken` is their number.

        An event of more than `most` bytes, without its blank line, is left.
        """
        cdef Template* t = self.template
        cdef fsm_target to
        cdef fsm_match m
        cdef char* begin
        cdef Py_ssize_t before, copied
        taken[0] = 0
        if t is NULL or not t.ready:
            return p
        to.most = most + 1 if t.bytes[0] == c'{' else most + 2  # bare data ends with its line
        to.once = self.each
        to.taken = 0
        while True:
            self.aim(t, &to)
            while True:
                begin, before = to.out, to.taken
                p = fsm_matched(&t.shape, p, end, &to, &m)
                if to.taken == before:
                    break
                self.land(t, &to, begin, before)
                if not self.each:
                    break
                self.tell()
                if t.shape.counting:
                    self.tell_usage()
            taken[0] = to.taken
            if m.behind is NULL:
                return p
            copied = -1 if m.copied is NULL else m.copied - to.out
            if t.shape.placing:
                if not self.append_placed(t.shape.place, t.event, m.text, m.text_end, m.flags, copied, p + t.shape.head, m.behind - t.shape.tail):
                    return p
            elif not self.append(t.event, m.index, m.text, m.text_end, m.flags, copied):
                return p
            if t.shape.counting:
                self.counts.take(m.counts, m.counts_end)
                if self.each:
                    self.tell_usage()
            p = m.behind
            to.taken += 1

    cdef inline void aim(self, Template* t, fsm_target* to) noexcept:
        """Most likely the text goes where the last one went: what that depends on is asked once for all events that do."""
        cdef Route* route = self.route
        to.out, to.room, to.straight, to.flags = NULL, NULL, False, 0
        if route is not NULL:
            to.out = (<Buffer>route.buffer).data + (<Buffer>route.buffer).size
            to.room = to.out + min((<Buffer>route.buffer).room - (<Buffer>route.buffer).size, self.limit - self.meter.used)
            to.straight = route.event == t.event and route.state == self.stepper.state
            to.index = route.index
        if t.shape.counting:
            to.known = self.counts.known
            to.known_end = to.known + self.counts.size
        if t.shape.place[SERIAL] >= 0:  # learned only where events are remembered
            to.top = self.recent.top

    cdef inline int land(self, const Template* t, const fsm_target* to, const char* begin, Py_ssize_t before) except -1:
        """Take what was copied behind `begin`, and what else a run of hits leaves; there were `before` hits before it."""
        cdef Py_ssize_t i
        (<Buffer>self.route.buffer).keep(to.out - begin, to.flags)
        if t.shape.counting:
            self.counts.take(to.known, to.known_end)
        if t.shape.place[SERIAL] >= 0:
            for i in range(max(before, to.taken - LAST), to.taken):
                self.recent.push(to.top, to.last[i % LAST], to.last_end[i % LAST])
        return 0

    cdef const char* scan_event(self, const char* event, const char* p, const char* end) except? NULL:
        """Tier 2: behind the event whose payload begins at p, its blank line included, if it was understood and appended, else NULL.

        So an event's end is found by the scanner, which has to go through it anyway.
        """
        cdef Scan s
        cdef const char* behind = scan_payload(&s, self.dialect, p, end)
        if behind is NULL or end - behind < 2 or behind[0] != c'\n' or behind[1] != c'\n':
            return NULL
        return behind + 2 if self.take(&s, event, behind + 2 - event) else NULL

    cdef bint scan_at(self, const char* event, Py_ssize_t whole, const char* p, const char* end) except -1:
        """Tier 2: whether the payload [p, end) of the event [event, event + whole) was understood and appended.

        With `whole` 0 there is nothing to learn from the event.
        """
        cdef Scan s
        return scan_payload(&s, self.dialect, p, end) == end and self.take(&s, event, whole)

    cdef bint take(self, Scan* s, const char* event, Py_ssize_t whole) except -1:
        """Whether what was scanned was appended."""
        if s.counts is not NULL and not self.counts_up(s.counts, s.counts_end):
            return False
        if not (self.append_placed(s.place, s.event, s.text, s.text_end, s.flags, -1, s.begin, s.end) if s.index < 0
                else self.append(s.event, s.index, s.text, s.text_end, s.flags, -1)):
            if s.counts is not NULL:
                self.counts.pass_on(s.counts, s.counts_end)
            return False
        if s.counts is not NULL:
            self.counts.take(s.counts, s.counts_end)
            if self.each:
                self.tell_usage()
        if self.learning and whole:
            if self.template is NULL:
                self.template = <Template*>PyMem_Calloc(1, sizeof(Template))
                if self.template is NULL:
                    raise MemoryError
            learn(self.template, s, event, whole)
        return True

    cdef bint counts_up(self, const char* p, const char* end) except -1:
        """Whether a usage report only says more of what the one before said; if not, the slow way takes it."""
        cdef Counts counts = self.counts
        if counts is None:
            self.counts = counts = Counts(self.acc)
        if counts.size and fsm_grown(p, end, counts.known, counts.known + counts.size) == end:
            return True
        counts.pass_on(p, end)
        return False

    cdef bint append_placed(self, const long* place, int event, const char* text, const char* end, int flags, Py_ssize_t copied,
                            const char* payload, const char* payload_end) except -1:
        """`append`, where the wire numbers its events, or addresses items and their parts.

        An event whose number is not the highest so far may be one just seen: Python compares it.
        """
        cdef long index = fsm_index(place)
        if place[SERIAL] < 0:
            return self.append(event, index, text, end, flags, copied)
        if self.recent is None or place[SERIAL] <= self.recent.top or not self.append(event, index, text, end, flags, copied):
            return False
        self.recent.push(place[SERIAL], payload, payload_end)
        return True

    cdef inline bint may(self, Route* route, Py_ssize_t n) noexcept:
        """Whether n bytes may be appended where the last ones were."""
        return self.stepper.state == route.state and self.meter.used + n <= self.limit

    cdef bint append(self, int event, long index, const char* text, const char* end, int flags, Py_ssize_t copied) except -1:
        """Add the text to the block that owns it; False where that takes a decision.

        `copied`: so many bytes of it stand behind what the last route's buffer holds already (text.h), or -1.
        """
        cdef Route* route = self.route
        if route is NULL or route.index != index or route.event != event:
            if self.meter.used + (end - text) > self.limit or self.stepper.state != FSM_HOT[event] or not self.turn_to(event, index):
                return False
            route = self.route
            copied = -1  # to another block
        elif not self.may(route, end - text):
            return False
        if copied >= 0:
            (<Buffer>route.buffer).keep(copied, flags)
        else:
            (<Buffer>route.buffer).put(text, end, flags)
        if self.each:
            self.tell()
        return True

    cdef bint turn_to(self, int event, long index) except -1:
        """Make the owner of (event, index) the last route; False if there is none."""
        cdef int i
        cdef Block block
        for i in range(self.used):
            if self.routes[i].event == event and self.routes[i].index == index:
                break
        else:
            self.settle()
            if self.live:
                self.give()
            block = self.reader.owner(event, None if index < 0 else index)
            if block is None:
                return False
            if self.used == MAX_ROUTES:
                self.clear()
            i = self.used
            self.blocks.append(block)
            self.routes[i].event = event
            self.routes[i].state = FSM_HOT[event]
            self.routes[i].index = index
            self.routes[i].number = block.number
            self.acc.touch(block)  # text and thinking are announced by their first addition
            self.routes[i].announced = block.announced
            self.routes[i].buffer = <void*><Buffer?>block.buffer
            (<Buffer>block.buffer).settle()
            self.used += 1
            self.route = &self.routes[i]
            return True
        if self.live:  # what was added before is told before
            self.settle()
            self.give()
            self.acc.touch(self.blocks[i])
        else:
            self.unsettled = True
        self.route = &self.routes[i]
        return True

    # ------------------------------------------------------------ keeping Python informed

    cdef int settle(self) except -1:
        """Tell the accumulator which block was written to last."""
        if self.unsettled:
            self.unsettled = False
            self.acc.touch(self.blocks[self.route - self.routes])
        return 0

    cdef int give(self) except -1:
        """Let the accumulator know of a usage report that is kept back."""
        if self.counts is not None:
            self.counts.give()
        return 0

    cdef inline int rest(self) except -1:
        """The window is used up: what the caller is to hear of is passed on."""
        self.settle()
        return 0 if self.counts is None or not self.live else self.rest_counts()

    cdef int rest_counts(self) except -1:
        if self.counts.pending and not self.counts.told:
            self.tell()
            self.acc._counted = False  # an earlier one of this feed says nothing beside it
            self.tell_usage()
        return 0

    cdef int leave(self) except -1:
        """A frame goes the slow way: whatever is known about owners may change."""
        self.settle()
        if self.counts is not None:
            self.counts.leave()
        self.clear()
        return 0

    cdef int clear(self) except -1:
        if self.used:
            self.used = 0
            self.route = NULL
            del self.blocks[:]
        return 0

    cpdef forget(self):
        """Blocks may have changed."""
        self.leave()

    cdef int tell_usage(self) except -1:
        """Tell the caller of the usage report that is kept back."""
        self.out.append(self.counts.event())
        return 0

    cdef int tell(self) except -1:
        """Tell the caller what was added to the block that was written to last."""
        cdef Route* route
        cdef Buffer buffer
        cdef str text
        route = self.route
        if route is NULL or not route.announced:
            return 0
        buffer = <Buffer>route.buffer
        text = buffer.unseen()
        if text:
            self.out.append(delta_event(route.event, route.number, text))
            if route.event == FSM_EVENT_TOOL_INPUT_DELTA and buffer.follow().spans:
                self.acc.fields(self.blocks[route - self.routes])
        return 0
