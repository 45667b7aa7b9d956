# SPDX-License-Identifier: Apache-2.0
"""Rules about modes: the names in them, and that each mode is itself a valid system."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from consort.base.errors import BadInput, nearest
from consort.model.channel_rules import ends_of
from consort.model.description import System
from consort.model.document import Location, Problems, Rule, View, spell
from consort.model.exclusions import excluded
from consort.model.mode import Mode, ModeChanges, Override, place_in
from consort.model.quantities import Duration
from consort.model.task import Task


@dataclass(frozen=True)
class ModeView(View):
    """The description as it is in a mode; problems are placed at what the mode changes."""

    mode: str = ""
    overrides: Mapping[str, Override] = field(default_factory=dict)
    seen: frozenset[str | None] = frozenset()
    found: list[BadInput] = field(default_factory=list)

    def written(self, *location: str | int) -> object:
        return self.document.get(*place_in(self.mode, self.overrides, location))

    def problem(self, location: Location, message: str, *, at_key: bool = False) -> BadInput:
        place = place_in(self.mode, self.overrides, location)
        same = place == location
        if same:
            place = ("modes", self.mode)
            if location[0] == "tasks" and location[1:] and location[1] in self.overrides:
                place = (*place, "overrides", location[1])
        found = self.document.problem(place, f"in this mode {spell(location)}: {message}", at_key=at_key)
        # Of a place that the mode leaves as it stands, and of all within it, one message is enough.
        if not same or not any(
            spell(location[:length]) in self.seen for length in range(2, len(location) + 1)
        ):
            self.found.append(found)
        return found


def check_modes(
    view: View, system: System, rules: Sequence[Rule], known: Sequence[BadInput]
) -> list[BadInput]:
    """Errors in the modes. What is wrong without them already is not reported again."""
    problems = list(_names(view, system))
    if problems:
        return problems
    seen = frozenset(problem.field for problem in known)
    for mode, described in system.modes.items():
        problems += _released_by_who_rests(view, system, mode)
        # Where the form is broken, a mode's tasks may be among what is taken out.
        if view.wrong:
            continue
        there = system.in_mode(mode)
        in_mode = ModeView(view.document, view.wrong, view.platform, mode, described.overrides, seen)
        for rule in rules:
            for _ in rule(in_mode, there):
                pass
        problems += in_mode.found
    return problems


def _released_by_who_rests(view: View, system: System, mode: str) -> Problems:
    """A task that blocks of another one release has none to wait for where that one rests."""
    active = system.modes[mode].tasks or ()
    if view.wrong_within("modes", mode):
        return
    writers, _ = ends_of(system)
    for index, name in enumerate(active):
        override = system.modes[mode].overrides.get(name)
        channel = system.tasks[name].arrival if name in system.tasks else None
        if channel is None or (override is not None and override.period is not None):
            continue
        for writer in writers.get(channel, ()):
            if writer in system.tasks and writer not in active:
                text = (
                    f"{name!r} is released by blocks of {channel!r}, and {writer!r}, which writes them, rests"
                )
                text += f" in this mode; let {name!r} rest, too, or give it a period under 'overrides'"
                yield from view.say(("modes", mode, "tasks", index), text)


def _names(view: View, system: System) -> Problems:
    for name, mode in system.modes.items():
        here: Location = ("modes", name)
        if not mode.model_fields_set and not view.wrong_within(*here):
            text = "the mode changes nothing; add 'tasks' or 'overrides', or remove it"
            yield from view.say(here, text, at_key=True)
        if not view.wrong_within(*here, "tasks"):
            yield from _active(view, (*here, "tasks"), mode)
        for task, override in mode.overrides.items():
            yield from _overridden(view, (*here, "overrides", task), task, override, mode)


def _active(view: View, here: Location, mode: Mode) -> Problems:
    tasks = view.names("tasks")
    if mode.tasks == ():
        yield from view.say(here, "the list is empty; name the tasks that are active")
    for index, task in enumerate(mode.tasks or ()):
        if task not in tasks:
            yield from view.say((*here, index), f"{task!r} is not a task; {nearest(task, tasks, 'tasks')}")
        elif task in (mode.tasks or ())[:index]:
            yield from view.say((*here, index), f"{task!r} stands twice; remove one of them")


def _overridden(view: View, here: Location, task: str, override: Override, mode: Mode) -> Problems:
    tasks = view.names("tasks")
    if task not in tasks:
        yield from view.say(here, f"{task!r} is not a task; {nearest(task, tasks, 'tasks')}", at_key=True)
    elif mode.tasks is not None and task not in mode.tasks and not view.wrong_within(*here[:2], "tasks"):
        text = f"{task!r} rests in this mode; name it under 'tasks', or remove what differs"
        yield from view.say(here, text, at_key=True)
    elif not override.model_fields_set and not view.wrong_within(*here):
        text = f"nothing differs for {task!r}; say what does, or remove it"
        yield from view.say(here, text, at_key=True)
    elif override.period is not None and override.min_interarrival is not None:
        text = "a task is released periodically or sporadically; keep 'period' or 'min_interarrival'"
        yield from view.say((*here, "min_interarrival"), text, at_key=True)


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


HERE = "mode_changes"


def check_mode_changes(view: View, system: System) -> Problems:
    """Errors in `mode_changes`, and features that the modes it names cannot have in a change."""
    changes = system.mode_changes
    if changes is None:
        return
    described = view.names("modes")
    for place, mode in _named(changes):
        if mode not in described:
            hint = nearest(mode, described, "modes") if described else "describe it under 'modes'"
            yield from view.say(place, f"{mode!r} is not a mode; {hint}")
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
            yield from view.say((HERE, "asked_by", k, "task"), f"{asker.task!r} is not a task; {hint}")
    memory = changes.state_through
    if view.platform is not None and memory not in (None, *view.platform.memories):
        hint = nearest(str(memory), view.platform.memories, "memories")
        text = f"{memory!r} is not a memory of platform {view.platform.name}; {hint}"
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
