# SPDX-License-Identifier: Apache-2.0
"""`consort bench figure7`: schedulability over utilisation (spm-centric-os, section VII.E), in each reading.

The paper leaves open which slot Figure 7 uses and whose execution times make up the utilisation;
experiments/spm-centric-os/figure7 says what each reading gives.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from consort import _engine
from consort.record import environment
from consort.record.store import default_root

from consort_bench.published import Published, experiment_folder, read_published
from consort_bench.registry import BenchResult, Options, goal

PAPER, NAME = "spm-centric-os", "figure7"
CURVES = ("literal", "corrected", "round-robin", "contended")
LABELS = {
    "literal": "scratchpad, bound as printed (unsound)",
    "corrected": "scratchpad, corrected bound",
    "round-robin": "scratchpad, round robin with operations of their own length",
    "contended": "contended SRAM",
}
UTILISATIONS = tuple(round(0.05 * step, 2) for step in range(1, 21))
SETS, QUICK = 1_000, 200
CORES = 2


@dataclass(frozen=True)
class Workload:
    """The paper's figures as integers of nanoseconds."""

    # (scratchpad time, contended time, load time, unload time) of each benchmark
    programs: list[tuple[int, int, int, int]]
    largest: str
    table_slot: int
    fitted_slot: int
    periods: tuple[int, int]
    context_switch: int


@dataclass(frozen=True)
class Reading:
    """One way to read what the paper leaves open."""

    key: str
    title: str
    slot: int  # ns; 0: the largest footprint of the set at hand
    by_contended: bool
    curves: tuple[str, ...]


def workload(rows: list[Published]) -> Workload:
    """The workload of Tables III to V.

    A partition holds half of a core's scratchpads; moving a task takes the share of the partition's time that
    its bytes are of the partition's, and the DMA's set-up.
    """

    def number(statistic: str, benchmark: str = "") -> float:
        found = [r for r in rows if r.statistic == statistic and r.of["benchmark"] == benchmark]
        value = found[0].value if len(found) == 1 else None
        if value is None:
            raise LookupError(f"published.csv has no value {statistic!r} of {benchmark!r}")
        return value

    partition = (number("instruction local memory") + number("data local memory")) * 1024 / 2
    setup = number("DMA setup")

    def moved(size: float, whole: float) -> int:
        return round((size / partition * whole + setup) * 1e3)

    names = sorted({r.of["benchmark"] for r in rows} - {""})
    programs: dict[str, tuple[int, int, int, int]] = {}
    for name in names:
        size = number("relocatable code size", name) + number("data size", name)
        programs[name] = (
            round(number("SPM time", name) * 1e3),
            round(number("SRAM time", name) * 1e3),
            moved(size, number("partition load time")),
            moved(size, number("partition unload time")),
        )
    largest = max(programs, key=lambda name: max(programs[name][2:]))
    return Workload(
        list(programs.values()),
        largest,
        moved(partition, max(number("partition load time"), number("partition unload time"))),
        max(programs[largest][2:]),
        (round(number("shortest period") * 1e6), round(number("longest period") * 1e6)),
        round(number("context switch") * 1e3),
    )


def sweep(
    load: Workload,
    curves: tuple[str, ...],
    slot: int,
    by_contended: bool,
    utilisations: tuple[float, ...],
    sets: int,
    *,
    keep_last: bool = True,
    seed: int = 1,
) -> dict[str, list[float]]:
    """The proportion of schedulable sets, by curve, at each utilisation. Two context switches a job."""
    counts = _engine.spm_sweep(
        load.programs,
        list(utilisations),
        list(curves),
        slot,
        0,
        CORES,
        list(load.periods),
        [2 * load.context_switch, 2 * load.context_switch],
        by_contended,
        keep_last,
        sets,
        seed,
        os.cpu_count() or 1,
    )
    return {curve: [n / sets for n in row] for curve, row in zip(curves, counts, strict=True)}


def readings(load: Workload) -> list[Reading]:
    fitted = f"slot fits the largest footprint ({load.largest}), {load.fitted_slot / 1e3:.1f} us"
    table = f"slot of Table IV, {load.table_slot / 1e3:.1f} us"
    with_printed = ("literal", "corrected", "contended")
    return [
        Reading("table-spm", f"{table}; U by scratchpad times", load.table_slot, False, with_printed),
        Reading("fitted-spm", f"{fitted}; U by scratchpad times", load.fitted_slot, False, CURVES),
        Reading("set-spm", "slot fits the set's own largest; U by scratchpad times", 0, False, with_printed),
        Reading("table-sram", f"{table}; U by SRAM times", load.table_slot, True, with_printed),
        Reading("fitted-sram", f"{fitted}; U by SRAM times", load.fitted_slot, True, CURVES),
    ]


def break_even(load: Workload, sets: int, utilisation: float = 0.6) -> float:
    """The slot [us] from which on the scratchpad system schedules fewer sets than the contended one."""
    contended = sweep(load, ("contended",), 0, False, (utilisation,), sets)["contended"][0]
    low, high = load.fitted_slot, load.table_slot
    while high - low > 1_000:
        middle = (low + high) // 2
        share = sweep(load, ("corrected",), middle, False, (utilisation,), sets)["corrected"][0]
        low, high = (middle, high) if share > contended else (low, middle)
    return (low + high) / 2e3


def run(options: Options) -> BenchResult:
    """Redoes Figure 7; `iterations` is the number of task sets a point."""
    rows = read_published(experiment_folder(PAPER, NAME) / "published.csv")
    load = workload(rows)
    sets = options.iterations or (QUICK if options.quick else SETS)
    done: dict[str, dict[str, list[float]]] = {}
    chosen = readings(load)
    for index, reading in enumerate(chosen):
        options.progress(reading.title, index / len(chosen))
        done[reading.key] = sweep(
            load, reading.curves, reading.slot, reading.by_contended, UTILISATIONS, sets
        )
    even = break_even(load, min(sets, 1_000))
    table = [
        {
            "reading": reading.key,
            "curve": curve,
            "utilisation": u,
            "schedulable": share,
            "sets": sets,
            "provenance": "bound",
        }
        for reading in chosen
        for curve in reading.curves
        for u, share in zip(UTILISATIONS, done[reading.key][curve], strict=True)
    ]

    def area(reading: str, curve: str) -> float:
        return sum(done[reading][curve]) / len(UTILISATIONS)

    gain = area("fitted-spm", "corrected") - area("fitted-spm", "contended")
    improved = area("fitted-spm", "round-robin") - area("fitted-spm", "corrected")
    goals = [
        goal("figure7_gain_with_fitted_slot", gain, "mean share", ">=", 0, provenance="bound"),
        goal("figure7_round_robin_gain", improved, "mean share", ">=", 0, provenance="bound"),
    ]
    folder = options.root or default_root()
    picture = plot(chosen, done, sets, folder / "figure7.svg")
    return BenchResult(
        goals,
        table,
        environment(),
        [
            f"break-even slot at U = 0.60: {even:.0f} us; with a longer one contended SRAM is better",
            f"plot: {picture}",
        ],
        {"break_even_slot_us": even, "plot": str(picture)},
        lambda console: _show(console, chosen, done),
    )


def plot(chosen: list[Reading], done: dict[str, dict[str, list[float]]], sets: int, file: Path) -> Path:
    """One panel a reading, as SVG."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.2 * len(chosen), 4.2), layout="constrained")
    axes = figure.subplots(1, len(chosen), sharey=True, squeeze=False)[0]
    style = {
        "literal": {"color": "0.55", "linestyle": ":", "marker": "x"},
        "corrected": {"color": "C0", "marker": "o"},
        "round-robin": {"color": "C2", "marker": "s"},
        "contended": {"color": "C3", "linestyle": "--", "marker": "^"},
    }
    for axis, reading in zip(axes, chosen, strict=True):
        for curve in reading.curves:
            look: Any = style[curve]
            axis.plot(UTILISATIONS, done[reading.key][curve], label=LABELS[curve], markersize=4, **look)
        axis.set_title(reading.title.replace("; ", "\n"), fontsize=9)
        axis.set_xlabel("utilisation")
        axis.grid(alpha=0.3)
    axes[0].set_ylabel(f"schedulable sets (of {sets} a point)")
    lines, labels = axes[1].get_legend_handles_labels()
    figure.legend(lines, labels, fontsize=9, loc="outside lower center", ncols=len(labels))
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file)
    return file


def _show(console: Any, chosen: list[Reading], done: dict[str, dict[str, list[float]]]) -> None:
    from rich.table import Table

    for reading in chosen:
        table = Table(title=reading.title, title_justify="left")
        table.add_column("U", justify="right")
        for curve in reading.curves:
            table.add_column(LABELS[curve], justify="right")
        for index, u in enumerate(UTILISATIONS):
            table.add_row(f"{u:.2f}", *(f"{done[reading.key][c][index]:.3f}" for c in reading.curves))
        console.print(table)
