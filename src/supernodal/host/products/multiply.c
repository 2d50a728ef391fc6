/*
 * Products with the factor on the host. v are doubles, or pairs of them, COLUMNS columns at a time:
 *
 *      v = P x,   v = L' v,   v = D v,   v = L v,   y = P' v
 *
 * A row of v has its columns side by side, real parts and then imaginary parts; there is one column, or COLUMNS, of which the last may be zeros.
 *
 * L and L' without a tree: a supernode's part of L' v needs rows of v alone. Of L v it leaves L1 v1 for its own columns, and L2 v1 in its room
 * among the update rows; then the update rows are added, supernode after supernode, so that every sum has one order. Supernodes are dealt out to the threads,
 * each of which unpacks a panel into memory of its own. The update rows of a range of rows are added by one thread.
 */
#include "products.h"

#include <string.h>

#include "../../../memory.h"
#include "../../../pool.h"
#include "../executor.h"
#include "times_host.h"

/* ROOM: bytes that the threads' panels may have together, unless one has more. NUMBERS: that are worth waking a thread. */
enum { COLUMNS = 8, TOGETHER = 16, ROOM = 256 << 20, NUMBERS = 1 << 14 };

typedef struct product {
    const gpusolve_factor *factor;
    unsigned steps;
    int parts, width, threads, transposed; /* width: 1 or COLUMNS */
    int64_t n, updates, room;              /* room: numbers of the largest panel */
    int64_t most, row;                     /* rows of it; doubles of a row of v */
    const gsv_host_times *times;
    const gpusolve_dense *x, *y;
    int64_t first, cols; /* the columns at work */
    int64_t *column;     /* [n] where columns of a panel go in a thread's memory */
    int64_t *range;      /* [threads + 1] rows whose update rows one thread adds */
    char *panels;        /* [threads][room] numbers */
    double *fronts;      /* [threads][most] rows */
    double *v, *w;       /* [n] rows: from one to the other, by turns */
    double *u;           /* [updates] rows */
} product;

/* The loops for this factor's panels and this number of columns. */
static const gsv_host_times *times_of(const gpusolve_factor *factor, int width) {
    static const gsv_host_times *const(*const of[])[2] = {gsv_host_times_ds, gsv_host_times_d,
                                                          gsv_host_times_zc, gsv_host_times_z};
    const gsv_host_factor *prepared = factor->prepared;
    return of[gsv_panel_dtype(factor->numbers)][prepared->isa][width > 1];
}

/* Supernode s, all columns. */
static void multiply_supernode(const product *p, int32_t s, int member) {
    const gsv_plan *plan = &p->factor->plan;
    const int64_t nr = gsv_rows(plan, s), nc = gsv_columns(plan, s);
    const int32_t *rows = plan->l.rows + plan->l.row_ptr[s];
    const size_t row = (size_t)p->row * sizeof(double);
    void *panel = p->panels + (size_t)member * (size_t)p->room * gsv_panel_bytes(p->factor->numbers);
    double *front = p->fronts + (int64_t)member * p->most * p->row;
    const int64_t own = plan->l.first_column[s] * p->row;
    gsv_host_read_panel(p->factor, p->column, s, panel);
    if (p->transposed) {
        for (int64_t i = 0; i < nr; i++)
            memcpy(front + i * p->row, p->v + rows[i] * p->row, row);
        p->times->transpose(panel, nr, nc, front, p->w + own);
        return;
    }
    p->times->panel(panel, nr, nc, p->v + own, front);
    memcpy(p->w + own, front, (size_t)nc * row);
    memcpy(p->u + plan->update_ptr[s] * p->row, front + nc * p->row, (size_t)(nr - nc) * row);
}

static void multiply_range(void *context, int64_t begin, int64_t end, int member) {
    for (int64_t s = begin; s < end; s++)
        multiply_supernode(context, (int32_t)s, member);
}

/* w += update rows, of a range of rows. */
static void add_updates(void *context, int64_t k, int member) {
    const product *p = context;
    const gsv_plan *plan = &p->factor->plan;
    const int32_t begin = (int32_t)p->range[k], end = (int32_t)p->range[k + 1];
    (void)member;
    for (int32_t s = 0; s < plan->l.nsuper; s++) {
        const int32_t *rows = plan->l.rows + plan->l.row_ptr[s] + gsv_columns(plan, s);
        const int32_t count = (int32_t)gsv_updates(plan, s);
        if (count == 0 || rows[count - 1] < begin || rows[0] >= end)
            continue;
        const double *u = p->u + plan->update_ptr[s] * p->row;
        for (int64_t i = gsv_find_row(rows, 0, count, begin); i < count && rows[i] < end; i++)
            for (int64_t c = 0; c < p->row; c++)
                p->w[rows[i] * p->row + c] += u[i * p->row + c];
    }
}

static void multiply_step(gpusolve_handle *handle, product *p, int transposed) {
    p->transposed = transposed;
    gsv_pool_ranges(handle->pool, p->threads, p->factor->plan.l.nsuper, TOGETHER, multiply_range, p);
    if (!transposed)
        gsv_pool_each(handle->pool, p->threads, p->threads, add_updates, p);
    double *other = p->v;
    p->v = p->w;
    p->w = other;
}

/* v = x, or P x. */
static void load(const product *p) {
    const gpusolve_dense *x = p->x;
    const int32_t *perm = p->steps & GSV_TIMES_P ? p->factor->plan.l.perm : NULL;
    const int single = gsv_is_single(x->dtype);
    for (int64_t i = 0; i < p->n; i++) {
        const int64_t at = (perm ? perm[i] : i) * gsv_row_stride(x) + p->first * gsv_column_stride(x);
        double *row = p->v + i * p->row;
        for (int part = 0; part < p->parts; part++)
            for (int64_t c = 0; c < p->width; c++)
                row[part * p->width + c] =
                    c < p->cols
                        ? gsv_get_real(single, x->values, p->parts * (at + c * gsv_column_stride(x)) + part)
                        : 0;
    }
}

/* y = v, or P' v. */
static void store(const product *p) {
    const gpusolve_dense *y = p->y;
    const int32_t *perm = p->steps & GSV_TIMES_PT ? p->factor->plan.l.perm : NULL;
    const int single = gsv_is_single(y->dtype);
    for (int64_t i = 0; i < p->n; i++) {
        const int64_t at = (perm ? perm[i] : i) * gsv_row_stride(y) + p->first * gsv_column_stride(y);
        const double *row = p->v + i * p->row;
        for (int part = 0; part < p->parts; part++)
            for (int64_t c = 0; c < p->cols; c++)
                gsv_put_real(single, y->values, p->parts * (at + c * gsv_column_stride(y)) + part,
                             row[part * p->width + c]);
    }
}

/* v = D v */
static void scale(const product *p) {
    const gsv_host_factor *prepared = p->factor->prepared;
    for (int64_t i = 0; i < p->n && prepared->d; i++)
        for (int64_t c = 0; c < p->row; c++)
            p->v[i * p->row + c] *= gsv_get_real(gsv_is_single(p->factor->dtype), prepared->d, i);
}

static void multiply_columns(gpusolve_handle *handle, product *p) {
    load(p);
    if (p->steps & GSV_TIMES_LT)
        multiply_step(handle, p, 1);
    if (p->steps & GSV_TIMES_D)
        scale(p);
    if (p->steps & GSV_TIMES_L)
        multiply_step(handle, p, 0);
    store(p);
}

/* Sizes, and where columns of a panel go. */
static void measure(gpusolve_handle *handle, product *p) {
    const gsv_plan *plan = &p->factor->plan;
    for (int32_t s = 0; s < plan->l.nsuper; s++) {
        const int64_t nr = gsv_rows(plan, s), nc = gsv_columns(plan, s);
        p->room = nr * nc > p->room ? nr * nc : p->room;
        p->most = nr > p->most ? nr : p->most;
        for (int64_t k = 0; k < nc; k++)
            p->column[plan->l.first_column[s] + k] = k * (nr + 1);
    }
    const int64_t fit = ROOM / (p->room * (int64_t)gsv_panel_bytes(p->factor->numbers));
    p->threads = gsv_pool_share(handle->pool, plan->nnz_l * p->width, NUMBERS);
    p->threads = fit < 1 ? 1 : fit < p->threads ? (int)fit : p->threads;
}

/* Rows for each thread that have as many update rows together. count [n]: room. */
static void divide(const product *p, int64_t *count) {
    const gsv_plan *plan = &p->factor->plan;
    p->range[0] = 0;
    p->range[p->threads] = p->n;
    if (p->threads == 1)
        return;
    memset(count, 0, (size_t)p->n * sizeof *count);
    for (int32_t s = 0; s < plan->l.nsuper; s++) {
        const int32_t *rows = plan->l.rows + plan->l.row_ptr[s] + gsv_columns(plan, s);
        for (int64_t k = 0; k < gsv_updates(plan, s); k++)
            count[rows[k]]++;
    }
    int64_t sum = 0, thread = 1;
    for (int64_t i = 0; i < p->n; i++) {
        sum += count[i];
        for (; thread < p->threads && sum * p->threads >= p->updates * thread; thread++)
            p->range[thread] = i + 1;
    }
}

gpusolve_status gsv_host_multiply(gpusolve_handle *handle, const gpusolve_factor *factor, unsigned steps,
                                  const gpusolve_dense *x, const gpusolve_dense *y) {
    const gsv_plan *plan = &factor->plan;
    const int parts = gsv_is_complex(factor->dtype) ? 2 : 1, width = x->cols > 1 ? COLUMNS : 1;
    product p = {.factor = factor,
                 .steps = steps,
                 .parts = parts,
                 .width = width,
                 .row = (int64_t)parts * width,
                 .n = plan->l.n,
                 .updates = plan->update_ptr[plan->l.nsuper],
                 .times = times_of(factor, width),
                 .x = x,
                 .y = y};
    const size_t row = (size_t)p.row * sizeof(double);
    p.column = gsv_malloc((size_t)p.n, sizeof *p.column);
    if (p.column)
        measure(handle, &p);
    p.range = gsv_malloc((size_t)p.threads + 1, sizeof *p.range);
    p.panels = gsv_malloc((size_t)p.threads * (size_t)p.room, gsv_panel_bytes(factor->numbers));
    p.fronts = gsv_malloc((size_t)p.threads * (size_t)p.most, row);
    p.v = gsv_malloc((size_t)p.n, row);
    p.w = gsv_malloc((size_t)p.n, row);
    p.u = gsv_malloc((size_t)p.updates + 1, row);
    const int there = p.column && p.range && p.panels && p.fronts && p.v && p.w && p.u;
    if (there && steps & GSV_TIMES_L)
        divide(&p, (int64_t *)p.w);
    for (; there && p.first < x->cols; p.first += width) {
        p.cols = x->cols - p.first < width ? x->cols - p.first : width;
        multiply_columns(handle, &p);
    }
    gsv_free(p.column);
    gsv_free(p.range);
    gsv_free(p.panels);
    gsv_free(p.fronts);
    gsv_free(p.v);
    gsv_free(p.w);
    gsv_free(p.u);
    return there ? GPUSOLVE_OK
                 : gsv_fail(&handle->message, GPUSOLVE_OUT_OF_MEMORY, "multiply: out of host memory");
}
