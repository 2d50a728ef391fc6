/* Arrays of Python as the C library's dense operands. */
#ifndef GPUSOLVE_PYTHON_OPERAND_H
#define GPUSOLVE_PYTHON_OPERAND_H

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "failure.h"

namespace nb = nanobind;

/* The dtypes of the library in the order of INEXACT in _arrays.py. */
constexpr gpusolve_dtype INEXACT[] = {GPUSOLVE_FLOAT, GPUSOLVE_DOUBLE, GPUSOLVE_COMPLEX_FLOAT,
                                      GPUSOLVE_COMPLEX_DOUBLE};

inline size_t bytes_of(gpusolve_dtype dtype) {
    return dtype == GPUSOLVE_FLOAT ? 4u : dtype == GPUSOLVE_COMPLEX_DOUBLE ? 16u : 8u;
}

/* An array of any package. Strides count numbers, not bytes. */
struct ArrayView {
    void *values;
    size_t dimensions;
    int64_t shape[2], strides[2]; /* of the first two dimensions */
    gpusolve_dtype dtype;
    bool has_dtype; /* the dtype is one of the library's */
    bool is_on_device;
};

/* The strides of a view from strides in bytes. A number that is a part of a larger one has no dtype: it is copied. */
void count_strides(ArrayView *view, const int64_t *bytes);

/*
 * A borrowed (n,) or (n, k) array: NumPy's, anything with __dlpack__, a DLPack capsule, or the tuple of _arrays.py. A vector
 * with a stride is a matrix of one column by rows, so it needs no copy.
 */
class Operand {
    nb::ndarray<nb::ro> read_;
    nb::ndarray<> written_;

    void take(const ArrayView &array, const char *name, int64_t rows);
    template <typename Array> void describe(const Array &array, const char *name, int64_t rows);
    void describe_tuple(nb::tuple tuple, const char *name, int64_t rows);

  public:
    gpusolve_dense dense{};
    bool is_usable =
        false; /* the library takes it as it is; otherwise a copy in another layout or dtype is needed */
    bool is_on_device = false;

    /* name: "b" or "x", for the sentence of an error. writable: refuse arrays that say they may not be written. */
    Operand(nb::handle object, const char *name, bool writable, int64_t rows);
    Operand(const ArrayView &array, const char *name, int64_t rows) {
        take(array, name, rows);
    }
};

#endif
