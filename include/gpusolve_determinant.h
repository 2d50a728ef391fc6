/** @file
 * gpusolve's determinants, diagonals and condition numbers. gpusolve.h includes this file. */
#ifndef GPUSOLVE_DETERMINANT_H
#define GPUSOLVE_DETERMINANT_H

#include "gpusolve.h"
#include "gpusolve_refine.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * The determinant of A: det A = sign exp(logdet). A factor L L' has 2 sum(log L(j,j)), a factor L D L' sum(log |D(j,j)|).
 * @param logdet  [out, host or device] log |det A|, a double whatever the factor's dtype; or NULL
 * @param sign    [out, host or device] 1, or -1 if D has an odd number of negative entries; or NULL
 *
 * The determinant is computed in gpusolve_factor_create and gpusolve_factor_refresh, from the diagonal that was given to them: as a product with a
 * relative error below n 2^-120, whose logarithm is then right to a few units in the last place, also where its terms cancel. It cannot over- or
 * underflow, and has the same bits on every backend of one machine. A zero or a NaN on the diagonal is refused there, so a factor has
 * a determinant other than zero. For n = 0 it is 1.
 *
 * Host memory has the number on return, and nothing waits. Device memory (CUDA) gets it asynchronously on the handle's stream, by one
 * copy if sign is logdet + 1, otherwise by one for each; these may be captured into a CUDA graph, which afterwards gives what the
 * factor then has. If a refresh has planned the factor again (gpusolve_factor_refresh), a graph that was captured before stores NaN.
 *
 * @retval GPUSOLVE_INVALID_FACTOR a refresh has broken off half-way.
 * @retval GPUSOLVE_INVALID_ARGUMENT an argument is in host memory while the stream is being captured; sign is logdet.
 */
GPUSOLVE_API gpusolve_status gpusolve_factor_logdet(gpusolve_handle *handle, const gpusolve_factor *factor,
                                                    double *logdet, double *sign);

/**
 * The smallest and the largest entry on the diagonal: of L(j,j), or of |D(j,j)| if the factor is L D L'; both 1 for n = 0. The square of their
 * quotient (for L D L' the quotient) is at most the condition number of A in the 2-norm, but may be far less:
 * gpusolve_factor_rcond is the better estimate.
 * @param smallest,largest  [out, host or device] or NULL; as in gpusolve_factor_logdet
 */
GPUSOLVE_API gpusolve_status gpusolve_factor_diagonal(gpusolve_handle *handle, const gpusolve_factor *factor,
                                                      double *smallest, double *largest);

/**
 * The reciprocal of A's condition number, estimated: 1 / (norm(A, 1) norm(inv(A), 1)). norm(inv(A), 1) is estimated from below by
 * Hager's method as refined by Higham (ACM TOMS 14, 1988; LAPACK's xPOCON), with 3 to 10 solves, mostly 3 to 5. So rcond is too large at most, but for
 * rounding, and seldom by more than a factor of 3. A system solved with the factor loses about log10(1 / rcond) digits.
 * @param workspace  [in] as in gpusolve_solve; NULL: the handle's own. One of two columns saves a solve
 * @param matrix     [in] the A that was factorised, of which the norm is taken, as in gpusolve_refine; or NULL: norm_1 is the norm
 * @param norm_1     norm(A, 1), which is norm(A, inf): finite and >= 0; read if matrix is NULL
 * @param rcond      [out, host] between 0 and, but for rounding and a norm that is not A's, 1. 0 if A is 0 to working precision or its norm is 0: inv(A)
 *                   overflows. 1 for n = 0
 *
 * Blocks, on either backend. The vectors, two of n numbers, are in host memory.
 *
 * @retval GPUSOLVE_TIMED_OUT (CUDA) as in gpusolve_solve.
 * @retval GPUSOLVE_INVALID_ARGUMENT (CUDA) also: the handle's stream is being captured.
 */
GPUSOLVE_API gpusolve_status gpusolve_factor_rcond(gpusolve_handle *handle, const gpusolve_factor *factor,
                                                   gpusolve_workspace *workspace,
                                                   const gpusolve_matrix *matrix, double norm_1,
                                                   double *rcond);

#ifdef __cplusplus
}
#endif

#endif /* GPUSOLVE_DETERMINANT_H */
