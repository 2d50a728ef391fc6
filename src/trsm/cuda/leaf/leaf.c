/* The leaves of each precision. */
#include "leaf.h"

const gsv_leaf_functions *gsv_leaf_functions_of(gpusolve_dtype dtype) {
    switch (dtype) {
    case GPUSOLVE_FLOAT:
        return &gsv_leaf_s;
    case GPUSOLVE_DOUBLE:
        return &gsv_leaf_d;
    case GPUSOLVE_COMPLEX_FLOAT:
        return &gsv_leaf_c;
    case GPUSOLVE_COMPLEX_DOUBLE:
        break;
    }
    return &gsv_leaf_z;
}
