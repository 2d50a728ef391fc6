/*
 * The residual R = B - A X of a block of columns on the host, with its norms. Vectors are by rows, entry (i, j) at [i * columns + j]: an entry
 * of A meets the numbers of all columns side by side.
 *
 * Parallel over blocks of rows. Every number is computed by one thread in one order, and norms are maxima, so
 * the result is the same for any number of threads.
 */
#include "residual.h"

#include "refine.h"

#include <math.h>
#include <string.h>

#include "../../../memory.h"
#include "../../../pool.h"

enum { WIDTH = GSV_HOST_SUMS, PASS = GSV_HOST_PASS, ROWS = GSV_HOST_ROWS };

typedef gsv_host_residuals residuals;

typedef gsv_host_matrix host_matrix;
typedef gsv_host_norms column_norms;

#define GSV_TEMPLATE "../supernodal/host/refine/residual.inc"
#include "../../../dense_kernels/kinds_host.h"

/* ----------------------------------------------------------------------------------------- the matrix --- */

static void *copy_of(const void *array, int64_t count, size_t size) {
    void *copy = gsv_malloc((size_t)count, size);
    if (copy && count > 0)
        memcpy(copy, array, (size_t)count * size);
    return copy;
}

gpusolve_status gsv_host_matrix_create(gpusolve_handle *handle, gpusolve_matrix *matrix,
                                       const int64_t *row_ptr, const int32_t *columns, const void *values) {
    host_matrix *state = gsv_calloc(1, sizeof *state);
    matrix->state = state;
    if (state) {
        state->row_ptr = copy_of(row_ptr, (int64_t)matrix->n + 1, sizeof *row_ptr);
        state->columns = copy_of(columns, matrix->nnz, sizeof *columns);
        state->values = copy_of(values, matrix->nnz, gsv_dtype_bytes(matrix->dtype));
        if (state->row_ptr && state->columns && state->values)
            return GPUSOLVE_OK;
    }
    gsv_host_matrix_destroy(matrix);
    return gsv_fail(&handle->message, GPUSOLVE_OUT_OF_MEMORY, "matrix: out of host memory");
}

void gsv_host_matrix_destroy(gpusolve_matrix *matrix) {
    host_matrix *state = matrix->state;
    if (!state)
        return;
    gsv_free(state->row_ptr);
    gsv_free(state->columns);
    gsv_free(state->values);
    gsv_free(state);
    matrix->state = NULL;
}

/* ------------------------------------------------------------------------------------- residuals --- */

static int64_t blocks_of(int64_t n) {
    return n / ROWS + (n % ROWS != 0);
}

/* *norm = max(*norm, modulus): doubles without a sign are ordered like their bits, and a NaN is above all. */
static void raise_shared(_Atomic uint64_t *norm, double modulus) {
    uint64_t bits, old = atomic_load_explicit(norm, memory_order_relaxed);
    modulus = fabs(modulus);
    memcpy(&bits, &modulus, sizeof bits);
    while (bits > old && !atomic_compare_exchange_weak_explicit(norm, &old, bits, memory_order_relaxed,
                                                                memory_order_relaxed)) {
    }
}

double gsv_host_norm_of(const residuals *t, int64_t column, int which) {
    const uint64_t bits = atomic_load_explicit(&t->norms[column][which], memory_order_relaxed);
    double norm;
    memcpy(&norm, &bits, sizeof norm);
    return norm;
}

static void residual_rows(const residuals *t, int64_t begin, int64_t end, column_norms *norms) {
    static gsv_host_rows *const of[] = {GSV_KINDS(residual)};
    (t->careful ? gsv_host_careful_rows : of[t->matrix->dtype])(t, begin, end, norms);
}

static void residual_blocks(void *context, int member) {
    residuals *t = context;
    column_norms mine = {.poison = {0}};
    const int64_t n = t->matrix->n, blocks = blocks_of(n);
    (void)member;
    for (int64_t i; (i = atomic_fetch_add_explicit(&t->next, 1, memory_order_relaxed)) < blocks;)
        residual_rows(t, i * ROWS, n - i * ROWS < ROWS ? n : (i + 1) * ROWS, &mine);
    for (int64_t j = 0; j < t->count; j++)
        for (int k = 0; k < 4; k++)
            raise_shared(&t->norms[j][k], isnan(mine.poison[j]) ? NAN : mine.most[k][j]);
}

void gsv_host_find_residuals(gsv_pool *pool, residuals *found, const gsv_refine_column *state) {
    int any = 0;
    for (int64_t j = 0; j < found->count; j++)
        if (!state || state[found->first + j].active)
            any = found->wanted[j / WIDTH] = 1;
    if (any)
        gsv_pool_run(pool, gsv_pool_share(pool, found->matrix->nnz * found->count, GSV_HOST_SERIAL),
                     residual_blocks, found);
}

residuals gsv_host_pass_of(const gpusolve_matrix *matrix, int64_t columns, int64_t first, const void *b,
                           int64_t b_stride, const void *x, void *r) {
    return (residuals){.matrix = matrix,
                       .b = b,
                       .x = x,
                       .r = r,
                       .columns = columns,
                       .b_stride = b_stride,
                       .first = first,
                       .count = columns - first < PASS ? columns - first : PASS};
}
