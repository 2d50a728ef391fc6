/* <complex.h> with CMPLX, which glibc's header keeps from clang. */
#ifndef GPUSOLVE_TESTS_COMPLEX_NUMBER_H
#define GPUSOLVE_TESTS_COMPLEX_NUMBER_H

#include <complex.h>

#ifndef CMPLX
#define CMPLX(re, im) __builtin_complex((double)(re), (double)(im))
#endif

#endif
