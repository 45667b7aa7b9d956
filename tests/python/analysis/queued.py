# SPDX-License-Identifier: Apache-2.0
"""Random chains through channels of all kinds, their bounds, and simulations of them.

All times are small numbers of picoseconds, so that worst alignments are met. Some tasks begin much later than
others, so that a queue has a backlog from the start.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

from consort.analysis.system import analyze_system
from consort.model import Platform, platform_from_data, system_from_data
from consort.plan import plan
from consort.simulate.build import prepare
from consort.simulate.chains import simulate_with_chains

UNTIL = 900
PLATFORM: dict[str, Any] = {
    "consort": 1,
    "name": "queued",
    "processors": {"p": {"isa": "x86_64"}},
    "cores": {"c": {"processor": "p", "count": 3, "context_switch": "0ps", "timer_lateness": "0ps"}},
    "memories": {"free": {"kind": "sram", "access": {"base": "0ps", "per_byte": "0ps"}}},
}


@cache
def platform() -> Platform:
    return platform_from_data(PLATFORM)


def described(random: Random) -> dict[str, Any]:
    """A chain of two to four tasks, and some that are in none."""
    length = random.randint(2, 4)
    common = random.choice((0, 12, 20, 30))
    tasks: dict[str, Any] = {}
    for k in range(length + random.randint(0, 2)):
        period = common if common and random.random() < 0.8 else random.choice((8, 10, 12, 15, 20, 24, 30))
        wcet = random.choice((1, random.randint(1, period // 3)))
        late = random.random() < 0.2
        tasks[f"t{k}"] = {
            "period": f"{period}ps",
            "offset": f"{random.randint(0, 150 if late else period)}ps",
            "jitter": f"{random.choice((0, 0, 0, random.randint(1, 3)))}ps",
            "wcet": f"{wcet}ps",
            "bcet": f"{random.choice((1, wcet))}ps",
            "on": f"c-{random.randint(0, 2)}",
        }
    path = [f"t{k}" for k in range(length)]
    random.shuffle(path)
    channels: dict[str, Any] = {}
    for k, (writer, reader) in enumerate(pairwise(path)):
        alike = tasks[writer]["period"] == tasks[reader]["period"]
        kind = random.choice(("periodic", "queue", "sporadic") if alike else ("queue", "sporadic"))
        channel: dict[str, Any] = {
            "kind": kind,
            "from": writer,
            "to": [reader],
            "memory": "free",
            "size": "8B",
        }
        if kind == "queue":
            channel["capacity"] = random.choice((1, 2, 4, 20))
        channels[f"k{k}"] = channel
    policies = ("fixed-priority", "fixed-priority", "fixed-priority-non-preemptive", "edf")
    used = {task["on"] for task in tasks.values()}
    scheduling = {core: {"policy": random.choice(policies)} for core in sorted(used)}
    for task in tasks.values() if random.random() < 0.3 else ():
        # Some share a priority.
        if scheduling[task["on"]]["policy"] != "edf":
            task["priority"] = random.randint(1, 2)
    return {
        "consort": 1,
        "platform": "queued.yaml",
        "assumed": "a test",
        "tasks": tasks,
        "channels": channels,
        "chains": {"x": {"path": path, "reaction": "1s", "age": "1s"}},
        "scheduling": scheduling,
        "run": {"time_base": "spin"},
    }


def attack(seed: int) -> tuple[int, int, int]:
    """A random system against its chain's bounds: how many there are, are reached, and are exceeded."""
    system = system_from_data(described(Random(seed)), file=Path("queued.yaml"), platform=platform())
    made = plan(system, "analysis")
    bounds = {bound.kind: bound.response for bound in analyze_system(made) if bound.task == "x"}
    if bounds["reaction time"] is None or bounds["data age"] is None:
        return 0, 0, 0
    prepared = prepare(made)
    pairs = [(0, bounds["reaction time"]), (0, bounds["data age"])]
    for choice in ("worst", "edges"):
        _, chains = simulate_with_chains(prepared, UNTIL, seed % 2**32, choice=choice)  # type: ignore[arg-type]
        seen = chains["x"].reaction or 0, chains["x"].age or 0
        pairs = [(max(a, b), limit) for (a, limit), b in zip(pairs, seen, strict=True)]
    return 2, sum(s == b for s, b in pairs), sum(s > b for s, b in pairs)
