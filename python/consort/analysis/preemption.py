# SPDX-License-Identifier: Apache-2.0
"""What a preempted job loads into its core's caches again: where that has bounds, and what they rest on."""

from __future__ import annotations

from dataclasses import replace

from consort.analysis.figures import NotAnalysable
from consort.analysis.result import Bound, with_theorem
from consort.plan import Plan

STATED = "docs/explanation/analyses.md, theorem 21 (a stated cost of each preemption), with "
SETS = "docs/explanation/analyses.md, theorem 21 (Tan & Mooney 2007; Altmeyer, Davis & Maiza 2012), with "


def check_reload(plan: Plan, core: str) -> None:
    """Raises `NotAnalysable` where others than preempting jobs may empty the caches, too."""
    planned = plan.cores[core]
    if planned.cache_reload_ps is None and planned.cache is None:
        return
    key = "cache_reload" if planned.cache is None else "cache"
    here = f"scheduling.{plan.system.scheduling_entry(core)}.{key}"
    if planned.policy == "fixed-priority-non-preemptive":
        raise NotAnalysable(f"{here}: no job of {core} is preempted")
    if planned.supply is not None:
        text = "has a supply, and what a hypervisor runs meanwhile takes the caches, too"
        raise NotAnalysable(f"{here}: {core} {text}")
    for name in planned.tasks:
        if plan.tasks[name].waits:
            text = f"jobs of {name} wait on {core}, and what they load again then is in no figure"
            raise NotAnalysable(f"{here}: {text}")


def with_reloads(plan: Plan, bound: Bound) -> Bound:
    """A bound of a core whose jobs reload, with what it rests on."""
    core = plan.cores[bound.core]
    if (core.cache_reload_ps is None and core.cache is None) or bound.response is None:
        return bound
    source = STATED if core.cache is None else SETS
    return replace(bound, source=with_theorem(source, bound))
