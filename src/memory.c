#include "memory.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64 };

static _Atomic int64_t countdown; /* allocations until the one that fails; 0: off */
static _Atomic int64_t live;

void gsv_fail_allocation(int64_t k) {
    atomic_store(&countdown, k);
}

int gsv_allocation_fails(void) {
    return atomic_load(&countdown) > 0 && atomic_fetch_sub(&countdown, 1) == 1;
}

int64_t gsv_live_allocations(void) {
    return atomic_load(&live);
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
