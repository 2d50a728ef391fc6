"""The short way of F.solve(b, out=x): which arrays _core reads by itself, and what it leaves to the long way."""

import types

import numpy as np
import pytest
import scipy.sparse as sp

import gpusolve
from gpusolve import _core

DTYPES = ("float32", "float64", "complex64", "complex128")


@pytest.fixture(scope="module")
def factor():
    return gpusolve.cholesky(sp.diags([-1.0, 4.0, -1.0], [-1, 0, 1], shape=(6, 6)), device="cpu")


def into(factor, b, x):
    return factor._core.solve_into(b, x, 0)


class Tensor:
    """What _core asks of a PyTorch without the C exchange interface."""

    is_cuda, is_cpu = False, True

    def __init__(self, array, requires_grad=False, negated=False, conjugated=False):
        self.array, self.requires_grad, self.negated, self.conjugated = array, requires_grad, negated, conjugated
        self.shape, self.dtype = array.shape, array.dtype

    def stride(self):
        return tuple(stride // self.array.itemsize for stride in self.array.strides)

    def data_ptr(self):
        return self.array.ctypes.data

    def is_neg(self):
        return self.negated

    def is_conj(self):
        return self.conjugated


class DeviceArray:
    """What _core asks of CuPy."""

    def __init__(self, array):
        self.array, self.data = array, types.SimpleNamespace(ptr=array.ctypes.data)
        self.shape, self.strides, self.dtype = array.shape, array.strides, array.dtype


OBJECTS = tuple(np.dtype(name) for name in DTYPES)
_core.learn_type(Tensor, 2, OBJECTS, None, None)
_core.learn_type(DeviceArray, 1, OBJECTS, lambda: types.SimpleNamespace(ptr=0), None)


@pytest.mark.parametrize("make", [lambda a: a, Tensor], ids=["numpy", "tensor"])
@pytest.mark.parametrize("shape", [(6,), (6, 1), (6, 3), (6, 0)])
def test_reads_shapes_and_strides(factor, make, shape):
    b = np.random.default_rng(1).random(shape)
    for given in (b, np.asfortranarray(b), np.repeat(b, 2, axis=0)[::2]):
        x = np.full_like(given, np.nan)
        assert into(factor, make(given), make(x))
        np.testing.assert_array_equal(x, factor.solve(b))


@pytest.mark.parametrize("dtype", DTYPES)
def test_reads_all_dtypes(dtype):
    F = gpusolve.cholesky(sp.diags([4.0, 9.0]).astype(dtype), device="cpu")
    for make in (lambda a: a, Tensor):
        x = np.zeros(2, dtype)
        assert into(F, make(np.array([8, 9], dtype)), make(x))
        np.testing.assert_array_equal(x, np.array([2, 1], dtype))


def test_leaves_the_rest_to_the_long_way(factor):
    b, x = np.ones(6), np.full(6, np.nan)
    read_only = np.zeros(6)
    read_only.flags.writeable = False
    unaligned = np.frombuffer(bytearray(8 * 6 + 1), np.uint8)[1:].view(np.float64)
    part = np.zeros(6, [("a", np.float64), ("b", np.float32)])["a"]  # 12 bytes apart
    cases = [(b, read_only), (b, np.zeros((6, 1))), (b, np.zeros(5)), (np.ones(5), np.zeros(5)), (b.astype(np.float32), x),
             (b.astype(complex), np.zeros(6, complex)), (b, np.zeros(6, np.float32)), (b.astype(">f8"), x), (b, unaligned),
             (b, part), (b, x[::-1]), (np.ones((6, 2)), np.zeros((6, 3))), (np.ones((6, 1, 1)), np.zeros((6, 1, 1))),
             (np.array(1.0), np.array(1.0)), (b, Tensor(x)), (Tensor(b), x), ([1.0] * 6, x), (np.ma.ones(6), np.ma.ones(6)),
             (Tensor(b, requires_grad=True), Tensor(x)), (Tensor(b, negated=True), Tensor(x)), (Tensor(b), Tensor(x, negated=True)),
             (b.astype(np.int64), x), (None, x)]
    for given, out in cases:
        assert not into(factor, given, out), (given, out)
    assert np.isnan(x).all() and not read_only.any() and not unaligned.any() and not part.any()


def test_a_conjugated_tensor_is_left_to_the_long_way():
    F = gpusolve.cholesky(sp.diags([4.0, 9.0]).astype(complex), device="cpu")
    b, x = np.ones(2, complex), np.zeros(2, complex)
    assert not into(F, Tensor(b, conjugated=True), Tensor(x)) and not into(F, Tensor(b), Tensor(x, conjugated=True))
    assert not x.any() and into(F, Tensor(b), Tensor(x)) and x.all()


@pytest.mark.parametrize("attribute", ["shape", "stride", "data_ptr", "is_neg", "requires_grad", "dtype"])
def test_an_attribute_that_fails_is_left_to_the_long_way(factor, attribute):
    b, x = Tensor(np.ones(6)), Tensor(np.zeros(6))
    for odd in (None, "text", (1, "a"), (2**80,)):
        setattr(b, attribute, odd)
        assert not into(factor, b, x)
    assert not x.array.any()


def test_reads_device_arrays(factor):
    b, x = np.ones((6, 2)), np.zeros((6, 2))
    with pytest.raises(ValueError, match="is on a CUDA device, but the factor is on the host"):
        into(factor, DeviceArray(b), DeviceArray(x))
    assert not into(factor, DeviceArray(b.astype(np.float32)), DeviceArray(x))


def test_references_are_given_back(factor):
    import sys

    b, x = np.ones(6), np.zeros(6)
    tensors = Tensor(b), Tensor(x)
    counts = [sys.getrefcount(o) for o in (b, x, *tensors, tensors[0].shape)]
    for _ in range(100):
        assert into(factor, b, x) and into(factor, *tensors) and not into(factor, b, tensors[0])
    assert counts == [sys.getrefcount(o) for o in (b, x, *tensors, tensors[0].shape)]


def test_a_closed_factor():
    F = gpusolve.cholesky(sp.eye(3), device="cpu")
    F.close()
    with pytest.raises(ValueError, match="closed"):
        F.solve(np.ones(3), np.zeros(3))
