/* Variances of a Gaussian field with the precision matrix A: the diagonal of inv(A), and a covariance of neighbours. A is tridiagonal, 2 on the diagonal
 * and -1 beside it: inv(A) has i (n + 1 - j) / (n + 1) in row i and column j >= i, counted from 1. */
#include <gpusolve_inverse.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { n = 99 };

static void check(const gpusolve_handle *handle, gpusolve_status status) {
    if (status == GPUSOLVE_OK)
        return;
    fprintf(stderr, "%s: %s\n", gpusolve_status_name(status),
            handle ? gpusolve_last_error(handle) : gpusolve_status_message(status));
    exit(1);
}

/* A = L L' by compressed columns, the diagonal first: what a factorisation would have computed. */
static gpusolve_factor *factorise(gpusolve_handle *handle) {
    static int32_t p[n + 1], i[2 * n];
    static double l[2 * n];
    gpusolve_factor_data data = GPUSOLVE_FACTOR_DATA_INIT;
    gpusolve_factor *factor = NULL;
    double below = 0;
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
    data.kind = GPUSOLVE_SIMPLICIAL_LL;
    data.n = data.minor = n;
    data.xsize = k;
    data.p = p;
    data.i = i;
    data.x = l;
    check(handle, gpusolve_factor_create(handle, &data, &factor));
    return factor;
}

int main(void) {
    static double diagonal[n];
    const int64_t rows[] = {49, 0}, columns[] = {50, n - 1};
    double values[2], error = 0;
    gpusolve_inverse_info info = {.size = sizeof info};
    gpusolve_handle *handle = NULL;
    check(NULL, gpusolve_create(&handle, NULL));
    gpusolve_factor *factor = factorise(handle);

    check(handle, gpusolve_inverse_cost(handle, factor, n, NULL, NULL, &info));
    check(handle, gpusolve_inverse_diagonal(handle, factor, diagonal));
    check(handle, gpusolve_inverse_entries(handle, factor, 2, rows, columns, values));

    for (int j = 0; j < n; j++) {
        const double exact = (j + 1.0) * (n - j) / (n + 1);
        error = fmax(error, fabs(diagonal[j] / exact - 1));
    }
    printf("%d columns in %d block\n", (int)info.columns, (int)info.blocks);
    printf("the variance in the middle is %.4f, the diagonal is %s\n", diagonal[49],
           error < 1e-12 ? "right to 12 digits" : "wrong");
    printf("covariances: %.4f, should be 24.5000; of the ends %.4f, should be 0.0100\n", values[0],
           values[1]);

    gpusolve_factor_destroy(factor);
    gpusolve_destroy(handle);
    return error < 1e-12 && fabs(values[0] - 24.5) < 1e-10 && fabs(values[1] - 0.01) < 1e-12 ? 0 : 1;
}
