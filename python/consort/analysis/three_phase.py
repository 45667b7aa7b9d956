# SPDX-License-Identifier: Apache-2.0
"""Response-time bounds of three-phase tasks on a core with a scratchpad (spm-centric-os, section V); such
cores of a description: their tasks, their share of the DMA."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import gcd
from typing import Any, Literal

from consort import _engine
from consort.analysis.figures import Figures, NotAnalysable, check_together
from consort.analysis.result import OUT_OF_RANGE_NOTE, Bound, Step, Used, in_words, joined
from consort.analysis.unitask import UniTask
from consort.model import System
from consort.plan import Plan, Slot, plan_of

Method = Literal["corrected", "literal", "round-robin"]

# The engine's times are below it.
_LARGEST = 2**50
_PAPER = "Tabish et al., RTAS 2016 (spm-centric-os), section V"
_SOURCE = {
    "corrected": f"{_PAPER}, corrected: docs/explanation/three-phase.md, theorem 1",
    "literal": f"{_PAPER}, as printed",
    "round-robin": "docs/explanation/three-phase.md, theorem 2 (round robin, operations of their own length)",
}
_COMMON = (
    "tasks of the core are sporadic, fixed priority, never preempted, deadlines at most the periods",
    "two partitions a core; a completed task is unloaded oldest first",
    "execution times include context switches; DMA times include programming the DMA",
    "consecutive releases of a task are due at least its period apart; each comes at most its jitter late",
    "the tasks of the core that are more urgent meet their deadlines, and so did the task's earlier jobs",
)
_FIRST_LATE = "its first late job may take up to {}, longer than the period: those after it longer still"
_FAR_LATE = "its first late job takes more than {}: no bound above {} deadlines is searched for"
_OVERRUN = "tasks below may then be late too, and two jobs of one of them in flight: that is allowed for"
_ARBITRATION = {
    "corrected": "TDMA of the DMA: one load or unload in each own slot, which is charged whole",
    "literal": "TDMA of the DMA: one load or unload in each own slot, which is charged whole",
    "round-robin": "the DMA serves the cores round robin and is never idle while one of them asks",
}


@dataclass(frozen=True)
class DmaShare:
    """One core's share of the DMA; times in ps.

    TDMA: an own slot of `slot` begins every `round` (with M equal slots round = M * slot). Round robin:
    `slot` is this core's longest operation, `round` the sum of the longest operations of all cores.
    """

    slot: int
    round: int

    @staticmethod
    def equal(slot: int, cores: int) -> DmaShare:
        return DmaShare(slot, cores * slot)


def bound_core(
    tasks: Sequence[UniTask],
    share: DmaShare,
    *,
    method: Method = "corrected",
    core: str = "",
    limit_factor: int = 16,
) -> list[Bound]:
    """Bounds of a core's tasks, which come in priority order, the most urgent first.

    The bound of a task rests on those above it meeting their deadlines, so after the first that is not
    schedulable the rest have none; the bounds of those above it then allow that tasks below overrun. The
    iteration of a bound ends above `limit_factor` times the deadline. ValueError for tasks that the analysis
    does not take (deadline above the period, an operation longer than the slot, jitter in the printed bound).
    """
    jittered = [task.name for task in tasks if task.jitter]
    if jittered and method == "literal":
        raise ValueError(f"the printed bound takes no release jitter; {jittered[0]} has some")
    tick = gcd(share.slot, share.round, *(t for task in tasks for t in _times(task)))
    times = [tuple(t // tick for t in _times(task)) for task in tasks]

    def engine(overrun: bool) -> list[dict[str, Any]]:
        if any(
            time // tick >= _LARGEST for time in (share.round, *(t for task in tasks for t in _times(task)))
        ):
            return []
        try:
            return _engine.spm_bounds(
                times, share.round // tick, share.slot // tick, method, limit_factor, overrun
            )
        except OverflowError:
            return []

    found = engine(False)
    if not found:
        # A time, or a sum, left the range of the engine's times.
        note = f"{OUT_OF_RANGE_NOTE}; or a time is 2^50 of its ticks, {in_words(tick)}, or more"
        return [
            Bound(task.name, None, task.deadline, _SOURCE[method], core=core, notes=(note,)) for task in tasks
        ]
    late = found[-1]["response"] is None or found[-1]["response"] * tick > tasks[len(found) - 1].deadline
    if late:
        # Then two jobs of one task below may be in flight at once.
        found = engine(True)
    results: list[Bound] = []
    for index, task in enumerate(tasks):
        common = {
            "task": task.name,
            "deadline": task.deadline,
            "source": _SOURCE[method],
            "assumptions": (_ARBITRATION[method], *_COMMON),
            "core": core,
        }
        if index >= len(found):
            first = tasks[len(found) - 1].name
            notes: tuple[str, ...] = (f"{first} above it misses its deadline: no bound",)
            results.append(Bound(response=None, notes=notes, **common))  # type: ignore[arg-type]
            continue
        raw = found[index]
        notes = (_OVERRUN,) if late else ()
        if method == "literal":
            notes = ("unsound: for comparison only (the documentation has four counterexamples)",)
        response = None if raw["response"] is None else raw["response"] * tick
        explanation = _explain(tasks, index, raw, tick)
        # Why there is no bound comes first: it is the cause that a verdict names.
        if response is None:
            notes = (_FAR_LATE.format(in_words(task.deadline * limit_factor), limit_factor), *notes)
        elif response > task.period and method != "literal":
            # The proof wants a job to be done before the next one of its task comes.
            notes = (_FIRST_LATE.format(in_words(response)), *notes)
            response = None
        results.append(Bound(response=response, explanation=explanation, notes=notes, **common))  # type: ignore[arg-type]
    return results


def _times(task: UniTask) -> tuple[int, ...]:
    return task.execution, task.period, task.deadline, task.load, task.unload, task.jitter


def _explain(tasks: Sequence[UniTask], index: int, raw: dict[str, object], tick: int) -> tuple[Step, ...]:
    """The worst case as intervals, in ps from when the job was due."""

    def number(key: str) -> int:
        value = raw[key]
        assert isinstance(value, int)
        return value

    running, loading = number("running"), number("loading")
    blocking, interference, final = (number(k) * tick for k in ("blocking", "interference", "final"))
    late = number("jitter") * tick
    begin = late - number("shift") * tick
    note = "counted from before the job was due: the task's previous one was in flight" if begin < 0 else ""
    who = tasks[running].name if running >= 0 else "no task"
    next_one = tasks[loading].name if loading >= 0 else "no task"
    steps = [Step("jitter", f"{tasks[index].name} comes late", 0, late)] if late else []
    steps += [
        Step("blocking", f"B: {who} executes, {next_one} is being loaded", begin, blocking, 1, note),
    ]
    at = begin + blocking
    jobs = [(loading, 1)] if loading >= 0 else []
    interferers = raw["interferers"]
    assert isinstance(interferers, list)
    jobs += [(k, count) for k, count in enumerate(interferers) if count]
    work = ", ".join(f"{count} x {tasks[k].name}" for k, count in jobs) or "none"
    executing = in_words(sum(count * tasks[k].execution for k, count in jobs))
    steps.append(
        Step(
            "interference",
            f"H: {work}",
            at,
            interference,
            sum(count for _, count in jobs),
            f"{executing} of it execution, the rest waiting for loads and unloads",
        )
    )
    at += interference
    own = tasks[index].execution
    steps.append(Step("own", f"{tasks[index].name} executes", at, own))
    steps.append(Step("unload", "F: until its unload ends", at + own, final - own))
    return tuple(steps)


METHODS: dict[str, Method] = {"tdma": "corrected", "round-robin": "round-robin"}


@dataclass(frozen=True)
class ThreePhaseCore:
    """The analysis's inputs for one core."""

    core: str
    tasks: tuple[UniTask, ...]
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
    slot = slot_of(plan, core)
    arbitration = slot.arbitration
    share = DmaShare(slot.length_ps, slot.round_ps)
    switch, late = figures.context_switch(core), figures.lateness(core)
    used = [switch.used, late.used]
    tasks = []
    for name in planned.tasks:
        task = plan.tasks[name]
        wcet = figures.wcet(name)
        used.append(wcet.used)
        jitter = figures.jitter(name)
        used.append(jitter.used)
        operations = moved(plan, name) if arbitration == "round-robin" else None
        load, unload = operations or (0, 0)
        tasks.append(
            UniTask(
                name,
                wcet.ps + 2 * switch.ps,
                task.period_ps,
                task.deadline_ps,
                jitter=jitter.ps + late.ps,
                load=load,
                unload=unload,
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


def slot_of(subject: System | Plan, core: str) -> Slot:
    """A core's slot: as given, else as long as its largest load or unload; `NotAnalysable` where neither is
    known."""
    planned = plan_of(subject).cores[core]
    if planned.slot is None:
        raise NotAnalysable(f"scheduling.{core}.slot: {planned.slot_missing}")
    return planned.slot


def bound_three_phase(subject: System | Plan, core: str) -> list[Bound]:
    """Bounds of the three-phase tasks of a core, the most urgent first; `NotAnalysable` as in `core_of`."""
    found = core_of(subject, core)
    figures = joined(found.figures, carried(subject, core))
    bounds = bound_core(found.tasks, found.share, method=found.method, core=core)
    return [replace(bound, figures=figures) for bound in bounds]
