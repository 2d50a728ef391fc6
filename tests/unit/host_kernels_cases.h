/*
 * Template (instantiate_host.h): run the host kernels of one instance on a packed block and hand out what
 * they made of all 32 columns, so that instances can be compared bit by bit.
 */
#include "../../src/dense_kernels/numbers_host.h"
#if GSV_COLUMNS == 1
#include "../../src/trsv/trsv_host.h"
#else
#include "../../src/trsm/host/trsm_host.h"
#endif

/* Columns first .. of rows [0, m) of a row-major array of interleaved numbers, as the kernels want them, and
 * back. */
static void GSV_FN(take)(const GSV_REAL *all, int m, int first, GSV_REAL *y) {
    for (int i = 0; i < m; i++)
        for (int c = 0; c < GSV_COLUMNS; c++)
            for (int part = 0; part < GSV_PARTS; part++)
                y[i * GSV_ROW + part * GSV_COLUMNS + c] =
                    all[(i * GSV_MAX_COLUMNS + first + c) * GSV_PARTS + part];
}

static void GSV_FN(give)(const GSV_REAL *y, int m, int first, GSV_REAL *all) {
    for (int i = 0; i < m; i++)
        for (int c = 0; c < GSV_COLUMNS; c++)
            for (int part = 0; part < GSV_PARTS; part++)
                all[(i * GSV_MAX_COLUMNS + first + c) * GSV_PARTS + part] =
                    y[i * GSV_ROW + part * GSV_COLUMNS + c];
}

/* results[0 .. 5]: solve, solve_trans, apply, apply to nothing, apply_trans, apply_trans of scattered rows.
 */
static void GSV_FN(kernels)(const void *block, int w, int m, const void *y_in, const void *u_in,
                            const int32_t *rows, void *const *results) {
    enum { GUARD = 3 }; /* rows behind the last one that must stay as they are */
    const GSV_REAL *triangle = block, *below = triangle + GSV_PARTS * gsv_triangle_size(w);
    GSV_REAL y[(GSV_BLOCK + GUARD) * GSV_ROW], u[(GSV_ROW_TILE + GUARD) * GSV_ROW], x[GSV_BLOCK * GSV_ROW];
    for (int first = 0; first < GSV_MAX_COLUMNS; first += GSV_COLUMNS) {
        for (int op = 0; op < (m > 0 ? 6 : 4); op++) {
            for (int i = 0; i < GUARD * GSV_ROW; i++)
                y[w * GSV_ROW + i] = u[m * GSV_ROW + i] = 7;
            GSV_FN(take)(y_in, w, first, y);
            GSV_FN(take)(y_in, w, first, x);
            GSV_FN(take)(u_in, m, first, u);
            if (op == 0)
                GSV_FN(solve)(triangle, w, y);
            else if (op == 1)
                GSV_FN(solve_trans)(triangle, w, y);
            else if (op == 2)
                GSV_FN(apply)(below, m, w, x, u, 0);
            else if (op == 3)
                GSV_FN(apply)(below, m, w, x, u, 1);
            else
                GSV_FN(apply_trans)(below, m, w, u, op == 5 ? rows : NULL, y);
            for (int i = 0; i < GUARD * GSV_ROW; i++)
                guards_broken += y[w * GSV_ROW + i] != 7 || u[m * GSV_ROW + i] != 7;
            if (op == 2 || op == 3)
                GSV_FN(give)(u, m, first, results[op]);
            else
                GSV_FN(give)(y, w, first, results[op]);
        }
    }
}
