#include "guard.h"

#include <string.h>

enum { SAMPLES = 256 };

/* splitmix64 (Steele, Lea and Flood, 2014): a bijective mix of 64 bits. */
static uint64_t mix(uint64_t x) {
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

int64_t preload_factor_numbers(const preload_factor *L) {
    const size_t count = L->is_super ? L->xsize : L->nzmax;
    return count > (size_t)INT64_MAX / 16 ? INT64_MAX / 16 : (int64_t)count;
}

int64_t preload_factor_bytes(const preload_factor *L) {
    const int64_t parts = L->xtype == PRELOAD_REAL ? 1 : 2;
    return preload_factor_numbers(L) * parts * (int64_t)preload_real_bytes(L->dtype);
}

/* The words at `place`, of the size of a number, as bits: a NaN is as good as any other number. */
static uint64_t bits(const char *place, size_t bytes) {
    uint64_t word[2] = {0, 0};
    memcpy(word, place, bytes);
    return word[0] ^ (word[1] << 1 | word[1] >> 63);
}

/* Numbers all over the panels. */
static uint64_t hash_panels(const preload_factor *L, const char *x, size_t bytes) {
    const uint64_t count = L->xsize;
    uint64_t hash = 0;
    for (uint64_t k = 0; count > 0 && k < SAMPLES; k++) {
        /* One in each of SAMPLES equal parts, not at the same offset in each. */
        const uint64_t first = (uint64_t)((double)count / SAMPLES * (double)k), length = count / SAMPLES + 1;
        const uint64_t place = first + mix(k) % length;
        hash += mix(bits(x + (place < count ? place : count - 1) * bytes, bytes) + k);
    }
    return hash;
}

/* Diagonal and last entry of columns: what stands between columns need not be initialised. */
static uint64_t hash_columns(const preload_factor *L, const char *x, size_t bytes) {
    const uint64_t n = L->n, step = n / (SAMPLES / 2) + 1;
    uint64_t hash = 0;
    for (uint64_t j = 0; j < n; j += step) {
        const int64_t first = preload_index(L->p, L->itype, (int64_t)j);
        const int64_t last = first + preload_index(L->nz, L->itype, (int64_t)j) - 1;
        if (first < 0 || last < first || last >= preload_factor_numbers(L))
            continue; /* the import will say what is wrong */
        hash += mix(bits(x + (size_t)first * bytes, bytes) + j) +
                mix(bits(x + (size_t)last * bytes, bytes) + (uint64_t)last);
    }
    return hash;
}

void preload_take_guard(const preload_factor *L, preload_guard *guard) {
    const size_t bytes = preload_number_bytes(L->xtype, L->dtype), part = preload_real_bytes(L->dtype);
    memset(guard, 0, sizeof *guard);
    guard->fields = *L;
    guard->fields.ColCount = guard->fields.IPerm = NULL;
    guard->fields.next = guard->fields.prev = NULL;
    guard->fields.is_monotonic = guard->fields.useGPU = 0;
    if (!L->x)
        return;
    if (L->is_super) {
        guard->hash = hash_panels(L, L->x, bytes);
        if (L->xtype == PRELOAD_ZOMPLEX && L->z)
            guard->hash += mix(hash_panels(L, L->z, part));
    } else if (L->p && L->nz) {
        guard->hash = hash_columns(L, L->x, bytes);
        if (L->xtype == PRELOAD_ZOMPLEX && L->z)
            guard->hash += mix(hash_columns(L, L->z, part));
    }
}

bool preload_same_guard(const preload_guard *a, const preload_guard *b) {
    return a->hash == b->hash && !memcmp(&a->fields, &b->fields, sizeof a->fields);
}
