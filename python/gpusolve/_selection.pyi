from typing import Any

class Selection:
    system: str
    @property
    def info(self) -> dict[str, int]: ...
    def solve(self, b: Any, out: Any = ..., *, stream: Any = ...) -> Any: ...
