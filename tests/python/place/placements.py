# SPDX-License-Identifier: Apache-2.0
"""Small random descriptions, and the best placement of each by looking at all of them."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

from consort.model import BadDescription, Platform, System, platform_from_data, system_from_data
from consort.place import goals
from consort.place.evaluate import Evaluator, Outcome
from consort.place.goals import Goal
from consort.place.problem import Choice, Problem
from consort.place.search import Search

PLATFORM: dict[str, Any] = {
    "consort": 1,
    "name": "two-kinds",
    "processors": {"fast": {"isa": "aarch64"}, "slow": {"isa": "armv7e-m"}},
    "cores": {
        "fast": {
            "processor": "fast",
            "count": 2,
            "context_switch": "1us",
            "timer_lateness": {"value": "0ns", "assumed": "none in this test"},
        },
        "slow": {
            "processor": "slow",
            "count": 2,
            "context_switch": "2us",
            "timer_lateness": {"value": "0ns", "assumed": "none in this test"},
            "scratchpad": {"size": "64KiB", "partitions": 2},
        },
    },
    "dmas": {"dma": {"rate": "100MB/s", "setup": "1us"}},
    "memories": {"shm": {"kind": "sram", "access": {"base": "100ns", "rate": "1GB/s"}}},
}
POLICIES = ("fixed-priority", "fixed-priority-non-preemptive", "edf")


def platform() -> Platform:
    return platform_from_data(PLATFORM)


def described(data: dict[str, Any]) -> System:
    return system_from_data({"consort": 1, "platform": "two-kinds", **data}, platform=platform())


def random_system(seed: int) -> System:
    """A description whose given placement breaks no rule; whether it holds is not known."""
    for attempt in range(1000):
        try:
            return described(_random(random.Random(f"{seed} {attempt}")))
        except BadDescription:
            continue
    raise AssertionError("no random description is right")


def _random(rng: random.Random) -> dict[str, Any]:
    tasks: dict[str, Any] = {}
    ranked = rng.random() < 0.5
    loads = rng.random() < 0.2
    for number in range(rng.randint(3, 4)):
        period = rng.choice([5, 8, 10, 12, 20, 40])
        fast = round(period * rng.uniform(0.05, 0.5) * 1000)
        task: dict[str, Any] = {"period": f"{period}ms", "on": rng.choice(["fast-0", "fast-1", "slow-0"])}
        task["wcet"] = {"fast": f"{fast}us"}
        if rng.random() < 0.7:
            task["wcet"]["slow"] = f"{round(fast * rng.uniform(1, 2.5))}us"
        elif task["on"] == "slow-0":
            task["on"] = "fast-0"
        if loads and "slow" in task["wcet"]:
            task["wcet"]["slow"] = {"three-phase": task["wcet"]["slow"]}
            task["footprint"] = {"code": f"{rng.randint(1, 20)}KiB", "data": "4KiB"}
            if task["on"] == "slow-0":
                task["execution"] = "three-phase"
        task["deadline"] = f"{round(period * rng.uniform(0.6, 1) * 1000)}us"
        task["energy"] = {"fast": f"{rng.randint(50, 90)}uJ", "slow": f"{rng.randint(20, 60)}uJ"}
        if ranked:
            task["priority"] = number + 1
        if rng.random() < 0.15:
            task["offset"] = f"{rng.randint(1, 4)}ms"
        if rng.random() < 0.15:
            task["jitter"] = f"{rng.randint(1, 900)}us"
        if rng.random() < 0.1:
            task["self_suspension"] = f"{rng.randint(100, 900)}us"
        if rng.random() < 0.2 and task["on"] == "fast-0" and not loads:
            task |= {
                "execution": "offloaded",
                "master": "slow-1",
                "dispatch": {"send": "10us", "receive": "9us"},
            }
        tasks[f"t{number}"] = task
    data: dict[str, Any] = {"tasks": tasks, "scheduling": {}}
    for entry in ("fast", "slow", "fast-1"):
        if rng.random() < 0.4 and not (ranked and rng.random() < 0.7):
            data["scheduling"][entry] = {"policy": rng.choice(POLICIES)}
    if loads:
        data["scheduling"]["slow"] = {"policy": "three-phase", "slot": "auto"}
    for name, task in tasks.items():
        if task.get("execution") == "offloaded":
            data.setdefault("channels", {})
            data["channels"] |= {f"{name}.in": {"size": "64B"}, f"{name}.out": {"size": "8B"}}
    if rng.random() < 0.7:
        path = rng.sample(sorted(tasks), rng.randint(2, 3))
        total = sum(int(tasks[name]["period"][:-2]) for name in path)
        data["chains"] = {"c": {"path": path, "reaction": f"{round(total * rng.uniform(1.1, 2.5) * 1000)}us"}}
    if rng.random() < 0.3:
        moved = rng.choice([name for name, task in tasks.items() if "execution" not in task] or ["t0"])
        override = {"on": rng.choice(["fast-0", "fast-1"]), "period": "60ms", "deadline": "50ms"}
        data["modes"] = {"other": {"overrides": {moved: override}}}
    return data


def every(problem: Problem) -> list[Outcome]:
    """The outcome of each choice that the problem allows, each from analyses of the whole description."""
    evaluator = Evaluator(problem)
    found = []
    rows = [*(d.places for d in problem.decisions), *(s.values for s in problem.settings)]
    for choice in product(*(range(len(row)) for row in rows)):
        moved = problem.moved(choice)
        if problem.kept & set(moved) or (problem.moves is not None and len(moved) > problem.moves):
            continue
        if not problem.allows(choice):
            continue
        outcome = evaluator.outcome(choice)
        if outcome.holds:
            responses = [
                bound for some in outcome.bounds.values() for bound in some if bound.kind == "response time"
            ]
            assert goals.slack_of(responses) == outcome.values["slack"]
            found.append(outcome)
    return found


def value(problem: Problem, outcome: Outcome, goal: Goal) -> int:
    if goal == "latency":
        return _latency(problem, outcome)
    return goals.energy(problem, outcome.choice) if goal == "energy" else outcome.values[goal]


def _latency(problem: Problem, outcome: Outcome) -> int:
    """From the bounds alone: of mailboxes and queues the latency, of snapshots the read."""
    total = {
        view: sum(
            bound.response or 0
            for bound in some
            if bound.kind == "latency" or (bound.kind == "longest read" and bound.deadline is None)
        )
        for view, some in outcome.bounds.items()
    }
    return -max(total.values())


def optimum(problem: Problem, goal: Goal, outcomes: list[Outcome]) -> int | None:
    return max((value(problem, one, goal) for one in outcomes), default=None)


def searched(problem: Problem, goal: Goal) -> tuple[str, int | None, Choice | None]:
    found = Search(problem, 300).best(goal)
    if found.outcome is None:
        return found.status, None, None
    return found.status, found.value, found.outcome.choice
