/* gpusolve_factor_cost: its sums against the tree counted here, its times against their formulas. */
#include "testing.h"

#include "cholmod_helpers.h"
#ifdef GPUSOLVE_WITH_CUDA
#include "supernodal/cuda/support.h"
#endif

/* Levels of the supernodal tree and numbers in the lower trapezoids, from CHOLMOD's arrays. */
static void count(const cholmod_factor *l, int64_t *levels, int64_t *numbers) {
    const int *super = l->super, *pi = l->pi, *s = l->s;
    int *owner = malloc((l->n + 1) * sizeof *owner), *level = calloc(l->nsuper + 1, sizeof *level);
    REQUIRE(owner != NULL && level != NULL);
    *levels = *numbers = 0;
    for (int k = 0; k < (int)l->nsuper; k++)
        for (int j = super[k]; j < super[k + 1]; j++)
            owner[j] = k;
    for (int k = 0; k < (int)l->nsuper; k++) {
        const int nc = super[k + 1] - super[k], nr = pi[k + 1] - pi[k];
        for (int j = 0; j < nc; j++)
            *numbers += nr - j;
        if (level[k] + 1 > *levels)
            *levels = level[k] + 1;
        if (nr > nc && level[owner[s[pi[k] + nc]]] <= level[k])
            level[owner[s[pi[k] + nc]]] = level[k] + 1;
    }
    free(owner);
    free(level);
}

static double larger(double a, double b) {
    return a > b ? a : b;
}

/* By wall and hops; but where the upper tree is a stream or tasks by measured solves (test_cuda_cost.c has these), as
 * without an upper tree it may be. Streams are groups of one or of eight side by side. */
static void check_prediction(const gpusolve_factor *factor, const gpusolve_cost *cost, double compute_us) {
    const double all_us = 1e6 * (double)(cost->bytes + cost->vector_bytes) / cost->bytes_per_s;
    double predicted_us = larger(all_us, compute_us) + (double)cost->hops * cost->hop_us;
#ifdef GPUSOLVE_WITH_CUDA
    int measured = 0, groups = 1, ones = 1;
    int64_t upper_bytes = 0;
    gpusolve_cost group = *cost;
    if (cost->nrhs > 1 && cost->nrhs <= gsv_most_ones(&factor->plan, factor->numbers)) {
        ones = (int)cost->nrhs;
        group.nrhs = 1;
    }
    for (int i = 0; i < cost->tiers; i++) {
        const int are_streams = !strcmp(cost->tier[i].name, "streams");
        measured |=
            are_streams || !strcmp(cost->tier[i].name, "stream") || !strcmp(cost->tier[i].name, "tiles");
        if (are_streams && cost->nrhs > GSV_SIDE_COLUMNS) {
            groups = gsv_groups_for(GSV_SIDE, cost->nrhs);
            group.nrhs = GSV_SIDE_COLUMNS;
        }
        upper_bytes += strcmp(cost->tier[i].name, "branch") ? cost->tier[i].bytes : 0;
    }
    const double by_solves =
        larger(gsv_cuda_predict(&factor->plan, &group,
                                upper_bytes / (int64_t)gsv_panel_bytes(factor->numbers), factor->numbers) +
                   (groups - 1) * gsv_cuda_side_us(&factor->plan) +
                   (ones - 1) * gsv_cuda_ones_us(&factor->plan, factor->numbers),
               cost->wall_us);
    if (cost->nrhs > 0 && (measured || fabs(cost->predicted_us - by_solves) <= 1e-9 * by_solves))
        predicted_us = by_solves;
    /* with no tier above the branches none says that groups are solved side by side */
    if (upper_bytes == 0 && cost->nrhs > GSV_SIDE_COLUMNS && ones == 1) {
        group.nrhs = GSV_SIDE_COLUMNS;
        const double by_groups =
            larger(gsv_cuda_predict(&factor->plan, &group, 0, factor->numbers) +
                       (gsv_groups_for(GSV_SIDE, cost->nrhs) - 1) * gsv_cuda_side_us(&factor->plan),
                   cost->wall_us);
        if (fabs(cost->predicted_us - by_groups) <= 1e-9 * by_groups)
            predicted_us = by_groups;
    }
#else
    (void)factor;
#endif
    CHECK_BELOW(fabs(cost->predicted_us - predicted_us), 1e-9 * predicted_us);
}

static void check(gpusolve_handle *handle, const gpusolve_factor *factor, const cholmod_factor *l,
                  int64_t nrhs) {
    const int is_complex = l->xtype == CHOLMOD_COMPLEX;
    gpusolve_cost cost = {.size = sizeof cost}, other = {.size = sizeof other};
    int64_t levels, numbers, supernodes = 0, bytes = 0;
    count(l, &levels, &numbers);
    REQUIRE(gpusolve_factor_cost(handle, factor, nrhs, 0, &cost) == GPUSOLVE_OK);
    CHECK(cost.size == sizeof cost && cost.nrhs == nrhs);
    CHECK(cost.hops == 2 * levels);
    CHECK(cost.bytes == 2 * numbers * (is_complex ? 16 : 8));
    CHECK(cost.flops == numbers * nrhs * (is_complex ? 16 : 4));
    CHECK(cost.vector_bytes >= nrhs * (int64_t)l->n * 4 * (is_complex ? 16 : 8));
    CHECK(nrhs > 0 || cost.vector_bytes == 0);
    CHECK(cost.tiers > 0 && cost.tiers <= GPUSOLVE_MAX_TIERS);
    for (int i = 0; i < cost.tiers; i++) {
        CHECK(cost.tier[i].name[0] && cost.tier[i].supernodes > 0 && cost.tier[i].bytes > 0);
        supernodes += cost.tier[i].supernodes;
        bytes += cost.tier[i].bytes;
    }
    CHECK(supernodes == (int64_t)l->nsuper && 2 * bytes == cost.bytes);
    CHECK((cost.launches > 0) == (gpusolve_get_backend(handle) == GPUSOLVE_BACKEND_CUDA));
    CHECK(cost.bytes_per_s > 1e9);
    const double compute_us = cost.flops_per_s > 0 ? 1e6 * (double)cost.flops / cost.flops_per_s : 0;
    const double wall_us = larger(1e6 * (double)cost.bytes / cost.bytes_per_s, compute_us);
    CHECK_BELOW(fabs(cost.wall_us - wall_us), 1e-9 * wall_us + 1e-30);
    CHECK(cost.predicted_us >= cost.wall_us);
    if (gpusolve_get_backend(handle) == GPUSOLVE_BACKEND_CUDA)
        check_prediction(factor, &cost, compute_us);

    /* a bandwidth of the caller's, so small that nothing else counts */
    REQUIRE(gpusolve_factor_cost(handle, factor, nrhs, 1e3, &other) == GPUSOLVE_OK);
    CHECK(other.bytes_per_s == 1e3);
    CHECK_BELOW(fabs(other.wall_us - 1e3 * (double)cost.bytes), 1e-6 * other.wall_us);
    CHECK(other.predicted_us >= other.wall_us);
}

static void check_matrix(gpusolve_handle *handle, const char *spec, cholmod_common *common) {
    cholmod_sparse *a = testing_load(spec, common);
    REQUIRE(a != NULL);
    cholmod_factor *l = testing_factorize(a, GPUSOLVE_SUPERNODAL_LL, common);
    REQUIRE(l != NULL);
    gpusolve_factor_data data = testing_factor_data(l);
    gpusolve_factor *factor;
    REQUIRE(gpusolve_factor_create(handle, &data, &factor) == GPUSOLVE_OK);
    static const int64_t nrhs[] = {0, 1, 5, 32, 40, 1000};
    for (size_t k = 0; k < sizeof nrhs / sizeof nrhs[0]; k++) {
        testing_in("%s, %s, nrhs %d", spec, gpusolve_get_device_name(handle), (int)nrhs[k]);
        check(handle, factor, l, nrhs[k]);
    }
    gpusolve_factor_destroy(factor);
    cholmod_free_factor(&l, common);
    cholmod_free_sparse(&a, common);
}

int main(void) {
    cholmod_common common;
    cholmod_start(&common);
    gpusolve_backend backends[2];
    const int count = testing_backends(backends);
    for (int i = 0; i < count; i++)
        for (int threads = 1; threads <= 2; threads++) {
            gpusolve_handle *handle = testing_handle(backends[i], threads);
            check_matrix(handle, "grid2d:9", &common);
            check_matrix(handle, "grid2d:70", &common);
            check_matrix(handle, "grid3d:10", &common);
            check_matrix(handle, "grid2d:30@c", &common);
            gpusolve_destroy(handle);
        }
    cholmod_finish(&common);
    return testing_done();
}
