/*
 * A triangular operation whose operands are in host memory, as steps for a device that may be smaller than
 * they are: the recursion of triangular.h, cut into tiles.
 *
 * T's rows are taken in blocks of `tile`, in canonical order, the vectors in chunks of `width`. A step is one
 * tile or a rectangle of neighbouring tiles of T against one chunk, in the order in which the recursion
 * reaches them:
 *
 *      to == from      the operation itself, with alpha, on block `to`
 *      otherwise       b(to ..) = beta b(to ..) + alpha T(to .., from ..) b(from ..), `rows` blocks from `to`
 * and `count` from `from` on
 *
 * Every tile is met once a chunk, so what a chunk needs next is known from the start: tiles and blocks of
 * vectors are asked for in the order of their first use.
 *
 * The device's memory: `buffers` chunks of all rows (two, so that one comes and goes while the other is
 * worked on), and slots for tiles, neighbouring ones for the tiles of a step. The tiles of the first steps
 * come once and stay, in the first `resident` slots; the others come anew for each chunk, through a ring of
 * the slots that are left.
 */
#ifndef GSV_TRSM_STAGED_PLAN_H
#define GSV_TRSM_STAGED_PLAN_H

#include "../triangular.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gsv_staged_step {
    int32_t to, rows, from, count; /* canonical blocks */
    int32_t slot;                  /* the first one of its tiles */
    int32_t last;                  /* the blocks from `to` on are final then */
    gsv_number alpha, beta;
} gsv_staged_step;

typedef struct gsv_staged_plan {
    int64_t tile, blocks;
    int64_t width, chunks; /* the last chunk may be narrower */
    int buffers;           /* 0: the vectors are on the device already */
    int64_t slots;         /* for tiles; 0: A is on the device already */
    int64_t resident;
    int64_t tile_bytes, buffer_bytes;
    int64_t steps;
    gsv_staged_step *step;
} gsv_staged_plan;

enum {
    GSV_LARGEST_TILE = 1024,
    GSV_SMALLEST_TILE = 64,
    GSV_STEP_TILES = 4, /* at most, either way: 4096 terms are enough for a product's rate, and 4096 numbers
                         * side by side for that of a transfer */
    GSV_TILE_RING = 8
};

/*
 * alpha != 0, the problem is not empty. device_bytes: for tiles and chunks.
 * GPUSOLVE_OUT_OF_DEVICE_MEMORY: not even one vector and two of the smallest tiles fit.
 */
gpusolve_status gsv_staged_plan_make(const gsv_triangular *p, gsv_number alpha, int a_on_device,
                                     int b_on_device, int64_t device_bytes, gsv_staged_plan *plan,
                                     gsv_message *message);
/* Tuning hook: rows of the largest tile; 0: as measured. Process-wide. */
void gsv_staged_force_tile(int64_t rows);

void gsv_staged_plan_free(gsv_staged_plan *plan);

/* Rows of a canonical block, and the first of them as an index of A's. */
int64_t gsv_staged_size(const gsv_triangular *p, const gsv_staged_plan *plan, int64_t block);
int64_t gsv_staged_start(const gsv_triangular *p, const gsv_staged_plan *plan, int64_t block);

/* Do the tiles of this step come before it is done on this chunk? */
int gsv_staged_comes(const gsv_staged_plan *plan, int64_t chunk, const gsv_staged_step *step);

#ifdef __cplusplus
}
#endif
#endif
