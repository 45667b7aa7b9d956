# SPDX-License-Identifier: Apache-2.0
"""Laying a description on one of its targets: the document with the target's names, before any rule reads it.

Places of problems stay those of the file. Nothing after this knows that there are targets.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from consort.base.errors import BadDescription, BadInput, nearest
from consort.model.base import group_of, names_in
from consort.model.description import System
from consort.model.document import Document, Location
from consort.model.mode import OFFLOADED_ONLY, Target, offloaded_anywhere
from consort.model.platform import Platform, find_platform, load_platform
from consort.model.validate import validate


def laid(document: Document, name: str) -> tuple[Document, Platform]:
    """A document as one of its targets has it, and the target's platform.

    `BadDescription` where the form of the description is wrong, or the target leaves something open.
    """
    system, _ = validate(System, document)
    if system is None or document.problems:
        raise BadDescription(document.problems)
    target = system.targets[name]
    reference = target.platform or name
    try:
        platform = load_platform(find_platform(reference, document.file))
    except LookupError as error:
        place = ("targets", name, "platform")
        raise BadDescription([document.problem(place, str(error.args[0]), at_key=True)]) from None
    laying = _Laying(document, name, target, platform)
    return laying.document(reference), platform


def processors_elsewhere(data: Mapping[str, Any], file: Path) -> set[str]:
    """The kinds of processor of all platforms that a description can be on, as far as they can be read."""
    targets = data.get("targets")
    references = [data.get("platform")]
    if isinstance(targets, dict):
        for name, target in targets.items():
            references.append((target.get("platform") if isinstance(target, dict) else None) or name)
    found: set[str] = set()
    for reference in references:
        try:
            path = find_platform(str(reference), file)
            found |= _processors(path, path.stat().st_mtime_ns)
        except (LookupError, OSError, BadDescription):
            # Where it is meant, it is refused with its place.
            continue
    return found


@cache
def _processors(platform: Path, _changed: int) -> frozenset[str]:
    """The kinds of processor of a platform's file, which is read again once it is changed."""
    return frozenset(load_platform(platform).processors)


class _Laying:
    def __init__(self, document: Document, name: str, target: Target, platform: Platform) -> None:
        self.whole = document
        self.name = name
        self.here: Location = ("targets", name)
        self.platform = platform
        self.data: dict[str, Any] = {
            key: copy.deepcopy(value) for key, value in document.data.items() if key != "targets"
        }
        self.moved: dict[Location, Location] = {}
        self.notes: list[BadInput] = []
        self.found = list(names_in(System, self.data))
        groups = {group_of(one.name) for one in self.found if one.part == "core"}
        cores = [
            one.name
            for one in self.found
            if one.part == "core"
            or (one.part == "core or group" and group_of(one.name) and one.name not in groups)
        ]
        self.named = {
            "cores": list(dict.fromkeys(cores)),
            "memories": list(dict.fromkeys(one.name for one in self.found if one.part == "memory")),
        }
        there = {"cores": platform.core_names(), "memories": [*platform.memories, *platform.links]}
        given = {"cores": target.cores, "memories": target.memories}
        self.problems = [
            problem for what in given for problem in self._unmapped(what, given[what], there[what])
        ]
        self.cores = {core: target.cores.get(core, core) for core in self.named["cores"]}
        self.memories = {memory: target.memories.get(memory, memory) for memory in self.named["memories"]}

    def document(self, reference: str) -> Document:
        if not self.problems:
            self.moved["platform",] = (*self.here, "platform")
            self.data["platform"] = reference
            self._processors()
            self._tasks()
            self._scheduling()
            self._cpus()
            self._names()
        if self.problems:
            raise BadDescription(self.problems)
        whole = self.whole
        return Document(whole.file, self.data, whole.keys, whole.values, moved=self.moved, notes=self.notes)

    def problem(self, location: Location, message: str, *, at_key: bool = False) -> None:
        self.problems.append(self.whole.problem(location, message, at_key=at_key))

    def _unmapped(self, what: str, given: Mapping[str, str], there: list[str]) -> Iterator[BadInput]:
        """Entries for what the description does not name or the platform does not have, and absent ones."""
        one = {"cores": "core", "memories": "memory or link"}[what]
        here: Location = (*self.here, what)
        named, at, name = self.named[what], self.whole.problem, self.platform.name
        for own, image in given.items():
            if own not in named:
                text = f"the description names no {one} {own!r}; {nearest(own, named, what)}"
                yield at((*here, own), text, at_key=True)
            if image not in there:
                text = f"{image!r} is not a {one} of platform {name}; {nearest(image, there, what)}"
                if what == "cores":
                    text = self.platform.unknown_core(image)
                yield at((*here, own), text)
        for own in named:
            if own not in given and own not in there:
                example = f"'{own}: {there[0]}'" if there else "one to its platform"
                text = f"{own!r} has no entry, and is not a {one} of platform {name}; add {example}"
                known = self.platform.core_ranges().values() if what == "cores" else there
                yield at(here, f"{text}; {what}: {', '.join(known)}" if there else text, at_key=True)

    def _names(self) -> None:
        """Each name in a value becomes the name that stands for it on the target."""
        for one in self.found:
            images = {"core": self.cores, "memory": self.memories}.get(one.part)
            if images is not None and not one.key and _get(self.data, one.place) is not None:
                _get(self.data, one.place[:-1])[one.place[-1]] = images[one.name]

    def _processors(self) -> None:
        """Costs on processors that only other platforms of the description have go."""
        elsewhere: set[str] = set()
        for one in self.found:
            if one.part != "processor" or one.name in self.platform.processors:
                continue
            elsewhere = elsewhere or processors_elsewhere(self.whole.data, self.whole.file)
            if one.name in elsewhere:
                cost, task = (_get(self.data, one.place[:length]) for length in (-1, -2))
                del cost[one.name]
                if not cost:
                    del task[one.place[-2]]

    # Masters and workers.

    def _ways(self) -> Iterator[tuple[str, str | None, str, str]]:
        """Each way in which a task is offloaded: task, mode (None: as it stands), master and worker."""
        modes = self.whole.data.get("modes", {})
        for name, task in self.whole.data["tasks"].items():
            ways = {None: {}, **{mode: one.get("overrides", {}).get(name) for mode, one in modes.items()}}
            for mode, override in ways.items():
                if override is None:
                    continue
                there = {**task, **override}
                if there.get("execution") == "offloaded" and there.get("master") not in (None, there["on"]):
                    yield name, mode, there["master"], there["on"]

    def _tasks(self) -> None:
        """A task whose master and worker come to one core is local."""
        ways = list(self._ways())
        self.masters = {master for _, _, master, _ in ways}
        self.workers = {worker for _, _, _, worker in ways}
        joined = [way for way in ways if self.cores[way[2]] == self.cores[way[3]]]
        apart = [way for way in ways if way not in joined]
        asking = {task["on"] for task in self.whole.data["tasks"].values() if task.get("requests")}
        self.awaiting = {self.cores[core] for core in (*(way[2] for way in apart), *asking)}
        self.serving = {self.cores[way[3]] for way in apart}
        for name, mode, master, worker in joined:
            task = self.data["tasks"][name]
            if mode is not None:
                override = self.data["modes"][mode]["overrides"][name]
                override["execution"] = "local"
                override.pop("master", None)
                gone = [key for key in self.whole.data["tasks"][name] if key in OFFLOADED_ONLY]
                self._note(("modes", mode, "overrides", name), name, self.cores[master], gone or ["master"])
                continue
            for _, other, *_ in (way for way in apart if way[0] == name):
                text = f"{master!r} and {worker!r} are one core here, so that {name} is local as it"
                text += " stands, and it is offloaded in this mode; give them cores of their own"
                self.problem(("modes", str(other), "overrides", name), text, at_key=True)
            gone = [key for key in task if key in OFFLOADED_ONLY]
            for key in gone:
                del task[key]
            task["execution"] = "local"
            ends = [f"{name}.{end}" for end in ("in", "out")]
            gone += [end for end in ends if end in self.data.get("channels", {})]
            self._note(("tasks", name, "execution"), name, self.cores[master], gone)
        for name in dict.fromkeys(way[0] for way in joined):
            if not offloaded_anywhere(name, self.data):
                for end in ("in", "out"):
                    self.data.get("channels", {}).pop(f"{name}.{end}", None)
        if joined:
            self._configurations()

    def _note(self, place: Location, task: str, core: str, gone: list[str]) -> None:
        text = f"{core} is master and worker: {task} is local there, and"
        self.notes.append(self.whole.problem(place, f"{text} {', '.join(gone)} mean nothing"))

    def _configurations(self) -> None:
        """Where nothing is offloaded any more, the configurations that offload are those that do not."""
        run = self.data.get("run", {})
        if "configurations" not in run or any(
            task.get("execution") == "offloaded" for task in self.data["tasks"].values()
        ):
            return
        kept: dict[str, int] = {}
        for place, one in enumerate(run["configurations"]):
            kept.setdefault(one.replace("offloaded", "local"), place)
        here: Location = ("run", "configurations")
        self.moved |= {(*here, new): (*here, old) for new, old in enumerate(kept.values())}
        run["configurations"] = list(kept)

    # What is said of cores by their names.

    def _scheduling(self) -> None:
        """Each core of the target is scheduled as the core that it stands for."""
        given = self.data.get("scheduling", {})
        found: dict[str, tuple[str, dict[str, Any]]] = {}
        # A group's entry is about those of its cores that have tasks: an accelerator's schedules nothing.
        scheduled = {one.name for one in self.found if one.place[0] in ("tasks", "modes")}
        groups = {entry: self._group_there(entry) for entry in given if entry not in self.cores}
        kept: set[tuple[str, str]] = set()
        gone: dict[tuple[str, str], str] = {}
        for entry, here, cores in self._scheduled(given, groups, scheduled):
            settings = dict(given[entry])
            for key, own, there in (
                ("wait", self.masters, self.awaiting),
                ("service", self.workers, self.serving),
            ):
                if key not in settings or any(self.cores[core] in there for core in cores):
                    kept.add((entry, key))
                # What says how it awaits or serves others means nothing to a core that does not any more.
                elif entry not in cores or entry in own:
                    del settings[key]
                    gone[entry, key] = here
            if given[entry] and not settings:
                continue
            other, before = found.setdefault(here, (cores[0], settings))
            if before != settings:
                text = f"{other!r} and {cores[0]!r} are one core here, and 'scheduling' says different things"
                text += " of them; say the same of both, or give them cores of their own"
                self.problem((*self.here, "cores", cores[0]), text, at_key=True)
            self.moved.setdefault(("scheduling", here), ("scheduling", entry))
        for (entry, key), here in gone.items():
            if (entry, key) not in kept:
                text = f"{here} neither awaits answers of other cores nor serves them"
                text = f"{text}, and {key!r} means nothing"
                self.notes.append(self.whole.problem(("scheduling", entry, key), text, at_key=True))
        for entry, group in groups.items():
            idle = [core for core in self.cores if group_of(core) == entry and core not in scheduled]
            if group is None and (idle or not any(group_of(core) == entry for core in self.cores)):
                text = f"no task is on {', '.join(idle) or f'a core of {entry!r}'}, and the scheduling there"
                self.notes.append(
                    self.whole.problem(("scheduling", entry), f"{text} means nothing", at_key=True)
                )
        if given:
            self.data["scheduling"] = {here: settings for here, (_, settings) in found.items()}

    def _scheduled(
        self, given: Mapping[str, Any], groups: Mapping[str, str | None], scheduled: set[str]
    ) -> Iterator[tuple[str, str, list[str]]]:
        """Entries of `scheduling`, what they are about on the target, and the cores that these stand for."""
        for entry, group in groups.items():
            if group is not None:
                yield entry, group, [core for core in self.cores if group_of(core) == entry]
        for core, image in self.cores.items():
            group = group_of(core)
            if core in given:
                yield core, image, [core]
            elif group in given and groups[group] is None and core in scheduled:
                yield group, image, [core]

    def _group_there(self, group: str) -> str | None:
        """The target's group that all cores of a group come to, and no others; None where there is none."""
        own = {core for core in self.cores if group_of(core) == group}
        there = {group_of(self.cores[core]) for core in own}
        coming = {core for core, image in self.cores.items() if group_of(image) in there}
        return there.pop() if len(there) == 1 and coming == own else None

    def _cpus(self) -> None:
        given = self.data.get("run", {}).get("cpus", {})
        found: dict[str, str] = {}
        for core, cpu in given.items():
            other = found.setdefault(self.cores[core], core)
            if given[other] != cpu:
                text = f"{other!r} and {core!r} are one core here, and run.cpus gives them CPUs"
                text += f" {given[other]} and {cpu}; give them one CPU, or cores of their own"
                self.problem((*self.here, "cores", core), text, at_key=True)
            self.moved.setdefault(("run", "cpus", self.cores[core]), ("run", "cpus", core))
        if given:
            self.data["run"]["cpus"] = {image: given[core] for image, core in found.items()}


def _get(data: Any, place: Location) -> Any:
    """The part of plain data at a place; None where it is gone."""
    for part in place:
        if data is None:
            return None
        data = data.get(part) if isinstance(data, dict) else data[part]
    return data
