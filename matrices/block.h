/* Dense blocks of numbers from files of the Matrix Market format: right-hand sides. */
#ifndef GPUSOLVE_MATRICES_BLOCK_H
#define GPUSOLVE_MATRICES_BLOCK_H

#include "matrix.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gsm_block {
    int64_t rows, cols;
    int is_complex;
    double *values; /* column-major: [rows cols], or [2 rows cols] as pairs re, im; all finite */
} gsm_block;

/* Loads the block in a file.
 *
 * path [in]       plain or packed by gzip, whatever its name ends with; "-" is standard input
 * rows [in]       how many rows it must have, or -1: any number
 * out [out]       the block, to be released with gsm_free_block; all zero on failure
 * message [out]   as gsm_load's
 * Returns GSM_SUCCESS or the reason as a gsm_status.
 *
 * The format is "array" (all numbers, column by column; of a symmetric, Hermitian or skew-symmetric block, which is square,
 * the lower triangle) or "coordinate" (what is not listed is zero); the field is real, integer or complex. Numbers and ends
 * of lines are as gsm_load reads them; in the array format a line holds one number. Refused: pattern files, an entry that is
 * given twice, one above the diagonal of a block that is not general, numbers that are not finite, fewer or more entries than
 * declared. */
int gsm_load_block(const char *path, int64_t rows, gsm_block *out, char *message, size_t message_size);

/* Releases what gsm_load_block allocated and sets *block to zero. Takes NULL. */
void gsm_free_block(gsm_block *block);

#ifdef __cplusplus
}
#endif

#endif
