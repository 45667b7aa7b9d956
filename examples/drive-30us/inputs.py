# SPDX-License-Identifier: Apache-2.0
"""The current that is asked for: steps up and down."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def references(
    dtype: np.dtype, jobs: int = 4000, each: int = 200, amplitude: float = 5.0
) -> NDArray[np.void]:
    """One row a job: `amplitude` [A], then its negative, each for `each` jobs."""
    made = np.zeros(jobs, dtype)
    made["reference"] = np.where(np.arange(jobs) // each % 2 == 0, amplitude, -amplitude)
    return made
