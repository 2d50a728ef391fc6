"""Sparse matrices of SciPy and CuPy as compressed columns, and which triangle of them is meant."""

import numpy as np
import scipy.sparse as sp

TRIANGLES = {"full": 0, "lower": 1, "upper": 2}


class Columns:
    """A symmetric or Hermitian matrix in compressed columns: sorted, no duplicates, 64-bit indices.

    stype is CHOLMOD's: -1, the lower triangle is given; 1, the upper one, or all of A.
    """

    def __init__(self, A, triangle=None, check=True, what="A"):
        if type(A).__module__.startswith("cupyx."):
            A = A.get()
        if not sp.issparse(A):
            raise TypeError(f"{what}: must be a sparse matrix of SciPy or CuPy, not {type(A).__name__}")
        if A.ndim != 2 or A.shape[0] != A.shape[1]:
            raise ValueError(f"{what}: must be square, but has the shape {A.shape}")
        if triangle is not None and triangle not in TRIANGLES:
            raise ValueError(f"triangle: must be None or one of {sorted(TRIANGLES)}, not {triangle!r}")
        if A.dtype.kind not in "biufc" or A.dtype.itemsize > 8 * (1 + (A.dtype.kind == "c")):
            raise TypeError(f"{what}: has the dtype {A.dtype}, which gpusolve cannot factorise")
        self.is_single = A.dtype in (np.float32, np.complex64)
        original = A
        A = sp.csc_matrix(A, copy=False)
        if not A.has_canonical_format or A.dtype.kind not in "fc":
            A = A.copy() if A is original or np.shares_memory(A.data, getattr(original, "data", A.data)) else A
            A.sum_duplicates()
        self.n = A.shape[0]
        self.dtype = np.dtype(np.complex128 if A.dtype.kind == "c" else np.float64)
        self.p = np.ascontiguousarray(A.indptr, dtype=np.int64)
        self.i = np.ascontiguousarray(A.indices, dtype=np.int64)
        self.x = np.ascontiguousarray(A.data, dtype=self.dtype)
        self.triangle = triangle or self._triangle_given(A, check, what)
        self.stype = -1 if self.triangle == "lower" else 1

    def _triangle_given(self, A, check, what):
        column = np.repeat(np.arange(self.n), np.diff(self.p))
        has_lower, has_upper = bool(np.any(self.i > column)), bool(np.any(self.i < column))
        if not has_lower:
            return "upper"
        if not has_upper:
            return "lower"
        if check:
            difference = abs(A - A.conj().T)
            size = abs(A).max() if A.nnz else 0
            epsilon = np.finfo(np.float32 if self.is_single else np.float64).eps
            if difference.nnz and not difference.max() <= 100 * epsilon * size:
                word = "Hermitian" if A.dtype.kind == "c" else "symmetric"
                raise ValueError(
                    f"{what}: is not {word}; to use one of its triangles, say triangle=\"lower\" or \"upper\""
                )
        return "full"


def positive_diagonal(columns):
    """Raise the error of a matrix that cannot be positive definite for its diagonal, before it is analysed."""
    from ._errors import NotPositiveDefiniteError

    column = np.repeat(np.arange(columns.n), np.diff(columns.p))
    diagonal = np.zeros(columns.n)
    on = columns.i == column
    diagonal[column[on]] = columns.x[on].real
    wrong = ~(diagonal > 0)
    if wrong.any():
        at = int(np.argmax(wrong))
        raise NotPositiveDefiniteError(
            f"the matrix is not positive definite: entry ({at}, {at}) of its diagonal is {diagonal[at]:g}", at
        )
