/*
 * More than 32 right-hand sides on the device, in a workspace made for as many, and of real numbers more than 16, or,
 * forward, 8, of complex ones more than 2, in single precision 3: kernels of their own, whose sums have another order.
 * All systems against the operator itself; the same bits for a column wherever it stands, in either order, in blocks of
 * any width above 32, or from 17 to 32, 9 to 16, 2 to 8, or complex ones from 3, or 4, to 32; where factors are large,
 * above 64, or up to there; capture, refinement, and the order of fewer columns kept.
 */
#include "testing.h"

#include <cuda_runtime_api.h>

#include "cholmod_helpers.h"
#include "gpusolve_cholmod.h"
#include "gpusolve_selection.h"
#include "ratio.h"
#include "tuning.h"
#include "supernodal/cuda/support.h"

enum { COLUMNS = 300 };

typedef struct subject {
    const char *spec;
    gpusolve_factor_kind kind;
    int single; /* the factor rounded to single precision */
} subject;

static const subject subjects[] = {
    {"elasticity3d:4", GPUSOLVE_SUPERNODAL_LL, 0}, {"elasticity3d:4", GPUSOLVE_SUPERNODAL_LL, 1},
    {"grid2d:17", GPUSOLVE_SUPERNODAL_LL, 0},      {"grid2d:17", GPUSOLVE_SIMPLICIAL_LDL, 1},
    {"grid3d:7@c", GPUSOLVE_SUPERNODAL_LL, 0},     {"grid3d:7@c", GPUSOLVE_SUPERNODAL_LL, 1},
    {"grid3d:6@c", GPUSOLVE_SIMPLICIAL_LDL, 0},
};

typedef struct problem {
    cholmod_sparse *a;
    cholmod_factor *l;
    testing_explicit e;
    float *rounded;
    gpusolve_handle *handle;
    gpusolve_factor *factor;
    gpusolve_workspace *workspace; /* for all columns */
    gpusolve_dtype dtype;
    int64_t n;
} problem;

static problem open_problem(const subject *s, int64_t max_nrhs, cholmod_common *common) {
    problem p = {0};
    p.a = testing_load(s->spec, common);
    REQUIRE(p.a != NULL);
    p.l = testing_factorize(p.a, s->kind, common);
    REQUIRE(p.l != NULL && p.l->minor == p.l->n);
    REQUIRE(testing_explicit_create(p.l, p.a, common, &p.e) == 0);
    gpusolve_factor_data data = testing_factor_data(p.l);
    if (s->single) {
        p.rounded = testing_round(p.l, &data);
        REQUIRE(p.rounded != NULL);
        testing_explicit_round(&p.e);
    }
    p.dtype = data.dtype;
    p.n = (int64_t)p.l->n;
    p.handle = tuned_handle(GPUSOLVE_BACKEND_CUDA, 0);
    REQUIRE(gpusolve_factor_create(p.handle, &data, &p.factor) == GPUSOLVE_OK);
    REQUIRE(gpusolve_workspace_create(p.handle, p.factor, max_nrhs, &p.workspace) == GPUSOLVE_OK);
    return p;
}

static void close_problem(problem *p, cholmod_common *common) {
    gpusolve_workspace_destroy(p->workspace);
    gpusolve_factor_destroy(p->factor);
    gpusolve_destroy(p->handle);
    testing_explicit_free(&p->e);
    cholmod_free_factor(&p->l, common);
    cholmod_free_sparse(&p->a, common);
    free(p->rounded);
}

static double ratio_of(const problem *p, gpusolve_system system, const gpusolve_dense *x,
                       const gpusolve_dense *b, int64_t j) {
    return testing_ratio(&p->e, system, x, b, j, testing_epsilon(p->dtype));
}

/* Columns first .. first + cols - 1 again, in some other way: the bits of the answer. */
static void check_columns(const problem *p, gpusolve_workspace *workspace, gpusolve_system system,
                          const gpusolve_dense *b, const gpusolve_dense *expected, int64_t first,
                          int64_t cols, gpusolve_order order, int in_place, int on_device) {
    const gpusolve_dense from = testing_block(p->dtype, order, p->n, cols, 3);
    gpusolve_dense to = testing_block(p->dtype, in_place ? order : GPUSOLVE_COL_MAJOR, p->n, cols, 1);
    for (int64_t j = 0; j < cols; j++)
        for (int64_t i = 0; i < p->n; i++)
            testing_set(&from, i, j, testing_get(b, i, first + j));
    const gpusolve_dense *x = in_place ? &from : &to;
    CHECK_STATUS(testing_solve(p->handle, p->factor, workspace, system, &from, x, on_device), GPUSOLVE_OK);
    CHECK(testing_padding_untouched(x));
    CHECK(testing_same_bits(x, 0, expected, first, cols));
    free(from.values);
    free(to.values);
}

/* One for so many columns, about which the next checks are. */
static gpusolve_workspace *workspace_for(const problem *p, const subject *s, gpusolve_system system,
                                         int64_t cols) {
    gpusolve_workspace *workspace;
    testing_in("%s, kind %d, single %d, system %d, nrhs %d", s->spec, (int)s->kind, s->single, (int)system,
               (int)cols);
    REQUIRE(gpusolve_workspace_create(p->handle, p->factor, cols, &workspace) == GPUSOLVE_OK);
    return workspace;
}

/* 17 to 32 columns, in any workspace for as many, and a multiple of so many in one that is made for them or in
 * the handle's own. */
static void check_middle(const problem *p, const subject *s, gpusolve_system system,
                         const gpusolve_dense *b) {
    enum { MIDDLE = 9 * 32 };
    static const int64_t widths[] = {17, 24, 31, 32};
    const gpusolve_dense x = testing_block(p->dtype, GPUSOLVE_COL_MAJOR, p->n, MIDDLE, 0);
    gpusolve_dense all = *b;
    all.cols = MIDDLE;
    testing_in("%s, kind %d, single %d, system %d, middle", s->spec, (int)s->kind, s->single, (int)system);
    CHECK_STATUS(testing_solve(p->handle, p->factor, NULL, system, &all, &x, 1), GPUSOLVE_OK);
    for (int64_t j = 0; j < MIDDLE; j++)
        CHECK_BELOW(ratio_of(p, system, &x, b, j), 30);
    for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++) {
        const int64_t cols = widths[w];
        gpusolve_workspace *workspace = workspace_for(p, s, system, cols);
        check_columns(p, p->workspace, system, b, &x, MIDDLE - cols, cols, GPUSOLVE_ROW_MAJOR, 0, 1);
        check_columns(p, NULL, system, b, &x, 3, cols, GPUSOLVE_COL_MAJOR, 1, 0);
        check_columns(p, workspace, system, b, &x, 5, cols, GPUSOLVE_COL_MAJOR, 0, 1);
        check_columns(p, workspace, system, b, &x, 1, 3 * cols, GPUSOLVE_ROW_MAJOR, 1, 1);
        gpusolve_workspace_destroy(workspace);
    }
    free(x.values);
}

static void check_system(const problem *p, const subject *s, gpusolve_system system) {
    static const int64_t widths[] = {33, 63, 64, 65, 100, 128, 129, 256, 257};
    const gpusolve_dense b = testing_block(p->dtype, GPUSOLVE_COL_MAJOR, p->n, COLUMNS, 0);
    const gpusolve_dense x = testing_block(p->dtype, GPUSOLVE_ROW_MAJOR, p->n, COLUMNS, 5);
    const gpusolve_dense few = testing_block(p->dtype, GPUSOLVE_COL_MAJOR, p->n, COLUMNS, 0);
    testing_fill(&b, 29);
    testing_in("%s, kind %d, single %d, system %d", s->spec, (int)s->kind, s->single, (int)system);
    CHECK_STATUS(testing_solve(p->handle, p->factor, p->workspace, system, &b, &x, 1), GPUSOLVE_OK);
    CHECK(testing_padding_untouched(&x));
    for (int64_t j = 0; j < COLUMNS; j++)
        CHECK_BELOW(ratio_of(p, system, &x, &b, j), 30);
    for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++) {
        const int64_t cols = widths[w];
        gpusolve_workspace *workspace = workspace_for(p, s, system, cols);
        check_columns(p, p->workspace, system, &b, &x, COLUMNS - cols, cols, GPUSOLVE_COL_MAJOR, 0, 1);
        check_columns(p, p->workspace, system, &b, &x, COLUMNS - cols, cols, GPUSOLVE_ROW_MAJOR, 1, 0);
        check_columns(p, workspace, system, &b, &x, 0, cols, GPUSOLVE_ROW_MAJOR, 0, 1);
        check_columns(p, workspace, system, &b, &x, 1, cols, GPUSOLVE_COL_MAJOR, 1, 1);
        gpusolve_workspace_destroy(workspace);
    }
    check_middle(p, s, system, &b);
    /* two to 8, and 9 to 16, or of complex numbers one to 3, in double precision to 2, and more to 16, in any workspace, and
     * any number in one that is made for the most of them */
    const int64_t low = !testing_is_complex(p->dtype)        ? 8
                        : p->dtype == GPUSOLVE_COMPLEX_FLOAT ? GSV_FEW_IN_SINGLE
                                                             : GSV_FEW_COMPLEX;
    for (int upper = 0; upper < 2; upper++) {
        const int64_t most = upper ? 16 : low, least = upper ? low + 1 : testing_is_complex(p->dtype) ? 1 : 2;
        gpusolve_workspace *narrow = workspace_for(p, s, system, most);
        CHECK_STATUS(gpusolve_solve(p->handle, p->factor, narrow, system, &b, &few), GPUSOLVE_OK);
        for (int64_t j = 0; j < COLUMNS; j++)
            CHECK_BELOW(ratio_of(p, system, &few, &b, j), 30);
        check_columns(p, NULL, system, &b, &few, 17, least, GPUSOLVE_COL_MAJOR, 0, 1);
        /* 1, 3 or 11 are left */
        check_columns(p, narrow, system, &b, &few, 3, 107, GPUSOLVE_ROW_MAJOR, 0, 0);
        check_columns(p, p->workspace, system, &b, &few, 8, most, GPUSOLVE_ROW_MAJOR, 0, 1);
        check_columns(p, p->workspace, system, &b, &few, 5, upper ? 11 : 2, GPUSOLVE_COL_MAJOR, 0, 1);
        if (upper && testing_is_complex(p->dtype)) /* 17 to 32 have the bits of these */
            check_columns(p, p->workspace, system, &b, &few, 7, 30, GPUSOLVE_COL_MAJOR, 0, 1);
        gpusolve_workspace_destroy(narrow);
    }
    free(b.values);
    free(x.values);
    free(few.values);
}

/* So many columns, in vectors that are broad or not, on host and device, again and again; and `some` of them, from
 * `first` on, for which vectors are as broad. Each may have as large an error as a solve of few columns may. */
static void check_block(const problem *p, int64_t cols, int64_t first, int64_t some) {
    const double norm = testing_sparse_norm(p->a);
    const gpusolve_dense b = testing_block(p->dtype, GPUSOLVE_ROW_MAJOR, p->n, cols, 0);
    const gpusolve_dense x = testing_block(p->dtype, GPUSOLVE_COL_MAJOR, p->n, cols, 0);
    double complex *column = malloc(2 * (size_t)p->n * sizeof *column);
    REQUIRE(column != NULL);
    testing_fill(&b, 31);
    for (int on_device = 0; on_device < 2; on_device++) {
        CHECK_STATUS(testing_solve(p->handle, p->factor, p->workspace, GPUSOLVE_A, &b, &x, on_device),
                     GPUSOLVE_OK);
        for (int64_t j = 0; j < cols; j++) {
            for (int64_t i = 0; i < p->n; i++) {
                column[i] = testing_get(&x, i, j);
                column[p->n + i] = testing_get(&b, i, j);
            }
            CHECK_BELOW(testing_backward_error(p->a, norm, column, column + p->n), 30 * DBL_EPSILON);
        }
        for (int repeat = 0; repeat < 10; repeat++)
            check_columns(p, p->workspace, GPUSOLVE_A, &b, &x, 0, cols, GPUSOLVE_COL_MAJOR, 0, 1);
    }
    check_columns(p, p->workspace, GPUSOLVE_A, &b, &x, first, some, GPUSOLVE_COL_MAJOR, 0, 1);
    free(column);
    free(b.values);
    free(x.values);
}

static void open_large(problem *p, const char *spec, cholmod_common *common) {
    testing_in("%s", spec);
    *p = (problem){.a = testing_load(spec, common)};
    REQUIRE(p->a != NULL);
    p->l = testing_factorize(p->a, GPUSOLVE_SUPERNODAL_LL, common);
    REQUIRE(p->l != NULL && p->l->minor == p->l->n);
    p->handle = tuned_handle(GPUSOLVE_BACKEND_CUDA, 0);
    p->n = (int64_t)p->l->n;
    p->dtype = p->l->xtype == CHOLMOD_REAL ? GPUSOLVE_DOUBLE : GPUSOLVE_COMPLEX_DOUBLE;
    REQUIRE(gpusolve_cholmod_import(p->handle, p->l, &p->factor) == GPUSOLVE_OK);
    REQUIRE(gpusolve_workspace_create(p->handle, p->factor, COLUMNS, &p->workspace) == GPUSOLVE_OK);
}

static void close_large(problem *p, cholmod_common *common) {
    gpusolve_workspace_destroy(p->workspace);
    gpusolve_factor_destroy(p->factor);
    gpusolve_destroy(p->handle);
    cholmod_free_factor(&p->l, common);
    cholmod_free_sparse(&p->a, common);
}

/* Every kind of tile. The last columns of 300 are 44 of broad vectors. */
static void check_large(const char *spec, cholmod_common *common) {
    problem p;
    open_large(&p, spec, common);
    check_block(&p, 8, 3, 5);
    check_block(&p, 16, 3, 10);
    check_block(&p, 32, 3, 20);
    check_block(&p, 64, 20, 40);
    check_block(&p, COLUMNS, 90, 190);
    close_large(&p, common);
}

/* Complex columns in double precision: three and four are tasks, too, with the bits of more; one and two are not. */
static void check_few_complex(const char *spec, cholmod_common *common) {
    problem p;
    open_large(&p, spec, common);
    CHECK(gsv_before_tasks((gsv_numbers)p.dtype, &((gsv_cuda_factor *)p.factor->prepared)->abilities) ==
          GSV_FEW_COMPLEX);
    check_block(&p, 4, 1, 3);
    check_block(&p, 16, 3, 3);
    check_block(&p, 2, 1, 1);
    close_large(&p, common);
}

/* Large supernodes get triangles whose inverses grow so much, as in test_condition.c, that they are split: unit, but for
 * -g below the diagonal; and small rows below. */
static void make_ill(cholmod_factor *l, double growth) {
    const int32_t *super = l->super, *pi = l->pi, *px = l->px;
    for (size_t s = 0; s < l->nsuper; s++) {
        const int32_t nc = super[s + 1] - super[s], nr = pi[s + 1] - pi[s];
        if (nc < 100)
            continue;
        double *panel = (double *)l->x + px[s];
        const double g = pow(growth, 1.0 / nc) - 1;
        for (int32_t j = 0; j < nc; j++)
            for (int32_t i = j; i < nr; i++)
                panel[i + (int64_t)j * nr] = i == j ? 1 : i < nc ? -g : 1.0 / (nr + i + j);
    }
}

/* Supernodes that are split, among others. */
static void check_split(const char *spec, double growth, cholmod_common *common) {
    static const gpusolve_system systems[] = {GPUSOLVE_L, GPUSOLVE_Lt};
    static const int64_t blocks[][3] = {
        {16, 3, 10}, {64, 20, 40}, {COLUMNS, 90, 190}}; /* as in check_large() */
    problem p = {0};
    testing_in("%s, growth %g", spec, growth);
    p.a = testing_load(spec, common);
    REQUIRE(p.a != NULL);
    p.l = testing_factorize(p.a, GPUSOLVE_SUPERNODAL_LL, common);
    REQUIRE(p.l != NULL && p.l->minor == p.l->n);
    make_ill(p.l, growth);
    REQUIRE(testing_explicit_create(p.l, p.a, common, &p.e) == 0);
    p.handle = tuned_handle(GPUSOLVE_BACKEND_CUDA, 0);
    p.n = (int64_t)p.l->n;
    p.dtype = GPUSOLVE_DOUBLE;
    REQUIRE(gpusolve_cholmod_import(p.handle, p.l, &p.factor) == GPUSOLVE_OK);
    CHECK(p.factor->plan.l.nsuper > (int64_t)p.l->nsuper);
    REQUIRE(gpusolve_workspace_create(p.handle, p.factor, COLUMNS, &p.workspace) == GPUSOLVE_OK);
    for (int k = 0; k < 6; k++) {
        const int64_t *block = blocks[k / 2];
        const gpusolve_system system = systems[k % 2];
        const gpusolve_dense b = testing_block(p.dtype, GPUSOLVE_ROW_MAJOR, p.n, block[0], 0);
        const gpusolve_dense x = testing_block(p.dtype, GPUSOLVE_COL_MAJOR, p.n, block[0], 0);
        testing_fill(&b, 37);
        CHECK_STATUS(testing_solve(p.handle, p.factor, p.workspace, system, &b, &x, 1), GPUSOLVE_OK);
        for (int64_t j = 0; j < block[0]; j++)
            CHECK_BELOW(ratio_of(&p, system, &x, &b, j), 30);
        check_columns(&p, p.workspace, system, &b, &x, block[1], block[2], GPUSOLVE_COL_MAJOR, 0, 1);
        free(b.values);
        free(x.values);
    }
    close_problem(&p, common);
}

/* A solve of 300 columns in a graph, and again after a refresh: 4 A has the factor 2 L. */
static void check_capture(cholmod_common *common) {
    const subject s = {"grid2d:40", GPUSOLVE_SUPERNODAL_LL, 0};
    testing_in("capture");
    problem p = open_problem(&s, COLUMNS, common);
    const gpusolve_dense b = testing_block(p.dtype, GPUSOLVE_COL_MAJOR, p.n, COLUMNS, 0);
    const gpusolve_dense x = testing_block(p.dtype, GPUSOLVE_COL_MAJOR, p.n, COLUMNS, 0);
    const gpusolve_dense expected = testing_block(p.dtype, GPUSOLVE_COL_MAJOR, p.n, COLUMNS, 0);
    testing_fill(&b, 1);
    gpusolve_dense device_b = b, device_x = x;
    device_b.values = device_new(b.values, testing_block_bytes(&b));
    device_x.values = device_new(x.values, testing_block_bytes(&x));
    REQUIRE(device_b.values && device_x.values);
    cudaStream_t stream = NULL;
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
    CHECK_STATUS(gpusolve_set_stream(p.handle, stream), GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_solve(p.handle, p.factor, p.workspace, GPUSOLVE_A, &b, &expected), GPUSOLVE_OK);
    REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
    CHECK_STATUS(gpusolve_solve(p.handle, p.factor, p.workspace, GPUSOLVE_A, &device_b, &device_x),
                 GPUSOLVE_OK);
    REQUIRE(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
    REQUIRE(cudaGraphInstantiate(&exec, graph, 0) == cudaSuccess);
    for (int refreshed = 0; refreshed < 2; refreshed++) {
        for (int round = 0; round < 3; round++)
            CHECK(cudaGraphLaunch(exec, stream) == cudaSuccess);
        CHECK(cudaStreamSynchronize(stream) == cudaSuccess);
        CHECK(device_read(x.values, device_x.values, testing_block_bytes(&x)) == 0);
        CHECK(testing_same_bits(&x, 0, &expected, 0, COLUMNS));
        for (size_t k = 0; k < p.l->xsize; k++)
            ((double *)p.l->x)[k] *= 2;
        CHECK_STATUS(gpusolve_cholmod_refresh(p.handle, p.factor, p.l), GPUSOLVE_OK);
        for (int64_t k = 0; k < p.n * COLUMNS; k++)
            ((double *)expected.values)[k] /= 4;
    }
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
    device_delete(device_b.values);
    device_delete(device_x.values);
    free(b.values);
    free(x.values);
    free(expected.values);
    close_problem(&p, common);
    cudaStreamDestroy(stream);
}

/* Refinement and a selection of many columns, and the workspace that the query announces. */
static void check_others(cholmod_common *common) {
    const subject s = {"elasticity3d:6", GPUSOLVE_SUPERNODAL_LL, 0};
    enum { SOME = 100, ROWS = 2 };
    testing_in("refinement, selection, query");
    problem p = open_problem(&s, SOME, common);
    const gpusolve_matrix_data data = testing_matrix_data(p.a);
    gpusolve_matrix *matrix;
    REQUIRE(gpusolve_matrix_create(p.handle, &data, &matrix) == GPUSOLVE_OK);
    const gpusolve_dense b = testing_block(p.dtype, GPUSOLVE_COL_MAJOR, p.n, SOME, 0);
    const gpusolve_dense x = testing_block(p.dtype, GPUSOLVE_ROW_MAJOR, p.n, SOME, 0);
    testing_fill(&b, 3);
    double errors[SOME];
    CHECK_STATUS(gpusolve_refine(p.handle, p.factor, matrix, p.workspace, &b, &x, NULL, errors, NULL),
                 GPUSOLVE_OK);
    for (int j = 0; j < SOME; j++)
        CHECK_BELOW(errors[j], 2 * DBL_EPSILON);
    gpusolve_matrix_destroy(matrix);

    const int64_t rows[ROWS] = {7, 3};
    gpusolve_selection *selection;
    REQUIRE(gpusolve_selection_create(p.handle, p.factor, GPUSOLVE_A, p.n, NULL, ROWS, rows, SOME,
                                      &selection) == GPUSOLVE_OK);
    const gpusolve_dense part = testing_block(p.dtype, GPUSOLVE_COL_MAJOR, ROWS, SOME, 0);
    CHECK_STATUS(gpusolve_solve_selected(p.handle, p.factor, selection, &b, &part), GPUSOLVE_OK);
    for (int64_t j = 0; j < SOME; j++) {
        double largest = 0;
        for (int64_t i = 0; i < p.n; i++)
            largest = fmax(largest, cabs(testing_get(&x, i, j)));
        for (int64_t r = 0; r < ROWS; r++)
            CHECK_BELOW(cabs(testing_get(&part, r, j) - testing_get(&x, rows[r], j)) / largest, 1e-9);
    }
    gpusolve_selection_destroy(selection);

    /* what a workspace takes: y, x, the update rows that are shared, a multiple of 64 columns wide */
    gpusolve_info narrow = {.size = sizeof narrow}, wide = {.size = sizeof wide},
                  full = {.size = sizeof full};
    CHECK_STATUS(gpusolve_factor_info(p.handle, p.factor, 65, &narrow), GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_factor_info(p.handle, p.factor, 128, &wide), GPUSOLVE_OK);
    CHECK(narrow.workspace_bytes == wide.workspace_bytes);
    CHECK(wide.workspace_bytes >= 2 * 128 * p.n * (int64_t)sizeof(double));
    CHECK_STATUS(gpusolve_factor_info(p.handle, p.factor, 256, &wide), GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_factor_info(p.handle, p.factor, 4000, &full), GPUSOLVE_OK);
    CHECK(wide.workspace_bytes == full.workspace_bytes); /* bounded */
    free(b.values);
    free(x.values);
    free(part.values);
    close_problem(&p, common);
}

int main(void) {
    gpusolve_backend backends[2];
    cholmod_common common;
    if (testing_backends(backends) < 2) {
        printf("skipped: no CUDA device\n");
        return TESTING_SKIPPED;
    }
    cholmod_start(&common);
    tuning.groups = 1; /* small factors, too, have these kernels for 9 to 64 columns (test_cuda_side.c), */
    tuning.ones = 1;   /* and those of several for 2 to 8 */
    const int few = testing_few();
    for (size_t k = 0; k < sizeof subjects / sizeof subjects[0]; k += few ? 3 : 1) {
        problem p = open_problem(&subjects[k], COLUMNS, &common);
        for (int system = few ? (int)(k / 3 % 3) : 0; system < 9; system += few ? 3 : 1)
            check_system(&p, &subjects[k], (gpusolve_system)system);
        close_problem(&p, &common);
    }
    check_large("diag:3000", &common); /* branches without rows below */
    check_large("grid3d:12@c", &common);
    check_large("elasticity3d:9", &common);
    check_few_complex("grid2d:60@c", &common);
    check_split("elasticity3d:8", 1e5, &common);
    if (!few) {
        check_large("forest:900", &common);
        check_large("grid2d:60", &common);
        check_large("grid3d:16", &common);
        check_large("elasticity3d:12", &common); /* broad vectors have other tiles */
        check_few_complex("grid3d:22@c", &common);
        check_split("grid3d:16", 1e3, &common);
    }
    check_capture(&common);
    check_others(&common);
    cholmod_finish(&common);
    return testing_done();
}
