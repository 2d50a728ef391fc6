"""What else a factor does, random, against dense arrays: products, samples, entries of the inverse, refinement, files, batches."""

import os
import tempfile

import numpy as np
import scipy.sparse as sp
from conftest import TOLERANCE, backward_error
from hypothesis import given
from hypothesis import strategies as st
from test_properties import SETTINGS, matrices, right_sides

import gpusolve


def numbers(data, shape, dtype):
    """Standard normal ones, of a dtype."""
    generator = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    values = generator.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * generator.standard_normal(shape)
    return values.astype(dtype)


def exact(A):
    return (A.toarray() if sp.issparse(A) else A).astype(np.promote_types(A.dtype, "float64"))


def is_single(dtype):
    return np.finfo(dtype).eps > 1e-10


def close(x, expected, dtype):
    """Within what the condition numbers of these matrices, some hundreds, let through."""
    tolerance = 2e-3 if is_single(dtype) else 1e-11
    size = np.abs(expected).max(initial=0)
    return x.shape == expected.shape and np.abs(x - expected).max(initial=0) <= tolerance * size


@SETTINGS
@given(st.data())
def test_products(data):
    A = data.draw(matrices())
    n = A.shape[0]
    F = gpusolve.cholesky(A, device="cpu", ordering=data.draw(st.sampled_from(["metis", "natural"])))
    L = exact(F.multiply(np.eye(n, dtype=F.dtype), operator="L"))
    assert np.all(np.triu(L, 1) == 0)
    D = 1 / exact(F.solve(np.ones(n, F.dtype), system="D")).real
    P = np.eye(n)[F.perm]
    assert close(P.T @ (L * D) @ L.conj().T @ P, exact(A), A.dtype)
    b = data.draw(right_sides(n))
    for operator, M in (("A", exact(A)), ("L", L), ("Lt", L.conj().T), ("PtL", P.T @ L), ("LtP", L.conj().T @ P)):
        y = F.multiply(b, operator=operator)
        assert y.dtype == np.result_type(A.dtype, b.dtype)
        size = (np.abs(M) @ np.abs(b.astype(complex))).max(initial=0)
        assert np.abs(y - M @ b).max(initial=0) <= (1e-4 if is_single(A.dtype) else 1e-12) * size


@SETTINGS
@given(st.data())
def test_samples(data):
    A = data.draw(matrices())
    n = A.shape[0]
    F = gpusolve.cholesky(A, device="cpu")
    z = numbers(data, (n, data.draw(st.integers(1, 20))), F.dtype)
    mean = numbers(data, n, F.dtype)
    D = 1 / exact(F.solve(np.ones(n, F.dtype), system="D")).real
    L = exact(F.multiply(np.eye(n, dtype=F.dtype), operator="L")) * np.sqrt(D)
    expected = np.empty(z.shape, L.dtype)
    expected[F.perm] = np.linalg.solve(L.conj().T, exact(z))
    assert close(F.sample(z=z), expected, A.dtype)
    assert close(F.sample(z=z, mean=mean), expected + exact(mean)[:, None], A.dtype)
    first = data.draw(st.integers(0, 2**40))
    assert np.array_equal(F.sample(5, seed=7, first=first)[:, 3], F.sample(seed=7, first=first + 3))


@SETTINGS
@given(st.data())
def test_entries_of_the_inverse(data):
    A = data.draw(matrices())
    n = A.shape[0]
    F = gpusolve.cholesky(A, device="cpu")
    rows = data.draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), min_size=1))
    i, j = np.array(rows).T
    inverse = np.linalg.inv(exact(A))
    tolerance = (2e-3 if is_single(A.dtype) else 1e-11) * np.abs(inverse).max()
    assert np.abs(F.inverse_entries(i, j) - inverse[i, j]).max() <= tolerance
    assert np.abs(F.inverse_diagonal() - np.diag(inverse).real).max() <= tolerance


@SETTINGS
@given(st.data())
def test_refinement(data):
    A = data.draw(matrices())
    n = A.shape[0]
    storage = None if is_single(A.dtype) else data.draw(st.sampled_from([None, "single"]))
    F = gpusolve.cholesky(A, device="cpu", storage=storage)
    b = numbers(data, (n, data.draw(st.integers(3, 12))), F.dtype)
    b[:, 1] = 0
    lost = data.draw(st.booleans())
    if lost:
        b[data.draw(st.integers(0, n - 1)), 2] = np.nan
    part = data.draw(st.sampled_from([lambda A: A, sp.tril, sp.triu]))
    twice = data.draw(st.booleans())
    method = data.draw(st.sampled_from(["richardson", "cg", "fgmres", "automatic"]))
    x, errors, steps = F.refine(part(A), b, method=method, twice=twice, max_steps=20, return_steps=True)
    assert np.all(x[:, 1] == 0) and errors[1] == 0 and steps.max() <= 20
    good = [c for c in range(b.shape[1]) if not lost or c != 2]
    assert not lost or np.isnan(errors[2]) or np.isnan(x[:, 2]).any()
    assert np.all(errors[good] <= 8 * np.finfo(A.dtype).eps)
    assert backward_error(A, x[:, good], b[:, good]) < TOLERANCE


@SETTINGS
@given(st.data())
def test_files(data):
    A = data.draw(matrices())
    F = gpusolve.cholesky(A, device="cpu")
    b = numbers(data, (A.shape[0], 3), F.dtype)
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "factor")
        F.save(file)
        with gpusolve.load(file, device="cpu") as G, gpusolve.load(file, mmap=True, device="cpu") as H:
            assert np.array_equal(F.perm, G.perm)
            assert close(G.solve(b), F.solve(b), A.dtype)  # what is saved is read back, to rounding
            assert np.array_equal(G.solve(b), H.solve(b))


@SETTINGS
@given(st.data())
def test_batches(data):
    first = data.draw(matrices())
    A = [first]
    for _ in range(data.draw(st.integers(0, 5))):
        other = data.draw(matrices()) if data.draw(st.booleans()) else first * 2
        other = other if first.dtype.kind == "c" else other.real
        A.append(sp.csc_matrix(other.astype(first.dtype)))
    batch = gpusolve.cholesky_batch(A, device="cpu")
    b = [numbers(data, (M.shape[0], data.draw(st.integers(0, 10))), first.dtype) for M in A]
    x = batch.solve(b)
    for M, y, z in zip(A, x, b):
        assert y.size == 0 or backward_error(M, y, z) < TOLERANCE
    active = np.array(data.draw(st.lists(st.booleans(), min_size=len(A), max_size=len(A))))
    out = [np.full_like(z, 7) for z in b]
    batch.solve(b, out=out, active=active)
    for y, z, on in zip(out, x, active):
        assert np.array_equal(y, z) if on else np.all(y == 7)
    for logarithm, M in zip(batch.logdet(), A):
        tolerance = 1e-4 if is_single(first.dtype) else 1e-10
        assert np.isclose(logarithm, np.linalg.slogdet(exact(M))[1], rtol=tolerance, atol=tolerance * M.shape[0])
    batch.close()
