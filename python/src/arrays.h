/* Arrays of NumPy, as _core takes and gives them. */
#ifndef GPUSOLVE_PYTHON_ARRAYS_H
#define GPUSOLVE_PYTHON_ARRAYS_H

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <vector>

#include "cholmod.h"

namespace nb = nanobind;

using Indices = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Numbers = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <typename T> nb::object copy_of(const void *from, size_t count) {
    auto *copy = new std::vector<T>(static_cast<const T *>(from), static_cast<const T *>(from) + count);
    nb::capsule owner(copy, [](void *p) noexcept { delete static_cast<std::vector<T> *>(p); });
    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(copy->data(), {count}, owner));
}

/* CHOLMOD's view of the pattern of compressed columns with n rows, square unless stype is 0; the arrays outlive it. */
cholmod::Sparse pattern_of(int64_t n, const Indices &p, const Indices &i, int stype);

/* What the other files add to the module. */
void bind_batch(nb::module_ &m);
void bind_graphs(nb::module_ &m);
void bind_products(nb::module_ &m);

#endif
