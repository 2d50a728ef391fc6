/** @file
 * gpusolve's dense calls: triangular matrices against dense ones, on NVIDIA GPUs and on the host.
 *
 * Matrices are column-major, entry (i, j) at i + j ld, as in the BLAS; complex numbers are interleaved (re,
 * im). Arguments are checked in the order of declaration; a call that fails for its arguments changes
 * nothing. A handle serves one thread at a time, and its dense calls are ordered on one stream: what is
 * replayed from two CUDA graphs that were captured with the same handle must not run at the same time.
 *
 * Operands. What a call writes must not share a byte with the numbers that it reads otherwise, nor with the
 * workspace. This is decided exactly, for any leading dimensions and increments, and refused with
 * GPUSOLVE_INVALID_ARGUMENT. Bytes that the call neither reads nor writes do not count: the other triangle
 * of A, its diagonal if that is unit, and what lies between columns. So A and B may be parts of one array.
 * A pointer is a multiple of the size of a number in device memory, and of a real number in host memory.
 *
 *      CUDA   operands and workspace in memory of the handle's device, or managed (gpusolve_trsm_staged and
 *             gpusolve_trmm_staged: in host memory). Memory of another device is refused, also if peer access
 *             to it is enabled: the caller could disable it while the call is under way.
 *             Calls are asynchronous on the handle's stream, allocate nothing, copy nothing to or from the
 *             host, and can be captured into a CUDA graph; gpusolve_?potri alone waits for the stream once.
 *             The first call of a handle is different: it makes what stays with the handle. For TRSV that is
 *             4 MiB of device memory; for the others, the first size query among them, a cuBLAS handle and 68
 *             MiB, which takes about 0.1 s and cannot be captured.
 *      host   operands in host memory; a call returns when the result is there. Needs a build that found a
 *             CBLAS, which the first call opens; it is not opened before. Threads are the BLAS's own. Where
 *             none can be started a call gives GPUSOLVE_OUT_OF_MEMORY if the CBLAS is not open yet.
 */
#ifndef GPUSOLVE_DENSE_H
#define GPUSOLVE_DENSE_H

#include "gpusolve.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------------------------------------- types --- */
/** @name Types
 * @{ */

/** On which side of the unknown matrix A stands. */
typedef enum gpusolve_side { GPUSOLVE_LEFT = 0, GPUSOLVE_RIGHT = 1 } gpusolve_side;

/** Which triangle holds the numbers: GPUSOLVE_LOWER or GPUSOLVE_UPPER. The other one is never read. */
typedef gpusolve_triangle gpusolve_uplo;

/** What op(A) is. */
typedef enum gpusolve_trans {
    GPUSOLVE_NO_TRANS = 0,  /**< A */
    GPUSOLVE_TRANS = 1,     /**< its transpose */
    GPUSOLVE_CONJ_TRANS = 2 /**< its conjugate transpose: the transpose if A is real */
} gpusolve_trans;

/** GPUSOLVE_UNIT: the diagonal is taken to be ones and never read. */
typedef enum gpusolve_diag { GPUSOLVE_NON_UNIT = 0, GPUSOLVE_UNIT = 1 } gpusolve_diag;

/** @} */

/* ----------------------------------------------------------------------------------------------- TRSV --- */
/** @name TRSV
 * @{ */

/**
 * Triangular solve with one right-hand side, in place:
 *
 *      op(A) x = b,      x holds b on entry and the solution afterwards
 *
 * @param uplo,trans,diag  see the types above
 * @param n                >= 0, the order of A; 0 is a quick return
 * @param A                [in, device; host with the host backend] n x n. The triangle is read, without the
 *                         diagonal if that is unit
 * @param lda              >= max(1, n)
 * @param x                [in, out, device; host with the host backend] component i at x[i incx] if incx > 0,
 *                         at x[(i - n + 1) incx] if incx < 0. Must not overlap A
 * @param incx             not 0; -2^31 < incx < 2^31. (n - 1) |incx| may exceed 2^31
 *
 * Complex numbers are passed as void, laid out as the C types.
 *
 * CUDA: asynchronous on the handle's stream, one launch, can be captured into a CUDA graph. The first call
 * with a handle allocates 4 MiB on the device (under capture too), no later one allocates anything. The same
 * call gives the same bits every time. Host: CBLAS's own; returns when x is there. On the device every wait
 * of one thread block for another ends, after about ten seconds at the latest, with NaNs in x, which are then
 * the only sign of it: there is no status for what has not run yet, and the next call is as good as ever.
 *
 * Accuracy. Diagonal blocks are inverted where a bound computed from their numbers allows it (the rule of
 * src/trsm/cuda/panels/inverse.h) and solved with by substitution elsewhere. The residual of row i stays below
 * 10 n eps (|op(A)| |x| + |b|)_i on the matrices that tests/dense tries, as it does with substitution, except
 * where a component of x is zero but for rounding: there it is small beside its block of up to 64 rows. A
 * diagonal entry of zero gives infinities and NaNs, as in the BLAS. A NaN in b spreads to what depends on it,
 * and to the rest of its block.
 *
 * @retval GPUSOLVE_TOO_LARGE a size beyond 2^31 - 1; A or x ends beyond 64-bit addresses; on the device, the vector
 * has more than 2 MiB
 * @retval GPUSOLVE_OUT_OF_MEMORY on the host, for a copy of x if (n - 1) |incx| exceeds 2^30
 * @retval GPUSOLVE_NOT_SUPPORTED host backend without a CBLAS, or a device without 160 KB of shared memory a block
 *
 * Source: J. D. Hogg, "A fast dense triangular solve in CUDA", SIAM J. Sci. Comput. 35 (2013), for the roles
 * of the blocks and for inversion off the critical path.
 */
GPUSOLVE_API gpusolve_status gpusolve_strsv(gpusolve_handle *handle, gpusolve_uplo uplo, gpusolve_trans trans,
                                            gpusolve_diag diag, int64_t n, const float *A, int64_t lda,
                                            float *x, int64_t incx);
/** gpusolve_strsv in double precision. */
GPUSOLVE_API gpusolve_status gpusolve_dtrsv(gpusolve_handle *handle, gpusolve_uplo uplo, gpusolve_trans trans,
                                            gpusolve_diag diag, int64_t n, const double *A, int64_t lda,
                                            double *x, int64_t incx);
/** gpusolve_strsv with complex numbers in single precision. */
GPUSOLVE_API gpusolve_status gpusolve_ctrsv(gpusolve_handle *handle, gpusolve_uplo uplo, gpusolve_trans trans,
                                            gpusolve_diag diag, int64_t n, const void *A, int64_t lda,
                                            void *x, int64_t incx);
/** gpusolve_strsv with complex numbers in double precision. */
GPUSOLVE_API gpusolve_status gpusolve_ztrsv(gpusolve_handle *handle, gpusolve_uplo uplo, gpusolve_trans trans,
                                            gpusolve_diag diag, int64_t n, const void *A, int64_t lda,
                                            void *x, int64_t incx);

/**
 * The prepared form, for many solves with one matrix: a packed copy of the triangle in which diagonal blocks
 * of 2048 rows stand inverted, so that a solve is products alone. A matrix whose blocks are too
 * ill-conditioned for that (the rule above, block by block) is not copied; its solves are those of
 * gpusolve_?trsv and read A, which must therefore stay as it is until the prepared form is destroyed. The
 * same with the host backend.
 */
typedef struct gpusolve_trsv gpusolve_trsv;

/**
 * Device memory that a prepared form takes; while it is made, up to 64 MiB besides.
 * @param dtype,n  of the matrix
 * @param bytes    [out, host] 0 on the host backend
 */
GPUSOLVE_API gpusolve_status gpusolve_trsv_query(gpusolve_handle *handle, gpusolve_dtype dtype, int64_t n,
                                                 size_t *bytes);

/**
 * Prepare. Blocks until the form is ready.
 * @param dtype                    of A
 * @param uplo,trans,diag,n,A,lda  as in gpusolve_?trsv; the solves are with op(A)
 * @param prepared                 [out, host] NULL on failure
 */
GPUSOLVE_API gpusolve_status gpusolve_trsv_prepare(gpusolve_handle *handle, gpusolve_dtype dtype,
                                                   gpusolve_uplo uplo, gpusolve_trans trans,
                                                   gpusolve_diag diag, int64_t n, const void *A, int64_t lda,
                                                   gpusolve_trsv **prepared);

/**
 * op(A) x = b, in place, with x and incx as in gpusolve_?trsv, on the stream of the handle, which has the
 * backend and device that the form was made with. Asynchronous, one launch, allocates nothing, capturable;
 * one solve with a form at a time. The same bits every time. The residual in the norm of a block of 2048 rows
 * is as small as that of substitution.
 */
GPUSOLVE_API gpusolve_status gpusolve_trsv_solve(gpusolve_handle *handle, gpusolve_trsv *prepared, void *x,
                                                 int64_t incx);

/** Free the form. The caller has waited for its solves. NULL is accepted. */
GPUSOLVE_API void gpusolve_trsv_destroy(gpusolve_trsv *prepared);

/** @} */

/* -------------------------------------------------------------------------------------- TRSM and TRMM --- */
/** @name TRSM and TRMM
 * @{ */

/**
 * How much workspace makes gpusolve_?trsm and gpusolve_?trmm, with these sizes, as fast as they can be.
 * @param dtype,side  of the call
 * @param m,n         >= 0, rows and columns of B
 * @param bytes       [out, host] 0 on the host backend
 *
 * CUDA: the first dense call of a handle, see above; waits for nothing afterwards.
 */
GPUSOLVE_API gpusolve_status gpusolve_trsm_workspace(gpusolve_handle *handle, gpusolve_dtype dtype,
                                                     gpusolve_side side, int64_t m, int64_t n, size_t *bytes);
/** The same of gpusolve_?trmm. */
GPUSOLVE_API gpusolve_status gpusolve_trmm_workspace(gpusolve_handle *handle, gpusolve_dtype dtype,
                                                     gpusolve_side side, int64_t m, int64_t n, size_t *bytes);

/**
 * Triangular solve with many right-hand sides, in place:
 *
 *      op(A) X = alpha B   (GPUSOLVE_LEFT)      or      X op(A) = alpha B   (GPUSOLVE_RIGHT),      B := X
 *
 * @param side,uplo,trans,diag  see the types above
 * @param m,n                   >= 0: B is m x n
 * @param alpha                 [host] 0: B becomes zero, whatever it held, and A is not read. Complex: (re, im)
 * @param A                     [in, device or host as above] triangular, of order m (left) or n (right)
 * @param lda                   >= max(1, order)
 * @param B                     [in, out] right-hand sides, then X. Must not overlap A
 * @param ldb                   >= max(1, m)
 * @param workspace             [device] scratch, or NULL: the call then makes do with the handle's own, which is
 *                              slower where that is small. Aligned to 256 bytes. Must not overlap A or B, on the host
 *                              backend neither, which does not use it
 * @param workspace_bytes       of it; gpusolve_trsm_workspace says how many are of use, fewer do as well
 *
 * A diagonal entry that is zero gives infinities and NaNs, as in the BLAS; a NaN or an infinity in a column
 * of B may spread over the whole column. The same call on the same device gives the same bits.
 *
 * @retval GPUSOLVE_TOO_LARGE a size beyond 2^31 - 1, or a matrix that ends beyond 64-bit addresses.
 * @retval GPUSOLVE_NOT_SUPPORTED host backend without a CBLAS, or a stream under capture before the handle's first
 * dense call.
 *
 * CUDA: the diagonal blocks of 64 are inverted in one launch (but for those too ill-conditioned for it, which
 * are solved with by substitution), and each step is a product. Recursion after Charara, Ltaief, Keyes,
 * "Redesigning triangular dense matrix computations on GPUs", Euro-Par 2016.
 */
GPUSOLVE_API gpusolve_status gpusolve_strsm(gpusolve_handle *handle, gpusolve_side side, gpusolve_uplo uplo,
                                            gpusolve_trans trans, gpusolve_diag diag, int64_t m, int64_t n,
                                            float alpha, const float *A, int64_t lda, float *B, int64_t ldb,
                                            void *workspace, size_t workspace_bytes);
/** gpusolve_strsm in double precision. */
GPUSOLVE_API gpusolve_status gpusolve_dtrsm(gpusolve_handle *handle, gpusolve_side side, gpusolve_uplo uplo,
                                            gpusolve_trans trans, gpusolve_diag diag, int64_t m, int64_t n,
                                            double alpha, const double *A, int64_t lda, double *B,
                                            int64_t ldb, void *workspace, size_t workspace_bytes);
/** gpusolve_strsm with complex numbers in single precision. */
GPUSOLVE_API gpusolve_status gpusolve_ctrsm(gpusolve_handle *handle, gpusolve_side side, gpusolve_uplo uplo,
                                            gpusolve_trans trans, gpusolve_diag diag, int64_t m, int64_t n,
                                            const void *alpha, const void *A, int64_t lda, void *B,
                                            int64_t ldb, void *workspace, size_t workspace_bytes);
/** gpusolve_strsm with complex numbers in double precision. */
GPUSOLVE_API gpusolve_status gpusolve_ztrsm(gpusolve_handle *handle, gpusolve_side side, gpusolve_uplo uplo,
                                            gpusolve_trans trans, gpusolve_diag diag, int64_t m, int64_t n,
                                            const void *alpha, const void *A, int64_t lda, void *B,
                                            int64_t ldb, void *workspace, size_t workspace_bytes);

/**
 * Triangular product, in place:
 *
 *      B := alpha op(A) B   (GPUSOLVE_LEFT)      or      B := alpha B op(A)   (GPUSOLVE_RIGHT)
 *
 * Parameters, statuses and promises as above, with gpusolve_trmm_workspace.
 */
GPUSOLVE_API gpusolve_status gpusolve_strmm(gpusolve_handle *handle, gpusolve_side side, gpusolve_uplo uplo,
                                            gpusolve_trans trans, gpusolve_diag diag, int64_t m, int64_t n,
                                            float alpha, const float *A, int64_t lda, float *B, int64_t ldb,
                                            void *workspace, size_t workspace_bytes);
/** gpusolve_strmm in double precision. */
GPUSOLVE_API gpusolve_status gpusolve_dtrmm(gpusolve_handle *handle, gpusolve_side side, gpusolve_uplo uplo,
                                            gpusolve_trans trans, gpusolve_diag diag, int64_t m, int64_t n,
                                            double alpha, const double *A, int64_t lda, double *B,
                                            int64_t ldb, void *workspace, size_t workspace_bytes);
/** gpusolve_strmm with complex numbers in single precision. */
GPUSOLVE_API gpusolve_status gpusolve_ctrmm(gpusolve_handle *handle, gpusolve_side side, gpusolve_uplo uplo,
                                            gpusolve_trans trans, gpusolve_diag diag, int64_t m, int64_t n,
                                            const void *alpha, const void *A, int64_t lda, void *B,
                                            int64_t ldb, void *workspace, size_t workspace_bytes);
/** gpusolve_strmm with complex numbers in double precision. */
GPUSOLVE_API gpusolve_status gpusolve_ztrmm(gpusolve_handle *handle, gpusolve_side side, gpusolve_uplo uplo,
                                            gpusolve_trans trans, gpusolve_diag diag, int64_t m, int64_t n,
                                            const void *alpha, const void *A, int64_t lda, void *B,
                                            int64_t ldb, void *workspace, size_t workspace_bytes);

/** @} */

/* --------------------------------------------------- TRSM and TRMM on operands in host memory --- */
/** @name TRSM and TRMM on operands in host memory
 * @{ */

/**
 * What carries calls on operands in host memory out: a part of the device's memory, pinned host memory,
 * streams, two threads while a call runs, and a handle of its own. The operands are cut into tiles, which
 * come and go while others are computed with, so they may be larger than the device's memory.
 *
 * One call at a time, from one thread at a time; the handle that a staging object was made with is free
 * meanwhile, and need not outlive it. On the host backend the calls below are gpusolve_?trsm and
 * gpusolve_?trmm, and have ended when they return.
 */
typedef struct gpusolve_staging gpusolve_staging;

/** How much memory a staging object takes. */
typedef struct gpusolve_staging_options {
    size_t size;         /**< sizeof(gpusolve_staging_options); set by GPUSOLVE_STAGING_OPTIONS_INIT */
    size_t device_bytes; /**< of device memory for operands; 0: three quarters of what is free (default) */
    size_t pinned_bytes; /**< of pinned host memory, for pageable operands, 32 KiB at least; 0: 512 MiB
                          * (default) */
} gpusolve_staging_options;

#define GPUSOLVE_STAGING_OPTIONS_INIT \
    { sizeof(gpusolve_staging_options), 0, 0 }

/**
 * Everything is allocated here: pinned memory takes about 0.3 s a GiB.
 * @param options  [host] NULL: the defaults
 * @param staging  [out, host] NULL on failure
 *
 * @retval GPUSOLVE_OUT_OF_DEVICE_MEMORY,GPUSOLVE_OUT_OF_MEMORY that much is not there
 *
 * Blocks.
 */
GPUSOLVE_API gpusolve_status gpusolve_staging_create(gpusolve_handle *handle,
                                                     const gpusolve_staging_options *options,
                                                     gpusolve_staging **staging);

/** Wait for the call under way, and free. NULL is accepted. */
GPUSOLVE_API void gpusolve_staging_destroy(gpusolve_staging *staging);

/**
 * Wait for the call that was made last; its status. GPUSOLVE_OK before the first one. Where it is not
 * GPUSOLVE_OK, B is partly old and partly new.
 */
GPUSOLVE_API gpusolve_status gpusolve_staging_wait(gpusolve_staging *staging);

/** 1 if no call is under way, so that gpusolve_staging_wait would not block. */
GPUSOLVE_API int gpusolve_staging_is_done(const gpusolve_staging *staging);

/** The sentence that explains the last failure; "" until the call has been waited for. Valid until the next
 * call. */
GPUSOLVE_API const char *gpusolve_staging_last_error(const gpusolve_staging *staging);

/**
 * gpusolve_?trsm and gpusolve_?trmm of numbers of type dtype, with A and B in memory of any kind:
 *
 *      pinned (cudaHostAlloc, cudaHostRegister)   copied straight to the device and back
 *      pageable                                   through the staging object's pinned memory, by half of the
 *                                                 handle's host threads in each direction
 *      on the device (or managed)                 used where it is; A and B may be in different places
 *      on another device                          refused
 *
 * Asynchronous: arguments are checked, a thread takes over, and A, B must not be touched until
 * gpusolve_staging_wait has returned. Waits for a call of this staging object that is still under way. Not
 * ordered with any stream: operands on the device must be ready. Cannot be captured.
 * @param alpha  [host] one number of type dtype, read before the call returns
 *
 * All else is as in gpusolve_?trsm. The numbers of A's other triangle that lie in diagonal blocks of 1024 may
 * be copied, and are not used.
 *
 * Statuses of the call: GPUSOLVE_INVALID_ARGUMENT, GPUSOLVE_TOO_LARGE, GPUSOLVE_OUT_OF_MEMORY (no thread). Of
 * gpusolve_staging_wait besides: GPUSOLVE_OUT_OF_DEVICE_MEMORY where the staging object's device memory does
 * not hold two vectors and eight tiles of 64 x 64; GPUSOLVE_CUDA_ERROR. The same call with the same staging
 * object gives the same bits.
 */
GPUSOLVE_API gpusolve_status gpusolve_trsm_staged(gpusolve_staging *staging, gpusolve_dtype dtype,
                                                  gpusolve_side side, gpusolve_uplo uplo,
                                                  gpusolve_trans trans, gpusolve_diag diag, int64_t m,
                                                  int64_t n, const void *alpha, const void *A, int64_t lda,
                                                  void *B, int64_t ldb);
/** The product, B := alpha op(A) B, in the same way. */
GPUSOLVE_API gpusolve_status gpusolve_trmm_staged(gpusolve_staging *staging, gpusolve_dtype dtype,
                                                  gpusolve_side side, gpusolve_uplo uplo,
                                                  gpusolve_trans trans, gpusolve_diag diag, int64_t m,
                                                  int64_t n, const void *alpha, const void *A, int64_t lda,
                                                  void *B, int64_t ldb);

/** @} */

/* --------------------------------------------------------------------- from a dense Cholesky factor --- */
/** @name From a dense Cholesky factor
 * @{ */

/** How much workspace makes gpusolve_?potrs as fast as it can be; 0 bytes on the host backend. */
GPUSOLVE_API gpusolve_status gpusolve_potrs_workspace(gpusolve_handle *handle, gpusolve_dtype dtype,
                                                      int64_t n, int64_t nrhs, size_t *bytes);

/**
 * Solve with a dense Cholesky factor, in place: B := inv(L L') B with L in A's lower triangle, or inv(U' U) B
 * with U in its upper one; ' is the conjugate transpose.
 * @param n     >= 0, order of A and rows of B
 * @param nrhs  >= 0, columns of B
 *
 * A, lda, B, ldb, workspace, workspace_bytes and statuses are as in gpusolve_?trsm, with gpusolve_potrs_workspace.
 * As in LAPACK, the diagonal is not checked: a zero gives GPUSOLVE_OK, and infinities and NaNs in B.
 */
GPUSOLVE_API gpusolve_status gpusolve_spotrs(gpusolve_handle *handle, gpusolve_uplo uplo, int64_t n,
                                             int64_t nrhs, const float *A, int64_t lda, float *B, int64_t ldb,
                                             void *workspace, size_t workspace_bytes);
/** gpusolve_spotrs in double precision. */
GPUSOLVE_API gpusolve_status gpusolve_dpotrs(gpusolve_handle *handle, gpusolve_uplo uplo, int64_t n,
                                             int64_t nrhs, const double *A, int64_t lda, double *B,
                                             int64_t ldb, void *workspace, size_t workspace_bytes);
/** gpusolve_spotrs with complex numbers in single precision. */
GPUSOLVE_API gpusolve_status gpusolve_cpotrs(gpusolve_handle *handle, gpusolve_uplo uplo, int64_t n,
                                             int64_t nrhs, const void *A, int64_t lda, void *B, int64_t ldb,
                                             void *workspace, size_t workspace_bytes);
/** gpusolve_spotrs with complex numbers in double precision. */
GPUSOLVE_API gpusolve_status gpusolve_zpotrs(gpusolve_handle *handle, gpusolve_uplo uplo, int64_t n,
                                             int64_t nrhs, const void *A, int64_t lda, void *B, int64_t ldb,
                                             void *workspace, size_t workspace_bytes);

/** How much workspace makes gpusolve_?potri as fast as it can be; 0 bytes on the host backend. */
GPUSOLVE_API gpusolve_status gpusolve_potri_workspace(gpusolve_handle *handle, gpusolve_dtype dtype,
                                                      int64_t n, size_t *bytes);

/**
 * The inverse from a dense Cholesky factor, in place: A := inv(L L') with L in A's lower triangle, or inv(U'
 * U) with U in its upper one; the inverse, which is symmetric (Hermitian), takes that triangle's place, and
 * the other one is neither read nor written. n, A, lda, workspace, workspace_bytes, statuses as above, with
 * gpusolve_potri_workspace. 2/3 n^3 flops: W = inv(L), then W' W.
 *
 * GPUSOLVE_SINGULAR, as in LAPACK: an entry of the diagonal is zero. A is as it was, and the sentence of
 * gpusolve_last_error says which entry is the first, counted from 1 like LAPACK's info. A NaN is no zero, and
 * spreads.
 *
 * CUDA: to know that, the call waits for what was queued on the stream before it. The inversion itself is
 * asynchronous. While the stream is being captured the diagonal is not looked at; a zero then gives
 * infinities and NaNs.
 */
GPUSOLVE_API gpusolve_status gpusolve_spotri(gpusolve_handle *handle, gpusolve_uplo uplo, int64_t n, float *A,
                                             int64_t lda, void *workspace, size_t workspace_bytes);
/** gpusolve_spotri in double precision. */
GPUSOLVE_API gpusolve_status gpusolve_dpotri(gpusolve_handle *handle, gpusolve_uplo uplo, int64_t n,
                                             double *A, int64_t lda, void *workspace, size_t workspace_bytes);
/** gpusolve_spotri with complex numbers in single precision. */
GPUSOLVE_API gpusolve_status gpusolve_cpotri(gpusolve_handle *handle, gpusolve_uplo uplo, int64_t n, void *A,
                                             int64_t lda, void *workspace, size_t workspace_bytes);
/** gpusolve_spotri with complex numbers in double precision. */
GPUSOLVE_API gpusolve_status gpusolve_zpotri(gpusolve_handle *handle, gpusolve_uplo uplo, int64_t n, void *A,
                                             int64_t lda, void *workspace, size_t workspace_bytes);

/** @} */

#ifdef __cplusplus
}
#endif

#endif /* GPUSOLVE_DENSE_H */
