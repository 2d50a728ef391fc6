"""The solves that have a name of their own, as scikit-sparse has them."""


class NamedSystems:
    """Methods for each of CHOLMOD's systems, by the method `solve` of the class that inherits them."""

    __slots__ = ()

    def solve_A(self, b, out=None, *, stream=None):
        """Solve A x = b; see `solve`."""
        return self.solve(b, out, system="A", stream=stream)

    def solve_LDLt(self, b, out=None, *, stream=None):
        """Solve L D L' x = b; see `solve`."""
        return self.solve(b, out, system="LDLt", stream=stream)

    def solve_LD(self, b, out=None, *, stream=None):
        """Solve L D x = b; see `solve`."""
        return self.solve(b, out, system="LD", stream=stream)

    def solve_DLt(self, b, out=None, *, stream=None):
        """Solve D L' x = b; see `solve`."""
        return self.solve(b, out, system="DLt", stream=stream)

    def solve_L(self, b, out=None, *, stream=None):
        """Solve L x = b; see `solve`."""
        return self.solve(b, out, system="L", stream=stream)

    def solve_Lt(self, b, out=None, *, stream=None):
        """Solve L' x = b; see `solve`."""
        return self.solve(b, out, system="Lt", stream=stream)

    def solve_D(self, b, out=None, *, stream=None):
        """Solve D x = b; see `solve`."""
        return self.solve(b, out, system="D", stream=stream)

    def apply_P(self, b, out=None, *, stream=None):
        """x = P b, that is ``b[perm]``; see `solve`."""
        return self.solve(b, out, system="P", stream=stream)

    def apply_Pt(self, b, out=None, *, stream=None):
        """x = P' b, the inverse of `apply_P`; see `solve`."""
        return self.solve(b, out, system="Pt", stream=stream)
