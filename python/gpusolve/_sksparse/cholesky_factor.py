"""The factor of scikit-sparse 0.5."""

import warnings

import numpy as np
import scipy.sparse as sp

from .._arguments import MODES, place
from .._arrays import package_of
from .errors import CholmodInvalidInputError, CholmodNotPositiveDefiniteError, CholmodWarning
from .compressed import compressed, pattern_of
from .decomposition import Decomposition

_ORDERS = {"default": -1, "best": 9, "natural": 0, "given": 1, "amd": 2, "metis": 3, "nesdis": 4, "colamd": 5, "postordered": 6}
_ORDER_NAMES = {code: name for name, code in _ORDERS.items() if code not in (-1, 9)}
_SYSTEMS = ("A", "LDLt", "LD", "DLt", "L", "Lt", "D")


class CholeskyFactor(Decomposition):
    """A decomposition L L' or L D L' of P A P', with a permutation P. This analyses A; `factorize` takes its numbers.

    Parameters
    ----------
    A : sparse matrix or array, shape (n, n), or (m, n) for another `sym_kind` than "sym"
        Compressed columns; anything else is converted, with a SparseEfficiencyWarning.
    lower : bool
        Which triangle of A is used, and which factor `get_factor` returns.
    order : {"default", "best", "natural", "amd", "metis", "nesdis", "colamd", "postordered"} or None
        How fill is reduced; None: not at all.
    sym_kind : {"sym", "row", "col"}, optional
        What is factorised: A, which is "sym"'s and the default; A A'; or A' A.
    supernodal_mode : {"auto", "simplicial", "supernodal"}, optional
    device : {None, "cpu", "cuda", "cuda:0", ...} or int
        Where solves run; None: the current GPU if there is one, else the host.

    Attributes
    ----------
    is_lower, sym_kind
        As given.
    rcond : float
        Estimate of the reciprocal condition number: the smallest entry of D by the largest. -1.0 before `factorize`.

    Raises
    ------
    ValueError
        An argument is none of those above, or A is not square.
    TypeError
        A has another dtype than integers, float32, float64, complex64, complex128.
    CholmodNotPositiveDefiniteError
        A has no entries.
    """

    def __init__(self, A, *, lower=True, order="default", sym_kind=None, supernodal_mode=None, device=None):
        A, self._itype = compressed(A)
        self.sym_kind = "sym" if sym_kind is None else sym_kind
        mode = "auto" if supernodal_mode is None else supernodal_mode
        if self.sym_kind not in ("sym", "row", "col"):
            raise ValueError(f'sym_kind: must be "sym", "row" or "col", not {sym_kind!r}')
        if self.sym_kind == "sym" and A.shape[0] != A.shape[1]:
            raise ValueError(f"A: must be square, but has the shape {A.shape}")
        if mode not in MODES:
            raise ValueError(f"supernodal_mode: must be one of {', '.join(MODES)}, not {supernodal_mode!r}")
        if order is not None and order not in _ORDERS:
            raise ValueError(f"order: must be None or one of {', '.join(_ORDERS)}, not {order!r}")
        if A.shape[0] > 0 and A.nnz == 0:
            raise CholmodNotPositiveDefiniteError("A: has no entries, so it is not positive definite")
        self.is_lower = bool(lower)
        self.rcond = -1.0
        self._analyze(self._used(A)[0], MODES[mode], _ORDERS["natural" if order is None else order], place(device, 0, False))
        self._dtype = np.dtype(bool)
        self._is_ll = self._symbolic.is_super
        self._shown = {}

    def _used(self, A):
        """The part of A that is used, as a pattern and numbers in double precision."""
        if self.sym_kind == "sym":
            A = sp.tril(A, format="csc") if self.is_lower else sp.triu(A, format="csc")
        elif self.sym_kind == "col":
            A = A.conj().T.tocsc()
        stype = (-1 if self.is_lower else 1) if self.sym_kind == "sym" else 0
        return pattern_of(A, stype), A.data.astype(np.result_type(A.dtype, np.float64))

    def factorize(self, A, ldl=None, beta=0.0):
        """Factorise A + beta I; or the product of `sym_kind`, plus beta I.

        Parameters
        ----------
        A : sparse matrix or array, of the shape and pattern that was analysed
        ldl : bool, optional
            L D L' rather than L L'. None: as the time before; L L' the first time.
        beta : float

        Returns
        -------
        CholeskyFactor
            This one.

        Raises
        ------
        CholmodNotPositiveDefiniteError
            It is not positive definite. A simplicial L D L' needs only pivots other than zero.
        CholmodInvalidInputError
            Another order or pattern than that which was analysed.
        ValueError
            ldl is no bool.
        TypeError
            beta is no real number, or A has a dtype that cannot be factorised.
        """
        A, _ = compressed(A)
        if ldl is None:
            ldl = self.is_numeric and not self._is_ll
        if not isinstance(ldl, bool):
            raise ValueError(f"ldl: must be None, True or False, not {ldl!r}")
        if not hasattr(beta, "__float__"):
            raise TypeError(f"beta: must be a real number, not {beta!r}")
        if self.sym_kind == "sym" and A.shape[0] != A.shape[1]:
            raise CholmodInvalidInputError(f"A: must be square, but has the shape {A.shape}")
        self._factorize(*self._used(A), beta, ldl, A.dtype in (np.float32, np.complex64))
        self._dtype = A.dtype
        self._is_ll = not ldl
        self._shown = {}
        d = abs(self._diagonal())
        self.rcond = float(d.min() / d.max()) if len(d) else 1.0
        return self

    def _with_numbers(self):
        if not self.is_numeric:
            raise CholmodInvalidInputError("the factor has no numbers yet: call factorize")
        return self

    # ------------------------------------------------------------------------------------------ properties

    @property
    def N(self):
        """int : order of the factor."""
        return self._pattern[0]

    @property
    def is_numeric(self):
        """bool : whether `factorize` was called."""
        return self._numeric is not None

    @property
    def is_ll(self):
        """bool : L L' rather than L D L'."""
        return self._is_ll

    @property
    def is_super(self):
        """bool : whether the analysis is supernodal; False once there are numbers, as `factor` shows them by columns."""
        return self._symbolic.is_super and not self.is_numeric

    @property
    def itype(self):
        """numpy.dtype : of indices, int32 or int64; A's."""
        return self._itype

    @property
    def dtype(self):
        """numpy.dtype : of the numbers; bool before `factorize`."""
        return self._dtype

    def _show(self, name, make):
        """What make() makes, kept until the numbers change."""
        if name not in self._shown:
            self._shown[name] = make()
        return self._shown[name]

    def _read_only(self, array):
        array = array.astype(self._itype)
        array.flags.writeable = False
        return array

    @property
    def colcount(self):
        """ndarray of int, shape (n,) : numbers in each column of L. Read-only."""
        return self._show("colcount", lambda: self._read_only(self._symbolic.column_counts))

    @property
    def nnz(self):
        """int : numbers in L."""
        return self.colcount.sum()

    @property
    def order(self):
        """str : the ordering that was used."""
        return _ORDER_NAMES.get(self._symbolic.ordering, self._symbolic.ordering)

    @property
    def perm(self):
        """ndarray of int, shape (n,) : row i of P A P' is row ``perm[i]`` of A. Read-only."""
        return self._show("perm", lambda: self._read_only(self._symbolic.perm))

    @property
    def factor(self):
        """csc_array, shape (n, n) : L of L L'; or of L D L', with D on its diagonal. Read-only."""
        def make():
            L = self._matrix(not self._is_ll)
            for array in (L.data, L.indices, L.indptr):
                array.flags.writeable = False
            return L

        return self._show("factor", make)

    @property
    def L(self):
        """csc_array, shape (n, n) : the lower factor."""
        def make():
            L = self.get_factor(lower=True)
            return L if self._is_ll else L[0]

        return self._show("L", make)

    @property
    def R(self):
        """sparse array, shape (n, n) : the upper factor, L'."""
        return self._show("R", lambda: self.L.T.conj())

    @property
    def D(self):
        """dia_array, shape (n, n) : D of L D L'; the identity for L L'."""
        def make():
            self._with_numbers()
            return self._diagonal_matrix(np.ones(self.N) if self._is_ll else self._diagonal())

        return self._show("D", make)

    def __repr__(self):
        return (f"CholeskyFactor(N={self.N}, nnz={self.nnz}, is_ll={self.is_ll}, is_super={self.is_super}, "
                f"itype=np.{self.itype.name}, dtype=np.{self.dtype.name}, order={self.order})")

    def __str__(self):
        return "\n  ".join((
            f"Cholesky factorization of size {self.N}x{self.N}",
            f"Nonzeros: {self.nnz}",
            f"Form:     {'LL.T' if self.is_ll else 'LDL.T'}",
            f"Triangle: {'lower' if self.is_lower else 'upper'}",
            f"Storage:  {'supernodal' if self.is_super else 'simplicial'}",
            f"itype:    np.{self.itype.name}",
            f"dtype:    np.{self.dtype.name}",
            f"order:    {self.order}",
        ))

    # -------------------------------------------------------------------------------------------- parts

    def _matrix(self, is_ldl):
        L = self._with_numbers()._combined(is_ldl)
        L.eliminate_zeros()
        arrays = (L.data.astype(self._dtype), L.indices.astype(self._itype), L.indptr.astype(self._itype))
        return sp.csc_array(arrays, shape=L.shape)

    def _diagonal_matrix(self, d):
        return sp.dia_array((d.astype(self._dtype)[None, :], [0]), shape=(self.N, self.N))

    def get_factor(self, kind=None, lower=None):
        """A copy of the factor.

        Parameters
        ----------
        kind : {None, "LL", "LDL"}
            None: as it was factorised.
        lower : bool, optional
            L rather than R, its conjugate transpose. None: as the factor was made.

        Returns
        -------
        L : sparse array, shape (n, n)
            L or R.
        D : dia_array, shape (n, n)
            With "LDL" only.

        Raises
        ------
        CholmodError
            There are no numbers yet. This is a ValueError, too.
        CholmodNotPositiveDefiniteError
            "LL" is wanted, but D has entries that are not positive.
        ValueError
            kind is none of those above.
        """
        kind = ("LL" if self._is_ll else "LDL") if kind is None else kind
        if kind not in ("LL", "LDL"):
            raise ValueError(f'kind: must be None, "LL" or "LDL", not {kind!r}')
        L = self._matrix(kind == "LDL")
        if kind == "LDL":
            L.data[L.indptr[:-1]] = 1
        L = L if (self.is_lower if lower is None else lower) else L.T.conj()
        return L if kind == "LL" else (L, self._diagonal_matrix(self._diagonal()))

    def get_perm(self):
        """ndarray of int, shape (n,) : a copy of `perm`."""
        return self.perm.copy()

    def change_factor(self, kind=None):
        """Turn L L' into L D L', or back.

        Parameters
        ----------
        kind : {None, "LL", "LDL"}
            None: the other one.

        Returns
        -------
        CholeskyFactor
            This one.

        Raises
        ------
        CholmodError
            There are no numbers yet. This is a ValueError, too.
        CholmodNotPositiveDefiniteError
            "LL" is wanted, but D has entries that are not positive.
        ValueError
            kind is none of those above.
        """
        self._with_numbers()
        kind = ("LDL" if self._is_ll else "LL") if kind is None else kind
        if kind not in ("LL", "LDL"):
            raise ValueError(f'kind: must be None, "LL" or "LDL", not {kind!r}')
        if kind == "LL":
            self._root()
        self._is_ll = kind == "LL"
        self._shown = {}
        return self

    def copy(self):
        """A copy; the numbers are shared until one of the two gets new ones."""
        copy = super().copy()
        copy._shown = {}
        return copy

    def logdet(self):
        """Logarithm of the determinant of what was factorised: the sum of np.log(D), NaN or complex if D has a negative entry."""
        logarithm = self._with_numbers()._logdet()
        if np.isnan(logarithm) and self._dtype.kind == "c":
            logarithm = np.log(self._diagonal().astype(complex)).sum()
        return self._dtype.type(logarithm)

    def slogdet(self):
        """1 and the logarithm of the determinant, both of the factor's dtype."""
        logarithm = self.logdet()
        return self._dtype.type(1), logarithm

    def det(self):
        """The determinant; may overflow."""
        return np.exp(self.logdet())

    def inv(self):
        """csc_array, shape (n, n) : the inverse, which is dense in general."""
        self._with_numbers()
        return self.solve(sp.csc_array(sp.identity(self.N, dtype=self._dtype, format="csc")))

    # ------------------------------------------------------------------------------------------- solves

    def solve(self, b, system="A"):
        """Solve A x = b, or a system with parts of the factor.

        Parameters
        ----------
        b : array or sparse matrix, shape (n,) or (n, k)
            NumPy's, SciPy's, CuPy's, PyTorch's or JAX's, of a dtype that the factor's can hold.
        system : {"A", "LDLt", "LD", "DLt", "L", "Lt", "D"}
            L and D are those of L D L', or L is that of L L' and D the identity. All but "A" count rows in the factor's order.

        Returns
        -------
        x : array or csc_array, of b's shape
            In b's package and the factor's dtype.

        Raises
        ------
        CholmodError
            There are no numbers yet. This is a ValueError, too.
        CholmodNotPositiveDefiniteError
            `rcond` is 0.
        ValueError
            b is no array or has another shape; there is no such system.
        TypeError
            The factor's dtype cannot hold b.

        Warns
        -----
        CholmodWarning
            `rcond` is below n times the precision.
        """
        self._with_numbers()
        package = package_of(b)
        if package is None and not sp.issparse(b):
            raise ValueError(f"b: must be an array or a sparse matrix, not {type(b).__name__}")
        if len(b.shape) not in (1, 2) or b.shape[0] != self.N:
            raise ValueError(f"b: has the shape {tuple(b.shape)}; wanted is ({self.N},) or ({self.N}, k)")
        name = b.dtype.name if package is None else package.dtype_name(b)
        if not np.can_cast(np.dtype(name), self._dtype):
            raise TypeError(f"b: is of dtype {name}, which the factor's {self._dtype.name} cannot hold")
        if system not in _SYSTEMS:
            raise ValueError(f"system: must be one of {', '.join(_SYSTEMS)}, not {system!r}")
        self._check_rcond()
        if package is not None:
            return self._solve(b, system, not self._is_ll)
        is_vector = len(b.shape) == 1
        b = b.reshape((self.N, 1)) if is_vector else b
        x = self._solve_sparse(b, sp.csc_array, lambda dense: self._solve(dense, system, not self._is_ll))
        x.indices, x.indptr = x.indices.astype(self._itype), x.indptr.astype(self._itype)
        return x[:, 0] if is_vector else x

    def _check_rcond(self):
        if self.rcond == 0:
            raise CholmodNotPositiveDefiniteError("the matrix is indefinite or singular to working precision")
        if not self.rcond >= self.N * np.finfo(self._dtype).eps:
            warnings.warn(f"the matrix is nearly singular, so x may be inaccurate: rcond is {self.rcond:.2e}", CholmodWarning,
                          stacklevel=3)

    # ------------------------------------------------------------------------------------------- updates

    def update(self, C):
        """Not there: NotImplementedError."""
        raise _no_update("update", "f.factorize(A + C @ C.T)")

    def downdate(self, C):
        """Not there: NotImplementedError."""
        raise _no_update("downdate", "f.factorize(A - C @ C.T)")

    def rowadd(self, k, C):
        """Not there: NotImplementedError."""
        raise _no_update("rowadd", "f.factorize(A) with row and column k set to C")

    def rowdel(self, k):
        """Not there: NotImplementedError."""
        raise _no_update("rowdel", "f.factorize(A) with row and column k set to those of the identity")

    def resymbol(self, A, is_permuted=True):
        """Not there: NotImplementedError."""
        raise NotImplementedError("resymbol: gpusolve has no updates that leave zeros in L; analyse A anew, CholeskyFactor(A)")


def _no_update(name, call):
    return NotImplementedError(
        f"{name}: gpusolve has no update of a factor; factorise anew, {call} if the pattern has room for it, otherwise "
        "f = cho_factor(A) of the new A, or use scikit-sparse"
    )
