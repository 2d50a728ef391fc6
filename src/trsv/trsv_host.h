/*
 * Template (instantiate_host.h, GSV_COLUMNS == 1): the pieces of a packed panel (panel_host.h) against one
 * vector.
 *
 *      solve        y = L1 \ y            the triangle of a block
 *      solve_trans  y = L1' \ y
 *      apply        u = u - L2 x          a rectangle
 *      apply_trans  y = y - L2' g         at most GSV_ROW_TILE of its rows at a time
 *
 * A vector register holds GSV_LANES rows. Every byte of L is loaded once, apply reads a rectangle from its
 * first byte to its last and apply_trans from the last to the first: a processor's own look-ahead follows one
 * stream, up or down, and it is all the look-ahead there is. (Prefetch instructions made it
 * worse, wherever they pointed: a processor drops them when it is busy, and the stream that they have touched
 * is none to its own look-ahead.) apply keeps a band's sums in registers. apply_trans keeps a column's
 * sums, one a lane, in a small array that stays in the first-level cache, and adds the lanes up at the end.
 *
 * Order of summation, the same in trsm_host.h. Forward: column after column. Backward: bands from the last to
 * the first; in them every GSV_LANES-th row is summed, one sum for each lane; and the lanes are added in
 * pairs, then pairs of pairs.
 */

#if GSV_COMPLEX
/* Interleaved numbers to two planes, and back. */
GSV_INLINE GSV_FN(num) GSV_FN(planes)(const GSV_FN(vec) * first, const GSV_FN(vec) * second) {
    const GSV_FN(vec) a = *first, b = *second;
    GSV_FN(num) v;
#if GSV_LANES == 4
    v.re = __builtin_shufflevector(a, b, 0, 2, 4, 6);
    v.im = __builtin_shufflevector(a, b, 1, 3, 5, 7);
#else
    v.re = __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14);
    v.im = __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15);
#endif
    return v;
}

GSV_INLINE void GSV_FN(interleave)(GSV_FN(num) v, GSV_FN(vec) * a, GSV_FN(vec) * b) {
#if GSV_LANES == 4
    *a = __builtin_shufflevector(v.re, v.im, 0, 4, 1, 5);
    *b = __builtin_shufflevector(v.re, v.im, 2, 6, 3, 7);
#else
    *a = __builtin_shufflevector(v.re, v.im, 0, 8, 1, 9, 2, 10, 3, 11);
    *b = __builtin_shufflevector(v.re, v.im, 4, 12, 5, 13, 6, 14, 7, 15);
#endif
}
#endif

/* GSV_LANES rows of a vector. */
GSV_INLINE GSV_FN(num) GSV_FN(load_rows)(const GSV_REAL *p) {
#if GSV_COMPLEX
    const GSV_FN(vec) a = GSV_FN(get)(p), b = GSV_FN(get)(p + GSV_LANES);
    return GSV_FN(planes)(&a, &b);
#else
    return GSV_FN(load)(p, 0);
#endif
}

GSV_INLINE void GSV_FN(store_rows)(GSV_REAL *p, GSV_FN(num) v) {
#if GSV_COMPLEX
    GSV_FN(vec) a, b;
    GSV_FN(interleave)(v, &a, &b);
    GSV_FN(put)(p, &a);
    GSV_FN(put)(p + GSV_LANES, &b);
#else
    GSV_FN(store)(p, 0, v);
#endif
}

/* The first `count` of GSV_LANES real numbers, 0 <= count <= GSV_LANES; the other lanes are zero. Not by way
 * of an array: a vector load would wait for its scalar stores. */
GSV_INLINE GSV_FN(vec) GSV_FN(get_some)(const GSV_REAL *p, int32_t count) {
#if GSV_VECTOR_BYTES >= 32 && GSV_LANES == 4
    return _mm256_maskload_pd(p, _mm256_loadu_si256((const __m256i *)(gsv_mask_double + 4 - count)));
#elif GSV_VECTOR_BYTES >= 32
    return _mm256_maskload_ps(p, _mm256_loadu_si256((const __m256i *)(gsv_mask_float + 8 - count)));
#else
    GSV_FN(vec) v = {0};
    for (int32_t i = 0; i < count; i++)
        v[i] = p[i];
    return v;
#endif
}

/* The same of a panel. */
GSV_INLINE GSV_FN(vec) GSV_FN(get_some_panel)(const GSV_PANEL *p, int32_t count) {
#if !GSV_MIXED
    return GSV_FN(get_some)(p, count);
#elif GSV_VECTOR_BYTES >= 32
    return _mm256_cvtps_pd(
        _mm_maskload_ps(p, _mm_loadu_si128((const __m128i *)(gsv_mask_float + 8 - count))));
#else
    GSV_FN(vec) v = {0};
    for (int32_t i = 0; i < count; i++)
        v[i] = (GSV_REAL)p[i];
    return v;
#endif
}

GSV_INLINE void GSV_FN(put_some)(GSV_REAL *p, int32_t count, const GSV_FN(vec) * v) {
#if GSV_VECTOR_BYTES >= 32 && GSV_LANES == 4
    _mm256_maskstore_pd(p, _mm256_loadu_si256((const __m256i *)(gsv_mask_double + 4 - count)), *v);
#elif GSV_VECTOR_BYTES >= 32
    _mm256_maskstore_ps(p, _mm256_loadu_si256((const __m256i *)(gsv_mask_float + 8 - count)), *v);
#else
    for (int32_t i = 0; i < count; i++)
        p[i] = (*v)[i];
#endif
}

/* The interleaved rows of a low strip, h < GSV_LANES; lanes that do not exist are zero. */
GSV_INLINE GSV_FN(num) GSV_FN(load_low)(const GSV_REAL *p, int32_t h) {
#if GSV_COMPLEX
    const int32_t second = 2 * h > GSV_LANES ? 2 * h - GSV_LANES : 0;
    const GSV_FN(vec) a = GSV_FN(get_some)(p, 2 * h - second), b = GSV_FN(get_some)(p + GSV_LANES, second);
    return GSV_FN(planes)(&a, &b);
#else
    GSV_FN(num) v;
    v.re = GSV_FN(get_some)(p, h);
    return v;
#endif
}

GSV_INLINE void GSV_FN(store_low)(GSV_REAL *p, int32_t h, GSV_FN(num) v) {
#if GSV_COMPLEX
    const int32_t second = 2 * h > GSV_LANES ? 2 * h - GSV_LANES : 0;
    GSV_FN(vec) a, b;
    GSV_FN(interleave)(v, &a, &b);
    GSV_FN(put_some)(p, 2 * h - second, &a);
    GSV_FN(put_some)(p + GSV_LANES, second, &b);
#else
    GSV_FN(put_some)(p, h, &v.re);
#endif
}

/* GSV_LANES rows (count of them, if fewer) from x(rows[0]), x(rows[1]), ... */
GSV_INLINE GSV_FN(num) GSV_FN(gather)(const GSV_REAL *x, const int32_t *rows, int32_t count) {
    GSV_FN(num) v = GSV_FN(zero)();
    for (int32_t i = 0; i < GSV_LANES; i++) {
        if (i >= count)
            break;
        v.re[i] = x[(int64_t)rows[i] * GSV_PARTS];
#if GSV_COMPLEX
        v.im[i] = x[(int64_t)rows[i] * GSV_PARTS + 1];
#endif
    }
    return v;
}

/* u - L x for `strips` full strips, the next one `stride` real numbers after the one before. */
GSV_INLINE void GSV_FN(apply_strips)(const int strips, const GSV_PANEL *l, int64_t stride,
                                     int64_t stride_growth, int32_t w, const GSV_REAL *x, GSV_REAL *u) {
    GSV_FN(num) acc[4];
    const GSV_PANEL *strip[4];
    for (int r = 0; r < strips; r++) {
        acc[r] = GSV_FN(load_rows)(u + r * GSV_PARTS * GSV_LANES);
        strip[r] = r ? strip[r - 1] + stride + (r - 1) * stride_growth : l;
    }
    for (int32_t k = 0; k < w; k++) {
        const GSV_FN(num) xk = GSV_FN(spread)(GSV_FN(load_scalar)(x + (int64_t)k * GSV_PARTS, 1));
        for (int r = 0; r < strips; r++)
            acc[r] = GSV_FN(minus_product)(
                acc[r], GSV_FN(load_panel)(strip[r] + (int64_t)k * GSV_PARTS * GSV_LANES, GSV_LANES), xk);
    }
    for (int r = 0; r < strips; r++)
        GSV_FN(store_rows)(u + r * GSV_PARTS * GSV_LANES, acc[r]);
}

/* u - L x for a band of h rows in `vectors` vectors, the last of which may be a part. */
GSV_INLINE void GSV_FN(apply_band)(const int vectors, const GSV_PANEL *l, int32_t h, int32_t w,
                                   const GSV_REAL *x, GSV_REAL *u, int fresh) {
    enum { ROW = GSV_PARTS * GSV_LANES };
    GSV_FN(num) acc[GSV_BAND_VECTORS];
    const int last = vectors - 1;
    for (int v = 0; v < vectors; v++)
        acc[v] = GSV_FN(zero)();
    if (!fresh) {
        for (int v = 0; v < last; v++)
            acc[v] = GSV_FN(load_rows)(u + v * ROW);
        acc[last] = GSV_FN(load_low)(u + last * ROW, h - last * GSV_LANES);
    }
    for (int32_t k = 0; k < w; k++, l += GSV_PARTS * h) {
        const GSV_FN(num) xk = GSV_FN(spread)(GSV_FN(load_scalar)(x + (int64_t)k * GSV_PARTS, 1));
        for (int v = 0; v < vectors; v++)
            acc[v] = GSV_FN(minus_product)(acc[v], GSV_FN(load_panel)(l + v * GSV_LANES, h), xk);
    }
    for (int v = 0; v < last; v++)
        GSV_FN(store_rows)(u + v * ROW, acc[v]);
    GSV_FN(store_low)(u + last * ROW, h - last * GSV_LANES, acc[last]);
}

/* u = u - L x, m rows, w columns; fresh: u is zero and not read. */
static void GSV_FN(apply)(const GSV_PANEL *l, int32_t m, int32_t w, const GSV_REAL *x, GSV_REAL *u,
                          int fresh) {
    enum { BAND = GSV_BAND_VECTORS * GSV_LANES };
    for (; m >= BAND; m -= BAND, l += (int64_t)w * GSV_PARTS * BAND, u += GSV_PARTS * BAND)
        GSV_FN(apply_band)(GSV_BAND_VECTORS, l, BAND, w, x, u, fresh);
    switch ((m + GSV_LANES - 1) / GSV_LANES) {
    case 0:
        break;
    case 1:
        GSV_FN(apply_band)(1, l, m, w, x, u, fresh);
        break;
    case 2:
        GSV_FN(apply_band)(2, l, m, w, x, u, fresh);
        break;
    case 3:
        GSV_FN(apply_band)(3, l, m, w, x, u, fresh);
        break;
    default:
        GSV_FN(apply_band)(4, l, m, w, x, u, fresh);
        break;
    }
}

/* Small triangle of order h, by rows: z(i) = y(i) - sum_{k < i} L(i, k) / L(k, k) z(k), y(i) = z(i) / L(i, i)
 */
GSV_INLINE void GSV_FN(solve_small)(const GSV_PANEL *l, int32_t h, GSV_REAL *y) {
    GSV_FN(scalar) z[GSV_LANES];
    for (int32_t i = 0; i < h; i++) {
        GSV_FN(scalar) acc = GSV_FN(load_scalar)(y + i * GSV_PARTS, 1);
        for (int32_t k = 0; k < i; k++)
            acc = GSV_FN(scalar_minus_product)(acc, GSV_FN(load_scalar_of_panel)(l + k * GSV_PARTS, 1), z[k]);
        l += i * GSV_PARTS;
        z[i] = acc;
        y[i * GSV_PARTS] = acc.re * (GSV_REAL)l[0];
#if GSV_COMPLEX
        y[i * GSV_PARTS + 1] = acc.im * (GSV_REAL)l[0];
#endif
        l += GSV_PARTS;
    }
}

/* The same for any order, one piece of code for each. */
GSV_INLINE void GSV_FN(solve_low)(const GSV_PANEL *l, int32_t h, GSV_REAL *y) {
    switch (h) {
    case 1:
        GSV_FN(solve_small)(l, 1, y);
        break;
    case 2:
        GSV_FN(solve_small)(l, 2, y);
        break;
    case 3:
        GSV_FN(solve_small)(l, 3, y);
        break;
#if GSV_LANES == 8
    case 4:
        GSV_FN(solve_small)(l, 4, y);
        break;
    case 5:
        GSV_FN(solve_small)(l, 5, y);
        break;
    case 6:
        GSV_FN(solve_small)(l, 6, y);
        break;
    default:
        GSV_FN(solve_small)(l, 7, y);
        break;
#endif
    }
}

/* Its transpose: y(i) = y(i) / L(i, i) - sum_{k > i} conj(L(k, i) / L(i, i)) y(k), k falling. Returns the
 * rows as a vector. */
GSV_INLINE GSV_FN(num) GSV_FN(solve_small_trans)(const GSV_PANEL *l, int32_t h, GSV_REAL *y) {
    GSV_FN(scalar) x[GSV_LANES];
    GSV_FN(num) all = GSV_FN(zero)();
    for (int32_t i = h - 1; i >= 0; i--) {
        const GSV_REAL reciprocal = (GSV_REAL)l[(i * (i + 1) / 2 + i) * GSV_PARTS];
        GSV_FN(scalar) acc = GSV_FN(load_scalar)(y + i * GSV_PARTS, 1);
        acc.re *= reciprocal;
#if GSV_COMPLEX
        acc.im *= reciprocal;
#endif
        for (int32_t k = h - 1; k > i; k--)
            acc = GSV_FN(scalar_minus_conj_product)(
                acc, GSV_FN(load_scalar_of_panel)(l + (k * (k + 1) / 2 + i) * GSV_PARTS, 1), x[k]);
        y[i * GSV_PARTS] = acc.re;
        all.re[i] = acc.re;
#if GSV_COMPLEX
        y[i * GSV_PARTS + 1] = acc.im;
        all.im[i] = acc.im;
#endif
        x[i] = acc;
    }
    return all;
}

/* The same for any order, one piece of code for each. */
GSV_INLINE GSV_FN(num) GSV_FN(solve_low_trans)(const GSV_PANEL *l, int32_t h, GSV_REAL *y) {
    switch (h) {
    case 1:
        return GSV_FN(solve_small_trans)(l, 1, y);
    case 2:
        return GSV_FN(solve_small_trans)(l, 2, y);
    case 3:
        return GSV_FN(solve_small_trans)(l, 3, y);
#if GSV_LANES == 8
    case 4:
        return GSV_FN(solve_small_trans)(l, 4, y);
    case 5:
        return GSV_FN(solve_small_trans)(l, 5, y);
    case 6:
        return GSV_FN(solve_small_trans)(l, 6, y);
    case 7:
        return GSV_FN(solve_small_trans)(l, 7, y);
#endif
    default:
        return GSV_FN(solve_small_trans)(l, GSV_LANES, y);
    }
}

/* Where strip r of a triangle starts, in real numbers: r lanes rows come before it. */
GSV_INLINE int64_t GSV_FN(strip_start)(int32_t r) {
    return GSV_PARTS * gsv_triangle_size((int64_t)r * GSV_LANES);
}

/* y = L1 \ y, w <= GSV_BLOCK columns. Four strips at a time take what lies to their left, then solve and pass
 * on. */
static void GSV_FN(solve)(const GSV_PANEL *l, int32_t w, GSV_REAL *y) {
    enum { ROW = GSV_PARTS * GSV_LANES };
    const int32_t full = w / GSV_LANES, low = w % GSV_LANES;
    const int64_t growth = (int64_t)GSV_PARTS * GSV_LANES * GSV_LANES;
    for (int32_t group = 0; group < full + (low > 0); group += 4) {
        const int32_t left = group * GSV_LANES;
        const int64_t stride = GSV_FN(strip_start)(group + 1) - GSV_FN(strip_start)(group);
        const int32_t last = group + 4 < full ? group + 4 : full;
        if (left > 0) {
            const GSV_PANEL *first = l + GSV_FN(strip_start)(group);
            GSV_REAL *f = y + group * ROW;
            if (last - group == 4)
                GSV_FN(apply_strips)(4, first, stride, growth, left, y, f);
            else
                for (int32_t r = group; r < last; r++)
                    GSV_FN(apply_strips)(1, l + GSV_FN(strip_start)(r), 0, 0, left, y, y + r * ROW);
        }
        for (int32_t r = group; r < last; r++) {
            const GSV_PANEL *strip = l + GSV_FN(strip_start)(r);
            const int32_t columns = r * GSV_LANES, near = columns - left;
            if (near > 0)
                GSV_FN(apply_strips)(1, strip + left * ROW, 0, 0, near, y + left * GSV_PARTS, y + r * ROW);
            GSV_FN(solve_small)(strip + (int64_t)columns * ROW, GSV_LANES, y + r * ROW);
        }
    }
    if (low) {
        const GSV_PANEL *strip = l + GSV_FN(strip_start)(full);
        if (full)
            GSV_FN(apply_band)(1, strip, low, full * GSV_LANES, y, y + full * ROW, 0);
        GSV_FN(solve_low)(strip + (int64_t)full * GSV_LANES * low * GSV_PARTS, low, y + full * ROW);
    }
}

/* Sum over the lanes of each of GSV_LANES vectors: ((0 + 1) + (2 + 3)) + ((4 + 5) + (6 + 7)). */
GSV_INLINE GSV_FN(vec) GSV_FN(sum_lanes)(const GSV_FN(vec) * a) {
    typedef GSV_FN(vec) vec;
#if GSV_LANES == 4
    const vec p0 =
        __builtin_shufflevector(a[0], a[1], 0, 4, 2, 6) + __builtin_shufflevector(a[0], a[1], 1, 5, 3, 7);
    const vec p1 =
        __builtin_shufflevector(a[2], a[3], 0, 4, 2, 6) + __builtin_shufflevector(a[2], a[3], 1, 5, 3, 7);
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
GSV_INLINE void GSV_FN(subtract_sums)(const GSV_FN(num) * sums, int32_t count, GSV_REAL *y) {
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

/* sums(k) += conj(L(band, k)) x for the h rows of a band in `vectors` vectors, k from w - 1 down to 0; rows
 * that do not exist are zero in x. fresh: the sums start at zero. */
GSV_INLINE void GSV_FN(sum_band)(const int vectors, const GSV_PANEL *l, int32_t h, int32_t w,
                                 const GSV_FN(num) * x, GSV_FN(num) * sums, int fresh) {
    l += (int64_t)w * GSV_PARTS * h;
    for (int32_t k = w - 1; k >= 0; k--) {
        l -= GSV_PARTS * h;
        GSV_FN(num) acc = fresh ? GSV_FN(zero)() : sums[k];
        for (int v = 0; v < vectors; v++)
            acc = GSV_FN(plus_conj_product)(acc, GSV_FN(load_panel)(l + v * GSV_LANES, h), x[v]);
        sums[k] = acc;
    }
}

/* A vector of `count` rows of x or of x(rows), from row i on. */
GSV_INLINE GSV_FN(num) GSV_FN(rows_of)(const GSV_REAL *x, const int32_t *rows, int32_t i, int32_t count) {
    if (rows)
        return GSV_FN(gather)(x, rows + i, count);
    return count < GSV_LANES ? GSV_FN(load_low)(x + (int64_t)i * GSV_PARTS, count)
                             : GSV_FN(load_rows)(x + (int64_t)i * GSV_PARTS);
}

/* The same for the band of rows [i, i + h). */
GSV_INLINE void GSV_FN(sum_rows)(const int vectors, const GSV_PANEL *l, int32_t h, int32_t w,
                                 const GSV_REAL *x, const int32_t *rows, int32_t i, GSV_FN(num) * sums,
                                 int fresh) {
    GSV_FN(num) g[GSV_BAND_VECTORS];
    const int last = vectors - 1;
    for (int v = 0; v < last; v++)
        g[v] = GSV_FN(rows_of)(x, rows, i + v * GSV_LANES, GSV_LANES);
    g[last] = GSV_FN(rows_of)(x, rows, i + last * GSV_LANES, h - last * GSV_LANES);
    GSV_FN(sum_band)(vectors, l, h, w, g, sums, fresh);
}

/* y = y - L' g, 1 <= m <= GSV_ROW_TILE rows, w <= GSV_BLOCK columns; g(i) is x(rows[i]), or x(i) where rows
 * is NULL. */
static void GSV_FN(apply_trans)(const GSV_PANEL *l, int32_t m, int32_t w, const GSV_REAL *x,
                                const int32_t *rows, GSV_REAL *y) {
    enum { BAND = GSV_BAND_VECTORS * GSV_LANES };
    GSV_FN(num) sums[GSV_BLOCK + GSV_LANES];
    const int32_t low = m % BAND;
    int32_t i = m - low;
    l += (int64_t)i * w * GSV_PARTS;
    switch ((low + GSV_LANES - 1) / GSV_LANES) {
    case 0:
        break;
    case 1:
        GSV_FN(sum_rows)(1, l, low, w, x, rows, i, sums, 1);
        break;
    case 2:
        GSV_FN(sum_rows)(2, l, low, w, x, rows, i, sums, 1);
        break;
    case 3:
        GSV_FN(sum_rows)(3, l, low, w, x, rows, i, sums, 1);
        break;
    default:
        GSV_FN(sum_rows)(4, l, low, w, x, rows, i, sums, 1);
        break;
    }
    if (!low) {
        i -= BAND;
        l -= (int64_t)BAND * w * GSV_PARTS;
        GSV_FN(sum_rows)(GSV_BAND_VECTORS, l, BAND, w, x, rows, i, sums, 1);
    }
    while (i > 0) {
        i -= BAND;
        l -= (int64_t)BAND * w * GSV_PARTS;
        GSV_FN(sum_rows)(GSV_BAND_VECTORS, l, BAND, w, x, rows, i, sums, 0);
    }
    for (int r = 0; r < GSV_LANES; r++) /* the columns that fill up the last group */
        sums[w + r] = GSV_FN(zero)();
    for (int32_t k = 0; k < w; k += GSV_LANES)
        GSV_FN(subtract_sums)(sums + k, w - k, y + k * GSV_PARTS);
}

/* y = L1' \ y, w <= GSV_BLOCK columns: strips from the bottom up, each passing its part on to all columns
 * before it. */
static void GSV_FN(solve_trans)(const GSV_PANEL *l, int32_t w, GSV_REAL *y) {
    enum { ROW = GSV_PARTS * GSV_LANES };
    GSV_FN(num) sums[GSV_BLOCK], x;
    const int32_t full = w / GSV_LANES, low = w % GSV_LANES;
    int fresh = 1;
    if (low) {
        const GSV_PANEL *strip = l + GSV_FN(strip_start)(full);
        const int32_t columns = full * GSV_LANES;
        x = GSV_FN(solve_low_trans)(strip + (int64_t)columns * low * GSV_PARTS, low, y + full * ROW);
        GSV_FN(sum_band)(1, strip, low, columns, &x, sums, 1);
        fresh = 0;
    }
    for (int32_t r = full - 1; r >= 0; r--) {
        const GSV_PANEL *strip = l + GSV_FN(strip_start)(r);
        const int32_t columns = r * GSV_LANES;
        if (!fresh)
            GSV_FN(subtract_sums)(sums + columns, GSV_LANES, y + r * ROW);
        x = GSV_FN(solve_small_trans)(strip + (int64_t)columns * ROW, GSV_LANES, y + r * ROW);
        GSV_FN(sum_band)(1, strip, GSV_LANES, columns, &x, sums, fresh);
        fresh = 0;
    }
}
