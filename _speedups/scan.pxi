# The on-demand scanner (tier 2): one pass over an event's JSON along the key paths that spec/dialects/*.yaml declares
# hot. No Python object is made and nothing is written: the result says which event it is, its index, and where its
# text stands; whoever asked decides what to do with it.
#
# It understands an event or gives up, and giving up is always right: the slow path is the very code of the pure engine.
# It gives up on an undeclared, escaped or duplicate key in a tracked object, on two captures, on a discriminator of an
# unknown value, on unusual numbers, on depth over 30, and on any byte that is no strict JSON (fsm/lexer.h).
#
# No dialect's name is in here: tables only (FSM_NODES, FSM_KEYS, FSM_WORDS, FSM_ROOTS in _tables.pxi).
#
# Roles of a key (the value's syntax in spec/dialects/*.yaml):
#   skip      any value; nobody reads it                         empty     must say nothing: null, "", [], {}
#   zero      must be 0                                          literal   must be one of these strings, and be there
#   kind      a string that names the event; must be there       capture   the text of this event, or of the event that `kind` names
#   index     the block's index                                  serial    the wire's own number of the event (fsm/dialects/repeats.py)
#   address   the item's index times this; must be there         part      added to it: [first, how many]
# An object is followed, "[0]" is an array of one object or none, "list" one that must be there.
#
# Whole events of other kinds are scanned the same way along their shapes (frames.pxi). There are no captures there; instead
#   string    a string or null                                   number    a whole number; must be there
#   object    an object that is not empty, or null
# note where a value stands that the dialect is given.
#
# While scanning, every value that a template may let vary is noted as a hole (template.pxi).

cdef extern from "lexer.h":
    const char* fsm_string(const char*, const char*, int*) nogil
    const char* fsm_number(const char*, const char*) nogil
    const char* fsm_small(const char*, const char*, long*) nogil
    ctypedef struct fsm_place:
        int first, count
        long* value
    const char* fsm_placed(const char*, const char*, const fsm_place*) nogil
    const char* fsm_space(const char*, const char*) nogil
    bint fsm_same(const char*, const char*, size_t) nogil

cdef extern from "match.h":
    ctypedef enum HoleKind "fsm_hole_kind":
        HOLE_NONE "FSM_HOLE_NONE"
        HOLE_TEXT "FSM_HOLE_TEXT"
        HOLE_INDEX "FSM_HOLE_INDEX"
        HOLE_STRING "FSM_HOLE_STRING"
        HOLE_NUMBER "FSM_HOLE_NUMBER"
        HOLE_COUNTS "FSM_HOLE_COUNTS"
        HOLE_SPACE "FSM_HOLE_SPACE"
        HOLE_PLACED "FSM_HOLE_PLACED"
    enum:
        MAX_HOLES "FSM_HOLES"
        LAST "FSM_LAST"
        SERIAL "FSM_SERIAL"
        ADDRESS "FSM_ADDRESS"
        PART "FSM_PART"
        PLACES "FSM_PLACES"

cdef extern from *:
    """
    static unsigned char fsm_guess[sizeof(FSM_KEYS) / sizeof(FSM_KEYS[0]) + sizeof(FSM_NODES) / sizeof(FSM_NODES[0])];
    static unsigned char *const fsm_guess_first = fsm_guess + sizeof(FSM_KEYS) / sizeof(FSM_KEYS[0]);
    """
    # Which key of its object came behind each key the last time, and first in each object: it is compared first, and
    # decides nothing. Streams share it.
    unsigned char* fsm_guess
    unsigned char* fsm_guess_first

cdef enum:
    MAX_DEPTH = 30
    MAX_GIVEN = 16
    MAX_GIVEN_SIZE = 4096  # of an object; a larger one is read with the rest of its event
    ANY_KIND = -2          # as the event of a captured string: what the KIND key demands (spec/emit.py)

ctypedef struct Hole:
    HoleKind kind
    const char* start
    const char* end
    fsm_place place        # of a placed number, with its value's slot in the scan

ctypedef struct Given:     # a value that a shape gives
    int role
    int flags              # of a string, as in Scan
    long number
    const char* start      # of an object, or of what stands between a string's quotes; NULL where there is nothing
    const char* end

ctypedef struct Scan:
    const char* begin      # of the payload
    const char* end
    int event              # of the captured string, -1 without one
    int demanded           # the event that a KIND key demands, -1 without one
    int flagged            # the event that a FLAG key makes of the captured one, -1 without one
    long index             # -1 without one
    long place[PLACES]     # -1 without one
    const char* text       # the captured string, between its quotes
    const char* text_end
    int flags              # FSM_ESCAPED, FSM_WIDE of the captured string
    const char* counts     # a usage report, NULL without one
    const char* counts_end
    Given* given           # a slot for each value that the shape gives
    int holes_used
    Hole holes[MAX_HOLES]


cdef inline bint note(Scan* s, HoleKind kind, const char* start, const char* end) noexcept nogil:
    if s.holes_used == MAX_HOLES:
        return False
    s.holes[s.holes_used].kind = kind
    s.holes[s.holes_used].start = start
    s.holes[s.holes_used].end = end
    s.holes_used += 1
    return True


cdef const char* scan_payload(Scan* s, int dialect, const char* p, const char* end) noexcept nogil:
    """Behind the payload at p and the spaces after it, if it is a bare delta that was understood, else NULL; then `s` says which."""
    cdef int root = FSM_ROOTS[dialect]
    s.begin = p
    s.end = end
    s.event = s.demanded = s.flagged = -1
    s.index = s.place[SERIAL] = s.place[ADDRESS] = s.place[PART] = -1
    s.flags = 0
    s.counts = s.counts_end = NULL
    s.given = NULL
    s.holes_used = 0
    if root < 0:
        return NULL
    p = scan_object(s, root, p, 0)
    if s.event == ANY_KIND:
        s.event = s.demanded
    if p is NULL or s.event < 0 or (s.demanded >= 0 and s.demanded != s.event):
        return NULL
    if s.flagged >= 0:
        s.event = s.flagged
    s.end = fsm_space(p, end)
    return s.end


cdef bint scan_frame(Scan* s, int root, const char* p, const char* end) noexcept nogil:
    """Whether [p, end) has the shape that begins at the node `root`; then `s.given` has what it gives."""
    s.end = end
    s.event = -1
    s.holes_used = 0
    p = scan_object(s, root, p, 0)
    return p is not NULL and fsm_space(p, end) == end


cdef const char* scan_object(Scan* s, int node, const char* p, int depth) noexcept nogil:
    """Behind the object that begins at p, or NULL to give up."""
    cdef const char* end = s.end
    cdef const char* name
    cdef const fsm_key* key
    cdef unsigned char* guess = &fsm_guess_first[node]
    cdef unsigned long long seen = 0
    cdef int i, first = FSM_NODES[node].first, count = FSM_NODES[node].count
    cdef Py_ssize_t size
    if p >= end or p[0] != c'{' or depth > MAX_DEPTH:
        return NULL
    p = fsm_space(p + 1, end)
    if p < end and p[0] == c'}':
        return p + 1 if FSM_NODES[node].needed == 0 and s.given is not NULL else NULL  # an empty object is in no delta
    while True:
        if p >= end or p[0] != c'"':
            return NULL
        i = guess[0]
        key = &FSM_KEYS[first + i]
        if end - p >= key.size + 3 and fsm_same(key.whole, p, key.size + 3):
            p += key.size + 3
        else:
            name = p + 1
            p = <const char*>memchr(name, c'"', end - name)
            if p is NULL:
                return NULL
            size = p - name
            for i in range(count):
                key = &FSM_KEYS[first + i]
                if key.size == size and fsm_same(key.whole + 1, name, size):
                    break
            else:
                return NULL  # an escaped key equals none
            p = fsm_space(p + 1, end)
            if p >= end or p[0] != c':':
                return NULL
            p += 1
            guess[0] = i
        guess = &fsm_guess[first + i]
        if seen >> i & 1:
            return NULL
        seen |= 1ULL << i
        p = scan_value(s, key, fsm_space(p, end), depth)
        if p is NULL:
            return NULL
        if end - p >= 2 and p[0] == c',' and p[1] == c'"':  # as JSON mostly has it
            p += 1
            continue
        name = p
        p = fsm_space(p, end)
        if p >= end:
            return NULL
        if p[0] == c',':
            p = fsm_space(p + 1, end)
        elif p[0] == c'}':
            if depth == 0 and not note(s, HOLE_SPACE, name, p):
                return NULL
            break
        else:
            return NULL
    return p + 1 if FSM_NODES[node].needed & ~seen == 0 else NULL


cdef const char* scan_value(Scan* s, const fsm_key* key, const char* p, int depth) noexcept nogil:
    """Behind the value at p, taken as its key's role says, or NULL to give up."""
    cdef const char* end = s.end
    cdef const char* q
    cdef int role = key.role, flags = 0, i
    cdef fsm_place place
    if p >= end:
        return NULL
    if role == FSM_ROLE_SKIP:
        return skip_value(s, p, depth, True)
    if role == FSM_ROLE_OBJECT:
        return scan_object(s, key.arg, p, depth + 1)
    if role == FSM_ROLE_CAPTURE:
        if p[0] != c'"':
            return nothing(s, p)
        q = fsm_string(p + 1, end, &flags)
        if q is NULL or q == p + 1:
            return q + 1 if q is not NULL else NULL  # an empty string says nothing
        if s.event != -1 or not note(s, HOLE_TEXT, p + 1, q):
            return NULL
        s.event, s.flags, s.text, s.text_end = key.arg, flags, p + 1, q
        return q + 1
    if role == FSM_ROLE_INDEX:
        if s.index >= 0:
            return NULL
        q = fsm_small(p, end, &s.index)
        return q if q is not NULL and note(s, HOLE_INDEX, p, q) else NULL
    if role == FSM_ROLE_ADDRESS or role == FSM_ROLE_PART or role == FSM_ROLE_SERIAL:
        i = role - FSM_ROLE_SERIAL
        if s.place[i] >= 0:
            return NULL
        place.first, place.count, place.value = key.arg, key.count, &s.place[i]
        q = fsm_placed(p, end, &place)
        if q is NULL or not note(s, HOLE_PLACED, p, q):
            return NULL
        s.holes[s.holes_used - 1].place = place
        return q
    if role == FSM_ROLE_LITERAL or role == FSM_ROLE_KIND:
        for i in range(key.arg, key.arg + key.count):
            if end - p >= FSM_WORDS[i].size + 2 and fsm_same(FSM_WORDS[i].whole, p, FSM_WORDS[i].size + 2):
                if role == FSM_ROLE_KIND:
                    s.demanded = FSM_WORDS[i].event
                return p + FSM_WORDS[i].size + 2
        return NULL
    if role == FSM_ROLE_COUNTS:
        return counts_at(s, p, depth)
    if role == FSM_ROLE_EMPTY:
        return nothing(s, p)
    if role == FSM_ROLE_ZERO:
        return p + 1 if p[0] == c'0' and p + 1 < end and (p[1] == c',' or p[1] == c'}') else NULL
    if role == FSM_ROLE_FLAG and end - p >= 4 and memcmp(p, b"true", 4) == 0:
        s.flagged = key.arg
        return p + 4
    if role == FSM_ROLE_FALSE or role == FSM_ROLE_FLAG:
        return p + 5 if end - p >= 5 and memcmp(p, b"false", 5) == 0 else nothing(s, p)
    if role >= FSM_ROLE_GIVE_STRING:
        return give(s, key, p, depth)
    if p[0] != c'[':  # FSM_ROLE_ONLY, FSM_ROLE_LIST: an array of one object, or nothing
        return nothing(s, p) if role == FSM_ROLE_ONLY else NULL
    q = fsm_space(p + 1, end)
    if q < end and q[0] == c']':
        return q + 1
    q = scan_object(s, key.arg, q, depth + 1)
    if q is NULL:
        return NULL
    q = fsm_space(q, end)
    return q + 1 if q < end and q[0] == c']' else NULL


cdef const char* give(Scan* s, const fsm_key* key, const char* p, int depth) noexcept nogil:
    """Behind the value at p, noted as what the shape gives under this key."""
    cdef const char* end = s.end
    cdef Given* g = &s.given[key.arg]
    g.role = key.role
    if g.role == FSM_ROLE_GIVE_NUMBER:
        g.start = p
        return fsm_small(p, end, &g.number)
    if end - p >= 4 and memcmp(p, b"null", 4) == 0:
        return p + 4
    if g.role == FSM_ROLE_GIVE_STRING:
        if p[0] != c'"':
            return NULL
        g.flags = 0
        g.start = p + 1
        g.end = fsm_string(p + 1, end, &g.flags)
        return g.end + 1 if g.end is not NULL else NULL
    if p[0] != c'{':
        return NULL
    g.end = fsm_space(p + 1, end)
    if g.end < end and g.end[0] == c'}':
        return NULL  # what an empty one says is left to Python, also with spaces in it
    g.start = p
    g.end = skip_value(s, p, depth, False)
    return g.end if g.end - p <= MAX_GIVEN_SIZE else NULL


cdef const char* counts_at(Scan* s, const char* p, int depth) noexcept nogil:
    """Behind the usage report at p; one without any number says nothing. Its members are walked only once it was lexed whole."""
    cdef const char* end = s.end
    cdef const char* q
    cdef const char* begin = p
    cdef bint number = False
    cdef int flags = 0
    if p[0] != c'{' or (p + 1 < end and p[1] == c'}'):
        return nothing(s, p)
    q = skip_value(s, p, depth, False)
    if q is NULL:
        return NULL
    p = fsm_space(p + 1, end)
    while p < q and p[0] == c'"':
        p = fsm_space(fsm_string(p + 1, q, &flags) + 1, q)
        p = fsm_space(p + 1, q)
        number = number or p[0] == c'-' or (p[0] >= c'0' and p[0] <= c'9')
        p = fsm_space(skip_value(s, p, depth + 1, False), q)
        if p[0] == c',':
            p = fsm_space(p + 1, q)
    if number:
        if not note(s, HOLE_COUNTS, begin, q):
            return NULL
        s.counts, s.counts_end = begin, q
    return q


cdef const char* nothing(Scan* s, const char* p) noexcept nogil:
    """Behind null, "", [] or {}, which all say nothing (R-49); NULL for anything else."""
    cdef const char* end = s.end
    if end - p >= 4 and memcmp(p, b"null", 4) == 0:
        return p + 4
    if end - p >= 2 and (memcmp(p, b'""', 2) == 0 or memcmp(p, b"[]", 2) == 0 or memcmp(p, b"{}", 2) == 0):
        return p + 2
    return NULL


cdef const char* skip_value(Scan* s, const char* p, int depth, bint top) noexcept nogil:
    """Behind any strict JSON value; a scalar directly under a declared key is noted as a hole."""
    cdef const char* end = s.end
    cdef const char* q
    cdef char close
    cdef int flags = 0
    if p >= end or depth > MAX_DEPTH:
        return NULL
    if p[0] == c'"':
        q = fsm_string(p + 1, end, &flags)
        if q is NULL or (top and not note(s, HOLE_STRING, p + 1, q)):
            return NULL
        return q + 1
    if p[0] == c'{' or p[0] == c'[':
        close = c'}' if p[0] == c'{' else c']'
        p = fsm_space(p + 1, end)
        if p < end and p[0] == close:
            return p + 1
        while True:
            if close == c'}':
                if p >= end or p[0] != c'"':
                    return NULL
                p = fsm_string(p + 1, end, &flags)
                if p is NULL:
                    return NULL
                p = fsm_space(p + 1, end)
                if p >= end or p[0] != c':':
                    return NULL
                p = fsm_space(p + 1, end)
            p = skip_value(s, p, depth + 1, False)
            if p is NULL:
                return NULL
            p = fsm_space(p, end)
            if p >= end:
                return NULL
            if p[0] == close:
                return p + 1
            if p[0] != c',':
                return NULL
            p = fsm_space(p + 1, end)
    if p[0] == c't':
        return p + 4 if end - p >= 4 and memcmp(p, b"true", 4) == 0 else NULL
    if p[0] == c'n':
        return p + 4 if end - p >= 4 and memcmp(p, b"null", 4) == 0 else NULL
    if p[0] == c'f':
        return p + 5 if end - p >= 5 and memcmp(p, b"false", 5) == 0 else NULL
    q = fsm_number(p, end)
    return q if q is not NULL and (not top or note(s, HOLE_NUMBER, p, q)) else NULL
