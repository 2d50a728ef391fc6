import os
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Literal, TypeVar, overload

import numpy as np
import numpy.typing as npt

from ._selection import Selection

_Array = TypeVar("_Array")
_System = Literal["A", "LDLt", "LD", "DLt", "L", "Lt", "D", "P", "Pt"]
_Trans = Literal["N", "T", "H"]
_Triangle = Literal["full", "lower", "upper"] | None
_Kind = Literal["supernodal", "ll", "ldl"]

class Factor:
    n: int
    @classmethod
    def from_arrays(
        cls,
        kind: _Kind,
        x: npt.ArrayLike,
        *,
        n: int | None = ...,
        perm: npt.ArrayLike | None = ...,
        p: npt.ArrayLike | None = ...,
        i: npt.ArrayLike | None = ...,
        nz: npt.ArrayLike | None = ...,
        super: npt.ArrayLike | None = ...,
        pi: npt.ArrayLike | None = ...,
        px: npt.ArrayLike | None = ...,
        s: npt.ArrayLike | None = ...,
        allow_fill: bool = ...,
        device: str | int | None = ...,
        threads: int = ...,
        same_bits: bool = ...,
    ) -> Factor: ...
    @classmethod
    def from_scikit_sparse(
        cls, f: Any, *, device: str | int | None = ..., threads: int = ..., same_bits: bool = ...
    ) -> Factor: ...
    @overload
    def solve(
        self, b: Any, out: _Array, *, system: _System = ..., trans: _Trans = ..., stream: Any = ...
    ) -> _Array: ...
    @overload
    def solve(
        self, b: Sequence[Any], out: None = ..., *, system: _System = ..., trans: _Trans = ..., stream: Any = ...
    ) -> npt.NDArray[Any]: ...
    @overload
    def solve(
        self, b: _Array, out: None = ..., *, system: _System = ..., trans: _Trans = ..., stream: Any = ...
    ) -> _Array: ...
    @overload
    def __call__(
        self, b: Any, out: _Array, *, system: _System = ..., trans: _Trans = ..., stream: Any = ...
    ) -> _Array: ...
    @overload
    def __call__(
        self, b: Sequence[Any], out: None = ..., *, system: _System = ..., trans: _Trans = ..., stream: Any = ...
    ) -> npt.NDArray[Any]: ...
    @overload
    def __call__(
        self, b: _Array, out: None = ..., *, system: _System = ..., trans: _Trans = ..., stream: Any = ...
    ) -> _Array: ...
    def solve_A(self, b: Any, out: Any = ..., *, stream: Any = ...) -> Any: ...
    def solve_LDLt(self, b: Any, out: Any = ..., *, stream: Any = ...) -> Any: ...
    def solve_LD(self, b: Any, out: Any = ..., *, stream: Any = ...) -> Any: ...
    def solve_DLt(self, b: Any, out: Any = ..., *, stream: Any = ...) -> Any: ...
    def solve_L(self, b: Any, out: Any = ..., *, stream: Any = ...) -> Any: ...
    def solve_Lt(self, b: Any, out: Any = ..., *, stream: Any = ...) -> Any: ...
    def solve_D(self, b: Any, out: Any = ..., *, stream: Any = ...) -> Any: ...
    def apply_P(self, b: Any, out: Any = ..., *, stream: Any = ...) -> Any: ...
    def apply_Pt(self, b: Any, out: Any = ..., *, stream: Any = ...) -> Any: ...
    @overload
    def refine(
        self,
        A: Any,
        b: Any,
        x: Any = ...,
        *,
        out: Any = ...,
        max_steps: int = ...,
        tolerance: float | None = ...,
        min_gain: float = ...,
        method: Literal["richardson", "cg", "fgmres", "automatic"] = ...,
        restart: int = ...,
        twice: bool = ...,
        componentwise: bool = ...,
        triangle: _Triangle = ...,
        stream: Any = ...,
        return_steps: Literal[False] = ...,
    ) -> tuple[Any, float | npt.NDArray[np.float64]]: ...
    @overload
    def refine(
        self,
        A: Any,
        b: Any,
        x: Any = ...,
        *,
        out: Any = ...,
        max_steps: int = ...,
        tolerance: float | None = ...,
        min_gain: float = ...,
        method: Literal["richardson", "cg", "fgmres", "automatic"] = ...,
        restart: int = ...,
        twice: bool = ...,
        componentwise: bool = ...,
        triangle: _Triangle = ...,
        stream: Any = ...,
        return_steps: Literal[True],
    ) -> tuple[Any, float | npt.NDArray[np.float64], int | npt.NDArray[np.int32]]: ...
    def selection(
        self,
        b_rows: npt.ArrayLike | None = ...,
        x_rows: npt.ArrayLike | None = ...,
        *,
        system: Literal["A", "LDLt", "LD", "DLt", "L", "Lt"] = ...,
        max_nrhs: int = ...,
    ) -> Selection: ...
    def as_linear_operator(self, *, package: Literal["scipy", "cupy"] | None = ...) -> Any: ...
    def refresh(self, A: Any, *, triangle: _Triangle = ..., check: bool = ...) -> Factor: ...
    def save(self, path: str | bytes | os.PathLike[Any]) -> None: ...
    def rcond(self, A: Any, *, triangle: _Triangle = ...) -> float: ...
    def sample(
        self,
        count: int | None = ...,
        *,
        seed: int = ...,
        first: int = ...,
        z: Any = ...,
        mean: Any = ...,
        out: Any = ...,
        stream: Any = ...,
    ) -> Any: ...
    def multiply(
        self, b: Any, out: Any = ..., *, operator: Literal["A", "L", "Lt", "PtL", "LtP"] = ..., stream: Any = ...
    ) -> Any: ...
    def inverse_diagonal(self) -> npt.NDArray[np.float64]: ...
    def inverse_entries(self, rows: Any, columns: Any) -> npt.NDArray[Any]: ...
    def logdet(self) -> float: ...
    def slogdet(self) -> tuple[float, float]: ...
    @property
    def perm(self) -> npt.NDArray[np.int64]: ...
    @property
    def shape(self) -> tuple[int, int]: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def device(self) -> str: ...
    @property
    def nnz(self) -> int: ...
    @property
    def info(self) -> dict[str, Any]: ...
    @property
    def closed(self) -> bool: ...
    def cost(self, nrhs: int = ...) -> dict[str, float]: ...
    def summary(self) -> str: ...
    def close(self) -> None: ...
    def __enter__(self) -> Factor: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...

def load(
    path: str | bytes | os.PathLike[Any],
    *,
    mmap: bool = ...,
    verify: bool = ...,
    device: str | int | None = ...,
    threads: int = ...,
    same_bits: bool = ...,
) -> Factor: ...
