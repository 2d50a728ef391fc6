/*
 * Template: the packed panel of panel_host.h back into columns: what pack_block_host.h did, undone. Included after defining GSV_REAL,
 * GSV_LANES, GSV_COMPLEX and GSV_FN(name).
 *
 * Column k, from its diagonal entry on, goes to x + column[k]. Entries of small triangles were divided by their column's diagonal: they
 * are what they were to rounding, and all others to the bit but the diagonal, whose reciprocal was kept.
 */

/* h rows from row `row` on of column k, one plane or two. Returns what follows. */
static const GSV_REAL *GSV_FN(unpack_rows)(const GSV_REAL *from, int32_t h, int32_t row, int32_t k,
                                           const int64_t *column, GSV_REAL *x) {
    GSV_REAL *to = x + (column[k] + row - k) * (1 + GSV_COMPLEX);
    for (int32_t i = 0; i < h; i++) {
#if GSV_COMPLEX
        to[2 * i] = from[i];
        to[2 * i + 1] = from[h + i];
#else
        to[i] = from[i];
#endif
    }
    return from + (int64_t)h * (1 + GSV_COMPLEX);
}

/* The small triangle of order h whose first diagonal entry is that of column `first`. */
static const GSV_REAL *GSV_FN(unpack_small)(const GSV_REAL *from, int32_t h, int32_t first,
                                            const int64_t *column, GSV_REAL *x) {
    for (int32_t i = 0; i < h; i++) {
        for (int32_t k = 0; k < i; k++) {
            GSV_REAL *diagonal = x + column[first + k] * (1 + GSV_COMPLEX);
            GSV_REAL *to = diagonal + (i - k) * (1 + GSV_COMPLEX);
            to[0] = *from++ * diagonal[0];
#if GSV_COMPLEX
            to[1] = *from++ * diagonal[0];
#endif
        }
        GSV_REAL *to = x + column[first + i] * (1 + GSV_COMPLEX);
        to[0] = 1 / *from++;
#if GSV_COMPLEX
        to[1] = 0;
        from++;
#endif
    }
    return from;
}

/* m rows from row `row` on of the w columns from `first` on. */
static const GSV_REAL *GSV_FN(unpack_rectangle)(const GSV_REAL *from, int32_t m, int32_t w, int32_t row,
                                                int32_t first, const int64_t *column, GSV_REAL *x) {
    enum { BAND = GSV_BAND_VECTORS * GSV_LANES };
    for (int32_t i = 0; i < m; i += BAND) {
        const int32_t h = m - i < BAND ? m - i : BAND;
        for (int32_t k = first; k < first + w; k++)
            from = GSV_FN(unpack_rows)(from, h, row + i, k, column, x);
    }
    return from;
}

/* The panel with nc columns and nc + m rows. */
static void GSV_FN(unpack_panel)(const void *panel, int32_t nc, int32_t m, const int64_t *column, void *x) {
    for (int32_t j = 0; j < gsv_block_count(nc); j++) {
        const int32_t begin = j * GSV_BLOCK, w = gsv_block_width(nc, j), end = begin + w;
        const GSV_REAL *from = (const GSV_REAL *)panel + gsv_block_start(nc, m, j) * (1 + GSV_COMPLEX);
        for (int32_t i = 0; i < w; i += GSV_LANES) {
            const int32_t h = w - i < GSV_LANES ? w - i : GSV_LANES;
            for (int32_t k = begin; k < begin + i; k++)
                from = GSV_FN(unpack_rows)(from, h, begin + i, k, column, x);
            from = GSV_FN(unpack_small)(from, h, begin + i, column, x);
        }
        from = GSV_FN(unpack_rectangle)(from, nc - end, w, end, begin, column, x);
        GSV_FN(unpack_rectangle)(from, m, w, nc, begin, column, x);
    }
}
