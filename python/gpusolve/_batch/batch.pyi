from collections.abc import Sequence
from types import TracebackType
from typing import Any, Literal, TypeVar, overload

import numpy as np
import numpy.typing as npt

_Array = TypeVar("_Array")
_System = Literal["A", "LDLt", "LD", "DLt", "L", "Lt", "D", "P", "Pt"]
_Ordering = (
    Literal["metis", "amd", "nesdis", "colamd", "natural", "default", "best"] | npt.ArrayLike | None
)

def cholesky_batch(
    matrices: Sequence[Any],
    *,
    ordering: _Ordering = ...,
    precision: Literal["single", "double"] | None = ...,
    device: str | int | None = ...,
    triangle: Literal["full", "lower", "upper"] | None = ...,
    check: bool = ...,
    mode: Literal["auto", "simplicial", "supernodal"] = ...,
    threads: int = ...,
    same_bits: bool = ...,
    storage: Literal["single"] | None = ...,
) -> Batch: ...

class Batch:
    @overload
    def solve(
        self,
        b: list[_Array] | tuple[_Array, ...],
        out: list[Any] | None = ...,
        *,
        system: _System = ...,
        active: Any = ...,
        stream: Any = ...,
    ) -> list[_Array]: ...
    @overload
    def solve(
        self,
        b: _Array,
        out: Any = ...,
        *,
        system: _System = ...,
        active: Any = ...,
        stream: Any = ...,
    ) -> _Array: ...
    def refresh(self, matrices: Sequence[Any], first: int = ...) -> Batch: ...
    def logdet(self) -> npt.NDArray[np.float64]: ...
    def __len__(self) -> int: ...
    @property
    def orders(self) -> npt.NDArray[np.int64]: ...
    @property
    def offsets(self) -> npt.NDArray[np.int64]: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def device(self) -> str: ...
    @property
    def info(self) -> dict[str, Any]: ...
    @property
    def closed(self) -> bool: ...
    def close(self) -> None: ...
    def __enter__(self) -> Batch: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...
