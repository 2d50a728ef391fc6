/* Part of sweep.h: panels that stay in the caller's memory. */

/*
 * The pieces of a panel against the front's vectors. Packed panels are read where they are. The
 * caller's own, column-major panels are packed piece by piece into a small memory that stays in the cache, and the
 * same kernels do the rest, with the same bits. What has such a memory is never inlined, so that a thread's
 * stack has room for it once at a time. Panels of another precision are always packed.
 */
#define GSV_ASIDE static __attribute__((noinline))

/* Entry (i, k) of the caller's panel, i >= k. */
GSV_INLINE const GSV_REAL *GSV_FN(entry)(const GSV_FN(front) * f, int32_t i, int32_t k) {
    return f->l + (i + k * ((int64_t)f->nc + f->m)) * GSV_PARTS;
}

/* y = L1 \ y, block j of the columns; trans: y = L1' \ y */
GSV_ASIDE void GSV_FN(solve_aside)(const GSV_FN(front) * f, int32_t j, int trans) {
    const int32_t begin = j * GSV_BLOCK, w = gsv_block_width(f->nc, j);
    GSV_REAL l[GSV_PARTS * GSV_BLOCK * (GSV_BLOCK + 1) / 2 + GSV_PANEL_SLACK];
    GSV_REAL *y = f->y + (int64_t)begin * GSV_ROW;
    memset(GSV_FN(pack_triangle)(GSV_FN(entry)(f, begin, begin), (int64_t)f->nc + f->m, w, l), 0,
           GSV_PANEL_SLACK * sizeof *l);
    if (trans)
        GSV_FN(solve_trans)(l, w, y);
    else
        GSV_FN(solve)(l, w, y);
}

/* At most GSV_ROW_TILE rows of block j from row i of the front on, packed. */
GSV_INLINE const GSV_REAL *GSV_FN(pack_tile)(const GSV_FN(front) * f, int32_t j, int32_t i, int32_t rows,
                                             GSV_REAL *tile) {
    GSV_REAL *end = GSV_FN(pack_rectangle)(GSV_FN(entry)(f, i, j * GSV_BLOCK), (int64_t)f->nc + f->m, rows,
                                           gsv_block_width(f->nc, j), tile);
    memset(end, 0, GSV_PANEL_SLACK * sizeof *end);
    return tile;
}

enum { GSV_FN(TILE) = GSV_PARTS * GSV_ROW_TILE * GSV_BLOCK + GSV_PANEL_SLACK };

/* u = u - L y, rows of block j from row i of the front on */
GSV_ASIDE void GSV_FN(apply_aside)(const GSV_FN(front) * f, int32_t j, int32_t i, int32_t rows, GSV_REAL *u,
                                   int fresh) {
    const GSV_REAL *y = f->y + (int64_t)j * GSV_BLOCK * GSV_ROW;
    GSV_REAL tile[GSV_FN(TILE)];
    for (int32_t k = 0; k < rows; k += GSV_ROW_TILE) {
        const int32_t height = rows - k < GSV_ROW_TILE ? rows - k : GSV_ROW_TILE;
        const GSV_REAL *l = GSV_FN(pack_tile)(f, j, i + k, height, tile);
        GSV_FN(apply)(l, height, gsv_block_width(f->nc, j), y, u + (int64_t)k * GSV_ROW, fresh);
    }
}

/* y = y - L' x, at most GSV_ROW_TILE rows of block j from row i of the front on; x and map as in apply_trans
 */
GSV_ASIDE void GSV_FN(apply_trans_aside)(const GSV_FN(front) * f, int32_t j, int32_t i, int32_t rows,
                                         const GSV_REAL *x, const int32_t *map) {
    GSV_REAL tile[GSV_FN(TILE)];
    const GSV_REAL *l = GSV_FN(pack_tile)(f, j, i, rows, tile);
    GSV_FN(apply_trans)(l, rows, gsv_block_width(f->nc, j), x, map, f->y + (int64_t)j * GSV_BLOCK * GSV_ROW);
}
