# SPDX-License-Identifier: Apache-2.0
"""Assigns a CPU of this machine to each core of a plan, and groups cores that run at the same time."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from consort.base.cpus import usable_cpus
from consort.base.errors import BadInput, EnvironmentLacks
from consort.plan import Plan
from consort.plan.over_links import links_of
from consort.plan.recorded import carried
from consort.run.config import Placement


def place(plan: Plan, cores: Iterable[str], *, share: bool) -> Placement:
    """A CPU for each of `cores`, and one for the I/O core if some of them are three-phase.

    As the description says, else one of its own; workers choose first. With `share`, cores share CPUs where
    there are too few. `EnvironmentLacks` where there are too few and they may not.
    """
    usable = usable_cpus()
    wanted = list(cores)
    given = {name: cpu for name in wanted if (cpu := plan.cores[name].cpu) is not None}
    for core, cpu in given.items():
        if cpu not in usable:
            raise BadInput(
                f"CPU {cpu} is not usable here; usable are {', '.join(map(str, sorted(usable)))}",
                file=plan.file,
                field=f"run.cpus.{core}",
            )
    io = any(name in plan.three_phase_cores for name in wanted)
    free = [cpu for cpu in usable if cpu not in given.values()]
    lacking = len(wanted) - len(given) + io > len(free)
    if lacking and not share:
        needed = len(wanted) + io
        raise EnvironmentLacks(
            f"the system uses {needed} cores{' with the I/O core' if io else ''}, each on a CPU of its own,"
            f" and {len(usable)} CPUs are usable here",
            "run it on a machine with more CPUs, widen the affinity mask, or stretch its times with"
            " --time-scale, so that its cores can share CPUs",
        )
    workers = set(plan.workers)
    placed = dict(given)
    pool = free or usable
    used = 0
    for core in sorted((c for c in wanted if c not in given), key=lambda c: c not in workers):
        placed[core] = pool[used % len(pool)]
        used += 1
    io_cpu = pool[used % len(pool)] if io else None
    # The remaining CPUs go to the links' engines.
    left = [cpu for cpu in usable if cpu not in placed.values() and cpu != io_cpu]
    return Placement(placed, io_cpu, lacking, dict(zip(links_of(plan), left, strict=False)))


def groups(plan: Plan) -> list[list[str]]:
    """Cores that must run at the same time, by group; groups have nothing to do with one another.

    When a machine has too few CPUs for all cores, groups are run one after another.
    """
    names = list(plan.cores)
    leader = {name: name for name in names}

    def find(name: str) -> str:
        while leader[name] != name:
            name = leader[name]
        return name

    def join(first: str, second: str) -> None:
        a, b = find(first), find(second)
        if a != b:
            low, high = sorted((a, b), key=names.index)
            leader[high] = low

    for task in plan.tasks.values():
        if task.worker is not None:
            join(task.core, task.worker)
    for channel in carried(plan):
        ends = [end for end in (channel.writer, *channel.readers) if end in plan.tasks]
        for first, second in pairwise(ends):
            join(plan.tasks[first].core, plan.tasks[second].core)
    shared = [
        name
        for name in plan.three_phase_cores
        if (slot := plan.cores[name].slot) is not None and slot.arbitration == "round-robin"
    ]
    for first, second in pairwise(shared):
        join(first, second)
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(find(name), []).append(name)
    return list(found.values())
