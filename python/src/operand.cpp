#include "operand.h"

#include <algorithm>

namespace {

enum { CPU = 1, CUDA = 2, CUDA_HOST = 3, CUDA_MANAGED = 13 }; /* DLDeviceType */

bool dtype_of(nb::dlpack::dtype from, gpusolve_dtype *to) {
    if (from.lanes != 1)
        return false;
    if (from.code == static_cast<uint8_t>(nb::dlpack::dtype_code::Float) &&
        (from.bits == 32 || from.bits == 64)) {
        *to = from.bits == 32 ? GPUSOLVE_FLOAT : GPUSOLVE_DOUBLE;
        return true;
    }
    if (from.code == static_cast<uint8_t>(nb::dlpack::dtype_code::Complex) &&
        (from.bits == 64 || from.bits == 128)) {
        *to = from.bits == 64 ? GPUSOLVE_COMPLEX_FLOAT : GPUSOLVE_COMPLEX_DOUBLE;
        return true;
    }
    return false;
}

/* Order and leading dimension of an array with these strides; false where the library has no words for them. */
bool layout_of(int64_t rows, int64_t cols, int64_t row_stride, int64_t column_stride, gpusolve_dense *to) {
    to->order = GPUSOLVE_COL_MAJOR;
    to->ld = std::max<int64_t>(1, rows);
    if (rows == 0 || cols == 0 || (rows == 1 && cols == 1))
        return true;
    if (rows == 1) { /* column-major with one row */
        to->ld = column_stride;
        return column_stride >= 1;
    }
    if (cols == 1) {
        if (row_stride == 1)
            return true;
        to->order = GPUSOLVE_ROW_MAJOR;
        to->ld = row_stride;
        return row_stride >= 1;
    }
    if (row_stride == 1) {
        to->ld = column_stride;
        return column_stride >= rows;
    }
    to->order = GPUSOLVE_ROW_MAJOR;
    to->ld = row_stride;
    return column_stride == 1 && row_stride >= cols;
}

/* CuPy divides negative strides as if they were unsigned: what comes out is far beyond all addresses. */
bool is_stride(int64_t stride) {
    return stride >= -(INT64_MAX / 32) && stride <= INT64_MAX / 32;
}

std::string shape_of(size_t dimensions, const int64_t *shape) {
    std::string text = "(";
    for (size_t k = 0; k < dimensions; k++)
        text += (k ? ", " : "") + std::to_string(shape[k]);
    return text + (dimensions == 1 ? ",)" : ")");
}

} // namespace

void count_strides(ArrayView *view, const int64_t *bytes) {
    const auto unit = static_cast<int64_t>(bytes_of(view->dtype));
    for (size_t k = 0; k < std::min<size_t>(view->dimensions, 2); k++) {
        view->strides[k] = bytes[k] / unit;
        view->has_dtype = view->has_dtype && bytes[k] % unit == 0;
    }
}

Operand::Operand(nb::handle object, const char *name, bool writable, int64_t rows) {
    if (PyTuple_CheckExact(object.ptr())) {
        describe_tuple(nb::borrow<nb::tuple>(object), name, rows);
    } else if (writable) {
        nb::ndarray<> array;
        if (!nb::try_cast(object, array, false))
            return; /* read-only, or not an array that can be described: the caller finds out which */
        describe(array, name, rows);
        written_ = std::move(array);
    } else {
        nb::ndarray<nb::ro> array;
        if (!nb::try_cast(object, array, false))
            return;
        describe(array, name, rows);
        read_ = std::move(array);
    }
}

void Operand::take(const ArrayView &array, const char *name, int64_t rows) {
    is_on_device = array.is_on_device;
    if (array.dimensions < 1 || array.dimensions > 2 || array.shape[0] != rows)
        throw Failure(GPUSOLVE_INVALID_ARGUMENT,
                      std::string(name) + ": has the shape " +
                          shape_of(std::min<size_t>(array.dimensions, 2), array.shape) + "; wanted is (" +
                          std::to_string(rows) + ",) or (" + std::to_string(rows) + ", k)");
    const bool is_vector = array.dimensions == 1;
    dense.rows = rows;
    dense.cols = is_vector ? 1 : array.shape[1];
    dense.values = array.values;
    dense.dtype = array.dtype;
    is_usable = array.has_dtype && is_stride(array.strides[0]) &&
                (is_vector || is_stride(array.strides[1])) &&
                layout_of(rows, dense.cols, array.strides[0], is_vector ? 1 : array.strides[1], &dense);
    if (!is_usable)
        return;
    /* Numbers must lie at multiples of their parts' size, on a device at multiples of their own. */
    const bool is_complex = dense.dtype == GPUSOLVE_COMPLEX_FLOAT || dense.dtype == GPUSOLVE_COMPLEX_DOUBLE;
    const uintptr_t size = bytes_of(dense.dtype) / (is_complex && !is_on_device ? 2u : 1u);
    if (reinterpret_cast<uintptr_t>(dense.values) % size != 0)
        is_usable = false;
}

template <typename Array> void Operand::describe(const Array &array, const char *name, int64_t rows) {
    const int device = array.device_type();
    if (device != CPU && device != CUDA && device != CUDA_HOST && device != CUDA_MANAGED)
        throw Failure(GPUSOLVE_NOT_SUPPORTED,
                      std::string(name) + ": is neither in host memory nor on a CUDA device");
    ArrayView d{};
    d.is_on_device = device == CUDA || device == CUDA_MANAGED;
    d.values = const_cast<void *>(static_cast<const void *>(array.data()));
    d.dimensions = array.ndim();
    for (size_t k = 0; k < std::min<size_t>(d.dimensions, 2); k++) {
        d.shape[k] = static_cast<int64_t>(array.shape(k));
        d.strides[k] = array.stride(k);
    }
    d.has_dtype = dtype_of(array.dtype(), &d.dtype);
    take(d, name, rows);
}

/* (address, index of the dtype, is it on a device, shape, strides, are these in bytes), or nothing: made by _arrays.py alone. */
void Operand::describe_tuple(nb::tuple tuple, const char *name, int64_t rows) {
    if (tuple.size() == 0)
        return;
    const nb::tuple shape = nb::cast<nb::tuple>(tuple[3]), strides = nb::cast<nb::tuple>(tuple[4]);
    ArrayView d{};
    d.values = reinterpret_cast<void *>(nb::cast<uintptr_t>(tuple[0]));
    d.dimensions = shape.size();
    d.dtype = INEXACT[nb::cast<unsigned>(tuple[1]) & 3u];
    d.has_dtype = true;
    d.is_on_device = nb::cast<bool>(tuple[2]);
    for (size_t k = 0; k < std::min<size_t>(d.dimensions, 2); k++) {
        d.shape[k] = nb::cast<int64_t>(shape[k]);
        d.strides[k] = nb::cast<int64_t>(strides[k]);
    }
    if (nb::cast<bool>(tuple[5])) {
        const int64_t bytes[2] = {d.strides[0], d.strides[1]};
        count_strides(&d, bytes);
    }
    take(d, name, rows);
}
