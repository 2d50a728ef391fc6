/* What only the CUDA backend of gpusolve_?trsv refuses. */
#ifndef GSV_TRSV_CUDA_H
#define GSV_TRSV_CUDA_H

#include "trsv.h"

/* GPUSOLVE_TOO_LARGE if the vector does not fit the buffers of gsv_trsv_cuda. */
gpusolve_status gsv_trsv_cuda_check(gpusolve_handle *handle, const gsv_trsv *p);

#endif
