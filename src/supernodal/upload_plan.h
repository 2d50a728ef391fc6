/*
 * How a factor's numbers travel to the device: the lower trapezoids, packed by columns one after the other, are
 * one row of numbers, cut into batches of whole panels, which are inverted together, and those into chunks of
 * one size, but for the last of each batch. Plain C; follows from the pattern alone.
 */
#ifndef GSV_UPLOAD_PLAN_H
#define GSV_UPLOAD_PLAN_H

#include "plan.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    GSV_CHUNK_BYTES = 1 << 20,
    GSV_BATCH_BYTES = 32 << 20,
    GSV_BATCH_NARROW = 1 << 15, /* panels of a batch, at most */
    GSV_BATCH_WIDE = 1 << 12
};

/* Supernodes first .. last - 1, numbers begin .. end - 1 of all, chunk `chunk` and on. */
typedef struct gsv_panel_batch {
    int32_t first, last;
    int64_t begin, end, chunk;
} gsv_panel_batch;

/* The device memory of a batch, for the most demanding one. */
typedef struct gsv_batch_sizes {
    int64_t raw, inverse, sums; /* numbers; sums: of type double (cuda_panel_inverse.h) */
} gsv_batch_sizes;

typedef struct gsv_upload_plan {
    gsv_batch_sizes most;
    int32_t count;
    gsv_panel_batch *batches; /* [count + 1] the last one is where the others end */
    int64_t *start;           /* [nsuper + 1] numbers before each panel */
} gsv_upload_plan;

/* number: bytes of one. */
gsv_batch_sizes gsv_upload_sizes(const gsv_plan *plan, int64_t number);
/* NULL: out of memory. */
gsv_upload_plan *gsv_upload_plan_create(const gsv_plan *plan, int64_t number);
void gsv_upload_plan_free(gsv_upload_plan *plan); /* NULL is accepted */

#ifdef __cplusplus
}
#endif
#endif
