/*
 * Template: from the pieces of a column-major panel to those of the packed one of panel_host.h. Included
 * after defining GSV_REAL, GSV_LANES, GSV_COMPLEX and GSV_FN(name). Numbers above the diagonal are not
 * read.
 */

/* h rows of a column. */
static inline void GSV_FN(pack_column)(const GSV_REAL *restrict p, int32_t h, GSV_REAL *restrict to) {
#if GSV_COMPLEX
    for (int32_t i = 0; i < h; i++) {
        to[i] = p[2 * i];
        to[h + i] = p[2 * i + 1];
    }
#else
    for (int32_t i = 0; i < h; i++)
        to[i] = p[i];
#endif
}

/* A strip of h rows and w columns that starts at p. Returns where the next one goes. */
static inline GSV_REAL *GSV_FN(pack_strip)(const GSV_REAL *p, int64_t ld, int32_t h, int32_t w,
                                           GSV_REAL *to) {
    for (int32_t k = 0; k < w; k++, p += ld * (1 + GSV_COMPLEX), to += (int64_t)h * (1 + GSV_COMPLEX))
        GSV_FN(pack_column)(p, h, to);
    return to;
}

/* The small triangle of order h whose first diagonal entry is at p, by rows, each column over its diagonal
 * entry. */
static GSV_REAL *GSV_FN(pack_small)(const GSV_REAL *p, int64_t ld, int32_t h, GSV_REAL *to) {
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

/* The lower triangle of order w that starts at p. Returns where the next piece goes. */
static GSV_REAL *GSV_FN(pack_triangle)(const GSV_REAL *p, int64_t ld, int32_t w, GSV_REAL *to) {
    for (int32_t i = 0; i < w; i += GSV_LANES) {
        const int32_t h = w - i < GSV_LANES ? w - i : GSV_LANES;
        to = GSV_FN(pack_strip)(p + (int64_t)i * (1 + GSV_COMPLEX), ld, h, i, to);
        to = GSV_FN(pack_small)(p + (i + i * ld) * (1 + GSV_COMPLEX), ld, h, to);
    }
    return to;
}

/* The rectangle of m rows and w columns that starts at p. Column after column, for that is how p is stored.
 * Returns where the next piece goes. */
static GSV_REAL *GSV_FN(pack_rectangle)(const GSV_REAL *p, int64_t ld, int32_t m, int32_t w, GSV_REAL *to) {
    enum { BAND = GSV_BAND_VECTORS * GSV_LANES, COLUMNS_AHEAD = 4 };
    const int32_t low = m % BAND, full = m - low;
    GSV_REAL *last = to + (int64_t)full * w * (1 + GSV_COMPLEX);
    for (int32_t k = 0; k < w; k++, p += ld * (1 + GSV_COMPLEX)) {
        GSV_REAL *column = to + (int64_t)k * BAND * (1 + GSV_COMPLEX);
        for (int32_t i = 0; i < full; i += BAND, column += (int64_t)w * BAND * (1 + GSV_COMPLEX)) {
            for (int line = 0; line < BAND * (1 + GSV_COMPLEX); line += 64 / (int)sizeof *p)
                __builtin_prefetch(p + (i + COLUMNS_AHEAD * ld) * (1 + GSV_COMPLEX) + line);
            GSV_FN(pack_column)(p + (int64_t)i * (1 + GSV_COMPLEX), BAND, column);
        }
        GSV_FN(pack_column)
        (p + (int64_t)full * (1 + GSV_COMPLEX), low, last + (int64_t)k * low * (1 + GSV_COMPLEX));
    }
    return last + (int64_t)low * w * (1 + GSV_COMPLEX);
}
