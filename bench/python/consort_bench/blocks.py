# SPDX-License-Identifier: Apache-2.0
"""Blocks of a test between blocks of a floor, and the ratio that they give."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

# A block is dropped when the larger of its two floors is more than this above the smaller.
AGREEMENT = 1.3


@dataclass(frozen=True)
class Block:
    """One block of a test: its central time and those of the floors before and after it, in one unit."""

    before: float
    value: float
    after: float

    @property
    def agrees(self) -> bool:
        return max(self.before, self.after) <= AGREEMENT * min(self.before, self.after)

    @property
    def ratio(self) -> float:
        return self.value / ((self.before + self.after) / 2)


@dataclass(frozen=True)
class Ratio:
    """The median ratio of the blocks that count, its quartiles, and how many were dropped."""

    value: float | None
    low: float | None
    high: float | None
    kept: int
    dropped: int


def central(samples: NDArray[Any]) -> float:
    """The mean of the central half of the samples.

    A median of times that the clock gives in steps of a sixth of their size can only take a few values; the
    mean of the samples around it does not jump, and is as deaf to outliers.
    """
    n = samples.size
    low, high = n // 4, max(n // 4 + 1, n - n // 4)
    return float(np.partition(samples, (low, high - 1))[low:high].mean())


def combine(blocks: Sequence[Block]) -> Ratio:
    """The ratio of a test to its floor over all blocks whose floors agree."""
    ratios = np.array([block.ratio for block in blocks if block.agrees])
    dropped = len(blocks) - ratios.size
    if not ratios.size:
        return Ratio(None, None, None, 0, dropped)
    low, middle, high = np.percentile(ratios, [25, 50, 75])
    return Ratio(float(middle), float(low), float(high), int(ratios.size), dropped)
