"""The interface of scikit-sparse 0.5, so that a program changes one import line.

``from sksparse.cholmod import ...`` becomes ``from gpusolve.sksparse05 import ...``. All names but `cholesky` are in
`gpusolve.sksparse` as well.

>>> from gpusolve.sksparse05 import cho_factor
>>> A = sp.csc_array([[4.0, 2.0], [2.0, 5.0]])
>>> f = cho_factor(A)
>>> f.solve(np.array([6.0, 7.0]))
array([1., 1.])
>>> f.get_factor()[[1], :].toarray()[0]
array([0., 2.])

What differs:

- solves run on the GPU if there is one, and take arrays of CuPy, PyTorch and JAX as well; x has the layout of b;
- ``update``, ``downdate``, ``rowadd``, ``rowdel`` and ``resymbol`` raise NotImplementedError;
- a matrix that is not positive definite leaves the numbers of the factor as they were;
- a matrix with entries outside of the pattern that was analysed, or with a NaN, is refused;
- ``get_factor``, ``L``, ``R`` and ``factor`` leave the factor as it is; those of scikit-sparse convert it between L L' and L D L';
- float32 and complex64 are factorised in double precision and rounded;
- whatever makes a factor has a further argument, `device`, as `gpusolve.cholesky` has it.

CHOLMOD's factor is kept in host memory, for L, D and the like; `gpusolve.cholesky` keeps the numbers once.
"""

from ._sksparse.cholesky_factor import CholeskyFactor
from ._sksparse.errors import (
    CholmodError,
    CholmodGpuProblemError,
    CholmodInvalidInputError,
    CholmodNotInstalledError,
    CholmodNotPositiveDefiniteError,
    CholmodOutOfMemoryError,
    CholmodOverflowError,
    CholmodSmallDiagonalWarning,
    CholmodWarning,
)
from ._sksparse.graphs import SeparatorTree, bisect, etree, metis, nesdis, symbfact

__all__ = [
    "CholeskyFactor",
    "CholmodError",
    "CholmodGpuProblemError",
    "CholmodInvalidInputError",
    "CholmodNotInstalledError",
    "CholmodNotPositiveDefiniteError",
    "CholmodOutOfMemoryError",
    "CholmodOverflowError",
    "CholmodSmallDiagonalWarning",
    "CholmodWarning",
    "SeparatorTree",
    "bisect",
    "cho_factor",
    "cho_solve",
    "cholesky",
    "etree",
    "ldl",
    "ldl_factor",
    "metis",
    "nesdis",
    "symbfact",
]


def cho_factor(A, beta=0.0, *, lower=False, order="default", sym_kind=None, supernodal_mode=None, device=None):
    """Factorise A + beta I as L L'.

    Parameters
    ----------
    A, lower, order, sym_kind, supernodal_mode, device
        As in `CholeskyFactor`.
    beta : float

    Returns
    -------
    CholeskyFactor

    Raises
    ------
    CholmodNotPositiveDefiniteError
        It is not positive definite.
    ValueError, TypeError
        As in `CholeskyFactor`.

    Examples
    --------
    >>> from gpusolve.sksparse import cho_factor
    >>> cho_factor(sp.csc_array([[4.0, 2.0], [2.0, 5.0]])).solve(np.array([[6.0], [7.0]]))
    array([[1.],
           [1.]])
    """
    options = {"lower": lower, "order": order, "sym_kind": sym_kind, "supernodal_mode": supernodal_mode, "device": device}
    return CholeskyFactor(A, **options).factorize(A, ldl=False, beta=beta)


def ldl_factor(A, beta=0.0, *, lower=True, order="default", sym_kind=None, supernodal_mode=None, device=None):
    """Factorise A + beta I as L D L'; see `cho_factor`.

    Returns
    -------
    CholeskyFactor
    """
    options = {"lower": lower, "order": order, "sym_kind": sym_kind, "supernodal_mode": supernodal_mode, "device": device}
    return CholeskyFactor(A, **options).factorize(A, ldl=True, beta=beta)


def cholesky(A, beta=0.0, *, lower=False, order="default", sym_kind=None, supernodal_mode=None):
    """Factorise A + beta I as R' R or L L', and return the factor as a matrix. It is made on the host.

    Parameters
    ----------
    A, beta, lower, order, sym_kind, supernodal_mode
        As in `cho_factor`.

    Returns
    -------
    R : sparse array, shape (n, n)
        R, or L if `lower`.
    p : ndarray of int, shape (n,)
        The permutation, unless `order` is None: A[p[:, np.newaxis], p[np.newaxis, :]] is factorised.

    Examples
    --------
    >>> from gpusolve.sksparse05 import cholesky
    >>> L, p = cholesky(sp.csc_array([[4.0, 2.0], [2.0, 5.0]]), lower=True)
    >>> L.toarray()
    array([[2., 0.],
           [1., 2.]])
    """
    options = {"lower": lower, "order": order, "sym_kind": sym_kind, "supernodal_mode": supernodal_mode, "device": "cpu"}
    f = cho_factor(A, beta, **options)
    return f.get_factor() if order is None else (f.get_factor(), f.get_perm())


def ldl(A, beta=0.0, *, lower=True, order="default", sym_kind=None, supernodal_mode=None):
    """Factorise A + beta I as L D L' or R' D R, and return the factors as matrices. They are made on the host.

    Parameters
    ----------
    A, beta, lower, order, sym_kind, supernodal_mode
        As in `cho_factor`.

    Returns
    -------
    L : sparse array, shape (n, n)
        L, or R if not `lower`.
    D : dia_array, shape (n, n)
    p : ndarray of int, shape (n,)
        The permutation, unless `order` is None.
    """
    options = {"lower": lower, "order": order, "sym_kind": sym_kind, "supernodal_mode": supernodal_mode, "device": "cpu"}
    f = ldl_factor(A, beta, **options)
    return f.get_factor() if order is None else (*f.get_factor(), f.get_perm())


def cho_solve(A, b, *, lower=False, order="default", device=None):
    """Solve A x = b once; see `cho_factor` and `CholeskyFactor.solve`.

    Parameters
    ----------
    A : sparse matrix or array, shape (n, n)
    b : array or sparse matrix, shape (n,) or (n, k)
    lower, order, device
        As in `cho_factor`.

    Returns
    -------
    x : array or csc_array, of b's shape
    """
    return cho_factor(A, lower=lower, order=order, device=device).solve(b)
