# SPDX-License-Identifier: Apache-2.0
"""The executive on a board: from a plan to orders and a record.

The plan's numbers are in each core's control block, so that another period or deadline compiles nothing. Each
task records into a ring of its own in the window, which is read at the end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from consort.base.errors import BadInput, SystemFails
from consort.base.waiting import STANDSTILL_S, Progress, silent
from consort.board import records, rtlinux, stack
from consort.board.control_block import ARGUMENTS, MORE_ARGUMENTS, RESULTS, check_undisturbed
from consort.board.data_flow import (
    ALIGNMENT,
    THREE_PHASE,
    Window,
    WindowIsFull,
    extra_numbers,
    region_bytes,
    up,
)
from consort.board.placement import Placement
from consort.board.programs import CORE_VALUES, TASK_VALUES, Programs
from consort.board.records import Recorded, by_the_workers_clock, in_nanoseconds, read_ring
from consort.board.session import Board
from consort.model.channel import STAND_IN
from consort.plan import PlannedTask
from consort.record.sections import numbered
from consort.run.collect import output_dtype
from consort.run.plan_image import Clock, board_image

# From a core's start to its first release [ns].
LEAD_NS = 1_000_000
# A core's result: how much of its stack was used (consort/bare/stack.hpp).
STACK_RESULT = RESULTS - 1


@dataclass(frozen=True)
class Layout:
    """The layout of a run: orders by control block, the window's content, and each task's ring and its
    length."""

    orders: dict[int, tuple[int, list[int]]]
    contents: dict[int, bytes]
    rings: dict[str, tuple[int, int]]
    # The ring of the process that plays devices.
    device_ring: tuple[int, int] | None = None


@dataclass(frozen=True)
class Request:
    """A run's inputs: `duration_ps` counts from the first release; `begin` is the record's reading there
    [ns]."""

    where: Placement
    programs: Programs
    described: Mapping[str, Any]
    rows: Mapping[str, NDArray[Any]]
    # By task, of members that a recording or a function fills.
    members: Mapping[str, Mapping[str, NDArray[Any]]]
    duration_ps: int
    counted: bool
    begin: int
    # Counted: an instruction takes 2 to this nanoseconds.
    shift: int = 0
    # The seed of the stand-ins' execution times.
    seed: int = 0


def layout(request: Request) -> Layout:
    """The memory layout; `BadInput` names the number of iterations that fit if these do not."""
    try:
        return _layout(request)
    except WindowIsFull:
        plan = request.where.plan
        period = next(iter(plan.tasks.values())).period_ps
        fits, too_many = 0, -(-request.duration_ps // period)
        jobs = too_many
        while too_many - fits > 1:
            middle = (fits + too_many) // 2
            try:
                _layout(request, middle * period)
                fits = middle
            except WindowIsFull:
                too_many = middle
        raise BadInput(
            f"inputs and record of {jobs} jobs do not fit into the board's window; give up to --iterations"
            f" {fits}",
            file=plan.file,
            field="run.iterations",
        ) from None


def _layout(request: Request, duration_ps: int | None = None) -> Layout:
    where, plan = request.where, request.where.plan
    duration = request.duration_ps if duration_ps is None else duration_ps
    window = Window(where.board.window_bytes)
    of_region = region_bytes(plan, request.described)
    shared = {
        "region": window.reserve(of_region),
        "region_bytes": of_region,
        "lines": window.reserve((len(plan.cores) + 1) * ALIGNMENT),
        "cores": len(plan.cores),
        "clocks": window.reserve((len(plan.cores) + 1) * records.CLOCK_BYTES),
        # Cores in one time set their clocks, and begin together.
        "masters": sum(1 << number for number in _in_time(where)) if request.counted else 0,
        "untimed": int(not request.counted),
    }
    orders: dict[int, tuple[int, list[int]]] = {c.place: (0, []) for c in where.board.cores if c.starts}
    rings: dict[str, tuple[int, int]] = {}
    for name, planned in plan.cores.items():
        numbers = {**dict.fromkeys(CORE_VALUES, 0), **shared, "number": list(plan.cores).index(name)}
        values: list[int] = []
        if planned.tasks:
            core = where.played[name]
            numbers["until"] = -(-duration * core.hertz // 10**12)
            numbers["lead"] = LEAD_NS * core.hertz // 10**9 if request.counted else 0
            clock = Clock(name, core.title, core.hertz, untimed=not request.counted)
            image = board_image(plan, request.described["plan"], duration, clock)
            numbers["plan"] = window.put(image)
            for task in (plan.tasks[t] for t in planned.tasks):
                of_task = _task_values(request, task, duration, window)
                rings[task.name] = (of_task["ring"], of_task["ring_bytes"])
                values += [of_task[key] for key in TASK_VALUES]
            values += extra_numbers(request, name, duration, window)
        values = [*(numbers[key] for key in CORE_VALUES), *values]
        words = _words(values)
        if len(words) > ARGUMENTS + MORE_ARGUMENTS:
            extras = len(values) - len(CORE_VALUES) - len(planned.tasks) * len(TASK_VALUES)
            most = ((ARGUMENTS + MORE_ARGUMENTS) // 2 - len(CORE_VALUES) - extras) // len(TASK_VALUES)
            raise BadInput(
                f"{len(planned.tasks)} tasks are released on {name!r}; a board's core has room for {most}",
                file=plan.file,
                field=f"tasks.{planned.tasks[-1]}.on",
            )
        orders[where.places[name]] = (1, words)
    device_ring = None
    if where.device_place is not None:
        capacity = records.ring_capacity(plan, duration, request.described["record"])
        device_ring = (window.reserve(request.described["record"]["ring"]["bytes"] + capacity), capacity)
        numbers = {**dict.fromkeys(CORE_VALUES, 0), **shared, "number": len(plan.cores)}
        numbers |= {"until": duration // 1000, "lead": LEAD_NS}
        values = [*(numbers[key] for key in CORE_VALUES), *device_ring, *records.periods_ns(plan)]
        orders[where.device_place] = (1, _words(values))
    if where.synchronizer is not None:
        orders[where.synchronizer.place] = (1, orders[where.synchronizer.place][1])
    return Layout(orders, window.contents, rings, device_ring)


def _words(values: list[int]) -> list[int]:
    return [word for value in values for word in (value & 0xFFFFFFFF, value >> 32)]


def _in_time(where: Placement) -> list[int]:
    """Participants that set the clock: numbers of the plan's cores that release tasks, then the devices'."""
    found = [number for number, core in enumerate(where.plan.cores.values()) if core.tasks]
    return found if where.device_place is None else [*found, len(where.plan.cores)]


def _task_values(request: Request, task: PlannedTask, duration_ps: int, window: Window) -> dict[str, int]:
    plan, record = request.where.plan, request.described["record"]
    out = 0
    if task.step != STAND_IN:
        out = next(
            known["out"]["bytes"] for known in request.described["tasks"] if known["name"] == task.name
        )
    jobs = task.releases_until(duration_ps)
    head = record["head"]["bytes"]
    each = head + record["job"]["bytes"] + (head + 8 + up(out, 8) if out else 0)
    # Each read and write of a channel, and what may be wrong with it.
    channels = sum(b.source in plan.channels for b in (*task.reads, *task.writes))
    each += channels * (2 * head + record["operation"]["bytes"] + record["event"]["bytes"])
    if task.worker is not None and request.counted:
        # A worker is lost, back or restarted at most once a job; never where no answer is given up.
        each += head + record["event"]["bytes"]
    if plan.cores[task.core].policy == THREE_PHASE:
        # A slot may be missed.
        each += head + record["event"]["bytes"]
    # A power of two, and never more than half full where a record would wrap.
    capacity = 1 << max(12, (jobs * each + 1024).bit_length())
    given = request.rows.get(task.name)
    if given is not None:
        given = given[: max(1, jobs)]
    return {
        "number": list(plan.tasks).index(task.name),
        "rows": 0 if given is None else len(given),
        "rows_at": 0 if given is None else window.put(given.tobytes()),
        "ring": window.reserve(record["ring"]["bytes"] + capacity),
        "ring_bytes": capacity,
    }


def run(request: Request, *, seconds: float = STANDSTILL_S, progress: Progress = silent) -> Recorded:
    """Runs a plan on the board. Given up when nothing has moved for so many seconds."""
    where, programs = request.where, request.programs
    made = layout(request)
    linux_core, linux_program = where.linux_core, programs.linux
    everyone = dict(where.places)
    if where.device_place is not None:
        everyone[records.TITLE] = where.device_place

    def boot(folder: Path) -> rtlinux.LinuxBoot:
        assert linux_core is not None and linux_program is not None
        return rtlinux.boot(where.board, linux_program, where.places[linux_core], folder)

    with Board(
        where.board,
        programs.images,
        orders=made.orders,
        contents=made.contents,
        counted=request.counted,
        shift=request.shift,
        linux=None if linux_program is None else boot,
        synchronized=where.synchronized,
        names={place: name for name, place in everyone.items()},
    ) as board:
        if linux_program is not None:
            board.release_beside_linux()
        for place, command in programs.commands.items():
            board.start_process(command, place)
        if board.token is not None:
            board.token.start()

        def watch() -> None:
            done = sum(board.control_blocks[where.places[name]].progress for name in where.masters)
            progress(where.title, done / jobs_of(request))

        board.wait(list(everyone.values()), seconds, watch)
        if where.synchronizer is not None:
            check_undisturbed(board.name, board.control_blocks[where.synchronizer.place])
        return _recorded(board, request, made)


def jobs_of(request: Request) -> int:
    """The number of jobs that all tasks together release."""
    tasks = request.where.plan.tasks.values()
    return max(1, sum(task.releases_until(request.duration_ps) for task in tasks))


def _recorded(board: Board, request: Request, made: Layout) -> Recorded:
    where, plan = request.where, request.where.plan
    jobs: list[NDArray[Any]] = []
    operations: list[NDArray[Any]] = []
    events: list[NDArray[Any]] = []
    outputs: dict[str, NDArray[Any]] = {}
    lost, preemptions, starts = 0, {}, {}
    record = request.described["record"]
    outs = {known["name"]: numbered(output_dtype(known["out"])) for known in request.described["tasks"]}
    hertz = {name: board.control_blocks[place].results[1] for name, place in where.places.items()}
    for name in where.masters:
        core = where.played[name]
        results = board.control_blocks[core.place].results
        if results[1] != core.hertz:
            raise SystemFails(
                f"the {core.title} counts {results[1]} ticks a second; what describes it says {core.hertz}"
            )
        start = starts[name] = results[2] | results[3] << 32
        preemptions[name] = results[4]
        for task in plan.cores[name].tasks:
            at, capacity = made.rings[task]
            ring = board.read(at, record["ring"]["bytes"] + capacity)
            rows, moved, happened, kept = read_ring(ring, record, outs[task])
            worker = plan.tasks[task].worker
            rows = in_nanoseconds(rows, core.hertz, start, request.begin)
            if worker is not None:
                rows = by_the_workers_clock(rows, core.hertz, hertz[worker])
            jobs.append(rows)
            operations.append(in_nanoseconds(moved, core.hertz, start, request.begin))
            events.append(in_nanoseconds(happened, core.hertz, start, request.begin))
            outputs[task] = kept
            lost += int.from_bytes(ring[record["ring"]["lost"] :][:4], "little")
    if where.device_place is not None and made.device_ring is not None:
        at, capacity = made.device_ring
        ring = board.read(at, record["ring"]["bytes"] + capacity)
        results = board.control_blocks[where.device_place].results
        moved, dropped = records.operations(ring, record, results, request.begin)
        operations.append(moved)
        lost += dropped
    found = [np.concatenate(parts) for parts in (jobs, operations, events)]
    used = {name: board.control_blocks[core.place].results[STACK_RESULT] for name, core in where.bare.items()}
    stacks = request.programs.stacks
    sections = [stack.section(stacks, used)] if stacks else []
    if request.counted and len(where.masters) > 1:
        hertz = {name: where.played[name].hertz for name in where.masters}
        left = {name: board.control_blocks[where.played[name].place].results for name in hertz}
        sections.append(records.clocks_section(records.read_clocks(hertz, left)))
    return Recorded(
        found[0],
        found[2],
        outputs,
        lost,
        preemptions,
        found[1],
        starts=starts,
        shift=request.shift,
        findings=tuple(stack.excess(stacks, used)),
        sections=tuple(sections),
    )
