"""gpusolve.cholesky: CHOLMOD factorises, the factor is imported."""

import numpy as np

from . import _core, _library
from ._arguments import MODES, ORDERINGS, PRECISIONS, STORAGES, indices, place
from ._factor import Factor
from ._matrix import Columns

__all__ = ["cholesky"]


class Factoriser:
    """How CHOLMOD factorises: the arguments of `cholesky` but A and the place, checked."""

    def __init__(self, ordering, precision, triangle, check, mode, storage):
        if precision not in PRECISIONS:
            raise ValueError(f"precision: must be one of {PRECISIONS}, not {precision!r}")
        if storage not in STORAGES:
            raise ValueError(f"storage: must be one of {STORAGES}, not {storage!r}")
        if storage and precision == "single":
            raise ValueError("storage: L is stored in single precision as it is if precision is single")
        if mode not in MODES:
            raise ValueError(f"mode: must be one of {sorted(MODES)}, not {mode!r}")
        self._permutation, self._ordering = None, 1
        if isinstance(ordering, str) or ordering is None:
            if ordering is not None and ordering not in ORDERINGS:
                raise ValueError(f"ordering: must be a permutation or one of {sorted(ORDERINGS)}, not {ordering!r}")
            self._ordering = ORDERINGS[ordering or "metis"]
        else:
            self._permutation = indices(ordering, "ordering")
        self._precision, self._triangle, self._check = precision, triangle, check
        self._mode, self._storage = MODES[mode], storage

    def columns(self, A, what="A"):
        """A as compressed columns."""
        columns = Columns(A, self._triangle, self._check, what)
        if not np.isfinite(columns.x).all():
            raise ValueError(f"{what}: holds a NaN or an infinity")
        order = self._permutation
        if order is not None and not np.array_equal(np.sort(order), np.arange(columns.n)):
            raise ValueError(f"ordering: is no permutation of the numbers 0 to {columns.n - 1}")
        return columns

    def is_single(self, columns):
        """Whether the factor of such a matrix is in single precision."""
        return not self._storage and (columns.is_single if self._precision is None else self._precision == "single")

    def analyse(self, columns):
        """CHOLMOD's analysis of the pattern."""
        _library.open_cholmod()
        return _core.Symbolic(columns.n, columns.p, columns.i, columns.stype, self._ordering, self._mode, self._permutation)

    @staticmethod
    def factorise(symbolic, columns):
        """CHOLMOD's factor."""
        return symbolic.factorize(columns.n, columns.p, columns.i, columns.x, columns.stype, 0.0, False)


def cholesky(A, *, ordering="metis", precision=None, device=None, triangle=None, check=True, mode="auto", threads=0,
             same_bits=False, storage=None):
    """Factorise a symmetric or Hermitian positive definite matrix with CHOLMOD, and import the factor.

    Parameters
    ----------
    A : sparse matrix or array of SciPy or CuPy, shape (n, n)
        Any format; real or complex. Both triangles, or one of them.
    ordering : {"metis", "amd", "nesdis", "colamd", "natural", "default", "best"} or array of int
        How fill is reduced; an array is a permutation of one's own. "default" is CHOLMOD's strategy, "best" tries all.
        AMD is used in place of METIS where CHOLMOD was built without it.
    precision : {None, "single", "double"}
        Of the factor; None: A's. CHOLMOD factorises in double precision; "single" rounds its factor.
    device : {None, "cpu", "cuda", "cuda:0", ...} or int
        None: the current GPU if there is one, else the host.
    triangle : {None, "full", "lower", "upper"}
        Which part of A is used. None: what is there; if both triangles are, they must agree.
    check : bool
        Whether both triangles are compared.
    mode : {"auto", "simplicial", "supernodal"}
        How CHOLMOD factorises.
    threads : int
        Of the host backend; 0: as many as OMP_NUM_THREADS says, else one for each processor. CHOLMOD's BLAS gets as
        many as the factorisation has work for, at most the BLAS's own number.
    same_bits : bool
        On a GPU: a column gets the same bits however many are solved at a time, at a cost in speed.
    storage : {None, "single"}
        "single": L is stored in single precision, in half the memory, while b, x and all sums are in double. A solve is right to
        single precision; `refine` makes it right to double. None: in the factor's precision.

    Returns
    -------
    Factor

    Raises
    ------
    NotPositiveDefiniteError
        A is not positive definite; its attribute `column` says where.
    ValueError
        A is not square or not symmetric, or holds a NaN or an infinity.
    ImportError
        CHOLMOD was not found.
    DeviceError
        There is no such device.

    Examples
    --------
    >>> A = sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(4, 4))
    >>> with gpusolve.cholesky(A) as F:
    ...     print(F.solve(np.array([1.0, 0.0, 0.0, 1.0])))
    [1. 1. 1. 1.]
    """
    where = place(device, threads, same_bits)
    factoriser = Factoriser(ordering, precision, triangle, check, mode, storage)
    columns = factoriser.columns(A)
    symbolic = factoriser.analyse(columns)
    core = _core.Factor.from_numeric(*where, factoriser.factorise(symbolic, columns), factoriser.is_single(columns), storage == "single")
    return Factor._make(core, symbolic.perm, symbolic, (columns.p, columns.i, columns.stype))
