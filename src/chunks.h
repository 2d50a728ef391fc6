/*
 * A block of host memory, copied to or from a device by several threads: the block goes in chunks through a ring of buffers
 * that the device reaches fast. While the device copies one chunk the threads fill or empty others. What a device is, the
 * caller says by two functions, so this file knows none.
 *
 *      in   block -> buffer by a thread, then buffer -> device by pass
 *      out  device -> buffer by pass, then buffer -> block by a thread
 */
#ifndef GSV_CHUNKS_H
#define GSV_CHUNKS_H

#include <stddef.h>

#include "pool.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    GSV_CHUNK_RING = 16,        /* buffers */
    GSV_CHUNK_PIECE = 64 << 10, /* bytes that a thread copies at a time */
};

typedef struct gsv_chunks {
    /* `height` rows of `width` bytes, `pitch` bytes apart; on the device they have no gaps */
    char *block;
    size_t width, height, pitch;
    char *buffers;       /* GSV_CHUNK_RING of them */
    size_t buffer_bytes; /* of each; a multiple of GSV_CHUNK_PIECE */
    int out;
    void *context;
    /*
     * Any thread may call these, several at a time, but never two for the same buffer. Each returns 0, or what
     * gsv_chunks_copy is to return.
     * - wait: returns when the device is through with what was last passed by way of this buffer. If nothing was,
     *   at once.
     * - pass: starts the device's copy between the buffer and bytes begin .. end - 1 of its block.
     */
    int (*wait)(void *context, int buffer);
    int (*pass)(void *context, int buffer, size_t begin, size_t end);
} gsv_chunks;

/*
 * Copy the block on at most `threads` threads of the pool. In: returns when the block may be written, though the
 * device may still be copying from the buffers. Out: returns when all bytes are there. After a failure some bytes may be
 * there, and the device may be using the buffers still.
 */
int gsv_chunks_copy(const gsv_chunks *chunks, gsv_pool *pool, int threads);

#ifdef __cplusplus
}
#endif
#endif
