"""gpusolve.sksparse05 beside scikit-sparse 0.5, call by call, where that is installed; and alone, by its equations."""

import re
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import grid, package, random
from scipy.sparse.csgraph import connected_components

import gpusolve
from gpusolve import _library
from gpusolve import sksparse as both_versions
from gpusolve import sksparse05 as ours

try:
    from sksparse import cholmod as theirs

    theirs = theirs if hasattr(theirs, "CholeskyFactor") else None
except ImportError:
    theirs = None

BESIDE = pytest.mark.skipif(theirs is None, reason="scikit-sparse 0.5 is not installed")
MODES = ("auto", "simplicial", "supernodal")
DTYPES = ("float64", "complex128", "float32", "complex64")
SYSTEMS = ("A", "LDLt", "LD", "DLt", "L", "Lt", "D")
ORDERS = ("default", "amd", "colamd", "natural", "postordered", None)  # the same in all versions of CHOLMOD
BY_METIS = ("metis", "nesdis", "best")  # another version of METIS orders otherwise

pytestmark = pytest.mark.filterwarnings("ignore::scipy.sparse.SparseEfficiencyWarning")


def has_one_cholmod():
    """Whether scikit-sparse and gpusolve have opened the same CHOLMOD."""
    _library.open_cholmod()
    with open("/proc/self/maps") as maps:
        return len(set(re.findall(r"\S*libcholmod\S*", maps.read()))) == 1


def plain(x):
    return x.toarray() if sp.issparse(x) else np.asarray(x)


def assert_same(a, b, precision=None):
    """Two results of one type, dtype, shape and, to rounding, value. precision: the dtype whose rounding it is; b's."""
    if isinstance(b, tuple):
        assert isinstance(a, tuple) and len(a) == len(b)
        for one, other in zip(a, b):
            assert_same(one, other, precision)
        return
    assert sp.issparse(a) == sp.issparse(b)
    if sp.issparse(b):
        assert (type(a), a.nnz) == (type(b), b.nnz)
        assert getattr(a, "indices", a.data).dtype == getattr(b, "indices", b.data).dtype
    a, b = plain(a), plain(b)
    assert a.dtype == b.dtype and a.shape == b.shape
    if b.dtype.kind not in "fc":
        assert np.array_equal(a, b)
        return
    epsilon = np.finfo(precision or b.dtype).eps
    assert np.allclose(a, b, rtol=1e4 * epsilon, atol=1e3 * epsilon * abs(b).max(initial=0), equal_nan=True)


def sides(dtype):
    """Right-hand sides of every kind that a factor of order 36 takes."""
    yield from (random(36, dtype), random((36, 3), dtype), np.asfortranarray(random((36, 3), dtype)), np.zeros((36, 0), dtype))
    yield from (sp.csc_matrix(random((36, 2), dtype)), sp.csr_array(random((36, 70), dtype)), np.ones(36, bool))
    if dtype not in ("float32", "complex64"):
        yield np.arange(36)


def made(module, dtype="float64", ldl=None, mode="auto", lower=True, order="default", A=None, **options):
    options |= {"device": "cpu"} if module is ours else {}
    A = sp.csc_array(grid(6, dtype)) if A is None else A
    return module.CholeskyFactor(A, lower=lower, supernodal_mode=mode, order=order, **options).factorize(A, ldl=ldl, beta=0.5)


SYMBOLIC = ("N", "is_ll", "is_super", "is_numeric", "itype", "dtype", "sym_kind", "is_lower", "rcond", "colcount", "nnz", "order",
            "perm")
PARTS = {
    **{name: lambda f, name=name: getattr(f, name) for name in (*SYMBOLIC, "factor", "L", "R", "D")},
    "get_factor": lambda f: f.get_factor(),
    "get_factor LL": lambda f: f.get_factor("LL"),
    "get_factor LDL": lambda f: f.get_factor(kind="LDL"),
    "get_factor upper": lambda f: f.get_factor(lower=False),
    "get_factor lower": lambda f: f.get_factor("LDL", lower=True),
    "get_perm": lambda f: f.get_perm(),
    "logdet": lambda f: f.logdet(),
    "slogdet": lambda f: f.slogdet(),
    "det": lambda f: f.det(),
    "inv": lambda f: f.inv(),
    "repr": repr,
    "str": str,
    "change_factor": lambda f: f.change_factor().factor,
    "change_factor LL": lambda f: f.change_factor("LL").is_ll,
    "change_factor LDL": lambda f: f.change_factor(kind="LDL").L,
    "copy": lambda f: f.copy().factor,
    "read-only": lambda f: (f.perm.flags.writeable, f.colcount.flags.writeable, f.factor.data.flags.writeable),
}


@BESIDE
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("part", PARTS)
def test_parts_beside_scikit_sparse(part, dtype):
    for mode in MODES:
        for ldl in (None, True, False):
            for lower in (True, False):
                f, g = (made(module, dtype, ldl, mode, lower) for module in (ours, theirs))
                assert_same(PARTS[part](f), PARTS[part](g), dtype)


@BESIDE
@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_solves_beside_scikit_sparse(dtype, system):
    for mode in MODES:
        for ldl in (True, False):
            for is_changed in (False, True):
                f, g = (made(module, dtype, ldl, mode) for module in (ours, theirs))
                if is_changed:
                    f.change_factor()
                    g.change_factor()
                for b in sides(dtype):
                    assert_same(f.solve(b, system), g.solve(b, system))


@BESIDE
@pytest.mark.parametrize("order", [*ORDERS, *BY_METIS])
def test_orders_beside_scikit_sparse(order):
    if order in BY_METIS and not has_one_cholmod():
        pytest.skip("scikit-sparse has another CHOLMOD")
    B = sp.csc_array(sp.random(20, 30, 0.15, random_state=1) + sp.eye(20, 30)) * (1 + 0.5j)
    for A, kind in ((sp.csc_array(grid(12)), "sym"), (B, "row"), (sp.csc_array(B.T), "col")):
        for mode in MODES:
            f, g = (module.CholeskyFactor(A, order=order, sym_kind=kind, supernodal_mode=mode) for module in (ours, theirs))
            for part in SYMBOLIC:
                assert_same(getattr(f, part), getattr(g, part))
        for lower in (True, False):
            options = {"lower": lower, "order": order, "sym_kind": kind}
            assert_same(ours.cholesky(A, 0.5, **options), theirs.cholesky(A, 0.5, **options))
            assert_same(ours.ldl(A, 0.5, **options), theirs.ldl(A, 0.5, **options))


A = sp.csc_array(grid(6))
WIDE = sp.csc_array((A.data, A.indices.astype(np.int64), A.indptr.astype(np.int64)), shape=A.shape)
EMPTY = sp.csc_array((0, 0))
b = random(36)
FUNCTIONS = {
    "cho_solve": lambda m: m.cho_solve(A, b),
    "cho_solve of the lower triangle": lambda m: m.cho_solve(sp.csc_array(sp.tril(A)), b, lower=True, order="amd"),
    "of a dense matrix": lambda m: m.cholesky(A.toarray()),
    "of rows": lambda m: m.cholesky(A.tocsr()),
    "of a spmatrix": lambda m: m.cholesky(sp.csc_matrix(A)),
    "of int64": lambda m: m.cholesky((4 * A).astype(int)),
    "of int8": lambda m: m.cholesky((4 * A).astype(np.int8)),
    "of wide indices": lambda m: m.ldl(WIDE),
    "itype of wide indices": lambda m: m.cho_factor(WIDE).itype,
    "one triangle only": lambda m: m.ldl(sp.csc_array([[4.0, 9.0], [2.0, 5.0]]), order=None),
    "the other triangle": lambda m: m.cholesky(sp.csc_array([[4.0, 2.0], [9.0, 5.0]]), order=None),
    "order 0": lambda m: m.ldl(EMPTY),
    "order 0, solve": lambda m: m.cho_factor(EMPTY).solve(np.ones((0, 3))),
    "order 0, solve sparse": lambda m: m.cho_factor(EMPTY).solve(sp.csc_array((0, 3))),
    "order 0, rcond": lambda m: m.cho_factor(EMPTY).rcond,
    "order 0, logdet": lambda m: m.cho_factor(EMPTY).logdet(),
    "indefinite, L D L'": lambda m: m.ldl(-A),
    "indefinite, rcond": lambda m: m.ldl_factor(-A).rcond,
    "indefinite, solve": lambda m: m.ldl_factor(-A).solve(b),
    "indefinite, complex logdet": lambda m: m.ldl_factor(-A.astype(complex)).logdet(),
    "again, as before": lambda m: m.CholeskyFactor(A).factorize(A, True).factorize(2 * A).factor,
    "again, otherwise": lambda m: m.CholeskyFactor(A).factorize(A, True).factorize(2 * A, ldl=False).factor,
    "a part of the pattern": lambda m: m.CholeskyFactor(A).factorize(sp.csc_array(4 * sp.identity(36))).solve(b),
    "the copy leaves the first alone": lambda m: (lambda f: (f.copy().factorize(2 * A).solve(b), f.solve(b)))(m.cho_factor(A)),
    "the first leaves the copy alone": lambda m: (lambda f: (lambda g: (f.factorize(2 * A), g.solve(b))[1])(f.copy()))(
        m.cho_factor(A)),
    "vector, sparse": lambda m: m.cho_factor(A).solve(sp.coo_array(b)) if hasattr(sp, "diags_array") else None,
}


@BESIDE
@pytest.mark.parametrize("call", FUNCTIONS)
def test_functions_beside_scikit_sparse(call):
    assert_same(FUNCTIONS[call](ours), FUNCTIONS[call](theirs))


@BESIDE
def test_graphs_beside_scikit_sparse():
    B = sp.csc_array(sp.random(20, 30, 0.15, random_state=1) + sp.eye(20, 30))
    one = has_one_cholmod()

    def tree(m, **options):
        p, septree = m.nesdis(X, kind=kind, return_separator=True, **options)
        pruned = septree.prune(nd_oksep=0.1, nd_small=30)
        return p, septree.cp, septree.cmember, repr(septree), pruned.cp, pruned.cmember, septree.prune().cp

    triangles = (sp.csc_array(sp.triu(A)), sp.csc_array(sp.tril(A)))
    for X in (A, WIDE, B, sp.csc_array(B.T), *triangles, sp.csc_array(grid(30)), A.toarray()):
        for kind in (None, "sym", "lo", "row", "col"):
            if kind not in ("row", "col") and X.shape[0] != X.shape[1]:
                continue
            assert_same(ours.etree(X, kind=kind), theirs.etree(X, kind=kind))
            assert_same(ours.etree(X, kind=kind, return_post=True), theirs.etree(X, kind=kind, return_post=True))
            assert_same(tuple(ours.symbfact(X, kind=kind)[:4]), tuple(theirs.symbfact(X, kind=kind)[:4]))
            for lower in (True, False):
                f, g = (m.symbfact(X, kind=kind, lower=lower, return_factor=True) for m in (ours, theirs))
                assert f._fields == g._fields
                assert_same(tuple(f), tuple(g))
            if kind == "lo" or not one:
                continue
            assert_same(ours.bisect(X, kind=kind), theirs.bisect(X, kind=kind))
            assert_same(ours.metis(X, kind=kind), theirs.metis(X, kind=kind))
            for options in ({}, {"nd_small": 10}, {"nd_small": 10, "nd_camd": 0, "nd_oksep": 0.5, "nd_components": True}):
                assert_same(tree(ours, **options), tree(theirs, **options))


@BESIDE
def test_the_same_names():
    assert set(theirs.__all__) == set(ours.__all__)
    for name in theirs.__all__:
        mine, other = getattr(ours, name), getattr(theirs, name)
        if isinstance(other, type) and issubclass(other, Exception):
            assert all(issubclass(mine, getattr(ours, base.__name__, base)) for base in other.__mro__[:-1])
    members = {name for name in dir(theirs.CholeskyFactor) if not name.startswith("_")}
    assert members <= set(dir(ours.cho_factor(A)))


@pytest.mark.parametrize("module", [ours, pytest.param(theirs, marks=BESIDE)])
def test_errors(module):
    f, g = module.cho_factor(A), module.ldl_factor(-A)
    symbolic = module.CholeskyFactor(A)
    for call, error in (
        (lambda: module.cholesky(-A), "CholmodNotPositiveDefiniteError"),
        (lambda: module.cholesky(-A, supernodal_mode="supernodal"), "CholmodNotPositiveDefiniteError"),
        (lambda: module.ldl(-A, supernodal_mode="supernodal"), "CholmodNotPositiveDefiniteError"),
        (lambda: module.cholesky(sp.csc_array((5, 5))), "CholmodNotPositiveDefiniteError"),
        (lambda: module.cho_factor(sp.csc_array([[1.0, 1.0], [1.0, 1.0]])), "CholmodNotPositiveDefiniteError"),
        (lambda: g.change_factor("LL"), "CholmodNotPositiveDefiniteError"),
        (lambda: symbolic.solve(b), "CholmodError"),
        (lambda: symbolic.logdet(), "CholmodError"),
        (lambda: symbolic.change_factor(), "CholmodError"),
        (lambda: symbolic.inv(), "CholmodError"),
        (lambda: symbolic.get_factor(), ValueError),
        (lambda: symbolic.L, ValueError),
        (lambda: symbolic.D, ValueError),
        (lambda: symbolic.factorize(sp.csc_array(grid(5))), "CholmodInvalidInputError"),
        (lambda: symbolic.factorize(A, ldl=1), ValueError),
        (lambda: symbolic.factorize(A, beta=1j), TypeError),
        (lambda: symbolic.factorize(A, beta="a"), TypeError),
        (lambda: f.get_factor("QR"), ValueError),
        (lambda: f.change_factor("QR"), ValueError),
        (lambda: f.solve(b, "P"), ValueError),
        (lambda: f.solve(b, system=None), ValueError),
        (lambda: f.solve([1.0] * 36), ValueError),
        (lambda: f.solve(b[1:]), ValueError),
        (lambda: f.solve(np.ones((36, 1, 1))), ValueError),
        (lambda: f.solve(b + 1j), TypeError),
        (lambda: module.cho_factor(A.astype(np.float32)).solve(b), TypeError),
        (lambda: module.cholesky(sp.csc_array((2, 3))), ValueError),
        (lambda: module.cholesky(np.ones(3)), ValueError),
        (lambda: module.cholesky(A, sym_kind="x"), ValueError),
        (lambda: module.cholesky(A, order="x"), ValueError),
        (lambda: module.cholesky(A, supernodal_mode="x"), ValueError),
        (lambda: module.cholesky(A.astype(np.longdouble)), TypeError),
        (lambda: module.etree(A, kind="x"), ValueError),
        (lambda: module.metis(A, kind="lo"), ValueError),
        (lambda: module.bisect(sp.csc_array((2, 3))), ValueError),
        (lambda: f.rowadd(36, None), (IndexError, NotImplementedError)),
    ):
        with pytest.raises(getattr(module, error) if isinstance(error, str) else error):
            call()
    nearly = sp.csc_array([[1.0, 0.0], [0.0, 1e-20]])
    with pytest.warns(module.CholmodWarning, match="nearly singular"):
        module.cho_factor(nearly).solve(np.ones(2))
    with pytest.warns(sp.SparseEfficiencyWarning):
        module.cholesky(A.tocsr())


def test_no_warning_without_a_cause():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x = ours.cho_factor(A, device="cpu").solve(b)
    assert np.allclose(A @ x, b)


def test_what_is_missing_names_the_way_round():
    f = ours.cho_factor(A, device="cpu")
    for call, words in (
        (lambda: f.update(A), r"f.factorize\(A \+ C"),
        (lambda: f.downdate(A), r"f.factorize\(A - C"),
        (lambda: f.rowadd(0, A[:, [0]]), "f.factorize"),
        (lambda: f.rowdel(0), "f.factorize"),
        (lambda: f.resymbol(A), r"CholeskyFactor\(A\)"),
    ):
        with pytest.raises(NotImplementedError, match=words):
            call()
    with pytest.raises(ours.CholmodInvalidInputError, match="outside"):
        f.factorize(sp.csc_array(np.ones((36, 36))))
    for bad in ([[np.nan, 0.1], [0.1, 1.0]], [[1.0, np.inf], [np.inf, 1.0]]):
        for make in (ours.cho_factor, ours.ldl_factor):
            with pytest.raises(ours.CholmodError):
                make(sp.csc_array(bad), device="cpu")


def test_a_failure_leaves_the_numbers():
    f = ours.cho_factor(A, device="cpu")
    x = f.solve(b)
    with pytest.raises(ours.CholmodNotPositiveDefiniteError) as caught:
        f.factorize(-A)
    assert caught.value.column is not None
    assert np.array_equal(f.solve(b), x) and f.is_ll and np.isclose(f.logdet(), np.linalg.slogdet(A.toarray())[1])


def test_getters_leave_the_factor():
    f = ours.cho_factor(A, lower=True, device="cpu")
    L = f.L.toarray()
    f.get_factor("LDL")
    assert f.is_ll and np.array_equal(f.L.toarray(), L)
    assert np.allclose(L @ f.solve(b, "L"), b)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_equations(device, mode, dtype):
    M = sp.csc_array(grid(6, dtype))
    rtol = 1e-3 if dtype in ("float32", "complex64") else 1e-10
    for ldl in (True, False):
        for is_changed in (True, False):
            f = ours.CholeskyFactor(M, supernodal_mode=mode, device=device).factorize(M, ldl=ldl)
            if is_changed:
                f.change_factor()
            p, L, D = f.perm, f.L.toarray(), f.D.toarray()
            P = np.eye(36)[p]
            permuted = M.toarray()[p[:, np.newaxis], p[np.newaxis, :]]
            assert np.allclose(L @ D @ L.conj().T, permuted, rtol, rtol)
            assert np.array_equal(f.R.toarray(), L.conj().T)
            assert np.allclose(np.diag(L), 1) == (ldl != is_changed)
            Lt = L.conj().T
            systems = {"A": P.T @ permuted @ P, "LDLt": permuted, "LD": L @ D, "DLt": D @ Lt, "L": L, "Lt": Lt, "D": D}
            for right in (random(36, dtype), random((36, 3), dtype), sp.csc_array(random((36, 70), dtype))):
                for system, matrix in systems.items():
                    x = f.solve(right, system)
                    assert x.shape == right.shape and x.dtype == dtype and sp.issparse(x) == sp.issparse(right)
                    assert np.allclose(matrix @ plain(x), plain(right), rtol, rtol)
            assert np.isclose(f.logdet(), np.linalg.slogdet(M.toarray())[1], rtol)
            assert np.allclose(M @ f.inv().toarray(), np.eye(36), rtol, rtol)
            d = np.diag(f.get_factor("LDL")[1].toarray()).real
            assert np.isclose(f.rcond, d.min() / d.max(), rtol)
            f.factorize(2 * M)
            assert f.is_ll == (ldl == is_changed)
            assert np.allclose(2 * M @ f.solve(random(36, dtype)), random(36, dtype), rtol, rtol)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_products(dtype):
    B = sp.csc_array(random((8, 12), dtype))
    for M, kind, product in ((B, "row", B @ B.conj().T), (sp.csc_array(B.conj().T), "col", B @ B.conj().T)):
        for order in (*ORDERS, *BY_METIS):
            f = ours.cho_factor(M, 0.5, order=order, sym_kind=kind, device="cpu")
            right = random(8, dtype)
            assert np.allclose(product @ f.solve(right) + 0.5 * f.solve(right), right)
            f.factorize(2 * M)
            assert np.allclose(4 * product @ f.solve(right), right)


def test_matrices_returned():
    for lower in (True, False):
        R, p = ours.cholesky(A, 0.5, lower=lower)
        L, D, q = ours.ldl(A, 0.5, lower=lower)
        R, L = (R, L) if lower else (R.T, L.T)
        for factor, perm in ((R @ R.T, p), (L @ D @ L.T, q)):
            assert np.allclose(factor.toarray(), A.toarray()[perm[:, np.newaxis], perm] + 0.5 * np.eye(36))
        assert sp.issparse(ours.cholesky(A, lower=lower, order=None)) and len(ours.ldl(A, lower=lower, order=None)) == 2


def test_a_sparse_inverse_of_many_columns():
    M = sp.csc_array(sp.block_diag([grid(3)] * 20))
    x = ours.cho_factor(M, device="cpu").inv()
    assert x.nnz == 20 * 81 and abs(M @ x - sp.identity(180)).max() < 1e-10


def test_arrays_of_other_packages(device):
    torch = package("torch")
    f = ours.ldl_factor(A, device=device).change_factor()
    L = f.L.toarray()
    x = f.solve(torch.from_numpy(b), "L")
    assert isinstance(x, torch.Tensor) and np.allclose(L @ x.numpy(), b)
    with pytest.raises(TypeError):
        f.solve(torch.from_numpy(b + 1j))


def test_graphs():
    M = sp.csc_array(grid(12))
    for kind, matrix in (("sym", M), ("lo", M), ("row", M @ M.T), ("col", M.T @ M)):
        L, _ = ours.cholesky(matrix, lower=True, order="natural")
        parent, post = ours.etree(M, kind=kind, return_post=True)
        count, height, same_parent, same_post, pattern = ours.symbfact(M, kind=kind, lower=True, return_factor=True)
        assert np.array_equal(parent, same_parent) and np.array_equal(post, same_post)
        assert np.array_equal(count, np.diff(L.indptr)) and np.array_equal(pattern.toarray(), L.toarray() != 0)
        first = [L.indices[start + 1] if end - start > 1 else -1 for start, end in zip(L.indptr[:-1], L.indptr[1:])]
        assert np.array_equal(parent, first)
        place = np.argsort(post)
        assert all(place[j] < place[above] for j, above in enumerate(parent) if above >= 0)
        depth = np.zeros(144, int)
        for j in reversed(range(144)):
            depth[j] = 1 + (depth[parent[j]] if parent[j] >= 0 else 0)
        assert height == depth.max()


def test_nested_dissection():
    M = sp.csc_array(grid(20))
    natural = ours.CholeskyFactor(M, order=None).nnz
    for p in (ours.metis(M), ours.nesdis(M), ours.nesdis(M, nd_small=20, nd_camd=2), ours.metis(M, kind="row")):
        assert np.array_equal(np.sort(p), np.arange(400))
        ordered = sp.csc_array(M[p[:, np.newaxis], p[np.newaxis, :]])
        assert ours.CholeskyFactor(ordered, order=None).nnz < 0.8 * natural
    part = ours.bisect(M)
    halves = np.flatnonzero(part != 2)
    assert 0 < (part == 2).sum() < 60 and (part == 0).any() and (part == 1).any()
    _, label = connected_components(M[halves[:, np.newaxis], halves[np.newaxis, :]])
    assert not set(label[part[halves] == 0]) & set(label[part[halves] == 1])
    p, tree = ours.nesdis(M, return_separator=True, nd_small=20)
    assert len(tree.cp) > 3 and tree.cp[-1] == -1 and (tree.cp[:-1] > np.arange(len(tree.cp) - 1)).all()
    assert set(tree.cmember) == set(range(len(tree.cp)))
    pruned = tree.prune(nd_small=150)
    assert 1 < len(pruned.cp) < len(tree.cp) and len(tree.prune(nd_small=1000).cp) == 1
    for bad in (ours.SeparatorTree([-1], [1]), ours.SeparatorTree([0, -1], [0, 1]), ours.SeparatorTree([5, -1], [0, 1])):
        with pytest.raises(ours.CholmodInvalidInputError):
            bad.prune()
    for call in (lambda: tree.prune(nd_small=-1), lambda: ours.nesdis(M, nd_small=-1)):
        with pytest.raises(ValueError, match="negative"):
            call()


def test_graphs_without_edges():
    for shape, kind, n in (((4, 4), "sym", 4), ((0, 0), "lo", 0), ((3, 0), "row", 3), ((0, 3), "col", 3), ((3, 5), "col", 5)):
        M = sp.csc_array(shape)
        assert np.array_equal(ours.etree(M, kind=kind), np.full(n, -1))
        assert ours.symbfact(M, kind=kind).h == (n > 0)
        if kind != "lo":
            assert np.array_equal(ours.metis(M, kind=kind), np.arange(n)) and len(ours.bisect(M, kind=kind)) == n
            p, tree = ours.nesdis(M, kind=kind, return_separator=True)
            assert np.array_equal(p, np.arange(n)) and np.array_equal(tree.cp, [-1])


def test_one_name_that_the_versions_share():
    assert isinstance(both_versions.cholesky(A, device="cpu"), both_versions.Factor)
    assert len(ours.cholesky(A)) == 2
    shared = set(ours.__all__) & set(both_versions.__all__)
    assert {name for name in shared if getattr(ours, name) is not getattr(both_versions, name)} == {"cholesky"}
    assert shared == set(ours.__all__)
    with pytest.raises(TypeError, match="sksparse05"):
        both_versions.cholesky(A, lower=True, order="amd")
    with pytest.raises(TypeError):
        both_versions.cholesky(A, nonsense=True)


@pytest.mark.parametrize("module", [ours, pytest.param(theirs, marks=BESIDE)])
def test_factors_are_imported(module, device):
    for dtype in DTYPES:
        M = sp.csc_array(grid(6, dtype))
        rtol = 1e-3 if dtype in ("float32", "complex64") else 1e-8
        for make in (module.cho_factor, module.ldl_factor):
            f = make(M)
            F = gpusolve.Factor.from_scikit_sparse(f, device=device)
            right = random((36, 2), dtype)
            assert F.dtype == dtype and np.array_equal(F.perm, f.perm)
            assert np.allclose(M @ F.solve(right), right, rtol, rtol)
            assert f.is_ll == (make is module.cho_factor)
            f.factorize(2 * M)
            F.refresh(f)
            assert np.allclose(2 * M @ F.solve(right), right, rtol, rtol)
    F = gpusolve.Factor.from_scikit_sparse(module.ldl_factor(-A), device=device)
    assert np.allclose(-A @ F.solve(b), b)


def test_a_cholmod_without_the_function(monkeypatch):
    def fail(*_):
        raise NotImplementedError("cholmod_l_metis: this CHOLMOD was built without it")

    from gpusolve._sksparse import graphs

    monkeypatch.setattr(graphs._core, "metis", fail)
    with pytest.raises(ours.CholmodNotInstalledError, match="built without"):
        ours.metis(A)
