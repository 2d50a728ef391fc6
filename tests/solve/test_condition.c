/*
 * Factors whose triangles are ill-conditioned although substitution with them is accurate: what a backend
 * that multiplies by inverses must notice. Right-hand sides with a smooth solution show it (b = A 1), random
 * ones do not.
 *
 * L has two supernodes: the first nc columns with nr rows, L1 unit but for -g below the diagonal, so that
 * inv(L1) grows like (1 + g)^nc; and the nr - nc columns below, well-conditioned. The measure is plain
 * substitution in C.
 */
#include "supernodal/schedule/stream/stream.h"
#include "testing.h"
#include "tuning.h"

enum { COLUMNS = 33 };

typedef struct example {
    int nc, nr;
    double growth; /* of inv(L1) */
} example;

/* Column-major n x n lower triangle. */
static void make_factor(const example *e, double *l) {
    const int n = e->nr;
    const double g = pow(e->growth, 1.0 / e->nc) - 1;
    uint64_t seed = 17;
    memset(l, 0, (size_t)n * (size_t)n * sizeof *l);
    for (int j = 0; j < n; j++)
        for (int i = j; i < n; i++)
            l[i + (int64_t)j * n] = i == j ? 1 : i < e->nc && j < e->nc ? -g : testing_random(&seed) / n;
}

static void multiply(int n, const double *l, const double *x, long double *b) {
    long double *y = calloc((size_t)n, sizeof *y);
    REQUIRE(y);
    for (int j = 0; j < n; j++)
        for (int i = j; i < n; i++)
            y[j] += (long double)l[i + (int64_t)j * n] * x[i];
    for (int i = 0; i < n; i++)
        b[i] = 0;
    for (int j = 0; j < n; j++)
        for (int i = j; i < n; i++)
            b[i] += (long double)l[i + (int64_t)j * n] * y[j];
    free(y);
}

static double norm_of_a(int n, const double *l) {
    double *magnitude = calloc((size_t)n, sizeof *magnitude), norm = 0;
    double *absolute = malloc((size_t)n * (size_t)n * sizeof *absolute);
    long double *sums = calloc((size_t)n, sizeof *sums);
    REQUIRE(magnitude && absolute && sums);
    for (int64_t k = 0; k < (int64_t)n * n; k++)
        absolute[k] = fabs(l[k]);
    for (int i = 0; i < n; i++)
        magnitude[i] = 1;
    multiply(n, absolute, magnitude, sums); /* |L| |L'| 1 >= |A| 1 */
    for (int i = 0; i < n; i++)
        norm = fmax(norm, (double)sums[i]);
    free(magnitude);
    free(absolute);
    free(sums);
    return norm;
}

static double backward_error(int n, const double *l, double norm_a, const double *x, const double *b) {
    long double *ax = calloc((size_t)n, sizeof *ax);
    REQUIRE(ax);
    multiply(n, l, x, ax);
    double r = 0, norm_x = 0, norm_b = 0;
    for (int i = 0; i < n; i++) {
        const double residual = fabs((double)(b[i] - ax[i]));
        r = testing_worse(r, residual);
        norm_x = fmax(norm_x, fabs(x[i]));
        norm_b = fmax(norm_b, fabs(b[i]));
    }
    free(ax);
    return r / (norm_a * norm_x + norm_b);
}

static void substitute(int n, const double *l, const double *b, double *x) {
    memcpy(x, b, (size_t)n * sizeof *x);
    for (int j = 0; j < n; j++) {
        x[j] /= l[j + (int64_t)j * n];
        for (int i = j + 1; i < n; i++)
            x[i] -= l[i + (int64_t)j * n] * x[j];
    }
    for (int j = n - 1; j >= 0; j--) {
        for (int i = j + 1; i < n; i++)
            x[j] -= l[i + (int64_t)j * n] * x[i];
        x[j] /= l[j + (int64_t)j * n];
    }
}

/* The columns of b, and what is known of them: the backward error of substitution, and that of the last solution. */
typedef struct measured {
    int n;
    const double *l, *b;
    double norm_a, best[COLUMNS], last[COLUMNS];
    double *x; /* the last solutions: NaNs at first */
} measured;

static measured measure(int n, const double *l, const double *b) {
    measured m = {.n = n, .l = l, .b = b, .norm_a = norm_of_a(n, l)};
    const size_t bytes = (size_t)n * COLUMNS * sizeof *m.x;
    m.x = malloc(bytes);
    REQUIRE(m.x);
    for (int j = 0; j < COLUMNS; j++) {
        substitute(n, l, b + j * n, m.x);
        m.best[j] = backward_error(n, l, m.norm_a, m.x, b + j * n);
        m.last[j] = NAN;
    }
    memset(m.x, 0xff, bytes);
    return m;
}

/* The first columns of x. Of one with the bits of the last solution the error is known. */
static void check_errors(measured *m, const double *x, int cols, double times) {
    for (int j = 0; j < cols; j++) {
        const double *ours = x + j * m->n, *b = m->b + j * m->n;
        double *last = m->x + j * m->n;
        if (memcmp(last, ours, (size_t)m->n * sizeof *ours) != 0) {
            memcpy(last, ours, (size_t)m->n * sizeof *ours);
            m->last[j] = backward_error(m->n, m->l, m->norm_a, ours, b);
        }
        /* less than half an eps is luck */
        CHECK_BELOW(m->last[j], times * fmax(m->best[j], DBL_EPSILON / 2));
    }
}

/* Random columns, but every other one b of a smooth solution: 1, 1 + 2 i / n, ... */
static void fill(const gpusolve_dense *b, const double *l) {
    const int n = (int)b->rows;
    double *solution = calloc((size_t)n, sizeof *solution);
    long double *smooth = malloc((size_t)n * sizeof *smooth);
    REQUIRE(solution && smooth);
    testing_fill(b, 5);
    for (int j = 0; j < COLUMNS; j += 2) {
        for (int i = 0; i < n; i++)
            solution[i] = 1 + (double)j * i / n;
        multiply(n, l, solution, smooth);
        for (int i = 0; i < n; i++)
            testing_set(b, i, j, (double)smooth[i]);
    }
    free(solution);
    free(smooth);
}

static gpusolve_factor *import(gpusolve_handle *handle, const example *e, gpusolve_dtype dtype,
                               const double *l) {
    const int n = e->nr, nc = e->nc, nsuper = nc < n ? 2 : 1;
    int32_t super[3] = {0, nc, n}, pi[3] = {0, n, 2 * n - nc},
            px[3] = {0, n * nc, n * nc + (n - nc) * (n - nc)};
    int32_t *rows = malloc((size_t)(2 * n) * sizeof *rows);
    void *x = malloc((size_t)px[2] * testing_bytes(dtype) + 1);
    REQUIRE(rows && x);
    for (int i = 0; i < n; i++)
        rows[i] = i;
    for (int i = nc; i < n; i++)
        rows[n + i - nc] = i;
    for (int64_t k = 0; k < px[1]; k++)
        testing_store(dtype, x, k, l[k]);
    for (int j = nc; j < n; j++)
        for (int i = nc; i < n; i++)
            testing_store(dtype, x, px[1] + (j - nc) * (n - nc) + i - nc, l[i + (int64_t)j * n]);
    gpusolve_factor_data data = GPUSOLVE_FACTOR_DATA_INIT;
    data.dtype = dtype;
    data.n = data.minor = n;
    data.nsuper = nsuper;
    data.super = super;
    data.pi = pi;
    data.px = px;
    data.s = rows;
    data.x = x;
    data.ssize = pi[nsuper];
    data.xsize = px[nsuper];
    gpusolve_factor *factor = NULL;
    CHECK_STATUS(gpusolve_factor_create(handle, &data, &factor), GPUSOLVE_OK);
    free(rows);
    free(x);
    return factor;
}

/* Is a triangle inverted whole, but would not be if its inverse were larger (trsm/cuda/panels/inverse.h)? */
static int is_just_trusted(const example *e) {
    return e->growth > 50 && e->growth < (e->nc < 576 ? 100 : 120);
}

static void check_example(gpusolve_backend backend, const example *e) {
    const int n = e->nr, nc = e->nc;
    testing_in("%s, nc %d, nr %d, growth %g", testing_backend_name(backend), e->nc, e->nr, e->growth);
    double *l = malloc((size_t)n * (size_t)n * sizeof *l);
    REQUIRE(l);
    make_factor(e, l);
    gpusolve_handle *handle = tuned_handle(backend, 0);
    gpusolve_factor *factor = import(handle, e, GPUSOLVE_DOUBLE, l);
    REQUIRE(factor);

    const gpusolve_dense b = testing_block(GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, n, COLUMNS, 0);
    const gpusolve_dense x = testing_block(GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, n, COLUMNS, 0);
    double *values = b.values;
    fill(&b, l);
    measured m = measure(n, l, values);
    const int just_trusted = is_just_trusted(e);
    const double times = !just_trusted ? 10 : nc < 960 ? 20 : 25;
    const double times_of_8 = just_trusted && nc >= 576 ? 25 : times; /* in a stream: GSV_SIDE_WIDEST */
    static const int widths[] = {1, 8, 9, 17, 25, COLUMNS};           /* every class of right-hand sides */
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
        const int cols = widths[w];
        gpusolve_dense b_part = b, x_part = x;
        b_part.cols = x_part.cols = cols;
        CHECK_STATUS(gpusolve_solve(handle, factor, NULL, GPUSOLVE_A, &b_part, &x_part), GPUSOLVE_OK);
        check_errors(&m, x.values, cols, cols == 8 ? times_of_8 : times);
    }
    /* and the kernels for many, which a workspace as wide asks for */
    const gpusolve_dense many = testing_block(GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, n, COLUMNS, 0);
    gpusolve_workspace *workspace = NULL;
    REQUIRE(gpusolve_workspace_create(handle, factor, COLUMNS, &workspace) == GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_solve(handle, factor, workspace, GPUSOLVE_A, &b, &many), GPUSOLVE_OK);
    gpusolve_workspace_destroy(workspace);
    check_errors(&m, many.values, COLUMNS, times);
    /* and those in which a column has the same bits with any number of others */
    gpusolve_destroy(handle);
    handle = testing_handle_bits(backend, 0, 1);
    REQUIRE(gpusolve_workspace_create(handle, factor, 16, &workspace) == GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_solve(handle, factor, workspace, GPUSOLVE_A, &b, &x), GPUSOLVE_OK);
    gpusolve_workspace_destroy(workspace);
    check_errors(&m, x.values, COLUMNS, times);
    const gpusolve_dense alone = testing_block(GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, n, 1, 0);
    for (int j = 0; j < COLUMNS; j += 11) {
        gpusolve_dense column = b;
        column.cols = 1;
        column.values = values + j * n;
        CHECK_STATUS(gpusolve_solve(handle, factor, NULL, GPUSOLVE_A, &column, &alone), GPUSOLVE_OK);
        CHECK(testing_same_bits(&alone, 0, &x, j, 1));
    }
    gpusolve_factor_destroy(factor);
    gpusolve_destroy(handle);
    free(many.values);
    free(alone.values);
    free(b.values);
    free(x.values);
    free(m.x);
    free(l);
}

/* In single precision, many columns, or eight, at a time: of these, as in double precision. */
static void check_single(gpusolve_backend backend, const example *e, int64_t at_once) {
    const int n = e->nr;
    const double times = at_once > 8 || !is_just_trusted(e) ? 10 : e->nc < 576 ? 20 : 25;
    testing_in("%s, single, nc %d, nr %d, growth %g, %d columns", testing_backend_name(backend), e->nc, e->nr,
               e->growth, (int)at_once);
    double *l = malloc((size_t)n * (size_t)n * sizeof *l), *column = malloc((size_t)n * sizeof *column);
    double *answer = malloc((size_t)n * sizeof *answer);
    float *reference = malloc((size_t)n * sizeof *reference);
    REQUIRE(l && column && answer && reference);
    make_factor(e, l);
    for (int64_t k = 0; k < (int64_t)n * n; k++)
        l[k] = (float)l[k];
    const double norm_a = norm_of_a(n, l);
    gpusolve_handle *handle = tuned_handle(backend, 0);
    gpusolve_factor *factor = import(handle, e, GPUSOLVE_FLOAT, l);
    REQUIRE(factor);
    const gpusolve_dense b = testing_block(GPUSOLVE_FLOAT, GPUSOLVE_COL_MAJOR, n, COLUMNS, 0);
    const gpusolve_dense x = testing_block(GPUSOLVE_FLOAT, GPUSOLVE_COL_MAJOR, n, COLUMNS, 0);
    fill(&b, l);
    gpusolve_workspace *workspace = NULL;
    REQUIRE(gpusolve_workspace_create(handle, factor, at_once, &workspace) == GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_solve(handle, factor, workspace, GPUSOLVE_A, &b, &x), GPUSOLVE_OK);
    gpusolve_workspace_destroy(workspace);
    for (int j = 0; j < COLUMNS; j++) {
        for (int i = 0; i < n; i++)
            reference[i] = (float)(column[i] = creal(testing_get(&b, i, j)));
        for (int k = 0; k < n; k++) {
            reference[k] /= (float)l[k + (int64_t)k * n];
            for (int i = k + 1; i < n; i++)
                reference[i] -= (float)l[i + (int64_t)k * n] * reference[k];
        }
        for (int k = n - 1; k >= 0; k--) {
            for (int i = k + 1; i < n; i++)
                reference[k] -= (float)l[i + (int64_t)k * n] * reference[i];
            reference[k] /= (float)l[k + (int64_t)k * n];
        }
        for (int i = 0; i < n; i++)
            answer[i] = reference[i];
        const double best = backward_error(n, l, norm_a, answer, column);
        for (int i = 0; i < n; i++)
            answer[i] = creal(testing_get(&x, i, j));
        CHECK_BELOW(backward_error(n, l, norm_a, answer, column), times * fmax(best, FLT_EPSILON / 2));
    }
    gpusolve_factor_destroy(factor);
    gpusolve_destroy(handle);
    void *const all[] = {b.values, x.values, l, column, answer, reference};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        free(all[k]);
}

int main(void) {
    /* around the sizes at which kernels change: one warp, four or eight, tiles of 16 that the triangle ends
     * in or not */
    static const int sizes[][2] = {{1, 1},     {8, 10},    {16, 64},   {17, 40},   {24, 120},
                                   {32, 128},  {20, 300},  {33, 33},   {40, 70},   {48, 96},
                                   {64, 200},  {65, 130},  {100, 180}, {130, 130}, {150, 151},
                                   {160, 320}, {250, 260}, {400, 500}, {600, 610}, {960, 970}};
    static const double growths[] = {2, 30, 60, 75, 90, 113, 1e3, 1e4, 1e6, 1e8, 1e12};
    gpusolve_backend backends[2];
    const int count = testing_backends(backends);
    const size_t step = testing_few() ? 3 : 1;
    for (int k = 0; k < count; k++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s += step)
            for (size_t g = s % step; g < sizeof growths / sizeof *growths; g += step) {
                /* block rows in tasks of several, as only large factors have them, or one by one */
                tuning.together_tasks = (s + g) % 2 ? 0 : gsv_machine_default.together_tasks;
                check_example(backends[k], &(example){sizes[s][0], sizes[s][1], growths[g]});
                for (int64_t at_once = COLUMNS; growths[g] <= 1e4 && at_once >= 8; at_once -= COLUMNS - 8)
                    check_single(backends[k], &(example){sizes[s][0], sizes[s][1], growths[g]}, at_once);
            }
    return testing_done();
}
