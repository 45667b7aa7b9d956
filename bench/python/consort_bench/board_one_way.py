# SPDX-License-Identifier: Apache-2.0
"""`consort bench figure3` to `figure5` with `--board`: Coppik et al. 2025 on an emulated board.

Between an application core (the paper's APU) and a real-time core (the RPU), through DDR and on-chip memory:
the first pair of cores that a board's `exchanges` list with on-chip memory. An interrupt between two
application cores of the scratchpad kernel's board, because an R5F's interrupt controller is not modelled.
Counted: an instruction of whichever core is a nanosecond, and two runs give the same figures. See
experiments/low-latency-icc/*/README.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from consort.base.errors import BadInput, environment_errors
from consort.base.toolchain.builds import need_source_tree
from consort.base.waiting import signals_to_exceptions
from consort.board import Board
from consort.board.boards import board_named, kernel_board, roles
from consort.board.image import board_program, build_image
from consort.record import RunWriter
from consort.record.summary import summarise
from consort.report import PAGES
from numpy.typing import NDArray

from consort_bench.one_way import EXPERIMENTS, PAPER, SIZES
from consort_bench.one_way_boards import one_way_boards, sides_of
from consort_bench.published import Published, experiment_folder, read_published
from consort_bench.registry import BenchResult, Options, goal

ITERATIONS, QUICK, MOST = 1_000, 100, 5_000
LOG = 0x100000
MEMORIES = ("DDR", "OCM")
TO_RPU, TO_APU = "APU->RPU", "RPU->APU"
STATISTICS = ("min", "median", "mean", "p99", "max")
SECONDS = 300.0
# The legs, in the order of bench/board/one_way.cpp and of interrupt.cpp.
LEGS: tuple[tuple[str, str, int | None], ...] = (
    *((f"one byte, {memory}", direction, None) for memory in MEMORIES for direction in (TO_RPU, TO_APU)),
    *((f"array and flag, {memory}", TO_RPU, size) for memory in MEMORIES for size in SIZES),
)
INTERRUPT_LEGS: tuple[tuple[str, str, int | None], ...] = tuple(
    (what, direction, None)
    for what in ("software-generated interrupt", "one byte, DDR")
    for direction in ("A72 0->1", "A72 1->0")
)


def one_way_times(iterations: int, board_name: str | None = None) -> tuple[NDArray[np.int64], int, int]:
    """All legs of one counted run (leg, iteration), from the sender's to the receiver's reading.

    Also how many contents were wrong, and what was taken off for the two counters' different beginnings.
    """
    spec = board_named(board_name or one_way_boards()[0])
    sides = sides_of(spec)
    assert sides is not None, "boards_of() has only boards with such a pair"
    source = need_source_tree("a benchmark") / "bench" / "board" / "one_way.cpp"
    images = {core.name: build_image(core, source) for core in sides}
    orders = {core.place: (1, (iterations, LOG)) for core in sides}
    with Board(spec, images, orders=orders, counted=True) as board:
        board.wait([core.place for core in sides], SECONDS)
        legs, wrong = board.control_blocks[sides[0].place].results[:2]
        wrong += board.control_blocks[sides[1].place].results[1]
        log = np.frombuffer(board.read(LOG, legs * iterations * 16), "<i8").reshape(legs, iterations, 2)
    times = (log[:, :, 1] - log[:, :, 0]).astype(np.int64)
    # The first one of each leg finds code that was not translated and a side that is not there yet.
    times = times[:, 1:]
    # Leg 0 is DDR to the R5F, leg 1 DDR to the A72: half the difference of their shortest times.
    offset = int(times[0].min() - times[1].min()) // 2
    to_apu = np.zeros(legs, dtype=bool)
    to_apu[[1, 3]] = True
    times = np.where(to_apu[:, None], times + offset, times - offset)
    return times, int(wrong), offset


def interrupt_times(iterations: int, board_name: str | None = None) -> tuple[NDArray[np.int64], int, int]:
    """The same between two application cores: interrupts from and to the first one, then one byte."""
    spec = kernel_board(board_name)
    kernel, _, core = roles(spec)
    second = kernel.second_core_control_block
    images = board_program(spec, "interrupt")
    with Board(spec, images, orders={core.place: (1, (iterations, LOG))}, counted=True) as board:
        board.wait([core.place, second], SECONDS)
        legs, wrong = board.control_blocks[core.place].results[:2]
        wrong += board.control_blocks[second].results[1]
        log = np.frombuffer(board.read(LOG, legs * iterations * 16), "<i8").reshape(legs, iterations, 2)
    times = (log[:, 1:, 1] - log[:, 1:, 0]).astype(np.int64)
    # Like processors in like loops: the byte takes as long both ways.
    offset = int(times[2].min() - times[3].min()) // 2
    signs = np.array([-1, 1, -1, 1])[:, None]
    return times + signs * offset, int(wrong), offset


def rows_of(legs: Sequence[tuple[str, str, int | None]], times: NDArray[np.int64]) -> list[dict[str, Any]]:
    """A row for each leg."""
    rows = []
    for (what, direction, size), mine in zip(legs, times, strict=True):
        summary = summarise(mine, "instructions", "counted")
        assert summary is not None
        figures = {name: round(float(getattr(summary, name)), 1) for name in STATISTICS}
        rows.append(
            {"what": what, "direction": direction, "bytes": size, "n": summary.n, **figures}
            | {"unit": "instructions", "provenance": "counted"}
        )
    return rows


@environment_errors()
def run(options: Options) -> BenchResult:
    """The figure that `options.name` names, on the board."""
    signals_to_exceptions()
    if options.sizes:
        raise BadInput(f"{options.name} has the paper's sizes; leave --sizes out", field="--sizes")
    iterations = options.iterations or (QUICK if options.quick else ITERATIONS)
    if not 2 <= iterations <= MOST:
        raise BadInput(f"on a board 2 to {MOST} iterations are run", field="--iterations")
    experiment = EXPERIMENTS[options.name]
    published = read_published(experiment_folder(PAPER, options.name) / "published.csv")
    if options.name == "figure4":
        options.progress("interrupts between the application cores", None)
        times, wrong, offset = interrupt_times(iterations, options.board)
        rows = rows_of(INTERRUPT_LEGS, times)
        hardware = (
            "No bus and no interrupt controller takes time in an emulator: what is left of an interrupt is"
            " the handler's entry, no longer than a byte's way; on the paper's board it is."
        )
    else:
        options.progress("DDR and on-chip memory", None)
        times, wrong, offset = one_way_times(iterations, options.board)
        rows = rows_of(LEGS, times)
        hardware = (
            "No cache, no interconnect: both memories cost the same, and no direction differs for the"
            " hardware's sake."
        )
    note = (
        "Counted: instructions of both cores between the sender's and the receiver's reading of the clock,"
        f" the same in every run. {hardware} The two cores' counters begin at different times:"
        f" {offset} ns were taken off, so that one byte's shortest times are equal in both directions."
    )
    if options.name == "figure5":
        rows = [row for row in rows if row["bytes"] is not None]
    elif options.name == "figure3":
        rows = [row for row in rows if row["bytes"] is None]
    goals = [goal(f"{options.name}_board_content_errors", wrong, "messages", "<=", 0, provenance="counted")]
    with RunWriter(
        f"{options.name}-board", "experiment", options.root, command=options.command, pages=PAGES
    ) as writer:
        table = table_of(rows, published)
        writer.add_section(
            f"{experiment.title}, on the emulated board",
            columns=[{"name": head} for head in HEADS],
            rows=table,
            note=note,
            source="Coppik et al. 2025, section 3",
        )
        writer.add_goals(goals)
        finished = writer.finish()
    return BenchResult(
        goals,
        rows,
        finished.data["environment"],
        [note, f"report: {finished.path / 'report.html'}"],
        {"run": str(finished.path)},
        lambda console: show(console, experiment.title, table),
    )


HEADS = ("what", "direction", "bytes", "n", *STATISTICS, "unit", "provenance")


def table_of(rows: list[dict[str, Any]], published: list[Published]) -> list[list[Any]]:
    """The published medians, idle, then what was counted."""
    table: list[list[Any]] = []
    for row in published:
        if row.value is not None and row.of["load"] == "idle":
            what = f"one byte, {row.of['memory']}" if row.of["memory"] else "inter-processor interrupt"
            cells = [None, row.value if row.statistic == "median" else None, None, None, None]
            table.append([what, row.of["direction"], None, None, *cells, row.unit, row.provenance])
    return table + [[row[head] for head in HEADS] for row in rows]


def show(console: Any, title: str, rows: list[list[Any]]) -> None:
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    for head in HEADS:
        table.add_column(head, no_wrap=True)
    for row in rows:
        table.add_row(*("" if cell is None else str(cell) for cell in row))
    console.print(table)
