/*
 * From a caller's arrays (gpusolve_factor_data) to the structure and the panels of a supernodal factor. Reads
 * the caller's arrays only; validates everything it reads before anything depends on it.
 */
#ifndef GSV_IMPORT_IMPORT_H
#define GSV_IMPORT_IMPORT_H

#include "../../dtype.h"
#include "../tree/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Check every field but the numbers and make the structure, on the pool's threads. A simplicial pattern is grouped into supernodes:
 * fundamental ones, then children merged into parents where few explicit zeros result.
 * Statuses: GPUSOLVE_INVALID_ARGUMENT, _INVALID_FACTOR, _NOT_POSITIVE_DEFINITE, _TOO_LARGE, _OUT_OF_MEMORY;
 * the message names the field. Nothing is allocated on failure.
 */
gpusolve_status gsv_import_structure(const gpusolve_factor_data *data, gsv_pool *pool,
                                     gsv_structure *structure, gsv_message *message);

/*
 * Does this data fit the plan? Supernodal: the arrays must be equal. Simplicial: same n and perm, and every
 * entry must have a place in the plan's panels. The fields are validated like in gsv_import_structure.
 * GPUSOLVE_PATTERN_MISMATCH names the first difference.
 */
gpusolve_status gsv_import_check_pattern(const gpusolve_factor_data *data, const gsv_plan *plan,
                                         gsv_message *message);

/*
 * Are a supernodal factor's arrays, all of them, the planned ones? Then gsv_import_check_pattern would pass,
 * and need not be asked: this runs on the pool's threads and takes less time. 0 says nothing.
 */
int gsv_import_is_planned(const gpusolve_factor_data *data, const gsv_plan *plan, gsv_pool *pool);

/* Check every number that will be read: finite; the diagonal of L L' real, positive, and large enough for finite
 * quotients with its column; D real and not zero. What is to be stored in single precision must be in its range
 * (GSV_IMPORT_LIMIT). GPUSOLVE_NOT_FINITE, GPUSOLVE_SINGULAR,
 * GPUSOLVE_NOT_POSITIVE_DEFINITE name the column. Runs on the pool's threads. diagonal: NULL, or [n], which becomes that of L,
 * or D, if all is well. */
gpusolve_status gsv_import_check_values(const gpusolve_factor_data *data, const gsv_plan *plan,
                                        gsv_pool *pool, double *diagonal, gsv_message *message);

/* Numbers that are stored in single precision are below this limit, and the diagonal of L L' is not below its reciprocal. Then
 * inv(L1) and L2 inv(L1) do not overflow either: a triangle that is inverted has |W(i,j)| L(j,j) <= 225 (trsm/cuda/panels/inverse.h), so these
 * numbers are below 225 limit^2 times the number of columns, and 2^112 times 2^16 is in range. */
#define GSV_IMPORT_LIMIT 0x1p52

/* Whether nothing is wrong with a piece of a column: `count` numbers from `first` behind the diagonal, which is number
 * `diagonal` of x. *entry becomes the diagonal's real part. */
int gsv_import_check_run(const gpusolve_factor_data *data, int64_t diagonal, int64_t first, int64_t count,
                         double *entry);

/* The numbers of the factor that data becomes. */
static inline gsv_numbers gsv_import_numbers(const gpusolve_factor_data *data) {
    const int is_complex = gsv_is_complex(data->dtype);
    if (data->storage == GPUSOLVE_STORAGE_SINGLE)
        return is_complex ? GSV_NUMBERS_ZC : GSV_NUMBERS_DS;
    return (gsv_numbers)data->dtype;
}

/*
 * Copy panel s, nr x nc, column-major with leading dimension nr, complex numbers interleaved, zeros above the
 * diagonal and where a simplicial factor has no entry; a unit diagonal for L D L'. Numbers become those of the factor's panels,
 * rounded to nearest if they are stored in single precision. Safe to call from many
 * threads at once. The data has passed the checks above.
 */
void gsv_import_panel(const gpusolve_factor_data *data, const gsv_plan *plan, int32_t s, void *panel);

/* Copy `count` numbers of column k of panel s, from its diagonal plus `first` rows on: a piece of what
 * gsv_import_panel copies, as safe. */
void gsv_import_column(const gpusolve_factor_data *data, const gsv_plan *plan, int32_t s, int32_t k,
                       int64_t first, int64_t count, void *to);

/* Whether the factor has a D (L D L'), and D's n entries: real numbers of the precision of the factor's vectors (float or
 * double). */
int gsv_import_has_d(const gpusolve_factor_data *data);
void gsv_import_d(const gpusolve_factor_data *data, void *d);

#ifdef __cplusplus
}
#endif
#endif
