/* From a factor's plain arrays to a file (write.c), and back (read.c). format.h says what is in the file. */
#ifndef GSV_STORE_STORE_H
#define GSV_STORE_STORE_H

#include "../../pool.h"
#include "../import/blocks.h"
#include "../import/import.h"

/* Write data, which has passed gsv_import_structure, on the pool's threads. After a failure the path is as it was. */
gpusolve_status gsv_store_write(const gpusolve_factor_data *data, const char *path, gsv_pool *pool,
                                gsv_message *message);

/* A file that is being read. */
typedef struct gsv_stored {
    gpusolve_factor_data data;   /* points into the rest */
    gsv_blocks numbers;          /* of data.x: none has been brought */
    struct gsv_reading *reading; /* what `numbers` works with */
    void *structure;             /* a copy, which cannot change any more when it has been checked */
    void *values;                /* room for a copy, or NULL: the file is mapped */
    const void *mapping;         /* all of it, or NULL */
    int64_t mapped;              /* bytes */
} gsv_stored;

enum {
    GSV_STORED_MAP = 1,   /* map the values */
    GSV_STORED_VERIFY = 2 /* check them against their checksums; the rest is checked in any case */
};

/* Open the file, and read all but its numbers, on the pool's threads. The arrays are as the file has them: the import believes none of
 * them. The path must stay. After a failure nothing is left. */
gpusolve_status gsv_store_open(const char *path, int how, gsv_pool *pool, gsv_stored *stored,
                               gsv_message *message);
void gsv_stored_free(gsv_stored *stored); /* leaves zeros */

#endif
