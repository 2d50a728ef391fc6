/* A plug-in that brings its CHOLMOD along, like an extension module of Python: opened with RTLD_LOCAL, so its functions of CHOLMOD are in
 * no global scope. plugin_check: how many solves were wrong. */
#include <cholmod.h>

__attribute__((visibility("default"))) int plugin_check(void);

int plugin_check(void) {
    cholmod_common common;
    int wrong = 0;
    const size_t n = 200;
    cholmod_start(&common);
    common.supernodal = CHOLMOD_SUPERNODAL;
    cholmod_triplet *t = cholmod_allocate_triplet(n, n, 2 * n, -1, CHOLMOD_REAL, &common);
    for (size_t i = 0; i < n; i++)
        for (size_t j = i; j < n && j < i + 2; j++) {
            ((int *)t->i)[t->nnz] = (int)j;
            ((int *)t->j)[t->nnz] = (int)i;
            ((double *)t->x)[t->nnz++] = i == j ? 3 : -1;
        }
    cholmod_sparse *a = cholmod_triplet_to_sparse(t, 0, &common);
    cholmod_factor *l = cholmod_analyze(a, &common);
    cholmod_factorize(a, l, &common);
    cholmod_dense *b = cholmod_ones(n, 2, CHOLMOD_REAL, &common);
    for (int k = 0; k < 20; k++) {
        double one[2] = {1, 0}, minus[2] = {-1, 0};
        cholmod_dense *x = cholmod_solve(CHOLMOD_A, l, b, &common), *r = cholmod_copy_dense(b, &common);
        cholmod_sdmult(a, 0, minus, one, x, r, &common);
        wrong += !(cholmod_norm_dense(r, 0, &common) < 1e-12);
        cholmod_free_dense(&x, &common);
        cholmod_free_dense(&r, &common);
    }
    cholmod_free_dense(&b, &common);
    cholmod_free_factor(&l, &common);
    cholmod_free_sparse(&a, &common);
    cholmod_free_triplet(&t, &common);
    cholmod_finish(&common);
    return wrong + (common.malloc_count != 0);
}
