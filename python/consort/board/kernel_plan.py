# SPDX-License-Identifier: Apache-2.0
"""A plan on a board's scratchpad kernel: its refusals, its tasks' images, and the kernel's run.

Each core of the description is one of the board's application cores. Their instructions say nothing about
the processor that the description means, so each job is held on its core until its WCET is over: what is
tried is the kernel, with the executions that the bounds are for. The steps are the real ones, from images
that move.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from consort.analysis.figures import NotAnalysable
from consort.analysis.scratchpad import METHODS, ThreePhaseCore, core_of
from consort.base.errors import BadInput
from consort.base.waiting import Progress
from consort.board.boards import kernel_board, roles
from consort.board.executive import Request
from consort.board.generated import board_tables
from consort.board.kernel_image import kernel_row
from consort.board.messages import Messages, plan_messages
from consort.board.placement import Placement
from consort.board.programs import Programs
from consort.board.scratchpad import MOST_RECORDED, Given, KernelRun
from consort.board.task_image import TaskImage, image_of_text, make_image
from consort.model import BadDescription, StepReference, System
from consort.plan import Plan, PlannedTask, plan_of
from consort.plan.lacks import KERNEL, Places, lacking

# In runs of so long [ns] the emulated clock may be slower, as far as a slot keeps so many instructions: more
# time passes in an hour of the host's.
LONG, INSTRUCTIONS = 10 * 10**9, 100_000
# The last outputs of a task, so many, are kept; each rests on all before by the task's state.
KEPT = 16
# So many rows of a task's inputs find room; then it begins again, on the state that it has.
MOST_ROWS = 64


def placement(system: System, board: str) -> Placement:
    """A system's three-phase cores on a board's kernel; `BadInput` names those that it cannot run."""
    found = placed(system, board)
    # A system that cannot be analysed, and messages that cannot be, are refused before anything is built.
    plan_messages(system, three_phase_cores_of(found.plan), 0)
    return found


def placed(system: System, board: str) -> Placement:
    """The same, whether its execution times are known or not."""
    spec = kernel_board(board)
    made = plan_of(system)
    problems = list(_problems(made, roles(spec)[0].application_cores))
    if problems:
        raise BadDescription(problems)
    sides = dict.fromkeys(made.cores, roles(spec)[2].name)
    return Placement(_of_rows_alone(replace(made, target=spec.name)), spec, sides, kernel=system)


def _problems(made: Plan, most: int) -> Iterator[BadInput]:
    at = Places(made.file, made.mode)
    yield from lacking(made, KERNEL, at)
    cores = made.three_phase_cores
    if len(cores) > most:
        text = f"{len(cores)} cores with three-phase tasks; the board has {most}"
        yield at(("tasks",), text)


def _of_rows_alone(made: Plan) -> Plan:
    """The plan without channels: they are the I/O core's, and its messages are no part of the record."""

    def without(task: PlannedTask) -> PlannedTask:
        return replace(task, writes=(), reads=tuple(b for b in task.reads if b.source not in made.channels))

    return replace(made, channels={}, tasks={name: without(task) for name, task in made.tasks.items()})


def three_phase_cores_of(made: Plan) -> list[ThreePhaseCore]:
    """The cores in the order of their slots; `BadInput` where one cannot be analysed."""
    try:
        return [core_of(made, core) for core in made.three_phase_cores]
    except NotAnalysable as error:
        raise BadInput(str(error), file=made.file) from None


# --- images


@dataclass
class KernelPrograms(Programs):
    """The images of tasks, and this machine's program of the plan that knows their steps."""

    tasks: dict[str, TaskImage] = field(default_factory=dict)
    replay: Path = Path()


def build(where: Placement, replay: Path, described: Mapping[str, Any], progress: Progress) -> KernelPrograms:
    """The images of a placement's tasks. The kernel's own programs have the tables in them: `run_kernel`."""
    images = {}
    layouts = {known["name"]: known for known in described["tasks"]}
    with tempfile.TemporaryDirectory(prefix="consort-tasks-") as folder:
        subprocess.run([str(replay), "--parts", folder], check=True)
        # In the order in which the program has them.
        for number, (name, layout) in enumerate(layouts.items()):
            progress(f"building {name}", None)
            constants, state = (
                Path(folder, f"{number}.{part}").read_bytes() for part in ("constants", "state")
            )
            sizes = (layout["in"]["bytes"], layout["out"]["bytes"])
            images[name] = make_image(_instructions(where, name), constants, state, *sizes)
    return KernelPrograms(tasks=images, replay=replay)


def _instructions(where: Placement, name: str) -> bytes:
    step = where.plan.tasks[name].step
    assert isinstance(step, StepReference), "what has no step is refused before"
    return image_of_text(
        '#include "consort/spm/step.hpp"\n'
        f'#include "{where.plan.path(step.header).resolve()}"\n'
        'extern "C" __attribute__((section(".text.consort_entry")))\n'
        "void consort_entry(const consort::spm::Partition& parts) {\n"
        f"    consort::spm::ThreePhase<&::{step.function}>::run(parts);\n}}\n",
        spec=where.board,
    )


def kernel_rows(rows: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The input rows of a run. The first one stands behind the last, too: see `row_of`."""
    return {name: np.concatenate([of[:MOST_ROWS], of[:1]]) for name, of in rows.items()}


def row_of(jobs: NDArray[Any], rows: int) -> NDArray[Any]:
    """The input row of each job of those numbers, where there are so many rows beside the repeated one.

    Never again row 0, at which the steps in logical order would begin with a new state.
    """
    return np.where(jobs == 0, 0, (jobs - 1) % rows + 1)


# --- what the kernel is to do


@dataclass(frozen=True)
class KernelPlan:
    """A description as the board's kernel runs it."""

    system: System
    cores: list[ThreePhaseCore]
    # Nanoseconds; jobs are released until then.
    duration: int
    run: KernelRun
    # How many jobs of each task there must be.
    jobs: dict[str, int]
    messages: Messages | None = None

    @property
    def talking(self) -> frozenset[str]:
        """Tasks with messages, which the node at the other end of the line checks."""
        found = self.messages
        return frozenset() if found is None else frozenset(found.inputs.keys() | found.outputs.keys())


def kernel_plan(request: Request) -> KernelPlan:
    """Plans the kernel's run; `BadInput` names what it cannot do."""
    where, programs = request.where, request.programs
    assert isinstance(programs, KernelPrograms)
    made, spec, system = where.plan, where.board, where.kernel
    assert system is not None
    cores = three_phase_cores_of(made)
    duration = -(-request.duration_ps // 1000)
    messages = plan_messages(system, cores, duration)
    if messages is not None:
        _check_boxes(system, programs.tasks, messages)
    jobs = {name: task.releases_until(request.duration_ps) for name, task in made.tasks.items()}
    tasks = []
    for number, core in enumerate(cores):
        for planned in core.tasks:
            task = made.tasks[planned.name]
            rows = request.rows.get(task.name)
            tasks.append(
                Given(
                    name=task.name,
                    # All else is in the generated tables.
                    row=kernel_row(number, task.rank, period=task.period_ps // 1000),
                    image=programs.tasks[task.name],
                    inputs=[] if rows is None else [row.tobytes() for row in rows[:-1]],
                    outputs=max(1, min(jobs[task.name], KEPT)),
                    lasting=[planned.execution // 1000],
                )
            )
    run = KernelRun(
        tasks,
        [-(-core.share.slot // 1000) for core in cores],
        duration,
        arbitration=next(kind for kind, method in METHODS.items() if method == cores[0].method),
        devices=None if messages is None else messages.setup,
        recorded=MOST_RECORDED,
        tables=lambda images_at: board_tables(spec, system, programs.tasks, images_at),
        board=spec,
    )
    return KernelPlan(system, cores, duration, paced(run), jobs, messages)


def paced(run: KernelRun) -> KernelRun:
    """A long run with an emulated clock for the length of its slots."""
    if run.arbitration != "tdma" or run.until < LONG:
        return run
    slot = min(run.slots)
    shift = max(0, (slot // INSTRUCTIONS).bit_length() - 1)
    # While a job computes the other cores stand still until its core looks up, and a slot may begin so late.
    return replace(run, shift=shift, tick=slot // 8, tolerance=slot // 2) if shift else run


def _check_boxes(system: System, images: Mapping[str, TaskImage], messages: Messages) -> None:
    """`BadInput` where a step does not take the boxes of its channels."""
    for name, image in images.items():
        sizes = ((messages.inputs, image.inputs, "In"), (messages.outputs, image.outputs, "Out"))
        for boxes, size, what in sizes:
            if boxes.get(name, size) != size:
                raise BadInput(
                    f"the step's {what} has {size} bytes, the messages of its channels take {boxes[name]};"
                    " make it consort::spm::Messages<capacity, bytes> with the sum of their capacities and"
                    " the longest of their sizes",
                    file=system.file,
                    field=f"tasks.{name}.step",
                )
