/*
 * inv(L L') = W' W with W = inv(L), in place in L's triangle (the upper case, inv(U' U) = W W' with W =
 * inv(U), in parentheses), each step split at the largest power of two below the size:
 *
 *      invert      W21 = -W22 L21 W11, after both diagonal blocks      (W12 = -W11 U12 W22)
 *      square      A11 = W11' W11 + W21' W21                           (W11 W11' + W12 W12')
 *                  A21 = W22' W21                                      (A12 = W12 W22')
 *                  A22 = W22' W22                                      (W22 W22')
 *
 * A diagonal block that fits the tile is inverted by solving for the identity there, and squared from a copy
 * with zeros in its other triangle. 2/3 n^3 flops and those of the tiles.
 */
#include "potri.h"

#include "../handle.h"

typedef struct inversion {
    const gsv_inverse_problem *p;
    const gsv_inverse_backend *backend;
    int lower;
} inversion;

static void *block(const inversion *v, int64_t i, int64_t j) {
    return (char *)v->p->a + (i + j * v->p->lda) * gsv_number_bytes(v->p->dtype);
}

static int64_t power_of_two_below(int64_t size) {
    int64_t half = 1;
    while (2 * half < size)
        half *= 2;
    return half;
}

/* b (rows x columns) = scale op(T) b or scale b op(T), T the diagonal block from `start` on */
static gpusolve_status multiply(const inversion *v, gpusolve_side side, gpusolve_trans trans, int64_t start,
                                int64_t order, void *b, int64_t vectors, double scale) {
    const gsv_triangular p = {
        GSV_MULTIPLY,           v->p->dtype, side, v->p->uplo, trans, GPUSOLVE_NON_UNIT, order, vectors,
        block(v, start, start), v->p->lda,   b,    v->p->lda};
    return v->backend->triangular(v->backend->context, &p, (gsv_number){scale, 0});
}

/* Order and place of the block beside the diagonal blocks first .. half .. rest. */
static void *beside(const inversion *v, int64_t first, int64_t second) {
    return v->lower ? block(v, second, first) : block(v, first, second);
}

static gpusolve_status invert(const inversion *v, int64_t first, int64_t size) {
    const gsv_inverse_backend *backend = v->backend;
    if (size <= backend->tile_order) {
        void *a = block(v, first, first);
        const gsv_triangular solve = {
            GSV_SOLVE,         v->p->dtype, GPUSOLVE_LEFT, v->p->uplo, GPUSOLVE_NO_TRANS,
            GPUSOLVE_NON_UNIT, size,        size,          a,          v->p->lda,
            backend->tile,     size};
        gpusolve_status status = backend->copy_triangle(backend->context, v->p->dtype, v->p->uplo, NULL, 0,
                                                        backend->tile, size, size, 1);
        if (status == GPUSOLVE_OK)
            status = backend->triangular(backend->context, &solve, (gsv_number){1, 0});
        if (status == GPUSOLVE_OK)
            status = backend->copy_triangle(backend->context, v->p->dtype, v->p->uplo, backend->tile, size, a,
                                            v->p->lda, size, 0);
        return status;
    }
    const int64_t half = power_of_two_below(size), rest = size - half, second = first + half;
    void *b = beside(v, first, second);
    gpusolve_status status = invert(v, first, half);
    if (status == GPUSOLVE_OK)
        status = invert(v, second, rest);
    /* the block beside is rest x half (half x rest) */
    if (status == GPUSOLVE_OK)
        status = v->lower ? multiply(v, GPUSOLVE_LEFT, GPUSOLVE_NO_TRANS, second, rest, b, half, -1)
                          : multiply(v, GPUSOLVE_LEFT, GPUSOLVE_NO_TRANS, first, half, b, rest, -1);
    if (status == GPUSOLVE_OK)
        status = v->lower ? multiply(v, GPUSOLVE_RIGHT, GPUSOLVE_NO_TRANS, first, half, b, rest, 1)
                          : multiply(v, GPUSOLVE_RIGHT, GPUSOLVE_NO_TRANS, second, rest, b, half, 1);
    return status;
}

static gpusolve_status square(const inversion *v, int64_t first, int64_t size) {
    const gsv_inverse_backend *backend = v->backend;
    void *a = block(v, first, first);
    if (size <= backend->tile_order) {
        gpusolve_status status = backend->copy_triangle(backend->context, v->p->dtype, v->p->uplo, a,
                                                        v->p->lda, backend->tile, size, size, 1);
        if (status == GPUSOLVE_OK)
            status = backend->rank_k(backend->context, v->p->dtype, v->p->uplo, v->lower, size, size,
                                     backend->tile, size, 0, a, v->p->lda);
        return status;
    }
    const int64_t half = power_of_two_below(size), rest = size - half, second = first + half;
    void *b = beside(v, first, second);
    gpusolve_status status = square(v, first, half);
    if (status == GPUSOLVE_OK)
        status = backend->rank_k(backend->context, v->p->dtype, v->p->uplo, v->lower, half, rest, b,
                                 v->p->lda, 1, a, v->p->lda);
    if (status == GPUSOLVE_OK)
        status = multiply(v, v->lower ? GPUSOLVE_LEFT : GPUSOLVE_RIGHT, GPUSOLVE_CONJ_TRANS, second, rest, b,
                          half, 1);
    if (status == GPUSOLVE_OK)
        status = square(v, second, rest);
    return status;
}

gpusolve_status gsv_inverse_run(const gsv_inverse_problem *p, const gsv_inverse_backend *backend) {
    const inversion v = {p, backend, p->uplo == GPUSOLVE_LOWER};
    const gpusolve_status status = invert(&v, 0, p->n);
    return status == GPUSOLVE_OK ? square(&v, 0, p->n) : status;
}

gpusolve_status gsv_inverse_judge(gpusolve_handle *handle, int64_t info) {
    return info == 0 ? GPUSOLVE_OK
                     : gsv_fail(&handle->message, GPUSOLVE_SINGULAR,
                                "A: diagonal entry %lld, counted from 1, is zero, so there is no inverse",
                                (long long)info);
}
