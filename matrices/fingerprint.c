/* What can be said of a matrix, whatever file it came from: its fingerprint, as matrix.h defines it, its entries, its
 * norm. */
#include "matrix.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static uint64_t absorb(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * UINT64_C(0x100000001b3);
    return hash ^ (hash >> 32);
}

/* The bits of value, -0 taken as +0. */
static uint64_t canonical_bits(double value) {
    uint64_t bits = 0;
    if (value != 0.0) {
        memcpy(&bits, &value, sizeof bits);
    }
    return bits;
}

static bool is_zero(const gsm_matrix *matrix, int64_t p) {
    return matrix->is_complex ? matrix->values[2 * p] == 0.0 && matrix->values[2 * p + 1] == 0.0
                              : matrix->values[p] == 0.0;
}

uint64_t gsm_fingerprint(const gsm_matrix *matrix) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    uint64_t hashed = 0;
    hash = absorb(hash, (uint64_t)matrix->n);
    hash = absorb(hash, matrix->is_complex ? 1 : 0);
    for (int64_t j = 0; j < matrix->n; j++) {
        for (int64_t p = matrix->colptr[j]; p < matrix->colptr[j + 1]; p++) {
            if (is_zero(matrix, p)) {
                continue;
            }
            hash = absorb(hash, (uint64_t)j << 32 | (uint64_t)matrix->rowidx[p]);
            if (matrix->is_complex) {
                hash = absorb(hash, canonical_bits(matrix->values[2 * p]));
                hash = absorb(hash, canonical_bits(matrix->values[2 * p + 1]));
            } else {
                hash = absorb(hash, canonical_bits(matrix->values[p]));
            }
            hashed++;
        }
    }
    return absorb(hash, hashed);
}

int64_t gsm_nonzeros(const gsm_matrix *matrix) {
    int64_t count = 0;
    for (int64_t j = 0; j < matrix->n; j++) {
        for (int64_t p = matrix->colptr[j]; p < matrix->colptr[j + 1]; p++) {
            if (!is_zero(matrix, p)) {
                count += matrix->rowidx[p] == j ? 1 : 2;
            }
        }
    }
    return count;
}

double gsm_norm(const gsm_matrix *matrix) {
    double *sums = calloc((size_t)matrix->n + 1, sizeof *sums);
    double norm = 0;
    if (!sums) {
        return -1;
    }
    for (int64_t j = 0; j < matrix->n; j++) {
        for (int64_t p = matrix->colptr[j]; p < matrix->colptr[j + 1]; p++) {
            const double *value = matrix->values + (matrix->is_complex ? 2 * p : p);
            const double modulus = matrix->is_complex ? hypot(value[0], value[1]) : fabs(value[0]);
            sums[matrix->rowidx[p]] += modulus;
            if (matrix->rowidx[p] != j) {
                sums[j] += modulus;
            }
        }
    }
    for (int64_t i = 0; i < matrix->n && !isnan(norm); i++) {
        norm = sums[i] <= norm ? norm : sums[i];
    }
    free(sums);
    return norm;
}
