/*
 * Two to sixteen right-hand sides whose upper tree is solved as a stream (stream.h), above limbs (limbs.h) or
 * not, but from nine on forward by tasks (schedule/tasks/tasks.h), and backward as well or not, on trees that are far too small to be
 * worth it, with groups of eight side by side (test_cuda_side.c) switched off: the answers of one column to rounding; one set of bits for two to eight columns and one for more,
 * wherever a column stands and however many are beside it; one column's bits with the option for them; capture;
 * a lost task ends in a status; NaNs end in NaNs. Supernodes that are split, with one right-hand side as well. In double precision and in single.
 */
#include "cuda_problem.h"

#include <stddef.h>

#include "supernodal/cuda/support.h"

enum { COLUMNS = 45, FEW = 8, WIDEST = 16 }; /* the last run of either is 5, or 13 */

static const gpusolve_system systems[] = {GPUSOLVE_A, GPUSOLVE_L, GPUSOLVE_Lt, GPUSOLVE_LD};

/* Columns first .. first + cols - 1 by themselves, in a workspace for max_nrhs: the bits that they must have. */
static void check_bits(const problem *p, gpusolve_system system, const gpusolve_dense *b,
                       const gpusolve_dense *expected, int64_t first, int64_t cols, int64_t max_nrhs,
                       gpusolve_order order) {
    gpusolve_workspace *workspace = workspace_for(p, max_nrhs);
    const gpusolve_dense from = testing_block(p->dtype, order, p->n, cols, 1);
    const gpusolve_dense to = testing_block(p->dtype, order, p->n, cols, 2);
    for (int64_t j = 0; j < cols; j++)
        for (int64_t i = 0; i < p->n; i++)
            testing_set(&from, i, j, testing_get(b, i, first + j));
    CHECK_STATUS(testing_solve(p->handle, p->factor, workspace, system, &from, &to, 1), GPUSOLVE_OK);
    CHECK(testing_same_bits(&to, 0, expected, first, cols));
    CHECK_STATUS(gpusolve_workspace_check(p->handle, workspace), GPUSOLVE_OK);
    free(from.values);
    free(to.values);
}

/* Runs of so many columns, FEW or WIDEST. ones: the answers of one column at a time. */
static void check_widest(const problem *p, gpusolve_system system, int64_t widest, const gpusolve_dense *b,
                         const gpusolve_dense *ones) {
    const gpusolve_dense x = new_block(p, COLUMNS);
    CHECK_STATUS(gpusolve_solve(p->handle, p->factor, workspace_for(p, widest), system, b, &x), GPUSOLVE_OK);
    for (int64_t j = 0; j < COLUMNS; j++) {
        double difference = 0, largest = 0;
        for (int64_t i = 0; i < p->n; i++) {
            const double ours = creal(testing_get(&x, i, j)), theirs = creal(testing_get(ones, i, j));
            difference = testing_worse(difference, fabs(ours - theirs));
            largest = fmax(largest, fabs(theirs));
        }
        CHECK_BELOW(difference / largest, 45000 * testing_epsilon(p->dtype));
    }
    for (int64_t cols = widest > FEW ? FEW + 1 : 2; cols <= widest; cols++)
        check_bits(p, system, b, &x, COLUMNS - cols, cols, cols, GPUSOLVE_ROW_MAJOR);
    check_bits(p, system, b, &x, 3, widest, widest, GPUSOLVE_COL_MAJOR);
    check_bits(p, system, b, &x, 4, widest - 1, 32, GPUSOLVE_COL_MAJOR);
    check_bits(p, system, b, &x, 0, 32, widest, GPUSOLVE_COL_MAJOR); /* four runs, or two */
    free(x.values);
}

static void check_system(const problem *p, gpusolve_system system) {
    const gpusolve_dense b = new_block(p, COLUMNS), ones = new_block(p, COLUMNS);
    testing_fill(&b, 31);
    for (int64_t j = 0; j < COLUMNS; j++) {
        const gpusolve_dense from = columns_of(&b, j, 1), to = columns_of(&ones, j, 1);
        CHECK_STATUS(gpusolve_solve(p->handle, p->factor, NULL, system, &from, &to), GPUSOLVE_OK);
    }
    check_widest(p, system, FEW, &b, &ones);
    check_widest(p, system, WIDEST, &b, &ones);
    free(b.values);
    free(ones.values);
}

static void check_capture(const problem *p, int64_t cols) {
    testing_in("%lld columns in a graph", (long long)cols);
    const gpusolve_dense b = new_block(p, cols);
    const gpusolve_dense expected = new_block(p, cols);
    testing_fill(&b, 8);
    gpusolve_workspace *workspace = NULL;
    REQUIRE(gpusolve_workspace_create(p->handle, p->factor, cols, &workspace) == GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_solve(p->handle, p->factor, workspace, GPUSOLVE_A, &b, &expected), GPUSOLVE_OK);
    check_replays(p, workspace, &b, &expected, 30);
    gpusolve_workspace_destroy(workspace);
    free(b.values);
    free(expected.values);
}

/* The counter from which blocks take tasks starts one higher: task 0 is never taken. */
static void check_lost_task(const problem *p, int64_t cols, int backward) {
    testing_in("a lost task, %lld columns, %s", (long long)cols, backward ? "backward" : "forward");
    const gpusolve_dense b = new_block(p, cols);
    const gpusolve_dense x = new_block(p, cols);
    const gpusolve_dense expected = new_block(p, cols);
    testing_fill(&b, 12);
    gpusolve_workspace *workspace = NULL;
    REQUIRE(gpusolve_workspace_create(p->handle, p->factor, cols, &workspace) == GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_solve(p->handle, p->factor, workspace, GPUSOLVE_A, &b, &expected), GPUSOLVE_OK);
    const gsv_cuda_workspace *state = workspace->state;
    const int one = 1;
    char *at = (char *)state->vectors[0].state +
               (backward ? offsetof(gsv_stream_state, backward) : offsetof(gsv_stream_state, forward));
    REQUIRE(device_write(at, &one, sizeof one) == 0);
    CHECK_STATUS(gpusolve_solve(p->handle, p->factor, workspace, GPUSOLVE_A, &b, &x), GPUSOLVE_TIMED_OUT);
    CHECK(count_nans(&x) > 0);
    CHECK_STATUS(gpusolve_solve(p->handle, p->factor, workspace, GPUSOLVE_A, &b, &x), GPUSOLVE_OK);
    CHECK(testing_same_bits(&x, 0, &expected, 0, cols));
    gpusolve_workspace_destroy(workspace);
    free(b.values);
    free(x.values);
    free(expected.values);
}

/* Rows of b whose bits are all ones, the pattern of what is not there yet. */
static void check_nans(const problem *p) {
    for (size_t s = 0; s < sizeof systems / sizeof *systems; s++)
        for (int64_t first = 0; first < p->n; first += p->n - 1) {
            testing_in("NaN in row %lld of b, system %d", (long long)first, (int)systems[s]);
            const gpusolve_dense b = new_block(p, 9);
            const gpusolve_dense x = new_block(p, 9);
            testing_fill(&b, 9);
            for (int64_t j = 0; j < 9; j++)
                set_all_ones(&b, first, j);
            CHECK_STATUS(gpusolve_solve(p->handle, p->factor, NULL, systems[s], &b, &x), GPUSOLVE_OK);
            for (int64_t j = 0; j < 9; j++)
                CHECK(isnan(creal(testing_get(&x, first, j))));
            free(b.values);
            free(x.values);
        }
}

/* A dense supernode of n columns, unit but for -g below the diagonal, so that inv(L) grows like growth and the supernode is
 * split; then one of `below` rows. One right-hand side, too. */
static void check_condition(gpusolve_dtype dtype, int n, int below, double growth) {
    testing_in("a triangle of order %d above %d whose inverse grows like %g, type %d", n, below, growth,
               (int)dtype);
    const double g = pow(growth, 1.0 / n) - 1;
    const int all = n + below;
    double *l = calloc((size_t)all * (size_t)all, sizeof *l);
    int32_t super[3] = {0, n, all}, pi[3] = {0, all, all + below},
            px[3] = {0, all * n, all * n + below * below},
            *rows = malloc((size_t)(all + below) * sizeof *rows);
    float *rounded = malloc((size_t)all * (size_t)all * sizeof *rounded);
    double *solution = malloc((size_t)all * sizeof *solution);
    long double *sums = malloc((size_t)all * sizeof *sums);
    REQUIRE(l && rows && rounded && solution && sums);
    for (int j = 0; j < all; j++) {
        rows[j] = j;
        for (int i = j; i < all; i++)
            l[j < n ? i + (int64_t)j * all : px[1] + (i - n) + (int64_t)(j - n) * below] =
                i == j        ? 1
                : i < n       ? -g
                : (i + j) % 3 ? 0.25 / n
                : j < n       ? -0.5 / n
                              : 0.125 / below;
    }
    for (int j = 0; j < below; j++)
        rows[all + j] = n + j;
    for (int32_t k = 0; k < px[2]; k++)
        rounded[k] = (float)l[k];
    for (int32_t k = 0; k < px[2] && dtype == GPUSOLVE_FLOAT; k++)
        l[k] = rounded[k];
    gpusolve_factor_data data = GPUSOLVE_FACTOR_DATA_INIT;
    data.n = data.minor = all;
    data.nsuper = below > 0 ? 2 : 1;
    data.super = super;
    data.pi = pi;
    data.px = px;
    data.s = rows;
    data.dtype = dtype;
    data.x = dtype == GPUSOLVE_FLOAT ? (void *)rounded : l;
    data.ssize = all + below;
    data.xsize = px[2];
    gpusolve_handle *handle = tuned_handle(GPUSOLVE_BACKEND_CUDA, 0);
    gpusolve_factor *factor = NULL;
    REQUIRE(gpusolve_factor_create(handle, &data, &factor) == GPUSOLVE_OK);
    CHECK(factor->plan.l.nsuper > data.nsuper);
    static const int64_t columns[] = {1, 8, 16, 40}; /* the last ones may be side by side (stream.h) */
    for (int c = 0; c < 4; c++) {
        const int64_t cols = columns[c];
        const gpusolve_dense b = testing_block(dtype, GPUSOLVE_COL_MAJOR, all, cols, 0);
        const gpusolve_dense x = testing_block(dtype, GPUSOLVE_COL_MAJOR, all, cols, 0);
        const gpusolve_dense again = testing_block(dtype, GPUSOLVE_COL_MAJOR, all, cols, 0);
        for (int64_t k = 0; k < all * cols; k++)
            testing_set(&b, k % all, k / all, 1 + (double)(k % all) / all);
        for (int transposed = 0; transposed < 2; transposed++) {
            const gpusolve_system system = transposed ? GPUSOLVE_Lt : GPUSOLVE_L;
            CHECK_STATUS(gpusolve_solve(handle, factor, NULL, system, &b, &x), GPUSOLVE_OK);
            for (int round = 0; round < 5; round++) {
                CHECK_STATUS(gpusolve_solve(handle, factor, NULL, system, &b, &again), GPUSOLVE_OK);
                CHECK(testing_same_bits(&x, 0, &again, 0, cols));
            }
            for (int64_t j = 0; j < cols; j++) {
                double norm_x = 0;
                for (int i = 0; i < all; i++) {
                    solution[i] = creal(testing_get(&x, i, j));
                    norm_x = fmax(norm_x, fabs(solution[i]));
                    sums[i] = creal(testing_get(&b, i, j));
                }
                for (int column = 0; column < all; column++) {
                    const double *of_column =
                        l + (column < n ? (int64_t)column * all : px[1] - n + (int64_t)(column - n) * below);
                    for (int row = column; row < all; row++)
                        sums[transposed ? column : row] -=
                            (long double)of_column[row] * solution[transposed ? row : column];
                }
                double residual = 0;
                for (int i = 0; i < all; i++)
                    residual = testing_worse(residual, fabs((double)sums[i]));
                CHECK_BELOW(residual / ((1 + n * g) * norm_x + 2), 30 * testing_epsilon(dtype));
            }
        }
        free(b.values);
        free(x.values);
        free(again.values);
    }
    gpusolve_factor_destroy(factor);
    gpusolve_destroy(handle);
    free(l);
    free(rounded);
    free(rows);
    free(solution);
    free(sums);
}

/* Pieces whose front the next one copies: in elasticity3d:18. */
static int64_t count_kept(const gsv_piece_list *list) {
    int64_t kept = 0;
    for (int32_t k = 0; list->tasks > 0 && k < list->task[list->tasks]; k++)
        kept += list->piece[k].kind == GSV_BLOCK_PIECE && list->piece[k].flags & GSV_PIECE_KEPT;
    return kept;
}

enum { NO_LIMBS, LIMBS, LARGE_LIMBS, KINDS }; /* without limbs no stream of nine and more columns backward */
static const char *const names[KINDS] = {"no limbs", "limbs", "large limbs, few blocks"};

/* Pieces of fronts that every task assembles only where the stream is large. */
static int64_t count_wide(const gsv_piece_list *list) {
    int64_t wide = 0;
    for (int32_t k = 0; list->tasks > 0 && k < list->task[list->tasks]; k++)
        wide += list->piece[k].kind == GSV_BLOCK_PIECE && !(list->piece[k].flags & GSV_PIECE_PUBLISHED) &&
                list->piece[k].nc > GSV_BLOCK_FOLD_COLUMNS;
    return wide;
}

/* Streams count as large, but with limbs of the usual size. */
static void choose_limbs(int kind) {
    tuning.large_stream = kind == LIMBS ? gsv_machine_default.large_stream : 0;
    tuning.limb_most = kind == NO_LIMBS ? 0 : gsv_machine_default.limb_most;
    tuning.limb_least = kind == LARGE_LIMBS ? gsv_machine_default.limb_most : gsv_machine_default.limb_least;
}

/* So that a block has several limbs, one after the other. Before a workspace records its graphs. */
static void use_few_blocks(gsv_abilities *abilities) {
    for (int k = 0; k < GSV_CLASSES; k++)
        for (int backward = 0; backward < 2; backward++) {
            const int few = k == 0 ? GSV_ONES : 3; /* with fewer there is no stream for one column */
            if (abilities->stream_blocks[k][backward] > few)
                abilities->stream_blocks[k][backward] = few;
        }
}

/* Pairs of limbs of which one's root is where the other begins. */
static int64_t count_collisions(const gsv_limbs *limbs) {
    int64_t count = 0;
    for (int32_t k = 0; k < limbs->count; k++) {
        const gsv_limb *limb = &limbs->limb[k];
        for (int32_t j = 0; j < limbs->count; j++)
            count += gsv_limb_collides(&limbs->chunk[limb->first + limb->chunks - 1],
                                       &limbs->chunk[limbs->limb[j].first]);
    }
    return count;
}

/* What was seen of the plans: that the cases below are all there. */
static int64_t kept, wide[KINDS], limbs[KINDS], collisions;

/* The factor that is there, with limbs of this kind. thorough: lost tasks and NaNs, too. */
static void check_kind(problem *p, const char *spec, int kind, int thorough) {
    gsv_schedule *schedule = p->factor->plan.schedule;
    gsv_abilities *abilities = &((gsv_cuda_factor *)p->factor->prepared)->abilities;
    limbs[kind] += schedule->limbs.count;
    CHECK(abilities->block_columns == 16);
    if (kind == LARGE_LIMBS) {
        collisions += count_collisions(&schedule->limbs);
        use_few_blocks(abilities);
    }
    kept += count_kept(&schedule->stream.block_forward);
    wide[kind] += count_wide(&schedule->stream.block_forward);
    schedule->tasks.streams_back = kind != NO_LIMBS;
    for (size_t s = 0; s < sizeof systems / sizeof *systems; s++) {
        testing_in("%s, type %d, system %d, %s", spec, (int)p->dtype, (int)systems[s], names[kind]);
        check_system(p, systems[s]);
    }
    static const int64_t widths[] = {8, 16, COLUMNS};
    check_same_bits(p, widths, sizeof widths / sizeof *widths, COLUMNS);
    check_capture(p, 7);
    check_capture(p, 16);
    if (thorough && gsv_streams_one(abilities)) {
        /* Each takes the device more than a second: a quick run loses one task of each kind. */
        if (!testing_few() || kind == NO_LIMBS)
            check_lost_task(p, 8, 0);
        if (!testing_few() || kind != LARGE_LIMBS)
            check_lost_task(p, kind == NO_LIMBS ? 8 : 16, 1); /* of a stream */
        check_nans(p);
    }
}

/* With limbs of each kind, in double precision and, of every other one, in single. */
static void check_matrix(const char *spec, int single, int thorough) {
    problem p = {0};
    choose_limbs(NO_LIMBS);
    open_problem(&p, spec);
    for (int kind = 0; kind < KINDS; kind++)
        for (int precision = 0; precision <= single; precision++) {
            choose_limbs(kind);
            import_as(&p, precision ? GPUSOLVE_FLOAT : GPUSOLVE_DOUBLE);
            check_kind(&p, spec, kind, thorough);
            forget_workspaces();
        }
    close_problem(&p);
}

/* With GPUSOLVE_TEST_FEW in the environment: two small factors, and one triangle. */
int main(void) {
    static const char *const specs[] = {"grid2d:60",  "elasticity3d:8",  "arrow:300,20,7", "grid2d:200",
                                        "grid2d:300", "elasticity3d:18", "grid3d:14",      "grid3d:26"};
    const size_t count = sizeof specs / sizeof *specs;
    gpusolve_backend backends[2];
    if (testing_backends(backends) < 2) {
        printf("skipped: no CUDA device\n");
        return TESTING_SKIPPED;
    }
    tuning.block_together_tasks = 0;
    tuning.groups = 1; /* nine and more are not solved by eights, */
    tuning.ones = 1;   /* nor two and more one by one */
    if (testing_few()) {
        check_matrix("elasticity3d:8", 1, 0);
        check_matrix("grid3d:14", 0, 1);
        choose_limbs(LIMBS);
        check_condition(GPUSOLVE_DOUBLE, 500, 40, 2e3);
        return testing_done();
    }
    for (size_t k = 0; k < count; k++)
        check_matrix(specs[k], k % 2 == 1, k + 1 == count);
    CHECK(kept > 0);
    CHECK(wide[NO_LIMBS] > 0 && wide[LIMBS] == 0 && wide[LARGE_LIMBS] > 0);
    CHECK(limbs[NO_LIMBS] == 0 && limbs[LIMBS] > limbs[LARGE_LIMBS] && limbs[LARGE_LIMBS] > 0);
    CHECK(collisions > 0);
    choose_limbs(LIMBS);
    for (int k = 0; k < 4; k++) {
        const gpusolve_dtype dtype = k < 2 ? GPUSOLVE_DOUBLE : GPUSOLVE_FLOAT;
        tuning.groups = k % 2 ? GSV_SIDE : 1;
        check_condition(dtype, 200, 0, 1e9);
        check_condition(dtype, 1000, 0, 1e9);
        check_condition(dtype, 1000, 0, 2e3);
        check_condition(dtype, 1003, 150, 2e3);
        check_condition(dtype, 500, 40, 2e3);
        check_condition(dtype, 1003, 150, 1e6);
    }
    return testing_done();
}
