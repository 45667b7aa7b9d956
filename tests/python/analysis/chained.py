# SPDX-License-Identifier: Apache-2.0
"""Random chains of tasks on several cores, some of whose channels are on a link, followed job by job.

The engine's simulator says when jobs begin and end; what each of them reads, and when a block has come over
the link, is followed here. Under logical execution time all moments are known, and the bounds are exact.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from math import lcm
from random import Random
from typing import Any

import numpy as np
from consort import _engine
from consort.analysis.chains import Link, implicit, let
from consort.analysis.channel_bounds import delivery_of
from consort.analysis.result import Bound
from consort.analysis.uniprocessor import UniTask, edf, fixed_priority
from consort.simulate.engine import JOBS

Counts = tuple[int, int, int]
POLICIES = ("fixed-priority", "fixed-priority-non-preemptive", "edf")
UNTIL = 240
# Weaker forms of the bounds.
FAULTS = (
    "no wait for other blocks",
    "a block takes no time",
    "a response shorter by a tick",
    "every writer goes before its reader",
    "no period of the last task",
    "all begin at once",
)


def bounds_of(policy: str, rows: list[UniTask]) -> list[Bound]:
    if policy == "edf":
        return edf(rows)
    return fixed_priority(rows, preemptive=policy == "fixed-priority")


def over_link(ready: dict[int, list[int]], costs: dict[int, int]) -> dict[int, list[int]]:
    """Arrivals of each block, of channels whose blocks are ready at those times; one at a time, in turn."""
    come: dict[int, list[int]] = {hop: [] for hop in ready}
    hops, now, turn = sorted(ready), 0, 0
    left = sum(map(len, ready.values()))
    while left:
        waiting = [hop for hop in hops if len(come[hop]) < len(ready[hop])]
        now = max(now, min(ready[hop][len(come[hop])] for hop in waiting))
        for k in range(len(hops)):
            hop = hops[(turn + k) % len(hops)]
            if hop in waiting and ready[hop][len(come[hop])] <= now:
                break
        now += costs[hop]
        come[hop].append(now)
        turn, left = hops.index(hop) + 1, left - 1
    return come


def seen_of(
    path: Sequence[int], jobs: list[tuple[list[int], list[int]]], come: dict[int, list[int]]
) -> Counts:
    """The longest reaction, the longest age, and how many outputs there were; jobs are (starts, ends)."""
    sources: list[int | None] = list(jobs[path[0]][0])
    for hop, (before, here) in enumerate(pairwise(path)):
        ready = come.get(hop, jobs[before][1])
        newest = [bisect_right(ready, start) - 1 for start in jobs[here][0]]
        sources = [sources[k] if k >= 0 else None for k in newest]
    ends = jobs[path[-1]][1]
    outputs = [(end, s) for end, s in zip(ends, sources, strict=False) if s is not None]
    shown = [source for _, source in outputs]
    reaction = 0
    for stimulus in jobs[path[0]][0]:
        # Just after this read.
        k = bisect_right(shown, stimulus)
        if k < len(outputs):
            reaction = max(reaction, outputs[k][0] - stimulus)
    age = max((after - source for (_, source), (after, _) in pairwise(outputs)), default=0)
    return reaction, age, len(outputs)


def links_of(
    tasks: Sequence[Any], policies: Sequence[str], members: Sequence[Sequence[int]], fault: str
) -> dict[int, Link]:
    """The tasks as a chain has them; `members`: of each core its tasks, the most urgent first."""
    links = {}
    for core, (policy, mine) in enumerate(zip(policies, members, strict=True)):
        rows = [
            UniTask(str(i), tasks[i].wcet, tasks[i].period, tasks[i].deadline, tasks[i].jitter) for i in mine
        ]
        for level, (i, bound) in enumerate(zip(mine, bounds_of(policy, rows) if rows else [], strict=True)):
            held = bound.response if bound.schedulable else None
            if held is not None and fault == "a response shorter by a tick":
                held -= 1
            offset = 0 if fault == "all begin at once" else tasks[i].offset
            made = Link(str(i), tasks[i].period, held, tasks[i].jitter, offset, core=str(core), level=level)
            links[i] = replace(made, by_priority=policy != "edf")
    return links


def delivered(link: Link, costs: dict[int, int], hop: int, fault: str) -> Link:
    """The same task where what it writes on that hop goes over the link; `costs`: of the hops that do."""
    if hop not in costs:
        return link
    others = 0 if fault == "no wait for other blocks" else sum(costs.values()) - costs[hop]
    found = delivery_of("link", link.name, link.period or 0, link.response, costs[hop], others)
    takes = 0 if fault == "a block takes no time" else found.ps or 0
    return replace(link, delivery=takes, undelivered=found.why)


def attack(seed: int, fault: str = "") -> Counts:
    """One random system: bounds of its chain that hold, reached and exceeded in two simulations."""
    random, late = Random(seed), Random(f"late starters of {seed}")
    cores, tasks, made, members = random.randint(1, 3), [], [], list[list[int]]()
    policies = [random.choice(POLICIES) for _ in range(cores)]
    for policy in policies:
        made.append(_engine.SimCore(policy))
        members.append([])
    for i in range(random.randint(2, 5)):
        task: Any = _engine.SimTask()
        task.core = task.master = random.randrange(cores)
        task.period = random.choice((6, 8, 10, 12, 15, 20, 24, 30))
        task.deadline = task.period
        task.wcet = random.choice((1, random.randint(1, task.period // 3)))
        task.bcet = random.choice((1, task.wcet))
        task.jitter = random.choice((0, 0, random.randint(0, 3)))
        task.offset, task.rank = random.randint(0, task.period), i
        if late.random() < 0.15:
            task.offset = late.randint(0, UNTIL // 3)
        members[task.core].append(i)
        tasks.append(task)
    path = random.sample(range(len(tasks)), random.randint(1, len(tasks)))
    costs = {hop: random.randint(1, 4) for hop in range(len(path) - 1) if random.random() < 0.5}
    links = links_of(tasks, policies, members, fault)
    chain = [delivered(links[i], costs, hop, fault) for hop, i in enumerate(path)]
    if fault == "every writer goes before its reader":
        chain = [replace(one, core="c", by_priority=True, level=k) for k, one in enumerate(chain)]
    reaction, age = (bound.response for bound in implicit("chain", chain))
    if reaction is None or age is None:
        return 0, 0, 0
    limits = [reaction, age]
    if fault == "no period of the last task":
        limits = [one - tasks[path[-1]].period for one in limits]
    system = _engine.SimSystem(made, [], tasks)
    seen = [0, 0]
    for execution in ("worst", "edges"):
        trace = _engine.sim_run(system, UNTIL, seed, execution, "edges", trace=True)["jobs"].view(JOBS)
        jobs = []
        for i in range(len(tasks)):
            mine = trace[(trace["task"] == i) & (trace["finish"] >= 0)]
            mine = mine[np.argsort(mine["seq"])]
            jobs.append((mine["start"].tolist(), mine["finish"].tolist()))
        come = over_link({hop: jobs[path[hop]][1] for hop in costs}, costs)
        seen = [max(pair) for pair in zip(seen, seen_of(path, jobs, come), strict=False)]
    pairs = list(zip(seen, limits, strict=True))
    return 2, sum(s == b for s, b in pairs), sum(s > b for s, b in pairs)


def attack_let(seed: int, less: int = 0) -> Counts:
    """A chain under logical execution time: the exact bounds, less that, against its moments one by one."""
    random = Random(seed)
    links = [
        Link(str(i), t, 1, offset=random.randint(0, t), interval=random.randint(1, t))
        for i, t in enumerate(random.choices((2, 3, 4, 5, 6, 8, 10, 12), k=random.randint(1, 4)))
    ]
    late = Random(f"late starters of {seed}")
    links = [replace(one, offset=late.randint(0, 50)) if late.random() < 0.15 else one for one in links]
    reaction, age = (bound.response for bound in let("chain", links))
    assert reaction is not None and age is not None
    periods = [link.period or 1 for link in links]
    until = 2 * lcm(*periods) + 8 * sum(periods) + max(link.offset for link in links)
    jobs = []
    for link, period in zip(links, periods, strict=True):
        starts = list(range(link.offset, until, period))
        jobs.append((starts, [start + link.interval for start in starts]))
    seen = seen_of(range(len(links)), jobs, {})
    pairs = [(seen[0], reaction - less), (seen[1], age - less)]
    return 2, sum(s == b for s, b in pairs), sum(s > b for s, b in pairs)
