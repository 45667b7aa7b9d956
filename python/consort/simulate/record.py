# SPDX-License-Identifier: Apache-2.0
"""A simulation as a run folder, like that of `consort run`: one configuration with the jobs of all tasks, and
the slices, which say what each core and the DMA did when."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from consort.analysis.lacking import lacking_figures
from consort.analysis.result import Bound
from consort.judge import Bounds, judge
from consort.plan import Plan
from consort.record import Ran, RawRun, RunWriter
from consort.record.columns import JOBS, OPERATIONS_TABLE, SLICES_TABLE
from consort.record.raw import Manifest, RawTable, manifest_of, table_entry
from consort.record.status import STATUS
from consort.record.store import Run
from consort.record.writer import Pages
from consort.report import PAGES
from consort.simulate.engine import Simulation
from consort.simulate.recording import FIRST_TICK, jobs_of, operations_of, system_of
from consort.simulate.rows import TIMES

KEY = "simulated"
_CLOCK = {
    "name": "simulated time",
    "ticks_per_second": 1e12,
    "resolution_ticks": 1,
    "provenance": "simulated",
}


# A page of more tasks takes longer than their simulation; `consort report` writes it where it is wanted.
PAGED_TASKS = 1_000


def pages_of(tasks: int) -> Pages:
    """The pages that come with the record of so many tasks."""
    return PAGES if tasks <= PAGED_TASKS else {}


class Counted(Protocol):
    """A simulation, or several taken together."""

    @property
    def misses(self) -> int: ...
    @property
    def runs(self) -> int: ...


def fail_for_misses(writer: RunWriter, simulation: Counted, all_runs: Counted | None) -> None:
    """Other runs than the recorded one count in its verdict, too."""
    if all_runs is not None and all_runs.misses and not simulation.misses:
        writer.fail(f"{all_runs.misses} deadline misses in {all_runs.runs} runs")


def record(
    simulation: Simulation,
    bounds: Iterable[Bound],
    *,
    name: str,
    root: Path,
    command: list[str],
    diagram: str | None = None,
    all_runs: Simulation | None = None,
) -> Run:
    """Writes the run folder of a run with a trace; `all_runs` are those that it was chosen from."""
    plan, bounds = simulation.prepared.plan, list(bounds)
    file = plan.file
    pages = pages_of(len(simulation.figures))
    with RunWriter(name, "simulation", root, command=command, source=file, pages=pages) as writer:
        raw = recording_of(Rows.of(simulation), simulation.stopped)
        verdict = judge(raw, Bounds.of(bounds, lacking=lacking_figures(plan, bounds)))
        title = f"simulated, seed {simulation.seed}"
        writer.add_configuration(KEY, title, raw, verdict=verdict)
        _sections(writer, all_runs or simulation)
        fail_for_misses(writer, simulation, all_runs)
        for line in (all_runs or simulation).early:
            writer.fail(line)
        if file.is_file():
            writer.add_description(file)
        if diagram is not None:
            writer.add_diagram(diagram)
    assert writer.run is not None
    return writer.run


def _sections(writer: RunWriter, simulation: Simulation) -> None:
    def us(ps: int | None) -> float | None:
        return None if ps is None else ps / 1e6

    runs = "1 run" if simulation.runs == 1 else f"{simulation.runs} runs"
    writer.add_section(
        f"Largest responses in {runs}",
        "table",
        columns=[
            {"name": "task"},
            {"name": "core"},
            {"name": "deadline", "unit": "us"},
            {"name": "largest response", "unit": "us", "provenance": "simulated"},
            {"name": "jobs", "provenance": "simulated"},
            {"name": "misses", "provenance": "simulated"},
            {"name": "seed"},
        ],
        rows=[
            [f.task, f.core, us(f.deadline), us(f.max_response), f.jobs, f.misses, str(f.seed)]
            for f in simulation.figures.values()
        ],
    )


@dataclass(frozen=True)
class Rows:
    """The record of a simulation: its plan, what it made of it (consort.record.ran), and its tables."""

    plan: Plan
    config: dict[str, Any]
    jobs: NDArray[np.void]
    operations: NDArray[np.void]
    slices: NDArray[np.void]

    @staticmethod
    def of(simulation: Simulation) -> Rows:
        config = system_of(simulation)
        jobs = jobs_of(simulation)
        operations = operations_of(simulation, jobs, Ran.of(simulation.prepared.plan, config))
        return Rows(simulation.prepared.plan, config, jobs, operations, _slices(simulation))


def recording_of(rows: Rows, stopped: int | None = None) -> RawRun:
    """The rows as a recording, which lies in no folder; `stopped`: when a miss ended the run [ps]."""
    events = [{"tick": FIRST_TICK, "name": "simulation-started"}]
    if stopped is not None:
        events.append({"tick": stopped + FIRST_TICK, "name": "stopped-by-a-miss"})
    missed = rows.jobs["status"] & STATUS["deadline_misses"]
    entries = [
        table_entry(JOBS, rows.jobs, TIMES, ("compute",)),
        table_entry(OPERATIONS_TABLE, rows.operations, ("time",)),
        table_entry(SLICES_TABLE, rows.slices, ("begin", "end")),
    ]
    manifest = manifest_of(
        "consort simulate",
        entries,
        clock=_CLOCK,
        config=rows.config,
        counters={"deadline_misses": int(np.count_nonzero(missed))},
        # Time 0 of the simulation: times in the run folder count from it.
        events=events,
    )
    made = Manifest.model_validate(manifest)
    tables = {
        spec.name: RawTable(spec, table)
        for spec, table in zip(made.tables, (rows.jobs, rows.operations, rows.slices), strict=True)
    }
    return RawRun(rows.plan.file, made, tables, Ran.of(rows.plan, rows.config))


def _slices(simulation: Simulation) -> NDArray[np.void]:
    assert simulation.slices is not None
    source = simulation.slices
    kinds = {"begin": "<u8", "end": "<u8", "seq": "<u4", "task": "<u2", "core": "<u2", "doing": "<u1"}
    order = np.argsort(np.ascontiguousarray(source["begin"]), kind="stable")
    rows = np.empty(source.size, dtype=list(kinds.items()))
    for field in kinds:
        rows[field] = source[field][order]
    for field in ("begin", "end"):
        rows[field] += np.uint64(FIRST_TICK)
    return rows
