# SPDX-License-Identifier: Apache-2.0
"""`consort.simulate(system)`: a simulated run from a script or a notebook, recorded and judged."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import get_args

from consort.analysis.mode_changes import ModeBounds, analyze_modes
from consort.analysis.system import analyze_system
from consort.base import arguments
from consort.base.errors import BadInput
from consort.model import Duration, System
from consort.plan import Plan, plan_of
from consort.plan.make import released_for, subject_of
from consort.record.store import Run, default_root
from consort.simulate import engine
from consort.simulate.build import Discipline, Waiting, prepare
from consort.simulate.chains import Chains, simulate_with_chains
from consort.simulate.engine import Choice, Report, Simulation
from consort.simulate.mode_chains import chains_of_modes, simulate_modes_with_chains
from consort.simulate.mode_record import record_modes
from consort.simulate.modes import ModesSimulation, prepare_modes, simulate_modes
from consort.simulate.record import record

# A job of a recorded run takes about 200 bytes while it is written.
RECORDED_JOBS = 20_000_000
# Jobs and slots that are simulated in a day, at a million a second, which is little.
SIMULATED_EVENTS = 24 * 3600 * 1_000_000


def simulate(
    system: System | Plan,
    duration: str | Duration = "1s",
    *,
    seed: int | None = None,
    runs: int = 1,
    execution: Choice = "uniform",
    dense: bool = False,
    worker_serves: Discipline | None = None,
    master_waits: Waiting | None = None,
    name: str | None = None,
    root: str | PathLike[str] | None = None,
) -> Run:
    """Simulates a system in exact time, records and judges it, as `consort simulate` does.

    Jobs are released for `duration`, at the same instants as in runs with the same seed (without it:
    run.seed). Of several `runs`, which have this seed and the following ones, the one
    that came closest to what a deadline or a chain allows is recorded. The parameters are those of the
    command. A plan in place of a system says which mode: `consort.plan(system, "analysis",
    mode="limp-home")`. A system with `mode_changes` goes from mode to mode. The same arguments give the same
    run everywhere.

    Whether everything held is in the run's verdict. `BadDescription` names the figures that a simulation
    needs and the description lacks.
    """
    subject_of(system)
    length = released_for(duration)
    seed, runs = arguments.seed(system.run.seed if seed is None else seed), arguments.whole("runs", runs, 1)
    execution = arguments.one_of("execution", execution, get_args(Choice))
    dense = arguments.flag("dense", dense)
    if worker_serves is not None:
        worker_serves = arguments.one_of("worker_serves", worker_serves, get_args(Discipline))
    if master_waits is not None:
        master_waits = arguments.one_of("master_waits", master_waits, get_args(Waiting))
    name = None if name is None else arguments.text("name", name)
    root = arguments.path("root", root)
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
            root=root,
            remedy="shorten 'duration'",
        )
        assert changed.run is not None
        return changed.run
    planned = plan_of(system)
    prepared = prepare(planned, dense=dense, discipline=worker_serves, waiting=master_waits)
    check_size(planned, length.picoseconds, "shorten 'duration'")
    check_effort([planned], length.picoseconds, runs, "shorten 'duration', or give fewer 'runs'")
    several, chosen = None, seed
    if runs > 1:
        several, chains = simulate_with_chains(
            prepared, length.picoseconds, seed, runs=runs, choice=execution
        )
        chosen = worst_seed(several, chains)
    one = engine.simulate(prepared, length.picoseconds, chosen, choice=execution, trace=True)
    return record(
        one,
        analyze_system(planned, waiting=master_waits, serving=worker_serves),
        name=name or run_name(planned.file),
        root=default_root() if root is None else root,
        command=[],
        all_runs=several,
    )


@dataclass(frozen=True)
class Changed:
    """The results of a simulated system that changes its mode."""

    found: ModesSimulation
    """All runs taken together."""
    bounds: ModeBounds
    chains: Mapping[str, Chains]
    """Figures of the chains in each mode."""
    run: Run | None = None
    """The one run that was recorded."""


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
    for made in prepared.modes.values():
        if record_it or made.plan.chains:
            check_size(made.plan, duration, remedy)
    plans = [made.plan for made in prepared.modes.values()]
    check_effort(plans, duration, runs, f"{remedy.partition(',')[0]}, or give fewer runs")
    bounds = analyze_modes(system, waiting=master_waits, serving=worker_serves)
    several = None
    if runs > 1 or not record_it:
        several, chains = simulate_modes_with_chains(
            prepared, bounds, duration, seed, runs=runs, choice=execution, report=report
        )
        if not record_it:
            return Changed(several, bounds, chains)
        seed = worst_seed_of_modes(several, chains)
    one = simulate_modes(prepared, bounds, duration, seed, choice=execution, trace=True, report=report)
    run = record_modes(
        one,
        bounds,
        name=name or run_name(system.file),
        root=default_root() if root is None else root,
        command=list(command),
        all_runs=several,
    )
    if several is None:
        return Changed(one, bounds, chains_of_modes(one), run)
    return Changed(several, bounds, chains, run)


def worst_seed_of_modes(several: ModesSimulation, chains: Mapping[str, Chains]) -> int:
    """The same of the run that did so in any mode."""
    seen = (share for mode, one in several.modes.items() for share in _shares(one, chains.get(mode, {})))
    return max(seen, key=lambda one: one[0], default=(None, several.seed))[1]


def run_name(file: Path) -> str:
    """The name of a description's run: that of its folder, as far as a run may be called so."""
    plain = re.sub(r"[^A-Za-z0-9_.-]+", "-", file.resolve().parent.name)
    return plain.lstrip("-_.")[:64] or "system"


def check_size(plan: Plan, duration: int, remedy: str) -> None:
    """`BadInput` where more jobs would be recorded in `duration` [ps] than memory may be taken for."""
    jobs = _jobs(plan, duration)
    if jobs > RECORDED_JOBS:
        raise BadInput(f"about {jobs} jobs would be recorded, more than {RECORDED_JOBS}; {remedy}")


def _jobs(plan: Plan, duration: int) -> int:
    return sum(duration // task.long_run_ps + 1 for task in plan.tasks.values())


def check_effort(plans: Iterable[Plan], duration: int, runs: int, remedy: str) -> None:
    """`BadInput` where so many jobs and slots are simulated in `duration` [ps] that it would take days."""
    most = 0
    for plan in plans:
        jobs = _jobs(plan, duration)
        slots = [core.slot for core in plan.cores.values() if core.slot is not None]
        if slots and slots[0].arbitration != "round-robin":
            jobs += len(slots) * (duration // slots[0].round_ps + 1)
        most = max(most, jobs)
    if most * runs > SIMULATED_EVENTS:
        raise BadInput(
            f"about {most * runs:.1e} jobs and slots would be simulated, which takes more than a day;"
            f" {remedy}"
        )


def worst_seed(several: Simulation, chains: Chains) -> int:
    """The seed of the run that came closest to what a deadline or a chain allows, or furthest past it."""
    return max(_shares(several, chains), key=lambda one: one[0], default=(None, several.seed))[1]


def _shares(several: Simulation, chains: Chains) -> Iterator[tuple[tuple[bool, Fraction], int]]:
    """The largest share of each limit that the runs reached, and the seed of the run that reached it."""
    for task in several.figures.values():
        if task.max_response is not None:
            yield (task.held > 0, Fraction(task.max_response, task.deadline)), task.seed
    for chain in chains.values():
        yield (False, chain.share), chain.seed
