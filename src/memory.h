/*
 * Host memory. Every allocation of the library goes through here, and the device's allocations ask
 * gsv_allocation_fails() first, so that a test can make the k-th allocation fail for every k.
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

/* Test hook: the k-th allocation from now on fails, k = 1, 2, ...; 0: none does. Process-wide. */
void gsv_fail_allocation(int64_t k);
/* Counts one allocation; non-zero if it is the one to fail. */
int gsv_allocation_fails(void);
/* Allocations that are live: what a leak test compares. Host allocations only. */
int64_t gsv_live_allocations(void);

#ifdef __cplusplus
}
#endif
#endif
