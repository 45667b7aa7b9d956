# SPDX-License-Identifier: Apache-2.0
"""An operator's choices: angles of the arm, one for each look at the panel."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def choices(dtype: np.dtype, looks: int = 256, each: int = 16, seed: int = 1) -> NDArray[np.void]:
    """`looks` angles [rad] within half a radian; each is kept for `each` looks."""
    made = np.zeros(looks, dtype)
    random = np.random.default_rng(seed)
    angles = random.uniform(-0.5, 0.5, -(-looks // each)).astype(np.float32)
    made[made.dtype.names[0]] = np.repeat(angles, each)[:looks]
    return made
