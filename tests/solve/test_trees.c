/*
 * Trees that no ordering of a grid makes (tree_shapes.h), on the host: solves are right, and have the same
 * bits with any number of threads, which take these trees in very different pieces.
 */
#include "testing.h"

#include "tree_shapes.h"

enum { COLUMNS = 9, CASES = 4 };

/* What is solved: 9 columns, and one; one sweep, and both. */
static const struct solve_case {
    gpusolve_system system;
    int64_t columns;
} cases[CASES] = {{GPUSOLVE_A, COLUMNS}, {GPUSOLVE_A, 1}, {GPUSOLVE_L, 1}, {GPUSOLVE_Lt, 1}};

/* A vector and, number by number, a bound of what its sums are made of. */
typedef struct bounded {
    double *value, *size;
} bounded;

/* to = L from, or to = L' from if transposed */
static void multiply(const gpusolve_factor_data *data, int transposed, bounded from, bounded to) {
    const int32_t *super = data->super, *pi = data->pi, *px = data->px, *rows = data->s;
    const double *l = data->x;
    for (int64_t i = 0; i < data->n; i++)
        to.value[i] = to.size[i] = 0;
    for (int64_t s = 0; s < data->nsuper; s++) {
        const int32_t nc = super[s + 1] - super[s], nr = pi[s + 1] - pi[s];
        for (int32_t k = 0; k < nc; k++)
            for (int32_t r = k; r < nr; r++) {
                const int32_t row = rows[pi[s] + r], column = super[s] + k;
                const int32_t i = transposed ? column : row, j = transposed ? row : column;
                const double number = l[px[s] + k * nr + r];
                to.value[i] += number * from.value[j];
                to.size[i] += fabs(number) * from.size[j];
            }
    }
}

/* The largest difference of op(L) x and b, row by row, over what the sums are made of. scratch: 4 n. */
static double error_of(const gpusolve_factor_data *data, gpusolve_system system, const double *b,
                       const double *x, double *scratch) {
    bounded to = {scratch, scratch + data->n}, from = {to.size + data->n, to.size + 2 * data->n};
    double worst = 0;
    for (int64_t i = 0; i < data->n; i++)
        to.size[i] = fabs(to.value[i] = x[i]);
    for (int transposed = 1; transposed >= 0; transposed--)
        if (system == GPUSOLVE_A || (system == GPUSOLVE_Lt) == transposed) {
            const bounded swap = from;
            from = to;
            to = swap;
            multiply(data, transposed, from, to);
        }
    for (int64_t i = 0; i < data->n; i++)
        worst = testing_worse(worst, fabs(to.value[i] - b[i]) / (to.size[i] + fabs(b[i])));
    return worst;
}

/* x[k]: the answer of case k. Twice, for signals of the run before are still up. */
static void solve(const gpusolve_factor_data *data, int threads, double *b, double *const x[]) {
    gpusolve_handle *handle = testing_handle(GPUSOLVE_BACKEND_HOST, threads);
    gpusolve_factor *factor;
    REQUIRE(gpusolve_factor_create(handle, data, &factor) == GPUSOLVE_OK);
    for (int k = 0; k < CASES; k++) {
        const int64_t columns = cases[k].columns;
        const gpusolve_dense from = {GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, data->n, columns, data->n, b};
        gpusolve_dense to = from;
        to.values = x[k];
        for (int64_t i = 0; i < data->n * columns; i++)
            x[k][i] = NAN;
        for (int times = 0; times < 1 + (threads > 1); times++)
            CHECK_STATUS(gpusolve_solve(handle, factor, NULL, cases[k].system, &from, &to), GPUSOLVE_OK);
    }
    gpusolve_factor_destroy(factor);
    gpusolve_destroy(handle);
}

static void check_shape(const tree_shape *shape) {
    static const int threads[] = {2, 5};
    tree t = tree_of(shape);
    gpusolve_factor_data data = tree_factor(&t);
    const size_t n = (size_t)data.n;
    double *b = tree_array(n * COLUMNS, sizeof *b), *scratch = tree_array(4 * n, sizeof *scratch);
    double *x[CASES], *expected[CASES];
    uint64_t state = 5;
    for (size_t i = 0; i < n * COLUMNS; i++)
        b[i] = testing_random(&state);
    for (int k = 0; k < CASES; k++) {
        x[k] = tree_array(n * (size_t)cases[k].columns, sizeof **x);
        expected[k] = tree_array(n * (size_t)cases[k].columns, sizeof **expected);
    }
    testing_in("%s, 1 thread", shape->name);
    solve(&data, 1, b, expected);
    for (int k = 0; k < CASES; k++)
        for (int64_t j = 0; j < cases[k].columns; j += COLUMNS - 1) {
            testing_in("%s, case %d, column %d", shape->name, k, (int)j);
            CHECK_BELOW(error_of(&data, cases[k].system, b + j * data.n, expected[k] + j * data.n, scratch),
                        1e-13);
        }
    for (size_t p = 0; p < sizeof threads / sizeof *threads; p++) {
        testing_in("%s, %d threads", shape->name, threads[p]);
        solve(&data, threads[p], b, x);
        for (int k = 0; k < CASES; k++)
            CHECK(!memcmp(x[k], expected[k], n * (size_t)cases[k].columns * sizeof **x));
    }
    for (int k = 0; k < CASES; k++) {
        free(x[k]);
        free(expected[k]);
    }
    free(b);
    free(scratch);
    tree_factor_free(&data);
    tree_free(&t);
}

int main(void) {
    for (size_t k = 0; k < sizeof tree_shapes / sizeof *tree_shapes; k++)
        check_shape(&tree_shapes[k]);
    return testing_done();
}
