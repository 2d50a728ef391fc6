/*
 * What a batch's solve on the device promises beside the answer: it can be captured and replayed on new numbers, with an `active` in device
 * memory that is read each time; it allocates nothing; and blocks in host memory are refused while a stream is captured. An array of blocks
 * goes in the parameters of launches: numbers of members on both sides of what they hold. A refresh of one member may ask for finer supernodes; later
 * ones go on from there.
 */
#include "batch_members.h"

#include <cuda_runtime_api.h>

#include "device.h"
#include "memory.h"
#include "tuning.h"

enum { COLUMNS = 2 };

typedef struct capture_world {
    gpusolve_handle *handle;
    cudaStream_t stream;
    batch_members members;
    gpusolve_batch *batch;
    gpusolve_batch_workspace *workspace;
    batch_blocks b, x, expected; /* on the host */
    char *device_b, *device_x;
    gpusolve_dense *b_blocks, *x_blocks; /* on the device */
} capture_world;

static gpusolve_status solve(const capture_world *w, batch_layout layout, const uint8_t *active) {
    return layout_is_strided(layout)
               ? gpusolve_batch_solve_strided(w->handle, w->batch, w->workspace, GPUSOLVE_A, w->b_blocks,
                                              w->b.stride, w->x_blocks, w->x.stride, active)
               : gpusolve_batch_solve(w->handle, w->batch, w->workspace, GPUSOLVE_A, w->b_blocks, w->x_blocks,
                                      active);
}

/* x of the members that are active, each alone; the others as they are in an x that nobody has written. */
static void expect(capture_world *w, const uint8_t *active) {
    memset(w->expected.memory, 0xff, w->expected.bytes);
    for (int64_t m = 0; m < w->members.count; m++)
        if (!active || active[m])
            CHECK_STATUS(gpusolve_solve(w->handle, w->members.alone[m], NULL, GPUSOLVE_A, &w->b.block[m],
                                        &w->expected.block[m]),
                         GPUSOLVE_OK);
}

static void replay(capture_world *w, cudaGraphExec_t exec, const char *what) {
    CHECK(device_fill(w->device_x, 0xff, w->x.bytes) == 0);
    CHECK(cudaGraphLaunch(exec, w->stream) == cudaSuccess && cudaStreamSynchronize(w->stream) == cudaSuccess);
    CHECK(device_read(w->x.memory, w->device_x, w->x.bytes) == 0);
    testing_check(blocks_agree(&w->x, &w->expected, w->members.vectors, members_epsilon(&w->members), 0),
                  __FILE__, __LINE__, "%s", what);
    CHECK_STATUS(gpusolve_batch_workspace_check(w->handle, w->workspace), GPUSOLVE_OK);
}

static void open_world(capture_world *w, const char *const *specs, int64_t count, batch_layout layout,
                       cholmod_common *common) {
    w->handle = testing_handle(GPUSOLVE_BACKEND_CUDA, 2);
    REQUIRE(cudaStreamCreateWithFlags(&w->stream, cudaStreamNonBlocking) == cudaSuccess);
    CHECK_STATUS(gpusolve_set_stream(w->handle, w->stream), GPUSOLVE_OK);
    w->members = members_new(w->handle, specs, count, GPUSOLVE_SUPERNODAL_LL, IN_DOUBLE, common);
    REQUIRE(gpusolve_batch_create(w->handle, count, w->members.data, NULL, &w->batch) == GPUSOLVE_OK);
    REQUIRE(gpusolve_batch_workspace_create(w->handle, w->batch, COLUMNS, &w->workspace) == GPUSOLVE_OK);
    w->b = blocks_new(&w->members, layout, w->members.vectors, COLUMNS);
    w->x = blocks_new(&w->members, layout, w->members.vectors, COLUMNS);
    w->expected = blocks_new(&w->members, layout, w->members.vectors, COLUMNS);
    for (int64_t m = 0; m < count; m++)
        testing_fill(&w->b.block[m], (uint64_t)m);
    w->device_b = device_new(w->b.memory, w->b.bytes + 1);
    w->device_x = device_new(w->x.memory, w->x.bytes + 1);
    w->b_blocks = blocks_moved(&w->members, &w->b, w->device_b);
    w->x_blocks = blocks_moved(&w->members, &w->x, w->device_x);
}

static void close_world(capture_world *w, cholmod_common *common) {
    device_delete(w->device_b);
    device_delete(w->device_x);
    free(w->b_blocks);
    free(w->x_blocks);
    blocks_free(&w->b);
    blocks_free(&w->x);
    blocks_free(&w->expected);
    gpusolve_batch_workspace_destroy(w->workspace);
    gpusolve_batch_destroy(w->batch);
    members_free(&w->members, common);
    gpusolve_destroy(w->handle);
    cudaStreamDestroy(w->stream);
}

/* where: of `active`: 0 none, 1 on the host, 2 on the device. */
static void check_capture(const char *const *specs, int64_t count, batch_layout layout, int where,
                          cholmod_common *common) {
    testing_in("%lld members, layout %d, active %d", (long long)count, (int)layout, where);
    capture_world w = {0};
    open_world(&w, specs, count, layout, common);
    uint8_t *active = calloc((size_t)count + 1, 1);
    REQUIRE(active != NULL);
    for (int64_t m = 0; m < count; m++)
        active[m] = m % 4 != 2;
    uint8_t *on_device = device_new(active, (size_t)count + 1);
    const uint8_t *given = where == 0 ? NULL : where == 1 ? active : on_device;

    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    REQUIRE(cudaStreamBeginCapture(w.stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
    CHECK_STATUS(
        gpusolve_batch_solve(w.handle, w.batch, w.workspace, GPUSOLVE_A, w.b.block, w.x_blocks, NULL),
        GPUSOLVE_INVALID_ARGUMENT);
    CHECK(strstr(gpusolve_last_error(w.handle), "b is in host memory") != NULL);
    CHECK_STATUS(solve(&w, layout, given), GPUSOLVE_OK);
    REQUIRE(cudaStreamEndCapture(w.stream, &graph) == cudaSuccess);
    REQUIRE(cudaGraphInstantiate(&exec, graph, 0) == cudaSuccess);
    expect(&w, where ? active : NULL);
    replay(&w, exec, "a graph");
    replay(&w, exec, "the graph once more");

    /* other members are active, in device memory: the graph sees that */
    for (int64_t m = 0; m < count; m++)
        active[m] = m % 3 == 0;
    REQUIRE(cudaMemcpy(on_device, active, (size_t)count, cudaMemcpyHostToDevice) == cudaSuccess);
    if (where == 2) {
        expect(&w, active);
        replay(&w, exec, "the graph with other members");
        for (int64_t m = 0; m < count; m++)
            active[m] = m % 4 != 2;
        REQUIRE(cudaMemcpy(on_device, active, (size_t)count, cudaMemcpyHostToDevice) == cudaSuccess);
    }

    /* new numbers for one member */
    members_scale(&w.members, count / 2, 3);
    REQUIRE(gpusolve_factor_refresh(w.handle, w.members.alone[count / 2], &w.members.data[count / 2]) ==
            GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_batch_refresh(w.handle, w.batch, count / 2, 1, &w.members.data[count / 2], NULL),
                 GPUSOLVE_OK);
    for (int64_t m = 0; m < count; m++)
        active[m] = m % 4 != 2;
    expect(&w, where ? active : NULL);
    replay(&w, exec, "the graph after a refresh");

    testing_count_allocations();
    for (int round = 0; round < 5; round++)
        CHECK_STATUS(solve(&w, layout, given), GPUSOLVE_OK);
    CHECK(testing_allocations() == 0);
    CHECK(cudaStreamSynchronize(w.stream) == cudaSuccess);
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
    device_delete(on_device);
    free(active);
    close_world(&w, common);
}

/* ------------------------------------------------------------------------------------- equal distances --- */

/* b and x with these layouts; as: 0 a strided call, 1 arrays, 2 strided with the first member's b for all. */
static void check_apart(capture_world *w, batch_layout b_layout, batch_layout x_layout, int64_t cols,
                        int in_place, int as) {
    const batch_members *members = &w->members;
    batch_blocks b = blocks_new(members, b_layout, members->vectors, cols),
                 x = blocks_new(members, x_layout, members->vectors, cols),
                 expected = blocks_new(members, x_layout, members->vectors, cols);
    for (int64_t m = 0; m < members->count; m++)
        testing_fill(&b.block[m], (uint64_t)m + 5);
    if (in_place)
        memcpy(expected.memory, b.memory, b.bytes);
    for (int64_t m = 0; m < members->count; m++)
        CHECK_STATUS(gpusolve_solve(w->handle, members->alone[m], NULL, GPUSOLVE_A, &b.block[as == 2 ? 0 : m],
                                    &expected.block[m]),
                     GPUSOLVE_OK);
    char *of_b = device_new(b.memory, b.bytes + 1),
         *of_x = in_place ? of_b : device_new(x.memory, x.bytes + 1);
    gpusolve_dense *b_blocks = blocks_moved(members, &b, of_b), *x_blocks = blocks_moved(members, &x, of_x);
    const int64_t stride = members->row[1];
    CHECK_STATUS(
        as == 1
            ? gpusolve_batch_solve(w->handle, w->batch, w->workspace, GPUSOLVE_A, b_blocks, x_blocks, NULL)
            : gpusolve_batch_solve_strided(w->handle, w->batch, w->workspace, GPUSOLVE_A, b_blocks,
                                           as == 2              ? 0
                                           : b_layout == PACKED ? b.stride
                                                                : stride,
                                           x_blocks, x_layout == PACKED ? x.stride : stride, NULL),
        GPUSOLVE_OK);
    CHECK(cudaStreamSynchronize(w->stream) == cudaSuccess);
    batch_blocks *got = in_place ? &b : &x;
    CHECK(device_read(got->memory, of_x, got->bytes) == 0);
    testing_check(blocks_agree(got, &expected, members->vectors, members_epsilon(members), 0), __FILE__,
                  __LINE__, "layouts %d and %d, %d columns, in place %d, as %d", (int)b_layout, (int)x_layout,
                  (int)cols, in_place, as);
    device_delete(of_b);
    if (!in_place)
        device_delete(of_x);
    free(b_blocks);
    free(x_blocks);
    blocks_free(&b);
    blocks_free(&x);
    blocks_free(&expected);
}

/* Columns at equal distances, which the load and the store of eight columns find where they are: no column is solved by itself here. */
static void check_distances(const char *spec, int64_t count, batch_precision precision,
                            cholmod_common *common) {
    const char *const specs[] = {spec, NULL};
    testing_in("%lld members of %s at equal distances, precision %d", (long long)count, spec, (int)precision);
    capture_world w = {0};
    tuning.real_2 = tuning.real_3 = tuning.real_4 = 0;
    w.handle = tuned_handle(GPUSOLVE_BACKEND_CUDA, 2);
    REQUIRE(cudaStreamCreateWithFlags(&w.stream, cudaStreamNonBlocking) == cudaSuccess);
    CHECK_STATUS(gpusolve_set_stream(w.handle, w.stream), GPUSOLVE_OK);
    w.members = members_new(w.handle, specs, count, GPUSOLVE_SUPERNODAL_LL, precision, common);
    REQUIRE(gpusolve_batch_create(w.handle, count, w.members.data, NULL, &w.batch) == GPUSOLVE_OK);
    REQUIRE(gpusolve_batch_workspace_create(w.handle, w.batch, 8, &w.workspace) == GPUSOLVE_OK);
    for (int64_t cols = 2; cols <= 8; cols += 3)
        for (int as = 0; as < 3; as++) {
            check_apart(&w, PACKED, PACKED, cols, 0, as);
            check_apart(&w, PACKED, WHOLE, cols, 0, as);
            check_apart(&w, WHOLE, PACKED, cols, 0, as);
            if (as < 2)
                check_apart(&w, PACKED, PACKED, cols, 1, as);
        }
    gpusolve_batch_workspace_destroy(w.workspace);
    gpusolve_batch_destroy(w.batch);
    members_free(&w.members, common);
    gpusolve_destroy(w.handle);
    cudaStreamDestroy(w.stream);
}

/* ----------------------------------------------------------------------------------------------- cuts --- */

/* L x = b of all members, and of each alone: near to each other, as far as its condition lets them. */
static void check_lower(const capture_world *w, double limit) {
    const batch_members *members = &w->members;
    batch_blocks b = blocks_new(members, APART, members->vectors, 1),
                 x = blocks_new(members, APART, members->vectors, 1);
    for (int64_t m = 0; m < members->count; m++)
        testing_fill(&b.block[m], (uint64_t)m + 1);
    CHECK_STATUS(gpusolve_batch_solve(w->handle, w->batch, w->workspace, GPUSOLVE_L, b.block, x.block, NULL),
                 GPUSOLVE_OK);
    for (int64_t m = 0; m < members->count; m++) {
        double largest = 0, apart = 0;
        CHECK_STATUS(gpusolve_solve(w->handle, members->alone[m], NULL, GPUSOLVE_L, &b.block[m], &b.block[m]),
                     GPUSOLVE_OK);
        for (int64_t i = 0; i < b.block[m].rows; i++) {
            largest = testing_worse(largest, cabs(testing_get(&b.block[m], i, 0)));
            apart =
                testing_worse(apart, cabs(testing_get(&b.block[m], i, 0) - testing_get(&x.block[m], i, 0)));
        }
        CHECK_BELOW(apart, limit * largest);
    }
    blocks_free(&b);
    blocks_free(&x);
}

static void refresh_one(const capture_world *w, int64_t m, int64_t plans) {
    gpusolve_info info = {.size = sizeof info};
    REQUIRE(gpusolve_factor_refresh(w->handle, w->members.alone[m], &w->members.data[m]) == GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_batch_refresh(w->handle, w->batch, m, 1, &w->members.data[m], NULL), GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_factor_info(w->handle, gpusolve_batch_get_factor(w->batch), 1, &info), GPUSOLVE_OK);
    CHECK(info.plans == plans);
    check_lower(w, 1e-8);
}

/* The first column of a member's last triangle becomes large: it is no longer inverted as it is. */
static void check_cuts(cholmod_common *common) {
    static const char *const specs[] = {"grid2d:21", "grid3d:6", NULL};
    testing_in("a refresh of one member that plans the batch again");
    capture_world w = {0};
    open_world(&w, specs, 4, APART, common);
    const cholmod_factor *l = w.members.l[1];
    const int32_t *super = l->super, *pi = l->pi, *px = l->px;
    const size_t s = l->nsuper - 1;
    check_lower(&w, 1e-8);
    members_scale(&w.members, 1, 2);
    refresh_one(&w, 1, 1);
    for (int32_t i = 1; i < super[s + 1] - super[s] && i < pi[s + 1] - pi[s]; i++)
        ((double *)w.members.x[1])[px[s] + i] *= 1e5;
    refresh_one(&w, 1, 2);
    members_scale(&w.members, 2, 3); /* a member beside it, and then its own slices */
    refresh_one(&w, 2, 2);
    members_scale(&w.members, 1, 1);
    refresh_one(&w, 1, 2);
    close_world(&w, common);
}

int main(void) {
    static const char *const mixed[] = {"grid2d:9", "grid2d:1", "grid3d:4", NULL},
                             *const one[] = {"grid2d:13", NULL},
                             *const tiny[] = {"grid2d:2", "grid2d:3", NULL};
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0)
        return 77;
    cholmod_common common;
    cholmod_start(&common);
    for (int where = 0; where < 3; where++) {
        check_capture(mixed, 5, APART, where, &common);
        check_capture(mixed, 6, BOTH, where, &common);
        check_capture(mixed, 3, WHOLE, where, &common);
        check_capture(one, 4, PACKED, where, &common);
        check_capture(one, 5, STRIDED_ROWS, where, &common);
    }
    check_capture(tiny, 120, APART, 1, &common);
    check_capture(tiny, 121, APART_ROWS, 2, &common);
    check_capture(tiny, 1001, APART, 1, &common);
    check_cuts(&common);
    for (batch_precision as = IN_DOUBLE; as <= SINGLE_STORED; as++) {
        check_distances("grid2d:13", 6, as, &common);
        check_distances("grid2d:37", 2, as, &common);
        check_distances("grid2d:40", 70, as, &common);
    }
    cholmod_finish(&common);
    CHECK(gsv_live_allocations() == 0 && gsv_live_on_device() == 0);
    return testing_done();
}
