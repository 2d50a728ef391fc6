"""What a factor knows of itself and of A."""


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
