/*
 * Lists of the lower tree that the device has only where branches cannot be walked: a factor whose numbers are
 * good has no more memory than was foreseen; a refresh with triangles in branches too ill-conditioned to be
 * inverted brings the lists, with answers as accurate as substitution's and the bits of a fresh import; one
 * with good numbers again gives the first answers' bits. Memory that fails in between leaves a factor that
 * says so, or one that answers, and that a refresh makes whole.
 */
#include "cuda_problem.h"

#include "gpusolve_selection.h"
#include "memory.h"
#include "supernodal/cuda_support.h"

enum { COLUMNS = 26, MOST_ALLOCATIONS = 200 };

typedef struct world {
    problem p;
    gpusolve_factor_data data;
    gpusolve_dense b, good, bad, x;
} world;

/* L(j, j) = 1 and little below; or in the triangles of branches so much that their inverses are large. */
static void fill_values(world *w, int ill_conditioned) {
    const gsv_plan *plan = &w->p.factor->plan;
    const int *px = w->p.l->px;
    double *x = w->p.l->x;
    uint64_t seed = 5;
    for (int32_t s = 0; s < plan->l.nsuper; s++) {
        const int32_t nr = gsv_rows(plan, s), nc = gsv_columns(plan, s);
        const double g = ill_conditioned && plan->tiles->branches.of[s] >= 0 ? pow(1e8, 1.0 / nc) - 1 : 0;
        for (int32_t j = 0; j < nc; j++)
            for (int32_t i = j; i < nr; i++) {
                const double little = testing_random(&seed) / nr;
                x[px[s] + (int64_t)j * nr + i] = i == j ? 1 : g > 0 && nc >= 4 && i < nc ? -g : little;
            }
    }
}

/* y = |L| |L'| |x|, or L L' x. */
static void multiply(const world *w, int absolute, const double *x, double *y) {
    const gsv_plan *plan = &w->p.factor->plan;
    const int *px = w->p.l->px;
    const double *values = w->p.l->x;
    double *t = calloc((size_t)w->p.n, sizeof *t);
    REQUIRE(t);
    memset(y, 0, (size_t)w->p.n * sizeof *y);
    for (int transposed = 1; transposed >= 0; transposed--)
        for (int32_t s = 0; s < plan->l.nsuper; s++) {
            const int32_t nr = gsv_rows(plan, s), first = plan->l.first_column[s];
            const int32_t *rows = plan->l.rows + plan->l.row_ptr[s];
            for (int32_t j = 0; j < gsv_columns(plan, s); j++)
                for (int32_t i = j; i < nr; i++) {
                    const double entry = values[px[s] + (int64_t)j * nr + i],
                                 a = absolute ? fabs(entry) : entry;
                    if (transposed)
                        t[first + j] += a * (absolute ? fabs(x[rows[i]]) : x[rows[i]]);
                    else
                        y[rows[i]] += a * t[first + j];
                }
        }
    free(t);
}

static double largest(int64_t n, const double *x) {
    double most = 0;
    for (int64_t i = 0; i < n; i++)
        most = testing_worse(most, fabs(x[i]));
    return most;
}

static void check_accuracy(const world *w, const gpusolve_dense *x) {
    double *r = malloc((size_t)w->p.n * sizeof *r), *scale = malloc((size_t)w->p.n * sizeof *scale);
    REQUIRE(r && scale);
    for (int64_t j = 0; j < COLUMNS; j++) {
        const double *b = (const double *)w->b.values + j * w->p.n,
                     *solution = (const double *)x->values + j * w->p.n;
        multiply(w, 0, solution, r);
        multiply(w, 1, solution, scale);
        for (int64_t i = 0; i < w->p.n; i++)
            r[i] -= b[i];
        CHECK_BELOW(largest(w->p.n, r), 100 * DBL_EPSILON * (largest(w->p.n, scale) + largest(w->p.n, b)));
    }
    free(r);
    free(scale);
}

/* Runs of one column, of nine and of the rest: branches have kernels of their own for each. */
static gpusolve_status solve(const world *w, gpusolve_handle *handle, const gpusolve_factor *factor,
                             const gpusolve_dense *x) {
    static const int64_t first[] = {0, 1, 10, COLUMNS};
    gpusolve_status status = GPUSOLVE_OK;
    for (int k = 0; k < 3 && !status; k++) {
        gpusolve_dense b = w->b, part = *x;
        b.cols = part.cols = first[k + 1] - first[k];
        b.values = (double *)w->b.values + first[k] * w->p.n;
        part.values = (double *)x->values + first[k] * w->p.n;
        status = gpusolve_solve(handle, factor, NULL, GPUSOLVE_LDLt, &b, &part);
    }
    return status;
}

static int64_t factor_bytes(const world *w) {
    gpusolve_info info = {.size = sizeof info};
    CHECK_STATUS(gpusolve_factor_info(w->p.handle, w->p.factor, 1, &info), GPUSOLVE_OK);
    return info.factor_bytes;
}

static void refresh(const world *w) {
    CHECK_STATUS(gpusolve_factor_refresh(w->p.handle, w->p.factor, &w->data), GPUSOLVE_OK);
}

/* A fresh import of the numbers as they are has the same bits. */
static void check_fresh(const world *w, const gpusolve_dense *x) {
    gpusolve_factor *fresh;
    REQUIRE(gpusolve_factor_create(w->p.handle, &w->data, &fresh) == GPUSOLVE_OK);
    CHECK_STATUS(solve(w, w->p.handle, fresh, &w->x), GPUSOLVE_OK);
    CHECK(testing_same_bits(&w->x, 0, x, 0, COLUMNS));
    gpusolve_factor_destroy(fresh);
}

/* The solution's last row from the first row of b alone. */
static void check_selection(const world *w) {
    const int64_t rows[] = {0, w->p.n - 1};
    gpusolve_dense b = testing_block(GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, w->p.n, 3, 0);
    gpusolve_dense few = testing_block(GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, 1, 3, 0), got = few;
    got.values = (double[3]){0};
    memset(b.values, 0, testing_block_bytes(&b));
    testing_fill(&few, 12);
    for (int64_t j = 0; j < 3; j++)
        testing_set(&b, 0, j, testing_get(&few, 0, j));
    CHECK_STATUS(gpusolve_solve(w->p.handle, w->p.factor, NULL, GPUSOLVE_LDLt, &b, &b), GPUSOLVE_OK);
    gpusolve_selection *selection;
    REQUIRE(gpusolve_selection_create(w->p.handle, w->p.factor, GPUSOLVE_LDLt, 1, rows, 1, rows + 1, 3,
                                      &selection) == GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_solve_selected(w->p.handle, w->p.factor, selection, &few, &got), GPUSOLVE_OK);
    for (int64_t j = 0; j < 3; j++)
        CHECK(testing_get(&got, 0, j) == testing_get(&b, w->p.n - 1, j));
    gpusolve_selection_destroy(selection);
    free(few.values);
    free(b.values);
}

/* One attempt at a refresh with the k-th allocation failing; whether it got by. */
static int attempt(world *w, int64_t k) {
    fill_values(w, 0);
    gpusolve_factor *factor;
    REQUIRE(gpusolve_factor_create(w->p.handle, &w->data, &factor) == GPUSOLVE_OK);
    CHECK_STATUS(solve(w, w->p.handle, factor, &w->x), GPUSOLVE_OK);
    fill_values(w, 1);
    gsv_fail_allocation(k);
    const gpusolve_status status = gpusolve_factor_refresh(w->p.handle, factor, &w->data);
    gsv_fail_allocation(0);
    CHECK(status == GPUSOLVE_OK || status == GPUSOLVE_OUT_OF_MEMORY ||
          status == GPUSOLVE_OUT_OF_DEVICE_MEMORY);
    const gpusolve_dense *expected = status == GPUSOLVE_OK ? &w->bad : &w->good;
    if (solve(w, w->p.handle, factor, &w->x) == GPUSOLVE_OK)
        CHECK(testing_same_bits(&w->x, 0, expected, 0, COLUMNS));
    else
        CHECK(status != GPUSOLVE_OK);
    fill_values(w, 0); /* whatever there is of the lists, branches are as good as they were */
    CHECK_STATUS(gpusolve_factor_refresh(w->p.handle, factor, &w->data), GPUSOLVE_OK);
    CHECK_STATUS(solve(w, w->p.handle, factor, &w->x), GPUSOLVE_OK);
    check_accuracy(w, &w->x);
    gpusolve_factor_destroy(factor);
    return status == GPUSOLVE_OK;
}

static void check_matrix(const char *spec) {
    world all, *w = &all;
    testing_in("%s", spec);
    open_problem(&w->p, spec);
    REQUIRE(w->p.factor->plan.tiles->branches.count > 0 && w->p.factor->plan.tiles->upper_updates > 0);
    w->data = testing_factor_data(w->p.l);
    gpusolve_dense *blocks[] = {&w->b, &w->good, &w->bad, &w->x};
    for (int k = 0; k < 4; k++)
        *blocks[k] = testing_block(GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, w->p.n, COLUMNS, 0);
    testing_fill(&w->b, 3);

    fill_values(w, 0);
    refresh(w);
    const int64_t foreseen = factor_bytes(w);
    gpusolve_info queried = {.size = sizeof queried};
    CHECK_STATUS(gpusolve_query(w->p.handle, &w->data, 1, &queried), GPUSOLVE_OK);
    CHECK(foreseen == queried.factor_bytes);
    CHECK_STATUS(solve(w, w->p.handle, w->p.factor, &w->good), GPUSOLVE_OK);
    check_accuracy(w, &w->good);

    fill_values(w, 1);
    refresh(w);
    const int64_t more = factor_bytes(w) - foreseen;
    CHECK(more >= 8 * w->p.factor->plan.l.row_ptr[w->p.factor->plan.l.nsuper]);
    CHECK_STATUS(solve(w, w->p.handle, w->p.factor, &w->bad), GPUSOLVE_OK);
    check_accuracy(w, &w->bad);
    check_fresh(w, &w->bad);
    check_selection(w);

    fill_values(w, 0);
    refresh(w);
    CHECK(factor_bytes(w) == foreseen + more);
    CHECK_STATUS(solve(w, w->p.handle, w->p.factor, &w->x), GPUSOLVE_OK);
    CHECK(testing_same_bits(&w->x, 0, &w->good, 0, COLUMNS));
    check_selection(w);

    int64_t k = 1;
    for (; k < MOST_ALLOCATIONS; k += testing_few() ? 4 : 1) {
        testing_in("%s, allocation %d", spec, (int)k);
        if (attempt(w, k))
            break;
    }
    CHECK(k > 1 && k < MOST_ALLOCATIONS);
    for (int i = 0; i < 4; i++)
        free(blocks[i]->values);
    close_problem(&w->p);
}

int main(void) {
    gpusolve_backend backends[2];
    if (testing_backends(backends) < 2) {
        printf("skipped: no CUDA device\n");
        return TESTING_SKIPPED;
    }
    gsv_stream_block_least = INT64_MAX; /* level by level, as where a triangle is kept: the same bits */
    check_matrix("grid2d:40");
    check_matrix("elasticity3d:7");
    CHECK(gsv_live_allocations() == 0);
    return testing_done();
}
