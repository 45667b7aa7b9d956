# SPDX-License-Identifier: Apache-2.0
"""A simulation as a run folder, like that of `consort run`: one configuration with the jobs of all tasks, and
the slices, which say what each core and the DMA did when."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

from consort.analysis.lacking import lacking_figures, lacking_in_modes
from consort.analysis.mode_changes import ModeBounds
from consort.analysis.offload_costs import executions
from consort.analysis.result import Bound
from consort.judge import Bounds, judge
from consort.judge.changes import changes_section
from consort.plan import Plan
from consort.record import Ran, RawRun, RunWriter
from consort.record.columns import JOBS, OPERATIONS_TABLE, SLICES_TABLE
from consort.record.ran import OPERATIONS, SLICES, STATUS
from consort.record.raw import Columns, Manifest, RawTable, manifest_of, names_of, table_entry
from consort.record.store import Run
from consort.simulate.engine import ABSENT, TIMES, Simulation
from consort.simulate.modes import ModesSimulation, Segment
from consort.simulate.recording import (
    FIRST_TICK,
    in_order_channels,
    jobs_of,
    operations_of,
    slices_of,
    system_of,
)

KEY = "simulated"
_CLOCK = {
    "name": "simulated time",
    "ticks_per_second": 1e12,
    "resolution_ticks": 1,
    "provenance": "simulated",
}


class Counted(Protocol):
    """A simulation, or several taken together."""

    @property
    def misses(self) -> int: ...
    @property
    def runs(self) -> int: ...
    @property
    def drops(self) -> int: ...


def fail_for_others(writer: RunWriter, simulation: Counted, all_runs: Counted | None) -> None:
    """Other runs than the recorded one count in its verdict, too."""
    if all_runs is not None and all_runs.misses and not simulation.misses:
        writer.fail(f"{all_runs.misses} deadline misses in {all_runs.runs} runs")
    if all_runs is not None and all_runs.drops and not simulation.drops:
        writer.fail(f"{all_runs.drops} blocks dropped because there was no room, in {all_runs.runs} runs")


def record(
    simulation: Simulation,
    rows: Rows,
    bounds: Iterable[Bound],
    *,
    name: str,
    root: Path,
    command: list[str],
    diagram: str | None = None,
    all_runs: Simulation | None = None,
) -> Run:
    """Writes the run folder of a run and its rows; `all_runs` are those that it was chosen from."""
    plan, bounds = simulation.prepared.plan, list(bounds)
    file = plan.file
    with RunWriter(name, "simulation", root, command=command, source=file) as writer:
        raw = recording_of(rows, simulation.stopped)
        verdict = judge(raw, Bounds.of(bounds, lacking=lacking_figures(plan, bounds)))
        title = f"simulated, seed {simulation.seed}"
        writer.add_configuration(KEY, title, raw, verdict=verdict)
        _sections(writer, all_runs or simulation)
        fail_for_others(writer, simulation, all_runs)
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
    jobs: Columns
    operations: NDArray[np.void]
    slices: Columns

    @staticmethod
    def of(simulation: Simulation) -> Rows:
        config = system_of(simulation)
        jobs = jobs_of(simulation)
        operations = operations_of(simulation, jobs, Ran.of(simulation.prepared.plan, config))
        return Rows(simulation.prepared.plan, config, jobs, operations, slices_of(simulation))


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
    given: tuple[Columns | NDArray[np.void], ...] = (rows.jobs, rows.operations, rows.slices)
    tables = {spec.name: RawTable(spec, table) for spec, table in zip(made.tables, given, strict=True)}
    return RawRun(rows.plan.file, made, tables, Ran.of(rows.plan, rows.config))


def record_modes(
    simulation: ModesSimulation,
    bounds: ModeBounds,
    *,
    name: str,
    root: Path,
    command: list[str],
    diagram: str | None = None,
    all_runs: ModesSimulation | None = None,
) -> Run:
    """Writes the run folder of a run with a trace; `all_runs` are those that it was chosen from."""
    file = simulation.prepared.system.file
    with RunWriter(name, "simulation", root, command=command, source=file) as writer:
        lacking = lacking_in_modes(bounds)
        for mode in dict.fromkeys(stay.mode for stay in simulation.segments):
            stays = [stay for stay in simulation.segments if stay.mode == mode]
            rows = _rows_of(stays, simulation.duration)
            if not rows.jobs["release"].size:
                continue
            raw = recording_of(rows)
            wcets = executions(bounds.plans[mode])
            verdict = judge(raw, Bounds.of(bounds.modes[mode], wcets_ps=wcets, lacking=lacking))
            label = f"simulated, mode {mode}, seed {simulation.seed}"
            writer.add_configuration(f"{KEY}-{mode}", label, raw, verdict=verdict)
        writer.add_section(**changes_section(simulation.changes))
        for unseen in (all_runs or simulation).unseen:
            writer.leave_open(unseen)
        for change in (all_runs or simulation).late_changes:
            writer.fail(change.excess)
        fail_for_others(writer, simulation, all_runs)
        if file.is_file():
            writer.add_description(file)
        if diagram is not None:
            writer.add_diagram(diagram)
    assert writer.run is not None
    return writer.run


def _rows_of(stays: Sequence[Segment], duration: int) -> Rows:
    """The stays in a mode as one recording, in the time of the whole run, which lasts for `duration` [ps]."""
    parts = [Rows.of(stay.simulation) for stay in stays]
    ends = [stay.start + stay.simulation.duration for stay in stays]
    config = parts[0].config | {
        "duration_ns": duration / 1000,
        "stays": [[stay.start + FIRST_TICK, end + FIRST_TICK] for stay, end in zip(stays, ends, strict=True)],
        "jobs": _planned(parts[0].plan, stays),
    }
    ran = Ran.of(parts[0].plan, config)
    blocks = np.zeros(len(ran.channels) + 1, dtype=np.uint64)
    in_order = np.isin(np.arange(blocks.size), in_order_channels(parts[0].plan, ran))
    for part, stay in zip(parts, stays, strict=True):
        for table in (part.jobs, part.operations, part.slices):
            _shift(table, stay.start)
        blocks = _number_on(part.operations, blocks, in_order)
    jobs, slices = (
        {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}
        for tables in ([part.jobs for part in parts], [part.slices for part in parts])
    )
    return Rows(parts[0].plan, config, jobs, np.concatenate([part.operations for part in parts]), slices)


def _planned(plan: Plan, stays: Sequence[Segment]) -> dict[str, int]:
    """The numbers of periodic tasks' jobs that are due in the stays."""
    return {
        task.name: sum(task.releases_until(stay.simulation.duration) for stay in stays)
        for task in plan.tasks.values()
        if task.release == "periodic"
    }


def _shift(table: NDArray[np.void] | Columns, start: int) -> None:
    """Times of a stay as those of the whole run; 0 is not a time."""
    for name in set(names_of(table)) & {*TIMES, "time", "begin", "end"}:
        column = table[name]
        column += np.where(column == 0, 0, start).astype(np.uint64)


def _number_on(
    operations: NDArray[np.void], before: NDArray[np.uint64], in_order: NDArray[np.bool_]
) -> NDArray[np.uint64]:
    """Has the blocks of each channel follow those of earlier stays.

    A read of none stays one of none, or names the last block where blocks are handed out `in_order`.
    """
    place = np.minimum(operations["channel"], before.size - 1)
    written = before.copy()
    wrote = np.isin(operations["kind"], [OPERATIONS.index(kind) for kind in ("write", "write-dropped")])
    np.add.at(written, place[wrote], np.uint64(1))
    none = (operations["sequence"] == 0) & ~in_order[place]
    operations["sequence"] += np.where(none, 0, before[place]).astype(np.uint64)
    return written


def write_csv(rows: Rows, folder: Path) -> list[Path]:
    """Writes jobs.csv and slices.csv into a folder, which is made."""
    folder.mkdir(parents=True, exist_ok=True)
    ran = Ran.of(rows.plan, rows.config)
    names, cores = np.array(ran.task_names), np.array(ran.core_names)
    core_of = np.array([task.computed_on for task in ran.tasks])
    jobs, slices = rows.jobs, rows.slices
    columns = {"task": pa.array(names[jobs["task"]]), "core": pa.array(core_of[jobs["task"]])}
    columns["job"] = pa.array(jobs["seq"])
    for field in TIMES:
        columns[f"{field}_ps"] = pa.array(_instants(jobs[field]), mask=jobs[field] == 0)
    compute = jobs["compute"].view(np.int64)
    columns["compute_ps"] = pa.array(compute, mask=compute == ABSENT)
    columns["status"] = pa.array(jobs["status"])
    columns["preemptions"] = pa.array(jobs["preemptions"])
    stretches = {
        "begin_ps": pa.array(_instants(slices["begin"])),
        "end_ps": pa.array(_instants(slices["end"])),
        "core": pa.array(cores[slices["core"]]),
        "doing": pa.array(np.array(SLICES)[slices["doing"]]),
        "task": pa.array(names[slices["task"]]),
        "job": pa.array(slices["seq"]),
    }
    files = []
    for name, table in (("jobs", columns), ("slices", stretches)):
        files.append(folder / f"{name}.csv")
        pyarrow.csv.write_csv(pa.table(table), files[-1])
    return files


def _instants(ticks: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Ticks of a recording as times of its simulation [ps]."""
    return ticks.view(np.int64) - FIRST_TICK
