# SPDX-License-Identifier: Apache-2.0
"""`consort bench scratchpad --board NAME`: spm-centric-os, Tables IV and V, Figure 5, on the board.

Instructions of the kernel on its I/O core and on an application core; instructions of the kernels of
examples/automotive and of four access patterns, called in main memory and executed by the scratchpad kernel.
Beside them what the description of the paper's MPC5777M gives in the simulator. The emulator executes
instructions and has no memory that takes time: experiments/spm-centric-os/scratchpad says what that leaves.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from consort.analysis.three_phase import moved
from consort.base.errors import BadInput
from consort.base.toolchain.builds import need_source_tree
from consort.base.waiting import silent
from consort.board.application import built
from consort.board.boards import kernel_board, roles
from consort.board.count import ALLOWED, Count, changes, compiler_version, load, missing, store
from consort.board.description import BoardSpec
from consort.board.image import board_program
from consort.board.kernel import reference
from consort.board.kernel_plan import KernelPrograms, placed
from consort.board.layouts import FILLER, Layouts, packed
from consort.board.scratchpad import HERTZ, TABLES, Window
from consort.board.session import Board
from consort.board.task_image import (
    ENTRY,
    TaskImage,
    aligned,
    headed,
    image_of_text,
    kernel_image,
    kernel_row,
    make_image,
)
from consort.model import System, load_system
from consort.model.sharing import Scheduling
from consort.simulate.build import prepare
from consort.simulate.engine import simulate
from numpy.typing import NDArray

from consort_bench import board_bandwidth
from consort_bench.published import Published, experiment_folder, read_published
from consort_bench.registry import BenchResult, Options, goal

PAPER = "spm-centric-os"
SECONDS = 120.0
JOBS = 8
# In the order of bench/board/io_core_count.cpp.
SLOTS = (
    "nothing to do",
    "load begins",
    "load ends",
    "unload begins",
    "unload ends",
    "one channel programmed",
)
EMPTY = "an empty job"
DIRECT, SCRATCHPAD = "direct", "scratchpad"
# The slot of examples/automotive, at an instruction a nanosecond.
SLOT = 160_000
PATTERNS = {
    "locality": "good locality",
    "instructions": "instruction misses",
    "data": "data misses",
    "both": "instruction and data misses",
}
SIMULATED = 5 * 10**12


@dataclass(frozen=True)
class Counted:
    """One task: instructions of a job in each way without what an empty one takes, median of the jobs."""

    name: str
    direct: int
    scratchpad: int
    image: int  # bytes of instructions
    moved: int  # bytes of a load and an unload
    wrong: int


def io_core_counts(board_name: str | None = None) -> dict[str, int]:
    """Instructions of the I/O core's step at a slot's begin, by its actions."""
    spec = kernel_board(board_name)
    io_core = roles(spec)[1]
    images = board_program(spec, "io-core-count")
    orders = {core.place: (int(core is io_core), ()) for core in spec.cores}
    with Board(spec, images, orders=orders, counted=True) as board:
        board.wait([io_core.place], SECONDS)
        return dict(zip(SLOTS, board.control_blocks[io_core.place].results[: len(SLOTS)], strict=True))


def application_core_counts(system: System, board_name: str | None = None) -> tuple[list[Counted], int]:
    """Each task of a system on an A72; and what the kernel takes for an empty job, from job to job."""
    spec = kernel_board(board_name)
    run = built(system, lambda described: placed(described, spec.name), silent)
    assert isinstance(run.programs, KernelPrograms)
    expected = reference(run.request(0, counted=True), dict.fromkeys(run.plan.tasks, JOBS), {})
    empty = make_image(
        image_of_text('extern "C" __attribute__((section(".text.consort_entry"))) void consort_entry() {}'),
        *(b"", b"", 0, 0),
    )
    images = {EMPTY: empty, **run.programs.tasks}
    rows = {
        name: [row.tobytes() for row in run.rows[name][:-1]] if name in run.rows else [bytes(image.inputs)]
        for name, image in run.programs.tasks.items()
    }
    counts, outputs = _run(spec, system, images, rows)
    found = []
    for (name, image), of, kept in zip(images.items(), counts, outputs, strict=True):
        if name == EMPTY:
            continue
        right = expected[name].rows[JOBS - 1 : JOBS].tobytes()
        direct, scratchpad = np.median(of - counts[0], axis=0)
        parts = (len(image.code), 2 * len(image.state), image.inputs, image.outputs)
        found.append(
            Counted(
                name,
                int(direct),
                int(scratchpad),
                _instruction_bytes(image),
                sum(parts),
                sum(one != right for one in kept),
            )
        )
    return found, int(np.median(counts[0][:, 1]))


def _instruction_bytes(image: TaskImage) -> int:
    return image.constants - ENTRY


def _run(
    spec: BoardSpec, system: System, images: dict[str, TaskImage], inputs: dict[str, list[bytes]]
) -> tuple[NDArray[np.uint32], list[list[bytes]]]:
    """Instructions (task, job, way); and of each task the last outputs of both ways."""
    core = roles(spec)[2]
    with tempfile.TemporaryDirectory(prefix="consort-count-") as folder:
        beside = Path(folder) / "direct.cpp"
        beside.write_text(_direct_source(system, list(images)), encoding="utf-8")
        program = _program(spec, beside)
    layouts = Layouts(program[core.name])
    row, tables = layouts.struct("scratchpad::Given"), layouts.struct("scratchpad::Tables")
    window = Window(spec.window_bytes)
    rows, outputs_at = [], []
    for name, image in images.items():
        stride = aligned(image.inputs)
        given = b"".join(one + bytes(stride - len(one)) for one in inputs.get(name, ())) if stride else b""
        outputs_at.append(window.reserve(2 * aligned(image.outputs)))
        wanted = {
            "code": len(image.code),
            "data": len(image.state),
            "inputs": image.inputs,
            "outputs": image.outputs,
            "code_at": window.place(headed(image, layouts)),
            "data_at": window.place(image.state),
            "inputs_at": window.place(given),
            "input_rows": max(1, len(inputs.get(name, ()))),
            "outputs_at": outputs_at[-1],
            "output_rows": 2,
            "lasting_at": 0,
            "lasting": 0,
        }
        rows.append(packed(row, **wanted))
    counts_at = window.reserve(4 * len(images) * JOBS * 2)
    # Times and policies are not asked for.
    plan = kernel_image(list(images), [kernel_row(0, n) for n in range(len(images))], [1], "tdma", HERTZ)
    asked = {
        "magic": layouts.constant("scratchpad::Tables", "magic_number"),
        "plan_at": window.place(plan),
        "plan_bytes": len(plan),
        "given": len(rows),
        "given_at": window.place(b"".join(rows)),
        "events_at": counts_at,
        "tick": 1,
        "until": JOBS,
    }
    unused = dict.fromkeys(set(tables.names or ()) - {FILLER}, 0)
    contents = {**window.contents, TABLES: packed(tables, **unused | asked)}
    orders: dict[int, tuple[int, Sequence[int]]] = {core.place: (1, ())}
    with Board(spec, program, orders=orders, contents=contents, counted=True) as board:
        board.wait([core.place], SECONDS)
        found = np.frombuffer(board.read(counts_at, 4 * len(images) * JOBS * 2), "<u4")
        outputs = [
            [board.read(at + way * aligned(i.outputs), i.outputs) for way in (0, 1)]
            for at, i in zip(outputs_at, images.values(), strict=True)
        ]
    return found.reshape(len(images), JOBS, 2).astype(np.int64), outputs


def _program(spec: BoardSpec, direct: Path) -> dict[str, Path]:
    # As images are compiled: what is one instruction needs no library.
    return board_program(spec, "scratchpad-count", "-fbuiltin", "-fno-math-errno", beside=[direct])


def _direct_source(system: System, names: list[str]) -> str:
    """The same steps, compiled into the program, as functions that are called."""
    steps = {name: task.step_to_run for name, task in system.tasks.items()}
    headers = dict.fromkeys(str(system.path(step.file).resolve()) for step in steps.values())
    lines = ['#include "consort/spm/step.hpp"', *(f'#include "{h}"' for h in headers)]
    lines += ["using consort::spm::Partition;", "namespace {", "void nothing(const Partition&) {}", "}"]
    called = [
        "&nothing" if name == EMPTY else f"&consort::spm::ThreePhase<&::{steps[name].name}>::run"
        for name in names
    ]
    lines += [
        f'extern "C" {{ extern void (*const consort_direct[])(const Partition&) = {{{", ".join(called)}}}; }}'
    ]
    return "\n".join(lines) + "\n"


def systems() -> tuple[System, System]:
    root = need_source_tree("counting instructions")
    return load_system(root / "examples/automotive/system.yaml"), load_system(
        root / "bench/board/patterns.yaml"
    )


# --- what the description of the paper's processor gives


def simulated_rows(system: System, published: list[Published]) -> list[dict[str, Any]]:
    """Each task's longest response in three phases, and out of main memory with the published times there."""
    phases = simulate(prepare(system), SIMULATED, choice="worst").figures
    tasks = {name: task.model_copy(update={"execution": "local"}) for name, task in system.tasks.items()}
    switch = {core: str(system.context_switch(f"{core}-0")) for core in system.scheduling}
    policy = {
        core: Scheduling.model_validate({"policy": "fixed-priority-non-preemptive", "context_switch": time})
        for core, time in switch.items()
    }
    plain = system.model_copy(update={"tasks": tasks, "scheduling": policy})
    direct = simulate(prepare(plain), SIMULATED, choice="worst").figures
    rows = []
    for name in system.tasks:
        operations = moved(system, name) or (None, None)
        rows.append(
            {
                "what": "MPC5777M",
                "name": name,
                "load_us": _us(operations[0]),
                "unload_us": _us(operations[1]),
                "response_three_phase_us": _us(phases[name].max_response),
                "response_direct_us": _us(direct[name].max_response),
                "published_spm_us": _published(published, name, "SPM time"),
                "published_sram_us": _published(published, name, "SRAM time"),
                "provenance": "simulated",
            }
        )
    return rows


def _us(picoseconds: int | None) -> float | None:
    return None if picoseconds is None else picoseconds / 1e6


def _published(published: list[Published], benchmark: str, statistic: str, table: str = "V") -> float | None:
    for row in published:
        if row.of == {"table": table, "benchmark": benchmark} and row.statistic == statistic:
            return row.value
    return None


# --- the benchmark


def counts_of(spec: BoardSpec, io: dict[str, int], switch: int, tasks: list[Counted]) -> list[Count]:
    """All counts, as they are stored."""
    _, io_core, core = roles(spec)
    io_version, version = compiler_version(io_core), compiler_version(core)
    found = [Count(io_core.title, f"slot: {what}", n, io_version) for what, n in io.items()]
    found.append(Count(core.title, "context switch: an empty job", switch, version))
    for task in tasks:
        found.append(Count(core.title, f"{task.name}, {DIRECT}", task.direct, version))
        found.append(Count(core.title, f"{task.name}, {SCRATCHPAD}", task.scratchpad, version))
    return found


def table_iv(
    spec: BoardSpec, io: dict[str, int], switch: int, published: list[Published]
) -> list[dict[str, Any]]:
    """The kernel's own instructions beside the published times."""
    idle = io["nothing to do"]
    counted = {
        "partition load time": io["load begins"] - idle + io["load ends"] - idle,
        "partition unload time": io["unload begins"] - idle + io["unload ends"] - idle,
        "DMA setup": io["one channel programmed"],
        "context switch": switch,
    }
    _, io_core, application_core = roles(spec)
    core = {"context switch": application_core.title}
    return [
        {
            "what": "Table IV",
            "name": name,
            "core": core.get(name, io_core.title),
            "instructions": instructions,
            "published_us": _published(published, "", name, "IV"),
            "provenance": "counted",
        }
        for name, instructions in counted.items()
    ]


def task_rows(what: str, tasks: list[Counted], published: list[Published]) -> list[dict[str, Any]]:
    return [
        {
            "what": what,
            "name": PATTERNS.get(task.name, task.name),
            "direct": task.direct,
            "scratchpad": task.scratchpad,
            "ratio": task.scratchpad / task.direct,
            "moved_bytes": task.moved,
            "instruction_bytes": task.image,
            "published_relocatable_bytes": _published(published, task.name, "relocatable code size"),
            "published_sram_over_spm": _ratio(published, task.name),
            "provenance": "counted",
        }
        for task in tasks
    ]


def _ratio(published: list[Published], name: str) -> float | None:
    times = [_published(published, name, f"{where} time") for where in ("SRAM", "SPM")]
    return None if times[0] is None or times[1] is None else times[0] / times[1]


def stored_file() -> Path:
    return experiment_folder(PAPER, "scratchpad") / "counted.csv"


def goals_of(
    spec: BoardSpec, io: dict[str, int], switch: int, tasks: list[Counted], before: list[Count] | None
) -> tuple[list[dict[str, Any]], list[str]]:
    longest = max(n for what, n in io.items() if what != SLOTS[-1])
    found = counts_of(spec, io, switch, tasks)
    said = [] if before is None else changes(found, before) + missing(found, before)
    why = "nothing is stored" if before is None else ""
    goals = [
        goal("slot_handling", longest / SLOT, "of a slot", "<=", 0.01, provenance="counted"),
        goal("context_switch", switch / SLOT, "of a slot", "<=", 0.01, provenance="counted"),
        goal(
            "scratchpad_over_direct",
            max(task.scratchpad / task.direct for task in tasks),
            "ratio",
            "<=",
            1.05,
            provenance="counted",
        ),
        goal("wrong_outputs", sum(t.wrong for t in tasks), "count", "<=", 0, provenance="counted"),
        goal(
            "changed_counts",
            None if before is None else len(said),
            "count",
            "<=",
            0,
            provenance="counted",
            reason=why,
        ),
    ]
    return goals, said


def run_on_board(options: Options) -> BenchResult:
    """The benchmark, the packets of section VII.B with it; `Options` as for the machine's own."""
    if options.iterations is not None or options.seconds is not None:
        raise BadInput("a counted run is exact: neither --iterations nor --seconds", field="--board")
    published = read_published(experiment_folder(PAPER, "figure7") / "published.csv")
    kernels, patterns = systems()
    spec = kernel_board(options.board)
    io, switch, first, second = _count(options, kernels, patterns)
    file = stored_file()
    goals, said = goals_of(spec, io, switch, [*first, *second], load(file) if file.is_file() else None)
    options.progress("simulating", None)
    rows = [
        *table_iv(spec, io, switch, published),
        *task_rows("Figure 5", second, published),
        *task_rows("Table V", first, published),
        *simulated_rows(kernels, published),
    ]
    packets = board_bandwidth.run(options)
    notes = [*said, f"counts that changed by more than {ALLOWED:.0%} are named; stored: {file.name}"]
    machine = {"board": spec.name, "emulated": True, "time": "one nanosecond an instruction"}

    def show(console: Any) -> None:
        _show(console, rows)
        if packets.show is not None:
            packets.show(console)

    goals += packets.goals
    return BenchResult(goals, [*rows, *packets.rows], machine, notes, {"slots": io}, show=show)


def _count(
    options: Options, kernels: System, patterns: System
) -> tuple[dict[str, int], int, list[Counted], list[Counted]]:
    options.progress("counting on the I/O core", None)
    io = io_core_counts(options.board)
    options.progress("building and counting the kernels", None)
    first, switch = application_core_counts(kernels, options.board)
    options.progress("building and counting the patterns", None)
    second, _ = application_core_counts(patterns, options.board)
    return io, switch, first, second


def _show(console: Any, rows: list[dict[str, Any]]) -> None:
    from rich.table import Table

    def text(value: Any) -> str:
        return "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)

    titles = {
        "Table IV": "Table IV: the kernel itself, instructions counted; published beside",
        "Figure 5": "Figure 5: instructions of a job, counted",
        "Table V": "Table V: instructions of a job, counted; published beside",
        "MPC5777M": "On the description of the MPC5777M: simulated; published beside",
    }
    for what, title in titles.items():
        part = [row for row in rows if row["what"] == what]
        table = Table(title=title)
        heads = [h for h in part[0] if h not in ("what", "provenance")]
        for head in heads:
            table.add_column(head.replace("_", " "))
        for row in part:
            table.add_row(*(text(row[h]) for h in heads))
        console.print(table)


if __name__ == "__main__":
    # Stores what is counted now.
    _io, _switch, _first, _second = _count(Options("scratchpad"), *systems())
    _counts = counts_of(kernel_board(), _io, _switch, [*_first, *_second])
    store(_counts, stored_file(), "PYTHONPATH=bench/python python -m consort_bench.board_scratchpad")
    sys.stdout.write(f"{stored_file()}\n")
