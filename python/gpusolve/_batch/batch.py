"""gpusolve.cholesky_batch, and the batch that it returns."""

import numpy as np

from .. import _core
from .._arguments import DTYPES, SYSTEMS, place
from .._arrays import NumPy, package_of, promote, stream_pointer
from .._cholesky import Factoriser
from .._errors import NotPositiveDefiniteError
from .._solve import as_operand, check_shape, in_precision_of


class _Pattern:
    """A pattern, its analysis, and the members that have it."""

    def __init__(self, factoriser, columns):
        self.columns = columns
        self.symbolic = factoriser.analyse(columns)

    def is_of(self, columns):
        mine = self.columns
        return (mine.n == columns.n and mine.stype == columns.stype and np.array_equal(mine.p, columns.p)
                and np.array_equal(mine.i, columns.i))


def _factorise(factoriser, pattern, columns, member):
    """A member's numbers; an error names the member."""
    try:
        return factoriser.factorise(pattern.symbolic, columns)
    except NotPositiveDefiniteError as error:
        raise NotPositiveDefiniteError(f"matrices[{member}]: {error}", error.column) from None


def _logdet(numeric):
    return 2 * float(np.log(numeric.diagonal()).sum())  # L's: members are factorised as L L'


def cholesky_batch(matrices, *, ordering="metis", precision=None, device=None, triangle=None, check=True, mode="auto", threads=0,
                   same_bits=False, storage=None):
    """Factorise many symmetric or Hermitian positive definite matrices, which are then solved with together.

    Matrices that follow each other and have one pattern are analysed once.

    Parameters
    ----------
    matrices : sequence of sparse matrices or arrays of SciPy or CuPy
        The members' matrices, of any orders and patterns.
    ordering, precision, device, triangle, check, mode, threads, same_bits, storage
        As in `cholesky`, for all members. With precision None members are in single precision if all matrices are; all are
        complex if one is.

    Returns
    -------
    Batch

    Raises
    ------
    NotPositiveDefiniteError
        A matrix is not positive definite; the message says which one.
    ValueError
        A matrix is not square or not symmetric, or holds a NaN or an infinity.
    ImportError
        CHOLMOD was not found.
    DeviceError
        There is no such device.

    Examples
    --------
    >>> A = sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(4, 4))
    >>> B = gpusolve.cholesky_batch([A, 2 * A, 4 * A])
    >>> print(B.solve(np.tile([4.0, 0.0, 0.0, 4.0], (3, 1))))
    [[4. 4. 4. 4.]
     [2. 2. 2. 2.]
     [1. 1. 1. 1.]]
    """
    where = place(device, threads, same_bits)
    factoriser = Factoriser(ordering, precision, triangle, check, mode, storage)
    all_columns = [factoriser.columns(A, f"matrices[{k}]") for k, A in enumerate(matrices)]
    is_complex = any(columns.dtype.kind == "c" for columns in all_columns)
    is_single = bool(all_columns) and all(factoriser.is_single(columns) for columns in all_columns)
    patterns, numerics = [], []
    for k, columns in enumerate(all_columns):
        pattern = patterns[-1] if patterns and patterns[-1].is_of(columns) else _Pattern(factoriser, columns)
        patterns.append(pattern)
        if is_complex:
            columns.x = columns.x.astype(np.complex128)
        numerics.append(_factorise(factoriser, pattern, columns, k))
    core = _core.Batch.from_numerics(*where, numerics, is_single, storage == "single")
    return Batch._make(core, factoriser, patterns, [_logdet(numeric) for numeric in numerics])


class Batch:
    """Many Cholesky factors, the members, which one call solves with.

    Made by `cholesky_batch`. Threads may share it. It is freed by `close`, at the end of a ``with`` block, or with its last
    reference.
    """

    __slots__ = ("_core", "_factoriser", "_patterns", "_logdets", "_offsets", "_dtype_name", "__weakref__")

    def __init__(self):
        raise TypeError("a Batch is made by gpusolve.cholesky_batch")

    @classmethod
    def _make(cls, core, factoriser, patterns, logdets):
        self = object.__new__(cls)
        self._core, self._factoriser, self._patterns = core, factoriser, patterns
        self._logdets = np.array(logdets, dtype=np.float64)
        self._offsets = core.offsets
        self._offsets.flags.writeable = False
        self._dtype_name = DTYPES[core.dtype]
        return self

    # ------------------------------------------------------------------------------------------- solving

    def solve(self, b, out=None, *, system="A", active=None, stream=None):
        """Solve with every member.

        Parameters
        ----------
        b : array, shape (count, n) or (count, n, k), or a list or tuple of arrays, each of shape (n_i,) or (n_i, k_i)
            The members' right-hand sides: stacked, if all members have one order, or one by one; of NumPy, CuPy, PyTorch or JAX.
            A stack in C order is not copied. All blocks of a list are of one package, on one device.
        out : array or list of arrays, optional
            Where x is stored; of b's shapes; may be b itself.
        system : {"A", "LDLt", "LD", "DLt", "L", "Lt", "D", "P", "Pt"}
            As in `Factor.solve`.
        active : array of bool, shape (count,), optional
            Members for which it is False keep what `out` has, which must be given then. On a device, a CuPy array or PyTorch
            tensor of bool or uint8 there is read when the solve runs.
        stream : optional
            As in `Factor.solve`.

        Returns
        -------
        x : array or list of arrays
            As b. Arrays of CuPy and PyTorch on a device are computed asynchronously, on the stream; those of JAX by way of
            host memory.

        Raises
        ------
        ValueError
            Wrong shape or device, a stack for members of different orders, or the batch is closed.
        TypeError
            b is no array of numbers, a block of a list is of another package than the first, or wants a gradient, which PyTorch has
            for stacks alone.
        DeviceError
            A CUDA call failed.

        Examples
        --------
        >>> B = gpusolve.cholesky_batch([sp.diags([4.0, 9.0]), sp.diags([2.0, 4.0, 8.0])])
        >>> B.solve([np.array([8.0, 9.0]), np.array([2.0, 4.0, 8.0])])
        [array([2., 1.]), array([1., 1., 1.])]
        """
        core = self._open()
        try:
            code = SYSTEMS[system]
        except (KeyError, TypeError):
            raise ValueError(f"system: must be one of {list(SYSTEMS)}, not {system!r}") from None
        if active is not None and out is None:
            raise ValueError("out: must be given with active, for what members that are left out keep")
        is_list = isinstance(b, (list, tuple))
        if not is_list and _wants_gradient(b):
            from .._torch import solve_with_gradient

            if out is not None:
                raise TypeError("out: cannot be given where a gradient of b is wanted")
            return solve_with_gradient(self, b, system, stream)
        blocks, package = _operands(b, "b") if is_list else _stack(b, "b")
        shapes = self._check_list(blocks) if is_list else self._check_stack(blocks)
        if not package.is_mutable:
            return self._solve_on_host(b, out, system, active, stream, package)
        outs, to = (None, package) if out is None else _operands(out, "out") if is_list else _stack(out, "out")
        if not to.is_mutable:
            raise TypeError("out: arrays of JAX are immutable")
        if outs is not None and [tuple(x.shape) for x in outs] != shapes:
            raise ValueError(f"out: must have b's shape{'s' if is_list else ''}")
        pointer = 0 if not blocks else package.stream(blocks[0]) if stream is None else stream_pointer(stream)
        waits = None if stream is None else pointer
        mask, kept = self._active(active)

        def call(blocks, results):
            if is_list:
                return core.solve([package.view(x, waits) for x in blocks], [to.view(x, waits) for x in results], code, mask, pointer)
            ends = [views[k] if k < len(self) else None
                    for views in (_views(blocks[0], package, waits), _views(results[0], to, waits)) for k in (0, 1)]
            return core.solve_stack(*ends, code, mask, pointer)

        results = _solve(call, blocks, outs, package, to, self._dtype_name) if len(self) else outs or blocks
        del kept
        return results if is_list else results[0]

    def _solve_on_host(self, b, out, system, active, stream, package):
        """For a b that cannot be written: by way of NumPy's arrays."""
        is_list = isinstance(b, (list, tuple))
        host = [np.asarray(of) for of in b] if is_list else np.asarray(b)
        x = self.solve(host, out, system=system, active=active, stream=stream)
        if out is not None:
            return x
        return [package.finish(own, 0, of) for own, of in zip(x, b)] if is_list else package.finish(x, 0, b)

    def _check_list(self, blocks):
        if len(blocks) != len(self):
            raise ValueError(f"b: has {len(blocks)} blocks, the batch has {len(self)} members")
        for k, block in enumerate(blocks):
            check_shape(block, int(self._offsets[k + 1] - self._offsets[k]), f"b[{k}]")
        return [tuple(block.shape) for block in blocks]

    def _check_stack(self, blocks):
        shape, orders = tuple(blocks[0].shape), np.unique(self.orders)
        if len(orders) > 1:
            raise ValueError("b: the members have different orders, so it must be a list of blocks")
        order = int(orders[0]) if len(orders) else 0
        if len(shape) not in (2, 3) or shape[0] != len(self) or (len(self) and shape[1] != order):
            raise ValueError(f"b: has the shape {shape}; wanted is ({len(self)}, {order}) or ({len(self)}, {order}, k)")
        return [shape]

    def _active(self, active):
        """The address of a byte for each member, and what holds them."""
        if active is None:
            return 0, None
        if hasattr(active, "__cuda_array_interface__"):
            array = active.__cuda_array_interface__
            if tuple(array["shape"]) != (len(self),) or array["typestr"][1:] not in ("b1", "u1") or array.get("strides"):
                raise ValueError(f"active: must be a contiguous array of {len(self)} bool or uint8")
            if not self._core.is_on_device:
                raise ValueError("active: is on a CUDA device, but the batch is on the host")
            return array["data"][0], active
        active = np.ascontiguousarray(active, dtype=bool)
        if active.shape != (len(self),):
            raise ValueError(f"active: has the shape {active.shape}; wanted is ({len(self)},)")
        return active.ctypes.data if len(self) else 0, active

    # ------------------------------------------------------------------------------------------ numbers

    def refresh(self, matrices, first=0):
        """Take new numbers for some members, on their old patterns.

        Parameters
        ----------
        matrices : sequence of sparse matrices
            Of members first, first + 1, ...; of the patterns that were factorised.
        first : int

        Returns
        -------
        Batch
            This one.

        Raises
        ------
        NotPositiveDefiniteError
            All members keep their old numbers.
        ValueError
            The pattern is another one, or there are no such members.
        """
        self._open()
        matrices = list(matrices)
        if not 0 <= first <= len(self) - len(matrices):
            raise ValueError(f"first: members {first} to {first + len(matrices) - 1} are not all of 0 to {len(self) - 1}")
        numerics = []
        for k, A in enumerate(matrices):
            pattern, columns = self._patterns[first + k], self._factoriser.columns(A, f"matrices[{k}]")
            if not pattern.is_of(columns):
                raise ValueError(f"matrices[{k}]: its pattern differs from that of the matrix that was factorised")
            if columns.dtype.kind == "c" and not self._dtype_name.startswith("complex"):
                raise TypeError(f"matrices[{k}]: is complex, the batch is real")
            if self._dtype_name.startswith("complex"):
                columns.x = columns.x.astype(np.complex128)
            numerics.append(_factorise(self._factoriser, pattern, columns, k))
        self._core.refresh(first, numerics)
        self._logdets[first:first + len(numerics)] = [_logdet(numeric) for numeric in numerics]
        return self

    def logdet(self):
        """Logarithms of the determinants of the members' matrices.

        Returns
        -------
        ndarray of float64, shape (count,)

        Examples
        --------
        >>> B = gpusolve.cholesky_batch([sp.diags([1.0, 1.0]), sp.diags([4.0, 0.25])])
        >>> B.logdet()
        array([0., 0.])
        """
        self._open()
        return self._logdets.copy()

    def __len__(self):
        return len(self._offsets) - 1

    @property
    def orders(self):
        """ndarray of int, shape (count,) : the order of each member."""
        return np.diff(self._offsets)

    @property
    def offsets(self):
        """ndarray of int, shape (count + 1,) : sums of the orders before each member. Read-only."""
        return self._offsets

    @property
    def dtype(self):
        """numpy.dtype : of the members' numbers."""
        return np.dtype(self._dtype_name)

    @property
    def device(self):
        """str : "cpu", or "cuda:0"."""
        core = self._open()
        return f"cuda:{core.device}" if core.is_on_device else "cpu"

    @property
    def info(self):
        """dict : what the batch is and takes.

        "device" is a name; "count", "n" (the sum of the orders) and "patterns" count; keys that end in "_bytes" are bytes.
        """
        return self._open().info()

    @property
    def closed(self):
        """bool : whether `close` was called."""
        return self._core.closed

    # ----------------------------------------------------------------------------------------- lifetime

    def _open(self):
        if self._core.closed:
            raise ValueError("the batch is closed")
        return self._core

    def close(self):
        """Free the members' memory, once solves under way are done. Later calls raise ValueError."""
        self._core.close()
        self._patterns = []

    def __enter__(self):
        self._open()
        return self

    def __exit__(self, *exception):
        self.close()

    def __repr__(self):
        if self.closed:
            return f"<gpusolve.Batch, {len(self)} members, {self._dtype_name}, closed>"
        return f"<gpusolve.Batch, {len(self)} members, {self._dtype_name}, on {self.device}>"

    def __reduce__(self):
        raise TypeError("a Batch cannot be pickled or copied: threads may share it")


def _wants_gradient(b):
    package = package_of(b)
    return package is not None and package.needs_gradient(b)


def _operands(blocks, name):
    """The blocks of a list as arrays of one package, and that package."""
    if not isinstance(blocks, (list, tuple)):
        raise TypeError(f"{name}: must be a list of arrays, as b is")
    pairs = [as_operand(block, f"{name}[{k}]") for k, block in enumerate(blocks)]
    package = pairs[0][1] if pairs else NumPy
    for k, (block, own) in enumerate(pairs):
        if own is not package:
            raise TypeError(f"{name}[{k}]: {type(block).__name__} is of another package than {name}[0]")
        if own.needs_gradient(block):
            raise TypeError(f"{name}[{k}]: wants a gradient, which there is for stacks alone; detach it")
    return [block for block, _ in pairs], package


def _stack(b, name):
    """A list of the stack alone, and its package."""
    if isinstance(b, (list, tuple)):
        raise TypeError(f"{name}: must be one array, as b is")
    b, package = as_operand(b, name)
    return [b], package


def _views(stack, package, waits):
    """Of the first two members' blocks."""
    return [package.view(stack[k], waits) for k in range(min(2, stack.shape[0]))]


def _is_complex(name):
    return name.startswith("complex")


def _solve(call, blocks, outs, package, to, factor_dtype):
    """The results by call(blocks, results), which returns False, with nothing done, if it cannot take a dtype or layout."""
    names = [package.dtype_name(block) for block in blocks]
    wanted = [promote(name, factor_dtype) for name in names]
    given = wanted if outs is None else [to.dtype_name(x) for x in outs]
    for name, own in zip(wanted, given):
        if _is_complex(name) and not _is_complex(own):
            raise TypeError(f"out: of dtype {own} cannot hold x of dtype {name}")
    is_complex = any(_is_complex(name) for name in wanted + given)
    working = in_precision_of("complex128" if is_complex else "float64", factor_dtype)
    if all(name == working for name in names + wanted):
        results = [package.empty_like(block) for block in blocks] if outs is None else outs
        if call(blocks, results):
            return results
    # By way of contiguous copies in the factor's precision; what members that are left out keep is in them, too.
    converted = [package.astype(block, working) for block in blocks]
    results = [package.empty_like(block) for block in converted] if outs is None else [to.astype(x, working) for x in outs]
    if not call(converted, results):
        raise TypeError(f"b: {type(blocks[0]).__name__} of dtype {names[0]} cannot be solved with")
    results = [x.real if is_complex and not _is_complex(name) else x for x, name in zip(results, given)]
    if outs is None:
        return [x if package.dtype_name(x) == name else package.astype(x, name) for x, name in zip(results, wanted)]
    for x, out in zip(results, outs):
        to.assign(out, x)
    return outs


__all__ = ["Batch", "cholesky_batch"]
