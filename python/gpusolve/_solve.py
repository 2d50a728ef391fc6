"""From an array of any package, dtype and layout to what _core takes, and back."""

import functools

import numpy as np
import scipy.sparse as sp

from ._arrays import INEXACT, NumPy, package_of, promote, stream_pointer

_SINGLE = ("float32", "complex64")


@functools.lru_cache(maxsize=None)
def in_precision_of(name, factor_dtype):
    """The dtype `name` in the precision of the factor, complex if either is."""
    is_complex = name.startswith("complex") or factor_dtype.startswith("complex")
    if factor_dtype in _SINGLE:
        return "complex64" if is_complex else "float32"
    return "complex128" if is_complex else "float64"


def as_operand(b, name="b"):
    """b as an array of a known package, and that package."""
    package = package_of(b)
    if package is None:
        if sp.issparse(b):
            raise TypeError(
                f"{name}: is sparse; solve with {name}.toarray(), or for few nonzero rows with Factor.selection"
            )
        b, package = np.asarray(b), NumPy
    return package.prepare(b), package


def check_shape(b, rows, name="b"):
    """Raise ValueError if b is neither (rows,) nor (rows, k)."""
    if len(b.shape) not in (1, 2) or b.shape[0] != rows:
        raise ValueError(f"{name}: has the shape {tuple(b.shape)}; wanted is ({rows},) or ({rows}, k)")


def solve(call, b, out, stream, factor_dtype, rows):
    """x by call(b, x, stream).

    `rows` are the numbers of rows of b and of x. `call` returns False, with nothing done, if it cannot take the dtype or
    the layout of an operand.
    """
    b, package = as_operand(b)
    check_shape(b, rows[0])
    wanted = (rows[1], *b.shape[1:])
    to = package if out is None else package_of(out)
    if to is None:
        raise TypeError(f"out: {type(out).__name__} is no array that can be written")
    if out is not None:
        if not to.is_mutable:
            raise TypeError("out: arrays of JAX are immutable")
        if tuple(out.shape) != wanted:
            raise ValueError(f"out: has the shape {tuple(out.shape)}; wanted is {wanted}")
    pointer = package.stream(b) if stream is None else stream_pointer(stream)
    waits = None if stream is None else pointer
    name = package.dtype_name(b)
    result = promote(name, factor_dtype)
    working = in_precision_of(result, factor_dtype)

    def empty(like, dtype):
        return package.empty_like(like, dtype) if rows[0] == rows[1] else package.empty(like, rows[1], dtype)

    if name == working and name == result:
        x = empty(b, None) if out is None else out
        if call(package.view(b, waits), to.view(x, waits), pointer):
            return package.finish(x, pointer, b) if out is None else x

    # By way of contiguous copies in the factor's precision.
    converted = package.astype(b, working)
    x = empty(converted, None) if out is None else to.empty_like(out, working)
    if not call(package.view(converted, waits), to.view(x, waits), pointer):
        raise TypeError(f"b: {type(b).__name__} of dtype {name} cannot be solved with")
    if out is not None:
        to.assign(out, x)
        return out
    x = package.finish(x, pointer, b)
    return x if working == result else package.astype(x, result)


def refine(call, b, guess, out, stream, factor_dtype, rows):
    """As solve, but x is read first where there is a guess."""
    b, package = as_operand(b)
    check_shape(b, rows)
    if not package.is_mutable:
        x = refine(call, np.asarray(b), None if guess is None else np.asarray(guess), None, None, factor_dtype, rows)
        return package.finish(x, 0, b)
    pointer = package.stream(b) if stream is None else stream_pointer(stream)
    result = promote(package.dtype_name(b), factor_dtype)
    working = in_precision_of(result, factor_dtype)
    converted = package.astype(b, working)
    x = package.empty_like(converted)
    if guess is not None:
        if tuple(guess.shape) != tuple(b.shape):
            raise ValueError(f"x: has the shape {tuple(guess.shape)}, b has {tuple(b.shape)}")
        package.assign(x, guess)
    if not call(package.view(converted), package.view(x), pointer):
        raise TypeError(f"b: {type(b).__name__} of dtype {package.dtype_name(b)} cannot be solved with")
    if out is None:
        return x if working == result else package.astype(x, result)
    if tuple(out.shape) != tuple(b.shape):
        raise ValueError(f"out: has the shape {tuple(out.shape)}, b has {tuple(b.shape)}")
    to = package_of(out)
    if to is None or not to.is_mutable:
        raise TypeError(f"out: {type(out).__name__} is no array that can be written")
    to.assign(out, x)
    return out


__all__ = ["INEXACT", "as_operand", "check_shape", "in_precision_of", "refine", "solve"]
