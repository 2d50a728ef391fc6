from typing import Any

from ._factor import Factor

class Selection:
    system: str
    def __init__(self, factor: Factor, b_rows: Any, x_rows: Any, system: str, max_nrhs: int) -> None: ...
    @property
    def info(self) -> dict[str, int]: ...
    def solve(self, b: Any, out: Any = ..., *, stream: Any = ...) -> Any: ...
