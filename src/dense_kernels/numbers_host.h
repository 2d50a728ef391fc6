/*
 * Template (instantiate_host.h): a vector of numbers, and the two products that every kernel is made of. A
 * complex vector is two planes. With one column a vector is GSV_LANES rows of a strip; with more it is
 * neighbouring columns of one row.
 *
 * A row of GSV_COLUMNS numbers is stored as GSV_COLUMNS real parts and, if complex, as many imaginary parts
 * after them.
 */
#define GSV_PARTS (1 + GSV_COMPLEX)       /* real numbers in a number */
#define GSV_ROW (GSV_PARTS * GSV_COLUMNS) /* real numbers in a row */
#define GSV_REAL_BYTES (32 / GSV_LANES)
#define GSV_INLINE static inline __attribute__((always_inline))

#if GSV_COLUMNS == 1
#define GSV_WIDTH GSV_LANES
#elif GSV_COLUMNS * GSV_REAL_BYTES < GSV_VECTOR_BYTES
#define GSV_WIDTH GSV_COLUMNS
#else
#define GSV_WIDTH (GSV_VECTOR_BYTES / GSV_REAL_BYTES)
#endif

/* Aligned for the instruction set: a strip's vector may be two of its registers. */
#if GSV_WIDTH * GSV_REAL_BYTES > GSV_VECTOR_BYTES
typedef GSV_REAL GSV_FN(vec)
    __attribute__((vector_size(GSV_WIDTH * GSV_REAL_BYTES), aligned(GSV_VECTOR_BYTES)));
#else
typedef GSV_REAL GSV_FN(vec) __attribute__((vector_size(GSV_WIDTH * GSV_REAL_BYTES)));
#endif
typedef GSV_REAL GSV_FN(unaligned)
    __attribute__((vector_size(GSV_WIDTH * GSV_REAL_BYTES), aligned(GSV_REAL_BYTES), may_alias));

#if GSV_MIXED
typedef GSV_PANEL GSV_FN(unaligned_panel)
    __attribute__((vector_size(GSV_WIDTH * sizeof(GSV_PANEL)), aligned(sizeof(GSV_PANEL)), may_alias));
#endif

typedef struct GSV_FN(num) {
    GSV_FN(vec) re;
#if GSV_COMPLEX
    GSV_FN(vec) im;
#endif
} GSV_FN(num);

/* One number for all lanes. */
typedef struct GSV_FN(scalar) {
    GSV_REAL re;
#if GSV_COMPLEX
    GSV_REAL im;
#endif
} GSV_FN(scalar);

GSV_INLINE GSV_FN(vec) GSV_FN(get)(const GSV_REAL *p) {
    return *(const GSV_FN(unaligned) *)p;
}

GSV_INLINE void GSV_FN(put)(GSV_REAL *p, const GSV_FN(vec) * v) {
    *(GSV_FN(unaligned) *)p = *v;
}

/* The same of a panel, whose numbers may have another precision. */
GSV_INLINE GSV_FN(vec) GSV_FN(get_panel)(const GSV_PANEL *p) {
#if !GSV_MIXED
    return GSV_FN(get)(p);
#elif GSV_VECTOR_BYTES >= 32 && GSV_WIDTH == 4
    return _mm256_cvtps_pd(_mm_loadu_ps(p));
#else
    return __builtin_convertvector(*(const GSV_FN(unaligned_panel) *)p, GSV_FN(vec));
#endif
}

/* The two planes lie `plane` apart. */
GSV_INLINE GSV_FN(num) GSV_FN(load)(const GSV_REAL *p, int plane) {
    GSV_FN(num) v;
    v.re = GSV_FN(get)(p);
#if GSV_COMPLEX
    v.im = GSV_FN(get)(p + plane);
#endif
    (void)plane;
    return v;
}

GSV_INLINE GSV_FN(num) GSV_FN(load_panel)(const GSV_PANEL *p, int plane) {
    GSV_FN(num) v;
    v.re = GSV_FN(get_panel)(p);
#if GSV_COMPLEX
    v.im = GSV_FN(get_panel)(p + plane);
#endif
    (void)plane;
    return v;
}

GSV_INLINE void GSV_FN(store)(GSV_REAL *p, int plane, GSV_FN(num) v) {
    GSV_FN(put)(p, &v.re);
#if GSV_COMPLEX
    GSV_FN(put)(p + plane, &v.im);
#endif
    (void)plane;
}

GSV_INLINE GSV_FN(scalar) GSV_FN(load_scalar)(const GSV_REAL *p, int plane) {
    GSV_FN(scalar) v;
    v.re = p[0];
#if GSV_COMPLEX
    v.im = p[plane];
#endif
    (void)plane;
    return v;
}

GSV_INLINE GSV_FN(scalar) GSV_FN(load_scalar_of_panel)(const GSV_PANEL *p, int plane) {
    GSV_FN(scalar) v;
    v.re = (GSV_REAL)p[0];
#if GSV_COMPLEX
    v.im = (GSV_REAL)p[plane];
#endif
    (void)plane;
    return v;
}

GSV_INLINE GSV_FN(num) GSV_FN(zero)(void) {
    const GSV_FN(vec) none = {0};
    GSV_FN(num) v;
    v.re = none;
#if GSV_COMPLEX
    v.im = none;
#endif
    return v;
}

GSV_INLINE GSV_FN(num) GSV_FN(add)(GSV_FN(num) a, GSV_FN(num) b) {
    a.re += b.re;
#if GSV_COMPLEX
    a.im += b.im;
#endif
    return a;
}

GSV_INLINE GSV_FN(num) GSV_FN(subtract)(GSV_FN(num) a, GSV_FN(num) b) {
    a.re -= b.re;
#if GSV_COMPLEX
    a.im -= b.im;
#endif
    return a;
}

/* The scalar in every lane. (a - 0 is a for every a, so no subtraction is made; 0 + a is not.) */
GSV_INLINE GSV_FN(num) GSV_FN(spread)(GSV_FN(scalar) a) {
    const GSV_FN(vec) none = {0};
    GSV_FN(num) v;
    v.re = a.re - none;
#if GSV_COMPLEX
    v.im = a.im - none;
#endif
    return v;
}

/* acc + a b of reals: as the vectors do it, below. */
GSV_INLINE GSV_REAL GSV_FN(plus_real)(GSV_REAL acc, GSV_REAL a, GSV_REAL b) {
#if GSV_VECTOR_BYTES < 32 && !defined(__FP_FAST_FMA)
    return acc + a * b;
#elif GSV_REAL_BYTES == 4
    return __builtin_fmaf(a, b, acc);
#else
    return __builtin_fma(a, b, acc);
#endif
}

/*
 * acc + a b and acc - a b, rounded once where the instruction set can. Said aloud: whether the compiler
 * contracts a product and a sum on its own depends on what surrounds them, and the bits must not.
 */
GSV_INLINE void GSV_FN(fuse_plus)(GSV_FN(vec) * acc, const GSV_FN(vec) * a, const GSV_FN(vec) * b) {
#if GSV_VECTOR_BYTES >= 32 && GSV_WIDTH == 16
    *acc = _mm512_fmadd_ps(*a, *b, *acc);
#elif GSV_VECTOR_BYTES >= 32 && GSV_WIDTH == 4
    *acc = _mm256_fmadd_pd(*a, *b, *acc);
#elif GSV_VECTOR_BYTES >= 32 && GSV_REAL_BYTES == 4
    *acc = _mm256_fmadd_ps(*a, *b, *acc);
#elif GSV_VECTOR_BYTES >= 32
    *acc = _mm512_fmadd_pd(*a, *b, *acc);
#elif !defined(__FP_FAST_FMA)
    *acc += *a * *b;
#else
    GSV_FN(vec) sum = *acc;
    for (int i = 0; i < GSV_WIDTH; i++)
        sum[i] = GSV_FN(plus_real)(sum[i], (*a)[i], (*b)[i]);
    *acc = sum;
#endif
}

GSV_INLINE void GSV_FN(fuse_minus)(GSV_FN(vec) * acc, const GSV_FN(vec) * a, const GSV_FN(vec) * b) {
#if GSV_VECTOR_BYTES >= 32 && GSV_WIDTH == 16
    *acc = _mm512_fnmadd_ps(*a, *b, *acc);
#elif GSV_VECTOR_BYTES >= 32 && GSV_WIDTH == 4
    *acc = _mm256_fnmadd_pd(*a, *b, *acc);
#elif GSV_VECTOR_BYTES >= 32 && GSV_REAL_BYTES == 4
    *acc = _mm256_fnmadd_ps(*a, *b, *acc);
#elif GSV_VECTOR_BYTES >= 32
    *acc = _mm512_fnmadd_pd(*a, *b, *acc);
#elif !defined(__FP_FAST_FMA)
    *acc -= *a * *b;
#else
    GSV_FN(vec) sum = *acc;
    for (int i = 0; i < GSV_WIDTH; i++)
        sum[i] = GSV_FN(plus_real)(sum[i], -(*a)[i], (*b)[i]);
    *acc = sum;
#endif
}

/* acc - l x. The order of the complex terms is the same for vectors and for scalars. */
GSV_INLINE GSV_FN(num) GSV_FN(minus_product)(GSV_FN(num) acc, GSV_FN(num) l, GSV_FN(num) x) {
    GSV_FN(fuse_minus)(&acc.re, &l.re, &x.re);
#if GSV_COMPLEX
    GSV_FN(fuse_plus)(&acc.re, &l.im, &x.im);
    GSV_FN(fuse_minus)(&acc.im, &l.re, &x.im);
    GSV_FN(fuse_minus)(&acc.im, &l.im, &x.re);
#endif
    return acc;
}

GSV_INLINE GSV_FN(scalar)
    GSV_FN(scalar_minus_product)(GSV_FN(scalar) acc, GSV_FN(scalar) l, GSV_FN(scalar) x) {
    acc.re = GSV_FN(plus_real)(acc.re, -l.re, x.re);
#if GSV_COMPLEX
    acc.re = GSV_FN(plus_real)(acc.re, l.im, x.im);
    acc.im = GSV_FN(plus_real)(acc.im, -l.re, x.im);
    acc.im = GSV_FN(plus_real)(acc.im, -l.im, x.re);
#endif
    return acc;
}

/* acc - conj(l) x */
GSV_INLINE GSV_FN(num) GSV_FN(minus_conj_product)(GSV_FN(num) acc, GSV_FN(num) l, GSV_FN(num) x) {
    GSV_FN(fuse_minus)(&acc.re, &l.re, &x.re);
#if GSV_COMPLEX
    GSV_FN(fuse_minus)(&acc.re, &l.im, &x.im);
    GSV_FN(fuse_minus)(&acc.im, &l.re, &x.im);
    GSV_FN(fuse_plus)(&acc.im, &l.im, &x.re);
#endif
    return acc;
}

GSV_INLINE GSV_FN(scalar)
    GSV_FN(scalar_minus_conj_product)(GSV_FN(scalar) acc, GSV_FN(scalar) l, GSV_FN(scalar) x) {
    acc.re = GSV_FN(plus_real)(acc.re, -l.re, x.re);
#if GSV_COMPLEX
    acc.re = GSV_FN(plus_real)(acc.re, -l.im, x.im);
    acc.im = GSV_FN(plus_real)(acc.im, -l.re, x.im);
    acc.im = GSV_FN(plus_real)(acc.im, l.im, x.re);
#endif
    return acc;
}

/* acc + l x */
GSV_INLINE GSV_FN(num) GSV_FN(plus_product)(GSV_FN(num) acc, GSV_FN(num) l, GSV_FN(num) x) {
    GSV_FN(fuse_plus)(&acc.re, &l.re, &x.re);
#if GSV_COMPLEX
    GSV_FN(fuse_minus)(&acc.re, &l.im, &x.im);
    GSV_FN(fuse_plus)(&acc.im, &l.re, &x.im);
    GSV_FN(fuse_plus)(&acc.im, &l.im, &x.re);
#endif
    return acc;
}

GSV_INLINE GSV_FN(scalar)
    GSV_FN(scalar_plus_product)(GSV_FN(scalar) acc, GSV_FN(scalar) l, GSV_FN(scalar) x) {
    acc.re = GSV_FN(plus_real)(acc.re, l.re, x.re);
#if GSV_COMPLEX
    acc.re = GSV_FN(plus_real)(acc.re, -l.im, x.im);
    acc.im = GSV_FN(plus_real)(acc.im, l.re, x.im);
    acc.im = GSV_FN(plus_real)(acc.im, l.im, x.re);
#endif
    return acc;
}

/* acc + conj(l) x */
GSV_INLINE GSV_FN(num) GSV_FN(plus_conj_product)(GSV_FN(num) acc, GSV_FN(num) l, GSV_FN(num) x) {
    GSV_FN(fuse_plus)(&acc.re, &l.re, &x.re);
#if GSV_COMPLEX
    GSV_FN(fuse_plus)(&acc.re, &l.im, &x.im);
    GSV_FN(fuse_plus)(&acc.im, &l.re, &x.im);
    GSV_FN(fuse_minus)(&acc.im, &l.im, &x.re);
#endif
    return acc;
}

GSV_INLINE GSV_FN(scalar)
    GSV_FN(scalar_plus_conj_product)(GSV_FN(scalar) acc, GSV_FN(scalar) l, GSV_FN(scalar) x) {
    acc.re = GSV_FN(plus_real)(acc.re, l.re, x.re);
#if GSV_COMPLEX
    acc.re = GSV_FN(plus_real)(acc.re, l.im, x.im);
    acc.im = GSV_FN(plus_real)(acc.im, l.re, x.im);
    acc.im = GSV_FN(plus_real)(acc.im, -l.im, x.re);
#endif
    return acc;
}
