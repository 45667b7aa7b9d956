# SPDX-License-Identifier: Apache-2.0
"""Ratios to the floor: the bare cache-line round trip, measured in blocks between the blocks of the test.

The host of a virtual machine moves its processors: the floor itself changes two- to fourfold within one
run. A block counts only where the floor before it and the floor after it agree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

# The most by which the larger of two floors that agree is above the smaller.
AGREEMENT = 1.3
# The clock may step by a tenth of what is timed, so a median would only take a few values: a mean without
# the slowest tenth, which is where interruptions are.
KEPT = 0.9


@dataclass(frozen=True)
class Ratio:
    """The median of the ratios of all blocks whose floors agree; None where no block's floors do."""

    value: float | None
    blocks: int
    blocks_used: int
    floor_ns: float


def typical(times: NDArray[Any]) -> float:
    """The mean of all but the slowest tenth."""
    kept = max(1, int(times.size * KEPT))
    return float(np.partition(times, kept - 1)[:kept].mean())


def block_bounds(iterations: int, rounds: int) -> NDArray[np.int64]:
    """The bounds of a series' blocks; the same division as in bench/loopback/loopback.cpp."""
    return np.arange(rounds + 1, dtype=np.int64) * iterations // rounds


def ratio_to_floor(
    times: NDArray[Any], rounds: int, index: int, sizes: int, floor: NDArray[Any], block: int
) -> Ratio:
    """The ratio of series `index` of `sizes` series that took turns in `rounds` rounds."""
    floors = np.array([typical(part) for part in floor.reshape(-1, block)])
    bounds = block_bounds(times.size, rounds)
    ratios: list[float] = []
    used: list[float] = []
    for turn in range(rounds):
        before, after = floors[turn * sizes + index : turn * sizes + index + 2]
        if max(before, after) <= AGREEMENT * min(before, after):
            around = (before + after) / 2
            ratios.append(typical(times[bounds[turn] : bounds[turn + 1]]) / around)
            used.append(around)
    value = float(np.median(ratios)) if ratios else None
    return Ratio(value, rounds, len(ratios), float(np.median(used if used else floors)))
