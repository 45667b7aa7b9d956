# SPDX-License-Identifier: Apache-2.0
"""Theorem 28 once more, in a few lines, and with mistakes; and random cores to try it on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from random import Random
from typing import Any

from consort import _engine

# (period, budget, the longest time without any); None: all of the core.
Supply = tuple[int, int, int] | None


@dataclass(frozen=True)
class Row:
    """A task; the first of several is the most urgent. `limit`: only those before that place preempt it."""

    wcet: int
    period: int
    jitter: int = 0
    limit: int = 0
    sections: tuple[tuple[int, int, int], ...] = ()


@dataclass(frozen=True)
class How:
    """The theorem; each value that differs is a mistake."""

    jobs: str = "all"  # "first", or "until one ends before its successor can come"
    blocks: int = 0  # by how much a threshold is taken to be lower than it is
    preempts: int = 0  # how many of the tasks that preempt it are forgotten
    blocking: bool = True
    shorter: int = 0  # of the blocking job
    after_start: bool = True  # whether what comes after a job began counts
    at_start: bool = True  # whether what comes just as a job would begin counts
    earlier: bool = True  # whether its own earlier jobs count


THEOREM = How()


def up(a: int, b: int) -> int:
    return -(-a // b)


def supplied(work: int, supply: Supply) -> int:
    if supply is None or work == 0:
        return work
    period, budget, gap = supply
    return gap + (work - 1) // budget * period + (work - 1) % budget + 1


def reference(
    rows: list[Row], i: int, blocking: int = 0, supply: Supply = None, how: How = THEOREM
) -> int | None:
    """The response time of task i; None: it and those before it ask for too much."""
    own, others = rows[i], rows[:i]
    load = sum((Fraction(r.wcet, r.period) for r in [own, *others]), Fraction(0))
    if load >= (1 if supply is None else Fraction(supply[1], supply[0])):
        return None
    longest = max(
        (r.wcet - how.shorter for r in rows[i + 1 :] if r.limit + how.blocks <= i and how.blocking), default=0
    )
    held, closed = max(blocking, longest), longest <= blocking

    def least(start: int, function: Callable[[int], int]) -> int:
        while (next_ := function(start)) != start:
            start = next_
        return start

    def came(r: Row, length: int) -> int:
        return (
            (length + r.jitter) // r.period + 1
            if closed and how.at_start
            else up(length + r.jitter, r.period)
        )

    def beginning(work: int) -> int:
        return supplied(work + 1, supply) - 1 if closed and supply is not None else supplied(work, supply)

    window = least(
        held + own.wcet,
        lambda w: supplied(held + sum(up(w + r.jitter, r.period) * r.wcet for r in [own, *others]), supply),
    )
    worst = 0
    for q in range(1 if how.jobs == "first" else up(window + own.jitter, own.period)):
        before = held + (q * own.wcet if how.earlier else 0)
        start = least(before, lambda s: beginning(before + sum(came(r, s) * r.wcet for r in others)))  # noqa: B023

        def done(w: int) -> int:
            sum_ = before + own.wcet  # noqa: B023
            for k, r in enumerate(others):
                above = k < own.limit - how.preempts and how.after_start
                sum_ += (up(w + r.jitter, r.period) if above else came(r, start)) * r.wcet  # noqa: B023
            return supplied(sum_, supply)

        finish = least(start + own.wcet, lambda w: max(w, done(w)))
        worst = max(worst, finish + own.jitter - q * own.period)
        if how.jobs == "until" and finish + own.jitter <= (q + 1) * own.period:
            break
    return worst


def engine(rows: list[Row], i: int, blocking: int = 0, supply: Supply = None) -> int | None:
    bound: int | None = _engine.fp_threshold_response(
        c=[r.wcet for r in rows],
        t=[r.period for r in rows],
        jitter=[r.jitter for r in rows],
        blocking=[blocking if k == i else 0 for k in range(len(rows))],
        threshold=[r.limit for r in rows],
        task=i,
        supply=supply,
    )["bound"]
    return bound


def core_of(random: Random, sections: bool = True) -> list[Row]:
    """Tasks of one core, some of which hold resources, at a load that leaves something to find."""
    count = random.randint(2, 5)
    rows = []
    for i in range(count):
        period = random.choice((10, 12, 15, 20, 24, 30, 40, 60, 120))
        wcet = random.choice((1, random.randint(1, max(1, period // 3))))
        held, rest = [], wcet
        for resource in random.sample(range(count), random.randint(0, 2)) if sections else ():
            if rest:
                length = random.randint(1, rest)
                rest -= length
                held.append((resource, length, 1))
        jitter = random.choice((0, 0, random.randint(0, period)))
        rows.append(Row(wcet, period, jitter, random.randint(0, i), tuple(held)))
    return rows


def blocked_by_sections(rows: list[Row], i: int) -> int:
    """The longest section of a less urgent task on a resource that task i or a more urgent one uses (20)."""
    wanted = {resource for r in rows[: i + 1] for resource, _, _ in r.sections}
    return max(
        (length for r in rows[i + 1 :] for resource, length, _ in r.sections if resource in wanted), default=0
    )


def attack(random: Random, bound: Callable[..., int | None], runs: int = 2) -> tuple[int, int, int]:
    """A random core in the engine's simulator: bounds held against it, reached, exceeded."""
    rows = core_of(random)
    switch = random.choice((0, 0, 1))
    reload = random.choice((0, 0, 1))
    supply = None if reload else random.choice((None, None, None, (8, 6, random.random() < 0.5)))
    core: Any = _engine.SimCore("fixed-priority")
    core.context_switch, core.cache_reload = switch, reload
    gap: Supply = None
    if supply is not None:
        core.supply = supply
        gap = (supply[0], supply[1], (supply[0] - supply[1]) * (1 if supply[2] else 2))
    tasks = []
    for i, row in enumerate(rows):
        task: Any = _engine.SimTask()
        task.wcet, task.bcet = row.wcet, random.choice((0, row.wcet, row.wcet))
        task.period = task.deadline = row.period
        task.jitter, task.sections = row.jitter, list(row.sections)
        task.rank, task.threshold = i, row.limit
        task.extra_gap = random.choice((0, 0, row.period))
        # The less urgent one comes first, a little.
        task.offset = random.choice((random.randint(0, row.period), (len(rows) - i) * random.randint(0, 2)))
        tasks.append(task)
    system = _engine.SimSystem([core], [], tasks)
    seen = [-1] * len(rows)
    for run in range(runs):
        choice = ("worst", "edges")[run % 2]
        found = _engine.sim_run(system, 600, random.randint(0, 10**6), choice, "edges")["tasks"]
        seen = [max(a, b["max_response"] or -1) for a, b in zip(seen, found, strict=True)]
    totals = [0, 0, 0]
    for i in range(len(rows)):
        # The reloads of a preempted job are charged to those that may have preempted it, or have blocked.
        charged = [
            Row(r.wcet + 2 * switch + (reload if k != i else 0), r.period, r.jitter, r.limit)
            for k, r in enumerate(rows)
        ]
        section = blocked_by_sections(rows, i)
        blocking = section + (reload if section else 0) + (switch if i < len(rows) - 1 else 0)
        found_bound = bound(charged, i, blocking, gap)
        if found_bound is not None:
            totals[0] += 1
            totals[1] += seen[i] == found_bound
            totals[2] += seen[i] > found_bound
    return totals[0], totals[1], totals[2]
