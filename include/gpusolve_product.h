/** @file
 * gpusolve's products with a factor. */
#ifndef GPUSOLVE_PRODUCT_H
#define GPUSOLVE_PRODUCT_H

#include "gpusolve.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What x is multiplied with. L' is the conjugate transpose. D is the identity for L L', and L has ones on the diagonal for L D L'. */
typedef enum gpusolve_operator {
    GPUSOLVE_TIMES_L = 0,  /**< y = L x */
    GPUSOLVE_TIMES_Lt = 1, /**< y = L' x */
    GPUSOLVE_TIMES_PtL =
        2, /**< y = P' L x: inverse to L \ P, and with L L' a sample of the field with covariance A if x is standard normal */
    GPUSOLVE_TIMES_LtP =
        3, /**< y = L' P x: inverse to P' L' \, which gpusolve_sample applies; norm(y)^2 = x' A x with L L' */
    GPUSOLVE_TIMES_A = 4 /**< y = P' L D L' P x = A x */
} gpusolve_operator;

/**
 * Products with the factor.
 * @param handle    [in] of the factor's backend and device
 * @param factor    [in]
 * @param operation which product
 * @param x         [in]  n x any number of columns, the factor's dtype
 * @param y         [out] n x as many columns, x's dtype; may be x itself (same values, order and ld), else must not share a byte with it
 *
 * Returns when y is there, on either backend. It allocates memory of the backend meanwhile, for each of up to 8 columns at a time 16 bytes a
 * row and 8 an update row (gpusolve_info.update_rows), twice as much if complex; besides, on CUDA, lists of the pattern, and on the host
 * the largest panel for each thread. A factor is made to be solved with, and a product is not as fast as a solve: docs/guides/products.md has
 * times.
 *
 * All sums are in double precision and have one order: y has the same bits whatever the neighbours of a column are. On CUDA the factor holds W =
 * inv(L1) and M = L2 W of each supernode in the place of L1 and L2. There a product solves with W, y1 = W \ x1 and y2 = M y1, so that its
 * error is that of such a solve: below some eps norm(|W| |L1|) of the supernode, and supernodes are split until that is moderate (gpusolve_info).
 *
 * @retval GPUSOLVE_TYPE_MISMATCH x or y has another dtype than the factor.
 * @retval GPUSOLVE_NOT_SUPPORTED the factor stores L in single precision, with b and x in double (gpusolve_factor_data.storage).
 * @retval GPUSOLVE_INVALID_ARGUMENT (CUDA) also: the handle's stream is being captured.
 */
GPUSOLVE_API gpusolve_status gpusolve_multiply(gpusolve_handle *handle, const gpusolve_factor *factor,
                                               gpusolve_operator operation, const gpusolve_dense *x,
                                               const gpusolve_dense *y);

#ifdef __cplusplus
}
#endif

#endif /* GPUSOLVE_PRODUCT_H */
