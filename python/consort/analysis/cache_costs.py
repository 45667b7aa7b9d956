# SPDX-License-Identifier: Apache-2.0
"""Cache reloads of a description's tasks when they are preempted, by the sets of the cache they use."""

from __future__ import annotations

from dataclasses import dataclass

from consort.analysis.cache_sets import Blockers, Blocks, ecb_union, ucb_union
from consort.analysis.cache_windows import CachedCore
from consort.analysis.figures import Figures, MissingFigure
from consort.analysis.result import UNSOURCED, Used
from consort.analysis.unitask import Reloads


@dataclass(frozen=True)
class CacheCosts:
    """Cache reloads of a core's tasks, the most urgent first, by each way to bound them."""

    reloads: tuple[Reloads, ...]
    """By a charge for each job."""
    windows: CachedCore
    """By counting in each window."""
    own: tuple[int, ...]
    """The largest reload of each task's job, whatever ran meanwhile [ps]."""
    used: tuple[Used, ...]


def cache_costs(figures: Figures, core: str, blockers: Blockers) -> CacheCosts | None:
    """None where the core says nothing of its cache. `blockers`: of each task those that may block it."""
    plan = figures.plan
    planned = plan.cores[core]
    if planned.cache is None:
        return None
    here = f"scheduling.{planned.entry}.cache"
    block = figures.time(f"{here}.block")
    used = [*block.used]
    tasks = []
    for name in planned.tasks:
        task, place = plan.tasks[name], f"tasks.{name}.cache_sets"
        if task.cache_sets is None:
            raise MissingFigure(place, f"the sets of the cache that {name} uses")
        tasks.append(Blocks(frozenset(task.cache_sets.evicting), frozenset(task.cache_sets.useful)))
        known = task.cache_sets_from
        text = f"{len(task.cache_sets.evicting)} evicting, {len(task.cache_sets.useful)} useful"
        used.append(Used(place, text, *((UNSOURCED, "") if known is None else (known.kind, known.source))))
    per_set = planned.cache.per_set_ps
    return CacheCosts(
        tuple(
            Reloads(per_set, how(tasks, per_set, blockers), name)
            for how, name in ((ecb_union, "ECB-union"), (ucb_union, "UCB-union"))
        ),
        CachedCore(per_set, tasks, blockers),
        tuple(per_set * len(task.useful) for task in tasks),
        tuple(used),
    )
