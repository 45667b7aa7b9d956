# SPDX-License-Identifier: Apache-2.0
"""Rules about preemption thresholds: of tasks whose jobs others may preempt, and that never wait."""

from __future__ import annotations

from collections.abc import Iterator

from consort.errors import BadInput
from consort.model.view import View

Problems = Iterator[BadInput]
KEY = "preemption_threshold"


def check_thresholds(view: View) -> Problems:
    """A threshold acts under preemptive fixed priorities, and is no lower than the task's priority."""
    for task in view.tasks():
        if KEY not in view.mapping("tasks", task) or view.execution(task) is None:
            continue
        reason = _without_effect(view, task)
        if reason is not None:
            yield view.problem(("tasks", task, KEY), reason, at_key=True)
            continue
        here = ("tasks", task, KEY)
        given, priority = view.get(*here), view.get("tasks", task, "priority")
        if priority is None:
            text = (
                "there is no priority to compare it with; add 'priority' to all tasks of the core, or remove"
            )
            yield view.problem(here, f"{text} {KEY!r}", at_key=True)
        elif isinstance(given, int) and isinstance(priority, int) and given < priority:
            text = f"it is below the task's priority, {priority}; write {priority} or more, or remove it"
            yield view.problem(here, text)


def _without_effect(view: View, task: str) -> str | None:
    """Why a job of the task that has begun keeps nobody waiting, or has no bound if it does."""
    execution = view.execution(task)
    if execution == "three-phase":
        return (
            "a three-phase job is preempted by nobody: its core executes one partition to its end before it"
            f" turns to the other; remove {KEY!r}"
        )
    if execution == "offloaded":
        return (
            "its jobs give the core up while their worker computes, and a threshold is kept from a job's"
            f" beginning to its end; remove {KEY!r}, or write 'execution: local'"
        )
    core = view.text("tasks", task, "on")
    if core is None:
        return None
    _, policy = view.policy(core)
    if policy == "edf":
        text = f"the core {core!r} is scheduled by edf, where priorities mean nothing"
        return f"{text}; remove {KEY!r}, or write 'policy: fixed-priority'"
    if policy == "fixed-priority-non-preemptive":
        text = f"no job of {core!r} is preempted ({policy}), whatever the threshold"
        return f"{text}; remove {KEY!r}, or write 'policy: fixed-priority'"
    if view.scheduled(core, "bandwidth"):
        return f"beside a budget of accesses of {core!r} it has no bound; remove {KEY!r}, or 'bandwidth'"
    for other in view.tasks():
        ends = (view.text("tasks", other, "on"), view.text("tasks", other, "master"))
        if core in ends and view.waits(other):
            return (
                f"jobs of {other!r} wait on {core!r}, where thresholds have no bound; place one of the two"
                f" tasks elsewhere, or remove {KEY!r}"
            )
        for resource in view.mapping("tasks", other, "sections"):
            inherits = view.text("resources", resource, "protocol") == "priority-inheritance"
            if inherits and view.text("tasks", other, "on") == core:
                return (
                    f"a job that finds {resource!r} taken waits on {core!r}, where thresholds have no bound;"
                    f" write 'protocol: priority-ceiling' for it, or remove {KEY!r}"
                )
    return None
