# SPDX-License-Identifier: Apache-2.0
"""Three-phase cores of a system description: their tasks, their share of the DMA, their bounds."""

from __future__ import annotations

from dataclasses import dataclass, replace

from consort.analysis.figures import Figures, NotAnalysable, check_together
from consort.analysis.result import Bound, Used, in_words, joined
from consort.analysis.three_phase import DmaShare, Method, ThreePhaseTask, bound_core
from consort.model import System
from consort.plan import Plan, plan_of

METHODS: dict[str, Method] = {"tdma": "corrected", "round-robin": "round-robin"}


@dataclass(frozen=True)
class ThreePhaseCore:
    """The analysis's inputs for one core."""

    core: str
    tasks: tuple[ThreePhaseTask, ...]
    share: DmaShare
    method: Method
    figures: tuple[Used, ...]
    """Figures that its bounds rest on."""


def three_phase_cores(subject: System | Plan) -> list[str]:
    """The cores that execute three-phase tasks, in the order of the description."""
    return list(plan_of(subject).three_phase_cores)


def moved(subject: System | Plan, task: str) -> tuple[int, int] | None:
    """Times of the platform's DMA engine to load and to unload a task [ps]; None if the description lacks its
    footprint, or the platform the rate of an engine."""
    footprint = plan_of(subject).tasks[task].footprint
    if footprint is None or footprint.load_ps is None or footprint.unload_ps is None:
        return None
    return footprint.load_ps, footprint.unload_ps


def core_of(subject: System | Plan, core: str) -> ThreePhaseCore:
    """One core's tasks and its share. `NotAnalysable` names the figure that lacks."""
    plan = plan_of(subject)
    planned = plan.cores[core]
    check_together(plan, core)
    figures = Figures(plan)
    for one in plan.three_phase_cores:
        if _found_from_moves(plan, one):
            # The round has every core's slot in it, and this one is as long as all that its tasks move.
            for name in plan.cores[one].tasks:
                figures.moves(name)
    if planned.slot is None:
        raise NotAnalysable(f"scheduling.{core}.slot: {planned.slot_missing}")
    arbitration = planned.slot.arbitration
    share = DmaShare(planned.slot.length_ps, planned.slot.round_ps)
    switch, late = figures.context_switch(core), figures.lateness(core)
    used = [switch.used, late.used]
    tasks = []
    for name in planned.tasks:
        task = plan.tasks[name]
        wcet = figures.wcet(name)
        used.append(wcet.used)
        operations = moved(plan, name) if arbitration == "round-robin" else None
        load, unload = operations or (0, 0)
        tasks.append(
            ThreePhaseTask(
                name,
                wcet.ps + 2 * switch.ps,
                task.period_ps,
                task.deadline_ps,
                load,
                unload,
                task.jitter_ps + late.ps,
            )
        )
    return ThreePhaseCore(core, tuple(tasks), share, METHODS[arbitration], joined(*used))


def _found_from_moves(plan: Plan, core: str) -> bool:
    """True if a core's slot was not given: it is as long as the core's longest known load or unload."""
    slot = plan.cores[core].slot
    longest = [max(moved(plan, name) or (0, 0)) for name in plan.cores[core].tasks]
    return slot is None or slot.length_ps == max(longest, default=0)


def carried(subject: System | Plan, core: str) -> tuple[Used, ...]:
    """The figures by which each load and unload of a core fits its slot.

    `NotAnalysable` where one does not, or the description does not say how long it takes.
    """
    figures = Figures(plan_of(subject))
    planned = figures.plan.cores[core]
    for name in planned.tasks:
        longest = max(figures.moves(name))
        if planned.slot is not None and longest > planned.slot.length_ps:
            raise NotAnalysable(
                f"scheduling.{core}.slot: a load or unload of {name} takes up to {in_words(longest)}, longer"
                f" than the slot {in_words(planned.slot.length_ps)}"
            )
    return figures.transfers()


def slot_of(subject: System | Plan, core: str) -> int:
    """The length of a core's slot [ps]: as given, else as long as its largest load or unload."""
    planned = plan_of(subject).cores[core]
    if planned.slot is None:
        raise NotAnalysable(f"scheduling.{core}.slot: {planned.slot_missing}")
    return planned.slot.length_ps


def bound_three_phase(subject: System | Plan, core: str) -> list[Bound]:
    """Bounds of the three-phase tasks of a core, the most urgent first; `NotAnalysable` as in `core_of`."""
    found = core_of(subject, core)
    figures = joined(found.figures, carried(subject, core))
    bounds = bound_core(found.tasks, found.share, method=found.method, core=core)
    return [replace(bound, figures=figures) for bound in bounds]
