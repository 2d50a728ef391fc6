"""The solve phase of sparse Cholesky, on NVIDIA GPUs and on the host.

>>> import numpy as np, scipy.sparse as sp, gpusolve
>>> A = sp.diags([-1.0, 4.0, -1.0], [-1, 0, 1], shape=(5, 5)).tocsc()
>>> F = gpusolve.cholesky(A)
>>> x = F.solve(np.ones(5))
>>> bool(np.allclose(A @ x, 1))
True

A factor is made once and solved with many times: on the GPU if there is one, otherwise on the host.
"""

from . import _library

_path = _library.load()

from ._batch import Batch, cholesky_batch  # noqa: E402
from ._cholesky import cholesky  # noqa: E402
from ._errors import DeviceError, NotPositiveDefiniteError, SingularError  # noqa: E402
from ._factor import Factor, load  # noqa: E402
from ._selection import Selection  # noqa: E402
from ._linalg import SparseCholesky, factorized, splu, spsolve  # noqa: E402
from ._core import version as _version  # noqa: E402

__version__ = _version()
__all__ = [
    "Batch",
    "DeviceError",
    "Factor",
    "NotPositiveDefiniteError",
    "Selection",
    "SingularError",
    "SparseCholesky",
    "cholesky",
    "cholesky_batch",
    "factorized",
    "load",
    "splu",
    "spsolve",
]
