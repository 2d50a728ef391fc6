/*
 * Host memory. Every allocation of the library goes through here. device.c asks gsv_allocation_fails() before
 * it makes anything on the device. So a test can make the k-th allocation fail for every k.
 */
#ifndef GSV_MEMORY_H
#define GSV_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* count * size bytes, 64-byte aligned, uninitialised (gsv_malloc) or zero (gsv_calloc). NULL when out of
 * memory, when the product overflows, or when the test hook says so; never NULL for count == 0. */
void *gsv_malloc(size_t count, size_t size);
void *gsv_calloc(size_t count, size_t size);
void gsv_free(void *memory); /* NULL is accepted */

/* Test hook: the k-th allocation from now on fails, k = 1, 2, ...; 0: none does. Process-wide. Returns what was
 * left to count of the number before: above 0, that allocation was never asked for. */
int64_t gsv_fail_allocation(int64_t k);
/* Counts one allocation; non-zero if it is the one to fail. */
int gsv_allocation_fails(void);
/* The same for the creation of threads. */
int64_t gsv_fail_thread(int64_t k);
int gsv_thread_fails(void);
/* Allocations that are live: what a leak test compares. Host allocations only. */
int64_t gsv_live_allocations(void);
/* The same for the device: memory, pinned host memory, streams, events, graphs and cuBLAS handles. device.c
 * counts them; 0 in a build without CUDA. */
int64_t gsv_live_on_device(void);
void gsv_count_on_device(int change);

#ifdef __cplusplus
}
#endif
#endif
