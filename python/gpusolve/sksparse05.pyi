from typing import Any

from ._sksparse.cholesky_factor import CholeskyFactor, _Mode, _Order, _SymKind
from ._sksparse.errors import (
    CholmodError,
    CholmodGpuProblemError,
    CholmodInvalidInputError,
    CholmodNotInstalledError,
    CholmodNotPositiveDefiniteError,
    CholmodOutOfMemoryError,
    CholmodOverflowError,
    CholmodSmallDiagonalWarning,
    CholmodWarning,
)
from ._sksparse.graphs import SeparatorTree, bisect, etree, metis, nesdis, symbfact

__all__ = [
    "CholeskyFactor",
    "CholmodError",
    "CholmodGpuProblemError",
    "CholmodInvalidInputError",
    "CholmodNotInstalledError",
    "CholmodNotPositiveDefiniteError",
    "CholmodOutOfMemoryError",
    "CholmodOverflowError",
    "CholmodSmallDiagonalWarning",
    "CholmodWarning",
    "SeparatorTree",
    "bisect",
    "cho_factor",
    "cho_solve",
    "cholesky",
    "etree",
    "ldl",
    "ldl_factor",
    "metis",
    "nesdis",
    "symbfact",
]

def cho_factor(
    A: Any,
    beta: float = ...,
    *,
    lower: bool = ...,
    order: _Order = ...,
    sym_kind: _SymKind = ...,
    supernodal_mode: _Mode = ...,
    device: str | int | None = ...,
) -> CholeskyFactor: ...
def ldl_factor(
    A: Any,
    beta: float = ...,
    *,
    lower: bool = ...,
    order: _Order = ...,
    sym_kind: _SymKind = ...,
    supernodal_mode: _Mode = ...,
    device: str | int | None = ...,
) -> CholeskyFactor: ...
def cholesky(
    A: Any,
    beta: float = ...,
    *,
    lower: bool = ...,
    order: _Order = ...,
    sym_kind: _SymKind = ...,
    supernodal_mode: _Mode = ...,
) -> Any: ...
def ldl(
    A: Any,
    beta: float = ...,
    *,
    lower: bool = ...,
    order: _Order = ...,
    sym_kind: _SymKind = ...,
    supernodal_mode: _Mode = ...,
) -> Any: ...
def cho_solve(
    A: Any, b: Any, *, lower: bool = ..., order: _Order = ..., device: str | int | None = ...
) -> Any: ...
