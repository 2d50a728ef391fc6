#include "known.h"

#include <algorithm>
#include <vector>

namespace {

/* As in dlpack.h, version 1. */
struct ExchangeInterface {
    uint32_t major, minor;
    void *older;
    void *allocate, *import, *export_owned;
    int (*read)(void *object, nb::dlpack::dltensor *tensor);
    int (*current_stream)(int device_type, int32_t device, void **stream);
};

enum { CPU = 1, CUDA = 2, CUDA_HOST = 3, CUDA_MANAGED = 13 }; /* DLDeviceType */

/* The protocol __array_struct__ of NumPy. */
struct ArrayStruct {
    int two, dimensions;
    char kind;
    int item_size, flags;
    Py_ssize_t *shape, *strides;
    void *data;
};
enum { ALIGNED = 0x100, NATIVE = 0x200, WRITABLE = 0x400 };

struct Type {
    PyTypeObject *type; /* kept alive */
    int package;
    PyObject *dtypes[4], *stream;
    const ExchangeInterface *exchange;
};

/* Few: np.ndarray, cupy.ndarray, torch.Tensor, torch.nn.Parameter. Never destroyed, as the interpreter may be gone before. */
std::vector<Type> &types() {
    static auto *const learnt = new std::vector<Type>;
    return *learnt;
}

/* Names of attributes, made once. */
struct Names {
    PyObject *array_struct, *data, *ptr, *shape, *strides, *dtype, *stride, *data_ptr, *is_cuda, *is_cpu,
        *is_neg, *is_conj, *requires_grad, *get_device;
    Names() {
        const auto intern = [](const char *name) { return PyUnicode_InternFromString(name); };
        array_struct = intern("__array_struct__");
        data = intern("data");
        ptr = intern("ptr");
        shape = intern("shape");
        strides = intern("strides");
        dtype = intern("dtype");
        stride = intern("stride");
        data_ptr = intern("data_ptr");
        is_cuda = intern("is_cuda");
        is_cpu = intern("is_cpu");
        is_neg = intern("is_neg");
        is_conj = intern("is_conj");
        requires_grad = intern("requires_grad");
        get_device = intern("get_device");
    }
};

const Names &names() {
    static const Names made;
    return made;
}

/* An attribute, or what a method without arguments gives; an invalid object if it fails. */
nb::object attribute(nb::handle of, PyObject *name) {
    return nb::steal(PyObject_GetAttr(of.ptr(), name));
}
nb::object called(nb::handle of, PyObject *name) {
    return nb::steal(PyObject_CallMethodObjArgs(of.ptr(), name, nullptr));
}
bool is(const nb::object &value, PyObject *wanted) {
    return value.ptr() == wanted;
}

/* Up to two integers of a tuple; false if it is none or holds others. */
bool integers(const nb::object &tuple, size_t *count, int64_t *to) {
    if (!tuple.is_valid() || !PyTuple_Check(tuple.ptr()))
        return false;
    const Py_ssize_t size = PyTuple_Size(tuple.ptr());
    *count = static_cast<size_t>(size);
    for (Py_ssize_t k = 0; k < std::min<Py_ssize_t>(size, 2); k++) {
        to[k] = PyLong_AsSsize_t(PyTuple_GetItem(tuple.ptr(), k));
        if (to[k] == -1 && PyErr_Occurred())
            return false;
    }
    return true;
}

bool pointer(const nb::object &integer, void **to) {
    if (!integer.is_valid())
        return false;
    *to = PyLong_AsVoidPtr(integer.ptr());
    return *to || !PyErr_Occurred();
}

bool find_dtype(const Type &type, const nb::object &dtype, ArrayView *to) {
    for (size_t k = 0; k < 4; k++)
        if (is(dtype, type.dtypes[k])) {
            to->dtype = INEXACT[k];
            return to->has_dtype = true;
        }
    return false;
}

bool read_numpy(nb::handle array, bool writable, ArrayView *to) {
    const nb::object capsule = attribute(array, names().array_struct);
    if (!capsule.is_valid())
        return false;
    const auto *const from = static_cast<const ArrayStruct *>(PyCapsule_GetPointer(capsule.ptr(), nullptr));
    const int wanted = ALIGNED | NATIVE | (writable ? WRITABLE : 0);
    if (!from || from->two != 2 || (from->flags & wanted) != wanted || from->dimensions < 1 ||
        from->dimensions > 2)
        return false;
    if (from->kind == 'f' && (from->item_size == 4 || from->item_size == 8))
        to->dtype = from->item_size == 4 ? GPUSOLVE_FLOAT : GPUSOLVE_DOUBLE;
    else if (from->kind == 'c' && (from->item_size == 8 || from->item_size == 16))
        to->dtype = from->item_size == 8 ? GPUSOLVE_COMPLEX_FLOAT : GPUSOLVE_COMPLEX_DOUBLE;
    else
        return false;
    int64_t bytes[2] = {0, 0};
    to->has_dtype = true;
    to->values = from->data;
    to->dimensions = static_cast<size_t>(from->dimensions);
    for (int k = 0; k < from->dimensions; k++) {
        to->shape[k] = from->shape[k];
        bytes[k] = from->strides[k];
    }
    count_strides(to, bytes);
    return to->has_dtype;
}

bool read_cupy(const Type &type, nb::handle array, ArrayView *to) {
    int64_t bytes[2] = {0, 0};
    size_t dimensions = 0;
    if (!find_dtype(type, attribute(array, names().dtype), to) ||
        !integers(attribute(array, names().shape), &to->dimensions, to->shape) ||
        !integers(attribute(array, names().strides), &dimensions, bytes) || dimensions != to->dimensions)
        return false;
    const nb::object data = attribute(array, names().data);
    if (!data.is_valid() || !pointer(attribute(data, names().ptr), &to->values))
        return false;
    to->is_on_device = true;
    count_strides(to, bytes);
    return to->has_dtype;
}

bool exchange_tensor(const ExchangeInterface &exchange, nb::handle tensor, ArrayView *to, int *device) {
    nb::dlpack::dltensor from{};
    if (exchange.read(tensor.ptr(), &from) != 0 || from.ndim < 1 || from.ndim > 2 || !from.strides ||
        from.dtype.lanes != 1)
        return false;
    const int kind = from.device.device_type;
    const bool is_complex = from.dtype.code == static_cast<uint8_t>(nb::dlpack::dtype_code::Complex);
    if ((!is_complex && from.dtype.code != static_cast<uint8_t>(nb::dlpack::dtype_code::Float)) ||
        (kind != CPU && kind != CUDA && kind != CUDA_HOST && kind != CUDA_MANAGED))
        return false;
    const int bits = from.dtype.bits / (is_complex ? 2 : 1);
    if (bits != 32 && bits != 64)
        return false;
    to->dtype = INEXACT[(bits == 64) + 2 * is_complex];
    to->has_dtype = true;
    to->values = static_cast<char *>(from.data) + from.byte_offset;
    to->dimensions = static_cast<size_t>(from.ndim);
    for (int k = 0; k < from.ndim; k++) {
        to->shape[k] = from.shape[k];
        to->strides[k] = from.strides[k];
    }
    to->is_on_device = kind == CUDA || kind == CUDA_MANAGED;
    *device = to->is_on_device ? from.device.device_id : -1;
    return true;
}

bool read_tensor(const Type &type, nb::handle tensor, ArrayView *to, int *device) {
    if (type.exchange) {
        if (!exchange_tensor(*type.exchange, tensor, to, device))
            return false;
    } else {
        size_t dimensions = 0;
        if (!find_dtype(type, attribute(tensor, names().dtype), to) ||
            !integers(attribute(tensor, names().shape), &to->dimensions, to->shape) ||
            !integers(called(tensor, names().stride), &dimensions, to->strides) ||
            dimensions != to->dimensions || !pointer(called(tensor, names().data_ptr), &to->values))
            return false;
        to->is_on_device = is(attribute(tensor, names().is_cuda), Py_True);
        if (!to->is_on_device && !is(attribute(tensor, names().is_cpu), Py_True))
            return false;
        *device = -1;
        if (to->is_on_device) {
            const nb::object number = called(tensor, names().get_device);
            *device = number.is_valid() ? static_cast<int>(PyLong_AsLong(number.ptr())) : -1;
            if (*device < 0)
                return false;
        }
    }
    /* A tensor that is negated or conjugated when it is read */
    const bool is_complex = to->dtype == GPUSOLVE_COMPLEX_FLOAT || to->dtype == GPUSOLVE_COMPLEX_DOUBLE;
    return is(called(tensor, names().is_neg), Py_False) &&
           (!is_complex || is(called(tensor, names().is_conj), Py_False));
}

bool find_stream(const Type &type, int device, void **stream) {
    *stream = nullptr;
    if (type.package == known::NUMPY || (type.package == known::TORCH && device < 0))
        return true;
    if (type.exchange)
        return type.exchange->current_stream(CUDA, device, stream) == 0;
    if (type.package == known::CUPY) {
        const nb::object current = nb::steal(PyObject_CallObject(type.stream, nullptr));
        return current.is_valid() && pointer(attribute(current, names().ptr), stream);
    }
    const nb::object number = nb::steal(PyLong_FromLong(device));
    return number.is_valid() &&
           pointer(nb::steal(PyObject_CallFunctionObjArgs(type.stream, number.ptr(), nullptr)), stream);
}

bool read_pair(const Type &type, nb::handle b, nb::handle x, ArrayView *to_b, ArrayView *to_x,
               void **stream) {
    int device = 0, device_x = 0;
    if (type.package == known::NUMPY)
        return read_numpy(b, false, to_b) && read_numpy(x, true, to_x) && find_stream(type, 0, stream);
    if (type.package == known::CUPY)
        return read_cupy(type, b, to_b) && read_cupy(type, x, to_x) && find_stream(type, 0, stream);
    return is(attribute(b, names().requires_grad), Py_False) && read_tensor(type, b, to_b, &device) &&
           read_tensor(type, x, to_x, &device_x) && device == device_x && find_stream(type, device, stream);
}

} // namespace

namespace known {

void learn(nb::type_object type, int package, nb::tuple dtypes, nb::object stream, nb::object exchange) {
    Type learnt{};
    learnt.type = reinterpret_cast<PyTypeObject *>(type.release().ptr());
    learnt.package = package;
    for (size_t k = 0; k < 4; k++)
        learnt.dtypes[k] = nb::object(dtypes[k]).release().ptr();
    learnt.stream = stream.release().ptr();
    if (PyCapsule_IsValid(exchange.ptr(), "dlpack_exchange_api")) {
        const auto *const found = static_cast<const ExchangeInterface *>(
            PyCapsule_GetPointer(exchange.ptr(), "dlpack_exchange_api"));
        if (found->major == 1 && found->read && found->current_stream)
            learnt.exchange = found;
        exchange.release(); /* kept alive */
    }
    types().push_back(learnt);
}

bool read(nb::handle b, nb::handle x, ArrayView *to_b, ArrayView *to_x, void **stream) {
    PyTypeObject *const type = Py_TYPE(b.ptr());
    if (Py_TYPE(x.ptr()) != type)
        return false;
    for (const Type &t : types())
        if (t.type == type) {
            if (read_pair(t, b, x, to_b, to_x, stream))
                return true;
            PyErr_Clear();
            return false;
        }
    return false;
}

} // namespace known
