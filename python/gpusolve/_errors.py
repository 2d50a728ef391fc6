"""The package's exceptions, and which of them a status of the C library becomes."""

import numpy as np

__all__ = ["DeviceError", "NotPositiveDefiniteError", "SingularError"]


class NotPositiveDefiniteError(np.linalg.LinAlgError):
    """The matrix is not positive definite.

    Attributes
    ----------
    column : int or None
        Column of A at which the factorisation stopped, if it is known.
    """

    def __init__(self, message, column=None):
        super().__init__(message)
        self.column = column

    def __reduce__(self):
        return type(self), (self.args[0], self.column)


class SingularError(np.linalg.LinAlgError):
    """A diagonal entry of the factor is zero, or too small to divide by."""


class DeviceError(RuntimeError):
    """There is no usable CUDA device, or a CUDA call failed."""


_CLASSES = {
    "GPUSOLVE_INVALID_ARGUMENT": ValueError,
    "GPUSOLVE_INVALID_FACTOR": ValueError,
    "GPUSOLVE_NOT_FINITE": ValueError,
    "GPUSOLVE_PATTERN_MISMATCH": ValueError,
    "GPUSOLVE_TYPE_MISMATCH": TypeError,
    "GPUSOLVE_NOT_SUPPORTED": NotImplementedError,
    "GPUSOLVE_TOO_LARGE": OverflowError,
    "GPUSOLVE_SINGULAR": SingularError,
    "GPUSOLVE_OUT_OF_MEMORY": MemoryError,
    "GPUSOLVE_OUT_OF_DEVICE_MEMORY": MemoryError,
    "GPUSOLVE_NO_DEVICE": DeviceError,
    "GPUSOLVE_CUDA_ERROR": DeviceError,
    "GPUSOLVE_TIMED_OUT": DeviceError,
    "GPUSOLVE_FILE_ERROR": OSError,
    "GPUSOLVE_INVALID_FILE": ValueError,
}


def from_status(_status, name, text, column):
    """The exception for a failed call; _core raises it."""
    if name == "GPUSOLVE_NOT_POSITIVE_DEFINITE":
        return NotPositiveDefiniteError(text, column if column >= 0 else None)
    if name == "GPUSOLVE_NO_DEVICE":
        from . import _library

        text += _library.why_no_cuda()
    return _CLASSES.get(name, RuntimeError)(text)
