/*
 * What an upload works with (cuda_upload.c): pinned buffers and streams, which are slow to make and the same for
 * every factor and so stay with the handle, and device memory of one call.
 */
#ifndef GSV_CUDA_PIPELINE_H
#define GSV_CUDA_PIPELINE_H

#include "../trsm/cuda_panel_inverse.h"
#include "cuda_support.h"

enum {
    GSV_CHUNKS = 24,    /* pinned buffers */
    GSV_MOST_SLOTS = 8, /* batches on the device; fewer, but two, where some are large */
    GSV_HOST_LISTS = 2  /* batches whose lists the host has */
};

/* The lists of a batch: narrow panels, wide panels, and the wide ones' starts (cuda_panel_inverse.h). */
enum {
    GSV_STARTS = GSV_INVERT_STAGES * (GSV_BATCH_WIDE + 1),
    GSV_WIDE_AT = GSV_BATCH_NARROW * (int)sizeof(gsv_narrow_panel),
    GSV_STARTS_AT = GSV_WIDE_AT + GSV_BATCH_WIDE * (int)sizeof(gsv_wide_panel),
    GSV_LIST_BYTES = GSV_STARTS_AT + GSV_STARTS * 4
};

typedef struct gsv_batch_slot {
    char *lists;               /* [device] GSV_LIST_BYTES, of one call, as is */
    void *raw;                 /* [device] the batch as imported */
    cudaEvent_t arrived, done; /* the batch is there; the device is through with the slot */
} gsv_batch_slot;

/* What the lists of a batch hold. One more than there are slots: the next batch's lists are made while those in
 * the slots have not been inverted. */
typedef struct gsv_batch_counts {
    gsv_wide_batch wide;
    int32_t narrow; /* panels */
} gsv_batch_counts;

/* handle->scratch */
typedef struct gsv_pipeline {
    cudaStream_t transfer, inversion;
    char *pinned; /* [host] GSV_CHUNKS of GSV_CHUNK_BYTES */
    cudaEvent_t copied[GSV_CHUNKS];
    char *lists[GSV_HOST_LISTS]; /* [host] pinned, GSV_LIST_BYTES each */
    gsv_batch_slot slots[GSV_MOST_SLOTS];
    gsv_batch_counts counts[GSV_MOST_SLOTS + 1];
    /* of one call: [device] one allocation, which the slots' memory is in too */
    void *room;
    void *inverse; /* for one batch at a time */
    double *sums;
    int32_t *parts; /* [nsuper] gsv_node.parts */
} gsv_pipeline;

/* Where things are in a pipeline's room, in bytes. */
typedef struct gsv_room {
    int slots;
    int64_t raw;                                /* of one slot; the first one's begins at 0 */
    int64_t lists, inverse, sums, parts, bytes; /* lists: of all slots */
} gsv_room;

gsv_room gsv_upload_room(const gsv_upload_sizes *most, int64_t number, int32_t nsuper);
/* The handle's pipeline, made if it is not there. */
gpusolve_status gsv_pipeline_of(gpusolve_handle *handle, gsv_pipeline **found);
/* Allocate for one factor, with wide panels or without. To be closed whatever the status. */
gpusolve_status gsv_pipeline_open(gsv_pipeline *p, const gsv_room *l, gpusolve_dtype dtype, int wide,
                                  gsv_message *message);
/* Free what belongs to one call; the device is through with it. */
void gsv_pipeline_close(gsv_pipeline *p);

#endif
