/*
 * Blocks of numbers between host memory and the device, on a stream of their own direction: straight where
 * the host memory is pinned, else through a ring of pinned slots that host threads fill or empty.
 */
#ifndef GSV_TRSM_STAGED_CUDA_TRANSFER_H
#define GSV_TRSM_STAGED_CUDA_TRANSFER_H

#include <cuda_runtime_api.h>
#include <stddef.h>

#include "../../message.h"
#include "../../pool.h"

enum { GSV_TRANSFER_SLOTS = 4 };

/* One direction. Large direct copies go by halves, on two streams: a copy engine takes a matrix row by row,
 * and short rows leave the link idle. A slot is free when its event is complete (in) or its bytes are out of
 * it (out). */
typedef struct gsv_transfer {
    cudaStream_t stream, beside;
    cudaEvent_t forked, joined;
    gsv_pool *pool; /* of its own: both directions copy at the same time */
    char *pinned;
    size_t slot_bytes;
    cudaEvent_t event[GSV_TRANSFER_SLOTS];
    int64_t next;
} gsv_transfer;

/* `columns` columns of `bytes` each, `pitch` bytes apart. */
typedef struct gsv_block {
    void *memory;
    size_t pitch, bytes, columns;
} gsv_block;

/* Make the stream, the events and the ring (pinned_bytes of it) on the current device. Free what is there. */
gpusolve_status gsv_transfer_create(gsv_transfer *t, size_t pinned_bytes, int threads, gsv_message *message);
void gsv_transfer_destroy(gsv_transfer *t);

/* Is this block straight within the device's reach: pinned, and its pitch one that the copy engine takes? */
int gsv_transfer_is_direct(const void *host, size_t pitch);

/*
 * Copy host to device after what is on the stream. Direct: asynchronous. Otherwise returns when the numbers
 * have left `host`, some of the way to the device still before them.
 */
gpusolve_status gsv_transfer_in(gsv_transfer *t, const gsv_block *host, const gsv_block *device, int direct,
                                gsv_message *message);

/* Copy device to host after what is on the stream. Direct: asynchronous. Otherwise returns when the numbers
 * are there. */
gpusolve_status gsv_transfer_out(gsv_transfer *t, const gsv_block *device, const gsv_block *host, int direct,
                                 gsv_message *message);

/* Test hook: the k-th transfer from now on fails, k = 1, 2, ...; 0: none does. Process-wide. */
void gsv_fail_transfer(int64_t k);

#endif
