"""Random matrices, right-hand sides and layouts, against SciPy."""

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla
from conftest import TOLERANCE, backward_error
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import gpusolve

SETTINGS = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
DTYPES = ("float32", "float64", "complex64", "complex128")


@st.composite
def matrices(draw):
    """Hermitian, positive definite by its diagonal."""
    n = draw(st.integers(1, 30))
    seed = draw(st.integers(0, 2**32 - 1))
    density = draw(st.sampled_from([0.0, 0.05, 0.2, 1.0]))
    dtype = draw(st.sampled_from(DTYPES))
    generator = np.random.default_rng(seed)
    values = generator.uniform(-1, 1, (n, n)) * (generator.random((n, n)) < density)
    if dtype.startswith("c"):
        values = values * np.exp(2j * np.pi * generator.random((n, n)))
    values = values + values.conj().T
    values += np.diag(abs(values).sum(axis=1) + generator.uniform(0.1, 2, n))
    return sp.csc_matrix(values.astype(dtype))


@st.composite
def right_sides(draw, n):
    """An array of n rows in some layout, and the same numbers in another dtype of the same kind."""
    columns = draw(st.one_of(st.none(), st.integers(0, 40)))
    dtype = draw(st.sampled_from(DTYPES + ("int32", "float16")))
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shape = (n,) if columns is None else (n, columns)
    b = 10 * generator.standard_normal(shape)
    if dtype.startswith("c"):
        b = b + 1j * generator.standard_normal(shape)
    b = b.astype(dtype)
    step, order = draw(st.sampled_from([1, 2, -1])), draw(st.sampled_from("CF"))
    b = np.array(np.repeat(b, abs(step), axis=0)[:: -1 if step < 0 else 1], order=order)
    return b[::step]


@SETTINGS
@given(st.data())
def test_solve_agrees_with_scipy(data):
    A = data.draw(matrices())
    b = data.draw(right_sides(A.shape[0]))
    ordering = data.draw(st.sampled_from(["metis", "amd", "natural"]))
    part = data.draw(st.sampled_from([lambda A: A, sp.tril, sp.triu]))
    mode = data.draw(st.sampled_from(["simplicial", "supernodal"]))
    F = gpusolve.cholesky(part(A), ordering=ordering, mode=mode, device="cpu")
    x = F.solve(b)
    assert x.dtype == np.result_type(A.dtype, b.dtype) and x.shape == b.shape
    working = np.promote_types(A.dtype, "complex64") if x.dtype.kind == "c" else A.dtype
    assert backward_error(A.astype(working), x.astype(working), b.astype(working)) < TOLERANCE
    if b.size:
        exact = np.promote_types(x.dtype, "float64")
        expected = spla.spsolve(A.astype(exact).tocsc(), b.astype(exact))
        tolerance = 1e-3 if A.dtype.itemsize // (1 + (A.dtype.kind == "c")) == 4 else 1e-9
        assert np.allclose(x, expected.reshape(x.shape), rtol=tolerance, atol=tolerance * abs(expected).max())


@SETTINGS
@given(st.data())
def test_systems_make_up_a(data):
    A = data.draw(matrices())
    b = np.random.default_rng(data.draw(st.integers(0, 1000))).standard_normal((A.shape[0], 2)).astype(A.dtype)
    F = gpusolve.cholesky(A, device="cpu")
    x = b
    for system in ("P", "L", "Lt", "Pt"):
        x = F.solve(x, system=system)
    assert backward_error(A, x, b) < TOLERANCE
    y = F.apply_Pt(F.solve_DLt(F.solve_L(F.apply_P(b))))
    assert backward_error(A, y, b) < TOLERANCE
    sign, logarithm = np.linalg.slogdet(A.toarray().astype(np.promote_types(A.dtype, "float64")))
    assert np.isclose(F.logdet(), logarithm, rtol=1e-4 if F.dtype.itemsize % 8 else 1e-6, atol=1e-4)


@SETTINGS
@given(st.data())
def test_selections_agree_with_whole_solves(data):
    A = data.draw(matrices())
    n = A.shape[0]
    F = gpusolve.cholesky(A, device="cpu")
    b_rows = data.draw(st.lists(st.integers(0, n - 1), unique=True, min_size=1))
    x_rows = data.draw(st.lists(st.integers(0, n - 1), min_size=1))
    b = np.random.default_rng(0).standard_normal((len(b_rows), 3)).astype(A.dtype)
    whole = np.zeros((n, 3), A.dtype)
    whole[b_rows] = b
    assert np.array_equal(F.selection(b_rows, x_rows).solve(b), F.solve(whole)[x_rows])


@SETTINGS
@given(st.data())
def test_indefinite_matrices_are_refused(data):
    A = data.draw(matrices()).tolil()
    at = data.draw(st.integers(0, A.shape[0] - 1))
    A[at, at] = -abs(A[at, at])
    try:
        gpusolve.cholesky(A, device="cpu")
    except gpusolve.NotPositiveDefiniteError as error:
        assert 0 <= error.column < A.shape[0]
    else:
        raise AssertionError("an indefinite matrix was factorised")
