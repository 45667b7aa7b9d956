# SPDX-License-Identifier: Apache-2.0
"""A simulation with changes of mode as a run folder: a configuration for each mode with all of its stays,
judged by the bounds of that mode, and the changes with theirs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from consort.analysis.fail_over import executions
from consort.analysis.lacking import lacking_in_modes
from consort.analysis.mode_changes import ModeBounds
from consort.judge import Bounds, judge
from consort.judge.changes import changes_section
from consort.plan import Plan
from consort.record import RunWriter
from consort.record.ran import Ran
from consort.record.status import OPERATIONS
from consort.record.store import Run
from consort.simulate.modes import ModesSimulation, Segment
from consort.simulate.record import KEY, Rows, fail_for_misses, pages_of, recording_of
from consort.simulate.recording import FIRST_TICK
from consort.simulate.rows import TIMES


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
    pages = pages_of(len(simulation.prepared.system.tasks))
    with RunWriter(name, "simulation", root, command=command, source=file, pages=pages) as writer:
        lacking = lacking_in_modes(bounds)
        for mode in dict.fromkeys(stay.mode for stay in simulation.segments):
            stays = [stay for stay in simulation.segments if stay.mode == mode]
            rows = _rows_of(stays, simulation.duration)
            if not rows.jobs.size:
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
        fail_for_misses(writer, simulation, all_runs)
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
    blocks = np.zeros(len(Ran.of(parts[0].plan, config).channels) + 1, dtype=np.uint64)
    for part, stay in zip(parts, stays, strict=True):
        for table in (part.jobs, part.operations, part.slices):
            _shift(table, stay.start)
        blocks = _number_on(part.operations, blocks)
    jobs, operations, slices = (
        np.concatenate(tables)
        for tables in zip(*((part.jobs, part.operations, part.slices) for part in parts), strict=True)
    )
    return Rows(parts[0].plan, config, jobs, operations, slices)


def _planned(plan: Plan, stays: Sequence[Segment]) -> dict[str, int]:
    """The numbers of periodic tasks' jobs that are due in the stays."""
    return {
        task.name: sum(task.releases_until(stay.simulation.duration) for stay in stays)
        for task in plan.tasks.values()
        if task.release == "periodic"
    }


def _shift(rows: NDArray[np.void], start: int) -> None:
    """Times of a stay as those of the whole run; 0 is no time."""
    assert rows.dtype.names is not None
    for name in (*TIMES, "time", "begin", "end"):
        if name in rows.dtype.names:
            rows[name] += np.where(rows[name] == 0, 0, start).astype(np.uint64)


def _number_on(operations: NDArray[np.void], before: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Has the blocks of each channel follow those of earlier stays; a read of none stays one of none."""
    place = np.minimum(operations["channel"], before.size - 1)
    written = before.copy()
    wrote = operations["kind"] == OPERATIONS.index("write")
    np.add.at(written, place[wrote], np.uint64(1))
    operations["sequence"] += np.where(operations["sequence"] == 0, 0, before[place]).astype(np.uint64)
    return written
