/* A refinement on the device under way: what refine.c and passes.c share. */
#ifndef GSV_CUDA_REFINE_REFINEMENT_H
#define GSV_CUDA_REFINE_REFINEMENT_H

#include "../../api/krylov.h"
#include "krylov.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A block of columns under way. */
typedef struct gsv_refinement {
    gpusolve_handle *handle;
    const gpusolve_factor *factor;
    const gpusolve_matrix *matrix;
    gpusolve_workspace *workspace;
    const gpusolve_refine_options *options;
    const gpusolve_dense *user_b, *user_x;
    gsv_refine_vectors *v;
    gsv_residual job;
    gsv_krylov_method method;
    gsv_krylov_device krylov;
    char *basis; /* a Krylov method's vectors */
    const void *zero;
    int multiprocessors;
    cudaStream_t stream;
    const gsv_refine_results *to; /* NULL: the host waits, and reads the report */
    /* Steps are bodies of a graph's nodes (condition.cu), in `depth` chains at present: how many each has, and the stream outside. */
    int conditional, depth;
    int bodies[GSV_REFINE_CHAINS];
    cudaStream_t outside[GSV_REFINE_CHAINS];
} gsv_refinement;

/* refine.c. A vector of `cols` columns, by rows. */
gpusolve_dense gsv_refine_by_rows(const gpusolve_workspace *workspace, void *values, int64_t cols);
/* to = A \ from */
gpusolve_status gsv_refine_solve(const gsv_refinement *r, const gpusolve_dense *from, void *to);
/* A residual as the job's rule says. */
static inline int gsv_refine_with_care(const gsv_residual *job) {
    return job->rule.twice || job->rule.componentwise;
}
cudaError_t gsv_refine_some_residual(const gsv_refinement *r, const gsv_residual *job);
/* The residual after `corrections` corrections, of which d is the last one, not yet added. All columns that are still active have kept
 * every correction, or stand as if they had (gsv_krylov_passes.restore), so their x are in the same vector. */
gpusolve_status gsv_refine_judge_columns(gsv_refinement *r, int corrections);

/* condition.cu. What is queued from now on, until the chain has its next body or its end, is done only if one of these columns is active by then.
 * That needs a stream that is being captured, and a runtime that can do it; else all is done. */
enum { GSV_REFINE_CORRECTIONS, GSV_REFINE_STEPS /* of a Krylov method, in a correction */ };
void gsv_refine_use_conditions(gsv_refinement *r);
gpusolve_status gsv_refine_add_body(gsv_refinement *r, int chain, const gsv_refine_column *columns);
/* With the chains in it. After a failure as well. */
gpusolve_status gsv_refine_end_chain(gsv_refinement *r, int chain);

/* passes.c. Memory for a Krylov method in a workspace of max_nrhs columns, and dealing it out. */
int64_t gsv_refine_krylov_bytes(const gpusolve_workspace *workspace, const gsv_krylov_method *method);
gpusolve_status gsv_refine_place_krylov(gsv_refinement *r);
extern const gsv_krylov_passes gsv_cuda_krylov_passes;

#ifdef __cplusplus
}
#endif
#endif
