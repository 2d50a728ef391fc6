/*
 * Template (instantiate_host.h, GSV_COLUMNS > 1): the pieces of a packed panel (panel_host.h) against
 * GSV_COLUMNS vectors side by side, a row of all of them after the other. The operations and their names are
 * those of trsv_host.h, and so are the bits of every column.
 *
 * A vector register holds neighbouring columns of one row; numbers of L are spread to all lanes. The register
 * tile is GSV_LANES rows (or columns of L, transposed) by as many vectors as the machine has registers for.
 *
 * apply_trans follows the lanes of the one-vector kernel: every GSV_LANES-th row is summed by itself, all
 * lanes of a few columns of L in registers, and the lanes are added in pairs.
 */
#define GSV_VECTORS (GSV_COLUMNS / GSV_WIDTH)             /* vectors in a row's plane */
#define GSV_REGISTERS (GSV_VECTOR_BYTES == 64 ? 16 : 8)   /* sums held in registers */
#define GSV_FIT (GSV_REGISTERS / (GSV_LANES * GSV_PARTS)) /* vectors of GSV_LANES rows that fit */
#define GSV_CHUNK \
    (GSV_FIT < 1 ? 1 : GSV_FIT < GSV_VECTORS ? GSV_FIT : GSV_VECTORS) /* vectors a pass works on */
#define GSV_ROWS_FIT \
    (GSV_REGISTERS / (GSV_LANES * GSV_CHUNK * GSV_PARTS))             /* groups of GSV_LANES rows that fit */
#define GSV_GROUP (GSV_LANES * (GSV_ROWS_FIT > 1 ? GSV_ROWS_FIT : 1)) /* rows a pass works on */
#if GSV_VECTORS > 1
#define GSV_TRANS 4 /* columns of L a transposed pass works on */
#elif GSV_LANES * GSV_PARTS * 4 <= GSV_REGISTERS
#define GSV_TRANS 4
#elif GSV_LANES * GSV_PARTS * 2 <= GSV_REGISTERS
#define GSV_TRANS 2
#else
#define GSV_TRANS 1
#endif

/* Ask for a cache line of L that is used soon. With several columns a processor computes for longer than its
 * own look-ahead reaches. */
GSV_INLINE void GSV_FN(ask)(const GSV_PANEL *l, int64_t bytes) {
    __builtin_prefetch((const char *)l + bytes, 0, 2);
}

/* u - L x for `rows` rows from `first` on of a band or strip of h rows. */
GSV_INLINE void GSV_FN(apply_rows)(const int rows, const GSV_PANEL *l, int32_t h, int32_t first, int32_t w,
                                   const GSV_REAL *x, GSV_REAL *u, int fresh) {
    enum { SHARE = GSV_PARTS * GSV_GROUP * (int)sizeof(GSV_PANEL) };
    const GSV_PANEL *next = l + (int64_t)w * GSV_PARTS * (h + first);
    l += first;
    u += (int64_t)first * GSV_ROW;
    for (int c = 0; c < GSV_COLUMNS; c += GSV_CHUNK * GSV_WIDTH) {
        GSV_FN(num) acc[GSV_GROUP][GSV_CHUNK], xk[GSV_CHUNK];
        for (int r = 0; r < rows; r++)
            for (int v = 0; v < GSV_CHUNK; v++)
                acc[r][v] =
                    fresh ? GSV_FN(zero)() : GSV_FN(load)(u + r * GSV_ROW + c + v * GSV_WIDTH, GSV_COLUMNS);
        for (int32_t k = 0; k < w; k++) {
            if (c == 0 && rows == GSV_GROUP) /* the next band, in as many parts as there are groups in one */
                for (int line = 0; line < SHARE; line += 64)
                    GSV_FN(ask)(next, (int64_t)k * SHARE + line);
            for (int v = 0; v < GSV_CHUNK; v++)
                xk[v] = GSV_FN(load)(x + (int64_t)k * GSV_ROW + c + v * GSV_WIDTH, GSV_COLUMNS);
            for (int r = 0; r < rows; r++) {
                const GSV_FN(num) lk =
                    GSV_FN(spread)(GSV_FN(load_scalar_of_panel)(l + (int64_t)k * GSV_PARTS * h + r, h));
                for (int v = 0; v < GSV_CHUNK; v++)
                    acc[r][v] = GSV_FN(minus_product)(acc[r][v], lk, xk[v]);
            }
        }
        for (int r = 0; r < rows; r++)
            for (int v = 0; v < GSV_CHUNK; v++)
                GSV_FN(store)(u + r * GSV_ROW + c + v * GSV_WIDTH, GSV_COLUMNS, acc[r][v]);
    }
}

/* The same for all of its rows. */
GSV_INLINE void GSV_FN(apply_band)(const GSV_PANEL *l, int32_t h, int32_t w, const GSV_REAL *x, GSV_REAL *u,
                                   int fresh) {
    int32_t i = 0;
    for (; i + GSV_GROUP <= h; i += GSV_GROUP)
        GSV_FN(apply_rows)(GSV_GROUP, l, h, i, w, x, u, fresh);
#if GSV_GROUP > 8
    if (i + 8 <= h) {
        GSV_FN(apply_rows)(8, l, h, i, w, x, u, fresh);
        i += 8;
    }
#endif
#if GSV_GROUP > 4
    if (i + 4 <= h) {
        GSV_FN(apply_rows)(4, l, h, i, w, x, u, fresh);
        i += 4;
    }
#endif
    for (; i + 2 <= h; i += 2)
        GSV_FN(apply_rows)(2, l, h, i, w, x, u, fresh);
    if (i < h)
        GSV_FN(apply_rows)(1, l, h, i, w, x, u, fresh);
}

/* u = u - L x, m rows, w columns; fresh: u is zero and not read. */
static void GSV_FN(apply)(const GSV_PANEL *l, int32_t m, int32_t w, const GSV_REAL *x, GSV_REAL *u,
                          int fresh) {
    enum { BAND = GSV_BAND_VECTORS * GSV_LANES };
    for (; m >= BAND; m -= BAND, l += (int64_t)w * GSV_PARTS * BAND, u += BAND * GSV_ROW)
        GSV_FN(apply_band)(l, BAND, w, x, u, fresh);
    if (m > 0)
        GSV_FN(apply_band)(l, m, w, x, u, fresh);
}

/* v / L(i, i) with the reciprocal that is stored */
GSV_INLINE GSV_FN(num) GSV_FN(scaled)(GSV_FN(num) v, GSV_REAL reciprocal) {
    v.re *= reciprocal;
#if GSV_COMPLEX
    v.im *= reciprocal;
#endif
    return v;
}

/* Small triangle of order h, by rows: z(i) = y(i) - sum_{k < i} L(i, k) / L(k, k) z(k), y(i) = z(i) / L(i, i)
 */
GSV_INLINE void GSV_FN(solve_small)(const GSV_PANEL *l, int32_t h, GSV_REAL *y) {
    for (int c = 0; c < GSV_COLUMNS; c += GSV_CHUNK * GSV_WIDTH) {
        GSV_FN(num) z[GSV_LANES][GSV_CHUNK];
        const GSV_PANEL *row = l;
        for (int32_t i = 0; i < h; i++, row += i * GSV_PARTS)
            for (int v = 0; v < GSV_CHUNK; v++) {
                GSV_REAL *yi = y + i * GSV_ROW + c + v * GSV_WIDTH;
                z[i][v] = GSV_FN(load)(yi, GSV_COLUMNS);
                for (int32_t k = 0; k < i; k++)
                    z[i][v] = GSV_FN(minus_product)(
                        z[i][v], GSV_FN(spread)(GSV_FN(load_scalar_of_panel)(row + k * GSV_PARTS, 1)),
                        z[k][v]);
                GSV_FN(store)(yi, GSV_COLUMNS, GSV_FN(scaled)(z[i][v], (GSV_REAL)row[i * GSV_PARTS]));
            }
    }
}

/* Its transpose: y(i) = y(i) / L(i, i) - sum_{k > i} conj(L(k, i) / L(i, i)) y(k), k falling */
GSV_INLINE void GSV_FN(solve_small_trans)(const GSV_PANEL *l, int32_t h, GSV_REAL *y) {
    for (int32_t i = h - 1; i >= 0; i--)
        for (int c = 0; c < GSV_COLUMNS; c += GSV_CHUNK * GSV_WIDTH) {
            const GSV_REAL reciprocal = (GSV_REAL)l[(i * (i + 1) / 2 + i) * GSV_PARTS];
            GSV_FN(num) acc[GSV_CHUNK];
            for (int v = 0; v < GSV_CHUNK; v++)
                acc[v] = GSV_FN(scaled)(GSV_FN(load)(y + i * GSV_ROW + c + v * GSV_WIDTH, GSV_COLUMNS),
                                        reciprocal);
            for (int32_t k = h - 1; k > i; k--) {
                const GSV_FN(num) lk =
                    GSV_FN(spread)(GSV_FN(load_scalar_of_panel)(l + (k * (k + 1) / 2 + i) * GSV_PARTS, 1));
                for (int v = 0; v < GSV_CHUNK; v++)
                    acc[v] = GSV_FN(minus_conj_product)(
                        acc[v], lk, GSV_FN(load)(y + k * GSV_ROW + c + v * GSV_WIDTH, GSV_COLUMNS));
            }
            for (int v = 0; v < GSV_CHUNK; v++)
                GSV_FN(store)(y + i * GSV_ROW + c + v * GSV_WIDTH, GSV_COLUMNS, acc[v]);
        }
}

/* Where strip r of a triangle starts, in real numbers: r lanes rows come before it. */
GSV_INLINE int64_t GSV_FN(strip_start)(int32_t r) {
    return GSV_PARTS * gsv_triangle_size((int64_t)r * GSV_LANES);
}

/* y = L1 \ y, w <= GSV_BLOCK columns */
static void GSV_FN(solve)(const GSV_PANEL *l, int32_t w, GSV_REAL *y) {
    for (int32_t i = 0, r = 0; i < w; i += GSV_LANES, r++) {
        const GSV_PANEL *strip = l + GSV_FN(strip_start)(r);
        const int32_t h = w - i < GSV_LANES ? w - i : GSV_LANES;
        GSV_REAL *f = y + (int64_t)i * GSV_ROW;
        if (i > 0)
            GSV_FN(apply_band)(strip, h, i, y, f, 0);
        GSV_FN(solve_small)(strip + (int64_t)i * h * GSV_PARTS, h, f);
    }
}

/* A run of strips or bands, met in the order of summation: a low one, and then full ones of `height` rows at
 * a distance that may grow. */
typedef struct GSV_FN(run) {
    const GSV_PANEL *full;
    int64_t step, step_growth; /* from a full one to the next, in real numbers */
    int32_t count;
    int32_t low_height; /* rows of the low one, 0 if there is none */
    const GSV_PANEL *low;
    const GSV_REAL *x_full; /* the vectors' rows that the first full one meets */
    int64_t x_step;
    const GSV_REAL *x_low;
    const GSV_PANEL *ask; /* memory to ask for while this is worked on, or NULL, */
    int32_t rows;         /* and its rows */
} GSV_FN(run);

#if GSV_VECTORS == 1
/* acc(k)(p) += conj(L(p, k)) x(p) for `columns` columns and the first `rows` of GSV_LANES rows of a strip or
 * band of h rows. */
GSV_INLINE void GSV_FN(sum_lanes)(const int columns, const int32_t rows, const GSV_PANEL *l, int32_t h,
                                  const GSV_REAL *x, GSV_FN(num) (*acc)[GSV_LANES]) {
    for (int p = 0; p < GSV_LANES; p++) {
        if (p >= rows)
            break;
        const GSV_FN(num) xp = GSV_FN(load)(x + p * GSV_ROW, GSV_COLUMNS);
        for (int k = 0; k < columns; k++)
            acc[k][p] = GSV_FN(plus_conj_product)(
                acc[k][p], GSV_FN(spread)(GSV_FN(load_scalar_of_panel)(l + k * GSV_PARTS * h + p, h)), xp);
    }
}

/* y = y - L' x for `columns` columns of L, from column `first` of every strip on; height is the run's. All
 * lanes at once. */
GSV_INLINE void GSV_FN(subtract_run)(const int columns, const int height, const GSV_FN(run) * run,
                                     int32_t first, GSV_REAL *y) {
    GSV_FN(num) acc[GSV_TRANS][GSV_LANES];
    for (int k = 0; k < columns; k++)
        for (int p = 0; p < GSV_LANES; p++)
            acc[k][p] = GSV_FN(zero)();
    const int32_t h = run->low_height;
    const GSV_PANEL *low = run->low + (int64_t)first * GSV_PARTS * h;
    const GSV_REAL *x_low = run->x_low;
    int32_t i = 0;
    for (; i + GSV_LANES <= h; i += GSV_LANES)
        GSV_FN(sum_lanes)(columns, GSV_LANES, low + i, h, x_low + (int64_t)i * GSV_ROW, acc);
    if (i < h)
        GSV_FN(sum_lanes)(columns, h - i, low + i, h, x_low + (int64_t)i * GSV_ROW, acc);
    const GSV_PANEL *l = run->full + (int64_t)first * GSV_PARTS * height;
    const GSV_REAL *x = run->x_full;
    int64_t step = run->step;
    for (int32_t t = 0; t < run->count; t++, l += step, step += run->step_growth, x += run->x_step)
        for (i = 0; i < height; i += GSV_LANES)
            GSV_FN(sum_lanes)(columns, GSV_LANES, l + i, height, x + (int64_t)i * GSV_ROW, acc);
    for (int k = 0; k < columns; k++) {
        for (int lanes = 1; lanes < GSV_LANES; lanes *= 2)
            for (int p = 0; p < GSV_LANES; p += 2 * lanes)
                acc[k][p] = GSV_FN(add)(acc[k][p], acc[k][p + lanes]);
        GSV_REAL *to = y + k * GSV_ROW;
        GSV_FN(store)(to, GSV_COLUMNS, GSV_FN(subtract)(GSV_FN(load)(to, GSV_COLUMNS), acc[k][0]));
    }
}
#else
/* acc(k) += conj(L(i, k)) x(i) for `columns` columns and one row of a strip or band of h rows. */
GSV_INLINE void GSV_FN(sum_row)(const int columns, const GSV_PANEL *l, int32_t h, const GSV_REAL *x,
                                GSV_FN(num) (*acc)[GSV_CHUNK]) {
    GSV_FN(num) xi[GSV_CHUNK];
    for (int v = 0; v < GSV_CHUNK; v++)
        xi[v] = GSV_FN(load)(x + v * GSV_WIDTH, GSV_COLUMNS);
    for (int k = 0; k < columns; k++) {
        const GSV_FN(num) lk = GSV_FN(spread)(GSV_FN(load_scalar_of_panel)(l + k * GSV_PARTS * h, h));
        for (int v = 0; v < GSV_CHUNK; v++)
            acc[k][v] = GSV_FN(plus_conj_product)(acc[k][v], lk, xi[v]);
    }
}

/* y = y - L' x for `columns` columns of L, from column `first` of every strip on; height is the run's. One
 * lane after the other. */
GSV_INLINE void GSV_FN(subtract_run)(const int columns, const int height, const GSV_FN(run) * run,
                                     int32_t first, GSV_REAL *y) {
    for (int c = 0; c < GSV_COLUMNS; c += GSV_CHUNK * GSV_WIDTH) {
        GSV_FN(num) pair[4][GSV_TRANS][GSV_CHUNK]; /* sums of 1, 2, 4 lanes that wait for their partners */
        const GSV_PANEL *ask = c == 0 && run->ask ? run->ask + (int64_t)first * GSV_PARTS * run->rows : NULL;
        for (int p = 0; p < GSV_LANES; p++) {
            GSV_FN(num) acc[GSV_TRANS][GSV_CHUNK];
            for (int k = 0; k < columns; k++)
                for (int v = 0; v < GSV_CHUNK; v++)
                    acc[k][v] = GSV_FN(zero)();
            const GSV_PANEL *low = run->low + (int64_t)first * GSV_PARTS * run->low_height;
            for (int32_t i = p; i < run->low_height; i += GSV_LANES)
                GSV_FN(sum_row)(columns, low + i, run->low_height, run->x_low + i * GSV_ROW + c, acc);
            const GSV_PANEL *l = run->full + (int64_t)first * GSV_PARTS * height + p;
            const GSV_REAL *x = run->x_full + p * GSV_ROW + c;
            int64_t step = run->step;
            for (int32_t t = 0; t < run->count; t++, l += step, step += run->step_growth, x += run->x_step)
                for (int i = 0; i < height; i += GSV_LANES) {
                    if (ask) { /* as much as is used here */
                        GSV_FN(ask)(ask, 0);
                        ask += columns * GSV_PARTS;
                    }
                    GSV_FN(sum_row)(columns, l + i, height, x + i * GSV_ROW, acc);
                }
            int level = 0;
            for (int lanes = p; lanes & 1; lanes >>= 1, level++)
                for (int k = 0; k < columns; k++)
                    for (int v = 0; v < GSV_CHUNK; v++)
                        acc[k][v] = GSV_FN(add)(pair[level][k][v], acc[k][v]);
            for (int k = 0; k < columns; k++)
                for (int v = 0; v < GSV_CHUNK; v++)
                    pair[level][k][v] = acc[k][v];
        }
        const int top = GSV_LANES == 8 ? 3 : 2;
        for (int k = 0; k < columns; k++)
            for (int v = 0; v < GSV_CHUNK; v++) {
                GSV_REAL *to = y + k * GSV_ROW + c + v * GSV_WIDTH;
                const GSV_FN(num) old = GSV_FN(load)(to, GSV_COLUMNS);
                GSV_FN(store)(to, GSV_COLUMNS, GSV_FN(subtract)(old, pair[top][k][v]));
            }
    }
}
#endif

/* The same for any number of columns, from the last one on. */
GSV_INLINE void GSV_FN(subtract_columns)(const int height, const GSV_FN(run) * run, int32_t w, GSV_REAL *y) {
    int32_t k = w;
#if GSV_TRANS >= 2
    if (k & 1) {
        k--;
        GSV_FN(subtract_run)(1, height, run, k, y + (int64_t)k * GSV_ROW);
    }
#endif
#if GSV_TRANS >= 4
    if (k & 2) {
        k -= 2;
        GSV_FN(subtract_run)(2, height, run, k, y + (int64_t)k * GSV_ROW);
    }
#endif
    while (k > 0) {
        k -= GSV_TRANS;
        GSV_FN(subtract_run)(GSV_TRANS, height, run, k, y + (int64_t)k * GSV_ROW);
    }
}

#if GSV_VECTORS == 1 && !GSV_COMPLEX
/* sums(k)(lane) += L(band, k)(row) x(row), row after row of each lane, for a full band. */
GSV_INLINE void GSV_FN(stream_band)(const GSV_PANEL *l, int32_t w, const GSV_REAL *x,
                                    GSV_FN(num) (*sums)[GSV_LANES]) {
    enum { BAND = GSV_BAND_VECTORS * GSV_LANES, HALF = BAND > 16 ? 16 : BAND }; /* vectors in registers */
    for (int half = 0; half < BAND; half += HALF) {
        GSV_FN(num) xs[HALF];
        for (int i = 0; i < HALF; i++)
            xs[i] = GSV_FN(load)(x + (half + i) * GSV_ROW, GSV_COLUMNS);
        for (int32_t k = w - 1; k >= 0; k--) {
            for (int line = 0; line < HALF * (int)sizeof(GSV_PANEL); line += 64)
                GSV_FN(ask)(l + half + (k - 2 * (int64_t)w) * BAND, line); /* two bands on */
            for (int p = 0; p < GSV_LANES; p++) {
                GSV_FN(num) acc = sums[k][p];
                for (int i = p; i < HALF; i += GSV_LANES)
                    acc = GSV_FN(plus_conj_product)(
                        acc,
                        GSV_FN(spread)(GSV_FN(load_scalar_of_panel)(l + (int64_t)k * BAND + half + i, BAND)),
                        xs[i]);
                sums[k][p] = acc;
            }
        }
    }
}

/* The same for a low band. */
GSV_INLINE void GSV_FN(stream_low)(const GSV_PANEL *l, int32_t h, int32_t w, const GSV_REAL *x,
                                   GSV_FN(num) (*sums)[GSV_LANES]) {
    for (int32_t i = 0; i < h; i++) {
        const GSV_FN(num) xi = GSV_FN(load)(x + i * GSV_ROW, GSV_COLUMNS);
        for (int32_t k = 0; k < w; k++)
            sums[k][i % GSV_LANES] = GSV_FN(plus_conj_product)(
                sums[k][i % GSV_LANES],
                GSV_FN(spread)(GSV_FN(load_scalar_of_panel)(l + (int64_t)k * h + i, h)), xi);
    }
}

/* y = y - L' x, one pass over L from the last band to the first, with sums in the first-level cache. */
GSV_INLINE void GSV_FN(stream_trans)(const GSV_PANEL *l, int32_t m, int32_t w, const GSV_REAL *x,
                                     GSV_REAL *y) {
    enum { BAND = GSV_BAND_VECTORS * GSV_LANES };
    GSV_FN(num) sums[GSV_BLOCK][GSV_LANES];
    int32_t i = m - m % BAND;
    for (int32_t k = 0; k < w; k++)
        for (int p = 0; p < GSV_LANES; p++)
            sums[k][p] = GSV_FN(zero)();
    GSV_FN(stream_low)(l + (int64_t)i * w, m % BAND, w, x + (int64_t)i * GSV_ROW, sums);
    while (i > 0) {
        i -= BAND;
        GSV_FN(stream_band)(l + (int64_t)i * w, w, x + (int64_t)i * GSV_ROW, sums);
    }
    for (int32_t k = 0; k < w; k++) {
        for (int step = 1; step < GSV_LANES; step *= 2)
            for (int p = 0; p < GSV_LANES; p += 2 * step)
                sums[k][p] = GSV_FN(add)(sums[k][p], sums[k][p + step]);
        GSV_REAL *to = y + (int64_t)k * GSV_ROW;
        GSV_FN(store)(to, GSV_COLUMNS, GSV_FN(subtract)(GSV_FN(load)(to, GSV_COLUMNS), sums[k][0]));
    }
}
#endif

/* y = y - L' g, 1 <= m <= GSV_ROW_TILE rows, w <= GSV_BLOCK columns; g(i) is x(rows[i]), or x(i) where rows
 * is NULL. */
static void GSV_FN(apply_trans)(const GSV_PANEL *l, int32_t m, int32_t w, const GSV_REAL *x,
                                const int32_t *rows, GSV_REAL *y) {
    enum { BAND = GSV_BAND_VECTORS * GSV_LANES };
    GSV_REAL copy[GSV_ROW_TILE * GSV_ROW];
    const GSV_REAL *g = rows ? copy : x;
    if (rows)
        for (int32_t i = 0; i < m; i++)
            memcpy(copy + (int64_t)i * GSV_ROW, x + (int64_t)rows[i] * GSV_ROW, GSV_ROW * sizeof *copy);
#if GSV_VECTORS == 1 && !GSV_COMPLEX
    enum { STREAMED = 512 }; /* numbers from which on passing over L but once wins (measured: 256 to 4096) */
    if (m * w >= STREAMED) {
        GSV_FN(stream_trans)(l, m, w, g, y);
        return;
    }
#endif
    const int32_t full = m / BAND;
    const int64_t size = (int64_t)w * GSV_PARTS * BAND;
    const struct GSV_FN(run)
        run = {.full = full > 0 ? l + (full - 1) * size : l,
               .step = -size,
               .count = full,
               .low_height = m % BAND,
               .low = l + full * size,
               .x_full = full > 0 ? g + (int64_t)(full - 1) * BAND * GSV_ROW : g,
               .x_step = -(int64_t)BAND * GSV_ROW,
               .x_low = g + (int64_t)full * BAND * GSV_ROW,
               .ask = m * w < GSV_BLOCK * GSV_BLOCK ? NULL : l - (int64_t)m * w * GSV_PARTS,
               .rows = m};
    GSV_FN(subtract_columns)(BAND, &run, w, y);
}

/* y = L1' \ y, w <= GSV_BLOCK columns: strips from the bottom up, each taking what lies below its columns. */
static void GSV_FN(solve_trans)(const GSV_PANEL *l, int32_t w, GSV_REAL *y) {
    enum { ROWS = GSV_LANES * GSV_ROW };
    const int32_t full = w / GSV_LANES, low = w % GSV_LANES;
    const int64_t growth = GSV_PARTS * GSV_LANES * GSV_LANES;
    if (low) {
        const GSV_PANEL *corner = l + GSV_FN(strip_start)(full) + (int64_t)full * GSV_LANES * low * GSV_PARTS;
        GSV_FN(solve_small_trans)(corner, low, y + (int64_t)full * ROWS);
    }
    for (int32_t r = full - 1; r >= 0; r--) {
        const int32_t columns = r * GSV_LANES;
        GSV_REAL *f = y + (int64_t)r * ROWS;
        if (r < full - 1 || low) {
            const struct GSV_FN(run)
                run = {.full = l + GSV_FN(strip_start)(full - 1),
                       .step = GSV_FN(strip_start)(full - 2) - GSV_FN(strip_start)(full - 1),
                       .step_growth = growth,
                       .count = full - 1 - r,
                       .low_height = low,
                       .low = l + GSV_FN(strip_start)(full),
                       .x_full = y + (int64_t)(full - 1) * ROWS,
                       .x_step = -(int64_t)ROWS,
                       .x_low = y + (int64_t)full * ROWS};
            for (int32_t k = 0; k < GSV_LANES; k += GSV_TRANS)
                GSV_FN(subtract_run)(GSV_TRANS, GSV_LANES, &run, columns + k, f + k * GSV_ROW);
        }
        const GSV_PANEL *corner = l + GSV_FN(strip_start)(r) + (int64_t)columns * GSV_LANES * GSV_PARTS;
        GSV_FN(solve_small_trans)(corner, GSV_LANES, f);
    }
}
