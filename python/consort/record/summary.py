# SPDX-License-Identifier: Apache-2.0
"""Percentiles of a metric over all its samples, counts of jobs, provenance of figures, and the histograms of
plots; and the part of a record (run.json) that such figures stand in, by its keys."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NotRequired, TypedDict, cast

import numpy as np
from numpy.typing import NDArray

from consort.base.errors import BadInput
from consort.record.ran import CAUSES, FINISHED_LATE, STATUS
from consort.record.raw import RawTable

PROVENANCE: dict[str, str] = {
    "published": "read from a paper's text or table",
    "derived": "computed from published figures",
    "bound": "computed by an analysis",
    "simulated": "produced by the simulator from a platform description",
    "counted": "instructions or clock cycles of an emulator or RTL simulator: repeatable, not wall time",
    "emulated": "timed on the clock of an emulator without counting: depends on the machine that emulates",
    "measured": "timed on hardware, in the environment recorded with the run",
}


def checked(provenance: str, *, field: str) -> str:
    """The given kind of provenance, or BadInput that names the field and the kinds there are."""
    if provenance not in PROVENANCE:
        raise BadInput(
            f"'{provenance}' is not a kind of provenance; use one of {', '.join(PROVENANCE)}", field=field
        )
    return provenance


# Names as they stand in run.json, and the quantile that each one is; in ten-thousandths, so that the rank of
# a quantile is found in whole numbers.
_PARTS = {"median": 5_000, "p99": 9_900, "p999": 9_990, "p9999": 9_999}
QUANTILES: dict[str, float] = {name: part / 10_000 for name, part in _PARTS.items()}

Number = int | float
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Summary:
    """Order statistics of all samples of one metric.

    The percentiles are exact: each is a value that was recorded (the nearest rank), never an interpolation
    and never a bucket's edge. Infinite samples (releases that were not served) count like all others: a
    statistic that is infinite is None, and `unserved` says how many of the `n` samples are.
    """

    n: int
    min: Number | None
    mean: float | None
    median: Number | None
    p99: Number | None
    p999: Number | None
    p9999: Number | None
    max: Number | None
    unit: str
    provenance: str
    unserved: int = 0

    def as_dict(self) -> SummaryData:
        return cast(SummaryData, dict(vars(self)))


class SummaryData(TypedDict):
    """A `Summary` as a record keeps it. One from before `unserved` has none."""

    n: int
    min: Number | None
    mean: float | None
    median: Number | None
    p99: Number | None
    p999: Number | None
    p9999: Number | None
    max: Number | None
    unit: str
    provenance: str
    unserved: NotRequired[int]


class TableData(TypedDict):
    """A Parquet file of the run's folder."""

    file: str
    rows: int
    attrs: dict[str, Any]


class MetricData(TypedDict):
    """The column that a metric's samples stand in."""

    table: str
    column: str
    task: str | None
    quantity: str


class EventSummary(TypedDict):
    """Events of one kind, task, core and cause; times from the run's origin."""

    name: str
    cause: str
    task: str | None
    core: str | None
    count: int
    first_ns: int | None
    last_ns: int | None
    longest_ns: int | None
    total_ns: int | None


class Configuration(TypedDict):
    """A configuration's part of a record. What is not required is not in each run, or in each version."""

    key: str
    name: str
    program: str
    config: Any
    cores: list[str]
    clock: dict[str, Any]
    realtime: dict[str, Any]
    counters: dict[str, Number]
    tables: dict[str, TableData]
    events: list[dict[str, Any]]
    event_summary: NotRequired[list[EventSummary]]
    summary: dict[str, SummaryData]
    metrics: dict[str, MetricData]
    published: list[dict[str, Any]]
    plan: NotRequired[str]
    jobs: NotRequired[dict[str, Any]]
    tasks: NotRequired[dict[str, dict[str, Any]]]
    verdict: NotRequired[dict[str, Any]]
    interference: NotRequired[list[dict[str, Any]]]
    interference_config: NotRequired[Any]


def summarise(values: NDArray[Any], unit: str, provenance: str) -> Summary | None:
    """The summary of all values, or None where there are none (a summary of nothing has no minimum)."""
    return summarise_parts(values, [values.size], unit, provenance)[0]


def summarise_parts(
    values: NDArray[Any], sizes: Sequence[int], unit: str, provenance: str
) -> list[Summary | None]:
    """The summary of each part of `values`, which lie one after the other and are `sizes` samples long."""
    checked(provenance, field="provenance")
    ordered = values.copy()
    lengths = np.array(sizes, dtype=np.int64)
    ends = np.cumsum(lengths)
    means: list[float | None] = []
    for begin, end in pairwise([0, *ends.tolist()]):
        part = ordered[begin:end]
        part.sort()
        means.append(_mean(part) if end > begin else None)
    found: list[Summary | None] = [None] * lengths.size
    parts = np.flatnonzero(lengths)
    if not parts.size:
        return found
    n = lengths[parts]
    begins = ends[parts] - n
    ranks = [0 * n, *(-(-n * share // 10_000) - 1 for share in _PARTS.values()), n - 1]
    chosen = ordered[begins + np.stack(ranks)].T
    if chosen.dtype.kind == "f" and (abs(chosen) < 2**63).all() and (chosen == np.rint(chosen)).all():
        chosen = chosen.astype(np.int64)
    # Whole numbers are what they are, and need no look at each.
    figure = _finite if chosen.dtype.kind == "f" else _as_it_is
    infinite = np.add.reduceat(np.isinf(ordered), begins, dtype=np.int64).tolist()
    for number, size, (smallest, *points, largest), unserved in zip(
        parts.tolist(), n.tolist(), chosen.tolist(), infinite, strict=True
    ):
        found[number] = Summary(
            n=size,
            min=figure(smallest),
            mean=means[number],
            max=figure(largest),
            unit=unit,
            provenance=provenance,
            unserved=unserved,
            **dict(zip(_PARTS, map(figure, points), strict=True)),
        )
    return found


def _mean(ordered: NDArray[Any]) -> float | None:
    """The mean of sorted samples; None where one is infinite. What is not a number is last, and refused."""
    first, last = float(ordered[0]), float(ordered[-1])
    if math.isnan(last):
        raise BadInput("a sample is not a number (NaN)", field="values")
    if math.isinf(first) or math.isinf(last):
        return None
    with np.errstate(over="ignore"):
        mean = float(np.add.reduce(ordered, dtype=np.float64)) / ordered.size
        if not math.isfinite(mean):
            # Their sum can be beyond what a number holds, their mean cannot but by rounding.
            mean = min(max(float(np.add.reduce(ordered / ordered.size)), first), last)
    return mean


def _as_it_is(value: Number) -> Number | None:
    return value


def _finite(value: Number) -> Number | None:
    """A sample, whole where it is; None where it is infinite."""
    if math.isinf(value):
        return None
    return int(value) if isinstance(value, float) and value.is_integer() else value


@dataclass(frozen=True)
class Histogram:
    """Samples of a metric in buckets of three significant figures, as HdrHistogram has them.

    `values`: the upper edge of each bucket that has samples, in order. Negative samples are counted at 0.
    `unserved` samples are infinite and in no bucket.
    """

    values: NDArray[np.int64]
    counts: NDArray[np.int64]
    negative: int = 0
    unserved: int = 0


def histogram(samples: NDArray[Any]) -> Histogram | None:
    """The histogram of all samples [ns]; None where none is finite."""
    finite = samples if samples.dtype.kind in "iu" else samples[np.isfinite(samples)]
    if finite.size == 0:
        return None
    whole = finite.astype(np.int64)
    clipped = np.maximum(whole, 0)
    floors, counts = np.unique(_bucket_floor(clipped), return_counts=True)
    return Histogram(
        floors + (1 << _shift(floors)) - 1,
        counts.astype(np.int64),
        int(np.count_nonzero(whole < 0)),
        int(samples.size - finite.size),
    )


def _shift(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """By how many bits a value is longer than the 11 that three significant figures need (2048 buckets)."""
    # frexp's exponent is the bit length; float64 is exact below 2**53 ns, far above any sample.
    bits = np.frexp(values.astype(np.float64))[1]
    shift: NDArray[np.int64] = np.maximum(bits - 11, 0).astype(np.int64)
    return shift


def _bucket_floor(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """The smallest value of the bucket that each value falls into."""
    shift = _shift(values)
    floor: NDArray[np.int64] = (values >> shift) << shift
    return floor


def rows_by(
    column: NDArray[Any], count: int, then: NDArray[Any] | None = None
) -> Sequence[NDArray[np.int64]]:
    """The positions of each number below `count` in a column: in the order of `then`, or ascending."""
    order = np.argsort(column, kind="stable")
    numbers = column[order]
    if then is not None:
        # Nearly always they lie so, and need no second order.
        following = then[order]
        if ((following[1:] < following[:-1]) & (numbers[1:] == numbers[:-1])).any():
            order = np.lexsort((then, column))
    ends = np.searchsorted(numbers, np.arange(count + 1))
    return [order[begin:end] for begin, end in pairwise(ends.tolist())]


def counts_by(column: NDArray[Any], mask: NDArray[np.bool_], count: int) -> list[int]:
    """How many of the marked rows have each number below `count`."""
    found: list[int] = np.bincount(column[mask], minlength=count).tolist()
    return found


def maxima_by(column: NDArray[Any], values: NDArray[np.float64], count: int) -> list[float]:
    """The largest of the values of the rows that have each number below `count`; -inf where there is none."""
    largest = np.full(count, -np.inf)
    np.maximum.at(largest, column, values)
    found: list[float] = largest.tolist()
    return found


def unended(jobs: RawTable | NDArray[np.void]) -> Mask:
    """The releases whose job did not end: those that were skipped, and jobs that were aborted or cut off."""
    skipped = (jobs["status"] & STATUS["unserved"]) != 0
    found: Mask = skipped | (jobs["finish"] == 0)
    return found


def job_counts(jobs: RawTable) -> dict[str, Any]:
    """The number of jobs, the number that carry each bit of the status word, and the numbers by how they
    ended.

    `on_time`, `late` and `unserved` add up to `jobs`: a job that started but never ended counts as unserved.
    `causes`: why deadlines were missed, each miss once.
    """
    return job_counts_by(jobs, np.zeros(jobs.spec.rows, dtype=np.uint16), 1)[0]


def job_counts_by(jobs: RawTable, task: NDArray[Any], count: int) -> list[dict[str, Any]]:
    """The same of the jobs of each task, whose number below `count` is in `task`."""
    status = np.ascontiguousarray(jobs["status"])
    endless = unended(jobs)
    missed = ((status & STATUS["deadline_misses"]) != 0) | endless
    marked = {name: (status & bit) != 0 for name, bit in STATUS.items()}
    marked |= {"unserved": endless, "on_time": ~missed, "late": missed & ~endless}
    columns = {"jobs": np.bincount(task, minlength=count).tolist()}
    columns |= {name: counts_by(task, mask, count) for name, mask in marked.items()}
    found: list[dict[str, Any]] = [
        dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)
    ]
    late = np.flatnonzero(missed)
    for counts, rows in zip(found, rows_by(task[late], count), strict=True):
        counts["causes"] = miss_causes(status[late[rows]], missed[late[rows]])
    return found


def miss_causes(status: NDArray[Any], missed: Mask) -> dict[str, int]:
    """The causes for which the marked jobs missed their deadlines: one each, the first that applies."""
    causes: dict[str, int] = {}
    if not missed.any():
        return causes
    left = missed.copy()
    for name, words in CAUSES:
        mine = left & ((status & STATUS[name]) != 0)
        if mine.any():
            causes[words] = int(np.count_nonzero(mine))
        left &= ~mine
    if left.any():
        causes[FINISHED_LATE] = int(np.count_nonzero(left))
    return causes
