# SPDX-License-Identifier: Apache-2.0
"""Random task sets: utilisations and periods as the field's evaluations draw them; `consort.generate` makes
a system of one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal, localcontext
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from consort.base import arguments
from consort.base.errors import BadInput
from consort.model import Duration, System, system_from_data
from consort.model.base import WrongValue
from consort.model.platform import find_platform, load_platform

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


# How many vectors are drawn for one that keeps its limits.
MOST_DISCARDED = 1_000_000


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


def set_block(
    sets: int,
    n: int,
    total: float,
    law: PeriodLaw,
    rng: np.random.Generator,
    low_ns: int = 10_000_000,
    high_ns: int = 100_000_000,
    limits: tuple[float, float] | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Execution times and periods (sets x n) [ns] of many sets of one utilisation, rate monotonic order.

    The laws are those of `uunifast` and `periods`, but nothing here is left to a library of mathematics: only
    sums, products and comparisons are computed of what `rng` draws, so that one seed gives the same sets on
    every processor. (Utilisations are the gaps between sorted points: UUniSort, Bini & Buttazzo 2005.)
    """
    shares = _gaps(sets, n, rng) * total if limits is None else within(sets, n, total, limits, rng)
    if law == "automotive":
        weights = np.array(list(AUTOMOTIVE_PERIODS.values()))
        steps = np.cumsum(weights) / weights.sum()
        # The last step may be a rounding below 1.
        drawn = np.minimum(np.searchsorted(steps, rng.random((sets, n)), side="right"), len(steps) - 1)
        t = np.array(list(AUTOMOTIVE_PERIODS), dtype=np.int64)[drawn] * 1_000_000
    elif law == "uniform":
        t = np.rint(low_ns + rng.random((sets, n)) * (high_ns - low_ns)).astype(np.int64)
    else:
        t = np.rint(low_ns * _power_of_two(rng.random((sets, n)) * _octaves(low_ns, high_ns)))
        t = t.astype(np.int64)
    t.sort(axis=1)
    # Rounded down, so that no set has more than its utilisation.
    return np.maximum(1, np.floor(shares * t)).astype(np.int64), t


def _gaps(sets: int, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Vectors of n shares of 1, uniform over all such vectors."""
    points = np.empty((sets, n + 1))
    points[:, 0], points[:, n] = 0.0, 1.0
    points[:, 1:n] = np.sort(rng.random((sets, n - 1)), axis=1)
    return np.diff(points, axis=1)


def within(
    sets: int, n: int, total: float, limits: tuple[float, float], rng: np.random.Generator
) -> NDArray[np.float64]:
    """Utilisations (sets x n) that sum to `total`, each within `limits`, uniform over all such vectors.

    Vectors of unlimited ones that leave the limits are drawn again (UUniFast-Discard, Davis & Burns 2011).
    The distance to the nearer limit is what is drawn, so that few are. ValueError where no vector fits, or
    fewer than one of MOST_DISCARDED does.
    """
    low, high = limits
    width, above = high - low, total - n * low
    if not 0 <= low < high or not 0 <= above <= n * width:
        raise ValueError(f"{n} utilisations from {low:g} to {high:g} cannot sum to {total:g}")
    turned = above > n * width / 2
    rest = n * width - above if turned else above
    found = np.empty((sets, n))
    have = discarded = 0
    while have < sets:
        drawn = _gaps(1024, n, rng) * rest
        kept = drawn[(drawn <= width).all(axis=1)][: sets - have]
        found[have : have + len(kept)] = kept
        have += len(kept)
        discarded = 0 if len(kept) else discarded + 1024
        if discarded > MOST_DISCARDED:
            raise ValueError(
                f"fewer than one of {MOST_DISCARDED:,} random vectors of {n} utilisations lies from {low:g}"
                f" to {high:g}; widen the limits, or take fewer tasks"
            )
    return high - found if turned else low + found


@lru_cache(maxsize=64)
def _octaves(low: int, high: int) -> float:
    """log2(high / low). `Decimal` computes in software, digit by digit."""
    with localcontext(prec=30):
        return float((Decimal(high) / Decimal(low)).ln() / Decimal(2).ln())


def _power_of_two(exponents: NDArray[np.float64]) -> NDArray[np.float64]:
    """2 to the power of each, to a few parts in 10^16, by the series of the exponential function."""
    whole = np.floor(exponents)
    x = (exponents - whole - 0.5) * 0.6931471805599453
    series = np.full_like(x, 1.0 / math.factorial(13))
    for k in range(12, -1, -1):
        series *= x
        series += 1.0 / math.factorial(k)
    return np.asarray(np.ldexp(series * 1.4142135623730951, whole.astype(np.int32)))


# More tasks are analysed one by one, but nobody draws them on one core.
MOST_TASKS = 10_000
# Where the description would stand, if it were one of a file.
FILE = "generated.yaml"


def generate(
    tasks: int,
    utilisation: float,
    *,
    periods: PeriodLaw = "log-uniform",
    shortest: str | Duration = "10ms",
    longest: str | Duration = "100ms",
    limits: tuple[float, float] | None = None,
    seed: int = 1,
    platform: str = "linux-host",
    core: str | None = None,
) -> System:
    """A random system: independent periodic tasks `t0`, `t1`, … on one core, shorter periods first.

    Utilisations are uniform over all that sum to `utilisation` (UUniFast, Bini & Buttazzo 2005), and with
    `limits` over those of them that lie between the two (UUniFast-Discard, Davis & Burns 2011). Execution
    times are rounded down to nanoseconds. `periods` is the law of periods between `shortest` and `longest`:
    `log-uniform`, `uniform`, or `automotive` (Kramer et al. 2015), which has its own range. Deadlines are
    periods. The same seed gives the same system on every machine. `core` is one of `platform`, its first
    without it; what that core's switches cost is the platform's.
    """
    count = arguments.whole("tasks", tasks, 1, MOST_TASKS)
    total = arguments.number("utilisation", utilisation, 1e-6, 64)
    law = arguments.one_of("periods", periods, get_args(PeriodLaw))
    low, high = (_nanoseconds(name, given) for name, given in (("shortest", shortest), ("longest", longest)))
    if low > high:
        raise BadInput(f"{longest} is shorter than 'shortest', {shortest}", field="longest")
    rng = np.random.default_rng(arguments.seed(seed))
    bounds = None if limits is None else _limits(limits)
    try:
        drawn = set_block(1, count, total, law, rng, low, high, bounds)
    except ValueError as error:
        raise BadInput(str(error), field="limits") from None
    wcets, times = (rows[0].tolist() for rows in drawn)
    where = arguments.text("platform", platform)
    on = _core(where, core)
    data: dict[str, Any] = {
        "consort": 1,
        "name": f"{count} tasks, utilisation {total:g}, seed {seed}",
        "platform": where,
        "tasks": {
            f"t{place}": {"period": f"{period}ns", "wcet": f"{wcet}ns", "on": on}
            for place, (wcet, period) in enumerate(zip(wcets, times, strict=True))
        },
    }
    return system_from_data(data, file=FILE)


def _limits(given: tuple[float, float]) -> tuple[float, float]:
    arguments.instance("limits", given, (tuple, list), "write the least and the largest, such as (0.01, 0.5)")
    if len(given) != 2:
        raise BadInput("two numbers are needed: the least and the largest utilisation", field="limits")
    low, high = (arguments.number(f"limits[{place}]", value, 0, 64) for place, value in enumerate(given))
    return low, high


def _nanoseconds(name: str, given: str | Duration) -> int:
    arguments.instance(name, given, (str, Duration), "write a time, such as '10ms'")
    try:
        found = Duration.parse(given) if isinstance(given, str) else given
    except WrongValue as error:
        raise BadInput(str(error), field=name) from None
    if found.picoseconds < 1000:
        raise BadInput(f"{given} is too short; at least 1ns is needed", field=name)
    return found.picoseconds // 1000


def _core(platform: str, core: str | None) -> str:
    """The core that is asked for, or the platform's first."""
    try:
        file = find_platform(platform, Path.cwd() / FILE)
    except LookupError as error:
        raise BadInput(str(error), field="platform") from None
    names = load_platform(file).core_names()
    return names[0] if core is None else arguments.one_of("core", core, names)
