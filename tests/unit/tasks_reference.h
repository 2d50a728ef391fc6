/* What the sweeps for many right-hand sides compute, supernode after supernode by the plan's own maps, in integers; and
 * what of it is there: for test_tasks.c. */
#ifndef GSV_TASKS_REFERENCE_H
#define GSV_TASKS_REFERENCE_H

#include "supernodal/schedule/tasks/tasks.h"
#include "supernodal/schedule/schedule.h"
#include "testing.h"

/* Entry (i, j) of the panel of supernode s: something arbitrary. */
static uint64_t entry(int32_t s, int32_t i, int32_t j) {
    uint64_t x =
        (uint64_t)s * 0x9e3779b97f4a7c15u + ((uint64_t)i * 65536 + (uint64_t)j) * 0xc2b2ae3d27d4eb4fu;
    x ^= x >> 29;
    x *= 0xbf58476d1ce4e5b9u;
    return x ^ x >> 32;
}

/* One right-hand side, of one of the parts of a tile's, the vectors of the sweeps, which of their rows are
 * complete, and the counters. */
typedef struct run {
    const gsv_plan *plan;
    int32_t part, broad;       /* broad: by the lists for broad vectors */
    const gsv_task_list *list; /* of a sweep */
    int32_t *supernode[3];     /* of each kind, by place */
    uint64_t *y, *x, *u, *z, *partial;
    char *u_there, *y_there, *z_there, *partial_there;
    char *u_written, *partial_written; /* at any time */
    int32_t *counter;
} run;

static int32_t supernode_of_task(const run *r, const gsv_task *task) {
    return r->supernode[task->node >> GSV_TASK_KIND][task->node & ((1 << GSV_TASK_KIND) - 1)];
}

static void *zeros(int64_t count, size_t size) {
    void *memory = calloc((size_t)count + 1, size);
    REQUIRE(memory);
    return memory;
}

static void list_supernodes(run *r) {
    const gsv_plan *plan = r->plan;
    const gsv_supernode_list *lists[] = {&plan->schedule->tiny, &plan->schedule->small};
    for (int kind = 0; kind < 3; kind++)
        r->supernode[kind] = zeros(plan->l.nsuper, sizeof(int32_t));
    for (int kind = 0; kind < 2; kind++) /* those in no branch */
        memcpy(r->supernode[kind], lists[kind]->supernode, (size_t)lists[kind]->count * sizeof(int32_t));
    int32_t wide = 0;
    for (int32_t s = 0; s < plan->l.nsuper; s++)
        if (!gsv_is_narrow(gsv_rows(plan, s), gsv_columns(plan, s)))
            r->supernode[GSV_TASK_WIDE][wide++] = s;
}

/* What the children owe front row i of supernode s, by the device's lists. */
static uint64_t gathered(const run *r, int32_t s, int32_t i) {
    const gsv_schedule *schedule = r->plan->schedule;
    const int64_t row = schedule->row_place[s] + i;
    uint64_t sum = 0;
    for (uint32_t g = schedule->gather_ptr[row]; g < schedule->gather_ptr[row + 1]; g++) {
        CHECK(schedule->gather[g] < r->plan->schedule->tasks.updates || schedule->branches.of[s] >= 0);
        CHECK(r->u_there[schedule->gather[g]]);
        sum += r->u[schedule->gather[g]];
    }
    return sum;
}

/* A task has read what the children owe row i, and discards it: nobody may read it again. */
static void discard(run *r, int32_t s, int32_t i) {
    const gsv_schedule *schedule = r->plan->schedule;
    const int64_t row = schedule->row_place[s] + i;
    for (uint32_t g = schedule->gather_ptr[row]; g < schedule->gather_ptr[row + 1]; g++) {
        CHECK(r->u_there[schedule->gather[g]]);
        r->u_there[schedule->gather[g]] = 0;
        r->u[schedule->gather[g]] = entry(-2, i, 0);
    }
}

/* Row j of the front. */
static uint64_t front(const run *r, int32_t s, int32_t j) {
    const int32_t row = r->plan->l.first_column[s] + j;
    CHECK(r->y_there[row]);
    return r->y[row];
}

/* The product with row i, and, of a row below, what that is owed. */
static void put_forward(run *r, int32_t s, int32_t i, uint64_t sum) {
    const int32_t nc = gsv_columns(r->plan, s);
    if (i < nc) {
        r->x[r->plan->l.first_column[s] + i] = sum;
        return;
    }
    const int64_t at = r->plan->schedule->update_place[s] + i - nc;
    CHECK(!r->u_there[at] && !r->u_written[at]);
    r->u[at] = sum;
    r->u_there[at] = r->u_written[at] = 1;
}

/* A supernode by itself. */
static void forward_alone(run *r, int32_t s) {
    const int32_t nr = gsv_rows(r->plan, s), nc = gsv_columns(r->plan, s);
    for (int32_t j = 0; j < nc; j++) {
        r->y[r->plan->l.first_column[s] + j] += gathered(r, s, j);
        CHECK(!r->y_there[r->plan->l.first_column[s] + j]++);
    }
    for (int32_t i = 0; i < nr; i++) {
        uint64_t sum = i >= nc ? gathered(r, s, i) : 0;
        for (int32_t j = 0; j < nc && j <= i; j++)
            sum += entry(s, i, j) * front(r, s, j);
        put_forward(r, s, i, sum);
    }
}

/* What columns are multiplied with backward: own ones, and the solution. */
static uint64_t solution(const run *r, int32_t s, int32_t i) {
    const int32_t row = r->plan->l.rows[r->plan->l.row_ptr[s] + i], own = i < gsv_columns(r->plan, s);
    CHECK(own || r->z_there[row]);
    return own ? r->x[row] : r->z[row];
}

static void put_backward(run *r, int32_t s, int32_t j, uint64_t sum) {
    const int32_t row = r->plan->l.first_column[s] + j;
    CHECK(!r->z_there[row]++);
    r->z[row] = sum;
}

static void backward_alone(run *r, int32_t s) {
    for (int32_t j = 0; j < gsv_columns(r->plan, s); j++) {
        uint64_t sum = 0;
        for (int32_t i = j; i < gsv_rows(r->plan, s); i++)
            sum += entry(s, i, j) * solution(r, s, i);
        put_backward(r, s, j, sum);
    }
}

#endif
