"""What the package must know of NumPy, CuPy, PyTorch and JAX: to allocate, convert, and hand over their arrays.

Each class describes the arrays of one package:

empty_like(b, dtype)
    A new array of b's shape, device and layout; dtype is a name such as "float64", or None for b's.
empty(b, rows, dtype)
    The same with another number of rows.
view(b, stream)
    What _core takes for b: an array, a DLPack capsule, or the tuple (address, index into INEXACT, is it on a device, shape,
    strides, are these in bytes), which is empty if b must be copied first. The caller keeps b. stream is None, or a pointer
    that the producer orders its work before.
stream(b)
    Pointer of the stream on which b's package works now; 0 for the default stream and on the host.
finish(x, stream, b)
    What the caller gets of an x that empty_like or empty made from b and a solve on the stream has written.
"""

import functools
import sys

import numpy as np

from . import _core

INEXACT = ("float32", "float64", "complex64", "complex128")
_CHARS = {np.dtype(name).char: index for index, name in enumerate(INEXACT)}


@functools.lru_cache(maxsize=None)
def promote(name, factor_dtype):
    """Name of the dtype of x for a b of this dtype: NumPy's rules. TypeError for what is not a number."""
    if name == "bfloat16":
        name = "float16"
    try:
        result = np.result_type(np.dtype(name), np.dtype(factor_dtype)).name
    except TypeError:
        raise TypeError(f"b: has the dtype {name}, which is not one of numbers") from None
    if np.dtype(name).kind not in "biufc" or result not in INEXACT:
        raise TypeError(f"b: has the dtype {name}, which gpusolve cannot solve with")
    return result


class NumPy:
    """Arrays of NumPy."""

    is_mutable = True

    @staticmethod
    def matches(b):
        return isinstance(b, np.ndarray)

    @staticmethod
    def prepare(b):
        """b as a plain array."""
        if isinstance(b, np.ma.MaskedArray):
            raise TypeError("b: is a masked array; fill it first")
        return np.asarray(b)

    @staticmethod
    def dtype_name(b):
        index = _CHARS.get(b.dtype.char)  # quicker than the attribute "name"
        return b.dtype.name if index is None else INEXACT[index]

    @staticmethod
    def empty_like(b, dtype=None):
        return np.empty_like(b, dtype=dtype, subok=False)

    @staticmethod
    def empty(b, rows, dtype=None):
        return np.empty((rows, *b.shape[1:]), dtype or b.dtype)

    @staticmethod
    def astype(b, dtype):
        """A contiguous copy in this dtype."""
        return np.array(b, dtype=dtype, order="F" if b.ndim == 2 and b.flags.f_contiguous else "C")

    @staticmethod
    def assign(to, value):
        np.copyto(to, value, casting="same_kind")

    @staticmethod
    def view(b, stream=None):
        return b

    @staticmethod
    def stream(b):
        return 0

    @staticmethod
    def needs_gradient(b):
        return False

    @staticmethod
    def conjugate(x):
        return x.conj()

    @staticmethod
    def finish(x, stream, b):
        return x


class CuPy(NumPy):
    """Arrays of CuPy."""

    @staticmethod
    def matches(b):
        cupy = sys.modules.get("cupy")
        return cupy is not None and isinstance(b, cupy.ndarray)

    @staticmethod
    def prepare(b):
        return b

    @staticmethod
    def empty_like(b, dtype=None):
        with b.device:
            return sys.modules["cupy"].empty_like(b, dtype=dtype)

    @staticmethod
    def empty(b, rows, dtype=None):
        with b.device:
            return sys.modules["cupy"].empty((rows, *b.shape[1:]), dtype or b.dtype)

    @staticmethod
    def astype(b, dtype):
        return b.astype(dtype, order="F" if b.ndim == 2 and b.flags.f_contiguous else "C", copy=True)

    @staticmethod
    def assign(to, value):
        if not np.can_cast(value.dtype, to.dtype, casting="same_kind"):
            raise TypeError(f"out: x of dtype {value.dtype} cannot be stored as {to.dtype}")
        to[...] = value

    @staticmethod
    def view(b, stream=None):
        if stream is not None:
            return b.__dlpack__(stream=stream or 1)
        index = _CHARS.get(b.dtype.char)
        return () if index is None else (b.data.ptr, index, True, b.shape, b.strides, True)

    @staticmethod
    def stream(b):
        return sys.modules["cupy"].cuda.get_current_stream().ptr


@functools.lru_cache(maxsize=None)
def _torch_index(dtype):
    """Index into INEXACT of a dtype of PyTorch, or None."""
    name = str(dtype).rpartition(".")[2]
    return INEXACT.index(name) if name in INEXACT else None


class Torch(NumPy):
    """Tensors of PyTorch."""

    @staticmethod
    def matches(b):
        torch = sys.modules.get("torch")
        return torch is not None and isinstance(b, torch.Tensor)

    @staticmethod
    def prepare(b):
        if b.layout is not sys.modules["torch"].strided:
            raise TypeError("b: is a sparse tensor; make it dense")
        return b

    @staticmethod
    def dtype_name(b):
        index = _torch_index(b.dtype)
        return str(b.dtype).rpartition(".")[2] if index is None else INEXACT[index]

    @staticmethod
    def empty_like(b, dtype=None):
        torch = sys.modules["torch"]
        return torch.empty_like(b, dtype=getattr(torch, dtype) if dtype else None, requires_grad=False)

    @staticmethod
    def empty(b, rows, dtype=None):
        torch = sys.modules["torch"]
        return b.new_empty((rows, *b.shape[1:]), dtype=getattr(torch, dtype) if dtype else None)

    @staticmethod
    def astype(b, dtype):
        torch = sys.modules["torch"]
        b = b.detach().resolve_conj().resolve_neg()
        if b.dim() == 2 and b.t().is_contiguous():
            return b.t().to(getattr(torch, dtype), copy=True, memory_format=torch.contiguous_format).t()
        return b.to(getattr(torch, dtype), copy=True, memory_format=torch.contiguous_format)

    @staticmethod
    def assign(to, value):
        torch = sys.modules["torch"]
        if not torch.can_cast(value.dtype, to.dtype):
            raise TypeError(f"out: x of dtype {value.dtype} cannot be stored as {to.dtype}")
        with torch.no_grad():
            to.copy_(value)

    @staticmethod
    def view(b, stream=None):
        if b.is_conj() or b.is_neg():  # to be conjugated or negated when it is read
            return ()
        on_device = b.is_cuda
        if stream is not None and on_device:
            return b.detach().__dlpack__(stream=stream or 1)
        if not on_device and not b.is_cpu:
            return b.detach().__dlpack__()  # _core says what is wrong with it
        index = _torch_index(b.dtype)
        return () if index is None else (b.data_ptr(), index, on_device, b.shape, b.stride(), False)

    @staticmethod
    def stream(b):
        if not b.is_cuda:
            return 0
        torch = sys.modules["torch"]
        raw = getattr(torch._C, "_cuda_getCurrentRawStream", None)  # the public call makes an object
        return raw(b.get_device()) if raw else torch.cuda.current_stream(b.device).cuda_stream

    @staticmethod
    def conjugate(x):
        return x.conj().resolve_conj()

    @staticmethod
    def needs_gradient(b):
        return b.requires_grad and sys.modules["torch"].is_grad_enabled()


class JAX(NumPy):
    """Arrays of JAX, which are immutable: x is a copy of b, written before anybody else has it."""

    is_mutable = False

    @staticmethod
    def matches(b):
        jax = sys.modules.get("jax")
        return jax is not None and isinstance(b, jax.Array)

    @staticmethod
    def prepare(b):
        jax = sys.modules["jax"]
        if isinstance(b, jax.core.Tracer):
            raise TypeError("b: is being traced; call the solve through jax.pure_callback")
        if len(b.devices()) != 1:
            raise TypeError("b: is spread over several devices")
        return b

    @staticmethod
    def empty_like(b, dtype=None):
        # On the host the result is computed in NumPy's memory; see finish().
        if next(iter(b.devices())).platform == "cpu":
            return np.empty(b.shape, dtype or b.dtype)
        return sys.modules["jax"].numpy.array(b, dtype=dtype, copy=True)

    @staticmethod
    def empty(b, rows, dtype=None):
        device = next(iter(b.devices()))
        if device.platform == "cpu":
            return np.empty((rows, *b.shape[1:]), dtype or b.dtype)
        return sys.modules["jax"].numpy.zeros((rows, *b.shape[1:]), dtype or b.dtype, device=device)

    @staticmethod
    def astype(b, dtype):
        return b.astype(dtype).block_until_ready()

    @staticmethod
    def view(b, stream=None):
        if isinstance(b, np.ndarray):
            return b
        return b.block_until_ready().__dlpack__()

    @staticmethod
    def finish(x, stream, b):
        jax = sys.modules["jax"]
        if isinstance(x, np.ndarray):
            return jax.device_put(x, next(iter(b.devices())))
        _core.wait_for_stream(next(iter(x.devices())).local_hardware_id or 0, stream)  # JAX knows nothing of the stream
        return x


_PACKAGES = (NumPy, CuPy, Torch, JAX)
_known = {np.ndarray: NumPy}
_core.learn_type(np.ndarray, 0, tuple(np.dtype(name) for name in INEXACT), None, None)


def _learn(kind, package):
    """Tell _core of a type of arrays that it can read without Python."""
    if package is CuPy and kind is sys.modules["cupy"].ndarray:
        dtypes = tuple(np.dtype(name) for name in INEXACT)
        _core.learn_type(kind, 1, dtypes, sys.modules["cupy"].cuda.get_current_stream, None)
    elif package is Torch:
        torch = sys.modules["torch"]
        if kind not in (torch.Tensor, torch.nn.Parameter):
            return  # others may have no memory
        dtypes = tuple(getattr(torch, name) for name in INEXACT)
        raw = getattr(torch._C, "_cuda_getCurrentRawStream", None) or (lambda k: torch.cuda.current_stream(k).cuda_stream)
        _core.learn_type(kind, 2, dtypes, raw, getattr(kind, "__dlpack_c_exchange_api__", None))


def package_of(b):
    """The class above that describes b; None if b is no array of a known package."""
    package = _known.get(type(b))
    if package is None:
        for package in _PACKAGES:
            if package.matches(b):
                # Types that need preparing are looked at each time; so are tracers, whose types are many.
                if type(b).__module__.partition(".")[0] in ("numpy", "cupy", "torch"):
                    if package is not NumPy:
                        _known[type(b)] = package
                        _learn(type(b), package)
                return package
        return None
    return package


def stream_pointer(stream):
    """The pointer of a stream given as an int, or as CuPy's, PyTorch's or any object with __cuda_stream__."""
    if isinstance(stream, int):
        pointer = stream
    elif hasattr(stream, "__cuda_stream__"):
        pointer = stream.__cuda_stream__()[1]
    elif hasattr(stream, "cuda_stream"):
        pointer = stream.cuda_stream
    elif hasattr(stream, "ptr"):
        pointer = stream.ptr
    else:
        raise TypeError(f"stream: {type(stream).__name__} is no CUDA stream")
    if pointer < 0:
        raise ValueError("stream: is negative")
    return pointer
