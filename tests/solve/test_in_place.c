/*
 * A factor whose numbers stay in the caller's memory: every system has the bits that a copy gives, for every
 * type, any number of columns and threads; its memory is short of L; a refresh takes other numbers, in the
 * same memory or in another; and what cannot be read in place is refused.
 */
#include "testing.h"

#include "cholmod_helpers.h"

enum { COLUMNS = 41 };

static const gpusolve_system systems[] = {GPUSOLVE_A, GPUSOLVE_L, GPUSOLVE_Lt, GPUSOLVE_P, GPUSOLVE_LDLt};

/* The numbers of a factor in another type, times `times`. */
static void *numbers_as(gpusolve_dtype dtype, const cholmod_factor *l, double times) {
    const gpusolve_dtype stored = l->xtype == CHOLMOD_REAL ? GPUSOLVE_DOUBLE : GPUSOLVE_COMPLEX_DOUBLE;
    void *x = malloc(l->xsize * testing_bytes(dtype));
    REQUIRE(x != NULL);
    for (int64_t k = 0; k < (int64_t)l->xsize; k++)
        testing_store(dtype, x, k, times * testing_fetch(stored, l->x, k));
    return x;
}

static gpusolve_factor *import(gpusolve_handle *handle, const gpusolve_factor_data *data) {
    gpusolve_factor *factor;
    REQUIRE(gpusolve_factor_create(handle, data, &factor) == GPUSOLVE_OK);
    return factor;
}

/* Every system with both factors, on the first columns of the same b. */
static void check_same(gpusolve_handle *handle, const gpusolve_factor *copied,
                       const gpusolve_factor *in_place, gpusolve_dtype dtype, int64_t n) {
    static const int64_t counts[] = {1, 2, 8, 16, COLUMNS};
    gpusolve_dense b = testing_block(dtype, GPUSOLVE_COL_MAJOR, n, COLUMNS, 0);
    gpusolve_dense x = testing_block(dtype, GPUSOLVE_COL_MAJOR, n, COLUMNS, 0);
    gpusolve_dense y = testing_block(dtype, GPUSOLVE_COL_MAJOR, n, COLUMNS, 0);
    testing_fill(&b, 3);
    for (size_t system = 0; system < sizeof systems / sizeof systems[0]; system++)
        for (size_t k = 0; k < sizeof counts / sizeof counts[0]; k++) {
            b.cols = x.cols = y.cols = counts[k];
            CHECK_STATUS(gpusolve_solve(handle, copied, NULL, systems[system], &b, &x), GPUSOLVE_OK);
            CHECK_STATUS(gpusolve_solve(handle, in_place, NULL, systems[system], &b, &y), GPUSOLVE_OK);
            CHECK(testing_same_bits(&x, 0, &y, 0, counts[k]));
        }
    free(b.values);
    free(x.values);
    free(y.values);
}

static void check_memory(gpusolve_handle *handle, const gpusolve_factor *copied,
                         const gpusolve_factor *in_place, const gpusolve_factor_data *data) {
    gpusolve_info copy = {.size = sizeof copy}, place = {.size = sizeof place},
                  query = {.size = sizeof query};
    CHECK_STATUS(gpusolve_factor_info(handle, copied, 1, &copy), GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_factor_info(handle, in_place, 1, &place), GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_query(handle, data, 1, &query), GPUSOLVE_OK);
    CHECK(query.factor_bytes == place.factor_bytes);
    if (gpusolve_get_backend(handle) == GPUSOLVE_BACKEND_HOST)
        CHECK(copy.factor_bytes - place.factor_bytes >= copy.stored_bytes);
    else
        CHECK(copy.factor_bytes == place.factor_bytes);
}

static void check_refresh(gpusolve_handle *handle, gpusolve_factor *copied, gpusolve_factor *in_place,
                          const gpusolve_factor_data *data, const cholmod_factor *l, void *x) {
    const size_t bytes = l->xsize * testing_bytes(data->dtype);
    gpusolve_factor_data other = *data;
    void *twice = numbers_as(data->dtype, l, 2), *thrice = numbers_as(data->dtype, l, 3);
    memcpy(x, twice, bytes); /* new numbers in the old memory */
    CHECK_STATUS(gpusolve_factor_refresh(handle, in_place, data), GPUSOLVE_OK);
    other.x = twice;
    other.in_place = 0;
    CHECK_STATUS(gpusolve_factor_refresh(handle, in_place, &other), GPUSOLVE_INVALID_ARGUMENT);
    CHECK(strstr(gpusolve_last_error(handle), "in_place") != NULL);
    CHECK_STATUS(gpusolve_factor_refresh(handle, copied, &other), GPUSOLVE_OK);
    check_same(handle, copied, in_place, data->dtype, data->n);

    other.x = thrice; /* other memory; the old one is the caller's again */
    CHECK_STATUS(gpusolve_factor_refresh(handle, copied, &other), GPUSOLVE_OK);
    other.in_place = 1;
    CHECK_STATUS(gpusolve_factor_refresh(handle, copied, &other), GPUSOLVE_INVALID_ARGUMENT);
    CHECK_STATUS(gpusolve_factor_refresh(handle, in_place, &other), GPUSOLVE_OK);
    memset(x, 0xff, bytes);
    check_same(handle, copied, in_place, data->dtype, data->n);
    free(twice);
    free(thrice);
}

static void check_type(gpusolve_backend backend, int threads, gpusolve_dtype dtype, const cholmod_factor *l) {
    testing_in("%s, %d threads, dtype %d", testing_backend_name(backend), threads, (int)dtype);
    gpusolve_handle *handle = testing_handle(backend, threads);
    gpusolve_factor_data data = testing_factor_data(l);
    void *x = numbers_as(dtype, l, 1);
    data.dtype = dtype;
    data.x = x;
    gpusolve_factor *copied = import(handle, &data);
    data.in_place = 1;
    gpusolve_factor *in_place = import(handle, &data);
    check_same(handle, copied, in_place, dtype, data.n);
    check_memory(handle, copied, in_place, &data);
    check_refresh(handle, copied, in_place, &data, l, x);
    gpusolve_factor_destroy(copied);
    gpusolve_factor_destroy(in_place);
    gpusolve_destroy(handle);
    free(x);
}

static void check_refusals(gpusolve_backend backend, const cholmod_factor *l) {
    testing_in("%s, refusals", testing_backend_name(backend));
    gpusolve_handle *handle = testing_handle(backend, 1);
    gpusolve_factor *factor;
    gpusolve_factor_data data = testing_factor_data(l);
    data.in_place = 2;
    CHECK_STATUS(gpusolve_factor_create(handle, &data, &factor), GPUSOLVE_INVALID_ARGUMENT);
    CHECK(strstr(gpusolve_last_error(handle), "in_place") != NULL && factor == NULL);
    data.in_place = 1;
    data.dtype = GPUSOLVE_COMPLEX_DOUBLE;
    data.z = data.x;
    CHECK_STATUS(gpusolve_factor_create(handle, &data, &factor), GPUSOLVE_NOT_SUPPORTED);
    const int32_t p[] = {0, 1}, i[] = {0};
    const double one = 1;
    gpusolve_factor_data column = GPUSOLVE_FACTOR_DATA_INIT;
    column.kind = GPUSOLVE_SIMPLICIAL_LL;
    column.n = column.minor = 1;
    column.p = p;
    column.i = i;
    column.x = &one;
    column.in_place = 1;
    CHECK_STATUS(gpusolve_factor_create(handle, &column, &factor), GPUSOLVE_NOT_SUPPORTED);
    CHECK(strstr(gpusolve_last_error(handle), "in_place") != NULL && factor == NULL);
    gpusolve_destroy(handle);
}

static void check_matrix(const char *spec, gpusolve_dtype single, gpusolve_dtype twice) {
    cholmod_common common;
    cholmod_start(&common);
    cholmod_sparse *a = testing_load(spec, &common);
    REQUIRE(a != NULL);
    cholmod_factor *l = testing_factorize(a, GPUSOLVE_SUPERNODAL_LL, &common);
    REQUIRE(l != NULL && l->minor == l->n);
    gpusolve_backend backends[2];
    const int count = testing_backends(backends);
    for (int k = 0; k < count; k++) {
        for (int threads = 1; threads <= 3; threads += 2) {
            check_type(backends[k], threads, single, l);
            check_type(backends[k], threads, twice, l);
        }
        if (twice == GPUSOLVE_DOUBLE)
            check_refusals(backends[k], l);
    }
    cholmod_free_factor(&l, &common);
    cholmod_free_sparse(&a, &common);
    cholmod_finish(&common);
}

int main(void) {
    check_matrix("elasticity3d:9", GPUSOLVE_FLOAT, GPUSOLVE_DOUBLE);
    check_matrix("grid2d:60", GPUSOLVE_FLOAT, GPUSOLVE_DOUBLE);
    check_matrix("grid3d:11@c", GPUSOLVE_COMPLEX_FLOAT, GPUSOLVE_COMPLEX_DOUBLE);
    return testing_done();
}
