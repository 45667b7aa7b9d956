# SPDX-License-Identifier: Apache-2.0
"""Fixed priorities on one core: published sets, properties, and the bounds against simulation."""

from __future__ import annotations

from fractions import Fraction
from math import lcm

import numpy as np
import pytest
from brute import jobs_of, run, worst
from consort import _engine
from consort.analysis.uniprocessor import UniTask, fixed_priority
from effort import examples
from hypothesis import assume, given, settings
from hypothesis import strategies as st

US = 10**6


def make(*rows: tuple[int, ...], level: list[int] | None = None) -> list[UniTask]:
    """Tasks of (c, t[, d[, jitter[, blocking]]])."""
    return [
        UniTask(
            f"t{i}",
            row[0],
            row[1],
            row[2] if len(row) > 2 else row[1],
            *row[3:],
            level=None if level is None else level[i],
        )
        for i, row in enumerate(rows)
    ]


def bounds(*rows: tuple[int, ...], **options: object) -> list[int | None]:
    return [bound.response for bound in fixed_priority(make(*rows), **options)]  # type: ignore[arg-type]


def reference(c: list[int], t: list[int], d: list[int]) -> list[int]:
    """Joseph and Pandya's equation, for deadlines within periods: -1 where the deadline is missed."""
    result = []
    for i in range(len(c)):
        r, before = c[i], -1
        while r != before and r <= d[i]:
            before, r = r, c[i] + sum(-(-r // t[k]) * c[k] for k in range(i))
        result.append(r if r <= d[i] else -1)
    return result


PUBLISHED = {
    "joseph-pandya": ([(3, 7), (3, 12), (5, 20)], [3, 6, 20]),
    "burns-wellings, unschedulable": ([(10, 30), (10, 40), (12, 50)], [10, 20, 52]),
    "burns-wellings, U = 0.775": ([(4, 16), (5, 40), (32, 80)], [4, 9, 58]),
    "burns-wellings, U = 1": ([(5, 20), (10, 40), (40, 80)], [5, 15, 80]),
    "deadline monotonic": ([(3, 20, 5), (3, 15, 7), (4, 10, 10), (3, 20, 20)], [3, 6, 10, 20]),
    "lehoczky-sha-ding": ([(40, 100), (40, 150), (100, 350)], [40, 80, 300]),
    "lehoczky, deadline beyond the period": ([(26, 70), (62, 100, 118)], [26, 118]),
    "schedcat": ([(1, 4), (1, 5), (3, 9), (3, 18)], [1, 2, 7, 18]),
    # Counted from when a job is due; from its release, as published: 10, 13 and 2; jitter as it was
    # propagated.
    "pycpa, two processors (R1)": ([(10, 30, 30, 5), (3, 15, 15, 6)], [15, 13 + 6]),
    "pycpa, two processors (R2)": ([(2, 30, 30, 10), (9, 15, 60, 18)], [12, 11 + 18]),
    "a jitter counted for the task itself": ([(5, 10, 10, 8)], [13]),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_published(name: str) -> None:
    rows, expected = PUBLISHED[name]
    assert bounds(*rows) == expected


def test_lehoczky_worst_is_the_fifth_job() -> None:
    (_, bound) = fixed_priority(make((26, 70), (62, 100, 118)))
    assert bound.schedulable
    earlier = [step for step in bound.explanation if step.label.startswith("4 earlier")]
    assert [step.length for step in earlier] == [4 * 62]
    end = bound.explanation[-1]
    assert end.start + end.length == 118
    # Its seven jobs, one after another, as published.
    jobs = run([*jobs_of(0, 26, 70, 70, until=700), *jobs_of(1, 62, 100, 118, until=700)])
    assert [job.response for job in jobs if job.task == 1] == [114, 102, 116, 104, 118, 106, 94]


AVIONICS = [
    (51, 1000, 1000, 0, 0, 51),
    (3000, 2000000, 5000, 0, 300, 3504),
    (2000, 25000, 25000, 0, 600, 5906),
    (5000, 25000, 25000, 0, 900, 11512),
    (1000, 40000, 40000, 0, 1350, 13064),
    (3000, 50000, 50000, 0, 1350, 16217),
    (5000, 50000, 50000, 0, 750, 20821),
    (8000, 59000, 59000, 0, 750, 36637),
    (9000, 80000, 80000, 0, 1350, 47798),
    (2000, 80000, 80000, 0, 450, 48949),
    (5000, 100000, 100000, 0, 1050, 99150),
    (1000, 200000, 200000, 1000, 450, 99550),
    (3000, 200000, 200000, 0, 450, 140641),
    (1000, 200000, 200000, 0, 450, 141692),
    (1000, 200000, 200000, 0, 1350, 143694),
    (3000, 1000000, 1000000, 0, 0, 145446),
    (1000, 1000000, 1000000, 0, 0, 146497),
    (1000, 1000000, 1000000, 0, 0, 147548),
]


def test_avionics() -> None:
    """Audsley et al. 1993: jitter and blocking. The published responses count from the release, ours from
    when it was due."""
    tasks = make(*(row[:5] for row in AVIONICS))
    found = fixed_priority(tasks)
    assert [b.response - task.jitter for b, task in zip(found, tasks, strict=True)] == [  # type: ignore[operator]
        row[5] for row in AVIONICS
    ]
    assert all(bound.schedulable for bound in found)
    table = np.array([[row[:5] for row in AVIONICS]], dtype=np.int64)
    c, t, d, j, b = (np.ascontiguousarray(table[:, :, k]) for k in range(5))
    many = _engine.fp_responses(c=c, t=t, d=d, jitter=j, blocking=b)
    assert many.tolist() == [[bound.response for bound in found]]


def test_can_2007() -> None:
    """The second message of the lowest priority is its worst; the analysis of 1994 looks at the first:
    3.0."""
    rows = [(2, 5, 5), (2, 7, 7), (2, 7, 7)]
    assert bounds(*rows, preemptive=False) == [4, 6, 7]
    first = _engine.fp_response(c=[2] * 3, t=[5, 7, 7], task=2, preemptive=False)
    assert first["job"] == 1
    # And it happens, but for the first message, which begins just before the others come (here a tick of
    # 0.5).
    jobs = [job for i, t in enumerate((5, 7, 7)) for job in jobs_of(i, 2, t, t, until=70)]
    assert worst(run(jobs, preemptive=False))[2] == 7


def test_overload_has_no_bound() -> None:
    found = fixed_priority(make((6, 10), (5, 10)))
    assert [bound.response for bound in found] == [6, None]
    assert "110 %" in found[1].verdict()
    assert not found[1].schedulable


def test_full_load_with_jitter_has_a_bound() -> None:
    """The busy window never ends; what repeats after the common period is not looked at again."""
    assert bounds((1, 2, 2, 1), (2, 4, 40, 1)) == [2, 6]


def test_equal_priorities_wait_for_each_other() -> None:
    tasks = make((2, 10), (3, 10), (1, 10), level=[0, 0, 1])
    assert [bound.response for bound in fixed_priority(tasks)] == [5, 5, 6]


def test_verdict_says_by_how_much() -> None:
    *_, last = fixed_priority(make((10 * US, 30 * US), (10 * US, 40 * US), (12 * US, 50 * US)), core="m4-0")
    assert last.verdict() == "t2 on m4-0: response time at most 52us, allowed 50us: too late by 2us"
    assert [(step.kind, step.label, step.length // US) for step in last.explanation] == [
        ("interference", "2 x t0", 20),
        ("interference", "2 x t1", 20),
        ("own", "t2", 12),
    ]


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        ([(0, 5)], "execution"),
        ([(1, 0, 1)], "period"),
        ([(1, 5, 0)], "deadline"),
        ([(1, 5, 5, -1)], "jitter"),
    ],
)
def test_values_out_of_range_are_refused(rows: list[tuple[int, ...]], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        make(*rows)


def test_bulk_refuses_by_set_and_field() -> None:
    good = np.ones((2, 2), dtype=np.int64)
    bad = good.copy()
    bad[1, 0] = 0
    with pytest.raises(ValueError, match="set 1, task 0: t is 0"):
        _engine.fp_responses(c=good, t=bad, d=good)
    with pytest.raises(ValueError, match="shape"):
        _engine.fp_schedulable(c=good, t=good[:1], d=good)


def test_large_times_do_not_wrap() -> None:
    big = 2**61
    c = np.array([[big // 2, big // 2]], dtype=np.int64)
    t = np.array([[big, big * 3]], dtype=np.int64)
    assert _engine.fp_responses(c=c, t=t, d=t).tolist() == [[big // 2, big]]
    with pytest.raises(OverflowError):
        _engine.fp_responses(
            c=np.array([[2**62, 2**62]]), t=np.array([[2**62 + 1, 2**63 - 1]]), d=t * 0 + 2**63 - 1
        )


# Random sets of small integers: ties, coincidences and full loads are frequent.
@st.composite
def task_sets(
    draw: st.DrawFn, most: int = 4, period: int = 12, constrained: bool = True, extras: bool = False
) -> list[tuple[int, ...]]:
    rows = []
    for _ in range(draw(st.integers(1, most))):
        t = draw(st.integers(2, period))
        c = draw(st.integers(1, max(1, t // 2)))
        d = draw(st.integers(c, t if constrained else 3 * t))
        rows.append((c, t, d, *(draw(st.integers(0, 4)) for _ in range(2 if extras else 0))))
    return rows


@given(task_sets())
def test_agrees_with_the_plain_equation(rows: list[tuple[int, ...]]) -> None:
    c, t, d = ([row[k] for row in rows] for k in range(3))
    expected = reference(c, t, d)
    table = [np.array([v], dtype=np.int64) for v in (c, t, d)]
    assert _engine.fp_responses(c=table[0], t=table[1], d=table[2]).tolist() == [expected]
    assert _engine.fp_schedulable(c=table[0], t=table[1], d=table[2]).tolist() == [min(expected) > 0]
    for bound, response in zip(fixed_priority(make(*rows)), expected, strict=True):
        assert bound.schedulable == (response > 0)
        assert response < 0 or bound.response == response


@given(task_sets(constrained=False, extras=True), st.booleans())
def test_bulk_agrees_with_single(rows: list[tuple[int, ...]], preemptive: bool) -> None:
    table = np.array([rows], dtype=np.int64)
    c, t, d, j, b = (np.ascontiguousarray(table[:, :, k]) for k in range(5))
    many = _engine.fp_responses(c=c, t=t, d=d, jitter=j, blocking=b, preemptive=preemptive)[0]
    for found, bound in zip(many, fixed_priority(make(*rows), preemptive=preemptive), strict=True):
        assert found == (bound.response if bound.schedulable else -1)


@given(task_sets(most=5), st.data())
def test_bulk_agrees_with_single_on_its_plain_paths(rows: list[tuple[int, ...]], data: st.DataObject) -> None:
    """Deadlines within periods: with jitter, and with jitter and blocking."""
    jitters = [data.draw(st.integers(0, 4)) for _ in rows]
    blockings = [data.draw(st.integers(0, 4)) for _ in rows]
    c, t, d, j, b = (
        np.array([v], dtype=np.int64)
        for v in (*([row[k] for row in rows] for k in range(3)), jitters, blockings)
    )
    for blocking in (None, b):
        many = _engine.fp_responses(c=c, t=t, d=d, jitter=j, blocking=blocking)[0]
        whole = [
            (*row[:3], jitter, held if blocking is not None else 0)
            for row, jitter, held in zip(rows, jitters, blockings, strict=True)
        ]
        for found, bound in zip(many, fixed_priority(make(*whole)), strict=True):
            assert found == (bound.response if bound.schedulable else -1)


def load(rows: list[tuple[int, ...]]) -> Fraction:
    return sum((Fraction(row[0], row[1]) for row in rows), Fraction(0))


@given(task_sets(constrained=False))
def test_synchronous_release_attains_the_bound(rows: list[tuple[int, ...]]) -> None:
    assume(load(rows) <= 1)
    until = lcm(*(row[1] for row in rows))
    jobs = [job for i, (c, t, d) in enumerate(rows) for job in jobs_of(i, c, t, d, until=until)]
    simulated = worst(run(jobs))
    assert bounds(*rows) == [simulated[i] for i in range(len(rows))]


@given(task_sets(constrained=False), st.booleans(), st.data())
def test_no_simulation_exceeds_the_bound(
    rows: list[tuple[int, ...]], preemptive: bool, data: st.DataObject
) -> None:
    """Offsets, jitter, jobs that end early; also executions that begin one tick before all others are
    released."""
    assume(load(rows) <= 1)
    until = min(4 * lcm(*(row[1] for row in rows)), 150)
    jobs = []
    jittered = []
    for i, (c, t, d) in enumerate(rows):
        jitter = data.draw(st.integers(0, 6))
        late = data.draw(st.lists(st.integers(0, jitter), max_size=4))
        offset = data.draw(st.integers(0, 12))
        mine = jobs_of(i, c, t, d, until=until, offset=offset, late=late)
        for job in mine:
            job.execution = data.draw(st.sampled_from((c, c, c, max(1, c - 1))))
        jobs += mine
        jittered.append((c, t, d, jitter))
    simulated = worst(run(jobs, preemptive=preemptive))
    for i, bound in enumerate(bounds(*jittered, preemptive=preemptive)):
        assert bound is None or simulated.get(i, 0) <= bound


@settings(max_examples=examples(200))
@given(task_sets(most=3, period=9))
def test_non_preemptive_is_attained_within_a_tick(rows: list[tuple[int, ...]]) -> None:
    """The longest lower job begins one tick before all others come together: what the theorem says is the
    worst.

    In ticks a blocking job has begun a whole tick earlier, so the bound, which holds for any moment, is
    reached but for one tick.
    """
    assume(load(rows) <= 1)
    found = bounds(*rows, preemptive=False)
    until = 3 * lcm(*(row[1] for row in rows)) + 20
    for i in range(len(rows)):
        lower = max(range(i + 1, len(rows)), key=lambda k: rows[k][0], default=None)
        jobs = [
            job
            for k, (c, t, d) in enumerate(rows)
            for job in jobs_of(k, c, t, d, until=until, offset=0 if k == lower else 1)
            if k <= i or k == lower
        ]
        bound = found[i]
        assert bound is not None
        assert worst(run(jobs, preemptive=False))[i] >= bound - (lower is not None)


@given(task_sets(constrained=False, extras=True), st.booleans(), st.data())
def test_monotone(rows: list[tuple[int, ...]], preemptive: bool, data: st.DataObject) -> None:
    """More execution, jitter or blocking never shortens a response time, nor does a shorter period."""
    which = data.draw(st.integers(0, len(rows) - 1))
    column = data.draw(st.sampled_from((0, 1, 3, 4)))
    harder = [list(row) for row in rows]
    harder[which][column] += -1 if column == 1 else 1
    assume(harder[which][1] > 0)
    before = bounds(*rows, preemptive=preemptive)
    after = bounds(*(tuple(row) for row in harder), preemptive=preemptive)
    for old, new in zip(before, after, strict=True):
        assert new is None or (old is not None and old <= new)
