/*
 * Entries of inv(A) on every backend: all entries of small inverses in any order and more than once, of all types and kinds, against elimination; diagonals
 * of more columns than go at a time, and entries of A's pattern, against solves; more pairs than a block has. Costs; what is refused.
 */
#include "testing.h"

#include "block_factor.h"
#include "cholmod_helpers.h"
#include "gpusolve_cholmod.h"
#include "gpusolve_inverse.h"
#include "memory.h"

typedef struct subject {
    cholmod_common common;
    cholmod_sparse *a;
    cholmod_factor *l;
    gpusolve_handle *handle;
    gpusolve_factor *factor;
    float *rounded;
    gpusolve_dtype dtype;
    int64_t n;
} subject;

static subject open_subject(gpusolve_backend backend, const char *spec, gpusolve_factor_kind kind,
                            int single) {
    subject s = {.handle = testing_handle(backend, 3)};
    testing_in("%s, %s, kind %d%s", testing_backend_name(backend), spec, (int)kind, single ? ", single" : "");
    cholmod_start(&s.common);
    s.a = testing_load(spec, &s.common);
    REQUIRE(s.a);
    s.l = testing_factorize(s.a, kind, &s.common);
    REQUIRE(s.l);
    gpusolve_factor_data data = testing_factor_data(s.l);
    if (single)
        s.rounded = testing_round(s.l, &data);
    REQUIRE(gpusolve_factor_create(s.handle, &data, &s.factor) == GPUSOLVE_OK);
    s.dtype = data.dtype;
    s.n = data.n;
    return s;
}

static void close_subject(subject *s) {
    gpusolve_factor_destroy(s->factor);
    gpusolve_destroy(s->handle);
    free(s->rounded);
    cholmod_free_factor(&s->l, &s->common);
    cholmod_free_sparse(&s->a, &s->common);
    cholmod_finish(&s->common);
}

static void check_all(gpusolve_backend backend, const char *spec, gpusolve_factor_kind kind, int single) {
    subject s = open_subject(backend, spec, kind, single);
    const int64_t n = s.n, count = n * n + n;
    double complex *m = testing_invert(s.a), *inverse = m + n * n;
    int64_t *rows = malloc((size_t)count * sizeof *rows), *columns = malloc((size_t)count * sizeof *columns);
    double *diagonal = malloc((size_t)n * sizeof *diagonal), worst = 0, largest = 0;
    void *values = malloc((size_t)count * testing_bytes(s.dtype));
    uint64_t state = 17;
    REQUIRE(rows && columns && diagonal && values);
    for (int64_t k = 0; k < count; k++) {
        rows[k] = k < n * n ? k % n : testing_random_below(&state, n);
        columns[k] = k < n * n ? k / n : testing_random_below(&state, n);
    }
    for (int64_t k = count - 1; k > 0; k--) { /* in any order */
        const int64_t other = testing_random_below(&state, k + 1), row = rows[k], column = columns[k];
        rows[k] = rows[other];
        columns[k] = columns[other];
        rows[other] = row;
        columns[other] = column;
    }
    memset(values, 0xff, (size_t)count * testing_bytes(s.dtype));
    CHECK_STATUS(gpusolve_inverse_entries(s.handle, s.factor, count, rows, columns, values), GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_inverse_diagonal(s.handle, s.factor, diagonal), GPUSOLVE_OK);
    for (int64_t k = 0; k < count; k++) {
        const double complex expected = inverse[columns[k] * n + rows[k]];
        worst = testing_worse(worst, cabs(testing_fetch(s.dtype, values, k) - expected));
        largest = testing_worse(largest, cabs(expected));
    }
    for (int64_t j = 0; j < n; j++)
        worst = testing_worse(worst, fabs(diagonal[j] - creal(inverse[j * n + j])));
    CHECK_BELOW(worst, 3000 * testing_epsilon(s.dtype) * largest);
    free(m);
    free(rows);
    free(columns);
    free(diagonal);
    free(values);
    close_subject(&s);
}

/* The diagonal, of several blocks, and the entries of A's pattern, in some columns against solves. */
static void check_blocks(gpusolve_backend backend, const char *spec, gpusolve_factor_kind kind,
                         int64_t step) {
    subject s = open_subject(backend, spec, kind, 0);
    const int64_t n = s.n, count = (int64_t)s.a->nzmax;
    const int32_t *p = s.a->p, *i = s.a->i;
    int64_t *rows = malloc((size_t)count * sizeof *rows), *columns = malloc((size_t)count * sizeof *columns);
    double *diagonal = malloc((size_t)n * sizeof *diagonal), *values = malloc((size_t)count * sizeof *values);
    const gpusolve_dense x = testing_block(GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, n, 1, 0);
    gpusolve_inverse_info info = {.size = sizeof info};
    double worst = 0;
    REQUIRE(rows && columns && diagonal && values && s.dtype == GPUSOLVE_DOUBLE);
    for (int64_t j = 0; j < n; j++)
        for (int64_t k = p[j]; k < p[j + 1]; k++) {
            rows[k] = i[k];
            columns[k] = j;
        }
    CHECK_STATUS(gpusolve_inverse_diagonal(s.handle, s.factor, diagonal), GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_inverse_entries(s.handle, s.factor, p[n], rows, columns, values), GPUSOLVE_OK);
    for (int64_t j = 0; j < n; j += step) {
        memset(x.values, 0, (size_t)n * sizeof(double));
        testing_set(&x, j, 0, 1);
        CHECK_STATUS(gpusolve_solve(s.handle, s.factor, NULL, GPUSOLVE_A, &x, &x), GPUSOLVE_OK);
        worst = testing_worse(worst, fabs(diagonal[j] / creal(testing_get(&x, j, 0)) - 1));
        for (int64_t k = p[j]; k < p[j + 1]; k++)
            worst = testing_worse(worst, fabs(values[k] / creal(testing_get(&x, rows[k], 0)) - 1));
    }
    CHECK_BELOW(worst, 1e-12);
    CHECK_STATUS(gpusolve_inverse_cost(s.handle, s.factor, n, NULL, NULL, &info), GPUSOLVE_OK);
    CHECK(info.columns == n && info.blocks == (n + 1023) / 1024 && info.bytes > 0);
    CHECK(info.memory_bytes > 0 && info.predicted_ms > 0 && isfinite(info.predicted_ms));
    CHECK_STATUS(gpusolve_inverse_cost(s.handle, s.factor, p[n], rows, columns, &info), GPUSOLVE_OK);
    CHECK(info.columns == n && info.blocks == (n + 1023) / 1024 && info.memory_bytes > 0);
    CHECK_STATUS(gpusolve_inverse_cost(s.handle, s.factor, 1, rows + 5, columns + 5, &info), GPUSOLVE_OK);
    CHECK(info.columns == 1 && info.blocks == 1 && info.memory_bytes > 0);
    CHECK_STATUS(gpusolve_inverse_cost(s.handle, s.factor, 0, NULL, NULL, &info), GPUSOLVE_OK);
    CHECK(info.columns == 0 && info.blocks == 0 && info.predicted_ms == 0 && info.memory_bytes == 0);
    free(rows);
    free(columns);
    free(diagonal);
    free(values);
    free(x.values);
    close_subject(&s);
}

/* More pairs of one column than a block has: the inverse of a diagonal matrix, and of one without columns. */
static void check_many_pairs(gpusolve_backend backend) {
    const int64_t count = 150000;
    double diagonal[] = {2, 4, 8, 16}, inverse[4];
    gpusolve_handle *handle = testing_handle(backend, 1);
    block_factor f = block_factor_create(GPUSOLVE_SUPERNODAL_LL, GPUSOLVE_DOUBLE, 4, 2, diagonal, 0),
                 empty = block_factor_create(GPUSOLVE_SUPERNODAL_LL, GPUSOLVE_DOUBLE, 0, 1, NULL, 0);
    gpusolve_factor *factor = NULL;
    int64_t *rows = malloc((size_t)count * sizeof *rows), *columns = calloc((size_t)count, sizeof *columns);
    double *values = malloc((size_t)count * sizeof *values);
    int wrong = 0;
    testing_in("%s, many pairs", testing_backend_name(backend));
    REQUIRE(rows && columns && values);
    REQUIRE(gpusolve_factor_create(handle, &f.data, &factor) == GPUSOLVE_OK);
    for (int64_t k = 0; k < count; k++) {
        rows[k] = k % 4;
        columns[k] = k % 5 ? 2 : 1;
    }
    CHECK_STATUS(gpusolve_inverse_entries(handle, factor, count, rows, columns, values), GPUSOLVE_OK);
    for (int64_t k = 0; k < count; k++)
        wrong += values[k] != (rows[k] == columns[k] ? (columns[k] == 2 ? 1.0 / 64 : 1.0 / 16) : 0);
    CHECK(wrong == 0);
    CHECK_STATUS(gpusolve_inverse_diagonal(handle, factor, inverse), GPUSOLVE_OK);
    CHECK(inverse[0] == 0.25 && inverse[3] == 1.0 / 256);
    gpusolve_factor_destroy(factor);
    REQUIRE(gpusolve_factor_create(handle, &empty.data, &factor) == GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_inverse_diagonal(handle, factor, NULL), GPUSOLVE_OK);
    gpusolve_factor_destroy(factor);
    block_factor_free(&f);
    block_factor_free(&empty);
    free(rows);
    free(columns);
    free(values);
    gpusolve_destroy(handle);
}

static void check_refusals(gpusolve_backend backend) {
    const double ones[] = {1, 1, 1, 1, 1};
    const int64_t good[] = {0, 4}, negative[] = {0, -1}, large[] = {5, 0};
    testing_in("%s, refusals", testing_backend_name(backend));
    gpusolve_handle *h = testing_handle(backend, 1);
    block_factor block = block_factor_create(GPUSOLVE_SUPERNODAL_LL, GPUSOLVE_DOUBLE, 5, 2, ones, 0);
    gpusolve_factor *f = NULL;
    gpusolve_inverse_info info = {.size = sizeof info};
    double values[] = {7, 7, 7, 7, 7};
    REQUIRE(gpusolve_factor_create(h, &block.data, &f) == GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_inverse_entries(NULL, f, 2, good, good, values), GPUSOLVE_INVALID_ARGUMENT);
#define REFUSED(call, word) CHECK_REFUSED(h, call, GPUSOLVE_INVALID_ARGUMENT, word)
    REFUSED(gpusolve_inverse_entries(h, NULL, 2, good, good, values), "factor");
    REFUSED(gpusolve_inverse_entries(h, f, -1, good, good, values), "count");
    REFUSED(gpusolve_inverse_entries(h, f, INT64_MAX, good, good, values), "count");
    REFUSED(gpusolve_inverse_entries(h, f, 2, NULL, good, values), "rows: is NULL");
    REFUSED(gpusolve_inverse_entries(h, f, 2, good, NULL, values), "columns: is NULL");
    REFUSED(gpusolve_inverse_entries(h, f, 2, negative, good, values), "rows[1]: is -1");
    REFUSED(gpusolve_inverse_entries(h, f, 2, good, large, values), "columns[0]: is 5");
    REFUSED(gpusolve_inverse_entries(h, f, 2, good, good, NULL), "values: is NULL");
    REFUSED(gpusolve_inverse_entries(h, f, 2, good, good, (char *)values + 1), "values: is not aligned");
    REFUSED(gpusolve_inverse_diagonal(h, NULL, values), "factor");
    REFUSED(gpusolve_inverse_diagonal(h, f, NULL), "diagonal: is NULL");
    REFUSED(gpusolve_inverse_cost(h, f, 4, NULL, NULL, &info), "rows: is NULL");
    REFUSED(gpusolve_inverse_cost(h, f, 2, good, good, NULL), "info: is NULL");
    info.size++;
    REFUSED(gpusolve_inverse_cost(h, f, 2, good, good, &info), "info->size");
    info.size--;
    if (backend == GPUSOLVE_BACKEND_CUDA) {
        double *device = device_new(values, sizeof values);
        REQUIRE(device);
        REFUSED(gpusolve_inverse_diagonal(h, f, device), "device memory");
        REFUSED(gpusolve_inverse_entries(h, f, 2, good, good, device), "device memory");
        device_delete(device);
    }
#undef REFUSED
    for (int k = 0; k < 5; k++)
        CHECK(values[k] == 7);
    CHECK_STATUS(gpusolve_inverse_entries(h, f, 0, NULL, NULL, NULL), GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_inverse_cost(h, f, 5, NULL, NULL, &info), GPUSOLVE_OK);
    gpusolve_factor_destroy(f);
    block_factor_free(&block);
    gpusolve_destroy(h);
}

int main(void) {
    gpusolve_backend backends[2];
    const int count = testing_backends(backends);
    for (int b = 0; b < count; b++) {
        for (int kind = 0; kind < 3; kind++)
            for (int single = 0; single < 2; single++) {
                check_all(backends[b], "grid2d:7", (gpusolve_factor_kind)kind, single);
                check_all(backends[b], "grid3d:4@c", (gpusolve_factor_kind)kind, single);
                check_all(backends[b], "arrow:40,3,7", (gpusolve_factor_kind)kind, single);
            }
        check_blocks(backends[b], "grid2d:50", GPUSOLVE_SUPERNODAL_LL, 97);
        check_blocks(backends[b], "grid3d:12", GPUSOLVE_SIMPLICIAL_LDL, 101);
        check_many_pairs(backends[b]);
        check_refusals(backends[b]);
    }
    CHECK(gsv_live_allocations() == 0 && gsv_live_on_device() == 0);
    return testing_done();
}
