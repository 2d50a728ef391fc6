/*
 * Standard normal numbers from a counter: the same bits from every compiler, on the host and on the device.
 *
 * Philox4x32-10 (Salmon, Moraes, Dror and Shaw, SC 2011) turns a counter and the seed into 128 bits, Box and Muller's transform these into two
 * numbers:
 *
 *      u = 1 - (bits 12 .. 63) 2^-52 in (0, 1],  v = (bits 76 .. 127) 2^-52 in [0, 1)
 *      r = sqrt(-2 log u),   a = r cos(2 pi v),   b = r sin(2 pi v)
 *
 * Logarithm, sine and cosine are polynomials of this file, near the best of their degree, right to about two units in the last place. They are
 * made of sums, of products whose result is no term of a sum (but 4 v, which is exact), of fma, divisions and square roots: each of these is
 * rounded as IEEE 754 says, and no compiler can contract them otherwise. Nothing branches, so loops over numbers become vector instructions.
 * No number is larger than 8.5.
 */
#ifndef GSV_NORMAL_H
#define GSV_NORMAL_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "host_device.h"

typedef struct gsv_normals {
    double a, b;
} gsv_normals;

static inline GSV_HOST_DEVICE double gsv_double_of(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline GSV_HOST_DEVICE uint64_t gsv_bits_of(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Words 0 and 1, and 2 and 3, of Philox4x32-10. Words of the counter: low and high half of c01, then of c23. */
static inline GSV_HOST_DEVICE void gsv_philox(uint64_t c01, uint64_t c23, uint64_t seed, uint64_t random[2]) {
    uint32_t c0 = (uint32_t)c01, c1 = (uint32_t)(c01 >> 32), c2 = (uint32_t)c23, c3 = (uint32_t)(c23 >> 32);
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    for (int round = 0; round < 10; round++) {
        const uint64_t p = (uint64_t)0xD2511F53u * c0, q = (uint64_t)0xCD9E8D57u * c2;
        c0 = (uint32_t)(q >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)q;
        c2 = (uint32_t)(p >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)p;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    random[0] = c0 | (uint64_t)c1 << 32;
    random[1] = c2 | (uint64_t)c3 << 32;
}

/* log u, 2^-52 <= u <= 1: u = m 2^e with sqrt(1/2) <= m < sqrt(2), log m = 2 artanh(s), s = (m - 1) / (m + 1), |s| < 0.172. */
static inline GSV_HOST_DEVICE double gsv_log_of_unit(double u) {
    const uint64_t bits = gsv_bits_of(u);
    const uint64_t above = bits - 0x3fe6a09e667f3bcdu + ((uint64_t)64 << 52); /* e + 64 in its exponent */
    const uint64_t e = above >> 52;
    const double exponent = gsv_double_of(0x4330000000000000u | e) - (0x1p52 + 64);
    const double m = gsv_double_of(bits - ((e - 64) << 52));
    const double f = m - 1, s = f / (2 + f), t = s * s;
    double p = 0x1.2b584aae78a57p-3; /* of (log m - 2 s) / s^3, from 2 / 3 on */
    p = fma(p, t, 0x1.39fe606542ddep-3);
    p = fma(p, t, 0x1.7462b4ab2ef6bp-3);
    p = fma(p, t, 0x1.c71c62e5800a1p-3);
    p = fma(p, t, 0x1.2492492df148dp-2);
    p = fma(p, t, 0x1.99999999952e2p-2);
    p = fma(p, t, 0x1.5555555555558p-1);
    return fma(exponent, 0x1.62e42fefa39efp-1, fma(p * t, s, s + s));
}

/* cos(2 pi v) and sin(2 pi v), 0 <= v < 1: the angle is q + f quarters of a turn, q the nearest integer. */
static inline GSV_HOST_DEVICE gsv_normals gsv_turn_of(double v) {
    const double shift = 0x1.8p52, shifted = 4 * v + shift; /* 4 v is exact */
    const double f = 4 * v - (shifted - shift), t = f * f;
    const uint64_t q = gsv_bits_of(shifted);
    double s = 0x1.e3f38399551bfp-25, c = 0x1.f3dbcea61b1a4p-22;
    s = fma(s, t, -0x1.e30071afc3e59p-19);
    s = fma(s, t, 0x1.50782fda12d96p-13);
    s = fma(s, t, -0x1.32d2cce2e5b19p-8);
    s = fma(s, t, 0x1.466bc677587f8p-4);
    s = fma(s, t, -0x1.4abbce625be41p-1);
    s = fma(s, t, 0x1.921fb54442d18p+0); /* pi / 2 */
    s = s * f;
    c = fma(c, t, -0x1.a6c9c1be9eb49p-16);
    c = fma(c, t, 0x1.e1f4fb60281f6p-11);
    c = fma(c, t, -0x1.55d3c7dbfd139p-6);
    c = fma(c, t, 0x1.03c1f081b0780p-2);
    c = fma(c, t, -0x1.3bd3cc9be458bp+0);
    c = fma(c, t, 1.0);
    const double cosine = q & 1 ? s : c, sine = q & 1 ? c : s;
    gsv_normals turn;
    turn.a = gsv_double_of(gsv_bits_of(cosine) ^ ((q + 1) & 2) << 62);
    turn.b = gsv_double_of(gsv_bits_of(sine) ^ (q & 2) << 62);
    return turn;
}

/* The two numbers. minus_two: their variance is half of its size, so it is 2 for standard ones, and 1 for parts of a complex one. */
static inline GSV_HOST_DEVICE gsv_normals gsv_box_muller(uint64_t first, uint64_t second, double minus_two) {
    const uint64_t one = 0x3ff0000000000000u;
    const double u = 2 - gsv_double_of(one | first >> 12), v = gsv_double_of(one | second >> 12) - 1;
    const double r = sqrt(minus_two * gsv_log_of_unit(u));
    gsv_normals turn = gsv_turn_of(v);
    turn.a = r * turn.a;
    turn.b = r * turn.b;
    return turn;
}

/*
 * Rows 2 k and 2 k + 1 of column `column`, real numbers of variance 1; with `is_complex` the real and the imaginary part of row k, variances 1/2.
 */
static inline GSV_HOST_DEVICE gsv_normals gsv_normal(uint64_t seed, int64_t k, int64_t column,
                                                     int is_complex) {
    uint64_t random[2];
    gsv_philox((uint64_t)k, (uint64_t)column, seed, random);
    return gsv_box_muller(random[0], random[1], is_complex ? -1.0 : -2.0);
}

#endif
