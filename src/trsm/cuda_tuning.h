/* Where the recursion stops on the device, and the hook with which the benchmark sweeps that. */
#ifndef GSV_CUDA_TUNING_H
#define GSV_CUDA_TUNING_H

#include "triangular.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { GSV_SMALL_STOP = 512 }; /* where memory is short */

/* Rows of the largest leaf: a multiple of 64. */
int64_t gsv_cuda_stop(const gsv_triangular *p);

/* Tuning hook: stop at so many rows, whatever the problem; 0: as measured. Process-wide. */
void gsv_cuda_force_stop(int64_t rows);

#ifdef __cplusplus
}
#endif
#endif
