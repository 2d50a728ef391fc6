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

/* Where a column's x is kept, and where its next one goes. */
static char *kept(const gpusolve_workspace *workspace, const gsv_refine_column *column, int64_t j) {
    return column_of(workspace, column->place == GSV_REFINE_SECOND ? VECTOR_S : VECTOR_X, j);
}

static char *next(const gpusolve_workspace *workspace, const gsv_refine_column *column, int64_t j) {
    return column_of(workspace, column->place == GSV_REFINE_SECOND ? VECTOR_X : VECTOR_S, j);
}

typedef struct copying {
    const gpusolve_workspace *workspace;
    int vector;
    const gpusolve_dense *user;
    const gsv_refine_column *columns; /* NULL: to the vector; else the x that are kept, to the user */
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
        if (c->columns)
            copy_numbers(theirs, row_step, kept(c->workspace, &c->columns[j], j) + begin * bytes, bytes,
                         count, (size_t)bytes);
        else
            copy_numbers(column_of(c->workspace, c->vector, j) + begin * bytes, bytes, theirs, row_step,
                         count, (size_t)bytes);
    }
}

static void copy_block(gpusolve_handle *handle, const gpusolve_workspace *workspace, int vector,
                       const gpusolve_dense *user, const gsv_refine_column *columns) {
    copying c = {workspace, vector, user, columns};
    gsv_pool_each(handle->pool, threads_for(handle, workspace->n * user->cols), blocks_of(workspace->n),
                  copy_rows, &c);
}

/* X = A \ B (first), or R = A \ R. */
static gpusolve_status solve(gpusolve_handle *handle, const gpusolve_factor *factor,
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

/* Some of a block's columns, and what becomes of them after their residuals. */
typedef struct judging {
    gpusolve_handle *handle;
    const gpusolve_matrix *matrix;
    const gpusolve_workspace *workspace;
    gsv_refine_rule rule;
    int begin; /* the first residuals, of the x that are kept; else of the next ones */
    gsv_refine_column *columns;
} judging;

/* R = B - A X of count <= WIDTH columns, and their decisions. What lies beyond `count` is one more copy of the last column. */
static void judge(const judging *t, const int64_t list[], int64_t count) {
    residuals found = {.matrix = t->matrix};
    for (int64_t k = 0; k < WIDTH; k++) {
        const int64_t j = list[k < count ? k : count - 1];
        found.b[k] = column_of(t->workspace, VECTOR_B, j);
        found.x[k] = t->begin ? column_of(t->workspace, VECTOR_X, j) : next(t->workspace, &t->columns[j], j);
        found.r[k] = column_of(t->workspace, VECTOR_R, j);
    }
    gsv_pool_run(t->handle->pool, threads_for(t->handle, t->matrix->nnz * WIDTH), residual_blocks, &found);
    for (int64_t k = 0; k < count; k++) {
        const double norms[3] = {norm_of(&found, k, 0), norm_of(&found, k, 1), norm_of(&found, k, 2)};
        (t->begin ? gsv_refine_begin : gsv_refine_judge)(&t->rule, norms, &t->columns[list[k]]);
    }
}

/* The same of all columns that are worked on. Returns how many go on. */
static int64_t judge_all(const judging *t, int64_t cols) {
    int64_t list[WIDTH], count = 0, active = 0;
    for (int64_t j = 0; j < cols; j++) {
        if (t->begin || t->columns[j].active)
            list[count++] = j;
        if (count == WIDTH || (j == cols - 1 && count > 0)) {
            judge(t, list, count);
            count = 0;
        }
    }
    for (int64_t j = 0; j < cols; j++)
        active += t->columns[j].active;
    return active;
}

/* sum = x + r, n numbers */
static void add_numbers(gpusolve_dtype dtype, void *sum, const void *x, const void *r, int64_t n) {
    const int64_t count = gsv_is_complex(dtype) ? 2 * n : n;
    if (gsv_is_single(dtype)) {
        for (int64_t i = 0; i < count; i++)
            ((float *)sum)[i] = ((const float *)x)[i] + ((const float *)r)[i];
    } else {
        for (int64_t i = 0; i < count; i++)
            ((double *)sum)[i] = ((const double *)x)[i] + ((const double *)r)[i];
    }
}

/* The next x of an active column. */
static void correct(void *context, int64_t j, int member) {
    const judging *t = context;
    const gpusolve_workspace *workspace = t->workspace;
    (void)member;
    if (t->columns[j].active)
        add_numbers(workspace->dtype, next(workspace, &t->columns[j], j), kept(workspace, &t->columns[j], j),
                    column_of(workspace, VECTOR_R, j), workspace->n);
}

/* Columns of zeros in b. */
static void clear_zeros(const judging *t, int64_t cols) {
    for (int64_t j = 0; j < cols; j++)
        if (t->columns[j].place == GSV_REFINE_ZEROS)
            memset(kept(t->workspace, &t->columns[j], j), 0,
                   (size_t)t->workspace->n * gsv_dtype_bytes(t->workspace->dtype));
}

gpusolve_status gsv_host_refine(gpusolve_handle *handle, const gpusolve_factor *factor,
                                const gpusolve_matrix *matrix, gpusolve_workspace *workspace,
                                const gpusolve_refine_options *options, const gpusolve_dense *b,
                                const gpusolve_dense *x, gsv_refine_column *columns) {
    judging t = {.handle = handle,
                 .matrix = matrix,
                 .workspace = workspace,
                 .rule = {matrix->norm_inf, options->tolerance, options->min_gain},
                 .begin = 1,
                 .columns = columns};
    gpusolve_status status = GPUSOLVE_OK;
    copy_block(handle, workspace, VECTOR_B, b, NULL);
    if (options->solve_first)
        status = solve(handle, factor, workspace, b->cols, 1);
    else
        copy_block(handle, workspace, VECTOR_X, x, NULL);
    if (status)
        return status;
    int64_t active = judge_all(&t, b->cols);
    t.begin = 0;
    for (int i = 0; i < options->max_steps && active > 0; i++) {
        status = solve(handle, factor, workspace, b->cols, 0);
        if (status)
            return status;
        gsv_pool_each(handle->pool, threads_for(handle, workspace->n * b->cols), b->cols, correct, &t);
        active = judge_all(&t, b->cols);
    }
    clear_zeros(&t, b->cols);
    copy_block(handle, workspace, VECTOR_X, x, columns);
    return GPUSOLVE_OK;
}
