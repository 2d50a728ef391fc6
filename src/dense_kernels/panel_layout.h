/*
 * How the device stores the panel of a supernode, nr rows and nc columns of a lower trapezoid. Plain C, for
 * the plan, the kernels and the tests.
 *
 * Three kinds of supernode, by the size of the panel alone:
 *   tiny     one warp does the whole supernode,
 *   small    four warps do. Both are narrow: the trapezoid is packed by columns, without gaps:
 *            entry (i, j), i >= j, stands at j nr - j (j - 1) / 2 + i - j.
 *   wide     tiles of 16 rows. Block row I holds columns 0 .. min(nc, 16 (I + 1)) - 1, each 16 consecutive
 *            numbers, so that a forward task streams one contiguous range, and a backward task finds its
 *            columns contiguous in each block row. Zeros fill the diagonal blocks and the last rows.
 */
#ifndef GSV_PANEL_LAYOUT_H
#define GSV_PANEL_LAYOUT_H

#include <stdint.h>

#include "host_device.h"

enum {
    GSV_TILE = 16,             /* rows of a tile */
    GSV_NARROW_COLUMNS = 32,   /* columns of a narrow supernode, at most, */
    GSV_NARROW_ROWS = 256,     /* rows, */
    GSV_NARROW_ENTRIES = 4096, /* and rows x columns: what four warps read in two or three goes */
    GSV_TINY_COLUMNS = 16,     /* columns of a tiny one, at most, */
    GSV_TINY_ROWS = 64         /* and rows: two for each lane */
};

static inline GSV_HOST_DEVICE int gsv_is_narrow(int64_t nr, int64_t nc) {
    return nc <= GSV_NARROW_COLUMNS && nr <= GSV_NARROW_ROWS && nr * nc <= GSV_NARROW_ENTRIES;
}

static inline GSV_HOST_DEVICE int gsv_is_tiny(int64_t nr, int64_t nc) {
    return nc <= GSV_TINY_COLUMNS && nr <= GSV_TINY_ROWS;
}

/* Start of column j in a narrow panel, less j: entry (i, j) is at gsv_narrow_column(nr, j) + i. */
static inline GSV_HOST_DEVICE int32_t gsv_narrow_column(int32_t nr, int32_t j) {
    return j * nr - j * (j - 1) / 2 - j;
}

static inline GSV_HOST_DEVICE int32_t gsv_block_row_columns(int32_t nc, int32_t block_row) {
    const int32_t diagonal = GSV_TILE * (block_row + 1);
    return diagonal < nc ? diagonal : nc;
}

/* Start of a block row in a wide panel. */
static inline GSV_HOST_DEVICE int64_t gsv_block_row_start(int32_t nc, int64_t block_row) {
    const int64_t full = nc / GSV_TILE; /* block rows that end at the diagonal */
    const int64_t above = block_row < full ? block_row : full;
    return GSV_TILE * GSV_TILE * (above * (above + 1) / 2) + GSV_TILE * (block_row - above) * nc;
}

#endif
