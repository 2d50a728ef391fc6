/*
 * Template (instantiate_host.h, GSV_COLUMNS == 1): the pieces of a packed panel (panel_host.h) against one
 * vector.
 *
 *      solve        y = L1 \ y            the triangle of a block
 *      solve_trans  y = L1' \ y
 *      apply        u = u - L2 x          a rectangle
 *      apply_trans  y = y - L2' g         at most GSV_ROW_TILE of its rows at a time
 *
 * A vector register holds GSV_LANES rows of a strip. Every byte of L is loaded once. apply keeps four strips'
 * sums in registers: four independent chains hide the latency of the multiply-add. apply_trans keeps a
 * column's sums, one a lane, in a small array that stays in the first-level cache, passes over four strips at
 * a time and adds the lanes up at the end.
 *
 * Order of summation, the same in trsm_host.h. Forward: column after column. Backward: every GSV_LANES-th row
 * is summed, one sum for each lane, and the lanes are added in pairs, then pairs of pairs.
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

/* While four strips are read side by side, which the processor does not take for one stream, ask for the four
 * that follow in the order of memory: as many bytes as column k of the present ones. */
GSV_INLINE void GSV_FN(ask_next)(const GSV_REAL *next, int32_t k) {
    const char *p = (const char *)next + (int64_t)k * 4 * GSV_PARTS * GSV_STRIP_BYTES;
    for (int line = 0; line < 4 * GSV_PARTS * GSV_STRIP_BYTES; line += 64)
        __builtin_prefetch(p + line);
}

/* u - L x for `strips` full strips, the next one `stride` real numbers after the one before. */
GSV_INLINE void GSV_FN(apply_strips)(const int strips, const GSV_REAL *l, int64_t stride,
                                     int64_t stride_growth, int32_t w, const GSV_REAL *x, GSV_REAL *u,
                                     int fresh) {
    GSV_FN(num) acc[4];
    const GSV_REAL *strip[4];
    for (int r = 0; r < strips; r++) {
        acc[r] = fresh ? GSV_FN(zero)() : GSV_FN(load_rows)(u + r * GSV_PARTS * GSV_LANES);
        strip[r] = r ? strip[r - 1] + stride + (r - 1) * stride_growth : l;
    }
    for (int32_t k = 0; k < w; k++) {
        if (strips == 4)
            GSV_FN(ask_next)(l + 4 * stride, k);
        const GSV_FN(num) xk = GSV_FN(spread)(GSV_FN(load_scalar)(x + (int64_t)k * GSV_PARTS, 1));
        for (int r = 0; r < strips; r++)
            acc[r] = GSV_FN(minus_product)(
                acc[r], GSV_FN(load)(strip[r] + (int64_t)k * GSV_PARTS * GSV_LANES, GSV_LANES), xk);
    }
    for (int r = 0; r < strips; r++)
        GSV_FN(store_rows)(u + r * GSV_PARTS * GSV_LANES, acc[r]);
}

GSV_INLINE void GSV_FN(apply_low)(const GSV_REAL *l, int32_t h, int32_t w, const GSV_REAL *x, GSV_REAL *u,
                                  int fresh) {
    GSV_FN(num) acc = fresh ? GSV_FN(zero)() : GSV_FN(load_low)(u, h);
    for (int32_t k = 0; k < w; k++)
        acc = GSV_FN(minus_product)(acc, GSV_FN(load)(l + (int64_t)k * GSV_PARTS * h, h),
                                    GSV_FN(spread)(GSV_FN(load_scalar)(x + (int64_t)k * GSV_PARTS, 1)));
    GSV_FN(store_low)(u, h, acc);
}

/* u = u - L x, m rows, w columns; fresh: u is zero and not read. */
static void GSV_FN(apply)(const GSV_REAL *l, int32_t m, int32_t w, const GSV_REAL *x, GSV_REAL *u,
                          int fresh) {
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
GSV_INLINE void GSV_FN(solve_small)(const GSV_REAL *l, int32_t h, GSV_REAL *y) {
    GSV_FN(scalar) x[GSV_LANES];
    for (int32_t i = 0; i < h; i++) {
        GSV_FN(scalar) acc = GSV_FN(load_scalar)(y + i * GSV_PARTS, 1);
        for (int32_t k = 0; k < i; k++)
            acc = GSV_FN(scalar_minus_product)(acc, GSV_FN(load_scalar)(l + k * GSV_PARTS, 1), x[k]);
        l += i * GSV_PARTS;
        acc.re *= l[0];
        y[i * GSV_PARTS] = acc.re;
#if GSV_COMPLEX
        acc.im *= l[0];
        y[i * GSV_PARTS + 1] = acc.im;
#endif
        x[i] = acc;
        l += GSV_PARTS;
    }
}

/* The same for any order, one piece of code for each. */
GSV_INLINE void GSV_FN(solve_low)(const GSV_REAL *l, int32_t h, GSV_REAL *y) {
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

/* Its transpose: y(i) = (y(i) - sum_{k > i} conj(L(k, i)) y(k)) / L(i, i), k falling. Returns the rows as a
 * vector. */
GSV_INLINE GSV_FN(num) GSV_FN(solve_small_trans)(const GSV_REAL *l, int32_t h, GSV_REAL *y) {
    GSV_FN(scalar) x[GSV_LANES];
    GSV_FN(num) all = GSV_FN(zero)();
    for (int32_t i = h - 1; i >= 0; i--) {
        GSV_FN(scalar) acc = GSV_FN(load_scalar)(y + i * GSV_PARTS, 1);
        for (int32_t k = h - 1; k > i; k--)
            acc = GSV_FN(scalar_minus_conj_product)(
                acc, GSV_FN(load_scalar)(l + (k * (k + 1) / 2 + i) * GSV_PARTS, 1), x[k]);
        const GSV_REAL reciprocal = l[(i * (i + 1) / 2 + i) * GSV_PARTS];
        acc.re *= reciprocal;
        y[i * GSV_PARTS] = acc.re;
        all.re[i] = acc.re;
#if GSV_COMPLEX
        acc.im *= reciprocal;
        y[i * GSV_PARTS + 1] = acc.im;
        all.im[i] = acc.im;
#endif
        x[i] = acc;
    }
    return all;
}

/* The same for any order, one piece of code for each. */
GSV_INLINE GSV_FN(num) GSV_FN(solve_low_trans)(const GSV_REAL *l, int32_t h, GSV_REAL *y) {
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
static void GSV_FN(solve)(const GSV_REAL *l, int32_t w, GSV_REAL *y) {
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
            const int32_t columns = r * GSV_LANES, near = columns - left;
            if (near > 0)
                GSV_FN(apply_strips)(1, strip + left * ROW, 0, 0, near, y + left * GSV_PARTS, y + r * ROW, 0);
            GSV_FN(solve_small)(strip + (int64_t)columns * ROW, GSV_LANES, y + r * ROW);
        }
    }
    if (low) {
        const GSV_REAL *strip = l + GSV_FN(strip_start)(full);
        if (full)
            GSV_FN(apply_low)(strip, low, full * GSV_LANES, y, y + full * ROW, 0);
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

/* sums(k) += conj(L(strip, k)) x over `strips` full strips, for k < w; fresh: the sums start at zero. */
GSV_INLINE void GSV_FN(sum_strips)(const int strips, const GSV_REAL *l, int64_t stride, int32_t w,
                                   const GSV_FN(num) * x, GSV_FN(num) * sums, int fresh) {
    for (int32_t k = 0; k < w; k++) {
        if (strips == 4)
            GSV_FN(ask_next)(l + 4 * stride, k);
        GSV_FN(num) acc = fresh ? GSV_FN(zero)() : sums[k];
        for (int r = 0; r < strips; r++)
            acc = GSV_FN(plus_conj_product)(
                acc, GSV_FN(load)(l + r * stride + (int64_t)k * GSV_PARTS * GSV_LANES, GSV_LANES), x[r]);
        sums[k] = acc;
    }
}

GSV_INLINE void GSV_FN(sum_low)(const GSV_REAL *l, int32_t h, int32_t w, GSV_FN(num) x, GSV_FN(num) * sums,
                                int fresh) {
    for (int32_t k = 0; k < w; k++)
        sums[k] = GSV_FN(plus_conj_product)(fresh ? GSV_FN(zero)() : sums[k],
                                            GSV_FN(load)(l + (int64_t)k * GSV_PARTS * h, h), x);
}

GSV_INLINE GSV_FN(num) GSV_FN(strip_of)(const GSV_REAL *x, const int32_t *rows, int32_t i) {
    return rows ? GSV_FN(gather)(x, rows + i, GSV_LANES) : GSV_FN(load_rows)(x + (int64_t)i * GSV_PARTS);
}

/* y = y - L' g, 1 <= m <= GSV_ROW_TILE rows, w <= GSV_BLOCK columns; g(i) is x(rows[i]), or x(i) where rows
 * is NULL. */
static void GSV_FN(apply_trans)(const GSV_REAL *l, int32_t m, int32_t w, const GSV_REAL *x,
                                const int32_t *rows, GSV_REAL *y) {
    enum { ROW = GSV_PARTS * GSV_LANES };
    GSV_FN(num) sums[GSV_BLOCK + GSV_LANES], g[4];
    const int64_t stride = (int64_t)w * ROW;
    const int32_t low = m % GSV_LANES, full = m - low;
    int32_t i = 0;
    for (; i + 4 * GSV_LANES <= full; i += 4 * GSV_LANES, l += 4 * stride) {
        for (int r = 0; r < 4; r++)
            g[r] = GSV_FN(strip_of)(x, rows, i + r * GSV_LANES);
        GSV_FN(sum_strips)(4, l, stride, w, g, sums, i == 0);
    }
    for (; i < full; i += GSV_LANES, l += stride) {
        g[0] = GSV_FN(strip_of)(x, rows, i);
        GSV_FN(sum_strips)(1, l, stride, w, g, sums, i == 0);
    }
    if (low) {
        g[0] = rows ? GSV_FN(gather)(x, rows + i, low) : GSV_FN(load_low)(x + (int64_t)i * GSV_PARTS, low);
        GSV_FN(sum_low)(l, low, w, g[0], sums, i == 0);
    }
    for (int r = 0; r < GSV_LANES; r++) /* the columns that fill up the last group */
        sums[w + r] = GSV_FN(zero)();
    for (int32_t k = 0; k < w; k += GSV_LANES)
        GSV_FN(subtract_sums)(sums + k, w - k, y + k * GSV_PARTS);
}

/* y = L1' \ y, w <= GSV_BLOCK columns: strips from the bottom up, each passing its part on to all columns
 * before it. */
static void GSV_FN(solve_trans)(const GSV_REAL *l, int32_t w, GSV_REAL *y) {
    enum { ROW = GSV_PARTS * GSV_LANES };
    GSV_FN(num) sums[GSV_BLOCK], x;
    const int32_t full = w / GSV_LANES, low = w % GSV_LANES;
    int fresh = 1;
    if (low) {
        const GSV_REAL *strip = l + GSV_FN(strip_start)(full);
        const int32_t columns = full * GSV_LANES;
        x = GSV_FN(solve_low_trans)(strip + (int64_t)columns * low * GSV_PARTS, low, y + full * ROW);
        GSV_FN(sum_low)(strip, low, columns, x, sums, 1);
        fresh = 0;
    }
    for (int32_t r = full - 1; r >= 0; r--) {
        const GSV_REAL *strip = l + GSV_FN(strip_start)(r);
        const int32_t columns = r * GSV_LANES;
        if (!fresh)
            GSV_FN(subtract_sums)(sums + columns, GSV_LANES, y + r * ROW);
        x = GSV_FN(solve_small_trans)(strip + (int64_t)columns * ROW, GSV_LANES, y + r * ROW);
        GSV_FN(sum_strips)(1, strip, 0, columns, &x, sums, fresh);
        fresh = 0;
    }
}
