/*
 * A factor's values on their way to the device: read from the caller's arrays, checked, and inverted on arrival
 * (trsm/cuda/panels/inverse.h).
 *
 * All numbers go in batches of whole panels, and those in chunks (cuda/upload_plan.h). Host threads take pieces of
 * chunks in turn and copy each into a pinned buffer; a chunk is on its way while others are being filled. Batches
 * arrive in a ring on the device, several of them while the panels of others are inverted.
 *
 * Numbers in a file come in blocks (import/blocks.h). A piece is a block then: the thread brings it, which compares its
 * checksum, and copies and checks its numbers while they are in its cache. Blocks without numbers of L are brought in the end.
 *
 * Inversion (cuda/upload_invert.h). The triangles of wide panels in one of two lanes by turns, for a batch's launches are many and small;
 * then the panels. The roots' batch, if it is large, has a lane to itself. Narrow panels beside all that, in a stream of their own: each
 * takes its time, however few.
 *
 * Check. A thread checks what it has copied, while it is in its cache. In a refresh no panel changes before all
 * numbers are known to be good, and batches are left where they arrived until then; the triangles of the first are
 * inverted meanwhile, into the lanes' memory. So that this is soon, and the bus is slower than the threads, one that
 * waits for a buffer checks pieces from the end meanwhile, and all do once there is no place left. The numbers of a
 * simplicial factor are checked before the first is copied.
 *
 * Order. Chunks are handed to the device in ascending order, each by the thread that has filled its last piece, once
 * all before it have been: `passed` counts them. A thread waits for chunks of lower number, for checks, which wait
 * for nobody, and for lists that the holder of a lower chunk makes; so the lowest chunk that has not been
 * handed over gets through, with any number of threads. Who waits for a block waits for a thread that reads it.
 * What ends in which place, and is computed from what, follows from the plan: the bits do not depend on timing.
 *
 * Traffic: the numbers are read once or twice, cross the bus once, and are written once by the inversion.
 */
#include <sched.h>
#include <stdatomic.h>

#include "../../memory.h"
#include "../../pool.h"
#include "../tree/reach.h"
#include "upload_invert.h"

/* --------------------------------------------------------------------------------------------- upload --- */

typedef struct upload {
    gpusolve_handle *handle;
    gsv_batch_work w;
    const gpusolve_factor_data *data;
    const gsv_blocks *blocks; /* a piece is a block, and is to be brought; or NULL */
    int pieces;               /* of a chunk */
    int64_t number, chunks;
    _Atomic int64_t taken, passed; /* pieces, chunks */
    _Atomic int64_t listed;        /* batches */
    _Atomic int failed;
    _Atomic unsigned char *filled; /* [chunks] pieces */
    /* of the thread whose turn it is: */
    gsv_message *message;
    gpusolve_status status;
    /* batches that are on their way with their lists, whose triangles are being inverted, and whose panels are: */
    int64_t arrived, begun, inverted;
    int64_t gone; /* for these the transfer stream waits, so that their places may be used again */
    int *touched;
    /* checks: */
    double *diagonal;                 /* [n] filled by them */
    int gated;                        /* no panel may change before all are done */
    _Atomic int at_gate;              /* the chunk whose turn it is waits for that */
    _Atomic unsigned char *claimed;   /* [pieces] some thread checks this one, or has */
    _Atomic int64_t unchecked, claim; /* pieces; the one below it is the next to be claimed from the end */
    _Atomic int fault;
} upload;

enum {
    PIECES = 8,       /* of a chunk, each filled by one thread; */
    SMALL = 16,       /* where the first chunk is waited for */
    NUMBERS = 1 << 15 /* to be copied that are worth waking a thread */
};

/* Whether no buffer is filled twice. What is waited for is the bus, then: it does not wait for launches, a dozen
 * for a batch, until all is on its way; and it takes a quarter more a second of what it need not look for in caches.
 * A large factor's threads have enough to do with copying and checking. */
static int is_small(const upload *u) {
    return u->chunks <= GSV_BUFFERS;
}

/* The batch that a chunk belongs to. */
static const gsv_panel_batch *batch_of(const upload *u, int64_t chunk) {
    int32_t low = 0;
    for (int32_t above = u->w.way->count; above - low > 1;) {
        const int32_t middle = low + (above - low) / 2;
        if (u->w.way->batches[middle].chunk <= chunk)
            low = middle;
        else
            above = middle;
    }
    return &u->w.way->batches[low];
}

typedef struct range {
    int64_t begin, end; /* numbers */
} range;

static int64_t block_of(const upload *u, const gsv_panel_batch *batch, int64_t piece) {
    return gsv_upload_first_block(&u->w.factor->plan, u->data, batch, u->blocks) + piece -
           u->pieces * batch->chunk;
}

/* A batch's numbers from a piece on, which may be behind them: one piece, or a chunk. */
static range numbers_of(const upload *u, const gsv_panel_batch *batch, int64_t piece, int pieces) {
    if (u->blocks) {
        const gsv_plan *plan = &u->w.factor->plan;
        const int64_t block = block_of(u, batch, piece);
        return (range){gsv_upload_block_begin(u->w.way, plan, u->data, batch, u->blocks, block),
                       gsv_upload_block_begin(u->w.way, plan, u->data, batch, u->blocks, block + pieces)};
    }
    const int64_t numbers = GSV_CHUNK_BYTES / u->pieces / u->number;
    const int64_t begin = batch->begin + (piece - u->pieces * batch->chunk) * numbers;
    return (range){begin, begin + pieces * numbers < batch->end ? begin + pieces * numbers : batch->end};
}

/* Check a piece unless somebody else does. */
static int check_piece(upload *u, int64_t piece) {
    if (atomic_exchange(&u->claimed[piece], 1))
        return 0;
    const gsv_panel_batch *batch = batch_of(u, piece / u->pieces);
    const range r = numbers_of(u, batch, piece, 1);
    if (r.begin < r.end && !u->failed &&
        !gsv_upload_check(u->w.way, &u->w.factor->plan, u->data, batch, r.begin, r.end, u->diagonal)) {
        u->fault = 1;
        u->failed = 1;
    }
    atomic_fetch_sub(&u->unchecked, 1);
    return 1;
}

static void check_own(upload *u, int64_t piece) {
    if (u->unchecked > 0) /* of a simplicial factor there are none */
        check_piece(u, piece);
}

/* Check the last piece that nobody has claimed; 0 if there is none that its holder will not check. */
static int check_some(upload *u) {
    while (u->gated && u->unchecked > 0) {
        const int64_t piece = atomic_fetch_sub(&u->claim, 1) - 1;
        if (piece < u->taken)
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
    wait_for(u, &u->listed, index);            /* in order, so that the count says which are there */
    if (index >= GSV_HOST_LISTS && !u->failed) /* the lists that were there have been copied */
        cudaEventSynchronize(u->w.p->slots[u->w.way->batches[index - GSV_HOST_LISTS].slot].arrived);
    gsv_list_batch(&u->w, index);
    atomic_store_explicit(&u->listed, index + 1, memory_order_release);
}

/* All chunks of the batch are on their way: its lists. */
static cudaError_t send_lists(upload *u, int64_t index) {
    const gsv_batch_slot *slot = &u->w.p->slots[u->w.way->batches[index].slot];
    wait_for(u, &u->listed, index + 1);
    cudaError_t error = cudaMemcpyAsync(slot->lists, u->w.p->lists[index % GSV_HOST_LISTS],
                                        (size_t)u->w.p->counts[index % (GSV_MOST_SLOTS + 1)].bytes,
                                        cudaMemcpyHostToDevice, u->w.p->transfer);
    if (error == cudaSuccess)
        error = cudaEventRecord(slot->arrived, u->w.p->transfer);
    u->arrived = index + 1;
    return error;
}

/* Everything that may be done with what has arrived. */
static cudaError_t invert_what_may(upload *u) {
    const int open = !u->gated || u->unchecked == 0;
    while (!u->failed) {
        cudaError_t error;
        if (u->begun < u->arrived && u->begun < u->inverted + u->w.way->room.lanes) {
            error = gsv_invert_batch(&u->w, u->begun++);
        } else if (open && u->inverted < u->begun) {
            if (u->gated)
                *u->touched = 1;
            error = gsv_write_batch(&u->w, u->inverted++);
        } else {
            break;
        }
        if (error != cudaSuccess)
            return error;
    }
    return cudaSuccess;
}

/* Invert what has arrived, as far as that may be; with `wait`, all of it. */
static gpusolve_status invert_arrived(upload *u, int wait) {
    cudaError_t error = invert_what_may(u);
    u->at_gate = wait && u->gated && error == cudaSuccess;
    while (u->at_gate && u->unchecked > 0 && !u->failed)
        if (!check_some(u))
            sched_yield();
    u->at_gate = 0;
    if (error == cudaSuccess)
        error = invert_what_may(u);
    return gsv_cuda_check(error, "inverting panels", u->message);
}

/* The transfer waits until the device is through with what was in the batch's place. */
static cudaError_t wait_for_place(upload *u, const gsv_panel_batch *batch) {
    cudaError_t error = cudaSuccess;
    for (; u->gone < batch->after && error == cudaSuccess; u->gone++)
        error = cudaStreamWaitEvent(u->w.p->transfer, u->w.p->slots[u->w.way->batches[u->gone].slot].done, 0);
    return error;
}

static gpusolve_status pass_chunk(upload *u, const gsv_panel_batch *batch, int64_t chunk) {
    gsv_pipeline *p = u->w.p;
    const int64_t index = batch - u->w.way->batches;
    const range r = numbers_of(u, batch, u->pieces * chunk, u->pieces);
    const int reuse = u->gone < batch->after, last = chunk + 1 == u->chunks;
    const gpusolve_status status = reuse || !is_small(u) ? invert_arrived(u, reuse) : GPUSOLVE_OK;
    if (status != GPUSOLVE_OK || u->failed)
        return status;
    cudaError_t error = wait_for_place(u, batch);
    if (error == cudaSuccess)
        error = cudaMemcpyAsync(p->raw + batch->at + (r.begin - batch->begin) * u->number,
                                p->pinned + chunk % GSV_BUFFERS * GSV_CHUNK_BYTES,
                                (size_t)((r.end - r.begin) * u->number), cudaMemcpyHostToDevice, p->transfer);
    if (error == cudaSuccess && chunk + GSV_BUFFERS < u->chunks) /* the buffer is wanted again */
        error = cudaEventRecord(p->copied[chunk % GSV_BUFFERS], p->transfer);
    if (error == cudaSuccess && chunk + 1 == batch[1].chunk)
        error = send_lists(u, index);
    if (error != cudaSuccess)
        return gsv_cuda_check(error, "copying panels to the device", u->message);
    return last ? invert_arrived(u, 1) : GPUSOLVE_OK;
}

/* Until the chunk that was in the buffer of this piece is on the device. */
static void wait_for_buffer(upload *u, int64_t piece) {
    const int64_t chunk = piece / u->pieces;
    cudaEvent_t copied = u->w.p->copied[chunk % GSV_BUFFERS];
    if (chunk < GSV_BUFFERS)
        return;
    if (u->passed < chunk - GSV_BUFFERS + 1)
        check_own(u, piece); /* the thread that is to free the buffer may be waiting for that */
    while (u->passed < chunk - GSV_BUFFERS + 1)
        if (!check_some(u))
            sched_yield();
    while (!u->failed && cudaEventQuery(copied) == cudaErrorNotReady)
        if (!check_some(u)) {
            cudaEventSynchronize(copied);
            break;
        }
    cudaGetLastError(); /* "not ready" is none; another one comes again */
}

/* A chunk that is filled, in its turn. */
static void hand_over(upload *u, const gsv_panel_batch *batch, int64_t chunk) {
    const int64_t index = batch - u->w.way->batches;
    const int alone = batch[1].chunk == batch->chunk + 1;
    if (chunk == 0 && alone)
        list_panels(u, 0);
    wait_for(u, &u->passed, chunk);
    if (!u->failed) {
        u->status = pass_chunk(u, batch, chunk);
        if (u->status != GPUSOLVE_OK)
            u->failed = 1;
    }
    atomic_store_explicit(&u->passed, chunk + 1, memory_order_release);
    if (chunk == 0 && !alone)
        list_panels(u, 0);
    if (chunk == batch->chunk && batch[1].chunk < u->chunks)
        list_panels(u, index + 1); /* the next one's, and those before it are no longer wanted */
}

static void fill_piece(const upload *u, const gsv_panel_batch *batch, int64_t piece, range r) {
    const int64_t chunk = piece / u->pieces, begin = numbers_of(u, batch, u->pieces * chunk, 1).begin;
    char *to = u->w.p->pinned + chunk % GSV_BUFFERS * GSV_CHUNK_BYTES + (r.begin - begin) * u->number;
    const int past_cache = is_small(u) && !u->blocks; /* a block is in the cache, and may begin anywhere */
    (past_cache ? gsv_upload_pack_past_cache : gsv_upload_pack)(u->w.way, &u->w.factor->plan, u->data, batch,
                                                                r.begin, r.end, to);
}

/* Its block, and the one with the diagonal of its first column, which its check looks at. */
static void bring_piece(upload *u, const gsv_panel_batch *batch, int64_t piece, range r) {
    const gsv_blocks *blocks = u->blocks;
    const int64_t block = block_of(u, batch, piece),
                  top = gsv_upload_diagonal_block(u->w.way, &u->w.factor->plan, u->data, batch, blocks,
                                                  r.begin);
    if (!blocks->bring(blocks->context, block) || (top != block && !blocks->bring(blocks->context, top)))
        u->failed = 1; /* run says why */
}

/* Bring the numbers of a piece and put them into its buffer. */
static void send_piece(upload *u, const gsv_panel_batch *batch, int64_t piece, range r) {
    if (u->blocks && !u->failed)
        bring_piece(u, batch, piece, r);
    wait_for_buffer(u, piece);
    if (!u->failed)
        fill_piece(u, batch, piece, r);
}

/* What each thread does: pieces, until there are none left. After a failure they are only counted. */
static void run_pieces(void *context, int member) {
    upload *u = context;
    const int previous = gsv_cuda_enter(u->handle->device);
    (void)member;
    for (int64_t piece; (piece = atomic_fetch_add(&u->taken, 1)) < u->pieces * u->chunks;) {
        const int64_t chunk = piece / u->pieces;
        const gsv_panel_batch *batch = batch_of(u, chunk);
        const range r = numbers_of(u, batch, piece, 1);
        if (r.begin < r.end)
            send_piece(u, batch, piece, r);
        check_own(u, piece);
        if (r.begin < r.end && u->blocks && u->blocks->leave)
            u->blocks->leave(u->blocks->context, block_of(u, batch, piece));
        if (atomic_fetch_add(&u->filled[chunk], 1) + 1 == u->pieces)
            hand_over(u, batch, chunk);
    }
    gsv_cuda_leave(previous);
}

/* All pieces, by all threads that have something to do. */
static gpusolve_status run(upload *u) {
    gsv_pool *pool = u->handle->pool;
    const int64_t pieces = u->pieces * u->chunks, worth = u->w.factor->plan.nnz_l / NUMBERS + 1;
    gsv_pool_run(pool, gsv_pool_share(pool, worth < pieces ? worth : pieces, 1), run_pieces, u);
    gpusolve_status status = u->status;
    if (status == GPUSOLVE_OK &&
        u->blocks) /* those without numbers, too; and it names what is wrong with one */
        status = u->blocks->bring_all(u->blocks->context, pool, u->message);
    if (status != GPUSOLVE_OK || !u->fault)
        return status;
    status = gsv_import_check_values(u->data, &u->w.factor->plan, pool, NULL, u->message); /* names it */
    return status != GPUSOLVE_OK
               ? status
               : gsv_fail(u->message, GPUSOLVE_NOT_FINITE, "data->x: held a NaN or an infinity, for a time");
}

/* How well-conditioned the triangles are that have arrived, k [nsuper], and whether all are inverted. */
static cudaError_t read_k(const upload *u, float *k, int *trusted) {
    const int32_t first = u->w.way->first, last = u->w.way->last;
    /* to pageable memory: it is there when the call returns */
    const cudaError_t error =
        cudaMemcpy(k + first, u->w.p->k + first, (size_t)(last - first) * sizeof *k, cudaMemcpyDeviceToHost);
    *trusted = 1;
    for (int32_t s = first; s < last && error == cudaSuccess; s++)
        *trusted &= k[s] > 0;
    return error;
}

/* The same, and where they must be cut. */
static gpusolve_status read_cuts(const upload *u, float *k, gsv_cuts *cuts) {
    const gsv_pipeline *p = u->w.p;
    const gsv_plan *plan = &u->w.factor->plan;
    gsv_message *message = u->message;
    int trusted;
    cudaError_t error = read_k(u, k, &trusted);
    if (error == cudaSuccess && !trusted) {
        cuts->at = gsv_malloc((size_t)plan->l.n, sizeof *cuts->at);
        if (!cuts->at)
            return gsv_fail(message, GPUSOLVE_OUT_OF_MEMORY, "out of host memory while preparing");
        error = cudaMemcpy(cuts->at, p->cut, (size_t)plan->l.n, cudaMemcpyDeviceToHost);
    }
    return gsv_cuda_check(error, "reading which triangles are inverted", message);
}

/* All of u's panels arrive, and are inverted; `unchecked`: their numbers are checked. Then the determinant, which goes to the device:
 * known, or, if that is NULL, of u->diagonal. The pipeline is open, to be closed by the caller. */
static gpusolve_status bring_panels(upload *u, int unchecked, const gsv_determinant *known,
                                    gsv_determinant *determinant) {
    const gpusolve_factor *factor = u->w.factor;
    const gsv_plan *plan = &factor->plan;
    const gsv_upload_plan *way = u->w.way;
    gsv_pipeline *p = u->w.p;
    gsv_message *message = u->message;
    const gsv_upload_room *room = &way->room;
    u->gone = room->apart;
    u->chunks = way->batches[way->count].chunk;
    u->pieces = u->blocks ? (int)(GSV_CHUNK_BYTES / u->blocks->bytes) : is_small(u) ? SMALL : PIECES;
    const int64_t pieces = u->pieces * u->chunks;
    u->unchecked = unchecked ? pieces : 0;
    u->claim = pieces;
    u->claimed = gsv_calloc((size_t)(pieces + u->chunks), 1);
    if (u->claimed)
        u->filled = u->claimed + pieces;
    gpusolve_status status =
        u->claimed ? gsv_pipeline_open(p, room, plan, gsv_panel_dtype(factor->numbers), message)
                   : gsv_fail(message, GPUSOLVE_OUT_OF_MEMORY, "out of host memory while preparing");
    if (status == GPUSOLVE_OK) /* what all kernels wait for comes behind it on this stream */
        status = gsv_cuda_check(cudaMemsetAsync(p->cut, 0, (size_t)plan->l.n, p->transfer),
                                "preparing the panels", message);
    if (status == GPUSOLVE_OK)
        status = run(u);
    if (status == GPUSOLVE_OK) { /* while the last triangles are inverted */
        *determinant =
            known ? *known : gsv_import_determinant(u->diagonal, plan->l.n, factor->has_d, u->handle->pool);
        status = gsv_cuda_check(cudaMemcpyAsync(u->w.device->determinant, determinant, sizeof *determinant,
                                                cudaMemcpyHostToDevice, p->narrow),
                                "copying the determinant to the device", message);
    }
    if (status == GPUSOLVE_OK)
        status = gsv_cuda_check(cudaStreamSynchronize(p->narrow), "preparing the panels", message);
    for (int lane = 0; lane <= room->lanes && status == GPUSOLVE_OK; lane++)
        status =
            gsv_cuda_check(cudaStreamSynchronize(p->lanes[lane].stream), "preparing the panels", message);
    return status;
}

gpusolve_status gsv_cuda_upload(gpusolve_handle *handle, const gpusolve_factor *factor,
                                gsv_cuda_factor *device, const gpusolve_factor_data *data, const float *finer,
                                float *k, double *diagonal, gsv_determinant *determinant, gsv_cuts *cuts,
                                int *touched) {
    const gsv_plan *plan = &factor->plan;
    gsv_message *message = &handle->message;
    const int64_t number = (int64_t)gsv_panel_bytes(factor->numbers);
    const int on_the_way = data->kind == GPUSOLVE_SUPERNODAL_LL; /* are the numbers checked */
    upload u = {.handle = handle,
                .w = {.factor = factor, .device = device, .finer = finer},
                .data = data,
                .blocks = factor->blocks,
                .number = number,
                .diagonal = diagonal,
                .message = message,
                .status = GPUSOLVE_OK,
                .touched = touched,
                .gated = touched != NULL};
    gpusolve_status status =
        on_the_way ? GPUSOLVE_OK : gsv_import_check_values(data, plan, handle->pool, diagonal, message);
    if (status == GPUSOLVE_OK)
        status = gsv_pipeline_of(handle, &u.w.p);
    if (status != GPUSOLVE_OK)
        return status;
    if (!device->upload && !(device->upload = gsv_upload_plan_create(plan, number, 0, plan->l.nsuper)))
        return gsv_fail(message, GPUSOLVE_OUT_OF_MEMORY, "out of host memory while preparing");
    gsv_upload_plan way = *device->upload;
    if (u.blocks && !(way.batches = gsv_upload_cut_blocks(device->upload, plan, data, u.blocks)))
        return gsv_fail(message, GPUSOLVE_OUT_OF_MEMORY, "out of host memory while preparing");
    u.w.way = &way;
    status = bring_panels(&u, on_the_way, NULL, determinant);
    if (status == GPUSOLVE_OK)
        status = read_cuts(&u, k, cuts);
    gsv_pipeline_close(u.w.p);
    gsv_free((void *)u.claimed);
    if (u.blocks)
        gsv_free(way.batches);
    return status;
}

gpusolve_status gsv_cuda_upload_fresh(gpusolve_handle *handle, const gpusolve_factor *factor,
                                      gsv_cuda_factor *device, const gpusolve_factor_data *data,
                                      const gsv_fresh *fresh, float *k, int *trusted, int *touched) {
    const gsv_plan *plan = &factor->plan;
    gsv_message *message = &handle->message;
    const int64_t number = (int64_t)gsv_panel_bytes(factor->numbers);
    const int32_t first = gsv_supernode_of(plan, fresh->first),
                  last = gsv_supernode_of(plan, fresh->end - 1) + 1;
    gsv_determinant determinant;
    upload u = {.handle = handle,
                .w = {.factor = factor, .device = device},
                .data = data,
                .number = number,
                .message = message,
                .status = GPUSOLVE_OK,
                .touched = touched,
                .gated = 1}; /* so that it says when it touches the first panel */
    gpusolve_status status = gsv_pipeline_of(handle, &u.w.p);
    if (status != GPUSOLVE_OK)
        return status;
    gsv_upload_plan *way = gsv_upload_plan_create(plan, number, first, last);
    if (!way)
        return gsv_fail(message, GPUSOLVE_OUT_OF_MEMORY, "out of host memory while preparing");
    u.w.way = way;
    status = bring_panels(&u, 0, &fresh->determinant, &determinant);
    if (status == GPUSOLVE_OK)
        status = gsv_cuda_check(read_k(&u, k, trusted), "reading which triangles are inverted", message);
    gsv_pipeline_close(u.w.p);
    gsv_free((void *)u.claimed);
    gsv_upload_plan_free(way);
    return status;
}
