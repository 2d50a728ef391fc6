/* gsm_fingerprint and gsm_nonzeros: what tells two matrices apart, whatever file they came from. The
 * definition stands in matrix.h. */
#include "matrix.h"

#include <stdbool.h>
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
