# SPDX-License-Identifier: Apache-2.0
"""`consort.simulate(system)`: a simulated run from a script or a notebook, recorded and judged."""

from __future__ import annotations

import re
from pathlib import Path

from consort.analysis.mode_changes import analyze_modes
from consort.analysis.system import analyze_system
from consort.errors import BadInput
from consort.model import Duration, System
from consort.model.textvalue import WrongValue
from consort.plan import Plan, plan_of
from consort.record.store import Run, default_root
from consort.simulate import engine
from consort.simulate.build import Discipline, Waiting, prepare
from consort.simulate.engine import Choice, Simulation
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
        return _with_changes(
            system,
            length.picoseconds,
            seed,
            runs,
            execution,
            dense,
            worker_serves,
            master_waits,
            name or run_name(system),
            default_root() if root is None else Path(root),
        )
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


def _with_changes(
    system: System,
    duration: int,
    seed: int,
    runs: int,
    execution: Choice,
    dense: bool,
    worker_serves: Discipline | None,
    master_waits: Waiting | None,
    name: str,
    root: Path,
) -> Run:
    prepared = prepare_modes(system, dense=dense, discipline=worker_serves, waiting=master_waits)
    for made in prepared.modes.values():
        check_size(made.system, duration, "shorten 'duration'")
    bounds = analyze_modes(system, waiting=master_waits, serving=worker_serves)
    if runs > 1:
        seed = worst_seed_of_modes(
            simulate_modes(prepared, bounds, duration, seed, runs=runs, choice=execution)
        )
    one = simulate_modes(prepared, bounds, duration, seed, choice=execution, trace=True)
    return record_modes(one, bounds, name=name, root=root, command=[])


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
