/*
 * A factor's values on their way to the device: read from the caller's arrays, checked, and inverted on arrival
 * (cuda_panel_inverse.h).
 *
 * All numbers go in batches of whole panels, and those in chunks (cuda_upload_plan.h). Host threads take chunks in
 * turn and copy each into a pinned buffer that is small enough to stay in the processor's cache; a chunk is
 * on its way while others are being filled. Of a batch, the room on the device is one of a few slots: some are
 * filled while the panels of another are inverted.
 *
 * Check. A thread checks what it has copied, while it is in its cache. In a refresh no panel changes before all
 * numbers are known to be good, and batches are left in their slots until then. So that this is soon, and the
 * bus is slower than the threads, one that waits for a buffer checks pieces from the end meanwhile, and all do
 * once there is no slot left. Not while they wait for their turn: others would wait for them. Of a simplicial
 * factor the numbers are checked before the first is copied.
 *
 * Order. Chunks are handed to the device in ascending order, each by the thread that has filled it, once all
 * before it have been: `passed` counts them. A thread waits for chunks of lower number, for checks, which wait
 * for nobody, and for lists that the holder of a lower chunk makes, so the lowest chunk that has not been
 * handed over gets through, with any number of threads. What ends in which place, and is computed from what,
 * follows from the plan: the bits do not depend on timing.
 *
 * Traffic: the numbers are read once or twice, cross the bus once, and are written once by the inversion.
 */
#include <sched.h>
#include <stdatomic.h>

#include "../memory.h"
#include "cuda_pipeline.h"

/* --------------------------------------------------------------------------------------------- upload --- */

enum { PIECES = 4 }; /* of a chunk, to be checked one by one */

typedef struct upload {
    gsv_pipeline *p;
    const gpusolve_factor *factor;
    const gsv_cuda_factor *device;
    const gpusolve_factor_data *data;
    const gsv_upload_plan *way;
    int slots;
    int64_t number, chunks;
    _Atomic int64_t taken, passed; /* chunks */
    _Atomic int64_t listed;        /* batches */
    _Atomic int failed;
    /* of the thread whose turn it is: */
    gsv_message *message;
    gpusolve_status status;
    int64_t arrived, inverted; /* batches that are on their way with their lists, and through the inversion */
    int *touched;
    /* checks: */
    int gated;                        /* no panel may change before all are done */
    _Atomic int at_gate;              /* the chunk whose turn it is waits for that */
    _Atomic unsigned char *claimed;   /* [chunks PIECES] some thread checks this piece, or has */
    _Atomic int64_t unchecked, claim; /* pieces; the one below it is the next to be claimed from the end */
    _Atomic int fault;
} upload;

/* The batch that a chunk belongs to. */
static const gsv_panel_batch *batch_of(const upload *u, int64_t chunk) {
    int32_t low = 0;
    for (int32_t above = u->way->count; above - low > 1;) {
        const int32_t middle = low + (above - low) / 2;
        if (u->way->batches[middle].chunk <= chunk)
            low = middle;
        else
            above = middle;
    }
    return &u->way->batches[low];
}

/* Check a piece unless somebody else does. */
static int check_piece(upload *u, int64_t piece) {
    if (atomic_exchange(&u->claimed[piece], 1))
        return 0;
    const gsv_panel_batch *batch = batch_of(u, piece / PIECES);
    const int64_t numbers = GSV_CHUNK_BYTES / PIECES / u->number;
    const int64_t begin = batch->begin + (piece - PIECES * batch->chunk) * numbers;
    const int64_t end = begin + numbers < batch->end ? begin + numbers : batch->end;
    if (begin < end && !u->failed &&
        !gsv_upload_check(u->way, &u->factor->plan, u->data, batch, begin, end)) {
        u->fault = 1;
        u->failed = 1;
    }
    atomic_fetch_sub(&u->unchecked, 1);
    return 1;
}

static void check_chunk(upload *u, int64_t chunk) {
    for (int64_t k = 0; k < PIECES && u->unchecked > 0; k++)
        check_piece(u, PIECES * chunk + k);
}

/* Check the last piece that nobody has claimed; 0 if there is none that a chunk's holder will not check. */
static int check_some(upload *u) {
    while (u->gated && u->unchecked > 0) {
        const int64_t piece = atomic_fetch_sub(&u->claim, 1) - 1;
        if (piece < PIECES * u->taken)
            return 0;
        if (check_piece(u, piece))
            return 1;
    }
    return 0;
}

static void wait_for(upload *u, _Atomic int64_t *counter, int64_t value) {
    while (atomic_load_explicit(counter, memory_order_acquire) < value)
        if (!u->at_gate || !check_some(u))
            sched_yield();
}

/* What the inversion must know of a batch's panels. */
static void list_panels(upload *u, int64_t index) {
    const gsv_plan *plan = &u->factor->plan;
    const gsv_panel_batch *batch = &u->way->batches[index];
    const gsv_batch_slot *slot = &u->p->slots[index % u->slots];
    gsv_batch_counts *counts = &u->p->counts[index % (GSV_MOST_SLOTS + 1)];
    char *lists = u->p->lists[index % GSV_HOST_LISTS];
    wait_for(u, &u->listed, index);            /* in order, so that the count says which are there */
    if (index >= GSV_HOST_LISTS && !u->failed) /* the lists that were there have been copied */
        cudaEventSynchronize(u->p->slots[(index - GSV_HOST_LISTS) % u->slots].arrived);
    gsv_narrow_panel *narrow = (gsv_narrow_panel *)lists;
    gsv_wide_panel *wide = (gsv_wide_panel *)(lists + GSV_WIDE_AT);
    gsv_wide_batch *b = &counts->wide;
    int64_t inverse = 0, sums = 0;
    counts->narrow = 0;
    *b = (gsv_wide_batch){.panels = (const gsv_wide_panel *)(slot->lists + GSV_WIDE_AT),
                          .starts = (const int32_t *)(slot->lists + GSV_STARTS_AT),
                          .raw = slot->raw,
                          .packed = (void *)u->device->plan.panels,
                          .inverse = u->p->inverse,
                          .sums = u->p->sums};
    for (int32_t s = batch->first; s < batch->last; s++) {
        const int32_t nr = gsv_rows(plan, s), nc = gsv_columns(plan, s);
        const int64_t from = u->way->start[s] - batch->begin, to = plan->tiles->panel_ptr[s];
        if (gsv_is_narrow(nr, nc)) {
            narrow[counts->narrow++] = (gsv_narrow_panel){from, to, u->p->parts + s, nr, nc};
        } else {
            wide[b->count++] = (gsv_wide_panel){from, to, inverse, sums, u->p->parts + s, nr, nc};
            inverse += gsv_wide_inverse(nc);
            sums += GSV_DIVISIONS * (3 * (int64_t)nc);
        }
    }
    b->k = b->sums + sums;
    gsv_wide_plan(wide, (int32_t *)(lists + GSV_STARTS_AT), b);
    atomic_store_explicit(&u->listed, index + 1, memory_order_release);
}

static cudaError_t copy_list(const upload *u, int64_t index, int64_t at, int64_t bytes) {
    return bytes == 0 ? cudaSuccess
                      : cudaMemcpyAsync(u->p->slots[index % u->slots].lists + at,
                                        u->p->lists[index % GSV_HOST_LISTS] + at, (size_t)bytes,
                                        cudaMemcpyHostToDevice, u->p->transfer);
}

/* All chunks of the batch are on their way: its lists. */
static cudaError_t send_lists(upload *u, int64_t index) {
    const gsv_batch_counts *counts = &u->p->counts[index % (GSV_MOST_SLOTS + 1)];
    const gsv_wide_batch *wide = &counts->wide;
    wait_for(u, &u->listed, index + 1);
    cudaError_t error = copy_list(u, index, 0, counts->narrow * (int64_t)sizeof(gsv_narrow_panel));
    if (error == cudaSuccess)
        error = copy_list(u, index, GSV_WIDE_AT, wide->count * (int64_t)sizeof(gsv_wide_panel));
    if (error == cudaSuccess && wide->count > 0)
        error = copy_list(u, index, GSV_STARTS_AT,
                          4 * (GSV_INVERT_DOUBLE + wide->levels) * (int64_t)(wide->count + 1));
    if (error == cudaSuccess)
        error = cudaEventRecord(u->p->slots[index % u->slots].arrived, u->p->transfer);
    u->arrived = index + 1;
    return error;
}

static cudaError_t invert_batch(const upload *u, int64_t index) {
    const gsv_pipeline *p = u->p;
    const gsv_batch_slot *slot = &p->slots[index % u->slots];
    const gsv_batch_counts *counts = &p->counts[index % (GSV_MOST_SLOTS + 1)];
    const gpusolve_dtype dtype = u->factor->dtype;
    cudaError_t error = cudaStreamWaitEvent(p->inversion, slot->arrived, 0);
    if (error == cudaSuccess)
        error = gsv_invert_narrow(dtype, (const gsv_narrow_panel *)slot->lists, counts->narrow, slot->raw,
                                  (void *)u->device->plan.panels, p->inversion);
    if (error == cudaSuccess)
        error = gsv_invert_wide(dtype, &counts->wide, p->inversion);
    return error == cudaSuccess ? cudaEventRecord(slot->done, p->inversion) : error;
}

/* Invert what has arrived, if it may be; with `wait`, once it may. */
static gpusolve_status invert_arrived(upload *u, int wait) {
    u->at_gate = wait && u->gated;
    while (u->at_gate && u->unchecked > 0 && !u->failed)
        if (!check_some(u))
            sched_yield();
    u->at_gate = 0;
    const int open = !u->gated || u->unchecked == 0;
    cudaError_t error = cudaSuccess;
    for (; open && !u->failed && u->inverted < u->arrived && error == cudaSuccess; u->inverted++) {
        if (u->gated)
            *u->touched = 1;
        error = invert_batch(u, u->inverted);
    }
    return gsv_cuda_check(error, "inverting panels", u->message);
}

static gpusolve_status pass_chunk(upload *u, const gsv_panel_batch *batch, int64_t chunk, int64_t begin,
                                  int64_t end) {
    gsv_pipeline *p = u->p;
    const int64_t index = batch - u->way->batches;
    const gsv_batch_slot *slot = &p->slots[index % u->slots];
    const int reuse = chunk == batch->chunk && index >= u->slots, last = chunk + 1 == u->chunks;
    const gpusolve_status status = invert_arrived(u, reuse);
    if (status != GPUSOLVE_OK || u->failed)
        return status;
    cudaError_t error = reuse ? cudaStreamWaitEvent(p->transfer, slot->done, 0) : cudaSuccess;
    if (error == cudaSuccess)
        error = cudaMemcpyAsync((char *)slot->raw + (begin - batch->begin) * u->number,
                                p->pinned + chunk % GSV_CHUNKS * GSV_CHUNK_BYTES,
                                (size_t)((end - begin) * u->number), cudaMemcpyHostToDevice, p->transfer);
    if (error == cudaSuccess)
        error = cudaEventRecord(p->copied[chunk % GSV_CHUNKS], p->transfer);
    if (error == cudaSuccess && chunk + 1 == batch[1].chunk)
        error = send_lists(u, index);
    if (error != cudaSuccess)
        return gsv_cuda_check(error, "copying panels to the device", u->message);
    return last ? invert_arrived(u, 1) : GPUSOLVE_OK;
}

/* Until the chunk that was in this one's buffer is on the device. */
static void wait_for_buffer(upload *u, int64_t chunk) {
    cudaEvent_t copied = u->p->copied[chunk % GSV_CHUNKS];
    if (chunk < GSV_CHUNKS)
        return;
    if (u->passed < chunk - GSV_CHUNKS + 1)
        check_chunk(u, chunk); /* for who is to free the buffer may be waiting for that */
    while (u->passed < chunk - GSV_CHUNKS + 1)
        if (!check_some(u))
            sched_yield();
    while (!u->failed && cudaEventQuery(copied) == cudaErrorNotReady)
        if (!check_some(u)) {
            cudaEventSynchronize(copied);
            break;
        }
    cudaGetLastError(); /* "not ready" is none; another one comes again */
}

/* What each thread does: chunks, until there are none left. After a failure they are only counted. */
static void run_chunks(upload *u) {
    const int64_t numbers = GSV_CHUNK_BYTES / u->number;
    for (int64_t chunk; (chunk = atomic_fetch_add(&u->taken, 1)) < u->chunks;) {
        const gsv_panel_batch *batch = batch_of(u, chunk);
        const int64_t index = batch - u->way->batches;
        const int64_t begin = batch->begin + (chunk - batch->chunk) * numbers;
        const int64_t end = begin + numbers < batch->end ? begin + numbers : batch->end;
        const int first = chunk == batch->chunk, alone = batch[1].chunk == 1;
        if (chunk == 0 && alone)
            list_panels(u, 0);
        wait_for_buffer(u, chunk);
        if (!u->failed)
            gsv_upload_pack(u->way, &u->factor->plan, u->data, batch, begin, end,
                            u->p->pinned + chunk % GSV_CHUNKS * GSV_CHUNK_BYTES);
        check_chunk(u, chunk);
        wait_for(u, &u->passed, chunk);
        if (!u->failed) {
            u->status = pass_chunk(u, batch, chunk, begin, end);
            if (u->status != GPUSOLVE_OK)
                u->failed = 1;
        }
        atomic_store_explicit(&u->passed, chunk + 1, memory_order_release);
        if (chunk == 0 && !alone)
            list_panels(u, 0);
        if (first && batch[1].chunk < u->chunks)
            list_panels(u, index + 1); /* the next one's, and those before it are no longer wanted */
    }
}

/* All chunks, by all threads. */
static gpusolve_status run(upload *u, gpusolve_handle *handle) {
    const int64_t threads = handle->threads < u->chunks ? handle->threads : u->chunks;
#pragma omp parallel num_threads((int)threads)
    {
        const int previous = gsv_cuda_enter(handle->device);
        run_chunks(u);
        gsv_cuda_leave(previous);
    }
    if (!u->fault)
        return u->status;
    const gpusolve_status status =
        gsv_import_check_values(u->data, &u->factor->plan, handle->threads, u->message); /* names it */
    return status != GPUSOLVE_OK
               ? status
               : gsv_fail(u->message, GPUSOLVE_NOT_FINITE, "data->x: held a NaN or an infinity, for a time");
}

gpusolve_status gsv_cuda_upload(gpusolve_handle *handle, const gpusolve_factor *factor,
                                gsv_cuda_factor *device, const gpusolve_factor_data *data, int32_t *parts,
                                int *touched) {
    const gsv_plan *plan = &factor->plan;
    gsv_message *message = &handle->message;
    const int64_t number = (int64_t)gsv_dtype_bytes(factor->dtype);
    const int on_the_way = data->kind == GPUSOLVE_SUPERNODAL_LL; /* are the numbers checked */
    gsv_pipeline *p;
    gpusolve_status status =
        on_the_way ? GPUSOLVE_OK : gsv_import_check_values(data, plan, handle->threads, message);
    if (status == GPUSOLVE_OK)
        status = gsv_pipeline_of(handle, &p);
    if (status != GPUSOLVE_OK)
        return status;
    if (!device->upload && !(device->upload = gsv_upload_plan_create(plan, number)))
        return gsv_fail(message, GPUSOLVE_OUT_OF_MEMORY, "out of host memory while preparing");
    const gsv_upload_plan *way = device->upload;
    const gsv_room room = gsv_upload_room(&way->most, number, plan->l.nsuper);
    const int64_t chunks = way->batches[way->count].chunk;
    upload u = {.p = p,
                .factor = factor,
                .device = device,
                .data = data,
                .way = way,
                .slots = room.slots,
                .number = number,
                .chunks = chunks,
                .message = message,
                .status = GPUSOLVE_OK,
                .touched = touched,
                .gated = touched != NULL,
                .unchecked = on_the_way ? PIECES * chunks : 0,
                .claim = PIECES * chunks,
                .claimed = gsv_calloc((size_t)(PIECES * chunks), 1)};
    status = u.claimed ? gsv_pipeline_open(p, &room, factor->dtype, way->most.inverse > 0, message)
                       : gsv_fail(message, GPUSOLVE_OUT_OF_MEMORY, "out of host memory while preparing");
    if (status == GPUSOLVE_OK)
        status = run(&u, handle);
    if (status == GPUSOLVE_OK)
        status = gsv_cuda_check(cudaStreamSynchronize(p->inversion), "preparing the panels", message);
    if (status == GPUSOLVE_OK) /* to pageable memory: it is there when the call returns */
        status = gsv_cuda_check(
            cudaMemcpy(parts, p->parts, (size_t)plan->l.nsuper * sizeof *parts, cudaMemcpyDeviceToHost),
            "reading how the triangles are inverted", message);
    gsv_pipeline_close(p);
    gsv_free((void *)u.claimed);
    return status;
}
