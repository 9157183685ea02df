/* A JSON string lexed and copied in the same pass, its escapes resolved.
 *
 * The string lexer (lexer.h) writes nothing, so that nothing has to be undone. But behind what a buffer holds there is
 * room that nobody reads: bytes written there count only once their number is added to the buffer's size. So a string
 * may be copied there while it is being lexed, sixteen bytes at a time, and the copy is kept if the event turns out to be
 * understood. What the lexer refuses is refused here as well; anything that is not plainly a good string gives up, and
 * the lexer looks at it again.
 *
 * Without SSE2 it always gives up.
 */

#ifndef FSM_TEXT_H
#define FSM_TEXT_H

#include "lexer.h"

#define FSM_SLOP 16 /* bytes of room behind the copy that may be overwritten or read */

#ifdef FSM_SSE2

/* The bytes of x for which `compare` holds, as bits. */
#define FSM_BITS(compare) ((unsigned)_mm_movemask_epi8(compare))

/* Whether [p, e) is good UTF-8; up to FSM_SLOP bytes behind e are read.
 *
 * A byte has to be a continuation if and only if a lead says so one, two or three bytes before. What is left are the
 * leads that cannot be (C0, C1, F5 and above) and, behind E0, ED, F0 and F4, the continuations that would spell an overlong
 * form, a surrogate or a number beyond U+10FFFF. */
static inline int fsm_utf8(const char *p, const char *e) {
    unsigned due = 0;                          /* continuations that the block before has asked for */
    unsigned e0 = 0, ed = 0, f0 = 0, f4 = 0;   /* whether the block before ended with one of these */
    for (; p < e; p += 16) {
        __m128i x = _mm_loadu_si128((const __m128i *)p);
        unsigned here = e - p >= 16 ? 0xFFFF : (1u << (e - p)) - 1;
        unsigned high = FSM_BITS(x) & here;
        unsigned more = FSM_BITS(_mm_cmplt_epi8(x, _mm_set1_epi8(-0x40))) & high; /* 80 to BF */
        unsigned lead = high & ~more;
        unsigned three = lead & FSM_BITS(_mm_cmpgt_epi8(x, _mm_set1_epi8(-0x21))); /* E0 and above */
        unsigned four = lead & FSM_BITS(_mm_cmpgt_epi8(x, _mm_set1_epi8(-0x11)));  /* F0 and above */
        unsigned never = lead & FSM_BITS(_mm_cmplt_epi8(x, _mm_set1_epi8(-0x3E))); /* below C2 */
        due |= lead << 1 | three << 2 | four << 3;
        if ((due & 0xFFFF & here) != more || never) return 0;
        unsigned edge = lead & FSM_BITS(_mm_or_si128(_mm_cmpeq_epi8(x, _mm_set1_epi8(-0x20)), _mm_cmpeq_epi8(x, _mm_set1_epi8(-0x13)))); /* E0, ED */
        if (edge | four | e0 | ed | f0 | f4) {
            unsigned a0 = ~FSM_BITS(_mm_cmplt_epi8(x, _mm_set1_epi8(-0x60))); /* A0 and above */
            unsigned x90 = ~FSM_BITS(_mm_cmplt_epi8(x, _mm_set1_epi8(-0x70))); /* 90 and above */
            if (four & FSM_BITS(_mm_cmpgt_epi8(x, _mm_set1_epi8(-0x0C)))) return 0; /* above F4 */
            e0 |= (lead & FSM_BITS(_mm_cmpeq_epi8(x, _mm_set1_epi8(-0x20)))) << 1;
            ed |= (lead & FSM_BITS(_mm_cmpeq_epi8(x, _mm_set1_epi8(-0x13)))) << 1;
            f0 |= (lead & FSM_BITS(_mm_cmpeq_epi8(x, _mm_set1_epi8(-0x10)))) << 1;
            f4 |= (lead & FSM_BITS(_mm_cmpeq_epi8(x, _mm_set1_epi8(-0x0C)))) << 1;
            if (here & ((e0 & ~a0) | (ed & a0) | (f0 & ~x90) | (f4 & x90))) return 0;
            e0 >>= 16, ed >>= 16, f0 >>= 16, f4 >>= 16;
        }
        if (here != 0xFFFF) return due <= here; /* nothing is due behind the end */
        due >>= 16;
    }
    return due == 0;
}

/* Copy n < 32 bytes. */
static inline void fsm_few(char *out, const char *p, size_t n) {
    if (n >= 16) {
        __m128i a = _mm_loadu_si128((const __m128i *)p), b = _mm_loadu_si128((const __m128i *)(p + n - 16));
        _mm_storeu_si128((__m128i *)out, a);
        _mm_storeu_si128((__m128i *)(out + n - 16), b);
    } else if (n >= 8) {
        uint64_t a, b;
        memcpy(&a, p, 8), memcpy(&b, p + n - 8, 8);
        memcpy(out, &a, 8), memcpy(out + n - 8, &b, 8);
    } else if (n >= 4) {
        uint32_t a, b;
        memcpy(&a, p, 4), memcpy(&b, p + n - 4, 4);
        memcpy(out, &a, 4), memcpy(out + n - 4, &b, 4);
    } else {
        while (n-- > 0) out[n] = p[n];
    }
}

/* fsm_copied for plain ASCII, thirty-two bytes at a time: most texts end within the first. */
static inline const char *fsm_copied_plain(const char *p, const char *e, const char *low, char *out, const char *room, char **copied) {
    ptrdiff_t left;
    unsigned special;
    int n;
    while (e - p >= 32 && room - out >= 32) {
        __m128i x = _mm_loadu_si128((const __m128i *)p), y = _mm_loadu_si128((const __m128i *)(p + 16));
        _mm_storeu_si128((__m128i *)out, x);
        _mm_storeu_si128((__m128i *)(out + 16), y);
        special = fsm_specials(x) | fsm_specials(y) << 16;
        if (special) {
            n = fsm_lowest(special);
            *copied = out + n;
            return p[n] == '"' ? p + n : NULL;
        }
        p += 32, out += 32;
    }
    left = e - p;
    if (left <= 0 || left >= 32 || e - low < 32 || room - out < 32) return NULL;
    special = (fsm_specials(_mm_loadu_si128((const __m128i *)(e - 32))) | fsm_specials(_mm_loadu_si128((const __m128i *)(e - 16))) << 16) >> (32 - left);
    if (!special) return NULL;
    n = fsm_lowest(special);
    fsm_few(out, p, (size_t)n);
    *copied = out + n;
    return p[n] == '"' ? p + n : NULL;
}

/* p stands behind the opening quote, as in fsm_any_string, and nothing before `low` may be read. The closing quote, with the
 * characters before it copied to [out, *copied); or NULL where this way gives up. *flags gains what
 * fsm_any_string would have said. Writes only [out, room). */
FSM_APART static const char *fsm_copied(const char *p, const char *e, const char *low, char *out, const char *room, char **copied, int *flags) {
    const __m128i quote = _mm_set1_epi8('"'), slash = _mm_set1_epi8('\\'), control = _mm_set1_epi8(0x1F);
    const char *begin = out;
    unsigned wide = 0;
    for (;;) {
        ptrdiff_t left = e - p;
        __m128i x;
        unsigned hit, high;
        if (room - out < 2 * FSM_SLOP) return NULL;
        if (left >= 16) x = _mm_loadu_si128((const __m128i *)p);
        else if (e - low >= 16) x = _mm_loadu_si128((const __m128i *)(e - 16)); /* from the left, and not beyond the end */
        else return NULL;
        hit = FSM_BITS(_mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(x, quote), _mm_cmpeq_epi8(x, slash)), _mm_cmpeq_epi8(_mm_min_epu8(x, control), x)));
        high = FSM_BITS(x);
        if (left >= 16) _mm_storeu_si128((__m128i *)out, x);
        else hit >>= 16 - left, high >>= 16 - left;
        if (hit) {
            int n = fsm_lowest(hit);
            if (left < 16) fsm_few(out, p, (size_t)n);
            p += n, out += n;
            wide |= high & ((1u << n) - 1);
            if (*p == '"') break;
            if (*p != '\\' || e - p < 2) return NULL;
            *flags |= FSM_ESCAPED; /* whoever cannot keep the copy has to resolve them again */
            if (p[1] == 'u') {
                char *character = out;
                p = fsm_unicode(p, e, &out);
                if (p == NULL) return NULL;
                wide |= (unsigned char)*character >= 0x80;
            } else {
                *out = fsm_escape[(unsigned char)p[1]];
                if (!*out++) return NULL;
                p += 2;
            }
            continue;
        }
        if (left < 16) return NULL;
        p += 16, out += 16;
        wide |= high;
    }
    if (wide) {
        *flags |= FSM_WIDE;
        if (!fsm_utf8(begin, out)) return NULL;
    }
    *copied = out;
    return p;
}

#else
static inline const char *fsm_copied_plain(const char *p, const char *e, const char *low, char *out, const char *room, char **copied) { return NULL; }
static inline const char *fsm_copied(const char *p, const char *e, const char *low, char *out, const char *room, char **copied, int *flags) { return NULL; }
#endif

#endif
