"""gpusolve.cholesky, imports, refresh, and what a factor knows of itself."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import HAS_DEVICE, TOLERANCE, backward_error, grid, random

import gpusolve
from gpusolve import _core, _library


@pytest.mark.parametrize("format", ["csc", "csr", "coo", "bsr", "dia", "dok", "lil"])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_formats_and_triangles(format, dtype):
    A = grid(5, dtype)
    b = random((25, 2), dtype)
    for part, triangle in ((A, None), (sp.tril(A), None), (sp.triu(A), None), (sp.tril(A), "lower"), (A, "lower"),
                           (A, "upper"), (A, "full")):
        given = part.asformat(format)
        kept = given.copy()
        F = gpusolve.cholesky(given, triangle=triangle, device="cpu")
        assert backward_error(A, F.solve(b), b) < TOLERANCE
        assert abs(given - kept).sum() == 0
    assert backward_error(A, gpusolve.cholesky(sp.csr_array(A), device="cpu").solve(b), b) < TOLERANCE


def test_unsorted_and_duplicate_entries():
    A = sp.coo_matrix(([1.0, 3.0, 9.0, 2.0, 2.0], ([0, 0, 1, 1, 0], [0, 0, 1, 0, 1])), shape=(2, 2))
    assert np.allclose(gpusolve.cholesky(A, device="cpu").solve([6.0, 11.0]), [1.0, 1.0])
    unsorted = sp.csc_matrix((np.array([2.0, 4.0, 9.0, 2.0]), np.array([1, 0, 1, 0]), np.array([0, 2, 4])))
    kept = unsorted.indices.copy()
    assert np.allclose(gpusolve.cholesky(unsorted, device="cpu").solve([6.0, 11.0]), [1.0, 1.0])
    assert np.array_equal(unsorted.indices, kept)


def test_the_other_triangle_is_ignored_when_one_is_named():
    A = grid(4).tolil()
    A[0, 1] = 77.0
    F = gpusolve.cholesky(A, triangle="lower", device="cpu")
    b = random(16)
    assert backward_error(grid(4), F.solve(b), b) < TOLERANCE
    with pytest.raises(ValueError, match="symmetric"):
        gpusolve.cholesky(A, device="cpu")
    H = grid(3, "complex128").tolil()
    H[0, 1] *= 1j
    with pytest.raises(ValueError, match="Hermitian"):
        gpusolve.cholesky(H, device="cpu")


@pytest.mark.parametrize("ordering", ["metis", "amd", "nesdis", "colamd", "natural", "default", "best", None])
def test_orderings(ordering):
    A = grid(15)
    b = random(225)
    F = gpusolve.cholesky(A, ordering=ordering, device="cpu")
    assert np.array_equal(np.sort(F.perm), np.arange(225))
    assert backward_error(A, F.solve(b), b) < TOLERANCE
    if ordering == "natural":
        assert np.array_equal(F.perm, np.arange(225))


def test_an_ordering_of_ones_own():
    A = grid(5)
    perm = np.random.default_rng(1).permutation(25)
    F = gpusolve.cholesky(A, ordering=perm, device="cpu")
    b = random(25)
    assert backward_error(A, F.solve(b), b) < TOLERANCE
    for wrong in ([0] * 25, np.arange(24), np.arange(25) + 1):
        with pytest.raises(ValueError, match="ordering"):
            gpusolve.cholesky(A, ordering=wrong, device="cpu")
    with pytest.raises(ValueError, match="ordering"):
        gpusolve.cholesky(A, ordering="fast", device="cpu")
    with pytest.raises(TypeError, match="ordering"):
        gpusolve.cholesky(A, ordering=np.linspace(0, 1, 25), device="cpu")


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_storage(device, dtype):
    A = grid(9, np.complex128 if dtype.startswith("c") else np.float64)
    double = A.dtype
    F = gpusolve.cholesky(A.astype(dtype), storage="single", device=device)
    assert F.dtype == double
    b = random((81, 3), double)
    x, error = F.refine(A, b, max_steps=0)
    assert (error < 1e-6).all() and (error > 1e-12).all()
    x, error = F.refine(A, b)
    assert (error < 1e-15).all() and np.allclose(A @ x, b, rtol=1e-12)
    assert F.info["stored_bytes"] == 4 * F.nnz * (2 if dtype.startswith("c") else 1)
    F.refresh(2 * A)
    x, error = F.refine(2 * A, b, max_steps=0)
    assert (error < 1e-6).all() and (error > 1e-12).all()
    with pytest.raises(ValueError, match="storage"):
        gpusolve.cholesky(A, storage="half", device=device)
    with pytest.raises(ValueError, match="storage"):
        gpusolve.cholesky(A, precision="single", storage="single", device=device)


def test_precision(device):
    A = grid(6)
    assert gpusolve.cholesky(A, device=device).dtype == np.float64
    assert gpusolve.cholesky(A.astype(np.float32), device=device).dtype == np.float32
    F = gpusolve.cholesky(A, precision="single", device=device)
    assert F.dtype == np.float32
    b = random(36, np.float32)
    assert backward_error(A.astype(np.float32), F.solve(b), b) < TOLERANCE
    assert np.isclose(F.logdet(), np.linalg.slogdet(A.toarray())[1], rtol=1e-12)
    assert gpusolve.cholesky(A.astype(np.complex64), precision="double", device=device).dtype == np.complex128
    assert gpusolve.cholesky(A.astype(int) + 5 * sp.eye(36, dtype=int), device=device).dtype == np.float64
    with pytest.raises(ValueError, match="precision"):
        gpusolve.cholesky(A, precision="half")


@pytest.mark.parametrize("mode", ["simplicial", "supernodal"])
def test_not_positive_definite(mode):
    A = grid(4).tolil()
    A[7, 7] = -1.0
    with pytest.raises(gpusolve.NotPositiveDefiniteError, match="positive definite") as caught:
        gpusolve.cholesky(A, mode=mode, ordering="natural", device="cpu")
    assert isinstance(caught.value, np.linalg.LinAlgError)
    assert caught.value.column == 7
    again = pickle.loads(pickle.dumps(caught.value))
    assert again.column == 7 and str(again) == str(caught.value)


def test_column_counts_in_the_order_of_a():
    A = sp.diags([1.0, 2.0, -3.0, 4.0])
    with pytest.raises(gpusolve.NotPositiveDefiniteError) as caught:
        gpusolve.cholesky(A, ordering=[3, 1, 2, 0], device="cpu")
    assert caught.value.column == 2


@pytest.mark.parametrize("A, error", [
    (np.eye(3), TypeError), (None, TypeError), (sp.csc_matrix((2, 3)), ValueError),
    (sp.csc_matrix(np.eye(3, dtype=np.longdouble)), TypeError),
    (sp.csc_matrix([[np.nan, 0], [0, 1]]), ValueError), (sp.csc_matrix([[1, 0], [0, np.inf]]), ValueError),
])
def test_wrong_matrices(A, error):
    with pytest.raises(error, match="A: "):
        gpusolve.cholesky(A, device="cpu")


def test_wrong_options():
    A = grid(3)
    for options in ({"device": "gpu"}, {"device": -1}, {"device": True}, {"device": "cuda:x"}, {"threads": -1},
                    {"threads": 1025}, {"mode": "fast"}, {"triangle": "left"}):
        with pytest.raises(ValueError, match=next(iter(options))):
            gpusolve.cholesky(A, **options)
    if not HAS_DEVICE:
        with pytest.raises(gpusolve.DeviceError):
            gpusolve.cholesky(A, device="cuda")
    with pytest.raises(gpusolve.DeviceError):
        gpusolve.cholesky(A, device=999)
    with pytest.raises(TypeError):
        gpusolve.Factor()


def test_logdet(device):
    for dtype in ("float64", "complex128"):
        for mode in ("simplicial", "supernodal"):
            A = grid(6, dtype)
            F = gpusolve.cholesky(A, mode=mode, device=device)
            expected = np.linalg.slogdet(A.toarray())
            assert np.isclose(F.logdet(), expected[1], rtol=1e-12)
            assert F.slogdet()[0] == 1
            F.refresh(4 * A)
            assert np.isclose(F.logdet(), expected[1] + 36 * np.log(4), rtol=1e-12)


def test_rcond(device):
    for dtype in ("float32", "float64", "complex64", "complex128"):
        for mode in ("simplicial", "supernodal"):
            A = grid(6, dtype)
            F = gpusolve.cholesky(A, mode=mode, device=device)
            exact = 1 / np.linalg.cond(A.toarray().astype(np.promote_types(dtype, "float64")), 1)
            assert exact * (1 - 1e-4) <= F.rcond(A) <= 3 * exact
            assert F.rcond(sp.tril(A), triangle="lower") == F.rcond(A)
    with pytest.raises(ValueError, match="order"):
        F.rcond(grid(5))
    with pytest.raises(TypeError, match="complex"):
        gpusolve.cholesky(grid(6), device=device).rcond(grid(6, "complex128"))


def test_properties(device):
    A = grid(6)
    F = gpusolve.cholesky(A, device=device)
    assert F.shape == (36, 36) and F.n == 36 and F.nnz >= 36
    assert F.info["n"] == 36 and F.info["nnz"] == F.nnz
    assert "factor" in F.summary()
    assert F.cost(8)["bytes"] > 0
    assert "order 36" in repr(F)
    with pytest.raises(ValueError):
        F.perm[0] = 5
    with pytest.raises(ValueError):
        F.cost(-1)
    for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="pickled"):
            attempt(F)


def test_refresh(device):
    A = grid(7)
    b = random((49, 2))
    F = gpusolve.cholesky(A, device=device)
    B = A.copy()
    B.data *= 3
    B = (B + 0.5 * sp.eye(49)).tocsc()
    assert F.refresh(B) is F
    assert backward_error(B, F.solve(b), b) < TOLERANCE
    x = F.solve(b)
    with pytest.raises(gpusolve.NotPositiveDefiniteError):
        F.refresh(-B)
    assert np.array_equal(F.solve(b), x)  # the old numbers are still there
    for other in (grid(6), sp.eye(49), sp.tril(A)):
        with pytest.raises(ValueError, match="A: "):
            F.refresh(other)
    with pytest.raises(TypeError, match="complex"):
        F.refresh(A.astype(complex))
    H = gpusolve.cholesky(grid(7, "complex128"), device=device)
    with pytest.raises(ValueError):
        H.refresh(grid(6))
    single = gpusolve.cholesky(A, precision="single", device=device)
    single.refresh(B)
    assert np.allclose(B @ single.solve(b), b, atol=1e-3)


@pytest.mark.parametrize("mode", ["supernodal", "simplicial"])
def test_refresh_in_the_memory_of_the_last(device, mode):
    A = grid(9)
    b = random((81, 3))
    F = gpusolve.cholesky(A, mode=mode, device=device)
    for scale in (3.0, 0.25, -1.0, 7.0, 1.0, -2.0, 5.0):
        B = scale * A
        if scale < 0:
            with pytest.raises(gpusolve.NotPositiveDefiniteError):
                F.refresh(B)
            continue
        fresh = gpusolve.cholesky(B, mode=mode, device=device)
        assert np.allclose(F.refresh(B).solve(b), fresh.solve(b), rtol=1e-12, atol=0)
        assert np.isclose(F.logdet(), fresh.logdet(), rtol=1e-13)
    assert len(F._kept) == 1
    F.close()
    assert not F._kept


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_from_arrays(device, dtype, index):
    A = grid(6, np.complex128 if dtype.startswith("c") else np.float64)
    L = np.linalg.cholesky(A.toarray())
    columns = sp.csc_matrix(np.tril(L)).astype(dtype)
    b = random((36, 2), dtype)
    F = gpusolve.Factor.from_arrays("ll", columns.data, p=columns.indptr.astype(index), i=columns.indices.astype(index),
                                    device=device)
    assert F.dtype == dtype and np.array_equal(F.perm, np.arange(36))
    assert backward_error(A.astype(dtype), F.solve(b), b) < TOLERANCE
    d = np.diag(L).real
    unit = sp.csc_matrix(np.tril(L / d - np.eye(36)) + np.diag(d * d)).astype(dtype)
    G = gpusolve.Factor.from_arrays("ldl", unit.data, p=unit.indptr, i=unit.indices, device=device)
    assert backward_error(A.astype(dtype), G.solve(b), b) < TOLERANCE
    assert np.allclose(G.solve(b, system="D"), b / (d * d)[:, None], rtol=1e-5)
    assert np.isclose(G.logdet(), F.logdet(), rtol=1e-4)
    G.refresh(("ldl", {"x": 4 * unit.data, "p": unit.indptr, "i": unit.indices}))
    with pytest.raises(ValueError, match="kind"):
        gpusolve.Factor.from_arrays("lu", unit.data)


def test_from_arrays_supernodal(device):
    symbolic_of = gpusolve.cholesky(grid(8), mode="supernodal", device="cpu")._symbolic
    from gpusolve._matrix import Columns

    A = grid(8)
    c = Columns(A)
    arrays = symbolic_of.factorize(c.n, c.p, c.i, c.x, c.stype, 0.0, False).arrays()
    assert arrays.pop("kind") == 0
    F = gpusolve.Factor.from_arrays("supernodal", perm=symbolic_of.perm, device=device, **arrays)
    b = random((64, 3))
    assert backward_error(A, F.solve(b), b) < TOLERANCE
    assert np.isclose(F.logdet(), np.linalg.slogdet(A.toarray())[1])


def test_wrong_arrays():
    good = {"x": [2.0, 1.0, 3.0], "p": [0, 2, 3], "i": [0, 1, 1]}

    def make(**changes):
        return gpusolve.Factor.from_arrays("ll", device="cpu", **{**good, **changes})

    assert np.array_equal(make().solve([8.0, 22.0]), [1.0, 2.0])
    for changes in ({"p": [0, 2]}, {"p": [0, 2, 30]}, {"i": [0, 1, 0]}, {"i": [0, 5, 1]}, {"p": [0, 2, -3]},
                    {"x": [2.0, np.nan, 3.0]}, {"perm": [0, 0]}, {"perm": [0, 1, 2]}, {"nz": [2]}, {"p": None},
                    {"x": [[2.0, 1.0, 3.0]]}, {"n": 5}, {"n": -1}, {"x": []}, {"p": []}):
        with pytest.raises((ValueError, OverflowError)):
            make(**changes)
    with pytest.raises(gpusolve.SingularError):
        make(x=[2.0, 1.0, 0.0])
    for changes in ({"i": [0.0, 1.0, 1.0]}, {"x": ["a", "b", "c"]}, {"p": "abc"}):
        with pytest.raises(TypeError):
            make(**changes)
    ldl = gpusolve.Factor.from_arrays("ldl", [2.0, -3.0], p=[0, 1, 2], i=[0, 1], device="cpu")
    assert np.isnan(ldl.logdet()) and ldl.slogdet()[0] == -1
    with pytest.raises(TypeError, match="refresh"):
        ldl.refresh(sp.eye(2))
    with pytest.raises(ValueError):
        ldl.refresh(("ldl", {"y": [1.0]}))


def test_closed(device):
    A = grid(4)
    with gpusolve.cholesky(A, device=device) as F:
        S = F.selection([1], [2])
        F.solve(np.ones(16))
    assert F.closed and "closed" in repr(F) and F.shape == (16, 16)
    F.close()
    calls = [lambda: F.solve(np.ones(16)), lambda: F.solve(np.ones((16, 2), int)), lambda: F.refresh(A), F.logdet,
             F.summary, lambda: F.info, lambda: F.nnz, F.cost, lambda: F.refine(A, np.ones(16)), lambda: F.rcond(A),
             lambda: F.selection([1], [2]), lambda: S.solve(np.ones(1)), lambda: S.info, F.__enter__,
             lambda: F.device]
    for call in calls:
        with pytest.raises(ValueError, match="closed"):
            call()


def test_threads_option():
    A = grid(20)
    b = random((400, 5))
    F = gpusolve.cholesky(A, device="cpu", threads=1)
    assert "1 thread" in F.info["device"]
    assert np.array_equal(F.solve(b), gpusolve.cholesky(A, device="cpu", threads=2).solve(b))


def test_cholmod_is_opened_when_it_is_wanted():
    program = """
import os, sys
import gpusolve, numpy as np, scipy.sparse as sp
assert not any("libcholmod" in line for line in open("/proc/self/maps")), "CHOLMOD is loaded"
F = gpusolve.Factor.from_arrays("ll", [2.0], p=[0, 1], i=[0], device="cpu")
assert F.solve([4.0])[0] == 1.0
try:
    gpusolve.cholesky(sp.eye(3))
except ImportError as error:
    assert "apt-get" in str(error) and "nowhere" in str(error), error
else:
    raise AssertionError("no ImportError")
"""
    import os

    environment = {**os.environ, "GPUSOLVE_CHOLMOD": "/nowhere/libcholmod.so"}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment, timeout=120)
    # A library that is something else.
    environment["GPUSOLVE_CHOLMOD"] = "libm.so.6"
    program = program.replace('"nowhere" in', '"is not a CHOLMOD" in')
    subprocess.run([sys.executable, "-c", program], check=True, env=environment, timeout=120)


def test_version():
    assert gpusolve.__version__ == _core.version()
    assert int(_library.open_cholmod().split(".")[0]) in (3, 4, 5)
