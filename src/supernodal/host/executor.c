/*
 * The host executor: gsv_host_executor of executor.h, on the threads of the handle (../pool.h).
 *
 * How a right-hand side travels. Columns are taken 32 at a time (fewer: 16, 8 or 1 side by side, padded
 * with zeros) through one run of the pool, forward and backward. A supernode reads its rows of b, permuted,
 * into y when its turn comes, adds its children's update vectors, solves, and leaves its own update vector in
 * u; on the way back it gathers the rows below it from y, solves, and writes its rows of x, permuted. So b is
 * read and x written while the rows are in the cache, and x may be b: a row of x is written after the forward
 * sweep has read that row.
 *
 * What the threads do. They draw tickets, first all forward ones, then all backward ones: subtrees, each walked by one thread with
 * vectors that stay in its cache, and pieces of the top, which all threads share: column blocks of 64, row tiles of 128, paths (subtrees.h).
 *
 * Synchronisation. There is no barrier inside the run. A step waits for what it reads, by spinning on a
 * signal (an acquire load) that the work which writes it raises when it is done (a release store):
 * - forward, column block j: all children's update vectors; then column blocks 0 .. j - 1, one by one.
 * - forward, row tile: the same with all column blocks; a supernode's last tile to be done raises `done`.
 * - forward, path: at each supernode, the update vectors of its children that are not on the path.
 * - backward, column block j, or path: the parent's first block, the last of the parent to be solved (a root: its own
 *   last block's forward solve); then the column blocks to the right, one by one.
 * - backward, subtree: the parent of each of its roots (a root of the forest: its own task's `done`).
 *
 * What is waited for holds an earlier ticket, drawn by a thread that is running: the work with the lowest
 * unfinished ticket waits for nothing, so some thread always advances and every wait ends. Signals hold the
 * number of their run and are never reset. A system without forward substitution fills y before and one
 * without backward substitution empties it after, in runs of the pool of their own.
 *
 * Bits. Sums have one order, whatever the threads and the columns side by side (trsv_host.h); children are
 * added in ascending order; no two threads write one number.
 *
 * Memory traffic. L is read once a sweep; per row of y and column: b and x once, y about four times; per row
 * of an update vector: written and read once each, mostly in the cache. Rows of b and x are moved for a large
 * part of a subtree at a time: their permuted places are as many misses of the cache, which overlap if they
 * come together.
 *
 * Where L is. Packed (panel_host.h): a copy in the order of the sweeps, paid back after a few solves. With data->in_place it stays
 * in the caller's panels, and each piece is packed anew, into the cache, whenever it is used: same kernels, same bits, no
 * second L in memory, but columns of a panel are many streams and not one. bench/README.md has times of both.
 *
 * No BLAS is called, not even on wide supernodes: its sums of one column have another order than those of many, and its threads know
 * nothing of ours (bench/README.md, "CBLAS or own kernels").
 */
#define _DEFAULT_SOURCE /* madvise */
#include <string.h>
#include <sys/mman.h>

#include "executor.h"

#include "../../dense_kernels/panel_host.h"
#include "../../memory.h"
#include "../../pool.h"
#include "products/products.h"
#include "refine/refine.h"
#include "../api/summary.h"

/* Ask for huge pages, where the system gives them to processes that ask: a sweep reads far more memory than the
 * processor has small pages' addresses at hand for. Memory that was not touched yet. NULL is accepted. */
static void on_huge_pages(void *memory, size_t bytes) {
#ifdef MADV_HUGEPAGE
    const uintptr_t page = 4096, begin = ((uintptr_t)memory + page - 1) & ~(page - 1);
    const uintptr_t end = ((uintptr_t)memory + bytes) & ~(page - 1);
    if (memory && end > begin)
        madvise((void *)begin, end - begin, MADV_HUGEPAGE); /* advice: no harm if it is refused */
#else
    (void)memory;
    (void)bytes;
#endif
}

/* ------------------------------------------------------------------------------------ plan and factor --- */

static gpusolve_status plan_subtrees(gsv_plan *plan, gsv_pool *pool, gsv_message *message) {
    (void)pool; /* short, and in one go */
    const gpusolve_status status = gsv_subtrees_create(plan, message);
    if (status == GPUSOLVE_OK)
        plan->bytes += plan->subtrees->bytes;
    return status;
}

static int32_t columns_for(int64_t max_nrhs) {
    return gsv_width(gsv_width_index(max_nrhs < GSV_MAX_COLUMNS ? (int)max_nrhs : GSV_MAX_COLUMNS));
}

static void memory_needed(int device, int same_bits, const gsv_plan *plan, gsv_numbers numbers, int has_d,
                          int64_t max_nrhs, int64_t *factor_bytes, int64_t *workspace_bytes) {
    (void)device;
    (void)same_bits;
    const int64_t real = (int64_t)gsv_real_bytes(gsv_panel_dtype(numbers)),
                  real_of_d = (int64_t)gsv_real_bytes(gsv_vector_dtype(numbers)),
                  number = (int64_t)gsv_vector_bytes(numbers);
    const gsv_subtrees *tree = plan->subtrees;
    *factor_bytes = (int64_t)sizeof(gsv_host_factor) + plan->l.nsuper * (int64_t)sizeof(int64_t) +
                    (plan->in_place ? 0 : gsv_host_pack_layout(plan, gsv_panel_dtype(numbers), NULL) * real) +
                    (has_d ? plan->l.n * real_of_d : 0);
    *workspace_bytes = 0;
    if (max_nrhs > 0)
        *workspace_bytes = (int64_t)sizeof(gsv_host_workspace) +
                           (tree->top_blocks + (int64_t)tree->ntasks) * (int64_t)sizeof(gsv_signal) +
                           (plan->l.n + tree->update_rows) * columns_for(max_nrhs) * number;
}

static void free_factor(gsv_host_factor *prepared) {
    if (!prepared)
        return;
    gsv_free(prepared->start);
    gsv_free(prepared->packed);
    gsv_free(prepared->d);
    gsv_free(prepared);
}

gsv_host_factor *gsv_host_factor_create(const gpusolve_factor *factor, int64_t numbers) {
    const size_t real = gsv_real_bytes(gsv_panel_dtype(factor->numbers)), n = (size_t)factor->plan.l.n;
    gsv_host_factor *prepared = gsv_calloc(1, sizeof *prepared);
    if (!prepared)
        return NULL;
    prepared->isa = gsv_isa_best();
    prepared->start = gsv_malloc((size_t)factor->plan.l.nsuper, sizeof *prepared->start);
    prepared->values = prepared->packed = numbers > 0 ? gsv_malloc((size_t)numbers, real) : NULL;
    prepared->d = factor->has_d ? gsv_malloc(n, gsv_real_bytes(factor->dtype)) : NULL;
    on_huge_pages(prepared->packed, (size_t)numbers * real);
    if (prepared->start && (prepared->packed || numbers == 0) && (prepared->d || !factor->has_d))
        return prepared;
    free_factor(prepared);
    return NULL;
}

static void release(gpusolve_factor *factor) {
    free_factor(factor->prepared);
    factor->prepared = NULL;
}

static gpusolve_status refresh(gpusolve_handle *handle, gpusolve_factor *factor,
                               const gpusolve_factor_data *data, const gsv_fresh *fresh, gsv_cuts *cuts) {
    (void)cuts; /* it substitutes, and inverts nothing */
    gsv_host_factor *prepared = factor->prepared;
    if (factor->plan.in_place) {
        gsv_host_in_place_layout(&factor->plan, data, prepared->start);
        prepared->values = data->x;
        return GPUSOLVE_OK;
    }
    const gpusolve_status status =
        gsv_host_pack(handle, data, &factor->plan, fresh, prepared->start, prepared->packed);
    if (status == GPUSOLVE_OK && prepared->d && fresh)
        gsv_fresh_d(fresh, gsv_is_single(factor->dtype),
                    (char *)prepared->d + (size_t)fresh->first * gsv_real_bytes(factor->dtype));
    else if (status == GPUSOLVE_OK && prepared->d)
        gsv_import_d(data, prepared->d);
    return status;
}

static gpusolve_status prepare(gpusolve_handle *handle, gpusolve_factor *factor,
                               const gpusolve_factor_data *data) {
    const gsv_plan *plan = &factor->plan;
    const int64_t numbers =
        plan->in_place ? 0 : gsv_host_pack_layout(plan, gsv_panel_dtype(factor->numbers), NULL);
    gsv_host_factor *prepared = gsv_host_factor_create(factor, numbers);
    factor->prepared = prepared;
    if (!prepared)
        return gsv_fail(&handle->message, GPUSOLVE_OUT_OF_MEMORY, "factor: out of host memory");
    if (!plan->in_place)
        gsv_host_pack_layout(plan, gsv_panel_dtype(factor->numbers), prepared->start);
    const gpusolve_status status = refresh(handle, factor, data, NULL, NULL);
    if (status != GPUSOLVE_OK)
        release(factor);
    return status;
}

/* ---------------------------------------------------------------------------------------------- model --- */

/* Whether a solve of at most `columns` columns would use more than one thread. */
static int wants_threads(const gpusolve_handle *handle, const gsv_plan *plan, int32_t columns) {
    const int available = gsv_pool_threads(handle->pool);
    for (int sweeps = GSV_SWEEP_UP; sweeps <= GSV_BOTH_SWEEPS; sweeps++)
        if (gsv_subtrees_threads(plan->subtrees, (gsv_sweeps)sweeps, 1, available) > 1 ||
            gsv_subtrees_threads(plan->subtrees, (gsv_sweeps)sweeps, columns, available) > 1)
            return 1;
    return 0;
}

/* ------------------------------------------------------------------------------------------ workspace --- */

static void destroy_state(gsv_host_workspace *state) {
    if (!state)
        return;
    gsv_free(state->signals);
    gsv_free(state->y);
    gsv_free(state->u);
    gsv_free(state);
}

static gpusolve_status workspace_create(gpusolve_handle *handle, const gpusolve_factor *factor,
                                        gpusolve_workspace *workspace) {
    const gsv_plan *plan = &factor->plan;
    gsv_host_workspace *state = gsv_calloc(1, sizeof *state);
    if (state) {
        const size_t number = gsv_dtype_bytes(factor->dtype);
        state->columns = columns_for(workspace->max_nrhs);
        state->nsignals = plan->subtrees->top_blocks + plan->subtrees->ntasks;
        state->signals = gsv_calloc((size_t)state->nsignals, sizeof *state->signals);
        state->y = gsv_malloc((size_t)plan->l.n, number * (size_t)state->columns);
        state->u = gsv_malloc((size_t)plan->subtrees->update_rows, number * (size_t)state->columns);
        on_huge_pages(state->y, (size_t)plan->l.n * number * (size_t)state->columns);
        on_huge_pages(state->u, (size_t)plan->subtrees->update_rows * number * (size_t)state->columns);
    }
    if (!state || !state->signals || !state->y || !state->u) {
        destroy_state(state);
        return gsv_fail(&handle->message, GPUSOLVE_OUT_OF_MEMORY, "workspace: out of host memory");
    }
    if (wants_threads(handle, plan, state->columns))
        gsv_pool_reserve(handle->pool);
    workspace->state = state;
    return GPUSOLVE_OK;
}

static void workspace_destroy(gpusolve_workspace *workspace) {
    destroy_state(workspace->state);
    gsv_host_refine_release(workspace);
    workspace->state = NULL;
}

/* ---------------------------------------------------------------------------------------------- solve --- */

static const gsv_host_sweep *sweep_for(gsv_numbers numbers, int isa, int width) {
    static const gsv_host_sweep *const(*const of[])[GSV_WIDTHS] = {
        [GSV_NUMBERS_S] = gsv_host_sweep_s,   [GSV_NUMBERS_D] = gsv_host_sweep_d,
        [GSV_NUMBERS_C] = gsv_host_sweep_c,   [GSV_NUMBERS_Z] = gsv_host_sweep_z,
        [GSV_NUMBERS_DS] = gsv_host_sweep_ds, [GSV_NUMBERS_ZC] = gsv_host_sweep_zc};
    return of[numbers][isa][width];
}

static void forward(const gsv_host_sweep *sweep, gsv_host_run *run) {
    const gsv_subtrees *tree = run->tree;
    const int64_t tickets = tree->ntasks + tree->nforward;
    for (int64_t t; (t = atomic_fetch_add_explicit(&run->forward_ticket, 1, memory_order_relaxed)) < tickets;)
        if (t < tree->ntasks)
            sweep->forward_task(run, tree->heaviest[t]);
        else
            sweep->forward_step(run, tree->forward[t - tree->ntasks]);
}

static void backward(const gsv_host_sweep *sweep, gsv_host_run *run) {
    const gsv_subtrees *tree = run->tree;
    const int64_t tickets = tree->nbackward + tree->ntasks;
    for (int64_t t;
         (t = atomic_fetch_add_explicit(&run->backward_ticket, 1, memory_order_relaxed)) < tickets;)
        if (t < tree->nbackward)
            sweep->backward_step(run, tree->backward[t]);
        else
            sweep->backward_task(run, tree->heaviest[t - tree->nbackward]);
}

/* What the members of a run share. */
typedef struct sweeping {
    const gsv_host_sweep *sweep;
    gsv_host_run *run;
} sweeping;

static void sweep_rows(void *context, int member) {
    const sweeping *shared = context;
    (void)member;
    if (shared->run->steps & GSV_FORWARD)
        forward(shared->sweep, shared->run);
    if (shared->run->steps & GSV_BACKWARD)
        backward(shared->sweep, shared->run);
}

enum { PIECE = 1024 }; /* rows that are loaded or stored at a time where no sweep does it */

static void load_piece(void *context, int64_t piece, int member) {
    const sweeping *shared = context;
    const int32_t n = shared->run->plan->l.n, begin = (int32_t)piece * PIECE;
    (void)member;
    shared->sweep->load(shared->run, begin, n - begin < PIECE ? n : begin + PIECE);
}

static void store_piece(void *context, int64_t piece, int member) {
    const sweeping *shared = context;
    const int32_t n = shared->run->plan->l.n, begin = (int32_t)piece * PIECE;
    (void)member;
    shared->sweep->store(shared->run, begin, n - begin < PIECE ? n : begin + PIECE);
}

enum { MOVED = 12500 }; /* numbers moved between b or x and y that are worth waking a thread */

static gsv_sweeps sweeps_of(unsigned steps) {
    return (gsv_sweeps)((steps & GSV_FORWARD ? GSV_SWEEP_UP : 0) |
                        (steps & GSV_BACKWARD ? GSV_SWEEP_DOWN : 0));
}

static void run_on_threads(gpusolve_handle *handle, const gsv_host_sweep *sweep, gsv_host_run *run) {
    sweeping shared = {sweep, run};
    const gsv_sweeps sweeps = sweeps_of(run->steps);
    const int64_t pieces = run->plan->l.n / PIECE + (run->plan->l.n % PIECE != 0);
    const int available = gsv_pool_threads(handle->pool);
    const int movers = gsv_pool_share(handle->pool, (int64_t)run->plan->l.n * run->cols, MOVED);
    if (!(run->steps & GSV_FORWARD))
        gsv_pool_each(handle->pool, movers, pieces, load_piece, &shared);
    if (sweeps)
        gsv_pool_run(handle->pool, gsv_subtrees_threads(run->tree, sweeps, run->cols, available), sweep_rows,
                     &shared);
    if (!(run->steps & GSV_BACKWARD))
        gsv_pool_each(handle->pool, movers, pieces, store_piece, &shared);
}

static gpusolve_status solve(gpusolve_handle *handle, const gpusolve_factor *factor,
                             gpusolve_workspace *workspace, unsigned steps, const gpusolve_dense *b,
                             const gpusolve_dense *x) {
    const gsv_host_factor *prepared = factor->prepared;
    const gsv_plan *plan = &factor->plan;
    gsv_host_workspace *state = workspace->state;
    const size_t number = gsv_dtype_bytes(factor->dtype);
    gsv_host_run run = {
        .plan = plan,
        .tree = plan->subtrees,
        .values = prepared->values,
        .in_place = plan->in_place,
        .start = prepared->start,
        .d = prepared->d,
        .perm_in = steps & GSV_PERMUTE_IN ? plan->l.perm : NULL,
        .perm_out = steps & GSV_PERMUTE_OUT ? plan->l.perm : NULL,
        .y = state->y,
        .u = state->u,
        .signals = state->signals,
        .steps = steps,
        .patience = gsv_pool_patience(handle->pool),
        .b_row = gsv_row_stride(b),
        .b_col = gsv_column_stride(b),
        .x_row = gsv_row_stride(x),
        .x_col = gsv_column_stride(x),
    };
    for (int64_t first = 0; first < b->cols; first += run.cols) {
        const int64_t left = b->cols - first;
        run.cols = left < state->columns ? (int32_t)left : state->columns;
        run.b = (const char *)b->values + (size_t)(first * run.b_col) * number;
        run.x = (char *)x->values + (size_t)(first * run.x_col) * number;
        if (++state->runs == 0) { /* the count has come round: no signal may still hold a number to come */
            memset(state->signals, 0, (size_t)state->nsignals * sizeof *state->signals);
            state->runs = 1;
        }
        run.number = state->runs;
        atomic_store_explicit(&run.forward_ticket, 0, memory_order_relaxed);
        atomic_store_explicit(&run.backward_ticket, 0, memory_order_relaxed);
        run_on_threads(handle, sweep_for(factor->numbers, prepared->isa, gsv_width_index(run.cols)), &run);
    }
    return GPUSOLVE_OK;
}

/* The time of one thread, and the threads that a solve gets if `threads` are available. */
static void add_threads(const gsv_subtrees *tree, gsv_text *text) {
    static const int32_t columns[] = {1, 8, GSV_MAX_COLUMNS};
    static const int available[] = {2, 4, 8, 16, 32, 64};
    for (size_t k = 0; k < sizeof columns / sizeof *columns; k++) {
        const int32_t cols = columns[k];
        gsv_text_add(text, "%d column%s: one thread should take %.0f us;", (int)cols, cols > 1 ? "s" : "",
                     gsv_subtrees_us(tree, GSV_BOTH_SWEEPS, cols, 1));
        for (size_t i = 0; i < sizeof available / sizeof *available; i++)
            gsv_text_add(text, "%s%d of %d", i ? ", " : " threads ",
                         gsv_subtrees_threads(tree, GSV_BOTH_SWEEPS, cols, available[i]), available[i]);
        gsv_text_add(text, "\n");
    }
}

static void summary(const gpusolve_factor *factor, gsv_text *text) {
    const gsv_subtrees *tree = factor->plan.subtrees;
    gsv_text_add(text,
                 "%d pieces of the forest for one thread each, %d supernodes above them in %lld pieces "
                 "forward, %lld backward\n",
                 (int)tree->ntasks, (int)tree->ntop, (long long)tree->nforward, (long long)tree->nbackward);
    if (factor->plan.in_place)
        gsv_text_add(text, "L is read where the caller has it\n");
    add_threads(tree, text);
}

/* Reading, GB/s of 1, 2, 4, 8 and 16 threads of a 16-core Xeon: 14, 27, 41, 88, 105. */
static const double THREAD_BYTES_PER_S = 13e9, MOST_BYTES_PER_S = 105e9;

/* The time of a run of at most GSV_MAX_COLUMNS columns if `threads` threads are available. */
static double run_us(const gsv_subtrees *tree, int32_t cols, int available) {
    return cols == 0 ? 0
                     : gsv_subtrees_us(tree, GSV_BOTH_SWEEPS, cols,
                                       gsv_subtrees_threads(tree, GSV_BOTH_SWEEPS, cols, available));
}

static void cost(const gpusolve_handle *handle, const gpusolve_factor *factor, gpusolve_cost *cost) {
    const gsv_plan *plan = &factor->plan;
    const gsv_subtrees *tree = plan->subtrees;
    const int32_t inside = tree->task_ptr[tree->ntasks];
    int64_t numbers = 0;
    for (int32_t i = 0; i < inside; i++)
        numbers += gsv_trapezoid(plan, tree->order[i]);
    gsv_cost_add(cost, "one thread", inside, numbers, factor->numbers);
    gsv_cost_add(cost, "all threads", tree->ntop, plan->nnz_l - numbers, factor->numbers);

    const int threads = gsv_pool_threads(handle->pool);
    if (cost->bytes_per_s == 0)
        cost->bytes_per_s =
            threads * THREAD_BYTES_PER_S < MOST_BYTES_PER_S ? threads * THREAD_BYTES_PER_S : MOST_BYTES_PER_S;
    cost->predicted_us = (double)(cost->nrhs / GSV_MAX_COLUMNS) * run_us(tree, GSV_MAX_COLUMNS, threads) +
                         run_us(tree, (int32_t)(cost->nrhs % GSV_MAX_COLUMNS), threads);
}

const gsv_executor gsv_host_executor = {
    .backend = GPUSOLVE_BACKEND_HOST,
    .plan = plan_subtrees,
    .bytes = memory_needed,
    .prepare = prepare,
    .refresh = refresh,
    .read_values = gsv_host_read_values,
    .release = release,
    .workspace_create = workspace_create,
    .workspace_destroy = workspace_destroy,
    .solve = solve,
    .matrix_create = gsv_host_matrix_create,
    .matrix_destroy = gsv_host_matrix_destroy,
    .refine_reserve = gsv_host_refine_reserve,
    .refine = gsv_host_refine,
    .summary = summary,
    .cost = cost,
    .selection = &gsv_host_selection,
    .products = &gsv_host_products,
};
