/** @file
 * gpusolve's samples of Gaussian fields. */
#ifndef GPUSOLVE_SAMPLE_H
#define GPUSOLVE_SAMPLE_H

#include "gpusolve.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What is sampled. */
typedef struct gpusolve_sample_options {
    size_t size;   /**< sizeof(gpusolve_sample_options); set by GPUSOLVE_SAMPLE_OPTIONS_INIT */
    uint64_t seed; /**< of the numbers that are drawn; 0 (default) is a seed like any other */
    int64_t first; /**< column j of x is sample first + j of the seed, >= 0; 0 (default) */
    /** [in, host or device] NULL (default): z is drawn. Or the caller's z, n x x->cols, the factor's dtype, rows in L's order: row i goes with
     * column i of L. It may be x itself (same values, order and ld), else must not share a byte with it. Then seed and first are not read. */
    const gpusolve_dense *z;
    /** [in, host or device] the field's mean, [n] numbers of the factor's dtype, in A's order; it must not share a byte with x. NULL (default):
     * zeros. */
    const void *mean;
} gpusolve_sample_options;

/** The default options: gpusolve_sample_options o = GPUSOLVE_SAMPLE_OPTIONS_INIT. */
#define GPUSOLVE_SAMPLE_OPTIONS_INIT \
    { sizeof(gpusolve_sample_options), 0, 0, NULL, NULL }

/**
 * Samples of the Gaussian field with the precision matrix A: x = mean + P' L' \ z. If z has independent standard normal entries, x has the
 * covariance inv(A). With a factor L D L', whose D must be positive, x = mean + P' L' \ (D^(-1/2) z). This is half a solve.
 * @param handle     [in] of the factor's backend and device
 * @param factor     [in]
 * @param workspace  [in] as in gpusolve_solve: as many columns as it is for are sampled at a time; NULL: the handle's own
 * @param options    [in, host] NULL: the defaults, samples 0, 1, ... of seed 0, with mean 0
 * @param x          [out] n x any number of samples, the factor's dtype: a sample a column
 *
 * The numbers that are drawn depend on the seed, the sample and the row alone, so that sample number 1000 can be had by itself, with first =
 * 1000 and one column. Their generator is Philox4x32-10 with the key {seed low, seed high}. Sample c takes for its rows 2 k and 2 k + 1 in
 * L's order the four words w that the counter {k low, k high, c low, c high} gives:
 *
 *      u = 1 - floor((w0 + 2^32 w1) / 2^12) 2^-52,   v = floor((w2 + 2^32 w3) / 2^12) 2^-52
 *      z(2 k) = sqrt(-2 log u) cos(2 pi v),   z(2 k + 1) = sqrt(-2 log u) sin(2 pi v)
 *
 * With a complex factor the counter {k, c} gives row k, sqrt(-log u) (cos(2 pi v) + i sin(2 pi v)): the real and the imaginary part have variance
 * 1/2, so E z conj(z)' is the identity and E (x - mean) conj(x - mean)' is inv(A). z is computed in double precision, divided by the root of D
 * with a factor L D L', and rounded to the factor's. It has the same bits on every backend and machine: the library has its own logarithm, sine
 * and cosine. x has the bits of gpusolve_solve with that.
 *
 * CUDA: with x, and z and mean if given, in device memory the call is asynchronous on the handle's stream, allocates nothing and can be captured
 * into a CUDA graph (with a workspace of its own); a replay gives the same samples. Otherwise it passes through device memory that it allocates,
 * for as many columns as are sampled at a time, and returns when x is there. Host: the call returns when x is there.
 *
 * @retval GPUSOLVE_NOT_POSITIVE_DEFINITE D has a negative entry. (A graph that was captured before a refresh with such a D stores NaN.)
 * @retval GPUSOLVE_TYPE_MISMATCH x or z has another dtype than the factor.
 * @retval GPUSOLVE_TOO_LARGE options->first and the columns come to more than 2^63 - 1.
 * @retval GPUSOLVE_TIMED_OUT (CUDA) as in gpusolve_solve.
 */
GPUSOLVE_API gpusolve_status gpusolve_sample(gpusolve_handle *handle, const gpusolve_factor *factor,
                                             gpusolve_workspace *workspace,
                                             const gpusolve_sample_options *options, const gpusolve_dense *x);

#ifdef __cplusplus
}
#endif

#endif /* GPUSOLVE_SAMPLE_H */
