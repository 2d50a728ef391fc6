/*
 * Narrow panels of the device back into columns of L (restore_host.h): [W; -M] is computed here, and what comes back is what it was
 * computed from. The wide ones want a device: test_store.
 */
#include "testing.h"

#include "dense_kernels/panel_layout.h"

#define GSV_TEMPLATE "restore_host.h"
#include "dense_kernels/kinds_host.h"

enum { ROWS = GSV_NARROW_ROWS, COLUMNS = GSV_NARROW_COLUMNS };

static double complex l[ROWS][COLUMNS], result[ROWS][COLUMNS]; /* [L1; L2], [W; -M] */

/* Row i of the result is w with w L1 = e_i, or w L1 = -L2(i, :). */
static void make_panel(int32_t nr, int32_t nc, int complex_numbers, uint64_t *state) {
    for (int32_t i = 0; i < nr; i++)
        for (int32_t k = 0; k < nc && k <= i; k++)
            l[i][k] = i == k ? 2 + testing_random(state)
                             : CMPLX(testing_random(state), complex_numbers ? testing_random(state) : 0) / nc;
    for (int32_t i = 0; i < nr; i++)
        for (int32_t k = nc - 1; k >= 0; k--) {
            double complex sum = i == k ? 1 : i >= nc ? -l[i][k] : 0;
            for (int32_t j = k + 1; j < nc; j++)
                sum -= result[i][j] * l[j][k];
            result[i][k] = sum / l[k][k];
        }
}

static void check(gpusolve_dtype dtype, int32_t nr, int32_t nc, uint64_t *state) {
    static double panel[2 * ROWS * COLUMNS], x[2 * (ROWS + 1) * COLUMNS]; /* or floats */
    int64_t column[COLUMNS];
    testing_in("dtype %d, %d x %d", (int)dtype, (int)nr, (int)nc);
    make_panel(nr, nc, testing_is_complex(dtype), state);
    memset(x, 0xff, sizeof x);
    for (int32_t k = 0; k < nc; k++) {
        column[k] = (int64_t)(nc - 1 - k) * (nr + 1); /* in another order, with gaps */
        for (int32_t i = k; i < nr; i++)
            testing_store(dtype, panel, gsv_narrow_column(nr, k) + i, result[i][k]);
    }
    switch (dtype) {
    case GPUSOLVE_FLOAT:
        restore_panel_s((const float *)panel, nr, nc, column, (float *)x);
        break;
    case GPUSOLVE_DOUBLE:
        restore_panel_d(panel, nr, nc, column, x);
        break;
    case GPUSOLVE_COMPLEX_FLOAT:
        restore_panel_c((const float *)panel, nr, nc, column, (float *)x);
        break;
    case GPUSOLVE_COMPLEX_DOUBLE:
        restore_panel_z(panel, nr, nc, column, x);
        break;
    }
    double worst = 0;
    for (int32_t k = 0; k < nc; k++) {
        for (int32_t i = k; i < nr; i++)
            worst = testing_worse(worst, cabs(testing_fetch(dtype, x, column[k] + i - k) - l[i][k]));
        CHECK(cimag(testing_fetch(dtype, x, column[k])) == 0);
        CHECK(isnan(creal(testing_fetch(dtype, x, column[k] + nr - k)))); /* nothing is written behind it */
    }
    CHECK_BELOW(worst, 60 * testing_epsilon(dtype));
}

int main(void) {
    static const int32_t sizes[][2] = {{1, 1},   {2, 1},    {2, 2},   {17, 16},  {64, 16},
                                       {32, 32}, {128, 32}, {33, 31}, {256, 16}, {256, 1}};
    uint64_t state = 3;
    for (int dtype = 0; dtype < 4; dtype++)
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
            check((gpusolve_dtype)dtype, sizes[k][0], sizes[k][1], &state);
    return testing_done();
}
