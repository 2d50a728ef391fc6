/*
 * The device's own kernels for a triangle against vectors, in the canonical form of triangular.h: T is lower
 * triangular, its entry (i, j) at a + i a_row + j a_column, entry i of vector v at b + i b_row + v b_column,
 * in numbers; strides may be negative. Rows are taken in blocks of GSV_LEAF_ROWS, vectors in groups.
 *
 *      invert      W = inverses of the diagonal blocks of T, for solve; and clears what solve exchanges
 *      solve       b = T \ (alpha b)
 *      multiply    b = alpha T b
 */
#ifndef GSV_TRSM_CUDA_LEAF_LEAF_H
#define GSV_TRSM_CUDA_LEAF_LEAF_H

#include <cuda_runtime_api.h>

#include "../../triangular.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { GSV_LEAF_ROWS = 64, GSV_PANEL_ROWS = 256, GSV_TALL_PANEL_ROWS = 512 };

typedef struct gsv_leaf {
    const void *a; /* [device], like all pointers here */
    int64_t a_row, a_column;
    int64_t order;
    int32_t conjugated, unit;
    void *b;
    int64_t b_row, b_column;
    int64_t vectors;
    gsv_number alpha;
    int32_t group;         /* vectors side by side: one of gsv_leaf_functions.groups */
    void *inverse;         /* [blocks][64][64] W, column by column; zeros above the diagonal */
    int32_t *substitute;   /* [blocks] 1: W is not to be trusted, substitution */
    void *exchange;        /* [groups of vectors][exchange_rows][group], aligned to 16 bytes */
    void *next_exchange;   /* NULL, or the next leaf's, which solve clears: of the same shape */
    int64_t exchange_rows; /* a multiple of 64 */
    uint32_t *ticket;      /* solve: zero before and afterwards */
    int32_t premultiplied; /* solve: shorten the way from block to block, with more work */
    int32_t chunk;         /* multiply: blocks of a row that are summed at a time, >= 1 */
    void *partial;         /* multiply, where that is less than all: [groups][blocks][chunks][64][group] */
} gsv_leaf;

typedef struct gsv_leaf_functions {
    int32_t groups[4];         /* ascending, unused ones 0 */
    int32_t solve_shared[4];   /* bytes of shared memory that invert and solve need with each */
    int32_t panel_shared[4];   /* invert and solve_panel */
    int32_t tall_panel_shared; /* the same with groups[0] and more than GSV_PANEL_ROWS rows */
    int32_t product_shared[4], product_row_shared[4]; /* product: without, and for each, block of rows */
    /* Also fills `clear`, `clear_bytes` bytes (a multiple of 16) that are aligned to 16, with 0xff. Reads of
     * leaf: the triangle, inverse, substitute. */
    cudaError_t (*invert)(const gsv_leaf *leaf, void *clear, int64_t clear_bytes, cudaStream_t stream);
    cudaError_t (*solve)(const gsv_leaf *leaf, cudaStream_t stream);
    /* The same with one thread block for all rows of a group: for many vectors, and GSV_PANEL_ROWS at
     * most, with groups[0] GSV_TALL_PANEL_ROWS. Uses neither exchange nor ticket. */
    cudaError_t (*solve_panel)(const gsv_leaf *leaf, cudaStream_t stream);
    cudaError_t (*multiply)(const gsv_leaf *leaf, cudaStream_t stream);
    /* The whole product in place, on devices with clusters, by one of `cluster` thread blocks for each group;
     * uses neither exchange nor partial. */
    cudaError_t (*product)(const gsv_leaf *leaf, int cluster, cudaStream_t stream);
    /* b = 0: entries [rows][columns] at b + i + j ld */
    cudaError_t (*zero)(void *b, int64_t rows, int64_t columns, int64_t ld, cudaStream_t stream);
    cudaError_t (*copy)(const void *from, int64_t from_ld, void *to, int64_t to_ld, int64_t rows,
                        int64_t columns, cudaStream_t stream);
    /* potri.h's; a matrix of order n */
    cudaError_t (*copy_triangle)(const void *from, int64_t from_ld, void *to, int64_t to_ld, int64_t n,
                                 int lower, int fill, cudaStream_t stream);
} gsv_leaf_functions;

extern const gsv_leaf_functions gsv_leaf_s, gsv_leaf_d, gsv_leaf_c, gsv_leaf_z;
const gsv_leaf_functions *gsv_leaf_functions_of(gpusolve_dtype dtype);

#ifdef __cplusplus
}
#endif
#endif
