# SPDX-License-Identifier: Apache-2.0
"""A simulation with changes of mode as a run folder: a configuration for each stay in a mode, judged by the
bounds of that mode, and the changes with theirs."""

from __future__ import annotations

from pathlib import Path

from consort.analysis.mode_changes import ModeBounds
from consort.judge import Bounds, judge
from consort.judge.changes import changes_section
from consort.model import Duration
from consort.record import RunWriter
from consort.record.scratch import scratch_folder
from consort.record.store import Run
from consort.report import PAGES
from consort.simulate.modes import ModesSimulation
from consort.simulate.record import fail_for_misses, write_raw


def record_modes(
    simulation: ModesSimulation,
    bounds: ModeBounds,
    *,
    name: str,
    root: Path,
    command: list[str],
    all_runs: ModesSimulation | None = None,
) -> Run:
    """Writes the run folder of a run with a trace; `all_runs` are those that it was chosen from."""
    file = simulation.prepared.system.file
    with (
        scratch_folder(root) as scratch,
        RunWriter(name, "simulation", root, command=command, source=file, pages=PAGES) as writer,
    ):
        for number, stay in enumerate(simulation.segments):
            jobs = stay.simulation.jobs
            if jobs is None or not jobs.size:
                continue
            raw = write_raw(stay.simulation, scratch / f"stay-{number}")
            verdict = judge(None, raw, Bounds.of(bounds.modes[stay.mode]))
            label = f"simulated, mode {stay.mode} from {Duration(stay.start)}, seed {simulation.seed}"
            writer.add_configuration(f"{number}-{stay.mode}", label, raw, verdict=verdict)
        writer.add_section(**changes_section(simulation.changes))
        for change in (all_runs or simulation).late_changes:
            writer.fail(change.excess)
        fail_for_misses(writer, simulation, all_runs)
        if file.is_file():
            writer.add_description(file)
    assert writer.run is not None
    return writer.run
