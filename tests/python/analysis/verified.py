# SPDX-License-Identifier: Apache-2.0
"""pyRTA (`response-time-analysis` on PyPI), which implements the analyses that PROSA has verified, as a peer.

Three things of it mislead, and this adapter keeps clear of them:

- Tasks compare by value, and a task excludes its equals from what interferes with it: of two tasks (4, 10) of
  one priority each would respond in 4. Each gets a deadline, or under EDF a priority, of its own.
- Jobs are counted by `ceil(a / b)` in floats: one too few for long times. Times stay below 2^31.
- A vector of distances is extended beyond its end by less than its closure allows: too many jobs. A vector is
  given as long as any window here.

Its time is discrete: what blocks has begun a whole tick before the window, where ours begins just before it.
Times are therefore doubled, so that its bound, rounded up, is ours (`SCALE`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import response_time_analysis as peer
from response_time_analysis import model

SCALE = 2
LARGEST = 2**31
# Beyond this no window of a set here goes on: its load is below 1.
HORIZON = 10**7


@dataclass(frozen=True)
class Row:
    """A task of the sets that both sides analyse; the larger the priority, the more urgent."""

    c: int
    t: int
    d: int
    jitter: int = 0
    priority: int = 0
    segment: int = 0
    """Its longest stretch without preemption; 0: it can be preempted at any time."""


class Verified:
    """The peer's three analyses for a set of rows."""

    def __init__(self, rows: Sequence[Row], *, non_preemptive: bool = False, curves: bool = False) -> None:
        self.rows = rows
        self.non_preemptive = non_preemptive
        self.curves = curves
        assert all(max(row.t, row.d) * SCALE * (len(rows) + 2) < LARGEST for row in rows)

    def fixed_priority(self, index: int, supply: Any = None) -> Any:
        tasks = [
            model.Task(*self._parts(row), model.Deadline(k + 1), model.Priority(row.priority))
            for k, row in enumerate(self.rows)
        ]
        return peer.fp.rta(model.taskset(tasks), tasks[index], supply or self._ideal, HORIZON)

    def edf(self, index: int, deadlines: Sequence[int] | None = None, supply: Any = None) -> int | None:
        given = deadlines or [row.d for row in self.rows]
        tasks = [
            model.Task(*self._parts(row), model.Deadline(SCALE * d), model.Priority(k + 1))
            for k, (row, d) in enumerate(zip(self.rows, given, strict=True))
        ]
        return up(peer.edf.rta(model.taskset(tasks), tasks[index], supply or self._ideal, HORIZON))

    def fifo(self) -> int | None:
        tasks = [model.Task(*self._parts(row)) for row in self.rows]
        return up(peer.fifo.rta(model.taskset(tasks), self._ideal, HORIZON))

    @property
    def _ideal(self) -> Any:
        return model.IdealProcessor()

    def _parts(self, row: Row) -> tuple[Any, Any]:
        cost = model.WCET(SCALE * row.c)
        if self.non_preemptive:
            execution = model.FullyNonPreemptive(cost)
        elif row.segment:
            execution = model.FloatingNonPreemptive(cost, SCALE * row.segment)
        else:
            execution = model.FullyPreemptive(cost)
        period, jitter = SCALE * row.t, SCALE * row.jitter
        if self.curves:
            longest = sum(SCALE * (other.c + other.t) for other in self.rows) * 40
            count = (longest + jitter) // period + 2
            return model.MinimumSeparationVector(
                [max(0, n * period - jitter) for n in range(1, count)]
            ), execution
        if jitter:
            return model.PeriodicWithJitter(period, jitter), execution
        return model.Periodic(period), execution


class PeriodicSupply:
    """The supply of a partition as a model of the peer, which has a rate and a delay only."""

    def __init__(self, period: int, budget: int, fixed: bool) -> None:
        self.period, self.budget = SCALE * period, SCALE * budget
        self.without = self.period - self.budget
        self.fixed = fixed

    def __call__(self, span: int) -> int:
        if self.fixed:
            whole, rest = divmod(max(span, 0), self.period)
            return whole * self.budget + max(0, rest - self.without)
        if span < self.without:
            return 0
        n = (span - self.without) // self.period
        return n * self.budget + max(0, span - 2 * self.without - n * self.period)

    def rate_and_delay(self) -> Any:
        """The peer's model of it: never more than it gives."""
        delay = self.without * (1 if self.fixed else 2)
        return model.RateDelayModel(self.period, self.budget, delay)


def up(solution: Any) -> int | None:
    """The peer's bound in our ticks."""
    bound = solution.response_time_bound
    return None if bound is None else -(-bound // SCALE)


def from_due(solution: Any, jitter: int) -> int | None:
    """The same counted from when a job was due.

    The window's first job came late by its jitter; a later one came when it was due.
    """
    if solution.response_time_bound is None:
        return None
    return max(
        -(-(response + (SCALE * jitter if at == 0 else 0)) // SCALE)
        for at, _finish, response in solution.search_space
    )
