from typing import Any, Literal, NoReturn

import numpy as np
import numpy.typing as npt

from ._sksparse.errors import (
    CholmodError,
    CholmodGpuProblemError,
    CholmodInvalidError,
    CholmodInvalidInputError,
    CholmodNotInstalledError,
    CholmodNotPositiveDefiniteError,
    CholmodOutOfMemoryError,
    CholmodOverflowError,
    CholmodSmallDiagonalWarning,
    CholmodTooLargeError,
    CholmodTypeConversionWarning,
    CholmodWarning,
)
from .sksparse05 import (
    CholeskyFactor,
    SeparatorTree,
    bisect,
    cho_factor,
    cho_solve,
    etree,
    ldl,
    ldl_factor,
    metis,
    nesdis,
    symbfact,
)

__all__ = [
    "CholeskyFactor",
    "CholmodError",
    "CholmodGpuProblemError",
    "CholmodInvalidError",
    "CholmodInvalidInputError",
    "CholmodNotInstalledError",
    "CholmodNotPositiveDefiniteError",
    "CholmodOutOfMemoryError",
    "CholmodOverflowError",
    "CholmodSmallDiagonalWarning",
    "CholmodTooLargeError",
    "CholmodTypeConversionWarning",
    "CholmodWarning",
    "Factor",
    "SeparatorTree",
    "analyze",
    "analyze_AAt",
    "bisect",
    "cho_factor",
    "cho_solve",
    "cholesky",
    "cholesky_AAt",
    "etree",
    "ldl",
    "ldl_factor",
    "metis",
    "nesdis",
    "symbfact",
]

_Mode = Literal["auto", "simplicial", "supernodal"]
_Ordering = Literal["natural", "amd", "metis", "nesdis", "colamd", "default", "best"]

class Factor:
    def cholesky_inplace(self, A: Any, beta: float = ...) -> None: ...
    def cholesky_AAt_inplace(self, A: Any, beta: float = ...) -> None: ...
    def cholesky(self, A: Any, beta: float = ...) -> Factor: ...
    def cholesky_AAt(self, A: Any, beta: float = ...) -> Factor: ...
    def copy(self) -> Factor: ...
    def update_inplace(self, C: Any, subtract: bool = ...) -> NoReturn: ...
    def P(self) -> npt.NDArray[np.signedinteger[Any]]: ...
    def D(self) -> npt.NDArray[Any]: ...
    def L(self) -> Any: ...
    def LD(self) -> Any: ...
    def L_D(self) -> tuple[Any, Any]: ...
    def logdet(self) -> Any: ...
    def slogdet(self) -> tuple[float, Any]: ...
    def det(self) -> Any: ...
    def inv(self) -> Any: ...
    def __call__(self, b: Any) -> Any: ...
    def solve_A(self, b: Any) -> Any: ...
    def solve_LDLt(self, b: Any) -> Any: ...
    def solve_LD(self, b: Any) -> Any: ...
    def solve_DLt(self, b: Any) -> Any: ...
    def solve_L(self, b: Any, use_LDLt_decomposition: bool = ...) -> Any: ...
    def solve_Lt(self, b: Any, use_LDLt_decomposition: bool = ...) -> Any: ...
    def solve_D(self, b: Any) -> Any: ...
    def apply_P(self, b: Any) -> Any: ...
    def apply_Pt(self, b: Any) -> Any: ...

def analyze(
    A: Any,
    mode: _Mode = ...,
    ordering_method: _Ordering = ...,
    use_long: bool | None = ...,
    *,
    device: str | int | None = ...,
) -> Factor: ...
def analyze_AAt(
    A: Any,
    mode: _Mode = ...,
    ordering_method: _Ordering = ...,
    use_long: bool | None = ...,
    *,
    device: str | int | None = ...,
) -> Factor: ...
def cholesky(
    A: Any,
    beta: float = ...,
    mode: _Mode = ...,
    ordering_method: _Ordering = ...,
    use_long: bool | None = ...,
    *,
    device: str | int | None = ...,
    **options: NoReturn,
) -> Factor: ...
def cholesky_AAt(
    A: Any,
    beta: float = ...,
    mode: _Mode = ...,
    ordering_method: _Ordering = ...,
    use_long: bool | None = ...,
    *,
    device: str | int | None = ...,
) -> Factor: ...
