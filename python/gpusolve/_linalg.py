"""Functions named and shaped as in scipy.sparse.linalg."""

import numpy as np
import scipy.sparse as sp

from ._cholesky import cholesky

__all__ = ["SparseCholesky", "factorized", "splu", "spsolve"]


class SparseCholesky:
    """What `splu` returns: a factor with the attributes of scipy.sparse.linalg.SuperLU that make sense for it.

    Attributes
    ----------
    factor : gpusolve.Factor
    shape : tuple of int
    nnz : int
        Numbers stored of L and L' together.
    perm_r, perm_c : ndarray of int, shape (n,)
        As SuperLU's: with ``Pr[perm_r, arange(n)] = 1`` and ``Pc[arange(n), perm_c] = 1``, ``Pr A Pc = L L'``.
    """

    def __init__(self, factor):
        self.factor = factor

    @property
    def shape(self):
        """tuple of int : (n, n)."""
        return self.factor.shape

    @property
    def nnz(self):
        """int : numbers stored of L and L' together."""
        return 2 * self.factor.nnz

    @property
    def perm_r(self):
        """ndarray of int, shape (n,) : as SuperLU's."""
        return np.argsort(self.factor.perm)

    perm_c = perm_r

    @property
    def L(self):
        """Not there: NotImplementedError."""
        raise NotImplementedError("L, U: the factor's memory is gpusolve's own; gpusolve.sksparse and scikit-sparse give L")

    U = L

    def solve(self, rhs, trans="N"):
        """Solve A x = rhs, A' x = rhs or A^H x = rhs, for trans "N", "T" or "H".

        Parameters
        ----------
        rhs : array, shape (n,) or (n, k)
            In host or device memory, as `Factor.solve` takes it.
        trans : {"N", "T", "H"}

        Returns
        -------
        x : array
            In rhs's package, on its device.

        Raises
        ------
        ValueError, TypeError, DeviceError
            As `Factor.solve`.
        """
        return self.factor.solve(rhs, trans=trans)


def splu(A, **options):
    """Factorise A, which must be symmetric or Hermitian positive definite; like scipy.sparse.linalg.splu.

    Parameters
    ----------
    A : sparse matrix, shape (n, n)
    **options
        Those of `cholesky`.

    Returns
    -------
    SparseCholesky

    Raises
    ------
    NotPositiveDefiniteError, ValueError, ImportError, DeviceError
        As `cholesky`.

    Examples
    --------
    >>> lu = gpusolve.splu(sp.diags([2.0, 4.0]))
    >>> lu.solve(np.array([2.0, 2.0]))
    array([1. , 0.5])
    """
    return SparseCholesky(cholesky(A, **options))


def factorized(A, **options):
    """A function that solves A x = b; like scipy.sparse.linalg.factorized.

    Parameters
    ----------
    A : sparse matrix, shape (n, n)
        Symmetric or Hermitian positive definite.
    **options
        Those of `cholesky`.

    Returns
    -------
    solve : callable
        `Factor.solve`.

    Raises
    ------
    NotPositiveDefiniteError, ValueError, ImportError, DeviceError
        As `cholesky`.

    Examples
    --------
    >>> solve = gpusolve.factorized(sp.diags([2.0, 4.0]))
    >>> solve(np.array([2.0, 2.0]))
    array([1. , 0.5])
    """
    return cholesky(A, **options).solve


def spsolve(A, b, **options):
    """Solve A x = b once; like scipy.sparse.linalg.spsolve.

    Parameters
    ----------
    A : sparse matrix, shape (n, n)
        Symmetric or Hermitian positive definite.
    b : array or sparse matrix, shape (n,) or (n, k)
    **options
        Those of `cholesky`.

    Returns
    -------
    x : array of b's package, or sparse matrix if b is one
        On b's device. It is there when this returns: the factor is freed, which waits for the device.

    Raises
    ------
    NotPositiveDefiniteError, ValueError, TypeError, ImportError, DeviceError
        As `cholesky` and `Factor.solve`.

    Examples
    --------
    >>> gpusolve.spsolve(sp.diags([2.0, 4.0]), np.array([2.0, 2.0]))
    array([1. , 0.5])
    """
    with cholesky(A, **options) as factor:
        if sp.issparse(b):
            return type(b)(sp.csc_matrix(factor.solve(b.toarray())))
        return factor.solve(b)
