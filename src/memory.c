#include "memory.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64 };

static _Atomic int64_t countdown, thread_countdown; /* until the one that fails; 0: off */
static _Atomic int64_t live, live_on_device;

int64_t gsv_fail_allocation(int64_t k) {
    return atomic_exchange(&countdown, k);
}

static int fails(_Atomic int64_t *count) {
    return atomic_load(count) > 0 && atomic_fetch_sub(count, 1) == 1;
}

int gsv_allocation_fails(void) {
    return fails(&countdown);
}

int64_t gsv_fail_thread(int64_t k) {
    return atomic_exchange(&thread_countdown, k);
}

int gsv_thread_fails(void) {
    return fails(&thread_countdown);
}

int64_t gsv_live_allocations(void) {
    return atomic_load(&live);
}

int64_t gsv_live_on_device(void) {
    return atomic_load(&live_on_device);
}

void gsv_count_on_device(int change) {
    atomic_fetch_add(&live_on_device, change);
}

void *gsv_malloc(size_t count, size_t size) {
    size_t bytes;
    if (gsv_allocation_fails() || __builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX - ALIGNMENT)
        return NULL;
    /* aligned_alloc wants a multiple of the alignment, and at least one */
    bytes = bytes ? (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT : ALIGNMENT;
    void *memory = aligned_alloc(ALIGNMENT, bytes);
    if (memory)
        atomic_fetch_add(&live, 1);
    return memory;
}

void *gsv_calloc(size_t count, size_t size) {
    void *memory = gsv_malloc(count, size);
    if (memory)
        memset(memory, 0, count * size);
    return memory;
}

void gsv_free(void *memory) {
    if (memory)
        atomic_fetch_sub(&live, 1);
    free(memory);
}
