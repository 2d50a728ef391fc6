/*
 * What the dense calls promise on the device beside the answer: they can be captured and replayed on new
 * numbers, they allocate nothing, they write nothing beyond the workspace, the first call of a handle is
 * refused while its stream is captured, and no allocation that fails leaves anything behind. POTRI sees a zero
 * on the diagonal that the stream has yet to write. With
 * GPUSOLVE_TEST_FEW in the environment: a selection, for compute-sanitizer.
 */
#include "testing.h"

#include <cuda_runtime_api.h>

#include "memory.h"
#include "triangular_cases.h"
#include "trsm/cuda/tuning.h"

enum { GUARD = 4096, MOST_ALLOCATIONS = 100 };

static gpusolve_handle *handle_on(cudaStream_t stream) {
    gpusolve_handle *handle = testing_handle(GPUSOLVE_BACKEND_CUDA, 0);
    CHECK_STATUS(gpusolve_set_stream(handle, stream), GPUSOLVE_OK);
    return handle;
}

static size_t query(gpusolve_handle *handle, const triangular_case *c) {
    size_t bytes = 0;
    CHECK_STATUS((c->multiply ? gpusolve_trmm_workspace : gpusolve_trsm_workspace)(handle, c->dtype, c->side,
                                                                                   c->m, c->n, &bytes),
                 GPUSOLVE_OK);
    return bytes;
}

/* Captured once, replayed on two right-hand sides; the same bits as without capture. */
static void check_capture(const triangular_case *c) {
    testing_in("capture: %s", case_name(c));
    cudaStream_t stream = NULL;
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
    gpusolve_handle *handle = handle_on(stream), *other = handle_on(NULL);
    const gpusolve_dense a = case_a(c, 1), b = case_b(c, 2);
    void *device_a = device_new(a.values, testing_block_bytes(&a)), *workspace = NULL;
    void *device_b = device_new(b.values, testing_block_bytes(&b));
    const size_t bytes = query(handle, c);
    REQUIRE(device_a && device_b && cudaMalloc(&workspace, bytes) == cudaSuccess);

    REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
    CHECK_STATUS(case_call(handle, c, device_a, a.ld, device_b, b.ld, workspace, bytes), GPUSOLVE_OK);
    REQUIRE(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
    REQUIRE(cudaGraphInstantiate(&exec, graph, 0) == cudaSuccess);
    for (uint64_t seed = 2; seed < 5; seed++) {
        const gpusolve_dense before = case_b(c, seed), expected = case_b(c, seed);
        CHECK_STATUS(case_run(other, c, &a, &expected, 1), GPUSOLVE_OK);
        REQUIRE(device_write(device_b, before.values, testing_block_bytes(&before)) == 0);
        CHECK(cudaGraphLaunch(exec, stream) == cudaSuccess && cudaStreamSynchronize(stream) == cudaSuccess);
        REQUIRE(device_read(b.values, device_b, testing_block_bytes(&b)) == 0);
        CHECK(testing_same_bits(&b, 0, &expected, 0, c->n));
        CHECK_BELOW(case_ratio(c, &a, &before, &b), 30);
        free(before.values);
        free(expected.values);
    }
    testing_count_allocations();
    for (int k = 0; k < 3; k++)
        CHECK_STATUS(case_call(handle, c, device_a, a.ld, device_b, b.ld, workspace, bytes), GPUSOLVE_OK);
    for (int k = 0; k < 3; k++)
        CHECK_STATUS(case_call(handle, c, device_a, a.ld, device_b, b.ld, NULL, 0), GPUSOLVE_OK);
    CHECK(testing_allocations() == 0);
    CHECK(cudaStreamSynchronize(stream) == cudaSuccess);

    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
    gpusolve_destroy(handle);
    gpusolve_destroy(other);
    cudaStreamDestroy(stream);
    cudaFree(workspace);
    device_delete(device_a);
    device_delete(device_b);
    free(a.values);
    free(b.values);
}

/* A workspace of exactly the size asked for, between guards. */
static void check_guards(const triangular_case *c) {
    testing_in("guards: %s", case_name(c));
    gpusolve_handle *handle = handle_on(NULL);
    const gpusolve_dense a = case_a(c, 1), before = case_b(c, 2), b = case_b(c, 2);
    const size_t bytes = query(handle, c), all = bytes + 2 * GUARD;
    unsigned char *poison = malloc(all), *found = malloc(all);
    REQUIRE(poison && found);
    memset(poison, 0x5a, all);
    char *memory = device_new(poison, all);
    void *device_a = device_new(a.values, testing_block_bytes(&a));
    void *device_b = device_new(b.values, testing_block_bytes(&b));
    REQUIRE(memory && device_a && device_b);
    CHECK_STATUS(case_call(handle, c, device_a, a.ld, device_b, b.ld, memory + GUARD, bytes), GPUSOLVE_OK);
    REQUIRE(device_read(b.values, device_b, testing_block_bytes(&b)) == 0);
    REQUIRE(device_read(found, memory, all) == 0);
    CHECK_BELOW(case_ratio(c, &a, &before, &b), 30);
    CHECK(memcmp(found, poison, GUARD) == 0);
    CHECK(memcmp(found + GUARD + bytes, poison, GUARD) == 0);
    device_delete(memory);
    device_delete(device_a);
    device_delete(device_b);
    gpusolve_destroy(handle);
    free(poison);
    free(found);
    free(a.values);
    free(before.values);
    free(b.values);
}

/* A vector of NaNs, with the very bits that mean "not there yet" between thread blocks, ends as NaNs and
 * leaves its neighbours their bits. */
static void check_nan(const triangular_case *c) {
    testing_in("NaN: %s", case_name(c));
    gpusolve_handle *handle = handle_on(NULL);
    const gpusolve_dense a = case_a(c, 1), clean = case_b(c, 2), b = case_b(c, 2);
    memset((char *)b.values + (size_t)(2 * b.ld) * testing_bytes(c->dtype), 0xff,
           (size_t)c->m * testing_bytes(c->dtype));
    CHECK_STATUS(case_run(handle, c, &a, &clean, 1), GPUSOLVE_OK);
    CHECK_STATUS(case_run(handle, c, &a, &b, 1), GPUSOLVE_OK);
    CHECK(testing_same_bits(&clean, 0, &b, 0, 2));
    CHECK(testing_same_bits(&clean, 3, &b, 3, c->n - 3));
    int all = 1;
    for (int64_t i = 0; i < c->m; i++)
        all &= isnan(creal(testing_get(&b, i, 2)));
    CHECK(all);
    gpusolve_destroy(handle);
    free(a.values);
    free(clean.values);
    free(b.values);
}

/*
 * POTRI looks at the diagonal that the stream's earlier work leaves: here a copy from pinned memory, queued
 * behind a slow one, that has a zero, or mends it. While the stream is captured it cannot look, and is captured.
 */
static void check_potri(void) {
    enum { ORDER = 150, ZERO = 77, MEBIBYTES = 64 };
    cudaStream_t stream = NULL;
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    const size_t bytes = ORDER * ORDER * sizeof(double), slow = (size_t)MEBIBYTES << 20;
    double *host = NULL, *right = malloc(bytes), *got = malloc(bytes);
    void *busy = NULL, *ballast = NULL, *device = NULL;
    REQUIRE(right && got && cudaHostAlloc((void **)&host, bytes, cudaHostAllocDefault) == cudaSuccess);
    REQUIRE(cudaMalloc(&busy, slow) == cudaSuccess &&
            cudaHostAlloc(&ballast, slow, cudaHostAllocDefault) == cudaSuccess);
    REQUIRE(cudaMalloc(&device, bytes) == cudaSuccess);
    REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
    gpusolve_handle *handle = handle_on(stream);
    for (int k = 0; k < ORDER * ORDER; k++)
        host[k] = k % (ORDER + 1) == 0 ? 2 : 1.0 / ORDER;
    for (int zero = 1; zero >= 0; zero--) {
        testing_in("potri of what is still on its way, %s", zero ? "with a zero" : "without one");
        memset(got, 0, bytes);
        REQUIRE(device_write(device, zero ? host : got, bytes) == 0);
        host[ZERO * (ORDER + 1)] = zero ? -0.0 : 2;
        CHECK(cudaMemcpyAsync(busy, ballast, slow, cudaMemcpyHostToDevice, stream) == cudaSuccess);
        CHECK(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, stream) == cudaSuccess);
        CHECK_STATUS(gpusolve_dpotri(handle, GPUSOLVE_UPPER, ORDER, device, ORDER, NULL, 0),
                     zero ? GPUSOLVE_SINGULAR : GPUSOLVE_OK);
        CHECK(cudaStreamSynchronize(stream) == cudaSuccess);
        REQUIRE(device_read(zero ? got : right, device, bytes) == 0);
        CHECK(!zero || strstr(gpusolve_last_error(handle), "entry 78,") != NULL);
        CHECK(!zero || memcmp(got, host, bytes) == 0);
    }
    for (int global = 0; global < 2; global++) {
        testing_in("potri captured, mode %d", global);
        REQUIRE(cudaStreamBeginCapture(stream, global ? cudaStreamCaptureModeGlobal
                                                      : cudaStreamCaptureModeThreadLocal) == cudaSuccess);
        CHECK_STATUS(gpusolve_dpotri(handle, GPUSOLVE_UPPER, ORDER, device, ORDER, NULL, 0), GPUSOLVE_OK);
        REQUIRE(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
        REQUIRE(cudaGraphInstantiate(&exec, graph, 0) == cudaSuccess);
        REQUIRE(device_write(device, host, bytes) == 0);
        CHECK(cudaGraphLaunch(exec, stream) == cudaSuccess && cudaStreamSynchronize(stream) == cudaSuccess);
        REQUIRE(device_read(got, device, bytes) == 0);
        CHECK(memcmp(got, right, bytes) == 0);
        cudaGraphExecDestroy(exec);
        cudaGraphDestroy(graph);
    }
    testing_in("potri while the thread captures another stream");
    cudaStream_t other = NULL;
    REQUIRE(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking) == cudaSuccess);
    REQUIRE(device_write(device, host, bytes) == 0);
    REQUIRE(cudaStreamBeginCapture(other, cudaStreamCaptureModeGlobal) == cudaSuccess);
    CHECK_STATUS(gpusolve_dpotri(handle, GPUSOLVE_UPPER, ORDER, device, ORDER, NULL, 0), GPUSOLVE_OK);
    CHECK(cudaStreamEndCapture(other, &graph) == cudaSuccess);
    CHECK(cudaStreamSynchronize(stream) == cudaSuccess);
    REQUIRE(device_read(got, device, bytes) == 0);
    CHECK(memcmp(got, right, bytes) == 0);
    cudaGraphDestroy(graph);
    gpusolve_destroy(handle);
    cudaStreamDestroy(other);
    cudaStreamDestroy(stream);
    cudaFree(device);
    cudaFree(busy);
    cudaFreeHost(ballast);
    cudaFreeHost(host);
    free(right);
    free(got);
}

static void check_first_call(void) {
    testing_in("first call under capture");
    const triangular_case c = {.dtype = GPUSOLVE_DOUBLE, .uplo = GPUSOLVE_LOWER, .m = 70, .n = 3, .alpha = 1};
    cudaStream_t stream = NULL;
    cudaGraph_t graph = NULL;
    REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
    gpusolve_handle *handle = handle_on(stream);
    const gpusolve_dense a = case_a(&c, 1), b = case_b(&c, 2);
    void *device_a = device_new(a.values, testing_block_bytes(&a));
    void *device_b = device_new(b.values, testing_block_bytes(&b));
    REQUIRE(device_a && device_b);
    REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
    CHECK_STATUS(case_call(handle, &c, device_a, a.ld, device_b, b.ld, NULL, 0), GPUSOLVE_NOT_SUPPORTED);
    CHECK(strstr(gpusolve_last_error(handle), "captured") != NULL);
    CHECK(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
    cudaGraphDestroy(graph);
    gpusolve_destroy(handle);
    cudaStreamDestroy(stream);
    device_delete(device_a);
    device_delete(device_b);
    free(a.values);
    free(b.values);
}

/* The k-th allocation of a handle's first call fails: the status says so, nothing stays, the next call is
 * right. */
static void check_allocation(void) {
    testing_in("failing allocation");
    const triangular_case c = {.dtype = GPUSOLVE_DOUBLE, .uplo = GPUSOLVE_UPPER, .m = 40, .n = 3, .alpha = 1};
    const gpusolve_dense a = case_a(&c, 1), before = case_b(&c, 2);
    for (int k = 1; k < MOST_ALLOCATIONS; k++) {
        gpusolve_handle *handle = handle_on(NULL);
        const gpusolve_dense b = case_b(&c, 2);
        const int64_t live = gsv_live_allocations();
        gsv_fail_allocation(k);
        const gpusolve_status status = case_run(handle, &c, &a, &b, 0);
        gsv_fail_allocation(0);
        if (status != GPUSOLVE_OK) {
            CHECK(status == GPUSOLVE_OUT_OF_MEMORY || status == GPUSOLVE_OUT_OF_DEVICE_MEMORY);
            CHECK(gsv_live_allocations() == live);
            CHECK(testing_same_bits(&before, 0, &b, 0, c.n));
            CHECK_STATUS(case_run(handle, &c, &a, &b, 0), GPUSOLVE_OK);
        }
        CHECK_BELOW(case_ratio(&c, &a, &before, &b), 30);
        gpusolve_destroy(handle);
        free(b.values);
        if (status == GPUSOLVE_OK) {
            CHECK(k > 3); /* some allocations were made to fail */
            break;
        }
    }
    free(a.values);
    free(before.values);
}

/* One setting of trsm/cuda/tuning.h's hooks, on every step-th variant; stops of 0 and of 128 rows, where leaves
 * take turns with products. */
static void check_choice(gpusolve_handle *handle, const triangular_case *c, int step) {
    case_some_variants(handle, c, 1, step);
    gsv_cuda_force_stop(128);
    case_some_variants(handle, c, 1, step);
    gsv_cuda_force_stop(0);
}

/* Every width of the library's own kernels, both kinds of solves, and cuBLAS's. */
static void check_choices(int brief) {
    static const int groups[] = {8, 16, 32, -1};
    gpusolve_handle *handle = handle_on(NULL);
    for (int k = brief; k < (brief ? 2 : 4); k++)
        for (int dtype = brief; dtype < (brief ? 2 : 4); dtype++) {
            const triangular_case c = {.dtype = (gpusolve_dtype)dtype,
                                       .m = brief ? 150 : 210,
                                       .n = brief ? 19 : 35,
                                       .alpha = 1,
                                       .ldb_padding = 1};
            const int step = brief ? 11 : 5;
            gsv_cuda_force_group(groups[k]);
            check_choice(handle, &c, step);
            gsv_cuda_force_serial(1);
            check_choice(handle, &c, step);
            gsv_cuda_force_serial(0);
        }
    gsv_cuda_force_group(0);
    for (int dtype = brief; dtype < (brief ? 2 : 4); dtype++) {
        const triangular_case c = {.dtype = (gpusolve_dtype)dtype, .m = 75, .n = 9, .alpha = 1, .wild = 1};
        gsv_cuda_force_serial(1);
        case_some_variants(handle, &c, 1, brief ? 11 : 5);
        gsv_cuda_force_serial(0);
    }
    gpusolve_destroy(handle);
}

/* Products by clusters of every size and width, by the kernels for few vectors, by cuBLAS. */
static void check_products(int brief) {
    gpusolve_handle *handle = handle_on(NULL);
    for (int dtype = brief; dtype < (brief ? 2 : 4); dtype++) {
        const triangular_case c = {.multiply = 1,
                                   .dtype = (gpusolve_dtype)dtype,
                                   .m = brief ? 150 : 210,
                                   .n = brief ? 19 : 35,
                                   .alpha = 1,
                                   .lda_padding = dtype % 2};
        const int step = brief ? 11 : 5;
        for (int cluster = 1; cluster <= GSV_LARGEST_CLUSTER; cluster *= brief ? 4 : 2)
            for (int group = 8; group <= 32; group *= brief ? 4 : 2) {
                gsv_cuda_force_cluster(cluster);
                gsv_cuda_force_group(group);
                case_some_variants(handle, &c, 1, step);
            }
        gsv_cuda_force_group(0);
        gsv_cuda_force_cluster(-1);
        for (int few = 1; few < 100; few += 98) {
            gsv_cuda_force_few(few);
            check_choice(handle, &c, step);
        }
        gsv_cuda_force_few(0);
        gsv_cuda_force_cluster(0);
    }
    gpusolve_destroy(handle);
}

/* `brief`: a selection of a few seconds, for compute-sanitizer. */
int main(void) {
    const int brief = getenv("GPUSOLVE_TEST_FEW") != NULL;
    gpusolve_backend backends[2];
    if (testing_backends(backends) < 2) {
        printf("skipped: no CUDA device\n");
        return TESTING_SKIPPED;
    }
    for (int multiply = 0; multiply < 2; multiply++)
        for (int dtype = brief; dtype < (brief ? 2 : 4); dtype++) {
            triangular_case c = {.multiply = multiply,
                                 .dtype = (gpusolve_dtype)dtype,
                                 .side = dtype % 2 ? GPUSOLVE_LEFT : GPUSOLVE_RIGHT,
                                 .uplo = dtype / 2 ? GPUSOLVE_LOWER : GPUSOLVE_UPPER,
                                 .trans = (gpusolve_trans)(dtype % 3),
                                 .m = dtype % 2 ? 700 : 5,
                                 .n = dtype % 2 ? 5 : 700,
                                 .alpha = 0.75};
            if (!brief)
                check_capture(&c);
            check_guards(&c);
            c.m = c.n = brief ? 100 : 260; /* many vectors: the recursion's products */
            check_guards(&c);
        }
    for (int dtype = brief; dtype < (brief ? 2 : 4); dtype++) {
        triangular_case c = {
            .dtype = (gpusolve_dtype)dtype, .uplo = GPUSOLVE_LOWER, .m = 400, .n = 11, .alpha = 1};
        check_nan(&c);
        gsv_cuda_force_serial(1);
        check_nan(&c);
        gsv_cuda_force_serial(0);
        c.multiply = 1;
        check_nan(&c);
    }
    check_choices(brief);
    check_products(brief);
    check_first_call();
    check_potri();
    if (!brief)
        check_allocation();
    return testing_done();
}
