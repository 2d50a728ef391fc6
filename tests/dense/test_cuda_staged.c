/*
 * Calls on operands in host memory, on a device: operands in every kind of memory and mixtures of them,
 * device memory so short that tiles and chunks come and go, allocations and transfers that fail.
 */
#include "testing.h"

#include "memory.h"
#include "triangular_cases.h"
#define GPUSOLVE_STAGED_CUDA
#include "staged_cases.h"
#include "trsm/staged/cuda_transfer.h"

enum { MOST_FAILURES = 500 };

/* Bytes for `tiles` tiles of 64 x 64 and two chunks of `width` vectors of n rows. */
static size_t limit_for(gpusolve_dtype dtype, int64_t tiles, int64_t n, int64_t width) {
    return (size_t)(tiles * 64 * 64 + 2 * n * width) * testing_bytes(dtype) + 4 * 256;
}

/* Four blocks of 64, ten tiles: all of them resident, two of them, or none; and chunks of 7 of 31 vectors. */
static void check_limits(gpusolve_handle *handle) {
    static const int64_t tiles[] = {8, 9, 11};
    for (int dtype = 0; dtype < 4; dtype++)
        for (int k = 0; k < 3; k++) {
            gpusolve_staging *staging =
                staged_new(handle, limit_for((gpusolve_dtype)dtype, tiles[k], 230, 7));
            for (int multiply = 0; multiply < 2; multiply++) {
                const triangular_case c = {.multiply = multiply,
                                           .dtype = (gpusolve_dtype)dtype,
                                           .m = 230,
                                           .n = 31,
                                           .alpha = 0.75,
                                           .ldb_padding = 1};
                staged_variants(staging, &c, STAGED_PAGEABLE, STAGED_PAGEABLE, 5);
                staged_variants(staging, &c, STAGED_PINNED, STAGED_PINNED, 5);
            }
            gpusolve_staging_destroy(staging);
        }
    /* ten blocks of 64, 55 tiles: rectangles of 4 x 4 tiles where all of them stay, rows of 4 where not */
    for (int64_t slots = 40; slots < 60; slots += 15) {
        gpusolve_staging *larger = staged_new(handle, limit_for(GPUSOLVE_DOUBLE, slots, 630, 5));
        for (int multiply = 0; multiply < 2; multiply++) {
            const triangular_case c = {
                .multiply = multiply, .dtype = GPUSOLVE_DOUBLE, .m = 630, .n = 18, .alpha = -1};
            staged_variants(larger, &c, STAGED_PINNED, STAGED_PAGEABLE, 5);
        }
        gpusolve_staging_destroy(larger);
    }
    gpusolve_staging *staging = staged_new(handle, 6 << 20);
    const triangular_case large = {.dtype = GPUSOLVE_DOUBLE, .m = 1500, .n = 90, .alpha = 1};
    staged_variants(staging, &large, STAGED_PINNED, STAGED_PAGEABLE, 11);
    gpusolve_staging_destroy(staging);
}

static void check_places(gpusolve_handle *handle) {
    gpusolve_staging *staging = staged_new(handle, 4 << 20);
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++)
            for (int dtype = 1; dtype < 3; dtype++) {
                triangular_case c = {.multiply = b % 2,
                                     .dtype = (gpusolve_dtype)dtype,
                                     .m = 200,
                                     .n = 17,
                                     .alpha = 1,
                                     .lda_padding = 3,
                                     .ldb_padding = 2};
                staged_variants(staging, &c, (staged_place)a, (staged_place)b, 5);
                c.alpha = 0;
                staged_variants(staging, &c, (staged_place)a, (staged_place)b, 13);
            }
    gpusolve_staging_destroy(staging);
}

/* Too little memory is the call's failure, which wait reports; the object works on afterwards. */
static void check_too_little(gpusolve_handle *handle) {
    testing_in("too little device memory");
    const triangular_case c = {
        .dtype = GPUSOLVE_DOUBLE, .uplo = GPUSOLVE_LOWER, .m = 4000, .n = 2, .alpha = 1};
    gpusolve_staging *staging = staged_new(handle, limit_for(c.dtype, 8, 2000, 1));
    const gpusolve_dense a = case_a(&c, 1), before = case_b(&c, 2), b = case_b(&c, 2);
    CHECK_STATUS(staged_call(staging, &c, a.values, a.ld, b.values, b.ld), GPUSOLVE_OK);
    CHECK_STATUS(gpusolve_staging_wait(staging), GPUSOLVE_OUT_OF_DEVICE_MEMORY);
    CHECK(strstr(gpusolve_staging_last_error(staging), "device memory") != NULL);
    CHECK(testing_same_bits(&before, 0, &b, 0, c.n));
    const triangular_case fits = {
        .dtype = GPUSOLVE_DOUBLE, .uplo = GPUSOLVE_LOWER, .m = 100, .n = 2, .alpha = 1};
    staged_check(staging, &fits, STAGED_PAGEABLE, STAGED_PAGEABLE);
    gpusolve_staging_destroy(staging);
    free(a.values);
    free(before.values);
    free(b.values);
}

/* The k-th transfer of a call fails, for every k: wait says so, the next call is right. */
static void check_transfers(gpusolve_handle *handle, staged_place place) {
    const triangular_case c = {
        .dtype = GPUSOLVE_DOUBLE, .uplo = GPUSOLVE_UPPER, .m = 140, .n = 9, .alpha = 1};
    gpusolve_staging *staging = staged_new(handle, limit_for(c.dtype, 8, 140, 3));
    int k = 1;
    for (; k < MOST_FAILURES; k++) {
        testing_in("transfer %d fails, %d", k, place);
        const gpusolve_dense a = case_a(&c, 1), b = case_b(&c, 2);
        void *memory_a = staged_place_new(place, &a), *memory_b = staged_place_new(place, &b);
        const int64_t live = gsv_live_allocations();
        gsv_fail_transfer(k);
        CHECK_STATUS(staged_call(staging, &c, memory_a, a.ld, memory_b, b.ld), GPUSOLVE_OK);
        const gpusolve_status status = gpusolve_staging_wait(staging);
        gsv_fail_transfer(0);
        CHECK(gsv_live_allocations() == live);
        CHECK(cudaPeekAtLastError() == cudaSuccess);
        if (status != GPUSOLVE_OK) {
            CHECK_STATUS(status, GPUSOLVE_CUDA_ERROR);
            CHECK(strstr(gpusolve_staging_last_error(staging), "copying a block") != NULL);
        }
        staged_place_end(place, memory_a, &a);
        staged_place_end(place, memory_b, &b);
        free(a.values);
        free(b.values);
        if (status == GPUSOLVE_OK)
            break;
        if (k % 4 == 1)
            staged_check(staging, &c, place, place);
    }
    CHECK(k > 10 && k < MOST_FAILURES); /* tiles, blocks in, blocks out */
    staged_check(staging, &c, place, place);
    gpusolve_staging_destroy(staging);
}

/* The k-th allocation fails, of making a staging object and of a call. */
static void check_allocations(gpusolve_handle *handle) {
    const triangular_case c = {
        .dtype = GPUSOLVE_DOUBLE, .uplo = GPUSOLVE_LOWER, .m = 140, .n = 9, .alpha = 1};
    const int64_t live = gsv_live_allocations();
    int k = 1, made = 0;
    for (int done = 0; !done && k < MOST_FAILURES; k++) {
        testing_in("allocation %d fails", k);
        gpusolve_staging_options options = GPUSOLVE_STAGING_OPTIONS_INIT;
        options.device_bytes = limit_for(c.dtype, 8, 140, 3);
        options.pinned_bytes = 1 << 16;
        gpusolve_staging *staging = NULL;
        gsv_fail_allocation(k);
        gpusolve_status status = gpusolve_staging_create(handle, &options, &staging);
        if (status != GPUSOLVE_OK) {
            gsv_fail_allocation(0);
            CHECK(status == GPUSOLVE_OUT_OF_MEMORY || status == GPUSOLVE_OUT_OF_DEVICE_MEMORY);
            CHECK(staging == NULL && gsv_live_allocations() == live);
            continue;
        }
        made++;
        const gpusolve_dense a = case_a(&c, 1), b = case_b(&c, 2);
        CHECK_STATUS(staged_call(staging, &c, a.values, a.ld, b.values, b.ld), GPUSOLVE_OK);
        status = gpusolve_staging_wait(staging);
        gsv_fail_allocation(0);
        done = status == GPUSOLVE_OK;
        CHECK(done || status == GPUSOLVE_OUT_OF_MEMORY || status == GPUSOLVE_OUT_OF_DEVICE_MEMORY);
        CHECK(done || gpusolve_staging_last_error(staging)[0] != '\0');
        staged_check(staging, &c, STAGED_PAGEABLE, STAGED_PAGEABLE);
        gpusolve_staging_destroy(staging);
        CHECK(gsv_live_allocations() == live);
        free(a.values);
        free(b.values);
    }
    CHECK(made > 3 && k - made > 5); /* of a call, and of making one */
    CHECK(k < MOST_FAILURES);
}

/* A call waits for the one before it, and destroy for the last one. */
static void check_order(gpusolve_handle *handle) {
    testing_in("two calls, destroyed while the second runs");
    const triangular_case c = {
        .dtype = GPUSOLVE_DOUBLE, .uplo = GPUSOLVE_LOWER, .m = 700, .n = 300, .alpha = 1};
    const triangular_case back = {
        .multiply = 1, .dtype = GPUSOLVE_DOUBLE, .uplo = GPUSOLVE_LOWER, .m = 700, .n = 300, .alpha = 1};
    gpusolve_staging *staging = staged_new(handle, 16 << 20);
    const gpusolve_dense a = case_a(&c, 1), before = case_b(&c, 2), b = case_b(&c, 2);
    CHECK_STATUS(staged_call(staging, &c, a.values, a.ld, b.values, b.ld), GPUSOLVE_OK);
    CHECK_STATUS(staged_call(staging, &back, a.values, a.ld, b.values, b.ld), GPUSOLVE_OK);
    gpusolve_staging_destroy(staging);
    double worst = 0;
    for (int64_t j = 0; j < c.n; j++)
        for (int64_t i = 0; i < c.m; i++) {
            const double difference = cabs(testing_get(&b, i, j) - testing_get(&before, i, j));
            worst = testing_worse(worst, difference);
        }
    CHECK_BELOW(worst, 1e-12);
    free(a.values);
    free(before.values);
    free(b.values);
}

int main(void) {
    gpusolve_backend backends[2];
    if (testing_backends(backends) < 2) {
        printf("skipped: no CUDA device\n");
        return TESTING_SKIPPED;
    }
    gpusolve_handle *handle = testing_handle(GPUSOLVE_BACKEND_CUDA, 2);
    check_limits(handle);
    check_places(handle);
    check_too_little(handle);
    check_transfers(handle, STAGED_PAGEABLE);
    check_transfers(handle, STAGED_PINNED);
    check_allocations(handle);
    check_order(handle);
    gpusolve_destroy(handle);
    return testing_done();
}
