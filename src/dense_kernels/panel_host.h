/*
 * How the host kernels store a panel: the lower trapezoid of a supernode, nc columns, nc + m rows.
 *
 * The columns are cut into blocks of GSV_BLOCK. A block of w columns is stored as three pieces, one after the
 * other:
 * - triangle: the block's own w rows.
 * - own: the supernode's rows between the block's end and nc; none in the last block.
 * - below: the m rows under the supernode's columns.
 *
 * A rectangle (own, below) is cut into bands of GSV_BAND_VECTORS times `lanes` rows, where `lanes` real
 * numbers are 32 bytes, and the last band may be lower. A band of h rows and w columns keeps the h numbers of
 * a column together, columns one after the other: number (i, k) is band[k h + i]. So a rectangle is one
 * unbroken stream, read up in the forward sweep and down in the backward one. A load from a low band runs
 * into what follows it, which is finite (and the values end with GSV_PANEL_SLACK zeros): lanes that do not
 * exist are discarded or meet a zero.
 *
 * A triangle is cut into strips of `lanes` rows, stored like bands. Strip r has lanes * r columns left of the
 * diagonal and then its own small triangle by rows: L(i, k) / L(k, k), so that a substitution waits for one
 * multiply-add a row and for no product besides, and at the end of each row the reciprocal of the diagonal.
 * Nothing above the diagonal is stored.
 *
 * A complex strip or band keeps two planes a column, h real parts and then h imaginary parts; small triangles
 * are interleaved and the imaginary place of a diagonal is 0. All sizes here are in entries.
 */
#ifndef GSV_PANEL_HOST_H
#define GSV_PANEL_HOST_H

#include <stdint.h>

enum {
    GSV_BLOCK = 64, /* columns of a block; a multiple of the lanes of every precision */
    GSV_ROW_TILE =
        128, /* rows that a transposed product sums up before it is subtracted; a multiple of the lanes */
    GSV_PANEL_SLACK = 8, /* real numbers that may be read past the last entry */
    GSV_STRIP_BYTES = 32,
    GSV_BAND_VECTORS = 4 /* 128 bytes of a column: two lines of the cache */
};

/* Entries of the lower triangle of order w. */
static inline int64_t gsv_triangle_size(int64_t w) {
    return w * (w + 1) / 2;
}

/* Entries of the trapezoid with nc columns and nc + m rows. */
static inline int64_t gsv_panel_size(int64_t nc, int64_t m) {
    return gsv_triangle_size(nc) + nc * m;
}

static inline int32_t gsv_block_count(int32_t nc) {
    return nc / GSV_BLOCK + (nc % GSV_BLOCK != 0);
}

/* Columns of block j. */
static inline int32_t gsv_block_width(int32_t nc, int32_t j) {
    const int32_t left = nc - j * GSV_BLOCK;
    return left < GSV_BLOCK ? left : GSV_BLOCK;
}

/* Where block j starts: blocks 0 .. j - 1 are the trapezoid of j GSV_BLOCK columns. */
static inline int64_t gsv_block_start(int32_t nc, int32_t m, int32_t j) {
    const int64_t before = (int64_t)j * GSV_BLOCK;
    return gsv_panel_size(before, (int64_t)nc + m - before);
}

/* Where, from the block's start, its rows under the columns start: past the triangle and the supernode's own
 * rows. */
static inline int64_t gsv_block_below(int32_t nc, int32_t j) {
    const int64_t w = gsv_block_width(nc, j);
    return gsv_triangle_size(w) + w * (nc - (int64_t)j * GSV_BLOCK - w);
}

#endif
