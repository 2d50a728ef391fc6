/* Solve with a factor that is given as plain arrays: no SuiteSparse is needed.
 *
 * A is tridiagonal, 2 on the diagonal and -1 beside it: -u'' = 1 on n points, with u = 0 at both ends. Its Cholesky
 * factor has two entries a column. The solution is known: x(j) = (j + 1) (n - j) / 2. */
#include <gpusolve.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { n = 1000 };

static void check(const gpusolve_handle *handle, gpusolve_status status) {
    if (status == GPUSOLVE_OK)
        return;
    fprintf(stderr, "%s: %s\n", gpusolve_status_name(status),
            handle ? gpusolve_last_error(handle) : gpusolve_status_message(status));
    exit(1);
}

/* A = L L' by compressed columns: the entries of column j are p[j] .. p[j + 1] - 1, the diagonal first. */
static void factorise(int32_t *p, int32_t *i, double *l) {
    double below = 0; /* the entry left of the diagonal in the row that is next */
    int32_t k = 0;
    for (int32_t j = 0; j < n; j++) {
        const double diagonal = sqrt(2 - below * below);
        p[j] = k;
        i[k] = j;
        l[k++] = diagonal;
        below = -1 / diagonal;
        if (j < n - 1) {
            i[k] = j + 1;
            l[k++] = below;
        }
    }
    p[n] = k;
}

/* norm(b - A x) / (norm(A) norm(x) + norm(b)), with norm(A) <= 4. A sum, so that one NaN makes it NaN. */
static double backward_error(const double *b, const double *x) {
    double rr = 0, xx = 0, bb = 0;
    for (int j = 0; j < n; j++) {
        const double r = b[j] - 2 * x[j] + (j > 0 ? x[j - 1] : 0) + (j < n - 1 ? x[j + 1] : 0);
        rr += r * r;
        xx += x[j] * x[j];
        bb += b[j] * b[j];
    }
    return sqrt(rr) / (4 * sqrt(xx) + sqrt(bb));
}

int main(void) {
    static int32_t p[n + 1], i[2 * n];
    static double l[2 * n], b[n], x[n];
    gpusolve_handle *handle = NULL;
    gpusolve_factor *factor = NULL;
    gpusolve_factor_data data = GPUSOLVE_FACTOR_DATA_INIT;
    const gpusolve_dense B = {GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, n, 1, n, b};
    const gpusolve_dense X = {GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, n, 1, n, x};

    factorise(p, i, l);
    for (int j = 0; j < n; j++)
        b[j] = 1;

    data.kind = GPUSOLVE_SIMPLICIAL_LL;
    data.n = data.minor = n; /* minor = n: the factorisation did not stop early */
    data.xsize = p[n];
    data.p = p;
    data.i = i;
    data.x = l; /* perm stays NULL: the order of A's rows was not changed */

    check(NULL, gpusolve_create(&handle, NULL));
    check(handle, gpusolve_factor_create(handle, &data, &factor)); /* p, i, l are not needed afterwards */
    check(handle, gpusolve_solve(handle, factor, NULL, GPUSOLVE_A, &B, &X));

    const double error = backward_error(b, x);
    printf("order %d, %d entries in L\n", n, (int)p[n]);
    printf("x(%d) = %.3f, should be %.3f\n", n / 2, x[n / 2], (n / 2 + 1) * (n / 2) / 2.0);
    printf("backward error %.1e\n", error);

    gpusolve_factor_destroy(factor);
    gpusolve_destroy(handle);
    return error < 1e-14 ? 0 : 1; /* a NaN is not below it */
}
