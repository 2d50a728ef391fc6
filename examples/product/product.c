/* A sample of a Gaussian field, and back: x = L' \ z, and L' x = z. The norm of z is the A-norm of x. A is tridiagonal, 2 on the diagonal and -1 beside
 * it. */
#include <gpusolve_product.h>
#include <gpusolve_sample.h>

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
    static double x[n], z[n], ax[n];
    const gpusolve_dense of_x = {GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, n, 1, n, x},
                         of_z = {GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, n, 1, n, z},
                         of_ax = {GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, n, 1, n, ax};
    gpusolve_handle *handle = NULL;
    check(NULL, gpusolve_create(&handle, NULL));
    gpusolve_factor *factor = factorise(handle);

    check(handle, gpusolve_sample(handle, factor, NULL, NULL, &of_x));
    check(handle, gpusolve_multiply(handle, factor, GPUSOLVE_TIMES_LtP, &of_x, &of_z));
    check(handle, gpusolve_multiply(handle, factor, GPUSOLVE_TIMES_A, &of_x, &of_ax));

    double squares = 0, form = 0, difference = 0;
    for (int j = 0; j < n; j++) {
        const double by_hand = 2 * x[j] - (j > 0 ? x[j - 1] : 0) - (j < n - 1 ? x[j + 1] : 0);
        squares += z[j] * z[j];
        form += x[j] * ax[j];
        difference = fmax(difference, fabs(ax[j] - by_hand));
    }
    printf("norm(L' x)^2 = %.6f, x' A x = %.6f\n", squares, form);
    printf("A x by the factor is %s\n", difference < 1e-12 ? "A x" : "another vector");

    gpusolve_factor_destroy(factor);
    gpusolve_destroy(handle);
    return fabs(squares - form) < 1e-9 && difference < 1e-12 ? 0 : 1;
}
