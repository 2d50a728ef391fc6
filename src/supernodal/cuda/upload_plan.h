/*
 * How a factor's numbers travel to the device: the lower trapezoids, packed by columns one after the other, are
 * one row of numbers, cut into batches of whole panels, which are inverted together, and those into chunks of
 * one size, but for the last of each batch, which are handed over to the device. The roots' batch travels first:
 * its triangles are the largest, and so are inverted while others travel; those of the last batch, which nothing
 * hides, take least. Plain C; follows from the pattern alone.
 */
#ifndef GSV_CUDA_UPLOAD_PLAN_H
#define GSV_CUDA_UPLOAD_PLAN_H

#include "../import/blocks.h"
#include "../import/import.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    GSV_CHUNK_BYTES = 2 << 20,
    GSV_BATCH_BYTES = 32 << 20, /* at most, unless a panel has more; a smaller factor has two, the first */
    GSV_LEAST_BATCH = 8 << 20,  /* of five eighths of its bytes, or one if that were less than this */
    GSV_BATCH_NARROW = 1 << 15, /* panels of a batch, at most */
    GSV_BATCH_WIDE = 1 << 12,
    GSV_RING_SLOTS =
        8, /* batches that are on the device at a time, at most, beside a first one that is apart; */
    GSV_RING_LANES = 2 /* of these, batches whose triangles are inverted beside each other */
};

/*
 * Supernodes first .. last - 1, of which `wide` are wide, numbers begin .. end - 1 of all, chunk `chunk` and on.
 * Batches have descending supernodes and ascending chunks.
 *
 * A batch arrives `at` bytes from the beginning of the device memory for numbers, with its lists in a slot, and is inverted in a lane. The
 * device must be through with all batches before number `after` by then, but for one that is apart.
 */
typedef struct gsv_panel_batch {
    int32_t first, last, wide;
    int64_t begin, end, chunk;
    int64_t at;
    int32_t slot, lane, after;
} gsv_panel_batch;

/* Numbers of a batch; sums: of type double (trsm/cuda/panels/inverse.h). */
typedef struct gsv_batch_size {
    int64_t raw, inverse, sums;
} gsv_batch_size;

/*
 * The device memory of an upload. Batches arrive in a ring, one behind the other. The first one, which has the roots, is apart if it
 * is large: it has a place behind the ring, slot 0 and lane 0 for itself, so that no other batch waits while it is inverted.
 */
typedef struct gsv_upload_room {
    int apart;            /* is it? Else lane 0 is not used, and slot 0 is like the others */
    int slots, lanes;     /* lanes: 1 .. lanes, beside lane 0 */
    int64_t ring, raw;    /* bytes of the ring, and of the whole memory for numbers */
    gsv_batch_size first; /* of lane 0; zeros if it is not used */
    gsv_batch_size most;  /* of each other lane, and the largest raw of a batch in the ring */
} gsv_upload_room;

/* Of supernodes first .. last - 1 alone: all of them, or those of a refresh of some. */
typedef struct gsv_upload_plan {
    gsv_upload_room room;
    int32_t first, last;
    int32_t count;            /* of batches */
    gsv_panel_batch *batches; /* [count + 1] the last one has the number of chunks alone */
    int64_t *start;           /* [last - first + 1] numbers before each panel */
} gsv_upload_plan;

static inline int64_t gsv_upload_start(const gsv_upload_plan *way, int32_t s) {
    return way->start[s - way->first];
}

/* number: bytes of one. */
gsv_upload_room gsv_upload_room_of(const gsv_plan *plan, int64_t number);
/* NULL: out of memory. */
gsv_upload_plan *gsv_upload_plan_create(const gsv_plan *plan, int64_t number, int32_t first, int32_t last);
void gsv_upload_plan_free(gsv_upload_plan *plan); /* NULL is accepted */

/*
 * The same for numbers that come in blocks (import/blocks.h). A chunk is what a batch has of some blocks that follow each other, so a block is
 * read by one thread, but for those that two batches share. It has no more bytes than the blocks, together GSV_CHUNK_BYTES at most.
 *
 * Returns the batches with their chunks [count + 1], or NULL: out of memory.
 */
gsv_panel_batch *gsv_upload_cut_blocks(const gsv_upload_plan *way, const gsv_plan *plan,
                                       const gpusolve_factor_data *data, const gsv_blocks *blocks);
/* The first block with numbers of a batch. */
int64_t gsv_upload_first_block(const gsv_plan *plan, const gpusolve_factor_data *data,
                               const gsv_panel_batch *batch, const gsv_blocks *blocks);
/* The block with the diagonal of the column that has number `at` of all: the check of a piece of the column reads it. */
int64_t gsv_upload_diagonal_block(const gsv_upload_plan *way, const gsv_plan *plan,
                                  const gpusolve_factor_data *data, const gsv_panel_batch *batch,
                                  const gsv_blocks *blocks, int64_t at);
/* Which of all numbers is the first one of a batch in this block or behind it; batch->end if there is none. */
int64_t gsv_upload_block_begin(const gsv_upload_plan *way, const gsv_plan *plan,
                               const gpusolve_factor_data *data, const gsv_panel_batch *batch,
                               const gsv_blocks *blocks, int64_t block);

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
