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

template <typename Array> std::string shape_of(const Array &array) {
    std::string text = "(";
    for (size_t k = 0; k < array.ndim(); k++)
        text += (k ? ", " : "") + std::to_string(array.shape(k));
    return text + (array.ndim() == 1 ? ",)" : ")");
}

} // namespace

Operand::Operand(nb::handle object, const char *name, bool writable, int64_t rows) {
    if (writable) {
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

template <typename Array> void Operand::describe(const Array &array, const char *name, int64_t rows) {
    if ((array.ndim() != 1 && array.ndim() != 2) || static_cast<int64_t>(array.shape(0)) != rows)
        throw Failure(GPUSOLVE_INVALID_ARGUMENT, std::string(name) + ": has the shape " + shape_of(array) +
                                                     "; wanted is (" + std::to_string(rows) + ",) or (" +
                                                     std::to_string(rows) + ", k)");
    const int device = array.device_type();
    if (device != CPU && device != CUDA && device != CUDA_HOST && device != CUDA_MANAGED)
        throw Failure(GPUSOLVE_NOT_SUPPORTED,
                      std::string(name) + ": is neither in host memory nor on a CUDA device");
    is_on_device = device == CUDA || device == CUDA_MANAGED;
    const bool is_vector = array.ndim() == 1;
    dense.rows = rows;
    dense.cols = is_vector ? 1 : static_cast<int64_t>(array.shape(1));
    dense.values = const_cast<void *>(static_cast<const void *>(array.data()));
    is_usable = dtype_of(array.dtype(), &dense.dtype) &&
                layout_of(rows, dense.cols, array.stride(0), is_vector ? 1 : array.stride(1), &dense);
    /* Numbers must lie at multiples of their parts' size, on a device at multiples of their own. */
    const uintptr_t size = array.dtype().bits / 8u;
    const bool is_complex = array.dtype().code == static_cast<uint8_t>(nb::dlpack::dtype_code::Complex);
    if (is_usable &&
        reinterpret_cast<uintptr_t>(dense.values) % (is_complex && !is_on_device ? size / 2 : size) != 0)
        is_usable = false;
}
