/*
 * Pools of 1 to 8 threads, all of which work on small factors, too, for tests of the library's inner functions. They are made before main and live until
 * the program ends, so a test that counts live allocations finds testing_pool_allocations of them at the end. Where all programs are
 * one, "gpusolve-tests NAME", only NAME has its pools: glibc hands main's arguments to a constructor too.
 */
#ifndef GPUSOLVE_TESTING_POOLS_H
#define GPUSOLVE_TESTING_POOLS_H

#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "pool.h"

enum { TESTING_MOST_THREADS = 8 };

static gsv_pool *testing_pools[TESTING_MOST_THREADS + 1];
static int64_t testing_pool_allocations;

__attribute__((constructor)) static void testing_make_pools(int argc, char **argv) {
#ifdef GPUSOLVE_TEST_NAME
    if (argc < 2 || strcmp(argv[1], GPUSOLVE_TEST_NAME) != 0)
        return;
#else
    (void)argc;
    (void)argv;
#endif
    const int64_t live = gsv_live_allocations();
    for (int threads = 1; threads <= TESTING_MOST_THREADS; threads++)
        if (gsv_pool_create(threads, &testing_pools[threads]))
            abort();
        else
            gsv_pool_be_eager(testing_pools[threads]);
    testing_pool_allocations = gsv_live_allocations() - live;
}

__attribute__((destructor)) static void testing_end_pools(void) {
    for (int threads = 1; threads <= TESTING_MOST_THREADS; threads++)
        gsv_pool_destroy(testing_pools[threads]);
}

static inline gsv_pool *testing_pool(int threads) {
    return testing_pools[threads];
}

#endif
