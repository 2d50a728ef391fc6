/*
 * Factors with triangles that must be split (supernodal/import/split.h), on the device: made so from the beginning, or made so by a
 * refresh. Against products with L: all types, all systems, many widths. What info and summary say, and the memory that
 * the device really gives. Workspaces and selections of an earlier plan lay themselves out anew; a selection's graph of an
 * earlier plan stores NaN. The k-th allocation fails, for all k: a status, nothing is left behind, and the next refresh
 * makes the factor whole.
 */
#include "cuda_problem.h"
#include "solve/random_check.h"

#include "gpusolve_selection.h"
#include "memory.h"

/* The triangles of the three widest supernodes: their inverses grow so much. All three of 1e9 would still not overflow a
 * float. */
enum { STEEP = 3 };

static void make_steep_one(random_factor *f, int64_t s, double growth) {
    const int32_t nc = f->super[s + 1] - f->super[s], nr = f->pi[s + 1] - f->pi[s];
    const double g = pow(growth, 1.0 / nc) - 1;
    for (int32_t j = 0; j < nc; j++)
        for (int32_t i = j; i < nc; i++) {
            const int64_t at = f->px[s] + (int64_t)j * nr + i;
            testing_store(f->data.dtype, f->x, at, i == j ? 1 : -g);
            f->l[at] = testing_fetch(f->data.dtype, f->x, at);
        }
}

static void make_steep(random_factor *f, double growth) {
    int64_t done[STEEP];
    for (int k = 0; k < STEEP && k < f->nsuper; k++) {
        int64_t widest = -1;
        for (int64_t s = 0; s < f->nsuper; s++) {
            int is_done = 0;
            for (int other = 0; other < k; other++)
                is_done |= done[other] == s;
            if (!is_done &&
                (widest < 0 || f->super[s + 1] - f->super[s] > f->super[widest + 1] - f->super[widest]))
                widest = s;
        }
        done[k] = widest;
        make_steep_one(f, widest, growth);
    }
    f->steep = 1;
}

static int32_t widest_of(const random_factor *f) {
    int32_t widest = 0;
    for (int64_t s = 0; s < f->nsuper; s++)
        if (f->super[s + 1] - f->super[s] > widest)
            widest = f->super[s + 1] - f->super[s];
    return widest;
}

static gpusolve_info info_of(gpusolve_handle *handle, const gpusolve_factor *factor, int64_t columns) {
    gpusolve_info info = {.size = sizeof info};
    CHECK_STATUS(gpusolve_factor_info(handle, factor, columns, &info), GPUSOLVE_OK);
    return info;
}

static void check_solve(const random_factor *f, gpusolve_handle *handle, const gpusolve_factor *factor,
                        gpusolve_workspace *workspace, gpusolve_system system, int64_t columns,
                        uint64_t seed) {
    uint64_t state = seed;
    const gpusolve_dense b = testing_block(f->data.dtype, GPUSOLVE_COL_MAJOR, f->data.n, columns, 0),
                         x = testing_block(f->data.dtype, GPUSOLVE_COL_MAJOR, f->data.n, columns, 0);
    testing_fill(&b, seed);
    const gpusolve_dense device_b = on_device(&b), device_x = on_device(&x);
    CHECK_STATUS(gpusolve_solve(handle, factor, workspace, system, &device_b, &device_x), GPUSOLVE_OK);
    CHECK(device_read(x.values, device_x.values, testing_block_bytes(&x)) == 0);
    CHECK_BELOW(random_error(f, system, &b, &x, &state), RANDOM_LIMIT);
    device_delete(device_b.values);
    device_delete(device_x.values);
    free(b.values);
    free(x.values);
}

static void check_solves(const random_factor *f, gpusolve_handle *handle, const gpusolve_factor *factor,
                         gpusolve_workspace *workspace) {
    static const int64_t widths[] = {1, 2, 5, 8, 9, 16, 17, 33, 64, 70, 130};
    static const gpusolve_system systems[] = {GPUSOLVE_A, GPUSOLVE_L, GPUSOLVE_Lt};
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
        check_solve(f, handle, factor, workspace, systems[w % 3], widths[w], 100 + w);
}

static random_factor new_factor(uint64_t seed, int64_t numbers) {
    const random_limits most = {numbers, 3000, 900};
    for (;; seed++) { /* a supernodal one with some columns, and wide enough */
        uint64_t state = random_start(seed);
        random_factor f = random_factor_new(most, &state);
        random_numbers(&f, &state);
        if (f.data.kind == GPUSOLVE_SUPERNODAL_LL && !f.data.z && f.data.n > 300 && widest_of(&f) > 20)
            return f;
        random_factor_free(&f);
    }
}

/* ------------------------------------------------------------------------------------------- refreshes --- */

/* Good numbers, steep ones, steeper ones, good ones: with one workspace. */
static void check_refreshes(uint64_t seed) {
    random_factor f = new_factor(seed, 400000);
    gpusolve_handle *handle = testing_handle(GPUSOLVE_BACKEND_CUDA, 2);
    gpusolve_factor *factor = NULL;
    gpusolve_workspace *workspace = NULL;
    make_steep(&f, 5);
    testing_in("seed %d, %s, n %d, %d supernodes, dtype %d", (int)seed, f.tree, (int)f.data.n, (int)f.nsuper,
               (int)f.data.dtype);
    REQUIRE(gpusolve_factor_create(handle, &f.data, &factor) == GPUSOLVE_OK);
    REQUIRE(gpusolve_workspace_create(handle, factor, 64, &workspace) == GPUSOLVE_OK);
    gpusolve_info info = info_of(handle, factor, 64);
    CHECK(info.plans == 1 && info.split_supernodes == 0 && info.split_slices == 0 && info.split_ms == 0);
    CHECK(info.supernodes == f.nsuper);
    check_solves(&f, handle, factor, workspace);
    int64_t plans = 1;
    static const double growths[] = {1e5, 1e9, 3};
    for (size_t g = 0; g < sizeof growths / sizeof *growths; g++) {
        testing_in("seed %d, dtype %d, refreshed, growth %g", (int)seed, (int)f.data.dtype, growths[g]);
        make_steep(&f, growths[g]);
        CHECK_STATUS(gpusolve_factor_refresh(handle, factor, &f.data), GPUSOLVE_OK);
        info = info_of(handle, factor, 64);
        CHECK(info.plans >= plans && info.plans <= plans + 1 && (g > 0 || info.plans == 2));
        plans = info.plans;
        CHECK(info.split_supernodes > 0 && info.split_slices >= 2 * info.split_supernodes);
        CHECK(info.supernodes == f.nsuper + info.split_slices - info.split_supernodes);
        CHECK(info.split_levels > 0 && info.split_update_rows > 0 && info.split_ms >= 0);
        check_solves(&f, handle, factor, workspace);
    }
    char text[8192];
    CHECK_STATUS(gpusolve_factor_summary(handle, factor, text, sizeof text, NULL), GPUSOLVE_OK);
    CHECK(strstr(text, "split: ") != NULL);
    gpusolve_workspace_destroy(workspace);
    gpusolve_factor_destroy(factor);

    testing_in("seed %d, dtype %d, steep from the beginning", (int)seed, (int)f.data.dtype);
    make_steep(&f, 1e9);
    REQUIRE(gpusolve_factor_create(handle, &f.data, &factor) == GPUSOLVE_OK);
    info = info_of(handle, factor, 1);
    CHECK(info.plans == 2 && info.split_supernodes > 0 && info.prepare_ms >= info.split_ms);
    check_solves(&f, handle, factor, NULL);
    gpusolve_factor_destroy(factor);
    gpusolve_destroy(handle);
    random_factor_free(&f);
}

/* What info says is what the device gives. */
static void check_memory(void) {
    testing_in("memory");
    random_factor f = new_factor(5, 2000000);
    gpusolve_handle *handle = testing_handle(GPUSOLVE_BACKEND_CUDA, 2);
    gpusolve_factor *factor = NULL;
    gpusolve_workspace *workspace = NULL;
    make_steep(&f, 3);
    REQUIRE(gpusolve_factor_create(handle, &f.data, &factor) == GPUSOLVE_OK);
    gpusolve_factor_destroy(factor); /* the handle has its buffers */
    const int64_t before = gsv_live_on_device();
    REQUIRE(gpusolve_factor_create(handle, &f.data, &factor) == GPUSOLVE_OK);
    REQUIRE(gpusolve_workspace_create(handle, factor, 8, &workspace) == GPUSOLVE_OK);
    const int64_t made = gsv_live_on_device() - before;
    make_steep(&f, 1e9);
    CHECK_STATUS(gpusolve_factor_refresh(handle, factor, &f.data), GPUSOLVE_OK);
    CHECK(info_of(handle, factor, 8).plans == 2);
    check_solve(&f, handle, factor, workspace, GPUSOLVE_A, 8, 1);
    CHECK(gsv_live_on_device() - before == made); /* allocations: nothing of the first plan is left */
    gpusolve_workspace_destroy(workspace);
    gpusolve_factor_destroy(factor);
    CHECK(gsv_live_on_device() == before);
    gpusolve_destroy(handle);
    random_factor_free(&f);
}

/* An interior-point run: thirty refreshes, ever worse numbers, a few plans. */
static void check_sequence(const char *grid) {
    cholmod_common common;
    cholmod_start(&common);
    gpusolve_handle *handle = testing_handle(GPUSOLVE_BACKEND_CUDA, 2);
    gpusolve_factor *factor = NULL;
    gpusolve_info info = {.size = sizeof info};
    for (int step = 0; step < 30; step++) {
        char spec[64];
        snprintf(spec, sizeof spec, "sequence:%d:%s", step, grid);
        testing_in("%s", spec);
        cholmod_sparse *a = testing_load(spec, &common);
        REQUIRE(a);
        cholmod_factor *l = testing_factorize(a, GPUSOLVE_SUPERNODAL_LL, &common);
        REQUIRE(l);
        if (!factor)
            REQUIRE(gpusolve_cholmod_import(handle, l, &factor) == GPUSOLVE_OK);
        else
            CHECK_STATUS(gpusolve_cholmod_refresh(handle, factor, l), GPUSOLVE_OK);
        const int64_t n = (int64_t)l->n;
        const gpusolve_dense b = testing_block(GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, n, 1, 0),
                             x = testing_block(GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, n, 1, 0);
        double complex *right = malloc((size_t)n * sizeof *right), *left = malloc((size_t)n * sizeof *left);
        REQUIRE(right && left);
        testing_fill(&b, (uint64_t)step);
        CHECK_STATUS(gpusolve_solve(handle, factor, NULL, GPUSOLVE_A, &b, &x), GPUSOLVE_OK);
        for (int64_t i = 0; i < n; i++) {
            right[i] = testing_get(&b, i, 0);
            left[i] = testing_get(&x, i, 0);
        }
        CHECK_BELOW(testing_backward_error(a, testing_sparse_norm(a), left, right), 1e-14);
        free(right);
        free(left);
        free(b.values);
        free(x.values);
        cholmod_free_factor(&l, &common);
        cholmod_free_sparse(&a, &common);
    }
    CHECK_STATUS(gpusolve_factor_info(handle, factor, 1, &info), GPUSOLVE_OK);
    printf("%s: %d plans, %d supernodes split into %d\n", grid, (int)info.plans, (int)info.split_supernodes,
           (int)info.split_slices);
    CHECK(info.plans <= 6);
    gpusolve_factor_destroy(factor);
    gpusolve_destroy(handle);
    cholmod_finish(&common);
}

/* ------------------------------------------------------------------------------------------ selections --- */

static void check_selection(void) {
    testing_in("a selection");
    random_factor f = new_factor(11, 400000);
    while (f.data.dtype != GPUSOLVE_DOUBLE) {
        const uint64_t seed = (uint64_t)f.nsuper + (uint64_t)f.data.n;
        random_factor_free(&f);
        f = new_factor(seed, 400000);
    }
    gpusolve_handle *handle = testing_handle(GPUSOLVE_BACKEND_CUDA, 2);
    gpusolve_factor *factor = NULL;
    gpusolve_selection *selection = NULL;
    const int64_t rows[3] = {f.data.n / 3, 0, f.data.n - 1};
    make_steep(&f, 3);
    REQUIRE(gpusolve_factor_create(handle, &f.data, &factor) == GPUSOLVE_OK);
    REQUIRE(gpusolve_selection_create(handle, factor, GPUSOLVE_A, 3, rows, 3, rows, 4, &selection) ==
            GPUSOLVE_OK);
    const gpusolve_dense b = testing_block(GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, 3, 4, 0),
                         x = testing_block(GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, 3, 4, 0),
                         whole = testing_block(GPUSOLVE_DOUBLE, GPUSOLVE_COL_MAJOR, f.data.n, 4, 0);
    testing_fill(&b, 3);
    const gpusolve_dense device_b = on_device(&b), device_x = on_device(&x);
    cudaStream_t stream = NULL;
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
    CHECK_STATUS(gpusolve_set_stream(handle, stream), GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_solve_selected(handle, factor, selection, &device_b, &device_x), GPUSOLVE_OK);
    REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
    CHECK_STATUS(gpusolve_solve_selected(handle, factor, selection, &device_b, &device_x), GPUSOLVE_OK);
    REQUIRE(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
    REQUIRE(cudaGraphInstantiate(&exec, graph, 0) == cudaSuccess);
    cudaGraphDestroy(graph);

    make_steep(&f, 1e8);
    CHECK_STATUS(gpusolve_factor_refresh(handle, factor, &f.data), GPUSOLVE_OK);
    CHECK(info_of(handle, factor, 1).plans == 2);
    REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
    CHECK_REFUSED(handle, gpusolve_solve_selected(handle, factor, selection, &device_b, &device_x),
                  GPUSOLVE_INVALID_ARGUMENT, "outside of a capture");
    REQUIRE(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
    cudaGraphDestroy(graph);
    CHECK_STATUS(gpusolve_solve_selected(handle, factor, selection, &b, &x), GPUSOLVE_OK);
    memset(whole.values, 0, testing_block_bytes(&whole));
    for (int64_t j = 0; j < 4; j++)
        for (int64_t k = 0; k < 3; k++)
            testing_set(&whole, rows[k], j, testing_get(&b, k, j));
    CHECK_STATUS(gpusolve_solve(handle, factor, NULL, GPUSOLVE_A, &whole, &whole), GPUSOLVE_OK);
    double largest = 0, difference = 0;
    for (int64_t j = 0; j < 4; j++)
        for (int64_t k = 0; k < 3; k++) {
            largest = testing_worse(largest, cabs(testing_get(&whole, rows[k], j)));
            difference =
                testing_worse(difference, cabs(testing_get(&x, k, j) - testing_get(&whole, rows[k], j)));
        }
    CHECK_BELOW(difference, 1e-9 * largest);
    CHECK(device_fill(device_x.values, 0, testing_block_bytes(&x)) == 0);
    CHECK(cudaGraphLaunch(exec, stream) == cudaSuccess && cudaStreamSynchronize(stream) == cudaSuccess);
    CHECK(device_read(x.values, device_x.values, testing_block_bytes(&x)) == 0);
    CHECK(count_nans(&x) == 12);

    cudaGraphExecDestroy(exec);
    gpusolve_selection_destroy(selection);
    gpusolve_factor_destroy(factor);
    gpusolve_destroy(handle);
    cudaStreamDestroy(stream);
    device_delete(device_b.values);
    device_delete(device_x.values);
    free(b.values);
    free(x.values);
    free(whole.values);
    random_factor_free(&f);
}

/* ---------------------------------------------------------------------------------------------- faults --- */

enum { CREATE, REFRESH, SOLVE, SELECT, CALLS };

/* The k-th allocation of one call fails, unless k is 0. Whether it came to that one. */
static int attempt(random_factor *f, int call, int64_t k) {
    const int64_t live = gsv_live_allocations(), live_on_device = gsv_live_on_device();
    gpusolve_handle *handle = testing_handle(GPUSOLVE_BACKEND_CUDA, 2);
    gpusolve_factor *factor = NULL;
    gpusolve_workspace *workspace = NULL;
    gpusolve_selection *selection = NULL;
    const int64_t row = 1;
    const gpusolve_dense b = testing_block(f->data.dtype, GPUSOLVE_COL_MAJOR, f->data.n, 2, 0),
                         x = testing_block(f->data.dtype, GPUSOLVE_COL_MAJOR, f->data.n, 2, 0),
                         some = testing_block(f->data.dtype, GPUSOLVE_COL_MAJOR, 1, 2, 0);
    const gpusolve_dense device_b = on_device(&b), device_x = on_device(&x);
    cudaStream_t stream = NULL;
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    gpusolve_status status = GPUSOLVE_OK;
    int64_t left = 1;
    testing_in("call %d, allocation %d", call, (int)k);
    REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
    CHECK_STATUS(gpusolve_set_stream(handle, stream), GPUSOLVE_OK);
    testing_fill(&b, 7);
    testing_fill(&some, 7);
    make_steep(f, call == CREATE ? 1e9 : 3);
    if (call == CREATE) {
        gsv_fail_allocation(k);
        status = gpusolve_factor_create(handle, &f->data, &factor);
        left = gsv_fail_allocation(0);
        CHECK((status == GPUSOLVE_OK) == (factor != NULL));
    } else {
        REQUIRE(gpusolve_factor_create(handle, &f->data, &factor) == GPUSOLVE_OK);
        REQUIRE(gpusolve_workspace_create(handle, factor, 2, &workspace) == GPUSOLVE_OK);
        REQUIRE(gpusolve_selection_create(handle, factor, GPUSOLVE_A, 1, &row, 1, &row, 2, &selection) ==
                GPUSOLVE_OK);
        if (k % 2) { /* and a graph that outlives the plan */
            REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
            CHECK_STATUS(gpusolve_solve(handle, factor, workspace, GPUSOLVE_A, &device_b, &device_x),
                         GPUSOLVE_OK);
            REQUIRE(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
            REQUIRE(cudaGraphInstantiate(&exec, graph, 0) == cudaSuccess);
            cudaGraphDestroy(graph);
        }
        make_steep(f, 1e9);
        gsv_fail_allocation(call == REFRESH ? k : 0);
        status = gpusolve_factor_refresh(handle, factor, &f->data);
        if (call == REFRESH)
            left = gsv_fail_allocation(0);
    }
    if (call == SOLVE || call == SELECT) {
        gsv_fail_allocation(k);
        status = call == SOLVE ? gpusolve_solve(handle, factor, workspace, GPUSOLVE_A, &b, &x)
                               : gpusolve_solve_selected(handle, factor, selection, &some, &some);
        left = gsv_fail_allocation(0);
    }
    const int reached = k > 0 && left <= 0;
    CHECK(status == GPUSOLVE_OK ||
          (reached && (status == GPUSOLVE_OUT_OF_MEMORY || status == GPUSOLVE_OUT_OF_DEVICE_MEMORY)));
    if (call == REFRESH && status != GPUSOLVE_OK) { /* either as it was, or known to be broken */
        const gpusolve_status solved = gpusolve_solve(handle, factor, workspace, GPUSOLVE_A, &b, &x);
        CHECK(solved == GPUSOLVE_OK || solved == GPUSOLVE_INVALID_FACTOR);
        gpusolve_info info = {.size = sizeof info};
        const gpusolve_status described = gpusolve_factor_info(handle, factor, 2, &info);
        CHECK(described == GPUSOLVE_OK || described == GPUSOLVE_INVALID_FACTOR);
        if (exec)
            CHECK(cudaGraphLaunch(exec, stream) == cudaSuccess &&
                  cudaStreamSynchronize(stream) == cudaSuccess);
        CHECK_STATUS(gpusolve_factor_refresh(handle, factor, &f->data), GPUSOLVE_OK);
    }
    if (exec) {
        CHECK(cudaGraphLaunch(exec, stream) == cudaSuccess && cudaStreamSynchronize(stream) == cudaSuccess);
        CHECK(device_read(x.values, device_x.values, testing_block_bytes(&x)) == 0);
        CHECK(count_nans(&x) == 2 * f->data.n);
        cudaGraphExecDestroy(exec);
    }
    if (factor) {
        uint64_t state = 3;
        CHECK_STATUS(gpusolve_solve(handle, factor, workspace, GPUSOLVE_A, &b, &x), GPUSOLVE_OK);
        CHECK_BELOW(random_error(f, GPUSOLVE_A, &b, &x, &state), RANDOM_LIMIT);
    }
    if (selection)
        CHECK_STATUS(gpusolve_solve_selected(handle, factor, selection, &some, &some), GPUSOLVE_OK);
    gpusolve_selection_destroy(selection);
    gpusolve_workspace_destroy(workspace);
    gpusolve_factor_destroy(factor);
    gpusolve_destroy(handle);
    cudaStreamDestroy(stream);
    device_delete(device_b.values);
    device_delete(device_x.values);
    free(b.values);
    free(x.values);
    free(some.values);
    CHECK(gsv_live_allocations() == live && gsv_live_on_device() == live_on_device);
    return reached;
}

static void check_faults(int few) {
    random_factor f = new_factor(3, 60000);
    for (int call = 0; call < CALLS; call++) {
        int64_t k = 1;
        attempt(&f, call, 0);
        while (k < 2000 && attempt(&f, call, k))
            k += few && k > 10 ? 7 : 1;
        CHECK(k > 3 && k < 2000);
    }
    random_factor_free(&f);
}

int main(void) {
    gpusolve_backend backends[2];
    const int few = getenv("GPUSOLVE_TEST_FEW") != NULL;
    if (testing_backends(backends) < 2) {
        printf("skipped: no CUDA device\n");
        return TESTING_SKIPPED;
    }
    for (uint64_t seed = 1; seed <= (few ? 6 : 24); seed++)
        check_refreshes(7 * seed);
    check_sequence("grid2d:60");
    check_sequence(few ? "grid3d:12" : "grid3d:18");
    check_memory();
    check_selection();
    check_faults(few);
    return testing_done();
}
