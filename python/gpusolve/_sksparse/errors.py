"""The exceptions of scikit-sparse, versions 0.4 and 0.5, and which of gpusolve's become them."""

import scipy.sparse as sp

from .._errors import NotPositiveDefiniteError


class CholmodError(Exception):
    """A call failed."""


class CholmodNotPositiveDefiniteError(CholmodError, NotPositiveDefiniteError):
    """The matrix is not positive definite; `column` says where, if it is known."""


class CholmodNotInstalledError(CholmodError):
    """CHOLMOD was built without what is wanted."""


class CholmodOutOfMemoryError(CholmodError, MemoryError):
    """There is not enough memory."""


class CholmodTooLargeError(CholmodError):
    """A size exceeds what CHOLMOD's integers can hold. Version 0.5 calls it CholmodOverflowError."""


class CholmodInvalidError(CholmodError, ValueError):
    """An argument is wrong, or the factor has no numbers yet. Version 0.5 calls it CholmodInvalidInputError."""


class CholmodGpuProblemError(CholmodError):
    """There is no such device, or a CUDA call failed."""


class CholmodWarning(UserWarning):
    """A result may be inaccurate, or something is slower than it need be."""


class CholmodTypeConversionWarning(CholmodWarning, sp.SparseEfficiencyWarning):
    """A matrix was converted to compressed columns."""


class CholmodSmallDiagonalWarning(CholmodWarning):
    """A diagonal entry is very small. Kept for programs that filter it; gpusolve never issues it."""


CholmodOverflowError = CholmodTooLargeError
CholmodInvalidInputError = CholmodInvalidError

_TRANSLATED = (
    (NotPositiveDefiniteError, CholmodNotPositiveDefiniteError),
    (MemoryError, CholmodOutOfMemoryError),
    (OverflowError, CholmodTooLargeError),
    (NotImplementedError, CholmodNotInstalledError),
    (ValueError, CholmodInvalidError),
    (RuntimeError, CholmodGpuProblemError),
)


class Translated:
    """Within it, gpusolve's exceptions become those of scikit-sparse."""

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        if kind is None or isinstance(error, CholmodError):
            return
        for theirs, ours in _TRANSLATED:
            if isinstance(error, theirs):
                translated = ours(str(error))
                if theirs is NotPositiveDefiniteError:
                    translated.column = error.column
                raise translated from error
