/* JSON strings and numbers, byte by byte or sixteen at a time.
 *
 * Strictness equals orjson's, which is what the slow path uses: raw control bytes, bad escapes, lone surrogates and bad
 * UTF-8 are refused here, and the slow path decides what they are worth. Nothing is written: a string is first lexed
 * to its end, and only copied once the whole event was understood. So a refusal never has to be undone.
 *
 * FSM_SCALAR leaves out what needs SSE2, as on a processor that has none: for tests.
 *
 * All functions read only [p, e). */

#ifndef FSM_LEXER_H
#define FSM_LEXER_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#if (defined(__SSE2__) || defined(_M_X64)) && !defined(FSM_SCALAR)
#include <emmintrin.h>
#define FSM_SSE2 1
#endif

#if defined(__GNUC__)
#define FSM_APART __attribute__((noinline, unused)) /* keeps what is rare out of the registers of what is not */
#else
#define FSM_APART
#endif

#define FSM_ESCAPED 1  /* the string holds escapes */
#define FSM_WIDE 2     /* the string holds characters beyond ASCII */

/* The place of the lowest bit that is set; there is one. */
static inline int fsm_lowest(unsigned bits) {
#if defined(_MSC_VER)
    unsigned long at;
    _BitScanForward(&at, bits);
    return (int)at;
#else
    return __builtin_ctz(bits);
#endif
}

/* 1 where a byte needs a second look inside a string: quote, backslash, control, beyond ASCII */
static inline int fsm_special(unsigned char c) { return c < 0x20 || c == '"' || c == '\\' || c >= 0x80; }

#ifdef FSM_SSE2
/* The special bytes of x, as bits. A signed compare finds controls and bytes beyond ASCII at once: both are below 0x20. */
static inline unsigned fsm_specials(__m128i x) {
    __m128i marks = _mm_or_si128(_mm_cmpeq_epi8(x, _mm_set1_epi8('"')), _mm_cmpeq_epi8(x, _mm_set1_epi8('\\')));
    return (unsigned)_mm_movemask_epi8(_mm_or_si128(marks, _mm_cmplt_epi8(x, _mm_set1_epi8(0x20))));
}
#endif

/* The first special byte of [p, e), or e. */
static inline const char *fsm_plain(const char *p, const char *e) {
#ifdef FSM_SSE2
    while (e - p >= 16) {
        unsigned specials = fsm_specials(_mm_loadu_si128((const __m128i *)p));
        if (specials) return p + fsm_lowest(specials);
        p += 16;
    }
#endif
    while (p < e && !fsm_special((unsigned char)*p)) p++;
    return p;
}

/* Whether n bytes are equal. Keys and words are short: a few overlapping loads cost less than a call of memcmp. */
static inline int fsm_same(const char *a, const char *b, size_t n) {
    if (n > 16) return memcmp(a, b, n) == 0;
    if (n >= 8) {
        uint64_t a0, b0, a1, b1;
        memcpy(&a0, a, 8), memcpy(&b0, b, 8), memcpy(&a1, a + n - 8, 8), memcpy(&b1, b + n - 8, 8);
        return a0 == b0 && a1 == b1;
    }
    if (n >= 4) {
        uint32_t a0, b0, a1, b1;
        memcpy(&a0, a, 4), memcpy(&b0, b, 4), memcpy(&a1, a + n - 4, 4), memcpy(&b1, b + n - 4, 4);
        return a0 == b0 && a1 == b1;
    }
    while (n > 0 && *a == *b) a++, b++, n--;
    return n == 0;
}

#ifdef FSM_SSE2
/* What is equal in the sixteen bytes at a and at b. */
static inline __m128i fsm_equal(const char *a, const char *b) {
    return _mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)a), _mm_loadu_si128((const __m128i *)b));
}

static inline __m128i fsm_equal_32(const char *a, const char *b) { return _mm_and_si128(fsm_equal(a, b), fsm_equal(a + 16, b + 16)); }
static inline __m128i fsm_equal_64(const char *a, const char *b) { return _mm_and_si128(fsm_equal_32(a, b), fsm_equal_32(a + 32, b + 32)); }
#endif

/* fsm_same for what is mostly long: sixty-four bytes at a time, the last of them again where they do not come out even. */
static inline int fsm_literal(const char *a, const char *b, size_t n) {
#ifdef FSM_SSE2
    if (n >= 64) {
        size_t last = n - 64, i = 0;
        __m128i same = fsm_equal_64(a + last, b + last);
        for (; i < last; i += 64) same = _mm_and_si128(same, fsm_equal_64(a + i, b + i));
        return _mm_movemask_epi8(same) == 0xFFFF;
    }
    if (n > 32) return _mm_movemask_epi8(_mm_and_si128(fsm_equal_32(a, b), fsm_equal_32(a + n - 32, b + n - 32))) == 0xFFFF;
    if (n > 16) return _mm_movemask_epi8(_mm_and_si128(fsm_equal(a, b), fsm_equal(a + n - 16, b + n - 16))) == 0xFFFF;
#endif
    return fsm_same(a, b, n);
}

/* The end of the UTF-8 character that begins at p (a byte >= 0x80), or NULL if it is none. */
static inline const char *fsm_wide(const char *p, const char *e) {
    const unsigned char *s = (const unsigned char *)p;
    ptrdiff_t n = e - p;
    unsigned char c = s[0];
    if (c >= 0xE1 && c <= 0xEF) { /* most of the world's scripts */
        if (n < 3 || (s[1] & 0xC0) != 0x80 || (s[2] & 0xC0) != 0x80 || (c == 0xED && s[1] >= 0xA0)) return NULL;
        return p + 3;
    }
    if (c >= 0xC2 && c <= 0xDF) return n >= 2 && (s[1] & 0xC0) == 0x80 ? p + 2 : NULL;
    if (c == 0xE0) return n >= 3 && s[1] >= 0xA0 && s[1] <= 0xBF && (s[2] & 0xC0) == 0x80 ? p + 3 : NULL;
    if (c < 0xF0 || c > 0xF4 || n < 4 || (s[1] & 0xC0) != 0x80 || (s[2] & 0xC0) != 0x80 || (s[3] & 0xC0) != 0x80) return NULL;
    if ((c == 0xF0 && s[1] < 0x90) || (c == 0xF4 && s[1] >= 0x90)) return NULL;
    return p + 4;
}

/* 0x10 and its value for a hexadecimal digit, 0 for anything else. */
static const unsigned char fsm_digit_value[256] = {
    ['0'] = 0x10, ['1'] = 0x11, ['2'] = 0x12, ['3'] = 0x13, ['4'] = 0x14, ['5'] = 0x15, ['6'] = 0x16, ['7'] = 0x17, ['8'] = 0x18, ['9'] = 0x19,
    ['a'] = 0x1A, ['b'] = 0x1B, ['c'] = 0x1C, ['d'] = 0x1D, ['e'] = 0x1E, ['f'] = 0x1F,
    ['A'] = 0x1A, ['B'] = 0x1B, ['C'] = 0x1C, ['D'] = 0x1D, ['E'] = 0x1E, ['F'] = 0x1F,
};

/* The number in the four hexadecimal digits at p; -1 if they are not. */
static inline int fsm_hex(const char *p) {
    const unsigned char *s = (const unsigned char *)p;
    int a = fsm_digit_value[s[0]], b = fsm_digit_value[s[1]], c = fsm_digit_value[s[2]], d = fsm_digit_value[s[3]];
    return a & b & c & d & 0x10 ? (a & 15) << 12 | (b & 15) << 8 | (c & 15) << 4 | (d & 15) : -1;
}

/* What the escape \c stands for, where two bytes make one; 0 where they make none. */
static const char fsm_escape[256] = {
    ['"'] = '"', ['\\'] = '\\', ['/'] = '/', ['b'] = '\b', ['f'] = '\f', ['n'] = '\n', ['r'] = '\r', ['t'] = '\t',
};

/* Behind the escape \uXXXX at p, or the pair of them, with its character written to *out; NULL if it is none. */
FSM_APART static const char *fsm_unicode(const char *p, const char *e, char **out) {
    char *to = *out;
    int unit = e - p >= 6 ? fsm_hex(p + 2) : -1;
    if (unit < 0) return NULL;
    p += 6;
    if (unit >= 0xD800 && unit < 0xE000) {
        int low = unit < 0xDC00 && e - p >= 6 && p[0] == '\\' && p[1] == 'u' ? fsm_hex(p + 2) : -1;
        if (low < 0xDC00 || low >= 0xE000) return NULL;
        unit = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
        p += 6;
    }
    if (unit < 0x80) *to++ = (char)unit;
    else if (unit < 0x800) {
        *to++ = (char)(0xC0 | unit >> 6);
        *to++ = (char)(0x80 | (unit & 0x3F));
    } else if (unit < 0x10000) {
        *to++ = (char)(0xE0 | unit >> 12);
        *to++ = (char)(0x80 | (unit >> 6 & 0x3F));
        *to++ = (char)(0x80 | (unit & 0x3F));
    } else {
        *to++ = (char)(0xF0 | unit >> 18);
        *to++ = (char)(0x80 | (unit >> 12 & 0x3F));
        *to++ = (char)(0x80 | (unit >> 6 & 0x3F));
        *to++ = (char)(0x80 | (unit & 0x3F));
    }
    *out = to;
    return p;
}

/* p stands behind the opening quote. The closing quote, or NULL for anything but a whole valid string.
 * *flags gains FSM_ESCAPED and FSM_WIDE. */
FSM_APART static const char *fsm_any_string(const char *p, const char *e, int *flags) {
    for (;;) {
        p = fsm_plain(p, e);
        if (p >= e) return NULL;
        unsigned char c = (unsigned char)*p;
        if (c == '"') return p;
        if (c >= 0x80) {
            *flags |= FSM_WIDE;
            do {
                p = fsm_wide(p, e);
                if (p == NULL) return NULL;
            } while (p < e && (unsigned char)*p >= 0x80);
        } else if (c == '\\') {
            *flags |= FSM_ESCAPED;
            if (e - p >= 2 && fsm_escape[(unsigned char)p[1]]) {
                p += 2;
            } else {
                char scratch[4], *to = scratch;
                if (e - p < 2 || p[1] != 'u') return NULL;
                p = fsm_unicode(p, e, &to);
                if (p == NULL) return NULL;
                if ((unsigned char)scratch[0] >= 0x80) *flags |= FSM_WIDE;
            }
        } else {
            return NULL;
        }
    }
}

/* fsm_any_string, where most strings are short and plain. */
static inline const char *fsm_string(const char *p, const char *e, int *flags) {
#ifdef FSM_SSE2
    if (e - p >= 16) {
        unsigned specials = fsm_specials(_mm_loadu_si128((const __m128i *)p));
        if (specials && p[fsm_lowest(specials)] == '"') return p + fsm_lowest(specials);
    }
#endif
    return fsm_any_string(p, e, flags);
}

/* Write the characters of the lexed string [p, e) to out, which has room for e - p bytes; returns how many were written. */
static inline size_t fsm_unescape(const char *p, const char *e, char *out) {
    char *start = out;
    while (p < e) {
        const char *slash = (const char *)memchr(p, '\\', (size_t)(e - p));
        size_t run = (size_t)((slash ? slash : e) - p);
        memcpy(out, p, run);
        out += run;
        if (!slash) break;
        if (slash[1] == 'u') p = fsm_unicode(slash, e, &out);
        else *out++ = fsm_escape[(unsigned char)slash[1]], p = slash + 2;
    }
    return (size_t)(out - start);
}

/* The end of the plain number at p (no exponent, at most 18 digits before and behind the point), or NULL. */
static inline const char *fsm_number(const char *p, const char *e) {
    const char *digits;
    if (p < e && *p == '-') p++;
    digits = p;
    while (p < e && *p >= '0' && *p <= '9') p++;
    if (p == digits || p - digits > 18 || (*digits == '0' && p - digits > 1)) return NULL;
    if (p < e && *p == '.') {
        digits = ++p;
        while (p < e && *p >= '0' && *p <= '9') p++;
        if (p == digits || p - digits > 18) return NULL;
    }
    return p < e && (*p == 'e' || *p == 'E') ? NULL : p;
}

/* The end of the small whole number at p, its value in *value; NULL for anything else (a leading zero, 10 digits). */
static inline const char *fsm_small(const char *p, const char *e, long *value) {
    const char *digits = p;
    long v = 0;
    while (p < e && *p >= '0' && *p <= '9' && p - digits < 10) v = v * 10 + (*p++ - '0');
    if (p == digits || p - digits > 9 || (*digits == '0' && p - digits > 1)) return NULL;
    if (p < e && (*p == '.' || *p == 'e' || *p == 'E')) return NULL;
    *value = v;
    return p;
}


/* How a number that says where an event belongs is taken: with a count it is one of so many and `*value` becomes
 * first + number; without one, `*value` becomes first * number. */
typedef struct { int first, count; long *value; } fsm_place;

/* The end of such a number at p, or NULL for anything else. */
FSM_APART static const char *fsm_placed(const char *p, const char *e, const fsm_place *place) {
    long number;
    p = fsm_small(p, e, &number);
    if (p == NULL || (place->count ? number >= place->count : number > 2000000000 / place->first)) return NULL;
    *place->value = place->count ? place->first + number : place->first * number;
    return p;
}

/* Behind the blank space at p, within its line: a payload of several lines is for the slow path. */
static inline const char *fsm_space(const char *p, const char *e) {
    while (p < e && (unsigned char)*p <= ' ' && (*p == ' ' || *p == '\t')) p++;
    return p;
}

/* How many bytes of [a, a + n) and [b, b + n) are equal at their beginning. */
static inline size_t fsm_common(const char *a, const char *b, size_t n) {
    size_t i = 0;
#ifdef FSM_SSE2
    if (n >= 16) {
        size_t last = n - 16; /* where the blocks do not come out even, some bytes are compared twice */
        for (;; i += 16) {
            size_t at = i < last ? i : last;
            unsigned differ = (unsigned)_mm_movemask_epi8(fsm_equal(a + at, b + at)) ^ 0xFFFF;
            if (differ) return at + (size_t)fsm_lowest(differ);
            if (i >= last) return n;
        }
    }
#endif
    while (i < n && a[i] == b[i]) i++;
    return i;
}

static inline int fsm_digit(char c) { return c >= '0' && c <= '9'; }

/* Behind the digits at p. */
static inline const char *fsm_digits(const char *p, const char *e) {
    while (p < e && fsm_digit(*p)) p++;
    return p;
}

/* Behind the JSON value at p if its bytes are those of [k, ke), a valid value, but for whole numbers that did not fall and
 * are not zero; else NULL. Where bytes differ a run of digits has to stand, as a number stands: so the value is valid
 * JSON too. (In a string such a run may differ as well, which says nothing.) */
FSM_APART static const char *fsm_grown(const char *p, const char *e, const char *k, const char *ke) {
    const char *begin = k;
    for (;;) {
        size_t n = fsm_common(p, k, (size_t)(e - p < ke - k ? e - p : ke - k));
        const char *now, *old;
        ptrdiff_t equal = 0; /* digits of the number before the first that differs */
        p += n, k += n;
        if (k == ke) return p;
        while (k - equal > begin && fsm_digit(k[-1 - equal])) equal++;
        if (k - equal == begin) return NULL;
        switch (k[-1 - equal]) {
        case ':': case ',': case '[': case ' ': break;
        default: return NULL;
        }
        now = fsm_digits(p, e), old = fsm_digits(k, ke);
        if (now == e || old == ke || now - p < old - k || equal + (now - p) > 18 || equal + (old - k) == 0) return NULL;
        if (p[-equal] == '0' || k[-equal] == '0' || (now - p == old - k && *p < *k)) return NULL;
        if (*now != *old || (*old != ',' && *old != '}' && *old != ']' && *old != ' ')) return NULL;
        p = now, k = old;
    }
}

#endif
