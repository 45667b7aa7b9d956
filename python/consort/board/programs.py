# SPDX-License-Identifier: Apache-2.0
"""The programs of a plan's cores on a board: of those that release tasks, and of workers."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from consort.board import rtlinux
from consort.board.image import build_image
from consort.board.placement import POLICIES, Placement
from consort.board.process import PROCESSES, build_process
from consort.model import StepReference
from consort.plan import PlannedTask
from consort.progress import Progress
from consort.render import Templates
from consort.run.source import identifier

# The numbers that a core's control block has, in this order: its program has the same enumerations.
CORE_VALUES = ("region", "region_bytes", "lines", "cores", "number", "until", "lead", "policy", "untimed")
TASK_VALUES = ("period", "offset", "deadline", "give_up", "on_miss", "rank", "number", "rows", "rows_at",
               "ring", "ring_bytes")  # fmt: skip
# The number of a miss policy is its place.
ON_MISS = ("hold-last-output", "local-fallback", "stop")
# The longest name of a region's object, without what its channels add to it.
OBJECT_NAME = 28

IDLE = (
    '#include "consort/bare/program.hpp"\n'
    "int consort_program(consort::bare::ControlBlock&) noexcept { return 0; }\n"
)
TEMPLATES = Templates("consort.board")


@dataclass
class Programs:
    """What was built: images by the board's core, commands by control block, the program of its Linux."""

    images: dict[str, Path] = field(default_factory=dict)
    commands: dict[int, list[str]] = field(default_factory=dict)
    linux: Path | None = None


def program_source(where: Placement, core: str) -> str:
    """The program of one of the plan's cores."""
    plan = where.plan
    names = plan.cores[core].tasks or plan.cores[core].serves
    tasks = [_task(where, plan.tasks[name]) for name in names]
    values: dict[str, Any] = {"file": plan.system.file.name, "core": core, "core_values": CORE_VALUES}
    if not plan.cores[core].tasks:
        return TEMPLATES.render(
            "worker.cpp.j2", **values, tasks=tasks, headers=_headers(tasks), worker=_worker(where, core)
        )
    # The first core that releases tasks makes the region, and knows the types of all that lies in it.
    maker = core == where.masters[0]
    offloaded = [
        _task(where, task)
        for task in plan.tasks.values()
        if task.worker is not None and (maker or task.core == core)
    ]
    commanded = dict.fromkeys(task.worker for task in map(plan.tasks.__getitem__, names) if task.worker)
    return TEMPLATES.render(
        "releasing_core.cpp.j2",
        **values,
        task_values=TASK_VALUES,
        policies=list(POLICIES.values()),
        on_miss=[name.replace("-", "_") for name in ON_MISS],
        maker=maker,
        headers=_headers([*tasks, *offloaded]),
        tasks=tasks,
        offloaded=offloaded,
        workers=[_worker(where, worker) for worker in commanded],
        all_workers=[_worker(where, worker) for worker in plan.workers],
    )


def _headers(tasks: list[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(task["header"] for task in tasks))


def _task(where: Placement, task: PlannedTask) -> dict[str, Any]:
    plan = where.plan
    assert isinstance(task.step, StepReference), "what has no step is refused before"
    number = list(plan.tasks).index(task.name)
    return {
        "name": identifier(task.name),
        "type": f"Step_{identifier(task.name)}",
        "step": task.step.function,
        "header": str(plan.system.path(task.step.header).resolve()),
        "object": f"{number}:{task.name}"[:OBJECT_NAME],
        "worker": None if task.worker is None else list(plan.cores).index(task.worker),
    }


def _worker(where: Placement, name: str) -> dict[str, Any]:
    cores = list(where.plan.cores)
    masters = {where.plan.tasks[task].core for task in where.plan.cores[name].serves}
    return {
        "name": name,
        "number": cores.index(name),
        "object": f"{cores.index(name)}:{name}"[:OBJECT_NAME],
        # A bit for the number of each.
        "masters": sum(1 << cores.index(master) for master in masters),
    }


def build(where: Placement, progress: Progress) -> Programs:
    """Builds the program of each of the plan's cores, and idle images for others that start at once."""
    made = Programs()
    with tempfile.TemporaryDirectory(prefix="consort-board-") as folder:
        source = Path(folder) / "application.cpp"
        for name in (*where.masters, *where.workers):
            progress(f"building for {where.sides[name]}", None)
            source.write_text(program_source(where, name), encoding="utf-8")
            if name in where.bare:
                made.images[where.sides[name]] = build_image(where.bare[name], source)
            elif name == where.linux_core:
                made.linux = rtlinux.program(where.board, source, "-DCONSORT_BARE_ACCESS=Device")
            else:
                made.commands[where.places[name]] = build_process(PROCESSES[where.sides[name]], source)
        idle = Path(folder) / "idle.cpp"
        idle.write_text(IDLE, encoding="utf-8")
        linux = where.board.linux.core if made.linux is not None and where.board.linux is not None else None
        for core in where.board.cores:
            if core.starts and core.name not in made.images and core.name != linux:
                made.images[core.name] = build_image(core, idle)
    return made
