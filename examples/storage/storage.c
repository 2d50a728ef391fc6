/* A factor stored in single precision: half the memory of L, and answers in double precision by refinement.
 *
 * A is tridiagonal, 2 on the diagonal and -1 beside it. b is A times a known x, so the error of x can be printed. */
#include <gpusolve.h>
#include <gpusolve_refine.h>

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
static gpusolve_factor *factorise(gpusolve_handle *handle, gpusolve_storage storage) {
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
    data.storage = storage;
    check(handle, gpusolve_factor_create(handle, &data, &factor));
    return factor;
}

/* The lower triangle of A. */
static gpusolve_matrix *make_matrix(gpusolve_handle *handle) {
    static int32_t p[n + 1], i[2 * n];
    static double values[2 * n];
    const gpusolve_matrix_data data = {.size = sizeof data,
                                       .format = GPUSOLVE_CSC,
                                       .triangle = GPUSOLVE_LOWER,
                                       .dtype = GPUSOLVE_DOUBLE,
                                       .itype = GPUSOLVE_INT32,
                                       .n = n,
                                       .ptr = p,
                                       .index = i,
                                       .x = values};
    gpusolve_matrix *matrix = NULL;
    int32_t k = 0;
    for (int32_t j = 0; j < n; j++) {
        p[j] = k;
        i[k] = j;
        values[k++] = 2;
        if (j < n - 1) {
            i[k] = j + 1;
            values[k++] = -1;
        }
    }
    p[n] = k;
    check(handle, gpusolve_matrix_create(handle, &data, &matrix));
    return matrix;
}

int main(void) {
    static double exact[n], b[n], x[n];
    gpusolve_handle *handle = NULL;
    gpusolve_info single = {.size = sizeof single}, same = {.size = sizeof same};
    check(NULL, gpusolve_create(&handle, NULL));
    gpusolve_factor *factor = factorise(handle, GPUSOLVE_STORAGE_SINGLE),
                    *whole = factorise(handle, GPUSOLVE_STORAGE_SAME);
    check(handle, gpusolve_factor_info(handle, factor, 1, &single));
    check(handle, gpusolve_factor_info(handle, whole, 1, &same));
    printf("L takes %.2f of its bytes in double precision\n",
           (double)single.stored_bytes / (double)same.stored_bytes);

    for (int j = 0; j < n; j++)
        exact[j] = sin(j);
    for (int j = 0; j < n; j++)
        b[j] = 2 * exact[j] - (j > 0 ? exact[j - 1] : 0) - (j < n - 1 ? exact[j + 1] : 0);
    gpusolve_matrix *matrix = make_matrix(handle);
    const gpusolve_dense in = {GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, n, 1, n, b},
                         out = {GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, n, 1, n, x};
    gpusolve_refine_options options = GPUSOLVE_REFINE_OPTIONS_INIT;
    double error[2];
    options.max_steps = 0; /* no correction: only the backward error */
    check(handle, gpusolve_refine(handle, factor, matrix, NULL, &in, &out, &options, &error[0], NULL));
    printf("the backward error of a solve is %s\n", error[0] < 1e-6 ? "below 1e-6" : "too large");
    check(handle, gpusolve_refine(handle, factor, matrix, NULL, &in, &out, NULL, &error[1], NULL));
    printf("refined it is %s\n", error[1] < 4e-16 ? "below 4e-16" : "too large");

    gpusolve_matrix_destroy(matrix);
    gpusolve_factor_destroy(whole);
    gpusolve_factor_destroy(factor);
    gpusolve_destroy(handle);
    return error[0] < 1e-6 && error[1] < 4e-16 ? 0 : 1; /* a NaN is not below */
}
