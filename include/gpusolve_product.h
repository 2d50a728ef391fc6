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
 * Returns when y is there, on either backend. It works on one column if there is one, else on 8 at a time, on CUDA on up to 64 if they take
 * no more than 512 MB. Columns that are missing in the last 8 are zeros. For each of these columns it takes 16 bytes a row and 8 an update row
 * (gpusolve_info.update_rows) of the backend's memory, twice as much if complex, and on the host the largest panel for each thread. On CUDA the
 * handle keeps up to 64 MB of it for its next product or refresh; more is given back at the end.
 *
 * The first product with a factor on CUDA makes lists of the pattern, which stay with the factor: 8 bytes an update row, 8 a row and some 40 a
 * supernode, counted in gpusolve_info.factor_bytes from then on. Several threads may multiply with one factor, each with its handle.
 * docs/guides/products.md has times.
 *
 * All sums are in double precision and have one order: y has the same bits whatever the neighbours of a column are. On CUDA the factor holds W =
 * inv(L1) and M = L2 W of each supernode in the place of L1 and L2. There a product solves with W, y1 = W \ x1 and y2 = M y1, so that its
 * error is that of such a solve: below some eps norm(|W| |L1|) of the supernode, and supernodes are split until that is moderate (gpusolve_info).
 * A factor that is stored in single precision (gpusolve_factor_data.storage) multiplies with what it stores; x, y and all sums are in double. The error
 * is one of single precision, on the host, too, which stores the reciprocals of L's diagonal.
 *
 * @retval GPUSOLVE_TYPE_MISMATCH x or y has another dtype than the factor.
 * @retval GPUSOLVE_INVALID_ARGUMENT (CUDA) also: the handle's stream is being captured.
 */
GPUSOLVE_API gpusolve_status gpusolve_multiply(gpusolve_handle *handle, const gpusolve_factor *factor,
                                               gpusolve_operator operation, const gpusolve_dense *x,
                                               const gpusolve_dense *y);

#ifdef __cplusplus
}
#endif

#endif /* GPUSOLVE_PRODUCT_H */
