/* Calls on operands in host memory, checked: what the tests of gpusolve_trsm_staged share, after
 * triangular_cases.h. */
#ifndef GPUSOLVE_STAGED_CASES_H
#define GPUSOLVE_STAGED_CASES_H

typedef enum staged_place { STAGED_PAGEABLE, STAGED_PINNED, STAGED_DEVICE } staged_place;

/* With 64 KiB of pinned memory for each direction: blocks take several slots of it. */
static inline gpusolve_staging *staged_new(gpusolve_handle *handle, size_t device_bytes) {
    gpusolve_staging_options options = GPUSOLVE_STAGING_OPTIONS_INIT;
    options.device_bytes = device_bytes;
    options.pinned_bytes = 1 << 17;
    gpusolve_staging *staging = NULL;
    REQUIRE(gpusolve_staging_create(handle, &options, &staging) == GPUSOLVE_OK);
    return staging;
}

static inline gpusolve_status staged_call(gpusolve_staging *staging, const triangular_case *c, const void *a,
                                          int64_t lda, void *b, int64_t ldb) {
    double alpha[2];
    testing_store(c->dtype, alpha, 0, c->alpha);
    return (c->multiply ? gpusolve_trmm_staged : gpusolve_trsm_staged)(
        staging, c->dtype, c->side, c->uplo, c->trans, c->diag, c->m, c->n, alpha, a, lda, b, ldb);
}

/* A copy of a block in the memory asked for, and back. */
static inline void *staged_place_new(staged_place place, const gpusolve_dense *block);
static inline void staged_place_end(staged_place place, void *memory, const gpusolve_dense *block);

#ifdef GPUSOLVE_STAGED_CUDA
#include <cuda_runtime_api.h>

static inline void *staged_place_new(staged_place place, const gpusolve_dense *block) {
    const size_t bytes = testing_block_bytes(block);
    void *memory = NULL;
    if (place == STAGED_PAGEABLE)
        return block->values;
    if (place == STAGED_DEVICE)
        return device_new(block->values, bytes);
    REQUIRE(cudaHostAlloc(&memory, bytes + 1, cudaHostAllocDefault) == cudaSuccess);
    memcpy(memory, block->values, bytes);
    return memory;
}

static inline void staged_place_end(staged_place place, void *memory, const gpusolve_dense *block) {
    if (place == STAGED_DEVICE) {
        CHECK(device_read(block->values, memory, testing_block_bytes(block)) == 0);
        device_delete(memory);
    } else if (place == STAGED_PINNED) {
        memcpy(block->values, memory, testing_block_bytes(block));
        cudaFreeHost(memory);
    }
}
#else
static inline void *staged_place_new(staged_place place, const gpusolve_dense *block) {
    REQUIRE(place == STAGED_PAGEABLE);
    return block->values;
}

static inline void staged_place_end(staged_place place, void *memory, const gpusolve_dense *block) {
    (void)place;
    (void)memory;
    (void)block;
}
#endif

/* One call: the ratio (zeros for alpha == 0), the padding, that A is as it was, the same bits again. */
static inline void staged_check(gpusolve_staging *staging, const triangular_case *c, staged_place place_a,
                                staged_place place_b) {
    static const char *const names[] = {"pageable", "pinned", "on the device"};
    testing_in("staged, A %s, B %s: %s", names[place_a], names[place_b], case_name(c));
    const gpusolve_dense a = case_a(c, 1), a_before = case_a(c, 1), before = case_b(c, 2);
    gpusolve_dense after[2] = {case_b(c, 2), case_b(c, 2)};
    for (int k = 0; k < 2; k++) {
        void *memory_a = staged_place_new(place_a, &a), *memory_b = staged_place_new(place_b, &after[k]);
        REQUIRE(memory_a && memory_b);
        CHECK_STATUS(staged_call(staging, c, memory_a, a.ld, memory_b, after[k].ld), GPUSOLVE_OK);
        CHECK_STATUS(gpusolve_staging_wait(staging), GPUSOLVE_OK);
        CHECK(gpusolve_staging_is_done(staging) == 1);
        staged_place_end(place_a, memory_a, &a);
        staged_place_end(place_b, memory_b, &after[k]);
    }
    if (c->alpha == 0) {
        int zeros = 1;
        for (int64_t j = 0; j < c->n; j++)
            for (int64_t i = 0; i < c->m; i++)
                zeros &= testing_get(&after[0], i, j) == 0;
        CHECK(zeros);
    } else {
        CHECK_BELOW(case_ratio(c, &a, &before, &after[0]), 30);
    }
    CHECK(testing_padding_untouched(&after[0]));
    CHECK(testing_same_bits(&after[0], 0, &after[1], 0, c->n));
    CHECK(memcmp(a.values, a_before.values, testing_block_bytes(&a)) == 0);
    free(a.values);
    free(a_before.values);
    free(before.values);
    free(after[0].values);
    free(after[1].values);
}

/* Every step-th of case_turned's combinations. */
static inline void staged_variants(gpusolve_staging *staging, const triangular_case *c, staged_place place_a,
                                   staged_place place_b, int step) {
    for (int variant = 0; variant < 24; variant += step) {
        const triangular_case turned = case_turned(c, variant);
        staged_check(staging, &turned, place_a, place_b);
    }
}

#endif
