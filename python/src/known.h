/*
 * Arrays of NumPy, CuPy and PyTorch, read without a line of Python: for solves that take microseconds. _arrays.py tells the
 * types when it meets them. What cannot be read here is left to _arrays.py, which also knows what is wrong with it.
 */
#ifndef GPUSOLVE_PYTHON_KNOWN_H
#define GPUSOLVE_PYTHON_KNOWN_H

#include "operand.h"

namespace known {

enum Package { NUMPY = 0, CUPY = 1, TORCH = 2 };

/*
 * From now on arrays of exactly this type are read. dtypes: the package's objects for INEXACT, in that order. stream: a call
 * that gives the current stream; CuPy's without arguments gives an object, PyTorch's takes the device's number and gives a
 * pointer. exchange: the capsule of DLPack's C exchange interface, or None; then its calls read tensors.
 */
void learn(nb::type_object type, int package, nb::tuple dtypes, nb::object stream, nb::object exchange);

/*
 * Reads b and x, of one known type, and the stream on which their package works. False with nothing done if they are of
 * other types, if they need a conversion or a gradient, or if anything is odd.
 */
bool read(nb::handle b, nb::handle x, ArrayView *to_b, ArrayView *to_x, void **stream);

} // namespace known

#endif
