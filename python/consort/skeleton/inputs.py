"""The inputs of the task `controller`: one row a job, made before the run."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def inputs(dtype: np.dtype[Any], rows: int) -> NDArray[Any]:
    """A reference that changes its sign half-way, and a position that follows it slowly.

    `dtype` has the members of the step's In.
    """
    table = np.zeros(rows, dtype=dtype)
    table["reference"] = np.where(np.arange(rows) < rows // 2, 1.0, -1.0)
    table["position"] = np.cumsum(table["reference"]) / rows
    return table
