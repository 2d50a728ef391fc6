/*
 * Template (dense_kernels/instantiate_host.h): a panel times vectors, one or eight. The panel is a trapezoid by columns, nr rows and nc columns, number (i, j) at
 * i + j nr; nothing above its diagonal is read. A row of the vectors is one of numbers_host.h. Every sum has the order of its terms, whatever GSV_COLUMNS is.
 */
#if GSV_COLUMNS <= 8
#include "../../../dense_kernels/numbers_host.h"

/* What a row's numbers are in registers, GSV_VECTORS of them; and how many rows' sums are under way together. */
#if GSV_COLUMNS == 1
#define GSV_VECTORS 1
#define GSV_ROWS_FIT (8 / GSV_PARTS)
typedef GSV_FN(scalar) GSV_FN(part);
#else
#define GSV_VECTORS (GSV_COLUMNS / GSV_WIDTH)
#define GSV_ROWS_FIT (GSV_VECTORS * GSV_PARTS < 8 ? 8 / (GSV_VECTORS * GSV_PARTS) : 1)
typedef GSV_FN(num) GSV_FN(part);
#endif

GSV_INLINE GSV_FN(part) GSV_FN(load_part)(const GSV_REAL *row, int p) {
#if GSV_COLUMNS == 1
    return GSV_FN(load_scalar)(row + p, 1);
#else
    return GSV_FN(load)(row + p * GSV_WIDTH, GSV_COLUMNS);
#endif
}

GSV_INLINE void GSV_FN(store_part)(GSV_REAL *row, int p, GSV_FN(part) of) {
#if GSV_COLUMNS == 1
    row[p] = of.re;
#if GSV_COMPLEX
    row[p + 1] = of.im;
#endif
#else
    GSV_FN(store)(row + p * GSV_WIDTH, GSV_COLUMNS, of);
#endif
}

/* sum + l x, or sum + conj(l) x */
GSV_INLINE GSV_FN(part) GSV_FN(plus)(int conjugate, GSV_FN(part) sum, GSV_FN(scalar) l, GSV_FN(part) x) {
#if GSV_COLUMNS == 1
    return conjugate ? GSV_FN(scalar_plus_conj_product)(sum, l, x) : GSV_FN(scalar_plus_product)(sum, l, x);
#else
    const GSV_FN(num) all = GSV_FN(spread)(l);
    return conjugate ? GSV_FN(plus_conj_product)(sum, all, x) : GSV_FN(plus_product)(sum, all, x);
#endif
}

/*
 * sums[r] for r = first .. rows - 1: row `at` + r of L times row `with` of the vectors, or its column, conjugated, if `transposed`.
 */
GSV_INLINE void GSV_FN(add_products)(const GSV_PANEL *panel, int64_t nr, int transposed, int64_t at,
                                     int first, int rows, int64_t with, const GSV_REAL *vectors,
                                     GSV_FN(part) (*sums)[GSV_VECTORS]) {
    for (int p = 0; p < GSV_VECTORS; p++) {
        const GSV_FN(part) x = GSV_FN(load_part)(vectors + with * GSV_ROW, p);
        for (int r = first; r < rows; r++) {
            const int64_t i = transposed ? with : at + r, j = transposed ? at + r : with;
            const GSV_FN(scalar) l = GSV_FN(load_scalar_of_panel)(panel + (i + j * nr) * GSV_PARTS, 1);
            sums[r][p] = GSV_FN(plus)(transposed, sums[r][p], l, x);
        }
    }
}

/* Rows `at` .. at + rows - 1 of L x, or of L' x if `transposed`. */
GSV_INLINE void GSV_FN(times_rows)(const GSV_PANEL *panel, int64_t nr, int64_t nc, int transposed, int64_t at,
                                   int rows, const GSV_REAL *x, GSV_REAL *y) {
    GSV_FN(part) sums[GSV_ROWS_FIT][GSV_VECTORS];
    memset(sums, 0, sizeof sums);
    if (transposed) { /* terms of row i, from the diagonal on */
        for (int r = 0; r < rows - 1; r++)
            GSV_FN(add_products)(panel, nr, 1, at, 0, r + 1, at + r, x, sums);
        for (int64_t i = at + rows - 1; i < nr; i++)
            GSV_FN(add_products)(panel, nr, 1, at, 0, rows, i, x, sums);
    } else { /* terms of column j, up to the diagonal */
        for (int64_t j = 0; j < nc && j <= at; j++)
            GSV_FN(add_products)(panel, nr, 0, at, 0, rows, j, x, sums);
        for (int r = 1; r < rows; r++)
            if (at + r < nc)
                GSV_FN(add_products)(panel, nr, 0, at, r, rows, at + r, x, sums);
    }
    for (int r = 0; r < rows; r++)
        for (int p = 0; p < GSV_VECTORS; p++)
            GSV_FN(store_part)(y + (at + r) * GSV_ROW, p, sums[r][p]);
}

GSV_INLINE void GSV_FN(times_all)(const GSV_PANEL *panel, int64_t nr, int64_t nc, int transposed,
                                  const GSV_REAL *x, GSV_REAL *y) {
    const int64_t rows = transposed ? nc : nr;
    int64_t at = 0;
    for (; at + GSV_ROWS_FIT <= rows; at += GSV_ROWS_FIT)
        GSV_FN(times_rows)(panel, nr, nc, transposed, at, GSV_ROWS_FIT, x, y);
    for (; at < rows; at++)
        GSV_FN(times_rows)(panel, nr, nc, transposed, at, 1, x, y);
}

/* f = [L1; L2] x: f [nr], x [nc]. */
static void GSV_FN(times_panel)(const void *panel, int64_t nr, int64_t nc, const double *x, double *f) {
    GSV_FN(times_all)(panel, nr, nc, 0, x, f);
}

/* y = [L1' L2'] f: f [nr], y [nc]. */
static void GSV_FN(times_transpose)(const void *panel, int64_t nr, int64_t nc, const double *f, double *y) {
    GSV_FN(times_all)(panel, nr, nc, 1, f, y);
}

static const gsv_host_times GSV_FN(times) = {GSV_FN(times_panel), GSV_FN(times_transpose)};

#endif
