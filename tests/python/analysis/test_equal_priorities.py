# SPDX-License-Identifier: Apache-2.0
"""Tasks that share a priority: their bounds hold served in order of arrival, by turns or preempting."""

from __future__ import annotations

import random
from typing import Any, Literal

import free
import pytest
from consort.analysis.advice import advise
from consort.analysis.system import analyze_system
from consort.model import System, platform_from_data, system_from_data
from consort.simulate.build import prepare
from consort.simulate.engine import simulate
from effort import examples

PLATFORM = platform_from_data(
    {
        "consort": 1,
        "name": "board",
        "processors": {"m4": {"isa": "armv7e-m"}},
        "cores": {"m4": {"processor": "m4", "count": 2, **free.NO_SWITCH}},
        "memories": {"free": free.MEMORY},
    }
)
NS = 1000

Among = Literal["arrival", "turns", "first", "last"]


def describe(tasks: dict[str, Any], **parts: Any) -> System:
    tasks = {name: {"on": "m4-0", **task} for name, task in tasks.items()}
    whole = {"consort": 1, "platform": "board", "tasks": tasks, **parts}
    return system_from_data(whole, platform=PLATFORM)


def bounds(system: System) -> dict[str, int | None]:
    return {bound.task: bound.response for bound in analyze_system(system) if bound.kind == "response time"}


def longest(
    tasks: list[tuple[int, int, int]], starts: list[int], among: Among, preemptive: bool
) -> list[int]:
    """The longest responses of tasks (priority, period, wcet) on one core, unit by unit."""
    jobs: list[list[int]] = []  # task, release, left, when it was served last
    found, running, now = [0] * len(tasks), None, 0
    end = max(starts) + 4 * max(period for _, period, _ in tasks)
    while now < end or jobs:
        for task, (_, period, wcet) in enumerate(tasks):
            if now < end and now >= starts[task] and (now - starts[task]) % period == 0:
                jobs.append([task, now, wcet, -1])
        key = {
            "arrival": lambda job: (job[2] == tasks[job[0]][2], job[1], job[0]),
            "turns": lambda job: (job[3], job[1], job[0]),
            "first": lambda job: (job[0], job[1]),
            "last": lambda job: (-job[0], job[1]),
        }[among]
        # Jobs of one task run in order.
        ready = [job for job in jobs if not any(o[0] == job[0] and o[1] < job[1] for o in jobs)]
        if ready and (preemptive or running not in ready):
            running = min(ready, key=lambda job: (-tasks[job[0]][0], key(job)))
        now += 1
        if running in jobs:
            running[2] -= 1
            running[3] = now
            if not running[2]:
                found[running[0]] = max(found[running[0]], now - running[1])
                jobs.remove(running)
                running = None
    return found


def test_two_threads_of_one_priority_wait_for_each_other() -> None:
    tasks = {"left": {"period": "100ms", "wcet": "20ms"}, "right": {"period": "100ms", "wcet": "30ms"}}
    system = describe({name: {**task, "priority": 10} for name, task in tasks.items()})
    assert bounds(system) == {"left": 50 * 10**9, "right": 50 * 10**9}


@pytest.mark.parametrize("policy", ["fixed-priority", "fixed-priority-non-preemptive"])
def test_the_thread_that_is_released_last_is_served_last(policy: str) -> None:
    """Whichever stands first, it is not preempted by the other."""
    right = {"period": "100ms", "wcet": "30ms", "priority": 10, "offset": "0us"}
    left = {"period": "100ms", "wcet": "20ms", "priority": 10, "offset": "1us"}
    for tasks in ({"left": left, "right": right}, {"right": right, "left": left}):
        system = describe(tasks, scheduling={"m4": {"policy": policy}})
        jobs = simulate(prepare(system), 10**11, choice="worst", trace=True).jobs
        assert jobs is not None
        last = jobs[jobs["task"] == list(tasks).index("left")][0]
        assert last["finish"] - last["release"] == 50 * 10**9 - 10**6


@pytest.mark.parametrize("policy", ["fixed-priority", "fixed-priority-non-preemptive"])
def test_no_order_among_equals_exceeds_the_bounds(policy: str) -> None:
    for seed in range(examples(150)):
        rng = random.Random(seed)
        tasks = []
        for _ in range(rng.randint(2, 5)):
            period = rng.randint(4, 24)
            tasks.append((rng.randint(1, 2), period, rng.randint(1, max(1, period // 3))))
        described = {
            f"t{place}": {"period": f"{period}ns", "wcet": f"{wcet}ns", "priority": priority}
            for place, (priority, period, wcet) in enumerate(tasks)
        }
        found = list(bounds(describe(described, scheduling={"m4": {"policy": policy}})).values())
        if None in found:
            continue
        starts = [rng.choice((0, 0, rng.randint(0, 5))) for _ in tasks]
        for among in ("arrival", "turns", "first", "last"):
            seen = longest(tasks, starts, among, policy == "fixed-priority")
            assert all(
                one * NS <= bound for one, bound in zip(seen, found, strict=True) if bound is not None
            ), (seed, among, tasks, starts, seen, found)


@pytest.mark.parametrize(
    ("more", "parts", "why"),
    [
        (
            {"sections": {"bus": {"length": "1us"}}},
            {"resources": {"bus": {"protocol": "priority-ceiling"}}},
            "tasks.a.sections",
        ),
        ({"preemption_threshold": 6}, {}, "tasks.a.preemption_threshold"),
        (
            {"cache_sets": {"evicting": [1, 2, 3], "useful": [1, 2]}},
            {"scheduling": {"m4-0": {"cache": {"replacement": "direct-mapped", "block": "1ns"}}}},
            "scheduling.m4-0.cache",
        ),
    ],
)
def test_beside_what_asks_who_goes_first_there_is_none(
    more: dict[str, Any], parts: dict[str, Any], why: str
) -> None:
    tasks = {name: {"period": "100us", "wcet": "5us", "priority": 5, **more} for name in ("a", "b")}
    for bound in analyze_system(describe(tasks, **parts)):
        assert bound.response is None and "is that of a, too" in bound.notes[0] and why in bound.notes[0]


def test_a_chain_counts_on_no_order_among_equals() -> None:
    """Among equals the reader may go first, and then reads a period later."""
    parts = {
        "channels": {"v": {"from": "w", "to": ["r"], "memory": "free", "kind": "sporadic"}},
        "chains": {"c": {"path": ["w", "r"]}},
    }
    writer, reader = {"period": "100us", "wcet": "10us"}, {"period": "100us", "wcet": "20us"}
    limit = {"c": {"path": ["w", "r"], "reaction": "1ms", "age": "1ms"}}

    def chain(first: int, second: int) -> dict[str, int | None]:
        tasks = {"w": {**writer, "priority": first}, "r": {**reader, "priority": second}}
        found = analyze_system(describe(tasks, **{**parts, "chains": limit}))
        return {bound.kind: bound.response for bound in found if bound.task == "c"}

    equal, behind = chain(5, 5), chain(4, 5)
    assert (chain(6, 5)["data age"] or 0) < (equal["data age"] or 0)
    assert (equal["data age"] or 0) >= (behind["data age"] or 0)


def test_the_advice_knows_that_a_tie_can_be_broken() -> None:
    tasks = {
        "slow": {"period": "40us", "wcet": "10us", "priority": 2},
        "fast": {"period": "11us", "wcet": "2us", "priority": 2},
    }
    texts = [change.text for one in advise(describe(tasks)) for change in one.changes]
    assert "make fast more urgent than slow" in texts
