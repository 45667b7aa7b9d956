# SPDX-License-Identifier: Apache-2.0
"""Random systems that share accelerators, their bounds, and simulations that attack them.

All times are small numbers of picoseconds, so that worst alignments are met. A client that misbehaves asks
far more often than it says, from a core of its own.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from consort import _engine
from consort.analysis.system import response_times
from consort.model import Platform, System, platform_from_data, system_from_data
from consort.plan import plan
from consort.simulate.build import Prepared, prepare
from ruamel.yaml import YAML

RULES = ("fixed-priority", "tdma", "budget")
RUNS = 4
PLATFORM: dict[str, Any] = YAML(typ="safe").load("""
consort: 1
name: accelerated
processors: {p: {isa: x86_64}}
cores: {c: {processor: p, count: 16, context_switch: 0ps, timer_lateness: 0ps}}
memories:
  free: {kind: sram, access: {base: 0ps, per_byte: 0ps}}
  slow: {kind: sram, access: {base: 1ps, per_byte: 0ps}}
exchanges: {signal: {from: p, to: p, max: 0ps}}
""")


@cache
def platform() -> Platform:
    return platform_from_data(PLATFORM)


def described(random: Random, rule: str) -> dict[str, Any]:
    """A system with one accelerator, 2 to 4 clients, and tasks that ask for nothing."""
    clients = [f"client-{k}" for k in range(random.randint(2, 4))]
    operations = {
        f"op-{k}": {"wcet": f"{random.randint(1, 6)}ps", "request": "8B", "answer": "8B"} for k in range(2)
    }
    memory = random.choice(("free", "free", "slow"))
    # A message's cost to the server: three accesses and a copy at each end of both ways.
    extra = 8 if memory == "slow" else 0
    tasks: dict[str, Any] = {}
    shares: dict[str, Any] = {}
    given = random.sample(range(10), len(clients))
    for k, name in enumerate(clients):
        asked = random.sample(sorted(operations), random.choice((1, 1, 2)))
        period = random.choice((random.randint(14, 40), random.randint(25, 90))) * (2 if extra else 1)
        tasks[name] = {
            "period": f"{period}ps",
            "deadline": f"{period}ps",
            "offset": f"{random.randint(0, period)}ps",
            "jitter": f"{random.choice((0, 0, random.randint(0, 8)))}ps",
            "wcet": f"{random.randint(1, 6)}ps",
            "bcet": "1ps",
            "on": f"c-{random.randint(0, 2)}" if k else "c-3",
            "requests": [
                {"accelerator": "acc", "operation": one, "times": random.choice((1, 1, 2))} for one in asked
            ],
        }
        longest = extra + max(int(operations[one]["wcet"][:-2]) for one in asked)
        total = sum(
            one["times"] * (extra + int(operations[one["operation"]]["wcet"][:-2]))
            for one in tasks[name]["requests"]
        )
        if rule == "tdma":
            shares[name] = {"slot": f"{longest + random.choice((0, 0, random.randint(0, 6)))}ps"}
        else:
            shares[name] = {"priority": given[k]}
        if rule == "budget":
            every = random.choice((random.randint(15, 40), period // 2, period)) + extra
            budget = min(every, max(longest, random.choice((longest, total, 2 * total))))
            every = max(every, longest)
            shares[name] |= {"budget": f"{max(budget, longest)}ps", "period": f"{every}ps"}
    for k in range(random.randint(0, 3)):
        period = random.randint(20, 80)
        tasks[f"other-{k}"] = {
            "period": f"{period}ps",
            "offset": f"{random.randint(0, period)}ps",
            "wcet": f"{random.randint(1, 8)}ps",
            "on": f"c-{random.randint(0, 2)}",
        }
    used = {op["operation"] for task in tasks.values() for op in task.get("requests", ())}
    cores = sorted({task["on"] for task in tasks.values() if "requests" in task})
    scheduling = {
        core: {"wait": random.choice(("sleep", "sleep", "spin"))}
        | random.choice(({}, {}, {"policy": "fixed-priority-non-preemptive"}, {"policy": "edf"}))
        for core in cores
    }
    return {
        "consort": 1,
        "platform": "accelerated.yaml",
        "assumed": "a test",
        "scheduling": scheduling,
        "accelerators": {
            "acc": {
                "on": "c-15",
                "arbitration": rule,
                "memory": memory,
                "operations": {name: one for name, one in operations.items() if name in used},
                "clients": shares,
            }
        },
        "tasks": tasks,
        "run": {"time_base": "spin"},
    }


def system_from(described: dict[str, Any]) -> System:
    return system_from_data(described, file=Path("accelerated.yaml"), platform=platform())


def flooding(prepared: Prepared, name: str) -> _engine.SimSystem:
    """The same, where one client asks without end for what it may have."""
    task = prepared.engine_tasks[prepared.tasks.index(name)]
    kept = task.demands, task.period, task.wcet, task.bcet
    task.demands = [(*d[:2], 50, *d[3:6], 0, 0, 0, 0) for d in task.demands]
    task.period = 7
    task.wcet = task.bcet = 1
    made = _engine.SimSystem(prepared.engine_cores, [], prepared.engine_tasks)
    task.demands, task.period, task.wcet, task.bcet = kept
    return made


def attack(seed: int, rule: str) -> tuple[int, int, int]:
    """A random system against its bounds: how many there are, are reached, and are exceeded."""
    random = Random(seed)
    system = system_from(described(random, rule))
    made = plan(system, "analysis")
    bounds = {bound.task: bound.response for bound in response_times(made)}
    if all(bound is None for bound in bounds.values()):
        return 0, 0, 0
    prepared = prepare(made)
    seen = dict.fromkeys(bounds, 0)
    for run in range(RUNS):
        # Any client may flood under TDMA and budgets, under fixed priorities only the least urgent one.
        alone = "client-0"
        clients = made.accelerators["acc"].clients
        may = rule != "fixed-priority" or clients[-1].task == alone
        # Its core has that client only: it takes no other task's processor.
        floods = may and run == RUNS - 1
        engine = flooding(prepared, alone) if floods else prepared.engine
        found = _engine.sim_run(
            engine,
            1500,
            seed=seed * RUNS + run,
            execution=("worst", "edges")[run % 2],
            arrival=("edges", "uniform")[run // 2],
        )
        for name, figures in zip(prepared.tasks, found["tasks"], strict=True):
            if not (floods and name == alone):
                seen[name] = max(seen[name], figures["max_response"] or 0)
    pairs = [(seen[name], bound) for name, bound in bounds.items() if bound is not None]
    return len(pairs), sum(s == b for s, b in pairs), sum(s > b for s, b in pairs)
