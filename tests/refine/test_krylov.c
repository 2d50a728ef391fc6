/*
 * Refinement by conjugate gradients and by FGMRES with a factor of A, of systems with A + E: numbers of steps against textbook methods in plain
 * C, errors that are true, columns that do not know of each other, and the automatic choice.
 */
#include "krylov_case.h"
#include "memory.h"

enum { COLUMNS = 5, MOST = 200 };

/* ------------------------------------------------------------------------------- textbook methods --- */

typedef struct reference {
    const krylov_case *c;
    cholmod_common *common;
    double complex *b, *x, *r, *work; /* [n] */
} reference;

/* z = F \ r */
static void precondition(const reference *t, const double complex *r, double complex *z) {
    const size_t n = (size_t)t->c->n;
    cholmod_dense *b = cholmod_zeros(n, 1, CHOLMOD_COMPLEX, t->common);
    REQUIRE(b != NULL);
    memcpy(b->x, r, n * sizeof *r);
    cholmod_dense *x = cholmod_solve(CHOLMOD_A, t->c->l, b, t->common);
    REQUIRE(x != NULL && x->xtype == CHOLMOD_COMPLEX);
    memcpy(z, x->x, n * sizeof *z);
    cholmod_free_dense(&b, t->common);
    cholmod_free_dense(&x, t->common);
}

static double complex inner(int64_t n, const double complex *a, const double complex *b) {
    double complex sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += conj(a[i]) * b[i];
    return sum;
}

static double norm2(int64_t n, const double complex *a) {
    return sqrt(creal(inner(n, a, a)));
}

/* r = b - A x and the backward error. */
static double error_of(const reference *t) {
    testing_sparse_multiply(t->c->a, t->x, t->r);
    for (int64_t i = 0; i < t->c->n; i++)
        t->r[i] = t->b[i] - t->r[i];
    return testing_backward_error(t->c->a, t->c->norm_a, t->x, t->b);
}

/* Steps of preconditioned conjugate gradients until the residual's 2-norm has fallen to `target`. */
static int reference_cg(const reference *t, double target) {
    const int64_t n = t->c->n;
    double complex *z = t->work, *p = z + n, *q = p + n;
    double before = 0;
    for (int step = 0; step < MOST; step++) {
        if (norm2(n, t->r) <= target)
            return step;
        precondition(t, t->r, z);
        const double rho = creal(inner(n, t->r, z));
        for (int64_t i = 0; i < n; i++)
            p[i] = z[i] + (step > 0 ? rho / before * p[i] : 0);
        before = rho;
        testing_sparse_multiply(t->c->a, p, q);
        const double alpha = rho / creal(inner(n, p, q));
        for (int64_t i = 0; i < n; i++) {
            t->x[i] += alpha * p[i];
            t->r[i] -= alpha * q[i];
        }
    }
    return MOST;
}

/* The least residual of A z(i) y(i), by generalised conjugate residuals: in exact arithmetic FGMRES without a restart. */
static int reference_minimal(const reference *t, double target) {
    const int64_t n = t->c->n;
    enum { ROOM = 40 };
    double complex *p = malloc(ROOM * (size_t)n * sizeof *p), *q = malloc(ROOM * (size_t)n * sizeof *q);
    REQUIRE(p && q);
    int step = 0;
    for (; step < ROOM && norm2(n, t->r) > target; step++) {
        double complex *pk = p + step * n, *qk = q + step * n;
        precondition(t, t->r, pk);
        testing_sparse_multiply(t->c->a, pk, qk);
        for (int twice = 0; twice < 2; twice++)
            for (int l = 0; l < step; l++) {
                const double complex h = inner(n, q + l * n, qk);
                for (int64_t i = 0; i < n; i++) {
                    qk[i] -= h * q[l * n + i];
                    pk[i] -= h * p[l * n + i];
                }
            }
        const double length = norm2(n, qk);
        for (int64_t i = 0; i < n; i++) {
            qk[i] /= length;
            pk[i] /= length;
        }
        const double complex alpha = inner(n, qk, t->r);
        for (int64_t i = 0; i < n; i++) {
            t->x[i] += alpha * pk[i];
            t->r[i] -= alpha * qk[i];
        }
    }
    free(p);
    free(q);
    return step;
}

/* Steps that a textbook method takes for column j of b, from x = F \ b, until its residual is at tolerance / 4 in proportion. */
static int reference_steps(const krylov_case *c, const gpusolve_dense *b, int64_t j, int conjugate,
                           double tolerance, cholmod_common *common) {
    double complex *memory = malloc(6 * (size_t)c->n * sizeof *memory);
    REQUIRE(memory != NULL);
    const reference t = {c, common, memory, memory + c->n, memory + 2 * c->n, memory + 3 * c->n};
    for (int64_t i = 0; i < c->n; i++)
        t.b[i] = testing_get(b, i, j);
    precondition(&t, t.b, t.x);
    const double ratio = tolerance / 4 / error_of(&t),
                 target = (ratio < 0.5 ? ratio : 0.5) * norm2(c->n, t.r);
    const int steps = conjugate ? reference_cg(&t, target) : reference_minimal(&t, target);
    free(memory);
    return steps;
}

/* ------------------------------------------------------------------------------------------ checks --- */

/* The reported errors are the errors, but for rounding. */
static void check_reported(const krylov_case *c, const gpusolve_dense *x, const gpusolve_dense *b,
                           const double *errors) {
    double complex *column = malloc(2 * (size_t)c->n * sizeof *column);
    REQUIRE(column != NULL);
    for (int64_t j = 0; j < b->cols; j++) {
        for (int64_t i = 0; i < c->n; i++) {
            column[i] = testing_get(x, i, j);
            column[c->n + i] = testing_get(b, i, j);
        }
        const double error = testing_backward_error(c->a, c->norm_a, column, column + c->n);
        CHECK_BELOW(fabs(error - errors[j]), 1e-3 * errors[j] + 20 * DBL_EPSILON);
    }
    free(column);
}

/* Stale factors: steps as the reference's, for one tolerance; then the full accuracy. */
static void check_stale(gpusolve_backend backend, const char *spec, gpusolve_factor_kind kind, double shift,
                        gpusolve_refine_method method, cholmod_common *common) {
    static const double parts[] = {1e-3, 1e-2, 1e-1};
    for (int k = 0; k < 3; k++) {
        krylov_case c = make_case(backend, spec, kind, parts[k], 1, shift, common);
        gpusolve_dense b = block(&c, COLUMNS), x = block(&c, COLUMNS);
        double errors[COLUMNS];
        int steps[COLUMNS];
        gpusolve_refine_options options = GPUSOLVE_REFINE_OPTIONS_INIT;
        testing_in("%s, %s, method %d, E %g", testing_backend_name(backend), spec, (int)method, parts[k]);
        testing_fill(&b, 71);
        options.method = method;
        options.max_steps = options.restart = MOST;
        options.tolerance = 1e-12;
        CHECK_STATUS(run(&c, NULL, &b, &x, &options, errors, steps), GPUSOLVE_OK);
        check_reported(&c, &x, &b, errors);
        for (int64_t j = 0; j < COLUMNS; j++) {
            const int expected =
                reference_steps(&c, &b, j, method == GPUSOLVE_REFINE_CG, options.tolerance, common);
            CHECK(abs(steps[j] - expected) <= 1);
            CHECK_BELOW(errors[j], 1e-12 * (1 + 1e-9));
        }
        options.tolerance = 0;
        CHECK_STATUS(run(&c, NULL, &b, &x, &options, errors, steps), GPUSOLVE_OK);
        check_reported(&c, &x, &b, errors);
        for (int j = 0; j < COLUMNS; j++)
            CHECK_BELOW(errors[j], 2 * DBL_EPSILON);
        /* cycles of three steps are enough for the factor of a near matrix */
        if (method == GPUSOLVE_REFINE_FGMRES) {
            options.restart = 3;
            CHECK_STATUS(run(&c, NULL, &b, &x, &options, errors, steps), GPUSOLVE_OK);
            check_reported(&c, &x, &b, errors);
            for (int j = 0; j < COLUMNS; j++)
                CHECK_BELOW(errors[j], 2 * DBL_EPSILON);
        }
        free(b.values);
        free(x.values);
        free_case(&c, common);
    }
}

/* One step at a time: errors never grow, and no column gets more than it may. */
static void check_limits(gpusolve_backend backend, gpusolve_refine_method method, cholmod_common *common) {
    testing_in("%s, method %d, limits", testing_backend_name(backend), (int)method);
    krylov_case c = make_case(backend, "elasticity3d:6", GPUSOLVE_SUPERNODAL_LL, 0.1, 1, 0, common);
    gpusolve_dense b = block(&c, COLUMNS), x = block(&c, COLUMNS);
    double errors[COLUMNS], last[COLUMNS];
    int steps[COLUMNS];
    gpusolve_refine_options options = GPUSOLVE_REFINE_OPTIONS_INIT;
    testing_fill(&b, 73);
    options.method = method;
    for (options.max_steps = 0; options.max_steps <= 6; options.max_steps++) {
        CHECK_STATUS(run(&c, NULL, &b, &x, &options, errors, steps), GPUSOLVE_OK);
        check_reported(&c, &x, &b, errors);
        for (int j = 0; j < COLUMNS; j++) {
            CHECK(steps[j] <= options.max_steps);
            CHECK(options.max_steps == 0 || errors[j] <= last[j]);
        }
        if (options.max_steps == 0)
            memcpy(last, errors, sizeof last);
    }
    for (int j = 0; j < COLUMNS; j++)
        CHECK_BELOW(errors[j], 0.1 * last[j]);
    free(b.values);
    free(x.values);
    free_case(&c, common);
}

/* A factor ten times too small: Richardson's corrections are ten times too long, CG's and FGMRES' the right ones. */
static void check_scaled(gpusolve_backend backend, cholmod_common *common) {
    static const gpusolve_refine_method methods[] = {GPUSOLVE_REFINE_CG, GPUSOLVE_REFINE_FGMRES,
                                                     GPUSOLVE_REFINE_AUTOMATIC};
    krylov_case c = make_case(backend, "grid2d:23", GPUSOLVE_SUPERNODAL_LL, 1e-2, 0.1, 0, common);
    gpusolve_dense b = block(&c, COLUMNS), x = block(&c, COLUMNS);
    double errors[COLUMNS];
    int steps[COLUMNS];
    testing_fill(&b, 77);
    gpusolve_refine_options options = GPUSOLVE_REFINE_OPTIONS_INIT;
    options.max_steps = 40;
    for (int m = 0; m < 3; m++) {
        testing_in("%s, a scaled factor, method %d", testing_backend_name(backend), (int)methods[m]);
        options.method = methods[m];
        CHECK_STATUS(run(&c, NULL, &b, &x, &options, errors, steps), GPUSOLVE_OK);
        check_reported(&c, &x, &b, errors);
        for (int j = 0; j < COLUMNS; j++) {
            CHECK_BELOW(errors[j], 2 * DBL_EPSILON);
            CHECK(steps[j] > 0 && steps[j] <= 40);
        }
    }
    options.method = GPUSOLVE_REFINE_RICHARDSON;
    CHECK_STATUS(run(&c, NULL, &b, &x, &options, errors, steps), GPUSOLVE_OK);
    for (int j = 0; j < COLUMNS; j++)
        CHECK(errors[j] > 1e-6);
    free(b.values);
    free(x.values);
    free_case(&c, common);
}

/* With a good factor the automatic method is Richardson's, bit for bit; with a poor one it ends where that has not come. */
static void check_automatic(gpusolve_backend backend, gpusolve_factor_kind kind, cholmod_common *common) {
    static const double parts[] = {1e-5, 0.3};
    for (int k = 0; k < 2; k++) {
        testing_in("%s, automatic, factor %d, E %g", testing_backend_name(backend), (int)kind, parts[k]);
        krylov_case c = make_case(backend, "grid3d:8@c", kind, parts[k], 1, 0, common);
        gpusolve_dense b = block(&c, COLUMNS), x = block(&c, COLUMNS), plain = block(&c, COLUMNS);
        double errors[COLUMNS], plain_errors[COLUMNS];
        int steps[COLUMNS], plain_steps[COLUMNS];
        testing_fill(&b, 79);
        gpusolve_refine_options options = GPUSOLVE_REFINE_OPTIONS_INIT;
        options.max_steps = 30;
        CHECK_STATUS(run(&c, NULL, &b, &plain, &options, plain_errors, plain_steps), GPUSOLVE_OK);
        options.method = GPUSOLVE_REFINE_AUTOMATIC;
        CHECK_STATUS(run(&c, NULL, &b, &x, &options, errors, steps), GPUSOLVE_OK);
        check_reported(&c, &x, &b, errors);
        for (int j = 0; j < COLUMNS; j++) {
            CHECK_BELOW(errors[j], 2 * DBL_EPSILON);
            if (k == 0)
                CHECK(steps[j] == plain_steps[j] && errors[j] == plain_errors[j]);
            else
                CHECK(steps[j] < plain_steps[j] || errors[j] < 1e-3 * plain_errors[j]);
        }
        CHECK(testing_same_bits(&x, 0, &plain, 0, COLUMNS) == (k == 0));
        free(b.values);
        free(x.values);
        free(plain.values);
        free_case(&c, common);
    }
}

/* Each column has the bits that it has alone, among neighbours that need other numbers of steps, or have no answer. */
static void check_columns(gpusolve_backend backend, gpusolve_refine_method method, gpusolve_factor_kind kind,
                          cholmod_common *common) {
    enum { WIDE = 37 };
    testing_in("%s, method %d, factor %d, columns", testing_backend_name(backend), (int)method, (int)kind);
    krylov_case c = make_case(backend, "arrow:700,150,2", kind, 0.05, 1, 0, common);
    gpusolve_dense b = block(&c, WIDE), x = block(&c, WIDE), one_b = block(&c, 1), one_x = block(&c, 1);
    double errors[WIDE], error;
    int steps[WIDE], count, fewest = MOST, most = 0;
    testing_fill(&b, 83);
    testing_fill(&x, 84);
    gpusolve_refine_options options = GPUSOLVE_REFINE_OPTIONS_INIT;
    options.method = method;
    options.max_steps = 25;
    options.restart = 4;
    options.solve_first = 0;
    for (int64_t j = 1; j < WIDE; j += 3) /* a guess that is good, more or less */
        for (int64_t i = 0; i < c.n; i++)
            testing_set(&x, i, j, pow(10, -(double)j) * testing_get(&x, i, j));
    testing_set(&b, 7, 4, NAN);
    for (int64_t i = 0; i < c.n; i++)
        testing_set(&b, i, 5, 0);
    testing_set(&x, 8, 6, INFINITY);
    gpusolve_dense guess = block(&c, WIDE);
    memcpy(guess.values, x.values, testing_block_bytes(&x));
    CHECK_STATUS(run(&c, NULL, &b, &x, &options, errors, steps), GPUSOLVE_OK);
    CHECK(isnan(errors[4]) && steps[4] == 0 && isnan(errors[6]) && steps[6] == 0);
    CHECK(errors[5] == 0 && steps[5] == 0 && testing_get(&x, 3, 5) == 0);
    for (int64_t j = 0; j < WIDE; j++) {
        for (int64_t i = 0; i < c.n; i++) {
            testing_set(&one_b, i, 0, testing_get(&b, i, j));
            testing_set(&one_x, i, 0, testing_get(&guess, i, j));
        }
        CHECK_STATUS(run(&c, NULL, &one_b, &one_x, &options, &error, &count), GPUSOLVE_OK);
        CHECK(count == steps[j] && (error == errors[j] || (isnan(error) && isnan(errors[j]))));
        if (j == 4 || j == 6)
            continue;
        CHECK(testing_same_bits(&one_x, 0, &x, j, 1));
        CHECK_BELOW(errors[j], 8 * DBL_EPSILON); /* Richardson's last step may gain little */
        if (j != 5) {
            fewest = steps[j] < fewest ? steps[j] : fewest;
            most = steps[j] > most ? steps[j] : most;
        }
    }
    CHECK(fewest >= 1 && most > fewest);
    free(b.values);
    free(x.values);
    free(guess.values);
    free(one_b.values);
    free(one_x.values);
    free_case(&c, common);
}

/* The asynchronous form gives the bits of the blocking one, and neither allocates once the workspace is reserved. */
static void check_reserved(gpusolve_backend backend, const char *spec, gpusolve_refine_method method,
                           cholmod_common *common) {
    enum { WIDE = 11, ROOM = 4 };
    testing_in("%s, %s, method %d, reserved", testing_backend_name(backend), spec, (int)method);
    krylov_case c = make_case(backend, spec, GPUSOLVE_SUPERNODAL_LL, 1e-2, 1, 0, common);
    gpusolve_dense b = block(&c, WIDE), x = block(&c, WIDE), expected = block(&c, WIDE);
    double errors[WIDE], expected_errors[WIDE];
    int steps[WIDE], expected_steps[WIDE];
    const int on_device = backend == GPUSOLVE_BACKEND_CUDA;
    testing_fill(&b, 91);
    for (int64_t i = 0; i < c.n; i++)
        testing_set(&b, i, 3, 0);
    gpusolve_refine_options options = GPUSOLVE_REFINE_OPTIONS_INIT;
    options.method = method;
    options.tolerance = 1e-11; /* one cycle comes there */
    options.max_steps = 12;
    options.restart = 5;
    gpusolve_workspace *workspace;
    REQUIRE(gpusolve_workspace_create(c.handle, c.factor, ROOM, &workspace) == GPUSOLVE_OK);
    gpusolve_dense own_b = b, own_x = x;
    double *own_errors = errors;
    int *own_steps = steps;
    if (on_device) {
        own_b.values = device_new(b.values, testing_block_bytes(&b));
        own_x.values = device_new(x.values, testing_block_bytes(&x));
        own_errors = device_new(errors, sizeof errors);
        own_steps = device_new(steps, sizeof steps);
        REQUIRE(own_b.values && own_x.values && own_errors && own_steps);
        CHECK_STATUS(gpusolve_refine_async(c.handle, c.factor, c.matrix, workspace, &own_b, &own_x, &options,
                                           own_errors, own_steps),
                     GPUSOLVE_INVALID_ARGUMENT); /* not reserved yet */
    }
    CHECK_STATUS(gpusolve_refine_reserve(c.handle, c.factor, c.matrix, workspace, &options), GPUSOLVE_OK);
    testing_count_allocations();
    CHECK_STATUS(run(&c, workspace, &b, &expected, &options, expected_errors, expected_steps), GPUSOLVE_OK);
    CHECK(on_device || testing_allocations() == 0); /* blocks in host memory may be staged */
    for (int round = 0; round < 2; round++) {
        testing_count_allocations();
        CHECK_STATUS(gpusolve_refine_async(c.handle, c.factor, c.matrix, workspace, &own_b, &own_x, &options,
                                           own_errors, own_steps),
                     GPUSOLVE_OK);
        CHECK(testing_allocations() == 0);
        if (on_device) {
            CHECK(device_read(x.values, own_x.values, testing_block_bytes(&x)) == 0);
            CHECK(device_read(errors, own_errors, sizeof errors) == 0);
            CHECK(device_read(steps, own_steps, sizeof steps) == 0);
        }
        CHECK(testing_same_bits(&x, 0, &expected, 0, WIDE));
        CHECK(memcmp(errors, expected_errors, sizeof errors) == 0);
        CHECK(memcmp(steps, expected_steps, sizeof steps) == 0);
    }
    for (int j = 0; j < WIDE; j++) {
        CHECK(errors[j] <= 1e-11);
        CHECK((steps[j] > 0) == (j != 3));
    }
    CHECK_STATUS(gpusolve_workspace_check(c.handle, workspace), GPUSOLVE_OK);
    if (on_device) {
        device_delete(own_b.values);
        device_delete(own_x.values);
        device_delete(own_errors);
        device_delete(own_steps);
    }
    gpusolve_workspace_destroy(workspace);
    free(b.values);
    free(x.values);
    free(expected.values);
    free_case(&c, common);
}

int main(void) {
    cholmod_common common;
    cholmod_start(&common);
    gpusolve_backend backends[2];
    const int count = testing_backends(backends);
    for (int i = 0; i < count; i++) {
        check_stale(backends[i], "grid2d:23", GPUSOLVE_SUPERNODAL_LL, 0, GPUSOLVE_REFINE_CG, &common);
        check_stale(backends[i], "elasticity3d:6", GPUSOLVE_SUPERNODAL_LL, 0, GPUSOLVE_REFINE_CG, &common);
        check_stale(backends[i], "grid3d:8@c", GPUSOLVE_SUPERNODAL_LL, 0, GPUSOLVE_REFINE_CG, &common);
        check_stale(backends[i], "grid2d:23", GPUSOLVE_SIMPLICIAL_LDL, 0, GPUSOLVE_REFINE_FGMRES, &common);
        check_stale(backends[i], "grid2d:19", GPUSOLVE_SIMPLICIAL_LDL, 0.3, GPUSOLVE_REFINE_FGMRES, &common);
        check_stale(backends[i], "grid3d:8@c", GPUSOLVE_SUPERNODAL_LL, 0, GPUSOLVE_REFINE_FGMRES, &common);
        check_limits(backends[i], GPUSOLVE_REFINE_CG, &common);
        check_limits(backends[i], GPUSOLVE_REFINE_FGMRES, &common);
        check_limits(backends[i], GPUSOLVE_REFINE_AUTOMATIC, &common);
        check_scaled(backends[i], &common);
        check_automatic(backends[i], GPUSOLVE_SUPERNODAL_LL, &common);
        check_automatic(backends[i], GPUSOLVE_SIMPLICIAL_LDL, &common);
        for (int m = GPUSOLVE_REFINE_RICHARDSON; m <= GPUSOLVE_REFINE_AUTOMATIC; m++) {
            check_reserved(backends[i], "arrow:700,150,2", (gpusolve_refine_method)m, &common);
            check_reserved(backends[i], "grid3d:8@c", (gpusolve_refine_method)m, &common);
        }
        check_columns(backends[i], GPUSOLVE_REFINE_CG, GPUSOLVE_SUPERNODAL_LL, &common);
        check_columns(backends[i], GPUSOLVE_REFINE_FGMRES, GPUSOLVE_SUPERNODAL_LL, &common);
        check_columns(backends[i], GPUSOLVE_REFINE_AUTOMATIC, GPUSOLVE_SUPERNODAL_LL, &common);
        check_columns(backends[i], GPUSOLVE_REFINE_AUTOMATIC, GPUSOLVE_SIMPLICIAL_LDL, &common);
    }
    cholmod_finish(&common);
    return testing_done();
}
