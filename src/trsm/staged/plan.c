#include "plan.h"

#include <stdatomic.h>

#include "../../memory.h"

enum { ALIGNMENT = 256, LEAST_CHUNK = 1024 /* vectors: fewer are not worth a second chunk */ };

static int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static int64_t round_up(int64_t value, int64_t unit) {
    return (value + unit - 1) / unit * unit;
}

static int64_t tiles_of(int64_t blocks) {
    return blocks * (blocks + 1) / 2;
}

static _Atomic int64_t forced_tile;

void gsv_staged_force_tile(int64_t rows) {
    atomic_store(&forced_tile, rows);
}

/* ---------------------------------------------------------------------------------------------- sizes --- */

/* Vectors of a chunk such that `count` chunks of n numbers a vector fit in `bytes`. */
static int64_t widest(int64_t bytes, int64_t n, int64_t number, int count) {
    return bytes <= 0 ? 0 : (bytes / count / ALIGNMENT * ALIGNMENT) / (n * number);
}

/*
 * Two chunks of half the vectors each, all tiles resident, where that fits: while the first half comes in
 * with A, the vectors that it takes are few enough for its first rows to be there early, and many enough
 * for them to keep the device busy; n = 16384 on an H200 waits 5 ms for operands instead of 6.5 with one
 * chunk and 10 with four (transfer at 55 GB/s, products at 57 Tflop/s). Where it does not fit, tiles come
 * anew for each chunk, and chunks are as wide as they can be.
 */
static int try_tile(const gsv_triangular *p, int a_on_device, int b_on_device, int64_t bytes, int64_t tile,
                    gsv_staged_plan *plan) {
    const int64_t number = gsv_number_bytes(p->dtype), n = p->order, v = p->vectors;
    plan->tile = tile;
    plan->blocks = (n + tile - 1) / tile;
    plan->tile_bytes = tile * tile * number;
    const int64_t tiles = tiles_of(plan->blocks), all = a_on_device ? 0 : tiles * plan->tile_bytes;
    const int64_t least = a_on_device ? 0 : smaller(tiles, GSV_TILE_RING) * plan->tile_bytes;
    const int64_t half = larger((v + 1) / 2, smaller(v, LEAST_CHUNK));
    plan->buffers = b_on_device ? 0 : 2;
    plan->width = v;
    if (!b_on_device) {
        const int64_t with_all = widest(bytes - all, n, number, 2);
        plan->width = smaller(
            half, with_all >= smaller(half, LEAST_CHUNK) ? with_all : widest(bytes - least, n, number, 2));
        if (plan->width < 1)
            return 0;
    }
    plan->chunks = (v + plan->width - 1) / plan->width;
    if (plan->chunks == 1 && plan->buffers > 1)
        plan->buffers = 1;
    plan->buffer_bytes = plan->buffers ? round_up(n * plan->width * number, ALIGNMENT) : 0;
    const int64_t rest = bytes - plan->buffers * plan->buffer_bytes;
    if (rest < least)
        return 0;
    plan->slots = a_on_device ? 0 : smaller(tiles, rest / plan->tile_bytes);
    plan->resident = plan->slots == tiles ? tiles : larger(0, plan->slots - GSV_TILE_RING);
    return 1;
}

/* ---------------------------------------------------------------------------------------------- steps --- */

typedef struct recording {
    gsv_staged_plan *plan;
    int64_t next_resident, next_in_ring;
    int ring; /* residents are at their end */
} recording;

static int64_t block_of(const gsv_triangular *p, const gsv_staged_plan *plan, int64_t start, int64_t size) {
    return (gsv_is_forward(p) ? start : p->order - start - size) / plan->tile;
}

/* Slots: as many residents as there is room for, from the first step on, and then round the ring. */
static int64_t take_slots(recording *r, int64_t count) {
    const gsv_staged_plan *plan = r->plan;
    if (!r->ring && r->next_resident + count <= plan->resident) {
        r->next_resident += count;
        return r->next_resident - count;
    }
    r->ring = 1;
    r->next_in_ring =
        round_up(r->next_in_ring, count); /* 1, 2 or 4: steps that follow one another do not meet */
    if (r->next_in_ring + count > plan->slots - plan->resident)
        r->next_in_ring = 0;
    r->next_in_ring += count;
    return plan->resident + r->next_in_ring - count;
}

static void record(recording *r, int64_t to, int64_t rows, int64_t from, int64_t count, gsv_number alpha,
                   gsv_number beta) {
    r->plan->step[r->plan->steps++] =
        (gsv_staged_step){(int32_t)to,
                          (int32_t)rows,
                          (int32_t)from,
                          (int32_t)count,
                          r->plan->slots ? (int32_t)take_slots(r, rows * count) : 0,
                          0,
                          alpha,
                          beta};
}

static gpusolve_status record_leaf(void *context, const gsv_triangular *p, int64_t start, int64_t size,
                                   gsv_number alpha) {
    recording *r = context;
    const int64_t block = block_of(p, r->plan, start, size);
    record(r, block, 1, block, 1, alpha, (gsv_number){0, 0});
    return GPUSOLVE_OK;
}

/* A few block rows after the others, so that the first can go on before the last have come; one by one where
 * tiles pass through a ring. */
static gpusolve_status record_multiply(void *context, const gsv_triangular *p, int64_t to, int64_t to_size,
                                       int64_t from, int64_t from_size, gsv_number alpha, gsv_number beta) {
    recording *r = context;
    const int64_t tile = r->plan->tile, first_to = block_of(p, r->plan, to, to_size),
                  first_from = block_of(p, r->plan, from, from_size), blocks = from_size / tile;
    const int64_t rows = (to_size + tile - 1) / tile,
                  most = r->plan->slots == r->plan->resident ? GSV_STEP_TILES : 1;
    const gsv_number one = {1, 0};
    for (int64_t i = 0; i < rows; i += most)
        for (int64_t j = 0; j < blocks; j += GSV_STEP_TILES)
            record(r, first_to + i, smaller(most, rows - i), first_from + j,
                   smaller(GSV_STEP_TILES, blocks - j), alpha, j == 0 ? beta : one);
    return GPUSOLVE_OK;
}

/* The last step of each block, from the end: that of one block of a step is that of all. */
static void mark_last(gsv_staged_plan *plan, int32_t *seen) {
    for (int64_t k = plan->steps - 1; k >= 0; k--)
        for (int32_t i = 0; i < plan->step[k].rows; i++)
            plan->step[k].last = !seen[plan->step[k].to + i]++;
}

gpusolve_status gsv_staged_plan_make(const gsv_triangular *p, gsv_number alpha, int a_on_device,
                                     int b_on_device, int64_t device_bytes, gsv_staged_plan *plan,
                                     gsv_message *message) {
    *plan = (gsv_staged_plan){0};
    int64_t tile = atomic_load(&forced_tile) ? atomic_load(&forced_tile) : GSV_LARGEST_TILE;
    while (tile > GSV_SMALLEST_TILE && tile / 2 >= p->order)
        tile /= 2;
    while (!try_tile(p, a_on_device, b_on_device, device_bytes, tile, plan)) {
        if (tile == GSV_SMALLEST_TILE)
            return gsv_fail(message, GPUSOLVE_OUT_OF_DEVICE_MEMORY,
                            "%lld bytes of device memory do not hold two vectors and %d tiles",
                            (long long)device_bytes, GSV_TILE_RING);
        tile /= 2;
    }
    plan->step = gsv_malloc((size_t)tiles_of(plan->blocks), sizeof *plan->step);
    int32_t *seen = gsv_calloc((size_t)plan->blocks, sizeof *seen);
    gpusolve_status status = GPUSOLVE_OK;
    if (plan->step && seen) {
        recording r = {.plan = plan};
        const gsv_triangular_backend backend = {&r, plan->tile, record_multiply, record_leaf};
        status = gsv_triangular_run(p, alpha, &backend);
        mark_last(plan, seen);
    } else {
        status =
            gsv_fail(message, GPUSOLVE_OUT_OF_MEMORY, "out of host memory for the steps of a staged call");
    }
    gsv_free(seen);
    return status;
}

void gsv_staged_plan_free(gsv_staged_plan *plan) {
    gsv_free(plan->step);
    plan->step = NULL;
}

/* --------------------------------------------------------------------------------------------- places --- */

int64_t gsv_staged_size(const gsv_triangular *p, const gsv_staged_plan *plan, int64_t block) {
    return smaller(plan->tile, p->order - block * plan->tile);
}

int64_t gsv_staged_start(const gsv_triangular *p, const gsv_staged_plan *plan, int64_t block) {
    const int64_t first = block * plan->tile;
    return gsv_is_forward(p) ? first : p->order - first - gsv_staged_size(p, plan, block);
}

int gsv_staged_comes(const gsv_staged_plan *plan, int64_t chunk, const gsv_staged_step *step) {
    return plan->slots > 0 && (chunk == 0 || step->slot >= plan->resident);
}
