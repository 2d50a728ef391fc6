/* Samples of a Gaussian field with the precision matrix A, which is tridiagonal, 2 on the diagonal and -1 beside it: a chain that is tied to its
 * mean at both ends. inv(A) has j (n + 1 - j) / (n + 1) on the diagonal, j = 1 .. n. */
#include <gpusolve_sample.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { n = 99, samples = 4000, middle = 49 };

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
    static double mean[n], x[samples][n], again[n];
    gpusolve_dense block = {GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, n, samples, n, x};
    gpusolve_dense one = {GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, n, 1, n, again};
    gpusolve_sample_options options = GPUSOLVE_SAMPLE_OPTIONS_INIT;
    gpusolve_handle *handle = NULL;
    check(NULL, gpusolve_create(&handle, NULL));
    gpusolve_factor *factor = factorise(handle);

    for (int j = 0; j < n; j++)
        mean[j] = j;
    options.seed = 7;
    options.mean = mean;
    check(handle, gpusolve_sample(handle, factor, NULL, &options, &block));

    double sum = 0, squares = 0;
    for (int k = 0; k < samples; k++)
        sum += x[k][middle] / samples;
    for (int k = 0; k < samples; k++)
        squares += (x[k][middle] - sum) * (x[k][middle] - sum) / (samples - 1);
    printf("in the middle: mean %.1f, should be about %d; variance %.1f, should be about %.1f\n", sum, middle,
           squares, (middle + 1.0) * (n - middle) / (n + 1));

    options.first = 1234; /* sample number 1234 once more, by itself */
    check(handle, gpusolve_sample(handle, factor, NULL, &options, &one));
    double difference = 0;
    for (int j = 0; j < n; j++)
        difference = fmax(difference, fabs(again[j] - x[1234][j]));
    printf("sample 1234 by itself is %s\n", difference < 1e-12 ? "the same" : "another one");

    gpusolve_factor_destroy(factor);
    gpusolve_destroy(handle);
    return fabs(sum - middle) < 0.4 && fabs(squares - 25) < 3 && difference < 1e-12 ? 0 : 1;
}
