# SPDX-License-Identifier: Apache-2.0
"""Rules about fail-over: which cores may die, in which mode the others go on, and when a death is known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from consort.errors import BadInput
from consort.model.modes import overridden
from consort.model.quantities import Duration
from consort.model.textvalue import WrongValue
from consort.model.view import View

Problems = Iterator[BadInput]
PLACE = ("mode_changes", "fail_over")
DETECTION = ("mode_changes", "detection")


def check_fail_over(view: View, modes: Sequence[str]) -> Problems:
    """Errors in `mode_changes.fail_over`; `modes`: those that the system can be in."""
    entries = view.sequence(*PLACE)
    detection = view.parsed(Duration, *DETECTION)
    given = "detection" in view.mapping("mode_changes")
    if entries and not given:
        text = "when a death is known is not said; add 'detection', for example 40ms"
        yield view.problem(PLACE, text, at_key=True)
    if given and not entries:
        text = "no death is to be detected; remove it, or say under 'fail_over' which core may die"
        yield view.problem(DETECTION, text, at_key=True)
    seen: set[str] = set()
    for place in range(len(entries)):
        core, to = view.text(*PLACE, place, "core"), view.text(*PLACE, place, "to")
        if core is None or to is None or to not in view.mapping("modes"):
            continue
        if core in seen:
            text = f"what follows the death of {core!r} is said above; remove one of the two"
            yield view.problem((*PLACE, place, "core"), text)
        seen.add(core)
        users = {mode: _tasks_on(view, mode, core) for mode in modes}
        if users.get(to):
            text = f"in the mode {to!r} {core!r}, which is dead, has {', '.join(users[to])}"
            yield view.problem((*PLACE, place, "to"), text + "; place what goes on on other cores")
        elif not any(users.values()):
            text = f"{core!r} has nothing to do in any mode that is named here; name a core that has tasks"
            yield view.problem((*PLACE, place, "core"), text)
        else:
            yield from _away(view, core, to, [m for m in modes if users[m]])
        if detection is not None and not users.get(to):
            yield from _signs_of_life(view, core, [m for m in modes if users[m]], detection)


def _away(view: View, core: str, to: str, modes: Sequence[str]) -> Problems:
    """A task that a worker computes has no checkpoint at its master."""
    after = view.sequence("modes", to, "tasks") or view.tasks()
    for mode in modes:
        for name in _tasks_on(view, mode, core):
            task = _task(view, mode, name)
            if name in after and task.get("execution") == "offloaded" and task.get("master") == core:
                text = (
                    f"when its master {core!r} dies, the state of {name!r} lies with the worker"
                    f" {task.get('on')!r}, and nobody reads it there; let {core!r} compute it in the mode"
                    f" {mode!r}, or leave it out of {to!r}"
                )
                override = view.mapping("modes", mode, "overrides", name)
                here = ("modes", mode, "overrides", name) if "execution" in override else ("tasks", name)
                yield view.problem((*here, "execution"), text)
                return


def _signs_of_life(view: View, core: str, modes: Sequence[str], detection: Duration) -> Problems:
    """A core that executes a job gives none until the job ends."""
    for mode in modes:
        for name in _tasks_on(view, mode, core):
            task = _task(view, mode, name)
            given = (task[key] for key in ("deadline", "period", "min_interarrival") if key in task)
            longest = _duration(next(given, None))
            if longest is not None and detection.picoseconds < 2 * longest.picoseconds:
                text = (
                    f"a job of {name!r} may keep {core!r} for {longest} without a sign of life, and half of"
                    f" the detection is for that; write {Duration(2 * longest.picoseconds)} or more"
                )
                yield view.problem(DETECTION, text)
                return


def _duration(value: object) -> Duration | None:
    try:
        return None if value is None else Duration.from_yaml(value)
    except WrongValue:
        return None


def _task(view: View, mode: str, name: str) -> dict[str, Any]:
    return overridden(view.mapping("tasks", name), view.mapping("modes", mode, "overrides", name))


def _tasks_on(view: View, mode: str, core: str) -> list[str]:
    """The tasks that a core releases or computes in a mode."""
    active = view.sequence("modes", mode, "tasks") or view.tasks()
    return [
        name
        for name in view.tasks()
        if name in active and core in (_task(view, mode, name).get(key) for key in ("on", "master"))
    ]
