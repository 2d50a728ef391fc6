"""What a factor knows of itself and of A, and gives beside solutions."""

import numpy as np

from . import _core
from ._arrays import NumPy, package_of, stream_pointer
from ._solve import as_operand, check_shape, solve

_OPERATORS = ("L", "Lt", "PtL", "LtP", "A")  # in the order of gpusolve_operator


def _vector(values, n, dtype, name):
    """A contiguous copy, as _core takes it."""
    values, package = as_operand(values, name)
    if tuple(values.shape) != (n,):
        raise ValueError(f"{name}: has the shape {tuple(values.shape)}; wanted is ({n},)")
    if package.dtype_name(values).startswith("complex") and not dtype.startswith("complex"):
        raise TypeError(f"{name}: is complex, and the factor is real")
    return package.view(package.astype(values, dtype))



class Figures:
    """Of a Factor, which has `_open`, `_core`, `_matrix`, `_perm`, `_dtype` and `n`."""

    __slots__ = ()

    def rcond(self, A, *, triangle=None):
        """Estimate of the reciprocal condition number, 1 / (norm(A, 1) norm(inv(A), 1)), by a handful of solves.

        Parameters
        ----------
        A : sparse matrix, shape (n, n)
            The matrix that was factorised.
        triangle : {None, "full", "lower", "upper"}
            Which part of A is given; None: found out.

        Returns
        -------
        float
            Too large at most, and seldom by more than a factor of 3; 0 if A is singular to working precision.

        Examples
        --------
        >>> A = sp.diags([4.0, 1.0])
        >>> gpusolve.cholesky(A).rcond(A)
        0.25
        """
        return self._core.rcond(self._matrix(A, triangle))

    def sample(self, count=None, *, seed=0, first=0, z=None, mean=None, out=None, stream=None):
        """Samples of the Gaussian field whose precision matrix is A: mean + P' L' \\ z.

        Parameters
        ----------
        count : int, optional
            How many are drawn. None: one, as a vector, or as many as `out` or `z` have columns.
        seed : int
            From 0 to 2**64 - 1.
        first : int
            Column j is sample first + j of the seed. A sample depends on these two alone, so each can be had by itself.
        z : array, shape (n,) or (n, k), optional
            Your own numbers, rows in L's order, in place of drawn ones.
        mean : array, shape (n,), optional
            Added to each sample.
        out : array, shape (n,) or (n, k), optional
            Where they are stored, of the factor's dtype; of NumPy, CuPy or PyTorch.
        stream : optional
            As in `solve`.

        Returns
        -------
        array, shape (n,) or (n, count)
            `out`; or of z's package; or of NumPy. Of the factor's dtype. With a complex factor the real and the imaginary part
            of a number that is drawn have the variance 1/2.

        Raises
        ------
        NotPositiveDefiniteError
            D of the factor has a negative entry.
        ValueError
            Wrong shape or device, a seed or a first that is out of range, or the factor is closed.
        TypeError
            z, mean or out cannot be of the factor's dtype.

        Examples
        --------
        >>> F = gpusolve.cholesky(sp.diags([4.0, 1.0]))
        >>> F.sample(z=np.array([1.0, 1.0]))
        array([0.5, 1. ])
        >>> bool(np.array_equal(F.sample(3, seed=7)[:, 2], F.sample(seed=7, first=2)))
        True
        """
        core, dtype = self._open(), self._dtype_name
        if not 0 <= seed < 2**64 or not 0 <= first < 2**63:
            raise ValueError("seed, first: must be from 0 to 2**64 - 1, and to 2**63 - 1")
        package = NumPy
        if z is not None:
            z, package = as_operand(z, "z")
            check_shape(z, self.n, "z")
            if package.dtype_name(z).startswith("complex") and not dtype.startswith("complex"):
                raise TypeError("z: is complex, and the factor is real")
            z = package.astype(z, dtype)
        shape = tuple(z.shape) if z is not None else tuple(out.shape) if out is not None and count is None else None
        if shape is None:
            shape = (self.n,) if count is None else (self.n, count)
        if count is not None and shape != (self.n, count):
            raise ValueError(f"count: is {count}, z has the shape {shape}")
        to = package if out is None else package_of(out)
        if to is None or (out is not None and not to.is_mutable):
            raise TypeError(f"out: {type(out).__name__} is no array that can be written")
        if out is not None and (tuple(out.shape) != shape or shape[0] != self.n):
            raise ValueError(f"out: has the shape {tuple(out.shape)}; wanted is {shape if shape[0] == self.n else (self.n,)}")
        if out is not None and to.dtype_name(out) != dtype:
            raise TypeError(f"out: has the dtype {to.dtype_name(out)}; wanted is {dtype}")
        shift = None if mean is None else _vector(mean, self.n, dtype, "mean")
        x = out if out is not None else package.empty_like(z) if z is not None else np.empty(shape, dtype, order="F")
        pointer = to.stream(x if z is None else z) if stream is None else stream_pointer(stream)

        def call(x):
            return _core.sample(core, None if z is None else package.view(z), to.view(x), shift, seed, first, pointer)

        if call(x):
            return package.finish(x, pointer, z) if out is None else out
        x = np.empty(shape, dtype, order="F") if out is None else to.empty_like(out, dtype)
        if not call(x):
            raise TypeError("out: its layout cannot be written")
        if out is None:
            return x
        to.assign(out, x)
        return out

    def multiply(self, b, out=None, *, operator="A", stream=None):
        """Product with the factor.

        Parameters
        ----------
        b : array, shape (n,) or (n, k)
        out : array, optional
            Where the product is stored; may be b.
        operator : {"A", "L", "Lt", "PtL", "LtP"}
            What b is multiplied with: A as P' L D L' P, L, L', P' L or L' P.
        stream : optional
            As in `solve`.

        Returns
        -------
        array
            Of b's shape and package.

        Raises
        ------
        ValueError
            Another operator, wrong shape or device, or the factor is closed.
        TypeError
            b is no array of numbers.

        Notes
        -----
        A factor of ``storage="single"`` multiplies with what it stores, to single precision.

        Examples
        --------
        >>> gpusolve.cholesky(sp.diags([4.0, 9.0])).multiply(np.array([1.0, 1.0]), operator="L")
        array([2., 3.])
        """
        if operator not in _OPERATORS:
            raise ValueError(f"operator: {operator!r} is none of {', '.join(_OPERATORS)}")
        core, number = self._open(), _OPERATORS.index(operator)

        def call(b, x, on):
            return _core.multiply(core, b, x, number, on)

        b, package = as_operand(b)
        if not self._dtype_name.startswith("complex") and package.dtype_name(b).startswith("complex"):
            y = self.multiply(b.real, operator=operator, stream=stream) + 1j * self.multiply(b.imag, operator=operator, stream=stream)
            if out is None:
                return y
            package_of(out).assign(out, y)
            return out
        return solve(call, b, out, stream, self._dtype_name, (self.n, self.n))

    def inverse_diagonal(self):
        """Diagonal of the inverse of A: the variances of the Gaussian field whose precision matrix is A, say.

        Returns
        -------
        ndarray of float64, shape (n,)

        Examples
        --------
        >>> gpusolve.cholesky(sp.diags([4.0, 8.0])).inverse_diagonal()
        array([0.25 , 0.125])
        """
        return _core.inverse_diagonal(self._open())

    def inverse_entries(self, rows, columns):
        """Entries of the inverse of A.

        Parameters
        ----------
        rows, columns : int or array of int
            Entry k is that of row ``rows[k]`` and column ``columns[k]``; one is broadcast to the other.

        Returns
        -------
        ndarray
            Of the factor's dtype. It takes least where rows and columns that go together are near each other in the matrix.

        Raises
        ------
        ValueError
            A row or a column is not between 0 and n - 1, or the factor is closed.

        Examples
        --------
        >>> gpusolve.cholesky(sp.diags([4.0, 8.0])).inverse_entries([0, 1], 1)
        array([0.   , 0.125])
        """
        rows, columns = np.broadcast_arrays(np.asarray(rows), np.asarray(columns))
        if not all(np.issubdtype(index.dtype, np.integer) or index.size == 0 for index in (rows, columns)):
            raise TypeError("rows, columns: must be integers")
        values = np.empty(rows.size, self._dtype_name)
        _core.inverse_entries(self._open(), *(np.ascontiguousarray(index, np.int64).ravel() for index in (rows, columns)), values)
        return values.reshape(rows.shape)

    def logdet(self):
        """Logarithm of the determinant of A.

        Returns
        -------
        float
            NaN if the determinant is negative, which a factor L D L' may have.
        """
        sign, logarithm = self._open().slogdet()
        return logarithm if sign > 0 else float("nan")

    def slogdet(self):
        """Sign and logarithm of the absolute value of the determinant of A.

        Returns
        -------
        sign, logarithm : float
        """
        return self._open().slogdet()

    @property
    def perm(self):
        """ndarray of int, shape (n,) : row i of P A P' is row ``perm[i]`` of A. Read-only."""
        return self._perm

    @property
    def shape(self):
        """tuple of int : (n, n)."""
        return (self.n, self.n)

    @property
    def dtype(self):
        """numpy.dtype : of the factor's numbers."""
        return self._dtype

    @property
    def device(self):
        """str : "cpu", or "cuda:0"."""
        core = self._open()
        return f"cuda:{core.device}" if core.is_on_device else "cpu"

    @property
    def nnz(self):
        """int : numbers stored of L, zeros of relaxed supernodes included."""
        return self._open().info(1)["nnz"]

    @property
    def info(self):
        """dict : what the factor is and takes.

        "device" is a name. "n", "nnz", "supernodes", "levels", "widest_supernode", "update_rows" and "plans" count.
        Keys that end in "_bytes" are bytes, those in "_ms" milliseconds.
        """
        return self._open().info(1)

    @property
    def closed(self):
        """bool : whether `close` was called."""
        return self._core.closed

    def cost(self, nrhs=1):
        """What a solve with nrhs columns should take.

        Returns
        -------
        dict
            "bytes" of L that both sweeps read, "vector_bytes" of b, x and the vectors between, "flops", and "hops" up the
            tree's levels and down again. Two times in microseconds: "wall_us" is what the hardware needs for the bytes and
            flops, "predicted_us" is a model's.

        Raises
        ------
        ValueError
            nrhs is negative, or the factor is closed.
        """
        if nrhs < 0:
            raise ValueError("nrhs: is negative")
        return self._open().cost(nrhs)

    def summary(self):
        """The plan, in words.

        Returns
        -------
        str
        """
        return self._open().summary()
