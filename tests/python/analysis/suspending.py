# SPDX-License-Identifier: Apache-2.0
"""Random systems whose jobs suspend themselves or wait for a worker, their bounds, and simulations of them.

All times are small numbers of picoseconds, so that worst alignments are met.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from consort import _engine
from consort.analysis.system import response_times
from consort.model import Platform, platform_from_data, system_from_data
from consort.plan import plan
from consort.simulate.build import prepare

RUNS = 4
PLATFORM: dict[str, Any] = {
    "consort": 1,
    "name": "suspending",
    "processors": {"p": {"isa": "x86_64"}},
    "cores": {
        "c": {"processor": "p", "count": 2, "context_switch": "0ps", "timer_lateness": "0ps"},
        "s": {"processor": "p", "count": 1, "context_switch": "1ps", "timer_lateness": "0ps"},
        "w": {"processor": "p", "count": 1, "context_switch": "0ps", "timer_lateness": "0ps"},
    },
    "memories": {"free": {"kind": "sram", "access": {"base": "0ps", "per_byte": "0ps"}}},
    "exchanges": {"signal": {"from": "p", "to": "p", "max": "0ps"}},
}


@cache
def platform() -> Platform:
    return platform_from_data(PLATFORM)


def described(random: Random) -> dict[str, Any]:
    """Some tasks of three cores suspend themselves, some wait for a worker; of the others no job waits."""
    tasks: dict[str, Any] = {}
    channels: dict[str, Any] = {}
    for k in range(random.randint(2, 5)):
        core = random.choice(("c-0", "c-0", "c-1", "s-0"))
        period = random.randint(14, 60)
        task: dict[str, Any] = {
            "period": f"{period}ps",
            "deadline": f"{period}ps",
            "offset": f"{random.choice((0, random.randint(0, period)))}ps",
            "jitter": f"{random.choice((0, 0, random.randint(1, 5)))}ps",
            "wcet": f"{random.randint(1, 6)}ps",
            "bcet": "1ps",
            "on": core,
        }
        kind = random.choice(("local", "suspends", "suspends", "offloaded"))
        if kind == "suspends":
            task["self_suspension"] = f"{random.randint(1, 10)}ps"
            task["suspensions"] = random.choice((1, 1, 2, 3))
        elif kind == "offloaded":
            task |= {"on": "w-0", "master": core, "execution": "offloaded"}
            task["dispatch"] = {"send": f"{random.randint(1, 2)}ps", "receive": f"{random.randint(1, 2)}ps"}
            for way in ("in", "out"):
                channels[f"task-{k}.{way}"] = {"memory": "free", "size": "8B"}
        tasks[f"task-{k}"] = task
    masters = {task["master"] for task in tasks.values() if "master" in task}
    scheduling = {}
    for core in ("c-0", "c-1", "s-0"):
        policy = random.choice(("fixed-priority", "fixed-priority", "fixed-priority-non-preemptive", "edf"))
        scheduling[core] = {"policy": policy}
        if core in masters:
            scheduling[core]["wait"] = random.choice(("spin", "spin", "sleep"))
    used = {task.get("master", task["on"]) for task in tasks.values()}
    return {
        "consort": 1,
        "platform": "suspending.yaml",
        "assumed": "a test",
        "scheduling": {core: how for core, how in scheduling.items() if core in used},
        "tasks": tasks,
        "channels": channels,
        "run": {"time_base": "spin"},
    }


def attack(seed: int) -> tuple[int, int, int]:
    """A random system against its bounds: how many there are, are reached, and are exceeded."""
    system = system_from_data(described(Random(seed)), file=Path("suspending.yaml"), platform=platform())
    made = plan(system, "analysis")
    bounds = {bound.task: bound for bound in response_times(made)}
    prepared = prepare(made)
    seen = dict.fromkeys(bounds, 0)
    for run in range(RUNS):
        found = _engine.sim_run(
            prepared.engine,
            1500,
            seed=seed * RUNS + run,
            execution=("worst", "edges")[run % 2],
            arrival=("edges", "uniform")[run // 2],
        )
        for name, figures in zip(prepared.tasks, found["tasks"], strict=True):
            seen[name] = max(seen[name], figures["max_response"] or 0)
    # Some bounds rest on other tasks of the core being in time.
    sound = all(bound.schedulable for bound in bounds.values())
    pairs = [
        (seen[name], bound.response) for name, bound in bounds.items() if bound.response is not None and sound
    ]
    return len(pairs), sum(s == b for s, b in pairs), sum(s > b for s, b in pairs)
