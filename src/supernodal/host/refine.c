/*
 * Refinement on the host: r = b - A x and x = x + r over the rows of A, in the factor's precision.
 *
 * Parallel over blocks of rows. Every number is computed by one thread in one order, and norms are maxima, so
 * the result is the same for any number of threads.
 */
#include "refine.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "../../memory.h"
#include "../../pool.h"

enum {
    WIDTH = 4,            /* columns a residual takes at once */
    ROWS = 512,           /* a thread's share of rows at a time */
    SERIAL_WORK = 1 << 14 /* multiplications that are worth waking a thread */
};

typedef struct host_matrix {
    int64_t *row_ptr;
    int32_t *columns;
    void *values;
} host_matrix;

typedef struct column_norms {
    double r, x, b;
} column_norms;

enum { VECTOR_B, VECTOR_X, VECTOR_S, VECTOR_R, VECTORS };

/* *norm = max(*norm, modulus), and NaN from the first NaN on. */
static void raise(double *norm, double modulus) {
    if (!(modulus <= *norm) && !isnan(*norm))
        *norm = modulus;
}

#define REAL float
#define PARTS 1
#define NAME residual_s
#include "residual.inc"

#define REAL double
#define PARTS 1
#define NAME residual_d
#include "residual.inc"

#define REAL float
#define PARTS 2
#define NAME residual_c
#include "residual.inc"

#define REAL double
#define PARTS 2
#define NAME residual_z
#include "residual.inc"

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

gpusolve_status gsv_host_refine_reserve(gpusolve_handle *handle, gpusolve_workspace *workspace) {
    size_t column = (size_t)workspace->n * gsv_dtype_bytes(workspace->dtype);
    workspace->refine = gsv_malloc((size_t)workspace->max_nrhs * VECTORS, column);
    return workspace->refine
               ? GPUSOLVE_OK
               : gsv_fail(&handle->message, GPUSOLVE_OUT_OF_MEMORY, "workspace: out of host memory");
}

/* Column j of one of the four vectors. */
static char *column_of(const gpusolve_workspace *workspace, int vector, int64_t j) {
    size_t column = (size_t)workspace->n * gsv_dtype_bytes(workspace->dtype);
    return (char *)workspace->refine + ((size_t)vector * (size_t)workspace->max_nrhs + (size_t)j) * column;
}

/* to(k) = from(k), k < count; steps in bytes */
static void copy_numbers(char *to, int64_t to_step, const char *from, int64_t from_step, int64_t count,
                         size_t bytes) {
    if (to_step == from_step && to_step == (int64_t)bytes) {
        memcpy(to, from, (size_t)count * bytes);
        return;
    }
    for (int64_t k = 0; k < count; k++, to += to_step, from += from_step) {
        if (bytes == 8)
            memcpy(to, from, 8);
        else if (bytes == 16)
            memcpy(to, from, 16);
        else
            memcpy(to, from, 4);
    }
}

/* Threads for `work` multiplications or moved numbers. */
static int threads_for(const gpusolve_handle *handle, int64_t work) {
    return gsv_pool_share(handle->pool, work, SERIAL_WORK);
}

static int64_t blocks_of(int64_t n) {
    return n / ROWS + (n % ROWS != 0);
}

typedef struct copying {
    const gpusolve_workspace *workspace;
    int vector;
    const gpusolve_dense *user;
    int to_user;
} copying;

/* ROWS rows of a vector's leading columns from (to) a user's block. */
static void copy_rows(void *context, int64_t item, int member) {
    const copying *c = context;
    const gpusolve_dense *user = c->user;
    const int64_t bytes = (int64_t)gsv_dtype_bytes(c->workspace->dtype);
    const int64_t row_step = bytes * gsv_row_stride(user);
    const int64_t column_step = bytes * gsv_column_stride(user);
    const int64_t n = c->workspace->n, begin = item * ROWS, count = n - begin < ROWS ? n - begin : ROWS;
    (void)member;
    for (int64_t j = 0; j < user->cols; j++) {
        char *theirs = (char *)user->values + begin * row_step + j * column_step;
        char *ours = column_of(c->workspace, c->vector, j) + begin * bytes;
        if (c->to_user)
            copy_numbers(theirs, row_step, ours, bytes, count, (size_t)bytes);
        else
            copy_numbers(ours, bytes, theirs, row_step, count, (size_t)bytes);
    }
}

static void copy_block(gpusolve_handle *handle, const gpusolve_workspace *workspace, int vector,
                       const gpusolve_dense *user, int to_user) {
    copying c = {workspace, vector, user, to_user};
    gsv_pool_each(handle->pool, threads_for(handle, workspace->n * user->cols), blocks_of(workspace->n),
                  copy_rows, &c);
}

gpusolve_status gsv_host_refine_load(gpusolve_handle *handle, gpusolve_workspace *workspace,
                                     gsv_refine_vector which, const gpusolve_dense *from) {
    copy_block(handle, workspace, which == GSV_REFINE_B ? VECTOR_B : VECTOR_X, from, 0);
    return GPUSOLVE_OK;
}

gpusolve_status gsv_host_refine_store(gpusolve_handle *handle, gpusolve_workspace *workspace,
                                      const gpusolve_dense *to) {
    copy_block(handle, workspace, VECTOR_X, to, 1);
    return GPUSOLVE_OK;
}

gpusolve_status gsv_host_refine_solve(gpusolve_handle *handle, const gpusolve_factor *factor,
                                      gpusolve_workspace *workspace, int64_t cols, int first) {
    const unsigned all_steps = GSV_PERMUTE_IN | GSV_FORWARD | GSV_SCALE | GSV_BACKWARD | GSV_PERMUTE_OUT;
    gpusolve_dense from = {workspace->dtype, GPUSOLVE_COL_MAJOR, workspace->n, cols, workspace->n, NULL};
    gpusolve_dense to = from;
    from.values = column_of(workspace, first ? VECTOR_B : VECTOR_R, 0);
    to.values = column_of(workspace, first ? VECTOR_X : VECTOR_R, 0);
    return handle->executor->solve(handle, factor, workspace, all_steps, &from, &to);
}

static void residual_rows(const gpusolve_matrix *matrix, int64_t begin, int64_t end, const void *const b[],
                          const void *const x[], void *const r[], column_norms norms[]) {
    const host_matrix *a = matrix->state;
    switch (matrix->dtype) {
    case GPUSOLVE_FLOAT:
        residual_s(a, begin, end, b, x, r, norms);
        break;
    case GPUSOLVE_DOUBLE:
        residual_d(a, begin, end, b, x, r, norms);
        break;
    case GPUSOLVE_COMPLEX_FLOAT:
        residual_c(a, begin, end, b, x, r, norms);
        break;
    case GPUSOLVE_COMPLEX_DOUBLE:
        residual_z(a, begin, end, b, x, r, norms);
        break;
    }
}

typedef struct residuals {
    const gpusolve_matrix *matrix;
    const void *b[WIDTH], *x[WIDTH];
    void *r[WIDTH];
    _Atomic int64_t next;             /* block of rows */
    _Atomic uint64_t norms[WIDTH][3]; /* of R, X, B: bits of doubles that are not negative */
} residuals;

/* *norm = max(*norm, modulus): doubles without a sign are ordered like their bits, and a NaN is above all. */
static void raise_shared(_Atomic uint64_t *norm, double modulus) {
    uint64_t bits, old = atomic_load_explicit(norm, memory_order_relaxed);
    modulus = fabs(modulus);
    memcpy(&bits, &modulus, sizeof bits);
    while (bits > old && !atomic_compare_exchange_weak_explicit(norm, &old, bits, memory_order_relaxed,
                                                                memory_order_relaxed)) {
    }
}

static double norm_of(const residuals *shared, int64_t column, int which) {
    const uint64_t bits = atomic_load_explicit(&shared->norms[column][which], memory_order_relaxed);
    double norm;
    memcpy(&norm, &bits, sizeof norm);
    return norm;
}

static void residual_blocks(void *context, int member) {
    residuals *shared = context;
    column_norms mine[WIDTH] = {{0, 0, 0}};
    const int64_t n = shared->matrix->n, blocks = blocks_of(n);
    (void)member;
    for (int64_t i; (i = atomic_fetch_add_explicit(&shared->next, 1, memory_order_relaxed)) < blocks;)
        residual_rows(shared->matrix, i * ROWS, n - i * ROWS < ROWS ? n : (i + 1) * ROWS, shared->b,
                      shared->x, shared->r, mine);
    for (int j = 0; j < WIDTH; j++) {
        raise_shared(&shared->norms[j][0], mine[j].r);
        raise_shared(&shared->norms[j][1], mine[j].x);
        raise_shared(&shared->norms[j][2], mine[j].b);
    }
}

/* WIDTH columns from `first` on; what lies beyond `cols` is done as one more copy of the last column. */
static void residual_columns(gpusolve_handle *handle, const gpusolve_matrix *matrix,
                             const gpusolve_workspace *workspace, int64_t first, int64_t cols,
                             residuals *shared) {
    *shared = (residuals){.matrix = matrix};
    for (int64_t j = 0; j < WIDTH; j++) {
        int64_t column = first + j < cols ? first + j : cols - 1;
        shared->b[j] = column_of(workspace, VECTOR_B, column);
        shared->x[j] = column_of(workspace, VECTOR_X, column);
        shared->r[j] = column_of(workspace, VECTOR_R, column);
    }
    gsv_pool_run(handle->pool, threads_for(handle, matrix->nnz * WIDTH), residual_blocks, shared);
}

gpusolve_status gsv_host_refine_residual(gpusolve_handle *handle, const gpusolve_matrix *matrix,
                                         gpusolve_workspace *workspace, int64_t cols, double *norms) {
    for (int64_t first = 0; first < cols; first += WIDTH) {
        residuals found;
        residual_columns(handle, matrix, workspace, first, cols, &found);
        for (int64_t j = 0; j < WIDTH && first + j < cols; j++) {
            for (int which = 0; which < 3; which++)
                norms[3 * (first + j) + which] = norm_of(&found, j, which);
        }
    }
    return GPUSOLVE_OK;
}

/* x = x + r, the first `count` numbers of one column counted as reals */
static void add_numbers(gpusolve_dtype dtype, void *x, const void *r, int64_t n) {
    int64_t count = gsv_is_complex(dtype) ? 2 * n : n;
    if (dtype == GPUSOLVE_DOUBLE || dtype == GPUSOLVE_COMPLEX_DOUBLE) {
        for (int64_t i = 0; i < count; i++)
            ((double *)x)[i] += ((const double *)r)[i];
    } else {
        for (int64_t i = 0; i < count; i++)
            ((float *)x)[i] += ((const float *)r)[i];
    }
}

typedef struct updating {
    const gpusolve_workspace *workspace;
    const unsigned char *mask;
    gsv_refine_update update;
} updating;

static void update_column(void *context, int64_t j, int member) {
    const updating *u = context;
    const gpusolve_workspace *workspace = u->workspace;
    size_t bytes = (size_t)workspace->n * gsv_dtype_bytes(workspace->dtype);
    char *x = column_of(workspace, VECTOR_X, j);
    char *s = column_of(workspace, VECTOR_S, j);
    (void)member;
    if (!u->mask[j])
        return;
    switch (u->update) {
    case GSV_REFINE_ADD:
        memcpy(s, x, bytes);
        add_numbers(workspace->dtype, x, column_of(workspace, VECTOR_R, j), workspace->n);
        break;
    case GSV_REFINE_REVERT:
        memcpy(x, s, bytes);
        break;
    case GSV_REFINE_ZERO:
        memset(x, 0, bytes);
        break;
    }
}

gpusolve_status gsv_host_refine_update(gpusolve_handle *handle, gpusolve_workspace *workspace, int64_t cols,
                                       const unsigned char *mask, gsv_refine_update update) {
    updating u = {workspace, mask, update};
    gsv_pool_each(handle->pool, threads_for(handle, workspace->n * cols), cols, update_column, &u);
    return GPUSOLVE_OK;
}
