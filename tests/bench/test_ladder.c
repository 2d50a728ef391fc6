/*
 * The lists of bench/ladder, without a device: the plain reference against A, and solves that do on the host what the kernels
 * do with the lists. What nobody has written yet is NaN, and whatever may happen in any order happens in the worst one: units of a
 * level from the last to the first, and always the last task of those that wait for nothing more.
 */
#include <stdlib.h>
#include <string.h>

#include "bench/ladder/ladder.h"
#include "bench/solve/problem.h"
#include "testing.h"

enum { COLUMNS = 2 };

static bench_problem problem;
static ladder_tree tree;
static double *b, *reference, *answer;      /* n x COLUMNS */
static double *y, *x, *z, *f, *u, *outside; /* of one column; f: assembled by tasks */
static double worst;                        /* error of the reference */

static double *numbers(int64_t count) {
    double *memory = malloc(((size_t)count + 1) * sizeof *memory);

    REQUIRE(memory != NULL);
    for (int64_t k = 0; k <= count; k++)
        memory[k] = NAN;
    return memory;
}

static void begin_column(int column) {
    const int32_t updates = tree.node[tree.nsuper].update;

    for (int32_t i = 0; i < tree.n; i++) {
        y[i] = b[(int64_t)column * tree.n + tree.perm[i]];
        x[i] = z[i] = f[i] = NAN;
    }
    for (int32_t e = 0; e < updates; e++)
        u[e] = NAN;
}

static void end_column(int column) {
    for (int32_t i = 0; i < tree.n; i++)
        answer[(int64_t)column * tree.n + tree.perm[i]] = z[i];
}

static void check_answer(const char *what) {
    const gpusolve_matrix_data a = bench_problem_matrix(&problem);

    testing_in("%s, %s", problem.name, what);
    CHECK_BELOW(ladder_difference(&a, problem.norm_a, COLUMNS, answer, reference), 30 * DBL_EPSILON);
}

/* Row i of a front. */
static double assemble(const ladder_node *s, int32_t i) {
    double sum = i < s->nc ? y[s->column + i] : 0;

    for (int32_t g = tree.gather_ptr[s->row + i]; g < tree.gather_ptr[s->row + i + 1]; g++)
        sum += u[tree.gather[g]];
    return sum;
}

static double panel(const ladder_node *s, int32_t i, int32_t k) {
    return tree.inverse[s->panel + i + (int64_t)k * ladder_ld(s->nr)];
}

/* Rows of [x1; u]; f1 is assembled, or what tasks have assembled before. */
static void forward_rows(const ladder_node *s, int32_t first, int32_t last, int assembled) {
    for (int32_t i = first; i < last; i++) {
        double sum = i < s->nc ? 0 : assemble(s, i);

        for (int32_t k = 0; k < s->nc && k <= i; k++)
            sum += panel(s, i, k) * (assembled ? f[s->column + k] : assemble(s, k));
        *(i < s->nc ? &x[s->column + i] : &u[s->update + i - s->nc]) = sum;
    }
}

static void backward_columns(const ladder_node *s, int32_t first, int32_t last) {
    for (int32_t j = first; j < last; j++) {
        double sum = 0;

        for (int32_t i = j; i < s->nr; i++)
            sum += panel(s, i, j) * (i < s->nc ? x[s->column + i] : z[tree.rows[s->row + i]]);
        z[s->column + j] = sum;
    }
}

static int32_t least(int32_t a, int32_t c) {
    return a < c ? a : c;
}

static void run_units(const ladder_units *units, int32_t size, int backward) {
    for (int32_t l = 0; l < units->nlevels; l++)
        for (int32_t k = units->level[l + 1] - 1; k >= units->level[l]; k--) {
            const ladder_unit *unit = &units->unit[k];
            const int64_t end = (int64_t)unit->first + size;

            if (backward)
                backward_columns(&unit->node, unit->first,
                                 end < unit->node.nc ? (int32_t)end : unit->node.nc);
            else
                forward_rows(&unit->node, unit->first, end < unit->node.nr ? (int32_t)end : unit->node.nr, 0);
        }
}

static void walk_forward(const ladder_branches *branches, const ladder_branch *branch) {
    const int32_t *level = branches->level + branch->level;

    for (int32_t l = 0; l < branch->nlevels; l++)
        for (int32_t k = level[l + 1] - 1; k >= level[l]; k--)
            forward_rows(&branches->node[branch->node + k], 0, branches->node[branch->node + k].nr, 0);
}

/* By places: the branch's columns, behind them its outside rows. */
static void walk_backward(const ladder_branches *branches, const ladder_branch *branch) {
    const int32_t *level = branches->level + branch->level;

    memcpy(outside, x + branch->column, (size_t)branch->columns * sizeof *outside);
    for (int32_t e = 0; e < branch->noutside; e++)
        outside[branch->columns + e] = z[tree.rows[branch->outside + e]];
    for (int32_t l = branch->nlevels - 1; l >= 0; l--)
        for (int32_t k = level[l + 1] - 1; k >= level[l]; k--) {
            const ladder_node *s = &branches->node[branch->node + k];

            for (int32_t j = 0; j < s->nc; j++) {
                double sum = 0;

                for (int32_t i = j; i < s->nr; i++)
                    sum += panel(s, i, j) * outside[branches->place[s->row + i]];
                outside[s->column - branch->column + j] = sum;
            }
        }
    memcpy(z + branch->column, outside, (size_t)branch->columns * sizeof *outside);
}

static void check_units(int32_t size) {
    ladder_units up, down;

    REQUIRE(!ladder_units_make(&tree, NULL, size, 0, &up) && !ladder_units_make(&tree, NULL, size, 1, &down));
    for (int column = 0; column < COLUMNS; column++) {
        begin_column(column);
        run_units(&up, size, 0);
        run_units(&down, size, 1);
        end_column(column);
    }
    check_answer(size == LADDER_UNIT ? "units" : "whole supernodes");
    ladder_units_free(&up);
    ladder_units_free(&down);
}

static void check_branches(int wants_branches) {
    ladder_units up, down;
    ladder_branches branches;

    REQUIRE(!ladder_branches_make(&tree, &branches));
    REQUIRE(!ladder_units_make(&tree, branches.of, LADDER_UNIT, 0, &up));
    REQUIRE(!ladder_units_make(&tree, branches.of, LADDER_UNIT, 1, &down));
    testing_in("%s", problem.name);
    CHECK((branches.count > 1 && up.count > 0) == wants_branches);
    for (int column = 0; column < COLUMNS; column++) {
        begin_column(column);
        for (int32_t k = 0; k < branches.count; k++)
            walk_forward(&branches, &branches.branch[k]);
        run_units(&up, LADDER_UNIT, 0);
        run_units(&down, LADDER_UNIT, 1);
        for (int32_t k = 0; k < branches.count; k++)
            walk_backward(&branches, &branches.branch[k]);
        end_column(column);
    }
    check_answer("branches");
    for (int32_t k = 0; k < branches.count; k++) { /* what a block copies has room */
        const ladder_branch *c = &branches.branch[k];

        CHECK(8 * ((int64_t)c->numbers + c->columns + c->updates) + (int64_t)sizeof(ladder_node) * c->nodes +
                  4 * ((int64_t)c->rows + 1 + c->gathers + c->nlevels + 1) <=
              LADDER_BRANCH_BYTES);
        CHECK(c->noutside <= c->updates && c->panel % 2 == 0);
    }
    ladder_units_free(&up);
    ladder_units_free(&down);
    ladder_branches_free(&branches);
}

static void run_task(const ladder_task *task, int backward) {
    const ladder_node *s = &task->node;

    if (task->kind & LADDER_ASSEMBLE)
        for (int32_t i = task->first; i < least(task->last, s->nc); i++)
            f[s->column + i] = assemble(s, i);
    if (task->kind & LADDER_MULTIPLY) {
        if (backward)
            backward_columns(s, task->first, task->last);
        else
            forward_rows(s, task->first, task->last, 1);
    }
}

/* The last task that may begin, again and again; and do the waits end if tasks begin in the list's order? */
static void run_tasks(const ladder_tasks *tasks, int backward) {
    int32_t *counter = calloc((size_t)tree.nsuper * LADDER_COUNTERS + 1, sizeof *counter);
    char *done = calloc((size_t)tasks->count + 1, 1);
    int32_t ran = 0, found = 1, early = 0;

    REQUIRE(counter != NULL && done != NULL);
    for (int32_t k = 0; k < tasks->count; k++) {
        early += counter[tasks->task[k].wait] < tasks->task[k].count;
        if (tasks->task[k].signal >= 0)
            counter[tasks->task[k].signal]++;
    }
    testing_in("%s, %s tasks", problem.name, backward ? "backward" : "forward");
    CHECK(early == 0);
    memset(counter, 0, (size_t)tree.nsuper * LADDER_COUNTERS * sizeof *counter);
    while (found) {
        found = 0;
        for (int32_t k = tasks->count - 1; k >= 0 && !found; k--) {
            const ladder_task *task = &tasks->task[k];

            if (done[k] || counter[task->wait] < task->count)
                continue;
            run_task(task, backward);
            if (task->signal >= 0)
                counter[task->signal]++;
            found = done[k] = 1;
            ran++;
        }
    }
    CHECK(ran == tasks->count);
    free(counter);
    free(done);
}

static void check_tasks(void) {
    ladder_tasks up, down;

    REQUIRE(!ladder_tasks_make(&tree, 0, &up) && !ladder_tasks_make(&tree, 1, &down));
    for (int column = 0; column < COLUMNS; column++) {
        begin_column(column);
        run_tasks(&up, 0);
        run_tasks(&down, 1);
        end_column(column);
    }
    check_answer("tasks");
    ladder_tasks_free(&up);
    ladder_tasks_free(&down);
}

/* A wrong number, or a NaN, is no answer. */
static void check_difference(void) {
    const gpusolve_matrix_data a = bench_problem_matrix(&problem);
    const int64_t last = COLUMNS * (int64_t)tree.n - 1;

    testing_in("%s, the difference", problem.name);
    memcpy(answer, reference, (size_t)(last + 1) * sizeof *answer);
    CHECK(ladder_difference(&a, problem.norm_a, COLUMNS, answer, reference) == 0);
    answer[last] += 1e-9;
    CHECK(ladder_difference(&a, problem.norm_a, COLUMNS, answer, reference) > 30 * DBL_EPSILON);
    answer[last] = NAN;
    CHECK(isnan(ladder_difference(&a, problem.norm_a, COLUMNS, answer, reference)));
}

static void check_matrix(const char *spec, int wants_branches) {
    gpusolve_factor_data factor;

    REQUIRE(bench_problem_create(spec, GPUSOLVE_DOUBLE, &(bench_relax){0}, &problem) == 0);
    factor = bench_problem_factor(&problem);
    REQUIRE(ladder_tree_make(&factor, &tree) == 0);
    b = numbers(COLUMNS * (int64_t)tree.n);
    reference = numbers(COLUMNS * (int64_t)tree.n);
    answer = numbers(COLUMNS * (int64_t)tree.n);
    y = numbers(tree.n);
    x = numbers(tree.n);
    z = numbers(tree.n);
    f = numbers(tree.n);
    u = numbers(tree.node[tree.nsuper].update);
    outside = numbers(tree.n);
    REQUIRE(bench_problem_right_side(&problem, COLUMNS, b) == 0);
    REQUIRE(ladder_reference(&tree, COLUMNS, b, reference) == 0);
    worst = bench_problem_error(&problem, COLUMNS, b, reference);
    testing_in("%s, the reference", problem.name);
    CHECK(worst >= 0);
    CHECK_BELOW(worst, 30 * DBL_EPSILON);
    check_difference();
    check_units(INT32_MAX);
    check_units(LADDER_UNIT);
    check_branches(wants_branches);
    check_tasks();
    for (int k = 0; k < 9; k++)
        free((double *[]){b, reference, answer, y, x, z, f, u, outside}[k]);
    ladder_tree_free(&tree);
    bench_problem_destroy(&problem);
}

int main(void) {
    check_matrix("grid2d:60", 1);
    check_matrix("grid3d:12", 1);
    check_matrix("elasticity3d:6", 1);
    check_matrix("grid2d:5", 0); /* one branch */
    check_matrix("tridiag:300", 1);
    check_matrix("diag:20", 0); /* trees of one supernode each, and nothing above them */
    check_matrix("grid2d:1", 0);
    return testing_done();
}
