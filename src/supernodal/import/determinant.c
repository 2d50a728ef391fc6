/*
 * log |det A| from the diagonal, as the logarithm of one product:
 *
 *      det A = (product of L(j,j))^2    or    product of D(j,j)
 *
 * A sum of n logarithms would take n times the time of a logarithm, and round n times. The product is kept as a 127-bit integer, and the
 * exponents are counted apart. A step is two multiplications of integers and drops what lies 126 bits below the leading bit.
 *
 * Columns are cut into at most CHUNKS ranges by n alone. A thread multiplies a range, in LANES chains, because one chain would wait for its
 * own last product. The ranges' products are multiplied in order, so the bits do not depend on the threads.
 */
#include "determinant.h"

#include <math.h>
#include <string.h>

enum {
    CHUNKS = 64,
    LEAST = 1024, /* columns of a chunk, but of the last one */
    WORTH = 8192, /* columns that are worth waking a thread */
    LANES = 4,
    ROOM = 256,   /* columns whose diagonal is copied before it is multiplied */
    FRACTION = 52 /* bits of a double behind its leading one */
};

__extension__ typedef unsigned __int128 wide; /* all compilers that build the library have it */

/* value 2^(exponent - 126), with 2^126 <= value < 2^127 */
typedef struct product {
    wide value;
    int64_t exponent;
} product;

typedef struct range_result {
    product product;
    double smallest, largest; /* absolute values */
    int64_t negative;
} range_result;

typedef struct determinant_job {
    const double *diagonal;
    int64_t n, chunk; /* columns, and those of a chunk */
    range_result results[CHUNKS];
} determinant_job;

#define ONE ((product){(wide)1 << 126, 0})

/* p times m 2^-52, where 2^52 <= m < 2^53 */
static inline void multiply(product *p, uint64_t m) {
    const wide high = (wide)(uint64_t)(p->value >> 64) * m, low = (wide)(uint64_t)p->value * m;
    const wide value = (high << (64 - FRACTION)) + (low >> FRACTION);
    const int carry = (int)(value >> 127);
    p->value = value >> carry;
    p->exponent += carry;
}

static product multiply_products(product a, product b) {
    const wide ah = a.value >> 64, al = (uint64_t)a.value, bh = b.value >> 64, bl = (uint64_t)b.value;
    const wide value = ah * bh + (ah * bl >> 64) + (al * bh >> 64); /* 2^124 <= value < 2^126 */
    const int small = value >> 125 == 0;
    return (product){value << (1 + small), a.exponent + b.exponent + 1 - small};
}

/* The number's fraction with its leading one, 2^52 <= fraction < 2^53; *exponent grows by the number's. d is positive and finite. */
static inline uint64_t take_apart(double d, int64_t *exponent) {
    uint64_t bits;
    if (d < 0x1p-1022) { /* denormal */
        d *= 0x1p54;
        *exponent -= 54;
    }
    memcpy(&bits, &d, sizeof bits);
    *exponent += (int64_t)(bits >> FRACTION) - 1023;
    return (bits & (((uint64_t)1 << FRACTION) - 1)) | (uint64_t)1 << FRACTION;
}

/* lanes times |d|, of `count` numbers */
static void multiply_numbers(const double *d, int64_t count, product lanes[LANES], range_result *r) {
    uint64_t fraction[ROOM];
    int64_t exponent = 0, negative = 0;
    double smallest = r->smallest, largest = r->largest;
    for (int64_t k = 0; k < count; k++) {
        const double size = fabs(d[k]);
        negative += d[k] < 0;
        smallest = size < smallest ? size : smallest;
        largest = size > largest ? size : largest;
        fraction[k] = take_apart(size, &exponent);
    }
    for (int64_t k = count; k % LANES; k++)
        fraction[k] = (uint64_t)1 << FRACTION;
    r->smallest = smallest;
    r->largest = largest;
    r->negative += negative;
    product a = lanes[0], b = lanes[1], c = lanes[2], e = lanes[3]; /* in registers */
    for (int64_t k = 0; k < count; k += LANES) {
        multiply(&a, fraction[k]);
        multiply(&b, fraction[k + 1]);
        multiply(&c, fraction[k + 2]);
        multiply(&e, fraction[k + 3]);
    }
    a.exponent += exponent;
    lanes[0] = a;
    lanes[1] = b;
    lanes[2] = c;
    lanes[3] = e;
}

static void multiply_chunk(void *context, int64_t k, int member) {
    determinant_job *job = context;
    const int64_t begin = k * job->chunk, end = job->n - begin < job->chunk ? job->n : begin + job->chunk;
    product lanes[LANES] = {ONE, ONE, ONE, ONE};
    range_result r = {ONE, INFINITY, 0, 0};
    (void)member;
    for (int64_t j = begin; j < end; j += ROOM)
        multiply_numbers(job->diagonal + j, end - j < ROOM ? end - j : ROOM, lanes, &r);
    for (int lane = 0; lane < LANES; lane++)
        r.product = multiply_products(r.product, lanes[lane]);
    job->results[k] = r;
}

/* ln(value 2^exponent) = ln(m) + exponent ln(2), with sqrt(1/2) <= m < sqrt(2), so that the two never cancel. */
static double logarithm(product p) {
    static const double LN2 = 0x1.62e42fefa39efp-1, LN2_REST = 0x1.abc9e3b39803fp-56;
    const uint64_t leading = (uint64_t)(p.value >> 64) >> 10 << 10; /* 53 bits */
    double m = ldexp((double)leading, 64 - 126);
    double rest = ldexp((double)(p.value - ((wide)leading << 64)), -126);
    double exponent = (double)p.exponent;
    if (m >= 0x1.6a09e667f3bcdp+0) {
        m /= 2;
        rest /= 2;
        exponent++;
    }
    return fma(exponent, LN2, fma(exponent, LN2_REST, log(m) + rest / m));
}

gsv_determinant gsv_import_determinant(const double *diagonal, int64_t n, int has_d, gsv_pool *pool) {
    determinant_job job = {.diagonal = diagonal, .n = n};
    range_result all = {ONE, INFINITY, 0, 0};
    if (n == 0)
        return (gsv_determinant){0, 1, 1, 1, 0};
    job.chunk = (n + CHUNKS - 1) / CHUNKS;
    job.chunk = job.chunk < LEAST ? LEAST : job.chunk;
    const int64_t chunks = (n + job.chunk - 1) / job.chunk;
    gsv_pool_each(pool, gsv_pool_share(pool, n, WORTH), chunks, multiply_chunk, &job);
    for (int64_t k = 0; k < chunks; k++) {
        const range_result *r = &job.results[k];
        all.product = multiply_products(all.product, r->product);
        all.negative += r->negative;
        all.smallest = r->smallest < all.smallest ? r->smallest : all.smallest;
        all.largest = r->largest > all.largest ? r->largest : all.largest;
    }
    const double log_product = logarithm(all.product);
    return (gsv_determinant){has_d ? log_product : 2 * log_product, all.negative % 2 ? -1 : 1, all.smallest,
                             all.largest, (double)all.negative};
}
