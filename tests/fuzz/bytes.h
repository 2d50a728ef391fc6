/*
 * What the fuzz targets share: numbers and indices made of a fuzzer's bytes, and a check that ends the program,
 * which is what libFuzzer takes for a finding.
 */
#ifndef FUZZ_BYTES_H
#define FUZZ_BYTES_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FUZZ_CHECK(condition)                                                             \
    do {                                                                                  \
        if (!(condition)) {                                                               \
            fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
            abort();                                                                      \
        }                                                                                 \
    } while (0)

typedef struct fuzz_bytes {
    const uint8_t *at;
    size_t left;
} fuzz_bytes;

/* Zero when there are none left. */
static inline uint8_t fuzz_byte(fuzz_bytes *from) {
    if (!from->left)
        return 0;
    from->left--;
    return *from->at++;
}

/* Mostly small; from 240 on, numbers at which arithmetic goes wrong. */
static inline int64_t fuzz_index(fuzz_bytes *from) {
    static const int64_t odd[] = {-1,
                                  -2,
                                  -100,
                                  INT32_MAX,
                                  INT32_MAX - 1,
                                  INT32_MIN,
                                  INT64_MAX,
                                  INT64_MIN,
                                  INT64_MAX - 1,
                                  INT64_C(1) << 32,
                                  (INT64_C(1) << 32) + 1,
                                  1000,
                                  65536,
                                  INT64_MIN / 2,
                                  INT64_MAX / 2,
                                  INT32_MAX / 2};
    const uint8_t byte = fuzz_byte(from);
    return byte < 240 ? byte : odd[byte - 240];
}

/* Multiples of 1/16 between -8 and 7; from 248 on, numbers that are special. */
static inline double fuzz_number(fuzz_bytes *from) {
    static const double odd[] = {NAN, INFINITY, -INFINITY, 1e-320, -0.0, 1e300, 1e-300, 1e38};
    const uint8_t byte = fuzz_byte(from);
    return byte < 248 ? (byte - 128) / 16.0 : odd[byte - 248];
}

/* An array that ends where it ends: AddressSanitizer sees what is read behind it. count <= 0: nothing of it may
 * be read. */
static inline void *fuzz_array(int64_t count, size_t size) {
    void *memory = calloc(count > 0 ? (size_t)count : 0, size);
    FUZZ_CHECK(memory);
    return memory;
}

#endif
