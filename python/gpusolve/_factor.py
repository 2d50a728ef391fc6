"""The factor: what gpusolve.cholesky returns."""

import os

import numpy as np

from . import _core
from ._arguments import DTYPES, SYSTEMS, described, from_scikit_sparse, place
from ._arrays import package_of
from ._figures import Figures
from ._matrix import TRIANGLES, Columns
from ._selection import Selection
from ._solve import as_operand, refine, solve
from ._systems import NamedSystems

_METHODS = ("richardson", "cg", "fgmres", "automatic")  # in the order of gpusolve_refine_method


class Factor(NamedSystems, Figures):
    """A Cholesky factor, P A P' = L L' or L D L', on a device or on the host.

    Made by `cholesky`, `Factor.from_arrays`, `Factor.from_scikit_sparse` or `load`. Threads may share it. It is freed by
    `close`, at the end of a ``with`` block, or with its last reference.
    """

    __slots__ = ("_core", "_symbolic", "_columns", "_kept", "_perm", "_dtype", "_dtype_name", "n", "__weakref__")

    def __init__(self):
        raise TypeError("a Factor is made by gpusolve.cholesky, Factor.from_arrays or Factor.from_scikit_sparse")

    @classmethod
    def _make(cls, core, perm, symbolic=None, columns=None):
        self = object.__new__(cls)
        self._core = core
        self._symbolic = symbolic
        self._columns = columns
        self._kept = []  # CHOLMOD's numbers of the last refresh
        self.n = core.n
        self._perm = np.arange(self.n) if perm is None else perm
        self._perm.flags.writeable = False
        self._dtype = np.dtype(DTYPES[core.dtype])
        self._dtype_name = self._dtype.name
        return self

    @classmethod
    def from_arrays(cls, kind, x, *, n=None, perm=None, p=None, i=None, nz=None, super=None, pi=None, px=None,
                    s=None, allow_fill=False, device=None, threads=0, same_bits=False):
        """Import a factor that another program has made, as plain arrays in CHOLMOD's layout.

        Parameters
        ----------
        kind : {"supernodal", "ll", "ldl"}
            Dense panels by supernode, or compressed columns of L L' or of L D L' (unit L, with D in its diagonal).
        x : array, shape (xsize,)
            The numbers: float32, float64, complex64 or complex128. They are copied.
        n : int, optional
            Order of A; found from `p` or `super` if it is not given.
        perm : array of int, shape (n,), optional
            Row i of P A P' is row ``perm[i]`` of A. Default: the identity.
        p, i, nz : arrays of int
            Compressed columns: column j's rows are ``i[p[j]:p[j] + nz[j]]``, ascending, j first. `nz` is optional.
        super, pi, px, s : arrays of int
            Supernodes: k holds the columns ``super[k]:super[k + 1]``; its rows are ``s[pi[k]:pi[k + 1]]``; its panel is
            column-major in ``x[px[k]:]``.
        allow_fill : bool
            Complete an incomplete factor, however much memory that takes.
        device, threads, same_bits
            As in `cholesky`.

        Returns
        -------
        Factor

        Raises
        ------
        ValueError
            The arrays do not describe a factor, or hold a NaN or an infinity.
        SingularError
            A diagonal entry is zero or too small.

        Examples
        --------
        >>> F = gpusolve.Factor.from_arrays("ll", [2.0, 1.0, 3.0], p=[0, 2, 3], i=[0, 1, 1])  # L = [2 0; 1 3]
        >>> F.solve(np.array([8.0, 22.0]))
        array([1., 2.])
        """
        arguments = described(kind, n, x, perm, p, i, nz, super, pi, px, s)
        core = _core.Factor.from_arrays(*place(device, threads, same_bits), *arguments, allow_fill)
        return cls._make(core, arguments[3])

    @classmethod
    def from_scikit_sparse(cls, f, *, device=None, threads=0, same_bits=False):
        """Import a factor of scikit-sparse: a `Factor` of version 0.4 or a `CholeskyFactor` of 0.5.

        Its numbers are copied by way of scikit-sparse's own copy of L, which needs memory for two copies of L.

        Parameters
        ----------
        f : sksparse.cholmod.Factor or sksparse.cholmod.CholeskyFactor
        device, threads, same_bits
            As in `cholesky`.

        Returns
        -------
        Factor
        """
        kind, L, perm = from_scikit_sparse(f)
        return cls.from_arrays(kind, L.data, n=L.shape[0], perm=perm, p=L.indptr, i=L.indices, device=device,
                               threads=threads, same_bits=same_bits)

    def save(self, path):
        """Save the factor to a file; `load` makes a factor of it, also on another device or machine.

        The numbers are read back from the backend, to rounding, so the factor that is loaded solves as accurately, but not with
        the same bits. The file is replaced once the new one is complete and on the disk.

        Parameters
        ----------
        path : str, bytes or os.PathLike
            The file. One that is there is replaced.

        Raises
        ------
        OSError
            The file cannot be written; what was there is as it was.

        Examples
        --------
        >>> import os, tempfile
        >>> A = sp.diags([4.0, 1.0])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "factor")
        ...     gpusolve.cholesky(A).save(path)
        ...     gpusolve.load(path).solve(np.array([8.0, 3.0]))
        array([2., 3.])
        """
        self._open().save(_path(path))

    # ------------------------------------------------------------------------------------------- solving

    def solve(self, b, out=None, *, system="A", trans="N", stream=None):
        """Solve one of the nine systems of CHOLMOD, x = system \\ b.

        Parameters
        ----------
        b : array, shape (n,) or (n, k)
            NumPy's, CuPy's, PyTorch's or JAX's, or what NumPy can make an array of. Any strides; no copy is made
            where rows or columns are contiguous. A real factor takes complex b.
        out : array, optional
            Where x is stored; of b's shape; may be b itself, but must not overlap it otherwise.
        system : {"A", "LDLt", "LD", "DLt", "L", "Lt", "D", "P", "Pt"}
            L, L' and D count rows in the factor's order, P maps A's order to it.
        trans : {"N", "T", "H"}
            Solve with A, its transpose or its conjugate transpose, as ``scipy.sparse.linalg.SuperLU.solve``.
        stream : int, cupy.cuda.Stream, torch.cuda.Stream or object with ``__cuda_stream__``, optional
            Default: the current stream of b's package.

        Returns
        -------
        x : array
            In b's package, on its device, in its layout; its dtype is what NumPy makes of b's and the factor's.
            A CuPy or PyTorch array on a device is computed asynchronously, on the stream.

        Raises
        ------
        ValueError
            Wrong shape or device, or the factor is closed.
        TypeError
            b is no array of numbers.
        DeviceError
            A CUDA call failed.

        Examples
        --------
        >>> F = gpusolve.cholesky(sp.diags([4.0, 9.0]))
        >>> F.solve([8.0, 9.0])
        array([2., 1.])
        >>> F.solve(np.array([8.0, 9.0]), system="L")
        array([4., 3.])
        """
        try:
            code = SYSTEMS[system]
        except (KeyError, TypeError):
            raise ValueError(f"system: must be one of {list(SYSTEMS)}, not {system!r}") from None
        if trans != "N":
            if trans not in ("T", "H") or system != "A":
                raise ValueError('trans: must be "N", "T" or "H", the latter two with system="A"')
            if trans == "T" and self._dtype.kind == "c":
                return self._solve_transposed(b, out, stream)
        core = self._core
        if out is not None and stream is None and core.solve_into(b, out, code):  # the common case, without a detour
            return out
        if out is None and stream is None and type(b) is np.ndarray and b.dtype == self._dtype:
            x = np.empty_like(b)
            if core.solve_into(b, x, code):
                return x
        package = package_of(b)
        if package is not None and package.needs_gradient(b):
            from ._torch import solve_with_gradient

            if out is not None:
                raise TypeError("out: cannot be given where a gradient of b is wanted")
            return solve_with_gradient(self, b, system, stream)
        return solve(lambda b, x, on: core.solve(b, x, code, on), b, out, stream, self._dtype_name, (self.n, self.n))

    def _solve_transposed(self, b, out, stream):
        """A.T is the conjugate of A: x is the conjugate of A \\ conj(b)."""
        b, package = as_operand(b)
        x = package.conjugate(self.solve(b.conj(), stream=stream))
        if out is None:
            return x
        to = package_of(out)
        if to is None or not to.is_mutable or tuple(out.shape) != tuple(x.shape):
            raise ValueError("out: must be an array of b's shape that can be written")
        to.assign(out, x)
        return out

    __call__ = solve

    def refine(self, A, b, x=None, *, out=None, max_steps=10, tolerance=None, min_gain=2.0, method="richardson", restart=20,
               twice=False, componentwise=False, triangle=None, stream=None, return_steps=False):
        """Solve A x = b and improve x by iterative refinement, in the factor's precision.

        Parameters
        ----------
        A : sparse matrix, shape (n, n)
            The matrix of the equations: the one that was factorised, or one near it.
        b : array, shape (n,) or (n, k)
        x : array, optional
            A first guess; default: the solution for b.
        out : array, optional
            Where the result is stored; not b.
        max_steps : int
            Solves that a column may get after the first one.
        tolerance : float, optional
            A column at or below this error is done; default: 2.2e-16, or 1.2e-7 in single precision. 0: until it stagnates.
        min_gain : float
            A correction that lowers the error by a smaller factor ends the column.
        method : {"richardson", "cg", "fgmres", "automatic"}
            How x is corrected; the factor is the preconditioner of conjugate gradients and of flexible GMRES. "automatic" turns
            from the first to one of the others where a correction leaves more than a tenth of the error.
        restart : int
            Steps after which FGMRES restarts.
        twice : bool
            Sum b - A x in twice the precision, and go on for as long as corrections shrink and change x: x becomes accurate to the
            last bits if A is not too ill-conditioned.
        componentwise : bool
            The error is the largest of abs(b - A x) / (abs(A) abs(x) + abs(b)) instead.
        triangle : {None, "full", "lower", "upper"}
            Which part of A is given; None: found out.
        stream : optional
            As in `solve`.
        return_steps : bool
            Return the numbers of steps, too.

        Returns
        -------
        x : array
        error : ndarray of float, shape (k,), or float for a vector b
            norm(b - A x) / (norm(A) norm(x) + norm(b)) in the maximum norm, by column. In host memory, so that a call
            waits for the device.
        steps : ndarray of int32, shape (k,), or int for a vector b
            Steps of each column; with `return_steps` alone.

        Raises
        ------
        ValueError
            Wrong order of A, wrong shape or device, an unknown method, or the factor is closed.
        TypeError
            A is complex and the factor real, or b is no array of numbers.
        DeviceError
            A CUDA call failed.

        Examples
        --------
        >>> A = sp.diags([4.0, 9.0])
        >>> x, error = gpusolve.cholesky(A).refine(A, np.array([8.0, 9.0]))
        >>> x, error < 1e-15
        (array([2., 1.]), True)
        """
        if method not in _METHODS:
            raise ValueError(f"method: {method!r} is none of {', '.join(_METHODS)}")
        matrix = self._matrix(A, triangle)
        b, _ = as_operand(b)
        guess = None if x is None else as_operand(x, "x")[0]
        count = b.shape[1] if len(b.shape) == 2 else 1
        errors, steps = np.zeros(count), np.zeros(count, np.int32)

        def call(b, x, on):
            return self._core.refine(matrix, b, x, max_steps, -1.0 if tolerance is None else tolerance, min_gain, guess is None,
                                     _METHODS.index(method), restart, twice, componentwise, on, errors, steps)

        result = refine(call, b, guess, out, stream, self._dtype_name, self.n)
        if len(b.shape) == 1:
            errors, steps = float(errors[0]), int(steps[0])
        return (result, errors, steps) if return_steps else (result, errors)

    def selection(self, b_rows=None, x_rows=None, *, system="A", max_nrhs=32):
        """Prepare solves in which few rows of b are nonzero, or few rows of x are wanted.

        Parameters
        ----------
        b_rows : array of int, optional
            Rows of b that may be nonzero, each once. None: all.
        x_rows : array of int, optional
            Rows of x that are wanted. None: all.
        system : {"A", "LDLt", "LD", "DLt", "L", "Lt"}
        max_nrhs : int
            Columns that are solved at a time, 32 at most.

        Returns
        -------
        Selection

        Raises
        ------
        ValueError
            A row is not between 0 and n - 1 or is named twice.
        NotImplementedError
            The system is "D", "P" or "Pt".

        Examples
        --------
        >>> F = gpusolve.cholesky(sp.diags([4.0, 2.0, 8.0]))
        >>> F.selection([0, 2], [2]).solve(np.array([8.0, 16.0]))
        array([2.])
        """
        return Selection(self, b_rows, x_rows, system, max_nrhs)

    def as_linear_operator(self, *, package=None):
        """The inverse of A as a linear operator, for cg, gmres, or eigsh's OPinv.

        Parameters
        ----------
        package : {None, "scipy", "cupy"}
            None: SciPy's.

        Returns
        -------
        scipy.sparse.linalg.LinearOperator or cupyx.scipy.sparse.linalg.LinearOperator
        """
        if package == "cupy":
            from cupyx.scipy.sparse.linalg import LinearOperator
        elif package in (None, "scipy"):
            from scipy.sparse.linalg import LinearOperator
        else:
            raise ValueError(f'package: must be None, "scipy" or "cupy", not {package!r}')
        return LinearOperator(self.shape, matvec=self.solve, rmatvec=self.solve, matmat=self.solve, dtype=self._dtype)

    # ------------------------------------------------------------------------------------------ numbers

    def refresh(self, A, *, triangle=None, check=True):
        """Take new numbers on the old pattern; ordering, plan and memory stay.

        Waits for solves under way in other threads. From the first refresh on, a factor of `cholesky` keeps CHOLMOD's L
        in host memory for the next one, until `close`.

        Parameters
        ----------
        A : sparse matrix, scikit-sparse factor, or tuple
            For a factor of `cholesky`: a matrix of the pattern that was factorised. For one of `from_arrays` or `load`: a
            tuple ``(kind, arrays)`` with the arguments of `from_arrays` as a dict. A factor of scikit-sparse for one
            that was made of such.
        triangle, check
            As in `cholesky`.

        Returns
        -------
        Factor
            This one.

        Raises
        ------
        NotPositiveDefiniteError
            The factor keeps its old numbers.
        ValueError
            The pattern is another one.
        """
        self._open()
        if isinstance(A, tuple):
            kind, arrays = A
            arrays = dict(arrays)
            names = ("n", "x", "perm", "p", "i", "nz", "super", "pi", "px", "s")
            fill = arrays.pop("allow_fill", False)
            unknown = set(arrays) - set(names)
            if unknown or "x" not in arrays:
                raise ValueError(f"A: arrays must be named as in from_arrays, x among them, not {sorted(arrays)}")
            arguments = described(kind, **{name: arrays.get(name) for name in names})
            self._core.refresh_arrays(*arguments, fill)
            return self
        if self._symbolic is None:
            if hasattr(A, "solve_LDLt") or type(A).__name__ == "CholeskyFactor":
                kind, L, perm = from_scikit_sparse(A)
                arguments = described(kind, L.shape[0], L.data, perm, L.indptr, L.indices, None, None, None, None, None)
                self._core.refresh_arrays(*arguments, False)
                return self
            raise TypeError("refresh: this factor was made of arrays; refresh it with (kind, arrays)")
        columns = Columns(A, triangle, check)
        same = (columns.n == self.n and columns.stype == self._columns[2]
                and np.array_equal(columns.p, self._columns[0]) and np.array_equal(columns.i, self._columns[1]))
        if not same:
            raise ValueError("A: its pattern differs from that of the matrix that was factorised")
        if columns.dtype.kind == "c" and self._dtype.kind != "c":
            raise TypeError("A: is complex, the factor is real")
        x = columns.x.astype(np.complex128) if self._dtype.kind == "c" else columns.x
        self._factorize_again((columns.n, columns.p, columns.i, x, columns.stype, 0.0))
        return self

    def _factorize_again(self, matrix):
        """In the memory of the refresh before, if no other thread has it."""
        try:
            numeric = self._kept.pop()
        except IndexError:
            numeric = self._symbolic.factorize(*matrix, False)
        else:
            numeric.factorize(*matrix)  # a failure costs the memory, not the factor
        self._core.refresh_numeric(numeric)
        self._kept[:] = [] if self._core.closed else [numeric]

    def _matrix(self, A, triangle):
        """A on the factor's backend."""
        columns = Columns(A, triangle)
        if columns.n != self.n:
            raise ValueError(f"A: is of order {columns.n}, the factor of order {self.n}")
        if columns.dtype.kind == "c" and self._dtype.kind != "c":
            raise TypeError("A: is complex, the factor is real")
        return _core.Matrix(self._core, self.n, columns.p, columns.i, columns.x.astype(self._dtype),
                            TRIANGLES[columns.triangle])

    # ------------------------------------------------------------------------------------------ lifetime

    def _open(self):
        if self._core.closed:
            raise ValueError("the factor is closed")
        return self._core

    def close(self):
        """Free the factor's memory, once solves under way are done. Later calls raise ValueError."""
        self._core.close()
        self._symbolic = self._columns = None
        self._kept.clear()

    def __enter__(self):
        self._open()
        return self

    def __exit__(self, *exception):
        self.close()

    def __repr__(self):
        if self.closed:
            return f"<gpusolve.Factor, order {self.n}, {self._dtype}, closed>"
        return f"<gpusolve.Factor, order {self.n}, {self._dtype}, {self.nnz} numbers, on {self.device}>"

    def __reduce__(self):
        raise TypeError("a Factor cannot be pickled or copied: threads may share it")


def _path(path):
    path = os.fsencode(path)
    if b"\0" in path:
        raise ValueError("path: has a null character")
    return path


def load(path, *, mmap=False, verify=True, device=None, threads=0, same_bits=False):
    """Load a factor that was saved by `Factor.save` or by the C library.

    Parameters
    ----------
    path : str, bytes or os.PathLike
        The file.
    mmap : bool
        Map the file instead of reading it first: less memory, often less time. Nobody may shorten the file meanwhile.
    verify : bool
        With mmap: compare the numbers with their checksums, too, which reads them once more.
    device, threads, same_bits
        As in `cholesky`.

    Returns
    -------
    Factor
        It cannot be refreshed with a matrix, but with arrays of its pattern.

    Raises
    ------
    OSError
        The file cannot be read.
    ValueError
        It is no saved factor, or is truncated or damaged.
    NotImplementedError
        It was saved by a newer version, or on a machine of the other byte order.
    """
    core = _core.Factor.from_file(*place(device, threads, same_bits), _path(path), bool(mmap), bool(verify))
    self = Factor._make(core, None)
    rows = np.arange(self.n)  # P maps them to perm; halves are exact in single precision
    halves = [np.asarray(self.apply_P(half)).real.astype(np.int64) for half in (rows % 65536, rows // 65536)]
    self._perm = halves[0] + 65536 * halves[1]
    self._perm.flags.writeable = False
    return self
