# SPDX-License-Identifier: Apache-2.0
"""`consort.simulate(system)`: a simulated run from a script or a notebook, recorded and judged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar, get_args

from consort.analysis.lacking import lacking_figures, lacking_in_modes
from consort.analysis.mode_changes import analyze_modes
from consort.analysis.system import analyze_system
from consort.base import arguments
from consort.base.errors import BadInput, environment_errors
from consort.model import Duration, System
from consort.model.channel import Service, Wait
from consort.plan import Plan, plan_of
from consort.plan.channels import sent_by_devices
from consort.plan.make import released_for, subject_of
from consort.record.store import Run, default_root
from consort.record.writer import run_name
from consort.simulate import engine
from consort.simulate.build import prepare
from consort.simulate.chains import Chains, followed, measured, simulate_with_chains
from consort.simulate.engine import Choice, Report, Simulation
from consort.simulate.modes import (
    ModesSimulation,
    measured_in_modes,
    prepare_modes,
    simulate_modes,
    simulate_modes_with_chains,
)
from consort.simulate.outcome import InMode, Outcome, above_bounds, excesses_of, unseen_of
from consort.simulate.record import Rows, record, record_modes

F = TypeVar("F")
C = TypeVar("C")
R = TypeVar("R")

# A job of a recorded run takes about 200 bytes while it is written.
RECORDED_JOBS = 20_000_000
# Jobs and slots that are simulated in a day, at a million a second, which is little.
SIMULATED_EVENTS = 24 * 3600 * 1_000_000


@dataclass(frozen=True)
class Options:
    """A simulation's options; times in ps."""

    duration: int
    seed: int
    """The first run's; the others have those that follow."""
    runs: int = 1
    execution: Choice = "uniform"
    dense: bool = False
    """Sporadic releases as early as they may come."""
    worker_serves: Service | None = None
    """Instead of a core's `service`."""
    master_waits: Wait | None = None
    """Instead of a core's `wait`."""
    record: bool = True
    """The run that came closest to what a deadline or a chain allows is recorded and judged."""
    name: str | None = None
    """The run's name; None: that of the description's folder."""
    root: Path | None = None
    command: Sequence[str] = ()
    diagram: str | None = None
    """The picture of the system, where a plan of it is simulated, which cannot be drawn."""
    spelled: str = "'{}'"
    """How an option is named in a message to whoever gave it."""

    def option(self, name: str) -> str:
        return self.spelled.format(name)


def simulate(
    system: System | Plan,
    duration: str | Duration = "1s",
    *,
    seed: int | None = None,
    runs: int = 1,
    execution: Choice = "uniform",
    dense: bool = False,
    worker_serves: Service | None = None,
    master_waits: Wait | None = None,
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
    if worker_serves is not None:
        worker_serves = arguments.one_of("worker_serves", worker_serves, get_args(Service))
    if master_waits is not None:
        master_waits = arguments.one_of("master_waits", master_waits, get_args(Wait))
    options = Options(
        length.picoseconds,
        seed,
        runs,
        arguments.one_of("execution", execution, get_args(Choice)),
        arguments.flag("dense", dense),
        worker_serves,
        master_waits,
        name=None if name is None else arguments.text("name", name),
        root=arguments.path("root", root),
    )
    run = simulated(system, options).run
    assert run is not None
    return run


@environment_errors()
def simulated(system: System | Plan, options: Options, report: Report | None = None) -> Outcome:
    """Simulates a system, or a plan of one in a mode of it, as `consort simulate` and `simulate` do."""
    if isinstance(system, System) and system.mode_changes is not None:
        return _with_changes(system, options, report)
    planned = plan_of(system)
    prepared = prepare(
        planned, dense=options.dense, discipline=options.worker_serves, waiting=options.master_waits
    )
    _check([planned], options)
    bounds = analyze_system(planned, waiting=options.master_waits, serving=options.worker_serves)
    given: dict[str, Any] = {"choice": options.execution, "report": report}

    made = _runs(
        options,
        lambda: simulate_with_chains(prepared, options.duration, options.seed, runs=options.runs, **given),
        worst_seed,
        lambda seed: engine.simulate(prepared, options.duration, seed, trace=True, **given),
        measured,
        _figures_and_rows,
        lambda one, rows, several: record(one, rows, bounds, all_runs=several, **_recording(system, options)),
    )
    found, chains, rows, run = made
    excesses = above_bounds(prepared, bounds, found, options.execution)
    return Outcome(
        [InMode("", found, chains, bounds, excesses)],
        options.duration,
        options.seed,
        found.runs,
        lacking_figures(planned, bounds),
        unseen_of(found, chains),
        recorded=rows,
        run=run,
    )


def _figures_and_rows(one: Simulation) -> tuple[Simulation, Rows]:
    return replace(one, jobs=None, slices=None), Rows.of(one)


def _with_changes(system: System, options: Options, report: Report | None) -> Outcome:
    """The same of a system with `mode_changes`."""
    prepared = prepare_modes(
        system, dense=options.dense, discipline=options.worker_serves, waiting=options.master_waits
    )
    _check([made.plan for made in prepared.modes.values()], options)
    bounds = analyze_modes(system, waiting=options.master_waits, serving=options.worker_serves)
    given: dict[str, Any] = {"choice": options.execution, "report": report}
    found, chains, _, run = _runs(
        options,
        lambda: simulate_modes_with_chains(
            prepared, bounds, options.duration, options.seed, runs=options.runs, **given
        ),
        worst_seed_of_modes,
        lambda seed: simulate_modes(prepared, bounds, options.duration, seed, trace=True, **given),
        measured_in_modes,
        lambda one: (one, one),
        lambda _, one, several: record_modes(one, bounds, all_runs=several, **_recording(system, options)),
    )
    modes = [
        InMode(mode, of, chains.get(mode, {}), bounds.modes[mode], excesses_of(bounds.modes[mode], of))
        for mode, of in found.modes.items()
    ]
    never = [
        f"nothing was seen of chain {name} in mode {mode}"
        for mode, some in chains.items()
        for name, chain in some.items()
        if chain.unseen
    ]
    return Outcome(
        modes,
        options.duration,
        options.seed,
        found.runs,
        lacking_in_modes(bounds),
        [*found.unseen, *never],
        found.changes,
        run=run,
    )


def _runs(
    options: Options,
    several: Callable[[], tuple[F, C]],
    worst: Callable[[F, C], int],
    single: Callable[[int], F],
    measured: Callable[[F], tuple[F, C]],
    kept: Callable[[F], tuple[F, R]],
    recorded: Callable[[F, R, F | None], Run],
) -> tuple[F, C, R | None, Run | None]:
    """All runs taken together, their chains, and the rows of the one that is recorded: the worst of several.

    `kept`: the figures of a run, and its rows in the form of a record. The engine's own rows end there: to
    judge and to write a record takes as much memory again.
    """
    if options.record and options.runs == 1:
        one, chains = measured(single(options.seed))
        one, rows = kept(one)
        return one, chains, rows, recorded(one, rows, None)
    found, chains = several()
    if not options.record:
        return found, chains, None, None
    one, rows = kept(single(worst(found, chains)))
    return found, chains, rows, recorded(one, rows, found)


def _recording(system: System | Plan, options: Options) -> dict[str, Any]:
    from consort.report.draw import draw_for_page

    return {
        "diagram": draw_for_page(system) if isinstance(system, System) else options.diagram,
        "name": options.name or run_name(system.file),
        "root": default_root() if options.root is None else options.root,
        "command": list(options.command),
    }


def worst_seed_of_modes(several: ModesSimulation, chains: Mapping[str, Chains]) -> int:
    """The same of the run that did so in any mode."""
    seen = (share for mode, one in several.modes.items() for share in _shares(one, chains.get(mode, {})))
    return max(seen, key=lambda one: one[0], default=(None, several.seed))[1]


def _check(plans: Sequence[Plan], options: Options) -> None:
    """`BadInput` where more jobs would be recorded than there is memory for, or it would take days.

    Chains, and blocks that are dropped, are seen in recorded jobs only.
    """
    shorten = f"shorten {options.option('duration')}"
    for plan in plans:
        jobs = _jobs(plan, options.duration)
        if (options.record or followed(plan)) and jobs > RECORDED_JOBS:
            bare = not followed(plan) and options.spelled.startswith("--")
            without = f", or add {options.option('no-record')}" if bare else ""
            raise BadInput(
                f"about {jobs} jobs would be recorded, more than {RECORDED_JOBS}; {shorten}{without}"
            )
    check_effort(plans, options.duration, options.runs, f"{shorten}, or give fewer {options.option('runs')}")


def _jobs(plan: Plan, duration: int) -> int:
    sent = sum(duration // channel.messages_apart_ps + 1 for channel in sent_by_devices(plan))
    return sent + sum(duration // task.long_run_ps + 1 for task in plan.tasks.values())


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
