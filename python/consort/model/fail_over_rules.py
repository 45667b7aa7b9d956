# SPDX-License-Identifier: Apache-2.0
"""Rules about fail-over: which cores may die, in which mode the others go on, and when a death is known."""

from __future__ import annotations

from collections.abc import Mapping

from consort.model.description import System
from consort.model.mode_changes import ModeChanges
from consort.model.quantities import Duration
from consort.model.task import Task
from consort.model.view import Problems, View

PLACE = ("mode_changes", "fail_over")
DETECTION = ("mode_changes", "detection")


def check_fail_over(
    view: View, system: System, changes: ModeChanges, modes: Mapping[str, Mapping[str, Task]]
) -> Problems:
    """Errors in `mode_changes.fail_over`; `modes`: the tasks of those that the system can be in."""
    if changes.fail_overs and changes.detection is None:
        text = "when a death is known is not said; add 'detection', for example 40ms"
        yield from view.say(PLACE, text, at_key=True)
    if changes.detection is not None and not changes.fail_overs:
        text = "no death is to be detected; remove it, or say under 'fail_over' which core may die"
        yield from view.say(DETECTION, text, at_key=True)
    seen: set[str] = set()
    for place, one in enumerate(changes.fail_overs):
        core, to = one.core, one.to
        if to not in system.modes:
            continue
        if core in seen:
            text = f"what follows the death of {core!r} is said above; remove one of the two"
            yield from view.say((*PLACE, place, "core"), text)
        seen.add(core)
        users = {mode: _tasks_on(tasks, core) for mode, tasks in modes.items()}
        if users[to]:
            text = f"in the mode {to!r} {core!r}, which is dead, has {', '.join(users[to])}"
            yield from view.say((*PLACE, place, "to"), text + "; place what goes on on other cores")
        elif not any(users.values()):
            text = f"{core!r} has nothing to do in any mode that is named here; name a core that has tasks"
            yield from view.say((*PLACE, place, "core"), text)
        else:
            yield from _away(view, system, core, to, users)
        if changes.detection is not None and not users[to]:
            yield from _signs_of_life(view, core, users, changes.detection)


def _away(
    view: View, system: System, core: str, to: str, users: Mapping[str, Mapping[str, Task]]
) -> Problems:
    """A task that a worker computes has no checkpoint at its master."""
    after = system.tasks_in(to)
    for mode, tasks in users.items():
        for name, task in tasks.items():
            if name in after and task.execution == "offloaded" and task.master == core:
                text = (
                    f"when its master {core!r} dies, the state of {name!r} lies with the worker"
                    f" {task.on!r}, and nobody reads it there; let {core!r} compute it in the mode"
                    f" {mode!r}, or leave it out of {to!r}"
                )
                yield from view.say(system.place_in(mode, name, "execution"), text)
                return


def _signs_of_life(
    view: View, core: str, users: Mapping[str, Mapping[str, Task]], detection: Duration
) -> Problems:
    """A core that executes a job gives none until the job ends."""
    for tasks in users.values():
        for name, task in tasks.items():
            longest = task.deadline
            if detection.picoseconds < 2 * longest.picoseconds:
                text = (
                    f"a job of {name!r} may keep {core!r} for {longest} without a sign of life, and half of"
                    f" the detection is for that; write {Duration(2 * longest.picoseconds)} or more"
                )
                yield from view.say(DETECTION, text)
                return


def _tasks_on(tasks: Mapping[str, Task], core: str) -> dict[str, Task]:
    """Those of the tasks that a core releases or computes."""
    return {name: task for name, task in tasks.items() if core in (task.on, task.master)}
