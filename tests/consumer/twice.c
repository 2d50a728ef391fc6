/* A program that knows nothing of gpusolve: CHOLMOD solves three times with one factor. For the library to preload. */
#include <cholmod.h>

int main(void) {
    cholmod_common common;
    int wrong = 0;
    cholmod_start(&common);
    common.supernodal = CHOLMOD_SUPERNODAL;
    cholmod_sparse *A = cholmod_read_sparse(stdin, &common);
    cholmod_factor *L = cholmod_analyze(A, &common);
    cholmod_dense *b = cholmod_ones(A->nrow, 1, CHOLMOD_REAL, &common);
    cholmod_factorize(A, L, &common);
    for (int k = 0; k < 3; k++) {
        cholmod_dense *x = cholmod_solve(CHOLMOD_A, L, b, &common);
        const double difference = x ? ((double *)x->x)[0] - 5. / 6 : 1;
        wrong += !(difference < 1e-12 && difference > -1e-12);
        cholmod_free_dense(&x, &common);
    }
    cholmod_free_dense(&b, &common);
    cholmod_free_factor(&L, &common);
    cholmod_free_sparse(&A, &common);
    cholmod_finish(&common);
    return wrong;
}
