/*
 * Refinement on the host, in the factor's precision. Vectors are by rows, entry (i, j) at [i * columns + j], whatever the caller's order:
 * an entry of A meets the numbers of all columns side by side.
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
    WIDTH = 8,            /* columns whose sums are in registers */
    PASS = 32,            /* columns for which A is read once */
    ROWS = 128,           /* a thread's share of rows at a time */
    SERIAL_WORK = 1 << 14 /* multiplications that are worth waking a thread */
};

typedef struct host_matrix {
    int64_t *row_ptr;
    int32_t *columns;
    void *values;
} host_matrix;

/* Norms of a pass's columns, of R, X and B: the largest moduli, and a NaN for a number among them that is not finite. */
typedef struct column_norms {
    double most[3][PASS], poison[PASS];
} column_norms;

/* The residuals of a block of columns. */
typedef struct residuals {
    const gpusolve_matrix *matrix;
    const void *b, *x;
    void *r;
    int64_t columns, b_stride;       /* numbers between rows, of B by itself */
    int64_t first, count;            /* of the pass */
    char wanted[PASS / WIDTH + 1];   /* of each WIDTH columns of the pass: is any worked on? */
    _Atomic int64_t next;            /* block of rows */
    _Atomic uint64_t norms[PASS][3]; /* bits of doubles that are not negative */
} residuals;

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

/* ---------------------------------------------------------------------------------------- the vectors --- */

enum { VECTOR_B, VECTOR_X, VECTOR_S, VECTOR_R, VECTORS };

gpusolve_status gsv_host_refine_reserve(gpusolve_handle *handle, gpusolve_workspace *workspace) {
    size_t column = (size_t)workspace->n * gsv_dtype_bytes(workspace->dtype);
    workspace->refine = gsv_malloc((size_t)workspace->max_nrhs * VECTORS, column);
    return workspace->refine
               ? GPUSOLVE_OK
               : gsv_fail(&handle->message, GPUSOLVE_OUT_OF_MEMORY, "workspace: out of host memory");
}

/* A block of columns under way. */
typedef struct block {
    gpusolve_handle *handle;
    const gpusolve_matrix *matrix;
    gpusolve_workspace *workspace;
    gsv_refine_rule rule;
    gpusolve_dense b;      /* as residuals read it: the caller's, or a vector */
    void *kept, *next, *r; /* X, what may become X, and R or A \ R */
    int64_t columns;
    gsv_refine_column *state;
} block;

static void *vector(const gpusolve_workspace *workspace, int which) {
    size_t column = (size_t)workspace->n * gsv_dtype_bytes(workspace->dtype);
    return (char *)workspace->refine + (size_t)which * (size_t)workspace->max_nrhs * column;
}

static gpusolve_dense by_rows(const block *t, void *values) {
    return (gpusolve_dense){t->workspace->dtype, GPUSOLVE_ROW_MAJOR, t->workspace->n,
                            t->columns,          t->columns,         values};
}

/* Threads for `work` multiplications or moved numbers. */
static int threads_for(const gpusolve_handle *handle, int64_t work) {
    return gsv_pool_share(handle->pool, work, SERIAL_WORK);
}

static int64_t blocks_of(int64_t n) {
    return n / ROWS + (n % ROWS != 0);
}

typedef struct copying {
    const gpusolve_dense *from, *to;
} copying;

/* Rows begin .. end - 1 of a block, whatever the orders. bytes: of a number, a constant where this is inlined. */
static inline __attribute__((always_inline)) void copy_numbers(const copying *c, int64_t begin, int64_t end,
                                                               const size_t bytes) {
    const int64_t each = (int64_t)bytes;
    const int64_t down = each * gsv_row_stride(c->from), to_down = each * gsv_row_stride(c->to);
    const int64_t across = each * gsv_column_stride(c->from), to_across = each * gsv_column_stride(c->to);
    for (int64_t j = 0; j < c->from->cols; j++) {
        const char *from = (const char *)c->from->values + begin * down + j * across;
        char *to = (char *)c->to->values + begin * to_down + j * to_across;
        for (int64_t i = begin; i < end; i++, from += down, to += to_down)
            memcpy(to, from, bytes);
    }
}

static void copy_rows(void *context, int64_t item, int member) {
    const copying *c = context;
    const int64_t n = c->from->rows, begin = item * ROWS, end = n - begin < ROWS ? n : begin + ROWS;
    (void)member;
    switch (gsv_dtype_bytes(c->from->dtype)) {
    case 4:
        copy_numbers(c, begin, end, 4);
        break;
    case 8:
        copy_numbers(c, begin, end, 8);
        break;
    default:
        copy_numbers(c, begin, end, 16);
    }
}

static void copy(const block *t, const gpusolve_dense *from, const gpusolve_dense *to) {
    copying c = {from, to};
    gsv_pool_each(t->handle->pool, threads_for(t->handle, from->rows * from->cols), blocks_of(from->rows),
                  copy_rows, &c);
}

/* ------------------------------------------------------------------------------------------ the steps --- */

static gpusolve_status solve(const block *t, const gpusolve_factor *factor, const gpusolve_dense *from,
                             void *to) {
    const unsigned all_steps = GSV_PERMUTE_IN | GSV_FORWARD | GSV_SCALE | GSV_BACKWARD | GSV_PERMUTE_OUT;
    const gpusolve_dense x = by_rows(t, to);
    return t->handle->executor->solve(t->handle, factor, t->workspace, all_steps, from, &x);
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

static double norm_of(const residuals *t, int64_t column, int which) {
    const uint64_t bits = atomic_load_explicit(&t->norms[column][which], memory_order_relaxed);
    double norm;
    memcpy(&norm, &bits, sizeof norm);
    return norm;
}

static void residual_rows(const residuals *t, int64_t begin, int64_t end, column_norms *norms) {
    switch (t->matrix->dtype) {
    case GPUSOLVE_FLOAT:
        residual_s(t, begin, end, norms);
        break;
    case GPUSOLVE_DOUBLE:
        residual_d(t, begin, end, norms);
        break;
    case GPUSOLVE_COMPLEX_FLOAT:
        residual_c(t, begin, end, norms);
        break;
    case GPUSOLVE_COMPLEX_DOUBLE:
        residual_z(t, begin, end, norms);
        break;
    }
}

static void residual_blocks(void *context, int member) {
    residuals *t = context;
    column_norms mine = {.poison = {0}};
    const int64_t n = t->matrix->n, blocks = blocks_of(n);
    (void)member;
    for (int64_t i; (i = atomic_fetch_add_explicit(&t->next, 1, memory_order_relaxed)) < blocks;)
        residual_rows(t, i * ROWS, n - i * ROWS < ROWS ? n : (i + 1) * ROWS, &mine);
    for (int64_t j = 0; j < t->count; j++)
        for (int k = 0; k < 3; k++)
            raise_shared(&t->norms[j][k], isnan(mine.poison[j]) ? NAN : mine.most[k][j]);
}

/* R = B - A X of all columns that are worked on, and what becomes of each. begin: after the first solve. Returns how many go on. */
static int64_t judge(const block *t, int begin) {
    int64_t active = 0;
    for (int64_t first = 0; first < t->columns; first += PASS) {
        residuals found = {.matrix = t->matrix,
                           .b = t->b.values,
                           .x = begin ? t->kept : t->next,
                           .r = t->r,
                           .columns = t->columns,
                           .b_stride = gsv_row_stride(&t->b),
                           .first = first,
                           .count = t->columns - first < PASS ? t->columns - first : PASS};
        int any = 0;
        for (int64_t j = 0; j < found.count; j++)
            if (begin || t->state[first + j].active)
                any = found.wanted[j / WIDTH] = 1;
        if (any)
            gsv_pool_run(t->handle->pool, threads_for(t->handle, t->matrix->nnz * found.count),
                         residual_blocks, &found);
        for (int64_t j = 0; j < found.count; j++) {
            const double norms[3] = {norm_of(&found, j, 0), norm_of(&found, j, 1), norm_of(&found, j, 2)};
            gsv_refine_column *column = &t->state[first + j];
            if (begin)
                gsv_refine_begin(&t->rule, norms, column);
            else if (column->active)
                gsv_refine_judge(&t->rule, norms, column);
            active += column->active;
        }
    }
    return active;
}

/* next = kept + r, ROWS rows */
static void add_rows(void *context, int64_t item, int member) {
    const block *t = context;
    const gpusolve_dtype dtype = t->workspace->dtype;
    const int64_t row = t->columns * (gsv_is_complex(dtype) ? 2 : 1), n = t->workspace->n;
    const int64_t begin = item * ROWS * row, end = (n - item * ROWS < ROWS ? n : (item + 1) * ROWS) * row;
    (void)member;
    if (gsv_is_single(dtype)) {
        for (int64_t k = begin; k < end; k++)
            ((float *)t->next)[k] = ((const float *)t->kept)[k] + ((const float *)t->r)[k];
    } else {
        for (int64_t k = begin; k < end; k++)
            ((double *)t->next)[k] = ((const double *)t->kept)[k] + ((const double *)t->r)[k];
    }
}

/* Column j of next becomes that of kept, or zeros do: `from` is NULL. */
static void take_column(const block *t, int64_t j, const void *from) {
    const int64_t each = (int64_t)gsv_dtype_bytes(t->workspace->dtype);
    char *to = (char *)t->kept + j * each;
    for (int64_t i = 0; i < t->workspace->n; i++, to += t->columns * each) {
        if (from)
            memcpy(to, (const char *)from + (i * t->columns + j) * each, (size_t)each);
        else
            memset(to, 0, (size_t)each);
    }
}

/* One correction of every active column, kept where it does no harm. Returns how many go on. */
static int64_t correct(block *t) {
    int64_t wanted = 0, taken = 0;
    for (int64_t j = 0; j < t->columns; j++) {
        wanted += t->state[j].active;
        t->state[j].place = GSV_REFINE_FIRST;
    }
    gsv_pool_each(t->handle->pool, threads_for(t->handle, t->workspace->n * t->columns),
                  blocks_of(t->workspace->n), add_rows, t);
    const int64_t active = judge(t, 0);
    for (int64_t j = 0; j < t->columns; j++)
        taken += t->state[j].place == GSV_REFINE_SECOND;
    if (taken == t->columns && wanted == t->columns) {
        void *kept = t->kept;
        t->kept = t->next;
        t->next = kept;
        return active;
    }
    for (int64_t j = 0; j < t->columns && taken > 0; j++)
        if (t->state[j].place == GSV_REFINE_SECOND)
            take_column(t, j, t->next);
    return active;
}

/* Where b is read: in the caller's block, if a row's numbers lie side by side there, or a column is all there is. */
static void place_b(block *t, const gpusolve_dense *b) {
    t->b = *b;
    if (t->columns == 1 || gsv_column_stride(b) == 1)
        return;
    t->b = by_rows(t, vector(t->workspace, VECTOR_B));
    copy(t, b, &t->b);
}

/* x = A \ b, or the caller's guess, and the first errors. *active: how many columns go on. */
static gpusolve_status start(block *t, const gpusolve_factor *factor, const gpusolve_refine_options *options,
                             const gpusolve_dense *b, const gpusolve_dense *x, int64_t *active) {
    const gpusolve_dense kept = by_rows(t, t->kept);
    place_b(t, b);
    if (options->solve_first) {
        const gpusolve_status status = solve(t, factor, b, t->kept);
        if (status)
            return status;
    } else {
        copy(t, x, &kept);
    }
    *active = judge(t, 1);
    for (int64_t j = 0; j < t->columns; j++)
        if (t->state[j].place == GSV_REFINE_ZEROS)
            take_column(t, j, NULL);
    return GPUSOLVE_OK;
}

gpusolve_status gsv_host_refine(gpusolve_handle *handle, const gpusolve_factor *factor,
                                const gpusolve_matrix *matrix, gpusolve_workspace *workspace,
                                const gpusolve_refine_options *options, const gpusolve_dense *b,
                                const gpusolve_dense *x, gsv_refine_column *columns) {
    block t = {.handle = handle,
               .matrix = matrix,
               .workspace = workspace,
               .rule = {matrix->norm_inf, options->tolerance, options->min_gain},
               .kept = vector(workspace, VECTOR_X),
               .next = vector(workspace, VECTOR_S),
               .r = vector(workspace, VECTOR_R),
               .columns = b->cols,
               .state = columns};
    int64_t active = 0;
    gpusolve_status status = start(&t, factor, options, b, x, &active);
    for (int i = 0; !status && i < options->max_steps && active > 0; i++) {
        const gpusolve_dense r = by_rows(&t, t.r);
        status = solve(&t, factor, &r, t.r);
        if (!status)
            active = correct(&t);
    }
    if (status)
        return status;
    const gpusolve_dense kept = by_rows(&t, t.kept);
    copy(&t, &kept, x);
    return GPUSOLVE_OK;
}
