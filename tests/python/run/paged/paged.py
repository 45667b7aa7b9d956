# SPDX-License-Identifier: Apache-2.0
"""Keys that walk through a state of 4 MiB, and the outputs that the step must have."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

WORDS = (4 << 20) // 4


def inputs(dtype: np.dtype[Any], rows: int) -> NDArray[Any]:
    made = np.zeros(rows, dtype=dtype)
    # A third of the walk comes again, once its pages went home.
    made["key"] = [(place % (2 * rows // 3)) * 40_009 for place in range(rows)]
    return made


def golden(inputs: NDArray[Any]) -> NDArray[Any]:
    counts = [0] * WORDS
    out = np.zeros(len(inputs), dtype=[("sum", "<u4")])
    for row, key in enumerate(int(key) for key in inputs["key"]):
        one, other = key % WORDS, (key * 2654435761 % 2**32) % WORDS
        counts[one] += key + 1
        counts[other] += 1
        out["sum"][row] = (counts[one] + counts[other]) % 2**32
    return out
