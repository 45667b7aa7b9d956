# SPDX-License-Identifier: Apache-2.0
"""Rules about preemption thresholds: of tasks whose jobs others may preempt, and that never wait."""

from __future__ import annotations

from collections.abc import Iterator

from consort.errors import BadInput
from consort.model.view import View

Problems = Iterator[BadInput]
KEY = "preemption_threshold"


def check_thresholds(view: View) -> Problems:
    """Where a threshold acts, it is no lower than the task's priority."""
    for task in view.tasks():
        core = view.text("tasks", task, "on")
        if KEY not in view.mapping("tasks", task) or view.execution(task) != "local" or core is None:
            continue
        here = ("tasks", task, KEY)
        given, priority = view.get(*here), view.get("tasks", task, "priority")
        if view.policy(core)[1] != "fixed-priority":
            continue
        if priority is None:
            text = (
                "there is no priority to compare it with; add 'priority' to all tasks of the core, or remove"
            )
            yield view.problem(here, f"{text} {KEY!r}", at_key=True)
        elif isinstance(given, int) and isinstance(priority, int) and given < priority:
            text = f"it is below the task's priority, {priority}; write {priority} or more, or remove it"
            yield view.problem(here, text)
