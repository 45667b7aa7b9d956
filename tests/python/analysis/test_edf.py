# SPDX-License-Identifier: Apache-2.0
"""EDF on one core: response times against the processor demand, simulation and fixed priorities."""

from __future__ import annotations

from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np
import pytest
from brute import jobs_of, run, worst
from consort import _engine
from consort.analysis.uniprocessor import UniTask, edf, fixed_priority
from effort import examples
from hypothesis import assume, given, settings
from hypothesis import strategies as st

Row = tuple[int, ...]


def make(rows: list[Row]) -> list[UniTask]:
    """Tasks of (c, t[, d[, jitter[, blocking]]])."""
    return [
        UniTask(f"t{i}", row[0], row[1], row[2] if len(row) > 2 else row[1], *row[3:])
        for i, row in enumerate(rows)
    ]


def bounds(rows: list[Row], **options: bool) -> list[int | None]:
    return [bound.response for bound in edf(make(rows), **options)]


def demand(rows: list[Row], *, preemptive: bool = True) -> dict[str, Any]:
    """The engine's processor-demand test (theorem 5)."""
    tasks = make(rows)
    return _engine.edf_feasible(
        c=[task.execution for task in tasks],
        t=[task.period for task in tasks],
        d=[task.deadline for task in tasks],
        jitter=[task.jitter for task in tasks],
        blocking=[task.blocking for task in tasks],
        preemptive=preemptive,
    )


def feasible(rows: list[Row], *, preemptive: bool = True) -> bool:
    return bool(demand(rows, preemptive=preemptive)["feasible"])


def load(rows: list[Row]) -> Fraction:
    return sum((Fraction(row[0], row[1]) for row in rows), Fraction(0))


@st.composite
def task_sets(draw: st.DrawFn, most: int = 3, period: int = 9, extras: bool = False) -> list[Row]:
    rows = []
    for _ in range(draw(st.integers(1, most))):
        t = draw(st.integers(2, period))
        c = draw(st.integers(1, max(1, t // 2)))
        d = draw(st.integers(c, 2 * t))
        rows.append((c, t, d, *(draw(st.integers(0, 3)) for _ in range(2 if extras else 0))))
    return rows


def test_full_load_is_schedulable() -> None:
    found = edf(make([(2, 4), (3, 6)]))
    assert all(bound.schedulable for bound in found)
    assert not all(bound.schedulable for bound in fixed_priority(make([(2, 4), (3, 6)])))


def test_the_worst_case_need_not_be_a_synchronous_release() -> None:
    """Spuri's point: a task's longest response may need the others to come first."""
    rows = [(4, 8, 8), (3, 10, 7)]
    assert bounds(rows) == [7, 6]
    together = [job for i, (c, t, d) in enumerate(rows) for job in jobs_of(i, c, t, d, until=8, policy="edf")]
    assert worst(run(together)) == {0: 7, 1: 3}


def test_what_is_due_in_which_span() -> None:
    found = demand([(2, 10, 3), (2, 10, 3)])
    assert (found["feasible"], found["span"], found["demand"]) == (False, 3, 4)
    assert not feasible([(2, 3), (2, 4)])
    assert edf(make([(2, 3), (2, 4)]))[0].notes[0].endswith("116.667 % of the core")


def test_blocking_at_full_load_is_seen_beyond_a_common_period() -> None:
    rows = [(2, 2, 3, 0, 3)]
    assert not feasible(rows)
    assert bounds(rows) == [5]


def test_non_preemptive_is_blocked_by_a_later_deadline() -> None:
    found = edf(make([(1, 10, 3), (4, 20, 20)]), preemptive=False)
    assert [bound.response for bound in found] == [5, 5]
    assert [step.kind for step in found[0].explanation] == ["blocking", "own"]


@given(task_sets(extras=True), st.booleans())
def test_responses_agree_with_the_demand(rows: list[Row], preemptive: bool) -> None:
    found = edf(make(rows), preemptive=preemptive)
    assert all(bound.schedulable for bound in found) == feasible(rows, preemptive=preemptive)


@given(st.lists(task_sets(most=3, extras=True), min_size=1, max_size=4), st.booleans())
def test_bulk_agrees_with_single(sets: list[list[Row]], preemptive: bool) -> None:
    sets = [rows for rows in sets if len(rows) == len(sets[0])]
    table = np.array(sets, dtype=np.int64)
    c, t, d, j, b = (np.ascontiguousarray(table[:, :, k]) for k in range(5))
    many = _engine.edf_schedulable(c=c, t=t, d=d, jitter=j, blocking=b, preemptive=preemptive)
    assert many.tolist() == [feasible(rows, preemptive=preemptive) for rows in sets]


def within(t: int, rows: list[Row]) -> int:
    return sum(max(0, (t + row[3] - row[2]) // row[1] + 1) * row[0] for row in rows)


@given(task_sets(extras=True))
def test_demand_agrees_with_every_point(rows: list[Row]) -> None:
    """The plain test, at every point up to where a load below 1 catches up."""
    rows = [row[:4] for row in rows]
    expected = load(rows) <= 1 and all(
        within(t, rows) <= max(t, 0) for t in range(-4, 2 * lcm(*(row[1] for row in rows)) + 40)
    )
    assert feasible(rows) == expected


@given(task_sets(), st.booleans(), st.data())
def test_no_simulation_exceeds_the_bound(rows: list[Row], preemptive: bool, data: st.DataObject) -> None:
    assume(load(rows) <= 1)
    until = min(4 * lcm(*(row[1] for row in rows)), 150)
    jobs = []
    jittered = []
    for i, (c, t, d) in enumerate(rows):
        jitter = data.draw(st.integers(0, 5))
        late = data.draw(st.lists(st.integers(0, jitter), max_size=4))
        offset = data.draw(st.integers(0, 10))
        mine = jobs_of(i, c, t, d, until=until, offset=offset, late=late, policy="edf")
        for job in mine:
            job.execution = data.draw(st.sampled_from((c, c, c, max(1, c - 1))))
        jobs += mine
        jittered.append((c, t, d, jitter))
    simulated = worst(run(jobs, preemptive=preemptive))
    for i, bound in enumerate(bounds(jittered, preemptive=preemptive)):
        assert bound is None or simulated.get(i, 0) <= bound


@settings(max_examples=examples(40))
@given(task_sets(most=2, period=6))
def test_some_offsets_attain_the_bound(rows: list[Row]) -> None:
    """Preemptive EDF without jitter: among all offsets of small sets is the worst case, with ties going its
    way."""
    assume(load(rows) <= 1)
    found = bounds(rows)
    period = lcm(*(row[1] for row in rows))
    most = [0] * len(rows)
    for i in range(len(rows)):
        for offset in range(rows[i][1]):
            jobs = []
            for k, (c, t, d) in enumerate(rows):
                mine = jobs_of(k, c, t, d, until=3 * period, offset=offset if k == i else 0, policy="edf")
                for job in mine:
                    job.key = (job.key[0], k == i, *job.key[1:])
                jobs += mine
            most[i] = max(most[i], worst(run(jobs)).get(i, 0))
    assert most == found


@given(task_sets(most=4))
def test_edf_meets_what_fixed_priorities_meet(rows: list[Row]) -> None:
    if all(bound.schedulable for bound in fixed_priority(make(rows))):
        assert all(bound.schedulable for bound in edf(make(rows)))


@given(task_sets(extras=True), st.booleans(), st.data())
def test_monotone(rows: list[Row], preemptive: bool, data: st.DataObject) -> None:
    """More execution, jitter or blocking never helps a set, nor does a shorter period or deadline."""
    which = data.draw(st.integers(0, len(rows) - 1))
    column = data.draw(st.integers(0, 4))
    harder = [list(row) for row in rows]
    harder[which][column] += -1 if column in (1, 2) else 1
    assume(harder[which][1] > 0 and harder[which][2] > 0)
    if feasible([tuple(row) for row in harder], preemptive=preemptive):
        assert feasible(rows, preemptive=preemptive)


@pytest.mark.parametrize("preemptive", [True, False])
def test_explanation_ends_at_the_bound(preemptive: bool) -> None:
    for bound in edf(make([(3, 10, 9, 2), (4, 12, 20), (2, 15, 14, 3, 1)]), preemptive=preemptive):
        last = bound.explanation[-1]
        assert last.start + last.length == bound.response


def test_a_busy_window_that_leaves_the_range_of_times_is_no_bound() -> None:
    second = 10**12
    tasks = [UniTask(f"t{i}", 124_990 * second + i, (10**6 - i) * second, 10**18, jitter=i) for i in range(8)]
    found = edf(tasks, preemptive=False)
    assert {bound.response for bound in found} == {None}
    assert all("leaves 63 bits" in bound.notes[0] for bound in found)
