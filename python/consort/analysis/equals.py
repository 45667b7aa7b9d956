# SPDX-License-Identifier: Apache-2.0
"""Tasks of one core that share a priority: each is bounded as if all others of it went before."""

from __future__ import annotations

from consort.plan import Plan


def levels_of(plan: Plan, core: str) -> dict[str, int]:
    """Urgency levels of a core's tasks, 0 the most urgent; tasks of one priority have one level."""
    names = plan.cores[core].tasks
    given = [own for name in names if (own := plan.tasks[name].priority) is not None]
    # Priorities mean nothing under edf, and nothing in a plan that was put into another order.
    in_order = len(given) == len(names) and given == sorted(given, reverse=True)
    if plan.cores[core].policy == "edf" or not in_order:
        return {name: level for level, name in enumerate(names)}
    return {name: given.index(priority) for name, priority in zip(names, given, strict=True)}
