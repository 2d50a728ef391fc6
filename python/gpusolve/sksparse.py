"""The interface of scikit-sparse, so that a program changes one import line.

``from sksparse.cholmod import ...`` becomes ``from gpusolve.sksparse import ...``. The names are those of ``sksparse.cholmod``:

- version 0.4: `cholesky`, `analyze`, `cholesky_AAt`, `analyze_AAt`, `Factor` and the exceptions;
- version 0.5: `CholeskyFactor`, `cho_factor`, `ldl_factor`, `ldl`, `cho_solve`, the functions for graphs and the exceptions.

The two versions differ in one name that both have. Here `cholesky` is that of 0.4 and returns a `Factor`, which solves. That of
0.5 returns the matrix R and the permutation; import it from `gpusolve.sksparse05`, which has the names of 0.5 alone.

What differs from 0.4 (`gpusolve.sksparse05` says what differs from 0.5):

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

from ._arguments import MODES, ORDERINGS, place
from ._arrays import package_of
from ._sksparse.errors import (
    CholmodError,
    CholmodGpuProblemError,
    CholmodInvalidError,
    CholmodInvalidInputError,
    CholmodNotInstalledError,
    CholmodNotPositiveDefiniteError,
    CholmodOutOfMemoryError,
    CholmodOverflowError,
    CholmodSmallDiagonalWarning,
    CholmodTooLargeError,
    CholmodTypeConversionWarning,
    CholmodWarning,
)
from ._sksparse.compressed import Pattern
from ._sksparse.decomposition import Decomposition
from ._matrix import Columns
from .sksparse05 import (
    CholeskyFactor,
    SeparatorTree,
    bisect,
    cho_factor,
    cho_solve,
    etree,
    ldl,
    ldl_factor,
    metis,
    nesdis,
    symbfact,
)

__all__ = [
    "CholeskyFactor",
    "CholmodError",
    "CholmodGpuProblemError",
    "CholmodInvalidError",
    "CholmodInvalidInputError",
    "CholmodNotInstalledError",
    "CholmodNotPositiveDefiniteError",
    "CholmodOutOfMemoryError",
    "CholmodOverflowError",
    "CholmodSmallDiagonalWarning",
    "CholmodTooLargeError",
    "CholmodTypeConversionWarning",
    "CholmodWarning",
    "Factor",
    "SeparatorTree",
    "analyze",
    "analyze_AAt",
    "bisect",
    "cho_factor",
    "cho_solve",
    "cholesky",
    "cholesky_AAt",
    "etree",
    "ldl",
    "ldl_factor",
    "metis",
    "nesdis",
    "symbfact",
]


_OF_05 = {"lower", "order", "sym_kind", "supernodal_mode"}  # arguments that cholesky has in version 0.5 alone


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


def _pattern(columns):
    return Pattern(columns.n, columns.p, columns.i, columns.stype)


def _product(A):
    """A A'."""
    return sp.csc_matrix(A @ A.conj().T)


class Factor(Decomposition):
    """A decomposition L L' or L D L' of A + beta I, with a permutation. Made by `analyze` and `cholesky`."""

    def __init__(self):
        raise TypeError("a Factor is made by cholesky or analyze")

    @classmethod
    def _analyzed(cls, columns, mode, ordering_method, place):
        self = object.__new__(cls)
        if mode not in MODES:
            raise CholmodError(f"Unknown mode {mode!r}, must be one of {', '.join(MODES)}")
        if ordering_method not in ORDERINGS:
            raise CholmodError(f"Unknown ordering method {ordering_method!r}, must be one of {', '.join(ORDERINGS)}")
        self._analyze(_pattern(columns), MODES[mode], ORDERINGS[ordering_method], place)
        self._is_complex = columns.dtype.kind == "c"
        return self

    # ------------------------------------------------------------------------------------------ numbers

    def _take(self, columns, beta):
        if columns.n == self._pattern.n and (columns.dtype.kind == "c") != self._is_complex:
            raise CholmodError("inconsistent use of complex array")
        self._factorize(_pattern(columns), columns.x, beta, True)

    def cholesky_inplace(self, A, beta=0):
        """Factorise A + beta I, of the pattern that was analysed."""
        self._take(_lower_columns(A), beta)

    def cholesky_AAt_inplace(self, A, beta=0):
        """Factorise A A' + beta I, of the pattern that was analysed."""
        self._take(_lower_columns(_product(A)), beta)

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

    def update_inplace(self, C, subtract=False):
        """Not there: NotImplementedError."""
        raise NotImplementedError(
            "update_inplace: gpusolve has no update of a factor; factorise anew, f.cholesky_inplace(A + C @ C.T) if the "
            "pattern has room for it, otherwise f = cholesky(A + C @ C.T), or use scikit-sparse"
        )

    # -------------------------------------------------------------------------------------------- parts

    def _with_numbers(self):
        if self._numeric is None:
            raise CholmodInvalidError("the factor has no numbers yet: call cholesky_inplace")
        return self

    def P(self):
        """The permutation: A[P[:, np.newaxis], P[np.newaxis, :]] is factorised."""
        return np.array(self._symbolic.perm, dtype=np.int32 if self._pattern[0] < 2**31 else np.int64)

    def D(self):
        """The diagonal of D, as a vector."""
        return self._with_numbers()._diagonal().astype(complex if self._is_complex else float)

    def L(self):
        """L of L L'."""
        return self._with_numbers()._combined(False)

    def LD(self):
        """L of L D L' with D in place of its diagonal of ones."""
        return self._with_numbers()._combined(True)

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
        logarithm = self._with_numbers()._logdet()
        return 1.0, np.complex128(logarithm) if self._is_complex else np.float64(logarithm)

    def det(self):
        """The determinant; may overflow."""
        return np.exp(self.logdet())

    def inv(self):
        """The inverse, as compressed columns; it is dense in general."""
        return self.solve_A(sp.identity(self._pattern[0], dtype=complex if self._is_complex else float, format="csc"))

    # ------------------------------------------------------------------------------------------- solves

    def _solve_any(self, b, system, is_ldl=True):
        if system not in ("P", "Pt"):
            self._with_numbers()
        if sp.issparse(b):
            return self._solve_sparse(b, sp.csc_matrix, lambda dense: self._solve_any(dense, system, is_ldl))
        if package_of(b) is None:
            b = np.asarray(b)
        if len(b.shape) > 2:
            raise CholmodError(f"array has {len(b.shape)} dimensions (expected 2)")
        if self._solver is not None:
            return self._solve(b, system, is_ldl)
        n = self._pattern[0]
        if len(b.shape) < 1 or b.shape[0] != n:
            raise CholmodInvalidError("dimensions of L and B do not match")
        b = b * 1.0
        return b[self._symbolic.perm] if system == "P" else b[np.argsort(self._symbolic.perm)]

    def solve_A(self, b):
        """Solve A x = b."""
        return self._solve_any(b, "A")

    __call__ = solve_A

    def solve_LDLt(self, b):
        """Solve L D L' x = b."""
        return self._solve_any(b, "LDLt")

    def solve_LD(self, b):
        """Solve L D x = b, of L D L'."""
        return self._solve_any(b, "LD")

    def solve_DLt(self, b):
        """Solve D L' x = b, of L D L'."""
        return self._solve_any(b, "DLt")

    def solve_L(self, b, use_LDLt_decomposition=True):
        """Solve L x = b, with L of L D L' or of L L'."""
        return self._solve_any(b, "L", bool(use_LDLt_decomposition))

    def solve_Lt(self, b, use_LDLt_decomposition=True):
        """Solve L' x = b, with L of L D L' or of L L'."""
        return self._solve_any(b, "Lt", bool(use_LDLt_decomposition))

    def solve_D(self, b):
        """Solve D x = b, of L D L'."""
        return self._solve_any(b, "D")

    def apply_P(self, b):
        """P b."""
        return self._solve_any(b, "P")

    def apply_Pt(self, b):
        """P' b."""
        return self._solve_any(b, "Pt")


def analyze(A, mode="auto", ordering_method="default", use_long=None, *, device=None):
    """Order and analyse the symmetric matrix A, of which the lower triangle is used; see sksparse.cholmod.analyze.

    Returns
    -------
    Factor
        It has no numbers until `Factor.cholesky_inplace` is called.
    """
    return Factor._analyzed(_lower_columns(A), mode, ordering_method, place(device, 0, False))


def analyze_AAt(A, mode="auto", ordering_method="default", use_long=None, *, device=None):
    """As `analyze`, of A A'."""
    return Factor._analyzed(_lower_columns(_product(A)), mode, ordering_method, place(device, 0, False))


def cholesky(A, beta=0, mode="auto", ordering_method="default", use_long=None, *, device=None, **options):
    """Factorise A + beta I; see sksparse.cholmod.cholesky of version 0.4.

    Raises
    ------
    TypeError
        There is an argument of the `cholesky` of version 0.5, which is `gpusolve.sksparse05.cholesky`.

    Examples
    --------
    >>> from gpusolve.sksparse import cholesky
    >>> factor = cholesky(sp.csc_matrix([[4.0, 2.0], [2.0, 5.0]]))
    >>> bool(np.allclose(factor(np.array([6.0, 7.0])), 1))
    True
    """
    if options:
        hint = " of version 0.5; gpusolve.sksparse05 has that cholesky" if set(options) <= _OF_05 else ""
        raise TypeError(f"cholesky() got an unexpected keyword argument {next(iter(options))!r}{hint}")
    columns = _lower_columns(A)
    factor = Factor._analyzed(columns, mode, ordering_method, place(device, 0, False))
    factor._take(columns, beta)
    return factor


def cholesky_AAt(A, beta=0, mode="auto", ordering_method="default", use_long=None, *, device=None):
    """Factorise A A' + beta I."""
    product = _product(A)
    return cholesky(product, beta, mode, ordering_method, use_long, device=device)
