/* The learned template at work: one event after the other is matched and its text copied to where the last one went.
 *
 * The shape of an event is its literal bytes, cut where a value may vary: the holes. Whoever holds the shape (template.pxi)
 * has to care that it is sound; here bytes are compared and values lexed. What takes a decision is handed back: an event
 * for another block than the last one, one that may be a repetition, a text that could not be copied.
 *
 * It is C, and a function by itself, because it decides what a delta costs: all that it needs per event stays in registers. */

#ifndef FSM_MATCH_H
#define FSM_MATCH_H

#include "text.h"

#define FSM_HOLES 24 /* at most */
#define FSM_LAST 4   /* numbered events that are remembered (fsm/dialects/repeats.py) */

/* The numbers that say where an event belongs, in the order of the roles. */
enum {
    FSM_SERIAL,  /* the wire's own number of the event */
    FSM_ADDRESS, /* of its item */
    FSM_PART,    /* within the item */
    FSM_PLACES
};

typedef enum {
    FSM_HOLE_NONE = -1, /* the event is over */
    FSM_HOLE_TEXT,      /* the captured string; every shape has it */
    FSM_HOLE_INDEX,     /* the block's or call's index */
    FSM_HOLE_STRING,    /* an ignored string */
    FSM_HOLE_NUMBER,    /* an ignored number */
    FSM_HOLE_COUNTS,    /* a usage report */
    FSM_HOLE_SPACE,     /* the run of spaces before the last brace (some upstreams pad there) */
    FSM_HOLE_PLACED     /* a number that says where the event belongs; in a shape, and behind it, by which */
} fsm_hole_kind;

typedef struct {
    const char *literal;
    int size;
    int hole; /* behind the literal */
} fsm_segment;

typedef struct {
    long index;                   /* where it never varied; -1 where the numbers say it */
    int placing, counting;        /* whether there are such numbers, and a usage report */
    long place[FSM_PLACES];       /* of the event in hand; what never varies in it is that of the last one learned; -1 for nothing */
    fsm_place placed[FSM_PLACES]; /* how each of them is taken */
    int head, tail;               /* bytes of the event before and behind its payload */
    fsm_segment segments[FSM_HOLES + 1];
} fsm_shape;

/* Where text goes, and what belongs there. */
typedef struct {
    char *out;         /* in, out: the text is copied to [out, room) */
    const char *room;
    int straight;      /* whether an event may be taken at all; then one that has `index` is, if its text could be copied */
    int once;          /* whether one such event is enough */
    long index;
    ptrdiff_t most;    /* bytes of an event; a longer one is not taken */
    long long top;     /* in, out: the highest number so far; no other may be taken */
    const char *known, *known_end; /* in, out: the usage report before; empty for none */
    ptrdiff_t taken;   /* out: grows by the number of the events taken */
    int flags;         /* out: gains those of their texts */
    const char *last[FSM_LAST], *last_end[FSM_LAST]; /* out: payloads of the last numbered ones; the nth of all is at n % FSM_LAST */
} fsm_target;

/* An event of the shape that was not taken. */
typedef struct {
    const char *behind; /* NULL: there is none */
    const char *text, *text_end;
    int flags;
    char *copied;       /* where the copy at `out` ends, its escapes resolved; NULL if there is none */
    long index;
    const char *counts, *counts_end; /* where the shape has a usage report */
} fsm_match;

/* The index that the numbers of an event say. */
static inline long fsm_index(const long *place) { return place[FSM_PART] < 0 ? place[FSM_ADDRESS] : place[FSM_ADDRESS] + place[FSM_PART]; }

/* Behind the value at p, or NULL. */
FSM_APART static const char *fsm_hole(const fsm_shape *shape, int hole, const char *p, const char *e, const fsm_target *to, fsm_match *m) {
    int flags = 0;
    switch (hole) {
    case FSM_HOLE_INDEX:
        return fsm_small(p, e, &m->index);
    case FSM_HOLE_STRING:
        return fsm_string(p, e, &flags);
    case FSM_HOLE_NUMBER:
        return fsm_number(p, e);
    case FSM_HOLE_SPACE:
        while (p < e && *p == ' ') p++;
        return p;
    case FSM_HOLE_COUNTS:
        if (to->known == to->known_end) return NULL;
        m->counts = p;
        return m->counts_end = fsm_grown(p, e, to->known, to->known_end);
    default:
        return fsm_placed(p, e, &shape->placed[hole - FSM_HOLE_PLACED]);
    }
}

/* Whether the event [p, q) goes where `to` says; then what it counts, and its number, are taken. */
FSM_APART static int fsm_goes_on(const fsm_shape *shape, const char *p, const char *q, fsm_target *to, const fsm_match *m) {
    const long *place = shape->place;
    if ((shape->placing ? fsm_index(place) : m->index) != to->index) return 0;
    if (shape->placing && place[FSM_SERIAL] >= 0) {
        if (place[FSM_SERIAL] <= to->top) return 0; /* it may be one just seen */
        to->top = place[FSM_SERIAL];
        to->last[to->taken % FSM_LAST] = p + shape->head;
        to->last_end[to->taken % FSM_LAST] = q - shape->tail;
    }
    if (shape->counting) to->known = m->counts, to->known_end = m->counts_end;
    return 1;
}

/* The first bytes of an event have most likely not been touched yet, and what the processor fetches by itself ends with a page. */
#ifdef FSM_SSE2
#define FSM_AHEAD(p) (_mm_prefetch((p) + 640, _MM_HINT_T0), _mm_prefetch((p) + 704, _MM_HINT_T0))
#else
#define FSM_AHEAD(p) ((void)0)
#endif

/* Behind those of the events at p that have the shape and were taken; `m` says of the next one, if it has the shape. */
FSM_APART static const char *fsm_matched(const fsm_shape *shape, const char *p, const char *e, fsm_target *to, fsm_match *m) {
    char *out = to->out;
    const char *room = to->room;
    m->behind = NULL;
    for (;;) {
        const fsm_segment *segment = shape->segments;
        const char *q = p;
        char *copied = NULL;
        m->index = shape->index;
        m->flags = 0;
        FSM_AHEAD(p);
        for (;; segment++) {
            if (e - q < segment->size || !fsm_literal(q, segment->literal, (size_t)segment->size)) goto none;
            q += segment->size;
            if (segment->hole == FSM_HOLE_NONE) break;
            if (segment->hole == FSM_HOLE_TEXT) {
                const char *text = q;
                q = fsm_copied_plain(text, e, p, out, room, &copied);
                if (q == NULL) {
                    q = fsm_copied(text, e, p, out, room, &m->copied, &m->flags);
                    copied = m->copied;
                    if (q == NULL) {
                        copied = NULL;
                        m->flags = 0;
                        q = fsm_any_string(text, e, &m->flags);
                    }
                }
                if (q == NULL || q == text) goto none;
                m->text = text;
                m->text_end = q;
            } else {
                q = fsm_hole(shape, segment->hole, q, e, to, m);
                if (q == NULL) goto none;
            }
        }
        if (q - p > to->most) goto none;
        if (!to->straight || copied == NULL || !(shape->placing | shape->counting ? fsm_goes_on(shape, p, q, to, m) : m->index == to->index)) {
            m->behind = q;
            m->copied = copied;
            break;
        }
        p = q;
        out = copied;
        to->flags |= m->flags;
        to->taken++;
        if (to->once) goto none;
    }
none:
    to->out = out;
    return p;
}

#endif
