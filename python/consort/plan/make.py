# SPDX-License-Identifier: Apache-2.0
"""Makes a plan of a description for a target, or lists all that the target cannot honour."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

from consort.base import arguments
from consort.base.errors import BadInput, nearest
from consort.model import BadDescription, Duration, Figure, System
from consort.model.base import WrongValue
from consort.model.conflicts import unbounded
from consort.model.figures import sourced_in
from consort.plan.channels import plan_channels, plan_devices
from consort.plan.in_modes import in_all_modes, mode_problems, sleeping_alike, with_checkpoints
from consort.plan.refusals import refusals
from consort.plan.sharing import plan_accelerators
from consort.plan.targets import Target, target_named
from consort.plan.tasks import plan_cores, plan_resources, plan_tasks
from consort.plan.types import Plan, PlannedAsker, PlannedChain, PlannedChanges, PlannedRun, Source

# Where offloaded tasks are computed: where the description says, or on their masters.
Place = Literal["described", "local"]


def plan(
    system: System,
    target: str = "linux",
    *,
    mode: str | None = None,
    stand_ins: bool = False,
    place: Place = "described",
) -> Plan:
    """The plan of a description for a target; `BadDescription` with all that the target cannot honour.

    With `mode` as the system is in that mode. With `stand_ins` every task without a step has a stand-in. With
    `place` "local" offloaded tasks are computed by their masters: the comparison that offloading is held to.
    """
    arguments.instance("system", system, System, "consort.load(path) makes one")
    aim = target_named(arguments.text("target", target), "target")
    mode = None if mode is None else arguments.text("mode", mode)
    stand_ins = arguments.flag("stand_ins", stand_ins)
    place = arguments.one_of("place", place, get_args(Place))
    made, problems = _planned(system, aim, mode, stand_ins, place)
    if _goes_from_mode_to_mode(system, aim, mode):
        problems = _in_modes(system, aim, stand_ins, place)[1]
    if problems:
        raise BadDescription(problems)
    return made


def _goes_from_mode_to_mode(system: System, target: Target, mode: str | None) -> bool:
    """True if a run of it has a plan for each mode, and not the one of all tasks as they stand."""
    return mode is None and system.mode_changes is not None and target.executes and target.in_modes


def problems_of(
    system: System, target: str = "linux", *, mode: str | None = None, stand_ins: bool = False
) -> list[BadInput]:
    """All that keeps a right description from being planned for a target."""
    aim = target_named(target)
    if _goes_from_mode_to_mode(system, aim, mode):
        return _in_modes(system, aim, stand_ins, "described")[1]
    return _planned(system, aim, mode, stand_ins, "described")[1]


def refused_everywhere(system: System) -> list[BadInput]:
    """Problems that keep a right description from any target, in any of its modes, each once."""
    changes = system.mode_changes
    modes = (None, *system.modes) if changes is None else tuple(changes.entered())
    # An analysis asks least of a description: no steps, no data, no clock.
    found = [problem for mode in modes for problem in problems_of(system, "analysis", mode=mode)]
    return list({str(problem): problem for problem in found}.values())


@dataclass(frozen=True)
class ModePlans:
    """The plans of a run: of one mode, or of all that it goes through."""

    whole: Plan
    """The content of the run's program: the parts of all modes."""
    modes: Mapping[str, Plan] = field(default_factory=dict)
    """By mode, of a run that goes from mode to mode."""


def plan_in_modes(
    system: System, target: str, *, stand_ins: bool = False, place: Place = "described"
) -> ModePlans:
    """The plans of a description with `mode_changes`; `BadDescription` with all that the target cannot."""
    made, problems = _in_modes(system, target_named(target), stand_ins, place)
    if problems:
        raise BadDescription(problems)
    return made


def _in_modes(
    system: System, target: Target, stand_ins: bool, place: Place
) -> tuple[ModePlans, list[BadInput]]:
    assert system.mode_changes is not None
    base, of_all = _planned(system, target, None, stand_ins, place)
    modes: dict[str, Plan] = {}
    # A task that is in no mode is never run.
    problems = [problem for problem in of_all if problem.field == "mode_changes"]
    for mode in system.mode_changes.entered():
        modes[mode], found = _planned(system, target, mode, stand_ins, place)
        said = {str(problem) for problem in problems}
        problems += [problem for problem in found if str(problem) not in said]
    modes = sleeping_alike(modes)
    problems += mode_problems(system, modes, target, system.document.problem)
    return ModePlans(in_all_modes(system, base, modes), modes), problems


def subject_of(subject: System | Plan, name: str = "system") -> System | Plan:
    """The subject of a public function's analysis or simulation; `BadInput` if it is neither."""
    arguments.instance(name, subject, (System, Plan), "consort.load(path) makes a system")
    return subject


def released_for(duration: str | Duration, field: str = "duration") -> Duration:
    """The time in which jobs are released: above 0; `BadInput` if it is none."""
    try:
        found = (
            duration if isinstance(duration, Duration) else Duration.parse(arguments.text(field, duration))
        )
    except WrongValue as error:
        raise BadInput(str(error), field=field) from None
    if found.picoseconds == 0:
        raise BadInput("jobs are released for more than 0s", field=field)
    return found


def plan_of(subject: System | Plan) -> Plan:
    """The plan that an analysis or a simulation takes: one that is made already, or one for no machine."""
    made = subject if isinstance(subject, Plan) else plan(subject, "analysis")
    if made.changes is not None and made.mode is None:
        raise BadInput(
            "the system goes from mode to mode; take the plan of one mode, or analyze_modes and"
            " simulate_modes",
            file=made.file,
            field="mode_changes",
        )
    return made


def chosen_mode(system: System, mode: str | None) -> System:
    """The system in a mode; `BadInput` names the nearest mode where there is none of that name."""
    if mode is None:
        return system
    if mode not in system.modes:
        hint = nearest(mode, system.modes, "modes")
        raise BadInput(f"there is no mode {mode!r}; {hint}", file=system.file, field="modes")
    return system.in_mode(mode)


def _planned(
    whole: System, target: Target, mode: str | None, stand_ins: bool, place: Place
) -> tuple[Plan, list[BadInput]]:
    system = chosen_mode(whole, mode)
    if place == "local":
        system = _on_masters(system)
    tasks = plan_tasks(system, stand_ins=stand_ins and target.executes)
    if mode is not None:
        tasks = with_checkpoints(whole, tasks)
    cores = plan_cores(system, tasks)
    channels = plan_channels(system, tasks)
    devices = plan_devices(system)
    made = Plan(
        file=system.file,
        name=system.name,
        description=system.description,
        platform=system.platform_description,
        platform_given=system.platform,
        figures={
            place: (value, source)
            for part in (system.platform_description, system)
            for place, value, source in part.figures()
        },
        target=target.name,
        mode=mode,
        cores=cores,
        tasks=tasks,
        channels=channels,
        devices=devices,
        chains={
            name: PlannedChain(
                name,
                chain.path,
                None if chain.reaction is None else chain.reaction.picoseconds,
                None if chain.age is None else chain.age.picoseconds,
                chain.communication,
            )
            for name, chain in system.chains.items()
        },
        resources=plan_resources(system, tasks),
        accelerators=plan_accelerators(system),
        run=PlannedRun(
            system.run.iterations,
            system.configurations(),
            system.run.interference,
            system.run.seed,
            system.run.configurations is not None,
            system.run.time_base,
        ),
        sources=tuple(_sources(system)),
        notes=(),
        changes=changes_of(system),
        unbounded=unbounded(system),
    )
    problems, notes = refusals(whole, made, target)
    return replace(made, notes=notes), problems


def changes_of(system: System) -> PlannedChanges | None:
    """The mode changes of a description."""
    given = system.mode_changes
    if given is None:
        return None
    return PlannedChanges(
        given.start,
        given.agreement.picoseconds,
        None if given.within is None else given.within.picoseconds,
        given.state_through,
        tuple((request.at.picoseconds, request.to) for request in given.timed),
        tuple(PlannedAsker(asker.task, asker.member, asker.modes) for asker in given.askers),
        {one.core: one.to for one in given.fail_overs},
        None if given.detection is None else given.detection.picoseconds,
        tuple(system.modes),
    )


def _sources(part: object) -> Iterator[Source]:
    """The stated sources of the figures of a part of a description: each source once."""
    for place, inside, _ in sourced_in(part):
        if inside.provenance is not None:
            value = str(inside.value) if isinstance(inside, Figure) else ""
            yield Source(place or "all other figures", value, str(inside.provenance))


def _on_masters(system: System) -> System:
    """The system with its offloaded tasks computed by their masters."""
    changes = {
        name: {"execution": "local", "on": task.master}
        for name, task in system.tasks.items()
        if task.execution == "offloaded"
    }
    return system.changed(changes)
