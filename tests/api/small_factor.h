/* A factor small enough to make each of its fields and numbers wrong once. */
#ifndef SMALL_FACTOR_H
#define SMALL_FACTOR_H

#include "import_cases.h"

/*
 *  The factor that the import's tests mangle. Supernodes {0 1}, {2}, {3 4}:
 *      .
 *      . .
 *          .          x[4] and x[12] stand above a diagonal
 *      . . . .
 *      . .   . .
 */
enum { N = 5, NSUPER = 3, SSIZE = 8, XSIZE = 14, ENTRIES = 12 };
static const int32_t perm[N] = {2, 0, 4, 1, 3};
static const int32_t super[NSUPER + 1] = {0, 2, 3, 5}, pi[NSUPER + 1] = {0, 4, 6, 8},
                                    px[NSUPER + 1] = {0, 8, 10, 14};
static const int32_t s[SSIZE] = {0, 1, 3, 4, 2, 3, 3, 4};
static const double x[XSIZE] = {2, 0.5, -1, 0.25, NAN, 3, 0.125, -0.5, 4, 1, 5, -2, NAN, 6};
static const int32_t p[N + 1] = {0, 4, 7, 9, 11, 12}, nz[N] = {4, 3, 2, 2, 1};
static const int32_t i[ENTRIES] = {0, 1, 3, 4, 1, 3, 4, 2, 3, 3, 4, 4};
static const double simplicial_x[ENTRIES] = {2, 0.5, -1, 0.25, 3, 0.125, -0.5, 4, 1, 5, -2, 6};

static inline gpusolve_factor_data small_factor(gpusolve_factor_kind kind, gpusolve_itype itype,
                                                gpusolve_dtype dtype, int split, int with_nz) {
    gpusolve_factor_data data = GPUSOLVE_FACTOR_DATA_INIT;
    data.kind = kind;
    data.n = data.minor = N;
    data.perm = perm;
    if (kind == GPUSOLVE_SUPERNODAL_LL) {
        data.nsuper = NSUPER;
        data.ssize = SSIZE;
        data.xsize = XSIZE;
        data.super = super;
        data.pi = pi;
        data.px = px;
        data.s = s;
        data.x = x;
    } else {
        data.xsize = ENTRIES;
        data.p = p;
        data.i = i;
        data.nz = with_nz ? nz : NULL;
        data.x = simplicial_x;
    }
    gpusolve_factor_data copy = copy_factor(&data, itype, dtype, split);
    if (testing_is_complex(dtype)) /* imaginary parts everywhere but on the diagonal */
        for (int64_t k = 0; k < copy.xsize; k++) {
            const double complex number = get_number(&copy, k);
            if (creal(number) < 2)
                set_number(&copy, k, CMPLX(creal(number), 0.75 - (double)k));
        }
    return copy;
}

#endif
