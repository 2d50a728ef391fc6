/* A batch of panels on the device: its lists, and the launches that invert it. What they read and write follows from the upload's plan. */
#ifndef GSV_CUDA_UPLOAD_INVERT_H
#define GSV_CUDA_UPLOAD_INVERT_H

#include "pipeline.h"

typedef struct gsv_batch_work {
    gsv_pipeline *p;
    const gsv_upload_plan *way;
    const gpusolve_factor *factor;
    const gsv_cuda_factor *device;
    const float *finer; /* [nsuper] of slices, and an eager search for cuts; or NULL */
} gsv_batch_work;

/* What the inversion must know of a batch's panels, into lists on the host. */
void gsv_list_batch(const gsv_batch_work *w, int64_t index);

/* When a batch and its lists have arrived: the triangles of wide panels, in its lane; */
cudaError_t gsv_invert_batch(const gsv_batch_work *w, int64_t index);
/* and then all panels, into their places. If another batch is to have its place on the device, slot->done is recorded behind that. */
cudaError_t gsv_write_batch(const gsv_batch_work *w, int64_t index);

#endif
