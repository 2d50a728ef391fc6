/* The density of a Gaussian field, and how well-conditioned its precision matrix is.
 *
 * x ~ N(0, inv(A)) has log p(x) = (log det A - x' A x - n log(2 pi)) / 2. A is tridiagonal, 2 on the diagonal and -1 beside it, whose
 * determinant is n + 1, and for odd n the condition number in the 1-norm is (n + 1)^2 / 2. */
#include <gpusolve.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { n = 999 };

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
    const double two_pi = 6.28318530717958647692;
    gpusolve_handle *handle = NULL;
    double logdet, sign, smallest, largest, rcond, form = 0;
    check(NULL, gpusolve_create(&handle, NULL));
    gpusolve_factor *factor = factorise(handle);

    check(handle, gpusolve_factor_logdet(handle, factor, &logdet, &sign));
    check(handle, gpusolve_factor_diagonal(handle, factor, &smallest, &largest));
    check(handle, gpusolve_factor_rcond(handle, factor, NULL, NULL, 4, &rcond)); /* norm(A, 1) = 4 */

    double before = 0; /* x' A x of x(j) = sin(j) / 10 */
    for (int j = 0; j <= n; j++) {
        const double x = j < n ? sin(j) / 10 : 0;
        form += (x - before) * (x - before);
        before = x;
    }
    printf("log det A = %.6f, should be log %d = %.6f; the sign is %.0f\n", logdet, n + 1, log(n + 1.0),
           sign);
    printf("log p(x) = %.6f\n", (logdet - form - n * log(two_pi)) / 2);
    printf("L has a diagonal from %.6f to %.6f\n", smallest, largest);
    printf("the condition number is about %.3f, should be %.3f\n", 1 / rcond, (n + 1.0) * (n + 1.0) / 2);

    gpusolve_factor_destroy(factor);
    gpusolve_destroy(handle);
    return fabs(logdet - log(n + 1.0)) < 1e-10 && fabs(1 / rcond - 5e5) < 1e-3 ? 0
                                                                               : 1; /* a NaN is not below */
}
