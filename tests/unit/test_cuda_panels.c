/*
 * Panels [L1; L2] to [W; -M] on the device, all precisions: batches of narrow and of wide panels, around the
 * sizes at which tiles, block rows and doublings end, and triangles that must be split.
 *
 * What is checked is the definition, row by row: a row r of the result has
 *
 *      sum over m >= k of r(m) L(m, k) = 1 for i = k, 0 for other rows i < nc, -L(i, k) below
 *
 * up to a multiple of the rounding errors of its terms. What stands above the diagonal and below the last row of a tile
 * is zero. Of a triangle that must be split each slice keeps the limit, and could not be much wider; and the slices,
 * as panels by themselves, are all inverted.
 */
#include "testing.h"

#include <cuda_runtime_api.h>

#include "dense_kernels/panel_layout.h"
#include "device.h"
#include "trsm/cuda/panels/inverse.h"

typedef struct panel {
    int nr, nc;
    double growth; /* 1: random and well-conditioned; else inv(L1) grows so much */
    int64_t from, to;
    int64_t column;     /* of its first column among all panels' */
    int trusted;        /* the result says so, */
    double k;           /* and this */
    const void *source; /* NULL, or where its numbers are: a slice of a panel of source_nr rows, */
    int64_t source_from;
    int source_nr, source_first; /* from this column on */
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

static void fill_slice(const panel *p, gpusolve_dtype dtype, void *raw) {
    const panel whole = {.nr = p->source_nr, .from = p->source_from};
    const int first = p->source_first;
    for (int j = 0; j < p->nc; j++)
        for (int i = j; i < p->nr; i++)
            testing_store(dtype, raw, raw_place(p, i, j),
                          testing_fetch(dtype, p->source, raw_place(&whole, first + i, first + j)));
}

static void fill_panel(const panel *p, gpusolve_dtype dtype, void *raw, uint64_t *seed) {
    if (p->source) {
        fill_slice(p, dtype, raw);
        return;
    }
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

/* One row of a result: the worst error over what is allowed; NaN if any is. */
static double row_error(const panel *p, gpusolve_dtype dtype, double epsilon, const void *raw,
                        const void *packed, int i) {
    double worst = 0;
    for (int k = 0; k < p->nc && k <= i; k++) {
        double complex sum = i >= p->nc ? testing_fetch(dtype, raw, raw_place(p, i, k)) : i == k ? -1 : 0;
        double size = cabs(sum);
        for (int m = k; m < p->nc && m <= i; m++) {
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

static double size_of(double complex z) {
    return fabs(creal(z)) + fabs(cimag(z));
}

/* k of trsm/cuda/panels/inverse.h, of the diagonal block of n rows and columns of a triangle with inverse w; l and w are
 * sizes of entries, by columns, ld apart. */
static double condition(const double *l, const double *w, int ld, int n) {
    double *scale = calloc((size_t)n, sizeof *scale), *sums = calloc((size_t)n, sizeof *sums);
    double *column_sums = calloc((size_t)n, sizeof *column_sums);
    double *rows = calloc((size_t)n, sizeof *rows), k = 0;
    REQUIRE(scale && sums && column_sums && rows);
    for (int sweep = 0; sweep < 3; sweep++)
        for (int j = 0; j < n; j++) {
            double column = 0;
            for (int i = j; i < n; i++) {
                const double size = (sweep == 1 ? w : l)[(size_t)i + (size_t)j * (size_t)ld];
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
    for (int i = 0; i < n; i++)
        k = testing_worse(k, rows[i]);
    free(scale);
    free(sums);
    free(column_sums);
    free(rows);
    return k;
}

/* Sizes of the entries of a triangle and of its inverse, by columns: 2 nc nc numbers. */
static double *triangle_sizes(const panel *p, gpusolve_dtype dtype, const void *raw) {
    const size_t nc = (size_t)p->nc;
    double *sizes = calloc(2 * nc * nc, sizeof *sizes);
    double complex *w = calloc(nc, sizeof *w);
    REQUIRE(sizes && w);
    for (int j = 0; j < p->nc; j++) {
        memset(w, 0, nc * sizeof *w);
        w[j] = 1;
        for (int m = j; m < p->nc; m++) {
            w[m] /= testing_fetch(dtype, raw, raw_place(p, m, m));
            for (int i = m + 1; i < p->nc; i++)
                w[i] -= testing_fetch(dtype, raw, raw_place(p, i, m)) * w[m];
            sizes[nc * nc + (size_t)m + (size_t)j * nc] = size_of(w[m]);
            sizes[(size_t)m + (size_t)j * nc] = size_of(testing_fetch(dtype, raw, raw_place(p, m, j)));
        }
    }
    free(w);
    return sizes;
}

static double limit_of(int columns) {
    return columns >= GSV_LARGE_COLUMNS ? GSV_LARGE_LIMIT : GSV_INVERSION_LIMIT;
}

static void check_trusted(const panel *p, gpusolve_dtype dtype, const void *raw, const void *packed) {
    const int single = dtype == GPUSOLVE_FLOAT || dtype == GPUSOLVE_COMPLEX_FLOAT;
    const double epsilon = single ? FLT_EPSILON : DBL_EPSILON;
    const int step = p->nc > 200 ? 7 : 1; /* not every row of a large one */
    if (!gsv_is_narrow(p->nr, p->nc))
        check_zeros(p, dtype, packed);
    double worst = 0;
    for (int i = 0; i < p->nr; i += step) {
        const double error = row_error(p, dtype, epsilon, raw, packed, i);
        worst = testing_worse(worst, error);
    }
    CHECK_BELOW(worst, 30);
    double *sizes = triangle_sizes(p, dtype, raw);
    const double k = condition(sizes, sizes + (size_t)p->nc * (size_t)p->nc, p->nc, p->nc);
    CHECK_BELOW(k, 1.001 * limit_of(p->nc));
    CHECK_BELOW(fabs(p->k - k), 1e-3 * k);
    free(sizes);
}

/* How many slices there are if each is as wide as it may be, but for a share of its width. */
static int count_slices(const panel *p, const double *sizes, double finer, double share) {
    const size_t nc = (size_t)p->nc;
    int count = 0;
    for (int first = 0, end; first < p->nc; first = end, count++) {
        const size_t at = (size_t)first * (nc + 1);
        end = first + 1;
        while (end < p->nc && condition(sizes + at, sizes + nc * nc + at, p->nc, end + 1 - first) * finer <=
                                  0.999 * limit_of(end + 1 - first))
            end++;
        end -= (int)((end - first) * share);
    }
    return count;
}

/* Each slice of the cuts is good, and there are not many more than there must be. Returns the number of slices. */
static int check_cuts(const panel *p, gpusolve_dtype dtype, const void *raw, const unsigned char *cut,
                      double finer) {
    const size_t nc = (size_t)p->nc;
    double *sizes = triangle_sizes(p, dtype, raw);
    int slices = 0, good = CHECK(cut[0] == 0);
    for (int first = 0, end; first < p->nc; first = end) {
        const size_t at = (size_t)first * (nc + 1);
        for (end = first + 1; end < p->nc && !cut[end];)
            end++;
        slices++;
        if (!(condition(sizes + at, sizes + nc * nc + at, p->nc, end - first) * finer <=
              1.001 * limit_of(end - first)))
            good = 0;
    }
    CHECK(good);
    CHECK(slices > 1);
    if (p->nc <= 130)
        CHECK(slices <= count_slices(p, sizes, finer, gsv_is_narrow(p->nr, p->nc) ? 0 : 1.0 / 15));
    free(sizes);
    return slices;
}

/* The slices of a panel, as panels. */
static int list_slices(const panel *p, const void *raw, const unsigned char *cut, panel *slices) {
    int count = 0;
    for (int j = 0; j < p->nc; j++) {
        if (j > 0 && !cut[j]) {
            slices[count - 1].nc++;
            continue;
        }
        slices[count++] = (panel){.nc = 1,
                                  .nr = p->nr - j,
                                  .growth = p->growth,
                                  .source = raw,
                                  .source_from = p->from,
                                  .source_nr = p->nr,
                                  .source_first = j};
    }
    return count;
}

typedef struct results {
    int trusted, well, ill, beyond, split; /* panels; beyond the limit of small ones; that must be split, */
    int narrow_split, ahead;               /* narrow ones; that need not be, yet */
} results;

/* All panels as one batch, twice, with the same bits; and then, unless they are slices, the slices of those that must be
 * split. */
static void check_batch(gpusolve_dtype dtype, panel *panels, int count, double finer, int eager,
                        results *found) {
    const size_t number = testing_bytes(dtype);
    int64_t raw_numbers = 0, packed_numbers = 0, inverse = 0, sums = 0, columns = 0;
    gsv_narrow_panel *narrow = calloc((size_t)count, sizeof *narrow);
    gsv_wide_panel *wide = calloc((size_t)count, sizeof *wide);
    int32_t *starts = calloc((size_t)GSV_INVERT_STAGES * ((size_t)count + 1), sizeof *starts);
    float *k_of = calloc((size_t)count, sizeof *k_of);
    gsv_wide_batch batch = {.eager = eager};
    int narrows = 0, slices = 0;
    REQUIRE(narrow && wide && starts && k_of);
    for (int k = 0; k < count; k++) {
        panels[k].column = columns;
        columns += panels[k].nc;
    }
    unsigned char *cut = calloc((size_t)columns, 1);
    REQUIRE(cut);
    float *device_k = device_new(k_of, (size_t)count * sizeof *k_of);
    unsigned char *device_cut = device_new(cut, (size_t)columns);
    REQUIRE(device_k && device_cut);
    for (int k = 0; k < count; k++) {
        panel *p = &panels[k];
        p->from = raw_numbers;
        p->to = (packed_numbers + GSV_TILE - 1) / GSV_TILE * GSV_TILE;
        raw_numbers += trapezoid(p);
        packed_numbers = p->to + packed_size(p);
        if (gsv_is_narrow(p->nr, p->nc)) {
            narrow[narrows++] = (gsv_narrow_panel){p->from, p->to, device_k + k, device_cut + p->column,
                                                   p->nr,   p->nc, (float)finer};
        } else {
            wide[batch.count++] =
                (gsv_wide_panel){p->from, p->to, inverse,     sums, device_k + k, device_cut + p->column,
                                 p->nr,   p->nc, (float)finer};
            inverse += gsv_wide_inverse(p->nc);
            sums += GSV_WIDE_SUMS * (int64_t)p->nc;
        }
    }
    const size_t raw_bytes = (size_t)raw_numbers * number, packed_bytes = (size_t)packed_numbers * number;
    const size_t inverse_bytes = (size_t)inverse * number;
    const size_t sums_bytes = (size_t)(sums + batch.count) * sizeof(double);
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
        CHECK(gsv_invert_narrow(dtype, device_narrow, narrows, device_raw, device_packed, eager, NULL) ==
              cudaSuccess);
        CHECK(gsv_invert_triangles(dtype, &batch, NULL) == cudaSuccess);
        CHECK(gsv_write_wide(dtype, &batch, NULL) == cudaSuccess);
        CHECK(device_read(round == 0 ? packed : again, device_packed, packed_bytes) == 0);
    }
    CHECK(device_read(k_of, device_k, (size_t)count * sizeof *k_of) == 0);
    CHECK(device_read(cut, device_cut, (size_t)columns) == 0);
    panel *split = calloc((size_t)columns, sizeof *split);
    REQUIRE(split);
    for (int k = 0; k < count; k++) {
        panel *p = &panels[k];
        const unsigned char *own_cut = cut + p->column;
        testing_in("dtype %d, %d x %d, growth %g, slice %d, k %g", (int)dtype, p->nr, p->nc, p->growth,
                   p->source != NULL, (double)k_of[k]);
        p->trusted = k_of[k] > 0;
        p->k = fabs((double)k_of[k]);
        int cuts = 0;
        for (int j = 0; j < p->nc; j++)
            cuts += own_cut[j];
        CHECK((cuts > 0) == (!p->trusted || (eager && p->k * finer > limit_of(p->nc))));
        if (cuts > 0) {
            CHECK(!p->source);
            check_cuts(p, dtype, raw, own_cut, finer);
            slices += list_slices(p, raw, own_cut, split + slices);
        }
        found->split += cuts > 0;
        found->ahead += cuts > 0 && p->trusted;
        found->narrow_split += cuts > 0 && gsv_is_narrow(p->nr, p->nc);
        if (!p->trusted)
            continue;
        check_trusted(p, dtype, raw, packed);
        const size_t at = (size_t)p->to * number, bytes = (size_t)packed_size(p) * number;
        CHECK(memcmp(packed + at, again + at, bytes) == 0);
        found->trusted++;
        found->well += p->k <= GSV_WELL_LIMIT;
        found->ill += p->k > GSV_WELL_LIMIT;
        found->beyond += p->k > GSV_INVERSION_LIMIT;
    }
    void *const device[] = {device_narrow, device_wide, device_starts, device_raw, device_packed,
                            batch.inverse, batch.sums,  device_k,      device_cut};
    for (size_t k = 0; k < sizeof device / sizeof *device; k++)
        device_delete(device[k]);
    results of_slices = {0};
    if (slices > 0)
        check_batch(dtype, split, slices, finer, 0, &of_slices);
    CHECK(of_slices.split == 0 && of_slices.trusted == slices);
    void *const host[] = {narrow, wide, starts, k_of, cut, split, raw, packed, again, rubbish};
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
    results found = {0};
    for (size_t g = 0; g < sizeof growths / sizeof *growths; g++) {
        for (int k = 0; k < count; k++)
            panels[k] = (panel){.nc = sizes[k][0], .nr = sizes[k][1], .growth = k % 3 == 2 ? 1 : growths[g]};
        check_batch(dtype, panels, count, g % 2 ? 1.02 : 4, g % 4 == 1 || g % 4 == 2, &found);
        for (int k = 0; k < count; k++)
            CHECK(panels[k].growth != 1 || panels[k].trusted);
    }
    CHECK(found.well > 0 && found.ill > 0 && found.ahead > 0 && (few || found.beyond > 0));
    CHECK(found.narrow_split > 0 && found.split > found.narrow_split);
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
