# SPDX-License-Identifier: Apache-2.0
"""The rule about preemption thresholds that no table has: each is compared with a priority."""

from __future__ import annotations

from consort.model.conflicts import THRESHOLD
from consort.model.description import System
from consort.model.view import Problems, View, typed


@typed
def check_thresholds(view: View, system: System) -> Problems:
    """Checks that a threshold that acts is no lower than the task's priority."""
    for name, task in system.tasks.items():
        acts = task.execution == "local" and system.scheduling_of(task.on).policy == "fixed-priority"
        given, here = task.preemption_threshold, ("tasks", name, THRESHOLD)
        if given is None or not acts or view.wrong_within("tasks", name, "priority"):
            continue
        if task.priority is None:
            text = (
                "there is no priority to compare it with; add 'priority' to all tasks of the core, or remove"
            )
            yield from view.say(here, f"{text} {THRESHOLD!r}", at_key=True)
        elif given < task.priority:
            text = f"it is below the task's priority, {task.priority}; write {task.priority} or more"
            yield from view.say(here, f"{text}, or remove it")
