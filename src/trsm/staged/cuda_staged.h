/* Runs a staged plan on the device: see trsm/staged/plan.h for the order, cuda_staged.c for what waits for what. */
#ifndef GSV_TRSM_STAGED_CUDA_STAGED_H
#define GSV_TRSM_STAGED_CUDA_STAGED_H

#include "../../handle.h"
#include "../triangular.h"

typedef struct gsv_stage gsv_stage;

/*
 * Streams, pinned memory and device memory for calls, one at a time. inner: a handle for the stage alone, on
 * the CUDA backend; the stage's compute stream becomes its stream. device_bytes, pinned_bytes: 0 for the
 * defaults of gpusolve_staging_options.
 */
gpusolve_status gsv_stage_create(gpusolve_handle *inner, size_t device_bytes, size_t pinned_bytes,
                                 gsv_stage **stage);
void gsv_stage_destroy(gsv_stage *stage);

/* Carry out p, alpha 0 included. Returns when b is there or nothing of it runs any more. */
gpusolve_status gsv_stage_run(gsv_stage *stage, const gsv_triangular *p, gsv_number alpha);

#endif
