# SPDX-License-Identifier: Apache-2.0
"""A plan on a board's scratchpad kernel: its refusals, its tasks' images, and the kernel's run.

Each core of the description is one of the board's application cores. Their instructions say nothing about
the processor that the description means, so each job is held on its core until its WCET is over: what is
tried is the kernel, with the executions that the bounds are for. The steps are the real ones, from images
that move.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from consort.analysis.figures import NotAnalysable
from consort.analysis.three_phase import METHODS, ThreePhaseCore, core_of
from consort.base.children import finished
from consort.base.errors import BadInput
from consort.base.owned import temporary_folder
from consort.base.waiting import Progress
from consort.board.boards import kernel_board, roles
from consort.board.executive import Request
from consort.board.generate.tables import board_tables
from consort.board.messages import Messages, plan_messages
from consort.board.placement import Placement
from consort.board.programs import Programs
from consort.board.scratchpad import MOST_RECORDED, Given, KernelResult, KernelRun
from consort.board.task_image import TaskImage, image_of_text, kernel_row, make_image
from consort.model import BadDescription, StepReference, System
from consort.plan import Plan, PlannedTask, plan_of
from consort.plan.lacks import KERNEL, Places, lacking
from consort.record.ran import SLICES
from consort.simulate.build import prepare as prepare_simulation
from consort.simulate.engine import simulate

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
    """The plan without channels: they are the I/O core's, and its messages are not part of the record."""

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
    with temporary_folder("tasks") as folder:
        finished([replay, "--parts", folder], check=True)
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
        f'#include "{where.plan.path(step.file).resolve()}"\n'
        'extern "C" __attribute__((section(".text.consort_entry")))\n'
        "void consort_entry(const consort::spm::Partition& parts) {\n"
        f"    consort::spm::ThreePhase<&::{step.name}>::run(parts);\n}}\n",
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


Events = list[tuple[str, int, int, int]]  # what, core, task, job
# Events of every job.
ORDINARY = ("release", "load_begin", "load_end", "unload_begin", "unload_end")


def compared_until(planned: KernelPlan, result: KernelResult) -> int | None:
    """Until when every event and every job is recorded [ns]; None: to the end."""
    if planned.run.recorded is None or sum(planned.jobs.values()) <= planned.run.recorded:
        return None
    # Behind the last recorded end some jobs are under way that have no record.
    known = {(int(j["core"]), int(j["task"]), int(j["job"])) for j in result.jobs}
    loads = result.of_kind("load_begin")
    unknown = [int(e["at"]) for e in loads if (int(e["core"]), int(e["task"]), int(e["job"])) not in known]
    last = min([*unknown, int(result.events["at"][-1])])
    return last // 10**6 * 10**6


def board_events(
    result: KernelResult, until: int | None = None, slots: Sequence[int] = ()
) -> tuple[Events, dict[int, Events]]:
    """Events of the I/O core in its order, and those that each core saw: its transfers and its executions.

    With `slots` a transfer begins and ends with its slot: what the I/O core decides is of that instant,
    however long after it the core looked.
    """
    ends = np.cumsum([0, *slots])

    def slot_begin(at: int) -> int:
        cycle = int(ends[-1])
        return at // cycle * cycle + int(ends[ends <= at % cycle][-1]) if cycle else at

    kernel: list[tuple[int, int, str, int, int, int]] = []
    for n, e in enumerate(result.events):
        if result.kinds[e["kind"]] in ORDINARY[1:]:
            at = slot_begin(int(e["at"]))
            kernel.append((at, n, result.kinds[e["kind"]], int(e["core"]), int(e["task"]), int(e["job"])))
    jobs = result.jobs
    order = len(result.events)
    cores = {}
    for core in sorted({k[3] for k in kernel}):
        mine = [k for k in kernel if k[3] == core]
        for j in jobs[jobs["core"] == core]:
            who = (core, int(j["task"]), int(j["job"]))
            mine += [(int(j["start"]), order, "start", *who), (int(j["finish"]), -1, "finish", *who)]
        cores[core] = [k[2:] for k in sorted(mine) if until is None or k[0] < until]
    return [k[2:] for k in kernel if until is None or k[0] < until], cores


def slots_of(planned: KernelPlan) -> Sequence[int]:
    """Slots with which transfers begin and end; none without TDMA."""
    return planned.run.slots if planned.run.arbitration == "tdma" else ()


def simulated_events(planned: KernelPlan, until: int | None = None) -> tuple[Events, dict[int, Events]]:
    """The same of the simulator, with every execution as long as its WCET; jobs released until then [ns]."""
    prepared = prepare_simulation(planned.system)
    duration = planned.duration if until is None else min(until, planned.duration)
    found = simulate(prepared, duration * 1000, choice="worst", trace=True)
    assert found.slices is not None
    place = {t.name: (c, n) for c, core in enumerate(planned.cores) for n, t in enumerate(core.tasks)}
    # At one instant: what ends comes before what begins, and a core begins once the DMA has been given on.
    rank = {"finish": 0, "load_end": 1, "unload_end": 1, "load_begin": 2, "unload_begin": 2, "start": 3}
    rows: list[tuple[int, int, str, int, int, int]] = []
    executed: dict[tuple[int, int, int], tuple[int, int]] = {}
    for s in found.slices:
        core, task = place[prepared.tasks[s["task"]]]
        who = (core, task, int(s["seq"]))
        doing, begin, end = SLICES[s["doing"]], int(s["begin"]), int(s["end"])
        if doing in ("load", "unload"):
            rows.append((begin, rank[f"{doing}_begin"], f"{doing}_begin", *who))
            rows.append((end, rank[f"{doing}_end"], f"{doing}_end", *who))
        else:
            # Context switches belong to the execution, as in its bound.
            before = executed.get(who, (begin, end))
            executed[who] = (min(before[0], begin), max(before[1], end))
    kernel = sorted(rows)
    for who, (begin, end) in executed.items():
        rows += [(begin, rank["start"], "start", *who), (end, rank["finish"], "finish", *who)]
    cores = {c: [r[2:] for r in sorted(rows) if r[3] == c] for c in sorted({r[3] for r in rows})}
    return [k[2:] for k in kernel], cores


def first_difference(planned: KernelPlan, result: KernelResult, until: int | None) -> str | None:
    """The first difference between the board's order of events and the simulator's; None: there is none.
    `until`: `compared_until`."""
    theirs, ours = board_events(result, until, slots_of(planned)), simulated_events(planned, until)
    sequences = [("the I/O core", theirs[0], ours[0])]
    sequences += [
        (planned.cores[c].core, theirs[1].get(c, []), ours[1].get(c, []))
        for c in sorted(ours[1].keys() | theirs[1].keys())
    ]
    for where, board, simulated in sequences:
        # In a run that is not recorded to its end, the simulation goes on behind the last event.
        for n in range(len(board) if until is not None else max(len(board), len(simulated))):
            pair = [
                _said(planned, events[n]) if n < len(events) else "nothing" for events in (board, simulated)
            ]
            if pair[0] != pair[1]:
                return f"{where}: event {n} is '{pair[0]}' on the board and '{pair[1]}' in the simulation"
    return None


def _said(planned: KernelPlan, event: tuple[str, int, int, int]) -> str:
    what, core, task, job = event
    name = planned.cores[core].tasks[task].name
    return f"{what.replace('_', ' ')} of {name}, job {job}"
