# SPDX-License-Identifier: Apache-2.0
"""Random task sets: utilisations and periods as the field's evaluations draw them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

PeriodLaw = Literal["log-uniform", "uniform", "automotive"]

# Share of runnables by period [ms] of an engine control unit, the angle-synchronous 15 % left out: Kramer,
# Ziegenbein, Hamann, Real World Automotive Benchmarks for Free, WATERS 2015, Table III.
AUTOMOTIVE_PERIODS: dict[int, float] = {
    1: 0.03,
    2: 0.02,
    5: 0.02,
    10: 0.25,
    20: 0.25,
    50: 0.03,
    100: 0.20,
    200: 0.01,
    1000: 0.04,
}


def uunifast(n: int, total: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """n utilisations that sum to `total`, uniform over all such vectors (Bini & Buttazzo 2005).

    Up to a total of 1 no element is above 1. ValueError for n < 1 or total <= 0.
    """
    if n < 1 or total <= 0:
        raise ValueError("at least one task and a utilisation above 0 are needed")
    exponents = 1.0 / np.arange(n - 1, 0, -1)
    remaining = np.concatenate([[total], total * np.cumprod(rng.random(n - 1) ** exponents)])
    return np.asarray(remaining - np.append(remaining[1:], 0.0))


def periods(
    n: int, law: PeriodLaw, rng: np.random.Generator, low_ms: float = 10.0, high_ms: float = 100.0
) -> NDArray[np.int64]:
    """n periods in ns. The automotive law has its own range."""
    if law == "automotive":
        values = np.array(list(AUTOMOTIVE_PERIODS))
        weights = np.array(list(AUTOMOTIVE_PERIODS.values()))
        return np.asarray(rng.choice(values, n, p=weights / weights.sum()) * 1_000_000, dtype=np.int64)
    if not 0 < low_ms <= high_ms:
        raise ValueError("0 < low_ms <= high_ms is needed")
    if law == "uniform":
        drawn = rng.uniform(low_ms, high_ms, n)
    else:
        drawn = np.exp(rng.uniform(np.log(low_ms), np.log(high_ms), n))
    return np.asarray(np.round(drawn * 1e6), dtype=np.int64)


def task_sets(
    sets: int, n: int, utilisations: Sequence[float], law: PeriodLaw, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Execution times and periods (sets x n) [ns], rate monotonic order; set k has utilisation
    utilisations[k % len(utilisations)], by UUniFast."""
    shares = np.array([uunifast(n, utilisations[k % len(utilisations)], rng) for k in range(sets)])
    t = np.sort(periods(sets * n, law, rng).reshape(sets, n), axis=1)
    c = np.maximum(1, np.round(shares * t)).astype(np.int64)
    return c, t
