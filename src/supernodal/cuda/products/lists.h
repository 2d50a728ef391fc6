/* What products with the factor (multiply.cu) read beside panels. It follows from the pattern, so it is made by the first product, stays with the
 * factor, and is valid after a refresh. Another plan is another gsv_cuda_factor, with lists of its own. */
#ifndef GSV_CUDA_PRODUCTS_LISTS_H
#define GSV_CUDA_PRODUCTS_LISTS_H

#include "../support.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Columns of a wide supernode's triangle that one block of threads solves with (triangle.cuh). */
enum { GSV_PRODUCT_STAGE = 256 };

/* A supernode: its panel's first number, its first update row. */
typedef struct gsv_product_node {
    int64_t panel, update;
    int32_t first, nc, nr;
} gsv_product_node;

/* Block row `begin` of a wide supernode, or its columns begin .. begin + 15. */
typedef struct gsv_product_task {
    int32_t node, begin;
} gsv_product_task;

/* The arrays are on the device, in one allocation. */
typedef struct gsv_product_lists {
    void *memory;
    int64_t bytes;
    const gsv_product_node *narrow, *wide; /* wide: the widest first */
    const int64_t *ptr; /* [n + 1]: row i has update rows update[ptr[i]] .. update[ptr[i + 1] - 1] */
    const int32_t *update, *rows; /* [updates] ascending in each row; the row of each update row */
    const gsv_product_task *below,
        *across; /* block rows with rows below the triangle; all columns, 16 at a time */
    int64_t narrow_count, wide_count, below_count, across_count;
    int32_t widest;    /* columns of wide[0], or 0 */
    int32_t stages;    /* of the widest triangle */
    int64_t *in_stage; /* [stages] [host] wide nodes that have more than k GSV_PRODUCT_STAGE columns */
} gsv_product_lists;

/* The factor's lists; made if they are not there. Several threads may ask at once. */
gpusolve_status gsv_cuda_product_lists(const gpusolve_factor *factor, gsv_message *message,
                                       const gsv_product_lists **lists);
/* NULL is accepted. */
void gsv_cuda_product_lists_free(gsv_product_lists *lists);
/* Device memory that the factor's lists have; 0 before they are made. */
int64_t gsv_cuda_product_bytes(const gpusolve_factor *factor);

#ifdef __cplusplus
}
#endif
#endif
