/*
 * What the diagonal of a factor says of A: the determinant, and how large and how small the diagonal gets. It is computed when values
 * come in, from the caller's numbers: the backends keep reciprocals of them in the factor's precision, or inverses. The checks of the numbers, which have each
 * column in the cache, copy the diagonal (gsv_import_check_values). So the determinant is there before anybody asks, and asking costs what a
 * copy of a number costs.
 */
#ifndef GSV_IMPORT_DETERMINANT_H
#define GSV_IMPORT_DETERMINANT_H

#include <stdint.h>

#include "../../pool.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Doubles alone: a backend may copy it as an array of them. */
typedef struct gsv_determinant {
    double logdet, sign;      /* of A: log |det A|, and 1 or -1 */
    double smallest, largest; /* of L(j,j), or |D(j,j)|; 1 for n = 0 */
    double negative;          /* how many of them are negative */
} gsv_determinant;

/* Where its fields are in the array. */
enum {
    GSV_LOGDET = 0,
    GSV_SIGN = 1,
    GSV_SMALLEST = 2,
    GSV_LARGEST = 3,
    GSV_NEGATIVE = 4,
    GSV_DETERMINANT_NUMBERS = 5
};

/*
 * Of a diagonal of n checked numbers, of L or, with has_d, of D; on the pool's threads. The bits depend on the numbers alone. The logarithm is that
 * of a product whose relative error is below n 2^-120, so it is right to some two units in the last place, also where its terms cancel. No
 * product over- or underflows.
 */
gsv_determinant gsv_import_determinant(const double *diagonal, int64_t n, int has_d, gsv_pool *pool);

#ifdef __cplusplus
}
#endif
#endif
