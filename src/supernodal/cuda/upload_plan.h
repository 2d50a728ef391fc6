/*
 * How a factor's numbers travel to the device: the lower trapezoids, packed by columns one after the other, are
 * one row of numbers, cut into batches of whole panels, which are inverted together, and those into chunks of
 * one size, but for the last of each batch, which are handed over to the device. The roots' batch travels first:
 * its triangles are the largest, and so are inverted while others travel; those of the last batch, which nothing
 * hides, take least. Plain C; follows from the pattern alone.
 */
#ifndef GSV_CUDA_UPLOAD_PLAN_H
#define GSV_CUDA_UPLOAD_PLAN_H

#include "../import/import.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    GSV_CHUNK_BYTES = 2 << 20,
    GSV_BATCH_BYTES = 32 << 20, /* at most, unless a panel has more; a smaller factor has two, the first */
    GSV_LEAST_BATCH = 8 << 20,  /* of five eighths of its bytes, or one if that were less than this */
    GSV_BATCH_NARROW = 1 << 15, /* panels of a batch, at most */
    GSV_BATCH_WIDE = 1 << 12
};

/* Supernodes first .. last - 1, of which `wide` are wide, numbers begin .. end - 1 of all, chunk `chunk` and on.
 * Batches have descending supernodes and ascending chunks. */
typedef struct gsv_panel_batch {
    int32_t first, last, wide;
    int64_t begin, end, chunk;
} gsv_panel_batch;

/* The device memory of a batch, for the most demanding one, and how many there are. */
typedef struct gsv_upload_sizes {
    int64_t raw, inverse, sums; /* numbers; sums: of type double (trsm/cuda/panels/inverse.h) */
    int32_t batches;
} gsv_upload_sizes;

/* Of supernodes first .. last - 1 alone: all of them, or those of a refresh of some. */
typedef struct gsv_upload_plan {
    gsv_upload_sizes most;
    int32_t first, last;
    int32_t count;            /* of batches */
    gsv_panel_batch *batches; /* [count + 1] the last one has the number of chunks alone */
    int64_t *start;           /* [last - first + 1] numbers before each panel */
} gsv_upload_plan;

static inline int64_t gsv_upload_start(const gsv_upload_plan *way, int32_t s) {
    return way->start[s - way->first];
}

/* number: bytes of one. */
gsv_upload_sizes gsv_upload_most(const gsv_plan *plan, int64_t number);
/* NULL: out of memory. */
gsv_upload_plan *gsv_upload_plan_create(const gsv_plan *plan, int64_t number, int32_t first, int32_t last);
void gsv_upload_plan_free(gsv_upload_plan *plan); /* NULL is accepted */

/* Numbers begin .. end - 1 of all, which are in a batch, from the caller's arrays to `to`. */
void gsv_upload_pack(const gsv_upload_plan *way, const gsv_plan *plan, const gpusolve_factor_data *data,
                     const gsv_panel_batch *batch, int64_t begin, int64_t end, char *to);
/* The same past the processor's caches, if there is an instruction for that; `to`: a multiple of 16. */
void gsv_upload_pack_past_cache(const gsv_upload_plan *way, const gsv_plan *plan,
                                const gpusolve_factor_data *data, const gsv_panel_batch *batch, int64_t begin,
                                int64_t end, char *to);
/* Whether nothing is wrong with them (gsv_import_check_values), where they are; supernodal factors only. diagonal [n]: of their columns the
 * entries are stored. */
int gsv_upload_check(const gsv_upload_plan *way, const gsv_plan *plan, const gpusolve_factor_data *data,
                     const gsv_panel_batch *batch, int64_t begin, int64_t end, double *diagonal);

#ifdef __cplusplus
}
#endif
#endif
