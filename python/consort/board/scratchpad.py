# SPDX-License-Identifier: Apache-2.0
"""The scratchpad-centric kernel on an emulated board: the tables it starts from, and its results.

Which core moves and which ones execute says the board (board.yaml, `scratchpad_kernel`); its on-chip memory
is their scratchpads. The host leaves tables and images in the shared window, in structs of the I/O core's
image, and reads events, job records and outputs when all cores are done.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from consort.base.errors import BadInput, SystemFails
from consort.base.toolchain.builds import need_source_tree
from consort.base.waiting import STANDSTILL_S
from consort.board.boards import kernel_board, roles
from consort.board.control_block import BYTES as CONTROL_BLOCK_BYTES
from consort.board.description import CONTROL_BLOCKS, BoardSpec, KernelSpec
from consort.board.devices import DeviceResult, DeviceSetup, hub, place_devices, read_devices, serial_line
from consort.board.generate.kernel import PARTITIONS
from consort.board.image import board_program
from consort.board.layouts import Layouts, packed
from consort.board.session import Board
from consort.board.task_image import PAGE, TaskImage, aligned, headed, kernel_image

# Behind the control blocks; what the tables lead to begins in the next page.
TABLES = CONTROL_BLOCKS * CONTROL_BLOCK_BYTES
CONTENTS = TABLES + PAGE
# Jobs that the window has room to record one by one, with all their events.
MOST_RECORDED = 8000
# The board's clocks count nanoseconds.
HERTZ = 10**9
# Instructions from when all cores are ready to the first slot.
LEAD = 100_000


@dataclass(frozen=True)
class Given:
    """The figures that a run gives a task of the kernel. Times in nanoseconds."""

    name: str
    # Its row of the plan image that the host writes (`kernel_row`).
    row: Mapping[str, Any]
    image: TaskImage
    # Inputs of each job in turn, used again from the first.
    inputs: Sequence[bytes] = ()
    # How many outputs are kept.
    outputs: int = 1
    # How long the n-th job is held on its core, the last entry for all others; empty: as long as it takes.
    lasting: Sequence[int] = ()

    @property
    def core(self) -> int:
        return int(self.row["core"])


@dataclass(frozen=True)
class Request:
    """A release of a task that waits for requests, counted from the first slot."""

    at: int
    core: int
    task: int


@dataclass(frozen=True)
class Fault:
    """A fault at the n-th transfer; `length` for faults that last."""

    what: str
    transfer: int
    length: int = 0


@dataclass(frozen=True)
class KernelRun:
    """A run of the kernel on the board. Tasks core by core in priority order."""

    tasks: Sequence[Given]
    slots: Sequence[int]  # of each core, nanoseconds; in turns: the core's longest operation
    until: int
    requests: Sequence[Request] = ()
    faults: Sequence[Fault] = ()
    repeats: int = 1
    # An operation may begin so late in its slot.
    tolerance: int = 20_000
    # How often an application core looks whether it is to leave its job.
    tick: int = 5_000
    arbitration: str = "tdma"
    # The folder of generated tables, given where the first image is in the board's memory; the plan image is
    # then theirs. Without them the host writes one into the window.
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
    """The kernel's results. Times from the first slot, of the I/O core's clock."""

    events: NDArray[np.void]
    jobs: NDArray[np.void]
    outputs: dict[str, list[bytes]]
    states: dict[str, bytes]
    wasted: int
    longest_step: int
    # The meanings of the numbers of events' kinds and jobs' outcomes: the enumerators of the image.
    kinds: Sequence[str]
    outcomes: Sequence[str]
    # How exactly each application core knows the time.
    round_trip: list[int] = field(default_factory=list)
    # Counts of all events and jobs, recorded or not.
    counts: dict[str, int] = field(default_factory=dict)
    summaries: dict[str, np.void] = field(default_factory=dict)
    devices: DeviceResult | None = None

    def of_kind(self, *kinds: str) -> NDArray[np.void]:
        return self.events[np.isin(self.events["kind"], [self.kinds.index(k) for k in kinds])]


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
    seconds: float = STANDSTILL_S,
    watch: Callable[[Board], None] | None = None,
) -> KernelResult:
    """Runs the kernel on the board until all that was released until `run.until` is over.

    `watch` is called now and then meanwhile.
    """
    spec = run.board or kernel_board()
    kernel, io_core, application_core = roles(spec)
    places = (application_core.place, io_core.place, kernel.second_core_control_block)
    _check(run, kernel)
    window = Window(spec.window_bytes)
    # As the generated tables have them: one after the other, code before data.
    images = kernel_images(spec, run.tables(spec.window.address + CONTENTS) if run.tables else None)
    layouts = Layouts(images[io_core.name])
    placed = [(window.place(headed(t.image, layouts)), window.place(t.image.state)) for t in run.tasks]
    event, job, summary = (
        layouts.struct(f"scratchpad::{name}") for name in ("EventRow", "JobRow", "Summary")
    )
    kinds = [name for name in layouts.enumerators("spm::Kind") if name != "count"]
    given, kept = [], []
    for task, (code_at, data_at) in zip(run.tasks, placed, strict=True):
        image = task.image
        stride = aligned(image.inputs)
        inputs = b"".join(row + bytes(stride - len(row)) for row in task.inputs)
        inputs = inputs if image.inputs == 0 or inputs else bytes(stride)
        outputs_at = window.reserve(aligned(image.outputs) * task.outputs)
        kept.append((task, outputs_at, data_at))
        given.append(
            {
                "code": len(image.code),
                "data": len(image.state),
                "inputs": image.inputs,
                "outputs": image.outputs,
                "code_at": code_at,
                "data_at": data_at,
                "inputs_at": window.place(inputs),
                "input_rows": max(1, len(task.inputs)),
                "outputs_at": outputs_at,
                "output_rows": task.outputs,
                "lasting_at": window.place(np.array(task.lasting, "<u8").tobytes()),
                "lasting": len(task.lasting),
            }
        )
    requests = sorted(run.requests, key=lambda r: r.at)
    most_jobs = len(requests) + sum(
        -(-run.until // t.row["period"]) for t in run.tasks if not t.row["on_request"]
    )
    beyond = run.recorded is not None and run.recorded < most_jobs
    most_jobs = run.recorded if run.recorded is not None and beyond else most_jobs
    most_events = 16 * most_jobs + 4096
    injected = layouts.enumerators("scratchpad::Injected")
    # Generated tables have their own.
    plan = b"" if run.tables else _plan_image(run)
    tables = {
        "magic": layouts.constant("scratchpad::Tables", "magic_number"),
        "plan_at": window.place(plan),
        "plan_bytes": len(plan),
        **_placed_rows("given", layouts, "Given", given, window),
        **_placed_rows(
            "requests",
            layouts,
            "RequestRow",
            [{"at": r.at, "core": r.core, "task": r.task} for r in requests],
            window,
        ),
        **_placed_rows(
            "faults",
            layouts,
            "FaultRow",
            [{"what": injected[f.what], "transfer": f.transfer, "length": f.length} for f in run.faults],
            window,
        ),
        "events_at": window.reserve(event.itemsize * most_events),
        "events": most_events,
        "jobs_at": window.reserve(job.itemsize * most_jobs),
        "jobs": most_jobs,
        "repeats": run.repeats,
        "tolerance": run.tolerance,
        "tick": run.tick,
        "until": run.until,
        "beyond": int(beyond),
        "counts_at": window.reserve(4 * len(kinds)),
        "summaries_at": window.reserve(summary.itemsize * len(given)),
        "io_at": place_devices(run.devices, window, spec, layouts),
        "lead": LEAD << run.shift,
    }
    contents = {**window.contents, TABLES: packed(layouts.struct("scratchpad::Tables"), **tables)}
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
        counts = np.frombuffer(board.read(tables["counts_at"], 4 * len(kinds)), "<u4")
        sums = np.frombuffer(board.read(tables["summaries_at"], len(kept) * summary.itemsize), summary)
        return KernelResult(
            np.frombuffer(
                board.read(tables["events_at"], min(events, most_events) * event.itemsize), event
            ).copy(),
            np.frombuffer(board.read(tables["jobs_at"], min(jobs, most_jobs) * job.itemsize), job).copy(),
            {t.name: _rows(board, at, t) for t, at, _ in kept},
            {t.name: board.read(at, len(t.image.state)) for t, _, at in kept},
            wasted,
            longest,
            kinds,
            list(layouts.enumerators("spm::Outcome")),
            [board.control_blocks[place].results[1] for place in (places[0], places[2])],
            dict(zip(kinds, counts.tolist(), strict=True)),
            dict(zip((t.name for t in run.tasks), sums.copy(), strict=True)),
            None if run.devices is None else read_devices(run.devices, board.read, tables["io_at"], layouts),
        )


def _plan_image(run: KernelRun) -> bytes:
    names = [task.name for task in run.tasks]
    return kernel_image(names, [task.row for task in run.tasks], run.slots, run.arbitration, HERTZ)


def _placed_rows(
    name: str, layouts: Layouts, row: str, rows: Sequence[Mapping[str, int]], window: Window
) -> dict[str, int]:
    """Puts rows into the window; how many they are and where they lie, as `Tables` has it."""
    layout = layouts.struct(f"scratchpad::{row}")
    return {name: len(rows), f"{name}_at": window.place(b"".join(packed(layout, **one) for one in rows))}


def _rows(board: Board, at: int, task: Given) -> list[bytes]:
    stride = aligned(task.image.outputs)
    return [board.read(at + i * stride, task.image.outputs) for i in range(task.outputs if stride else 0)]


def _check(run: KernelRun, kernel: KernelSpec) -> None:
    room = kernel.scratchpad.bytes // PARTITIONS - kernel.stack.bytes
    for task in run.tasks:
        over = task.image.partition_bytes - room
        if over > 0:
            raise BadInput(f"task {task.name} is {over} bytes too large for a partition and its stack")
        if task.core >= kernel.application_cores:
            raise BadInput(f"task {task.name}: the board has {kernel.application_cores} application cores")
    most = max((sum(t.core == c for t in run.tasks) for c in range(kernel.application_cores)), default=0)
    if most > kernel.tasks or len(run.slots) > kernel.slot_owners:
        raise BadInput(
            f"the board's kernel takes up to {kernel.tasks} tasks a core, {kernel.slot_owners} cores"
        )


def kernel_images(spec: BoardSpec, generated: Path | None = None) -> dict[str, Path]:
    """The kernel's own programs: the I/O core's and the application cores'.

    They have the tables that `consort generate` has written to the folder `generated`; without one they read
    a plan image from the window.
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
