/* A refinement on the device under way: what refine.c and passes.c share. */
#ifndef GSV_CUDA_REFINE_REFINEMENT_H
#define GSV_CUDA_REFINE_REFINEMENT_H

#include "../../api/krylov.h"
#include "krylov.h"

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

/* passes.c. Memory for a Krylov method in a workspace of max_nrhs columns, and dealing it out. */
int64_t gsv_refine_krylov_bytes(const gpusolve_workspace *workspace, const gsv_krylov_method *method);
gpusolve_status gsv_refine_place_krylov(gsv_refinement *r);
extern const gsv_krylov_passes gsv_cuda_krylov_passes;

#endif
