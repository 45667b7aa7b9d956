# SPDX-License-Identifier: Apache-2.0
"""Simulating a system that changes its mode: docs/explanation/mode-changes.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from consort import _engine
from consort.analysis.mode_changes import ModeBounds, mode_plans, published_at_deadline
from consort.base.errors import BadInput
from consort.judge.changes import Change, unseen_requests
from consort.model import System
from consort.model.channel import Service, Wait
from consort.plan import Plan
from consort.simulate.build import Prepared, prepare
from consort.simulate.chains import Chains, followed, measured
from consort.simulate.engine import (
    ABSENT,
    ARRIVAL,
    JOBS,
    SLICES,
    TIMES,
    Choice,
    Report,
    Simulation,
    figures_of,
    joined,
    repeated,
    summed,
    watched,
)


@dataclass(frozen=True)
class PreparedModes:
    """The engine's input, and the modes' own systems; `tasks` and `cores` are those of all modes."""

    system: System
    modes: Mapping[str, Prepared]
    engine: _engine.SimModes
    tasks: list[str]
    cores: list[str]

    @property
    def names(self) -> list[str]:
        return list(self.modes)


@dataclass(frozen=True)
class Segment:
    """A run's stay in one mode without a break; its times count from its release."""

    mode: str
    start: int
    simulation: Simulation


@dataclass(frozen=True)
class ModesSimulation:
    """One run with changes of mode, or several taken together; then without segments."""

    prepared: PreparedModes
    duration: int
    seed: int
    runs: int
    modes: Mapping[str, Simulation]
    changes: list[Change]
    """Changes; of several runs, those of the slowest change of each kind."""
    segments: list[Segment] = field(default_factory=list, repr=False)
    carried: frozenset[str] = frozenset()
    """Channels whose blocks go on through a change, which a simulation does not follow."""

    @property
    def misses(self) -> int:
        return sum(simulation.misses for simulation in self.modes.values())

    @property
    def drops(self) -> int:
        """Blocks that found no room."""
        return sum(simulation.drops for simulation in self.modes.values())

    @property
    def late_changes(self) -> list[Change]:
        return [change for change in self.changes if not change.kept]

    @property
    def unseen(self) -> list[str]:
        """Requests, tasks of modes that were entered, and blocks in channels, that no run shows."""
        given = self.prepared.system.mode_changes
        assert given is not None
        entered = {given.start, *(change.new for change in self.changes)}
        requests = [(request.at.picoseconds, request.to) for request in given.timed]
        tasks = [
            f"nothing was seen of {name} in mode {mode}"
            for mode, simulation in self.modes.items()
            for name, figures in simulation.figures.items()
            if mode in entered and not figures.jobs
        ]
        blocks = [
            f"{name}: blocks go on through a change of mode, which a simulation does not follow; run the"
            " system with --for virtual"
            for name in sorted(self.carried)
        ]
        return [*unseen_requests(requests, self.duration, entered), *tasks, *blocks]


def prepare_modes(
    system: System,
    *,
    dense: bool = False,
    discipline: Service | None = None,
    waiting: Wait | None = None,
) -> PreparedModes:
    """A description with `mode_changes` for the engine; the options are those of `prepare`."""
    given = system.mode_changes
    assert given is not None
    if given.askers:
        raise BadInput(
            "a simulation computes no outputs, so that it does not know what this task asks for; run the"
            " system with --for virtual, or ask at known instants with 'requests'",
            file=system.file,
            field="mode_changes.asked_by",
        )
    plans = mode_plans(system)
    modes = {
        name: prepare(made, dense=dense, discipline=discipline, waiting=waiting)
        for name, made in plans.items()
    }
    tasks = [name for name in system.tasks if any(name in made.tasks for made in modes.values())]
    cores = list(dict.fromkeys(core for made in modes.values() for core in made.cores))
    systems = [engine_system(plans[name], made, tasks, cores) for name, made in modes.items()]
    names = list(modes)
    engine = _engine.SimModes(
        systems,
        names.index(given.start),
        given.agreement.picoseconds,
        [(request.at.picoseconds, names.index(request.to)) for request in given.timed],
    )
    return PreparedModes(system, modes, engine, tasks, cores)


def engine_system(
    plan: Plan, made: Prepared, tasks: Sequence[str], cores: Sequence[str]
) -> _engine.SimSystem:
    """A mode's system with the tasks and cores of all modes; those of others rest."""
    logical = published_at_deadline(plan)
    all_tasks = []
    for name in tasks:
        if name not in made.tasks:
            resting = _engine.SimTask()
            resting.rests = True
            all_tasks.append(resting)
            continue
        task = made.engine_tasks[made.tasks.index(name)]
        task.core = cores.index(made.cores[task.core])
        task.master = cores.index(made.cores[task.master])
        task.until_deadline = name in logical
        all_tasks.append(task)
    all_cores = [
        made.engine_cores[made.cores.index(name)] if name in made.cores else _engine.SimCore()
        for name in cores
    ]
    return _engine.SimSystem(all_cores, [], all_tasks)


def simulate_modes(
    prepared: PreparedModes,
    bounds: ModeBounds | None,
    duration: int,
    seed: int = 1,
    *,
    runs: int = 1,
    choice: Choice = "uniform",
    trace: bool = False,
    report: Report | None = None,
) -> ModesSimulation:
    """Runs with the changes of mode that the description asks for; as `simulate` for one mode.

    With `bounds` each change has the bound that it is held against.
    """

    def single(seed: int, share: Report | None) -> ModesSimulation:
        return _single(prepared, bounds, duration, seed, choice, trace, share)

    return repeated(single, together, seed, runs=runs, trace=trace, report=report)


def _single(
    prepared: PreparedModes,
    bounds: ModeBounds | None,
    duration: int,
    seed: int,
    choice: Choice,
    trace: bool,
    report: Report | None,
) -> ModesSimulation:
    progress = _engine.SimProgress()
    raw = watched(
        lambda: _engine.sim_run_modes(prepared.engine, duration, seed, choice, ARRIVAL, trace, progress),
        progress,
        duration,
        report,
    )
    names = prepared.names
    modes = {}
    for name, figures in zip(names, raw["modes"], strict=True):
        of = dict(zip(prepared.tasks, figures, strict=True))
        made = prepared.modes[name]
        modes[name] = Simulation(made, duration, seed, 1, figures_of(made, of, seed))
    assert prepared.system.mode_changes is not None
    within = prepared.system.mode_changes.within
    allowed = None if within is None else within.picoseconds
    changes = []
    for found in raw["changes"]:
        old, new = names[found.pop("source")], names[found.pop("target")]
        bound = None if bounds is None else bounds.change(old, new).response
        changes.append(Change(old, new, **found, bound=bound, within=allowed))
    segments = _segments(prepared, raw, changes, modes, duration, seed) if trace else []
    return ModesSimulation(prepared, duration, seed, 1, modes, changes, segments)


def _segments(
    prepared: PreparedModes,
    raw: dict[str, Any],
    changes: list[Change],
    modes: Mapping[str, Simulation],
    duration: int,
    seed: int,
) -> list[Segment]:
    """The jobs and slices of a run by the mode that they are in, each counted from its release."""
    jobs, slices = raw["jobs"].view(JOBS), raw["slices"].view(SLICES)
    assert prepared.system.mode_changes is not None
    entered = [(prepared.system.mode_changes.start, 0), *((c.new, c.released) for c in changes)]
    ends = [*(c.released for c in changes), None]
    # Until when jobs were released: a request that came before the mode's own release ended them there.
    untils = [min(max(c.requested, s), duration) for c, (_, s) in zip(changes, entered, strict=False)]
    found = []
    for (mode, start), end, until in zip(entered, ends, [*untils, duration], strict=True):
        made = prepared.modes[mode]
        mine = _between(jobs, "release", start, end)
        mine["task"] = _places(prepared.tasks, made.tasks)[mine["task"]]
        for name in TIMES:
            mine[name] -= np.where(mine[name] == ABSENT, 0, start)
        spent = _between(slices, "begin", start, end)
        spent["task"] = _places(prepared.tasks, made.tasks)[spent["task"]]
        spent["core"] = _places(prepared.cores, made.cores)[spent["core"]]
        for name in ("begin", "end"):
            spent[name] -= start
        simulation = Simulation(made, max(until - start, 0), seed, 1, modes[mode].figures, None, mine, spent)
        found.append(Segment(mode, start, simulation))
    return found


def _between(rows: NDArray[np.void], key: str, start: int, end: int | None) -> NDArray[np.void]:
    inside = rows[key] >= start
    if end is not None:
        inside &= rows[key] < end
    return rows[inside].copy()


def _places(all_names: list[str], names: list[str]) -> NDArray[np.uint32]:
    """The position of each task or core in a mode's own list; the list's length for one that is not there."""
    places = [names.index(name) if name in names else len(names) for name in all_names]
    return np.array(places, dtype=np.uint32)


def together(a: ModesSimulation, b: ModesSimulation) -> ModesSimulation:
    """Two runs taken together, the second one after the others; without segments."""
    slowest: dict[tuple[str, str], Change] = {}
    for change in (*a.changes, *b.changes):
        kind = (change.old, change.new)
        if kind not in slowest or change.latency > slowest[kind].latency:
            slowest[kind] = change
    modes = {name: joined(one, b.modes[name]) for name, one in a.modes.items()}
    changes, carried = list(slowest.values()), a.carried | b.carried
    return replace(a, runs=a.runs + 1, modes=modes, changes=changes, segments=[], carried=carried)


def measured_in_modes(one: ModesSimulation) -> tuple[ModesSimulation, dict[str, Chains]]:
    """A run with a trace, with the blocks that channels dropped in each mode, and the longest times of the
    chains in each; a time that spans a change is in no mode."""
    found: dict[str, Chains] = {}
    modes, carried = dict(one.modes), one.carried
    for segment in one.segments:
        jobs = segment.simulation.jobs
        if jobs is not None and jobs.size:
            stay, chains = measured(segment.simulation)
            _add(found, {segment.mode: chains})
            before = modes[segment.mode]
            modes[segment.mode] = replace(before, dropped=summed(before.dropped, stay.dropped))
            carried |= frozenset() if segment is one.segments[-1] else stay.waiting
    return replace(one, modes=modes, carried=carried), found


def _add(found: dict[str, Chains], more: Mapping[str, Chains]) -> None:
    for mode, chains in more.items():
        of_mode = found.setdefault(mode, {})
        for name, seen in chains.items():
            of_mode[name] = seen if name not in of_mode else of_mode[name].with_more(seen)


def simulate_modes_with_chains(
    prepared: PreparedModes,
    bounds: ModeBounds | None,
    duration: int,
    seed: int = 1,
    *,
    runs: int = 1,
    choice: Choice = "uniform",
    report: Report | None = None,
) -> tuple[ModesSimulation, dict[str, Chains]]:
    """Simulates as `simulate_modes`, without a trace, and gives the chains' figures of all runs, too."""
    if not any(followed(made.plan) for made in prepared.modes.values()):
        return (
            simulate_modes(prepared, bounds, duration, seed, runs=runs, choice=choice, report=report),
            {},
        )
    chains: dict[str, Chains] = {}

    def single(seed: int, share: Report | None) -> ModesSimulation:
        one = simulate_modes(prepared, bounds, duration, seed, choice=choice, trace=True, report=share)
        one, seen = measured_in_modes(one)
        _add(chains, seen)
        return replace(one, segments=[])

    return repeated(single, together, seed, runs=runs, trace=False, report=report), chains
