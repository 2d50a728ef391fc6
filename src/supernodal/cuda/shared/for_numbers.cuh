/* From a type of numbers that is known when the library runs to one that is known when it is compiled. */
#ifndef GSV_CUDA_SHARED_FOR_NUMBERS_CUH
#define GSV_CUDA_SHARED_FOR_NUMBERS_CUH

#include "../../../dense_kernels/scalar.cuh"
#include "gpusolve.h"

namespace gsv {

/* call(a number of this type) */
template <typename Call> cudaError_t for_numbers(gpusolve_dtype dtype, Call call) {
    switch (dtype) {
    case GPUSOLVE_FLOAT:
        return call(float());
    case GPUSOLVE_DOUBLE:
        return call(double());
    case GPUSOLVE_COMPLEX_FLOAT:
        return call(complex<float>());
    case GPUSOLVE_COMPLEX_DOUBLE:
        return call(complex<double>());
    }
    return cudaErrorInvalidValue;
}

} // namespace gsv
#endif
