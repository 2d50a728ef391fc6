/*
 * The host executor's part of the plan as an object: every supernode is in exactly one task or in the top,
 * every piece of the top is listed once, work comes after all that it waits for, and no update vector is
 * overwritten before its parent has read it. On trees of many shapes, postordered or not. And how many threads
 * a solve gets on trees that threads can share wholly, in part or not at all.
 */
#include "testing.h"

#include "dense_kernels/panel_host.h"
#include "memory.h"
#include "pools.h"
#include "supernodal/host/subtrees.h"
#include "tree_shapes.h"

typedef enum random_shape { DIAGONAL, CHAIN, STAR, BINARY, RANDOM, FOREST } random_shape;

static int32_t parent_of(random_shape shape, int32_t s, int32_t nsuper, uint64_t *state) {
    const int32_t left = nsuper - 1 - s; /* supernodes after s */
    if (left == 0 || shape == DIAGONAL)
        return -1;
    switch (shape) {
    case CHAIN:
        return s + 1;
    case STAR:
        return nsuper - 1;
    case BINARY:
        return s + (left + 1) / 2; /* halves the distance to the root: no postorder */
    case FOREST:
        if (testing_random(state) < -0.5)
            return -1;
        break;
    default:
        break;
    }
    const int32_t reach = left < 40 ? left : 40;
    return s + 1 + (int32_t)((testing_random(state) + 1) / 2 * reach) % reach;
}

/* Supernodes of 1 .. widest columns; the rows below are a random part of the parent's front. */
static gsv_plan make_plan(random_shape shape, int32_t nsuper, int32_t widest, uint64_t *state) {
    gsv_structure l = {0};
    int32_t *parent = gsv_malloc((size_t)nsuper, sizeof *parent);
    int32_t **rows = gsv_calloc((size_t)nsuper, sizeof *rows),
            *count = gsv_calloc((size_t)nsuper, sizeof *count);
    l.nsuper = nsuper;
    l.first_column = gsv_calloc((size_t)nsuper + 1, sizeof *l.first_column);
    l.row_ptr = gsv_calloc((size_t)nsuper + 1, sizeof *l.row_ptr);
    REQUIRE(parent && rows && count && l.first_column && l.row_ptr);
    for (int32_t s = 0; s < nsuper; s++) {
        parent[s] = parent_of(shape, s, nsuper, state);
        l.first_column[s + 1] =
            l.first_column[s] + 1 + (int32_t)((testing_random(state) + 1) / 2 * widest) % widest;
    }
    l.n = l.first_column[nsuper];
    for (int32_t s = nsuper - 1; s >= 0; s--) {
        const int32_t p = parent[s], nc = l.first_column[s + 1] - l.first_column[s];
        rows[s] = gsv_malloc((size_t)(nc + (p < 0 ? 0 : count[p])), sizeof **rows);
        REQUIRE(rows[s]);
        for (int32_t j = 0; j < nc; j++)
            rows[s][count[s]++] = l.first_column[s] + j;
        for (int32_t i = 0; p >= 0 && i < count[p]; i++)
            if (i == 0 || testing_random(state) < 0.2)
                rows[s][count[s]++] = rows[p][i];
    }
    for (int32_t s = 0; s < nsuper; s++)
        l.row_ptr[s + 1] = l.row_ptr[s] + count[s];
    l.rows = gsv_malloc((size_t)l.row_ptr[nsuper], sizeof *l.rows);
    REQUIRE(l.rows);
    for (int32_t s = 0; s < nsuper; s++) {
        memcpy(l.rows + l.row_ptr[s], rows[s], (size_t)count[s] * sizeof **rows);
        gsv_free(rows[s]);
    }
    gsv_free(parent);
    gsv_free(rows);
    gsv_free(count);
    gsv_plan plan;
    gsv_message message;
    REQUIRE(gsv_plan_create(&l, testing_pool(2), &plan, &message) == GPUSOLVE_OK);
    return plan;
}

/* when[s]: 0 for a supernode of a task, its place in the top for others, from 1 on. */
static void check_order(const gsv_plan *plan, const gsv_subtrees *t, int32_t *task, int32_t *when) {
    const int32_t nsuper = plan->l.nsuper, begin = t->task_ptr[t->ntasks];
    for (int32_t s = 0; s < nsuper; s++)
        task[s] = when[s] = -1;
    for (int32_t k = 0; k < t->ntasks; k++)
        for (int32_t i = t->task_ptr[k]; i < t->task_ptr[k + 1]; i++) {
            const int32_t s = t->order[i];
            CHECK(task[s] == -1);
            task[s] = k;
            when[s] = 0;
            CHECK(t->signal[s] == t->top_blocks + k);
            for (int32_t c = plan->child_ptr[s]; c < plan->child_ptr[s + 1]; c++)
                CHECK(task[plan->child[c]] == k); /* a whole subtree, children first */
        }
    CHECK(t->ntop == nsuper - begin);
    int32_t blocks = 0;
    for (int32_t i = begin; i < nsuper; i++) {
        const int32_t s = t->order[i];
        CHECK(when[s] == -1);
        when[s] = i - begin + 1;
        CHECK(t->signal[s] == blocks);
        blocks += gsv_block_count(gsv_columns(plan, s));
        for (int32_t c = plan->child_ptr[s]; c < plan->child_ptr[s + 1]; c++)
            CHECK(when[plan->child[c]] >= 0);
    }
    CHECK(blocks == t->top_blocks);
    for (int32_t s = 0; s < nsuper; s++)
        CHECK(when[s] >= 0);
}

static void check_tasks_listed_once(const gsv_subtrees *t, const int32_t *task, int32_t nsuper) {
    int32_t *seen = calloc((size_t)t->ntasks + 1, sizeof *seen);
    REQUIRE(seen);
    for (int32_t k = 0; k < t->ntasks; k++) {
        CHECK(t->heaviest[k] >= 0 && t->heaviest[k] < t->ntasks && !seen[t->heaviest[k]]);
        seen[t->heaviest[k]] = 1;
        CHECK(t->task_ptr[k] < t->task_ptr[k + 1]);
    }
    for (int32_t s = 0; s < nsuper; s++)
        CHECK(task[s] < t->ntasks);
    free(seen);
}

/* What is done of a supernode: forward, column blocks, row tiles and all of it; backward, column blocks from
 * the last one on. */
typedef struct progress {
    int32_t blocks, tiles, back;
    int done;
} progress;

static void check_children_done(const gsv_plan *plan, const gsv_subtrees *t, const progress *at, int32_t s,
                                int32_t but) {
    for (int32_t k = plan->child_ptr[s]; k < plan->child_ptr[s + 1]; k++) {
        const int32_t c = plan->child[k];
        CHECK(c == but || t->signal[c] >= t->top_blocks || at[c].done);
    }
}

static void walk_forward(const gsv_plan *plan, const gsv_subtrees *t, progress *at) {
    for (int64_t k = 0; k < t->nforward; k++) {
        const gsv_step step = t->forward[k];
        int32_t s = step.s;
        const int32_t blocks = gsv_block_count(gsv_columns(plan, s));
        const int32_t tiles = (int32_t)((gsv_updates(plan, s) + GSV_ROW_TILE - 1) / GSV_ROW_TILE);
        CHECK(t->signal[s] < t->top_blocks && !at[s].done);
        if (step.part != GSV_WHOLE_PATH) { /* a supernode's pieces in their order */
            CHECK(gsv_in_blocks(t, GSV_UP, s) && step.part == at[s].blocks + at[s].tiles);
            check_children_done(plan, t, at, s, -1);
            at[s].blocks += step.part < blocks;
            at[s].tiles += step.part >= blocks;
            at[s].done = at[s].blocks == blocks && at[s].tiles == tiles;
            continue;
        }
        const int32_t *path_child = t->path_child[GSV_UP];
        CHECK(path_child[s] == -1);
        for (int32_t below = -1; s >= 0; below = s, s = plan->parent[s]) {
            if (below >= 0 && path_child[s] != below)
                break;
            CHECK(!at[s].done && !gsv_in_blocks(t, GSV_UP, s));
            check_children_done(plan, t, at, s, below);
            at[s].blocks = gsv_block_count(gsv_columns(plan, s));
            at[s].done = 1;
        }
    }
}

static void walk_backward(const gsv_plan *plan, const gsv_subtrees *t, progress *at) {
    const int32_t *path_child = t->path_child[GSV_DOWN];
    for (int64_t k = 0; k < t->nbackward; k++) {
        const gsv_step step = t->backward[k];
        int32_t s = step.s;
        const int32_t parent = plan->parent[s];
        CHECK(t->signal[s] < t->top_blocks);
        CHECK(parent < 0 || at[parent].back == gsv_block_count(gsv_columns(plan, parent)));
        if (step.part != GSV_WHOLE_PATH) {
            CHECK(gsv_in_blocks(t, GSV_DOWN, s) &&
                  step.part == gsv_block_count(gsv_columns(plan, s)) - 1 - at[s].back);
            at[s].back++;
            continue;
        }
        CHECK(parent < 0 || path_child[parent] != s);
        for (; s >= 0; s = path_child[s]) {
            CHECK(at[s].back == 0 && !gsv_in_blocks(t, GSV_DOWN, s));
            CHECK(path_child[s] < 0 || plan->parent[path_child[s]] == s);
            at[s].back = gsv_block_count(gsv_columns(plan, s));
        }
    }
}

/* Go through the steps one by one: each comes after all that it waits for, and all of the top is done once. */
static void check_steps(const gsv_plan *plan, const gsv_subtrees *t) {
    progress *at = calloc((size_t)plan->l.nsuper + 1, sizeof *at);
    REQUIRE(at);
    walk_forward(plan, t, at);
    walk_backward(plan, t, at);
    for (int32_t s = 0; s < plan->l.nsuper; s++) {
        const int in_top = t->signal[s] < t->top_blocks;
        CHECK(at[s].done == in_top);
        CHECK(at[s].back == (in_top ? gsv_block_count(gsv_columns(plan, s)) : 0));
        for (int way = GSV_UP; way <= GSV_DOWN; way++)
            CHECK(in_top || t->path_child[way][s] == GSV_NO_PATH);
    }
    free(at);
}

static void process(const gsv_plan *plan, const gsv_subtrees *t, int32_t s, int32_t *owner) {
    const int64_t m = plan->update_ptr[s + 1] - plan->update_ptr[s];
    CHECK(t->offset[s] >= 0 && t->offset[s] + m <= t->update_rows);
    for (int64_t i = 0; i < m; i++)
        owner[t->offset[s] + i] = s;
    for (int32_t k = plan->child_ptr[s]; k < plan->child_ptr[s + 1]; k++) {
        const int32_t c = plan->child[k];
        int kept = 1;
        for (int64_t i = 0; i < plan->update_ptr[c + 1] - plan->update_ptr[c]; i++)
            kept &= owner[t->offset[c] + i] == c;
        CHECK(kept);
    }
}

/* Write the owner's number into its update vector and find the children's still there: with the tasks one
 * after the other, and with all of them side by side, a supernode of each in turn. */
static void check_update_vectors(const gsv_plan *plan, const gsv_subtrees *t) {
    int32_t *owner = malloc((size_t)(t->update_rows + 1) * sizeof *owner);
    REQUIRE(owner);
    for (int side_by_side = 0; side_by_side < 2; side_by_side++) {
        for (int64_t i = 0; i < t->update_rows; i++)
            owner[i] = -1;
        int32_t longest = 0;
        for (int32_t k = 0; k < t->ntasks; k++)
            if (t->task_ptr[k + 1] - t->task_ptr[k] > longest)
                longest = t->task_ptr[k + 1] - t->task_ptr[k];
        for (int32_t step = 0; side_by_side && step < longest; step++)
            for (int32_t k = 0; k < t->ntasks; k++)
                if (t->task_ptr[k] + step < t->task_ptr[k + 1])
                    process(plan, t, t->order[t->task_ptr[k] + step], owner);
        for (int32_t i = side_by_side ? t->task_ptr[t->ntasks] : 0; i < plan->l.nsuper; i++)
            process(plan, t, t->order[i], owner);
    }
    free(owner);
}

static void check_plan(random_shape shape, int32_t nsuper, int32_t widest, uint64_t *state) {
    testing_in("shape %d, %d supernodes, widest %d", (int)shape, (int)nsuper, (int)widest);
    gsv_plan plan = make_plan(shape, nsuper, widest, state);
    gsv_message message;
    int32_t *task = malloc(2 * (size_t)(nsuper + 1) * sizeof *task);
    REQUIRE(task && gsv_subtrees_create(&plan, &message) == GPUSOLVE_OK);
    check_order(&plan, plan.subtrees, task, task + nsuper);
    check_tasks_listed_once(plan.subtrees, task, nsuper);
    check_steps(&plan, plan.subtrees);
    check_update_vectors(&plan, plan.subtrees);
    if (plan.nnz_l > 1000000 && shape != DIAGONAL && shape != CHAIN)
        CHECK(plan.subtrees->ntop > 0);
    free(task);
    gsv_plan_free(&plan);
}

/* ------------------------------------------------------------------------------------- the threads --- */

static gsv_plan plan_of(const tree_shape *shape) {
    tree t = tree_of(shape);
    gpusolve_factor_data data = tree_factor(&t);
    gsv_structure l = {.n = (int32_t)data.n, .nsuper = t.count};
    const int32_t *pi = data.pi;
    l.first_column = gsv_malloc((size_t)t.count + 1, sizeof *l.first_column);
    l.row_ptr = gsv_malloc((size_t)t.count + 1, sizeof *l.row_ptr);
    l.rows = gsv_malloc((size_t)data.ssize, sizeof *l.rows);
    REQUIRE(l.first_column && l.row_ptr && l.rows);
    memcpy(l.first_column, data.super, ((size_t)t.count + 1) * sizeof *l.first_column);
    memcpy(l.rows, data.s, (size_t)data.ssize * sizeof *l.rows);
    for (int32_t s = 0; s <= t.count; s++)
        l.row_ptr[s] = pi[s];
    tree_factor_free(&data);
    tree_free(&t);
    gsv_plan plan;
    gsv_message message;
    REQUIRE(gsv_plan_create(&l, testing_pool(2), &plan, &message) == GPUSOLVE_OK);
    REQUIRE(gsv_subtrees_create(&plan, &message) == GPUSOLVE_OK);
    return plan;
}

/* The numbers of threads that a solve with 1, 8 and 32 columns may get out of 2, 4 and 16: from .. to. */
typedef struct expectation {
    const char *shape;
    int from[3][3], to[3][3];
} expectation;

#define ALWAYS(a, b, c)         \
    {                           \
        {a, b, c}, {a, b, c}, { \
            a, b, c             \
        }                       \
    }

static const expectation expectations[] = {
    /* One supernode above the other, and none that two threads could share. */
    {"chain-1x1", ALWAYS(1, 1, 1), ALWAYS(1, 1, 1)},
    {"chain-4x4", ALWAYS(1, 1, 1), ALWAYS(1, 1, 1)},
    {"band-10", ALWAYS(1, 1, 1), ALWAYS(1, 1, 1)},
    {"band-40", ALWAYS(1, 1, 1), ALWAYS(1, 1, 1)},
    {"band-150", ALWAYS(1, 1, 1), ALWAYS(1, 1, 1)},
    {"comb-back", ALWAYS(1, 1, 1), ALWAYS(1, 1, 1)},
    /* Rows for a few threads to share. */
    {"band-600", ALWAYS(1, 1, 2), ALWAYS(2, 4, 8)},
    {"wide-300", ALWAYS(2, 3, 4), ALWAYS(2, 4, 8)},
    {"wide-1000", ALWAYS(2, 4, 16), ALWAYS(2, 4, 16)},
    {"dense-2000", ALWAYS(2, 4, 16), ALWAYS(2, 4, 16)},
    /* As many as there are chains. */
    {"two-chains", ALWAYS(2, 2, 2), ALWAYS(2, 2, 2)},
    {"two-bands", ALWAYS(2, 2, 2), ALWAYS(2, 2, 2)},
    /* All there are. */
    {"forest-64", ALWAYS(2, 4, 16), ALWAYS(2, 4, 16)},
    {"forest-100000", ALWAYS(2, 4, 16), ALWAYS(2, 4, 16)},
    {"star-wide", ALWAYS(2, 4, 16), ALWAYS(2, 4, 16)},
    {"comb-teeth", ALWAYS(2, 4, 16), ALWAYS(2, 4, 16)},
    {"binary-thin", ALWAYS(2, 4, 16), ALWAYS(2, 4, 16)},
    {"binary-equal", ALWAYS(2, 4, 16), ALWAYS(2, 4, 16)},
    /* Too little work: all of it is in one cache. With 32 columns four threads may be worth their while. */
    {"dense-64", ALWAYS(1, 1, 1), ALWAYS(1, 1, 1)},
    {"dense-300", ALWAYS(1, 1, 1), {{1, 1, 1}, {1, 1, 1}, {2, 4, 4}}},
    {"binary-small", ALWAYS(1, 1, 1), {{1, 1, 1}, {1, 1, 1}, {2, 4, 5}}},
    {"star-small", ALWAYS(1, 1, 1), ALWAYS(1, 1, 1)},
};

static const int32_t columns[] = {1, 8, 32};
static const int available[] = {2, 4, 16};

static void check_expected(const gsv_subtrees *t, const expectation *e) {
    for (int c = 0; c < 3; c++)
        for (int a = 0; a < 3; a++) {
            const int threads = gsv_subtrees_threads(t, GSV_BOTH_SWEEPS, columns[c], available[a]);
            testing_in("%s, %d columns, %d of %d threads", e->shape, (int)columns[c], threads, available[a]);
            CHECK(threads >= e->from[c][a] && threads <= e->to[c][a]);
        }
}

/* What holds for every tree and every number of threads. */
static void check_times(const gsv_subtrees *t) {
    for (int32_t cols = 1; cols <= 32; cols = cols == 1 ? 8 : cols + 8)
        for (int sweeps = GSV_SWEEP_UP; sweeps <= GSV_BOTH_SWEEPS; sweeps++) {
            const double one = gsv_subtrees_us(t, (gsv_sweeps)sweeps, cols, 1);
            CHECK(one > 0 && one < 1e9);
            CHECK(gsv_subtrees_threads(t, (gsv_sweeps)sweeps, cols, 1) == 1);
            for (int p = 2; p <= 1024; p += p < 8 ? 1 : p / 2) {
                const int threads = gsv_subtrees_threads(t, (gsv_sweeps)sweeps, cols, p);
                const double us = gsv_subtrees_us(t, (gsv_sweeps)sweeps, cols, threads);
                CHECK(threads >= 1 && threads <= p);
                CHECK(threads == 1 || us <= 0.85 * 1.03 * one * 1.001);
                /* nothing is gained from nothing; but a way down may begin where the way up ends early */
                CHECK(sweeps == GSV_SWEEP_DOWN || us * threads >= 0.999 * one);
                CHECK(threads <= 1 + one / 25);
            }
        }
}

static void check_shape(const tree_shape *shape) {
    testing_in("%s", shape->name);
    gsv_plan plan = plan_of(shape);
    const gsv_subtrees *t = plan.subtrees;
    int32_t *task = malloc(2 * (size_t)(plan.l.nsuper + 1) * sizeof *task);
    REQUIRE(task);
    check_order(&plan, t, task, task + plan.l.nsuper);
    check_steps(&plan, t);
    check_update_vectors(&plan, t);
    check_times(t);
    for (size_t k = 0; k < sizeof expectations / sizeof *expectations; k++)
        if (!strcmp(expectations[k].shape, shape->name))
            check_expected(t, &expectations[k]);
    free(task);
    gsv_plan_free(&plan);
}

static void check_allocation_failures(uint64_t *state) {
    gsv_plan plan = make_plan(RANDOM, 500, 20, state);
    gsv_message message;
    const int64_t live = gsv_live_allocations();
    int failures = 0;
    for (int64_t k = 1;; k++) {
        testing_in("allocation %d fails", (int)k);
        gsv_fail_allocation(k);
        const gpusolve_status status = gsv_subtrees_create(&plan, &message);
        gsv_fail_allocation(0);
        if (status == GPUSOLVE_OK)
            break;
        failures++;
        CHECK(status == GPUSOLVE_OUT_OF_MEMORY && !plan.subtrees);
        CHECK(gsv_live_allocations() == live);
    }
    CHECK(failures >= 10);
    gsv_plan_free(&plan);
}

int main(void) {
    static const int32_t sizes[] = {1, 2, 3, 10, 100, 1000};
    uint64_t state = 7;
    check_plan(DIAGONAL, 0, 1, &state);
    for (int shape = DIAGONAL; shape <= FOREST; shape++)
        for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
            check_plan((random_shape)shape, sizes[k], 1, &state);
            check_plan((random_shape)shape, sizes[k], 30, &state);
            if (sizes[k] <= 100)
                check_plan((random_shape)shape, sizes[k], 300, &state);
        }
    check_plan(DIAGONAL, 300000, 1, &state);
    check_plan(RANDOM, 20000, 4, &state);
    check_plan(FOREST, 5000, 40, &state);
    for (size_t k = 0; k < sizeof tree_shapes / sizeof *tree_shapes; k++)
        check_shape(&tree_shapes[k]);
    check_allocation_failures(&state);
    return testing_done();
}
