/* A factor made by hand: dense blocks on the diagonal, of `width` columns, with a diagonal of the caller's choice. Every block is a supernode, or
 * columns of a simplicial factor. */
#ifndef GPUSOLVE_TESTS_BLOCK_FACTOR_H
#define GPUSOLVE_TESTS_BLOCK_FACTOR_H

#include "testing.h"

typedef struct block_factor {
    gpusolve_factor_data data; /* its arrays are these */
    int64_t *super, *pi, *px, *s, *p, *i;
    void *x;
} block_factor;

static inline int block_factor_is_single(gpusolve_dtype dtype) {
    return dtype == GPUSOLVE_FLOAT || dtype == GPUSOLVE_COMPLEX_FLOAT;
}

static inline void *block_factor_array(int64_t count, size_t each) {
    void *array = calloc((size_t)count + 1, each);
    REQUIRE(array != NULL);
    return array;
}

/* Numbers off the diagonal are `off`, with an imaginary part as large if complex. diagonal [n]: of L, or D. */
static inline block_factor block_factor_create(gpusolve_factor_kind kind, gpusolve_dtype dtype, int32_t n,
                                               int32_t width, const double *diagonal, double off) {
    const int supernodal = kind == GPUSOLVE_SUPERNODAL_LL;
    const int64_t most = (int64_t)n * width, blocks = (n + (int64_t)width - 1) / width;
    const double complex other = testing_is_complex(dtype) ? CMPLX(off, off) : off;
    block_factor f = {.data = GPUSOLVE_FACTOR_DATA_INIT};
    f.super = block_factor_array(blocks + 1, sizeof *f.super);
    f.pi = block_factor_array(blocks + 1, sizeof *f.pi);
    f.px = block_factor_array(blocks + 1, sizeof *f.px);
    f.s = block_factor_array(n, sizeof *f.s);
    f.p = block_factor_array(n + (int64_t)1, sizeof *f.p);
    f.i = block_factor_array(most, sizeof *f.i);
    f.x = block_factor_array(most, testing_bytes(dtype));
    int64_t entries = 0;
    for (int64_t k = 0; k < blocks; k++) {
        const int64_t first = k * width, nc = n - first < width ? n - first : width;
        f.super[k + 1] = f.pi[k + 1] = first + nc;
        f.px[k + 1] = f.px[k] + nc * nc;
        for (int64_t j = 0; j < nc; j++) {
            f.s[first + j] = first + j;
            for (int64_t i = supernodal ? 0 : j; i < nc; i++) {
                f.i[entries] = first + i;
                testing_store(dtype, f.x, entries++, i == j ? diagonal[first + j] : i > j ? other : 0);
            }
            f.p[first + j + 1] = entries;
        }
    }
    f.data.kind = kind;
    f.data.dtype = dtype;
    f.data.itype = GPUSOLVE_INT64;
    f.data.n = f.data.minor = n;
    f.data.xsize = entries;
    f.data.x = f.x;
    if (supernodal) {
        f.data.nsuper = blocks;
        f.data.ssize = n;
        f.data.super = f.super;
        f.data.pi = f.pi;
        f.data.px = f.px;
        f.data.s = f.s;
    } else {
        f.data.p = f.p;
        f.data.i = f.i;
    }
    return f;
}

static inline void block_factor_free(block_factor *f) {
    free(f->super);
    free(f->pi);
    free(f->px);
    free(f->s);
    free(f->p);
    free(f->i);
    free(f->x);
}

#endif
