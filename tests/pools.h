/*
 * Pools of 1 to 8 threads, all of which work on small factors, too, for tests of the library's inner functions. They are made
 * before the test's main and live until the program ends, so a test that counts live allocations finds testing_pool_allocations
 * of them at the end.
 */
#ifndef GPUSOLVE_TESTING_POOLS_H
#define GPUSOLVE_TESTING_POOLS_H

#include <stdlib.h>

#include "memory.h"
#include "pool.h"

enum { TESTING_MOST_THREADS = 8 };

static gsv_pool *testing_pools[TESTING_MOST_THREADS + 1];
static int64_t testing_pool_allocations;

static void testing_end_pools(void) {
    for (int threads = 1; threads <= TESTING_MOST_THREADS; threads++)
        gsv_pool_destroy(testing_pools[threads]);
}

/* What one_test.c and all_tests.c call before this test's main. No constructor: all_tests.c holds many tests, and only
 * the one that runs may have pools. */
void TEST_START(void);
void TEST_START(void) {
    const int64_t live = gsv_live_allocations();
    for (int threads = 1; threads <= TESTING_MOST_THREADS; threads++)
        if (gsv_pool_create(threads, &testing_pools[threads]))
            abort();
        else
            gsv_pool_be_eager(testing_pools[threads]);
    testing_pool_allocations = gsv_live_allocations() - live;
    if (atexit(testing_end_pools))
        abort();
}

static inline gsv_pool *testing_pool(int threads) {
    return testing_pools[threads];
}

#endif
