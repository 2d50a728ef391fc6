/*
 * Template (instantiate_host.h, GSV_COLUMNS == 1): the pieces of a packed panel (panel_host.h) against one vector.
 *
 *      solve        y = L1 \ y            the triangle of a block
 *      solve_trans  y = L1' \ y
 *      apply        u = u - L2 x          a rectangle
 *      apply_trans  y = y - L2' g         at most GSV_TILE of its rows at a time
 *
 * A vector register holds GSV_LANES rows of a strip. Every byte of L is loaded once. apply keeps four strips' sums in
 * registers: four independent chains hide the latency of the multiply-add. apply_trans keeps a column's sums, one a
 * lane, in a small array that stays in the first-level cache, passes over four strips at a time and adds the lanes up
 * at the end.
 *
 * Order of summation, the same in trsm_host.h: forward, column after column; backward, lane p sums rows p, p + lanes,
 * p + 2 lanes, ... and the lanes are added in pairs, then pairs of pairs.
 */

/* An interleaved vector: planes of GSV_LANES rows from memory and back. */
GSV_INLINE GSV_FN(num) GSV_FN(load_rows)(const GSV_REAL *p)
{
#if GSV_COMPLEX
    const GSV_FN(vec) a = GSV_FN(get)(p), b = GSV_FN(get)(p + GSV_LANES);
    GSV_FN(num) v;
#if GSV_LANES == 4
    v.re = __builtin_shufflevector(a, b, 0, 2, 4, 6);
    v.im = __builtin_shufflevector(a, b, 1, 3, 5, 7);
#else
    v.re = __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14);
    v.im = __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15);
#endif
    return v;
#else
    return GSV_FN(load)(p, 0);
#endif
}

GSV_INLINE void GSV_FN(store_rows)(GSV_REAL *p, GSV_FN(num) v)
{
#if GSV_COMPLEX
#if GSV_LANES == 4
    const GSV_FN(vec) a = __builtin_shufflevector(v.re, v.im, 0, 4, 1, 5);
    const GSV_FN(vec) b = __builtin_shufflevector(v.re, v.im, 2, 6, 3, 7);
#else
    const GSV_FN(vec) a = __builtin_shufflevector(v.re, v.im, 0, 8, 1, 9, 2, 10, 3, 11);
    const GSV_FN(vec) b = __builtin_shufflevector(v.re, v.im, 4, 12, 5, 13, 6, 14, 7, 15);
#endif
    GSV_FN(put)(p, &a);
    GSV_FN(put)(p + GSV_LANES, &b);
#else
    GSV_FN(store)(p, 0, v);
#endif
}

/* The same of a low strip's h < GSV_LANES rows; lanes that do not exist are zero. */
GSV_INLINE GSV_FN(num) GSV_FN(load_low)(const GSV_REAL *p, int32_t h)
{
    GSV_REAL rows[GSV_PARTS * GSV_LANES] = {0};
    for (int32_t i = 0; i < GSV_PARTS * h; i++)
        rows[i] = p[i];
    return GSV_FN(load_rows)(rows);
}

GSV_INLINE void GSV_FN(store_low)(GSV_REAL *p, int32_t h, GSV_FN(num) v)
{
    GSV_REAL rows[GSV_PARTS * GSV_LANES];
    GSV_FN(store_rows)(rows, v);
    for (int32_t i = 0; i < GSV_PARTS * h; i++)
        p[i] = rows[i];
}

/* u - L x for `strips` full strips, the next one `stride` real numbers after the one before. */
GSV_INLINE void GSV_FN(apply_strips)(const int strips, const GSV_REAL *l, int64_t stride, int64_t stride_growth,
                                     int32_t w, const GSV_REAL *x, GSV_REAL *u, int fresh)
{
    GSV_FN(num) acc[4];
    const GSV_REAL *strip[4];
    for (int r = 0; r < strips; r++) {
        acc[r] = fresh ? GSV_FN(zero)() : GSV_FN(load_rows)(u + r * GSV_PARTS * GSV_LANES);
        strip[r] = r ? strip[r - 1] + stride + (r - 1) * stride_growth : l;
    }
    for (int32_t k = 0; k < w; k++) {
        const GSV_FN(num) xk = GSV_FN(spread)(GSV_FN(load_scalar)(x + (int64_t)k * GSV_PARTS, 1));
        for (int r = 0; r < strips; r++)
            acc[r] = GSV_FN(minus_product)(
                acc[r], GSV_FN(load)(strip[r] + (int64_t)k * GSV_PARTS * GSV_LANES, GSV_LANES), xk);
    }
    for (int r = 0; r < strips; r++)
        GSV_FN(store_rows)(u + r * GSV_PARTS * GSV_LANES, acc[r]);
}

GSV_INLINE void GSV_FN(apply_low)(const GSV_REAL *l, int32_t h, int32_t w, const GSV_REAL *x, GSV_REAL *u, int fresh)
{
    GSV_FN(num) acc = fresh ? GSV_FN(zero)() : GSV_FN(load_low)(u, h);
    for (int32_t k = 0; k < w; k++)
        acc = GSV_FN(minus_product)(
            acc, GSV_FN(load)(l + (int64_t)k * GSV_PARTS * h, h),
            GSV_FN(spread)(GSV_FN(load_scalar)(x + (int64_t)k * GSV_PARTS, 1)));
    GSV_FN(store_low)(u, h, acc);
}

/* u = u - L x, m rows, w columns; fresh: u is zero and not read. */
static void GSV_FN(apply)(const GSV_REAL *l, int32_t m, int32_t w, const GSV_REAL *x, GSV_REAL *u, int fresh)
{
    const int64_t stride = (int64_t)w * GSV_PARTS * GSV_LANES;
    int32_t strips = m / GSV_LANES;
    for (; strips >= 4; strips -= 4, l += 4 * stride, u += 4 * GSV_PARTS * GSV_LANES)
        GSV_FN(apply_strips)(4, l, stride, 0, w, x, u, fresh);
    if (strips & 2) {
        GSV_FN(apply_strips)(2, l, stride, 0, w, x, u, fresh);
        l += 2 * stride;
        u += 2 * GSV_PARTS * GSV_LANES;
    }
    if (strips & 1) {
        GSV_FN(apply_strips)(1, l, stride, 0, w, x, u, fresh);
        l += stride;
        u += GSV_PARTS * GSV_LANES;
    }
    if (m % GSV_LANES)
        GSV_FN(apply_low)(l, m % GSV_LANES, w, x, u, fresh);
}

/* Small triangle of order h, by rows: y(i) = (y(i) - sum_{k < i} L(i, k) y(k)) / L(i, i) */
GSV_INLINE void GSV_FN(solve_small)(const GSV_REAL *l, int32_t h, GSV_REAL *y)
{
    for (int32_t i = 0; i < h; i++) {
        GSV_FN(scalar) acc = GSV_FN(load_scalar)(y + i * GSV_PARTS, 1);
        for (int32_t k = 0; k < i; k++)
            acc = GSV_FN(scalar_minus_product)(acc, GSV_FN(load_scalar)(l + k * GSV_PARTS, 1),
                                               GSV_FN(load_scalar)(y + k * GSV_PARTS, 1));
        l += i * GSV_PARTS;
        y[i * GSV_PARTS] = acc.re * l[0];
#if GSV_COMPLEX
        y[i * GSV_PARTS + 1] = acc.im * l[0];
#endif
        l += GSV_PARTS;
    }
}

/* Its transpose: y(i) = (y(i) - sum_{k > i} conj(L(k, i)) y(k)) / L(i, i), k falling */
GSV_INLINE void GSV_FN(solve_small_trans)(const GSV_REAL *l, int32_t h, GSV_REAL *y)
{
    for (int32_t i = h - 1; i >= 0; i--) {
        GSV_FN(scalar) acc = GSV_FN(load_scalar)(y + i * GSV_PARTS, 1);
        for (int32_t k = h - 1; k > i; k--)
            acc = GSV_FN(scalar_minus_conj_product)(
                acc, GSV_FN(load_scalar)(l + (k * (k + 1) / 2 + i) * GSV_PARTS, 1),
                GSV_FN(load_scalar)(y + k * GSV_PARTS, 1));
        const GSV_REAL reciprocal = l[(i * (i + 1) / 2 + i) * GSV_PARTS];
        y[i * GSV_PARTS] = acc.re * reciprocal;
#if GSV_COMPLEX
        y[i * GSV_PARTS + 1] = acc.im * reciprocal;
#endif
    }
}

/* Where strip r of a triangle starts, in real numbers: r lanes rows come before it. */
GSV_INLINE int64_t GSV_FN(strip_start)(int32_t r)
{
    return GSV_PARTS * gsv_triangle_size((int64_t)r * GSV_LANES);
}

/* y = L1 \ y, w <= GSV_BLOCK columns. Four strips at a time take what lies to their left, then solve and pass on. */
static void GSV_FN(solve)(const GSV_REAL *l, int32_t w, GSV_REAL *y)
{
    enum { ROW = GSV_PARTS * GSV_LANES };
    const int32_t full = w / GSV_LANES, low = w % GSV_LANES;
    const int64_t growth = (int64_t)GSV_PARTS * GSV_LANES * GSV_LANES;
    for (int32_t group = 0; group < full + (low > 0); group += 4) {
        const int32_t left = group * GSV_LANES;
        const int64_t stride = GSV_FN(strip_start)(group + 1) - GSV_FN(strip_start)(group);
        const int32_t last = group + 4 < full ? group + 4 : full;
        if (left > 0) {
            const GSV_REAL *first = l + GSV_FN(strip_start)(group);
            GSV_REAL *f = y + group * ROW;
            if (last - group == 4)
                GSV_FN(apply_strips)(4, first, stride, growth, left, y, f, 0);
            else
                for (int32_t r = group; r < last; r++)
                    GSV_FN(apply_strips)(1, l + GSV_FN(strip_start)(r), 0, 0, left, y, y + r * ROW, 0);
        }
        for (int32_t r = group; r < last; r++) {
            const GSV_REAL *strip = l + GSV_FN(strip_start)(r);
            const int32_t columns = r * GSV_LANES;
            if (r > group)
                GSV_FN(apply_strips)(1, strip + (int64_t)left * ROW, 0, 0, columns - left, y + (int64_t)left * GSV_PARTS,
                                     y + r * ROW, 0);
            GSV_FN(solve_small)(strip + (int64_t)columns * ROW, GSV_LANES, y + r * ROW);
        }
    }
    if (low) {
        const GSV_REAL *strip = l + GSV_FN(strip_start)(full);
        if (full)
            GSV_FN(apply_low)(strip, low, full * GSV_LANES, y, y + full * ROW, 0);
        GSV_FN(solve_small)(strip + (int64_t)full * GSV_LANES * low * GSV_PARTS, low, y + full * ROW);
    }
}

/* Sum over the lanes of each of GSV_LANES vectors: ((0 + 1) + (2 + 3)) + ((4 + 5) + (6 + 7)). */
GSV_INLINE GSV_FN(vec) GSV_FN(sum_lanes)(const GSV_FN(vec) *a)
{
    typedef GSV_FN(vec) vec;
#if GSV_LANES == 4
    const vec p0 = __builtin_shufflevector(a[0], a[1], 0, 4, 2, 6) + __builtin_shufflevector(a[0], a[1], 1, 5, 3, 7);
    const vec p1 = __builtin_shufflevector(a[2], a[3], 0, 4, 2, 6) + __builtin_shufflevector(a[2], a[3], 1, 5, 3, 7);
    return __builtin_shufflevector(p0, p1, 0, 1, 4, 5) + __builtin_shufflevector(p0, p1, 2, 3, 6, 7);
#else
    vec p[4], q[2];
    for (int i = 0; i < 4; i++)
        p[i] = __builtin_shufflevector(a[2 * i], a[2 * i + 1], 0, 8, 2, 10, 4, 12, 6, 14) +
               __builtin_shufflevector(a[2 * i], a[2 * i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
    for (int i = 0; i < 2; i++)
        q[i] = __builtin_shufflevector(p[2 * i], p[2 * i + 1], 0, 1, 8, 9, 4, 5, 12, 13) +
               __builtin_shufflevector(p[2 * i], p[2 * i + 1], 2, 3, 10, 11, 6, 7, 14, 15);
    return __builtin_shufflevector(q[0], q[1], 0, 1, 2, 3, 8, 9, 10, 11) +
           __builtin_shufflevector(q[0], q[1], 4, 5, 6, 7, 12, 13, 14, 15);
#endif
}

/* y(0 .. count - 1) -= the sums over the lanes of sums[0 .. count - 1]; sums has GSV_LANES valid entries. */
GSV_INLINE void GSV_FN(subtract_sums)(const GSV_FN(num) *sums, int32_t count, GSV_REAL *y)
{
    GSV_FN(vec) part[GSV_LANES];
    GSV_FN(num) total;
    for (int i = 0; i < GSV_LANES; i++)
        part[i] = sums[i].re;
    total.re = GSV_FN(sum_lanes)(part);
#if GSV_COMPLEX
    for (int i = 0; i < GSV_LANES; i++)
        part[i] = sums[i].im;
    total.im = GSV_FN(sum_lanes)(part);
#endif
    if (count >= GSV_LANES)
        GSV_FN(store_rows)(y, GSV_FN(subtract)(GSV_FN(load_rows)(y), total));
    else
        GSV_FN(store_low)(y, count, GSV_FN(subtract)(GSV_FN(load_low)(y, count), total));
}

/* sums(k) += conj(L(strip, k)) x over `strips` full strips, for k < w; fresh: the sums start at zero. */
GSV_INLINE void GSV_FN(sum_strips)(const int strips, const GSV_REAL *l, int64_t stride, int32_t w,
                                   const GSV_FN(num) *x, GSV_FN(num) *sums, int fresh)
{
    for (int32_t k = 0; k < w; k++) {
        GSV_FN(num) acc = fresh ? GSV_FN(zero)() : sums[k];
        for (int r = 0; r < strips; r++)
            acc = GSV_FN(plus_conj_product)(
                acc, GSV_FN(load)(l + r * stride + (int64_t)k * GSV_PARTS * GSV_LANES, GSV_LANES), x[r]);
        sums[k] = acc;
    }
}

GSV_INLINE void GSV_FN(sum_low)(const GSV_REAL *l, int32_t h, int32_t w, GSV_FN(num) x, GSV_FN(num) *sums, int fresh)
{
    for (int32_t k = 0; k < w; k++)
        sums[k] = GSV_FN(plus_conj_product)(fresh ? GSV_FN(zero)() : sums[k],
                                            GSV_FN(load)(l + (int64_t)k * GSV_PARTS * h, h), x);
}

/* y = y - L' g, m <= GSV_TILE rows, w <= GSV_BLOCK columns. */
static void GSV_FN(apply_trans)(const GSV_REAL *l, int32_t m, int32_t w, const GSV_REAL *g, GSV_REAL *y)
{
    enum { ROW = GSV_PARTS * GSV_LANES };
    GSV_FN(num) sums[GSV_BLOCK + GSV_LANES], x[4];
    const int64_t stride = (int64_t)w * ROW;
    const int32_t full = m / GSV_LANES, low = m % GSV_LANES;
    int32_t strip = 0;
    for (; strip + 4 <= full; strip += 4) {
        for (int r = 0; r < 4; r++)
            x[r] = GSV_FN(load_rows)(g + (strip + r) * ROW);
        GSV_FN(sum_strips)(4, l + strip * stride, stride, w, x, sums, strip == 0);
    }
    for (; strip < full; strip++) {
        x[0] = GSV_FN(load_rows)(g + strip * ROW);
        GSV_FN(sum_strips)(1, l + strip * stride, stride, w, x, sums, strip == 0);
    }
    if (low)
        GSV_FN(sum_low)(l + strip * stride, low, w, GSV_FN(load_low)(g + strip * ROW, low), sums, strip == 0);
    for (int i = 0; i < GSV_LANES; i++) /* the columns that fill up the last group */
        sums[w + i] = GSV_FN(zero)();
    for (int32_t k = 0; k < w; k += GSV_LANES)
        GSV_FN(subtract_sums)(sums + k, w - k, y + k * GSV_PARTS);
}

/* y = L1' \ y, w <= GSV_BLOCK columns: strips from the bottom up, each passing its part on to all columns before it. */
static void GSV_FN(solve_trans)(const GSV_REAL *l, int32_t w, GSV_REAL *y)
{
    enum { ROW = GSV_PARTS * GSV_LANES };
    GSV_FN(num) sums[GSV_BLOCK], x;
    const int32_t full = w / GSV_LANES, low = w % GSV_LANES;
    int fresh = 1;
    if (low) {
        const GSV_REAL *strip = l + GSV_FN(strip_start)(full);
        const int32_t columns = full * GSV_LANES;
        GSV_FN(solve_small_trans)(strip + (int64_t)columns * low * GSV_PARTS, low, y + full * ROW);
        if (full) {
            x = GSV_FN(load_low)(y + full * ROW, low);
            GSV_FN(sum_low)(strip, low, columns, x, sums, 1);
        }
        fresh = 0;
    }
    for (int32_t r = full - 1; r >= 0; r--) {
        const GSV_REAL *strip = l + GSV_FN(strip_start)(r);
        const int32_t columns = r * GSV_LANES;
        if (!fresh)
            GSV_FN(subtract_sums)(sums + columns, GSV_LANES, y + r * ROW);
        GSV_FN(solve_small_trans)(strip + (int64_t)columns * ROW, GSV_LANES, y + r * ROW);
        x = GSV_FN(load_rows)(y + r * ROW);
        GSV_FN(sum_strips)(1, strip, 0, columns, &x, sums, fresh);
        fresh = 0;
    }
}
