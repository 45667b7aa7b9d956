# SPDX-License-Identifier: Apache-2.0
"""Rules about changes of mode: the names in them, and features that no change of mode can have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from consort.base.problems import nearest
from consort.model.description import System
from consort.model.document import Location
from consort.model.exclusions import excluded
from consort.model.fail_over_rules import check_fail_over
from consort.model.mode_changes import ModeChanges
from consort.model.quantities import Duration
from consort.model.task import Task
from consort.model.view import Problems, View, typed

HERE = "mode_changes"


@typed
def check_mode_changes(view: View, system: System) -> Problems:
    """Errors in `mode_changes`, and features that the modes it names cannot have in a change."""
    changes = system.mode_changes
    if changes is None:
        return
    described = view.names("modes")
    for place, mode in _named(changes):
        if mode not in described:
            hint = nearest(mode, described, "modes") if described else "describe it under 'modes'"
            yield from view.say(place, f"{mode!r} is no mode; {hint}")
    if changes.agreement.picoseconds == 0:
        text = "two modes share no instant; write what every core needs to take up its new plan"
        yield from view.say((HERE, "agreement"), text)
    asking = ("requests", "asked_by", "fail_over")
    if not any(getattr(changes, key) or view.wrong_within(HERE, key) for key in asking):
        text = (
            "nothing asks for a change; add 'requests', at known instants, 'asked_by', by outputs, or"
            " 'fail_over', when a core dies"
        )
        yield from view.say((HERE,), text, at_key=True)
    tasks = view.names("tasks")
    for k, asker in enumerate(changes.askers):
        if asker.task not in tasks:
            hint = nearest(asker.task, tasks, "tasks")
            yield from view.say((HERE, "asked_by", k, "task"), f"{asker.task!r} is no task; {hint}")
    memory = changes.state_through
    if view.platform is not None and memory not in (None, *view.platform.memories):
        hint = nearest(str(memory), view.platform.memories, "memories")
        text = f"{memory!r} is no memory of platform {view.platform.name}; {hint}"
        yield from view.say((HERE, "state_through"), text)
    if not view.wrong_within(HERE, "requests"):
        yield from _order(view, changes)
    # A part that is taken out might be a mode that moves a task, or one that a core's death leads to.
    if any(view.wrong_within(part) for part in ("tasks", "modes", HERE)):
        return
    entered = {mode: system.tasks_in(mode) for mode in changes.entered() if mode in system.modes}
    yield from _tasks(view, system, changes, entered)
    yield from check_fail_over(view, system, changes, entered)


def _named(changes: ModeChanges) -> Iterator[tuple[Location, str]]:
    """The modes that the changes name, each with its place."""
    yield (HERE, "start"), changes.start
    for k, request in enumerate(changes.timed):
        yield (HERE, "requests", k, "to"), request.to
    for k, one in enumerate(changes.fail_overs):
        yield (HERE, "fail_over", k, "to"), one.to
    for k, asker in enumerate(changes.askers):
        for m, mode in enumerate(asker.modes):
            yield (HERE, "asked_by", k, "modes", m), mode


def _order(view: View, changes: ModeChanges) -> Problems:
    before: Duration | None = None
    present = changes.start
    for index, request in enumerate(changes.timed):
        here = (HERE, "requests", index)
        if before is not None and request.at <= before:
            text = f"the request before it comes at {before}; write a later one"
            yield from view.say((*here, "at"), text)
        before = request.at
        if request.to == present:
            text = f"the mode is {request.to!r} already; name another, or remove the request"
            yield from view.say((*here, "to"), text)
        present = request.to


def _tasks(view: View, system: System, changes: ModeChanges, modes: dict[str, dict[str, Task]]) -> Problems:
    computed_by: dict[str, tuple[str, str]] = {}
    said: set[str] = set()
    moves = False
    for mode, tasks in modes.items():
        for name, task in tasks.items():
            for key, message in _kept_out(task):
                if f"{name}.{key}" not in said:
                    said.add(f"{name}.{key}")
                    yield from view.say(system.place_in(mode, name, key), message)
            yield from _supply(view, system, [core for core in (task.on, task.master) if core], said)
            other, first = computed_by.setdefault(name, (task.on, mode))
            moves = moves or task.on != other
            through = changes.state_through is not None
            if task.on != other and not through and f"{name}.on" not in said:
                said.add(f"{name}.on")
                yield from view.say(
                    system.place_in(mode, name, "on"),
                    f"{name!r} is computed by {task.on!r} in the mode {mode!r} and by {other!r} in {first!r}:"
                    " its state has to go there; say through which memory with 'state_through' under"
                    " 'mode_changes', or name the same core",
                )
    if changes.state_through is not None and not moves:
        text = "every task keeps its core in the modes that are named here: no state moves; remove it"
        yield from view.say((HERE, "state_through"), text, at_key=True)


def _kept_out(task: Task) -> Iterator[tuple[str, str]]:
    """Features that a task cannot have if modes change, each with the key that states it."""
    if task.execution == "three-phase":
        yield "execution", excluded("three-phase tasks", HERE)
    if task.arrival is not None:
        yield "arrival", excluded("arrival", HERE)
    if task.on_miss == "stop":
        yield "on_miss", excluded("on_miss: stop", HERE)


def _supply(view: View, system: System, cores: Sequence[str], said: set[str]) -> Problems:
    for core in cores:
        entry = system.scheduling_entry(core)
        if entry is not None and entry not in said and system.scheduling[entry].supply is not None:
            said.add(entry)
            yield from view.say(("scheduling", entry, "supply"), excluded("supply", HERE, core=core))
