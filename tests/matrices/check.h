/* What the tests of this folder share: CHECK counts and prints failures; structure_is_valid looks at every
 * field of a matrix, load and multiply do what they say. */
#ifndef GPUSOLVE_TESTS_MATRICES_CHECK_H
#define GPUSOLVE_TESTS_MATRICES_CHECK_H

#include "matrix.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static int failures;

/* CHECK(condition, format, ...): prints where and what, and counts, unless the condition holds. */
#define CHECK(condition, ...)                                                  \
    do {                                                                       \
        if (!(condition)) {                                                    \
            failures++;                                                        \
            (void)printf("%s:%d: %s fails: ", __FILE__, __LINE__, #condition); \
            (void)printf(__VA_ARGS__);                                         \
            (void)printf("\n");                                                \
        }                                                                      \
    } while (0)

/* Whether the fields of a matrix are what matrix.h says. */
static inline bool structure_is_valid(const gsm_matrix *a) {
    if (a->n < 0 || a->n > INT32_MAX || a->colptr == NULL || a->colptr[0] != 0 || a->colptr[a->n] != a->nnz) {
        return false;
    }
    for (int64_t j = 0; j < a->n; j++) {
        if (a->colptr[j + 1] < a->colptr[j]) {
            return false;
        }
        for (int64_t p = a->colptr[j]; p < a->colptr[j + 1]; p++) {
            int64_t least = p == a->colptr[j] ? j : (int64_t)a->rowidx[p - 1] + 1;
            if (a->rowidx[p] < least || a->rowidx[p] >= a->n) {
                return false;
            }
            for (int c = 0; c <= a->is_complex; c++) {
                if (!isfinite(a->values[(a->is_complex + 1) * p + c])) {
                    return false;
                }
            }
            if (a->is_complex && a->rowidx[p] == j && !(a->values[2 * p + 1] == 0.0)) {
                return false;
            }
        }
    }
    return true;
}

/* gsm_load, which must succeed. */
static inline bool load(const char *spec, gsm_matrix *a) {
    char message[300];
    int status = gsm_load(spec, a, message, sizeof message);
    CHECK(status == GSM_SUCCESS && message[0] == '\0', "%s: %s", spec, message);
    return status == GSM_SUCCESS;
}

/* y = A x for a real A. */
static inline void multiply(const gsm_matrix *a, const double *x, double *y) {
    memset(y, 0, (size_t)a->n * sizeof *y);
    for (int64_t j = 0; j < a->n; j++) {
        for (int64_t p = a->colptr[j]; p < a->colptr[j + 1]; p++) {
            int64_t i = a->rowidx[p];
            y[i] += a->values[p] * x[j];
            if (i != j) {
                y[j] += a->values[p] * x[i];
            }
        }
    }
}

/* The last line of a test: says how it went and returns the exit status. */
static inline int report(const char *name) {
    (void)printf("%s: %d failure%s\n", name, failures, failures == 1 ? "" : "s");
    return failures > 0;
}

#endif
