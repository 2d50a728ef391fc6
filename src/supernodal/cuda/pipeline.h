/*
 * What an upload needs (cuda/upload.c). Pinned buffers and streams are slow to make and the same for every factor, so the
 * handle keeps them. It also keeps the device memory if that is small.
 */
#ifndef GSV_CUDA_PIPELINE_H
#define GSV_CUDA_PIPELINE_H

#include "../../trsm/cuda/panels/inverse.h"
#include "support.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    GSV_BUFFERS = 16,         /* pinned, of a chunk each; all of them fit into a server's last cache */
    GSV_KEPT_ROOM = 64 << 20, /* bytes of device memory that a handle keeps at most: to allocate and free them
                               * takes as long as a small factor's transfer */
    GSV_MOST_SLOTS = 1 + GSV_RING_SLOTS,
    GSV_MOST_LANES = 1 + GSV_RING_LANES,
    GSV_HOST_LISTS = 2 /* batches whose lists the host has */
};

/* Bytes of the lists of a batch, one behind the other: narrow panels, wide panels, and the wide ones' starts
 * (trsm/cuda/panels/inverse.h). */
enum {
    GSV_LIST_BYTES = GSV_BATCH_NARROW * (int)sizeof(gsv_narrow_panel) +
                     GSV_BATCH_WIDE * (int)sizeof(gsv_wide_panel) +
                     4 * GSV_INVERT_STAGES * (GSV_BATCH_WIDE + 1)
};

typedef struct gsv_batch_slot {
    char *lists;               /* [device] GSV_LIST_BYTES, of one call */
    cudaEvent_t arrived, done; /* the batch is there; the device is through with it */
    cudaEvent_t narrow;        /* and with its narrow panels */
} gsv_batch_slot;

/* What the lists of a batch hold. One more than there are slots: the next batch's lists are made while those in
 * the slots have not been inverted. */
typedef struct gsv_batch_counts {
    gsv_wide_batch wide;
    int32_t narrow; /* panels */
    int64_t bytes;
} gsv_batch_counts;

typedef struct gsv_lane {
    cudaStream_t stream;
    /* of one call: [device] for one batch at a time */
    void *inverse;
    double *sums;
} gsv_lane;

/* handle->scratch */
typedef struct gsv_pipeline {
    cudaStream_t transfer, narrow; /* narrow: panels, which need nothing of a lane */
    gsv_lane lanes[GSV_MOST_LANES];
    char *pinned; /* [host] GSV_BUFFERS of GSV_CHUNK_BYTES */
    int lent;     /* a block of a solve may be on its way through them (cuda/staging.c) */
    cudaEvent_t copied[GSV_BUFFERS];
    char *lists[GSV_HOST_LISTS]; /* [host] pinned, GSV_LIST_BYTES each */
    gsv_batch_slot slots[GSV_MOST_SLOTS];
    gsv_batch_counts counts[GSV_MOST_SLOTS + 1];
    void *room; /* [device] one allocation, of what follows and of the slots' and lanes' memory; or NULL */
    int64_t room_bytes;
    char *raw; /* [device] of one call: batches as imported */
    /* [device] of one call, in that room too: gsv_wide_panel.k [nsuper], and .cut [n] */
    float *k;
    uint8_t *cut;
} gsv_pipeline;

/* The handle's pipeline, made if it is not there. */
gpusolve_status gsv_pipeline_of(gpusolve_handle *handle, gsv_pipeline **found);
/* The room's memory for another call (products/multiply.cu); and its end, when the device is through with it: a large room is freed. */
gpusolve_status gsv_pipeline_room(gsv_pipeline *p, int64_t bytes, void **room, gsv_message *message);
void gsv_pipeline_room_end(gsv_pipeline *p);
/* Room for one factor's upload, of panels of that type. To be closed whatever the status. */
gpusolve_status gsv_pipeline_open(gsv_pipeline *p, const gsv_upload_room *room, const gsv_plan *plan,
                                  gpusolve_dtype dtype, gsv_message *message);
/* The device is through with the room, which is freed if it is large. */
void gsv_pipeline_close(gsv_pipeline *p);

#ifdef __cplusplus
}
#endif

#endif
