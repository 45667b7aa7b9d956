# SPDX-License-Identifier: Apache-2.0
"""Rules about modes: the names in them, and that each mode is itself a valid system."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from consort.base.errors import BadInput
from consort.base.problems import nearest
from consort.model.channel_rules import ends_of
from consort.model.description import System
from consort.model.document import Location, spell
from consort.model.mode import Mode, Override, place_in
from consort.model.view import Problems, View, typed

Rule = Callable[[View], Problems]


@dataclass(frozen=True)
class ModeView(View):
    """The description as it is in a mode; problems are placed at what the mode changes."""

    mode: str = ""
    overrides: Mapping[str, Override] = field(default_factory=dict)
    seen: frozenset[tuple[str | None, str]] = frozenset()
    found: list[BadInput] = field(default_factory=list)

    def written(self, *location: str | int) -> object:
        return self.document.get(*place_in(self.mode, self.overrides, location))

    def problem(self, location: Location, message: str, *, at_key: bool = False) -> BadInput:
        place = place_in(self.mode, self.overrides, location)
        if place == location:
            place = ("modes", self.mode)
            if location[0] == "tasks" and location[1:] and location[1] in self.overrides:
                place = (*place, "overrides", location[1])
        found = self.document.problem(place, f"in this mode {spell(location)}: {message}", at_key=at_key)
        if (spell(location), message) not in self.seen:
            self.found.append(found)
        return found


def check_modes(view: View, rules: Sequence[Rule], known: Sequence[BadInput]) -> list[BadInput]:
    """Errors in the modes. What is wrong without them already is not reported again."""
    problems = list(_names(view))
    if problems or view.system is None:
        return problems
    seen = frozenset((problem.field, problem.message) for problem in known)
    for mode, described in view.system.modes.items():
        problems += _released_by_who_rests(view, view.system, mode)
        # Where the form is broken, a mode's tasks may be among what is taken out.
        if view.wrong:
            continue
        system = view.system.in_mode(mode)
        in_mode = ModeView(view.document, view.wrong, view.platform, system, mode, described.overrides, seen)
        for rule in rules:
            for _ in rule(in_mode):
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


@typed
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
            yield from view.say((*here, index), f"{task!r} is no task; {nearest(task, tasks, 'tasks')}")
        elif task in (mode.tasks or ())[:index]:
            yield from view.say((*here, index), f"{task!r} stands twice; remove one of them")


def _overridden(view: View, here: Location, task: str, override: Override, mode: Mode) -> Problems:
    tasks = view.names("tasks")
    if task not in tasks:
        yield from view.say(here, f"{task!r} is no task; {nearest(task, tasks, 'tasks')}", at_key=True)
    elif mode.tasks is not None and task not in mode.tasks and not view.wrong_within(*here[:2], "tasks"):
        text = f"{task!r} rests in this mode; name it under 'tasks', or remove what differs"
        yield from view.say(here, text, at_key=True)
    elif not override.model_fields_set and not view.wrong_within(*here):
        text = f"nothing differs for {task!r}; say what does, or remove it"
        yield from view.say(here, text, at_key=True)
    elif override.period is not None and override.min_interarrival is not None:
        text = "a task is released periodically or sporadically; keep 'period' or 'min_interarrival'"
        yield from view.say((*here, "min_interarrival"), text, at_key=True)
