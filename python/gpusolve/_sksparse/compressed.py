"""Matrices as scikit-sparse 0.5 takes them: anything that is a matrix, square or not, in any of four dtypes."""

import warnings
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from .._arguments import DTYPES


def compressed(A):
    """A as compressed columns without duplicates, in one of the four dtypes, and the dtype of its indices."""
    if type(A).__module__.startswith("cupyx."):
        A = A.get()
    if not sp.issparse(A):
        A = np.asarray(A)
    if A.ndim != 2:
        raise ValueError("A: must be a matrix")
    if not sp.issparse(A) or A.format != "csc":
        warnings.warn(f"converting {type(A).__name__} to compressed columns", sp.SparseEfficiencyWarning, stacklevel=4)
        A = sp.csc_array(A)
    if A.dtype.kind in "biu":
        A = A.astype(np.result_type(A.dtype, np.float32))
    if A.dtype.name not in DTYPES:
        raise TypeError(f"A: has the dtype {A.dtype}; wanted are integers or one of {', '.join(DTYPES)}")
    if not A.has_canonical_format:
        A = A.copy()
        A.sum_duplicates()
    is_narrow = A.indptr.dtype == np.int32 and A.indices.dtype == np.int32
    return A, np.dtype(np.int32 if is_narrow else np.int64)


class Pattern(NamedTuple):
    """A pattern as _core takes it: compressed columns with n rows, sorted, and CHOLMOD's stype.

    stype is 1 for the upper triangle, -1 for the lower one, 0 for all of A, which stands for A A'.
    """

    n: int
    p: np.ndarray
    i: np.ndarray
    stype: int


def pattern_of(A, stype):
    """The pattern of a matrix in compressed columns."""
    A.sort_indices()
    p, i = (np.ascontiguousarray(v, dtype=np.int64) for v in (A.indptr, A.indices))
    return Pattern(A.shape[0], p, i, stype)
