/*
 * A factor in more batches than the device has room for at a time (cuda/upload.c): a forest of 400 000 supernodes
 * of one to three columns, so that batches end because of their panels, not of their bytes. Its numbers arrive
 * whole with any number of threads; a fault in the first, a middle or the last of them is named, and leaves the
 * factor as it was, in a create nothing; what stands above diagonals is never looked at.
 */
#include "testing.h"

#include "memory.h"
#include "supernodal/cuda/pipeline.h"

enum { NSUPER = 12 * GSV_BATCH_NARROW - 77 };

typedef struct forest {
    int32_t *super, *pi, *px, *s;
    double *x;
    gpusolve_factor_data data;
    gpusolve_dense b, got, good;
} forest;

/* L(i, i) = 1 + shift / 8 and little below; b = L L' x for x = 1. */
static void fill(forest *f, int shift) {
    double *b = f->b.values;
    for (int32_t k = 0; k < NSUPER; k++) {
        const int32_t nc = f->super[k + 1] - f->super[k];
        double *l = f->x + f->px[k], *own = b + f->super[k], t[3] = {0};
        for (int32_t j = 0; j < nc; j++)
            for (int32_t i = 0; i < nc; i++) {
                l[j * nc + i] = i < j ? NAN : i == j ? 1 + shift / 8.0 : 1.0 / (4 + (k + i) % 5);
                t[j] += i < j ? 0 : l[j * nc + i];
            }
        for (int32_t i = 0; i < nc; i++) {
            own[i] = 0;
            for (int32_t j = 0; j <= i; j++)
                own[i] += l[j * nc + i] * t[j];
        }
    }
}

static void open_forest(forest *f) {
    const size_t count = NSUPER + 1;
    f->super = calloc(count, sizeof *f->super);
    f->pi = calloc(count, sizeof *f->pi);
    f->px = calloc(count, sizeof *f->px);
    REQUIRE(f->super && f->pi && f->px);
    for (int32_t k = 0; k < NSUPER; k++) {
        const int32_t nc = 1 + k % 3;
        f->super[k + 1] = f->pi[k + 1] = f->super[k] + nc;
        f->px[k + 1] = f->px[k] + nc * nc;
    }
    const int32_t n = f->super[NSUPER];
    f->s = malloc((size_t)n * sizeof *f->s);
    f->x = malloc((size_t)f->px[NSUPER] * sizeof *f->x);
    REQUIRE(f->s && f->x);
    for (int32_t i = 0; i < n; i++)
        f->s[i] = i;
    f->data = (gpusolve_factor_data)GPUSOLVE_FACTOR_DATA_INIT;
    f->data.n = f->data.minor = f->data.ssize = n;
    f->data.nsuper = NSUPER;
    f->data.xsize = f->px[NSUPER];
    f->data.super = f->super;
    f->data.pi = f->pi;
    f->data.px = f->px;
    f->data.s = f->s;
    f->data.x = f->x;
    f->b = testing_block(GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, n, 1, 0);
    f->got = testing_block(GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, n, 1, 0);
    f->good = testing_block(GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, n, 1, 0);
}

static void check_solution(const forest *f, gpusolve_handle *handle, const gpusolve_factor *factor) {
    const double *x = f->got.values;
    double worst = 0;
    CHECK_STATUS(gpusolve_solve(handle, factor, NULL, GPUSOLVE_LDLt, &f->b, &f->got), GPUSOLVE_OK);
    for (int64_t i = 0; i < f->data.n; i++)
        worst = testing_worse(worst, fabs(x[i] - 1));
    CHECK_BELOW(worst, 1e-13);
}

/* One number is wrong: refused, and the answers stay. */
static void check_fault(const forest *f, gpusolve_handle *handle, gpusolve_factor *factor, int64_t place,
                        double wrong, gpusolve_status expected) {
    const double kept = f->x[place];
    gpusolve_factor *refused;
    f->x[place] = wrong;
    CHECK_REFUSED(handle, gpusolve_factor_refresh(handle, factor, &f->data), expected, "(x)");
    CHECK_REFUSED(handle, gpusolve_factor_create(handle, &f->data, &refused), expected, "(x)");
    CHECK(!refused);
    f->x[place] = kept;
    CHECK_STATUS(gpusolve_solve(handle, factor, NULL, GPUSOLVE_LDLt, &f->b, &f->got), GPUSOLVE_OK);
    CHECK(testing_same_bits(&f->got, 0, &f->good, 0, 1));
}

static void check_threads(forest *f, int threads) {
    testing_in("%d threads", threads);
    gpusolve_handle *handle = testing_handle(GPUSOLVE_BACKEND_CUDA, threads);
    gpusolve_factor *factor;
    fill(f, 0);
    REQUIRE(gpusolve_factor_create(handle, &f->data, &factor) == GPUSOLVE_OK);
    const gsv_upload_plan *way = ((gsv_cuda_factor *)factor->prepared)->upload;
    REQUIRE(way->count > GSV_MOST_SLOTS + 1);
    check_solution(f, handle, factor);
    fill(f, 3);
    CHECK_STATUS(gpusolve_factor_refresh(handle, factor, &f->data), GPUSOLVE_OK);
    check_solution(f, handle, factor);
    memcpy(f->good.values, f->got.values, testing_block_bytes(&f->got));
    const int64_t last = f->data.xsize - 1, middle = f->px[NSUPER / 2];
    check_fault(f, handle, factor, 0, NAN, GPUSOLVE_NOT_FINITE);
    check_fault(f, handle, factor, middle, -1, GPUSOLVE_NOT_POSITIVE_DEFINITE);
    check_fault(f, handle, factor, middle, 0, GPUSOLVE_SINGULAR);
    check_fault(f, handle, factor, last, INFINITY, GPUSOLVE_NOT_FINITE);
    CHECK_STATUS(gpusolve_factor_refresh(handle, factor, &f->data), GPUSOLVE_OK);
    check_solution(f, handle, factor);
    CHECK(testing_same_bits(&f->got, 0, &f->good, 0, 1));
    gpusolve_factor_destroy(factor);
    gpusolve_destroy(handle);
}

int main(void) {
    gpusolve_backend backends[2];
    if (testing_backends(backends) < 2) {
        printf("skipped: no CUDA device\n");
        return TESTING_SKIPPED;
    }
    static const int threads[] = {1, 2, 5, 16};
    forest f;
    open_forest(&f);
    for (int k = 0; k < 4; k++)
        check_threads(&f, threads[k]);
    free(f.super);
    free(f.pi);
    free(f.px);
    free(f.s);
    free(f.x);
    free(f.b.values);
    free(f.got.values);
    free(f.good.values);
    CHECK(gsv_live_allocations() == 0);
    return testing_done();
}
