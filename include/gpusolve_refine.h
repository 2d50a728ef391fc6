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

/** Copy A to the handle's backend, all entries, by rows. Validates indices, and the values that count. Imaginary parts on the diagonal
 * are not read. How long index and x are is not given, so nothing checks that ptr and nz stay inside them. */
GPUSOLVE_API gpusolve_status gpusolve_matrix_create(gpusolve_handle *handle, const gpusolve_matrix_data *data,
                                                    gpusolve_matrix **matrix);
/** Free the copy of A. */
GPUSOLVE_API void gpusolve_matrix_destroy(gpusolve_matrix *matrix);

/** How x is corrected. F is the factor's matrix, which may differ from A. */
typedef enum gpusolve_refine_method {
    /** x = x + F \ r, a step each; ends early unless each step gains min_gain */
    GPUSOLVE_REFINE_RICHARDSON = 0,
    /** conjugate gradients with the preconditioner F; A and F positive definite */
    GPUSOLVE_REFINE_CG = 1,
    /** flexible GMRES with the preconditioner F, for any A and F; restarts */
    GPUSOLVE_REFINE_FGMRES = 2,
    /** Richardson; a column of which a correction leaves more than a tenth of its error, and that above 16 units of rounding, goes on with CG if
     * the factor is L L', and with FGMRES if it is L D L' */
    GPUSOLVE_REFINE_AUTOMATIC = 3
} gpusolve_refine_method;

/** A tolerance: the epsilon of x's precision, 2.2e-16 or 1.2e-7; with `twice`, 0. */
#define GPUSOLVE_REFINE_EPSILON (-1.0)

/** How x is corrected, and when refinement ends. */
typedef struct gpusolve_refine_options {
    size_t size; /**< sizeof(gpusolve_refine_options); set by GPUSOLVE_REFINE_OPTIONS_INIT */
    int max_steps; /**< solves a column may get after the first one; default 10, 0: only the backward error is computed */
    double
        tolerance; /**< a column at or below this backward error is done; 0: until it stagnates; default GPUSOLVE_REFINE_EPSILON */
    double
        min_gain; /**< a correction that lowers the backward error by a smaller factor than this ends the column:
                         stagnation;  default 2 */
    int solve_first;               /**< 1 (default): x = F \ b first; 0: x holds a first guess */
    gpusolve_refine_method method; /**< default GPUSOLVE_REFINE_RICHARDSON */
    int restart; /**< FGMRES: steps after which it restarts; 1 to 256, default 20. It has 2 min(restart, max_steps) + 1 vectors */
    int twice; /**< 1: b - A x is summed in twice the precision, and a column goes on for as long as its corrections shrink
                            by min_gain and change x: x itself becomes accurate, not its residual alone; default 0 */
    int componentwise; /**< 1: the backward error is max(|b - A x|(i) / (|A| |x| + |b|)(i)) (Oettli, Prager), with 0/0 = 0; default 0 */
} gpusolve_refine_options;

/** The default options of gpusolve_refine: gpusolve_refine_options o = GPUSOLVE_REFINE_OPTIONS_INIT. */
#define GPUSOLVE_REFINE_OPTIONS_INIT                                                                      \
    {                                                                                                     \
        sizeof(gpusolve_refine_options), 10, GPUSOLVE_REFINE_EPSILON, 2.0, 1, GPUSOLVE_REFINE_RICHARDSON, \
            20, 0, 0                                                                                      \
    }

/**
 * Iterative refinement in the factor's precision: until done, r = b - A x, x = x + d with A d = r to a few digits, column by column.
 * The backward error of a column is norm(b - A x, inf) / (norm(A, inf) norm(x, inf) + norm(b, inf)); it never
 * grows: a correction that made it worse is taken back. A column of zeros in b gives zeros and the error 0.
 *
 * Richardson's corrections are one step, d = F \ r. Those of CG and FGMRES are as many steps, of one solve each, as bring the residual below
 * a quarter of the tolerance (or of the unit of rounding), by the method's own estimate. The error that is returned is that of the true
 * residual. CG gives a column up whose A or F turns out not to be positive definite, or whose residual has not halved within 20 steps.
 * With `twice` a correction is kept, too, if it is the first or smaller than the one before and the error is at the level of rounding: there the
 * error of the residual says no more. If A is not too ill-conditioned for the factor (cond(A) times the rounding unit is well below 1) every component of
 * x comes out with an error of about the rounding unit times norm(x, inf).
 * Each column takes its steps and ends by itself: it has the same x whatever its neighbours are.
 * @param matrix          [in] A, of the dtype that gpusolve_solve wants of x, and of the factor's order, on the handle's backend
 * @param workspace       [in] as in gpusolve_solve; NULL: the handle's own
 * @param b,x             [in] [in,out] as in gpusolve_solve, but x must not be b. A real matrix and factor take complex
 *                        ones: real and imaginary parts are refined as columns of their own
 * @param options         [in, host] NULL for the defaults
 * @param backward_error  [out, host] nrhs numbers, or NULL. NaN where b, x or the factor led to one; of a complex column with
 *                        a real factor the larger one of its parts'
 * @param steps           [out, host] nrhs counts of the steps in the corrections kept, or NULL; the larger count of the two parts
 *
 * b, x, backward_error and steps must not share a byte.
 *
 * Blocks until x is there, on either backend: the host asks after each step whether any column goes on. Vectors, five of n numbers for each
 * column that the workspace holds (four on the host), are allocated in the workspace on first use; CG has three more, FGMRES
 * 2 min(restart, max_steps) + 1, and both one more on the host.
 */
GPUSOLVE_API gpusolve_status gpusolve_refine(gpusolve_handle *handle, const gpusolve_factor *factor,
                                             const gpusolve_matrix *matrix, gpusolve_workspace *workspace,
                                             const gpusolve_dense *b, const gpusolve_dense *x,
                                             const gpusolve_refine_options *options, double *backward_error,
                                             int *steps);

/**
 * Allocate in a workspace what refinement with these options needs, for max_nrhs columns: gpusolve_refine allocates nothing afterwards, and
 * gpusolve_refine_async may be called. There is never less than before. If it makes more room, a graph that was captured before must not run again.
 * @param matrix     [in] the A to come; NULL: without the sums of nearly full rows, which A alone knows (CUDA)
 * @param workspace  [in] not NULL
 * @param options    [in, host] NULL for the defaults; method, restart and max_steps count
 *
 * @retval GPUSOLVE_INVALID_ARGUMENT (CUDA) also: the handle's stream is being captured.
 */
GPUSOLVE_API gpusolve_status gpusolve_refine_reserve(gpusolve_handle *handle, const gpusolve_factor *factor,
                                                     const gpusolve_matrix *matrix,
                                                     gpusolve_workspace *workspace,
                                                     const gpusolve_refine_options *options);

/**
 * Iterative refinement in the order of the handle's stream (CUDA): returns at once, allocates nothing, and may be captured in a graph. There each
 * step is the body of a conditional node (from CUDA 13 on), and a replay takes a step only if some column goes on. A call that is not captured queues
 * all steps that options->max_steps allows, because nobody asks. A column that has ended is not written again, but its place in the later solves
 * costs what it costs: keep max_steps small. CG has one cycle, FGMRES cycles of `restart` steps. The automatic method has a cycle for each correction
 * after the first one, for a column may leave Richardson's method after any: 1 + max_steps (max_steps - 1) / 2 solves with CG,
 * 4 for three steps and 46 for ten.
 * On the host it is gpusolve_refine. The bits are those of gpusolve_refine, where that has the same cycles, and always with the automatic method.
 * @param workspace       [in] not NULL, and reserved for such options and for A (gpusolve_refine_reserve)
 * @param b,x             [in, device] [in,out, device] as in gpusolve_refine; [host] on the host
 * @param options         [in, host] NULL for the defaults
 * @param backward_error  [out, device] nrhs numbers, or NULL
 * @param steps           [out, device] nrhs counts, or NULL
 *
 * matrix, workspace and factor must live until the work is done. A solve that gives up a wait leaves NaN, and gpusolve_workspace_check says so.
 *
 * @retval GPUSOLVE_INVALID_ARGUMENT also: memory is the host's; the workspace has not been reserved.
 */
GPUSOLVE_API gpusolve_status gpusolve_refine_async(gpusolve_handle *handle, const gpusolve_factor *factor,
                                                   const gpusolve_matrix *matrix,
                                                   gpusolve_workspace *workspace, const gpusolve_dense *b,
                                                   const gpusolve_dense *x,
                                                   const gpusolve_refine_options *options,
                                                   double *backward_error, int *steps);

#ifdef __cplusplus
}
#endif

#endif /* GPUSOLVE_REFINE_H */
