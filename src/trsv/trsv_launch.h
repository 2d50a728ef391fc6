/* The launchers of TRSV on the device, one for each precision; their kernels are in trsv_grid.cuh and
 * trsv_small.cuh. */
#ifndef GSV_TRSV_LAUNCH_H
#define GSV_TRSV_LAUNCH_H

#include <cuda_runtime_api.h>

#include "trsv.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Device memory of one handle: a struct trsv_state (trsv_grid.cuh), zero at first, and two buffers of
 * `capacity` bytes each, all bits one at first. */
typedef struct gsv_trsv_scratch {
    void *state, *buffers;
    int64_t capacity;
} gsv_trsv_scratch;

enum { GSV_TRSV_STATE_BYTES = 64 };

/* Once on every device before the first launch: gives the kernels their shared memory. */
typedef cudaError_t gsv_trsv_setup(void);
gsv_trsv_setup gsv_trsv_setup_s, gsv_trsv_setup_d, gsv_trsv_setup_c, gsv_trsv_setup_z;

/* One launch on the stream. Bytes that the solution takes, rounded up to blocks, must not exceed the
 * capacity: gsv_trsv_bytes. */
typedef cudaError_t gsv_trsv_launch(const gsv_trsv *p, const gsv_trsv_scratch *scratch, cudaStream_t stream);
gsv_trsv_launch gsv_trsv_launch_s, gsv_trsv_launch_d, gsv_trsv_launch_c, gsv_trsv_launch_z;

#ifdef __cplusplus
}
#endif
#endif
