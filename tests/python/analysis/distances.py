# SPDX-License-Identifier: Apache-2.0
"""Theorem 31 a second time, by its definition: counting, one release after another, and nothing remembered.

`Curve` with a fault is a weaker form of the theorem, which simulations refute.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate, count
from random import Random
from typing import Any

from consort import _engine

POLICIES = ("fixed-priority", "fixed-priority-non-preemptive", "edf")


@dataclass(frozen=True)
class Row:
    """A task: the first is the most urgent."""

    wcet: int
    period: int
    deadline: int = 10**6
    jitter: int = 0
    distances: tuple[int, ...] = ()
    late: int = 0
    """Part of the jitter: how late a job comes after its release."""


@dataclass
class Curve:
    """The least distances of what comes, from the lists of a row."""

    row: Row
    fault: str = ""
    closed: dict[int, int] = field(default_factory=lambda: {0: 0})

    def steps(self, n: int) -> int:
        """From one release to the one n after it: the longest sum of distances whose steps are n."""
        given = self.row.distances
        if self.fault == "what follows the list comes as at its end" and n > len(given):
            return given[-1] + (n - len(given)) * (given[-1] - given[-2] if len(given) > 1 else given[0])
        if n not in self.closed:
            self.closed[n] = max(
                given[part - 1] + self.steps(n - part) for part in range(1, min(n, len(given)) + 1)
            )
        return self.closed[n] + (n > 0 and self.fault == "a tick longer")

    def due(self, n: int) -> int:
        by_period = n * self.row.period
        return max(by_period, self.steps(n)) if self.row.distances else by_period

    def comes(self, n: int) -> int:
        by_period = n * self.row.period - self.row.jitter
        return max(by_period, self.steps(n) - self.row.late) if self.row.distances else by_period

    def jobs(self, span: int) -> int:
        """The number of jobs within a span, its end not included."""
        n = 0
        while self.comes(n) < span:
            n += 1
        return max(0, n - (self.fault == "one job less" and n > 1))


FAULTS = (
    "what follows the list comes as at its end",
    "a tick longer",
    "one job less",
    "only the first job",
    "jitter is in the distances",
)


def reference(
    policy: str, rows: list[Row], i: int, blocking: list[int] | None = None, fault: str = ""
) -> int | None:
    """Theorem 1 with the counts of theorem 31; None where the window is longer than anything here."""
    if policy != "fixed-priority":
        return None
    curves = [Curve(row, fault) for row in rows]
    own, most, q, w = curves[i], 0, 0, 0
    held = blocking[i] if blocking else 0
    late = 0 if fault == "jitter is in the distances" and rows[i].distances else rows[i].jitter
    while True:
        while True:
            asked = held + (q + 1) * rows[i].wcet
            asked += sum(curves[k].jobs(w) * rows[k].wcet for k in range(i))
            if asked == w:
                break
            w = asked
            if w > 5_000:
                return None
        most = max(most, w + late - own.due(q))
        q += 1
        if w <= own.comes(q) or fault == "only the first job":
            return most


def engine(policy: str, rows: list[Row], i: int, blocking: list[int] | None = None) -> int | None:
    given: dict[str, Any] = {
        "c": [row.wcet for row in rows],
        "t": [row.period for row in rows],
        "jitter": [row.jitter for row in rows],
        "blocking": blocking or [0] * len(rows),
        "distances": [(list(row.distances), row.late) for row in rows],
        "task": i,
    }
    if policy == "edf":
        found: int | None = _engine.edf_response(**given, d=[row.deadline for row in rows])["bound"]
    else:
        found = _engine.fp_response(**given, preemptive=policy == "fixed-priority")["bound"]
    return found


def share_of(row: Row) -> Fraction:
    """A task's load in the long run, as a share of the core."""
    spans = [Fraction(row.period), *map(Fraction, row.distances, count(1))]
    return row.wcet / max(spans)


def core_of(random: Random) -> list[Row]:
    """Some tasks that come in bursts, late, or as ever."""
    rows = []
    for _ in range(random.randint(1, 4)):
        kind = random.choice(("plain", "burst", "burst", "late", "both"))
        period = random.choice((10, 12, 15, 20, 30, 40))
        jitter, distances = 0, ()
        if kind == "burst":
            # So many close to one another, and then none for long.
            inside = random.randint(1, 6)
            size = random.randint(1, 4)
            rest = size * random.choice((period, period + 5, 2 * period))
            distances = tuple([inside * n for n in range(1, size)] + [max(rest, inside * size)])
            period = inside if random.random() < 0.7 else min(period, rest // size)
        elif kind in ("late", "both"):
            jitter = random.randint(1, 4 * period)
            step = random.randint(1, period)
            distances = (step,)
            if kind == "both":
                second = random.randint(step, 2 * period)
                distances = (step, second)
        each = max(1, (rest_of(period, distances)) // 4)
        wcet = random.choice((1, random.randint(1, each)))
        deadline = random.randint(period, 4 * period) + jitter
        rows.append(Row(wcet, period, deadline, jitter, distances))
    return rows


def rest_of(period: int, distances: tuple[int, ...]) -> int:
    """The time from one release to the next in the long run, rounded down."""
    return max([period, *(least // n for n, least in enumerate(distances, 1))])


Bound = Callable[[str, list[Row], int, list[int]], int | None]


def attack(seed: int, runs: int = 3, bound: Bound = engine) -> tuple[int, int, int]:
    """One random system under each policy: bounds held against the engine's simulator, reached, exceeded."""
    random = Random(seed)
    rows, switch = core_of(random), random.choice((0, 0, 0, 1))
    tasks = [simulated(random, i, row) for i, row in enumerate(rows)]
    held = reached = exceeded = 0
    for policy in POLICIES:
        core = _engine.SimCore(policy)
        core.context_switch = switch
        system = _engine.SimSystem([core], [], tasks)
        last = len(rows) - 1
        blocking = [
            switch if policy != POLICIES[1] and ((policy == "edf" and last) or i < last) else 0
            for i in range(len(rows))
        ]
        charged = [
            Row(row.wcet + 2 * switch, row.period, row.deadline, row.jitter, row.distances) for row in rows
        ]
        loads = list(accumulate(share_of(row) for row in charged))
        seen = [-1] * len(rows)
        for run in range(runs):
            found = _engine.sim_run(system, 600, seed + run, ("worst", "edges")[run % 2], "edges")["tasks"]
            seen = [max(a, b["max_response"] or -1) for a, b in zip(seen, found, strict=True)]
        for i, response in enumerate(seen):
            if (loads[-1] if policy == "edf" else loads[i]) == 1 and any(row.distances for row in rows):
                continue  # no common period ends the engine's search: it takes seconds to say so
            most = bound(policy, charged, i, blocking)
            if most is not None:
                held += 1
                reached += response == most
                exceeded += response > most
    return held, reached, exceeded


def simulated(random: Random, i: int, row: Row) -> Any:
    task: Any = _engine.SimTask()
    task.wcet, task.bcet = row.wcet, random.choice((0, row.wcet, row.wcet))
    task.period, task.deadline, task.jitter = row.period, row.deadline, row.jitter
    task.distances, task.rank = list(row.distances), i
    task.offset = random.choice((0, 0, random.randint(0, row.period)))
    task.extra_gap = random.choice((0, 0, row.period))
    return task
