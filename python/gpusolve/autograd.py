"""Gradients with respect to a matrix's numbers, for PyTorch: solves and log-determinants.

`Factor.solve` is differentiable with respect to b by itself. Here A's numbers are a tensor, too.

    pattern = gpusolve.autograd.Pattern(rows, cols, n)       # of the lower triangle
    x = pattern.solve(values, b)                             # A x = b
    d = pattern.logdet(values)
    (x.sum() + d).backward()                                 # values.grad, b.grad
"""

import threading

import numpy as np
import scipy.sparse as sp
import torch
from torch.autograd.function import once_differentiable

from ._cholesky import cholesky

__all__ = ["Pattern"]

_BLOCK = 64  # columns of the inverse that are solved for at a time


class Pattern:
    """Where the numbers of the lower triangle of a real symmetric matrix stand.

    Parameters
    ----------
    rows, cols : arrays of int, shape (nnz,)
        Each place once, with rows >= cols; the diagonal is part of it.
    n : int
        Order of the matrix.
    **options
        Those of `gpusolve.cholesky`, but `triangle`.

    Notes
    -----
    One factor is kept, which each call refreshes if the values have changed. CHOLMOD factorises on the host, so values on a
    device are copied there.
    """

    def __init__(self, rows, cols, n, **options):
        rows, cols = np.asarray(rows, np.int64), np.asarray(cols, np.int64)
        if rows.ndim != 1 or rows.shape != cols.shape:
            raise ValueError("rows, cols: must be vectors of one length")
        if len(rows) and (rows.min() < 0 or rows.max() >= n or cols.min() < 0 or (rows < cols).any()):
            raise ValueError("rows, cols: must be places of the lower triangle, from 0 to n - 1")
        self._order = np.lexsort((rows, cols))
        if len(np.unique(rows * n + cols)) != len(rows):
            raise ValueError("rows, cols: name a place twice")
        self._indices = rows[self._order]
        self._pointers = np.concatenate([[0], np.cumsum(np.bincount(cols, minlength=n))])
        self.rows, self.cols, self.n = rows, cols, n
        self._options = options
        self._lock = threading.RLock()
        self._factor = self._values = None

    def _factor_of(self, values):
        """The factor of the matrix with these values; called with the lock held."""
        host = values.detach().cpu().numpy().astype(np.float64)
        if host.shape != self.rows.shape:
            raise ValueError(f"values: has the shape {host.shape}; wanted is ({len(self.rows)},)")
        if self._factor is None:
            self._factor = cholesky(self._matrix(host), triangle="lower", **self._options)
        elif not np.array_equal(host, self._values):
            self._values = None
            self._factor.refresh(self._matrix(host), triangle="lower")
        self._values = host
        return self._factor

    def _matrix(self, host):
        return sp.csc_matrix((host[self._order], self._indices, self._pointers), shape=(self.n, self.n))

    def places(self, device):
        """rows and cols as tensors on a device."""
        return torch.as_tensor(self.rows, device=device), torch.as_tensor(self.cols, device=device)

    def solve(self, values, b):
        """x = A \\ b, differentiable once with respect to both.

        Parameters
        ----------
        values : real tensor, shape (nnz,)
        b : real tensor, shape (n,) or (n, k)

        Returns
        -------
        x : tensor
        """
        return _Solve.apply(values, b, self)

    def logdet(self, values):
        """Logarithm of the determinant, differentiable once.

        Its gradient is the inverse on the pattern, which takes a solve for each of the n columns of the inverse.

        Parameters
        ----------
        values : real tensor, shape (nnz,)

        Returns
        -------
        tensor, shape ()
        """
        return _LogDet.apply(values, self)


class _Solve(torch.autograd.Function):
    """d x = A \\ (d b - d A x): with y = A \\ gradient, b has the gradient y, and place (i, j) -y_i x_j - y_j x_i."""

    @staticmethod
    def forward(context, values, b, pattern):
        with pattern._lock:
            x = pattern._factor_of(values).solve(b.detach())
        context.save_for_backward(values, x)
        context.pattern = pattern
        context.b_dtype = b.dtype
        return x

    @staticmethod
    @once_differentiable
    def backward(context, gradient):
        values, x = context.saved_tensors
        pattern = context.pattern
        with pattern._lock:
            y = pattern._factor_of(values).solve(gradient)
        rows, cols = pattern.places(x.device)
        x2, y2 = x.reshape(pattern.n, -1), y.reshape(pattern.n, -1)
        lower, upper = (y2[rows] * x2[cols]).sum(1), (y2[cols] * x2[rows]).sum(1)
        of_values = -torch.where(rows == cols, lower, lower + upper)
        return of_values.to(device=values.device, dtype=values.dtype), y.to(context.b_dtype), None


class _LogDet(torch.autograd.Function):
    """d log det A = trace(A^-1 d A)."""

    @staticmethod
    def forward(context, values, pattern):
        with pattern._lock:
            logarithm = pattern._factor_of(values).logdet()
        context.save_for_backward(values)
        context.pattern = pattern
        return values.new_tensor(logarithm)

    @staticmethod
    @once_differentiable
    def backward(context, gradient):
        (values,) = context.saved_tensors
        pattern = context.pattern
        inverse = np.zeros(len(pattern.rows))
        with pattern._lock:
            factor = pattern._factor_of(values)
            for first in range(0, pattern.n, _BLOCK):
                width = min(_BLOCK, pattern.n - first)
                columns = np.zeros((pattern.n, width), factor.dtype)
                columns[first + np.arange(width), np.arange(width)] = 1
                x = factor.solve(columns)
                here = (pattern.cols >= first) & (pattern.cols < first + width)
                inverse[here] = x[pattern.rows[here], pattern.cols[here] - first]
        inverse *= 1 + (pattern.rows != pattern.cols)
        return gradient * torch.as_tensor(inverse, device=values.device, dtype=values.dtype), None
