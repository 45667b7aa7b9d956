# SPDX-License-Identifier: Apache-2.0
"""Runs the steps of a description one after another, alone and under interference, through `consort.run`.

A step is run where it is placed, as a local task, with the inputs that it has in the system: for what it
reads from other tasks these run, too, and where they are executed in the middle of a job, that job is
left out.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from consort.base.environment import usable_cpus
from consort.base.errors import BadInput
from consort.base.owned import temporary_folder
from consort.base.waiting import Progress
from consort.model import System
from consort.model.channel import STAND_IN
from consort.model.task import AUTO
from consort.plan import Plan, PlannedChannel, plan
from consort.record import Run, RunWriter
from consort.record.store import default_root
from consort.record.writer import run_name
from consort.run import Options, Prepared, prepare
from consort.run.flow import record_configuration
from consort.run.options import place
from consort.run.profile.figures import Condition, Observation, observe, series

# The shortest time between two releases: times are stretched to it, so that a core rests between jobs.
LEAST_PERIOD_PS = 100_000_000
# Each run is repeated: what the machine did to one of them differs from the other.
REPETITIONS = 2
_CONDITIONS: dict[Condition, str] = {"alone": "off", "interference": "on"}


@dataclass(frozen=True)
class Settings:
    """Settings of a profile: the tasks (all that have a step), and the time of each in each condition."""

    tasks: Sequence[str] = ()
    interference: bool = True
    duration_ps: int = 2_000_000_000_000
    realtime: bool = True
    root: Path | None = None
    command: list[str] | None = None


def profile_system(system: System, settings: Settings, progress: Progress) -> tuple[list[Observation], Run]:
    """Runs every step and returns what was seen, and the recorded run with every sample.

    `BadInput`: a task has no step, the plan is refused, or the description's processors are none of this
    machine.
    """
    options = Options(realtime=settings.realtime, root=settings.root)
    names = _chosen(system, settings)
    # Where execution times are yet to be measured, no jitter follows from them.
    auto = [name for name, task in system.tasks.items() if task.jitter == AUTO]
    system = system.changed({name: {"jitter": "0ns"} for name in auto}) if auto else system
    prepared = prepare(system, progress, options)
    _refuse_foreign(prepared.plan, names)
    name = f"{run_name(system.file)[:56]}-profile"
    seen = []
    # No report: `consort report` writes it where somebody wants to look at the samples.
    with RunWriter(
        name, "application", settings.root, command=settings.command, source=system.file.parent
    ) as writer:
        writer.add_description(system.file)
        root = settings.root if settings.root is not None else default_root()
        conditions = [c for c in _CONDITIONS if c == "alone" or _interferes(system, settings)]
        for task in names:
            for core in _places(prepared.plan, task):
                alone = _alone(prepared.system, prepared.plan, task, core)
                for condition in conditions:
                    seen.append(
                        _observed(
                            replace(prepared, plan=alone),
                            task,
                            core,
                            condition,
                            settings,
                            writer,
                            progress,
                            root,
                        )
                    )
        run = writer.finish()
    return seen, run


def _interferes(system: System, settings: Settings) -> bool:
    return settings.interference and bool(system.run.interference)


def _chosen(system: System, settings: Settings) -> list[str]:
    from consort.base.errors import nearest

    for name in settings.tasks:
        if name not in system.tasks:
            hint = nearest(name, system.tasks, "tasks")
            raise BadInput(f"there is no task {name!r}; {hint}", file=system.file, field="tasks")
        if system.tasks[name].step in (None, STAND_IN):
            raise BadInput("the task has no step to profile", file=system.file, field=f"tasks.{name}")
    return list(settings.tasks) or [n for n, t in system.tasks.items() if t.step not in (None, STAND_IN)]


def _refuse_foreign(made: Plan, tasks: Sequence[str]) -> None:
    platform = made.platform
    for task in tasks:
        for core in _places(made, task):
            if platform.core(core).description.cpu is None:
                raise BadInput(
                    f"{task!r} is placed on {core!r}, a core of {platform.name}: this machine's times are"
                    f" not its"
                    " times; profile on the platform itself, or a description of this machine"
                    " (linux-host, or what"
                    " `consort probe` wrote)",
                    file=made.file,
                    field="platform",
                )


def _places(made: Plan, task: str) -> list[str]:
    """The cores that compute a task: its own, and its master where that falls back."""
    planned = made.tasks[task]
    cores = [planned.computed_on]
    if planned.worker is not None and planned.on_miss == "local-fallback":
        cores.append(planned.core)
    return cores


def _alone(system: System, made: Plan, task: str, core: str) -> Plan:
    """The plan of one task, local on a core, with the tasks that its inputs come from and nothing else.

    Each core is on the CPU that plays it when the whole system runs.
    """
    changes: dict[str, dict[str, Any]] = {
        name: {"execution": "local", "on": planned.core}
        for name, planned in made.tasks.items()
        if planned.worker is not None
    }
    if made.tasks[task].worker is not None:
        changes[task] = {"execution": "local", "on": core, "master": core}
    local = plan(system.changed(changes), "linux", mode=None)
    needed = set(sources_of(local, task))
    tasks = {name: planned for name, planned in local.tasks.items() if name in needed}
    cpus = place(made, made.cores, share=True).cpus if len(made.cores) <= len(usable_cpus()) else {}
    cores = {
        name: replace(
            planned, tasks=tuple(t for t in planned.tasks if t in tasks), serves=(), cpu=cpus.get(name)
        )
        for name, planned in local.cores.items()
        if planned.slot is not None or any(one.core == name for one in tasks.values())
    }
    return replace(
        local,
        tasks=tasks,
        cores=cores,
        channels={
            name: _between(channel, tasks)
            for name, channel in local.channels.items()
            if channel.writer in tasks or needed & {*channel.readers}
        },
        chains={},
    )


def _between(channel: PlannedChannel, tasks: Collection[str]) -> PlannedChannel:
    """A channel without the readers that rest."""
    ends = zip(channel.readers, channel.reader_cores, strict=True)
    kept = [(reader, core) for reader, core in ends if reader in tasks]
    return replace(
        channel, readers=tuple(reader for reader, _ in kept), reader_cores=tuple(core for _, core in kept)
    )


def sources_of(made: Plan, task: str) -> list[str]:
    """A task and all tasks that write what it reads, what these read, and so on."""
    found = [task]
    for name in found:
        for binding in made.tasks[name].reads:
            channel = made.channels.get(binding.source)
            device = made.devices.get(binding.source)
            writers = [channel.writer] if channel is not None else []
            if device is not None and device.kind == "plant":
                writers = list(device.writers)
            found += [w for w in writers if w in made.tasks and w not in found]
    return found


def _observed(
    prepared: Prepared,
    task: str,
    core: str,
    condition: Condition,
    settings: Settings,
    writer: RunWriter,
    progress: Progress,
    root: Path,
) -> Observation:
    made = prepared.plan
    shortest = min(planned.period_ps for planned in made.tasks.values())
    options = Options(
        duration_ps=settings.duration_ps // REPETITIONS,
        time_scale=max(1, -(-LEAST_PERIOD_PS // shortest)),
        realtime=settings.realtime,
        root=settings.root,
    )
    words = "alone" if condition == "alone" else "under interference"
    repetitions = []
    for number in range(1, REPETITIONS + 1):
        with temporary_folder("profile", root) as folder:
            parts = record_configuration(
                prepared,
                "local-off" if condition == "alone" else "local-on",
                options,
                writer,
                progress,
                entry=f"{task}-{core}-{condition}-{number}",
                title=f"{task} on {core}, {words}, {number} of {REPETITIONS}",
                scratch=Path(folder),
            )
            mine = next(p for p in parts if p.raw.ran is not None and task in p.raw.ran.plan.tasks)
            repetitions.append(
                series(
                    mine.raw,
                    task,
                    row_classes=_classes(prepared, task),
                    counts_inputs=_recorded(made, task),
                )
            )
    return observe(task, condition, repetitions)


def _classes(prepared: Prepared, task: str) -> NDArray[np.int64] | None:
    """A number for each row of a task's recorded inputs, which equal rows share."""
    tables = [
        rows
        for rows in (prepared.rows.get(task), *prepared.members.get(task, {}).values())
        if rows is not None
    ]
    if not tables:
        return None
    size = max(len(rows) for rows in tables)
    columns = []
    for rows in tables:
        plain = np.frombuffer(rows.tobytes(), dtype=np.dtype((np.void, rows.dtype.itemsize)))
        classes = np.unique(plain, return_inverse=True)[1].astype(np.int64)
        columns.append(np.resize(classes, size))
    found: NDArray[np.int64] = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)[1]
    return found.reshape(-1)


def _recorded(made: Plan, task: str) -> bool:
    devices = (made.devices.get(binding.source) for binding in made.tasks[task].reads)
    return all(device is None or device.kind not in ("plant", "driver") for device in devices)
