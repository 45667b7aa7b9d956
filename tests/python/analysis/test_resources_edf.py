# SPDX-License-Identifier: Apache-2.0
"""Resources under earliest deadline first (stack resource policy): blocking, held against the simulator."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random
from typing import Any

import pytest
from consort import _engine
from consort.analysis.resources import Held, longest_under_edf
from consort.analysis.system import response_times
from consort.analysis.uniprocessor import UniTask, edf
from consort.exchange.conventions import Report
from consort.exchange.mast import export_mast
from consort.model import BadDescription
from consort.simulate.build import prepare
from consort.simulate.outcome import simulate_against_bounds
from test_resources import BUS, TASKS, US, described

Blocking = Callable[[Iterable[Held], int], int]


def blocking_of(held: Iterable[Held], level: int) -> int:
    found = longest_under_edf(held, level)
    return 0 if found is None else found.length


def attack(seed: int, blocking: Blocking = blocking_of, runs: int = 4) -> tuple[int, int, int]:
    """One random system without jitter: tasks held against their bounds, attained and violated."""
    random = Random(seed)
    switch, count = random.choice((0, 0, 1)), random.randint(2, 5)
    core = _engine.SimCore("edf")
    core.context_switch = switch
    tasks, users = [], dict[int, list[int]]()
    for _ in range(count):
        task: Any = _engine.SimTask()
        task.period = random.choice((20, 24, 30, 40, 60, 80, 120))
        task.deadline = random.randint(task.period // 3, 2 * task.period)
        task.wcet = random.choice((1, random.randint(1, max(1, task.period // 4))))
        task.bcet = random.choice((0, task.wcet))
        task.offset = random.randint(0, task.period)
        task.extra_gap = random.choice((0, task.period))
        sections, rest = [], task.wcet
        for resource in random.sample(range(count), random.randint(0, 2)):
            if rest:
                length = random.randint(1, rest)
                times = random.randint(1, rest // length)
                rest -= length * times
                sections.append((resource, length, times))
                users.setdefault(resource, []).append(task.deadline)
        task.sections = sections
        tasks.append(task)
    held = [
        Held(str(i), task.deadline, str(r), length, min(users[r]))
        for i, task in enumerate(tasks)
        for r, length, _ in task.sections
    ]
    described = [
        UniTask(
            str(i),
            t.wcet,
            t.period,
            t.deadline,
            blocking=blocking(held, t.deadline),
            offset=None if t.extra_gap else t.offset,
        )
        for i, t in enumerate(tasks)
    ]
    bounds = [bound.response for bound in edf(described, context_switch=switch)]
    system = _engine.SimSystem([core], [], tasks)
    seen = [-1] * count
    for run in range(runs):
        found = _engine.sim_run(system, 1_000, seed + run, ("worst", "edges")[run % 2], "edges")["tasks"]
        seen = [max(a, b["max_response"] or -1) for a, b in zip(seen, found, strict=True)]
    pairs = [(s, b) for s, b in zip(seen, bounds, strict=True) if b is not None]
    return len(pairs), sum(s == b for s, b in pairs), sum(s > b for s, b in pairs)


def totals(results: Iterable[tuple[int, int, int]]) -> list[int]:
    return [sum(column) for column in zip(*results, strict=True)]


def test_the_simulator_never_exceeds_the_bound() -> None:
    held, attained, violated = totals(attack(seed) for seed in range(1_000))
    assert violated == 0
    assert held > 2_000 and attained > 200


@pytest.mark.slow
def test_the_simulator_never_exceeds_the_bound_on_many_systems() -> None:
    held, _, violated = totals(attack(seed) for seed in range(10_000, 110_000))
    assert violated == 0 and held > 200_000


MUTANTS: dict[str, Blocking] = {
    "no blocking": lambda held, level: 0,
    "a tick less": lambda held, level: max(0, blocking_of(held, level) - 1),
    "only what its own deadline is the ceiling of": lambda held, level: max(
        (o.length for o in held if o.rank > level == o.ceiling), default=0
    ),
}


@pytest.mark.parametrize("mutant", MUTANTS.values(), ids=MUTANTS.keys())
def test_less_blocking_is_refuted(mutant: Blocking) -> None:
    assert any(attack(seed, mutant)[2] for seed in range(3_000))


EDF = {name: {k: v for k, v in task.items() if k != "priority"} for name, task in TASKS.items()}


def test_a_description_gets_its_bound() -> None:
    system = described(EDF, BUS, policy="edf")
    bounds = response_times(system)
    without = {n: {k: v for k, v in task.items() if k != "sections"} for n, task in EDF.items()}
    plain = response_times(described(without, {}, policy="edf"))
    assert bounds[0].response is not None and plain[0].response is not None
    assert bounds[0].response - plain[0].response == 8 * US
    assert "theorem 20" in bounds[0].source and any("stack resource" in a for a in bounds[0].assumptions)
    simulate_against_bounds(prepare(system), bounds, 10_000 * US, runs=10)


def test_mast_says_that_they_are_left_out() -> None:
    report = Report()
    assert "Shared_Resource" not in export_mast(described(EDF, BUS, policy="edf"), report)
    assert "only written for fixed priorities" in report.text()


def test_jitter_is_refused() -> None:
    with pytest.raises(BadDescription, match="resources have bounds without jitter"):
        described(EDF | {"low": EDF["low"] | {"jitter": "1us"}}, BUS, policy="edf")
