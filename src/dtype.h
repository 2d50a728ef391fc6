/* What a gpusolve_dtype says of its numbers. Lowest layer: includes nothing of the library. */
#ifndef GSV_DTYPE_H
#define GSV_DTYPE_H

#include <stddef.h>

#include "gpusolve.h"

static inline int gsv_is_complex(gpusolve_dtype dtype) {
    return dtype == GPUSOLVE_COMPLEX_FLOAT || dtype == GPUSOLVE_COMPLEX_DOUBLE;
}

static inline int gsv_is_single(gpusolve_dtype dtype) {
    return dtype == GPUSOLVE_FLOAT || dtype == GPUSOLVE_COMPLEX_FLOAT;
}

/* Bytes of a real number, or of a real or imaginary part; and of a number. */
static inline size_t gsv_real_bytes(gpusolve_dtype dtype) {
    return gsv_is_single(dtype) ? sizeof(float) : sizeof(double);
}
static inline size_t gsv_dtype_bytes(gpusolve_dtype dtype) {
    return gsv_real_bytes(dtype) * (gsv_is_complex(dtype) ? 2 : 1);
}

/*
 * The numbers of a factor: panels, and vectors with b and x. The first four have one type for all; of the others panels are in single
 * precision, and vectors, sums, D, b and x in double (gpusolve_factor_data.storage).
 */
typedef enum gsv_numbers {
    GSV_NUMBERS_S = GPUSOLVE_FLOAT,
    GSV_NUMBERS_D = GPUSOLVE_DOUBLE,
    GSV_NUMBERS_C = GPUSOLVE_COMPLEX_FLOAT,
    GSV_NUMBERS_Z = GPUSOLVE_COMPLEX_DOUBLE,
    GSV_NUMBERS_DS,
    GSV_NUMBERS_ZC
} gsv_numbers;

static inline gpusolve_dtype gsv_panel_dtype(gsv_numbers numbers) {
    return numbers == GSV_NUMBERS_DS   ? GPUSOLVE_FLOAT
           : numbers == GSV_NUMBERS_ZC ? GPUSOLVE_COMPLEX_FLOAT
                                       : (gpusolve_dtype)numbers;
}
static inline gpusolve_dtype gsv_vector_dtype(gsv_numbers numbers) {
    return numbers == GSV_NUMBERS_DS   ? GPUSOLVE_DOUBLE
           : numbers == GSV_NUMBERS_ZC ? GPUSOLVE_COMPLEX_DOUBLE
                                       : (gpusolve_dtype)numbers;
}

/* Bytes of a number of the panels, and of the vectors. */
static inline size_t gsv_panel_bytes(gsv_numbers numbers) {
    return gsv_dtype_bytes(gsv_panel_dtype(numbers));
}
static inline size_t gsv_vector_bytes(gsv_numbers numbers) {
    return gsv_dtype_bytes(gsv_vector_dtype(numbers));
}

static inline int gsv_are_mixed(gsv_numbers numbers) {
    return numbers >= GSV_NUMBERS_DS;
}

#endif
