"""gpusolve.sksparse beside scikit-sparse 0.4, call by call, where that is installed; and alone, by its equations."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import grid, random

from gpusolve import sksparse as ours

try:
    from sksparse import cholmod as theirs

    theirs = theirs if hasattr(theirs, "cholesky_AAt") else None
except ImportError:
    theirs = None

BESIDE = pytest.mark.skipif(theirs is None, reason="scikit-sparse 0.4 is not installed")
MODES = ("auto", "simplicial", "supernodal")


def plain(x):
    return x.toarray() if sp.issparse(x) else np.asarray(x)


def assert_same(a, b):
    """Two results of one type, dtype, shape and, to rounding, value."""
    if isinstance(b, tuple):
        assert isinstance(a, tuple) and len(a) == len(b)
        for one, other in zip(a, b):
            assert_same(one, other)
        return
    assert sp.issparse(a) == sp.issparse(b)
    if sp.issparse(b):
        assert a.format == b.format
    assert np.asarray(plain(a)).dtype == np.asarray(plain(b)).dtype
    assert np.shape(plain(a)) == np.shape(plain(b))
    assert np.allclose(plain(a), plain(b), rtol=1e-10, atol=1e-12, equal_nan=True)


CALLS = {
    "P": lambda f, b: f.P(),
    "D": lambda f, b: f.D(),
    "L": lambda f, b: f.L(),
    "LD": lambda f, b: f.LD(),
    "L_D": lambda f, b: f.L_D(),
    "logdet": lambda f, b: f.logdet(),
    "slogdet": lambda f, b: f.slogdet(),
    "det": lambda f, b: f.det(),
    "inv": lambda f, b: f.inv(),
    "call": lambda f, b: f(b),
    "solve_A": lambda f, b: f.solve_A(b),
    "solve_LDLt": lambda f, b: f.solve_LDLt(b),
    "solve_LD": lambda f, b: f.solve_LD(b),
    "solve_DLt": lambda f, b: f.solve_DLt(b),
    "solve_L": lambda f, b: f.solve_L(b),
    "solve_L of L L'": lambda f, b: f.solve_L(b, False),
    "solve_L of L D L'": lambda f, b: f.solve_L(b, use_LDLt_decomposition=True),
    "solve_Lt": lambda f, b: f.solve_Lt(b),
    "solve_Lt of L L'": lambda f, b: f.solve_Lt(b, use_LDLt_decomposition=False),
    "solve_D": lambda f, b: f.solve_D(b),
    "apply_P": lambda f, b: f.apply_P(b),
    "apply_Pt": lambda f, b: f.apply_Pt(b),
    "copy": lambda f, b: f.copy()(b),
    "cholesky": lambda f, b: f.cholesky(matrix_like(f) * 3)(b),
    "cholesky, beta": lambda f, b: f.cholesky(matrix_like(f), beta=0.5)(b),
    "the copy leaves the first alone": lambda f, b: (f.cholesky(2 * matrix_like(f)), f(b))[1],
}


def matrix_like(f):
    return grid(6, np.complex128 if np.iscomplexobj(f.D()) else np.float64)


@BESIDE
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("call", CALLS)
def test_beside_scikit_sparse(call, mode, dtype):
    A = grid(6, dtype)
    f, g = ours.cholesky(A, mode=mode, device="cpu"), theirs.cholesky(A, mode=mode)
    if call == "solve_D":
        g.solve_L(random(36, dtype))  # converts a supernodal factor; until then scikit-sparse's D is the identity here
    sides = [random(36, dtype), random((36, 3), dtype), np.zeros((36, 0), dtype), sp.csc_matrix(random((36, 2), dtype))]
    if dtype == "float64":
        sides += [np.arange(36), [1.0] * 36]
    for b in sides:
        assert_same(CALLS[call](f, b), CALLS[call](g, b))


@BESIDE
@pytest.mark.parametrize("ordering", ["natural", "amd", "metis", "nesdis", "colamd", "default", "best"])
def test_orderings_beside_scikit_sparse(ordering):
    A = grid(12)
    f = ours.cholesky(A, ordering_method=ordering, device="cpu")
    g = theirs.cholesky(A, ordering_method=ordering)
    assert_same(f.P(), g.P())
    assert_same(f.L(), g.L())


@BESIDE
def test_the_rest_beside_scikit_sparse():
    A = grid(6)
    B = sp.csc_matrix(random((5, 9)))
    b = random(36)
    for module, options in ((ours, {"device": "cpu"}), (theirs, {})):
        f = module.analyze(A, **options)
        f.cholesky_inplace(A, 1.0)
        first = f(b)
        f.cholesky_inplace(2 * A)
        second = f(b)
        product = module.cholesky_AAt(B, 0.5, **options)
        analyzed = module.analyze_AAt(B, **options)
        analyzed.cholesky_AAt_inplace(B)
        only_lower = module.cholesky(sp.csc_matrix(sp.tril(A)), **options)
        only_diagonal = module.cholesky(sp.csc_matrix(sp.triu(A)), **options)
        subset = module.analyze(A, **options)
        subset.cholesky_inplace(sp.csc_matrix(sp.eye(36)) * 4)
        negative = module.cholesky(-A, mode="simplicial", **options)
        results = (first, second, product.D(), product.logdet(), analyzed(random(5)), only_lower(b), only_diagonal.D(),
                   subset(b), negative(b), negative.D())
        if module is ours:
            kept = results
        else:
            assert_same(kept, results)


@BESIDE
def test_the_same_names():
    assert set(theirs.__all__) <= {name for name in dir(ours) if not name.startswith("_")}
    methods = {name for name in dir(theirs.Factor) if not name.startswith("_")}
    assert methods <= set(dir(ours.Factor))
    for name in dir(theirs):
        error = getattr(theirs, name)
        if isinstance(error, type) and issubclass(error, Exception):
            assert issubclass(getattr(ours, name), Exception)


@pytest.mark.parametrize("module", [ours, pytest.param(theirs, marks=BESIDE)])
def test_errors(module):
    A = grid(4)
    f = module.cholesky(A)
    b = np.ones(16)
    for call, error in (
        (lambda: f(np.ones(15)), "CholmodError"),
        (lambda: f(np.ones((16, 2, 2))), "CholmodError"),
        (lambda: module.cholesky(A, mode="fast"), "CholmodError"),
        (lambda: module.cholesky(A, ordering_method="fast"), "CholmodError"),
        (lambda: module.cholesky(sp.csc_matrix((2, 3))), "CholmodError"),
        (lambda: module.analyze(A)(b), "CholmodError"),
        (lambda: module.analyze(A).L(), "CholmodError"),
        (lambda: f.cholesky_inplace(grid(5)), "CholmodError"),
        (lambda: f.cholesky_inplace(A.astype(complex)), "CholmodError"),
        (lambda: module.cholesky(-A, mode="supernodal")(b), "CholmodNotPositiveDefiniteError"),
        (lambda: module.cholesky(-A, mode="simplicial").L(), "CholmodNotPositiveDefiniteError"),
    ):
        with pytest.raises(getattr(module, error)):
            call()
    with pytest.raises(TypeError):
        module.Factor()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        module.cholesky(A.tocsr())
    assert any(issubclass(w.category, module.CholmodTypeConversionWarning) for w in caught)


def test_what_is_missing_names_the_way_round():
    f = ours.cholesky(grid(4), device="cpu")
    with pytest.raises(NotImplementedError, match="cholesky_inplace"):
        f.update_inplace(sp.eye(16))
    with pytest.raises(ours.CholmodInvalidError, match="outside"):
        f.cholesky_inplace(sp.csc_matrix(np.ones((16, 16))))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_equations(device, mode, dtype):
    A = grid(6, dtype)
    f = ours.cholesky(A, mode=mode, device=device)
    p, L, D = f.P(), f.L().toarray(), np.diag(f.D())
    permuted = A.toarray()[p[:, np.newaxis], p[np.newaxis, :]]
    assert np.allclose(L @ L.conj().T, permuted)
    unit, d = (part.toarray() for part in f.L_D())
    assert np.allclose(d, D) and np.allclose(np.diag(unit), 1)
    assert np.allclose(unit @ D @ unit.conj().T, permuted)
    b = random((36, 2), dtype)
    assert np.allclose(unit @ f.solve_L(b), b)
    assert np.allclose(L @ f.solve_L(b, False), b)
    assert np.allclose(unit.conj().T @ f.solve_Lt(b), b)
    assert np.allclose(L.conj().T @ f.solve_Lt(b, False), b)
    assert np.allclose(unit @ D @ f.solve_LD(b), b)
    assert np.allclose(D @ unit.conj().T @ f.solve_DLt(b), b)
    assert np.allclose(D @ f.solve_D(b), b)
    assert np.allclose(permuted @ f.solve_LDLt(b), b)
    assert np.allclose(A @ f(b), b)
    f.cholesky_inplace(2 * A)
    assert np.allclose(2 * A @ f(b), b)


@BESIDE
def test_factors_of_scikit_sparse_are_imported(device):
    import gpusolve

    for dtype in ("float64", "complex128"):
        for mode in MODES:
            A = grid(6, dtype)
            g = theirs.cholesky(A, mode=mode)
            F = gpusolve.Factor.from_scikit_sparse(g, device=device)
            b = random((36, 2), dtype)
            assert np.allclose(A @ F.solve(b), b) and np.array_equal(F.perm, g.P())
            assert np.isclose(F.logdet(), np.real(g.logdet()))
            g.cholesky_inplace(2 * A)
            F.refresh(g)
            assert np.allclose(2 * A @ F.solve(b), b)
    with pytest.raises(TypeError, match="scikit-sparse"):
        gpusolve.Factor.from_scikit_sparse(A)
