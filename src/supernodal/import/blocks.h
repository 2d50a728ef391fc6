/* A factor's numbers that nobody has read or checked yet: data->x is an array of blocks, each of which has to be brought before
 * a number of it is read. */
#ifndef GSV_IMPORT_BLOCKS_H
#define GSV_IMPORT_BLOCKS_H

#include <stdint.h>

#include "../../message.h"
#include "../../pool.h"

typedef struct gsv_blocks {
    void *context;
    int64_t count;
    int64_t bytes; /* of each block but the last one, which may have fewer: a multiple of a number's */
    /* Bring a block and check it, unless that has been done. Any thread may call it. Whether nothing has been wrong with it or any other so
     * far: else its numbers may be anything. */
    int (*bring)(void *context, int64_t block);
    /* Its numbers are not expected to be read again, but may be. NULL: it is of no use to say so. */
    void (*leave)(void *context, int64_t block);
    /* Bring all, on the pool's threads. The sentence names the first block at fault, whichever thread met another. */
    gpusolve_status (*bring_all)(void *context, gsv_pool *pool, gsv_message *message);
} gsv_blocks;

#endif
