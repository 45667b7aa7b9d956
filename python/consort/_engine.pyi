from typing import Any

import numpy as np
from numpy.typing import NDArray

Times = NDArray[np.int64]

def inspect_region(path: str) -> dict[str, Any]: ...

# engine/rta
def fp_response(
    *,
    c: list[int],
    t: list[int],
    jitter: list[int] = ...,
    blocking: list[int] = ...,
    level: list[int] = ...,
    task: int,
    preemptive: bool = ...,
) -> dict[str, Any]: ...
def fp_responses(
    *,
    c: Times,
    t: Times,
    d: Times,
    jitter: Times | None = ...,
    blocking: Times | None = ...,
    preemptive: bool = ...,
) -> Times: ...
def fp_schedulable(
    *,
    c: Times,
    t: Times,
    d: Times,
    jitter: Times | None = ...,
    blocking: Times | None = ...,
    preemptive: bool = ...,
) -> NDArray[np.bool_]: ...
