# SPDX-License-Identifier: Apache-2.0
"""Ticks of a recording's clock to integer nanoseconds, for whole columns at a time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


def to_ns(ticks: Ints, ticks_per_second: float) -> Ints:
    """Durations or run-relative time stamps in nanoseconds, rounded to the nearest one.

    The product is formed in float64, which is exact to a nanosecond for spans up to 2**53 ns (104 days);
    that is why time stamps are made relative to the run's first tick before they come here.
    """
    if ticks_per_second == 1e9:
        return ticks
    scaled: Ints = np.rint(ticks * (1e9 / ticks_per_second)).astype(np.int64)
    return scaled
