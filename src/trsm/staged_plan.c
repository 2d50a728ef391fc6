#include "staged_plan.h"

#include <stdatomic.h>

#include "../memory.h"

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

static int64_t steps_of(int64_t blocks) {
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
    plan->steps = steps_of(plan->blocks);
    plan->tile_bytes = tile * tile * number;
    const int64_t all = a_on_device ? 0 : plan->steps * plan->tile_bytes;
    const int64_t least = a_on_device ? 0 : smaller(plan->steps, GSV_TILE_RING) * plan->tile_bytes;
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
    plan->slots = a_on_device ? 0 : smaller(plan->steps, rest / plan->tile_bytes);
    plan->resident = plan->slots == plan->steps ? plan->steps : larger(0, plan->slots - GSV_TILE_RING);
    return 1;
}

/* ---------------------------------------------------------------------------------------------- steps --- */

typedef struct recording {
    gsv_staged_plan *plan;
    int64_t count;
} recording;

static int64_t block_of(const gsv_triangular *p, const gsv_staged_plan *plan, int64_t start, int64_t size) {
    return (gsv_is_forward(p) ? start : p->order - start - size) / plan->tile;
}

static gpusolve_status record_leaf(void *context, const gsv_triangular *p, int64_t start, int64_t size,
                                   gsv_number alpha) {
    recording *r = context;
    const int32_t block = (int32_t)block_of(p, r->plan, start, size);
    r->plan->step[r->count++] = (gsv_staged_step){block, block, alpha, {0, 0}};
    return GPUSOLVE_OK;
}

/* One block row after the other, so that the first can go on before the last has come. */
static gpusolve_status record_multiply(void *context, const gsv_triangular *p, int64_t to, int64_t to_size,
                                       int64_t from, int64_t from_size, gsv_number alpha, gsv_number beta) {
    recording *r = context;
    const int64_t tile = r->plan->tile, first_to = block_of(p, r->plan, to, to_size),
                  first_from = block_of(p, r->plan, from, from_size);
    const gsv_number one = {1, 0};
    for (int64_t i = 0; i * tile < to_size; i++)
        for (int64_t j = 0; j * tile < from_size; j++)
            r->plan->step[r->count++] = (gsv_staged_step){(int32_t)(first_to + i), (int32_t)(first_from + j),
                                                          alpha, j == 0 ? beta : one};
    return GPUSOLVE_OK;
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
    plan->step = gsv_malloc((size_t)plan->steps, sizeof *plan->step);
    if (!plan->step)
        return gsv_fail(message, GPUSOLVE_OUT_OF_MEMORY, "out of host memory for the steps of a staged call");
    recording r = {plan, 0};
    const gsv_triangular_backend backend = {&r, plan->tile, record_multiply, record_leaf};
    return gsv_triangular_run(p, alpha, &backend);
}

void gsv_staged_plan_free(gsv_staged_plan *plan) {
    gsv_free(plan->step);
    plan->step = NULL;
}

/* ---------------------------------------------------------------------------------------------- places ---
 */

int64_t gsv_staged_size(const gsv_triangular *p, const gsv_staged_plan *plan, int64_t block) {
    return smaller(plan->tile, p->order - block * plan->tile);
}

int64_t gsv_staged_start(const gsv_triangular *p, const gsv_staged_plan *plan, int64_t block) {
    const int64_t first = block * plan->tile;
    return gsv_is_forward(p) ? first : p->order - first - gsv_staged_size(p, plan, block);
}

int64_t gsv_staged_slot(const gsv_staged_plan *plan, int64_t chunk, int64_t step) {
    if (step < plan->resident)
        return step;
    const int64_t passing = plan->steps - plan->resident;
    return plan->resident + (chunk * passing + step - plan->resident) % (plan->slots - plan->resident);
}

int gsv_staged_comes(const gsv_staged_plan *plan, int64_t chunk, int64_t step) {
    return plan->slots > 0 && (chunk == 0 || step >= plan->resident);
}
