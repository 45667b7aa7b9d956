# SPDX-License-Identifier: Apache-2.0
"""Three-phase cores of a system description: their tasks, their share of the DMA, their bounds."""

from __future__ import annotations

from dataclasses import dataclass

from consort.analysis.result import Bound
from consort.analysis.three_phase import DmaShare, Method, ThreePhaseTask, bound_core
from consort.model import System

METHODS: dict[str, Method] = {"tdma": "corrected", "round-robin": "round-robin"}


class NotAnalysable(ValueError):
    """A figure that the analysis needs is not in the description; says which."""


@dataclass(frozen=True)
class ThreePhaseCore:
    """What the analysis takes of one core."""

    core: str
    tasks: tuple[ThreePhaseTask, ...]
    share: DmaShare
    method: Method


def three_phase_cores(system: System) -> list[str]:
    """The cores that execute three-phase tasks, in the order of the description."""
    cores = [task.on for task in system.tasks.values() if task.execution == "three-phase"]
    return list(dict.fromkeys(cores))


def moved(system: System, task: str) -> tuple[int, int] | None:
    """How long the platform's DMA engine takes to load and to unload a task [ps]; None where the description
    lacks its footprint, or the platform a single engine with a rate."""
    footprint = system.tasks[task].footprint
    engines = list(system.platform_description.dmas.values())
    if footprint is None or len(engines) != 1:
        return None
    load, unload = (engines[0].picoseconds(n) for n in (footprint.load_bytes, footprint.unload_bytes))
    return None if load is None or unload is None else (load, unload)


def core_of(system: System, core: str) -> ThreePhaseCore:
    """One core's tasks and its share. `NotAnalysable` names the figure that lacks."""
    arbitration = system.scheduling_of(core).arbitration or "tdma"
    slots = {other: slot_of(system, other) for other in three_phase_cores(system)}
    share = DmaShare(slots[core], sum(slots.values()))
    switch = 2 * system.context_switch(core).picoseconds
    tasks = []
    for name in system.tasks_on(core):
        task = system.tasks[name]
        wcet = system.wcet(name)
        if wcet is None:
            raise NotAnalysable(f"tasks.{name}.wcet: no WCET for three-phase execution on {core}")
        if task.jitter.picoseconds:
            raise NotAnalysable(
                f"tasks.{name}.jitter: the analysis of three-phase tasks takes no release jitter"
            )
        if task.deadline.picoseconds > task.interval.picoseconds:
            raise NotAnalysable(
                f"tasks.{name}.deadline: the analysis of three-phase tasks takes no deadline above the period"
            )
        operations = moved(system, name) if arbitration == "round-robin" else None
        load, unload = operations or (0, 0)
        tasks.append(
            ThreePhaseTask(
                name,
                wcet.picoseconds + switch,
                task.interval.picoseconds,
                task.deadline.picoseconds,
                load,
                unload,
            )
        )
    return ThreePhaseCore(core, tuple(tasks), share, METHODS[arbitration])


def slot_of(system: System, core: str) -> int:
    """The length of a core's slot [ps]: as given, else as long as its largest load or unload."""
    given = system.scheduling_of(core).slot
    if given is not None and given != "auto":
        return given.picoseconds
    longest = 0
    for name in system.tasks_on(core):
        operations = moved(system, name)
        if operations is None:
            raise NotAnalysable(
                f"scheduling.{core}.slot: to find the slot, {name} needs a footprint and the platform one DMA"
                " engine with a rate; or give the slot"
            )
        longest = max(longest, *operations)
    return longest


def bound_three_phase(system: System, core: str) -> list[Bound]:
    """Bounds of the three-phase tasks of a core, the most urgent first; `NotAnalysable` as in `core_of`."""
    found = core_of(system, core)
    return bound_core(found.tasks, found.share, method=found.method, core=core)
