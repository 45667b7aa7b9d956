# SPDX-License-Identifier: Apache-2.0
"""Small systems under logical execution time, and what their steps give one after another in logical order.

The reference is Python: of what runs it shares the arithmetic of one step and nothing else.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from run_support import Ran, write

STEP = Path(__file__).parent / "let" / "steps.hpp"
WORD, LONG = 2**32, 2**64


@dataclass(frozen=True)
class Node:
    """A task: its times [us], and which tasks' outputs its members `a` and `b` are."""

    period: int
    deadline: int
    offset: int = 0
    reads: Mapping[str, str] = field(default_factory=dict)


Graph = Mapping[str, Node]

# Feedback from `slow` to `fast`, a task read by several, periods that divide one another and that do not,
# and a deadline above the period.
GRAPH: Graph = {
    "fast": Node(4000, 4000, reads={"a": "slow"}),
    "middle": Node(6000, 5000, reads={"a": "fast", "b": "late"}),
    "slow": Node(16000, 16000, reads={"a": "middle", "b": "fast"}),
    "late": Node(10000, 12000, reads={"a": "fast"}),
    "last": Node(12000, 12000, reads={"a": "slow", "b": "late"}),
}


def in_logical_order(graph: Graph, duration: int) -> dict[str, list[int]]:
    """The outputs of each job: a job reads what is visible when it is due, its output is visible at its
    deadline. `duration` [us]: jobs that are due before are released.
    """
    names = list(graph)
    releases = sorted(
        (at, names.index(name), name)
        for name, node in graph.items()
        for at in range(node.offset, duration, node.period)
    )
    written: dict[str, list[tuple[int, int]]] = {name: [] for name in names}
    state = dict.fromkeys(names, (0, 0))
    for at, _, name in releases:
        read = {"a": 0, "b": 0}
        for member, source in graph[name].reads.items():
            there = [value for visible, value in written[source] if visible <= at]
            read[member] = there[-1] if there else 0
        total, jobs = state[name]
        total = (total * 6364136223846793005 + read["a"] * 31 + read["b"] + jobs) % LONG
        state[name] = (total, jobs + 1)
        written[name].append((at + graph[name].deadline, total >> 32))
    return {name: [value for _, value in blocks] for name, blocks in written.items()}


@dataclass(frozen=True)
class How:
    """The way the tasks are executed: under logical execution time, that must change nothing."""

    cores: Sequence[str] = ("master-0",)
    """Those of the tasks, in turn."""
    policy: str = "fixed-priority"
    bcet: str = "10us"
    wcet: str = "200us"
    priorities: Sequence[int] = (5, 4, 3, 2, 1)
    communication: str = "let"
    offloaded: Sequence[str] = ()


def description(folder: Path, graph: Graph, how: How, duration: int) -> Path:
    readers: dict[str, list[str]] = {
        name: [n for n, node in graph.items() if name in node.reads.values()] for name in graph
    }
    tasks: dict[str, Any] = {}
    for place, (name, node) in enumerate(graph.items()):
        core = how.cores[place % len(how.cores)]
        tasks[name] = {
            "step": "steps.hpp::let::step",
            "period": f"{node.period}us",
            "deadline": f"{node.deadline}us",
            "offset": f"{node.offset}us",
            "wcet": how.wcet,
            "bcet": how.bcet,
            "on": core,
            "reads": {member: f"of-{source}" for member, source in node.reads.items()},
            "writes": {"value": f"of-{name}"} if readers[name] else {},
        }
        if how.policy != "edf":
            tasks[name]["priority"] = how.priorities[place]
        if name in how.offloaded:
            tasks[name] |= {"execution": "offloaded", "on": "worker-0", "master": core}
    folder.mkdir(parents=True)
    shutil.copy(STEP, folder)
    used = sorted(set(how.cores))
    first = next(iter(graph.values()))
    return write(
        folder,
        {
            "tasks": tasks,
            "channels": {
                f"of-{name}": {"kind": "sporadic", "communication": how.communication}
                for name in graph
                if readers[name]
            },
            "scheduling": {core: {"policy": how.policy} for core in used},
            "run": {"iterations": -(-duration // first.period), "time_base": "sleep", "interference": []},
        },
    )


def outputs(found: Ran, graph: Graph) -> dict[str, list[int]]:
    """The values that each task wrote, by job."""
    return {name: found.outputs(name)["value"].astype(np.int64).tolist() for name in graph}
