/*
 * Template (instantiate_host.h, GSV_COLUMNS > 1): the pieces of a packed panel (panel_host.h) against
 * GSV_COLUMNS vectors side by side, a row of all of them after the other. The operations and their names are
 * those of trsv_host.h, and so are the bits of every column.
 *
 * A vector register holds neighbouring columns of one row; numbers of L are spread to all lanes. The register
 * tile is GSV_LANES rows (or columns of L, transposed) by as many vectors as the machine has registers for.
 *
 * apply_trans follows the lanes of the one-vector kernel: every GSV_LANES-th row is summed by itself, and the
 * lanes are added in pairs. Where a row is one vector and there are many of them, all lanes' sums of a block
 * of columns stay in the first-level cache and L is passed over once, in its own order; elsewhere one lane
 * after the other is summed in registers, and loads of L are repeated from the first-level cache.
 */
#define GSV_VECTORS (GSV_COLUMNS / GSV_WIDTH)             /* vectors in a row's plane */
#define GSV_REGISTERS (GSV_VECTOR_BYTES == 64 ? 16 : 8)   /* sums held in registers */
#define GSV_FIT (GSV_REGISTERS / (GSV_LANES * GSV_PARTS)) /* vectors of GSV_LANES rows that fit */
#define GSV_CHUNK \
    (GSV_FIT < 1 ? 1 : GSV_FIT < GSV_VECTORS ? GSV_FIT : GSV_VECTORS) /* vectors a pass works on */
#define GSV_PAIR (GSV_LANES * GSV_CHUNK * GSV_PARTS <= 4 ? 2 : 1)     /* strips a pass works on */
#define GSV_TRANS \
    (GSV_CHUNK * GSV_PARTS * 8 <= GSV_REGISTERS ? 8 : 4) /* columns of L a transposed pass works on */

/* While column k of one strip or two is worked on, ask for as many bytes, eight strips further on. */
GSV_INLINE void GSV_FN(ask_ahead)(const GSV_REAL *l, const int strips, int32_t w, int32_t k) {
    enum { STRIPS_AHEAD = 8 };
    const int bytes = strips * GSV_PARTS * GSV_STRIP_BYTES;
    const char *p =
        (const char *)l + ((int64_t)STRIPS_AHEAD * w * GSV_PARTS * GSV_STRIP_BYTES + (int64_t)k * bytes);
    if (bytes >= 64 || k % 2 == 0)
        for (int line = 0; line < bytes; line += 64)
            __builtin_prefetch(p + line, 0, 2);
}

/* u - L x for `rows` rows, row r in strip r / h, place first + r % h, the strips h high and `stride` apart.
 */
GSV_INLINE void GSV_FN(apply_rows)(const int rows, const GSV_REAL *l, int32_t h, int32_t first,
                                   int64_t stride, int32_t w, const GSV_REAL *x, GSV_REAL *u, int fresh) {
    for (int c = 0; c < GSV_COLUMNS; c += GSV_CHUNK * GSV_WIDTH) {
        GSV_FN(num) acc[2 * GSV_LANES][GSV_CHUNK], xk[GSV_CHUNK];
        for (int r = 0; r < rows; r++)
            for (int v = 0; v < GSV_CHUNK; v++)
                acc[r][v] =
                    fresh ? GSV_FN(zero)() : GSV_FN(load)(u + r * GSV_ROW + c + v * GSV_WIDTH, GSV_COLUMNS);
        for (int32_t k = 0; k < w; k++) {
            if (c == 0 && rows >= GSV_LANES)
                GSV_FN(ask_ahead)(l, rows / GSV_LANES, w, k);
            for (int v = 0; v < GSV_CHUNK; v++)
                xk[v] = GSV_FN(load)(x + (int64_t)k * GSV_ROW + c + v * GSV_WIDTH, GSV_COLUMNS);
            for (int r = 0; r < rows; r++) {
                const GSV_REAL *p =
                    rows > GSV_LANES ? l + (r / GSV_LANES) * stride + r % GSV_LANES : l + first + r;
                const GSV_FN(num) lk = GSV_FN(spread)(GSV_FN(load_scalar)(p + (int64_t)k * GSV_PARTS * h, h));
                for (int v = 0; v < GSV_CHUNK; v++)
                    acc[r][v] = GSV_FN(minus_product)(acc[r][v], lk, xk[v]);
            }
        }
        for (int r = 0; r < rows; r++)
            for (int v = 0; v < GSV_CHUNK; v++)
                GSV_FN(store)(u + r * GSV_ROW + c + v * GSV_WIDTH, GSV_COLUMNS, acc[r][v]);
    }
}

GSV_INLINE void GSV_FN(apply_low)(const GSV_REAL *l, int32_t h, int32_t w, const GSV_REAL *x, GSV_REAL *u,
                                  int fresh) {
    int32_t i = 0;
    for (; i + 2 <= h; i += 2)
        GSV_FN(apply_rows)(2, l, h, i, 0, w, x, u + i * GSV_ROW, fresh);
    if (i < h)
        GSV_FN(apply_rows)(1, l, h, i, 0, w, x, u + i * GSV_ROW, fresh);
}

/* u = u - L x, m rows, w columns; fresh: u is zero and not read. */
static void GSV_FN(apply)(const GSV_REAL *l, int32_t m, int32_t w, const GSV_REAL *x, GSV_REAL *u,
                          int fresh) {
    const int64_t stride = (int64_t)w * GSV_PARTS * GSV_LANES;
    int32_t strips = m / GSV_LANES;
#if GSV_COLUMNS * GSV_REAL_BYTES <= GSV_VECTOR_BYTES
    for (; strips >= GSV_PAIR;
         strips -= GSV_PAIR, l += GSV_PAIR * stride, u += GSV_PAIR * GSV_LANES * GSV_ROW)
        GSV_FN(apply_rows)(GSV_PAIR * GSV_LANES, l, GSV_LANES, 0, stride, w, x, u, fresh);
#endif
    for (; strips > 0; strips--, l += stride, u += GSV_LANES * GSV_ROW)
        GSV_FN(apply_rows)(GSV_LANES, l, GSV_LANES, 0, 0, w, x, u, fresh);
    if (m % GSV_LANES)
        GSV_FN(apply_low)(l, m % GSV_LANES, w, x, u, fresh);
}

/* y = acc / L(i, i) with the reciprocal that is stored */
GSV_INLINE void GSV_FN(store_scaled)(GSV_REAL *y, GSV_FN(num) acc, GSV_REAL reciprocal) {
    acc.re *= reciprocal;
#if GSV_COMPLEX
    acc.im *= reciprocal;
#endif
    GSV_FN(store)(y, GSV_COLUMNS, acc);
}

/* Small triangle of order h, by rows: y(i) = (y(i) - sum_{k < i} L(i, k) y(k)) / L(i, i) */
GSV_INLINE void GSV_FN(solve_small)(const GSV_REAL *l, int32_t h, GSV_REAL *y) {
    for (int32_t i = 0; i < h; i++) {
        for (int c = 0; c < GSV_COLUMNS; c += GSV_CHUNK * GSV_WIDTH) {
            GSV_FN(num) acc[GSV_CHUNK];
            for (int v = 0; v < GSV_CHUNK; v++)
                acc[v] = GSV_FN(load)(y + i * GSV_ROW + c + v * GSV_WIDTH, GSV_COLUMNS);
            for (int32_t k = 0; k < i; k++) {
                const GSV_FN(num) lk = GSV_FN(spread)(GSV_FN(load_scalar)(l + k * GSV_PARTS, 1));
                for (int v = 0; v < GSV_CHUNK; v++)
                    acc[v] = GSV_FN(minus_product)(
                        acc[v], lk, GSV_FN(load)(y + k * GSV_ROW + c + v * GSV_WIDTH, GSV_COLUMNS));
            }
            for (int v = 0; v < GSV_CHUNK; v++)
                GSV_FN(store_scaled)(y + i * GSV_ROW + c + v * GSV_WIDTH, acc[v], l[i * GSV_PARTS]);
        }
        l += (i + 1) * GSV_PARTS;
    }
}

/* Its transpose: y(i) = (y(i) - sum_{k > i} conj(L(k, i)) y(k)) / L(i, i), k falling */
GSV_INLINE void GSV_FN(solve_small_trans)(const GSV_REAL *l, int32_t h, GSV_REAL *y) {
    for (int32_t i = h - 1; i >= 0; i--)
        for (int c = 0; c < GSV_COLUMNS; c += GSV_CHUNK * GSV_WIDTH) {
            GSV_FN(num) acc[GSV_CHUNK];
            for (int v = 0; v < GSV_CHUNK; v++)
                acc[v] = GSV_FN(load)(y + i * GSV_ROW + c + v * GSV_WIDTH, GSV_COLUMNS);
            for (int32_t k = h - 1; k > i; k--) {
                const GSV_FN(num) lk =
                    GSV_FN(spread)(GSV_FN(load_scalar)(l + (k * (k + 1) / 2 + i) * GSV_PARTS, 1));
                for (int v = 0; v < GSV_CHUNK; v++)
                    acc[v] = GSV_FN(minus_conj_product)(
                        acc[v], lk, GSV_FN(load)(y + k * GSV_ROW + c + v * GSV_WIDTH, GSV_COLUMNS));
            }
            const GSV_REAL reciprocal = l[(i * (i + 1) / 2 + i) * GSV_PARTS];
            for (int v = 0; v < GSV_CHUNK; v++)
                GSV_FN(store_scaled)(y + i * GSV_ROW + c + v * GSV_WIDTH, acc[v], reciprocal);
        }
}

/* Where strip r of a triangle starts, in real numbers: r lanes rows come before it. */
GSV_INLINE int64_t GSV_FN(strip_start)(int32_t r) {
    return GSV_PARTS * gsv_triangle_size((int64_t)r * GSV_LANES);
}

/* y = L1 \ y, w <= GSV_BLOCK columns */
static void GSV_FN(solve)(const GSV_REAL *l, int32_t w, GSV_REAL *y) {
    for (int32_t i = 0, r = 0; i < w; i += GSV_LANES, r++) {
        const GSV_REAL *strip = l + GSV_FN(strip_start)(r);
        const int32_t h = w - i < GSV_LANES ? w - i : GSV_LANES;
        GSV_REAL *f = y + (int64_t)i * GSV_ROW;
        if (i > 0)
            GSV_FN(apply)(strip, h, i, y, f, 0);
        GSV_FN(solve_small)(strip + (int64_t)i * h * GSV_PARTS, h, f);
    }
}

/* A run of strips, met in the order of summation: full ones with a distance that may grow, and a low one. */
typedef struct GSV_FN(run) {
    const GSV_REAL *full;
    int64_t step, step_growth; /* from a full strip to the next one, in real numbers */
    int32_t count;
    int32_t low_height; /* rows of the low strip, 0 if there is none */
    const GSV_REAL *low;
    const GSV_REAL *x_full; /* the vectors' rows that the first full strip meets */
    int64_t x_step;
    const GSV_REAL *x_low;
    int low_first;
    const char *ask; /* memory to ask for while this is worked on, or NULL */
} GSV_FN(run);

GSV_INLINE void GSV_FN(sum_row)(const int columns, const GSV_REAL *l, int32_t h, const GSV_REAL *x,
                                GSV_FN(num) (*acc)[GSV_CHUNK]) {
    GSV_FN(num) xi[GSV_CHUNK];
    for (int v = 0; v < GSV_CHUNK; v++)
        xi[v] = GSV_FN(load)(x + v * GSV_WIDTH, GSV_COLUMNS);
    for (int k = 0; k < columns; k++) {
        const GSV_FN(num) lk = GSV_FN(spread)(GSV_FN(load_scalar)(l + k * GSV_PARTS * h, h));
        for (int v = 0; v < GSV_CHUNK; v++)
            acc[k][v] = GSV_FN(plus_conj_product)(acc[k][v], lk, xi[v]);
    }
}

/* y = y - L' x for `columns` columns of L, from column `first` of every strip on. */
GSV_INLINE void GSV_FN(subtract_run)(const int columns, GSV_FN(run) * run, int32_t first, GSV_REAL *y) {
    for (int c = 0; c < GSV_COLUMNS; c += GSV_CHUNK * GSV_WIDTH) {
        GSV_FN(num) pair[4][8][GSV_CHUNK]; /* sums of 1, 2, 4 lanes that wait for their partners */
        for (int p = 0; p < GSV_LANES; p++) {
            GSV_FN(num) acc[8][GSV_CHUNK];
            for (int k = 0; k < columns; k++)
                for (int v = 0; v < GSV_CHUNK; v++)
                    acc[k][v] = GSV_FN(zero)();
            const GSV_REAL *low = run->low + (int64_t)first * GSV_PARTS * run->low_height + p;
            const GSV_REAL *x_low = run->x_low + p * GSV_ROW + c;
            if (run->low_first && p < run->low_height)
                GSV_FN(sum_row)(columns, low, run->low_height, x_low, acc);
            const GSV_REAL *l = run->full + (int64_t)first * GSV_PARTS * GSV_LANES + p;
            const GSV_REAL *x = run->x_full + p * GSV_ROW + c;
            int64_t step = run->step;
            for (int32_t t = 0; t < run->count; t++, l += step, step += run->step_growth, x += run->x_step) {
                if (c == 0 && run->ask) { /* as many bytes as are used here */
                    __builtin_prefetch(run->ask, 0, 2);
                    run->ask += columns * GSV_PARTS * GSV_REAL_BYTES;
                }
                GSV_FN(sum_row)(columns, l, GSV_LANES, x, acc);
            }
            if (!run->low_first && p < run->low_height)
                GSV_FN(sum_row)(columns, low, run->low_height, x_low, acc);
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

/* The same for any number of columns, from the first one on. */
GSV_INLINE void GSV_FN(subtract_columns)(GSV_FN(run) * run, int32_t w, GSV_REAL *y) {
    int32_t k = 0;
    for (; k + GSV_TRANS <= w; k += GSV_TRANS)
        GSV_FN(subtract_run)(GSV_TRANS, run, k, y + (int64_t)k * GSV_ROW);
#if GSV_COLUMNS * GSV_REAL_BYTES <= GSV_VECTOR_BYTES
    if (GSV_TRANS == 8 && k + 4 <= w) {
        GSV_FN(subtract_run)(4, run, k, y + (int64_t)k * GSV_ROW);
        k += 4;
    }
#endif
    for (; k + 2 <= w; k += 2)
        GSV_FN(subtract_run)(2, run, k, y + (int64_t)k * GSV_ROW);
    if (k < w)
        GSV_FN(subtract_run)(1, run, k, y + (int64_t)k * GSV_ROW);
}

#if GSV_VECTORS == 1 && !GSV_COMPLEX
enum { GSV_FN(TOGETHER) = 16 / GSV_LANES }; /* strips whose vectors fit in registers */

/* sums(k)(lane) += L(strip, k)(lane) x, `lanes` of them, for `strips` strips of the same height. */
GSV_INLINE void GSV_FN(stream_strips)(const int strips, const int lanes, const GSV_REAL *l, int64_t stride,
                                      int32_t w, const GSV_REAL *x, GSV_FN(num) (*sums)[GSV_LANES]) {
    GSV_FN(num) xs[16];
    for (int r = 0; r < strips; r++)
        for (int p = 0; p < lanes; p++)
            xs[r * GSV_LANES + p] = GSV_FN(load)(x + (r * GSV_LANES + p) * GSV_ROW, GSV_COLUMNS);
    for (int32_t k = 0; k < w; k++) {
        if (strips == GSV_FN(TOGETHER))
            for (int line = 0; line < strips * GSV_STRIP_BYTES; line += 64)
                __builtin_prefetch((const char *)(l + 2 * strips * stride) +
                                       (int64_t)k * strips * GSV_STRIP_BYTES + line,
                                   0, 2);
        for (int p = 0; p < lanes; p++) {
            GSV_FN(num) acc = sums[k][p];
            for (int r = 0; r < strips; r++)
                acc = GSV_FN(plus_conj_product)(
                    acc, GSV_FN(spread)(GSV_FN(load_scalar)(l + r * stride + (int64_t)k * lanes + p, lanes)),
                    xs[r * GSV_LANES + p]);
            sums[k][p] = acc;
        }
    }
}

/* The same for a low strip. */
GSV_INLINE void GSV_FN(stream_low)(const GSV_REAL *l, int32_t h, int32_t w, const GSV_REAL *x,
                                   GSV_FN(num) (*sums)[GSV_LANES]) {
    for (int32_t p = 0; p < h; p++) {
        const GSV_FN(num) xp = GSV_FN(load)(x + p * GSV_ROW, GSV_COLUMNS);
        for (int32_t k = 0; k < w; k++)
            sums[k][p] = GSV_FN(plus_conj_product)(
                sums[k][p], GSV_FN(spread)(GSV_FN(load_scalar)(l + (int64_t)k * h + p, h)), xp);
    }
}

/* y = y - L' x, one pass over L in its own order, with sums in the first-level cache. */
GSV_INLINE void GSV_FN(stream_trans)(const GSV_REAL *l, int32_t m, int32_t w, const GSV_REAL *x,
                                     GSV_REAL *y) {
    enum { TOGETHER = GSV_FN(TOGETHER) };
    GSV_FN(num) sums[GSV_BLOCK][GSV_LANES];
    const int64_t stride = (int64_t)w * GSV_LANES;
    int32_t strips = m / GSV_LANES;
    for (int32_t k = 0; k < w; k++)
        for (int p = 0; p < GSV_LANES; p++)
            sums[k][p] = GSV_FN(zero)();
    for (; strips >= TOGETHER;
         strips -= TOGETHER, l += TOGETHER * stride, x += TOGETHER * GSV_LANES * GSV_ROW)
        GSV_FN(stream_strips)(TOGETHER, GSV_LANES, l, stride, w, x, sums);
    for (; strips > 0; strips--, l += stride, x += GSV_LANES * GSV_ROW)
        GSV_FN(stream_strips)(1, GSV_LANES, l, stride, w, x, sums);
    GSV_FN(stream_low)(l, m % GSV_LANES, w, x, sums);
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
static void GSV_FN(apply_trans)(const GSV_REAL *l, int32_t m, int32_t w, const GSV_REAL *x,
                                const int32_t *rows, GSV_REAL *y) {
    GSV_REAL copy[GSV_ROW_TILE * GSV_ROW];
    const GSV_REAL *g = rows ? copy : x;
    if (rows)
        for (int32_t i = 0; i < m; i++)
            memcpy(copy + (int64_t)i * GSV_ROW, x + (int64_t)rows[i] * GSV_ROW, GSV_ROW * sizeof *copy);
#if GSV_VECTORS == 1 && !GSV_COMPLEX
    if (m >= 32 && w >= 16) {
        GSV_FN(stream_trans)(l, m, w, g, y);
        return;
    }
#endif
    const int32_t full = m / GSV_LANES;
    const int64_t stride = (int64_t)w * GSV_PARTS * GSV_LANES;
    const GSV_REAL *next = l + (int64_t)m * w * GSV_PARTS;
    struct GSV_FN(run) run = {.full = l,
                              .step = stride,
                              .count = full,
                              .low_height = m % GSV_LANES,
                              .low = l + full * stride,
                              .x_full = g,
                              .x_step = GSV_LANES * GSV_ROW,
                              .x_low = g + (int64_t)full * GSV_LANES * GSV_ROW,
                              .ask = m * w < GSV_BLOCK * GSV_BLOCK ? NULL : (const char *)next};
    GSV_FN(subtract_columns)(&run, w, y);
}

/* y = L1' \ y, w <= GSV_BLOCK columns: strips from the bottom up, each taking what lies below its columns. */
static void GSV_FN(solve_trans)(const GSV_REAL *l, int32_t w, GSV_REAL *y) {
    enum { ROWS = GSV_LANES * GSV_ROW };
    const int32_t full = w / GSV_LANES, low = w % GSV_LANES;
    const int64_t growth = GSV_PARTS * GSV_LANES * GSV_LANES;
    if (low) {
        const GSV_REAL *corner = l + GSV_FN(strip_start)(full) + (int64_t)full * GSV_LANES * low * GSV_PARTS;
        GSV_FN(solve_small_trans)(corner, low, y + (int64_t)full * ROWS);
    }
    for (int32_t r = full - 1; r >= 0; r--) {
        const int32_t columns = r * GSV_LANES;
        GSV_REAL *f = y + (int64_t)r * ROWS;
        if (r < full - 1 || low) {
            struct GSV_FN(run) run = {.full = l + GSV_FN(strip_start)(full - 1),
                                      .step = GSV_FN(strip_start)(full - 2) - GSV_FN(strip_start)(full - 1),
                                      .step_growth = growth,
                                      .count = full - 1 - r,
                                      .low_height = low,
                                      .low = l + GSV_FN(strip_start)(full),
                                      .x_full = y + (int64_t)(full - 1) * ROWS,
                                      .x_step = -(int64_t)ROWS,
                                      .x_low = y + (int64_t)full * ROWS,
                                      .low_first = 1};
            for (int32_t k = 0; k < GSV_LANES; k += 4)
                GSV_FN(subtract_run)(4, &run, columns + k, f + k * GSV_ROW);
        }
        const GSV_REAL *corner = l + GSV_FN(strip_start)(r) + (int64_t)columns * GSV_LANES * GSV_PARTS;
        GSV_FN(solve_small_trans)(corner, GSV_LANES, f);
    }
}
