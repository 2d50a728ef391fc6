/*
 * A factor's values on their way to the device: read from the caller's arrays, checked before, inverted on
 * arrival (cuda_panel_inverse.h).
 *
 * All numbers go in batches of whole panels, and those in chunks (upload_plan.h). Host threads take chunks in
 * turn and copy each into a pinned buffer that is small enough to stay in the processor's cache; a chunk is
 * on its way while others are being filled. Of a batch, the room on the device is one of two: one is filled
 * while the panels of the other are inverted.
 *
 * Order. Chunks are handed to the device in ascending order, each by the thread that has filled it, once all
 * before it have been: `passed` counts them. A thread waits for chunks of lower number alone, and for lists
 * that the holder of one makes, so the lowest one that has not been handed over never waits, and any number
 * of threads gets through. What ends in which place, and is computed from what, follows from the plan: the
 * bits do not depend on timing.
 *
 * Traffic: the numbers are read once, cross the bus once, and are written once by the inversion.
 */
#include <sched.h>
#include <stdatomic.h>

#include "../memory.h"
#include "../trsm/cuda_panel_inverse.h"
#include "cuda_support.h"

enum {
    CHUNKS = 24, /* pinned buffers */
    SLOTS = 2    /* batches on the device */
};

/* The lists of a batch: narrow panels, wide panels, and the wide ones' starts (cuda_panel_inverse.h). */
enum {
    STARTS = GSV_INVERT_STAGES * (GSV_BATCH_WIDE + 1),
    WIDE_AT = GSV_BATCH_NARROW * (int)sizeof(gsv_narrow_panel),
    STARTS_AT = WIDE_AT + GSV_BATCH_WIDE * (int)sizeof(gsv_wide_panel),
    LIST_BYTES = STARTS_AT + STARTS * 4
};

typedef struct batch_slot {
    char *lists_host; /* [host] pinned, LIST_BYTES */
    char *lists;      /* [device] their copy */
    void *raw;        /* [device] the batch as imported; of one call */
    gsv_wide_batch wide;
    int32_t narrow;            /* panels */
    cudaEvent_t arrived, done; /* the batch is there; the device is through with the slot */
} batch_slot;

/* handle->scratch: what is slow to make and the same for every factor stays with the handle, so that a
 * refresh finds it there. */
typedef struct pipeline {
    cudaStream_t transfer, inversion;
    char *pinned; /* [host] CHUNKS of GSV_CHUNK_BYTES */
    cudaEvent_t copied[CHUNKS];
    batch_slot slots[SLOTS];
    /* of one call: [device] one allocation, which the slots' raw is in too */
    void *room;
    void *inverse; /* for one batch at a time */
    double *sums;
    int32_t *parts; /* [nsuper] gsv_node.parts */
} pipeline;

/* Free what belongs to one call; the device is through with it. */
static void pipeline_close(pipeline *p) {
    cudaStreamSynchronize(p->transfer);
    cudaStreamSynchronize(p->inversion);
    cudaFree(p->room);
    p->room = NULL;
}

static void destroy_event(cudaEvent_t event) {
    if (event)
        cudaEventDestroy(event);
}

static void pipeline_destroy(pipeline *p) {
    if (p->transfer && p->inversion)
        pipeline_close(p);
    for (int k = 0; k < SLOTS; k++) {
        cudaFreeHost(p->slots[k].lists_host);
        cudaFree(p->slots[k].lists);
        destroy_event(p->slots[k].arrived);
        destroy_event(p->slots[k].done);
    }
    for (int k = 0; k < CHUNKS; k++)
        destroy_event(p->copied[k]);
    cudaFreeHost(p->pinned);
    if (p->transfer)
        cudaStreamDestroy(p->transfer);
    if (p->inversion)
        cudaStreamDestroy(p->inversion);
    gsv_free(p);
}

void gsv_cuda_handle_destroy(gpusolve_handle *handle) {
    if (!handle->scratch)
        return;
    const int previous = gsv_cuda_enter(handle->device);
    pipeline_destroy(handle->scratch);
    handle->scratch = NULL;
    gsv_cuda_leave(previous);
}

static gpusolve_status allocate_pinned(char **memory, int64_t bytes, gsv_message *message) {
    void *found = NULL;
    *memory = NULL;
    if (gsv_allocation_fails() || cudaMallocHost(&found, (size_t)bytes) != cudaSuccess) {
        cudaGetLastError();
        return gsv_fail(message, GPUSOLVE_OUT_OF_MEMORY, "out of pinned host memory: %lld bytes",
                        (long long)bytes);
    }
    *memory = found;
    return GPUSOLVE_OK;
}

static gpusolve_status create_event(cudaEvent_t *event, gsv_message *message) {
    return gsv_cuda_check(cudaEventCreateWithFlags(event, cudaEventDisableTiming), "cudaEventCreate",
                          message);
}

static gpusolve_status fill_pipeline(pipeline *p, gsv_message *message) {
    gpusolve_status status = gsv_cuda_check(cudaStreamCreateWithFlags(&p->transfer, cudaStreamNonBlocking),
                                            "cudaStreamCreate", message);
    if (status == GPUSOLVE_OK)
        status = gsv_cuda_check(cudaStreamCreateWithFlags(&p->inversion, cudaStreamNonBlocking),
                                "cudaStreamCreate", message);
    if (status == GPUSOLVE_OK)
        status = allocate_pinned(&p->pinned, (int64_t)CHUNKS * GSV_CHUNK_BYTES, message);
    for (int k = 0; k < CHUNKS && status == GPUSOLVE_OK; k++)
        status = create_event(&p->copied[k], message);
    for (int k = 0; k < SLOTS && status == GPUSOLVE_OK; k++) {
        batch_slot *slot = &p->slots[k];
        status = allocate_pinned(&slot->lists_host, LIST_BYTES, message);
        if (status == GPUSOLVE_OK)
            status = gsv_cuda_malloc((void **)&slot->lists, LIST_BYTES, message);
        if (status == GPUSOLVE_OK)
            status = create_event(&slot->arrived, message);
        if (status == GPUSOLVE_OK)
            status = create_event(&slot->done, message);
    }
    return status;
}

/* The handle's pipeline, made if it is not there. */
static gpusolve_status pipeline_of(gpusolve_handle *handle, pipeline **found) {
    gsv_message *message = &handle->message;
    if (!handle->scratch) {
        pipeline *p = gsv_calloc(1, sizeof *p);
        if (!p)
            return gsv_fail(message, GPUSOLVE_OUT_OF_MEMORY, "out of host memory while preparing");
        const gpusolve_status status = fill_pipeline(p, message);
        if (status != GPUSOLVE_OK) {
            pipeline_destroy(p);
            return status;
        }
        handle->scratch = p;
    }
    *found = handle->scratch;
    return GPUSOLVE_OK;
}

/* -------------------------------------------------------------------------------------------- batches --- */

/* Where things are in a pipeline's room, in bytes. */
typedef struct room_layout {
    int64_t inverse, sums, parts, bytes; /* raw, SLOTS times, begins at 0 */
    int64_t raw;                         /* of one slot */
} room_layout;

static int64_t round_up(int64_t bytes) {
    return (bytes + 255) / 256 * 256;
}

static room_layout make_room(const gsv_batch_sizes *most, int64_t number, int32_t nsuper) {
    room_layout l;
    l.raw = round_up(most->raw * number);
    l.inverse = SLOTS * l.raw;
    l.sums = l.inverse + round_up(most->inverse * number);
    l.parts = l.sums + round_up(most->sums * (int64_t)sizeof(double));
    l.bytes = l.parts + nsuper * (int64_t)sizeof(int32_t);
    return l;
}

int64_t gsv_cuda_upload_bytes(const gsv_plan *plan, gpusolve_dtype dtype) {
    const int64_t number = (int64_t)gsv_dtype_bytes(dtype);
    const gsv_batch_sizes most = gsv_upload_sizes(plan, number);
    return SLOTS * (int64_t)LIST_BYTES + make_room(&most, number, plan->l.nsuper).bytes;
}

/* --------------------------------------------------------------------------------------------- upload --- */

typedef struct upload {
    pipeline *p;
    const gpusolve_factor *factor;
    const gsv_cuda_factor *device;
    const gpusolve_factor_data *data;
    const gsv_panel_batch *batches; /* of the gsv_upload_plan */
    const int64_t *start;
    int64_t number, chunks;
    gsv_message *message;          /* written by the thread whose turn it is */
    gpusolve_status status;        /* so, too */
    _Atomic int64_t taken, passed; /* chunks */
    _Atomic int64_t listed;        /* batches */
    _Atomic int failed;
} upload;

static void wait_for(_Atomic int64_t *counter, int64_t value) {
    while (atomic_load_explicit(counter, memory_order_acquire) < value)
        sched_yield();
}

/* What the inversion must know of a batch's panels. */
static void list_panels(upload *u, const gsv_panel_batch *batch) {
    const gsv_plan *plan = &u->factor->plan;
    batch_slot *slot = &u->p->slots[(batch - u->batches) % SLOTS];
    wait_for(&u->listed, batch - u->batches);      /* in order, so that the count says which are there */
    if (batch - u->batches >= SLOTS && !u->failed) /* the lists that were there have been copied */
        cudaEventSynchronize(slot->arrived);
    gsv_narrow_panel *narrow = (gsv_narrow_panel *)slot->lists_host;
    gsv_wide_panel *wide = (gsv_wide_panel *)(slot->lists_host + WIDE_AT);
    gsv_wide_batch *b = &slot->wide;
    int64_t inverse = 0, sums = 0;
    slot->narrow = 0;
    *b = (gsv_wide_batch){.panels = (const gsv_wide_panel *)(slot->lists + WIDE_AT),
                          .starts = (const int32_t *)(slot->lists + STARTS_AT),
                          .raw = slot->raw,
                          .packed = (void *)u->device->plan.panels,
                          .inverse = u->p->inverse,
                          .sums = u->p->sums};
    for (int32_t s = batch->first; s < batch->last; s++) {
        const int32_t nr = gsv_rows(plan, s), nc = gsv_columns(plan, s);
        const int64_t from = u->start[s] - batch->begin, to = plan->tiles->panel_ptr[s];
        if (gsv_is_narrow(nr, nc)) {
            narrow[slot->narrow++] = (gsv_narrow_panel){from, to, u->p->parts + s, nr, nc};
        } else {
            wide[b->count++] = (gsv_wide_panel){from, to, inverse, sums, u->p->parts + s, nr, nc};
            inverse += gsv_wide_inverse(nc);
            sums += GSV_DIVISIONS * (3 * (int64_t)nc);
        }
    }
    b->k = b->sums + sums;
    gsv_wide_plan(wide, (int32_t *)(slot->lists_host + STARTS_AT), b);
    atomic_store_explicit(&u->listed, batch - u->batches + 1, memory_order_release);
}

static cudaError_t copy_list(const upload *u, const batch_slot *slot, int64_t at, int64_t bytes) {
    return bytes == 0 ? cudaSuccess
                      : cudaMemcpyAsync(slot->lists + at, slot->lists_host + at, (size_t)bytes,
                                        cudaMemcpyHostToDevice, u->p->transfer);
}

/* All chunks of the batch are on their way: then its lists, and the inversion. */
static gpusolve_status invert_batch(upload *u, int64_t index) {
    pipeline *p = u->p;
    batch_slot *slot = &p->slots[index % SLOTS];
    wait_for(&u->listed, index + 1);
    const gpusolve_dtype dtype = u->factor->dtype;
    const gsv_wide_batch *wide = &slot->wide;
    cudaError_t error = copy_list(u, slot, 0, slot->narrow * (int64_t)sizeof(gsv_narrow_panel));
    if (error == cudaSuccess)
        error = copy_list(u, slot, WIDE_AT, wide->count * (int64_t)sizeof(gsv_wide_panel));
    if (error == cudaSuccess && wide->count > 0)
        error = copy_list(u, slot, STARTS_AT,
                          4 * (GSV_INVERT_DOUBLE + wide->levels) * (int64_t)(wide->count + 1));
    if (error == cudaSuccess)
        error = cudaEventRecord(slot->arrived, p->transfer);
    if (error == cudaSuccess)
        error = cudaStreamWaitEvent(p->inversion, slot->arrived, 0);
    if (error != cudaSuccess)
        return gsv_cuda_check(error, "copying panels to the device", u->message);
    error = gsv_invert_narrow(dtype, (const gsv_narrow_panel *)slot->lists, slot->narrow, slot->raw,
                              (void *)u->device->plan.panels, p->inversion);
    if (error == cudaSuccess)
        error = gsv_invert_wide(dtype, wide, p->inversion);
    if (error == cudaSuccess)
        error = cudaEventRecord(slot->done, p->inversion);
    return gsv_cuda_check(error, "inverting panels", u->message);
}

/* Numbers begin .. end - 1 of a batch into a pinned buffer. */
static void fill_chunk(const upload *u, const gsv_panel_batch *batch, int64_t begin, int64_t end, char *to) {
    const gsv_plan *plan = &u->factor->plan;
    int32_t s = batch->first;
    for (int32_t above = batch->last; above - s > 1;) { /* start[s] <= begin < start[above] */
        const int32_t middle = s + (above - s) / 2;
        if (u->start[middle] <= begin)
            s = middle;
        else
            above = middle;
    }
    for (; begin < end; s++) {
        const int64_t nr = gsv_rows(plan, s), nc = gsv_columns(plan, s), at = begin - u->start[s];
        int64_t k = 0; /* the column that `at` is in: columns before k hold k nr - k (k - 1) / 2 */
        for (int64_t above = nc; above - k > 1;) {
            const int64_t middle = k + (above - k) / 2;
            if (middle * nr - middle * (middle - 1) / 2 <= at)
                k = middle;
            else
                above = middle;
        }
        int64_t first = at - (k * nr - k * (k - 1) / 2);
        for (; k < nc && begin < end; k++, first = 0) {
            const int64_t left = nr - k - first, count = left < end - begin ? left : end - begin;
            gsv_import_column(u->data, plan, s, (int32_t)k, first, count, to);
            to += count * u->number;
            begin += count;
        }
    }
}

/* The batch that a chunk belongs to. */
static const gsv_panel_batch *batch_of(const gsv_panel_batch *batch, int64_t chunk) {
    while (batch[1].chunk <= chunk)
        batch++;
    return batch;
}

static gpusolve_status pass_chunk(upload *u, const gsv_panel_batch *batch, int64_t chunk, int64_t begin,
                                  int64_t end) {
    pipeline *p = u->p;
    const int64_t index = batch - u->batches;
    batch_slot *slot = &p->slots[index % SLOTS];
    cudaError_t error = cudaSuccess;
    if (chunk == batch->chunk && index >= SLOTS)
        error = cudaStreamWaitEvent(p->transfer, slot->done, 0);
    if (error == cudaSuccess)
        error = cudaMemcpyAsync((char *)slot->raw + (begin - batch->begin) * u->number,
                                p->pinned + chunk % CHUNKS * GSV_CHUNK_BYTES,
                                (size_t)((end - begin) * u->number), cudaMemcpyHostToDevice, p->transfer);
    if (error == cudaSuccess)
        error = cudaEventRecord(p->copied[chunk % CHUNKS], p->transfer);
    const gpusolve_status status = gsv_cuda_check(error, "copying panels to the device", u->message);
    return status == GPUSOLVE_OK && chunk + 1 == batch[1].chunk ? invert_batch(u, index) : status;
}

/* What each thread does: chunks, until there are none left. After a failure they are only counted. */
static void run_chunks(upload *u) {
    pipeline *p = u->p;
    const int64_t numbers = GSV_CHUNK_BYTES / u->number;
    const gsv_panel_batch *batch = u->batches;
    for (int64_t chunk; (chunk = atomic_fetch_add(&u->taken, 1)) < u->chunks;) {
        batch = batch_of(batch, chunk);
        const int64_t begin = batch->begin + (chunk - batch->chunk) * numbers;
        const int64_t end = begin + numbers < batch->end ? begin + numbers : batch->end;
        if (chunk == 0)
            list_panels(u, batch);
        if (chunk >= CHUNKS) {
            wait_for(&u->passed, chunk - CHUNKS + 1);
            if (!u->failed)
                cudaEventSynchronize(p->copied[chunk % CHUNKS]);
        }
        if (!u->failed)
            fill_chunk(u, batch, begin, end, p->pinned + chunk % CHUNKS * GSV_CHUNK_BYTES);
        wait_for(&u->passed, chunk);
        if (!u->failed) {
            u->status = pass_chunk(u, batch, chunk, begin, end);
            u->failed = u->status != GPUSOLVE_OK;
        }
        atomic_store_explicit(&u->passed, chunk + 1, memory_order_release);
        if (chunk == batch->chunk && batch[1].chunk < u->chunks)
            list_panels(u, batch + 1); /* the next one's, and those before it are no longer wanted */
    }
}

/* Allocate for one factor. To be closed whatever the status. */
static gpusolve_status pipeline_open(pipeline *p, const gsv_batch_sizes *most, int64_t number, int32_t nsuper,
                                     gpusolve_dtype dtype, gsv_message *message) {
    const room_layout l = make_room(most, number, nsuper);
    gpusolve_status status = gsv_cuda_malloc(&p->room, l.bytes, message);
    if (status == GPUSOLVE_OK) {
        char *base = p->room;
        for (int k = 0; k < SLOTS; k++)
            p->slots[k].raw = base + k * l.raw;
        p->inverse = base + l.inverse;
        p->sums = (double *)(base + l.sums);
        p->parts = (int32_t *)(base + l.parts);
    }
    if (status == GPUSOLVE_OK && most->inverse > 0)
        status = gsv_cuda_check(gsv_invert_reserve(dtype), "asking what the device can run", message);
    return status;
}

gpusolve_status gsv_cuda_upload(gpusolve_handle *handle, const gpusolve_factor *factor,
                                gsv_cuda_factor *device, const gpusolve_factor_data *data, int32_t *parts,
                                int *touched) {
    const gsv_plan *plan = &factor->plan;
    upload u = {.factor = factor,
                .device = device,
                .data = data,
                .number = (int64_t)gsv_dtype_bytes(factor->dtype),
                .message = &handle->message,
                .status = GPUSOLVE_OK};
    gpusolve_status status = pipeline_of(handle, &u.p);
    if (status != GPUSOLVE_OK)
        return status;
    if (!device->upload && !(device->upload = gsv_upload_plan_create(plan, u.number)))
        return gsv_fail(u.message, GPUSOLVE_OUT_OF_MEMORY, "out of host memory while preparing");
    const gsv_upload_plan *way = device->upload;
    status = pipeline_open(u.p, &way->most, u.number, plan->l.nsuper, factor->dtype, u.message);
    if (status == GPUSOLVE_OK) {
        *touched = 1;
        u.batches = way->batches;
        u.start = way->start;
        u.chunks = way->batches[way->count].chunk;
        const int64_t threads = handle->threads < u.chunks ? handle->threads : u.chunks;
#pragma omp parallel num_threads((int)threads)
        {
            const int previous = gsv_cuda_enter(handle->device);
            run_chunks(&u);
            gsv_cuda_leave(previous);
        }
        status = u.status;
    }
    if (status == GPUSOLVE_OK)
        status = gsv_cuda_check(cudaStreamSynchronize(u.p->inversion), "preparing the panels", u.message);
    if (status == GPUSOLVE_OK) /* to pageable memory: it is there when the call returns */
        status = gsv_cuda_check(
            cudaMemcpy(parts, u.p->parts, (size_t)plan->l.nsuper * sizeof *parts, cudaMemcpyDeviceToHost),
            "reading how the triangles are inverted", u.message);
    pipeline_close(u.p);
    return status;
}
