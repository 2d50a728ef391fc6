/*
 * Template: from a column-major panel to the packed one of panel_host.h. Included once for each precision,
 * after defining GSV_REAL, GSV_LANES, GSV_COMPLEX and GSV_PACK(name). Numbers above the diagonal are not
 * read.
 */

/* A strip or band of h rows and w columns that starts at p. Returns where the next one goes. */
static GSV_REAL *GSV_PACK(strip)(const GSV_REAL *p, int64_t ld, int32_t h, int32_t w, GSV_REAL *to) {
    for (int32_t k = 0; k < w; k++, p += ld * (1 + GSV_COMPLEX)) {
#if GSV_COMPLEX
        for (int32_t i = 0; i < h; i++) {
            to[i] = p[2 * i];
            to[h + i] = p[2 * i + 1];
        }
        to += 2 * h;
#else
        for (int32_t i = 0; i < h; i++)
            to[i] = p[i];
        to += h;
#endif
    }
    return to;
}

/* The small triangle of order h whose first diagonal entry is at p, by rows, each column over its diagonal
 * entry. */
static GSV_REAL *GSV_PACK(small)(const GSV_REAL *p, int64_t ld, int32_t h, GSV_REAL *to) {
    for (int32_t i = 0; i < h; i++) {
        for (int32_t k = 0; k < i; k++) {
            const GSV_REAL *entry = p + (i + k * ld) * (1 + GSV_COMPLEX);
            const GSV_REAL diagonal = p[(k + k * ld) * (1 + GSV_COMPLEX)];
            *to++ = entry[0] / diagonal;
#if GSV_COMPLEX
            *to++ = entry[1] / diagonal;
#endif
        }
        *to++ = 1 / p[(i + i * ld) * (1 + GSV_COMPLEX)];
#if GSV_COMPLEX
        *to++ = 0;
#endif
    }
    return to;
}

/* Block j of the panel with nc columns and nc + m rows; `to` is the panel's place, the block's own follows
 * from j. */
static void GSV_PACK(block)(const GSV_REAL *panel, int64_t ld, int32_t nc, int32_t m, int32_t j,
                            GSV_REAL *to) {
    enum { BAND = GSV_BAND_VECTORS * GSV_LANES };
    const int32_t begin = j * GSV_BLOCK, w = gsv_block_width(nc, j), end = begin + w;
    const GSV_REAL *corner = panel + (begin + begin * ld) * (1 + GSV_COMPLEX);
    to += gsv_block_start(nc, m, j) * (1 + GSV_COMPLEX);
    for (int32_t i = 0; i < w; i += GSV_LANES) {
        const int32_t h = w - i < GSV_LANES ? w - i : GSV_LANES;
        to = GSV_PACK(strip)(corner + (int64_t)i * (1 + GSV_COMPLEX), ld, h, i, to);
        to = GSV_PACK(small)(corner + (i + i * ld) * (1 + GSV_COMPLEX), ld, h, to);
    }
    /* the bands start anew at the rows below, so both rectangles are packed alike */
    const int32_t ends[2] = {nc - begin, nc - begin + m};
    for (int32_t piece = 0, i = end - begin; piece < 2; piece++)
        for (int32_t h; i < ends[piece]; i += h) {
            h = ends[piece] - i < BAND ? ends[piece] - i : BAND;
            to = GSV_PACK(strip)(corner + (int64_t)i * (1 + GSV_COMPLEX), ld, h, w, to);
        }
}
