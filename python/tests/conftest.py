"""What the tests share: where they run, and the matrices.

A test that takes the fixture `device` runs on the host, and on the GPU if there is one. With GPUSOLVE_TEST_DEVICE in the
environment there must be one.
"""

import os

import numpy as np
import pytest
import scipy.sparse as sp

import gpusolve
from gpusolve import _core

WANTS_DEVICE = bool(os.environ.get("GPUSOLVE_TEST_DEVICE"))


def _has_device():
    try:
        return _core.backend(2, -1)[0] == 2
    except gpusolve.DeviceError:
        return False


HAS_DEVICE = _has_device()
if WANTS_DEVICE and not HAS_DEVICE:
    raise RuntimeError("GPUSOLVE_TEST_DEVICE is set, but gpusolve finds no CUDA device")


@pytest.fixture(params=["cpu", "cuda"])
def device(request):
    if request.param == "cuda" and not HAS_DEVICE:
        pytest.skip("no CUDA device")
    return request.param


def need_device():
    if not HAS_DEVICE:
        pytest.skip("no CUDA device")


def package(name):
    """A package for arrays on a device; it must be there where a device is wanted."""
    if WANTS_DEVICE:
        return __import__(name)
    return pytest.importorskip(name)


def grid(side, dtype=np.float64):
    """The Laplacian of a square grid, made definite; complex Hermitian for a complex dtype."""
    one = sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(side, side))
    eye = sp.eye(side)
    A = (sp.kron(one, eye) + sp.kron(eye, one) + 0.01 * sp.eye(side * side)).tocsc()
    if np.dtype(dtype).kind == "c":
        turn = np.exp(1j * np.arange(side * side))
        A = (sp.diags(turn) @ A @ sp.diags(turn.conj())).tocsc()
        A = ((A + A.conj().T) / 2).tocsc()
    return A.astype(dtype)


def backward_error(A, x, b):
    """The worst column's error in units of the precision; NaN if there is one."""
    A, x, b = A.toarray() if sp.issparse(A) else A, np.asarray(x), np.asarray(b)
    x, b = x.reshape(len(x), -1), b.reshape(len(b), -1)
    if x.shape[1] == 0:
        return 0.0
    scale = abs(A).sum(axis=1).max() * abs(x).max(axis=0) + abs(b).max(axis=0)
    scale[scale == 0] = 1
    epsilon = np.finfo(x.dtype).eps
    return float((abs(A @ x - b).max(axis=0) / scale).max() / epsilon)


TOLERANCE = 30


def random(shape, dtype=np.float64, seed=0):
    """Numbers of this dtype in Fortran or C order as asked by the caller."""
    generator = np.random.default_rng(seed)
    x = generator.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * generator.standard_normal(shape)
    return x.astype(dtype)
