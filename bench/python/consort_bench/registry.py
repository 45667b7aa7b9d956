# SPDX-License-Identifier: Apache-2.0
"""The benchmarks of `consort bench`: each one's name, its module, and one line of help.

A module offers ``run(options: Options) -> BenchResult``; it is imported only when it is run.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from consort.base.waiting import Progress, silent

BENCHMARKS: dict[str, tuple[str, str]] = {
    "analysis": ("consort_bench.analysis", "sets and jobs a second of the analyses and the simulator"),
    "board": (
        "consort_bench.board",
        "the executive on bare cores: instructions and bytes, counted beside FreeRTOS in the same emulator",
    ),
    "communication": (
        "consort_bench.communication",
        "models of what messages cost, against published points that they were not fitted to",
    ),
    "controller": ("consort_bench.controller", "the servo controller's step against a hand-unrolled loop"),
    "cross-isa-architectures": (
        "consort_bench.architectures",
        "what software architectures for unlike processors have to move, over the model of the link",
    ),
    "cross-isa-figure2": (
        "consort_bench.cross_isa",
        "Neef et al., Figure 2: a link's throughput over packet size, modelled and measured",
    ),
    "cross-isa-figure3": (
        "consort_bench.cross_isa",
        "Neef et al., Figure 3: blocking transfers, descriptors of 4 KiB and 2 MiB",
    ),
    "drive": (
        "consort_bench.drive",
        "examples/drive at 20 kHz: ten million jobs held to their bounds",
    ),
    "edge-figure3": ("consort_bench.edge", "Orciari et al. 2024, Figure 3: the controller here and there"),
    "edge-figure4": ("consort_bench.edge", "Orciari et al. 2024, Figure 4: the same, with quiet caches"),
    "executive": ("consort_bench.executive", "the executive against cyclictest and a hand-written loop"),
    "figure2": ("consort_bench.papers", "Orciari et al. 2024, Figure 2: throughput over size"),
    "figure3": ("consort_bench.papers", "Coppik et al. 2025, Figure 3: one-byte signalling"),
    "figure4": ("consort_bench.papers", "Coppik et al. 2025, Figure 4: a signal to a sleeper"),
    "figure5": ("consort_bench.papers", "Coppik et al. 2025, Figure 5: transfer time over size"),
    "figure7": ("consort_bench.figure7", "Tabish et al. 2016, Figure 7: schedulability over utilisation"),
    "icc": ("consort_bench.icc", "mailbox, queue and snapshot against floors and peers"),
    "migrate": (
        "consort_bench.migrate",
        "jobs that can move in mid-job: run time, code, a move; and a stream through a shared region",
    ),
    "loopback": ("consort_bench.papers", "there and back: 0 to 1024 bytes, interference off and on"),
    "scratchpad": (
        "consort_bench.scratchpad",
        "Tabish et al. 2016, Table IV, Figures 5 and 6, Table V: three phases beside a stream",
    ),
    "soundness": (
        "consort_bench.soundness",
        "three-phase bounds attacked: schedules above them looked for in random sets",
    ),
    "remote": (
        "consort_remote_bench.remote",
        "remote memory by the user-level pager: faults and streams against bare userfaultfd and TCP",
    ),
    "remote-workloads": (
        "consort_remote_bench.remote_workloads",
        "remote memory: STREAM, random access, sort, NumPy and Redis, 25 to 100 % local, and swap",
    ),
    "remap": (
        "consort_remote_bench.remap",
        "remote memory: use of the link in three packetizations, counted",
    ),
    "remap-campaign": (
        "consort_remote_bench.remap_campaign",
        "remote memory: ten million transactions over every kind of fault, nothing lost (20 minutes)",
    ),
    "remap-size": (
        "consort_remote_bench.remap_size",
        "remote memory: LUTs, RAMs, LUT levels, estimated; a clock, placed for an ECP5 (minutes)",
    ),
    "remap-system": (
        "consort_remote_bench.remap_system",
        "remote memory, Figures 12 and 13, Table II: STREAM and latencies, published beside simulated",
    ),
    "sweep": (
        "consort_bench.sweep",
        "a sweep on a local Dask cluster against a bare loop, and its result after kills",
    ),
    "table1": (
        "consort_bench.papers",
        "Orciari et al. 2024, Table I: the loopback test, beside the published",
    ),
    "thirty-us": (
        "consort_bench.thirty_us",
        "sense, compute on another processor, act within 30 us: which memory and which wait make it hold",
    ),
}

# Those that redo a paper's table or figure, or judge a model by it: each leaves a run folder with a report.
EXPERIMENTS = frozenset(
    [
        "communication",
        "cross-isa-figure2",
        "cross-isa-figure3",
        "edge-figure3",
        "edge-figure4",
        "figure2",
        "figure3",
        "figure4",
        "figure5",
        "figure7",
        "loopback",
        "scratchpad",
        "remap",
        "remap-campaign",
        "remap-size",
        "remap-system",
        "remote-workloads",
        "table1",
        "thirty-us",
    ]
)

# Which of them can run on emulated boards (`--board`): on all, on those with two clusters that share on-chip
# memory, or on those that run the scratchpad kernel.
ON_ALL_BOARDS = ("icc",)
ON_ONE_WAY_BOARDS = ("figure3", "figure5")
ON_KERNEL_BOARDS = ("figure4", "scratchpad")
# Processes of this machine among themselves, in the memory of a board whose cores are idle; and everything.
PROCESSES_ONLY, ALL = "processes", "all"


def boards_of(name: str) -> tuple[str, ...]:
    """The values of `--board` for a benchmark."""
    from consort.board.boards import board_names, kernel_boards

    from consort_bench.one_way_boards import one_way_boards

    if name in ON_ALL_BOARDS:
        return (*board_names(), PROCESSES_ONLY, ALL)
    if name in ON_ONE_WAY_BOARDS:
        return tuple(one_way_boards())
    return tuple(kernel_boards()) if name in ON_KERNEL_BOARDS else ()


@dataclass(frozen=True)
class Options:
    """Options of the command line for all benchmarks; each takes those that concern it."""

    name: str
    quick: bool = False
    seconds: float | None = None
    iterations: int | None = None
    sizes: tuple[int, ...] = ()
    interference: str = "both"  # off, on, both
    scheduling: str = "both"  # ordinary, realtime, both
    board: str | None = None  # icc: on this emulated board instead of this machine
    root: Path | None = None
    command: list[str] | None = None
    progress: Progress = silent


@dataclass(frozen=True)
class BenchResult:
    """Goals as they are printed, the rows behind them, and what they were measured on."""

    goals: list[dict[str, Any]]
    rows: list[dict[str, Any]]
    machine: dict[str, Any] = field(default_factory=dict)
    # Lines for the reader, such as where the run was recorded.
    notes: list[str] = field(default_factory=list)
    # Further keys of the printed object.
    extra: dict[str, Any] = field(default_factory=dict)
    # Prints the rows on a rich console in the benchmark's own form; without it they are printed as they are.
    show: Callable[[Any], None] | None = None
    # Figures for the report, as `consort.record.sections` has them, without their kind.
    figures: list[dict[str, Any]] = field(default_factory=list)
    # A goal has no value because the machine lacks something: exit status 3, unless another is not met.
    lacking: bool = False


def load(name: str) -> Callable[[Options], BenchResult]:
    """The function that runs a benchmark of the registry."""
    function: Callable[[Options], BenchResult] = importlib.import_module(BENCHMARKS[name][0]).run
    return function


def goal(
    name: str,
    value: float | None,
    unit: str,
    sense: str,
    limit: float,
    *,
    provenance: str = "measured",
    reason: str = "",
) -> dict[str, Any]:
    """One goal; `met` is null, with a reason, where there is no value."""
    met = None if value is None else (value <= limit if sense == "<=" else value >= limit)
    made: dict[str, Any] = {
        "name": name,
        "value": value,
        "unit": unit,
        "sense": sense,
        "limit": limit,
        "met": met,
        "provenance": provenance,
    }
    if value is None:
        made["reason"] = reason or "not measured"
    return made


def grouped(rows: list[dict[str, Any]]) -> list[tuple[list[str], list[dict[str, Any]]]]:
    """Rows with the same columns together; nested values and keys for programs are left to --json."""
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in rows:
        columns = tuple(k for k, v in row.items() if not isinstance(v, dict | list) and k != "key")
        groups.setdefault(columns, []).append(row)
    return [(list(columns), members) for columns, members in groups.items()]
