"""What the package's calls take: names of systems and kinds, places, index arrays, factors that others made."""

import numpy as np
import scipy.sparse as sp

from ._arrays import promote

SYSTEMS = {"A": 0, "LDLt": 1, "LD": 2, "DLt": 3, "L": 4, "Lt": 5, "D": 6, "P": 7, "Pt": 8}
DTYPES = ("float32", "float64", "complex64", "complex128")
KINDS = {"supernodal": 0, "ll": 1, "ldl": 2}
ORDERINGS = {"natural": 0, "amd": 2, "metis": 3, "nesdis": 4, "colamd": 5, "best": 9, "default": -1}
MODES = {"simplicial": 0, "auto": 1, "supernodal": 2}
PRECISIONS = (None, "single", "double")
STORAGES = (None, "single")


def place(device, threads, same_bits):
    """device as backend and ordinal: None, "cpu", "host", "cuda", "cuda:1", or an ordinal."""
    if not isinstance(threads, int) or threads < 0 or threads > 1024:
        raise ValueError(f"threads: must be 0 to 1024, not {threads!r}")
    if device is None:
        return 0, -1, threads, bool(same_bits)
    if device in ("cpu", "host"):
        return 1, -1, threads, bool(same_bits)
    if device == "cuda":
        return 2, -1, threads, bool(same_bits)
    if isinstance(device, str) and device.startswith("cuda:") and device[5:].isdigit():
        return 2, int(device[5:]), threads, bool(same_bits)
    if isinstance(device, int) and not isinstance(device, bool) and device >= 0:
        return 2, device, threads, bool(same_bits)
    raise ValueError(f'device: must be None, "cpu", "cuda", "cuda:0" or an ordinal, not {device!r}')


def indices(array, name):
    array = np.asarray(array)
    array = array.astype(np.int64) if array.size == 0 else array
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise TypeError(f"{name}: must be a vector of integers")
    return np.ascontiguousarray(array, dtype=np.int64)


def described(kind, n, x, perm, p, i, nz, super, pi, px, s):
    """The arguments of _core for plain arrays, and the permutation."""
    if kind not in KINDS:
        raise ValueError(f"kind: must be one of {sorted(KINDS)}, not {kind!r}")
    x = np.ascontiguousarray(x)
    if x.ndim != 1:
        raise ValueError("x: must be a vector")
    if x.dtype.name not in DTYPES:
        x = x.astype(promote(x.dtype.name, "float64"))
    wanted = {"super": super, "pi": pi, "px": px, "s": s} if kind == "supernodal" else {"p": p, "i": i}
    missing = [name for name, array in wanted.items() if array is None]
    if missing:
        raise ValueError(f"{missing[0]}: is wanted for kind={kind!r}")
    arrays = [indices(array, name) for name, array in wanted.items()]
    if kind != "supernodal":
        arrays.append(None if nz is None else indices(nz, "nz"))
    if len(arrays[0]) == 0:
        raise ValueError(f"{next(iter(wanted))}: is empty")
    if n is None:
        n = int(arrays[0][-1]) if kind == "supernodal" else len(arrays[0]) - 1
    perm = None if perm is None else indices(perm, "perm")
    return KINDS[kind], n, x, perm, arrays


def from_scikit_sparse(f):
    """Kind, L as sorted compressed columns, and the permutation, of either version of scikit-sparse."""
    if hasattr(f, "solve_LDLt"):  # 0.4
        kind, L, perm = "ldl", f.LD(), f.P()
    elif type(f).__name__ == "CholeskyFactor":  # 0.5
        kind, L, perm = "ll" if f.is_ll else "ldl", f.factor, f.perm
    else:
        raise TypeError(f"f: {type(f).__name__} is no factor of scikit-sparse")
    L = sp.csc_matrix(L, copy=not L.has_sorted_indices)
    L.sort_indices()
    return kind, L, np.asarray(perm)
