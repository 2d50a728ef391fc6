/*
 * Template (kinds_host.h): pack_host.h, and a block of columns of a panel, whole.
 */
#include "pack_host.h"

/* Block j of the panel with nc columns and nc + m rows; `place` is the panel's, the block's own follows
 * from j. */
static void GSV_FN(pack_block)(const void *values, int64_t ld, int32_t nc, int32_t m, int32_t j,
                               void *place) {
    const GSV_REAL *panel = values;
    GSV_REAL *to = place;
    const int32_t begin = j * GSV_BLOCK, w = gsv_block_width(nc, j), end = begin + w;
    const GSV_REAL *corner = panel + (begin + begin * ld) * (1 + GSV_COMPLEX);
    to += gsv_block_start(nc, m, j) * (1 + GSV_COMPLEX);
    to = GSV_FN(pack_triangle)(corner, ld, w, to);
    to = GSV_FN(pack_rectangle)(corner + (int64_t)w * (1 + GSV_COMPLEX), ld, nc - end, w, to);
    GSV_FN(pack_rectangle)(corner + (int64_t)(nc - begin) * (1 + GSV_COMPLEX), ld, m, w, to);
}
