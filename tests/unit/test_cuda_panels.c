/*
 * Panels [L1; L2] to [W; -M] on the device, all precisions: batches of narrow and of wide panels, around the
 * sizes at which tiles, block rows and doublings end, and triangles that are inverted in parts or kept.
 *
 * What is checked is the definition, row by row: with the column block first .. end - 1 that column k is in
 * (all columns, if the triangle is inverted whole), a row r of the result has
 *
 *      sum over m, k <= m < end, of r(m) L(m, k) = 1 for i = k, 0 for other rows i < end, -L(i, k) below
 *
 * up to a multiple of the rounding errors of its terms. A panel that is kept is there to the last bit; what
 * stands above the diagonal and below the last row of a tile is zero.
 */
#include "testing.h"

#include <cuda_runtime_api.h>

#include "dense_kernels/panel_layout.h"
#include "device.h"
#include "trsm/cuda_panel_inverse.h"

typedef struct panel {
    int nr, nc;
    double growth; /* 1: random and well-conditioned; else inv(L1) grows so much */
    int64_t from, to;
    int32_t parts; /* of the result, */
    int32_t well_conditioned;
    double k; /* of a wide one that is inverted whole */
} panel;

static int64_t trapezoid(const panel *p) {
    return (int64_t)p->nr * p->nc - (int64_t)p->nc * (p->nc - 1) / 2;
}

static int64_t raw_place(const panel *p, int64_t i, int64_t j) {
    return p->from + j * p->nr - j * (j - 1) / 2 + i - j;
}

static int64_t packed_size(const panel *p) {
    return gsv_is_narrow(p->nr, p->nc) ? trapezoid(p)
                                       : gsv_block_row_start(p->nc, (p->nr + GSV_TILE - 1) / GSV_TILE);
}

static int64_t packed_place(const panel *p, int64_t i, int64_t j) {
    if (gsv_is_narrow(p->nr, p->nc))
        return p->to + gsv_narrow_column(p->nr, (int32_t)j) + i;
    return p->to + gsv_block_row_start(p->nc, i / GSV_TILE) + GSV_TILE * j + i % GSV_TILE;
}

static void fill_panel(const panel *p, gpusolve_dtype dtype, void *raw, uint64_t *seed) {
    const double g = pow(p->growth, 1.0 / p->nc) - 1;
    for (int j = 0; j < p->nc; j++)
        for (int i = j; i < p->nr; i++) {
            const double re = testing_random(seed), im = testing_random(seed);
            const double complex random = (re + (testing_is_complex(dtype) ? im * I : 0)) / p->nc;
            const double complex grows = i < p->nc ? -g : random;
            testing_store(dtype, raw, raw_place(p, i, j),
                          i == j           ? 1 + fabs(re) * (p->growth == 1)
                          : p->growth == 1 ? random
                                           : grows);
        }
}

static void check_kept(const panel *p, gpusolve_dtype dtype, const void *raw, const void *packed) {
    int same = 1;
    for (int j = 0; j < p->nc; j++)
        for (int i = j; i < p->nr; i++) {
            const double complex l = testing_fetch(dtype, raw, raw_place(p, i, j));
            const int positive = i == j || (gsv_is_narrow(p->nr, p->nc) && i < p->nc);
            same = same && testing_fetch(dtype, packed, packed_place(p, i, j)) == (positive ? l : -l);
        }
    CHECK(same);
}

/* One row of a result that is not kept: the worst error over what is allowed; NaN if any is. */
static double row_error(const panel *p, gpusolve_dtype dtype, double epsilon, const void *raw,
                        const void *packed, int i) {
    const int width = gsv_is_narrow(p->nr, p->nc) ? p->nc : gsv_part_columns(p->nc, p->parts);
    double worst = 0;
    for (int k = 0; k < p->nc && k <= i; k++) {
        const int block_end = (k / width + 1) * width, end = block_end < p->nc ? block_end : p->nc;
        double complex sum = i >= end ? testing_fetch(dtype, raw, raw_place(p, i, k)) : i == k ? -1 : 0;
        double size = cabs(sum);
        for (int m = k; m < end && m <= i; m++) {
            const double complex term = testing_fetch(dtype, packed, packed_place(p, i, m)) *
                                        testing_fetch(dtype, raw, raw_place(p, m, k));
            sum += term;
            size += cabs(term);
        }
        const double error = cabs(sum) / (size * epsilon * p->nc);
        worst = testing_worse(worst, error);
        if (isnan(worst))
            break;
    }
    return worst;
}

static void check_zeros(const panel *p, gpusolve_dtype dtype, const void *packed) {
    int zeros = 1;
    for (int i = 0; i < (p->nr + GSV_TILE - 1) / GSV_TILE * GSV_TILE; i++)
        for (int j = i < p->nr ? i + 1 : 0; j < gsv_block_row_columns(p->nc, i / GSV_TILE); j++)
            zeros = zeros && testing_fetch(dtype, packed, packed_place(p, i, j)) == 0;
    CHECK(zeros);
}

/* k of cuda_panel_inverse.h, of a triangle inverted whole. */
static double condition(const panel *p, gpusolve_dtype dtype, const void *raw, const void *packed) {
    const int nc = p->nc;
    double *scale = calloc((size_t)nc, sizeof *scale), *sums = calloc((size_t)nc, sizeof *sums);
    double *column_sums = calloc((size_t)nc, sizeof *column_sums);
    double *rows = calloc((size_t)nc, sizeof *rows), k = 0;
    REQUIRE(scale && sums && column_sums && rows);
    for (int sweep = 0; sweep < 3; sweep++)
        for (int j = 0; j < nc; j++) {
            double column = 0;
            for (int i = j; i < nc; i++) {
                const double complex z = sweep == 1 ? testing_fetch(dtype, packed, packed_place(p, i, j))
                                                    : testing_fetch(dtype, raw, raw_place(p, i, j));
                const double size = fabs(creal(z)) + fabs(cimag(z));
                if (sweep == 0)
                    scale[i] += size;
                else if (sweep == 1)
                    sums[i] += size * scale[j];
                else
                    rows[i] += size * sums[j] / scale[i];
                column_sums[j] += sweep == 1 ? size * scale[j] : 0;
                column += sweep == 2 ? size * column_sums[i] / scale[i] : 0;
            }
            k = testing_worse(k, column);
        }
    for (int i = 0; i < nc; i++)
        k = testing_worse(k, rows[i]);
    free(scale);
    free(sums);
    free(column_sums);
    free(rows);
    return k;
}

static void check_panel(panel *p, gpusolve_dtype dtype, const void *raw, const void *packed) {
    const int single = dtype == GPUSOLVE_FLOAT || dtype == GPUSOLVE_COMPLEX_FLOAT;
    const double epsilon = single ? FLT_EPSILON : DBL_EPSILON;
    const int step = p->nc > 200 ? 7 : 1; /* not every row of a large one */
    testing_in("dtype %d, %d x %d, growth %g, %d parts", (int)dtype, p->nr, p->nc, p->growth, (int)p->parts);
    if (!gsv_is_narrow(p->nr, p->nc))
        check_zeros(p, dtype, packed);
    if (p->parts == 0) {
        check_kept(p, dtype, raw, packed);
        return;
    }
    double worst = 0;
    for (int i = 0; i < p->nr; i += step) {
        const double error = row_error(p, dtype, epsilon, raw, packed, i);
        worst = testing_worse(worst, error);
    }
    CHECK_BELOW(worst, 30);
    if (gsv_is_narrow(p->nr, p->nc) || p->parts > 1) {
        CHECK(!p->well_conditioned);
        return;
    }
    p->k = condition(p, dtype, raw, packed);
    const int limit = p->well_conditioned          ? GSV_WELL_LIMIT
                      : p->nc >= GSV_LARGE_COLUMNS ? GSV_LARGE_LIMIT
                                                   : GSV_INVERSION_LIMIT;
    CHECK_BELOW(p->k, 1.001 * limit);
    CHECK(p->well_conditioned || p->k > 0.999 * GSV_WELL_LIMIT);
}

/* All panels as one batch, twice, with the same bits. */
static void check_batch(gpusolve_dtype dtype, panel *panels, int count) {
    const size_t number = testing_bytes(dtype);
    int64_t raw_numbers = 0, packed_numbers = 0, inverse = 0, sums = 0;
    gsv_narrow_panel *narrow = calloc((size_t)count, sizeof *narrow);
    gsv_wide_panel *wide = calloc((size_t)count, sizeof *wide);
    int32_t *starts = calloc((size_t)GSV_INVERT_STAGES * ((size_t)count + 1), sizeof *starts);
    int32_t *parts = calloc((size_t)count, sizeof *parts);
    gsv_wide_batch batch = {0};
    int narrows = 0;
    REQUIRE(narrow && wide && starts && parts);
    int32_t *device_parts = device_new(parts, (size_t)count * sizeof *parts);
    REQUIRE(device_parts);
    for (int k = 0; k < count; k++) {
        panel *p = &panels[k];
        p->from = raw_numbers;
        p->to = (packed_numbers + GSV_TILE - 1) / GSV_TILE * GSV_TILE;
        raw_numbers += trapezoid(p);
        packed_numbers = p->to + packed_size(p);
        if (gsv_is_narrow(p->nr, p->nc)) {
            narrow[narrows++] = (gsv_narrow_panel){p->from, p->to, device_parts + k, p->nr, p->nc};
        } else {
            wide[batch.count++] =
                (gsv_wide_panel){p->from, p->to, inverse, sums, device_parts + k, p->nr, p->nc};
            inverse += gsv_wide_inverse(p->nc);
            sums += GSV_DIVISIONS * 3 * (int64_t)p->nc;
        }
    }
    const size_t raw_bytes = (size_t)raw_numbers * number, packed_bytes = (size_t)packed_numbers * number;
    const size_t inverse_bytes = (size_t)inverse * number;
    const size_t sums_bytes = (size_t)(sums + GSV_DIVISIONS * (int64_t)batch.count) * sizeof(double);
    char *raw = malloc(raw_bytes), *packed = malloc(packed_bytes), *again = malloc(packed_bytes);
    char *rubbish = malloc(inverse_bytes + sums_bytes + packed_bytes);
    REQUIRE(raw && packed && again && rubbish);
    memset(rubbish, 0xff, inverse_bytes + sums_bytes + packed_bytes);
    uint64_t seed = 11;
    for (int k = 0; k < count; k++)
        fill_panel(&panels[k], dtype, raw, &seed);
    gsv_wide_plan(wide, starts, &batch);

    void *device_narrow = device_new(narrow, (size_t)count * sizeof *narrow);
    void *device_wide = device_new(wide, (size_t)count * sizeof *wide);
    void *device_starts =
        device_new(starts, (size_t)GSV_INVERT_STAGES * ((size_t)count + 1) * sizeof *starts);
    void *device_raw = device_new(raw, raw_bytes), *device_packed = device_new(rubbish, packed_bytes);
    batch.panels = device_wide;
    batch.starts = device_starts;
    batch.raw = device_raw;
    batch.packed = device_packed;
    batch.inverse = device_new(rubbish, inverse_bytes);
    batch.sums = device_new(rubbish, sums_bytes);
    batch.k = batch.sums + sums;
    REQUIRE(device_narrow && device_wide && device_starts && device_raw && device_packed && batch.inverse &&
            batch.sums);
    CHECK(gsv_invert_reserve(dtype) == cudaSuccess);
    for (int round = 0; round < 2; round++) {
        CHECK(gsv_invert_narrow(dtype, device_narrow, narrows, device_raw, device_packed, NULL) ==
              cudaSuccess);
        CHECK(gsv_invert_triangles(dtype, &batch, NULL) == cudaSuccess);
        CHECK(gsv_write_wide(dtype, &batch, NULL) == cudaSuccess);
        CHECK(device_read(round == 0 ? packed : again, device_packed, packed_bytes) == 0);
    }
    CHECK(device_read(parts, device_parts, (size_t)count * sizeof *parts) == 0);
    for (int k = 0; k < count; k++) {
        panels[k].parts = gsv_parts_of(parts[k]);
        panels[k].well_conditioned = parts[k] != panels[k].parts;
        check_panel(&panels[k], dtype, raw, packed);
        const size_t at = (size_t)panels[k].to * number, bytes = (size_t)packed_size(&panels[k]) * number;
        CHECK(memcmp(packed + at, again + at, bytes) == 0);
    }
    void *const device[] = {device_narrow, device_wide,   device_starts, device_raw,
                            device_packed, batch.inverse, batch.sums,    device_parts};
    for (size_t k = 0; k < sizeof device / sizeof *device; k++)
        device_delete(device[k]);
    void *const host[] = {narrow, wide, starts, parts, raw, packed, again, rubbish};
    for (size_t k = 0; k < sizeof host / sizeof *host; k++)
        free(host[k]);
}

/* Large and small ones side by side, well-conditioned ones and others. */
static void check_dtype(gpusolve_dtype dtype, int few) {
    static const int sizes[][2] = {{1, 1},     {3, 10},    {16, 64},   {17, 40},   {32, 128},  {1, 300},
                                   {20, 300},  {33, 33},   {40, 70},   {48, 96},   {63, 64},   {64, 64},
                                   {64, 200},  {65, 130},  {100, 180}, {128, 128}, {129, 400}, {150, 151},
                                   {193, 200}, {257, 260}, {330, 500}, {600, 610}};
    static const double growths[] = {1, 10, 90, 1e3, 1e4, 1e6, 1e12, 1e30};
    const int count = few ? 16 : (int)(sizeof sizes / sizeof *sizes);
    panel panels[sizeof sizes / sizeof *sizes];
    int seen[GSV_MOST_PARTS + 1] = {0}, well[2] = {0}, beyond = 0;
    for (size_t g = 0; g < sizeof growths / sizeof *growths; g++) {
        for (int k = 0; k < count; k++)
            panels[k] = (panel){.nc = sizes[k][0], .nr = sizes[k][1], .growth = k % 3 == 2 ? 1 : growths[g]};
        check_batch(dtype, panels, count);
        for (int k = 0; k < count; k++)
            if (CHECK(panels[k].parts >= 0 && panels[k].parts <= GSV_MOST_PARTS)) {
                seen[panels[k].parts]++;
                well[panels[k].well_conditioned] += panels[k].parts == 1;
                beyond += panels[k].k > GSV_INVERSION_LIMIT;
                CHECK(panels[k].growth != 1 || panels[k].parts == 1);
            }
    }
    CHECK(well[0] > 0 && well[1] > 0 && (few || beyond > 0));
    CHECK(seen[0] > 0 && seen[1] > 0 && seen[2] + seen[4] + seen[8] + seen[GSV_MOST_PARTS] > 0);
    for (int parts = 3; parts < GSV_MOST_PARTS; parts++)
        CHECK(parts == 4 || parts == 8 || seen[parts] == 0);
}

int main(void) {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        printf("skipped: no CUDA device\n");
        return getenv("GPUSOLVE_TEST_DEVICE") ? 1 : TESTING_SKIPPED;
    }
    const int few = getenv("GPUSOLVE_TEST_FEW") != NULL;
    for (int dtype = 0; dtype < 4; dtype++)
        check_dtype((gpusolve_dtype)dtype, few);
    return testing_done();
}
