/*
 * The host kernels on packed panels: packing puts every entry where the format says; every kernel solves or
 * applies what it claims, by its residual; and a column has the same bits alone as among 8, 16 or 32, for
 * every shape, tails included, on every instruction set that this machine runs.
 */
#include "testing.h"

#include "dense_kernels/panel_host.h"

static long guards_broken;

#define GSV_TEMPLATE "pack_block_host.h"
#include "dense_kernels/kinds_host.h"

#define GSV_TEMPLATE "../../tests/unit/host_kernels_cases.h"
#define GSV_PANEL GSV_REAL
#define GSV_MIXED 0

#define GSV_LETTER s
#define GSV_REAL float
#define GSV_LANES 8
#define GSV_COMPLEX 0
#include "dense_kernels/instantiate_host.h"
#undef GSV_LETTER
#undef GSV_COMPLEX

#define GSV_LETTER c
#define GSV_COMPLEX 1
#include "dense_kernels/instantiate_host.h"
#undef GSV_LETTER
#undef GSV_COMPLEX
#undef GSV_REAL
#undef GSV_LANES

#define GSV_LETTER d
#define GSV_REAL double
#define GSV_LANES 4
#define GSV_COMPLEX 0
#include "dense_kernels/instantiate_host.h"
#undef GSV_LETTER
#undef GSV_COMPLEX

#define GSV_LETTER z
#define GSV_COMPLEX 1
#include "dense_kernels/instantiate_host.h"

typedef void (*kernels)(const void *block, int w, int m, const void *y_in, const void *u_in,
                        const int32_t *rows, void *const *results);
typedef void (*packer)(const void *panel, int64_t ld, int32_t nc, int32_t m, int32_t j, void *to);

#define WIDTHS_OF(letter, isa)                                                                     \
    {                                                                                              \
        kernels_##letter##_##isa##_1, kernels_##letter##_##isa##_8, kernels_##letter##_##isa##_16, \
            kernels_##letter##_##isa##_32                                                          \
    }
#if GSV_X86_DISPATCH
#define ALL_OF(letter) \
    { WIDTHS_OF(letter, base), WIDTHS_OF(letter, v3), WIDTHS_OF(letter, v4) }
#else
#define ALL_OF(letter) \
    { WIDTHS_OF(letter, base) }
#endif

/* by gpusolve_dtype */
static const kernels instances[4][GSV_ISA_COUNT][GSV_WIDTHS] = {ALL_OF(s), ALL_OF(d), ALL_OF(c), ALL_OF(z)};

enum { OPS = 6, COLUMNS = GSV_MAX_COLUMNS, WIDEST = 64, TALLEST = GSV_ROW_TILE };
enum { SOLVE, SOLVE_TRANS, APPLY, APPLY_FRESH, APPLY_TRANS, APPLY_ROWS };

static void pack(gpusolve_dtype dtype, const void *panel, int64_t ld, int32_t nc, int32_t m, int32_t j,
                 void *to) {
    static const packer of[] = {GSV_KINDS(pack_block)};
    of[dtype](panel, ld, nc, m, j, to);
}

/* A panel with NaN where nothing may be read: above the diagonal and between nc + m and ld. */
static void *random_panel(gpusolve_dtype dtype, int32_t nc, int32_t m, int64_t ld, uint64_t *state) {
    void *panel = malloc((size_t)(ld * nc) * testing_bytes(dtype));
    REQUIRE(panel);
    for (int32_t k = 0; k < nc; k++)
        for (int64_t i = 0; i < ld; i++) {
            double complex value = (testing_random(state) + testing_random(state) * I) / (1 + nc / 4);
            if (i == k)
                value = 1.5 + testing_random(state) / 2;
            if (i < k || i >= nc + m)
                value = NAN;
            testing_store(dtype, panel, i + k * ld, value);
        }
    return panel;
}

static void *random_rows(gpusolve_dtype dtype, int rows, uint64_t *state) {
    void *all = malloc((size_t)(rows + 1) * COLUMNS * testing_bytes(dtype));
    REQUIRE(all);
    for (int64_t k = 0; k < rows * COLUMNS; k++)
        testing_store(dtype, all, k, testing_random(state) + testing_random(state) * I);
    return all;
}

/* ---------------------------------------------------------------------------------------- the format --- */

/* Read entry (i, k) of a packed panel by the words of panel_host.h. */
static double complex unpack(gpusolve_dtype dtype, const void *packed, int32_t nc, int32_t m, int32_t i,
                             int32_t k) {
    const int real =
        dtype == GPUSOLVE_FLOAT || dtype == GPUSOLVE_COMPLEX_FLOAT ? GPUSOLVE_FLOAT : GPUSOLVE_DOUBLE;
    const int32_t lanes = real == GPUSOLVE_FLOAT ? 8 : 4, parts = testing_is_complex(dtype) ? 2 : 1;
    const int32_t j = k / GSV_BLOCK, begin = j * GSV_BLOCK, w = gsv_block_width(nc, j);
    int64_t at = gsv_block_start(nc, m, j);
    int32_t row = i - begin, column = k - begin, rows = w, plane = 1, strip, h;
    if (row < w) {
        strip = row / lanes;
        h = w - strip * lanes < lanes ? w - strip * lanes : lanes;
        at += gsv_triangle_size(strip * lanes);
        row -= strip * lanes;
        if (column >= strip * lanes) {
            column -= strip * lanes;
            at = parts * (at + strip * lanes * h + gsv_triangle_size(row) + column);
        } else {
            at = parts * (at + column * h) + row;
            plane = h;
        }
    } else {
        row -= w;
        at += gsv_triangle_size(w);
        rows = nc - begin - w;
        if (row >= rows) {
            at += (int64_t)rows * w;
            row -= rows;
            rows = m;
        }
        const int32_t band = row / (GSV_BAND_VECTORS * lanes), first = band * GSV_BAND_VECTORS * lanes;
        h = rows - first < GSV_BAND_VECTORS * lanes ? rows - first : GSV_BAND_VECTORS * lanes;
        at = parts * (at + (int64_t)first * w + column * h) + row - first;
        plane = h;
    }
    const double complex re = testing_fetch((gpusolve_dtype)real, packed, at);
    return parts == 1 ? re : re + testing_fetch((gpusolve_dtype)real, packed, at + plane) * I;
}

static void check_packing(gpusolve_dtype dtype, int32_t nc, int32_t m, uint64_t *state) {
    const int64_t ld = nc + m + 3, size = gsv_panel_size(nc, m);
    void *panel = random_panel(dtype, nc, m, ld, state);
    void *packed = malloc((size_t)size * testing_bytes(dtype));
    REQUIRE(packed);
    testing_in("packing, dtype %d, nc %d, m %d", (int)dtype, (int)nc, (int)m);
    for (int32_t j = 0; j < gsv_block_count(nc); j++)
        pack(dtype, panel, ld, nc, m, j, packed);
    for (int32_t k = 0; k < nc; k++)
        for (int32_t i = k; i < nc + m; i++) {
            const double complex want = testing_fetch(dtype, panel, i + k * ld);
            const double complex got = unpack(dtype, packed, nc, m, i, k);
            const int32_t lanes = dtype == GPUSOLVE_FLOAT || dtype == GPUSOLVE_COMPLEX_FLOAT ? 8 : 4;
            if (i == k)
                CHECK_BELOW(cabs(got * want - 1), 2 * testing_epsilon(dtype));
            else if (i / GSV_BLOCK == k / GSV_BLOCK && i / lanes == k / lanes && i < nc)
                CHECK_BELOW(cabs(got * testing_fetch(dtype, panel, k + k * ld) - want),
                            2 * testing_epsilon(dtype) * cabs(want));
            else
                CHECK(got == want);
        }
    free(panel);
    free(packed);
}

/* ------------------------------------------------------------------------------------------- kernels --- */

typedef struct shape {
    gpusolve_dtype dtype;
    int w, m;
    const void *panel; /* leading dimension w + m */
    const void *y, *u;
    const int32_t *rows;
} shape;

static double complex l_of(const shape *s, int i, int k) {
    return testing_fetch(s->dtype, s->panel, i + (int64_t)k * (s->w + s->m));
}

/* Entry `to` of the equation that the operation solves, column c: its residual over the sum of its moduli. */
static double residual(const shape *s, int op, const void *result, int to, int c) {
    const int w = s->w, m = s->m;
    const int of_y = op == SOLVE || op == SOLVE_TRANS || op == APPLY_TRANS || op == APPLY_ROWS;
    const double complex in = testing_fetch(s->dtype, of_y ? s->y : s->u, to * COLUMNS + c);
    const double complex out = testing_fetch(s->dtype, result, to * COLUMNS + c);
    long double complex sum = op == APPLY_FRESH ? 0 : in;
    long double size = cabsl(sum);
    if (op != SOLVE && op != SOLVE_TRANS) {
        sum -= out;
        size += cabsl(out);
    }
    const int begin = op == SOLVE_TRANS ? to : 0;
    const int end = op == SOLVE ? to + 1 : op == APPLY_TRANS || op == APPLY_ROWS ? m : w;
    for (int k = begin; k < end; k++) {
        double complex l, x;
        if (op == SOLVE || op == SOLVE_TRANS) {
            l = op == SOLVE ? l_of(s, to, k) : conj(l_of(s, k, to));
            x = testing_fetch(s->dtype, result, k * COLUMNS + c);
        } else if (op == APPLY || op == APPLY_FRESH) {
            l = l_of(s, w + to, k);
            x = testing_fetch(s->dtype, s->y, k * COLUMNS + c);
        } else {
            l = conj(l_of(s, w + k, to));
            x = testing_fetch(s->dtype, s->u, (op == APPLY_ROWS ? s->rows[k] : k) * COLUMNS + c);
        }
        sum -= (long double complex)l * x;
        size += cabsl((long double complex)l * x);
    }
    return size == 0 ? (double)cabsl(sum) : (double)(cabsl(sum) / size);
}

static void check_residuals(const shape *s, void *const *results) {
    for (int op = 0; op < (s->m > 0 ? OPS : APPLY_TRANS); op++) {
        const int rows = op == APPLY || op == APPLY_FRESH ? s->m : s->w;
        const int terms = op == APPLY_TRANS || op == APPLY_ROWS ? s->m : s->w;
        double worst = 0;
        for (int i = 0; i < rows; i++)
            for (int c = 0; c < COLUMNS; c += 5) {
                const double ratio = residual(s, op, results[op], i, c);
                worst = ratio > worst || isnan(ratio) ? ratio : worst;
                if (isnan(ratio))
                    break;
            }
        CHECK_BELOW(worst, 2 * (terms + 4) * testing_epsilon(s->dtype));
    }
}

static void check_shape(gpusolve_dtype dtype, int w, int m, uint64_t *state) {
    void *panel = random_panel(dtype, w, m, w + m, state);
    void *packed = calloc((size_t)gsv_panel_size(w, m) + GSV_PANEL_SLACK, testing_bytes(dtype));
    void *y = random_rows(dtype, w, state), *u = random_rows(dtype, m, state);
    int32_t rows[TALLEST];
    for (int i = 0; i < m; i++)
        rows[i] = (i * 37 + 5) % m; /* some more than once */
    REQUIRE(packed);
    pack(dtype, panel, w + m, w, m, 0, packed);
    const shape s = {dtype, w, m, panel, y, u, rows};
    const size_t bytes = (size_t)(w > m ? w : m) * COLUMNS * testing_bytes(dtype);
    void *alone[OPS], *among[OPS];
    for (int op = 0; op < OPS; op++) {
        alone[op] = malloc(bytes);
        among[op] = malloc(bytes);
        REQUIRE(alone[op] && among[op]);
    }
    for (int isa = 0; isa <= gsv_isa_best(); isa++) {
        testing_in("dtype %d, w %d, m %d, instruction set %d", (int)dtype, w, m, isa);
        instances[dtype][isa][0](packed, w, m, y, u, rows, alone);
        check_residuals(&s, alone);
        for (int width = 1; width < GSV_WIDTHS; width++) {
            testing_in("dtype %d, w %d, m %d, instruction set %d, %d columns", (int)dtype, w, m, isa,
                       gsv_width(width));
            instances[dtype][isa][width](packed, w, m, y, u, rows, among);
            for (int op = 0; op < (m > 0 ? OPS : APPLY_TRANS); op++) {
                const int count = op == APPLY || op == APPLY_FRESH ? m : w;
                CHECK(memcmp(alone[op], among[op], (size_t)count * COLUMNS * testing_bytes(dtype)) == 0);
            }
        }
    }
    for (int op = 0; op < OPS; op++) {
        free(alone[op]);
        free(among[op]);
    }
    free(panel);
    free(packed);
    free(y);
    free(u);
}

int main(void) {
    static const int widths[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  11, 12,    13,
                                 15, 16, 17, 20, 23, 31, 32, 33, 47, 63, WIDEST};
    static const int heights[] = {0,  1,  2,  3,  4,  5,  7,  8,  9,  12, 13,  15,     16,
                                  17, 19, 21, 24, 28, 31, 32, 33, 41, 66, 127, TALLEST};
    static const int32_t panels[][2] = {{1, 0}, {7, 5}, {64, 0}, {64, 9}, {65, 1}, {129, 130}, {200, 3}};
    uint64_t state = 1;
    for (int dtype = 0; dtype < 4; dtype++) {
        for (size_t k = 0; k < sizeof panels / sizeof panels[0]; k++)
            check_packing((gpusolve_dtype)dtype, panels[k][0], panels[k][1], &state);
        for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++)
            for (size_t j = 0; j < sizeof heights / sizeof heights[0]; j++)
                check_shape((gpusolve_dtype)dtype, widths[i], heights[j], &state);
    }
    testing_in("rows behind the last one");
    CHECK(guards_broken == 0);
    printf("instruction sets 0 .. %d\n", gsv_isa_best());
    return testing_done();
}
