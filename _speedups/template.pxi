# The learned template (tier 1): the shape of the stream's last bare delta, as literal bytes with typed holes.
#
# The idea: within a stream, events differ in very few places. Once the scanner has understood two events of one shape,
# the next is matched by comparing the bytes that may not differ and lexing the values that may: no keys are looked up.
#
# Why it is sound: the scanner is deterministic, so equal bytes from an event boundary on lead it to the same place, and
# a hole is exactly one complete value, lexed by the scanner's own lexer. The conditions (FASTPATH.md, each with a test
# in tests/test_template.py that fails when it is broken):
#   1. matching begins at an event boundary with nothing carried over; the literals run from the event's first byte
#      through its blank line;
#   2. holes stand at values only: the captured string and, once seen to vary, the index, ignored scalars and the
#      padding before the last brace. Keys, discriminators and fields that must be empty are literal;
#   3. string holes run the full lexer;
#   4. nothing is written before the last literal has matched;
#   5. whoever appends checks the block, its kind and the table's cell (engine.pxi): for every hit, or once for a run of
#      hits between which nothing else happens;
#   6. only what the scanner fully understood is learned.
#
# What is learned is a shape; match.h holds the events against it.

cdef extern from "match.h":
    ctypedef struct fsm_segment:
        const char* literal
        int size, hole
    ctypedef struct fsm_shape:
        long index
        bint placing, counting
        long* place
        fsm_place* placed
        int head, tail
        fsm_segment* segments
    ctypedef struct fsm_target:
        char* out
        const char* room
        bint straight, once
        long index
        Py_ssize_t most
        long long top
        const char* known
        const char* known_end
        Py_ssize_t taken
        int flags
        const char** last
        const char** last_end
    ctypedef struct fsm_match:
        const char* behind
        const char* text
        const char* text_end
        int flags
        char* copied
        long index
        const char* counts
        const char* counts_end
    long fsm_index(const long*) nogil
    const char* fsm_matched(const fsm_shape*, const char*, const char*, fsm_target*, fsm_match*) nogil

cdef enum:
    MAX_TEMPLATE = 8192     # bytes; a longer event is not worth remembering, and places in it fit into a short

ctypedef struct Template:
    bint ready
    fsm_shape shape
    int event               # of the captured string
    unsigned int varies     # holes (by place in the scanner's list) that were seen to vary
    # the event before, as it was scanned
    char* bytes
    Py_ssize_t room
    int size
    int holes_used
    short hole_start[MAX_HOLES]
    short hole_end[MAX_HOLES]
    signed char hole_kind[MAX_HOLES]


cdef bint same_shape(Template* t, Scan* s, const char* event, int size) noexcept nogil:
    """Whether the scanned event has the holes of the one before and equal bytes between them."""
    cdef int i, start, end, literal, t_at = 0, s_at = 0
    if t.holes_used != s.holes_used or t.size == 0:
        return False
    for i in range(s.holes_used + 1):
        start = <int>(s.holes[i].start - event) if i < s.holes_used else size
        literal = start - s_at
        if (t.hole_start[i] if i < t.holes_used else t.size) - t_at != literal:
            return False
        if memcmp(t.bytes + t_at, event + s_at, literal) != 0:
            return False
        if i < s.holes_used:
            if t.hole_kind[i] != <int>s.holes[i].kind:
                return False
            t_at = t.hole_end[i]
            s_at = <int>(s.holes[i].end - event)
    return True


cdef int learn(Template* t, Scan* s, const char* event, Py_ssize_t whole) except -1:
    """Remember the scanned event [event, event + whole); ready once two of one shape came in a row."""
    cdef int i, start, which, size = <int>whole
    cdef bint same
    cdef fsm_segment* segment
    t.ready = False
    if whole > MAX_TEMPLATE:
        t.size = 0
        return 0
    same = same_shape(t, s, event, size)
    if same:
        for i in range(s.holes_used):
            start = t.hole_start[i]
            if (t.hole_end[i] - start != s.holes[i].end - s.holes[i].start
                    or memcmp(t.bytes + start, s.holes[i].start, t.hole_end[i] - start) != 0):
                t.varies |= 1U << i
    else:
        t.varies = 0
    copy(&t.bytes, &t.room, event, size)
    t.size = size
    t.holes_used = s.holes_used
    for i in range(s.holes_used):
        t.hole_kind[i] = s.holes[i].kind
        t.hole_start[i] = <int>(s.holes[i].start - event)
        t.hole_end[i] = <int>(s.holes[i].end - event)
    if not same:
        return 0
    t.event = s.event
    t.shape.index = s.index
    t.shape.counting = s.counts is not NULL
    t.shape.placing = False
    for i in range(PLACES):
        t.shape.place[i] = s.place[i]
        t.shape.placing |= s.place[i] >= 0
    t.shape.head, t.shape.tail = <int>(s.begin - event), <int>(event + whole - s.end)
    segment = t.shape.segments
    start = 0
    for i in range(s.holes_used):
        if s.holes[i].kind != HOLE_TEXT and s.holes[i].kind != HOLE_COUNTS and not t.varies >> i & 1:
            continue  # it never varied: literal
        segment.literal, segment.size, segment.hole = t.bytes + start, t.hole_start[i] - start, s.holes[i].kind
        if s.holes[i].kind == HOLE_PLACED:
            which = <int>(s.holes[i].place.value - s.place)
            segment.hole += which
            t.shape.placed[which] = s.holes[i].place
            t.shape.placed[which].value = &t.shape.place[which]
        segment += 1
        start = t.hole_end[i]
    segment.literal, segment.size, segment.hole = t.bytes + start, size - start, HOLE_NONE
    t.ready = True
    return 0
