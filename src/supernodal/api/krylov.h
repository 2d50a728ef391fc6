/*
 * Conjugate gradients and flexible GMRES as corrections of refinement: d, with A d = r to a few digits, by steps that each solve with the factor.
 * The order of the passes is here and in krylov.c; an executor has the passes.
 */
#ifndef GSV_API_KRYLOV_H
#define GSV_API_KRYLOV_H

#include "executor.h"
#include "krylov_step.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Vectors of a block of columns by number. V(i) and Z(i) are FGMRES' bases; CG has Z, P and Q. */
enum { GSV_VECTOR_R, GSV_VECTOR_D, GSV_VECTOR_BASIS };

/* out = scale with + sum over i < count of factor[i] times vector first + i, in columns that are on. */
typedef struct gsv_krylov_sum {
    int out, with; /* with: -1 if there is none */
    double scale;
    int first, count;
    int finished; /* in all active columns, on or not, and count is each one's number of steps */
    int norm;     /* found = out' out */
} gsv_krylov_sum;

/* How many columns are: on, in a cycle; active; active with the Krylov method; behind. */
typedef struct gsv_krylov_counts {
    int on, active, krylov, behind;
} gsv_krylov_counts;

/* The passes. `context` is the executor's; the stage follows a pass in each column. */
typedef struct gsv_krylov_passes {
    /* NULL, or, where nobody asks: what comes until `ended` may be left out if no column is on (on), or else active, when its turn comes */
    gpusolve_status (*may_end)(void *context, int on);
    gpusolve_status (*ended)(void *context, int on);
    /* to = A \ from */
    gpusolve_status (*solve)(void *context, int from, int to);
    /* to = -A of, in columns that are on */
    gpusolve_status (*product)(void *context, int of, int to);
    /* found[i] = (vector first + i)' (vector with), i < count */
    gpusolve_status (*dots)(void *context, int first, int count, int with, gsv_krylov_stage stage, int step);
    gpusolve_status (*sum)(void *context, const gsv_krylov_sum *sum, gsv_krylov_stage stage, int step);
    gpusolve_status (*stage)(void *context, gsv_krylov_stage stage, int step);
    /* X + D, correction number `correction` from 1 on, its residual, and what becomes of each column */
    gpusolve_status (*judge)(void *context, int correction);
    /* Columns that are behind: X where the other columns have it after that correction, and R */
    gpusolve_status (*restore)(void *context, int correction);
    gpusolve_status (*ask)(void *context, gsv_krylov_counts *counts);
} gsv_krylov_passes;

/* Vectors from GSV_VECTOR_BASIS on, and what scalars there are for each column, in bytes. */
static inline int gsv_krylov_vectors(int conjugate, int length) {
    return conjugate ? 3 : 2 * length + 1;
}
static inline int64_t gsv_krylov_scalar_bytes(int length) {
    const int64_t pairs = 3 * ((int64_t)length + 1) + (int64_t)length * (length + 1) + length;
    return pairs * (int64_t)sizeof(gsv_pair) + length * (int64_t)sizeof(double) +
           (int64_t)sizeof(gsv_krylov_column) + (int64_t)sizeof(gsv_refine_column);
}
/* Deal out that memory, which is aligned to 16 bytes, to k's arrays; k->columns and k->length are known. */
void gsv_krylov_place(gsv_krylov *k, void *memory);

/* What a refinement is, by its options and its factor. */
typedef struct gsv_krylov_method {
    int any;       /* else there are plain corrections alone */
    int automatic; /* they come first */
    int conjugate; /* CG, else FGMRES */
    int length;    /* of a cycle of FGMRES */
} gsv_krylov_method;
gsv_krylov_method gsv_krylov_method_of(const gpusolve_refine_options *options, const gpusolve_factor *factor);
gsv_refine_rule gsv_refine_rule_of(const gpusolve_refine_options *options, const gpusolve_factor *factor,
                                   const gpusolve_matrix *matrix);
/* The unit of rounding of a precision. */
double gsv_rounding_of(gpusolve_dtype dtype);

/* All corrections, after the first residual. */
gpusolve_status gsv_krylov_run(const gsv_krylov_passes *passes, void *context,
                               const gsv_krylov_method *method, const gpusolve_refine_options *options);
/* The same without asking: CG has one cycle, FGMRES as many of full length as max_steps holds. The automatic method has a
 * plain correction and a cycle for each other one, and ends where it ends with asking. */
gpusolve_status gsv_krylov_run_unasked(const gsv_krylov_passes *passes, void *context,
                                       const gsv_krylov_method *method,
                                       const gpusolve_refine_options *options);

#ifdef __cplusplus
}
#endif
#endif
