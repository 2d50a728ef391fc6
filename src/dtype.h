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

#endif
