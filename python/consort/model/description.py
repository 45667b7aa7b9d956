# SPDX-License-Identifier: Apache-2.0
"""The system description: the model of ``system.yaml``.

A new part of a description is a new model of this package, with its cross-field rules in
`consort.model.rules`; nothing that reads a description today needs to change for it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import Field, PrivateAttr

from consort.model.base import CoreOrGroup, Name, NonEmpty, Version, group_of
from consort.model.channel import (
    CONFIGURATIONS,
    DEFAULT_MEMORY,
    Chain,
    Channel,
    Configuration,
    takes_several,
)
from consort.model.conflicts import OnCore, cores_of
from consort.model.document import Document, Location
from consort.model.emit import as_html, in_a_line, write_yaml
from consort.model.figures import Provenance, Sourced, figures_in
from consort.model.mode import Mode, ModeChanges, Run, Target, offloaded_anywhere, overridden, place_in
from consort.model.platform import Core, Device, Platform
from consort.model.quantities import Duration
from consort.model.reading import read_document
from consort.model.sharing import Accelerator, Resource, Scheduling
from consort.model.sources import StepReference, SystemDevice
from consort.model.task import AUTO, Task

# The scheduling of cores that nothing is said of.
_DEFAULT = Scheduling()


class System(Sourced):
    """A whole description: platform, tasks, channels, and how to run them."""

    counts: ClassVar[bool] = False

    consort: Version = Field(description="Version of the description's form.", examples=["1"])
    name: NonEmpty | None = Field(default=None, description="The system's name.")
    description: str = Field(default="", description="The system's purpose, in a line.")
    platform: NonEmpty = Field(
        description="A platform of Consort's own, by name, or a platform file, by a path that ends in .yaml.",
        examples=["linux-host"],
    )
    scheduling: dict[CoreOrGroup, Scheduling] = Field(
        default={},
        description="How cores are scheduled, by core or group of cores; a core's own entry counts before its"
        " group's. Without one: preemptive fixed priorities.",
        examples=["{a72: {policy: edf}}"],
    )
    resources: dict[Name, Resource] = Field(
        default={},
        description="Resources that tasks of one core use one at a time.",
        examples=["{bus: {protocol: priority-ceiling}}"],
    )
    accelerators: dict[Name, Accelerator] = Field(
        default={},
        description="Servers that tasks of several cores ask, one request at a time.",
        examples=["{convolver: {on: worker-0, arbitration: tdma, …}}"],
    )
    devices: dict[Name, SystemDevice] = Field(
        default={}, description="Sources and sinks of data, beside the platform's devices."
    )
    tasks: Annotated[dict[Name, Task], Field(min_length=1)] = Field(
        description="The tasks, by name.", examples=["{servo: {step: …}}"]
    )
    channels: dict[str, Channel] = Field(
        default={},
        description="The channels, by name. <task>.in and <task>.out are those of offloaded tasks; where they"
        " are not described they are mailboxes.",
    )
    chains: dict[Name, Chain] = Field(default={}, description="Cause-effect chains, by name.")
    modes: dict[Name, Mode] = Field(default={}, description="Modes, by name.")
    mode_changes: ModeChanges | None = Field(
        default=None,
        description="How the system goes from mode to mode while it runs; without it a run has one mode.",
    )
    run: Run = Field(default_factory=Run, description="How the system is run.")
    targets: dict[Name, Target] = Field(
        default={},
        description="Other platforms that the system can be laid on, by name: `--on NAME` chooses one.",
        examples=["{lab: {platform: linux-host, cores: {small-0: master-0, large-0: worker-0}}}"],
    )

    _file: Path | None = PrivateAttr(default=None)
    _document: Document | None = PrivateAttr(default=None)
    _platform: Platform | None = PrivateAttr(default=None)

    def __repr__(self) -> str:
        return f"<System {in_a_line(self)}>"

    __str__ = __repr__

    def _repr_html_(self) -> str:
        return as_html(self)

    @property
    def file(self) -> Path:
        """The file the description was read from."""
        assert self._file is not None, "only a system read by load_system has a file"
        return self._file

    @property
    def document(self) -> Document:
        """The file as it was read, for the places of problems; without places where there is no file."""
        if self._document is None:
            there = self.file.is_file()
            self._document = read_document(self.file) if there else Document.of_data({}, self.file)
        return self._document

    @property
    def _known_platform(self) -> Platform | None:
        """`_platform`, asked for thousands of times: pydantic's own access is many times as slow."""
        private = self.__pydantic_private__
        return None if private is None else private["_platform"]

    @property
    def platform_description(self) -> Platform:
        platform = self._known_platform
        assert platform is not None, "only a system read by load_system has a platform"
        return platform

    def path(self, relative: str) -> Path:
        """A file that the description names, which is relative to the description."""
        return self.file.parent / relative

    def cores(self) -> list[str]:
        """The cores that the system uses: masters and cores of local tasks, workers, accelerators."""
        masters = dict.fromkeys(task.released_by for task in self.tasks.values())
        computing = dict.fromkeys(task.on for task in self.tasks.values())
        return list(masters | computing | dict.fromkeys(one.on for one in self.accelerators.values()))

    def offloads(self, task: str) -> list[tuple[str | None, str]]:
        """The masters and workers of a task that is offloaded as it stands, or in one of the modes."""
        described = self.tasks[task]
        entries = [(described.execution, described.master, described.on)]
        for mode in self.modes.values():
            one = mode.overrides.get(task)
            if one is not None:
                execution = one.execution or described.execution
                entries.append((execution, one.master or described.master, one.on or described.on))
        return [(master, worker) for execution, master, worker in entries if execution == "offloaded"]

    def workers(self) -> list[str]:
        """The cores that compute for a master."""
        return list(dict.fromkeys(t.on for t in self.tasks.values() if t.execution == "offloaded"))

    def channel(self, name: str) -> Channel:
        """A channel, as described or as it is without a description."""
        channel = self.channels.get(name, Channel())
        if channel.memory is None and DEFAULT_MEMORY in self.platform_description.memories:
            return channel.model_copy(update={"memory": DEFAULT_MEMORY})
        return channel

    def messages_apart(self, channel: str, readers: Iterable[str]) -> Duration | None:
        """The shortest time between two messages of a device: as described, or else as the fastest task among
        the channel's readers takes them; None where no task does."""
        described = self.channels.get(channel)
        if described is not None and described.min_interarrival is not None:
            return described.min_interarrival
        taking = [self.tasks[reader] for reader in readers if reader in self.tasks]
        times = [one.min_interarrival if one.period is None else one.period for one in taking]
        return min((time for time in times if time is not None), default=None)

    def core_of(self, task: str) -> Core:
        """The core that computes a task."""
        return self.platform_description.core(self.tasks[task].on)

    def known_core(self, name: str) -> Core | None:
        """A core of the platform; None where there is none of the name, or no platform."""
        platform = self._known_platform
        return None if platform is None else platform.known_core(name)

    @cached_property
    def on_cores(self) -> list[OnCore]:
        """Each core, with its uses of the features that exclude each other."""
        return cores_of(self)

    def wcet(self, task: str) -> Duration | None:
        """The worst-case execution time of a task where it is placed, as it is executed."""
        return self.tasks[task].wcet_on(self.core_of(task).processor_name)

    def bcet(self, task: str) -> Duration | None:
        return self.tasks[task].bcet_on(self.core_of(task).processor_name)

    def tasks_at(self, core: str) -> Mapping[str, Task]:
        """The tasks that a core computes or releases, in the order of the description."""
        return self._by_core.get(core, {})

    @cached_property
    def _by_core(self) -> dict[str, dict[str, Task]]:
        found: dict[str, dict[str, Task]] = {}
        for name, task in self.tasks.items():
            for place in {task.on, task.released_by}:
                found.setdefault(place, {})[name] = task
        return found

    def tasks_on(self, core: str) -> list[str]:
        """The tasks that a core computes, the most urgent first."""
        names = [name for name, task in self.tasks_at(core).items() if task.on == core]
        order = self.priorities(core)
        return sorted(names, key=lambda name: -order[name])

    def priorities(self, core: str) -> dict[str, int]:
        """The priority of each task that a core computes or releases: as given, else by deadline."""
        found = self._priorities.get(core)
        if found is None:
            tasks = self.tasks_at(core)
            if any(task.priority is not None for task in tasks.values()):
                found = {name: task.priority or 0 for name, task in tasks.items()}
            else:
                order = sorted(tasks, key=lambda name: tasks[name].deadline)
                found = {name: len(order) - place for place, name in enumerate(order)}
            self._priorities[core] = found
        return found

    @cached_property
    def _priorities(self) -> dict[str, dict[str, int]]:
        """Those on the cores that were asked for."""
        return {}

    def sleeps(self, core: str, released: Collection[str]) -> bool:
        """True if a core that releases these tasks sleeps until they come, and so wakes late.

        One of several tasks does so whatever `time_base` says, because spinning would keep the others
        waiting; so do one that chooses among its jobs by their deadlines, and one whose jobs blocks release.
        """
        keeps = (
            len(released) == 1
            and self.scheduling_of(core).policy != "edf"
            and all(self.tasks[name].arrival is None for name in released)
        )
        return self.run.time_base == "sleep" or bool(released and not keeps)

    def scheduling_of(self, core: str) -> Scheduling:
        """A core's scheduling: its own entry, else its group's, else the default."""
        entry = self.scheduling_entry(core)
        return _DEFAULT if entry is None else self.scheduling[entry]

    def scheduling_entry(self, core: str) -> str | None:
        """The key of `scheduling` that says how a core is scheduled; None: it has the default."""
        entries = self._entries
        if core not in entries:
            names = (core, group_of(core))
            entries[core] = next((name for name in names if name in self.scheduling), None)
        return entries[core]

    @cached_property
    def _entries(self) -> dict[str, str | None]:
        """Those of the cores that were asked for: each task asks for its own several times."""
        return {}

    def context_switch(self, core: str) -> Duration:
        """The cost of a context switch on a core: the system's figure, else the platform's, else nothing."""
        for figure in (
            self.scheduling_of(core).context_switch,
            self.platform_description.core(core).description.context_switch,
        ):
            if figure is not None:
                return figure.value
        return Duration(0)

    def writer(self, channel: str) -> str | None:
        """The task or device that writes a channel."""
        task, _, end = channel.rpartition(".")
        if task in self.tasks:
            return task if end == "out" else self.tasks[task].released_by
        return self._ends[0].get(channel)

    def readers(self, channel: str) -> list[str]:
        """The tasks that read a channel."""
        task, _, end = channel.rpartition(".")
        if task in self.tasks:
            return [task] if end == "in" else [self.tasks[task].released_by]
        return list(self._ends[1].get(channel, ()))

    def takes_several(self, task: str) -> bool:
        """True if a task's step takes several blocks of a queue in one job."""
        step = self.tasks[task].step
        return isinstance(step, StepReference) and takes_several(self.path(step.file))

    def ends_of(self, task: str) -> tuple[list[str], list[str]]:
        """The described channels that a task reads, and those that it writes, in their order."""
        return self._ends_of.get(task, ([], []))

    @cached_property
    def _ends_of(self) -> dict[str, tuple[list[str], list[str]]]:
        found: dict[str, tuple[list[str], list[str]]] = {}
        writers, readers = self._ends
        for channel in self.channels:
            for reader in readers[channel]:
                found.setdefault(reader, ([], []))[0].append(channel)
            if channel in writers:
                found.setdefault(writers[channel], ([], []))[1].append(channel)
        return found

    @cached_property
    def _ends(self) -> tuple[dict[str, str], dict[str, list[str]]]:
        """Writers and readers of all channels, which are asked for one by one."""
        writers = {name: channel.from_ for name, channel in self.channels.items() if channel.from_}
        readers = {name: list(channel.to) for name, channel in self.channels.items()}
        for name, task in self.tasks.items():
            for _, channel in task.bound_to("writes"):
                if channel in self.channels:
                    writers.setdefault(channel, name)
            for _, channel in task.bound_to("reads"):
                if channel in self.channels and name not in readers.setdefault(channel, []):
                    readers[channel].append(name)
        return writers, readers

    def changed(self, changes: dict[str, dict[str, Any]]) -> System:
        """The system with other values for some keys of tasks, as the overrides of a mode have them."""
        data = self.to_given()
        for name, change in changes.items():
            data["tasks"][name] = overridden(data["tasks"][name], change)
        channels = data.get("channels", {})
        for name in list(channels):
            owner, dot, _ = name.rpartition(".")
            if dot and not offloaded_anywhere(owner, data):
                del channels[name]
        return self._of(data)

    def _of(self, data: dict[str, Any]) -> System:
        """Another system of the same file and platform; a core that is no longer a master awaits nothing."""
        overrides = [mode.get("overrides", {}) for mode in data.get("modes", {}).values()]
        masters = {task.get("master") for tasks in (data["tasks"], *overrides) for task in tasks.values()}
        masters |= {task["on"] for task in data["tasks"].values() if task.get("requests")}
        awaiting = masters | {group_of(str(master)) for master in masters}
        for name, scheduling in data.get("scheduling", {}).items():
            if name not in awaiting:
                scheduling.pop("wait", None)
        system = System.model_validate(data)
        system._file, system._platform, system._document = self._file, self._platform, self._document
        return system

    def tasks_in(self, mode: str) -> dict[str, Task]:
        """The tasks that are active in a mode, each as it is there."""
        described = self.modes[mode]
        active = described.tasks or self.tasks
        return {
            name: Task.model_validate(overridden(task.to_given(), described.overrides[name].changed))
            if name in described.overrides
            else task
            for name, task in self.tasks.items()
            if name in active
        }

    def place_in(self, mode: str, task: str, key: str) -> Location:
        """The place that says what a key of a task is in a mode."""
        return place_in(mode, self.modes[mode].overrides, ("tasks", task, key))

    def in_mode(self, mode: str) -> System:
        """The system as it is in a mode: without the tasks that rest, and with what differs."""
        described = self.modes[mode]
        data = self.to_given()
        tasks = data["tasks"]
        for name, override in described.overrides.items():
            tasks[name] = overridden(tasks[name], override.changed)
        if described.tasks is not None:
            data["tasks"] = tasks = {name: tasks[name] for name in self.tasks if name in described.tasks}
        self._with_both_ends(data)
        del data["modes"]
        data.pop("mode_changes", None)
        return self._of(data)

    def without(self, names: Collection[str]) -> System:
        """The system without some of its tasks, and without channels and chains that need these."""
        data = self.to_given()
        data["tasks"] = {name: task for name, task in data["tasks"].items() if name not in names}
        self._with_both_ends(data)
        users = {name for task in data["tasks"].values() for name in task.get("sections", {})}
        if "resources" in data:
            data["resources"] = {name: r for name, r in data["resources"].items() if name in users}
        self._with_clients(data)
        for mode in data.get("modes", {}).values():
            if "tasks" in mode:
                mode["tasks"] = [name for name in mode["tasks"] if name not in names]
            overrides = mode.pop("overrides", {})
            left = {name: change for name, change in overrides.items() if name not in names}
            if left:
                mode["overrides"] = left
        modes = data.get("modes", {})
        data["modes"] = {name: mode for name, mode in modes.items() if mode and mode.get("tasks") != []}
        if data["modes"].keys() != modes.keys():
            data.pop("mode_changes", None)
        return self._of(data)

    @staticmethod
    def _with_clients(data: dict[str, Any]) -> None:
        """Leaves accelerators, their clients and operations only where tasks in `data` ask for them."""
        asked = [
            (name, one["accelerator"], one["operation"])
            for name, task in data["tasks"].items()
            for one in task.get("requests", ())
        ]
        kept = {}
        for name, accelerator in data.pop("accelerators", {}).items():
            clients = {task for task, of, _ in asked if of == name}
            operations = {operation for _, of, operation in asked if of == name}
            if clients:
                kept[name] = {
                    **accelerator,
                    "clients": {task: c for task, c in accelerator["clients"].items() if task in clients},
                    "operations": {n: o for n, o in accelerator["operations"].items() if n in operations},
                }
        if kept:
            data["accelerators"] = kept

    def _with_both_ends(self, data: dict[str, Any]) -> None:
        """Leaves channels, devices and chains only where the tasks in `data` have all their ends."""
        tasks = data["tasks"]
        data["channels"] = self._channels_of(tasks, data.pop("channels", {}))
        for task in tasks.values():
            for key in ("reads", "writes"):
                if key in task:
                    task[key] = self._kept(task[key], data["channels"])
            if task.get("arrival") not in (None, *data["channels"]):
                del task["arrival"]
                if task.get("jitter") == AUTO:
                    # No block comes, and none comes late.
                    del task["jitter"]
        used = {
            name.partition(".")[0]
            for task in tasks.values()
            for key in ("reads", "writes")
            for name in (task[key].values() if isinstance(task.get(key), dict) else task.get(key, ()))
        }
        used |= {channel["from"] for channel in data["channels"].values() if "from" in channel}
        devices = data.pop("devices", {})
        data["devices"] = {
            name: device for name, device in devices.items() if "plant" not in device or name in used
        }
        chains = data.pop("chains", {})
        data["chains"] = {name: chain for name, chain in chains.items() if set(chain["path"]) <= set(tasks)}

    def _kept(self, bound: list[str] | dict[str, str], channels: dict[str, Any]) -> Any:
        """A task's reads or writes, without the channels that a mode does not have."""
        gone = self.channels.keys() - channels.keys()
        if isinstance(bound, dict):
            return {member: name for member, name in bound.items() if name not in gone}
        return [name for name in bound if name not in gone]

    def device(self, name: str) -> SystemDevice | Device | None:
        """A device of the system or of its platform."""
        return self.devices.get(name) or self.platform_description.devices.get(name)

    def _channels_of(self, tasks: dict[str, Any], channels: dict[str, Any]) -> dict[str, Any]:
        """The channels, as plain data, that have both their ends among some of the tasks."""
        kept: dict[str, Any] = {}
        for name, channel in channels.items():
            owner, dot, _ = name.rpartition(".")
            if dot:
                if tasks.get(owner, {}).get("execution") == "offloaded":
                    kept[name] = channel
                continue
            readers = [r for r in self.readers(name) if r in tasks or r not in self.tasks]
            writer = self.writer(name)
            if readers and (writer in tasks or writer not in self.tasks):
                kept[name] = channel
                if "to" in channel:
                    kept[name] = {**channel, "to": [reader for reader in channel["to"] if reader in readers]}
        return kept

    def figures(self) -> list[tuple[str, object, Provenance | None]]:
        """Every figure that may carry a source: where it stands, its value, where it comes from."""
        return list(figures_in(self))

    def configurations(self) -> tuple[Configuration, ...]:
        """The configurations to run, in order."""
        if self.run.configurations is not None:
            return self.run.configurations
        return tuple(
            name
            for name in CONFIGURATIONS
            if (self.workers() or name.startswith("local"))
            and (self.run.interference or name.endswith("off"))
        )

    def to_json(self) -> dict[str, Any]:
        """The description with every default filled in; it is itself a valid description."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)

    def to_yaml(self, path: str | Path, comment: str = "") -> None:
        """Writes the description, without what was left out of it, as a file that reads back as the same."""
        write_yaml(Path(path), self.to_given(), comment)
