# SPDX-License-Identifier: Apache-2.0
"""Two runs held against each other: percentiles of all samples, and whether they differ.

Neighbouring samples depend on one another (a burst of interference delays many jobs in a row), so a test
that takes each for independent would call any two runs different. Two measures are given instead: the
Kolmogorov-Smirnov distance, as a size and without a p-value, and a 95 % interval of the ratio of medians
by bootstrap over contiguous batches of each run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import ks_2samp

from consort.record.store import Run, SampleReader
from consort.record.summary import Configuration, summarise

BATCHES = 50
RESAMPLES = 4000
SEED = 20261
# Distributions closer than this are not called different, however many samples there are.
RELEVANT_DISTANCE = 0.05
STATISTICS = ("min", "mean", "median", "p99", "p999", "p9999", "max")
# Facts that may differ between two runs without making them incomparable.
UNREMARKABLE = frozenset({"date", "python"})

Statistics = dict[str, float | None]


@dataclass(frozen=True)
class Compared:
    """A metric of a configuration in both runs, `a` and `b`: its statistics, their ratios b / a."""

    configuration: str
    metric: str
    unit: str
    provenance: list[str]
    a: Statistics
    b: Statistics
    ratio: Statistics
    ks_distance: float
    median_ratio_interval_95: tuple[float, float] | None
    changed: bool


@dataclass(frozen=True)
class Comparison:
    """The output of `consort compare`: one row a configuration and metric, and reasons to be careful."""

    rows: list[Compared]
    warnings: list[str]

    def as_dict(self, a: Run, b: Run) -> dict[str, Any]:
        return {"a": a.id, "b": b.id, "warnings": self.warnings, "rows": [vars(row) for row in self.rows]}


def compare(a: Run, b: Run) -> Comparison:
    """Ratios b / a of every metric that the same configuration has in both runs."""
    warnings = environment_differences(a.data["environment"], b.data["environment"])
    rows: list[Compared] = []
    of_b = {c["key"]: c for c in b.configurations}
    missing = [c["key"] for c in a.configurations if c["key"] not in of_b]
    missing += [key for key in of_b if key not in {c["key"] for c in a.configurations}]
    if missing:
        warnings.append(f"only one of the runs has: {', '.join(missing)}")
    readers = SampleReader(a), SampleReader(b)
    for left in a.configurations:
        right = of_b.get(left["key"])
        if right is None:
            continue
        for metric in left["metrics"]:
            if metric not in right["metrics"]:
                warnings.append(f"{left['key']}: only run {a.id} has the metric {metric}")
                continue
            rows.append(_row(readers, (left, right), metric))
            kinds = {side["summary"][metric]["provenance"] for side in (left, right)}
            if len(kinds) > 1:
                warnings.append(
                    f"{left['key']}, {metric}: provenance differs ({' and '.join(sorted(kinds))})"
                )
    return Comparison(rows, warnings)


def environment_differences(a: dict[str, Any], b: dict[str, Any]) -> list[str]:
    """Each fact of the environment that the two runs do not share, with both values."""
    found: list[str] = []
    for key in [*a, *(k for k in b if k not in a)]:
        if key not in UNREMARKABLE and a.get(key) != b.get(key):
            found.append(f"environments differ in {key}: {_show(a.get(key))} / {_show(b.get(key))}")
    return found


def median_ratio_interval(a: NDArray[Any], b: NDArray[Any]) -> tuple[float, float] | None:
    """A 95 % interval of median(b) / median(a); None where there are too few samples for batches."""
    batches = min(BATCHES, a.size // 20, b.size // 20)
    if batches < 5:
        return None
    random = np.random.default_rng(SEED)

    def resampled(values: NDArray[Any]) -> NDArray[np.float64]:
        medians = np.array([np.median(part) for part in np.array_split(values, batches)])
        draws: NDArray[np.float64] = medians[random.integers(0, batches, (RESAMPLES, batches))].mean(axis=1)
        return draws

    below, above = resampled(a), resampled(b)
    if not below.all() or not (np.isfinite(below).all() and np.isfinite(above).all()):
        return None
    low, high = np.quantile(above / below, [0.025, 0.975])
    return float(low), float(high)


def _row(
    readers: tuple[SampleReader, SampleReader], sides: tuple[Configuration, Configuration], metric: str
) -> Compared:
    key, kinds = sides[0]["key"], [side["summary"][metric]["provenance"] for side in sides]
    samples = [reader.samples(key, metric) for reader in readers]
    a, b = (_statistics(values, kind) for values, kind in zip(samples, kinds, strict=True))
    distance = float(ks_2samp(*samples, method="asymp").statistic)
    interval = median_ratio_interval(*samples)
    one_sided = interval is not None and (interval[0] > 1 or interval[1] < 1)
    # An interval alone would flag a difference of one clock step, given samples enough.
    changed = one_sided and distance >= RELEVANT_DISTANCE
    return Compared(
        key,
        metric,
        sides[0]["summary"][metric]["unit"],
        kinds,
        a,
        b,
        {s: _ratio(a[s], b[s]) for s in STATISTICS},
        distance,
        interval,
        changed,
    )


def _ratio(a: float | None, b: float | None) -> float | None:
    """b / a; None where one is infinite (a release that was not served) or a is 0."""
    return None if a is None or b is None or not a else b / a


def _statistics(samples: NDArray[Any], provenance: str) -> Statistics:
    summary = summarise(samples, "", provenance)
    if summary is None:
        raise ValueError("no row has a value, though the record has a summary of them")
    return {"n": summary.n} | {name: getattr(summary, name) for name in STATISTICS}


def _show(value: Any) -> str:
    if value is None:
        return "unknown"
    if isinstance(value, dict):
        return ", ".join(f"{k} {_show(v)}" for k, v in value.items())
    if isinstance(value, list):
        return " ".join(str(item) for item in value) or "none"
    return str(value) or "none"
