/* The leaves of each precision. */
#include "leaf.h"

const gsv_leaf_functions *gsv_leaf_functions_of(gpusolve_dtype dtype) {
    static const gsv_leaf_functions *const of[] = {&gsv_leaf_s, &gsv_leaf_d, &gsv_leaf_c, &gsv_leaf_z};
    return of[dtype];
}
