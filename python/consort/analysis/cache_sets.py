# SPDX-License-Identifier: Apache-2.0
"""What preempted jobs load again, from the sets of the cache that tasks use: evicting and useful blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from consort.analysis.figures import Figures, MissingFigure, NotAnalysable
from consort.analysis.result import UNSOURCED, Used
from consort.analysis.unitask import Matrix, Reloads


@dataclass(frozen=True)
class Blocks:
    """The sets of the cache that a task's jobs touch, and those in which they use a block again."""

    evicting: frozenset[int]
    useful: frozenset[int]


def ecb_union(tasks: Sequence[Blocks], per_set: int) -> Matrix:
    """By what each preempted task can lose to the preempting one and all that may preempt that in turn."""
    return [
        [
            per_set * max(len(tasks[g].useful & _evicted(tasks[: j + 1])) for g in range(j + 1, i + 1))
            if j < i
            else 0
            for j in range(len(tasks))
        ]
        for i in range(len(tasks))
    ]


def ucb_union(tasks: Sequence[Blocks], per_set: int) -> Matrix:
    """By what the preempting task can take from all that may be preempted at once."""
    return [
        [
            per_set * len(frozenset().union(*(g.useful for g in tasks[j + 1 : i + 1])) & tasks[j].evicting)
            if j < i
            else 0
            for j in range(len(tasks))
        ]
        for i in range(len(tasks))
    ]


def _evicted(tasks: Sequence[Blocks]) -> frozenset[int]:
    return frozenset().union(*(task.evicting for task in tasks))


@dataclass(frozen=True)
class CacheCosts:
    """What the tasks of a core, the most urgent first, load again, by each way to bound it."""

    reloads: tuple[Reloads, ...]
    own: tuple[int, ...]
    """What a job of each task loads again at most, whatever ran meanwhile [ps]."""
    used: tuple[Used, ...]


def cache_costs(figures: Figures, core: str) -> CacheCosts | None:
    """None where the core says nothing of its cache."""
    plan = figures.plan
    planned = plan.cores[core]
    if planned.cache is None:
        return None
    here = f"scheduling.{plan.system.scheduling_entry(core)}.cache"
    if planned.policy != "fixed-priority":
        raise NotAnalysable(f"{here}: sets of a cache have bounds under fixed-priority, not {planned.policy}")
    block = figures.time(f"{here}.block")
    used = [*block.used]
    tasks = []
    for name in planned.tasks:
        task, place = plan.tasks[name], f"tasks.{name}.cache_sets"
        if task.cache_sets is None:
            raise MissingFigure(place, f"the sets of the cache that {name} uses")
        tasks.append(Blocks(frozenset(task.cache_sets.evicting), frozenset(task.cache_sets.useful)))
        source = plan.system.tasks[name].cache_sets
        known = None if source is None else source.provenance
        text = f"{len(task.cache_sets.evicting)} evicting, {len(task.cache_sets.useful)} useful"
        used.append(Used(place, text, *((UNSOURCED, "") if known is None else (known.kind, known.source))))
    per_set = planned.cache.per_set_ps
    return CacheCosts(
        tuple(
            Reloads(how(tasks, per_set), per_set, name)
            for how, name in ((ecb_union, "ECB-union"), (ucb_union, "UCB-union"))
        ),
        tuple(per_set * len(task.useful) for task in tasks),
        tuple(used),
    )
