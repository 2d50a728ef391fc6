#include "cuda_transfer.h"

#include <limits.h>
#include <stdatomic.h>
#include <string.h>

#include "../../device.h"
#include "../../memory.h"

enum { LEAST_HALVED = 4 << 20, COPIED_AT_ONCE = 1 << 17, LEAST_SLOT = 4096 }; /* bytes */

static _Atomic int64_t countdown;

void gsv_fail_transfer(int64_t k) {
    atomic_store(&countdown, k);
}

static int transfer_fails(void) {
    return atomic_load(&countdown) > 0 && atomic_fetch_sub(&countdown, 1) == 1;
}

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

/* --------------------------------------------------------------------------------------------- memory --- */

static gpusolve_status checked(cudaError_t error, const char *call, gsv_message *message) {
    return gsv_cuda_check(error, call, message);
}

gpusolve_status gsv_transfer_create(gsv_transfer *t, size_t pinned_bytes, int threads, gsv_message *message) {
    memset(t, 0, sizeof *t);
    if (gsv_pool_create(threads, &t->pool))
        return gsv_fail(message, GPUSOLVE_OUT_OF_MEMORY, "out of host memory for staging");
    t->slot_bytes = pinned_bytes / GSV_TRANSFER_SLOTS / 256 * 256;
    t->slot_bytes = t->slot_bytes > LEAST_SLOT ? t->slot_bytes : LEAST_SLOT;
    gpusolve_status status = gsv_cuda_stream(&t->stream, message);
    if (status == GPUSOLVE_OK)
        status = gsv_cuda_stream(&t->beside, message);
    if (status == GPUSOLVE_OK)
        status = gsv_cuda_event(&t->forked, message);
    if (status == GPUSOLVE_OK)
        status = gsv_cuda_event(&t->joined, message);
    for (int k = 0; k < GSV_TRANSFER_SLOTS && status == GPUSOLVE_OK; k++)
        status = gsv_cuda_event(&t->event[k], message);
    void *pinned = NULL;
    if (status == GPUSOLVE_OK)
        status = gsv_cuda_pin(&pinned, GSV_TRANSFER_SLOTS * t->slot_bytes, cudaHostAllocDefault, message);
    t->pinned = pinned;
    return status;
}

void gsv_transfer_destroy(gsv_transfer *t) {
    gsv_cuda_stream_free(t->stream);
    gsv_cuda_stream_free(t->beside);
    gsv_cuda_event_free(t->forked);
    gsv_cuda_event_free(t->joined);
    for (int k = 0; k < GSV_TRANSFER_SLOTS; k++)
        gsv_cuda_event_free(t->event[k]);
    gsv_cuda_unpin(t->pinned);
    gsv_pool_destroy(t->pool);
    memset(t, 0, sizeof *t);
}

int gsv_transfer_is_direct(const void *host, size_t pitch) {
    struct cudaPointerAttributes attributes;
    if (cudaPointerGetAttributes(&attributes, host) != cudaSuccess) {
        cudaGetLastError();
        return 0;
    }
    return attributes.type == cudaMemoryTypeHost && pitch <= INT_MAX;
}

/* --------------------------------------------------------------------------------------------- copies --- */

/* Part of a block: `bytes` bytes, from byte `skip` on, of each of the columns first .. first + count - 1. */
typedef struct piece {
    size_t first, count, skip, bytes;
} piece;

/* Whole columns where a slot holds one, else parts of one column. */
static piece next_piece(const gsv_block *block, size_t slot_bytes, const piece *last) {
    if (block->bytes <= slot_bytes) {
        const size_t first = last ? last->first + last->count : 0;
        return (piece){first, smaller(slot_bytes / block->bytes, block->columns - first), 0, block->bytes};
    }
    const size_t reached = last ? last->skip + last->bytes : 0;
    const size_t first = last ? last->first + (reached == block->bytes) : 0;
    const size_t skip = reached == block->bytes ? 0 : reached;
    return (piece){first, 1, skip, smaller(slot_bytes, block->bytes - skip)};
}

static int is_last(const gsv_block *block, const piece *p) {
    return p->first + p->count == block->columns && p->skip + p->bytes == block->bytes;
}

static char *at(const gsv_block *block, const piece *p) {
    return (char *)block->memory + p->first * block->pitch + p->skip;
}

typedef struct copying {
    char *to;
    const char *from;
    size_t to_pitch, from_pitch, bytes;
} copying;

static void copy_range(void *context, int64_t begin, int64_t end, int member) {
    const copying *c = context;
    (void)member;
    for (size_t j = (size_t)begin; j < (size_t)end; j++)
        memcpy(c->to + j * c->to_pitch, c->from + j * c->from_pitch, c->bytes);
}

static void copy_columns(gsv_pool *pool, char *to, size_t to_pitch, const char *from, size_t from_pitch,
                         const piece *p) {
    copying c = {to, from, to_pitch, from_pitch, p->bytes};
    const int64_t count = (int64_t)p->count, at_once = (int64_t)(COPIED_AT_ONCE / p->bytes) + 1;
    gsv_pool_ranges(pool, gsv_pool_share(pool, count, at_once), count, at_once, copy_range, &c);
}

static gpusolve_status copy_async(cudaStream_t stream, void *to, size_t to_pitch, const void *from,
                                  size_t from_pitch, size_t bytes, size_t columns, enum cudaMemcpyKind kind,
                                  gsv_message *message) {
    const char *const call =
        kind == cudaMemcpyHostToDevice ? "copying a block to the device" : "copying a block to the host";
    if (transfer_fails())
        return checked(cudaErrorUnknown, call, message);
    return checked(cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, bytes, columns, kind, stream), call,
                   message);
}

/* Both halves at once, after what is on the stream and before what comes. */
static gpusolve_status copy_direct(const gsv_transfer *t, const gsv_block *to, const gsv_block *from,
                                   enum cudaMemcpyKind kind, gsv_message *message) {
    const size_t half = from->bytes * from->columns >= LEAST_HALVED ? from->columns / 2 : 0;
    gpusolve_status status = GPUSOLVE_OK;
    if (half > 0) {
        status = checked(cudaEventRecord(t->forked, t->stream), "cudaEventRecord", message);
        if (status == GPUSOLVE_OK)
            status = checked(cudaStreamWaitEvent(t->beside, t->forked, 0), "cudaStreamWaitEvent", message);
        if (status == GPUSOLVE_OK)
            status = copy_async(t->beside, to->memory, to->pitch, from->memory, from->pitch, from->bytes,
                                half, kind, message);
    }
    if (status == GPUSOLVE_OK)
        status = copy_async(t->stream, (char *)to->memory + half * to->pitch, to->pitch,
                            (const char *)from->memory + half * from->pitch, from->pitch, from->bytes,
                            from->columns - half, kind, message);
    if (status == GPUSOLVE_OK && half > 0)
        status = checked(cudaEventRecord(t->joined, t->beside), "cudaEventRecord", message);
    return status == GPUSOLVE_OK && half > 0
               ? checked(cudaStreamWaitEvent(t->stream, t->joined, 0), "cudaStreamWaitEvent", message)
               : status;
}

gpusolve_status gsv_transfer_in(gsv_transfer *t, const gsv_block *host, const gsv_block *device, int direct,
                                gsv_message *message) {
    if (direct)
        return copy_direct(t, device, host, cudaMemcpyHostToDevice, message);
    gpusolve_status status = GPUSOLVE_OK;
    piece p = next_piece(host, t->slot_bytes, NULL);
    for (;; p = next_piece(host, t->slot_bytes, &p)) {
        const int slot = (int)(t->next++ % GSV_TRANSFER_SLOTS);
        char *pinned = t->pinned + (size_t)slot * t->slot_bytes;
        /* an event that was never recorded is complete */
        status = checked(cudaEventSynchronize(t->event[slot]), "cudaEventSynchronize", message);
        if (status == GPUSOLVE_OK) {
            copy_columns(t->pool, pinned, p.bytes, at(host, &p), host->pitch, &p);
            status = copy_async(t->stream, at(device, &p), device->pitch, pinned, p.bytes, p.bytes, p.count,
                                cudaMemcpyHostToDevice, message);
        }
        if (status == GPUSOLVE_OK)
            status = checked(cudaEventRecord(t->event[slot], t->stream), "cudaEventRecord", message);
        if (status != GPUSOLVE_OK || is_last(host, &p))
            return status;
    }
}

gpusolve_status gsv_transfer_out(gsv_transfer *t, const gsv_block *device, const gsv_block *host, int direct,
                                 gsv_message *message) {
    if (direct)
        return copy_direct(t, host, device, cudaMemcpyDeviceToHost, message);
    /* `ahead` pieces are on their way while the one before them is unpacked */
    gpusolve_status status = GPUSOLVE_OK;
    piece coming = {0}, going = {0};
    int64_t issued = 0, unpacked = 0;
    for (int all = 0; status == GPUSOLVE_OK && !(all && unpacked == issued);) {
        if (!all && issued - unpacked < GSV_TRANSFER_SLOTS) {
            coming = next_piece(host, t->slot_bytes, issued ? &coming : NULL);
            const int slot = (int)(issued % GSV_TRANSFER_SLOTS);
            status = copy_async(t->stream, t->pinned + (size_t)slot * t->slot_bytes, coming.bytes,
                                at(device, &coming), device->pitch, coming.bytes, coming.count,
                                cudaMemcpyDeviceToHost, message);
            if (status == GPUSOLVE_OK)
                status = checked(cudaEventRecord(t->event[slot], t->stream), "cudaEventRecord", message);
            issued++;
            all = is_last(host, &coming);
            continue;
        }
        const int slot = (int)(unpacked % GSV_TRANSFER_SLOTS);
        going = next_piece(host, t->slot_bytes, unpacked ? &going : NULL);
        status = checked(cudaEventSynchronize(t->event[slot]), "cudaEventSynchronize", message);
        if (status == GPUSOLVE_OK)
            copy_columns(t->pool, at(host, &going), host->pitch, t->pinned + (size_t)slot * t->slot_bytes,
                         going.bytes, &going);
        unpacked++;
    }
    return status;
}
