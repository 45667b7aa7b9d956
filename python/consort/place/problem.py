# SPDX-License-Identifier: Apache-2.0
"""The choices of a placement: for each task, and in each mode that places it anew, its possible places."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from consort.base.errors import BadInput, nearest
from consort.model import System, Task
from consort.model.base import group_of
from consort.model.channel import Execution, Policy
from consort.model.figures import EnergyByExecution, TimeByExecution
from consort.model.platform import Core
from consort.place.settings import Choose, Setting, settings_of, suits
from consort.place.thresholds import refuse_auto_jitter, refuse_thresholds

# The keys of a task, and of what differs for it in a mode, that say where it runs.
PLACING = ("on", "execution", "master")
# The index of a place, for each decision of a problem, and of a value, for each setting.
Choice = tuple[int, ...]


@dataclass(frozen=True)
class Place:
    """A core, and how the task executes there."""

    execution: Execution
    on: str
    master: str | None = None

    @property
    def cores(self) -> tuple[str, ...]:
        """The cores that it takes time of."""
        return (self.on,) if self.master is None else (self.on, self.master)

    def __str__(self) -> str:
        where = self.on if self.master is None else f"{self.on} for {self.master}"
        return where if self.execution == "local" else f"{where} ({self.execution})"


@dataclass(frozen=True)
class Decision:
    """The choice of a task's place: in every mode that says nothing else (`mode` None), or in one mode."""

    task: str
    mode: str | None
    places: tuple[Place, ...]
    # The index of the place that the description gives.
    given: int

    def __str__(self) -> str:
        return self.task if self.mode is None else f"{self.task} in mode {self.mode}"


@dataclass(frozen=True)
class Problem:
    """A description, and what of its placement may change.

    `kept` tasks stay where they are, what is required of `waived` chains need not hold, and at most `moves`
    tasks change their place.
    """

    system: System
    views: tuple[str | None, ...]
    """The situations that are analysed: the description as it stands (None) and its modes."""
    decisions: tuple[Decision, ...]
    kept: frozenset[str] = frozenset()
    waived: frozenset[str] = frozenset()
    moves: int | None = None
    choose: Choose = field(default_factory=dict)
    """Choices beside places and ranks."""

    @cached_property
    def settings(self) -> tuple[Setting, ...]:
        """The values that are chosen."""
        if not self.choose:
            return ()
        entries: dict[str, list[str]] = {entry: [] for entry in self.system.scheduling}
        loads: dict[str, dict[str, None]] = {entry: {} for entry in entries}
        for core in self.cores:
            entry = self.system.scheduling_entry(core)
            if entry is not None:
                entries[entry].append(core)
        for decision in self.decisions:
            for place in decision.places:
                entry = self.system.scheduling_entry(place.on)
                if place.execution == "three-phase" and entry is not None:
                    loads[entry][decision.task] = None
        return settings_of(self.system, self.choose, entries, loads)

    @cached_property
    def apart(self) -> tuple[tuple[int, int, int, int], ...]:
        """Pairs that exclude each other: the place of a decision, and the value of a setting, by their
        indices.

        A memory of which it is not known what a place's cores pay there, or in which they pay too much.
        """
        known: dict[tuple[int, str, frozenset[str]], bool] = {}
        found = []
        for number, setting in enumerate(self.settings):
            for index, decision in enumerate(self.decisions):
                if decision.task not in setting.ends:
                    continue
                for at, place in enumerate(decision.places):
                    cores = {place.on} if place.master is None else {place.master}
                    if setting.task is not None:
                        cores = set() if place.master is None else {*place.cores}
                    for value, memory in enumerate(setting.values):
                        key = (number, str(memory), frozenset(map(self.class_of, cores)))
                        if value == setting.given:
                            continue
                        if key not in known:
                            known[key] = suits(self.system, setting, str(memory), cores)
                        if not known[key]:
                            found.append((index, at, number, value))
        return tuple(found)

    @cached_property
    def rooms(self) -> tuple[tuple[int, dict[tuple[int, int], int]], ...]:
        """Needs of channels in each memory that they may come to and that has a size: the room they may need,
        and the need of each, by number of the setting and index of the value."""
        found = []
        for memory, described in self.system.platform_description.memories.items():
            needs = {
                (number, setting.values.index(memory)): setting.room
                for number, setting in enumerate(self.settings)
                if memory in setting.values
            }
            if described.size is not None and needs:
                given = sum(room for (number, i), room in needs.items() if self.settings[number].given == i)
                found.append((max(given, described.size.value.bytes), needs))
        return tuple(found)

    @cached_property
    def systems(self) -> Mapping[str | None, System]:
        return systems_of(self.system, self.views)

    @cached_property
    def active(self) -> Mapping[str | None, Mapping[str, int]]:
        """The active tasks of each view, and the decision that places each."""
        index = {(decision.task, decision.mode): i for i, decision in enumerate(self.decisions)}
        return {
            view: {name: index.get((name, view), index[name, None]) for name in system.tasks}
            for view, system in self.systems.items()
        }

    @property
    def given(self) -> Choice:
        return (*(d.given for d in self.decisions), *(s.given for s in self.settings))

    def places(self, choice: Choice) -> list[Place]:
        return [d.places[i] for d, i in zip(self.decisions, choice[: len(self.decisions)], strict=True)]

    def set_in(self, choice: Choice) -> tuple[int, ...]:
        """The index of the value of each setting."""
        return choice[len(self.decisions) :]

    def values(self, choice: Choice) -> list[tuple[Setting, str | int]]:
        """The settings with the values that a choice gives them."""
        pairs = zip(self.settings, self.set_in(choice), strict=True)
        return [(setting, setting.values[i]) for setting, i in pairs]

    def changed(self, choice: Choice) -> list[tuple[Setting, str | int]]:
        """Those whose value differs from that of the description."""
        return [(one, value) for one, value in self.values(choice) if value != one.values[one.given]]

    def moved(self, choice: Choice) -> list[str]:
        """The tasks whose place differs from that of the description, in any mode."""
        pairs = zip(self.decisions, choice[: len(self.decisions)], strict=True)
        return list(dict.fromkeys(d.task for d, i in pairs if i != d.given))

    def allows(self, choice: Choice) -> bool:
        """True if a choice leaves what is to stay, whatever its bounds are."""
        moved, values = self.moved(choice), self.set_in(choice)
        if self.kept & set(moved) or (self.moves is not None and len(moved) > self.moves):
            return False
        if any(i == s.given and not s.allowed for s, i in zip(self.settings, values, strict=True)):
            return False
        if any(choice[at] == place and values[s] == value for at, place, s, value in self.apart):
            return False
        chosen = set(enumerate(values))
        return all(sum(needs[one] for one in chosen & needs.keys()) <= room for room, needs in self.rooms)

    def stay(self, choice: Choice) -> int:
        """The larger, the fewer tasks move, and of as many tasks the fewer places and settings change."""
        changes = sum(i != given for i, given in zip(choice, self.given, strict=True))
        return -(len(self.moved(choice)) * (len(choice) + 1) + changes)

    def class_of(self, core: str) -> str:
        return class_of(self.system, core)

    def alike(self, core: str) -> list[str]:
        """The cores of a class, in the platform's order."""
        return self._by_class[self.class_of(core)]

    @cached_property
    def _by_class(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for core in self.cores:
            found.setdefault(self.class_of(core), []).append(core)
        return found

    @cached_property
    def cores(self) -> list[str]:
        """The cores that any task may come to, in the platform's order."""
        near = {core for d in self.decisions for place in d.places for core in place.cores}
        return [name for name in self.system.platform_description.core_names() if name in near]

    def policy(self, core: str) -> Policy:
        return self.system.scheduling_of(core).policy


def problem_of(
    system: System,
    *,
    keep: Collection[str] = (),
    waived: Collection[str] = (),
    moves: int | None = None,
    in_modes: bool = False,
    choose: Choose | None = None,
) -> Problem:
    """The choices in a description; `BadInput` if it has one that cannot be made.

    `in_modes`: the places that modes give are chosen, too; else they stay. `choose`: what else is chosen.
    """
    for name in keep:
        if name not in system.tasks:
            text = f"{name!r} is not a task; {nearest(name, system.tasks, 'tasks')}"
            raise BadInput(text, file=system.file, field="--keep")
    for mode, described in system.modes.items():
        for task, override in described.overrides.items():
            if override.priority is not None:
                raise BadInput(
                    "priorities that differ by mode are not chosen; give the task one priority for all modes",
                    file=system.file,
                    field=f"modes.{mode}.overrides.{task}.priority",
                )
    if system.accelerators:
        raise BadInput(
            "no search knows what a request to an accelerator waits when tasks move; place by hand, and let"
            " analyze bound it",
            file=system.file,
            field="accelerators",
        )
    refuse_thresholds(system)
    refuse_auto_jitter(system)
    changes = system.mode_changes
    views = (None, *system.modes) if changes is None else tuple(changes.entered())
    systems = systems_of(system, views)
    cores = _cores(system)
    decisions = []
    for name in system.tasks:
        own = {mode for mode in views if mode is not None and _places_anew(system, mode, name)}
        inherits = [view for view in views if name in systems[view].tasks and view not in own]
        decisions.append(
            _decision(system, name, None, [systems[view].tasks[name] for view in inherits], cores)
        )
        for mode in (view for view in views if view in own):
            decisions.append(
                _decision(system, name, mode, [systems[mode].tasks[name]], cores, stays=not in_modes)
            )
    return Problem(system, views, tuple(decisions), frozenset(keep), frozenset(waived), moves, choose or {})


def systems_of(system: System, views: Sequence[str | None]) -> dict[str | None, System]:
    return {view: system if view is None else system.in_mode(view) for view in views}


def _places_anew(system: System, mode: str, task: str) -> bool:
    override = system.modes[mode].overrides.get(task)
    return override is not None and any(getattr(override, key) is not None for key in PLACING)


def _decision(
    system: System,
    name: str,
    mode: str | None,
    as_in: Sequence[Task],
    cores: Sequence[Core],
    *,
    stays: bool = False,
) -> Decision:
    """`as_in`: the task as it is in each mode that the decision counts in; none: it stays where it is."""
    task = as_in[0] if as_in else system.tasks[name]
    given = Place(task.execution, task.on, task.master)
    places = dict.fromkeys(
        place for place in _places(system, task, cores) if _costs_known(system, as_in, place)
    )
    every = tuple(places) if given in places else (given, *places)
    if stays or not as_in:
        every = (given,)
    return Decision(name, mode, every, every.index(given))


def _costs_known(system: System, as_in: Sequence[Task], place: Place) -> bool:
    kind = system.platform_description.core(place.on).processor_name
    if any(task.wcet_on(kind, place.execution) is None for task in as_in):
        return False
    if place.master is None or as_in[0].on_miss != "local-fallback":
        return True
    kind = system.platform_description.core(place.master).processor_name
    return all(task.wcet_on(kind, "local") is not None for task in as_in)


def class_of(system: System, core: str) -> str:
    """The class of cores that no analysis can tell apart: their group, if nothing singles them out."""
    return core if core in system.scheduling else group_of(core)


def _cores(system: System) -> list[Core]:
    """The cores that tasks may come to: of equal ones that are not in use as many as could ever be needed."""
    platform = system.platform_description
    used = {core for task in system.tasks.values() for core in (task.on, task.released_by)}
    for mode in system.modes.values():
        for override in mode.overrides.values():
            used |= {core for core in (override.on, override.master) if core is not None}
    # A task takes time of two cores at most, in each mode.
    left: dict[str, int] = {}
    most = 2 * len(system.tasks) * (1 + len(system.modes))
    found = []
    for name in platform.core_names():
        kind = class_of(system, name)
        if name not in used:
            left[kind] = left.get(kind, most) - 1
        if name in used or left[kind] >= 0:
            found.append(platform.core(name))
    return found


def _places(system: System, task: Task, cores: Sequence[Core]) -> Iterator[Place]:
    platform = system.platform_description
    three_phase = {core.name for core in cores if system.scheduling_of(core.name).policy == "three-phase"}
    ordinary = [core for core in cores if core.name not in three_phase]
    for core in ordinary:
        yield Place("local", core.name)
    for core in cores:
        if core.name in three_phase and _says(task, core, "three-phase") and task.footprint is not None:
            yield Place("three-phase", core.name)
    # A master's computation for a job is known for the kind of core that releases the task now.
    kind = platform.core(task.released_by).processor_name
    masters = [core for core in ordinary if core.processor_name == kind]
    for core in ordinary:
        if _says(task, core, "offloaded"):
            for master in masters:
                if master.name != core.name:
                    yield Place("offloaded", core.name, master.name)


def _says(task: Task, core: Core, execution: Execution) -> bool:
    """True if the description speaks of this way of executing the task: it does so now, or has a figure."""
    if task.execution == execution:
        return True
    cost = task.wcet.get(core.processor_name) if isinstance(task.wcet, dict) else None
    if not isinstance(cost, TimeByExecution | EnergyByExecution):
        return False
    return getattr(cost, execution.replace("-", "_")) is not None
