# SPDX-License-Identifier: Apache-2.0
"""Random sets held against pyRTA, an independent program of the analyses that PROSA has verified.

Every difference has its reason: the peer's time is discrete (doubled times make it equal), and it counts
responses and deadlines from when a job came where we count from when it was due.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

import pytest
from consort import _engine
from response_time_analysis import fp, model
from verified import PeriodicSupply, Row, Verified, from_due, up

SETS = 120


def sets(seed: int, count: int, *, jitter: str = "", levels: bool = False) -> Iterator[list[Row]]:
    """Sets of a load below 0.98; `jitter`: of the `others` only, or of `all`."""
    random = Random(seed)
    made = 0
    while made < count:
        rows = []
        for k in range(random.randint(2, 6)):
            t = random.choice((random.randint(4, 60), random.choice((5, 10, 20, 40))))
            c = random.randint(1, max(1, t // 3))
            late = random.choice((0, random.randint(0, t - 1))) if jitter else 0
            priority = random.randint(1, 3) if levels else 10 - k
            segment = random.randint(1, c)
            rows.append(Row(c, t, random.randint(c, 3 * t), late, priority, segment))
        if sum(row.c / row.t for row in rows) <= 0.98:
            made += 1
            yield sorted(rows, key=lambda row: -row.priority)


def fields(rows: list[Row]) -> dict[str, list[int]]:
    return {
        "c": [row.c for row in rows],
        "t": [row.t for row in rows],
        "jitter": [row.jitter for row in rows],
    }


def fixed_priority(rows: list[Row], index: int, **more: object) -> int | None:
    found: int | None = _engine.fp_response(**fields(rows), task=index, **more)["bound"]  # type: ignore[arg-type]
    return found


def edf(rows: list[Row], index: int, **more: object) -> int | None:
    d = [row.d for row in rows]
    found: int | None = _engine.edf_response(**fields(rows), d=d, task=index, **more)["bound"]  # type: ignore[arg-type]
    return found


def alone(rows: list[Row], index: int) -> list[Row]:
    """The set with no jitter of the task that is looked at."""
    own = rows[index]
    return [*rows[:index], Row(own.c, own.t, own.d, 0, own.priority, own.segment), *rows[index + 1 :]]


def preemptive(seed: int, count: int) -> None:
    for rows in sets(seed, count):
        peer = Verified([Row(r.c, r.t, r.d, 0, r.priority) for r in rows])
        for i in range(len(rows)):
            assert fixed_priority(rows, i) == up(peer.fixed_priority(i)), (rows, i)


def equal_priorities(seed: int, count: int) -> None:
    for rows in sets(seed, count, levels=True):
        peer = Verified([Row(r.c, r.t, r.d, 0, r.priority) for r in rows])
        level = [-row.priority for row in rows]
        for i in range(len(rows)):
            assert fixed_priority(rows, i, level=level) == up(peer.fixed_priority(i)), (rows, i)


def limited_preemption(seed: int, count: int) -> None:
    """A stretch without preemption of each task: what blocks is the longest of the tasks below."""
    for rows in sets(seed, count):
        peer = Verified(rows)
        for i in range(len(rows)):
            held = max((row.segment for row in rows[i + 1 :]), default=0)
            # In doubled ticks the blocking is one short of the stretch.
            twice = [Row(2 * r.c, 2 * r.t, 2 * r.d) for r in rows]
            blocking = [max(0, 2 * held - 1)] * len(rows)
            ours = fixed_priority(twice, i, blocking=blocking)
            assert ours == peer.fixed_priority(i).response_time_bound, (rows, i)


def non_preemptive(seed: int, count: int) -> None:
    for rows in sets(seed, count):
        peer = Verified(rows, non_preemptive=True)
        for i in range(len(rows)):
            assert fixed_priority(rows, i, preemptive=False) == up(peer.fixed_priority(i)), (rows, i)


def jitter_of_others(seed: int, count: int) -> None:
    for rows in sets(seed, count, jitter="others"):
        for i in range(len(rows)):
            mine = [Row(r.c, r.t, r.d, r.jitter, r.priority) for r in alone(rows, i)]
            assert fixed_priority(mine, i) == up(Verified(mine).fixed_priority(i)), (mine, i)


def own_jitter(seed: int, count: int) -> None:
    """Counted from when the job was due on both sides."""
    for rows in sets(seed, count, jitter="all"):
        peer = Verified([Row(r.c, r.t, r.d, r.jitter, r.priority) for r in rows])
        for i, row in enumerate(rows):
            assert fixed_priority(rows, i) == from_due(peer.fixed_priority(i), row.jitter), (rows, i)


def curves(seed: int, count: int) -> None:
    """Period and jitter of the others as a curve: the least distance of 2, 3, … of their jobs."""
    for rows in sets(seed, count, jitter="others"):
        for i in range(len(rows)):
            mine = [Row(r.c, r.t, r.d, r.jitter, r.priority) for r in alone(rows, i)]
            peer = Verified(mine, curves=True)
            assert fixed_priority(mine, i) == up(peer.fixed_priority(i)), (mine, i)


def edf_preemptive(seed: int, count: int) -> None:
    for rows in sets(seed, count):
        peer = Verified([Row(r.c, r.t, r.d, 0, r.priority) for r in rows])
        for i in range(len(rows)):
            assert edf(rows, i) == peer.edf(i), (rows, i)


def edf_non_preemptive(seed: int, count: int) -> None:
    for rows in sets(seed, count):
        peer = Verified(rows, non_preemptive=True)
        for i in range(len(rows)):
            assert edf(rows, i, preemptive=False) == peer.edf(i), (rows, i)


def edf_with_jitter_of_others(seed: int, count: int) -> None:
    """The peer's deadlines count from when a job comes: later than ours by up to its jitter."""
    for rows in sets(seed, count, jitter="others"):
        for i in range(len(rows)):
            mine = [Row(r.c, r.t, max(r.d, r.jitter + 1), r.jitter, 1) for r in alone(rows, i)]
            peer = Verified(mine)
            early = peer.edf(i, [row.d - row.jitter for row in mine])
            late, ours = peer.edf(i), edf(mine, i)
            assert late is not None and ours is not None and early is not None
            assert late <= ours <= early, (mine, i)


def first_in_first_out(seed: int, count: int) -> None:
    """Is EDF with one deadline for all."""
    for rows in sets(seed, count):
        same = [Row(r.c, r.t, 100) for r in rows]
        ours = [edf(same, i) for i in range(len(same))]
        assert max(found for found in ours if found is not None) == Verified(same).fifo(), rows


def supplies(seed: int, count: int) -> Iterator[tuple[list[Row], tuple[int, int, int], PeriodicSupply]]:
    """Sets on a part of a core: with the supply for the engine and for the peer."""
    random = Random(seed)
    for rows in sets(seed, 2 * count):
        period = random.choice((3, 5, 8, 10, 20))
        budget, fixed = random.randint(1, period), random.random() < 0.5
        mine = [Row(r.c, r.t, r.d, 0, r.priority) for r in rows]
        if sum(r.c / r.t for r in mine) <= 0.95 * budget / period:
            gap = (period - budget) * (1 if fixed else 2)
            yield mine, (period, budget, gap), PeriodicSupply(period, budget, fixed)


def supply_fixed_priority(seed: int, count: int) -> None:
    """The peer's equation with the supply of a partition; with its own model, a line below, never lower."""
    for rows, supply, theirs in supplies(seed, count):
        peer = Verified(rows)
        for i in range(len(rows)):
            ours = fixed_priority(rows, i, supply=supply)
            assert ours == up(peer.fixed_priority(i, theirs)), (rows, supply, i)
            line = up(peer.fixed_priority(i, theirs.rate_and_delay()))
            assert ours is not None and line is not None and ours <= line, (rows, supply, i)


def supply_edf(seed: int, count: int) -> None:
    for rows, supply, theirs in supplies(seed, count):
        peer = Verified(rows)
        for i in range(len(rows)):
            assert edf(rows, i, supply=supply) == peer.edf(i, supply=theirs), (rows, supply, i)


MODES: tuple[Callable[[int, int], None], ...] = (
    preemptive,
    equal_priorities,
    limited_preemption,
    non_preemptive,
    jitter_of_others,
    own_jitter,
    curves,
    edf_preemptive,
    edf_non_preemptive,
    edf_with_jitter_of_others,
    first_in_first_out,
    supply_fixed_priority,
    supply_edf,
)


@pytest.mark.parametrize("mode", MODES)
def test_a_hundred_sets(mode: Callable[[int, int], None]) -> None:
    mode(20, SETS)


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_ten_thousand_sets(mode: Callable[[int, int], None]) -> None:
    mode(2026, 10_000)


def test_what_the_adapter_keeps_clear_of() -> None:
    """The first trap, with the peer's own way of writing it: two equal tasks do not see each other."""
    twins = [
        model.Task(model.Periodic(10), model.FullyPreemptive(model.WCET(4)), None, model.Priority(1))
        for _ in range(2)
    ]
    naive = fp.rta(model.taskset(twins), twins[0], model.IdealProcessor())
    assert naive.response_time_bound == 4
    rows = [Row(4, 10, 10, 0, 1), Row(4, 10, 10, 0, 1)]
    assert up(Verified(rows).fixed_priority(0)) == fixed_priority(rows, 0, level=[0, 0]) == 8
