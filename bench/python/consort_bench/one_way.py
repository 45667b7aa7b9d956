# SPDX-License-Identifier: Apache-2.0
"""The benchmarks of Coppik et al. (NG-RES 2025, section 3): Figures 3, 4 and 5, redone here.

One-way times between a master and a worker process on one clock; what is timed, and how it differs from the
paper, is in experiments/low-latency-icc/*/README.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from consort.base.errors import environment_errors
from consort.base.waiting import Progress
from consort.record import Run, RunWriter
from consort.record.writer import scratch_folder
from consort.report import PAGES

from consort_bench.one_way_figures import medians_section
from consort_bench.pair import Class, Recording, moved_bytes_per_second, record
from consort_bench.published import Published, experiment_folder, read_published
from consort_bench.registry import goal

PAPER = "low-latency-icc"
# As in the paper: 1,000 iterations in each of 10 runs, without and with a load that streams through memory.
ITERATIONS, RUNS = 1_000, 10
LOADS: tuple[tuple[str, tuple[str, ...]], ...] = (("idle", ()), ("STREAM", ("stream",)))
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
# Which direction stands for which of the paper's. The processors are alike here, so nothing depends on it.
DIRECTIONS = {"APU->RPU": "to_worker", "RPU->APU": "to_master"}


@dataclass(frozen=True)
class Experiment:
    """One figure: its series, and what stands in the report."""

    name: str
    title: str
    signals: tuple[str, ...]
    sizes: tuple[int, ...] = ()


EXPERIMENTS: dict[str, Experiment] = {
    e.name: e
    for e in (
        Experiment("figure3", "Figure 3: one byte in shared memory, one way", ("byte",)),
        Experiment(
            "figure4", "Figure 4: a signal that wakes a sleeper, one way", ("byte", "eventfd", "futex")
        ),
        Experiment("figure5", "Figure 5: an array and its flag, one way", ("byte",), SIZES),
    )
}


@dataclass(frozen=True)
class Options:
    iterations: int = ITERATIONS
    runs: int = RUNS
    scheduling: Class = "realtime"
    loads: Sequence[str] = ("idle", "STREAM")
    root: Path | None = None
    command: list[str] | None = None


@dataclass(frozen=True)
class Measured:
    """One load's figures: a row for each series."""

    load: str
    name: str
    rows: list[dict[str, Any]]
    content_errors: int
    clock_inversions: int
    moved: dict[str, float]
    notes: list[str]

    def row(self, series: str) -> dict[str, Any]:
        return next(row for row in self.rows if row["series"] == series)


@dataclass(frozen=True)
class Result:
    experiment: Experiment
    run: Run
    configurations: list[Measured]
    published: list[Published]
    goals: list[dict[str, Any]]


@environment_errors()
def measure(experiment: Experiment, options: Options, progress: Progress) -> Result:
    """Measures a figure's series under each load, keeps all samples in one run folder."""
    published = read_published(experiment_folder(PAPER, experiment.name) / "published.csv")
    configurations: list[Measured] = []
    with RunWriter(
        experiment.name, "experiment", options.root, command=options.command, pages=PAGES
    ) as writer:
        for load, sources in LOADS:
            if load not in options.loads:
                continue
            with scratch_folder(options.root) as scratch:
                configurations.append(
                    _measure_one(experiment, options, load, sources, scratch, published, writer, progress)
                )
        goals = _goals(experiment, configurations)
        for section in _sections(experiment, configurations, published):
            writer.add_section(**section)
        writer.add_goals(goals)
        progress("writing the report", None)
        run = writer.finish()
    return Result(experiment, run, configurations, published, goals)


def _measure_one(
    experiment: Experiment,
    options: Options,
    load: str,
    sources: Sequence[str],
    folder: Path,
    published: list[Published],
    writer: RunWriter,
    progress: Progress,
) -> Measured:
    name = f"{options.scheduling}, {'idle' if load == 'idle' else 'streaming load'}"
    arguments = ["--signals", ",".join(experiment.signals), "--iterations", str(options.iterations)]
    arguments += ["--runs", str(options.runs)]
    if experiment.sizes:
        arguments += ["--sizes", ",".join(map(str, experiment.sizes))]
    series = 2 * len(experiment.signals) + len(experiment.sizes)
    recording = record(
        "one_way",
        arguments,
        scheduling=options.scheduling,
        sources=sources,
        # A signal to a sleeper that waits for the scheduler may take some milliseconds.
        seconds=min(3600.0, 300.0 + series * options.runs * (0.1 + options.iterations * 1e-3)),
        folder=folder,
        progress=progress,
        what=name,
    )
    if recording.refused:
        name += " (refused: ran as ordinary)"
    writer.add_configuration(
        load.lower(),
        name,
        recording.raw,
        interference=recording.interference,
        published=_published_rows(published, load),
    )
    names = [table for table in recording.raw.tables if table != "empty_section"]
    return Measured(
        load,
        name,
        [_row(recording, table) for table in names],
        recording.counter("content_errors"),
        recording.counter("clock_inversions"),
        moved_bytes_per_second(recording),
        recording.notes,
    )


def _row(recording: Recording, table: str) -> dict[str, Any]:
    times = recording.ns(table)
    attrs = recording.raw.tables[table].spec.attrs
    runs = np.median(times.reshape(attrs["runs"], attrs["iterations"]), axis=1)
    return {
        "series": table,
        "bytes": attrs.get("bytes"),
        **recording.summary(table).as_dict(),
        "lowest_run_median": float(runs.min()),
        "highest_run_median": float(runs.max()),
    }


def _published_rows(published: list[Published], load: str) -> list[dict[str, Any]]:
    """Published rows beside the report's metrics: the paper's signal is one byte, or an interrupt."""
    rows: list[dict[str, Any]] = []
    for row in published:
        if row.value is None or row.of["load"] != load:
            continue
        direction = DIRECTIONS[row.of["direction"]]
        signals = ("byte",) if row.of["memory"] else ("eventfd", "futex")
        what = row.of["memory"] or "inter-processor interrupt"
        rows += [
            {
                "metric": f"{signal}_{direction}",
                "values": {row.statistic: row.value},
                "unit": row.unit,
                "source": f"{row.source}, {what}, {row.of['direction']}",
            }
            for signal in signals
        ]
    return rows


def clock_offset_ns(measured: Measured) -> float:
    """Half the difference of the two directions' shortest times.

    What the two processors' readings of the one counter differ by, if the way is equally long in both
    directions; the mean of both directions is free of it in any case.
    """
    to_worker, to_master = measured.row("byte_to_worker"), measured.row("byte_to_master")
    return float(to_worker["min"] - to_master["min"]) / 2


def _goals(experiment: Experiment, configurations: list[Measured]) -> list[dict[str, Any]]:
    goals = [
        goal(
            f"{experiment.name}_content_errors",
            sum(c.content_errors for c in configurations),
            "messages",
            "<=",
            0,
        ),
        goal(
            f"{experiment.name}_clock_inversions",
            sum(c.clock_inversions for c in configurations),
            "messages",
            "<=",
            0,
        ),
    ]
    if experiment.name == "figure4":
        # The paper's finding that made it choose shared memory: an interrupt takes longer, in each case.
        ratios = [
            c.row(f"{signal}_{direction}")["median"] / c.row(f"byte_{direction}")["median"]
            for c in configurations
            for signal in ("eventfd", "futex")
            for direction in DIRECTIONS.values()
        ]
        goals.append(goal("figure4_least_wake_over_byte", min(ratios), "", ">=", 1.0))
    return goals


def _sections(
    experiment: Experiment, configurations: list[Measured], published: list[Published]
) -> list[dict[str, Any]]:
    sections = [_table_section(experiment, configurations, published)]
    if experiment.name == "figure3":
        sections.append(medians_section([(c.load, c.rows) for c in configurations], published))
    if experiment.sizes:
        sections.append(_size_section(experiment, configurations))
    return sections


def table_rows(result_rows: list[Measured], published: list[Published]) -> list[list[Any]]:
    """Rows of: subject, direction, load, provenance; min, median, mean, p99, p99.9, max in ns (None: not
    known)."""
    rows: list[list[Any]] = []
    for row in published:
        if row.value is None:
            continue
        what = f"one byte, {row.of['memory']}" if row.of["memory"] else "inter-processor interrupt"
        cells = [what, row.of["direction"], row.of["load"], row.provenance]
        rows.append([*cells, None, row.value, None, None, None, None])
    for c in result_rows:
        for series in c.rows:
            name, _, direction = str(series["series"]).partition("_to_")
            cells = [name.replace("_", " "), f"to {direction or 'worker'}", c.load, series["provenance"]]
            figures = [series[s] for s in ("min", "median", "mean", "p99", "p999", "max")]
            rows.append([*cells, *(round(f, 1) for f in figures)])
    return rows


def _table_section(
    experiment: Experiment, configurations: list[Measured], published: list[Published]
) -> dict[str, Any]:
    offsets = ", ".join(f"{round(clock_offset_ns(c))} ns ({c.load})" for c in configurations)
    words = [f"{row.of['direction']}, {row.of['load']}: {row.note}" for row in published if row.note]
    return {
        "title": experiment.title,
        "columns": [
            *({"name": name} for name in ("what", "direction", "load", "provenance")),
            *({"name": name, "unit": "ns"} for name in ("min", "median", "mean", "p99", "p99.9", "max")),
        ],
        "rows": table_rows(configurations, published),
        "note": "The published values were taken on a Zynq UltraScale+ (Cortex-A53 and Cortex-R5F), the"
        " measured ones between two processes of this machine: they are not competitors. Both sides read one"
        " counter; if the way is equally long in both directions, the processors' readings differ by "
        f"{offsets}, which one direction has too much and the other too little."
        + (" The paper in words: " + "; ".join(words) + "." if words else ""),
        "source": "Coppik et al. 2025, section 3",
    }


def _size_section(experiment: Experiment, configurations: list[Measured]) -> dict[str, Any]:
    series = []
    for c in configurations:
        rows = [row for row in c.rows if row["bytes"]]
        for statistic, name in (("median", "median"), ("p99", "p99")):
            series.append(
                {
                    "name": f"{name}, {c.load}",
                    "provenance": "measured",
                    "x": [float(row["bytes"]) for row in rows],
                    "y": [float(row[statistic]) for row in rows],
                }
            )
    return {
        "title": experiment.title,
        "kind": "figure",
        "x": {"label": "array", "unit": "byte", "log": True},
        "y": {"label": "until the array is copied", "unit": "ns", "log": True},
        "series": series,
        "note": "The paper has this figure as a plot only: no published number can stand here.",
        "source": "Coppik et al. 2025, Figure 5",
    }
