/*
 * The automatic method turns from Richardson to conjugate gradients, or to FGMRES, at whichever correction gains little, or does harm.
 * A and F are diagonal: F is A but for a thousandth, and in one row F \ A is `slow`. How large that row's error is says when it is seen.
 */
#include "testing.h"

#include "gpusolve_refine.h"

enum { N = 70, COLUMNS = 6, SLOW = 33 };

typedef struct diagonal_pair {
    gpusolve_handle *handle;
    gpusolve_factor *factor;
    gpusolve_matrix *matrix;
    double a[N];
} diagonal_pair;

static diagonal_pair make_pair(gpusolve_backend backend, gpusolve_factor_kind kind, double slow) {
    static int32_t start[N + 1], row[N];
    double l[N];
    diagonal_pair pair = {.handle = testing_handle(backend, 2)};
    for (int i = 0; i < N; i++) {
        pair.a[i] = 1 + (double)(i % 5) / 8;
        const double f = pair.a[i] / (i == SLOW ? slow : 1 + (i % 2 ? 1e-3 : -1e-3));
        l[i] = kind == GPUSOLVE_SIMPLICIAL_LDL ? f : sqrt(f);
        start[i + 1] = i + 1;
        row[i] = i;
    }
    gpusolve_factor_data data = GPUSOLVE_FACTOR_DATA_INIT;
    data.kind = kind;
    data.n = data.minor = data.xsize = N;
    data.p = start;
    data.i = row;
    data.x = l;
    const gpusolve_matrix_data a = {.size = sizeof a,
                                    .format = GPUSOLVE_CSC,
                                    .triangle = GPUSOLVE_LOWER,
                                    .dtype = GPUSOLVE_DOUBLE,
                                    .itype = GPUSOLVE_INT32,
                                    .n = N,
                                    .ptr = start,
                                    .index = row,
                                    .x = pair.a};
    REQUIRE(gpusolve_factor_create(pair.handle, &data, &pair.factor) == GPUSOLVE_OK);
    REQUIRE(gpusolve_matrix_create(pair.handle, &a, &pair.matrix) == GPUSOLVE_OK);
    return pair;
}

static void free_pair(diagonal_pair *pair) {
    gpusolve_matrix_destroy(pair->matrix);
    gpusolve_factor_destroy(pair->factor);
    gpusolve_destroy(pair->handle);
}

/* Column j's slow row is 10^-(2 j + 1) of the others, and 0 in the last column. */
static double right_side(int i, int j) {
    const double part = j == COLUMNS - 1 ? 0 : pow(10, -(2 * j + 1));
    return (i == SLOW ? part : 1) * (1 + (double)((i + j) % 3) / 4);
}

static void run(const diagonal_pair *pair, gpusolve_refine_method method, const gpusolve_dense *b,
                const gpusolve_dense *x, double *errors, int *steps) {
    gpusolve_refine_options options = GPUSOLVE_REFINE_OPTIONS_INIT;
    options.method = method;
    options.max_steps = 40;
    CHECK_STATUS(
        gpusolve_refine(pair->handle, pair->factor, pair->matrix, NULL, b, x, &options, errors, steps),
        GPUSOLVE_OK);
}

/* slow: 1/2, Richardson's method halves that row's error; 10/3, it makes it larger. */
static void check_turns(gpusolve_backend backend, gpusolve_factor_kind kind, double slow) {
    testing_in("%s, factor %d, slow %g", testing_backend_name(backend), (int)kind, slow);
    diagonal_pair pair = make_pair(backend, kind, slow);
    gpusolve_dense b = testing_block(GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, N, COLUMNS, 1),
                   x = testing_block(GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, N, COLUMNS, 2),
                   plain = testing_block(GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, N, COLUMNS, 2),
                   alone = testing_block(GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, N, 1, 0);
    double errors[COLUMNS], plain_errors[COLUMNS], error;
    int steps[COLUMNS], plain_steps[COLUMNS], count;
    for (int j = 0; j < COLUMNS; j++)
        for (int i = 0; i < N; i++)
            testing_set(&b, i, j, right_side(i, j));
    run(&pair, GPUSOLVE_REFINE_RICHARDSON, &b, &plain, plain_errors, plain_steps);
    run(&pair, GPUSOLVE_REFINE_AUTOMATIC, &b, &x, errors, steps);
    for (int j = 0; j < COLUMNS; j++) {
        double worst = 0;
        for (int i = 0; i < N; i++)
            worst = testing_worse(worst, cabs(pair.a[i] * testing_get(&x, i, j) - testing_get(&b, i, j)));
        CHECK_BELOW(worst, 4 * DBL_EPSILON);
        CHECK_BELOW(errors[j], 2 * DBL_EPSILON);
        CHECK(steps[j] >= 3 && steps[j] <= 12);
        if (j < COLUMNS - 1) /* Richardson's method ends early, or takes one step a bit */
            CHECK(plain_steps[j] > 12 || plain_errors[j] > 16 * DBL_EPSILON);
        else
            CHECK(steps[j] == plain_steps[j] && errors[j] == plain_errors[j]);
        gpusolve_dense own = b;
        own.cols = 1;
        own.values = (double *)b.values + j * b.ld;
        run(&pair, GPUSOLVE_REFINE_AUTOMATIC, &own, &alone, &error, &count);
        CHECK(error == errors[j] && count == steps[j] && testing_same_bits(&alone, 0, &x, j, 1));
    }
    free(b.values);
    free(x.values);
    free(plain.values);
    free(alone.values);
    free_pair(&pair);
}

int main(void) {
    gpusolve_backend backends[2];
    const int count = testing_backends(backends);
    for (int k = 0; k < count; k++) {
        check_turns(backends[k], GPUSOLVE_SIMPLICIAL_LL, 0.5);
        check_turns(backends[k], GPUSOLVE_SIMPLICIAL_LL, 10.0 / 3);
        check_turns(backends[k], GPUSOLVE_SIMPLICIAL_LDL, 0.5);
        check_turns(backends[k], GPUSOLVE_SIMPLICIAL_LDL, 10.0 / 3);
    }
    return testing_done();
}
