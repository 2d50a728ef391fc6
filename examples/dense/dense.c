/* Dense triangular solves, TRSV and TRSM, on the host: A x = b, A' X = B, and many solves with one prepared A.
 *
 * A is lower triangular and stored by columns, as in the BLAS; its upper triangle is never read. The solutions are
 * of ones, and b, B the products with them. With the CUDA backend the same calls take device memory. */
#include <gpusolve_dense.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { n = 500, lda = 512, columns = 20 };

static void check(const gpusolve_handle *handle, gpusolve_status status) {
    if (status == GPUSOLVE_OK)
        return;
    if (status == GPUSOLVE_NOT_SUPPORTED) { /* the first call says so, before anything is printed */
        printf("skipped: this gpusolve was built without a CBLAS\n");
        exit(0);
    }
    fprintf(stderr, "%s: %s\n", gpusolve_status_name(status),
            handle ? gpusolve_last_error(handle) : gpusolve_status_message(status));
    exit(1);
}

/* How far x is from ones: the square root of a sum, so that one NaN makes it NaN. */
static double distance(const double *x, int count) {
    double sum = 0;
    for (int k = 0; k < count; k++)
        sum += (x[k] - 1) * (x[k] - 1);
    return sqrt(sum / count);
}

int main(void) {
    static double A[n * lda], row_sums[n], column_sums[n], x[n], X[columns * n];
    gpusolve_options options = GPUSOLVE_OPTIONS_INIT;
    gpusolve_handle *handle = NULL;
    gpusolve_trsv *prepared = NULL;
    double error, largest = 0;

    for (int j = 0; j < n; j++) {
        for (int i = 0; i < lda; i++)
            A[i + j * lda] = i < j || i >= n ? NAN : i == j ? 2 : sin(i + 2.0 * j) / n;
        for (int i = j; i < n; i++) {
            row_sums[i] += A[i + j * lda];    /* A times ones */
            column_sums[j] += A[i + j * lda]; /* A' times ones */
        }
    }

    options.backend = GPUSOLVE_BACKEND_HOST; /* x and X are in host memory */
    check(NULL, gpusolve_create(&handle, &options));

    for (int i = 0; i < n; i++)
        x[i] = row_sums[i];
    check(handle,
          gpusolve_dtrsv(handle, GPUSOLVE_LOWER, GPUSOLVE_NO_TRANS, GPUSOLVE_NON_UNIT, n, A, lda, x, 1));
    error = distance(x, n);
    int good = error < 1e-13; /* a NaN is not below it */
    printf("trsv: A x = b, order %d: error %.1e\n", n, error);

    for (int k = 0; k < columns; k++)
        for (int i = 0; i < n; i++)
            X[i + k * n] = 2 * column_sums[i];
    check(handle, gpusolve_dtrsm(handle, GPUSOLVE_LEFT, GPUSOLVE_LOWER, GPUSOLVE_TRANS, GPUSOLVE_NON_UNIT, n,
                                 columns, 0.5, A, lda, X, n, NULL, 0)); /* A' X = 0.5 B */
    error = distance(X, columns * n);
    good = good && error < 1e-13;
    printf("trsm: A' X = B / 2, %d columns: error %.1e\n", columns, error);

    check(handle, gpusolve_trsv_prepare(handle, GPUSOLVE_DOUBLE, GPUSOLVE_LOWER, GPUSOLVE_NO_TRANS,
                                        GPUSOLVE_NON_UNIT, n, A, lda, &prepared));
    for (int solve = 0; solve < 10; solve++) {
        for (int i = 0; i < n; i++)
            x[i] = row_sums[i];
        check(handle, gpusolve_trsv_solve(handle, prepared, x, 1));
        error = distance(x, n);
        good = good && error < 1e-13;
        largest = error > largest ? error : largest;
    }
    printf("trsv, prepared: 10 solves, largest error %.1e\n", largest);

    gpusolve_trsv_destroy(prepared); /* A must stay until here */
    gpusolve_destroy(handle);
    return good ? 0 : 1;
}
