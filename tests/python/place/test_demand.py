# SPDX-License-Identifier: Apache-2.0
"""Bounds on what tasks of one core leave each other are never below the analyses' results."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

from consort.analysis.three_phase import DmaShare, bound_core
from consort.analysis.uniprocessor import fixed_priority
from consort.analysis.unitask import UniTask
from consort.model import platform_from_data, system_from_data
from consort.place.problem import problem_of
from consort.place.search import Search
from consort.place.settings import parsed
from consort.place.together import SETS, STRETCHES, Asked, levels, stretches
from loops import for_each
from placements import PLATFORM

SWITCH = 3


def random_tasks(rng: random.Random) -> list[UniTask]:
    tasks = []
    for number in range(rng.randint(1, 6)):
        period = rng.randint(20, 300)
        execution = rng.randint(1, max(1, period // 4))
        deadline = rng.randint(execution, 2 * period)
        tasks.append(UniTask(f"t{number}", execution, period, deadline, jitter=rng.choice([0, 0, 5])))
    return tasks


def allowed(tasks: list[UniTask], deadline: int, slack: float) -> bool:
    """True if lemma 8 lets the tasks that are due by then have so much slack."""
    asked = [Asked(t.name, t.execution + 2 * SWITCH, t.period, t.deadline) for t in tasks]
    there = [one for one in asked if one.deadline <= deadline]
    for stretch in stretches(there, deadline):
        work = sum(jobs * one.execution for jobs, one in zip(stretch.jobs, there, strict=True))
        if work <= stretch.end and work <= (1 - slack) * deadline + 1e-9:
            return True
    return False


@for_each("seed", range(400))
def test_no_order_leaves_more_slack_than_the_stretches_allow(seed: int) -> None:
    rng = random.Random(seed)
    tasks = random_tasks(rng)
    bounds = fixed_priority(tasks, context_switch=SWITCH)
    if not all(bound.schedulable for bound in bounds):
        return
    slack = min(1 - (bound.response or 0) / (bound.deadline or 1) for bound in bounds)
    assert all(allowed(tasks, deadline, slack) for deadline in levels([t.deadline for t in tasks]))


def test_by_deadline_the_stretches_allow_just_what_there_is() -> None:
    """If deadlines order the tasks, the last one has the least slack that all of them leave."""
    tasks = [UniTask("a", 2, 30, 30), UniTask("b", 9, 100, 100), UniTask("c", 12, 300, 300)]
    assert fixed_priority(tasks, context_switch=SWITCH)[2].response == 49
    assert allowed(tasks, 300, 1 - 49 / 300) and not allowed(tasks, 300, 1 - 48 / 300)


def test_many_releases_are_taken_together_and_many_deadlines_left_out() -> None:
    tasks = [Asked("a", 1, 7, 7), Asked("b", 1, 1000, 1000)]
    found = list(stretches(tasks, 1000))
    assert len(found) == STRETCHES and found[-1].end == 1000 and found[0].jobs == (1, 1)
    assert all(before.end < after.end for before, after in pairwise(found))
    assert levels(range(1, 100))[-1] == 99 and len(levels(range(1, 100))) == SETS


@for_each("seed", range(200))
def test_three_phase_tasks_have_no_more_slack_than_rounds_and_slots_leave(seed: int) -> None:
    rng = random.Random(seed)
    tasks = []
    for number in range(rng.randint(1, 5)):
        period = rng.randint(60, 600)
        execution, deadline = rng.randint(1, period // 6), rng.randint(period // 2, period)
        tasks.append(UniTask(f"t{number}", execution, period, deadline, jitter=rng.choice([0, 4])))
    share = DmaShare(rng.randint(1, 4), 4 + rng.randint(0, 8))
    bounds = bound_core(tasks, share)
    if not all(bound.schedulable for bound in bounds):
        return
    slack = min(1 - (bound.response or 0) / (bound.deadline or 1) for bound in bounds)
    for task in tasks:
        work = sum(one.execution for one in tasks if one.deadline <= task.deadline)
        assert slack <= 1 - (work + 4 * share.round + 3 * share.slot) / task.deadline + 1e-9


def test_a_supply_makes_no_bound_lower_than_without() -> None:
    """So what tasks leave each other is known there, too, and one proposal is all that is analysed."""
    rng = random.Random(4)
    tasks: dict[str, Any] = {}
    for number in range(8):
        period = rng.choice([10, 20, 50, 100])
        wcet = round(period * 1000 * rng.uniform(0.03, 0.15))
        tasks[f"t{number}"] = {"period": f"{period}ms", "wcet": f"{wcet}us", "on": f"fast-{number % 2}"}
    supply = {"kind": "periodic-server", "budget": "2ms", "period": "2ms"}
    scheduling = {f"fast-{core}": {"supply": supply} for core in range(2)}
    platform = {**PLATFORM, "cores": {"fast": PLATFORM["cores"]["fast"]}}
    platform["processors"] = {"fast": PLATFORM["processors"]["fast"]}
    data = {"consort": 1, "platform": "two-kinds", "tasks": tasks, "scheduling": scheduling}
    system = system_from_data(data, platform=platform_from_data(platform))
    search = Search(problem_of(system, choose=parsed(["supplies"])), 300)
    assert search.best("slack").status == "optimal" and search.rounds <= 6


def test_a_proof_for_twelve_tasks_takes_few_rounds() -> None:
    """The slack that one deadline leaves to its tasks is known before any placement was analysed."""
    rng = random.Random(1)
    tasks: dict[str, Any] = {}
    for number in range(12):
        period = rng.choice([5, 10, 20, 50, 100])
        wcet = max(1, round(period * 1000 * rng.uniform(0.05, 0.25)))
        tasks[f"t{number}"] = {"period": f"{period}ms", "wcet": f"{wcet}us", "on": f"fast-{number % 3}"}
    platform = {**PLATFORM, "cores": {"fast": {**PLATFORM["cores"]["fast"], "count": 3}}}
    platform["processors"] = {"fast": PLATFORM["processors"]["fast"]}
    data = {"consort": 1, "platform": "two-kinds", "tasks": tasks}
    search = Search(problem_of(system_from_data(data, platform=platform_from_data(platform))), 300)
    found = search.best("slack")
    assert found.status == "optimal" and search.rounds <= 6
