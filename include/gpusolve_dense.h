/*
 * gpusolve's dense calls, on NVIDIA GPUs and on the host.
 *
 * Matrices are column-major, entry (i, j) at i + j ld, as in the BLAS; complex numbers are interleaved (re,
 * im). Arguments are checked in the order of declaration; a call that fails for its arguments changes
 * nothing. A handle serves one thread at a time, and its dense calls are ordered on one stream: what is
 * replayed from two CUDA graphs that were captured with the same handle must not run at the same time.
 */
#ifndef GPUSOLVE_DENSE_H
#define GPUSOLVE_DENSE_H

#include "gpusolve.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------------------------------------- types --- */

/* Which triangle holds the numbers: GPUSOLVE_LOWER or GPUSOLVE_UPPER. The other one is never read. */
typedef gpusolve_triangle gpusolve_uplo;

typedef enum gpusolve_trans {                        /* op(A) is */
                              GPUSOLVE_NO_TRANS = 0, /* A */
                              GPUSOLVE_TRANS = 1,    /* its transpose */
                              GPUSOLVE_CONJ_TRANS =
                                  2 /* its conjugate transpose: the transpose if A is real */
} gpusolve_trans;

/* GPUSOLVE_UNIT: the diagonal is taken to be ones and never read. */
typedef enum gpusolve_diag { GPUSOLVE_NON_UNIT = 0, GPUSOLVE_UNIT = 1 } gpusolve_diag;

/* ----------------------------------------------------------------------------------------------- TRSV --- */

/*
 * Triangular solve with one right-hand side, in place:
 *
 *      op(A) x = b,      x holds b on entry and the solution afterwards
 *
 *   handle            [in]
 *   uplo, trans, diag see the types above
 *   n                 >= 0, the order of A; 0 is a quick return
 *   A                 [in, device; host with the host backend] n x n. Read: the triangle, without the
 * diagonal if that is unit. Complex: void, of the C types' layout lda               >= max(1, n) x [in, out,
 * device; host with the host backend] component i at x[i incx] if incx > 0, at x[(i - n + 1) incx] if incx <
 * 0. Must not overlap A incx              not 0
 *
 * CUDA: asynchronous on the handle's stream, one launch, can be captured into a CUDA graph. The first call
 * with a handle allocates 4 MiB on the device (under capture too), no later one allocates anything. The same
 * call gives the same bits every time. Host: CBLAS's own; returns when x is there.
 *
 * Accuracy. Diagonal blocks are inverted where a bound computed from their numbers allows it (the rule of
 * src/trsm/panel_inverse.h) and solved with by substitution elsewhere. The residual of row i stays below
 * 10 n eps (|op(A)| |x| + |b|)_i on the matrices that tests/dense tries, as it does with substitution, except
 * where a component of x is zero but for rounding: there it is small beside its block of up to 64 rows. A
 * diagonal entry of zero gives infinities and NaNs, as in the BLAS. A NaN in b spreads to what depends on it,
 * and to the rest of its block.
 *
 * GPUSOLVE_TOO_LARGE: the vector has more than 2 MiB. GPUSOLVE_NOT_SUPPORTED: host backend without a CBLAS.
 *
 * Source: J. D. Hogg, "A fast dense triangular solve in CUDA", SIAM J. Sci. Comput. 35 (2013), for the roles
 * of the blocks and for inversion off the critical path.
 */
GPUSOLVE_API gpusolve_status gpusolve_strsv(gpusolve_handle *handle, gpusolve_uplo uplo, gpusolve_trans trans,
                                            gpusolve_diag diag, int64_t n, const float *A, int64_t lda,
                                            float *x, int64_t incx);
GPUSOLVE_API gpusolve_status gpusolve_dtrsv(gpusolve_handle *handle, gpusolve_uplo uplo, gpusolve_trans trans,
                                            gpusolve_diag diag, int64_t n, const double *A, int64_t lda,
                                            double *x, int64_t incx);
GPUSOLVE_API gpusolve_status gpusolve_ctrsv(gpusolve_handle *handle, gpusolve_uplo uplo, gpusolve_trans trans,
                                            gpusolve_diag diag, int64_t n, const void *A, int64_t lda,
                                            void *x, int64_t incx);
GPUSOLVE_API gpusolve_status gpusolve_ztrsv(gpusolve_handle *handle, gpusolve_uplo uplo, gpusolve_trans trans,
                                            gpusolve_diag diag, int64_t n, const void *A, int64_t lda,
                                            void *x, int64_t incx);

#ifdef __cplusplus
}
#endif

#endif /* GPUSOLVE_DENSE_H */
