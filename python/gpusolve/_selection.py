"""Solves with sparse right-hand sides and for parts of x: what Factor.selection returns."""

from . import _core
from ._arguments import SYSTEMS, indices
from ._solve import solve


class Selection:
    """Solves in which few rows of b are nonzero, or few rows of x are wanted. Made by `Factor.selection`."""

    def __init__(self, factor, b_rows, x_rows, system, max_nrhs):
        if system not in SYSTEMS:
            raise ValueError(f"system: must be one of {list(SYSTEMS)}, not {system!r}")
        self._factor = factor
        b_rows = None if b_rows is None else indices(b_rows, "b_rows")
        x_rows = None if x_rows is None else indices(x_rows, "x_rows")
        self._core = _core.Selection(factor._core, SYSTEMS[system], b_rows, x_rows, max_nrhs)
        self.system = system
        self._counts = (
            factor.n if b_rows is None else len(b_rows),
            factor.n if x_rows is None else len(x_rows),
        )

    @property
    def info(self):
        """dict : how much of the tree a solve walks, and the memory of the selection, in bytes."""
        self._factor._open()
        return self._core.info()

    def solve(self, b, out=None, *, stream=None):
        """Solve for the selected rows.

        Parameters
        ----------
        b : array, shape (len(b_rows),) or (len(b_rows), k)
            Row j is row ``b_rows[j]`` of the right-hand side.
        out : array, optional
            Shape (len(x_rows),) or (len(x_rows), k).
        stream : optional
            As in `Factor.solve`.

        Returns
        -------
        x : array
            Row j is row ``x_rows[j]`` of the solution. In b's package, on its device; asynchronous as `Factor.solve`.

        Raises
        ------
        ValueError
            Wrong shape or device, or the factor is closed.
        TypeError
            b is no array of numbers.
        DeviceError
            A CUDA call failed.
        """
        self._factor._open()
        return solve(self._core.solve, b, out, stream, self._factor._dtype_name, self._counts)
