/*
 * The device's tasks for many right-hand sides (schedule/tasks/tasks.h), for broad vectors and others, run here as the kernels run
 * them: in their order (schedule/tasks/order.h), where nobody has to wait, and always the last one that its counter lets begin,
 * the worst that can happen on a device. Numbers are integers modulo 2^64, so that both sweeps must agree with
 * the plan's own maps to the last bit: every term of every sum once, every partial sum added once, nothing read before
 * it is written, nor after a task has read and discarded it (cuda/tasks/discard.cuh).
 */
#include "tasks_reference.h"
#include "plan_example.h"

#include "cholmod_helpers.h"
#include "memory.h"
#include "supernodal/import/import.h"

/* Tasks with a list, and with one that is too long for shared memory. */
static int64_t listed_seen[2];

/* Row or column k of a tile, or nothing. */
static void finish(run *r, int32_t s, int32_t k, int backward, uint64_t sum) {
    if (k >= (backward ? gsv_columns(r->plan, s) : gsv_rows(r->plan, s)))
        return;
    if (backward)
        put_backward(r, s, k, sum);
    else
        put_forward(r, s, k, sum);
}

/* A task that is no product backward lists rows first .. end - 1 of its front, and what they are owed. */
static void check_owed(const run *r, const gsv_task *task, int32_t s, int32_t first, int32_t end) {
    const int64_t row = r->plan->schedule->row_place[s] + first;
    const uint32_t *ptr = r->plan->schedule->gather_ptr + row;
    if (first >= end) {
        CHECK(task->listed_rows == 0 && task->listed == 0);
        return;
    }
    const uint32_t count = ptr[end - first] - ptr[0];
    CHECK(task->listed_rows == end - first && task->listed_rows <= GSV_NARROW_ROWS);
    CHECK(task->row == row && task->list == ptr[0]);
    CHECK(task->listed == (count <= GSV_TASK_LISTED ? (int64_t)count : GSV_TASK_LISTED + 1));
    listed_seen[count > GSV_TASK_LISTED]++;
}

/* Returns whether the tile is complete. */
static int run_product(run *r, const gsv_task *task, int backward) {
    const int32_t s = supernode_of_task(r, task), nr = gsv_rows(r->plan, s), nc = gsv_columns(r->plan, s);
    CHECK(r->plan->schedule->branches.of[s] < 0 && !gsv_is_narrow(nr, nc));
    CHECK(task->rows > 0 && task->rows <= GSV_TASK_ROWS && task->rows % (2 * GSV_TILE) == 0);
    CHECK(task->first % task->rows == 0 && task->begin % GSV_TILE == 0 && task->begin < task->end);
    uint64_t sums[GSV_TASK_ROWS] = {0};
    const int owed = !backward && task->range == 0; /* it begins as what its rows below are owed */
    CHECK(task->begin >= 0 && task->end <= (backward ? nr : nc));
    if (!backward) {
        const int32_t last = task->first + task->rows < nr ? task->first + task->rows : nr;
        check_owed(r, task, s, nc > task->first ? nc : task->first, owed ? last : 0);
    }
    for (int32_t i = nc > task->first ? nc : task->first; owed && i < nr && i < task->first + task->rows;
         i++) {
        sums[i - task->first] = gathered(r, s, i);
        discard(r, s, i);
    }
    for (int32_t e = 0; e < task->rows; e++)
        for (int32_t k = task->begin; k < task->end; k++) {
            const int32_t i = backward ? k : task->first + e, j = backward ? task->first + e : k;
            if (i < nr && j < nc && j <= i)
                sums[e] += entry(s, i, j) * (backward ? solution(r, s, i) : front(r, s, j));
        }
    if (task->slots > 0) {
        CHECK(task->slots > 1 && task->slot + task->slots <= r->list->slots);
        CHECK(task->range < task->slots);
        CHECK(!r->partial_there[task->slot + task->range]++);
        /* the sums are discarded some time after they have been added */
        CHECK(!r->partial_written[task->slot + task->range]++);
        for (int32_t e = 0; e < GSV_TASK_ROWS; e++)
            r->partial[(int64_t)(task->slot + task->range) * GSV_TASK_ROWS + e] = sums[e];
        if (++r->counter[task->met] < task->slots)
            return 0;
        memset(sums, 0, sizeof sums);
        for (int32_t k = 0; k < task->slots; k++) {
            CHECK(r->partial_there[task->slot + k]);
            for (int32_t e = 0; e < GSV_TASK_ROWS; e++)
                sums[e] += r->partial[(int64_t)(task->slot + k) * GSV_TASK_ROWS + e];
            r->partial_there[task->slot + k] = 0;
        }
    }
    for (int32_t e = 0; e < task->rows; e++)
        finish(r, s, task->first + e, backward, sums[e]);
    return 1;
}

static void run_assembly(run *r, const gsv_task *task) {
    const int32_t s = supernode_of_task(r, task);
    CHECK(task->first < task->end && task->end - task->first <= GSV_TASK_ASSEMBLE &&
          task->end <= gsv_columns(r->plan, s));
    check_owed(r, task, s, task->first, task->end);
    for (int32_t i = task->first; i < task->end; i++) {
        r->y[r->plan->l.first_column[s] + i] += gathered(r, s, i);
        CHECK(!r->y_there[r->plan->l.first_column[s] + i]++);
        discard(r, s, i);
    }
}

static void run_task(run *r, const gsv_task *task, int backward) {
    const int32_t s = supernode_of_task(r, task);
    int done = 1;
    if (task->kind == GSV_TASK_PRODUCT) {
        done = run_product(r, task, backward);
    } else if (task->kind == GSV_TASK_ASSEMBLY) {
        CHECK(!backward);
        run_assembly(r, task);
    } else {
        CHECK(task->kind == GSV_TASK_NARROW && gsv_is_narrow(gsv_rows(r->plan, s), gsv_columns(r->plan, s)));
        CHECK(0 <= task->begin && task->begin < task->end && task->end <= GSV_TASK_PARTS);
        check_owed(r, task, s, 0, gsv_rows(r->plan, s));
        if (task->begin <= r->part && r->part < task->end) {
            (backward ? backward_alone : forward_alone)(r, s);
            for (int32_t i = 0; !backward && i < gsv_rows(r->plan, s); i++)
                discard(r, s, i);
        }
    }
    if (done && task->signal >= 0)
        r->counter[task->signal]++;
}

static int may_begin(const run *r, const gsv_task *task) {
    return task->count == 0 || r->counter[task->wait] >= task->count;
}

/* What a tile reads before its own counter says so, as soon as counter `owed` does: forward what its rows are
 * owed, backward the solution from the rows of its parent's parent on. */
static void begin_tiles(const run *r, const gsv_task *tasks, int64_t ntasks, int backward, char *began) {
    for (int64_t t = 0; t < ntasks; t++) {
        const gsv_task *task = &tasks[t];
        if (began[t] || task->owing == 0 || r->counter[task->owed] < task->owing)
            continue;
        const int32_t s = supernode_of_task(r, task);
        CHECK(task->kind == GSV_TASK_PRODUCT && (backward || task->range == 0));
        const int32_t above = !backward ? task->end : task->begin > task->far ? task->begin : task->far;
        for (int32_t k = above; k < task->end; k++)
            solution(r, s, k);
        for (int32_t i = task->first; !backward && i < task->first + task->rows && i < gsv_rows(r->plan, s);
             i++)
            if (i >= gsv_columns(r->plan, s))
                gathered(r, s, i);
        began[t] = 1;
    }
}

/* Backward, terms near .. far - 1 are all that a tile has to wait for longest: before them own columns, and
 * behind them nothing unless it waits for that, too. */
static void check_segments(const run *r, const gsv_task *task) {
    const int32_t s = supernode_of_task(r, task), nr = gsv_rows(r->plan, s);
    CHECK(task->near % GSV_TILE == 0 && task->near <= gsv_columns(r->plan, s) && task->near <= task->far);
    CHECK(task->far == nr || (task->far % GSV_TILE == 0 && task->far < nr && task->owing > 0));
}

/* The list's tasks in their order, or always the last one that may begin. */
enum { IN_ORDER, WORST, ORDERS };

static void run_sweep(run *r, int backward, int order) {
    const gsv_task_list *list = r->list =
        &r->plan->schedule->tasks.list[gsv_task_list_of(backward, r->broad)];
    const gsv_task *tasks = list->task;
    const int64_t ntasks = list->tasks;
    char *ran = zeros(ntasks, 1), *began = zeros(ntasks, 1);
    r->counter = zeros(list->counters, sizeof *r->counter);
    r->partial = zeros(list->slots * GSV_TASK_ROWS, 8);
    r->partial_there = zeros(list->slots, 1);
    r->partial_written = zeros(list->slots, 1);
    for (int64_t step = 0; step < ntasks; step++) {
        int64_t t = order == WORST ? ntasks - 1 : step;
        while (order == WORST && t > 0 && (ran[t] || !may_begin(r, &tasks[t])))
            t--;
        REQUIRE(!ran[t] && may_begin(r, &tasks[t]));
        begin_tiles(r, tasks, ntasks, backward, began);
        REQUIRE(began[t] || tasks[t].owing == 0);
        ran[t] = 1;
        run_task(r, &tasks[t], backward);
        if (backward && tasks[t].kind == GSV_TASK_PRODUCT)
            check_segments(r, &tasks[t]);
    }
    free(ran);
    free(began);
    free(r->counter);
    free(r->partial);
    free(r->partial_there);
    free(r->partial_written);
}

static run start(const gsv_plan *plan) {
    run r = {.plan = plan};
    list_supernodes(&r);
    r.y = zeros(plan->l.n, 8);
    r.x = zeros(plan->l.n, 8);
    r.z = zeros(plan->l.n, 8);
    r.u = zeros(plan->update_ptr[plan->l.nsuper], 8);
    r.u_there = zeros(plan->update_ptr[plan->l.nsuper], 1);
    r.y_there = zeros(plan->l.n, 1);
    r.u_written = zeros(plan->update_ptr[plan->l.nsuper], 1);
    r.z_there = zeros(plan->l.n, 1);
    for (int32_t i = 0; i < plan->l.n; i++)
        r.y[i] = entry(-1, i, 7);
    return r;
}

static void stop(run *r) {
    void *const all[] = {r->supernode[0], r->supernode[1], r->supernode[2], r->y,      r->x, r->z, r->u,
                         r->u_there,      r->y_there,      r->u_written,    r->z_there};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        free(all[k]);
}

/* Own rows of wide supernodes of the upper tree to which nobody owes anything are complete from the start. */
static void mark_leaves(run *r) {
    const gsv_plan *plan = r->plan;
    for (int32_t s = 0; s < plan->l.nsuper; s++)
        if (plan->schedule->branches.of[s] < 0 && plan->child_ptr[s] == plan->child_ptr[s + 1] &&
            !gsv_is_narrow(gsv_rows(plan, s), gsv_columns(plan, s)))
            memset(r->y_there + plan->l.first_column[s], 1, (size_t)gsv_columns(plan, s));
}

static void check_order(const gsv_plan *plan, const run *alone, int32_t part, int order, int broad) {
    run tasks = start(plan);
    tasks.part = part;
    tasks.broad = broad;
    mark_leaves(&tasks);
    for (int32_t s = 0; s < plan->l.nsuper; s++)
        if (plan->schedule->branches.of[s] >= 0)
            forward_alone(&tasks, s);
    run_sweep(&tasks, 0, order);
    run_sweep(&tasks, 1, order);
    for (int32_t s = plan->l.nsuper - 1; s >= 0; s--)
        if (plan->schedule->branches.of[s] >= 0)
            backward_alone(&tasks, s);
    for (int32_t i = 0; i < plan->l.n; i++)
        CHECK(tasks.y_there[i] && tasks.z_there[i] && tasks.x[i] == alone->x[i] && tasks.z[i] == alone->z[i]);
    stop(&tasks);
}

static void check_plan(const gsv_plan *plan) {
    run alone = start(plan);
    for (int32_t s = 0; s < plan->l.nsuper; s++)
        forward_alone(&alone, s);
    for (int32_t s = plan->l.nsuper - 1; s >= 0; s--)
        backward_alone(&alone, s);
    for (int32_t part = 0; part < GSV_TASK_PARTS; part++)
        for (int order = 0; order < ORDERS; order++)
            for (int broad = 0; broad < 2; broad++)
                check_order(plan, &alone, part, order, broad);
    stop(&alone);
    /* what the upper tree and the branches' roots write stands before what branches keep */
    CHECK(plan->schedule->tasks.updates >= plan->schedule->upper_updates);
    for (int32_t s = 0; s < plan->l.nsuper; s++) {
        const int32_t b = plan->schedule->branches.of[s], parent = plan->parent[s];
        const int shared = b < 0 || parent < 0 || plan->schedule->branches.of[parent] != b;
        if (gsv_updates(plan, s) > 0)
            CHECK((plan->schedule->update_place[s] + gsv_updates(plan, s) <= plan->schedule->tasks.updates) ==
                  shared);
    }
}

static int64_t fewer_seen; /* forward tasks, where vectors are broad */
static void check_structure(gsv_structure *structure, int64_t slots) {
    gsv_message message;
    gsv_plan plan;
    REQUIRE(gsv_plan_create(structure, testing_pool(2), &plan, &message) == GPUSOLVE_OK);
    REQUIRE(gsv_schedule_create(&plan, testing_pool(2), &message) == GPUSOLVE_OK);
    check_plan(&plan);
    const gsv_task_list *usual = plan.schedule->tasks.list, *broad = usual + gsv_task_list_of(0, 1);
    for (int k = 0; k < GSV_TASK_LISTS; k++)
        CHECK(usual[k].slots >= slots);
    fewer_seen += usual->tasks - broad->tasks;
    gsv_plan_free(&plan);
}

static void check_matrix(const char *spec, int64_t slots, cholmod_common *common) {
    testing_in("%s", spec);
    cholmod_sparse *a = testing_load(spec, common);
    REQUIRE(a != NULL);
    cholmod_factor *l = testing_factorize(a, GPUSOLVE_SUPERNODAL_LL, common);
    REQUIRE(l != NULL);
    const gpusolve_factor_data data = testing_factor_data(l);
    gsv_structure structure;
    gsv_message message;
    REQUIRE(gsv_import_structure(&data, testing_pool(2), &structure, &message) == GPUSOLVE_OK);
    check_structure(&structure, slots);
    cholmod_free_factor(&l, common);
    cholmod_free_sparse(&a, common);
}

/* One supernode of nr rows and nc columns: a forest of roots below it. */
static void check_panel(int32_t nr, int32_t nc) {
    testing_in("%d x %d", (int)nr, (int)nc);
    gsv_structure structure = {.n = nr, .nsuper = 1 + (nr > nc)};
    structure.first_column = gsv_malloc(3, sizeof(int32_t));
    structure.row_ptr = gsv_malloc(3, sizeof(int64_t));
    structure.rows = gsv_malloc(2 * (size_t)nr, sizeof(int32_t));
    REQUIRE(structure.first_column && structure.row_ptr && structure.rows);
    const int32_t columns[] = {0, nc, nr};
    const int64_t starts[] = {0, nr, 2 * (int64_t)nr - nc};
    memcpy(structure.first_column, columns, sizeof columns);
    memcpy(structure.row_ptr, starts, sizeof starts);
    for (int32_t i = 0; i < nr; i++)
        structure.rows[i] = i;
    for (int32_t i = nc; i < nr; i++)
        structure.rows[nr + i - nc] = i;
    check_structure(&structure, 0);
}

/* A root of nc columns, to all of which each of its children, of one column, owes something. */
static void check_star(int32_t children, int32_t nc) {
    testing_in("%d below %d", (int)children, (int)nc);
    gsv_structure structure = {.n = children + nc, .nsuper = children + 1};
    structure.first_column = gsv_malloc((size_t)children + 2, sizeof(int32_t));
    structure.row_ptr = gsv_malloc((size_t)children + 2, sizeof(int64_t));
    structure.rows = gsv_malloc((size_t)(children + 1) * (size_t)(nc + 1), sizeof(int32_t));
    REQUIRE(structure.first_column && structure.row_ptr && structure.rows);
    int64_t place = 0;
    for (int32_t s = 0; s <= children; s++) {
        structure.first_column[s] = s;
        structure.row_ptr[s] = place;
        if (s < children)
            structure.rows[place++] = s;
        for (int32_t i = 0; i < nc; i++)
            structure.rows[place++] = children + i;
    }
    structure.first_column[children + 1] = children + nc;
    structure.row_ptr[children + 1] = place;
    check_structure(&structure, 0);
}

static void check_random(const char *spec, cholmod_common *common) {
    plan_example e;
    testing_in("%s", spec);
    open_named(&e, spec, common);
    check_plan(&e.plan);
    close_example(&e, common);
}

int main(void) {
    static const int32_t sizes[] = {1, 15, 16, 17, 127, 128, 129, 255, 256, 257, 400, 700};
    cholmod_common common;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (size_t j = 0; j <= i; j++)
            check_panel(sizes[i], sizes[j]);
    check_star(40, 200); /* lists that are too long for shared memory */
    cholmod_start(&common);
    check_matrix("grid2d:30", 0, &common);
    check_matrix("grid2d:100", 0, &common);
    check_matrix("elasticity3d:8", 1, &common); /* some tiles are cut */
    check_matrix("elasticity3d:12", 1, &common);
    check_matrix("grid3d:16", 1, &common);
    CHECK(fewer_seen > 0 && listed_seen[0] > 0 && listed_seen[1] > 0);
    with_random(30, check_random, &common);
    cholmod_finish(&common);
    return testing_done();
}
