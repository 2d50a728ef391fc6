/*
 * What gpusolve_?trsv promises on a device beside the answer: capture (of a handle's first call too) and
 * replay on new numbers, the same bits in every run, no allocation, several handles on several streams at
 * once, calls of different sizes and precisions after one another, and an end also where b holds a NaN,
 * whatever its bits are.
 *
 * With GPUSOLVE_TEST_FEW in the environment: the same at small sizes and less often, for compute-sanitizer's
 * sake, under which a kernel takes thousands of times as long.
 */
#include "trsv_cases.h"

#include <cuda_runtime_api.h>

#include "memory.h"
#include "trsv/trsv_launch.h"

enum { STREAMS = 4 };

static int few;    /* GPUSOLVE_TEST_FEW */
static int rounds; /* how often what must not matter is repeated */

typedef struct on_device {
    trsv_case c;
    void *a, *b, *x; /* device; b as x is on entry */
    void *expected, *got;
} on_device;

static on_device make(gpusolve_dtype dtype, gpusolve_uplo uplo, gpusolve_trans trans, int64_t n) {
    on_device d = {.c = trsv_make(dtype, uplo, trans, GPUSOLVE_NON_UNIT, TRSV_TAME, n, 3, 1)};
    d.a = device_new(d.c.a, d.c.a_bytes);
    d.b = device_new(d.c.x, d.c.x_bytes);
    d.x = device_new(d.c.x, d.c.x_bytes);
    d.expected = malloc(d.c.x_bytes);
    d.got = malloc(d.c.x_bytes);
    REQUIRE(d.a && d.b && d.x && d.expected && d.got);
    return d;
}

static void forget(on_device *d) {
    device_delete(d->a);
    device_delete(d->b);
    device_delete(d->x);
    free(d->expected);
    free(d->got);
    trsv_free(&d->c);
}

static gpusolve_status solve_on(gpusolve_handle *handle, on_device *d, cudaStream_t stream) {
    if (cudaMemcpyAsync(d->x, d->b, d->c.x_bytes, cudaMemcpyDeviceToDevice, stream) != cudaSuccess)
        return GPUSOLVE_CUDA_ERROR;
    return trsv_call(handle, &d->c, d->a, d->x);
}

static int same_bits(on_device *d, cudaStream_t stream) {
    return cudaStreamSynchronize(stream) == cudaSuccess && device_read(d->got, d->x, d->c.x_bytes) == 0 &&
           memcmp(d->got, d->expected, d->c.x_bytes) == 0;
}

static gpusolve_handle *open_handle(cudaStream_t *stream) {
    gpusolve_handle *handle = testing_handle(GPUSOLVE_BACKEND_CUDA, 0);
    REQUIRE(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking) == cudaSuccess);
    CHECK_STATUS(gpusolve_set_stream(handle, *stream), GPUSOLVE_OK);
    return handle;
}

/* What a plain call gives, checked against the equation: the bits that all others must have. */
static void expect(on_device *d) {
    cudaStream_t stream;
    gpusolve_handle *handle = open_handle(&stream);
    CHECK_STATUS(solve_on(handle, d, stream), GPUSOLVE_OK);
    CHECK(cudaStreamSynchronize(stream) == cudaSuccess && device_read(d->expected, d->x, d->c.x_bytes) == 0);
    memcpy(d->c.x, d->expected, d->c.x_bytes);
    const trsv_ratios ratios = trsv_measure(&d->c);
    CHECK_BELOW(ratios.lapack, 30);
    CHECK_BELOW(ratios.component, 10);
    gpusolve_destroy(handle);
    cudaStreamDestroy(stream);
}

static void check_capture(gpusolve_dtype dtype, gpusolve_trans trans, int64_t n) {
    testing_in("capture, dtype %d, trans %d, n %lld", (int)dtype, (int)trans, (long long)n);
    on_device d = make(dtype, GPUSOLVE_LOWER, trans, n);
    expect(&d);
    cudaStream_t stream;
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    gpusolve_handle *handle = open_handle(&stream);
    REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
    CHECK_STATUS(solve_on(handle, &d, stream), GPUSOLVE_OK); /* the handle's first */
    CHECK_STATUS(solve_on(handle, &d, stream), GPUSOLVE_OK);
    REQUIRE(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
    REQUIRE(cudaGraphInstantiate(&exec, graph, 0) == cudaSuccess);
    for (int round = 0; round < rounds; round++) {
        CHECK(cudaGraphLaunch(exec, stream) == cudaSuccess);
        CHECK(same_bits(&d, stream));
    }
    /* new numbers: 2 b has the solution 2 x, to the last bit */
    const size_t reals = d.c.x_bytes / (testing_epsilon(dtype) > 1e-10 ? 4 : 8);
    trsv_case *c = &d.c;
    for (int64_t i = 0; i < n; i++)
        testing_store(dtype, c->x, i, 2 * c->b[i]);
    CHECK(device_write(d.b, c->x, c->x_bytes) == 0);
    for (size_t k = 0; k < reals; k++)
        if (testing_epsilon(dtype) > 1e-10)
            ((float *)d.expected)[k] *= 2;
        else
            ((double *)d.expected)[k] *= 2;
    CHECK(cudaGraphLaunch(exec, stream) == cudaSuccess);
    CHECK(same_bits(&d, stream));

    testing_count_allocations();
    for (int round = 0; round < rounds; round++)
        CHECK_STATUS(solve_on(handle, &d, stream), GPUSOLVE_OK);
    CHECK(testing_allocations() == 0);
    CHECK(same_bits(&d, stream));
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
    gpusolve_destroy(handle);
    cudaStreamDestroy(stream);
    forget(&d);
}

/* Many shapes through one handle: what one leaves behind must not disturb the next. */
static void check_sequence(void) {
    testing_in("one shape after another");
    enum { COUNT = 8 };
    static const int64_t all[COUNT] = {300, 129, 1000, 20, 193, 640, 1000, 257},
                         small[COUNT] = {130, 129, 200, 20, 193, 65, 200, 257};
    const int64_t *sizes = few ? small : all;
    on_device d[COUNT];
    for (int k = 0; k < COUNT; k++) {
        d[k] = make((gpusolve_dtype)((k * 3 + 1) % 4), k % 2 ? GPUSOLVE_UPPER : GPUSOLVE_LOWER,
                    (gpusolve_trans)(k % 3), sizes[k]);
        expect(&d[k]);
    }
    cudaStream_t stream;
    gpusolve_handle *handle = open_handle(&stream);
    for (int round = 0; round < rounds; round++) {
        for (int k = 0; k < COUNT; k++)
            CHECK_STATUS(solve_on(handle, &d[(k * (round % 3 + 1) + round) % COUNT], stream), GPUSOLVE_OK);
        for (int k = 0; k < COUNT; k++)
            CHECK_STATUS(solve_on(handle, &d[k], stream), GPUSOLVE_OK);
        for (int k = 0; k < COUNT; k++)
            CHECK(same_bits(&d[k], stream));
    }
    gpusolve_destroy(handle);
    cudaStreamDestroy(stream);
    for (int k = 0; k < COUNT; k++)
        forget(&d[k]);
}

static void check_streams(int64_t n) {
    testing_in("%d streams, n %lld", STREAMS, (long long)n);
    on_device d[STREAMS];
    gpusolve_handle *handles[STREAMS];
    cudaStream_t streams[STREAMS];
    for (int k = 0; k < STREAMS; k++) {
        d[k] = make((gpusolve_dtype)(k % 2), k % 2 ? GPUSOLVE_UPPER : GPUSOLVE_LOWER, (gpusolve_trans)(k / 2),
                    n);
        expect(&d[k]);
        handles[k] = open_handle(&streams[k]);
    }
    for (int round = 0; round < rounds; round++)
        for (int k = 0; k < STREAMS; k++)
            CHECK_STATUS(solve_on(handles[k], &d[k], streams[k]), GPUSOLVE_OK);
    for (int k = 0; k < STREAMS; k++) {
        CHECK(same_bits(&d[k], streams[k]));
        gpusolve_destroy(handles[k]);
        cudaStreamDestroy(streams[k]);
        forget(&d[k]);
    }
}

/* b(at) = NaN with all bits one: x is as ever before its block, NaN from there on, and the next call is
 * clean. */
static void check_nan(gpusolve_dtype dtype, gpusolve_trans trans, int64_t n, int64_t at) {
    testing_in("NaN in b(%lld), dtype %d, trans %d, n %lld", (long long)at, (int)dtype, (int)trans,
               (long long)n);
    on_device d = make(dtype, trans == GPUSOLVE_NO_TRANS ? GPUSOLVE_LOWER : GPUSOLVE_UPPER, trans, n);
    expect(&d);
    cudaStream_t stream;
    gpusolve_handle *handle = open_handle(&stream);
    const size_t number = testing_bytes(dtype);
    CHECK_STATUS(solve_on(handle, &d, stream), GPUSOLVE_OK);
    CHECK(cudaMemcpyAsync(d.x, d.b, d.c.x_bytes, cudaMemcpyDeviceToDevice, stream) == cudaSuccess);
    CHECK(cudaMemsetAsync((char *)d.x + (size_t)at * number, 0xff, number, stream) == cudaSuccess);
    CHECK_STATUS(trsv_call(handle, &d.c, d.a, d.x), GPUSOLVE_OK);
    CHECK(cudaStreamSynchronize(stream) == cudaSuccess && device_read(d.got, d.x, d.c.x_bytes) == 0);
    const int64_t block = at / 64 * 64;
    int64_t numbers = 0;
    for (int64_t i = at; i < n; i++)
        numbers += !isnan(creal(testing_fetch(dtype, d.got, i)));
    CHECK(numbers == 0);
    CHECK(memcmp(d.got, d.expected, (size_t)(n > 128 ? block : 0) * number) == 0);
    CHECK_STATUS(solve_on(handle, &d, stream), GPUSOLVE_OK);
    CHECK(same_bits(&d, stream));
    gpusolve_destroy(handle);
    cudaStreamDestroy(stream);
    forget(&d);
}

/* Everything, in kernels as they are for this split. */
static void check_all(int split_from) {
    gsv_trsv_force_split(split_from);
    for (int dtype = 0; dtype < 4; dtype++)
        for (int trans = 0; trans < 2; trans++) {
            if (split_from == 0)
                check_capture((gpusolve_dtype)dtype, (gpusolve_trans)trans, 100);
            check_capture((gpusolve_dtype)dtype, (gpusolve_trans)trans, few ? 330 : 700);
            check_nan((gpusolve_dtype)dtype, (gpusolve_trans)trans, 50, 17);
            check_nan((gpusolve_dtype)dtype, (gpusolve_trans)trans, few ? 300 : 500, 200);
        }
    check_sequence();
    check_streams(few ? 200 : 900);
}

int main(void) {
    gpusolve_backend backends[2];
    if (testing_backends(backends) < 2) {
        printf("skipped: no CUDA device\n");
        return TESTING_SKIPPED;
    }
    few = getenv("GPUSOLVE_TEST_FEW") != NULL;
    rounds = few ? 2 : 20;
    check_all(0);
    check_all(4);
    return testing_done();
}
