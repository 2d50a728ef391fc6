/*
 * What every test program needs: checks that count, blocks of right-hand sides with poisoned padding, the
 * backends of this machine. A program includes this file once, in the file that holds main.
 *
 *      int main(void) {  testing_in("grid2d:9, nrhs %d", 3);  CHECK(x == y);  return testing_done(); }
 */
#ifndef GPUSOLVE_TESTING_H
#define GPUSOLVE_TESTING_H

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "complex_number.h"
#include "device.h"
#include "gpusolve.h"

enum { TESTING_SKIPPED = 77, TESTING_SHOWN_FAILURES = 20 };

/* What a sanitizer takes from a forked child. AddressSanitizer's allocator does not take its locks for the fork: a lock
 * that another thread holds at that moment stays locked in the child, and its next malloc waits for ever. So a test keeps
 * its other threads still while it forks. ThreadSanitizer does not let a child start threads. */
#if defined(__has_feature)
#define TESTING_HAS_FEATURE(name) __has_feature(name)
#else
#define TESTING_HAS_FEATURE(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || TESTING_HAS_FEATURE(address_sanitizer)
enum { TESTING_FORKS_ARE_QUIET = 1, TESTING_CHILDREN_HAVE_NO_THREADS = 0 };
#elif defined(__SANITIZE_THREAD__) || TESTING_HAS_FEATURE(thread_sanitizer)
enum { TESTING_FORKS_ARE_QUIET = 1, TESTING_CHILDREN_HAVE_NO_THREADS = 1 };
#else
enum { TESTING_FORKS_ARE_QUIET = 0, TESTING_CHILDREN_HAVE_NO_THREADS = 0 };
#endif

static long testing_checks, testing_failures;
static char testing_context[256];

/* What the next checks are about: printed with each failure. */
__attribute__((format(printf, 1, 2))) static inline void testing_in(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(testing_context, sizeof testing_context, format, arguments);
    va_end(arguments);
}

__attribute__((format(printf, 4, 5))) static inline int testing_check(int passed, const char *file, int line,
                                                                      const char *format, ...) {
    testing_checks++;
    if (passed || ++testing_failures > TESTING_SHOWN_FAILURES)
        return passed;
    va_list arguments;
    va_start(arguments, format);
    printf("FAILED %s:%d [%s] ", file, line, testing_context);
    vprintf(format, arguments);
    printf("\n");
    va_end(arguments);
    return passed;
}

/* Each is 1 if it passed. A NaN fails CHECK_BELOW. */
#define CHECK(condition) testing_check(!!(condition), __FILE__, __LINE__, "%s", #condition)
#define CHECK_BELOW(value, limit)                                                                            \
    testing_check((value) < (limit), __FILE__, __LINE__, "%s = %g is not below %g", #value, (double)(value), \
                  (double)(limit))
#define CHECK_STATUS(call, expected) testing_check_status((call), (expected), __FILE__, __LINE__, #call)

static inline int testing_check_status(gpusolve_status got, gpusolve_status expected, const char *file,
                                       int line, const char *call) {
    return testing_check(got == expected, file, line, "%s gave %s, not %s", call, gpusolve_status_name(got),
                         gpusolve_status_name(expected));
}

/* The call fails so, and the handle's last error says the word. */
#define CHECK_REFUSED(handle, call, status, word) \
    (CHECK_STATUS(call, status), testing_check_says(handle, word, __FILE__, __LINE__))

static inline int testing_check_says(const gpusolve_handle *handle, const char *word, const char *file,
                                     int line) {
    const char *error = gpusolve_last_error(handle);
    return testing_check(strstr(error, word) != NULL, file, line, "\"%s\" is missing in: %s", word, error);
}

/* Is a selection of the cases enough, for a quick run or for compute-sanitizer? */
static inline int testing_few(void) {
    return getenv("GPUSOLVE_TEST_FEW") != NULL;
}

/* What the test cannot go on without. */
#define REQUIRE(condition)        \
    do {                          \
        if (!CHECK(condition))    \
            exit(testing_done()); \
    } while (0)

static inline int testing_done(void) {
    if (testing_failures > TESTING_SHOWN_FAILURES)
        printf("... and %ld more\n", testing_failures - TESTING_SHOWN_FAILURES);
    printf("%ld checks, %ld failed\n", testing_checks, testing_failures);
    return testing_failures > 0 || testing_checks == 0;
}

/*
 * How often the library allocates, on the host or on a device, from the first call to the second, in this process.
 *
 *      testing_count_allocations();  gpusolve_solve(...);  CHECK(testing_allocations() == 0);
 */
#define testing_count_allocations() ((void)gsv_fail_allocation(INT64_MAX))
#define testing_allocations() (INT64_MAX - gsv_fail_allocation(0)) /* wants memory.h */

/* ------------------------------------------------------------------------------------------- backends --- */

/* HOST, and CUDA where there is a device. There must be one if GPUSOLVE_TEST_DEVICE is in the environment, so that no
 * test passes, or is skipped, for the lack of it. */
static inline int testing_backends(gpusolve_backend list[2]) {
    int count = 0;
    list[count++] = GPUSOLVE_BACKEND_HOST;
    gpusolve_options options = GPUSOLVE_OPTIONS_INIT;
    options.backend = GPUSOLVE_BACKEND_CUDA;
    gpusolve_handle *handle;
    const gpusolve_status status = gpusolve_create(&handle, &options);
    if (status == GPUSOLVE_OK)
        list[count++] = GPUSOLVE_BACKEND_CUDA;
    else if (getenv("GPUSOLVE_TEST_DEVICE")) {
        printf("FAILED: GPUSOLVE_TEST_DEVICE wants a CUDA device, but gpusolve_create gave %s\n",
               gpusolve_status_name(status));
        exit(1);
    }
    gpusolve_destroy(handle);
    return count;
}

static inline const char *testing_backend_name(gpusolve_backend backend) {
    return backend == GPUSOLVE_BACKEND_CUDA ? "CUDA" : "host";
}

static inline gpusolve_handle *testing_handle_bits(gpusolve_backend backend, int threads, int same_bits) {
    gpusolve_options options = GPUSOLVE_OPTIONS_INIT;
    options.backend = backend;
    options.threads = threads;
    options.same_bits = same_bits;
    gpusolve_handle *handle;
    REQUIRE(gpusolve_create(&handle, &options) == GPUSOLVE_OK);
    return handle;
}

static inline gpusolve_handle *testing_handle(gpusolve_backend backend, int threads) {
    return testing_handle_bits(backend, threads, 0);
}

/* -------------------------------------------------------------------------------------------- numbers --- */

/* The larger one; NaN if either is. */
static inline double testing_worse(double worst, double value) {
    return value > worst || isnan(value) ? value : worst;
}

/* In [-1, 1), the same sequence in every run. */
static inline double testing_random(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) * 0x1p-52 - 1;
}

/* xorshift64*: 64 bits, of any state but zero; and a number from 0 to n - 1. */
static inline uint64_t testing_random_bits(uint64_t *state) {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(2685821657736338717);
}

static inline int64_t testing_random_below(uint64_t *state, int64_t n) {
    return (int64_t)((testing_random_bits(state) >> 1) % (uint64_t)n);
}

static inline size_t testing_bytes(gpusolve_dtype dtype) {
    static const size_t bytes[] = {sizeof(float), sizeof(double), 2 * sizeof(float), 2 * sizeof(double)};
    return bytes[dtype];
}

static inline double testing_epsilon(gpusolve_dtype dtype) {
    return dtype == GPUSOLVE_FLOAT || dtype == GPUSOLVE_COMPLEX_FLOAT ? (double)FLT_EPSILON : DBL_EPSILON;
}

static inline int testing_is_complex(gpusolve_dtype dtype) {
    return dtype == GPUSOLVE_COMPLEX_FLOAT || dtype == GPUSOLVE_COMPLEX_DOUBLE;
}

static inline void testing_store(gpusolve_dtype dtype, void *values, int64_t k, double complex value) {
    switch (dtype) {
    case GPUSOLVE_FLOAT:
        ((float *)values)[k] = (float)creal(value);
        break;
    case GPUSOLVE_DOUBLE:
        ((double *)values)[k] = creal(value);
        break;
    case GPUSOLVE_COMPLEX_FLOAT:
        ((float *)values)[2 * k] = (float)creal(value);
        ((float *)values)[2 * k + 1] = (float)cimag(value);
        break;
    case GPUSOLVE_COMPLEX_DOUBLE:
        ((double *)values)[2 * k] = creal(value);
        ((double *)values)[2 * k + 1] = cimag(value);
        break;
    }
}

static inline double complex testing_fetch(gpusolve_dtype dtype, const void *values, int64_t k) {
    switch (dtype) {
    case GPUSOLVE_FLOAT:
        return ((const float *)values)[k];
    case GPUSOLVE_DOUBLE:
        return ((const double *)values)[k];
    case GPUSOLVE_COMPLEX_FLOAT:
        return CMPLX(((const float *)values)[2 * k], ((const float *)values)[2 * k + 1]);
    case GPUSOLVE_COMPLEX_DOUBLE:
        return CMPLX(((const double *)values)[2 * k], ((const double *)values)[2 * k + 1]);
    }
    return NAN;
}

/* --------------------------------------------------------------------------------------------- blocks --- */

/* A dense block of its own memory, every byte of which starts as 0xff: NaNs, the padding among them. */
static inline gpusolve_dense testing_block(gpusolve_dtype dtype, gpusolve_order order, int64_t rows,
                                           int64_t cols, int64_t padding) {
    int64_t run = order == GPUSOLVE_COL_MAJOR ? rows : cols;
    int64_t runs = order == GPUSOLVE_COL_MAJOR ? cols : rows;
    gpusolve_dense dense = {dtype, order, rows, cols, (run > 1 ? run : 1) + padding, NULL};
    size_t bytes = (size_t)(dense.ld * runs) * testing_bytes(dtype);
    dense.values = malloc(bytes + 1);
    REQUIRE(dense.values != NULL);
    memset(dense.values, 0xff, bytes + 1);
    return dense;
}

static inline size_t testing_block_bytes(const gpusolve_dense *dense) {
    int64_t runs = dense->order == GPUSOLVE_COL_MAJOR ? dense->cols : dense->rows;
    return (size_t)(dense->ld * runs) * testing_bytes(dense->dtype);
}

static inline int64_t testing_place(const gpusolve_dense *dense, int64_t i, int64_t j) {
    return dense->order == GPUSOLVE_COL_MAJOR ? i + j * dense->ld : i * dense->ld + j;
}

static inline void testing_set(const gpusolve_dense *dense, int64_t i, int64_t j, double complex value) {
    testing_store(dense->dtype, dense->values, testing_place(dense, i, j), value);
}

static inline double complex testing_get(const gpusolve_dense *dense, int64_t i, int64_t j) {
    return testing_fetch(dense->dtype, dense->values, testing_place(dense, i, j));
}

/* Column j gets numbers that depend on (seed, j) alone. */
static inline void testing_fill(const gpusolve_dense *dense, uint64_t seed) {
    for (int64_t j = 0; j < dense->cols; j++) {
        uint64_t state = (seed + 1) * 1000003u + (uint64_t)j;
        testing_random(&state);
        for (int64_t i = 0; i < dense->rows; i++) {
            double re = testing_random(&state);
            double im = testing_is_complex(dense->dtype) ? testing_random(&state) : 0;
            testing_set(dense, i, j, CMPLX(re, im));
        }
    }
}

/* Whether the padding still holds the bytes of testing_block. */
static inline int testing_padding_untouched(const gpusolve_dense *dense) {
    size_t bytes = testing_bytes(dense->dtype);
    int64_t run = dense->order == GPUSOLVE_COL_MAJOR ? dense->rows : dense->cols;
    int64_t runs = dense->order == GPUSOLVE_COL_MAJOR ? dense->cols : dense->rows;
    for (int64_t k = 0; k < runs; k++)
        for (size_t byte = (size_t)(k * dense->ld + run) * bytes;
             byte < (size_t)((k + 1) * dense->ld) * bytes; byte++)
            if (((const unsigned char *)dense->values)[byte] != 0xff)
                return 0;
    return 1;
}

/* Whether the columns from bj on of b and from xj on of x have the same bits, whatever their orders and
 * strides. */
static inline int testing_same_bits(const gpusolve_dense *b, int64_t bj, const gpusolve_dense *x, int64_t xj,
                                    int64_t cols) {
    size_t bytes = testing_bytes(b->dtype);
    for (int64_t j = 0; j < cols; j++)
        for (int64_t i = 0; i < b->rows; i++)
            if (memcmp((const char *)b->values + (size_t)testing_place(b, i, bj + j) * bytes,
                       (const char *)x->values + (size_t)testing_place(x, i, xj + j) * bytes, bytes) != 0)
                return 0;
    return 1;
}

/* gpusolve_solve on host blocks; with on_device their copies in device memory are what the library sees. */
static inline gpusolve_status testing_solve(gpusolve_handle *handle, const gpusolve_factor *factor,
                                            gpusolve_workspace *workspace, gpusolve_system system,
                                            const gpusolve_dense *b, const gpusolve_dense *x, int on_device) {
    if (!on_device)
        return gpusolve_solve(handle, factor, workspace, system, b, x);
    gpusolve_dense device_b = *b, device_x = *x;
    int in_place = b->values == x->values;
    device_b.values = device_new(b->values, testing_block_bytes(b));
    device_x.values = in_place ? device_b.values : device_new(x->values, testing_block_bytes(x));
    REQUIRE(device_b.values != NULL && device_x.values != NULL);
    gpusolve_status status = gpusolve_solve(handle, factor, workspace, system, &device_b, &device_x);
    CHECK(device_read(x->values, device_x.values, testing_block_bytes(x)) == 0);
    if (status == GPUSOLVE_OK) /* of a wait that was given up, known now */
        status = gpusolve_workspace_check(handle, workspace);
    device_delete(device_b.values);
    if (!in_place)
        device_delete(device_x.values);
    return status;
}

#endif
