/*
 * Blocks through a ring of buffers (src/chunks.h), with a thread for a device that copies late: every byte arrives, none beside
 * the block is read or written, of blocks with and without gaps between rows, smaller and larger than the ring, by one to
 * eight threads; no buffer is filled, emptied or passed while the device is at it; errors of either function are returned.
 */
#include "pools.h"
#include "testing.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "chunks.h"

enum { QUEUE = 4 * GSV_CHUNK_RING, BUFFER_BYTES = 3 * GSV_CHUNK_PIECE, EDGE = 64, FILL = 0x5a };

typedef struct order {
    int buffer;
    size_t begin, end;
} order;

/* A stream: one thread that carries orders out one after the other. */
typedef struct device {
    char *block; /* its own, without gaps */
    char *buffers;
    int out;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    order queue[QUEUE];
    int64_t given, carried_out, last[GSV_CHUNK_RING]; /* last: orders given when this buffer's was */
    int64_t bytes;
    int stop, late, fail_pass, fail_wait; /* fail at the k-th call */
    int passes, waits;
} device;

static void carry_out(const device *d, order o) {
    char *buffer = d->buffers + (size_t)o.buffer * BUFFER_BYTES;
    if (d->out)
        memcpy(buffer, d->block + o.begin, o.end - o.begin);
    else {
        memcpy(d->block + o.begin, buffer, o.end - o.begin);
        memset(buffer, FILL, o.end - o.begin); /* what was written before the buffer was free is lost */
    }
}

static void *work(void *context) {
    device *d = context;
    pthread_mutex_lock(&d->lock);
    for (;;) {
        while (!d->stop && d->carried_out == d->given)
            pthread_cond_wait(&d->changed, &d->lock);
        if (d->carried_out == d->given)
            break;
        const order o = d->queue[d->carried_out % QUEUE];
        pthread_mutex_unlock(&d->lock);
        for (int k = 0; k < d->late; k++)
            sched_yield();
        carry_out(d, o);
        pthread_mutex_lock(&d->lock);
        d->carried_out++;
        pthread_cond_broadcast(&d->changed);
    }
    pthread_mutex_unlock(&d->lock);
    return NULL;
}

static int wait_for_buffer(void *context, int buffer) {
    device *d = context;
    pthread_mutex_lock(&d->lock);
    const int failed = ++d->waits == d->fail_wait ? 7 : 0;
    while (!failed && d->carried_out < d->last[buffer])
        pthread_cond_wait(&d->changed, &d->lock);
    pthread_mutex_unlock(&d->lock);
    return failed;
}

static int pass(void *context, int buffer, size_t begin, size_t end) {
    device *d = context;
    pthread_mutex_lock(&d->lock);
    const int failed = ++d->passes == d->fail_pass ? 9 : 0;
    if (!failed) {
        CHECK(begin < end && end - begin <= BUFFER_BYTES);
        CHECK(d->out || d->carried_out >= d->last[buffer]); /* it was filled while the device had it */
        CHECK(d->given - d->carried_out < QUEUE);
        d->queue[d->given++ % QUEUE] = (order){buffer, begin, end};
        d->last[buffer] = d->given;
        d->bytes += (int64_t)(end - begin);
        pthread_cond_broadcast(&d->changed);
    }
    pthread_mutex_unlock(&d->lock);
    return failed;
}

typedef struct shape {
    size_t width, height, gap;
} shape;

static char value_at(size_t i) {
    return (char)((i * 2654435761u) >> 13 & 0x7f); /* never that of an edge or a gap */
}

/* Copy such a block; 0 or the error. Checks every byte if there was none. */
static int try_block(shape s, int out, int threads, int late, int fail_pass, int fail_wait) {
    const size_t bytes = s.width * s.height, pitch = s.width + s.gap, room = pitch * s.height + 2 * EDGE;
    char *host = malloc(room), *dense = malloc(bytes + 1),
         *buffers = malloc((size_t)GSV_CHUNK_RING * BUFFER_BYTES);
    REQUIRE(host && dense && buffers);
    memset(host, -1, room);
    memset(buffers, FILL, (size_t)GSV_CHUNK_RING * BUFFER_BYTES);
    for (size_t i = 0; i < bytes; i++) {
        if (out)
            dense[i] = value_at(i);
        else
            host[EDGE + i / s.width * pitch + i % s.width] = value_at(i);
    }
    device d = {.block = dense,
                .buffers = buffers,
                .out = out,
                .late = late,
                .fail_pass = fail_pass,
                .fail_wait = fail_wait};
    pthread_t thread;
    pthread_mutex_init(&d.lock, NULL);
    pthread_cond_init(&d.changed, NULL);
    REQUIRE(pthread_create(&thread, NULL, work, &d) == 0);
    const gsv_chunks chunks = {.block = host + EDGE,
                               .width = s.width,
                               .height = s.height,
                               .pitch = pitch,
                               .buffers = buffers,
                               .buffer_bytes = BUFFER_BYTES,
                               .out = out,
                               .context = &d,
                               .wait = wait_for_buffer,
                               .pass = pass};
    const int error = gsv_chunks_copy(&chunks, testing_pool(threads), threads);
    pthread_mutex_lock(&d.lock);
    d.stop = 1;
    pthread_cond_broadcast(&d.changed);
    pthread_mutex_unlock(&d.lock);
    pthread_join(thread, NULL);
    size_t wrong = 0;
    for (size_t i = 0; !error && i < bytes; i++)
        wrong += (out ? host[EDGE + i / s.width * pitch + i % s.width] : dense[i]) != value_at(i);
    CHECK(error || d.bytes == (int64_t)bytes);
    for (size_t i = 0; i < room; i++) { /* beside the block, and between its rows */
        const size_t at = i - EDGE;     /* before the block: a very large number */
        const int inside = i >= EDGE && at < pitch * s.height && at % pitch < s.width;
        wrong += !inside && host[i] != -1;
    }
    CHECK(wrong == 0);
    pthread_mutex_destroy(&d.lock);
    pthread_cond_destroy(&d.changed);
    free(host);
    free(dense);
    free(buffers);
    return error;
}

static const shape shapes[] = {
    {1, 1, 0},
    {8, 1, 0},
    {GSV_CHUNK_PIECE, 1, 0},
    {GSV_CHUNK_PIECE + 1, 1, 0},
    {2 * GSV_CHUNK_PIECE, 3, 0},
    {24, 5000, 8},
    {8, 30000, 56},
    {100 * 1000 + 8, 7, 24},
    {(size_t)GSV_CHUNK_RING * BUFFER_BYTES, 1, 0},
    {(size_t)GSV_CHUNK_RING * BUFFER_BYTES / 8 + 40, 20, 16}, /* two and a half rings */
};

int main(void) {
    const size_t count = sizeof shapes / sizeof *shapes;
    for (size_t k = 0; k < count; k++)
        for (int out = 0; out < 2; out++)
            for (int threads = 1; threads <= TESTING_MOST_THREADS; threads += threads < 3 ? 1 : 5) {
                testing_in("shape %d, %s, %d threads", (int)k, out ? "out" : "in", threads);
                CHECK(try_block(shapes[k], out, threads, (int)k % 3 * 20, 0, 0) == 0);
            }
    CHECK(try_block((shape){0, 5, 8}, 0, 2, 0, 0, 0) == 0);
    CHECK(try_block((shape){8, 0, 8}, 1, 2, 0, 0, 0) == 0);
    for (int out = 0; out < 2; out++)
        for (int threads = 1; threads <= 3; threads += 2)
            for (int at = 1; at <= 40; at += at < 2 ? 1 : 19) { /* 40 chunks */
                testing_in("%s, %d threads, call %d fails", out ? "out" : "in", threads, at);
                CHECK(try_block(shapes[count - 1], out, threads, 5, at, 0) == 9);
                CHECK(try_block(shapes[count - 1], out, threads, 5, 0, at) == 7);
            }
    return testing_done();
}
