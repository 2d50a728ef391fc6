"""gpusolve and the packages beside it, behind one interface, for bench/python/peers.

A solver is made for a matrix A, with both triangles, in compressed columns. It has

factorise()     everything from A to a factor: ordering, analysis, numbers
again()         new numbers on the same pattern; KEEPS says whether the package keeps its ordering and analysis
operand(b)      b, in Fortran's order, as the package likes it best, and where it likes it
solve(b)        x for an operand
host(x)         x as an array of NumPy
wait()          returns when the device has done everything
device_name()   "host" or the device's name; for a solver that has factorised

PER_WIDTH: a factor is for one number of columns (so it is made again for each). Each package is given the ordering and the
options that suit positive definite matrices best, as its documentation tells.
"""

import numpy as np
import scipy.sparse as sp

SYMMETRIC_LU = {"permc_spec": "MMD_AT_PLUS_A", "diag_pivot_thresh": 0.0, "options": {"SymmetricMode": True}}


class Absent(Exception):
    """The package, or a device, is not there."""


def imported(name):
    try:
        return __import__(name, fromlist=["_"])
    except Exception as error:  # also a library of CUDA that is missing
        raise Absent(f"{type(error).__name__}: {error}".splitlines()[0]) from None


def cupy_with_device():
    cupy = imported("cupy")
    try:
        cupy.cuda.runtime.getDeviceCount()
        cupy.zeros(1)
    except Exception as error:
        raise Absent(f"no device: {error}".splitlines()[0]) from None
    return cupy


class Solver:
    PACKAGE, DEVICE, OPERANDS, KEEPS, PER_WIDTH = "", "cpu", "numpy", False, False

    def __init__(self, A, threads):
        self.A, self.threads = A, threads
        self.cupy = cupy_with_device() if self.OPERANDS == "cupy" else None

    def factorise(self):
        raise NotImplementedError

    def again(self):
        self.factorise()

    def operand(self, b):
        return self.cupy.asarray(b, order="F") if self.cupy else b

    def host(self, x):
        return self.cupy.asnumpy(x) if self.cupy else np.asarray(x)

    def wait(self):
        if self.cupy:
            self.cupy.cuda.runtime.deviceSynchronize()

    def device_name(self):
        return "host" if self.DEVICE == "cpu" else cupy_with_device().cuda.runtime.getDeviceProperties(0)["name"].decode()


class GpuSolve(Solver):
    PACKAGE, KEEPS = "gpusolve", True

    def factorise(self):
        import gpusolve

        self.F = None  # not two factors at once
        try:
            self.F = gpusolve.cholesky(self.A, device=self.DEVICE, threads=self.threads)
        except gpusolve.DeviceError as error:
            raise Absent(str(error)) from None
        self.solve = self.F.solve

    def again(self):
        self.F.refresh(self.A)


class GpuSolveDevice(GpuSolve):
    DEVICE = "cuda"

    def device_name(self):
        return self.F.info["device"]


class GpuSolveCupy(GpuSolveDevice):
    OPERANDS = "cupy"


class ScikitSparse(Solver):
    """Version 0.4: CHOLMOD's solve, with METIS. MODE "auto" may choose a simplicial factor."""

    PACKAGE, KEEPS, MODE = "scikit-sparse", True, "supernodal"

    def factorise(self):
        cholmod = imported("sksparse.cholmod")
        if not hasattr(cholmod, "analyze"):
            raise Absent("scikit-sparse 0.5 or later, whose interface is another one")
        self.solve = cholmod.cholesky(self.A, ordering_method="metis", mode=self.MODE)

    def again(self):
        self.solve.cholesky_inplace(self.A)


class ScikitSparseAuto(ScikitSparse):
    MODE = "auto"


class SciPy(Solver):
    PACKAGE = "scipy"

    def factorise(self):
        import scipy.sparse.linalg as spla

        self.solve = spla.splu(self.A, **SYMMETRIC_LU).solve


class CholesPy(Solver):
    """b by rows, x in place. Its constructor makes everything anew."""

    PACKAGE = "cholespy"

    def __init__(self, A, threads):
        super().__init__(A, threads)
        self.cholespy = imported("cholespy")
        xp, coo = self.cupy or np, A.tocoo()
        self.coo = [xp.asarray(coo.row.astype(np.int32)), xp.asarray(coo.col.astype(np.int32)), xp.asarray(coo.data)]
        self.x = None

    def factorise(self):
        self.factor = None
        self.factor = self.cholespy.CholeskySolverD(self.A.shape[0], *self.coo, self.cholespy.MatrixType.COO)

    def operand(self, b):
        b = (self.cupy or np).asarray(b, order="C")
        self.x = (self.cupy or np).zeros_like(b)
        return b

    def solve(self, b):
        self.factor.solve(b, self.x)
        return self.x


class CholesPyCupy(CholesPy):
    DEVICE, OPERANDS = "cuda", "cupy"


class CupyLU(Solver):
    """SciPy's splu factorises on the host; cuSPARSE solves."""

    PACKAGE, DEVICE, OPERANDS = "cupy", "cuda", "cupy"

    def factorise(self):
        import cupyx.scipy.sparse
        import cupyx.scipy.sparse.linalg

        self.solve = cupyx.scipy.sparse.linalg.splu(cupyx.scipy.sparse.csc_matrix(self.A), **SYMMETRIC_LU).solve


class NvMath(Solver):
    """cuDSS behind nvmath.sparse.advanced.DirectSolver, which is bound to the shape of its right-hand side."""

    PACKAGE, DEVICE, KEEPS, PER_WIDTH = "nvmath", "cuda", True, True

    def __init__(self, A, threads):
        super().__init__(A, threads)
        self.advanced = imported("nvmath.sparse.advanced")
        cupy_with_device()
        lower = sp.csr_matrix(sp.tril(A))
        lower.sort_indices()
        lower.indptr, lower.indices = lower.indptr.astype(np.int32), lower.indices.astype(np.int32)
        if self.cupy:
            import cupyx.scipy.sparse

            lower = cupyx.scipy.sparse.csr_matrix(lower)
        self.lower, self.solver, self.b = lower, None, None

    def operand(self, b):
        self.b = super().operand(b)
        return self.b

    def factorise(self):
        if self.solver is not None:
            self.solver.free()
        kind, view = self.advanced.DirectSolverMatrixType.SPD, self.advanced.DirectSolverMatrixViewType.LOWER
        options = {"sparse_system_type": kind, "sparse_system_view": view}
        self.solver = self.advanced.DirectSolver(self.lower, self.b, options=options)
        self.solver.plan()
        self.solver.factorize()
        self.reset = getattr(self.solver, "reset_operands_unchecked", self.solver.reset_operands)

    def again(self):
        if self.cupy:
            self.lower.data[...] = self.lower.data.copy()  # in place: the solver reads it there
        else:
            self.reset(a=self.lower)
        self.solver.factorize()

    def solve(self, b):
        self.reset(b=b)
        return self.solver.solve()


class NvMathCupy(NvMath):
    OPERANDS = "cupy"


HOST = {"gpusolve": GpuSolve, "scikit-sparse": ScikitSparse, "scikit-sparse:auto": ScikitSparseAuto, "scipy": SciPy,
        "cholespy": CholesPy}
DEVICE = {"gpusolve:cuda": GpuSolveDevice, "gpusolve:cuda,cupy": GpuSolveCupy, "cupy": CupyLU, "cholespy:cuda,cupy": CholesPyCupy,
          "nvmath": NvMath, "nvmath:cupy": NvMathCupy}
ALL = {**HOST, **DEVICE}
