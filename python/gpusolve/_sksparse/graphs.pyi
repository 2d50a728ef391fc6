from typing import Any, Literal, NamedTuple, overload

import numpy as np
import numpy.typing as npt

_Ints = npt.NDArray[np.signedinteger[Any]]
_TreeKind = Literal["sym", "lo", "row", "col"] | None
_Kind = Literal["sym", "row", "col"] | None

class SymbolicCholFactor(NamedTuple):
    count: _Ints  # type: ignore[assignment]
    h: int
    parent: _Ints
    post: _Ints
    L: Any

class SeparatorTree:
    def __init__(self, cp: npt.ArrayLike, cmember: npt.ArrayLike) -> None: ...
    @property
    def cp(self) -> _Ints: ...
    @property
    def cmember(self) -> _Ints: ...
    def prune(self, *, nd_oksep: float | None = ..., nd_small: int | None = ...) -> SeparatorTree: ...

@overload
def etree(A: Any, *, kind: _TreeKind = ..., return_post: Literal[False] = ...) -> _Ints: ...
@overload
def etree(A: Any, *, kind: _TreeKind = ..., return_post: Literal[True]) -> tuple[_Ints, _Ints]: ...
def symbfact(
    A: Any, *, kind: _TreeKind = ..., lower: bool = ..., return_factor: bool = ...
) -> SymbolicCholFactor: ...
def bisect(A: Any, *, kind: _Kind = ...) -> _Ints: ...
def metis(A: Any, *, kind: _Kind = ...) -> _Ints: ...
@overload
def nesdis(
    A: Any,
    *,
    kind: _Kind = ...,
    return_separator: Literal[False] = ...,
    nd_small: int | None = ...,
    nd_components: bool | None = ...,
    nd_oksep: float | None = ...,
    nd_camd: int | None = ...,
) -> _Ints: ...
@overload
def nesdis(
    A: Any,
    *,
    kind: _Kind = ...,
    return_separator: Literal[True],
    nd_small: int | None = ...,
    nd_components: bool | None = ...,
    nd_oksep: float | None = ...,
    nd_camd: int | None = ...,
) -> tuple[_Ints, SeparatorTree]: ...
