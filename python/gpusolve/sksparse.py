"""The interface of scikit-sparse, so that a program changes one import line.

``from sksparse.cholmod import cholesky`` becomes ``from gpusolve.sksparse import cholesky``. The names are those of
``sksparse.cholmod`` 0.4: `cholesky`, `analyze`, `cholesky_AAt`, `analyze_AAt`, `Factor` and the exceptions.

What differs:

- solves run on the GPU if there is one, and take arrays of CuPy, PyTorch and JAX as well; real factors take complex b;
- ``update_inplace`` raises NotImplementedError;
- ``solve_D`` divides by the D of L D L' in every mode; scikit-sparse takes D for the identity until a supernodal factor has been
  converted;
- `cholesky` and `analyze` have a further argument, `device`, as `gpusolve.cholesky` has it.

CHOLMOD's factor is kept in host memory, for L, D and the like; `gpusolve.cholesky` keeps the numbers once.
"""

import warnings

import numpy as np
import scipy.sparse as sp

from . import _core, _library
from ._arrays import package_of
from ._errors import NotPositiveDefiniteError
from ._factor import _MODES, _ORDERINGS, _place
from ._factor import Factor as _Solver
from ._matrix import Columns

__all__ = [
    "CholmodError",
    "CholmodGpuProblemError",
    "CholmodInvalidError",
    "CholmodNotInstalledError",
    "CholmodNotPositiveDefiniteError",
    "CholmodOutOfMemoryError",
    "CholmodTooLargeError",
    "CholmodTypeConversionWarning",
    "CholmodWarning",
    "Factor",
    "analyze",
    "analyze_AAt",
    "cholesky",
    "cholesky_AAt",
]


class CholmodError(Exception):
    """A call failed."""


class CholmodNotPositiveDefiniteError(CholmodError, NotPositiveDefiniteError):
    """The matrix is not positive definite; `column` says where."""


class CholmodNotInstalledError(CholmodError):
    """CHOLMOD was built without what is wanted."""


class CholmodOutOfMemoryError(CholmodError, MemoryError):
    """There is not enough memory."""


class CholmodTooLargeError(CholmodError):
    """A size exceeds what CHOLMOD's integers can hold."""


class CholmodInvalidError(CholmodError, ValueError):
    """An argument is wrong, or the factor has no numbers yet."""


class CholmodGpuProblemError(CholmodError):
    """There is no such device, or a CUDA call failed."""


class CholmodWarning(UserWarning):
    """Something is slower than it need be."""


class CholmodTypeConversionWarning(CholmodWarning, sp.SparseEfficiencyWarning):
    """A matrix was converted to compressed columns."""


_TRANSLATED = (
    (NotPositiveDefiniteError, CholmodNotPositiveDefiniteError),
    (MemoryError, CholmodOutOfMemoryError),
    (OverflowError, CholmodTooLargeError),
    (NotImplementedError, CholmodNotInstalledError),
    (ValueError, CholmodInvalidError),
    (RuntimeError, CholmodGpuProblemError),
)


class _Translated:
    """Within it, gpusolve's exceptions become those of scikit-sparse."""

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        if kind is None or isinstance(error, CholmodError):
            return
        for theirs, ours in _TRANSLATED:
            if isinstance(error, theirs):
                translated = ours(str(error))
                if theirs is NotPositiveDefiniteError:
                    translated.column = error.column
                raise translated from error


def _lower_columns(A, what="A"):
    """The lower triangle of A, which alone is used."""
    if not sp.issparse(A) and not type(A).__module__.startswith("cupyx."):
        raise AttributeError(f"{what}: {type(A).__name__} object has no attribute 'tocsc'")
    if A.shape[0] != A.shape[1]:
        raise CholmodError("supposedly symmetric matrix is not square!")
    if A.format != "csc":
        warnings.warn(f"converting matrix of class {type(A).__name__} to CSC format", CholmodTypeConversionWarning,
                      stacklevel=3)
    return Columns(A, "lower", what=what)


def _product(A):
    """A A'."""
    return sp.csc_matrix(A @ A.conj().T)


def _scaled(x, by):
    """x with row i times by[i], in x's package."""
    by = by if len(x.shape) == 1 else by[:, None]
    package = package_of(x).__name__ if package_of(x) else "NumPy"
    if package == "Torch":
        import torch

        return x * torch.as_tensor(by, device=x.device)
    if package == "CuPy":
        import cupy

        return x * cupy.asarray(by)
    if package == "JAX":
        import jax

        return x * jax.numpy.asarray(by)
    return x * by


class Factor:
    """A decomposition L L' or L D L' of A + beta I, with a permutation. Made by `analyze` and `cholesky`."""

    def __init__(self):
        raise TypeError("a Factor is made by cholesky or analyze")

    @classmethod
    def _analyzed(cls, columns, mode, ordering_method, place):
        self = object.__new__(cls)
        if mode not in _MODES:
            raise CholmodError(f"Unknown mode {mode!r}, must be one of {', '.join(_MODES)}")
        if ordering_method not in _ORDERINGS:
            raise CholmodError(f"Unknown ordering method {ordering_method!r}, must be one of {', '.join(_ORDERINGS)}")
        _library.open_cholmod()
        with _Translated():
            self._symbolic = _core.Symbolic(columns.n, columns.p, columns.i, columns.stype,
                                            _ORDERINGS[ordering_method], _MODES[mode], True, None)
        self._pattern = (columns.n, columns.p, columns.i)
        self._is_complex = columns.dtype.kind == "c"
        self._place = place
        self._numeric = self._solver = None
        self._is_shared = False
        self._parts = {}
        return self

    # ------------------------------------------------------------------------------------------ numbers

    def _fitted(self, columns):
        """The numbers of a matrix on the pattern that was analysed."""
        n, p, i = self._pattern
        if columns.n != n:
            raise CholmodInvalidError("A and L dimensions do not match")
        if (columns.dtype.kind == "c") != self._is_complex:
            raise CholmodError("inconsistent use of complex array")
        if np.array_equal(columns.p, p) and np.array_equal(columns.i, i):
            return columns.x
        # A subset of the pattern: the other entries are zeros.
        keys = np.repeat(np.arange(n), np.diff(p)) * n + i
        wanted = np.repeat(np.arange(n), np.diff(columns.p)) * n + columns.i
        lower = columns.i >= np.repeat(np.arange(n), np.diff(columns.p))
        at = np.searchsorted(keys, wanted[lower])
        if len(keys) == 0 and lower.any() or (len(keys) and (keys[np.minimum(at, len(keys) - 1)] != wanted[lower]).any()):
            raise CholmodInvalidError("A: has entries outside of the pattern that was analysed")
        x = np.zeros(len(i), columns.dtype)
        x[at] = columns.x[lower]
        return x

    def _factorize(self, columns, beta):
        x = self._fitted(columns)
        n, p, i = self._pattern
        with _Translated():
            numeric = self._symbolic.factorize(n, p, i, x, columns.stype, float(beta))
            if self._solver is not None and not self._is_shared:
                self._solver._core.refresh_numeric(numeric)
            else:
                core = _core.Factor.from_numeric(*self._place, numeric, False)
                self._solver = _Solver._make(core, np.array(self._symbolic.perm))
                self._is_shared = False
        self._numeric = numeric
        self._parts = {}

    def cholesky_inplace(self, A, beta=0):
        """Factorise A + beta I, of the pattern that was analysed."""
        self._factorize(_lower_columns(A), beta)

    def cholesky_AAt_inplace(self, A, beta=0):
        """Factorise A A' + beta I, of the pattern that was analysed."""
        self._factorize(_lower_columns(_product(A)), beta)

    def cholesky(self, A, beta=0):
        """As `cholesky_inplace`, in a copy."""
        copy = self.copy()
        copy.cholesky_inplace(A, beta)
        return copy

    def cholesky_AAt(self, A, beta=0):
        """As `cholesky_AAt_inplace`, in a copy."""
        copy = self.copy()
        copy.cholesky_AAt_inplace(A, beta)
        return copy

    def copy(self):
        """A copy; the numbers are shared until one of the two gets new ones."""
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__)
        self._is_shared = copy._is_shared = True
        return copy

    def update_inplace(self, C, subtract=False):
        """Not there: NotImplementedError."""
        raise NotImplementedError(
            "update_inplace: gpusolve has no update of a factor; factorise anew, f.cholesky_inplace(A + C @ C.T) if the "
            "pattern has room for it, otherwise f = cholesky(A + C @ C.T), or use scikit-sparse"
        )

    # -------------------------------------------------------------------------------------------- parts

    def _part(self, name):
        """L as arrays, whether D is apart, and D: made when first wanted."""
        if self._numeric is None:
            raise CholmodInvalidError("the factor has no numbers yet: call cholesky_inplace")
        if not self._parts:
            arrays = self._numeric.arrays()
            n, x = arrays["n"], arrays["x"]
            self._parts["is_ldl"] = arrays["kind"] == 2
            if arrays["kind"] == 0:
                first, counts = arrays["super"][:-1], np.diff(arrays["super"])
                heights = np.diff(arrays["pi"])
                snode = np.repeat(np.arange(len(counts)), counts)
                within = np.arange(n) - first[snode]
                rows = heights[snode] - within
                starts = arrays["px"][:-1][snode] + within * heights[snode] + within
                row_starts = arrays["pi"][:-1][snode] + within
                offsets = np.arange(rows.sum()) - np.repeat(np.cumsum(rows) - rows, rows)
                indices = arrays["s"][np.repeat(row_starts, rows) + offsets]
                data = x[np.repeat(starts, rows) + offsets]
                L = sp.csc_matrix((data, indices, np.concatenate([[0], np.cumsum(rows)])), shape=(n, n))
            else:
                counts = arrays["nz"]
                offsets = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
                at = np.repeat(arrays["p"][:-1], counts) + offsets
                L = sp.csc_matrix((x[at], arrays["i"][at], np.concatenate([[0], np.cumsum(counts)])), shape=(n, n))
                L.sort_indices()
            diagonal = L.data[L.indptr[:-1]] if n else x[:0]
            self._parts["L"] = L
            self._parts["D"] = diagonal if self._parts["is_ldl"] else diagonal * diagonal
        return self._parts[name]

    def _root(self):
        """Square roots of D: the diagonal of L in L L'."""
        d = self._part("D").real
        if not (d > 0).all():
            at = int(np.argmax(~(d > 0)))
            error = CholmodNotPositiveDefiniteError("L not positive definite")
            error.column = int(self.P()[at])
            raise error
        return np.sqrt(d)

    def P(self):
        """The permutation: A[P[:, np.newaxis], P[np.newaxis, :]] is factorised."""
        return np.array(self._symbolic.perm, dtype=np.int32 if self._pattern[0] < 2**31 else np.int64)

    def D(self):
        """The diagonal of D, as a vector."""
        return self._part("D").copy()

    def L(self):
        """L of L L'."""
        L = self._part("L")
        if not self._part("is_ldl"):
            return L.copy()
        root = self._root()
        unit = L.copy()
        unit.data[L.indptr[:-1]] = 1
        return sp.csc_matrix(unit @ sp.diags(root))

    def LD(self):
        """L of L D L' with D in place of its diagonal of ones."""
        L = self._part("L").copy()
        if self._part("is_ldl"):
            return L
        root = L.data[L.indptr[:-1]]
        L.data /= np.repeat(root, np.diff(L.indptr))
        L.data[L.indptr[:-1]] = self._part("D")
        return L

    def L_D(self):
        """L and D of L D L', both sparse."""
        L = self.LD()
        d = L.data[L.indptr[:-1]].copy()
        L.data[L.indptr[:-1]] = 1
        return sp.csr_matrix(L), sp.dia_matrix((d[None, :], [0]), shape=L.shape)

    def logdet(self):
        """Logarithm of the determinant: the sum of np.log(D())."""
        return self.slogdet()[1]

    def slogdet(self):
        """1.0 and the logarithm of the determinant, NaN if it is negative."""
        self._part("D")
        sign, logarithm = self._solver._core.slogdet()
        indefinite = self._part("is_ldl") and not (self._part("D").real > 0).all()
        logarithm = np.float64("nan") if indefinite else np.float64(logarithm)
        return 1.0, np.complex128(logarithm) if self._is_complex else logarithm

    def det(self):
        """The determinant; may overflow."""
        return np.exp(self.logdet())

    def inv(self):
        """The inverse, as compressed columns; it is dense in general."""
        n = self._pattern[0]
        return sp.csc_matrix(self.solve_A(np.eye(n, dtype=complex if self._is_complex else float)))

    # ------------------------------------------------------------------------------------------- solves

    def _solve(self, b, system, before=None, after=None):
        if self._numeric is None and system not in ("P", "Pt"):
            raise CholmodInvalidError("the factor has no numbers yet: call cholesky_inplace")
        if sp.issparse(b):
            return sp.csc_matrix(self._solve(b.toarray(), system, before, after))
        if package_of(b) is None:
            b = np.asarray(b)
        if len(b.shape) > 2:
            raise CholmodError(f"array has {len(b.shape)} dimensions (expected 2)")
        with _Translated():
            if self._solver is None:
                n = self._pattern[0]
                if len(b.shape) < 1 or b.shape[0] != n:
                    raise CholmodInvalidError("dimensions of L and B do not match")
                b = b * 1.0
                return b[self._symbolic.perm] if system == "P" else b[np.argsort(self._symbolic.perm)]
            b = b if before is None else _scaled(b, before)
            x = self._solver.solve(b, system=system)
            return x if after is None else _scaled(x, after)

    def solve_A(self, b):
        """Solve A x = b."""
        return self._solve(b, "A")

    __call__ = solve_A

    def solve_LDLt(self, b):
        """Solve L D L' x = b."""
        return self._solve(b, "LDLt")

    def solve_LD(self, b):
        """Solve L D x = b, of L D L'."""
        return self._solve(b, "LD") if self._part("is_ldl") else self._solve(b, "L", after=1 / self._root())

    def solve_DLt(self, b):
        """Solve D L' x = b, of L D L'."""
        return self._solve(b, "DLt") if self._part("is_ldl") else self._solve(b, "Lt", before=1 / self._root())

    def solve_L(self, b, use_LDLt_decomposition=True):
        """Solve L x = b, with L of L D L' or of L L'."""
        is_ldl = self._part("is_ldl")
        if bool(use_LDLt_decomposition) == is_ldl:
            return self._solve(b, "L")
        return self._solve(b, "L", after=1 / self._root() if is_ldl else self._root())

    def solve_Lt(self, b, use_LDLt_decomposition=True):
        """Solve L' x = b, with L of L D L' or of L L'."""
        is_ldl = self._part("is_ldl")
        if bool(use_LDLt_decomposition) == is_ldl:
            return self._solve(b, "Lt")
        return self._solve(b, "Lt", before=1 / self._root() if is_ldl else self._root())

    def solve_D(self, b):
        """Solve D x = b, of L D L'."""
        return self._solve(b, "D") if self._part("is_ldl") else self._solve(b, "D", after=1 / self._part("D").real)

    def apply_P(self, b):
        """P b."""
        return self._solve(b, "P")

    def apply_Pt(self, b):
        """P' b."""
        return self._solve(b, "Pt")


def analyze(A, mode="auto", ordering_method="default", use_long=None, *, device=None):
    """Order and analyse the symmetric matrix A, of which the lower triangle is used; see sksparse.cholmod.analyze.

    Returns
    -------
    Factor
        It has no numbers until `Factor.cholesky_inplace` is called.
    """
    return Factor._analyzed(_lower_columns(A), mode, ordering_method, _place(device, 0, False))


def analyze_AAt(A, mode="auto", ordering_method="default", use_long=None, *, device=None):
    """As `analyze`, of A A'."""
    return Factor._analyzed(_lower_columns(_product(A)), mode, ordering_method, _place(device, 0, False))


def cholesky(A, beta=0, mode="auto", ordering_method="default", use_long=None, *, device=None):
    """Factorise A + beta I; see sksparse.cholmod.cholesky.

    Examples
    --------
    >>> from gpusolve.sksparse import cholesky
    >>> factor = cholesky(sp.csc_matrix([[4.0, 2.0], [2.0, 5.0]]))
    >>> bool(np.allclose(factor(np.array([6.0, 7.0])), 1))
    True
    """
    columns = _lower_columns(A)
    factor = Factor._analyzed(columns, mode, ordering_method, _place(device, 0, False))
    factor._factorize(columns, beta)
    return factor


def cholesky_AAt(A, beta=0, mode="auto", ordering_method="default", use_long=None, *, device=None):
    """Factorise A A' + beta I."""
    product = _product(A)
    return cholesky(product, beta, mode, ordering_method, use_long, device=device)
