/*
 * Two blocks of equidistant runs share a byte: decided without walking through the runs.
 *
 * Run i of a starts at s = a.start + i p, run j of b at t = b.start + j q. The runs have r and u bytes, and
 * share one exactly if s < t + u and t < s + r. With d = a.start - b.start this is
 *
 *      (1)     low <= i p - j q <= high,      low = -d - (r - 1),   high = -d + (u - 1)
 *
 * We look for integers i and j that satisfy (1) and 0 <= i < m, 0 <= j < n, where m and n count the runs.
 *
 * Step 1: the bounds of j become bounds of i. For a fixed i the numbers j that satisfy (1) are the integers
 * from lo(i) = ceil((i p - high) / q) to hi(i) = floor((i p - low) / q). One of them is in 0 .. n - 1 exactly
 * if lo <= hi, hi >= 0 and lo <= n - 1. Now hi >= 0 says i p >= low, and lo <= n - 1 says
 * i p <= high + (n - 1) q. So i is in an interval, first .. last, and what remains is lo(i) <= hi(i): some
 * integer j, whichever it is, satisfies (1). That is so exactly if the remainder of i p - low modulo q is at
 * most high - low = r + u - 2.
 *
 * Step 2: count those i. With w = r + u - 1 < q, the remainder of v modulo q is below w exactly if
 * floor(v / q) - floor((v - w) / q) = 1; otherwise the difference is 0. So the count is the difference of two
 * sums of floor((a k + c) / q) over k = 0 .. last - first. It is at most m < 2^64, so its value modulo 2^64
 * is enough, and the sums may wrap around. If w >= q, every i of the interval will do.
 *
 * Step 3: each sum is found as Euclid's algorithm finds a divisor; floor_sum says how.
 */
#include "overlap.h"

__extension__ typedef __int128 wide; /* -2^67 < every value of this file < 2^67 */
__extension__ typedef unsigned __int128 unsigned_wide;

static wide floor_quotient(wide value, wide divisor) {
    const wide quotient = value / divisor;
    return value % divisor < 0 ? quotient - 1 : quotient;
}

/*
 * The sum of floor((a k + c) / m) over k = 0 .. n - 1, modulo 2^64, for m > 0 and c < m.
 *
 * Whole multiples of m in a give n (n - 1) / 2 times their number, so that a < m from then on. The sum counts
 * the integer points (k, y) with 0 <= k < n, 1 <= y and m y <= a k + c. Let top = floor((a n + c) / m) and
 * rest = (a n + c) - m top. If top = 0 there are none. Otherwise count row by row: row y = top - t,
 * 0 <= t < top, has n - ceil((m y - c) / a) = floor((m t + rest) / a) points. This is the same kind of sum,
 * with m and a exchanged and n replaced by top <= n. So (m, a) goes through Euclid's algorithm, and the loop
 * ends, at the latest when a = 0.
 */
static uint64_t floor_sum(uint64_t n, uint64_t m, uint64_t a, uint64_t c) {
    uint64_t sum = 0;
    for (;;) {
        if (a >= m) {
            const unsigned_wide pairs = n > 0 ? (unsigned_wide)n * (n - 1) / 2 : 0;
            sum += (uint64_t)pairs * (a / m);
            a %= m;
        }
        sum += n * (c / m);
        c %= m;
        const unsigned_wide end = (unsigned_wide)a * n + c; /* < m (n + 1) <= 2^128 */
        if (end < m)
            return sum;
        n = (uint64_t)(end / m);
        c = (uint64_t)(end % m);
        const uint64_t exchanged = m;
        m = a;
        a = exchanged;
    }
}

/* Is there a k, 0 <= k < n, for which the remainder of a k + c modulo m is below w? c < m, 0 < w < m */
static int some_remainder_is_below(uint64_t n, uint64_t m, uint64_t a, uint64_t c, uint64_t w) {
    /* floor((v - w) / m) = floor((v - w + m) / m) - 1 keeps the numbers positive */
    const uint64_t behind = c >= w ? floor_sum(n, m, a, c - w) : floor_sum(n, m, a, m - (w - c)) - n;
    return floor_sum(n, m, a, c) != behind;
}

/* A block whose runs all start inside the address space, do not touch each other, and are not empty. */
typedef struct lattice {
    wide start, run, pitch, runs;
} lattice;

static lattice lattice_of(const gsv_bytes_block *block) {
    const uint64_t start = (uintptr_t)block->start;
    lattice l = {start, block->run, block->pitch, block->runs};
    if (l.run == 0 || l.runs == 0)
        return (lattice){0, 0, 1, 0};
    /* A run that starts inside and ends outside holds the last byte there is. So two runs that share a byte
     * outside share that one, too, and only the starts have to be inside. */
    if ((unsigned_wide)(block->runs - 1) * block->pitch > UINT64_MAX - start)
        l.runs = (UINT64_MAX - start) / block->pitch + 1;
    if (l.runs == 1 || l.pitch <= l.run) { /* one long run */
        l.run += (l.runs - 1) * l.pitch;
        l.pitch = l.runs = 1;
    }
    return l;
}

int gsv_blocks_overlap(const gsv_bytes_block *first_block, const gsv_bytes_block *second_block) {
    const lattice a = lattice_of(first_block), b = lattice_of(second_block);
    const wide a_end = a.start + (a.runs - 1) * a.pitch + a.run;
    const wide b_end = b.start + (b.runs - 1) * b.pitch + b.run;
    if (a.runs == 0 || b.runs == 0 || a_end <= b.start || b_end <= a.start) /* the usual case */
        return 0;
    const wide d = a.start - b.start, low = -d - (a.run - 1), high = -d + (b.run - 1);
    wide first = -floor_quotient(-low, a.pitch); /* low / a.pitch, rounded up */
    wide last = floor_quotient(high + (b.runs - 1) * b.pitch, a.pitch);
    first = first > 0 ? first : 0;
    last = last < a.runs - 1 ? last : a.runs - 1;
    if (first > last)
        return 0;
    const wide width = a.run + b.run - 1;
    if (width >= b.pitch)
        return 1;
    wide remainder = (first * a.pitch - low) % b.pitch;
    remainder = remainder < 0 ? remainder + b.pitch : remainder;
    return some_remainder_is_below((uint64_t)(last - first + 1), (uint64_t)b.pitch,
                                   (uint64_t)(a.pitch % b.pitch), (uint64_t)remainder, (uint64_t)width);
}

int gsv_block_is_addressable(const gsv_bytes_block *block) {
    if (block->run == 0 || block->runs == 0)
        return 1;
    const unsigned_wide room = (unsigned_wide)UINTPTR_MAX - (uintptr_t)block->start; /* behind the start */
    const unsigned_wide last = block->run - 1 + (block->runs - 1) * (unsigned_wide)block->pitch;
    return last <= room;
}

/*
 * A triangle is two triangles of about half its order and the rectangle between them. A triangle whose
 * enclosing square does not meet the block does not either, so only the squares that do are divided; the
 * recursion is as deep as n has bits.
 */
int gsv_triangle_overlaps(const gsv_bytes_triangle *triangle, const gsv_bytes_block *block) {
    const uint64_t number = triangle->number, pitch = triangle->pitch, n = triangle->n;
    const gsv_bytes_block square = {triangle->start, n * number, pitch, n};
    if (n == 0 || !gsv_blocks_overlap(&square, block))
        return 0;
    if (n == 1)
        return !triangle->unit;
    const uint64_t half = n / 2, rest = n - half;
    const char *start = triangle->start;
    gsv_bytes_block between = {start + half * number, rest * number, pitch, half};
    if (!triangle->lower)
        between = (gsv_bytes_block){start + half * pitch, half * number, pitch, rest};
    if (gsv_blocks_overlap(&between, block))
        return 1;
    gsv_bytes_triangle part = *triangle;
    part.n = half;
    if (gsv_triangle_overlaps(&part, block))
        return 1;
    part.start = start + half * (pitch + number);
    part.n = rest;
    return gsv_triangle_overlaps(&part, block);
}
