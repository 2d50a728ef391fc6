/* Solve A x = b for a matrix on standard input, with b of ones. The project's README shows the first function. */
#include <gpusolve_cholmod.h>

/* Solve A x = b for each b, with CHOLMOD's factor L of A. Each x takes the place of its b. */
gpusolve_status solve_all(gpusolve_handle *handle, const cholmod_factor *L, cholmod_dense **b, int count) {
    gpusolve_factor *factor;
    gpusolve_dense x;
    gpusolve_status status = gpusolve_cholmod_import(handle, L, &factor); /* once */
    for (int k = 0; k < count && !status; k++) {
        status = gpusolve_cholmod_dense_view(b[k], &x);
        if (!status)
            status = gpusolve_solve(handle, factor, NULL, GPUSOLVE_A, &x, &x); /* as often as wanted */
    }
    gpusolve_factor_destroy(factor);
    return status;
}

#include <stdio.h>

int main(void) {
    cholmod_common common;
    cholmod_start(&common);
    cholmod_sparse *A = cholmod_read_sparse(stdin, &common); /* symmetric; one triangle is stored */
    if (!A || A->stype == 0) {
        fputs("no symmetric matrix in the Matrix Market format\n", stderr);
        return 1;
    }
    cholmod_dense *x = cholmod_ones(A->nrow, 1, A->xtype, &common);
    cholmod_factor *L = cholmod_analyze(A, &common);
    cholmod_factorize(A, L, &common);

    gpusolve_handle *handle = NULL;
    gpusolve_status status = gpusolve_create(&handle, NULL); /* the GPU if there is one, else the host */
    if (!status)
        status = solve_all(handle, L, &x, 1);
    if (status)
        fprintf(stderr, "%s: %s\n", gpusolve_status_name(status),
                handle ? gpusolve_last_error(handle) : gpusolve_status_message(status));
    else
        cholmod_write_dense(stdout, x, NULL, &common);

    gpusolve_destroy(handle);
    cholmod_free_factor(&L, &common);
    cholmod_free_dense(&x, &common);
    cholmod_free_sparse(&A, &common);
    cholmod_finish(&common);
    return status != GPUSOLVE_OK;
}
