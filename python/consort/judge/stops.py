# SPDX-License-Identifier: Apache-2.0
"""Stops of a core that leave no trace in a job, and the excesses that they explain.

A host, or firmware, that takes a core in the middle of a job leaves no trace there: the job seems to have
executed longer. So what exceeds a limit is held against the stops that were seen elsewhere: in a watch of the
CPUs after the run, and by the run's own cores while they waited.

Let jobs have been under way for E, and let cores have been seen for T. If stops come at one rate, each stop
of a length or more fell into the jobs with probability E / (E + T), whatever lengths stops have. So of n such
stops k or more fell there with the probability of a binomial count. Where that is one in a thousand or less,
for any length, stops do not explain the excesses. Three facts make that weaker, in favour of the system:

- Stops do not come at one rate: E counts fourfold. Of pairs of windows of a loaded virtual machine, 1 to 20 s
  each and one after the other, 1 in 20 were wrongly found unlike without that, and 1 in 2,000 with it.
- A job may be stopped more than once. Stops of half a length count as being as long, and what stops of which
  one comes in ten such jobs take on the average, with three deviations, is not an excess.
- The longest stop seen is not the longest. Longer ones take no more of the time than shorter ones do: those
  of x times its length come at most 1/x as often, so T counts x times there. One excess alone is undecided
  for long, many soon are the system's.

A stop delays every job until the core is idle again: of jobs that overlap what one exceeds the other by is an
excess.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from consort.judge.disturbance import merged
from consort.record.findings import StopsInRun, StopsSeen

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
# A number of stops that comes by chance once in a thousand runs explains nothing.
_CHANCE = 1e-3
_UNSTEADY = 4
_SEVERAL = 2
_RARE = 0.1


@dataclass(frozen=True)
class Stretches:
    """The times that a run saw of one quantity."""

    ns: Floats
    undisturbed: Mask
    since: NDArray[np.int64] | None
    """When each began [ticks]; None where none overlap."""
    ticks_per_ns: float
    stood: Floats | None
    """For how long each of those stood that nobody served, 0 for others."""
    cores: int
    """How many there are on which a stop makes one longer."""
    queue: bool
    """One that a stop delays delays the next, as jobs of a core; else a stop delays what was under way."""


@dataclass(frozen=True)
class Stops:
    """The stops that were seen on the CPUs of a run, longest first [ns], in `seconds` of each of them."""

    seconds: float
    cpus: tuple[int, ...]
    lengths_ns: Floats
    threshold_ns: float
    count: int
    """All that lasted `threshold_ns` or more; only the longest have a length here."""
    seen_ns: Floats = field(default_factory=lambda: np.zeros(0))
    """Those that the run itself saw while its cores waited, in `seen_for_ns` of all of them together."""
    seen_for_ns: float = 0.0
    unlisted_ns: float = 0.0
    """No stop that has no length here was longer."""

    @property
    def watched_ns(self) -> float:
        """The longest stop of the watch."""
        return float(self.lengths_ns.max(initial=0.0))

    @property
    def in_run_ns(self) -> float:
        """The longest stop that the run itself saw."""
        return float(self.seen_ns.max(initial=0.0))

    @property
    def longest_ns(self) -> float:
        return max(self.watched_ns, self.in_run_ns)

    @property
    def per_second(self) -> float:
        """Stops of one core a second."""
        return self.count / (self.seconds * len(self.cpus))

    @property
    def _watched_for_ns(self) -> float:
        return self.seconds * len(self.cpus) * 1e9

    def explain(self, excess_ns: Floats, took_ns: Floats, exposed_ns: float) -> bool:
        """Says whether such stops may have made stretches of `took_ns` longer by these excesses, of all that
        were under way for `exposed_ns` together.

        A job that failed and took no longer than it may was not stopped.
        """
        longest = self.longest_ns
        if not excess_ns.size or not longest or float(excess_ns.min()) <= 0:
            return False
        left = excess_ns - self._usual(took_ns)
        excess = np.sort(left[left > 0])
        if not excess.size:
            return True
        levels = excess[0] * 2.0 ** np.arange(math.log2(excess[-1] / excess[0]) + 1)
        for level in np.append(levels[levels <= longest], np.unique(excess[excess > longest])).tolist():
            inside = excess.size - int(np.searchsorted(excess, level))
            seen = (self._watched_for_ns + self.seen_for_ns) * max(1.0, level / longest)
            share = _UNSTEADY * exposed_ns / (_UNSTEADY * exposed_ns + seen)
            elsewhere = self._as_long(level / _SEVERAL) if level <= longest else 0
            if _at_least(inside, inside + elsewhere, share) <= _CHANCE:
                return False
        return True

    def explain_stretches(self, seen: Stretches, wrong: Mask, allowed: float) -> bool:
        """Says whether such stops may have made the wrong ones of these longer than `allowed` [ns]."""
        ns, stood, since = seen.ns, seen.stood, seen.since
        # A job that was never served was kept from its core for as long as it had.
        never = ~np.isfinite(ns) if stood is None else stood > 0
        took = np.where(never, 2 * allowed, ns)
        lasted = took if stood is None else np.maximum(took, stood)
        if since is None:
            begin = np.append(0.0, np.cumsum(took)[:-1])
        else:
            begin = (since - since.min()) / seen.ticks_per_ns
        quiet = seen.undisturbed
        under_way = merged(begin[quiet], (begin + lasted)[quiet])
        exposed = float((under_way[1] - under_way[0]).sum()) * seen.cores
        mine = np.flatnonzero(wrong)[np.argsort(begin[wrong], kind="stable")]
        excess, end = took[mine] - allowed, (begin + lasted)[mine]
        if since is None:
            before = np.zeros(mine.size)
        elif seen.queue:
            # What one stop makes longer makes others that overlap it longer, by no more.
            overlaps = begin[mine][1:] <= np.maximum.accumulate(end)[:-1] + 1
            before = np.append(0.0, np.where(overlaps, excess[:-1], 0.0))
        else:
            before = _of_one_stop(begin[mine], end, excess)
        rises = (excess > before) | (excess <= 0)
        return self.explain((excess - before)[rises], took[mine][rises], exposed)

    def _as_long(self, level: float) -> int:
        """How many stops as long as this were seen."""
        listed = level > self.unlisted_ns
        watched = int(np.sum(self.lengths_ns >= level)) if listed else self.count
        return watched + int(np.sum(self.seen_ns >= level))

    def _usual(self, took_ns: Floats) -> Floats:
        """The time that stops take of such stretches but for those of which not even one in ten is hit."""
        lengths, unlisted = self.lengths_ns, self.count - self.lengths_ns.size
        rare = np.minimum(_RARE * self._watched_for_ns / took_ns, self.count)
        if not lengths.size:
            return np.zeros(took_ns.size)
        first = np.minimum(rare, lengths.size).astype(np.int64)
        share = took_ns / self._watched_for_ns
        mean, square = (
            (np.append(np.cumsum(lengths[::-1] ** power)[::-1], 0.0) + unlisted * self.unlisted_ns**power)[
                first
            ]
            for power in (1, 2)
        )
        usual: Floats = np.where(rare < self.count, mean * share + 3 * np.sqrt(square * share), 0.0)
        return usual

    @property
    def seen(self) -> StopsSeen:
        return StopsSeen(
            self.seconds,
            self.cpus,
            self.count,
            self.per_second,
            self.threshold_ns,
            self.watched_ns,
            StopsInRun(int(self.seen_ns.size), self.in_run_ns),
        )


def _of_one_stop(begin: Floats, end: Floats, excess: Floats) -> Floats:
    """The part of each excess that the stop which made an earlier one longer may have made.

    One stop is in all those that were under way together with the first of them.
    """
    before = np.zeros(begin.size)
    until, most = -np.inf, 0.0
    for number, (since, ends, by) in enumerate(
        zip(begin.tolist(), end.tolist(), excess.tolist(), strict=True)
    ):
        if since > until:
            until, most = ends, 0.0
        before[number] = most
        most = max(most, by)
    return before


def _at_least(inside: int, both: int, share: float) -> float:
    """The probability that so many or more of both are inside, each with that of `share`; 1 up to the mean.

    Computed here because SciPy is in an extra: a run on Linux is judged without it.
    """
    if inside <= both * share:
        return 1.0
    outside = both - inside
    ways = math.lgamma(both + 1) - math.lgamma(inside + 1) - math.lgamma(outside + 1)
    term = math.exp(ways + inside * math.log(share) + outside * math.log1p(-share))
    found, odds = 0.0, share / (1 - share)
    # Above the mean each term is smaller than the one before.
    for more in range(inside, both + 1):
        found += term
        term *= (both - more) / (more + 1) * odds
        if term < found * 1e-12:
            break
    return found


def stops_of(reports: Mapping[int, Mapping[str, Any]]) -> Stops | None:
    """The series `busy` of consort-probe, by CPU; None where a CPU could not be watched."""
    if not reports or any("refused" in report for report in reports.values()):
        return None
    # Those that the kernel makes itself leave a trace, in a run as well.
    untraced = [report["interrupted"] for report in reports.values()]
    lengths = np.concatenate([np.asarray(one["lengths"], dtype=np.float64) for one in untraced])
    # Of each CPU only the longest have a length.
    shortest = [min(one["lengths"], default=0) for one in untraced if one["n"] > len(one["lengths"])]
    return Stops(
        seconds=min(report["lasted"] for report in reports.values()) / 1e12,
        cpus=tuple(sorted(reports)),
        lengths_ns=np.sort(lengths)[::-1] / 1000,
        threshold_ns=float(max(report["threshold_ns"] for report in reports.values())),
        count=sum(one["n"] for one in untraced),
        unlisted_ns=max(shortest, default=0) / 1000,
    )
