# SPDX-License-Identifier: Apache-2.0
"""The scratchpad-centric kernel on an emulated board: the tables it starts from, what it did.

Which core moves and which ones execute says the board (board.yaml, `scratchpad_kernel`); its on-chip memory
is their scratchpads. The host leaves tables and images in the shared window (the port's scratchpad.hpp has
the layout) and reads events, job records and outputs when all cores are done.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from consort.board.boards import kernel_board, roles
from consort.board.description import BoardSpec
from consort.board.devices import DeviceResult, DeviceSetup, hub, place_devices, read_devices, serial_line
from consort.board.image import board_program
from consort.board.session import Board
from consort.board.task_image import PAGE, TaskImage, aligned
from consort.errors import BadInput, SystemFails
from consort.source import need_source_tree

MAGIC = 0x4D505343
TABLES, CONTENTS = 0x10000, 0x11000
APPLICATION_CORES, MOST_CORES, MOST_TASKS, MOST_SLOTS = 2, 4, 16, 64
# Jobs that the window has room to record one by one, with all their events.
MOST_RECORDED = 8000
# Instructions from when all cores are ready to the first slot.
LEAD = 100_000
# Of each core; its last page is the stack. Without generated tables a partition begins at each half.
SCRATCHPAD_BYTES, STACK_BYTES = 24 * PAGE, PAGE
PARTITION_BYTES = SCRATCHPAD_BYTES // 2
_TABLES = struct.Struct("<18IQ6I")
TASK_ROW = struct.Struct("<4Q18I")
_REQUEST = struct.Struct("<Q2I")
_FAULT = struct.Struct("<4I")

# In the order of include/consort/spm/event.hpp.
KINDS = (
    "release", "load_begin", "load_end", "unload_begin", "unload_end", "slot_wasted", "slot_missed",
    "slot_overrun", "dma_error", "dma_stuck", "transfer_failed", "early_request", "release_lost",
    "execution_overrun", "deadline_missed", "job_dropped", "job_fault", "task_stopped", "core_fault",
)  # fmt: skip
OUTCOMES = ("done", "stopped", "fault")
RELEASES = ("periodic", "sporadic")
ARBITRATIONS = ("tdma", "round-robin")
ON_OVERRUN = ("report", "stop_job", "stop_task")
ON_MISS = ("report", "drop", "stop_task")
FAULTS = ("dma_error", "dma_silence", "io_core_sleeps")

EVENT = np.dtype([("at", "<i8"), ("kind", "<u4"), ("core", "<u4"), ("task", "<u4"), ("job", "<u4")])
JOB = np.dtype(
    [(n, "<i8") for n in ("release", "load", "ready", "start", "finish", "unload", "end")]
    + [(n, "<u4") for n in ("core", "task", "job", "outcome")]
)
# Of all jobs of a task, however many: longest response and execution, how many ended, late, not done.
SUMMARY = np.dtype(
    [("response", "<i8"), ("execution", "<i8")] + [(n, "<u4") for n in ("jobs", "late", "not_done", "last")]
)
assert EVENT.itemsize == 24 and JOB.itemsize == 72 and SUMMARY.itemsize == 32


@dataclass(frozen=True)
class KernelTask:
    """A task as the kernel has it. Times in nanoseconds."""

    name: str
    core: int
    period: int
    deadline: int
    image: TaskImage
    offset: int = 0
    # Longest execution; 0: not watched.
    budget: int = 0
    release: str = "periodic"
    on_overrun: str = "report"
    on_miss: str = "report"
    # Of each job in turn, used again from the first.
    inputs: Sequence[bytes] = ()
    # How many outputs are kept.
    outputs: int = 1
    # How long the n-th job is held on its core, the last entry for all others; empty: as long as it takes.
    lasting: Sequence[int] = ()
    # In turns: how long a load and an unload last at least; the emulated DMA takes no time.
    load: int = 0
    unload: int = 0


@dataclass(frozen=True)
class Request:
    """A release of a sporadic task, counted from the first slot."""

    at: int
    core: int
    task: int


@dataclass(frozen=True)
class Fault:
    """What happens at the n-th transfer; `length` of what lasts."""

    what: str
    transfer: int
    length: int = 0


@dataclass(frozen=True)
class KernelRun:
    """What the kernel on the board is to do. Tasks of each core in priority order."""

    tasks: Sequence[KernelTask]
    slots: Sequence[tuple[int, int]]  # core, nanoseconds; in turns: the core's longest operation
    until: int
    requests: Sequence[Request] = ()
    faults: Sequence[Fault] = ()
    repeats: int = 1
    # An operation may begin so late in its slot.
    tolerance: int = 20_000
    # How often an application core looks whether it is to leave its job.
    tick: int = 5_000
    cores: int = APPLICATION_CORES
    arbitration: str = "tdma"
    # The folder of generated tables, given where the first image is in the board's memory; what the kernel
    # takes of tasks, slots and policies is then theirs. Without them the host writes it into the window.
    tables: Callable[[int], Path] | None = None
    # Counted: an instruction takes 2 to this nanoseconds. A slower clock runs longer in the same time.
    shift: int = 0
    # So many jobs are recorded one by one, all are counted; None: a run with more jobs than room is refused.
    recorded: int | None = None
    devices: DeviceSetup | None = None
    # None: the first board that the kernel runs on.
    board: BoardSpec | None = None


@dataclass
class KernelResult:
    """What it did. Times from the first slot, of the I/O core's clock."""

    events: NDArray[np.void]
    jobs: NDArray[np.void]
    outputs: dict[str, list[bytes]]
    states: dict[str, bytes]
    wasted: int
    longest_step: int
    # How exactly each application core knows the time.
    round_trip: list[int] = field(default_factory=list)
    # Of all events and jobs, recorded or not.
    counts: dict[str, int] = field(default_factory=dict)
    summaries: dict[str, np.void] = field(default_factory=dict)
    devices: DeviceResult | None = None

    def of_kind(self, *kinds: str) -> NDArray[np.void]:
        return self.events[np.isin(self.events["kind"], [KINDS.index(k) for k in kinds])]


class Window:
    """Places things in the shared window one behind the other."""

    def __init__(self, room: int) -> None:
        self.contents: dict[int, bytes] = {}
        self.at = CONTENTS
        self.room = room

    def place(self, content: bytes) -> int:
        where = self.reserve(len(content))
        if content:
            self.contents[where] = content
        return where

    def reserve(self, count: int) -> int:
        where = self.at
        self.at = aligned(where + count)
        if self.at > self.room:
            raise BadInput("tables, images and records do not fit into the board's window; run it for less")
        return where


def run_kernel(
    run: KernelRun,
    *,
    counted: bool = True,
    seconds: float = 300,
    watch: Callable[[Board], None] | None = None,
) -> KernelResult:
    """Runs the kernel on the board until all that was released until `run.until` is over.

    `watch` is called now and then meanwhile.
    """
    spec = run.board or kernel_board()
    kernel, io_core, application_core = roles(spec)
    places = (application_core.place, io_core.place, kernel.second_core_control_block)
    _check(run)
    window = Window(spec.window_bytes)
    # As the generated tables have them: one after the other, code before data.
    placed = [(window.place(t.image.code), window.place(t.image.state)) for t in run.tasks]
    images = kernel_images(spec, run.tables(spec.window.address + CONTENTS) if run.tables else None)
    rows, kept = [], []
    for task, (code_at, data_at) in zip(run.tasks, placed, strict=True):
        image = task.image
        stride = aligned(image.inputs)
        inputs = b"".join(row + bytes(stride - len(row)) for row in task.inputs)
        inputs = inputs if image.inputs == 0 or inputs else bytes(stride)
        outputs_at = window.reserve(aligned(image.outputs) * task.outputs)
        kept.append((task, outputs_at, data_at))
        rows.append(
            TASK_ROW.pack(
                *(task.period, task.deadline, task.offset, task.budget),
                *(task.core, RELEASES.index(task.release)),
                *(ON_OVERRUN.index(task.on_overrun), ON_MISS.index(task.on_miss)),
                *(len(image.code), len(image.state), image.inputs, image.outputs),
                *(code_at, data_at, window.place(inputs), max(1, len(task.inputs))),
                *(outputs_at, task.outputs),
                *(window.place(struct.pack(f"<{len(task.lasting)}Q", *task.lasting)), len(task.lasting)),
                *(task.load, task.unload),
            )
        )
    requests = sorted(run.requests, key=lambda r: r.at)
    most_jobs = len(requests) + sum(
        (run.until + t.period - 1) // t.period for t in run.tasks if t.release == "periodic"
    )
    beyond = run.recorded is not None and run.recorded < most_jobs
    most_jobs = run.recorded if run.recorded is not None and beyond else most_jobs
    most_events = 16 * most_jobs + 4096
    faults = [_FAULT.pack(FAULTS.index(f.what) + 1, f.transfer, f.length, 0) for f in run.faults]
    table = [
        *(MAGIC, run.cores, ARBITRATIONS.index(run.arbitration)),
        *(len(run.slots), window.place(b"".join(struct.pack("<2I", *s) for s in run.slots))),
        *(len(rows), window.place(b"".join(rows))),
        *(len(requests), window.place(b"".join(_REQUEST.pack(r.at, r.core, r.task) for r in requests))),
        *(len(faults), window.place(b"".join(faults))),
        *(window.reserve(EVENT.itemsize * most_events), most_events),
        *(window.reserve(JOB.itemsize * most_jobs), most_jobs),
        *(run.repeats, run.tolerance, run.tick),
        run.until,
        *(beyond, window.reserve(4 * len(KINDS)), window.reserve(SUMMARY.itemsize * len(rows))),
        *(place_devices(run.devices, window, spec), LEAD << run.shift, 0),
    ]
    contents = {**window.contents, TABLES: _TABLES.pack(*table)}
    orders: dict[int, tuple[int, Sequence[int]]] = dict.fromkeys(places, (1, ()))
    serial = run.devices is not None and run.devices.serial
    lines = None if run.devices is None or serial else run.devices.line or hub
    with Board(
        spec,
        images,
        orders=orders,
        contents=contents,
        counted=counted,
        shift=run.shift,
        lines=lines,
        serial=(lambda folder: {io_core.name: serial_line(folder)}) if serial else None,
    ) as board:
        board.wait(places, seconds, None if watch is None else lambda: watch(board))
        events, jobs, wasted, longest = board.control_blocks[io_core.place].results[:4]
        if not beyond and (events > most_events or jobs > most_jobs):
            raise SystemFails(f"{events} events and {jobs} jobs, more than there was room for")
        return KernelResult(
            np.frombuffer(board.read(table[11], min(events, most_events) * EVENT.itemsize), EVENT).copy(),
            np.frombuffer(board.read(table[13], min(jobs, most_jobs) * JOB.itemsize), JOB).copy(),
            {t.name: _rows(board, at, t) for t, at, _ in kept},
            {t.name: board.read(at, len(t.image.state)) for t, _, at in kept},
            wasted,
            longest,
            [board.control_blocks[place].results[1] for place in (places[0], places[2])],
            dict(
                zip(
                    KINDS,
                    struct.unpack(f"<{len(KINDS)}I", board.read(table[20], 4 * len(KINDS))),
                    strict=True,
                )
            ),
            dict(zip((t.name for t in run.tasks), _summaries(board, table[21], len(rows)), strict=True)),
            None if run.devices is None else read_devices(run.devices, board.read, table[22]),
        )


def _summaries(board: Board, at: int, tasks: int) -> NDArray[np.void]:
    return np.frombuffer(board.read(at, tasks * SUMMARY.itemsize), SUMMARY).copy()


def _rows(board: Board, at: int, task: KernelTask) -> list[bytes]:
    stride = aligned(task.image.outputs)
    return [board.read(at + i * stride, task.image.outputs) for i in range(task.outputs if stride else 0)]


def _check(run: KernelRun) -> None:
    for task in run.tasks:
        over = task.image.partition_bytes - (PARTITION_BYTES - STACK_BYTES)
        if over > 0:
            raise BadInput(f"task {task.name} is {over} bytes too large for a partition and its stack")
        if task.core >= APPLICATION_CORES:
            raise BadInput(f"task {task.name}: the board has {APPLICATION_CORES} application cores")
    most = max((sum(t.core == c for t in run.tasks) for c in range(APPLICATION_CORES)), default=0)
    if most > MOST_TASKS or len(run.slots) > MOST_SLOTS or run.cores > MOST_CORES:
        raise BadInput(
            f"the board's kernel takes up to {MOST_TASKS} tasks a core, {MOST_SLOTS} slots,"
            f" {MOST_CORES} cores"
        )


def kernel_images(spec: BoardSpec, generated: Path | None = None) -> dict[str, Path]:
    """The kernel's own programs: the I/O core's and the application cores'.

    They have the tables that `consort generate` has written to the folder `generated`; without one they read
    them from the window.
    """
    kernel, _, _ = roles(spec)
    tables = kernel.tables.window if generated is None else kernel.tables.generated
    return board_program(
        spec,
        "scratchpad-kernel",
        *([] if generated is None else [f"-I{generated}"]),
        beside=[need_source_tree("building for a board") / "ports" / spec.name / tables],
        scripts=[] if generated is None else [generated / "consort-memory.ld"],
    )
