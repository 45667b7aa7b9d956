# SPDX-License-Identifier: Apache-2.0
"""Earliest deadline first of tasks that are due at known moments: simulations, every schedule, mutants."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import Any

import free
import pytest
from consort import _engine
from consort.analysis.system import response_times
from consort.model import platform_from_data, system_from_data
from consort.simulate.build import prepare
from consort.simulate.outcome import simulate_against_bounds

# (c, t, d, offset or -1, jitter)
Rows = list[tuple[int, int, int, int, int]]


def aware(rows: Rows, index: int, **more: Any) -> int | None:
    c, t, d, offsets, jitter = (list(column) for column in zip(*rows, strict=True))
    found = _engine.edf_offset_response(c=c, t=t, d=d, offsets=offsets, jitter=jitter, task=index, **more)
    bound: int | None = found["bound"]
    return bound


def blind(rows: Rows, index: int, **more: Any) -> int | None:
    c, t, d, _, jitter = (list(column) for column in zip(*rows, strict=True))
    bound: int | None = _engine.edf_response(c=c, t=t, d=d, jitter=jitter, task=index, **more)["bound"]
    return bound


def test_jobs_that_are_kept_apart_do_not_meet() -> None:
    rows = [(4, 10, 10, 0, 0), (4, 10, 10, 5, 0)]
    assert [aware(rows, i) for i in range(2)] == [4, 4]
    assert [blind(rows, i) for i in range(2)] == [8, 8]
    # Late by 2 the first still runs for one tick when the other comes, which has the later deadline.
    assert [aware([(4, 10, 10, 0, 2), (4, 10, 10, 5, 0)], i) for i in range(2)] == [6, 5]


def test_the_earlier_deadline_goes_first() -> None:
    """A set of Pellizzoni and Lipari's kind: offsets that are not multiples of a common divisor."""
    rows = [(1, 4, 4, 0, 0), (2, 6, 6, 1, 0), (2, 12, 3, 3, 0)]
    assert [aware(rows, i) for i in range(3)] == by_every_job(rows)
    assert [blind(rows, i) for i in range(3)] == [3, 5, 2]


def by_every_job(rows: Rows, until: int = 600) -> list[int]:
    """The schedule itself, tick by tick; deadlines that are equal go the way that is worst for each task."""
    longest = [0] * len(rows)
    for last in range(len(rows)):
        jobs: list[list[int]] = []
        for now in range(until):
            for k, (c, t, d, offset, _) in enumerate(rows):
                if now >= offset and (now - offset) % t == 0:
                    jobs.append([now + d, k == last, now, k, c])
            if jobs:
                job = min(jobs)
                job[4] -= 1
                if job[4] == 0:
                    jobs.remove(job)
                    longest[job[3]] = max(longest[job[3]], now + 1 - job[2])
    return longest


def test_without_jitter_and_sporadic_tasks_it_is_exact() -> None:
    random, compared = Random(25), 0
    while compared < 150:
        rows = [
            (random.randint(1, max(1, t // 3)), t, random.randint(2, 2 * t), random.randint(0, 2 * t), 0)
            for t in (random.choice((4, 5, 6, 8, 10, 12)) for _ in range(random.randint(2, 4)))
        ]
        if sum(c / t for c, t, *_ in rows) < 1:
            assert [aware(rows, i) for i in range(len(rows))] == by_every_job(rows), rows
            compared += len(rows)


def random_rows(random: Random) -> Rows:
    rows = []
    for _ in range(random.randint(1, 5)):
        t = random.choice((4, 5, 6, 8, 10, 12, 15, 20, 24, 30))
        c = random.choice((1, random.randint(1, max(1, t // 2))))
        jitter = random.choice((0, 0, random.randint(0, 3), random.randint(0, 2 * t)))
        offset = random.choice((0, random.randint(0, t - 1), random.randint(0, 3 * t), -1))
        rows.append((c, t, random.randint(c, 3 * t), offset, jitter))
    return rows


def attack(seed: int, wrong: str = "", runs: int = 2) -> tuple[int, int, int, int]:
    """One random system: bounds held, reached, exceeded, and lower than without offsets."""
    random = Random(seed)
    rows = random_rows(random)
    switch = random.choice((0, 0, 0, 1))
    supply = random.choice((None, None, None, (8, 6, random.random() < 0.5)))
    core = _engine.SimCore("edf")
    core.context_switch = switch
    more: dict[str, Any] = {"blocking": [switch if len(rows) > 1 else 0] * len(rows)}
    if supply is not None:
        core.supply = supply
        more["supply"] = (*supply[:2], (supply[0] - supply[1]) * (1 if supply[2] else 2))
    tasks = []
    for c, t, d, offset, jitter in rows:
        task: Any = _engine.SimTask()
        task.wcet, task.bcet, task.period, task.deadline = c, random.choice((0, c)), t, d
        task.offset = offset if offset >= 0 else random.randint(0, t)
        task.extra_gap = 0 if offset >= 0 else random.choice((0, t))
        task.jitter = jitter
        tasks.append(task)
    system = _engine.SimSystem([core], [], tasks)
    seen = [-1] * len(rows)
    for run in range(runs):
        execution = ("worst", "edges")[run % 2]
        found = _engine.sim_run(system, 600, (seed + run) % 2**32, execution, "edges")["tasks"]
        seen = [max(a, b["max_response"] or -1) for a, b in zip(seen, found, strict=True)]
    charged = [(c + 2 * switch, *rest) for c, *rest in rows]
    held = reached = exceeded = lower = 0
    for i, row in enumerate(charged):
        bound = None if row[3] < 0 else aware(mutated(charged, wrong), i, **more)  # type: ignore[arg-type]
        if bound is None:
            continue
        if wrong in MOVED:
            bound += row[4]
        other = blind(charged, i, **more)  # type: ignore[arg-type]
        assert other is not None
        # Unknown moments of other tasks cost something; then the bound without offsets may be the lower one.
        assert wrong or bound <= other or any(offset < 0 for *_, offset, _ in rows), (seed, rows, i)
        lower += bound < other
        bound = min(bound, other)
        held, reached, exceeded = held + 1, reached + (seen[i] == bound), exceeded + (seen[i] > bound)
    return held, reached, exceeded, lower


MOVED = ("without jitter", "jobs as late as they can be")


def mutated(rows: Any, wrong: str) -> Any:
    if wrong == "without jitter":
        return [(c, t, d, offset, 0) for c, t, d, offset, _ in rows]
    if wrong == "jobs as late as they can be":
        return [(c, t, d, offset + jitter if offset >= 0 else -1, 0) for c, t, d, offset, jitter in rows]
    if wrong == "a tick less":
        return [(max(1, c - 1), *rest) for c, *rest in rows]
    if wrong == "sporadic tasks are due at 0":
        return [(c, t, d, max(0, offset), jitter) for c, t, d, offset, jitter in rows]
    if wrong == "one deadline earlier":
        return [(c, t, d + 1 if k else d, offset, jitter) for k, (c, t, d, offset, jitter) in enumerate(rows)]
    return rows


def totals(results: Iterable[tuple[int, ...]]) -> list[int]:
    return [sum(column) for column in zip(*results, strict=True)]


def test_the_simulator_never_exceeds_the_bound_which_is_never_above_the_blind_one() -> None:
    held, reached, exceeded, lower = totals(attack(seed) for seed in range(1_500))
    assert exceeded == 0 and held > 1_500 and reached > 500 and lower > 300


@pytest.mark.slow
def test_the_simulator_never_exceeds_the_bound_on_many_systems() -> None:
    held, _, exceeded, _ = totals(attack(seed, runs=6) for seed in range(10_000, 110_000))
    # In a system drawn so 1.2 tasks have an offset on a core that can bear them all: no other has this bound.
    assert exceeded == 0 and held > 110_000


@pytest.mark.parametrize(
    "wrong", [*MOVED, "a tick less", "sporadic tasks are due at 0", "one deadline earlier"]
)
def test_a_bound_that_forgets_something_is_refuted(wrong: str) -> None:
    assert any(attack(seed, wrong)[2] for seed in range(5_000))


US = 10**6
BOARD = platform_from_data(
    {
        "consort": 1,
        "name": "board",
        "processors": {"m4": {"isa": "armv7e-m"}},
        "cores": {"m4": {"processor": "m4", "count": 1, **free.NO_SWITCH}},
    }
)


def test_a_description_with_offsets_gets_their_bound() -> None:
    alike = {"period": "10us", "wcet": "4us", "on": "m4-0"}
    rare = {"min_interarrival": "20us", "deadline": "8us", "wcet": "1us", "on": "m4-0"}
    tasks = {"a": alike, "b": alike | {"offset": "5us"}, "c": rare}
    data = {"consort": 1, "platform": "board", "tasks": tasks, "scheduling": {"m4": {"policy": "edf"}}}
    system = system_from_data(data, platform=BOARD)
    a, b, c = response_times(system)
    assert (a.response, b.response, c.response) == (5 * US, 5 * US, 7 * US)
    assert "theorem 25" in b.source and "theorem 3 " in c.source
    assert any("due at their offsets" in text for text in b.assumptions)
    assert any("not made use of" in text for text in c.assumptions)
    assert b.explanation[-1].start + b.explanation[-1].length == b.response
    simulate_against_bounds(prepare(system), [a, b, c], 4_000 * US, runs=3)


def test_a_full_core_keeps_the_bound_of_any_moment() -> None:
    found = _engine.edf_offset_response(c=[5, 5], t=[10, 10], d=[10, 10], offsets=[0, 5], task=0)
    assert found["verdict"] == "too-long"
    with pytest.raises(ValueError, match="needs an offset"):
        _engine.edf_offset_response(c=[5, 4], t=[10, 10], d=[10, 10], offsets=[-1, 5], task=0)
