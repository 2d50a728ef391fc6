"""Samples, products with the factor, entries of the inverse."""

import numpy as np
import pytest
import scipy.sparse as sp

import gpusolve
from conftest import grid, random

DTYPES = ("float32", "float64", "complex64", "complex128")


def close(x, y, dtype):
    return np.allclose(x, y, rtol=1e-4 if np.finfo(dtype).bits == 32 else 1e-11, atol=1e-4 if np.finfo(dtype).bits == 32 else 1e-11)


@pytest.mark.parametrize("mode", ["simplicial", "supernodal"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_products(device, dtype, mode):
    A = grid(9, dtype)
    F = gpusolve.cholesky(A, mode=mode, device=device)
    for shape in ((81,), (81, 3)):
        b = random(shape).astype(dtype)
        assert close(F.multiply(b), A @ b, dtype)
        assert close(F.solve_L(F.multiply(b, operator="L")), b, dtype)
        assert close(F.solve_Lt(F.multiply(b, operator="Lt")), b, dtype)
        assert close(F.solve_L(F.apply_P(F.multiply(b, operator="PtL"))), b, dtype)
        assert close(F.apply_Pt(F.solve_Lt(F.multiply(b, operator="LtP"))), b, dtype)
        kept = b.copy()
        assert F.multiply(b, out=b) is b and close(b, A @ kept, dtype)
    assert F.multiply(np.zeros((81, 0), dtype)).shape == (81, 0)


def test_products_of_other_arrays(device):
    A = grid(7)
    F = gpusolve.cholesky(A, device=device)
    b = random((49, 4)) + 1j * random((49, 4))
    assert np.allclose(F.multiply(b), A @ b)
    out = np.empty_like(b)
    assert F.multiply(b, out=out) is out and np.allclose(out, A @ b)
    assert np.allclose(F.multiply(b.real[:, ::-2]), A @ b.real[:, ::-2])
    whole = np.arange(49)
    assert np.allclose(F.multiply(whole), A @ whole)
    with pytest.raises(ValueError, match="operator"):
        F.multiply(b, operator="D")
    with pytest.raises(ValueError, match="shape"):
        F.multiply(b[:5])
    stored = gpusolve.cholesky(A, device=device, storage="single").multiply(b.real)
    assert stored.dtype == b.real.dtype and np.allclose(stored, A @ b.real, rtol=1e-5, atol=1e-5 * abs(A @ b.real).max())
    F.close()
    with pytest.raises(ValueError, match="closed"):
        F.multiply(b)


@pytest.mark.parametrize("dtype", DTYPES)
def test_samples(device, dtype):
    F = gpusolve.cholesky(grid(9, dtype), device=device)
    x = F.sample(5, seed=3, first=10)
    assert x.shape == (81, 5) and x.dtype == dtype and np.isfinite(x).all()
    assert np.array_equal(x, F.sample(5, seed=3, first=10))
    assert np.array_equal(F.sample(seed=3, first=12), x[:, 2])
    assert not np.array_equal(F.sample(seed=4, first=12), x[:, 2])
    z, mean = random((81, 5)).astype(dtype), random((81,)).astype(dtype)
    y = F.sample(z=z)
    assert close(y, F.apply_Pt(F.solve_Lt(z)), dtype)
    assert close(F.sample(z=z, mean=mean), y + mean[:, None], dtype)
    assert close(F.sample(z=z[:, 0], mean=np.repeat(mean, 2)[::2]), y[:, 0] + mean, dtype)
    for order in "CF":
        out = np.empty((81, 5), dtype, order=order)
        assert F.sample(seed=3, first=10, out=out) is out and np.array_equal(out, x)
    out = np.empty((162, 10), dtype)[::2, ::2]
    assert F.sample(5, seed=3, first=10, out=out) is out and np.array_equal(out, x)


def test_covariance(device):
    A = grid(4)
    x = gpusolve.cholesky(A, device=device).sample(20000, seed=2**64 - 1)
    C = np.linalg.inv(A.toarray())
    assert np.abs(x @ x.T / 20000 - C).max() < 6 / np.sqrt(20000) * np.diag(C).max() * np.sqrt(2)


def test_refused_samples(device):
    F = gpusolve.cholesky(grid(4), device=device)
    for arguments, error in (
        ({"seed": -1}, ValueError),
        ({"seed": 2**64}, ValueError),
        ({"first": -1}, ValueError),
        ({"count": 2, "z": np.ones(16)}, ValueError),
        ({"z": np.ones(15)}, ValueError),
        ({"z": np.ones(16, complex)}, TypeError),
        ({"mean": np.ones(15)}, ValueError),
        ({"mean": np.ones((16, 1))}, ValueError),
        ({"mean": np.ones(16, complex)}, TypeError),
        ({"out": np.empty(15)}, ValueError),
        ({"out": np.empty(16, np.float32)}, TypeError),
        ({"out": [0.0] * 16}, (TypeError, AttributeError)),
        ({"count": 3, "out": np.empty((16, 2))}, ValueError),
    ):
        with pytest.raises(error):
            F.sample(**arguments)
    indefinite = gpusolve.Factor.from_arrays("ldl", [4.0, 0.5, -3.0], p=[0, 2, 3], i=[0, 1, 1], device=device)
    with pytest.raises(gpusolve.NotPositiveDefiniteError):
        indefinite.sample()


@pytest.mark.parametrize("dtype", DTYPES)
def test_inverse(device, dtype):
    A = grid(6, dtype)
    F = gpusolve.cholesky(A, device=device)
    C = np.linalg.inv(A.toarray())
    diagonal = F.inverse_diagonal()
    assert diagonal.dtype == np.float64 and close(diagonal, np.diag(C).real, dtype)
    rows, columns = np.indices((36, 36))
    entries = F.inverse_entries(rows, columns)
    assert entries.dtype == dtype and entries.shape == (36, 36) and close(entries, C, dtype)
    assert close(F.inverse_entries(3, [1, 3, 35]), C[3, [1, 3, 35]], dtype) and F.inverse_entries([], []).shape == (0,)
    for rows in (36, -1, [0, 36]):
        with pytest.raises(ValueError):
            F.inverse_entries(rows, 0)
    with pytest.raises(TypeError):
        F.inverse_entries(0.5, 0)


def test_empty(device):
    F = gpusolve.cholesky(sp.csc_matrix((0, 0)), device=device)
    assert F.sample(3).shape == (0, 3) and F.multiply(np.zeros((0, 2))).shape == (0, 2)
    assert F.inverse_diagonal().shape == (0,) and F.inverse_entries([], []).shape == (0,)
