/* What a CUDA handle keeps for its dense calls: made by the first one, freed with the handle. */
#ifndef GSV_TRSM_CUDA_CONTEXT_H
#define GSV_TRSM_CUDA_CONTEXT_H

#include <cublas_v2.h>

#include "../../handle.h"
#include "plan.h"

enum { GSV_CONTEXT_TICKET = 256 };     /* bytes */
enum { GSV_CONTEXT_TILE = 512 };       /* order of the tile */
enum { GSV_CONTEXT_BYTES = 32 << 20 }; /* for cuBLAS, and as many for the library's own kernels */

typedef struct gsv_cuda_context {
    cublasHandle_t cublas;
    gsv_leaf_device device;
    void *cublas_workspace; /* [device] GSV_CONTEXT_BYTES */
    void *scratch;          /* [device] GSV_CONTEXT_BYTES, for calls without a workspace */
    void *ticket;           /* [device] of the solve under way: zero between kernels */
    void *tile;             /* [device] for gsv_inverse_cuda, numbers of any type */
} gsv_cuda_context;

/*
 * The handle's context, its cuBLAS handle on the handle's stream. The handle's device is current.
 * GPUSOLVE_NOT_SUPPORTED: it would have to be made, and the stream is being captured.
 */
gpusolve_status gsv_cuda_context_of(gpusolve_handle *handle, gsv_cuda_context **context);

#endif
