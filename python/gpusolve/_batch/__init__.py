"""Many factors solved together."""

from .batch import Batch, cholesky_batch

__all__ = ["Batch", "cholesky_batch"]
