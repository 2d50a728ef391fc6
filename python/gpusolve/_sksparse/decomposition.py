"""What the factors of both versions of scikit-sparse share: CHOLMOD's factor in host memory, and gpusolve's solver of it."""

import numpy as np
import scipy.sparse as sp

from .. import _core, _library
from .._arrays import package_of
from .errors import CholmodInvalidError, CholmodNotPositiveDefiniteError, Translated
from .._factor import Factor

_SUPERNODAL, _LDL = 0, 2  # kinds of a factor
_BLOCK = 64  # columns of a sparse right-hand side that are solved at a time

# How a solve with one kind of factor becomes one with the other: the system to solve, and what scales b and x by rows.
# With R the square root of D, the L of L L' is the unit L of L D L' times R. The D of L L' is the identity.
_BY_LL = {  # of L D L', where L L' is held
    "L": ("L", None, lambda root: root),
    "Lt": ("Lt", lambda root: root, None),
    "LD": ("L", None, lambda root: 1 / root),
    "DLt": ("Lt", lambda root: 1 / root, None),
    "D": ("D", None, lambda root: 1 / root**2),
}
_BY_LDL = {  # of L L', where L D L' is held
    "L": ("L", None, lambda root: 1 / root),
    "Lt": ("Lt", lambda root: 1 / root, None),
    "LD": ("L", None, lambda root: 1 / root),
    "DLt": ("Lt", lambda root: 1 / root, None),
}


def scaled(x, by):
    """x with row i times by[i], in x's package."""
    by = by if len(x.shape) == 1 else by[:, None]
    package = package_of(x).__name__ if package_of(x) else "NumPy"
    if package == "Torch":
        import torch

        return x * torch.as_tensor(by, device=x.device)
    if package == "CuPy":
        import cupy

        return x * cupy.asarray(by)
    if package == "JAX":
        import jax

        return x * jax.numpy.asarray(by)
    return x * by


class Decomposition:
    """An analysis of a pattern; once it has numbers, L L' or L D L' and a solver. Copies share it until one gets new numbers."""

    def _analyze(self, pattern, mode, ordering, place):
        _library.open_cholmod()
        with Translated():
            self._symbolic = _core.Symbolic(*pattern, ordering, mode, None)
        self._pattern = pattern
        self._place = place
        self._numeric = self._solver = None
        self._is_shared = False
        self._parts = {}

    def copy(self):
        """A copy; the numbers are shared until one of the two gets new ones."""
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__)
        self._is_shared = copy._is_shared = True
        return copy

    # ------------------------------------------------------------------------------------------ numbers

    def _fitted(self, pattern, x):
        """The numbers x of a matrix, on the pattern that was analysed."""
        n, p, i, stype = self._pattern
        if pattern.n != n or len(pattern.p) != len(p):
            raise CholmodInvalidError("A and L dimensions do not match")
        if np.array_equal(pattern.p, p) and np.array_equal(pattern.i, i):
            return x
        # A subset of the pattern: the other entries are zeros.
        keys = np.repeat(np.arange(len(p) - 1), np.diff(p)) * n + i
        column = np.repeat(np.arange(len(p) - 1), np.diff(pattern.p))
        is_used = (pattern.i - column) * stype <= 0  # in the triangle that counts
        wanted = (column * n + pattern.i)[is_used]
        at = np.searchsorted(keys, wanted)
        if len(wanted) and (len(keys) == 0 or (keys[np.minimum(at, len(keys) - 1)] != wanted).any()):
            raise CholmodInvalidError("A: has entries outside of the pattern that was analysed")
        fitted = np.zeros(len(i), x.dtype)
        fitted[at] = x[is_used]
        return fitted

    def _factorize(self, pattern, x, beta, is_ldl, is_single=False):
        """Take the numbers x of A and factorise A + beta I. If it is not positive definite, the old numbers stay."""
        x = self._fitted(pattern, x)
        n, p, i, stype = self._pattern
        with Translated():
            numeric = self._symbolic.factorize(n, p, i, x, stype, float(beta), is_ldl)
            single = np.complex64 if x.dtype.kind == "c" else np.float32
            dtype = single if is_single else x.dtype
            if (self._solver is not None and not self._is_shared and self._solver.dtype == dtype
                    and self._numeric.kind == numeric.kind):
                self._solver._core.refresh_numeric(numeric)
            else:
                core = _core.Factor.from_numeric(*self._place, numeric, is_single, False)
                self._solver = Factor._make(core, np.array(self._symbolic.perm))
                self._is_shared = False
        self._numeric = numeric
        self._parts = {}

    # -------------------------------------------------------------------------------------------- parts

    @property
    def _holds_ldl(self):
        return self._numeric.kind == _LDL

    def _diagonal(self):
        """D of L D L', as real numbers in double precision."""
        if "D" not in self._parts:
            diagonal = self._numeric.diagonal()
            self._parts["D"] = diagonal if self._holds_ldl else diagonal * diagonal
        return self._parts["D"]

    def _root(self):
        """Square roots of D: the diagonal of L in L L'."""
        d = self._diagonal()
        if not (d > 0).all():
            at = int(np.argmax(~(d > 0)))
            error = CholmodNotPositiveDefiniteError("L not positive definite")
            error.column = int(self._symbolic.perm[at])
            raise error
        return np.sqrt(d)

    def _logdet(self):
        """Logarithm of the determinant, NaN if D has a negative entry."""
        if self._holds_ldl and not (self._diagonal() > 0).all():
            return float("nan")
        return self._solver._core.slogdet()[1]

    def _held(self):
        """L as CHOLMOD holds it, in compressed columns; D of L D L' is on its diagonal."""
        if "L" not in self._parts:
            arrays = self._numeric.arrays()
            n, x = arrays["n"], arrays["x"]
            if arrays["kind"] == _SUPERNODAL:
                first, counts = arrays["super"][:-1], np.diff(arrays["super"])
                heights = np.diff(arrays["pi"])
                snode = np.repeat(np.arange(len(counts)), counts)
                within = np.arange(n) - first[snode]
                rows = heights[snode] - within
                starts = arrays["px"][:-1][snode] + within * heights[snode] + within
                row_starts = arrays["pi"][:-1][snode] + within
                offsets = np.arange(rows.sum()) - np.repeat(np.cumsum(rows) - rows, rows)
                indices = arrays["s"][np.repeat(row_starts, rows) + offsets]
                data = x[np.repeat(starts, rows) + offsets]
                L = sp.csc_matrix((data, indices, np.concatenate([[0], np.cumsum(rows)])), shape=(n, n))
            else:
                counts = arrays["nz"]
                offsets = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
                at = np.repeat(arrays["p"][:-1], counts) + offsets
                L = sp.csc_matrix((x[at], arrays["i"][at], np.concatenate([[0], np.cumsum(counts)])), shape=(n, n))
                L.sort_indices()
            self._parts["L"] = L
        return self._parts["L"]

    def _combined(self, is_ldl):
        """A copy of L of L L'; or of the unit L of L D L', with D on its diagonal."""
        L = self._held().copy()
        if is_ldl == self._holds_ldl:
            return L
        root = self._root()
        by = np.repeat(root, np.diff(L.indptr))
        L.data = L.data / by if is_ldl else L.data * by
        L.data[L.indptr[:-1]] = self._diagonal() if is_ldl else root
        return L

    # ------------------------------------------------------------------------------------------- solves

    def _solve(self, b, system, is_ldl):
        """Solve a system of L D L' or of L L', whichever of the two is held; b is dense."""
        before = after = None
        if system == "D" and not is_ldl:
            return scaled(b, np.ones(self._pattern.n, self._solver.dtype))
        if is_ldl != self._holds_ldl and system in _BY_LL:
            system, before, after = (_BY_LL if is_ldl else _BY_LDL)[system]
        root = None
        if before or after:
            root = self._root().astype(self._solver.dtype.type(0).real.dtype)
        with Translated():
            b = b if before is None else scaled(b, before(root))
            x = self._solver.solve(b, system=system)
            return x if after is None else scaled(x, after(root))

    def _solve_sparse(self, b, container, solve):
        """As solve(b), for a sparse matrix b, by blocks of columns."""
        b = b.tocsc()
        count = b.shape[1]
        blocks = [container(solve(b[:, k:k + _BLOCK].toarray())) for k in range(0, max(count, 1), _BLOCK)]
        return blocks[0] if len(blocks) == 1 else container(sp.hstack(blocks, format="csc"))
