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
    int split_from; /* not 0: gsv_trsv_force_split */
} gsv_trsv_scratch;

/* Tuning hook, process-wide: block rows from this one on (at least 3) are read by several blocks of threads,
 * one for every two tiles; 0: as measured. */
void gsv_trsv_force_split(int from);

enum { GSV_TRSV_STATE_BYTES = 64 };

/* Once on every device before the first launch: gives the kernels their shared memory. */
typedef cudaError_t gsv_trsv_setup(void);
gsv_trsv_setup gsv_trsv_setup_s, gsv_trsv_setup_d, gsv_trsv_setup_c, gsv_trsv_setup_z;

/* One launch on the stream. Bytes that the solution takes, rounded up to blocks, must not exceed the
 * capacity: gsv_trsv_bytes. */
typedef cudaError_t gsv_trsv_launch(const gsv_trsv *p, const gsv_trsv_scratch *scratch, cudaStream_t stream);
gsv_trsv_launch gsv_trsv_launch_s, gsv_trsv_launch_d, gsv_trsv_launch_c, gsv_trsv_launch_z;

/* ---------------------------------------------------------------------------- prepared (trsv_prepared.cuh)
 * --- */

enum { GSV_TRSV_SLAB = 8, GSV_TRSV_SUPER = 2048 };

/* Numbers of the packed triangle of order n, and of each of the vectors a solve publishes. */
static inline int64_t gsv_trsv_packed_numbers(int64_t n) {
    const int64_t slabs = (n + GSV_TRSV_SLAB - 1) / GSV_TRSV_SLAB;
    return GSV_TRSV_SLAB * GSV_TRSV_SLAB / 2 * slabs * (slabs + 1);
}

/* w = the identity of order `size`: where an inverse is made. */
typedef cudaError_t gsv_trsv_identity(int size, void *w, cudaStream_t stream);
gsv_trsv_identity gsv_trsv_identity_s, gsv_trsv_identity_d, gsv_trsv_identity_c, gsv_trsv_identity_z;

/* *condition [device, zero before] = what decides whether w, `size` x `size`, may stand in for A's block of
 * which it is the inverse: rows first .. of the problem as a forward solve. scratch: 2 size numbers. */
typedef cudaError_t gsv_trsv_judge(const gsv_trsv *p, int first, int size, const void *w, double *scratch,
                                   double *condition, cudaStream_t stream);
gsv_trsv_judge gsv_trsv_judge_s, gsv_trsv_judge_d, gsv_trsv_judge_c, gsv_trsv_judge_z;

/* Pack rows first .. first + size - 1 with that w. */
typedef cudaError_t gsv_trsv_pack(const gsv_trsv *p, int first, int size, const void *w, void *numbers,
                                  cudaStream_t stream);
gsv_trsv_pack gsv_trsv_pack_s, gsv_trsv_pack_d, gsv_trsv_pack_c, gsv_trsv_pack_z;

/* x = inv(op(A)) x. scratch: two times two buffers of the vector's numbers, rounded up to slabs. */
typedef cudaError_t gsv_trsv_launch_prepared(const gsv_trsv *p, const void *numbers,
                                             const gsv_trsv_scratch *scratch, cudaStream_t stream);
gsv_trsv_launch_prepared gsv_trsv_prepared_s, gsv_trsv_prepared_d, gsv_trsv_prepared_c, gsv_trsv_prepared_z;

/* Is row 0 of the forward solve the last of A? */
static inline int gsv_trsv_is_turned(const gsv_trsv *p) {
    return (p->uplo == GPUSOLVE_UPPER) != (p->trans != GPUSOLVE_NO_TRANS);
}

#ifdef __cplusplus
}
#endif
#endif
