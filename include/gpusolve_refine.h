/** @file
 * gpusolve's iterative refinement against A. gpusolve.h includes this file. */
#ifndef GPUSOLVE_REFINE_H
#define GPUSOLVE_REFINE_H

#include "gpusolve.h"

#ifdef __cplusplus
extern "C" {
#endif

/** By columns or by rows. */
typedef enum gpusolve_format { GPUSOLVE_CSC = 0, GPUSOLVE_CSR = 1 } gpusolve_format;

/** Which entries of the symmetric (Hermitian) matrix count: all, those with row >= column, those with row <= column. Others that
 * are given are ignored. */
typedef enum gpusolve_triangle { GPUSOLVE_FULL, GPUSOLVE_LOWER, GPUSOLVE_UPPER } gpusolve_triangle;

/** A sparse symmetric (Hermitian) matrix as borrowed host arrays, read during gpusolve_matrix_create alone. */
typedef struct gpusolve_matrix_data {
    size_t size; /**< sizeof(gpusolve_matrix_data) */
    gpusolve_format format;
    gpusolve_triangle triangle;
    gpusolve_dtype dtype;
    gpusolve_itype itype;
    int64_t n;
    const void *ptr;   /**< [n + 1] start of each column (CSC) or row (CSR) */
    const void *nz;    /**< [n] entries of each column or row, or NULL: ptr[j+1] - ptr[j] */
    const void *index; /**< row (CSC) or column (CSR) indices, any order, duplicates are summed */
    const void *x;     /**< values; with z: the real parts alone */
    const void *z;     /**< NULL, or imaginary parts */
} gpusolve_matrix_data;

/** Copy A to the handle's backend, all entries, by rows. Validates indices and values. How long index and x are is not given, so
 * nothing checks that ptr and nz stay inside them. */
GPUSOLVE_API gpusolve_status gpusolve_matrix_create(gpusolve_handle *handle, const gpusolve_matrix_data *data,
                                                    gpusolve_matrix **matrix);
/** Free the copy of A. */
GPUSOLVE_API void gpusolve_matrix_destroy(gpusolve_matrix *matrix);

/** When refinement ends. */
typedef struct gpusolve_refine_options {
    size_t size;      /**< sizeof(gpusolve_refine_options); set by GPUSOLVE_REFINE_OPTIONS_INIT */
    int max_steps;    /**< corrections a column may get; default 10, 0: only the backward error is computed */
    double tolerance; /**< a column at or below this backward error is done; default 0: until it stagnates */
    double min_gain; /**< a step that lowers the backward error by a smaller factor than this ends the column:
                         stagnation;  default 2 */
    int solve_first; /**< 1 (default): x = A \ b first; 0: x holds a first guess */
} gpusolve_refine_options;

/** The default options of gpusolve_refine: gpusolve_refine_options o = GPUSOLVE_REFINE_OPTIONS_INIT. */
#define GPUSOLVE_REFINE_OPTIONS_INIT \
    { sizeof(gpusolve_refine_options), 10, 0.0, 2.0, 1 }

/**
 * Iterative refinement in the factor's precision: until done, r = b - A x, x = x + A \ r, column by column.
 * The backward error of a column is norm(b - A x, inf) / (norm(A, inf) norm(x, inf) + norm(b, inf)); it never
 * grows: a correction that made it worse is taken back. A column of zeros in b gives zeros and the error 0.
 * @param matrix          [in] the A that was factorised, of the factor's dtype and order, on the handle's backend
 * @param workspace       [in] as in gpusolve_solve; NULL: the handle's own
 * @param b,x             [in] [in,out] as in gpusolve_solve, but x must not be b. A real matrix and factor take complex
 *                        ones: real and imaginary parts are refined as columns of their own
 * @param options         [in, host] NULL for the defaults
 * @param backward_error  [out, host] nrhs numbers, or NULL. NaN where b, x or the factor led to one; of a complex column with
 *                        a real factor the larger one of its parts'
 * @param steps           [out, host] nrhs counts of the corrections kept, or NULL; the larger count of the two parts
 *
 * b, x, backward_error and steps must not share a byte.
 *
 * Blocks until x is there, on either backend: the host asks after each step whether any column goes on. Vectors, five of n numbers for each
 * column that the workspace holds (four on the host), are allocated in the workspace on first use.
 */
GPUSOLVE_API gpusolve_status gpusolve_refine(gpusolve_handle *handle, const gpusolve_factor *factor,
                                             const gpusolve_matrix *matrix, gpusolve_workspace *workspace,
                                             const gpusolve_dense *b, const gpusolve_dense *x,
                                             const gpusolve_refine_options *options, double *backward_error,
                                             int *steps);

#ifdef __cplusplus
}
#endif

#endif /* GPUSOLVE_REFINE_H */
