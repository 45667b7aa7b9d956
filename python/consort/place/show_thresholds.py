# SPDX-License-Identifier: Apache-2.0
"""Preemption thresholds that were chosen: lines and data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from consort.analysis.result import Bound
from consort.place.thresholds import Thresholds, memory


def lines(found: Thresholds) -> Iterator[str]:
    """The result in words: the stacks' sizes, and what is proven."""
    if found.late is not None:
        yield f"No thresholds make {found.late} meet its deadline with these places and priorities: proven."
        return
    total = memory(found.stacks)
    less = ""
    if total["after"]:
        less = f", {total['preemptive'] / total['after']:.3g} times less than full preemption"
    yield f"the stacks of the tasks: {total['after']} B ({total['before']} B as it stands){less}"
    for one in found.stacks:
        yield f"  {one.core}: {one.after} B ({one.before} B as it stands, {one.preemptive} B of all tasks)"
    yield "Proven optimal: no thresholds that these analyses accept take less for these priorities."
    for bound in found.failing:
        yield f"But with them {bound.task} fails: {bound.verdict()}"


def as_data(found: Thresholds, changes: str, written: str | None) -> dict[str, Any]:
    return {
        "status": "infeasible" if found.late is not None else "optimal",
        "objective": "memory",
        "late": found.late,
        "stacks": [vars(one) for one in found.stacks],
        "memory_bytes": memory(found.stacks),
        "thresholds": {
            name: {"priority": task.priority, "preemption_threshold": task.preemption_threshold}
            for name, task in found.system.tasks.items()
            if task.preemption_threshold is not None
        },
        "bounds": [_bound(old, new) for old, new in zip(found.before, found.after, strict=True)],
        "failing": [bound.task for bound in found.failing],
        "diff": changes,
        "written": written,
    }


def _bound(old: Bound, new: Bound) -> dict[str, Any]:
    return {
        "name": new.task,
        "kind": new.kind,
        "before_ps": old.response,
        "after_ps": new.response,
        "holds": new.schedulable,
    }
