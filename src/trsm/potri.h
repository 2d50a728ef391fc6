/* The inverse from a dense Cholesky factor, as a recursion over what a backend does. */
#ifndef GSV_TRSM_POTRI_H
#define GSV_TRSM_POTRI_H

#include "triangular.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * What a backend does, with numbers of dtype, all matrices column-major:
 *
 *      triangular      TRSM or TRMM
 *      copy_triangle   to = from in the triangle uplo, order n; from == NULL: the identity; fill: zeros
 *                      elsewhere
 *      rank_k          the triangle uplo of c = a' a + beta c (trans) or a a' + beta c, c of order n, a
 *                      having k rows or columns
 *
 * tile: tile_order x tile_order numbers of scratch, where the backend works.
 */
typedef struct gsv_inverse_backend {
    void *context;
    int64_t tile_order;
    void *tile;
    gpusolve_status (*triangular)(void *context, const gsv_triangular *p, gsv_number alpha);
    gpusolve_status (*copy_triangle)(void *context, gpusolve_dtype dtype, gpusolve_uplo uplo,
                                     const void *from, int64_t from_ld, void *to, int64_t to_ld, int64_t n,
                                     int fill);
    gpusolve_status (*rank_k)(void *context, gpusolve_dtype dtype, gpusolve_uplo uplo, int trans, int64_t n,
                              int64_t k, const void *a, int64_t lda, double beta, void *c, int64_t ldc);
} gsv_inverse_backend;

typedef struct gsv_inverse_problem {
    gpusolve_dtype dtype;
    gpusolve_uplo uplo;
    int64_t n;
    void *a;
    int64_t lda;
} gsv_inverse_problem;

/* a, holding L or U, becomes the inverse of L L' or U' U, in the same triangle. n >= 1 */
gpusolve_status gsv_inverse_run(const gsv_inverse_problem *p, const gsv_inverse_backend *backend);

/*
 * The whole call: a zero on the diagonal gives GPUSOLVE_SINGULAR with LAPACK's info in the sentence, and a stays
 * as it is. A NaN is not a zero. The device is asked for the place of a zero, and waited for, unless the
 * stream is being captured: then nobody looks.
 */
gpusolve_status gsv_inverse_host(gpusolve_handle *handle, const gsv_inverse_problem *p);
gpusolve_status gsv_inverse_cuda(gpusolve_handle *handle, const gsv_inverse_problem *p, void *workspace,
                                 size_t workspace_bytes);

/* info: the place of the first zero on the diagonal, counted from 1; 0: there is none, which is GPUSOLVE_OK */
gpusolve_status gsv_inverse_judge(gpusolve_handle *handle, int64_t info);

#ifdef __cplusplus
}
#endif
#endif
