"""Solves with NumPy's arrays: every system, dtype, layout, and out=."""

import inspect

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as spla
from conftest import TOLERANCE, backward_error, grid, random

import gpusolve

DTYPES = ("float32", "float64", "complex64", "complex128")


def dense_parts(F, A):
    """P, L as dense matrices, from A and the factor's ordering."""
    n = F.shape[0]
    P = np.eye(n)[F.perm]
    return P, np.linalg.cholesky(P @ A.toarray() @ P.T)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("columns", [None, 0, 1, 2, 3, 8, 9, 17, 33, 70])
def test_solves_a(device, dtype, columns):
    A = grid(9, dtype)
    F = gpusolve.cholesky(A, device=device)
    assert F.dtype == dtype and F.device.startswith(device)
    shape = (81,) if columns is None else (81, columns)
    for order in "CF":
        b = np.array(random(shape, dtype), order=order)
        kept = b.copy()
        x = F.solve(b)
        assert x.dtype == b.dtype and x.shape == b.shape
        assert x.flags.c_contiguous == b.flags.c_contiguous and x.flags.f_contiguous == b.flags.f_contiguous
        assert np.array_equal(b, kept)
        assert backward_error(A, x, b) < TOLERANCE


@pytest.mark.parametrize("mode", ["simplicial", "supernodal"])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_every_system(device, dtype, mode):
    A = grid(6, dtype)
    F = gpusolve.cholesky(A, device=device, mode=mode)
    P, L = dense_parts(F, A)
    Lt, one = L.conj().T, np.eye(len(L))
    matrices = {"A": A.toarray(), "LDLt": L @ Lt, "LD": L, "DLt": Lt, "L": L, "Lt": Lt, "D": one}
    b = random((36, 3), dtype)
    for system, matrix in matrices.items():
        x = F.solve(b, system=system)
        assert backward_error(matrix, x, b) < TOLERANCE, system
        assert np.array_equal(x, getattr(F, "solve_" + system)(b))
    assert np.array_equal(F.solve(b, system="P"), b[F.perm])
    assert np.array_equal(F.apply_P(b), b[F.perm])
    assert np.array_equal(F.apply_Pt(F.apply_P(b)), b)
    assert np.array_equal(F(b), F.solve_A(b))


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_transposes(device, dtype):
    A = grid(5, dtype)
    F = gpusolve.cholesky(A, device=device)
    b = random((25, 2), "complex128")
    assert backward_error(A.T, F.solve(b, trans="T"), b) < TOLERANCE
    assert backward_error(A.conj().T, F.solve(b, trans="H"), b) < TOLERANCE
    out = np.empty_like(b)
    assert F.solve(b, out, trans="T") is out
    assert backward_error(A.T, out, b) < TOLERANCE


LAYOUTS = {
    "every other row": lambda b: np.repeat(b, 2, axis=0)[::2],
    "every other column": lambda b: np.repeat(b, 2, axis=1)[:, ::2],
    "rows backwards": lambda b: b[::-1].copy()[::-1],
    "columns backwards": lambda b: b[:, ::-1].copy()[:, ::-1],
    "part of a larger C array": lambda b: np.pad(b, ((1, 2), (3, 4)), constant_values=np.nan)[1:-2, 3:-4],
    "part of a larger F array": lambda b: np.asfortranarray(
        np.pad(b, ((1, 2), (3, 4)), constant_values=np.nan))[1:-2, 3:-4],
    "three dimensions, one left out": lambda b: np.stack([b, b])[1],
    "not aligned": lambda b: np.frombuffer(b"x" + b.tobytes(), dtype=np.uint8)[1:].view(b.dtype).reshape(b.shape),
    "read-only": lambda b: np.broadcast_to(b, b.shape),
    "another byte order": lambda b: b.astype(b.dtype.newbyteorder()),
    "matrix": lambda b: np.asmatrix(b),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(device, layout):
    A = grid(4)
    F = gpusolve.cholesky(A, device=device)
    plain = random((16, 5))
    b = LAYOUTS[layout](plain)
    assert np.array_equal(b, plain)
    x = F.solve(b)
    assert backward_error(A, x, plain) < TOLERANCE
    column = F.solve(np.asarray(b)[:, 2])
    assert column.shape == (16,)
    assert backward_error(A, column, plain[:, 2]) < TOLERANCE


@pytest.mark.parametrize("layout", ["every other row", "every other column", "columns backwards",
                                    "part of a larger C array", "part of a larger F array"])
def test_out_of_any_layout(device, layout):
    A = grid(4)
    F = gpusolve.cholesky(A, device=device)
    b = random((16, 5))
    out = LAYOUTS[layout](np.zeros((16, 5)))
    whole = out.base
    untouched = np.ones(whole.shape, bool)
    assert F.solve(b, out=out) is out
    assert backward_error(A, out, b) < TOLERANCE
    if layout.startswith("part"):
        untouched[1:-2, 3:-4] = False
        assert np.isnan(whole[untouched]).all()


def test_broadcast_b(device):
    A = grid(4)
    F = gpusolve.cholesky(A, device=device)
    b = np.broadcast_to(random((16, 1)), (16, 3))
    assert backward_error(A, F.solve(b), b) < TOLERANCE


def test_in_place(device):
    A = grid(7)
    F = gpusolve.cholesky(A, device=device)
    for columns in (1, 4, 40):
        for order in "CF":
            b = np.array(random((49, columns)), order=order)
            x = b.copy(order="K")
            assert F.solve(x, out=x) is x
            assert backward_error(A, x, b) < TOLERANCE
    with pytest.raises(ValueError, match="b"):
        b = random((49, 4))
        shifted = np.concatenate([b, b])
        F.solve(shifted[:49], out=shifted[1:50])


PROMOTIONS = [
    ("float64", "float32", "float64"), ("float64", "float16", "float64"), ("float64", "int32", "float64"),
    ("float64", "bool", "float64"), ("float64", "uint8", "float64"), ("float64", "complex64", "complex128"),
    ("float64", "complex128", "complex128"), ("float32", "float64", "float64"), ("float32", "float16", "float32"),
    ("float32", "int16", "float32"), ("float32", "int64", "float64"), ("float32", "complex64", "complex64"),
    ("float32", "complex128", "complex128"), ("complex128", "float64", "complex128"),
    ("complex128", "float32", "complex128"), ("complex64", "float32", "complex64"),
    ("complex64", "float64", "complex128"), ("complex64", "int8", "complex64"),
]


@pytest.mark.parametrize("of_factor, of_b, of_x", PROMOTIONS)
def test_dtypes_as_numpy(device, of_factor, of_b, of_x):
    assert np.result_type(of_factor, of_b) == of_x
    A = grid(4, of_factor)
    F = gpusolve.cholesky(A, device=device)
    b = (100 * random((16, 3), "complex128" if of_b.startswith("c") else "float64")).astype(of_b)
    x = F.solve(b)
    assert x.dtype == of_x
    working = np.promote_types(of_factor, "complex64") if of_x.startswith("c") else np.dtype(of_factor)
    assert backward_error(A.astype(working), x.astype(working), b.astype(working)) < TOLERANCE


def test_other_dtypes_are_refused(device):
    F = gpusolve.cholesky(grid(3), device=device)
    for b in (np.zeros(9, object), np.zeros(9, "U3"), np.zeros(9, "M8[s]"), np.zeros(9, [("a", float)])):
        with pytest.raises(TypeError, match="b: "):
            F.solve(b)
    if np.finfo(np.longdouble).bits > 64:
        with pytest.raises(TypeError, match="b: "):
            F.solve(np.zeros(9, np.longdouble))
    with pytest.raises(TypeError):
        F.solve(np.ma.masked_array(np.zeros(9), mask=[1] + 8 * [0]))
    with pytest.raises(TypeError, match="sparse"):
        F.solve(sp.eye(9))


def test_out_dtypes(device):
    A = grid(3)
    F = gpusolve.cholesky(A, device=device)
    b = random(9)
    out = np.empty(9, np.float32)
    assert F.solve(b, out) is out
    assert np.allclose(A @ out, b, atol=1e-4)
    out = np.empty(9, np.complex128)
    F.solve(b, out)
    assert np.allclose(A @ out, b)
    with pytest.raises(TypeError):
        F.solve(b, np.empty(9, int))
    with pytest.raises(TypeError):
        F.solve(b, [0.0] * 9)
    read_only = np.empty(9)
    read_only.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        F.solve(b, read_only)
    for shape in ((8,), (9, 1), (9, 2), (1, 9)):
        with pytest.raises(ValueError, match="out"):
            F.solve(b, np.empty(shape))


@pytest.mark.parametrize("shape", [(), (8,), (10,), (1, 9), (8, 9), (9, 1, 1), (0,), (3, 3)])
def test_wrong_shapes(device, shape):
    F = gpusolve.cholesky(grid(3), device=device)
    with pytest.raises(ValueError, match="b: has the shape"):
        F.solve(np.zeros(shape))


def test_what_numpy_can_convert(device):
    A = sp.diags([2.0, 4.0])
    F = gpusolve.cholesky(A, device=device)
    assert np.allclose(F.solve([2, 4]), [1, 1])
    assert np.allclose(F.solve([[2, 4], [4, 8]]), [[1, 2], [1, 2]])

    class Wrapped:
        def __array__(self, dtype=None, copy=None):
            return np.array([2.0, 8.0])

    assert np.allclose(F.solve(Wrapped()), [1, 2])


def test_empty_and_tiny(device):
    F = gpusolve.cholesky(sp.csc_matrix((0, 0)), device=device)
    assert F.solve(np.zeros(0)).shape == (0,)
    assert F.solve(np.zeros((0, 3))).shape == (0, 3)
    assert F.logdet() == 0
    F = gpusolve.cholesky(sp.csc_matrix([[4.0]]), device=device)
    assert np.allclose(F.solve(np.array([[8.0, 4.0]])), [[2.0, 1.0]])


def test_a_nan_stays_in_its_column(device):
    F = gpusolve.cholesky(grid(4), device=device)
    b = random((16, 4))
    clean = F.solve(b)
    b[3, 1] = np.nan
    x = F.solve(b)
    assert np.isnan(x[:, 1]).any()
    assert np.array_equal(x[:, [0, 2, 3]], clean[:, [0, 2, 3]])


def test_same_bits_whatever_was_solved_before(device):
    F = gpusolve.cholesky(grid(12), device=device)
    b = random((144, 70))
    first = [F.solve(b[:, :k]) for k in (1, 5, 20, 70)]
    again = [F.solve(b[:, :k]) for k in (70, 20, 5, 1)]
    for x, y in zip(first, reversed(again)):
        assert np.array_equal(x, y)


def test_linear_operator(device):
    A = grid(12)
    F = gpusolve.cholesky(A, device=device)
    M = F.as_linear_operator()
    assert M.shape == A.shape and M.dtype == A.dtype
    b = random(144)
    x, flag = spla.cg(A, b, M=M, maxiter=2)
    assert flag == 0 and np.allclose(A @ x, b)
    assert np.allclose(A @ (M @ np.eye(144)), np.eye(144), atol=1e-9)
    values = spla.eigsh(A, k=3, sigma=0, OPinv=M, return_eigenvectors=False)
    assert np.allclose(np.sort(values), np.linalg.eigvalsh(A.toarray())[:3])
    single = gpusolve.cholesky(A, device=device, precision="single").as_linear_operator()
    x, flag = spla.cg(A, b, M=single, rtol=1e-12, maxiter=20)
    assert flag == 0
    with pytest.raises(ValueError, match="package"):
        F.as_linear_operator(package="numpy")


def test_functions_of_scipy(device):
    A = grid(6)
    b = random((36, 2))
    expected = spla.spsolve(A, b)
    assert np.allclose(gpusolve.factorized(A, device=device)(b), expected)
    assert np.allclose(gpusolve.spsolve(A, b, device=device), expected)
    x = gpusolve.spsolve(A, sp.csr_matrix(b), device=device)
    assert sp.issparse(x) and x.format == "csr" and np.allclose(x.toarray(), expected)
    lu = gpusolve.splu(A, device=device)
    assert lu.shape == A.shape and lu.nnz > A.nnz
    assert np.allclose(lu.solve(b), expected) and np.allclose(lu.solve(b, "T"), expected)
    P, L = dense_parts(lu.factor, A)
    Pr = np.zeros((36, 36))
    Pr[lu.perm_r, np.arange(36)] = 1
    Pc = np.zeros((36, 36))
    Pc[np.arange(36), lu.perm_c] = 1
    assert np.allclose(Pr @ A.toarray() @ Pc, L @ L.T)
    with pytest.raises(NotImplementedError):
        lu.L
    with pytest.raises(NotImplementedError):
        lu.U


def test_refine(device):
    A = grid(8)
    F = gpusolve.cholesky(A, device=device)
    b = random((64, 3))
    x, error = F.refine(A, b)
    assert error.shape == (3,) and (error < 1e-15).all()
    assert np.allclose(A @ x, b)
    x, error = F.refine(A, b[:, 0])
    assert isinstance(error, float) and error < 1e-15
    # From a guess, with no step allowed: the guess comes back, with its error.
    guess = np.ones((64, 3))
    same, error = F.refine(A, b, guess, max_steps=0)
    assert np.array_equal(same, guess) and (error > 1e-4).all()
    better, error = F.refine(A, b, guess)
    assert np.allclose(A @ better, b) and (error < 1e-14).all()
    out = np.empty((64, 3), order="F")
    assert F.refine(A, b, out=out)[0] is out and np.allclose(A @ out, b)
    # Complex b, integers, one triangle.
    x, _ = F.refine(sp.tril(A), b + 1j, triangle="lower")
    assert x.dtype == complex and np.allclose(A @ x, b + 1j)
    x, _ = F.refine(A, np.arange(64))
    assert np.allclose(A @ x, np.arange(64))
    with pytest.raises(ValueError, match="order"):
        F.refine(grid(7), b)
    with pytest.raises(ValueError, match="b: has the shape"):
        F.refine(A, b[1:])


def test_refine_stale(device):
    """A factor of A, equations with A + E: conjugate gradients take SciPy's number of steps."""
    A = grid(24)
    F = gpusolve.cholesky(A, device=device)
    rng = np.random.default_rng(7)
    b = rng.standard_normal(A.shape[0])
    for part in (1e-3, 1e-2, 1e-1):
        E = sp.tril(A, -1).tocsr()
        E.data *= rng.random(E.nnz)
        E = E + E.T
        E = E + sp.diags(np.asarray(abs(E).sum(axis=1)).ravel())  # positive semidefinite
        S = (A + part * abs(A).sum(axis=1).max() / abs(E).sum(axis=1).max() * E).tocsc()
        x, error, steps = F.refine(S, b, method="cg", max_steps=100, tolerance=1e-12, return_steps=True)
        assert error <= 1e-12 and isinstance(steps, int)
        x0, error0 = F.refine(S, b, max_steps=0)
        count = [0]

        def counts(_, count=count):
            count[0] += 1

        atol = 0.25e-12 / error0 * np.linalg.norm(b - S @ x0)
        tolerances = {"rtol" if "rtol" in inspect.signature(spla.cg).parameters else "tol": 0.0, "atol": atol}
        _, info = spla.cg(S, b, x0=x0, M=F.as_linear_operator(), callback=counts, maxiter=100, **tolerances)
        assert info == 0 and abs(steps - count[0]) <= 1
        x, error, steps = F.refine(S, b[:, None], method="fgmres", max_steps=100, tolerance=1e-12, return_steps=True)
        assert (error <= 1e-12).all() and steps.shape == (1,) and steps[0] <= count[0] + 1
        x, error = F.refine(S, b, method="automatic", max_steps=100)
        assert error < 1e-15 and np.allclose(S @ x, b)
    A.setdiag(np.rint(A.diagonal()))  # all integers: b is exact
    exact = rng.integers(-99, 99, A.shape[0]).astype(float)
    x, error = gpusolve.cholesky(A, device=device).refine(A, A @ exact, twice=True, max_steps=20)
    assert abs(x - exact).max() <= np.finfo(float).eps * abs(exact).max() and error < 1e-15
    x, error = F.refine(S, b, method="cg", componentwise=True, max_steps=100)
    assert error < 1e-15 and np.allclose(error, (abs(b - S @ x) / (abs(S) @ abs(x) + abs(b))).max(), atol=1e-15)
    with pytest.raises(ValueError, match="method"):
        F.refine(A, b, method="jacobi")
    with pytest.raises(ValueError, match="restart"):
        F.refine(A, b, method="fgmres", restart=0)


def test_selection(device):
    A = grid(8)
    F = gpusolve.cholesky(A, device=device)
    b_rows, x_rows = np.array([3, 60]), np.array([60, 5, 5])
    S = F.selection(b_rows, x_rows)
    assert S.info["forward_bytes"] <= F.info["stored_bytes"]
    for shape in ((2,), (2, 1), (2, 5), (2, 40)):
        part = random(shape)
        whole = np.zeros((64, *shape[1:]))
        whole[b_rows] = part
        expected = F.solve(whole)[x_rows]
        x = S.solve(part)
        assert x.shape == expected.shape and np.allclose(x, expected, rtol=1e-12)
        out = np.zeros_like(expected)
        assert S.solve(part, out) is out and np.allclose(out, expected, rtol=1e-12)
    assert S.solve(np.array([1, 2])).dtype == float
    with pytest.raises(ValueError, match="b: has the shape"):
        S.solve(np.zeros(3))
    assert np.allclose(F.selection(None, [7]).solve(np.ones(64)), F.solve(np.ones(64))[7])
    for rows in ([64], [-1], [3, 3]):
        with pytest.raises(ValueError):
            F.selection(rows, None)
    with pytest.raises(NotImplementedError):
        F.selection([1], [1], system="D")
    with pytest.raises(ValueError, match="system"):
        F.selection([1], [1], system="B")
    with pytest.raises(TypeError, match="b_rows"):
        F.selection([0.5], None)
