/*
 * The host executor's part of the plan as an object: every supernode is in exactly one task or in the top,
 * every piece of the top is listed once, work comes after all that it waits for, and no update vector is
 * overwritten before its parent has read it. On trees of many shapes, postordered or not.
 */
#include "testing.h"

#include "dense_kernels/panel_host.h"
#include "memory.h"
#include "pools.h"
#include "supernodal/subtrees.h"

typedef enum tree_shape { DIAGONAL, CHAIN, STAR, BINARY, RANDOM, FOREST } tree_shape;

static int32_t parent_of(tree_shape shape, int32_t s, int32_t nsuper, uint64_t *state) {
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
static gsv_plan make_plan(tree_shape shape, int32_t nsuper, int32_t widest, uint64_t *state) {
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

/* Forward: supernodes in the order of the top, blocks and then tiles, each once. Backward: the blocks in
 * reverse. */
static void check_steps(const gsv_plan *plan, const gsv_subtrees *t) {
    int64_t at = 0, back = t->nbackward;
    for (int32_t i = t->task_ptr[t->ntasks]; i < plan->l.nsuper; i++) {
        const int32_t s = t->order[i], blocks = gsv_block_count(gsv_columns(plan, s));
        const int32_t m = gsv_rows(plan, s) - gsv_columns(plan, s);
        for (int32_t part = 0; part < blocks + (m + GSV_ROW_TILE - 1) / GSV_ROW_TILE; part++, at++)
            CHECK(at < t->nforward && t->forward[at].s == s && t->forward[at].part == part);
        for (int32_t part = 0; part < blocks; part++) {
            back--;
            CHECK(back >= 0 && t->backward[back].s == s && t->backward[back].part == part);
        }
    }
    CHECK(at == t->nforward && back == 0);
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

static void check_plan(tree_shape shape, int32_t nsuper, int32_t widest, uint64_t *state) {
    testing_in("shape %d, %d supernodes, widest %d", (int)shape, (int)nsuper, (int)widest);
    gsv_plan plan = make_plan(shape, nsuper, widest, state);
    gsv_message message;
    int32_t *task = malloc(2 * (size_t)(nsuper + 1) * sizeof *task);
    REQUIRE(task && gsv_subtrees_create(&plan, &plan.subtrees, &message) == GPUSOLVE_OK);
    check_order(&plan, plan.subtrees, task, task + nsuper);
    check_tasks_listed_once(plan.subtrees, task, nsuper);
    check_steps(&plan, plan.subtrees);
    check_update_vectors(&plan, plan.subtrees);
    if (plan.nnz_l > 1000000 && shape != DIAGONAL)
        CHECK(plan.subtrees->ntop > 0);
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
        gsv_subtrees *subtrees;
        const gpusolve_status status = gsv_subtrees_create(&plan, &subtrees, &message);
        gsv_fail_allocation(0);
        if (status == GPUSOLVE_OK) {
            gsv_subtrees_free(subtrees);
            break;
        }
        failures++;
        CHECK(status == GPUSOLVE_OUT_OF_MEMORY && !subtrees);
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
            check_plan((tree_shape)shape, sizes[k], 1, &state);
            check_plan((tree_shape)shape, sizes[k], 30, &state);
            if (sizes[k] <= 100)
                check_plan((tree_shape)shape, sizes[k], 300, &state);
        }
    check_plan(DIAGONAL, 300000, 1, &state);
    check_plan(RANDOM, 20000, 4, &state);
    check_plan(FOREST, 5000, 40, &state);
    check_allocation_failures(&state);
    return testing_done();
}
