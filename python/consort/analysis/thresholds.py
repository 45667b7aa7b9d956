# SPDX-License-Identifier: Apache-2.0
"""Preemption thresholds: where they have bounds."""

from __future__ import annotations

from consort.analysis.figures import NotAnalysable
from consort.plan import Plan


def inherited(plan: Plan, core: str) -> str | None:
    """A resource of the core whose holder inherits priorities, so that jobs wait for it."""
    sections = (section for name in plan.cores[core].tasks for section in plan.tasks[name].sections)
    return next((s.resource for s in sections if plan.resources[s.resource].inherits), None)


def check_thresholds(plan: Plan, core: str) -> None:
    """Raises `NotAnalysable` where a task has a threshold beside what theorem 28 does not know."""
    planned = plan.cores[core]
    given = [name for name in planned.tasks if plan.tasks[name].threshold is not None]
    if not given:
        return
    here = f"tasks.{given[0]}.preemption_threshold"
    if (resource := inherited(plan, core)) is not None:
        entry = f"resources.{resource}.protocol"
        raise NotAnalysable(f"{here}: there is no bound for thresholds beside inheritance ({entry})")
    for key, beside in (("cache", planned.cache), ("bandwidth", planned.bandwidth)):
        if beside is not None:
            entry = f"scheduling.{plan.system.scheduling_entry(core)}.{key}"
            raise NotAnalysable(f"{here}: there is no bound for thresholds beside {entry}")
