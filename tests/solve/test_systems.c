/*
 * All nine systems, on every kind of factor that CHOLMOD makes, against the operator itself and against
 * cholmod_solve: widths around every block edge, both orders, padding, in place, and operands on the device
 * where there is one.
 */
#include "testing.h"

#include "cholmod_helpers.h"
#include "gpusolve_cholmod.h"

enum { WIDEST = 33, MAX_NRHS = 16 };

typedef struct test_subject {
    const char *name;
    const char *spec;
    gpusolve_factor_kind kind;
    int zomplex;
    int indefinite;
} test_subject;

static const test_subject subjects[] = {
    {"supernodal L L', real", "elasticity3d:4", GPUSOLVE_SUPERNODAL_LL, 0, 0},
    {"supernodal L L', many roots and narrow supernodes", "grid2d:17", GPUSOLVE_SUPERNODAL_LL, 0, 0},
    {"supernodal L L', complex", "grid3d:7@c", GPUSOLVE_SUPERNODAL_LL, 0, 0},
    {"simplicial L L', real", "grid2d:17", GPUSOLVE_SIMPLICIAL_LL, 0, 0},
    {"simplicial L L', complex", "grid2d:17@c", GPUSOLVE_SIMPLICIAL_LL, 0, 0},
    {"simplicial L L', zomplex", "grid2d:17@c", GPUSOLVE_SIMPLICIAL_LL, 1, 0},
    {"simplicial L D L', real", "elasticity3d:3", GPUSOLVE_SIMPLICIAL_LDL, 0, 0},
    {"simplicial L D L', complex", "grid3d:6@c", GPUSOLVE_SIMPLICIAL_LDL, 0, 0},
    {"simplicial L D L', zomplex", "grid3d:6@c", GPUSOLVE_SIMPLICIAL_LDL, 1, 0},
    {"simplicial L D L', real, indefinite", "grid2d:17", GPUSOLVE_SIMPLICIAL_LDL, 0, 1},
    {"simplicial L D L', complex, indefinite", "grid2d:17@c", GPUSOLVE_SIMPLICIAL_LDL, 0, 1},
};

static const char *const system_names[] = {"A", "LDLt", "LD", "DLt", "L", "Lt", "D", "P", "Pt"};

/* Diagonally dominant with a diagonal of both signs: L D L' exists in every order. */
static void make_indefinite(cholmod_sparse *a) {
    const int *p = a->p;
    int parts = a->xtype == CHOLMOD_REAL ? 1 : 2;
    for (int j = 0; j < (int)a->ncol; j++)
        ((double *)a->x)[p[j] * parts] = j % 3 ? 6 : -7;
}

typedef struct cholmod_answers { /* what CHOLMOD answers, and the operator it answers for */
    testing_explicit e;
    double norms[9]; /* of the operators */
    cholmod_dense *x[9];
} cholmod_answers;

/* Column j of b, which is the same whatever the number of columns is. */
static gpusolve_dense right_hand_sides(gpusolve_dtype dtype, gpusolve_order order, int64_t n, int64_t cols,
                                       int64_t padding) {
    gpusolve_dense b = testing_block(dtype, order, n, cols, padding);
    testing_fill(&b, 7);
    return b;
}

static void get_column(const gpusolve_dense *dense, int64_t j, double complex *column) {
    for (int64_t i = 0; i < dense->rows; i++)
        column[i] = testing_get(dense, i, j);
}

/* norm(M x - b) / (norm(M) norm(x) eps), 0 where nothing differs */
static double ratio_of(const testing_explicit *e, double norm, gpusolve_system system,
                       const double complex *x, const double complex *b) {
    double complex *y = malloc((size_t)e->n * sizeof *y);
    REQUIRE(y != NULL);
    testing_multiply(e, system, x, y);
    double r = 0, norm_x = 0;
    for (int i = 0; i < e->n; i++) {
        r = cabs(y[i] - b[i]) <= r || isnan(r) ? r : cabs(y[i] - b[i]);
        norm_x = fmax(norm_x, cabs(x[i]));
    }
    free(y);
    return r == 0 ? 0 : r / (norm * norm_x * DBL_EPSILON);
}

/*
 * One column of an answer. Partial systems: the ratio. A: the backward error against ten times CHOLMOD's,
 * where an error below the unit roundoff counts as that: rounding the exact solution to doubles already costs
 * as much.
 */
static void check_column(const cholmod_answers *reference, gpusolve_system system, const double complex *x,
                         const double complex *cholmod_x, const double complex *b) {
    const testing_explicit *e = &reference->e;
    if (system == GPUSOLVE_A) {
        double theirs = testing_backward_error(e->a, reference->norms[GPUSOLVE_A], cholmod_x, b);
        double ours = testing_backward_error(e->a, reference->norms[GPUSOLVE_A], x, b);
        CHECK_BELOW(ours, 10 * fmax(theirs, DBL_EPSILON / 2));
    } else if (system == GPUSOLVE_P || system == GPUSOLVE_Pt) {
        CHECK(memcmp(x, cholmod_x, (size_t)e->n * sizeof *x) == 0);
    }
    CHECK_BELOW(ratio_of(e, reference->norms[system], system, x, b), 30);
}

static void check_answer(const cholmod_answers *reference, gpusolve_system system, const gpusolve_dense *x) {
    int64_t n = x->rows;
    double complex *ours = malloc((size_t)(3 * n) * sizeof *ours);
    REQUIRE(ours != NULL);
    double complex *theirs = ours + n, *b_column = theirs + n;
    gpusolve_dense b = right_hand_sides(x->dtype, GPUSOLVE_COL_MAJOR, n, x->cols, 0);
    for (int64_t j = 0; j < x->cols; j++) {
        get_column(x, j, ours);
        get_column(&b, j, b_column);
        for (int64_t i = 0; i < n; i++)
            theirs[i] = testing_fetch(x->dtype, reference->x[system]->x, i + j * n);
        check_column(reference, system, ours, theirs, b_column);
    }
    free(b.values);
    free(ours);
}

/* CHOLMOD's answers to all systems, themselves held against the operators: they pin down what each system
 * means. */
static void make_reference(const test_subject *subject, cholmod_sparse *a, cholmod_factor *l,
                           cholmod_common *common, cholmod_answers *reference) {
    testing_in("CHOLMOD, %s", subject->name);
    memset(reference, 0, sizeof *reference);
    REQUIRE(testing_explicit_create(l, a, common, &reference->e) == 0);
    for (int system = 0; system < 9; system++)
        reference->norms[system] = testing_norm(&reference->e, (gpusolve_system)system);
    int is_complex = a->xtype != CHOLMOD_REAL;
    int64_t n = (int64_t)a->nrow;
    gpusolve_dtype dtype = is_complex ? GPUSOLVE_COMPLEX_DOUBLE : GPUSOLVE_DOUBLE;
    gpusolve_dense values = right_hand_sides(dtype, GPUSOLVE_COL_MAJOR, n, WIDEST, 0);
    cholmod_dense *b = cholmod_allocate_dense((size_t)n, WIDEST, (size_t)n,
                                              is_complex ? CHOLMOD_COMPLEX : CHOLMOD_REAL, common);
    REQUIRE(b != NULL);
    memcpy(b->x, values.values, testing_block_bytes(&values));
    for (int system = 0; system < 9; system++) {
        reference->x[system] = cholmod_solve(system, l, b, common);
        REQUIRE(reference->x[system] != NULL && reference->x[system]->xtype == b->xtype);
        gpusolve_dense x = {dtype, GPUSOLVE_COL_MAJOR, n, WIDEST, n, reference->x[system]->x};
        testing_in("CHOLMOD, %s, system %s", subject->name, system_names[system]);
        check_answer(reference, (gpusolve_system)system, &x);
    }
    cholmod_free_dense(&b, common);
    free(values.values);
}

typedef struct test_solver {
    gpusolve_handle *handle;
    gpusolve_factor *factor;
    gpusolve_workspace *workspace;
    gpusolve_dtype dtype;
    int64_t n;
    int on_device;
} test_solver;

static void check_out_of_place(const test_solver *solver, const cholmod_answers *reference,
                               gpusolve_system system, int64_t nrhs, gpusolve_order b_order,
                               gpusolve_order x_order, int64_t padding) {
    gpusolve_dense b = right_hand_sides(solver->dtype, b_order, solver->n, nrhs, padding);
    gpusolve_dense kept = right_hand_sides(solver->dtype, b_order, solver->n, nrhs, padding);
    gpusolve_dense x = testing_block(solver->dtype, x_order, solver->n, nrhs, 2 * padding);
    CHECK_STATUS(
        testing_solve(solver->handle, solver->factor, solver->workspace, system, &b, &x, solver->on_device),
        GPUSOLVE_OK);
    check_answer(reference, system, &x);
    CHECK(testing_padding_untouched(&x));
    CHECK(memcmp(b.values, kept.values, testing_block_bytes(&b)) == 0);
    free(b.values);
    free(kept.values);
    free(x.values);
}

static void check_in_place(const test_solver *solver, const cholmod_answers *reference,
                           gpusolve_system system, int64_t nrhs, gpusolve_order order, int64_t padding) {
    gpusolve_dense x = right_hand_sides(solver->dtype, order, solver->n, nrhs, padding);
    CHECK_STATUS(
        testing_solve(solver->handle, solver->factor, solver->workspace, system, &x, &x, solver->on_device),
        GPUSOLVE_OK);
    check_answer(reference, system, &x);
    CHECK(testing_padding_untouched(&x));
    free(x.values);
}

static void check_systems(const test_subject *subject, const test_solver *solver, const int64_t *widths,
                          int count, const cholmod_answers *reference) {
    const gpusolve_order col = GPUSOLVE_COL_MAJOR, row = GPUSOLVE_ROW_MAJOR;
    for (int s = 0; s < 9; s++)
        for (int w = 0; w < count; w++) {
            gpusolve_system system = (gpusolve_system)s;
            if (testing_few() && (s + w) % 2 != solver->on_device) /* a quick run: half of the pairs */
                continue;
            testing_in("%s, %s, %s, system %s, nrhs %d",
                       testing_backend_name(gpusolve_get_backend(solver->handle)),
                       solver->on_device ? "device pointers" : "host pointers", subject->name,
                       system_names[s], (int)widths[w]);
            check_out_of_place(solver, reference, system, widths[w], col, col, 0);
            check_out_of_place(solver, reference, system, widths[w], col, col, 3);
            check_out_of_place(solver, reference, system, widths[w], row, row, 2);
            check_out_of_place(solver, reference, system, widths[w], row, col, 1);
            check_out_of_place(solver, reference, system, widths[w], col, row, 0);
            check_in_place(solver, reference, system, widths[w], col, 0);
            check_in_place(solver, reference, system, widths[w], col, 5);
            check_in_place(solver, reference, system, widths[w], row, 0);
            check_in_place(solver, reference, system, widths[w], row, 1);
        }
}

static void check_backend(const test_subject *subject, gpusolve_backend backend, const cholmod_factor *l,
                          const cholmod_answers *reference) {
    static const int64_t widths[] = {0, 1, 2, 5, 15, 16, 17, WIDEST}, few[] = {WIDEST, 1};
    test_solver solver = {0};
    testing_in("%s, %s", testing_backend_name(backend), subject->name);
    solver.handle = testing_handle(backend, 2);
    REQUIRE(gpusolve_cholmod_import(solver.handle, l, &solver.factor) == GPUSOLVE_OK);
    solver.dtype = l->xtype == CHOLMOD_REAL ? GPUSOLVE_DOUBLE : GPUSOLVE_COMPLEX_DOUBLE;
    solver.n = (int64_t)l->n;
    /* blocks of 16 columns from a workspace of the test's, then the handle's own */
    REQUIRE(gpusolve_workspace_create(solver.handle, solver.factor, MAX_NRHS, &solver.workspace) ==
            GPUSOLVE_OK);
    for (solver.on_device = 0; solver.on_device <= (backend == GPUSOLVE_BACKEND_CUDA); solver.on_device++)
        check_systems(subject, &solver, widths, sizeof widths / sizeof widths[0], reference);
    gpusolve_workspace_destroy(solver.workspace);
    solver.workspace = NULL;
    solver.on_device = 0;
    check_systems(subject, &solver, few, sizeof few / sizeof few[0], reference);
    gpusolve_factor_destroy(solver.factor);
    gpusolve_destroy(solver.handle);
}

static void check_subject(const test_subject *subject, cholmod_common *common) {
    testing_in("%s", subject->name);
    cholmod_sparse *a = testing_load(subject->spec, common);
    REQUIRE(a != NULL);
    if (subject->indefinite)
        make_indefinite(a);
    cholmod_factor *l = testing_factorize(a, subject->kind, common);
    REQUIRE(l != NULL && l->minor == l->n);
    if (subject->zomplex)
        REQUIRE(cholmod_factor_xtype(CHOLMOD_ZOMPLEX, l, common));
    cholmod_answers reference;
    make_reference(subject, a, l, common, &reference);

    gpusolve_backend backends[2];
    int count = testing_backends(backends);
    for (int i = 0; i < count; i++)
        check_backend(subject, backends[i], l, &reference);

    for (int system = 0; system < 9; system++)
        cholmod_free_dense(&reference.x[system], common);
    testing_explicit_free(&reference.e);
    cholmod_free_factor(&l, common);
    cholmod_free_sparse(&a, common);
}

int main(void) {
    cholmod_common common;
    cholmod_start(&common);
    for (size_t i = 0; i < sizeof subjects / sizeof subjects[0]; i += testing_few() ? 3 : 1)
        check_subject(&subjects[i], &common);
    cholmod_finish(&common);
    return testing_done();
}
