/*
 * Making the device's schedule (schedule/schedule.h): it has the same bits with any number of threads, whatever each of them makes; and
 * an allocation that fails, or a thread that cannot be had, leaves nothing behind. What the schedule says is tested part by part:
 * test_branches.c, test_limbs.c, test_stream.c, test_tasks.c.
 */
#include <stddef.h>

#include "plan_example.h"

/* ----------------------------------------------------------------------------------------- the arrays --- */

/* count entries of `stride` bytes, of which the first `bytes` are compared: behind them is padding. */
typedef struct array {
    const char *name;
    const void *data;
    int64_t count;
    size_t stride, bytes;
} array;

enum { ARRAYS = 64 };

typedef struct arrays {
    array array[ARRAYS];
    int count;
} arrays;

static void add(arrays *a, const char *name, const void *data, int64_t count, size_t stride, size_t bytes) {
    REQUIRE(a->count < ARRAYS && count >= 0);
    a->array[a->count++] = (array){name, data, count, stride, bytes};
}

#define ADD(name, data, count) add(a, name, data, count, sizeof *(data), sizeof *(data))

static void add_pieces(arrays *a, const gsv_piece_list *list) {
    const size_t bytes = offsetof(gsv_piece, b_gather_at) + sizeof list->piece->b_gather_at;
    const int64_t pieces = list->task ? list->task[list->tasks] : 0;
    ADD("tasks of a stream", &list->tasks, 1);
    ADD("tasks", list->task, list->task ? list->tasks + 1 : 0);
    add(a, "pieces", list->piece, pieces, sizeof *list->piece, bytes);
}

static void add_stream(arrays *a, const gsv_stream *stream) {
    add_pieces(a, &stream->forward);
    add_pieces(a, &stream->backward);
    add_pieces(a, &stream->block_forward);
    add_pieces(a, &stream->block_backward);
    ADD("block_columns", &stream->block_columns, 1);
    ADD("side", &stream->side, 1);
    ADD("large", &stream->large, 1);
    ADD("stream rows", stream->rows, stream->nrows);
    ADD("columns", &stream->columns, 1);
    ADD("published", &stream->published, 1);
    ADD("supernodes", &stream->supernodes, 1);
    ADD("numbers", &stream->numbers, 1);
}

static void add_branches(arrays *a, const gsv_branches *branches, int32_t nsuper) {
    ADD("branches", branches->branch, branches->count);
    ADD("lists", branches->lists, branches->nlists);
    ADD("walks", branches->walks, branches->nwalks);
    ADD("outside_row", branches->outside_row, branches->noutside);
    ADD("of", branches->of, nsuper);
    ADD("upper_column", branches->upper_column, branches->upper_columns);
    ADD("most_one", &branches->most_one, 1);
    ADD("most_whole", &branches->most_whole, 1);
}

static arrays arrays_of(const gsv_plan *plan) {
    const int32_t nsuper = plan->l.nsuper;
    const int64_t rows = plan->l.row_ptr[nsuper];
    const gsv_schedule *schedule = plan->schedule;
    const gsv_limbs *limbs = &schedule->limbs;
    arrays all = {.count = 0}, *a = &all;
    ADD("bytes", &plan->bytes, 1);
    ADD("panel_ptr", schedule->panel_ptr, nsuper + 1);
    ADD("row_place", schedule->row_place, nsuper);
    ADD("update_place", schedule->update_place, nsuper);
    ADD("gather_ptr", schedule->gather_ptr, rows + 1);
    ADD("gather", schedule->gather, schedule->gather_ptr[rows]);
    ADD("upper_rows", &schedule->upper_rows, 1);
    ADD("handed_updates", &schedule->handed_updates, 1);
    ADD("upper_updates", &schedule->upper_updates, 1);
    ADD("shared_updates", &schedule->shared_updates, 1);
    ADD("tiny", schedule->tiny.supernode, schedule->tiny.count);
    ADD("small", schedule->small.supernode, schedule->small.count);
    ADD("limb roots", limbs->root, limbs->count);
    ADD("limbs", limbs->limb, limbs->count);
    ADD("chunks", limbs->chunk, limbs->nchunks);
    ADD("limbs' lists", limbs->lists, limbs->nlists);
    ADD("in", limbs->in, nsuper);
    add_branches(a, &schedule->branches, nsuper);
    add_stream(a, &schedule->stream);
    for (int k = 0; k < GSV_TASK_LISTS; k++) {
        const gsv_task_list *list = &schedule->tasks.list[k];
        ADD("tasks for many", list->task, list->tasks);
        ADD("slots", &list->slots, 1);
        ADD("counters", &list->counters, 1);
    }
    ADD("updates", &schedule->tasks.updates, 1);
    ADD("is_short", &schedule->tasks.is_short, 1);
    ADD("streams_back", &schedule->tasks.streams_back, 1);
    return all;
}

static int same(const array *x, const array *y) {
    int equal = x->count == y->count;
    for (int64_t k = 0; k < x->count && equal; k++)
        equal = !memcmp((const char *)x->data + (size_t)k * x->stride,
                        (const char *)y->data + (size_t)k * y->stride, x->bytes);
    return equal;
}

/* ------------------------------------------------------------------------------------------- the checks --- */

/* The tree of the example's factor, without a schedule. */
static gsv_plan tree_of(const plan_example *e) {
    gsv_structure structure;
    gsv_message message;
    gsv_plan plan;
    REQUIRE(gsv_import_structure(&e->data, NULL, &structure, &message) == GPUSOLVE_OK);
    REQUIRE(gsv_plan_create(&structure, NULL, &plan, &message) == GPUSOLVE_OK);
    plan.machine = &tuning;
    return plan;
}

static void check_threads(const plan_example *e) {
    static const int threads[] = {1, 3, 8};
    const arrays one = arrays_of(&e->plan);
    for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
        gsv_message message;
        gsv_plan plan = tree_of(e);
        REQUIRE(gsv_schedule_create(&plan, testing_pool(threads[t]), &message) == GPUSOLVE_OK);
        const arrays other = arrays_of(&plan);
        CHECK(one.count == other.count);
        for (int k = 0; k < one.count && k < other.count; k++) {
            const int equal = same(&one.array[k], &other.array[k]);
            if (!equal)
                printf("%s differ, with %d threads\n", one.array[k].name, threads[t]);
            CHECK(equal);
        }
        gsv_plan_free(&plan);
    }
}

/* The tree stays; a schedule that could not be made can be made later. */
static void check_allocations(const plan_example *e, int threads) {
    gsv_message message;
    gsv_plan plan = tree_of(e);
    const int64_t live = gsv_live_allocations(), bytes = plan.bytes;
    int failures = 0;
    gpusolve_status status = GPUSOLVE_OUT_OF_MEMORY;
    for (int64_t k = 1; status == GPUSOLVE_OUT_OF_MEMORY; k++) {
        testing_in("allocation %d fails, %d threads", (int)k, threads);
        message.text[0] = 0;
        gsv_fail_allocation(k);
        status = gsv_schedule_create(&plan, testing_pool(threads), &message);
        const int64_t left = gsv_fail_allocation(0);
        CHECK((status == GPUSOLVE_OK) == (left > 0)); /* none fails in secret */
        if (status == GPUSOLVE_OK)
            break;
        failures++;
        CHECK(status == GPUSOLVE_OUT_OF_MEMORY && !plan.schedule && plan.bytes == bytes);
        CHECK(strstr(message.text, "memory"));
        CHECK(gsv_live_allocations() == live);
    }
    CHECK(status == GPUSOLVE_OK && failures >= 60);
    const arrays one = arrays_of(&e->plan), other = arrays_of(&plan);
    for (int k = 0; k < one.count && k < other.count; k++)
        CHECK(same(&one.array[k], &other.array[k]));
    gsv_plan_free(&plan);
}

/* A pool that can start no thread, or one, does the same. */
static void check_missing_threads(const plan_example *e) {
    for (int k = 1; k <= 2; k++) {
        testing_in("thread %d cannot be had", k);
        gsv_pool *pool = NULL;
        gsv_message message;
        gsv_plan plan = tree_of(e);
        REQUIRE(gsv_pool_create(4, &pool) == 0);
        gsv_pool_be_eager(pool);
        gsv_fail_thread(k);
        CHECK(gsv_schedule_create(&plan, pool, &message) == GPUSOLVE_OK);
        gsv_fail_thread(0);
        const arrays one = arrays_of(&e->plan), other = arrays_of(&plan);
        for (int a = 0; a < one.count && a < other.count; a++)
            CHECK(same(&one.array[a], &other.array[a]));
        gsv_plan_free(&plan);
        gsv_pool_destroy(pool);
    }
}

static void check(const char *spec, cholmod_common *common) {
    testing_in("%s", spec);
    plan_example e;
    open_named(&e, spec, common);
    check_threads(&e);
    close_example(&e, common);
}

int main(void) {
    static const char *const specs[] = {"diag:1",   "diag:300",       "tridiag:3000",  "forest:2000",
                                        "grid2d:9", "grid2d:90",      "grid3d:14",     "grid3d:24",
                                        "shell:30", "elasticity3d:8", "arrow:300,20,7"};
    static const int threads[] = {1, 4};
    cholmod_common common;
    cholmod_start(&common);
    for (size_t k = 0; k < sizeof specs / sizeof *specs; k++)
        check(specs[k], &common);
    with_random(30, check, &common);
    plan_example e;
    open_named(&e, "grid3d:14", &common);
    for (size_t t = 0; t < sizeof threads / sizeof *threads; t++)
        check_allocations(&e, threads[t]);
    check_missing_threads(&e);
    close_example(&e, &common);
    cholmod_finish(&common);
    return testing_done();
}
