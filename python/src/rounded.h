/* Factors of CHOLMOD's in single precision. */
#ifndef GPUSOLVE_PYTHON_ROUNDED_H
#define GPUSOLVE_PYTHON_ROUNDED_H

#include <vector>

#include "failure.h"

/* A factor of CHOLMOD's, in double precision, with its numbers rounded to single precision. */
struct Rounded {
    gpusolve_factor_data data;
    std::vector<float> x;
    explicit Rounded(const gpusolve_factor_data &from) : data(from) {
        const bool is_complex = from.dtype == GPUSOLVE_COMPLEX_DOUBLE;
        const auto *numbers = static_cast<const double *>(from.x);
        x.resize(static_cast<size_t>(from.xsize) * (is_complex ? 2 : 1));
        for (size_t k = 0; k < x.size(); k++)
            x[k] = static_cast<float>(numbers[k]);
        data.x = x.data();
        data.dtype = is_complex ? GPUSOLVE_COMPLEX_FLOAT : GPUSOLVE_FLOAT;
    }
};

#endif
