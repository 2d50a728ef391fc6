/*
 * Products with the factor on the host. v are doubles, or pairs of them, by columns, COLUMNS at a time:
 *
 *      v = P x,   v = L' v,   v = D v,   v = L v,   y = P' v
 *
 * L and L' without a tree: a supernode's part of L' v needs rows of v alone. Of L v it leaves L1 v1 for its own columns, and L2 v1 in its room
 * among the update rows; then the update rows are added, supernode after supernode, so that every sum has one order. Supernodes are dealt out to the threads,
 * each of which unpacks a panel into memory of its own; the update rows of a column are added by one thread.
 */
#include "products.h"

#include <string.h>

#include "../../../memory.h"
#include "../../../pool.h"
#include "../executor.h"

#define GSV_TEMPLATE "../supernodal/host/products/multiply.inc"
#include "../../../dense_kernels/kinds_host.h"

/* ROOM: bytes that the threads' panels may have together, unless one has more. NUMBERS: that are worth waking a thread. */
enum { COLUMNS = 8, TOGETHER = 16, ROOM = 256 << 20, NUMBERS = 1 << 14 };

typedef void times(const void *panel, int64_t nr, int64_t nc, const double *from, double *to);

typedef struct product {
    const gpusolve_factor *factor;
    unsigned steps;
    int parts, threads, transposed;
    int64_t n, updates, room; /* room: numbers of the largest panel */
    int64_t most;             /* rows of it */
    const gpusolve_dense *x, *y;
    int64_t first, cols; /* the columns at work */
    int64_t *column;     /* [n] where columns of a panel go in a thread's memory */
    char *panels;        /* [threads][room] numbers */
    double *fronts;      /* [threads][most] */
    double *v, *w;       /* [COLUMNS][n]: from one to the other, by turns */
    double *u;           /* [COLUMNS][updates] */
} product;

static double *front_of(const product *p, int member) {
    return p->fronts + (int64_t)member * p->most * p->parts;
}

static times *times_of(const product *p) {
    static times *const panel[] = {GSV_KINDS(times_panel)}, *const transpose[] = {GSV_KINDS(times_transpose)};
    return (p->transposed ? transpose : panel)[gsv_panel_dtype(p->factor->numbers)];
}

/* Supernode s, all columns. */
static void multiply_supernode(const product *p, int32_t s, int member) {
    const gsv_plan *plan = &p->factor->plan;
    const int64_t nr = gsv_rows(plan, s), nc = gsv_columns(plan, s), first = plan->l.first_column[s];
    const int32_t *rows = plan->l.rows + plan->l.row_ptr[s];
    const size_t number = (size_t)p->parts * sizeof(double);
    void *panel = p->panels + (size_t)member * (size_t)p->room * gsv_panel_bytes(p->factor->numbers);
    double *front = front_of(p, member);
    gsv_host_read_panel(p->factor, p->column, s, panel);
    for (int64_t c = 0; c < p->cols; c++) {
        const double *v = p->v + c * p->n * p->parts;
        double *w = p->w + (c * p->n + first) * p->parts;
        if (p->transposed) {
            for (int64_t i = 0; i < nr; i++)
                memcpy(front + i * p->parts, v + (int64_t)rows[i] * p->parts, number);
            times_of(p)(panel, nr, nc, front, w);
            continue;
        }
        times_of(p)(panel, nr, nc, v + first * p->parts, front);
        memcpy(w, front, (size_t)nc * number);
        memcpy(p->u + (c * p->updates + plan->update_ptr[s]) * p->parts, front + nc * p->parts,
               (size_t)(nr - nc) * number);
    }
}

static void multiply_range(void *context, int64_t begin, int64_t end, int member) {
    for (int64_t s = begin; s < end; s++)
        multiply_supernode(context, (int32_t)s, member);
}

/* w += update rows, of one column. */
static void add_updates(void *context, int64_t c, int member) {
    const product *p = context;
    const gsv_plan *plan = &p->factor->plan;
    double *w = p->w + c * p->n * p->parts;
    const double *u = p->u + c * p->updates * p->parts;
    (void)member;
    for (int32_t s = 0; s < plan->l.nsuper; s++) {
        const int32_t *rows = plan->l.rows + plan->l.row_ptr[s] + gsv_columns(plan, s);
        for (int64_t k = 0; k < gsv_updates(plan, s); k++, u += p->parts)
            for (int part = 0; part < p->parts; part++)
                w[(int64_t)rows[k] * p->parts + part] += u[part];
    }
}

static void multiply_step(gpusolve_handle *handle, product *p, int transposed) {
    p->transposed = transposed;
    gsv_pool_ranges(handle->pool, p->threads, p->factor->plan.l.nsuper, TOGETHER, multiply_range, p);
    if (!transposed)
        gsv_pool_each(handle->pool, p->threads, p->cols, add_updates, p);
    double *other = p->v;
    p->v = p->w;
    p->w = other;
}

/* v = x, or P x. */
static void load(const product *p) {
    const gpusolve_dense *x = p->x;
    const int32_t *perm = p->steps & GSV_TIMES_P ? p->factor->plan.l.perm : NULL;
    const int single = gsv_is_single(x->dtype);
    for (int64_t c = 0; c < p->cols; c++)
        for (int64_t i = 0; i < p->n; i++) {
            const int64_t row = perm ? perm[i] : i;
            const int64_t at = row * gsv_row_stride(x) + (p->first + c) * gsv_column_stride(x);
            for (int part = 0; part < p->parts; part++)
                p->v[(c * p->n + i) * p->parts + part] =
                    gsv_get_real(single, x->values, p->parts * at + part);
        }
}

/* y = v, or P' v. */
static void store(const product *p) {
    const gpusolve_dense *y = p->y;
    const int32_t *perm = p->steps & GSV_TIMES_PT ? p->factor->plan.l.perm : NULL;
    const int single = gsv_is_single(y->dtype);
    for (int64_t c = 0; c < p->cols; c++)
        for (int64_t i = 0; i < p->n; i++) {
            const int64_t row = perm ? perm[i] : i;
            const int64_t at = row * gsv_row_stride(y) + (p->first + c) * gsv_column_stride(y);
            for (int part = 0; part < p->parts; part++)
                gsv_put_real(single, y->values, p->parts * at + part, p->v[(c * p->n + i) * p->parts + part]);
        }
}

/* v = D v */
static void scale(const product *p) {
    const gsv_host_factor *prepared = p->factor->prepared;
    for (int64_t c = 0; c < p->cols && prepared->d; c++)
        for (int64_t i = 0; i < p->n; i++)
            for (int part = 0; part < p->parts; part++)
                p->v[(c * p->n + i) * p->parts + part] *=
                    gsv_get_real(gsv_is_single(p->factor->dtype), prepared->d, i);
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
    p->threads = gsv_pool_share(handle->pool, plan->nnz_l * p->cols, NUMBERS);
    p->threads = fit < 1 ? 1 : fit < p->threads ? (int)fit : p->threads;
}

gpusolve_status gsv_host_multiply(gpusolve_handle *handle, const gpusolve_factor *factor, unsigned steps,
                                  const gpusolve_dense *x, const gpusolve_dense *y) {
    const gsv_plan *plan = &factor->plan;
    product p = {.factor = factor,
                 .steps = steps,
                 .parts = gsv_is_complex(factor->dtype) ? 2 : 1,
                 .n = plan->l.n,
                 .updates = plan->update_ptr[plan->l.nsuper],
                 .x = x,
                 .y = y,
                 .cols = x->cols < COLUMNS ? x->cols : COLUMNS};
    const size_t column = (size_t)(p.cols * p.parts) * sizeof(double);
    p.column = gsv_malloc((size_t)p.n, sizeof *p.column);
    if (p.column)
        measure(handle, &p);
    p.panels = gsv_malloc((size_t)p.threads * (size_t)p.room, gsv_panel_bytes(factor->numbers));
    p.fronts = gsv_malloc((size_t)p.threads * (size_t)p.most, (size_t)p.parts * sizeof(double));
    p.v = gsv_malloc((size_t)p.n, column);
    p.w = gsv_malloc((size_t)p.n, column);
    p.u = gsv_malloc((size_t)p.updates + 1, column);
    const int there = p.column && p.panels && p.fronts && p.v && p.w && p.u;
    for (int64_t cols = p.cols; there && p.first < x->cols; p.first += cols) {
        p.cols = x->cols - p.first < cols ? x->cols - p.first : cols;
        multiply_columns(handle, &p);
    }
    gsv_free(p.column);
    gsv_free(p.panels);
    gsv_free(p.fronts);
    gsv_free(p.v);
    gsv_free(p.w);
    gsv_free(p.u);
    return there ? GPUSOLVE_OK
                 : gsv_fail(&handle->message, GPUSOLVE_OUT_OF_MEMORY, "multiply: out of host memory");
}
