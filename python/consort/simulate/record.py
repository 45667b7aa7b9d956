# SPDX-License-Identifier: Apache-2.0
"""A simulation as a run folder, like that of `consort run`: one configuration a task, and one for the whole.

The whole has no jobs of its own but the slices, that is what each core and the DMA did when; the trace is
drawn from them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from consort.model import Duration
from consort.record import RawRun, RunWriter
from consort.record.raw_writer import write_manifest, write_table
from consort.record.store import Run
from consort.runner.scratch import scratch_folder
from consort.simulate.chains import ChainFigures
from consort.simulate.engine import Simulation
from consort.simulate.rows import TIMES

SYSTEM = "system"
# A time stamp of 0 means that the thing did not happen; the recording's clock begins at 1.
FIRST_TICK = 1
_CLOCK = {
    "name": "simulated time",
    "ticks_per_second": 1e12,
    "resolution_ticks": 1,
    "provenance": "simulated",
}


def record(
    simulation: Simulation,
    chains: dict[str, ChainFigures],
    *,
    name: str,
    root: Path,
    command: list[str],
    all_runs: Simulation | None = None,
) -> Run:
    """Writes the run folder of a run with a trace; `all_runs` are those that it was chosen from."""
    with (
        scratch_folder(root) as scratch,
        RunWriter(
            name, "simulation", root, command=command, source=simulation.prepared.system.file
        ) as writer,
    ):
        whole = _whole(simulation, scratch / SYSTEM)
        writer.add_configuration(SYSTEM, "whole system", whole)
        for task in simulation.prepared.tasks:
            # A task may be called like the whole.
            key = task if task != SYSTEM else f"task-{task}"
            writer.add_configuration(key, task, _task(simulation, task, scratch / f"task-{task}"))
        _sections(writer, all_runs or simulation, chains)
        for chain in chains.values():
            if not chain.kept:
                writer.fail(_broken(chain))
        if all_runs is not None and all_runs.misses and not simulation.misses:
            writer.fail(f"{all_runs.misses} deadline misses in {all_runs.runs} runs")
        if simulation.prepared.system.file.is_file():
            writer.add_description(simulation.prepared.system.file)
    assert writer.run is not None
    return writer.run


def _broken(chain: ChainFigures) -> str:
    parts = [
        f"{what} {Duration(seen)} of at most {Duration(allowed)}"
        for what, seen, allowed in (
            ("reaction", chain.reaction, chain.allowed_reaction),
            ("age", chain.age, chain.allowed_age),
        )
        if seen is not None and allowed is not None and seen > allowed
    ]
    return f"chain {chain.chain}: {', '.join(parts)}"


def _sections(writer: RunWriter, simulation: Simulation, chains: dict[str, ChainFigures]) -> None:
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
    if chains:
        writer.add_section(
            "Chains in the recorded run",
            "table",
            columns=[
                {"name": "chain"},
                {"name": "longest reaction", "unit": "us", "provenance": "simulated"},
                {"name": "allowed reaction", "unit": "us"},
                {"name": "oldest data", "unit": "us", "provenance": "simulated"},
                {"name": "allowed age", "unit": "us"},
            ],
            rows=[
                [c.chain, us(c.reaction), us(c.allowed_reaction), us(c.age), us(c.allowed_age)]
                for c in chains.values()
            ],
        )


def _whole(simulation: Simulation, folder: Path) -> RawRun:
    assert simulation.slices is not None
    source = simulation.slices
    kinds = {"begin": "<u8", "end": "<u8", "task": "<u4", "seq": "<u4", "core": "<u2", "doing": "<u1"}
    rows = np.zeros(source.size, dtype=list(kinds.items()))
    for field in kinds:
        rows[field] = source[field]
    for field in ("begin", "end"):
        rows[field] += np.uint64(FIRST_TICK)
    rows = rows[np.argsort(rows["begin"], kind="stable")]
    config = {
        "duration_ps": simulation.duration,
        "seed": str(simulation.seed),
        "tasks": simulation.prepared.tasks,
        "cores": simulation.prepared.cores,
    }
    events = []
    if simulation.stopped is not None:
        events.append({"tick": simulation.stopped + FIRST_TICK, "name": "stopped-by-a-miss"})
    return _raw(folder, "slices", rows, ("begin", "end"), (), config, {}, events)


def _task(simulation: Simulation, task: str, folder: Path) -> RawRun:
    source = simulation.jobs_of(task)
    described = simulation.prepared.system.tasks[task]
    names = [*TIMES, "compute"]
    more = ("seq", "status", "preemptions")
    rows = np.zeros(source.size, dtype=[(n, "<u8") for n in names] + [(n, "<u4") for n in more])
    for field in TIMES:
        # What did not happen is -1 there and 0 here.
        rows[field] = (source[field] + FIRST_TICK).astype(np.uint64)
    for field in ("compute", *more):
        rows[field] = source[field]
    deadline = described.deadline.picoseconds
    config: dict[str, Any] = {
        "deadline_ns": deadline // 1000 if deadline % 1000 == 0 else deadline / 1000,
        "core": described.on,
        "execution": described.execution,
    }
    figures = simulation.figures[task]
    return _raw(folder, "jobs", rows, TIMES, ("compute",), config, {"deadline_misses": figures.misses}, [])


def _raw(
    folder: Path,
    table: str,
    rows: NDArray[np.void],
    stamps: tuple[str, ...],
    durations: tuple[str, ...],
    config: dict[str, Any],
    counters: dict[str, int],
    events: list[dict[str, Any]],
) -> RawRun:
    folder.mkdir()
    return write_manifest(
        folder,
        "consort simulate",
        [write_table(folder, table, rows, stamps=stamps, durations=durations)],
        clock=_CLOCK,
        config=config,
        counters=counters,
        # Time 0 of the simulation: times in the run folder count from it.
        events=[{"tick": FIRST_TICK, "name": "simulation-started"}, *events],
    )
