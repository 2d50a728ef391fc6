/*
 * Groups of right-hand sides side by side, as small factors have them: of eight (stream.h), up to 64 columns, and of one, up to
 * eight columns. They have the bits of a group by itself, in any workspace, in either order, on host and device, whatever the
 * system; in a graph; after a task of one group was lost, which ends in a status and leaves the others' columns alone; where a NaN is in one column. In single
 * precision, too, and as groups of one in complex numbers. More columns than the factor has groups for are not solved so, nor
 * are those of a handle with same_bits.
 */
#include "cuda_problem.h"

#include <stddef.h>

#include "supernodal/cuda/workspace.h"

enum { EIGHT = GSV_SIDE_COLUMNS, SYSTEMS = 9 };

static int64_t width, most; /* of a group, and of all of them: columns */

static int side_of(const problem *p) {
    return gsv_most_groups(&((gsv_cuda_factor *)p->factor->prepared)->abilities);
}

static gpusolve_workspace *new_workspace(const problem *p, int64_t max_nrhs) {
    gpusolve_workspace *workspace = NULL;
    REQUIRE(gpusolve_workspace_create(p->handle, p->factor, max_nrhs, &workspace) == GPUSOLVE_OK);
    return workspace;
}

/* All columns of b, a group at a time. */
static void solve_by_group(const problem *p, gpusolve_system system, const gpusolve_dense *b,
                           const gpusolve_dense *x) {
    CHECK_STATUS(gpusolve_solve(p->handle, p->factor, workspace_for(p, width), system, b, x), GPUSOLVE_OK);
}

/* Columns first .. first + cols - 1 in a workspace for max_nrhs, or the handle's own: 0. */
static void check_columns(const problem *p, gpusolve_system system, const gpusolve_dense *b,
                          const gpusolve_dense *expected, int64_t first, int64_t cols, int64_t max_nrhs,
                          gpusolve_order order, int on_device) {
    gpusolve_workspace *workspace = max_nrhs > 0 ? workspace_for(p, max_nrhs) : NULL;
    const gpusolve_dense from = testing_block(p->dtype, order, p->n, cols, 1);
    const gpusolve_dense to = testing_block(p->dtype, order, p->n, cols, 2);
    for (int64_t j = 0; j < cols; j++)
        for (int64_t i = 0; i < p->n; i++)
            testing_set(&from, i, j, testing_get(b, i, first + j));
    CHECK_STATUS(testing_solve(p->handle, p->factor, workspace, system, &from, &to, on_device), GPUSOLVE_OK);
    CHECK(testing_padding_untouched(&to));
    if (!CHECK(testing_same_bits(&to, 0, expected, first, cols)))
        printf("columns %d .. %d, max_nrhs %d, order %d, on the device %d\n", (int)first,
               (int)(first + cols - 1), (int)max_nrhs, (int)order, on_device);
    free(from.values);
    free(to.values);
}

static void check_system(const problem *p, gpusolve_system system) {
    const gpusolve_dense b = new_block(p, most), x = new_block(p, most);
    testing_fill(&b, 31);
    solve_by_group(p, system, &b, &x);
    for (int64_t cols = width + 1; cols <= most; cols += cols % width == 0 ? 1 : width - 1)
        check_columns(p, system, &b, &x, most - cols, cols, cols,
                      cols % 2 ? GPUSOLVE_ROW_MAJOR : GPUSOLVE_COL_MAJOR, 1);
    if (width == EIGHT) {
        check_columns(p, system, &b, &x, 2, 45, most, GPUSOLVE_ROW_MAJOR, 0);
        check_columns(p, system, &b, &x, 3, 45, 16, GPUSOLVE_COL_MAJOR, 1); /* in the end 13 */
        check_columns(p, system, &b, &x, 3, 34, 32, GPUSOLVE_COL_MAJOR, 1); /* or two */
        check_columns(p, system, &b, &x, 5, 50, 9, GPUSOLVE_COL_MAJOR, 0);
        check_columns(p, system, &b, &x, 1, 32, 0, GPUSOLVE_COL_MAJOR, 1);
        check_columns(p, system, &b, &x, 9, 20, 300, GPUSOLVE_COL_MAJOR, 1);
    } else {
        check_columns(p, system, &b, &x, 2, 5, most, GPUSOLVE_ROW_MAJOR, 0);
        check_columns(p, system, &b, &x, 3, 3, 2, GPUSOLVE_COL_MAJOR, 1);
        check_columns(p, system, &b, &x, 0, 8, 1, GPUSOLVE_COL_MAJOR, 1);
        check_columns(p, system, &b, &x, 1, 4, 0, GPUSOLVE_COL_MAJOR, 0);
        check_columns(p, system, &b, &x, 1, 7, 300, GPUSOLVE_COL_MAJOR, 1);
    }
    free(b.values);
    free(x.values);
}

static void check_capture(const problem *p, int64_t cols) {
    testing_in("%lld columns in a graph", (long long)cols);
    const gpusolve_dense b = new_block(p, cols), expected = new_block(p, cols);
    testing_fill(&b, 8);
    solve_by_group(p, GPUSOLVE_A, &b, &expected);
    gpusolve_workspace *workspace = new_workspace(p, cols);
    check_replays(p, workspace, &b, &expected, 100);
    gpusolve_workspace_destroy(workspace);
    free(b.values);
    free(expected.values);
}

/*
 * The counter from which the blocks of one group take tasks starts one higher: task 0 is never taken. The device polls for more
 * than a second until the wait is given up, and slows down the programs beside this one: a quick run loses four tasks.
 */
static void check_lost_task(const problem *p, int64_t cols, int64_t group, int backward) {
    testing_in("a lost task of group %d, %s", (int)group, backward ? "backward" : "forward");
    const gpusolve_dense b = new_block(p, cols), x = new_block(p, cols), expected = new_block(p, cols);
    const int64_t after = width * (group + 1);
    testing_fill(&b, 12);
    solve_by_group(p, GPUSOLVE_A, &b, &expected);
    gpusolve_workspace *workspace = new_workspace(p, cols);
    gsv_stream_state *states = ((gsv_cuda_workspace *)workspace->state)->vectors[0].state;
    const int one = 1;
    char *at = (char *)&states[group] +
               (backward ? offsetof(gsv_stream_state, backward) : offsetof(gsv_stream_state, forward));
    REQUIRE(device_write(at, &one, sizeof one) == 0);
    CHECK_STATUS(gpusolve_solve(p->handle, p->factor, workspace, GPUSOLVE_A, &b, &x), GPUSOLVE_TIMED_OUT);
    for (int64_t j = width * group; j < after && j < cols; j++) {
        const gpusolve_dense column = columns_of(&x, j, 1);
        CHECK(count_nans(&column) > 0);
    }
    CHECK(testing_same_bits(&x, 0, &expected, 0, width * group));
    if (after < cols) {
        const gpusolve_dense others = columns_of(&x, after, cols - after);
        CHECK(testing_same_bits(&others, 0, &expected, after, cols - after));
    }
    CHECK_STATUS(gpusolve_solve(p->handle, p->factor, workspace, GPUSOLVE_A, &b, &x), GPUSOLVE_OK);
    CHECK(testing_same_bits(&x, 0, &expected, 0, cols));
    gpusolve_workspace_destroy(workspace);
    free(b.values);
    free(x.values);
    free(expected.values);
}

/* Of a row of b whose bits are all ones in one column, the pattern of what is not there yet. */
static void check_nan(const problem *p, int64_t cols, int64_t bad) {
    testing_in("a NaN in column %d of %d", (int)bad, (int)cols);
    const gpusolve_dense b = new_block(p, cols), x = new_block(p, cols), expected = new_block(p, cols);
    testing_fill(&b, 9);
    solve_by_group(p, GPUSOLVE_A, &b, &expected);
    set_all_ones(&b, 0, bad);
    gpusolve_workspace *workspace = new_workspace(p, cols);
    CHECK_STATUS(gpusolve_solve(p->handle, p->factor, workspace, GPUSOLVE_A, &b, &x), GPUSOLVE_OK);
    CHECK(isnan(creal(testing_get(&x, 0, bad))));
    for (int64_t j = 0; j < cols; j++) {
        const gpusolve_dense column = columns_of(&x, j, 1);
        CHECK(j == bad || testing_same_bits(&column, 0, &expected, j, 1));
    }
    gpusolve_workspace_destroy(workspace);
    free(b.values);
    free(x.values);
    free(expected.values);
}

/* What eight columns should cost, by measured solves in either precision. */
static void check_cost(const problem *p) {
    gpusolve_cost cost = {.size = sizeof cost};
    int64_t upper = 0;
    REQUIRE(gpusolve_factor_cost(p->handle, p->factor, EIGHT, 0, &cost) == GPUSOLVE_OK);
    for (int i = 0; i < cost.tiers; i++)
        upper += strcmp(cost.tier[i].name, "branch") ? cost.tier[i].bytes : 0;
    const double by_solves = gsv_cuda_predict(
        &p->factor->plan, &cost, upper / (int64_t)testing_bytes(p->dtype), (gsv_numbers)p->dtype);
    CHECK_BELOW(fabs(cost.predicted_us - fmax(by_solves, cost.wall_us)), 1e-9 * cost.predicted_us);
}

/* A factor of which three groups are solved side by side: 24 columns have the bits of eight, 32 their own. */
static void check_three(const char *spec) {
    problem p;
    tuning.groups = 3;
    open_problem(&p, spec);
    tuning.groups = GSV_SIDE;
    testing_in("%s, three groups", spec);
    CHECK(side_of(&p) == 3);
    const gpusolve_dense b = new_block(&p, 32), x = new_block(&p, 32), expected = new_block(&p, 32);
    testing_fill(&b, 3);
    solve_by_group(&p, GPUSOLVE_A, &b, &expected);
    check_columns(&p, GPUSOLVE_A, &b, &expected, 3, 24, 32, GPUSOLVE_COL_MAJOR, 1);
    check_columns(&p, GPUSOLVE_A, &b, &expected, 7, 9, 0, GPUSOLVE_COL_MAJOR, 1);
    CHECK_STATUS(gpusolve_solve(p.handle, p.factor, NULL, GPUSOLVE_A, &b, &x), GPUSOLVE_OK);
    CHECK(!testing_same_bits(&x, 0, &expected, 0, 32));
    free(b.values);
    free(x.values);
    free(expected.values);
    forget_workspaces();
    close_problem(&p);
}

typedef struct subject {
    const char *spec;
    gpusolve_factor_kind kind;
    gpusolve_dtype dtype;
} subject;

static void check_systems(const problem *p, const subject *s) {
    for (int system = 0; system < SYSTEMS; system += testing_few() ? 4 : 1) {
        testing_in("%s, kind %d, type %d, limbs %d, groups of %d, system %d", s->spec, (int)s->kind,
                   (int)p->dtype, p->factor->plan.schedule->limbs.count > 0, (int)width, system);
        check_system(p, (gpusolve_system)system);
    }
}

static void check_eights(void) {
    static const subject subjects[] = {{"grid2d:60", GPUSOLVE_SUPERNODAL_LL, GPUSOLVE_DOUBLE},
                                       {"grid2d:60", GPUSOLVE_SIMPLICIAL_LDL, GPUSOLVE_DOUBLE},
                                       {"grid3d:14", GPUSOLVE_SUPERNODAL_LL, GPUSOLVE_DOUBLE},
                                       {"elasticity3d:8", GPUSOLVE_SUPERNODAL_LL, GPUSOLVE_DOUBLE},
                                       {"grid2d:60", GPUSOLVE_SIMPLICIAL_LDL, GPUSOLVE_FLOAT},
                                       {"grid3d:14", GPUSOLVE_SUPERNODAL_LL, GPUSOLVE_FLOAT},
                                       {"elasticity3d:8", GPUSOLVE_SUPERNODAL_LL, GPUSOLVE_FLOAT}};
    int limbs[2] = {0}; /* trees with limbs, [1], or not */
    width = EIGHT;
    most = EIGHT * GSV_SIDE;
    tuning.ones = 1;
    for (size_t k = 0; k < 2 * sizeof subjects / sizeof *subjects; k++) {
        const subject *s = &subjects[k / 2];
        problem p;
        if (testing_few() && k % 2 != k / 2 % 2) /* a quick run: each with limbs or without, in turn */
            continue;
        tuning.limb_most = k % 2 ? gsv_machine_default.limb_most : 0;
        open_kind(&p, s->spec, s->kind, s->dtype);
        const gsv_schedule *schedule = p.factor->plan.schedule;
        limbs[schedule->limbs.count > 0]++;
        testing_in("%s", s->spec);
        REQUIRE(side_of(&p) == GSV_SIDE);
        check_systems(&p, s);
        check_cost(&p);
        check_capture(&p, 16);
        check_capture(&p, most);
        static const int64_t widths[] = {2, EIGHT * GSV_SIDE};
        check_same_bits(&p, widths, sizeof widths / sizeof *widths, most);
        if (s->kind == GPUSOLVE_SUPERNODAL_LL && k / 2 > 1) {
            if (!testing_few() || k == 7)
                check_lost_task(&p, 24, 0, 0);
            if (!testing_few() || k == 12)
                check_lost_task(&p, 24, 2, 1);
            check_nan(&p, 40, 33);
        }
        forget_workspaces();
        close_problem(&p);
    }
    CHECK(testing_few() || (limbs[0] > 0 && limbs[1] > 0));
    check_three("grid3d:14");
    tuning.ones = GSV_ONES;
}

/* Of eight columns and one more: nine are no groups of one, nor are two of a factor that may have none. */
static void check_limits(const problem *p) {
    testing_in("limits, type %d", (int)p->dtype);
    const gsv_abilities *abilities = &((const gsv_cuda_factor *)p->factor->prepared)->abilities;
    const gsv_plan *plan = &p->factor->plan;
    for (int64_t columns = 1; columns <= GSV_ONES + 1; columns++)
        for (int limit = 3; limit <= GSV_ONES; limit += GSV_ONES - 3) {
            tuning.ones = limit;
            const gsv_run run = gsv_route_of(plan, (gsv_numbers)p->dtype, abilities, 0, 1, columns).widest;
            CHECK(run.columns == 1 || columns > limit);
            CHECK(columns > limit ? run.columns > 1 || run.groups == 1 : run.groups == columns);
        }
    tuning.ones = GSV_ONES;
}

static void check_ones(void) {
    static const subject subjects[] = {{"grid2d:60", GPUSOLVE_SUPERNODAL_LL, GPUSOLVE_DOUBLE},
                                       {"grid2d:61", GPUSOLVE_SIMPLICIAL_LDL, GPUSOLVE_DOUBLE},
                                       {"elasticity3d:8", GPUSOLVE_SUPERNODAL_LL, GPUSOLVE_DOUBLE},
                                       {"grid2d:61", GPUSOLVE_SIMPLICIAL_LDL, GPUSOLVE_FLOAT},
                                       {"grid3d:13", GPUSOLVE_SUPERNODAL_LL, GPUSOLVE_FLOAT},
                                       {"grid3d:12@c", GPUSOLVE_SUPERNODAL_LL, GPUSOLVE_COMPLEX_DOUBLE},
                                       {"grid2d:41@c", GPUSOLVE_SIMPLICIAL_LDL, GPUSOLVE_COMPLEX_DOUBLE},
                                       {"grid3d:11@c", GPUSOLVE_SUPERNODAL_LL, GPUSOLVE_COMPLEX_FLOAT}};
    width = 1;
    most = GSV_ONES;
    for (size_t k = 0; k < sizeof subjects / sizeof *subjects; k++) {
        const subject *s = &subjects[k];
        problem p;
        open_kind(&p, s->spec, s->kind, s->dtype);
        testing_in("%s", s->spec);
        REQUIRE(gsv_most_ones(&p.factor->plan, (gsv_numbers)s->dtype) == GSV_ONES);
        check_limits(&p);
        check_systems(&p, s);
        check_capture(&p, 3);
        check_capture(&p, most);
        static const int64_t widths[] = {2, GSV_ONES};
        check_same_bits(&p, widths, sizeof widths / sizeof *widths, most);
        if (s->kind == GPUSOLVE_SUPERNODAL_LL && k > 0) {
            if (!testing_few() || k == 4)
                check_lost_task(&p, 3, 0, 0);
            if (!testing_few() || k == 5)
                check_lost_task(&p, 5, 2, 1);
            check_nan(&p, 6, 4);
        }
        forget_workspaces();
        close_problem(&p);
    }
}

int main(void) {
    gpusolve_backend backends[2];
    if (testing_backends(backends) < 2) {
        printf("skipped: no CUDA device\n");
        return TESTING_SKIPPED;
    }
    check_eights();
    check_ones();
    return testing_done();
}
