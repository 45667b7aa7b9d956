# SPDX-License-Identifier: Apache-2.0
"""The samples of the benchmark's filter."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def ramp(dtype: np.dtype[Any], rows: int) -> NDArray[Any]:
    """0, 1, ... as the hand-written loop has them."""
    table = np.zeros(rows, dtype=dtype)
    table["sample"] = np.arange(rows)
    return table
