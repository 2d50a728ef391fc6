/*
 * What a factor was when it was looked at: every pointer and size of its, and a hash of some hundred of its numbers. Two guards
 * that differ mean that the factor has changed, by whatever means.
 */
#ifndef PRELOAD_GUARD_H
#define PRELOAD_GUARD_H

#include <stdbool.h>

#include "cholmod_objects.h"

typedef struct preload_guard {
    preload_factor fields; /* with 0 where a change does not matter */
    uint64_t hash;
} preload_guard;

/* Microseconds, also for a large factor: the numbers that are read are independent of each other. */
void preload_take_guard(const preload_factor *L, preload_guard *guard);

bool preload_same_guard(const preload_guard *a, const preload_guard *b);

/* Numbers that the array x has room for, and their bytes. */
int64_t preload_factor_numbers(const preload_factor *L);
int64_t preload_factor_bytes(const preload_factor *L);

#endif
