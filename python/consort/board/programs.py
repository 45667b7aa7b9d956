# SPDX-License-Identifier: Apache-2.0
"""The programs of a plan's cores on a board: of those that release tasks, and of workers."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from consort.base.owned import temporary_folder
from consort.base.toolchain.builds import Templates
from consort.base.toolchain.compiler import PROCESSES
from consort.base.waiting import Progress
from consort.board import records, rtlinux
from consort.board.data_flow import THREE_PHASE, DataFlow, object_name
from consort.board.image import build_image, build_process, call_graph_of
from consort.board.placement import Placement
from consort.board.refusals import LOOK_NS, computed_on, look_ns, time_on
from consort.board.stack import StackBound, stack_bound
from consort.model import StepReference
from consort.model.channel import STAND_IN
from consort.plan import PlannedTask
from consort.run.source import identifier, task_type

# The numbers that a core's control block has, in this order: its program has the same enumerations. Behind
# them come those of its plants and recordings (data_flow.py).
CORE_VALUES = ("region", "region_bytes", "lines", "cores", "number", "masters", "clocks", "until", "lead",
               "plan", "untimed")  # fmt: skip
TASK_VALUES = ("number", "rows", "rows_at", "ring", "ring_bytes")

IDLE = (
    '#include "consort/bare/program.hpp"\n'
    "int consort_program(consort::bare::ControlBlock&) noexcept { return 0; }\n"
)
# The step of a task that has none, and its header.
STAND_IN_STEP, STAND_IN_HEADER = "consort::bare::stand_in_step", "consort/bare/stand_in.hpp"
# On the board's core that keeps processes in its time, where the plan has nothing for it.
SYNCHRONIZER = "synchronizer.cpp.j2"
TEMPLATES = Templates("consort.board")


@dataclass
class Programs:
    """The built programs: images by the board's core, commands by control block, the program of its Linux;
    and the stack bound of each of the plan's bare-metal cores."""

    images: dict[str, Path] = field(default_factory=dict)
    commands: dict[int, list[str]] = field(default_factory=dict)
    linux: Path | None = None
    stacks: dict[str, StackBound] = field(default_factory=dict)


def program_source(where: Placement, core: str, layout: int | None = None) -> str:
    """The program of one of the plan's cores."""
    plan = where.plan
    tasks = [plan.tasks[name] for name in plan.cores[core].tasks or plan.cores[core].serves]
    values: dict[str, Any] = {"file": plan.file.name, "core": core, "core_values": CORE_VALUES}
    if not plan.cores[core].tasks:
        return TEMPLATES.render(
            "worker.cpp.j2",
            **values,
            tasks=[_task(where, task, core) for task in tasks],
            headers=_headers(where, tasks),
            worker=_worker(where, core),
            stand_ins=any(task.step == STAND_IN for task in tasks),
            synchronizer=_synchronizes(where, core),
            # True if a stand-in hands the processor to other cores while it executes, which processes need.
            turns=where.synchronized,
        )
    # The first core that releases tasks makes the region, and knows the types of all that lies in it.
    maker = core == where.masters[0]
    offloaded = [
        task for task in plan.tasks.values() if task.worker is not None and (maker or task.core == core)
    ]
    flow = DataFlow(plan, core)
    channels = plan.carried if maker else flow.channels
    typed = list(
        dict.fromkeys(
            [
                *(task.name for task in (*tasks, *offloaded)),
                # A device's blocks are of no task's type.
                *(channel.writer for channel in channels if channel.writer in plan.tasks),
            ]
        )
    )
    of_types = [plan.tasks[name] for name in typed]
    return TEMPLATES.render(
        "releasing_core.cpp.j2",
        **values,
        layout=layout,
        task_values=TASK_VALUES,
        masters=len(where.masters) + (where.device_place is not None),
        maker=maker,
        headers=list(dict.fromkeys([*_headers(where, of_types), *flow.headers()])),
        types=[_task(where, task, core) for task in of_types],
        tasks=[{**_task(where, task), **flow.ends(task)} for task in tasks],
        offloaded=[_task(where, task) for task in offloaded],
        channels=[flow.channel(channel) for channel in channels],
        used=[flow.channel(channel) for channel in flow.channels],
        plants=[flow.plant(device) for device in flow.plants],
        workers=[
            _worker(where, name) for name in dict.fromkeys(task.worker for task in tasks if task.worker)
        ],
        all_workers=[_worker(where, worker) for worker in plan.workers],
        stand_ins=bool(flow.stand_ins),
        releases=flow.releases,
        jobs=flow.jobs,
        three_phase=plan.cores[core].policy == THREE_PHASE,
        sleeps=bool(_sleepers(where, core)),
        synchronizer=_synchronizes(where, core),
        turns=where.synchronized,
    )


def devices_source(where: Placement) -> str:
    """The program of the process that plays devices."""
    flow = DataFlow(where.plan, where.masters[0])
    return TEMPLATES.render(
        "devices.cpp.j2",
        file=where.plan.file.name,
        core_values=CORE_VALUES,
        channels=[
            {**flow.channel(channel), "logical": str(channel.communication == "let").lower()}
            for channel in records.written(where.plan)
        ],
    )


def _headers(where: Placement, tasks: list[PlannedTask]) -> list[str]:
    return list(
        dict.fromkeys(
            str(where.plan.path(task.step.file).resolve())
            if isinstance(task.step, StepReference)
            else STAND_IN_HEADER
            for task in tasks
        )
    )


def _sleepers(where: Placement, core: str) -> list[str]:
    """The tasks whose jobs leave it while they are at a worker."""
    plan = where.plan
    if plan.cores[core].wait != "sleep":
        return []
    return [task for task in plan.cores[core].tasks if plan.tasks[task].worker is not None]


def _synchronizes(where: Placement, core: str) -> bool:
    """True if the core stops the board for processes in its time."""
    return where.synchronizer is not None and where.sides[core] == where.synchronizer.name


def _task(where: Placement, task: PlannedTask, core: str | None = None) -> dict[str, Any]:
    """A task as a template has it; `core`: whose program it is, where the step's type matters."""
    plan = where.plan
    takes = None
    # A stand-in's input says how long it executes.
    if core is not None and core in where.beside and where.synchronized and task.step != STAND_IN:
        takes = time_on(task, core) if task in computed_on(plan, core) else None
    return {
        "name": identifier(task.name),
        "type": task_type(task),
        "step": f"::{task.step.name}" if isinstance(task.step, StepReference) else STAND_IN_STEP,
        # Declared, of a process in the board's time [ns].
        "takes": None if takes is None else -(-takes // 1000),
        "object": object_name("t", list(plan.tasks).index(task.name), task.name),
        "number": list(plan.tasks).index(task.name),
        # The moved sizes of a three-phase task, as described.
        "code": (task.footprint and task.footprint.code) or 0,
        "data": (task.footprint and task.footprint.data) or 0,
        "worker": None if task.worker is None else list(plan.cores).index(task.worker),
    }


def _worker(where: Placement, name: str) -> dict[str, Any]:
    cores = list(where.plan.cores)
    masters = {where.plan.tasks[task].core for task in where.plan.cores[name].serves}
    return {
        "name": name,
        "number": cores.index(name),
        "object": object_name("w", cores.index(name), name),
        # A bit for the number of each.
        "masters": sum(1 << cores.index(master) for master in masters),
    }


def build(where: Placement, progress: Progress, layout: int | None = None) -> Programs:
    """Builds the program of each of the plan's cores, and idle images for others that start at once.

    `layout`: the fingerprint of the plan images that are written for them, which each must have, too. None:
    no image is written.
    """
    made, plan = Programs(), where.plan
    with temporary_folder("board") as folder:
        source = Path(folder) / "application.cpp"
        for name in (*where.masters, *where.workers):
            progress(f"building for {where.sides[name]}", None)
            source.write_text(program_source(where, name, layout), encoding="utf-8")
            if name in where.bare:
                core = where.bare[name]
                image = made.images[where.sides[name]] = build_image(core, source, calls=True)
                made.stacks[name] = stack_bound(
                    plan, name, core, call_graph_of(image), synchronizer=_synchronizes(where, name)
                )
            elif name == where.linux_core:
                made.linux = rtlinux.program(where.board, source, "-DCONSORT_BARE_ACCESS=Device")
            else:
                look = [f"-DCONSORT_LOOK_NS={look_ns(plan, name)[0]}"] if where.synchronized else []
                made.commands[where.places[name]] = build_process(PROCESSES[where.sides[name]], source, *look)
        if where.device_place is not None:
            source.write_text(devices_source(where), encoding="utf-8")
            look = [f"-DCONSORT_LOOK_NS={LOOK_NS}"]
            made.commands[where.device_place] = build_process(PROCESSES[records.KIND], source, *look)
        idle = Path(folder) / "idle.cpp"
        idle.write_text(IDLE, encoding="utf-8")
        synchronizer = where.synchronizer
        if synchronizer is not None and synchronizer.name not in made.images:
            source.write_text(TEMPLATES.render(SYNCHRONIZER), encoding="utf-8")
            made.images[synchronizer.name] = build_image(synchronizer, source)
        linux = where.board.linux.core if made.linux is not None and where.board.linux is not None else None
        for other in where.board.with_images(made.images):
            if other.name not in made.images and other.name != linux:
                made.images[other.name] = build_image(other, idle)
    return made
