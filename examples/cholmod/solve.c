/* Solve A x = b for a matrix on standard input, with b of ones: the example of the project's README. */
#include <gpusolve_cholmod.h>

#include <stdio.h>

int main(void) {
    cholmod_common common;
    gpusolve_handle *handle = NULL;
    gpusolve_factor *factor = NULL;
    gpusolve_dense B, X;

    cholmod_start(&common);
    cholmod_sparse *A = cholmod_read_sparse(stdin, &common); /* symmetric; one triangle is stored */
    if (!A || A->stype == 0) {
        fputs("no symmetric matrix in the Matrix Market format\n", stderr);
        return 1;
    }
    cholmod_dense *b = cholmod_ones(A->nrow, 1, A->xtype, &common);
    cholmod_dense *x = cholmod_zeros(A->nrow, 1, A->xtype, &common);
    cholmod_factor *L = cholmod_analyze(A, &common);
    cholmod_factorize(A, L, &common);

    gpusolve_status status = gpusolve_cholmod_dense_view(b, &B);
    if (!status)
        status = gpusolve_cholmod_dense_view(x, &X);
    if (!status)
        status = gpusolve_create(&handle, NULL); /* the GPU where there is one, else the host */
    if (!status)
        status = gpusolve_cholmod_import(handle, L, &factor); /* once */
    if (!status)
        status = gpusolve_solve(handle, factor, NULL, GPUSOLVE_A, &B, &X); /* as often as wanted */
    if (status)
        fprintf(stderr, "%s: %s\n", gpusolve_status_name(status),
                handle ? gpusolve_last_error(handle) : gpusolve_status_message(status));
    else
        cholmod_write_dense(stdout, x, NULL, &common);

    gpusolve_factor_destroy(factor);
    gpusolve_destroy(handle);
    cholmod_free_factor(&L, &common);
    cholmod_free_dense(&x, &common);
    cholmod_free_dense(&b, &common);
    cholmod_free_sparse(&A, &common);
    cholmod_finish(&common);
    return status != GPUSOLVE_OK;
}
