/*
 * Diagonal entries near the smallest numbers, through the public calls, on every backend: what cannot be divided by is
 * GPUSOLVE_SINGULAR at the import and at a refresh, which leaves the factor as it was; what can be is solved with, and D of
 * L D L' may be as small as numbers are.
 */
#include "testing.h"

#include "memory.h"

enum { N = 3 };

/* L = [d . .; 0 1 .; e 1 1] as a simplicial factor, or as the panels of the supernodes {0}, {1 2}. */
static const int32_t p[] = {0, 2, 4, 5}, i[] = {0, 2, 1, 2, 2};
static const int32_t super[] = {0, 1, 3}, pi[] = {0, 2, 4}, px[] = {0, 2, 6}, s[] = {0, 2, 1, 2};

static gpusolve_factor_data factor_data(gpusolve_factor_kind kind, gpusolve_dtype dtype, const void *x) {
    gpusolve_factor_data data = GPUSOLVE_FACTOR_DATA_INIT;
    data.kind = kind;
    data.dtype = dtype;
    data.n = data.minor = N;
    data.x = x;
    if (kind == GPUSOLVE_SUPERNODAL_LL) {
        data.nsuper = 2;
        data.ssize = 4;
        data.xsize = 6;
        data.super = super;
        data.pi = pi;
        data.px = px;
        data.s = s;
    } else {
        data.xsize = 5;
        data.p = p;
        data.i = i;
    }
    return data;
}

/* The numbers of L with d and e, for L D L' those of D and L below it. */
static void set_numbers(gpusolve_factor_kind kind, gpusolve_dtype dtype, double d, double e, void *x) {
    const double numbers[2][6] = {{d, e, 1, 1, 0, 1}, {d, e, 1, 1, 1, 0}};
    for (int k = 0; k < 6; k++)
        testing_store(dtype, x, k, numbers[kind != GPUSOLVE_SUPERNODAL_LL][k]);
}

static void check_one(gpusolve_backend backend, gpusolve_factor_kind kind, gpusolve_dtype dtype,
                      int in_place) {
    const int single = dtype == GPUSOLVE_FLOAT || dtype == GPUSOLVE_COMPLEX_FLOAT;
    const int has_d = kind == GPUSOLVE_SIMPLICIAL_LDL;
    const double least = single ? (double)FLT_MIN : DBL_MIN, most = single ? (double)FLT_MAX : DBL_MAX;
    double good[12], tiny[12], steep[12], bare[12];
    gpusolve_handle *handle = testing_handle(backend, 2);
    gpusolve_factor *factor = NULL, *other = NULL;
    testing_in("%s, kind %d, dtype %d, in place %d", testing_backend_name(backend), (int)kind, (int)dtype,
               in_place);
    set_numbers(kind, dtype, 2, 1, good);
    set_numbers(kind, dtype, least / 8, 0, tiny);
    set_numbers(kind, dtype, 4 * least, most, steep);
    set_numbers(kind, dtype, 4 * least, 0, bare);
    gpusolve_factor_data data = factor_data(kind, dtype, good);
    data.in_place = in_place;
    CHECK_STATUS(gpusolve_factor_create(handle, &data, &factor), GPUSOLVE_OK);
    REQUIRE(factor != NULL);
    const void *bad[] = {tiny, steep};
    for (int k = 0; k < 2 && !has_d; k++) {
        data.x = bad[k];
        CHECK_REFUSED(handle, gpusolve_factor_create(handle, &data, &other), GPUSOLVE_SINGULAR, "L(0,0) = ");
        CHECK(other == NULL && strstr(gpusolve_last_error(handle), "so small that") != NULL);
        CHECK_REFUSED(handle, gpusolve_factor_refresh(handle, factor, &data), GPUSOLVE_SINGULAR, "L(0,0) = ");
    }
    /* L x = b, for b = L [1 1 1]' */
    gpusolve_dense b = testing_block(dtype, GPUSOLVE_COL_MAJOR, N, 1, 0),
                   x = testing_block(dtype, GPUSOLVE_COL_MAJOR, N, 1, 0);
    testing_set(&b, 0, 0, has_d ? 1 : 2);
    testing_set(&b, 1, 0, 1);
    testing_set(&b, 2, 0, 3);
    CHECK_STATUS(gpusolve_solve(handle, factor, NULL, GPUSOLVE_L, &b, &x), GPUSOLVE_OK);
    for (int k = 0; k < N; k++)
        CHECK(testing_get(&x, k, 0) == 1);

    const double d = has_d ? least / 8 : 4 * least; /* L, or D, with b of that size */
    data.x = has_d ? tiny : bare;
    CHECK_STATUS(gpusolve_factor_refresh(handle, factor, &data), GPUSOLVE_OK);
    testing_set(&b, 0, 0, 2 * d);
    CHECK_STATUS(gpusolve_solve(handle, factor, NULL, GPUSOLVE_LD, &b, &x), GPUSOLVE_OK);
    CHECK(testing_get(&x, 0, 0) == 2 && testing_get(&x, 1, 0) == 1);
    testing_set(&b, 0, 0, 0);
    CHECK_STATUS(gpusolve_solve(handle, factor, NULL, GPUSOLVE_A, &b, &x), GPUSOLVE_OK);
    CHECK(testing_get(&x, 0, 0) == 0);
    free(b.values);
    free(x.values);
    gpusolve_factor_destroy(factor);
    gpusolve_destroy(handle);
}

int main(void) {
    gpusolve_backend backends[2];
    const int count = testing_backends(backends);
    for (int k = 0; k < count; k++)
        for (int kind = 0; kind < 3; kind++)
            for (int dtype = 0; dtype < 4; dtype++)
                for (int in_place = 0; in_place <= (kind == GPUSOLVE_SUPERNODAL_LL); in_place++)
                    check_one(backends[k], (gpusolve_factor_kind)kind, (gpusolve_dtype)dtype, in_place);
    CHECK(gsv_live_allocations() == 0);
    return testing_done();
}
