/* Save a factor in one run, load it in the next: factor.gsv stands for a file that another program, another day or another
 * machine has written.
 *
 * A is tridiagonal, 2 on the diagonal and -1 beside it: -u'' = 1 on n points, with u = 0 at both ends. The solution is
 * known: x(j) = (j + 1) (n - j) / 2. */
#include <gpusolve_store.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { n = 1000 };
static const char path[] = "factor.gsv";

static void check(const gpusolve_handle *handle, gpusolve_status status) {
    if (status == GPUSOLVE_OK)
        return;
    fprintf(stderr, "%s: %s\n", gpusolve_status_name(status),
            handle ? gpusolve_last_error(handle) : gpusolve_status_message(status));
    exit(1);
}

/* A = L L' by compressed columns, the diagonal first: what a factorisation would have computed. */
static void save(gpusolve_handle *handle) {
    static int32_t p[n + 1], i[2 * n];
    static double l[2 * n];
    gpusolve_factor_data data = GPUSOLVE_FACTOR_DATA_INIT;
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
    data.xsize = p[n];
    data.p = p;
    data.i = i;
    data.x = l;
    check(handle, gpusolve_factor_data_save(handle, &data, path));
    printf("saved\n");
}

/* Does the library see that a byte of the file has changed? */
static int sees_damage(gpusolve_handle *handle) {
    gpusolve_factor *factor;
    FILE *file = fopen(path, "r+b");
    int byte = EOF;
    if (file && fseek(file, -100, SEEK_END) == 0)
        byte = fgetc(file);
    if (byte == EOF || fseek(file, -100, SEEK_END) || fputc(byte ^ 1, file) == EOF || fclose(file))
        return 0;
    const gpusolve_status status = gpusolve_factor_load(handle, path, &factor);
    printf("after a change: %s\n", gpusolve_status_message(status));
    gpusolve_factor_destroy(factor);
    return status == GPUSOLVE_INVALID_FILE;
}

int main(void) {
    static double b[n], x[n];
    gpusolve_handle *handle = NULL;
    gpusolve_factor *factor = NULL;
    const gpusolve_dense B = {GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, n, 1, n, b};
    const gpusolve_dense X = {GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, n, 1, n, x};
    check(NULL, gpusolve_create(&handle, NULL));
    save(handle);

    check(handle, gpusolve_factor_map(handle, path, NULL, &factor)); /* no factorisation is needed */
    for (int j = 0; j < n; j++)
        b[j] = 1;
    check(handle, gpusolve_solve(handle, factor, NULL, GPUSOLVE_A, &B, &X));
    double error = 0;
    for (int j = 0; j < n; j++)
        error += fabs(x[j] - (j + 1) * (double)(n - j) / 2);
    error /= n * (double)n * n; /* a sum, so that one NaN makes it NaN */
    printf("x(%d) = %.3f, should be %.3f\n", n / 2, x[n / 2], (n / 2 + 1) * (n / 2) / 2.0);

    const int seen = sees_damage(handle);
    remove(path);
    gpusolve_factor_destroy(factor);
    gpusolve_destroy(handle);
    return error < 1e-12 && seen ? 0 : 1; /* a NaN is not below it */
}
