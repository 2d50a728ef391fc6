/*
 * The recursion of triangular.h. The split is at the largest power of two below the size, so that all but
 * the last products have sizes that a GEMM likes; no flop is done that the operation does not ask for.
 */
#include "triangular.h"

typedef struct recursion {
    const gsv_triangular *p;
    const gsv_triangular_backend *backend;
    int forward;
} recursion;

/* Canonical indices first .. first + size - 1 as a range of A's. */
static int64_t start_of(const recursion *r, int64_t first, int64_t size) {
    return r->forward ? first : r->p->order - first - size;
}

static int64_t power_of_two_below(int64_t size) {
    int64_t half = 1;
    while (2 * half < size)
        half *= 2;
    return half;
}

static gpusolve_status run(const recursion *r, int64_t first, int64_t size, gsv_number alpha) {
    static const gsv_number one = {1, 0}, minus_one = {-1, 0};
    if (size <= r->backend->stop)
        return r->backend->leaf(r->backend->context, r->p, start_of(r, first, size), size, alpha);
    const int64_t half = power_of_two_below(size), rest = size - half, second = first + half;
    const int64_t to = start_of(r, second, rest), from = start_of(r, first, half);
    const int solve = r->p->operation == GSV_SOLVE;
    gpusolve_status status = solve ? run(r, first, half, alpha) : run(r, second, rest, alpha);
    if (status == GPUSOLVE_OK)
        status = r->backend->multiply(r->backend->context, r->p, to, rest, from, half,
                                      solve ? minus_one : alpha, solve ? alpha : one);
    if (status == GPUSOLVE_OK)
        status = solve ? run(r, second, rest, one) : run(r, first, half, alpha);
    return status;
}

gpusolve_status gsv_triangular_run(const gsv_triangular *p, gsv_number alpha,
                                   const gsv_triangular_backend *backend) {
    const recursion r = {p, backend, gsv_is_forward(p)};
    return run(&r, 0, p->order, alpha);
}
