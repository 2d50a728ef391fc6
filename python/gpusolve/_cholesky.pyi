from typing import Any, Literal

import numpy.typing as npt

from ._factor import Factor

_Triangle = Literal["full", "lower", "upper"] | None
_Ordering = (
    Literal["metis", "amd", "nesdis", "colamd", "natural", "default", "best"] | npt.ArrayLike | None
)

def cholesky(
    A: Any,
    *,
    ordering: _Ordering = ...,
    precision: Literal["single", "double"] | None = ...,
    device: str | int | None = ...,
    triangle: _Triangle = ...,
    check: bool = ...,
    mode: Literal["auto", "simplicial", "supernodal"] = ...,
    threads: int = ...,
    same_bits: bool = ...,
    storage: Literal["single"] | None = ...,
) -> Factor: ...
