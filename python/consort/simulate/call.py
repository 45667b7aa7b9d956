# SPDX-License-Identifier: Apache-2.0
"""`consort.simulate(system)`: a simulated run from a script or a notebook, recorded and judged."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from consort.analysis.mode_changes import ModeBounds, analyze_modes
from consort.analysis.system import analyze_system
from consort.errors import BadInput
from consort.model import Duration, System
from consort.model.textvalue import WrongValue
from consort.plan import Plan, plan_of
from consort.record.store import Run, default_root
from consort.simulate import engine
from consort.simulate.build import Discipline, Waiting, prepare
from consort.simulate.engine import Choice, Report, Simulation
from consort.simulate.mode_record import record_modes
from consort.simulate.modes import ModesSimulation, prepare_modes, simulate_modes
from consort.simulate.record import record

# A job of a recorded run takes about 200 bytes while it is written.
RECORDED_JOBS = 20_000_000


def simulate(
    system: System | Plan,
    duration: str | Duration = "1s",
    *,
    seed: int = 1,
    runs: int = 1,
    execution: Choice = "uniform",
    dense: bool = False,
    worker_serves: Discipline | None = None,
    master_waits: Waiting | None = None,
    name: str | None = None,
    root: str | Path | None = None,
) -> Run:
    """Simulates a system in exact time, records and judges it, as `consort simulate` does.

    Jobs are released for `duration`. Of several `runs`, which have this seed and the following ones, the one
    that came closest to a deadline is recorded. The parameters are those of the command. A plan in place of
    a system says which mode: `consort.plan(system, "analysis", mode="limp-home")`. A system with
    `mode_changes` goes from mode to mode. The same arguments give the same run everywhere.

    Whether everything held is in the run's verdict. `BadDescription` names the figures that a simulation
    needs and the description lacks.
    """
    try:
        length = duration if isinstance(duration, Duration) else Duration.parse(duration)
    except WrongValue as error:
        raise BadInput(str(error), field="duration") from None
    if length.picoseconds == 0:
        raise BadInput("jobs are released for more than 0s", field="duration")
    if isinstance(system, System) and system.mode_changes is not None:
        changed = run_with_changes(
            system,
            length.picoseconds,
            seed,
            runs=runs,
            execution=execution,
            dense=dense,
            worker_serves=worker_serves,
            master_waits=master_waits,
            name=name,
            root=None if root is None else Path(root),
            remedy="shorten 'duration'",
        )
        assert changed.run is not None
        return changed.run
    planned = plan_of(system)
    prepared = prepare(planned, dense=dense, discipline=worker_serves, waiting=master_waits)
    check_size(planned.system, length.picoseconds, "shorten 'duration'")
    several = (
        engine.simulate(prepared, length.picoseconds, seed, runs=runs, choice=execution) if runs > 1 else None
    )
    chosen = seed if several is None else worst_seed(several)
    one = engine.simulate(prepared, length.picoseconds, chosen, choice=execution, trace=True)
    return record(
        one,
        analyze_system(planned, waiting=master_waits, serving=worker_serves),
        name=name or run_name(planned.system),
        root=default_root() if root is None else Path(root),
        command=[],
        all_runs=several,
    )


@dataclass(frozen=True)
class Changed:
    """What was simulated of a system that changes its mode."""

    found: ModesSimulation
    """All runs taken together."""
    bounds: ModeBounds
    one: ModesSimulation | None = None
    """The run that was recorded, and where."""
    run: Run | None = None


def run_with_changes(
    system: System,
    duration: int,
    seed: int,
    *,
    runs: int,
    execution: Choice,
    dense: bool,
    worker_serves: Discipline | None,
    master_waits: Waiting | None,
    name: str | None,
    root: Path | None,
    remedy: str,
    command: Sequence[str] = (),
    record_it: bool = True,
    report: Report | None = None,
) -> Changed:
    """Simulates a system with `mode_changes`; records and judges it where that is wanted.

    `remedy`: what to do where too many jobs would be recorded.
    """
    prepared = prepare_modes(system, dense=dense, discipline=worker_serves, waiting=master_waits)
    if record_it:
        for made in prepared.modes.values():
            check_size(made.system, duration, remedy)
    bounds = analyze_modes(system, waiting=master_waits, serving=worker_serves)
    several = None
    if runs > 1 or not record_it:
        several = simulate_modes(prepared, bounds, duration, seed, runs=runs, choice=execution, report=report)
        if not record_it:
            return Changed(several, bounds)
        seed = worst_seed_of_modes(several)
    one = simulate_modes(prepared, bounds, duration, seed, choice=execution, trace=True, report=report)
    run = record_modes(
        one,
        bounds,
        name=name or run_name(system),
        root=default_root() if root is None else root,
        command=list(command),
        all_runs=several,
    )
    return Changed(several or one, bounds, one, run)


def worst_seed_of_modes(several: ModesSimulation) -> int:
    """The seed of the run that came closest to a deadline in any mode, or furthest past one."""

    def closest(simulation: Simulation) -> float:
        seen = ((f.max_response or 0) / f.deadline for f in simulation.figures.values())
        return max(seen, default=0.0)

    return worst_seed(max(several.modes.values(), key=closest))


def run_name(system: System) -> str:
    """The name of a system's run: that of its folder, as far as a run may be called so."""
    plain = re.sub(r"[^A-Za-z0-9_.-]+", "-", system.file.resolve().parent.name)
    return plain.lstrip("-_.")[:64] or "system"


def check_size(system: System, duration: int, remedy: str) -> None:
    """`BadInput` where more jobs would be recorded in `duration` [ps] than memory may be taken for."""
    jobs = sum(duration // task.interval.picoseconds + 1 for task in system.tasks.values())
    if jobs > RECORDED_JOBS:
        raise BadInput(f"about {jobs} jobs would be recorded, more than {RECORDED_JOBS}; {remedy}")


def worst_seed(several: Simulation) -> int:
    """The seed of the run that came closest to a deadline, or furthest past one."""
    seen = [f for f in several.figures.values() if f.max_response is not None]
    worst = max(seen, key=lambda f: (f.held > 0, (f.max_response or 0) / f.deadline), default=None)
    return several.seed if worst is None else worst.seed
