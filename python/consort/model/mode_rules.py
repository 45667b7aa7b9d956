# SPDX-License-Identifier: Apache-2.0
"""Rules about modes: the names in them, and that each mode is itself a valid system."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from consort.errors import BadInput
from consort.model.channel_rules import ends_of
from consort.model.document import Document, Location, spell
from consort.model.modes import overridden
from consort.model.problems import nearest
from consort.model.view import View

Problems = Iterator[BadInput]
# Keys that name the channels and devices of a task.
ENDS = frozenset({"reads", "writes", "arrival"})
Rule = Callable[[View], Problems]


@dataclass(frozen=True)
class ModeView(View):
    """The description as it is in a mode; problems are placed at what the mode changes."""

    mode: str = ""
    overrides: dict[str, Any] = field(default_factory=dict)
    seen: frozenset[tuple[str | None, str]] = frozenset()
    found: list[BadInput] = field(default_factory=list)

    def problem(self, location: Location, message: str, *, at_key: bool = False) -> BadInput:
        place: Location = ("modes", self.mode)
        task = str(location[1]) if location[0] == "tasks" and len(location) > 1 else None
        if task in self.overrides:
            changed = len(location) > 2 and location[2] in self.overrides[task]
            place = (*place, "overrides", task, *(location[2:] if changed else ()))
        found = self.document.problem(place, f"in this mode {spell(location)}: {message}", at_key=at_key)
        if (spell(location), message) not in self.seen:
            self.found.append(found)
        return found


def check_modes(view: View, rules: Sequence[Rule], known: Sequence[BadInput]) -> list[BadInput]:
    """Errors in the modes. What is wrong without them already is not reported again."""
    problems = list(_names(view))
    if problems:
        return problems
    seen = frozenset((problem.field, problem.message) for problem in known)
    for mode in view.mapping("modes"):
        problems += _released_by_who_rests(view, mode)
        in_mode = _in_mode(view, mode, seen)
        for rule in rules:
            for _ in rule(in_mode):
                pass
        problems += in_mode.found
    return problems


def _released_by_who_rests(view: View, mode: str) -> Problems:
    """A task that blocks of another one release has none to wait for where that one rests."""
    system = view.system
    if system is None or mode not in system.modes:
        return
    active = system.modes[mode].tasks or ()
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


def _in_mode(view: View, mode: str, seen: frozenset[tuple[str | None, str]]) -> ModeView:
    data = copy.copy(view.document.data)
    tasks = dict(view.mapping("tasks"))
    overrides = view.mapping("modes", mode, "overrides")
    wrong = set(view.wrong)
    for task in overrides:
        changed = view.mapping("modes", mode, "overrides", task)
        tasks[task] = overridden(view.mapping("tasks", task), changed)
        for place in view.wrong:
            if place[:4] == ("modes", mode, "overrides", task):
                wrong.add(("tasks", task, *place[4:]))
    active = view.get("modes", mode, "tasks")
    if isinstance(active, list):
        tasks = {name: task for name, task in tasks.items() if name in active}
    data["tasks"] = tasks
    # A resting task leaves its channels and chains unused, which is no fault.
    resting = [name for name in view.mapping("tasks") if name not in tasks]
    channels = dict(view.mapping("channels"))
    for name in list(channels):
        owner = tasks.get(name.rpartition(".")[0])
        offloaded = isinstance(owner, dict) and owner.get("execution") == "offloaded"
        if resting or ("." in name and not offloaded):
            del channels[name]
    data["channels"] = channels
    _only_used(view, data, tasks)
    for name, task in tasks.items():
        if resting and isinstance(task, dict):
            tasks[name] = {key: value for key, value in task.items() if key not in ENDS}
    if resting and "devices" in data:
        data["devices"] = {}
    chains = view.mapping("chains")
    data["chains"] = {
        name: chain
        for name, chain in chains.items()
        if not any(part in resting for part in view.sequence("chains", name, "path"))
    }
    document = Document(view.document.file, data, view.document.keys, view.document.values)
    # Where the form is broken, a mode's tasks may be among what is taken out.
    system = None if view.wrong or view.system is None else view.system.in_mode(mode)
    return ModeView(document, wrong, view.platform, system, bool(resting), mode, overrides, seen)


def _only_used(view: View, data: dict[str, Any], tasks: Mapping[str, Any]) -> None:
    """Resources and accelerators that nobody uses in a mode are no fault of it."""

    def users(key: str, name: str) -> set[str]:
        """The mode's tasks that name it under a key: of a mapping, or of entries that name it."""
        found = set()
        for task, given in tasks.items():
            used = given.get(key) if isinstance(given, dict) else None
            entries = used if isinstance(used, list) else []
            named = [entry.get("accelerator") for entry in entries if isinstance(entry, dict)]
            if name in named or (isinstance(used, dict) and name in used):
                found.add(task)
        return found

    if "resources" in data:
        known = view.mapping("resources")
        data["resources"] = {name: one for name, one in known.items() if users("sections", name)}
    if "accelerators" in data:
        data["accelerators"] = {}
        for name, one in view.mapping("accelerators").items():
            asking = users("requests", name)
            given = view.mapping("accelerators", name, "clients")
            clients = {task: client for task, client in given.items() if task in asking}
            if asking and isinstance(one, dict):
                data["accelerators"][name] = {**one, **({"clients": clients} if given else {})}


def _names(view: View) -> Problems:
    tasks = view.document.get("tasks")
    if not isinstance(tasks, dict):
        return
    for mode in view.mapping("modes"):
        here: Location = ("modes", mode)
        active = view.get(*here, "tasks")
        overrides = view.mapping(*here, "overrides")
        if not view.mapping(*here).keys() & {"tasks", "overrides"} and here not in view.wrong:
            yield view.problem(
                here, "the mode changes nothing; add 'tasks' or 'overrides', or remove it", at_key=True
            )
        if isinstance(active, list):
            if not active:
                yield view.problem((*here, "tasks"), "the list is empty; name the tasks that are active")
            for index, task in enumerate(active):
                place = (*here, "tasks", index)
                if isinstance(task, str) and task not in tasks:
                    yield view.problem(place, f"{task!r} is no task; {nearest(task, tasks, 'tasks')}")
                elif task in active[:index]:
                    yield view.problem(place, f"{task!r} stands twice; remove one of them")
        for task in overrides:
            place = (*here, "overrides", task)
            if task not in tasks:
                yield view.problem(
                    place, f"{task!r} is no task; {nearest(task, tasks, 'tasks')}", at_key=True
                )
            elif isinstance(active, list) and task not in active:
                yield view.problem(
                    place,
                    f"{task!r} rests in this mode; name it under 'tasks', or remove what differs",
                    at_key=True,
                )
            elif overrides[task] == {}:
                yield view.problem(
                    place, f"nothing differs for {task!r}; say what does, or remove it", at_key=True
                )
            elif {"period", "min_interarrival"} <= view.mapping(*place).keys():
                yield view.problem(
                    (*place, "min_interarrival"),
                    "a task is released periodically or sporadically; keep 'period' or 'min_interarrival'",
                    at_key=True,
                )
