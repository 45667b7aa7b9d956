# SPDX-License-Identifier: Apache-2.0
"""Preemption thresholds: where they have bounds."""

from __future__ import annotations

from consort.analysis.figures import NotAnalysable
from consort.plan import Plan


def check_thresholds(plan: Plan, core: str) -> None:
    """Raises `NotAnalysable` where a task has a threshold beside what theorem 28 does not know."""
    planned = plan.cores[core]
    given = [name for name in planned.tasks if plan.tasks[name].threshold is not None]
    if not given:
        return
    here = f"tasks.{given[0]}.preemption_threshold"
    for name in planned.tasks:
        for section in plan.tasks[name].sections:
            if plan.resources[section.resource].inherits:
                entry = f"resources.{section.resource}.protocol"
                raise NotAnalysable(f"{here}: there is no bound for thresholds beside inheritance ({entry})")
    for key, beside in (("cache", planned.cache), ("bandwidth", planned.bandwidth)):
        if beside is not None:
            entry = f"scheduling.{plan.system.scheduling_entry(core)}.{key}"
            raise NotAnalysable(f"{here}: there is no bound for thresholds beside {entry}")
