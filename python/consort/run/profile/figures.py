# SPDX-License-Identifier: Apache-2.0
"""High-water marks of recorded executions, and the execution times proposed from them.

What is proposed is measured, with an engineering margin. It is not a bound: an input or a state of the
machine that did not occur may take longer.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from consort.base.errors import SystemFails
from consort.judge.disturbance import disturbances, merged, touched
from consort.judge.executed import executed
from consort.judge.samples import Samples
from consort.judge.verdict import Bounds
from consort.record.ran import OPERATIONS
from consort.record.raw import RawRun

Condition = Literal["alone", "interference"]
# A figure is rounded to so many digits: more say nothing.
DIGITS = 3
# A job of one repetition is the same job in another, give or take so many: releases may go unserved.
NEIGHBOURS = 8
# Executions this many times as long as the same job's, and a pause more, were stopped by the machine.
FACTOR = 2
PAUSE_NS = 5_000
# Fewer jobs than this show too little of what a step may take, and the margin grows: a quarter as many have
# twice the margin.
ENOUGH_JOBS = 1000
# The least that a margin adds: what reading the clock, the stamps and lines of memory that are not yet in a
# cache add to a job now and then, however short its step is.
FLOOR_NS = 1000
_READ = OPERATIONS.index("read")


@dataclass(frozen=True)
class Observation:
    """Results of a step's runs in one condition. Times in ns; `core` is the description's core it ran on.

    `used` of `released` jobs count. Those do not that the machine was seen to stop while they executed
    (`disturbed`), that took far longer than the same job did in the other repetition (`unrepeated`:
    interrupts and hypervisors stop a processor unseen), that another task of the core was executed in
    the middle of (`preempted`), and that were not served. A disturbed job of which it is known what it
    executed at least counts with that in the high-water mark (`in_part`): a long job always meets an
    interrupt, so that the longest would be left out. `inputs` are the distinct inputs of those that
    count; None where they came from a plant or a driver, which are not recorded. `rose_after_s`: when
    the high-water mark last rose, of `watched_s`.
    """

    task: str
    core: str
    cpu: int | None
    condition: Condition
    released: int
    used: int
    disturbed: int
    unrepeated: int
    preempted: int
    high_ns: float
    low_ns: float
    inputs: int | None
    rose_after_s: float
    watched_s: float
    in_part: int = 0


@dataclass(frozen=True)
class Series:
    """The served jobs of one repetition, in order: `compute_ns`, nan where a job does not count, and
    `least_ns`, what a disturbed one executed at least; 0 where that is not known."""

    core: str
    cpu: int | None
    released: int
    compute_ns: NDArray[np.float64]
    least_ns: NDArray[np.float64]
    release_s: NDArray[np.float64]
    disturbed: int
    preempted: int
    keys: NDArray[np.int64] | None
    """For each job what its recorded inputs were, one row a job; None where they are not recorded."""
    watched_s: float


@dataclass(frozen=True)
class Proposal:
    """The execution times to write for a task on a kind of processor, and what they rest on.

    `margin` is the one that was asked for; `share` is what was taken of it, more where jobs are few.
    """

    task: str
    processor: str
    wcet_ps: int
    bcet_ps: int
    margin: Fraction
    share: Fraction
    observations: tuple[Observation, ...]

    @property
    def high_ns(self) -> float:
        return max(seen.high_ns for seen in self.observations)

    @property
    def used(self) -> int:
        return sum(seen.used for seen in self.observations)

    @property
    def floored(self) -> bool:
        """True if the floor is more than the share of the high-water mark."""
        return bool(self.margin) and self.high_ns * self.share < FLOOR_NS

    @property
    def in_part(self) -> int:
        return sum(seen.in_part for seen in self.observations)

    @property
    def disturbed(self) -> int:
        return sum(seen.disturbed + seen.unrepeated for seen in self.observations)


def series(
    record: RawRun,
    task: str,
    *,
    row_classes: NDArray[np.int64] | None = None,
    counts_inputs: bool = True,
) -> Series:
    """The series of one task in a recording, computed where it is released.

    `row_classes`: for each row of its recorded inputs a number that equal rows share. `counts_inputs`:
    whether all that it reads is recorded.
    """
    samples = Samples.of(record)
    system = samples.system
    jobs, number = samples.jobs, samples.number(task)
    mine = samples.rows_of(number)
    core = system.core_names.index(system.tasks[number].core)
    gaps = disturbances(samples.table, samples.events, system, samples.ticks_per_ns, wake_ups=False).gaps[
        core
    ]
    start, finish = jobs["start"].astype(np.int64), jobs["finish"].astype(np.int64)
    served = mine[finish[mine] > 0]
    hit = touched(merged(gaps.begin, gaps.end), start[served], finish[served])
    # A job of the same core that began after this one and before its end was executed in the middle of it.
    others = np.sort(start[(jobs["core"] == core) & (start > 0)])
    inside = np.searchsorted(others, finish[served], side="left") - np.searchsorted(
        others, start[served], side="right"
    )
    preempted = ~hit & (inside > 0)
    compute = samples.ns(jobs["compute"][served].astype(np.int64))
    compute[hit | preempted] = np.nan
    # Against a WCET of 0 whatever is known of a job's execution is above it.
    nothing = Bounds(wcets={planned.name: 0.0 for planned in system.tasks})
    least = np.where(hit | preempted, executed(samples, nothing).least[served], 0.0)
    release = jobs["release"].astype(np.int64)
    first = int(release[mine].min()) if mine.size else 0
    return Series(
        core=system.tasks[number].core,
        cpu=system.facts.cpus.get(system.cores[core].name),
        released=int(mine.size),
        compute_ns=compute,
        least_ns=least,
        release_s=samples.ns(release[served] - first) / 1e9,
        disturbed=int((hit & (least <= 0)).sum()),
        preempted=int((preempted & (least <= 0)).sum()),
        keys=_inputs(samples, number, served, row_classes) if counts_inputs else None,
        watched_s=float(samples.ns(release[mine] - first).max() / 1e9) if mine.size else 0.0,
    )


def observe(task: str, condition: Condition, repetitions: Sequence[Series]) -> Observation:
    """The observation that repetitions of the same run give; `SystemFails` where no job is left to
    measure.
    """
    first = repetitions[0]
    every = [np.where(one.least_ns > 0, one.least_ns, one.compute_ns) for one in repetitions]
    counted = [
        np.where(unrepeated(one, [other for other in every if other is not one]), np.nan, one)
        for one in every
    ]
    unlike = sum(
        int(np.isnan(after).sum() - np.isnan(before).sum())
        for before, after in zip(every, counted, strict=True)
    )
    times = np.concatenate(counted)
    whole = ~np.isnan(np.concatenate([one.compute_ns for one in repetitions]))
    used = ~np.isnan(times) & whole
    released = sum(one.released for one in repetitions)
    if not used.any():
        raise SystemFails(
            f"{task}: none of {released} jobs was executed undisturbed ({condition}); profile for longer,"
            f" or on a"
            " machine that does less beside it"
        )
    starts = np.concatenate([[0.0], np.cumsum([one.watched_s for one in repetitions])])
    instants = np.concatenate(
        [one.release_s + begin for one, begin in zip(repetitions, starts[:-1], strict=True)]
    )
    keys = [one.keys for one in repetitions if one.keys is not None]
    return Observation(
        task=task,
        core=first.core,
        cpu=first.cpu,
        condition=condition,
        released=released,
        used=int(used.sum()),
        disturbed=sum(one.disturbed for one in repetitions),
        unrepeated=unlike,
        preempted=sum(one.preempted for one in repetitions),
        high_ns=float(np.nanmax(times)),
        low_ns=float(times[used].min()),
        inputs=int(np.unique(np.concatenate(keys)[used], axis=0).shape[0]) if keys else None,
        # The first time that the mark stood where it ends.
        rose_after_s=float(instants[int(np.nanargmax(times))]),
        watched_s=float(starts[-1]),
        in_part=int((~np.isnan(times) & ~whole).sum()),
    )


def unrepeated(times: NDArray[np.float64], others: Sequence[NDArray[np.float64]]) -> NDArray[np.bool_]:
    """A mask of executions that took far longer than the same jobs in every other repetition: the machine
    stopped them.

    Jobs are compared with those of a few numbers before and after, because releases that were not served
    shift them. What a step's data or its caches make long is long in the other repetition, too. Without
    another repetition nothing is left out.
    """
    found = np.zeros(times.size, dtype=np.bool_)
    # A repetition of which the machine left no job.
    if not times.size:
        return found
    for place, other in enumerate(others):
        around = np.full(times.size + 2 * NEIGHBOURS, -np.inf)
        size = min(times.size, other.size)
        around[NEIGHBOURS : NEIGHBOURS + size] = np.where(np.isnan(other[:size]), -np.inf, other[:size])
        longest = np.lib.stride_tricks.sliding_window_view(around, 2 * NEIGHBOURS + 1).max(axis=1)
        with np.errstate(invalid="ignore"):
            longer = np.isfinite(longest) & (times > FACTOR * longest + PAUSE_NS)
        found = longer if place == 0 else found & longer
    return found


def _inputs(
    samples: Samples, task: int, served: NDArray[np.int64], row_classes: NDArray[np.int64] | None
) -> NDArray[np.int64]:
    """An identification of each job's inputs: rows of a recording, and blocks of channels by their
    numbers."""
    jobs = samples.jobs[served]
    columns = [np.zeros(served.size, dtype=np.int64)]
    if row_classes is not None:
        columns.append(row_classes[jobs["input"]])
    if samples.operations is not None and samples.operations.size and served.size:
        rows = samples.operations
        reads = rows[(rows["task"] == task) & (rows["kind"] == _READ)]
        for channel in np.unique(reads["channel"]):
            one = reads[reads["channel"] == channel]
            sequence = np.zeros(int(max(jobs["seq"].max(), one["seq"].max())) + 1, dtype=np.int64)
            sequence[one["seq"]] = one["sequence"].astype(np.int64)
            columns.append(sequence[jobs["seq"]])
    return np.stack(columns, axis=1)


def proposals(
    observations: Iterable[Observation], processors: dict[str, str], margin: Fraction
) -> list[Proposal]:
    """One proposal for each task and kind of processor. `processors`: that of each core."""
    groups: dict[tuple[str, str], list[Observation]] = {}
    for seen in observations:
        groups.setdefault((seen.task, processors[seen.core]), []).append(seen)
    return [_proposal(task, processor, seen, margin) for (task, processor), seen in groups.items()]


def _proposal(task: str, processor: str, seen: Sequence[Observation], margin: Fraction) -> Proposal:
    share = margin * grown(sum(one.used for one in seen))
    # Without a margin the observed figure stands.
    least = Fraction(FLOOR_NS if margin else 0) * 1000
    high = Fraction(max(one.high_ns for one in seen)) * 1000
    low = Fraction(min(one.low_ns for one in seen)) * 1000
    wcet = rounded(max(high * (1 + share), high + least), up=True)
    bcet = rounded(max(Fraction(0), min(low / (1 + share), low - least)), up=False)
    return Proposal(task, processor, wcet, min(bcet, wcet), margin, share, tuple(seen))


def grown(jobs: int) -> Fraction:
    """The factor on the margin for so many jobs: 1 from `ENOUGH_JOBS` on, in whole hundredths."""
    return max(Fraction(1), Fraction(math.ceil(100 * math.sqrt(ENOUGH_JOBS / jobs)), 100))


def rounded(picoseconds: Fraction, *, up: bool) -> int:
    """A time in whole nanoseconds and at most three digits, towards the careful side; at least 1 ns [ps]."""
    nanoseconds = picoseconds / 1000
    whole = max(1, math.floor(nanoseconds))
    unit: int = 10 ** max(0, len(str(whole)) - DIGITS)
    steps = math.ceil(nanoseconds / unit) if up else math.floor(nanoseconds / unit)
    return max(1, steps * unit) * 1000
