# SPDX-License-Identifier: Apache-2.0
"""With slots, memories and budgets to choose the best choice that is found is the best of all, too."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import pytest
from consort.model import BadDescription, System, platform_from_data, system_from_data
from consort.place.goals import Goal
from consort.place.problem import Problem, problem_of
from consort.place.settings import parsed
from loops import for_each
from placements import every, optimum, searched

PLATFORM: dict[str, Any] = {
    "consort": 1,
    "name": "several",
    "processors": {"a": {"isa": "aarch64"}, "r": {"isa": "armv7-r"}},
    "cores": {
        "a": {
            "processor": "a",
            "count": 2,
            "context_switch": "1us",
            "timer_lateness": {"value": "0ns", "assumed": "none in this test"},
        },
        "r": {
            "processor": "r",
            "count": 2,
            "context_switch": "2us",
            "timer_lateness": {"value": "0ns", "assumed": "none in this test"},
            "scratchpad": {"size": "64KiB", "partitions": 2},
        },
    },
    "dmas": {"dma": {"rate": "10MB/s", "setup": "1us"}},
    "memories": {
        "ddr": {"kind": "ddr", "access": {"base": "900ns", "rate": "10MB/s"}},
        "ocm": {"kind": "ocm", "size": "1KiB", "access": {"base": "90ns", "rate": "100MB/s"}},
        "tcm": {"kind": "tcm", "access": {"from": {"r": {"base": "5ns", "rate": "1GB/s"}}}},
    },
}


def _tasks(rng: random.Random, count: int, load: float, cores: list[str]) -> dict[str, Any]:
    tasks = {}
    for number in range(count):
        period = rng.choice([5, 8, 10, 20])
        wcet = max(1, round(1000 * period * load * rng.uniform(0.5, 1.5)))
        deadline = f"{round(1000 * period * rng.uniform(0.7, 1))}us"
        tasks[f"t{number}"] = {
            "period": f"{period}ms",
            "deadline": deadline,
            "wcet": {"a": f"{wcet}us"},
            "on": rng.choice(cores),
        }
    return tasks


def _supplies(rng: random.Random) -> dict[str, Any]:
    kinds = ("tdma", "periodic-server")
    given = [
        {"kind": rng.choice(kinds), "budget": f"{rng.randint(10, 40)}00us", "period": "4ms"} for _ in "ab"
    ]
    entries = {"a": {"supply": given[0]}}
    if rng.random() < 0.7:
        entries = {"a-0": {"supply": given[0]}, "a-1": {"supply": given[1]}}
    if rng.random() < 0.3:
        entries[min(entries)]["policy"] = "edf"
    return {"tasks": _tasks(rng, 3, 0.12, ["a-0", "a-1"]), "scheduling": entries}


def _bandwidths(rng: random.Random) -> dict[str, Any]:
    tasks = _tasks(rng, 3, 0.08, ["a-0", "a-1"])
    for task in tasks.values():
        task["accesses"] = {"most": rng.randint(200, 2500)}
    common = {"period": "1ms", "shortest": "200ns", "longest": "400ns"}
    entries = {f"a-{k}": {"bandwidth": {"budget": rng.randint(300, 2500), **common}} for k in range(2)}
    if rng.random() < 0.3:
        entries = {"a": entries["a-0"]}
    return {"tasks": tasks, "scheduling": entries}


def _slots(rng: random.Random) -> dict[str, Any]:
    tasks = _tasks(rng, 4, 0.1, ["r-0", "r-1"])
    for task in tasks.values():
        task["wcet"] = {"r": {"three-phase": task["wcet"]["a"]}}
        task["footprint"] = {"code": f"{rng.randint(1, 3)}KiB", "data": f"{rng.randint(0, 2)}KiB"}
        task["execution"] = "three-phase"
    slots = [rng.choice(["auto", "1ms", "600us"]) for _ in "ab"]
    entries = {f"r-{k}": {"policy": "three-phase", "slot": slots[k]} for k in range(2)}
    if rng.random() < 0.4:
        entries = {"r": entries["r-0"]}
    return {"tasks": tasks, "scheduling": entries}


def _memories(rng: random.Random) -> dict[str, Any]:
    tasks = _tasks(rng, 3, 0.15, ["a-0", "a-1"])
    channels: dict[str, Any] = {}
    for name in ("t0", "t1")[: rng.randint(1, 2)]:
        wcet = tasks[name]["wcet"]["a"]
        tasks[name] |= {"execution": "offloaded", "master": tasks[name]["on"], "on": "r-0"}
        tasks[name]["wcet"] = {"r": {"offloaded": wcet}}
        if rng.random() < 0.5:
            tasks[name]["wcet"]["a"] = {"local": wcet}
        for end in ("in", "out"):
            size = rng.choice(["64B", "900B", "2KiB"])
            channels[f"{name}.{end}"] = {"size": size, "memory": rng.choice(["ddr", "ddr", "ocm"])}
    for number in range(rng.randint(0, 2)):
        writer, reader = rng.sample(sorted(tasks), 2)
        kind = rng.choice([{"kind": "queue", "capacity": rng.randint(1, 8)}, {"kind": "sporadic"}])
        memory = rng.choice(["ddr", "ddr", "ocm"])
        ends = {"from": writer, "to": [reader], "memory": memory}
        channels[f"c{number}"] = {**kind, "size": rng.choice(["4B", "64B", "300B"]), **ends}
    return {"tasks": tasks, "channels": channels}


MAKERS = {
    "supplies": (_supplies, "supplies=800us..4ms/800us", ("slack", "budgets")),
    "bandwidths": (_bandwidths, "bandwidths=400..2400/1000", ("slack", "budgets")),
    "slots": (_slots, "slots", ("slack", "cores")),
    "memories": (_memories, "memories", ("slack", "latency")),
}


def made(kind: str, seed: int) -> System:
    for attempt in range(1000):
        data = MAKERS[kind][0](random.Random(f"{kind} {seed} {attempt}"))
        try:
            whole = {"consort": 1, "platform": "several", **data}
            return system_from_data(whole, platform=platform_from_data(PLATFORM))
        except BadDescription:
            continue
    raise AssertionError("no random description is right")


def problem(kind: str, seed: int) -> Problem:
    limits: dict[str, Any] = {0: {}, 1: {"moves": 1}, 2: {"keep": ["t0"]}}[seed % 3]
    return problem_of(made(kind, seed), choose=parsed([MAKERS[kind][1]]), **limits)


def agree(kind: str, seed: int) -> None:
    asked = problem(kind, seed)
    outcomes = every(asked)
    goals: tuple[Goal, ...] = MAKERS[kind][2]  # type: ignore[assignment]
    for goal in goals:
        best = optimum(asked, goal, outcomes)
        status, value, choice = searched(asked, goal)
        assert value == best, (kind, seed, goal)
        assert status == ("infeasible" if best is None else "optimal"), (kind, seed, goal)
        assert choice is None or asked.allows(choice)


@for_each("kind, seed", product(MAKERS, range(2)))
def test_the_optimum_is_that_of_exhaustive_search(kind: str, seed: int) -> None:
    agree(kind, seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 27))
@pytest.mark.parametrize("kind", MAKERS)
def test_the_optimum_is_that_of_exhaustive_search_on_many(kind: str, seed: int) -> None:
    agree(kind, seed)
