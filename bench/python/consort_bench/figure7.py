# SPDX-License-Identifier: Apache-2.0
"""`consort bench figure7`: schedulability over utilisation (spm-centric-os, section VII.E), in each reading.

The paper leaves open which slot Figure 7 uses and whose execution times make up the utilisation;
experiments/spm-centric-os/figure7 has the sweep over both, and says what each reading gives.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from consort.base.environment import environment
from consort.base.errors import BadInput
from consort.record.store import default_root
from consort.sweep.cells import Cells, spec_of
from consort.sweep.load import PROGRAM_COLUMNS, load_sweep
from consort.sweep.run import run as run_sweep
from consort.sweep.run import write_all
from consort.sweep.store import Point, identity, points
from consort.sweep.work import programs

from consort_bench.published import Published, experiment_folder, read_published
from consort_bench.registry import BenchResult, Options, goal
from consort_bench.run_folder import series

PAPER, NAME = "spm-centric-os", "figure7"
LABELS = {
    "three-phase-printed": "scratchpad, bound as printed (unsound)",
    "three-phase": "scratchpad, corrected bound",
    "three-phase-round-robin": "scratchpad, round robin with operations of their own length",
    "contended": "contended SRAM",
}
UTILISATIONS = tuple(round(0.05 * step, 2) for step in range(1, 21))
SETS, QUICK = 1_000, 200
CORES = 2
# The slots of the sweep, by the names of their readings.
TABLE, FITTED, OF_SET = "table", "fitted", "set"


@dataclass(frozen=True)
class Workload:
    """The paper's figures as integers of nanoseconds."""

    names: list[str]
    # Scratchpad time, contended time, load time, unload time of each benchmark.
    programs: list[list[int]]
    largest: str
    table_slot: int
    fitted_slot: int
    periods: tuple[int, int]
    context_switch: int


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
    programs: dict[str, list[int]] = {}
    for name in names:
        size = number("relocatable code size", name) + number("data size", name)
        programs[name] = [
            round(number("SPM time", name) * 1e3),
            round(number("SRAM time", name) * 1e3),
            moved(size, number("partition load time")),
            moved(size, number("partition unload time")),
        ]
    largest = max(programs, key=lambda name: max(programs[name][2:]))
    return Workload(
        list(programs),
        list(programs.values()),
        largest,
        moved(partition, max(number("partition load time"), number("partition unload time"))),
        max(programs[largest][2:]),
        (round(number("shortest period") * 1e6), round(number("longest period") * 1e6)),
        round(number("context switch") * 1e3),
    )


def programs_csv(load: Workload) -> str:
    """The content of programs.csv beside the sweep; derived from published.csv."""
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(PROGRAM_COLUMNS)
    table.writerows([name, *row] for name, row in zip(load.names, load.programs, strict=True))
    return out.getvalue()


def shares(
    load: Workload,
    analyses: Sequence[str],
    slot: int,
    utilisation_of: str,
    utilisations: Sequence[float],
    sets: int,
) -> dict[str, list[float]]:
    """The proportion of schedulable sets at each utilisation, of points that are in no sweep."""
    fixed = {
        "utilisation_of": utilisation_of,
        "slot": slot,
        "cores": CORES,
        "shortest": load.periods[0],
        "longest": load.periods[1],
        "context_switch": load.context_switch,
        "keep_last": True,
    }

    def share(analysis: str, utilisation: float) -> float:
        return programs(load.programs, analysis, {**fixed, "utilisation": utilisation}, 1, sets) / sets

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        return {analysis: list(pool.map(partial(share, analysis), utilisations)) for analysis in analyses}


def break_even(load: Workload, sets: int, utilisation: float = 0.6) -> float:
    """The slot [us] from which on the scratchpad system schedules fewer sets than the contended one."""
    at = (utilisation,)
    contended = shares(load, ("contended",), 0, "scratchpad", at, sets)["contended"][0]
    low, high = load.fitted_slot, load.table_slot
    while high - low > 1_000:
        middle = (low + high) // 2
        share = shares(load, ("three-phase",), middle, "scratchpad", at, sets)["three-phase"][0]
        low, high = (middle, high) if share > contended else (low, middle)
    return (low + high) / 2e3


def reading(row: Point) -> str:
    """The reading of the paper to which a point belongs."""
    slot = {0: OF_SET, -1: FITTED}.get(row["slot_ns"], TABLE)
    return f"{slot}-{'sram' if row['utilisation_of'] == 'contended' else 'spm'}"


def run(options: Options) -> BenchResult:
    """Redoes Figure 7; `iterations` is the number of task sets a point."""
    experiment = experiment_folder(PAPER, NAME)
    load = workload(read_published(experiment / "published.csv"))
    file = experiment / "programs.csv"
    if file.read_text(encoding="utf-8") != programs_csv(load):
        raise BadInput("is not what published.csv gives; write figure7.programs_csv into it", file=file)
    sets = options.iterations or (QUICK if options.quick else SETS)
    loaded = load_sweep(experiment / "sweep.yaml", sets)
    cells = Cells(spec_of(loaded))
    # A folder for each number of sets and each state of the code: what was interrupted is gone on with.
    folder = (options.root or default_root()) / "sweeps" / f"{NAME}-{identity(cells)[:16]}"
    made: list[Point] = []
    files: list[Path] = []

    def finish(result: Any) -> None:
        made.extend(points(cells, result))
        files.extend(write_all(loaded, cells, result, folder))

    run_sweep(
        cells,
        folder,
        NAME,
        workers=0 if options.quick else None,
        progress=options.progress,
        finish=finish,
    )
    even = break_even(load, min(sets, 1_000))
    table = [
        {
            "reading": reading(row),
            "curve": row["analysis"],
            "utilisation": row["utilisation"],
            "schedulable": row["share"],
            "sets": row["sets"],
            "provenance": row["provenance"],
        }
        for row in made
    ]

    def area(curve: str) -> float:
        found = [
            row["schedulable"] for row in table if (row["reading"], row["curve"]) == (f"{FITTED}-spm", curve)
        ]
        return float(sum(found) / len(found))

    gain = area("three-phase") - area("contended")
    improved = area("three-phase-round-robin") - area("three-phase")
    goals = [
        goal("figure7_gain_with_fitted_slot", gain, "mean share", ">=", 0, provenance="bound"),
        goal("figure7_round_robin_gain", improved, "mean share", ">=", 0, provenance="bound"),
    ]
    return BenchResult(
        goals,
        table,
        environment(),
        [
            f"break-even slot at U = 0.60: {even:.0f} us; with a longer one contended SRAM is better",
            *(f"{file}" for file in files if file.suffix in (".html", ".svg")),
        ],
        {"break_even_slot_us": even, "folder": str(folder)},
        lambda console: _show(console, table),
        [curves_of(name, table) for name in dict.fromkeys(row["reading"] for row in table)],
    )


def curves_of(name: str, rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """A reading's curves."""
    mine = [row for row in rows if row["reading"] == name]
    return {
        "title": f"Figure 7, slot and utilisation: {name}",
        "x": {"label": "utilisation"},
        "y": {"label": "share of schedulable sets"},
        "series": [
            series(
                LABELS[curve],
                "bound",
                [(row["utilisation"], row["schedulable"]) for row in mine if row["curve"] == curve],
            )
            for curve in dict.fromkeys(row["curve"] for row in mine)
        ],
        "note": "The paper plots its curves and prints no point of them: none can stand beside.",
        "source": "Tabish et al. 2016, section VII.E",
    }


def _show(console: Any, rows: list[dict[str, Any]]) -> None:
    from rich.table import Table

    for title in dict.fromkeys(row["reading"] for row in rows):
        mine = [row for row in rows if row["reading"] == title]
        curves = dict.fromkeys(row["curve"] for row in mine)
        table = Table(title=f"slot and utilisation: {title}", title_justify="left")
        table.add_column("U", justify="right")
        for curve in curves:
            table.add_column(LABELS[curve], justify="right")
        for u in dict.fromkeys(row["utilisation"] for row in mine):
            at = {row["curve"]: row["schedulable"] for row in mine if row["utilisation"] == u}
            table.add_row(f"{u:.2f}", *(f"{at[curve]:.3f}" for curve in curves))
        console.print(table)
