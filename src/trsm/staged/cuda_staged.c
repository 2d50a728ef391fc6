/*
 * Streams for each direction of the copy engines (cuda_transfer.h) and one that computes. The thread that
 * runs a stage issues, step by step: what the step needs and is not there yet (in), the step (compute), and a
 * block of vectors that is final (out).
 *
 * What waits for what:
 *      a step              for all transfers issued before it
 *      a tile in the ring  for the step that used its slot before
 *      a chunk             for the last step of the chunk in whose buffer it goes, and for its way out
 *      a block going out   for its last step
 * Vectors that go out to pageable memory are unpacked by a second thread, the writer, so that it is the first
 * one that is never kept from asking for the next tile. The writer takes blocks in the order in which they
 * become final.
 */
#include "cuda_staged.h"

#include <pthread.h>
#include <string.h>

#include "../../device.h"
#include "../../memory.h"
#include "../cuda/context.h"
#include "../cuda/gemm.h"
#include "../cuda/leaf/leaf.h"
#include "cuda_stage.h"

typedef struct run {
    gsv_stage *stage;
    const gsv_triangular *p;
    gsv_cuda_context *cuda;
    gsv_staged_plan plan;
    int64_t number;
    int64_t used;           /* bytes of the stage's device memory that tiles and vectors take */
    int a_direct, b_direct; /* pinned */
    int32_t *touched;       /* [blocks] of this chunk */
    cudaEvent_t *final;     /* [2][blocks], where the writer works */
    /* the writer: blocks in the order in which they become final, chunk by chunk */
    pthread_t writer;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int64_t issued, taken; /* blocks in all chunks: handed to the writer, out */
    int64_t *queue;        /* [chunks][blocks] block | chunk << 32 */
    int stop;
    gpusolve_status writer_status;
    gsv_message writer_message;
} run;

static gpusolve_status checked(const run *r, cudaError_t error, const char *call) {
    return gsv_cuda_check(error, call, &r->stage->inner->message);
}

static gpusolve_status wait_for(const run *r, cudaStream_t stream, cudaEvent_t event) {
    return checked(r, cudaStreamWaitEvent(stream, event, 0), "cudaStreamWaitEvent");
}

static gpusolve_status mark(const run *r, cudaEvent_t event, cudaStream_t stream) {
    return checked(r, cudaEventRecord(event, stream), "cudaEventRecord");
}

/* --------------------------------------------------------------------------------------------- places --- */

static int is_left(const run *r) {
    return r->p->side == GPUSOLVE_LEFT;
}

static int is_transposed(const run *r) {
    return (r->p->side == GPUSOLVE_RIGHT) != (r->p->trans != GPUSOLVE_NO_TRANS);
}

/* `count` canonical blocks from `block` on: the one that lies first in A's order, where it starts as an index
 * of A's, and how many rows they have. */
static int64_t first_in_a(const run *r, int64_t block, int64_t count) {
    return gsv_is_forward(r->p) ? block : block + count - 1;
}

static int64_t start_of(const run *r, int64_t block, int64_t count) {
    return gsv_staged_start(r->p, &r->plan, first_in_a(r, block, count));
}

static int64_t size_of(const run *r, int64_t block, int64_t count) {
    return (count - 1) * r->plan.tile + gsv_staged_size(r->p, &r->plan, block + count - 1);
}

/* A step's tiles as they lie in A; the whole square for a tile of the diagonal. */
static gsv_block tiles_on_host(const run *r, const gsv_staged_step *step) {
    const gsv_triangular *p = r->p;
    const int64_t to = start_of(r, step->to, step->rows), from = start_of(r, step->from, step->count);
    const int64_t to_size = size_of(r, step->to, step->rows), from_size = size_of(r, step->from, step->count);
    return (gsv_block){(char *)p->a + gsv_place_in_a(p, to, from) * r->number, (size_t)(p->lda * r->number),
                       (size_t)((is_transposed(r) ? from_size : to_size) * r->number),
                       (size_t)(is_transposed(r) ? to_size : from_size)};
}

/* On the device they lie side by side, or where A is transposed one below the other: one matrix either way.
 */
static int64_t tiles_ld(const run *r, const gsv_staged_step *step) {
    return !r->plan.slots ? r->p->lda : (is_transposed(r) ? step->count : step->rows) * r->plan.tile;
}

static char *tiles_on_device(const run *r, const gsv_staged_step *step) {
    if (!r->plan.slots)
        return tiles_on_host(r, step).memory;
    return r->stage->memory + step->slot * r->plan.tile_bytes;
}

static int64_t chunk_width(const run *r, int64_t chunk) {
    const int64_t left = r->p->vectors - chunk * r->plan.width;
    return left < r->plan.width ? left : r->plan.width;
}

static int64_t vectors_ld(const run *r, int64_t chunk) {
    return !r->plan.buffers ? r->p->ldb : is_left(r) ? r->p->order : chunk_width(r, chunk);
}

/* Blocks of vectors of a chunk, on the device (where they may be the caller's own) and on the host. */
static gsv_block vectors_at(const run *r, int64_t chunk, int64_t block, int64_t count, char *base,
                            int64_t ld) {
    const int64_t size = size_of(r, block, count), start = start_of(r, block, count),
                  width = chunk_width(r, chunk);
    return (gsv_block){base + (is_left(r) ? start : start * ld) * r->number, (size_t)(ld * r->number),
                       (size_t)((is_left(r) ? size : width) * r->number),
                       (size_t)(is_left(r) ? width : size)};
}

static gsv_block vectors_on_host(const run *r, int64_t chunk, int64_t block, int64_t count) {
    const int64_t first = chunk * r->plan.width;
    return vectors_at(r, chunk, block, count,
                      (char *)r->p->b + (is_left(r) ? first * r->p->ldb : first) * r->number, r->p->ldb);
}

static gsv_block vectors_on_device(const run *r, int64_t chunk, int64_t block, int64_t count) {
    if (!r->plan.buffers)
        return vectors_on_host(r, chunk, block, count);
    char *const buffers = r->stage->memory + r->plan.slots * r->plan.tile_bytes;
    return vectors_at(r, chunk, block, count, buffers + chunk % r->plan.buffers * r->plan.buffer_bytes,
                      vectors_ld(r, chunk));
}

/* --------------------------------------------------------------------------------------------- writer --- */

/* Blocks as they become final, to pageable memory; ends when it is told to and has none left, or fails. */
static void *write_blocks(void *context) {
    run *r = context;
    cudaSetDevice(r->stage->inner->device);
    for (;;) {
        pthread_mutex_lock(&r->lock);
        while (!r->stop && r->taken == r->issued)
            pthread_cond_wait(&r->changed, &r->lock);
        const int none = r->taken == r->issued;
        const int64_t entry = none ? 0 : r->queue[r->taken];
        pthread_mutex_unlock(&r->lock);
        if (none)
            return NULL;
        const int64_t chunk = entry >> 32, block = entry & 0xffffffff;
        const gsv_block device = vectors_on_device(r, chunk, block, 1),
                        host = vectors_on_host(r, chunk, block, 1);
        gpusolve_status status = gsv_cuda_check(
            cudaStreamWaitEvent(r->stage->out.stream, r->final[chunk % 2 * r->plan.blocks + block], 0),
            "cudaStreamWaitEvent", &r->writer_message);
        if (status == GPUSOLVE_OK)
            status = gsv_transfer_out(&r->stage->out, &device, &host, 0, &r->writer_message);
        pthread_mutex_lock(&r->lock);
        r->taken++;
        if (status != GPUSOLVE_OK) {
            r->writer_status = status;
            r->stop = 1;
        }
        pthread_cond_broadcast(&r->changed);
        pthread_mutex_unlock(&r->lock);
        if (status != GPUSOLVE_OK)
            return NULL;
    }
}

/* Until `blocks` blocks have gone out, or the writer has failed. */
static gpusolve_status wait_for_writer(run *r, int64_t blocks) {
    pthread_mutex_lock(&r->lock);
    while (r->taken < blocks && r->writer_status == GPUSOLVE_OK)
        pthread_cond_wait(&r->changed, &r->lock);
    const gpusolve_status status = r->writer_status;
    if (status != GPUSOLVE_OK)
        r->stage->inner->message = r->writer_message;
    pthread_mutex_unlock(&r->lock);
    return status;
}

static void hand_to_writer(run *r, int64_t chunk, int64_t block) {
    pthread_mutex_lock(&r->lock);
    r->queue[r->issued++] = chunk << 32 | block;
    pthread_cond_broadcast(&r->changed);
    pthread_mutex_unlock(&r->lock);
}

static int has_writer(const run *r) {
    return r->plan.buffers && !r->b_direct;
}

static gpusolve_status start_writer(run *r) {
    r->queue = gsv_malloc((size_t)(r->plan.chunks * r->plan.blocks), sizeof *r->queue);
    r->final = gsv_calloc((size_t)(2 * r->plan.blocks), sizeof(cudaEvent_t));
    if (!r->queue || !r->final)
        return gsv_fail(&r->stage->inner->message, GPUSOLVE_OUT_OF_MEMORY,
                        "out of host memory for a staged call");
    gpusolve_status status = GPUSOLVE_OK;
    for (int64_t k = 0; k < 2 * r->plan.blocks && status == GPUSOLVE_OK; k++)
        status = gsv_cuda_event(&r->final[k], &r->stage->inner->message);
    if (status == GPUSOLVE_OK &&
        (gsv_thread_fails() || pthread_create(&r->writer, NULL, write_blocks, r) != 0))
        status = gsv_fail(&r->stage->inner->message, GPUSOLVE_OUT_OF_MEMORY, "cannot start a thread");
    return status;
}

/* Let it finish what it has. */
static gpusolve_status end_writer(run *r, gpusolve_status status) {
    pthread_mutex_lock(&r->lock);
    r->stop = 1;
    if (status != GPUSOLVE_OK)
        r->issued = r->taken + (r->issued > r->taken); /* what it is at is its last */
    pthread_cond_broadcast(&r->changed);
    pthread_mutex_unlock(&r->lock);
    pthread_join(r->writer, NULL);
    if (status == GPUSOLVE_OK && r->writer_status != GPUSOLVE_OK) {
        r->stage->inner->message = r->writer_message;
        return r->writer_status;
    }
    return status;
}

/* ---------------------------------------------------------------------------------------------- steps --- */

/* An event that was never recorded is no wait. */
static gpusolve_status bring_tiles(run *r, int64_t chunk, const gsv_staged_step *step) {
    if (!gsv_staged_comes(&r->plan, chunk, step))
        return GPUSOLVE_OK;
    gsv_stage *s = r->stage;
    const gsv_block host = tiles_on_host(r, step);
    const gsv_block device = {tiles_on_device(r, step), (size_t)(tiles_ld(r, step) * r->number), host.bytes,
                              host.columns};
    gpusolve_status status = GPUSOLVE_OK;
    for (int64_t k = step->slot - r->plan.resident, end = k + step->count;
         k >= 0 && k < end && status == GPUSOLVE_OK; k++)
        status = wait_for(r, s->in.stream, s->used[k]);
    return status == GPUSOLVE_OK ? gsv_transfer_in(&s->in, &host, &device, r->a_direct, &s->inner->message)
                                 : status;
}

static gpusolve_status mark_used(run *r, const gsv_staged_step *step) {
    gpusolve_status status = GPUSOLVE_OK;
    for (int64_t k = step->slot - r->plan.resident, end = k + step->count;
         r->plan.slots && k >= 0 && k < end && status == GPUSOLVE_OK; k++)
        status = mark(r, r->stage->used[k], r->stage->compute);
    return status;
}

/* A block is copied with the blocks after it that belong to the same range of the recursion, GSV_STEP_TILES at most: longer runs
 * of numbers cross the bus faster. */
static gpusolve_status bring_vectors(run *r, int64_t chunk, int64_t block) {
    if (!r->plan.buffers || r->touched[block])
        return GPUSOLVE_OK;
    int64_t aligned = 1, count = 0;
    while (block > 0 && block % (2 * aligned) == 0 && 2 * aligned <= GSV_STEP_TILES)
        aligned *= 2;
    while (count < aligned && block + count < r->plan.blocks && !r->touched[block + count])
        r->touched[block + count++] = 1;
    const gsv_block host = vectors_on_host(r, chunk, block, count),
                    device = vectors_on_device(r, chunk, block, count);
    return gsv_transfer_in(&r->stage->in, &host, &device, r->b_direct, &r->stage->inner->message);
}

static gpusolve_status compute(run *r, int64_t chunk, const gsv_staged_step *step) {
    gsv_stage *s = r->stage;
    gsv_triangular part = *r->p;
    part.a = tiles_on_device(r, step);
    part.lda = tiles_ld(r, step);
    part.b = vectors_on_device(r, chunk, step->to, step->rows).memory;
    part.ldb = vectors_ld(r, chunk);
    part.order = size_of(r, step->to, step->rows);
    part.vectors = chunk_width(r, chunk);
    if (step->to == step->from) /* what no tile and no vector needs is its workspace */
        return gsv_triangular_cuda(s->inner, &part, step->alpha, s->memory + r->used,
                                   (size_t)(s->bytes - r->used));
    return gsv_cuda_gemm(r->cuda->cublas, &part, part.a,
                         vectors_on_device(r, chunk, step->from, step->count).memory, part.b, part.order,
                         size_of(r, step->from, step->count), step->alpha, step->beta, &s->inner->message);
}

static gpusolve_status send_vectors(run *r, int64_t chunk, int64_t block) {
    gsv_stage *s = r->stage;
    if (!r->plan.buffers)
        return GPUSOLVE_OK;
    if (has_writer(r)) {
        const gpusolve_status status = mark(r, r->final[chunk % 2 * r->plan.blocks + block], s->compute);
        if (status == GPUSOLVE_OK)
            hand_to_writer(r, chunk, block);
        return status;
    }
    const gsv_block device = vectors_on_device(r, chunk, block, 1),
                    host = vectors_on_host(r, chunk, block, 1);
    gpusolve_status status = mark(r, s->left, s->compute);
    if (status == GPUSOLVE_OK)
        status = wait_for(r, s->out.stream, s->left);
    return status == GPUSOLVE_OK ? gsv_transfer_out(&s->out, &device, &host, 1, &s->inner->message) : status;
}

/* The buffer's last chunk has been computed with and is on the host. */
static gpusolve_status free_buffer(run *r, int64_t chunk) {
    gsv_stage *s = r->stage;
    const int64_t buffer = chunk % 2;
    if (chunk < 2)
        return GPUSOLVE_OK;
    gpusolve_status status = has_writer(r) ? wait_for_writer(r, (chunk - 1) * r->plan.blocks) : GPUSOLVE_OK;
    if (status == GPUSOLVE_OK)
        status = wait_for(r, s->in.stream, s->finished[buffer]);
    return status == GPUSOLVE_OK ? wait_for(r, s->in.stream, s->stored[buffer]) : status;
}

static gpusolve_status run_step(run *r, int64_t chunk, const gsv_staged_step *step) {
    gsv_stage *s = r->stage;
    gpusolve_status status = GPUSOLVE_OK;
    for (int64_t k = 0; k < step->rows && status == GPUSOLVE_OK; k++)
        status = bring_vectors(r, chunk, step->to + k);
    for (int64_t k = 0; k < step->count && status == GPUSOLVE_OK; k++)
        status = bring_vectors(r, chunk, step->from + k);
    if (status == GPUSOLVE_OK)
        status = bring_tiles(r, chunk, step);
    if (status == GPUSOLVE_OK)
        status = mark(r, s->arrived, s->in.stream);
    if (status == GPUSOLVE_OK)
        status = wait_for(r, s->compute, s->arrived);
    if (status == GPUSOLVE_OK)
        status = compute(r, chunk, step);
    if (status == GPUSOLVE_OK)
        status = mark_used(r, step);
    for (int64_t k = 0; k < step->rows && step->last && status == GPUSOLVE_OK; k++)
        status = send_vectors(r, chunk, step->to + k);
    return status;
}

static gpusolve_status run_chunk(run *r, int64_t chunk) {
    gsv_stage *s = r->stage;
    gpusolve_status status = free_buffer(r, chunk);
    memset(r->touched, 0, (size_t)r->plan.blocks * sizeof *r->touched);
    for (int64_t k = 0; k < r->plan.steps && status == GPUSOLVE_OK; k++)
        status = run_step(r, chunk, &r->plan.step[k]);
    if (status == GPUSOLVE_OK)
        status = mark(r, s->finished[chunk % 2], s->compute);
    return status == GPUSOLVE_OK && !has_writer(r) ? mark(r, s->stored[chunk % 2], s->out.stream) : status;
}

static gpusolve_status run_all(run *r) {
    r->touched = gsv_malloc((size_t)r->plan.blocks, sizeof *r->touched);
    if (!r->touched)
        return gsv_fail(&r->stage->inner->message, GPUSOLVE_OUT_OF_MEMORY,
                        "out of host memory for a staged call");
    gpusolve_status status = gsv_cuda_context_of(r->stage->inner, &r->cuda);
    const int writes = status == GPUSOLVE_OK && has_writer(r);
    if (writes)
        status = start_writer(r);
    const int writer = writes && status == GPUSOLVE_OK;
    for (int64_t chunk = 0; chunk < r->plan.chunks && status == GPUSOLVE_OK; chunk++)
        status = run_chunk(r, chunk);
    return writer ? end_writer(r, status) : status;
}

/* Nothing of the call runs any more; the first failure is the one that counts. */
static gpusolve_status settle(const run *r, gpusolve_status status) {
    gsv_stage *s = r->stage;
    const cudaStream_t streams[] = {s->in.stream, s->in.beside, s->compute, s->out.stream, s->out.beside};
    for (int k = 0; k < 5; k++) {
        const cudaError_t error = cudaStreamSynchronize(streams[k]);
        if (status == GPUSOLVE_OK)
            status = checked(r, error, "a staged call");
    }
    cudaGetLastError();
    return status;
}

/* ------------------------------------------------------------------------------------------ interface --- */

static gpusolve_status zero(const run *r, int on_device) {
    const gsv_triangular *p = r->p;
    const int64_t m = is_left(r) ? p->order : p->vectors, n = is_left(r) ? p->vectors : p->order;
    if (on_device)
        return checked(r, gsv_leaf_functions_of(p->dtype)->zero(p->b, m, n, p->ldb, r->stage->compute),
                       "a triangular kernel");
    for (int64_t j = 0; j < n; j++)
        memset((char *)p->b + j * p->ldb * r->number, 0, (size_t)(m * r->number));
    return GPUSOLVE_OK;
}

gpusolve_status gsv_stage_run(gsv_stage *stage, const gsv_triangular *p, gsv_number alpha) {
    gsv_message *message = &stage->inner->message;
    const int previous = gsv_cuda_enter(stage->inner->device);
    const int b_on_device = gsv_cuda_is_device(p->b);
    run r = {.stage = stage, .p = p, .number = gsv_number_bytes(p->dtype)};
    gpusolve_status status;
    if (alpha.re == 0 && alpha.im == 0) {
        status = settle(&r, zero(&r, b_on_device));
        gsv_cuda_leave(previous);
        return status;
    }
    pthread_mutex_init(&r.lock, NULL);
    pthread_cond_init(&r.changed, NULL);
    r.a_direct = gsv_transfer_is_direct(p->a, (size_t)(p->lda * r.number));
    r.b_direct = gsv_transfer_is_direct(p->b, (size_t)(p->ldb * r.number));
    status =
        gsv_staged_plan_make(p, alpha, gsv_cuda_is_device(p->a), b_on_device, stage->bytes, &r.plan, message);
    r.used = r.plan.slots * r.plan.tile_bytes + r.plan.buffers * r.plan.buffer_bytes;
    if (status == GPUSOLVE_OK)
        status = settle(&r, run_all(&r));
    for (int64_t k = 0; r.final && k < 2 * r.plan.blocks; k++)
        gsv_cuda_event_free(r.final[k]);
    gsv_free(r.final);
    gsv_free(r.queue);
    gsv_free(r.touched);
    gsv_staged_plan_free(&r.plan);
    pthread_cond_destroy(&r.changed);
    pthread_mutex_destroy(&r.lock);
    gsv_cuda_leave(previous);
    return status;
}
