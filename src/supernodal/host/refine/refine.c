/*
 * Refinement on the host, in the factor's precision. Vectors are by rows, entry (i, j) at [i * columns + j], whatever the caller's order
 * (residual.c). krylov.c has a Krylov method's passes over vectors, api/krylov.c their order.
 */
#include "refine.h"

#include "krylov.h"
#include "residual.h"

#include <string.h>

#include "../../../memory.h"
#include "../../../pool.h"

enum { PASS = GSV_HOST_PASS, ROWS = GSV_HOST_ROWS };

/* ---------------------------------------------------------------------------------------- the vectors --- */

enum { VECTOR_B, VECTOR_X, VECTOR_S, VECTOR_R, VECTORS };

/* workspace->refine */
typedef struct host_vectors {
    void *vectors; /* [VECTORS][n][max_nrhs] */
    void *krylov;  /* made when a method wants it */
    int64_t krylov_bytes;
} host_vectors;

void gsv_host_refine_release(gpusolve_workspace *workspace) {
    host_vectors *v = workspace->refine;
    if (!v)
        return;
    gsv_free(v->vectors);
    gsv_free(v->krylov);
    gsv_free(v);
    workspace->refine = NULL;
}

/* At least `bytes` bytes for a Krylov method. */
static gpusolve_status make_krylov_room(gpusolve_handle *handle, host_vectors *v, int64_t bytes) {
    if (v->krylov_bytes >= bytes)
        return GPUSOLVE_OK;
    gsv_free(v->krylov);
    v->krylov_bytes = 0;
    v->krylov = gsv_malloc((size_t)bytes, 1);
    if (!v->krylov)
        return gsv_fail(&handle->message, GPUSOLVE_OUT_OF_MEMORY, "workspace: out of host memory");
    v->krylov_bytes = bytes;
    return GPUSOLVE_OK;
}

gpusolve_status gsv_host_refine_reserve(gpusolve_handle *handle, const gpusolve_factor *factor,
                                        const gpusolve_matrix *matrix, gpusolve_workspace *workspace,
                                        const gpusolve_refine_options *options) {
    const size_t column = (size_t)workspace->n * gsv_dtype_bytes(workspace->dtype);
    const gsv_krylov_method method = gsv_krylov_method_of(options, factor);
    host_vectors *v = workspace->refine;
    (void)matrix;
    if (!v) {
        v = gsv_calloc(1, sizeof *v);
        if (v && !(v->vectors = gsv_malloc((size_t)workspace->max_nrhs * VECTORS, column))) {
            gsv_free(v);
            v = NULL;
        }
        workspace->refine = v;
        if (!v)
            return gsv_fail(&handle->message, GPUSOLVE_OUT_OF_MEMORY, "workspace: out of host memory");
    }
    return method.any ? make_krylov_room(handle, v,
                                         gsv_host_krylov_bytes(workspace->dtype, workspace->n,
                                                               workspace->max_nrhs, &method))
                      : GPUSOLVE_OK;
}

/* A block of columns under way. */
typedef struct block {
    gpusolve_handle *handle;
    const gpusolve_matrix *matrix;
    gpusolve_workspace *workspace;
    gsv_refine_rule rule;
    gpusolve_dense b;      /* as residuals read it: the caller's, or a vector */
    void *kept, *next, *r; /* X, what may become X, and R */
    void *d;               /* the correction: in the place of R, or a vector of a Krylov method's */
    int64_t columns;
    gsv_refine_column *state;
    const gpusolve_factor *factor;
    gsv_host_krylov krylov;
} block;

static void *vector(const gpusolve_workspace *workspace, int which) {
    size_t column = (size_t)workspace->n * gsv_dtype_bytes(workspace->dtype);
    const host_vectors *v = workspace->refine;
    return (char *)v->vectors + (size_t)which * (size_t)workspace->max_nrhs * column;
}

static gpusolve_dense by_rows(const block *t, void *values) {
    return (gpusolve_dense){t->workspace->dtype, GPUSOLVE_ROW_MAJOR, t->workspace->n,
                            t->columns,          t->columns,         values};
}

/* Threads for `work` multiplications or moved numbers. */
static int threads_for(const gpusolve_handle *handle, int64_t work) {
    return gsv_pool_share(handle->pool, work, GSV_HOST_SERIAL);
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

static gpusolve_status solve(const block *t, const gpusolve_dense *from, void *to) {
    const unsigned all_steps = GSV_PERMUTE_IN | GSV_FORWARD | GSV_SCALE | GSV_BACKWARD | GSV_PERMUTE_OUT;
    const gpusolve_dense x = by_rows(t, to);
    return t->handle->executor->solve(t->handle, t->factor, t->workspace, all_steps, from, &x);
}

/* By the options. */
static void take_care(const block *t, gsv_host_residuals *found) {
    found->twice = t->rule.twice;
    found->componentwise = t->rule.componentwise;
    found->careful = t->rule.twice || t->rule.componentwise;
}

/* R = B - A X of all columns that are worked on, and what becomes of each. begin: after the first solve. */
static void judge(const block *t, int begin) {
    for (int64_t first = 0; first < t->columns; first += PASS) {
        gsv_host_residuals found = gsv_host_pass_of(t->matrix, t->columns, first, t->b.values,
                                                    gsv_row_stride(&t->b), begin ? t->kept : t->next, t->r);
        take_care(t, &found);
        found.d = begin ? NULL : t->d;
        gsv_host_find_residuals(t->handle->pool, &found, begin ? NULL : t->state);
        for (int64_t j = 0; j < found.count; j++) {
            const double norms[3] = {gsv_host_norm_of(&found, j, 0), gsv_host_norm_of(&found, j, 1),
                                     gsv_host_norm_of(&found, j, 2)};
            gsv_refine_column *column = &t->state[first + j];
            if (begin)
                gsv_refine_begin(&t->rule, norms, column);
            else if (column->active)
                gsv_refine_judge(&t->rule, norms, gsv_host_norm_of(&found, j, 3), column);
        }
    }
}

/* next = kept + d, ROWS rows */
static void add_rows(void *context, int64_t item, int member) {
    const block *t = context;
    const gpusolve_dtype dtype = t->workspace->dtype;
    const int64_t row = t->columns * (gsv_is_complex(dtype) ? 2 : 1), n = t->workspace->n;
    const int64_t begin = item * ROWS * row, end = (n - item * ROWS < ROWS ? n : (item + 1) * ROWS) * row;
    (void)member;
    if (gsv_is_single(dtype)) {
        for (int64_t k = begin; k < end; k++)
            ((float *)t->next)[k] = ((const float *)t->kept)[k] + ((const float *)t->d)[k];
    } else {
        for (int64_t k = begin; k < end; k++)
            ((double *)t->next)[k] = ((const double *)t->kept)[k] + ((const double *)t->d)[k];
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

/* One correction of every active column, kept where it does no harm. */
static void correct(block *t) {
    int64_t wanted = 0, taken = 0;
    for (int64_t j = 0; j < t->columns; j++) {
        wanted += t->state[j].active;
        t->state[j].place = GSV_REFINE_FIRST;
    }
    gsv_pool_each(t->handle->pool, threads_for(t->handle, t->workspace->n * t->columns),
                  blocks_of(t->workspace->n), add_rows, t);
    judge(t, 0);
    for (int64_t j = 0; j < t->columns; j++)
        taken += t->state[j].place == GSV_REFINE_SECOND;
    if (taken == t->columns && wanted == t->columns) {
        void *kept = t->kept;
        t->kept = t->next;
        t->next = kept;
        return;
    }
    for (int64_t j = 0; j < t->columns && taken > 0; j++)
        if (t->state[j].place == GSV_REFINE_SECOND)
            take_column(t, j, t->next);
}

/* ----------------------------------------------------------------------- passes of a Krylov method --- */

static gpusolve_status pass_solve(void *context, int from, int to) {
    const block *t = context;
    const gpusolve_dense b = by_rows(t, gsv_host_krylov_vector(&t->krylov, from));
    return solve(t, &b, gsv_host_krylov_vector(&t->krylov, to));
}

/* The zeros are next's: it is free until the correction is added. */
static gpusolve_status pass_product(void *context, int of, int to) {
    const block *t = context;
    memset(t->next, 0, (size_t)t->columns * gsv_dtype_bytes(t->workspace->dtype));
    for (int64_t first = 0; first < t->columns; first += PASS) {
        gsv_host_residuals found =
            gsv_host_pass_of(t->matrix, t->columns, first, t->next, 0, gsv_host_krylov_vector(&t->krylov, of),
                             gsv_host_krylov_vector(&t->krylov, to));
        gsv_host_find_residuals(t->handle->pool, &found, t->krylov.scalars.inner);
    }
    return GPUSOLVE_OK;
}

static gpusolve_status pass_dots(void *context, int first, int count, int with, gsv_krylov_stage stage,
                                 int step) {
    gsv_host_krylov_dots(&((block *)context)->krylov, first, count, with, stage, step);
    return GPUSOLVE_OK;
}

static gpusolve_status pass_sum(void *context, const gsv_krylov_sum *sum, gsv_krylov_stage stage, int step) {
    gsv_host_krylov_sum(&((block *)context)->krylov, sum, stage, step);
    return GPUSOLVE_OK;
}

static gpusolve_status pass_stage(void *context, gsv_krylov_stage stage, int step) {
    gsv_host_krylov_stage(&((block *)context)->krylov, stage, step);
    return GPUSOLVE_OK;
}

static gpusolve_status pass_judge(void *context, int correction) {
    (void)correction;
    correct(context);
    return GPUSOLVE_OK;
}

/* Every column's x is in `kept`. */
static gpusolve_status pass_restore(void *context, int correction) {
    block *t = context;
    (void)correction;
    gsv_host_krylov_stage(&t->krylov, GSV_KRYLOV_RESTORE, 0);
    for (int64_t first = 0; first < t->columns; first += PASS) {
        gsv_host_residuals found =
            gsv_host_pass_of(t->matrix, t->columns, first, t->b.values, gsv_row_stride(&t->b), t->kept, t->r);
        take_care(t, &found);
        gsv_host_find_residuals(t->handle->pool, &found, t->krylov.scalars.inner);
    }
    return GPUSOLVE_OK;
}

static gpusolve_status pass_ask(void *context, gsv_krylov_counts *counts) {
    const block *t = context;
    *counts = (gsv_krylov_counts){.on = gsv_host_krylov_on(&t->krylov)};
    for (int64_t j = 0; j < t->columns; j++) {
        counts->active += t->state[j].active;
        counts->krylov += t->state[j].active && t->state[j].krylov;
        counts->behind += t->state[j].behind;
    }
    return GPUSOLVE_OK;
}

static const gsv_krylov_passes passes = {.solve = pass_solve,
                                         .product = pass_product,
                                         .dots = pass_dots,
                                         .sum = pass_sum,
                                         .stage = pass_stage,
                                         .judge = pass_judge,
                                         .restore = pass_restore,
                                         .ask = pass_ask};

static gpusolve_status run_krylov(block *t, const gsv_krylov_method *method,
                                  const gpusolve_refine_options *options) {
    const host_vectors *v = t->workspace->refine;
    const gpusolve_dtype dtype = t->workspace->dtype;
    const int64_t n = t->workspace->n;
    t->krylov = (gsv_host_krylov){.scalars = {.columns = (int)t->columns,
                                              .length = method->length,
                                              .max_steps = options->max_steps,
                                              .tolerance = options->tolerance,
                                              .rounding = gsv_rounding_of(dtype),
                                              .twice = options->twice,
                                              .outer = t->state},
                                  .dtype = dtype,
                                  .n = n,
                                  .r = t->r,
                                  .pool = t->handle->pool};
    gsv_host_krylov_place(&t->krylov, method, v->krylov);
    t->d = t->krylov.d;
    memset(t->krylov.scalars.column, 0, (size_t)t->columns * sizeof *t->krylov.scalars.column);
    return gsv_krylov_run(&passes, t, method, options);
}

/* ---------------------------------------------------------------------------------------------- calls --- */

/* Where b is read: in the caller's block, if a row's numbers lie side by side there, or a column is all there is. */
static void place_b(block *t, const gpusolve_dense *b) {
    t->b = *b;
    if (t->columns == 1 || gsv_column_stride(b) == 1)
        return;
    t->b = by_rows(t, vector(t->workspace, VECTOR_B));
    copy(t, b, &t->b);
}

/* x = F \ b, or the caller's guess, and the first errors. */
static gpusolve_status start(block *t, const gpusolve_refine_options *options, const gpusolve_dense *b,
                             const gpusolve_dense *x) {
    const gpusolve_dense kept = by_rows(t, t->kept);
    place_b(t, b);
    if (options->solve_first) {
        const gpusolve_status status = solve(t, b, t->kept);
        if (status)
            return status;
    } else {
        copy(t, x, &kept);
    }
    judge(t, 1);
    for (int64_t j = 0; j < t->columns; j++)
        if (t->state[j].place == GSV_REFINE_ZEROS)
            take_column(t, j, NULL);
    return GPUSOLVE_OK;
}

static int any_active(const block *t) {
    for (int64_t j = 0; j < t->columns; j++)
        if (t->state[j].active)
            return 1;
    return 0;
}

/* Plain corrections, in the place of the residuals. */
static gpusolve_status run_plain(block *t, const gpusolve_refine_options *options) {
    const gpusolve_dense r = by_rows(t, t->r);
    gpusolve_status status = GPUSOLVE_OK;
    for (int i = 0; !status && i < options->max_steps && any_active(t); i++) {
        status = solve(t, &r, t->d);
        if (!status)
            correct(t);
    }
    return status;
}

gpusolve_status gsv_host_refine(gpusolve_handle *handle, const gpusolve_factor *factor,
                                const gpusolve_matrix *matrix, gpusolve_workspace *workspace,
                                const gpusolve_refine_options *options, const gpusolve_dense *b,
                                const gpusolve_dense *x, gsv_refine_column *columns,
                                const gsv_refine_results *to) {
    const gsv_krylov_method method = gsv_krylov_method_of(options, factor);
    block t = {.handle = handle,
               .matrix = matrix,
               .workspace = workspace,
               .rule = gsv_refine_rule_of(options, factor, matrix),
               .kept = vector(workspace, VECTOR_X),
               .next = vector(workspace, VECTOR_S),
               .r = vector(workspace, VECTOR_R),
               .d = vector(workspace, VECTOR_R),
               .columns = b->cols,
               .state = columns,
               .factor = factor};
    (void)to; /* this executor always waits */
    gpusolve_status status = start(&t, options, b, x);
    if (!status)
        status = method.any ? run_krylov(&t, &method, options) : run_plain(&t, options);
    if (status)
        return status;
    const gpusolve_dense kept = by_rows(&t, t.kept);
    copy(&t, &kept, x);
    return GPUSOLVE_OK;
}
