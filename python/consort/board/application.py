# SPDX-License-Identifier: Apache-2.0
"""Runs a system whose platform is a board: its cores emulated, other processors as processes beside it.

The same record as of a run on this machine. With instruction counting (all sides on the board) two runs
give the same record to the tick; with a process beside the board time is the emulator's, and no deadline is
judged.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from consort.board import rtlinux
from consort.board.boards import BoardSpec, board_named
from consort.board.desk import Desk
from consort.board.exchange import A72_LINUX, FIRST_PROCESS, LINUX_SECONDS
from consort.board.image import build_image
from consort.board.process import PROCESSES, build_process
from consort.board.qemu import find, version
from consort.board.session import Board
from consort.errors import BadInput
from consort.model import System, Tolerance
from consort.progress import Progress
from consort.record import RawRun, Run, RunWriter
from consort.record.columns import STATUS
from consort.record.raw_writer import write_manifest, write_table
from consort.runner.build import build_application, describe, identifier
from consort.runner.data import golden_outputs, struct_dtype, task_inputs
from consort.runner.golden import mark_output_errors
from consort.runner.process import environment_errors
from consort.source import cache_folder

# Platform -> board, and which processor stands for which core. The STM32MP157's Cortex-M4 is the MPS2's; its
# Cortex-A7 is a process in user-mode emulation.
PLATFORMS: dict[str, tuple[str, dict[str, str]]] = {
    "versal": ("versal", {"a72-0": "a72", "r5f-0": "r5f"}),
    "embedded-plus": (
        "versal",
        {"a72-0": "a72", "r5f-0": "r5f", **{f"x86-{i}": "x86-64" for i in range(4)}},
    ),
    "stm32mp157": ("mps2", {"m4-0": "m4f", "a7-0": "armv7", "a7-1": "armv7"}),
}

MASTER, WORKER = 1, 2
LOCAL, UNHURRIED = 1, 2
ON_MISS = ("hold-last-output", "local-fallback", "stop")
FALLBACK_SHARE = 5

# Offsets in the window, behind the desks.
REGION, REGION_BYTES = 0x10000, 0x10000
DATA = 0x20000
# As the boards and processes write it (ports/bare: app.hpp).
STAMPS = ("release", "start", "sent", "received", "finish", "worker_receive", "worker_send")
RECORD = np.dtype(
    [
        *((name, "<u8") for name in (*STAMPS[:5], "compute", *STAMPS[5:])),
        *((name, "<u4") for name in ("seq", "status")),
        *((name, "<u2") for name in ("worker", "kind")),
        ("step", "<u4"),
    ]
)
assert RECORD.itemsize == 80


@dataclass(frozen=True)
class Placement:
    """Where a system's one task runs on a board: processors by the names that boards and processes have."""

    board: BoardSpec
    task: str
    master: str
    worker: str | None

    @property
    def on_board(self) -> bool:
        """Whether instructions can be counted: no side lives in this machine's time, or in Linux's."""
        return self.worker is None or not (self.worker in PROCESSES or self.worker == A72_LINUX)


def platform_of(system: System) -> str | None:
    """The system's platform if it is one that boards in a box have; else None."""
    name = Path(system.platform).stem
    return name if name in PLATFORMS else None


def placement(system: System, *, rt_linux: bool = False) -> Placement:
    """`rt_linux`: the A72 runs Linux. `BadInput` names what keeps the system from running on its board."""
    platform = platform_of(system)
    assert platform is not None
    kind, processors = PLATFORMS[platform]

    def processor(core: str, field: str) -> str:
        if core not in processors:
            raise BadInput(
                f"'{core}' does not run in the box of {platform}; {', '.join(processors)} do",
                file=system.file,
                field=f"tasks.{name}.{field}",
            )
        return processors[core]

    if len(system.tasks) != 1:
        raise BadInput(
            f"{len(system.tasks)} tasks; on a board one task is run", file=system.file, field="tasks"
        )
    ((name, task),) = system.tasks.items()
    if task.step is None or task.input is None:
        missing = "step" if task.step is None else "input"
        raise BadInput(f"to run the task its '{missing}' is needed", file=system.file, field=f"tasks.{name}")
    if task.sporadic or task.execution == "three-phase":
        raise BadInput(
            "on a board a periodic task is run, local or offloaded", file=system.file, field=f"tasks.{name}"
        )
    spec = board_named(kind)
    master = processor(task.released_by, "master" if task.execution == "offloaded" else "on")
    if master in PROCESSES:
        raise BadInput(
            "the master is a core of the board; a process of this machine has not the time for itself",
            file=system.file,
            field=f"tasks.{name}.master",
        )
    worker = processor(task.on, "on") if task.execution == "offloaded" else None
    if rt_linux:
        if worker != "a72":
            raise BadInput(
                "--rt-linux: the worker's core has to be a72-0, which is the one that runs Linux",
                file=system.file,
                field=f"tasks.{name}.on",
            )
        return Placement(rtlinux.VERSAL_LINUX, name, master, A72_LINUX)
    return Placement(spec, name, master, worker)


def program_source(system: System, task: str) -> str:
    """The program of both sides."""
    step = system.tasks[task].step_to_run
    return (
        f"// Made by `consort run` from {system.file.name}; not to be edited.\n"
        '#include "consort/bare/app.hpp"\n'
        f'#include "{system.path(step.header).resolve()}"\n'
        f"using {identifier(task)} = consort::offload::Task<&::{step.function}>;\n"
        "int consort_program(consort::bare::Desk& desk) noexcept {\n"
        f"    return consort::bare::app::application<{identifier(task)}>(desk);\n}}\n"
    )


@dataclass(frozen=True)
class BoardRun:
    """What to run: images and commands by desk, inputs, and what the outputs must be."""

    system: System
    where: Placement
    images: dict[str, Path]
    commands: dict[int, list[str]]
    master_place: int
    worker_place: int | None
    inputs: NDArray[Any]
    out_dtype: np.dtype[Any]
    out_layout: dict[str, Any]
    golden: tuple[NDArray[Any], dict[str, Tolerance]] | None
    # The worker's program where the A72 runs Linux.
    linux_program: Path | None = None

    def boot(self, folder: Path) -> rtlinux.LinuxBoot:
        assert self.linux_program is not None and self.worker_place is not None
        return rtlinux.boot(self.linux_program, self.worker_place, folder)


@environment_errors()
def prepare_board(system: System, progress: Progress, *, rt_linux: bool = False) -> BoardRun:
    """Builds the images and computes what the outputs must be."""
    where = placement(system, rt_linux=rt_linux)
    # Told before everything is built for it.
    find(where.board.qemu)
    task = system.tasks[where.task]
    progress("building", None)
    layout = describe(build_application(system, to_describe=True))["tasks"][0]
    inputs = task_inputs(system, task, struct_dtype(layout["in"]))
    out_dtype = struct_dtype(layout["out"])
    golden = None
    if task.golden is not None:
        progress(f"golden outputs of {where.task}", None)
        expected = golden_outputs(system, task.golden, inputs, out_dtype, cache_folder() / "golden")
        golden = (expected, dict(task.golden.tolerance))
    text = program_source(system, where.task)
    cores = {core.name: core for core in where.board.cores}
    sides = [where.master, *([where.worker] if where.worker else [])]
    places: list[int] = []
    images: dict[str, Path] = {}
    commands: dict[int, list[str]] = {}
    linux_program: Path | None = None
    with tempfile.TemporaryDirectory(prefix="consort-board-") as folder:
        source = Path(folder) / "application.cpp"
        source.write_text(text, encoding="utf-8")
        for side in sides:
            progress(f"building for {side}", None)
            if side in cores:
                images[side] = build_image(cores[side], source)
                places.append(cores[side].place)
            elif side == A72_LINUX:
                linux_program = rtlinux.program(source, "-DCONSORT_BARE_ACCESS=Device")
                places.append(cores["a72"].place)
            else:
                places.append(FIRST_PROCESS)
                commands[FIRST_PROCESS] = build_process(PROCESSES[side], source)
        for core in where.board.cores:
            if core.starts is not None and core.name not in images and linux_program is None:
                images[core.name] = build_image(core, source)
    worker_place = places[1] if where.worker else None
    return BoardRun(
        system,
        where,
        images,
        commands,
        places[0],
        worker_place,
        inputs,
        out_dtype,
        layout["out"],
        golden,
        linux_program,
    )


@dataclass(frozen=True)
class Layout:
    """Where the data of a run lie in the window."""

    rows: int
    inputs: int
    records: int
    outputs: int


def _layout(run: BoardRun, jobs: int) -> Layout:
    rows = min(jobs, len(run.inputs))
    records = _up(DATA + rows * run.inputs.dtype.itemsize)
    outputs = _up(records + jobs * RECORD.itemsize)
    if outputs + jobs * run.out_dtype.itemsize > run.where.board.window_bytes:
        each = RECORD.itemsize + run.out_dtype.itemsize + run.inputs.dtype.itemsize
        most = (run.where.board.window_bytes - DATA - 128) // each
        raise BadInput(
            f"{jobs} jobs do not fit into the board's window; give up to --iterations {most}",
            file=run.system.file,
            field="run.iterations",
        )
    return Layout(rows, DATA, records, outputs)


def _up(offset: int) -> int:
    return (offset + 63) // 64 * 64


def _orders(run: BoardRun, jobs: int, at: Layout, counted: bool) -> dict[int, tuple[int, Sequence[int]]]:
    task = run.system.tasks[run.where.task]
    deadline = task.deadline.nanoseconds
    if task.interval.nanoseconds >= 1 << 32:
        raise BadInput("a board's task has a period below 4 s", file=run.system.file, field="period")
    margin = deadline // FALLBACK_SHARE if task.on_miss == "local-fallback" else 0
    flags = (LOCAL if run.where.worker is None else 0) | (0 if counted else UNHURRIED)
    head = [REGION, REGION_BYTES, jobs, at.rows, at.inputs, at.records, at.outputs]
    times = [task.interval.nanoseconds, deadline, margin, ON_MISS.index(task.on_miss), flags]
    orders: dict[int, tuple[int, Sequence[int]]] = {
        core.place: (0, ()) for core in run.where.board.cores if core.starts is not None
    }
    orders[run.master_place] = (MASTER, [*head, *times])
    if run.worker_place is not None:
        orders[run.worker_place] = (WORKER, [*head, *times])
    return orders


def record_raw(run: BoardRun, raw: Path, jobs: int, *, counted: bool, seconds: float = 600) -> None:
    """Runs the application once and writes its raw run folder."""
    at = _layout(run, jobs)
    contents = {at.inputs: run.inputs[: at.rows].tobytes()}
    orders = _orders(run, jobs, at, counted)
    linux = run.boot if run.linux_program is not None else None
    names = {run.master_place: run.where.master}
    if run.worker_place is not None and run.where.worker is not None:
        names[run.worker_place] = run.where.worker
    with Board(
        run.where.board,
        run.images,
        orders=orders,
        contents=contents,
        counted=counted,
        linux=linux,
        names=names,
    ) as board:
        if linux is not None:
            board.release_beside_linux(LINUX_SECONDS)
        for place, command in run.commands.items():
            board.start_process(command, place)
        places = [run.master_place, *([] if run.worker_place is None else [run.worker_place])]
        board.wait(places, seconds)
        records = np.frombuffer(board.read(at.records, jobs * RECORD.itemsize), RECORD).copy()
        outputs = board.read(at.outputs, jobs * run.out_dtype.itemsize)
        hertz = board.desks[run.master_place].results[1]
        if run.worker_place is not None:
            _to_master_clock(records, hertz, board.desks[run.worker_place])
    name = run.where.task
    tables = [
        write_table(raw, "jobs", records, stamps=STAMPS, durations=("compute",)),
        write_table(raw, f"outputs-{name}", np.frombuffer(outputs, run.out_dtype)),
    ]
    _write_manifest(run, raw, tables, records, hertz, counted)
    if run.golden is not None:
        expected, tolerance = run.golden
        mark_output_errors(raw, {0: (name, expected, tolerance)}, {0: run.out_dtype})


def _to_master_clock(records: NDArray[Any], hertz: int, worker: Desk) -> None:
    """The worker has measured with its own clock; the record has one."""
    theirs = worker.results[1]
    remote = (records["status"] & STATUS["local_fallbacks"]) == 0
    records["compute"][remote] = records["compute"][remote] * hertz // theirs


def _write_manifest(
    run: BoardRun,
    raw: Path,
    tables: list[dict[str, Any]],
    records: NDArray[Any],
    hertz: int,
    counted: bool,
) -> None:
    status = records["status"]

    def count(key: str) -> int:
        return int(np.count_nonzero(status & STATUS[key]))

    task = run.system.tasks[run.where.task]
    write_manifest(
        raw,
        "board",
        tables,
        clock={
            "name": f"{run.where.master} counter",
            "ticks_per_second": float(hertz),
            "provenance": "counted" if counted else "emulated",
            "source": "one nanosecond for each instruction executed" if counted else "the emulator's clock",
        },
        config={
            "deadline_ns": task.deadline.nanoseconds,
            "board": run.where.board.name,
            "master": run.where.master,
            "worker": run.where.worker,
            "emulator": version(find(run.where.board.qemu)),
        },
        counters={
            "jobs": len(records),
            "deadline_misses": count("deadline_misses"),
            "releases_skipped": 0,
            "outputs_held": count("outputs_held"),
            "local_fallbacks": count("local_fallbacks"),
            "worker_deaths": 0,
            "records_lost": 0,
        },
    )


@environment_errors()
def run_on_board(
    system: System,
    *,
    iterations: int | None,
    name: str | None,
    root: Path | None,
    command: list[str] | None,
    must_count: bool,
    rt_linux: bool = False,
    progress: Progress,
) -> Run:
    """Runs and records a system on its board; counts instructions if all sides are on it."""
    where = placement(system, rt_linux=rt_linux)
    counted = where.on_board
    if must_count and not counted:
        raise BadInput(
            f"--counted: {where.worker} does not run in the board's counted time",
            file=system.file,
            field=f"tasks.{where.task}.on",
        )
    run = prepare_board(system, progress, rt_linux=rt_linux)
    jobs = iterations or system.run.iterations
    execution = "local" if run.where.worker is None else "offloaded"
    title = f"{execution}, {run.where.master}" + (f" and {run.where.worker}" if run.where.worker else "")
    label = name or system.file.resolve().parent.name or system.file.stem
    progress(f"{title}: {jobs} jobs", None)
    with (
        RunWriter(label, "application", root, command=command, source=system.file.parent) as writer,
        tempfile.TemporaryDirectory(prefix="consort-board-") as folder,
    ):
        writer.add_description(system.file)
        record_raw(run, Path(folder), jobs, counted=counted)
        writer.add_configuration(f"{execution}-off", title, RawRun.load(folder))
        return writer.finish()
