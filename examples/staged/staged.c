/* TRSM on operands in host memory, through a part of the device's memory that is smaller than they are.
 *
 * A staging object carries tiles of A and B to the device and back while others are computed with. Its calls are
 * asynchronous. Without a device the same calls run on the host and stage nothing. A is lower triangular; the solution
 * is of ones, and B the product with them. */
#include <gpusolve_dense.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { n = 2000, columns = 400 };

static void check(const gpusolve_handle *handle, gpusolve_status status) {
    if (status == GPUSOLVE_OK)
        return;
    if (status == GPUSOLVE_NOT_SUPPORTED) {
        printf("skipped: no CUDA device, and this gpusolve was built without a CBLAS\n");
        exit(0);
    }
    fprintf(stderr, "%s: %s\n", gpusolve_status_name(status),
            handle ? gpusolve_last_error(handle) : gpusolve_status_message(status));
    exit(1);
}

/* The same for the calls of a staging object, which has an error of its own. */
static void check_staging(const gpusolve_staging *staging, gpusolve_status status) {
    if (status != GPUSOLVE_OK && status != GPUSOLVE_NOT_SUPPORTED) {
        fprintf(stderr, "%s: %s\n", gpusolve_status_name(status), gpusolve_staging_last_error(staging));
        exit(1);
    }
    check(NULL, status);
}

int main(void) {
    const size_t bytes = sizeof(double);
    double *A = malloc(n * n * bytes), *B = malloc(n * columns * bytes), *row_sums = calloc(n, bytes);
    gpusolve_handle *handle = NULL;
    gpusolve_staging *staging = NULL;
    gpusolve_staging_options options = GPUSOLVE_STAGING_OPTIONS_INIT;
    const double alpha = 1;

    if (!A || !B || !row_sums) {
        fputs("out of memory\n", stderr);
        return 1;
    }
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++) {
            A[i + j * n] = i < j ? 0 : i == j ? 2 : sin(i + 2.0 * j) / n;
            row_sums[i] += A[i + j * n];
        }
    for (int k = 0; k < columns; k++)
        for (int i = 0; i < n; i++)
            B[i + k * n] = row_sums[i];

    check(NULL, gpusolve_create(&handle, NULL));
    const int on_device = gpusolve_get_backend(handle) == GPUSOLVE_BACKEND_CUDA;
    options.device_bytes = 16 << 20; /* A and B have 38 MB. By default: three quarters of what is free */
    options.pinned_bytes = 8 << 20;
    check(handle, gpusolve_staging_create(handle, &options, &staging));

    check_staging(staging,
                  gpusolve_trsm_staged(staging, GPUSOLVE_DOUBLE, GPUSOLVE_LEFT, GPUSOLVE_LOWER,
                                       GPUSOLVE_NO_TRANS, GPUSOLVE_NON_UNIT, n, columns, &alpha, A, n, B, n));
    /* Here is time for other work; A and B must not be touched. */
    check_staging(staging, gpusolve_staging_wait(staging));

    double sum = 0; /* one NaN makes it NaN */
    for (int k = 0; k < n * columns; k++)
        sum += (B[k] - 1) * (B[k] - 1);
    const double error = sqrt(sum / n / columns);
    if (on_device)
        printf("A and B are staged through 16 MB of the device's memory\n");
    else
        printf("no CUDA device: the host solves, and nothing is staged\n");
    printf("A X = B, order %d, %d columns: error %.1e\n", n, columns, error);

    gpusolve_staging_destroy(staging);
    gpusolve_destroy(handle);
    free(row_sums);
    free(B);
    free(A);
    return error < 1e-12 ? 0 : 1; /* a NaN is not below it */
}
