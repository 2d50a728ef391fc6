/*
 * Threads draw pieces in ascending order. A chunk is some pieces; chunk c goes through buffer c mod GSV_CHUNK_RING, in round
 * c / GSV_CHUNK_RING of that buffer. Three counters a buffer:
 *
 *      passed  rounds that were given to the device
 *      ready   rounds in which threads may copy: the thread that draws a chunk's first piece waits for the device
 *      copied  pieces of this round that are copied; the thread that copies the last one passes the next chunk
 *
 * Why no wait is for ever: a thread waits only for pieces drawn before its own, whose threads are running, or for the
 * device, or until another thread fails.
 */
#include "chunks.h"

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "spin.h"

/* A block has about this number of chunks, so that copies overlap; a large one has more, since a chunk fits into a buffer, and a small one
 * fewer, since a chunk has two pieces or more. */
enum { CHUNKS = 8 };

typedef struct buffer_state {
    _Alignas(GSV_SIGNAL_BYTES) _Atomic int64_t passed, ready, copied;
} buffer_state;

typedef struct copying {
    const gsv_chunks *c;
    gsv_pool *pool;
    int64_t bytes, pieces, chunk_pieces, chunks;
    _Alignas(GSV_SIGNAL_BYTES) _Atomic int64_t next; /* piece to be drawn */
    _Atomic int failed;
    buffer_state buffer[GSV_CHUNK_RING];
} copying;

static int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static void fail(copying *k, int error) {
    int none = 0;
    if (error)
        atomic_compare_exchange_strong(&k->failed, &none, error);
}

/* Until a counter has this value, or some thread has failed. Whether it has. */
static int wait_for(copying *k, const _Atomic int64_t *counter, int64_t value) {
    for (int64_t spins = 0; atomic_load_explicit(counter, memory_order_acquire) != value; spins++) {
        if (atomic_load_explicit(&k->failed, memory_order_relaxed))
            return 0;
        gsv_give_way(spins, gsv_pool_patience(k->pool));
    }
    return !atomic_load_explicit(&k->failed, memory_order_relaxed);
}

static int pass(copying *k, int64_t chunk) {
    const int64_t size = k->chunk_pieces * GSV_CHUNK_PIECE, begin = chunk * size;
    const int buffer = (int)(chunk % GSV_CHUNK_RING);
    const int error =
        k->c->pass(k->c->context, buffer, (size_t)begin, (size_t)smaller(begin + size, k->bytes));
    fail(k, error);
    if (!error)
        atomic_store_explicit(&k->buffer[buffer].passed, chunk / GSV_CHUNK_RING + 1, memory_order_release);
    return error;
}

/* Bytes begin .. end - 1 of the block without its gaps, which are at `piece`. */
static void copy_piece(const gsv_chunks *c, char *piece, size_t begin, size_t end) {
    char *row = c->block + begin / c->width * c->pitch;
    size_t skip = begin % c->width;
    while (begin < end) {
        const size_t left = c->width - skip, bytes = left < end - begin ? left : end - begin;
        if (c->out)
            memcpy(row + skip, piece, bytes);
        else
            memcpy(piece, row + skip, bytes);
        piece += bytes;
        begin += bytes;
        row += c->pitch;
        skip = 0;
    }
}

/* Until threads may copy this chunk. 0 if that will never be. */
static int open_chunk(copying *k, int64_t chunk, int first) {
    const int buffer = (int)(chunk % GSV_CHUNK_RING);
    const int64_t round = chunk / GSV_CHUNK_RING;
    buffer_state *state = &k->buffer[buffer];
    if (!first)
        return wait_for(k, &state->ready, round + 1);
    if (!wait_for(k, &state->passed, k->c->out ? round + 1 : round))
        return 0;
    const int error = k->c->wait(k->c->context, buffer);
    fail(k, error);
    if (!error)
        atomic_store_explicit(&state->ready, round + 1, memory_order_release);
    return !error;
}

static void draw_pieces(void *context, int member) {
    copying *k = context;
    (void)member;
    for (int64_t piece; (piece = atomic_fetch_add_explicit(&k->next, 1, memory_order_relaxed)) < k->pieces;) {
        const int64_t chunk = piece / k->chunk_pieces, within = piece % k->chunk_pieces;
        const int64_t begin = piece * GSV_CHUNK_PIECE, end = smaller(begin + GSV_CHUNK_PIECE, k->bytes);
        const int64_t of_chunk = smaller(k->chunk_pieces, k->pieces - chunk * k->chunk_pieces);
        if (!open_chunk(k, chunk, within == 0))
            return;
        char *buffer = k->c->buffers + (size_t)(chunk % GSV_CHUNK_RING) * k->c->buffer_bytes;
        copy_piece(k->c, buffer + within * GSV_CHUNK_PIECE, (size_t)begin, (size_t)end);
        _Atomic int64_t *copied = &k->buffer[chunk % GSV_CHUNK_RING].copied;
        if (atomic_fetch_add_explicit(copied, 1, memory_order_acq_rel) + 1 < of_chunk)
            continue;
        /* no other thread uses this buffer until it is passed */
        atomic_store_explicit(copied, 0, memory_order_relaxed);
        const int64_t next = k->c->out ? chunk + GSV_CHUNK_RING : chunk;
        if (next < k->chunks && pass(k, next))
            return;
    }
}

int gsv_chunks_copy(const gsv_chunks *chunks, gsv_pool *pool, int threads) {
    gsv_chunks c = *chunks;
    if (c.pitch == c.width || c.height == 1) {
        c.width *= c.height;
        c.height = 1;
    }
    copying k = {.c = &c, .pool = pool, .bytes = (int64_t)(c.width * c.height)};
    if (k.bytes == 0)
        return 0;
    const int64_t piece = GSV_CHUNK_PIECE, most = (int64_t)c.buffer_bytes / piece;
    k.pieces = (k.bytes + piece - 1) / piece;
    k.chunk_pieces = (k.pieces + CHUNKS - 1) / CHUNKS;
    k.chunk_pieces = smaller(k.chunk_pieces > 2 ? k.chunk_pieces : 2, most);
    k.chunks = (k.pieces + k.chunk_pieces - 1) / k.chunk_pieces;
    if (c.out) { /* the device may be busy for long: the caller alone waits for the first chunk */
        for (int64_t chunk = 0; chunk < smaller(k.chunks, GSV_CHUNK_RING); chunk++)
            if (pass(&k, chunk))
                return k.failed;
        const int error = c.wait(c.context, 0);
        if (error)
            return error;
    }
    gsv_pool_run(pool, (int)smaller(threads, k.pieces), draw_pieces, &k);
    return k.failed;
}
