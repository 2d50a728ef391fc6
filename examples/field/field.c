/* A Gaussian field whose precision matrix CHOLMOD has factorised: log det A, a condition number, samples, a product with the factor,
 * covariances on A's pattern, and a batch of such factors.
 *
 * A = T + s I on a grid, T the five-point Laplacian. Samples and the product are checked by x' A x = norm(L' P x)^2, covariances by
 * trace(A inv(A)) = n, and the batch by its solutions for b = A(m) times ones. */
#include <gpusolve_cholmod_batch.h>
#include <gpusolve_cholmod_operands.h>
#include <gpusolve_sample.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { side = 30, n = side * side, samples = 3, members = 4 };

static void check(const gpusolve_handle *handle, gpusolve_status status) {
    if (status == GPUSOLVE_OK)
        return;
    fprintf(stderr, "%s: %s\n", gpusolve_status_name(status),
            handle ? gpusolve_last_error(handle) : gpusolve_status_message(status));
    exit(1);
}

/* Nothing that CHOLMOD should have made may be missing. */
static void *made(void *object) {
    if (!object) {
        fputs("out of memory\n", stderr);
        exit(1);
    }
    return object;
}

/* The lower triangle of T + shift I. */
static cholmod_sparse *precision(double shift, cholmod_common *common) {
    cholmod_sparse *A = made(cholmod_allocate_sparse(n, n, 3 * n, 1, 1, -1, CHOLMOD_REAL, common));
    int *p = A->p, *i = A->i, k = 0;
    double *x = A->x;
    for (int j = 0; j < n; j++) {
        p[j] = k;
        i[k] = j, x[k++] = 4 + shift;
        if (j % side < side - 1)
            i[k] = j + 1, x[k++] = -1;
        if (j + side < n)
            i[k] = j + side, x[k++] = -1;
    }
    p[n] = k;
    return A;
}

/* x' A x and y' y for each sample: the largest relative difference. */
static double compare_norms(cholmod_sparse *A, cholmod_dense *X, cholmod_dense *Y, cholmod_common *common) {
    double one[2] = {1, 0}, zero[2] = {0, 0}, worst = 0;
    cholmod_dense *AX = made(cholmod_zeros(n, samples, CHOLMOD_REAL, common));
    cholmod_sdmult(A, 0, one, zero, X, AX, common);
    for (int j = 0; j < samples; j++) {
        double energy = 0, norm = 0;
        for (int k = j * n; k < (j + 1) * n; k++) {
            energy += ((double *)X->x)[k] * ((double *)AX->x)[k];
            norm += ((double *)Y->x)[k] * ((double *)Y->x)[k];
        }
        worst = fmax(worst, isnan(energy - norm) ? INFINITY : fabs(energy - norm) / energy);
    }
    cholmod_free_dense(&AX, common);
    return worst;
}

/* trace(A Z) of two lower triangles with one pattern. */
static double trace_of_product(const cholmod_sparse *A, const cholmod_sparse *Z) {
    const int *p = A->p, *i = A->i;
    const double *a = A->x, *z = Z->x;
    double trace = 0;
    for (int j = 0; j < n; j++)
        for (int k = p[j]; k < p[j + 1]; k++)
            trace += (i[k] == j ? 1 : 2) * a[k] * z[k];
    return trace;
}

/* The largest error of solutions that are all ones. */
static double solve_batch(gpusolve_handle *handle, const gpusolve_batch *batch, cholmod_sparse **A,
                          cholmod_common *common) {
    double one[2] = {1, 0}, zero[2] = {0, 0}, worst = 0;
    gpusolve_batch_workspace *workspace = NULL;
    cholmod_dense *B[members], *X[members] = {NULL}, *ones = made(cholmod_ones(n, 1, CHOLMOD_REAL, common));
    for (int m = 0; m < members; m++) {
        B[m] = made(cholmod_zeros(n, 1, CHOLMOD_REAL, common));
        cholmod_sdmult(A[m], 0, one, zero, ones, B[m], common);
    }
    check(handle, gpusolve_batch_workspace_create(handle, batch, 1, &workspace));
    check(handle, gpusolve_cholmod_batch_solve(handle, batch, workspace, CHOLMOD_A, B, X, NULL,
                                               common)); /* makes X */
    for (int m = 0; m < members; m++) {
        for (int k = 0; k < n; k++) {
            const double error = fabs(((double *)X[m]->x)[k] - 1);
            worst = error <= worst ? worst : error; /* a NaN stays */
        }
        cholmod_free_dense(&B[m], common);
        cholmod_free_dense(&X[m], common);
    }
    cholmod_free_dense(&ones, common);
    gpusolve_batch_workspace_destroy(workspace);
    return worst;
}

int main(void) {
    cholmod_common common;
    cholmod_sparse *A[members];
    cholmod_factor *L[members];
    gpusolve_handle *handle = NULL;
    gpusolve_factor *factor = NULL;
    cholmod_start(&common);
    common.supernodal = CHOLMOD_SUPERNODAL; /* L L' */
    for (int m = 0; m < members; m++) {
        A[m] = precision(0.1 * (1 + m), &common);
        L[m] = made(cholmod_analyze(A[m], &common));
        cholmod_factorize(A[m], L[m], &common); /* the import says so if this has failed */
    }
    check(NULL, gpusolve_create(&handle, NULL));
    check(handle, gpusolve_cholmod_import(handle, L[0], &factor));

    double logdet, rcond;
    check(handle, gpusolve_factor_logdet(handle, factor, &logdet, NULL));
    check(handle,
          gpusolve_factor_rcond(handle, factor, NULL, NULL, cholmod_norm_sparse(A[0], 1, &common), &rcond));
    printf("log det A %.6f, condition number %.2f\n", logdet, 1 / rcond);

    cholmod_dense *X = made(cholmod_zeros(n, samples, CHOLMOD_REAL, &common)), *Y = NULL;
    gpusolve_dense x;
    check(handle, gpusolve_cholmod_dense_view(X, &x)); /* no copy: samples go into X */
    check(handle, gpusolve_sample(handle, factor, NULL, NULL, &x));
    check(handle,
          gpusolve_cholmod_multiply(handle, factor, GPUSOLVE_TIMES_LtP, X, &Y, &common)); /* makes Y */
    const double apart = compare_norms(A[0], X, Y, &common);
    printf("samples: x' A x and norm(L' P x)^2 differ by %.1e of it\n", apart);

    cholmod_sparse *Z = NULL;
    check(handle, gpusolve_cholmod_inverse(handle, factor, A[0], &Z, &common)); /* makes Z */
    const double off = fabs(trace_of_product(A[0], Z) / n - 1);
    printf("covariances: trace(A inv(A)) / n is 1 but for %.1e\n", off);

    gpusolve_batch *batch = NULL;
    check(handle,
          gpusolve_cholmod_batch_create(handle, members, L, GPUSOLVE_STORAGE_SAME, NULL, &batch, &common));
    const double first = solve_batch(handle, batch, A, &common);
    cholmod_free_sparse(&A[2], &common); /* member 2 becomes another one */
    A[2] = precision(7, &common);
    cholmod_factorize(A[2], L[2], &common);
    check(handle, gpusolve_cholmod_batch_refresh(handle, batch, 2, 1, &L[2], NULL, &common));
    const double second = solve_batch(handle, batch, A, &common);
    printf("batch of %d: largest error %.1e, after a refresh %.1e\n", members, first, second);

    gpusolve_batch_destroy(batch);
    gpusolve_factor_destroy(factor);
    gpusolve_destroy(handle);
    cholmod_free_sparse(&Z, &common);
    cholmod_free_dense(&X, &common);
    cholmod_free_dense(&Y, &common);
    for (int m = 0; m < members; m++) {
        cholmod_free_factor(&L[m], &common);
        cholmod_free_sparse(&A[m], &common);
    }
    cholmod_finish(&common);
    return apart < 1e-12 && off < 1e-12 && first < 1e-12 && second < 1e-12 ? 0 : 1; /* a NaN is not below */
}
