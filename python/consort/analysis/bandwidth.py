# SPDX-License-Identifier: Apache-2.0
"""Cores whose memory accesses are regulated: a budget of accesses in each period, and then a stall.

docs/explanation/analyses.md, theorem 22.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import lcm

from consort.analysis.figures import Figures, MissingFigure, check_together
from consort.analysis.result import UNSOURCED, Bound, Step, Steps, Used, in_words, joined
from consort.plan.sharing import PlannedBandwidth

SOURCE = "docs/explanation/analyses.md, theorem 22 (Yun et al. 2012; Mancuso et al. 2015), with theorem 1"
# Evaluations of a window before the search gives up.
_STEPS = 50_000
_LONGEST = 1 << 62


@dataclass(frozen=True)
class Regulated:
    """A task of a regulated core; `execution` is a job's time when nothing else accesses memory [ps]."""

    name: str
    execution: int
    accesses: int
    period: int
    deadline: int
    jitter: int = 0


@dataclass(frozen=True)
class Window:
    """The contents of a window."""

    length: int
    jobs: tuple[int, ...]
    stalls: int
    waiting: int


def stalls_in(own: PlannedBandwidth, accesses: int, length: int) -> int:
    """The most stalls of a core in a window: the first perhaps for accesses that came before it."""
    return min(1 + accesses // own.budget, -(-length // own.period_ps) + 1)


def waiting_in(
    own: PlannedBandwidth, others: Sequence[PlannedBandwidth | None], accesses: int, length: int
) -> int:
    """The longest wait of a core's accesses for those of others, one each; None: not regulated."""
    counts = (
        accesses if k is None else min(accesses, (-(-length // k.period_ps) + 1) * k.budget) for k in others
    )
    return own.longest_ps * sum(counts)


def window_of(
    tasks: Sequence[Regulated],
    index: int,
    earlier: int,
    own: PlannedBandwidth,
    others: Sequence[PlannedBandwidth | None],
    blocking: int,
    steps: list[int],
) -> Window | None:
    """The busy window up to the end of the job after so many of its own; None where no end was found."""
    task = tasks[index]
    length = blocking + (earlier + 1) * task.execution
    while steps[0] > 0 and length < _LONGEST:
        steps[0] -= 1
        jobs = tuple(-(-(length + k.jitter) // k.period) for k in tasks[:index])
        work = (earlier + 1) * task.execution
        accesses = (earlier + 1) * task.accesses
        for count, other in zip(jobs, tasks, strict=False):
            work += count * other.execution
            accesses += count * other.accesses
        stalls = stalls_in(own, accesses, length)
        waiting = waiting_in(own, others, accesses, length)
        after = blocking + work + stalls * own.stall_ps + waiting
        if after == length:
            return Window(length, jobs, stalls, waiting)
        length = after
    return None


def load_of(
    tasks: Sequence[Regulated], own: PlannedBandwidth, others: Sequence[PlannedBandwidth | None]
) -> Fraction:
    """A lower bound on the load of tasks in the long run, with their stalls and waits, as a share of the
    core.

    Each count of a window is at least its rate times the window's length. Above 1 no window ends before its
    task's next job comes: the search would take all of its steps to say so.
    """
    regulators = (own, *(k for k in others if k is not None))
    # So long a time that all of its counts are whole.
    span = lcm(*(task.period for task in tasks), *(k.period_ps for k in regulators)) * own.budget
    asked = sum(task.accesses * (span // task.period) for task in tasks)
    stalls = min(asked // own.budget, span // own.period_ps)
    waits = sum(asked if k is None else min(asked, k.budget * (span // k.period_ps)) for k in others)
    executed = sum(task.execution * (span // task.period) for task in tasks)
    return Fraction(executed + stalls * own.stall_ps + waits * own.longest_ps, span)


def regulated(
    tasks: Sequence[Regulated],
    own: PlannedBandwidth,
    others: Sequence[PlannedBandwidth | None],
    *,
    context_switch: int = 0,
    core: str = "",
) -> list[Bound]:
    """Worst-case response times under preemptive fixed priorities, the most urgent first."""
    found = []
    charged = [replace(task, execution=task.execution + 2 * context_switch) for task in tasks]
    for index, task in enumerate(charged):
        last = index == len(charged) - 1
        # A less urgent job's access under way, which waits for one of each other core, and a switch.
        blocking = 0 if last else own.longest_ps * (1 + len(others)) + context_switch
        worst: tuple[int, int, Window] | None = None
        ends = load_of(charged[: index + 1], own, others) <= 1
        earlier, steps = 0, [_STEPS]
        while ends:
            window = window_of(charged, index, earlier, own, others, blocking, steps)
            if window is None:
                worst = None
                break
            response = window.length + task.jitter - earlier * task.period
            if worst is None or response > worst[0]:
                worst = (response, earlier, window)
            if window.length + task.jitter <= (earlier + 1) * task.period:
                break
            earlier += 1
        found.append(_bound(charged, index, worst, own, others, blocking, core))
    return found


def _bound(
    tasks: Sequence[Regulated],
    index: int,
    worst: tuple[int, int, Window] | None,
    own: PlannedBandwidth,
    others: Sequence[PlannedBandwidth | None],
    blocking: int,
    core: str,
) -> Bound:
    task = tasks[index]
    free = sum(k is None for k in others)
    return Bound(
        task=task.name,
        response=None if worst is None else worst[0],
        deadline=task.deadline,
        source=SOURCE,
        assumptions=(
            "one core, preemptive fixed priorities; no job suspends itself",
            "releases at any moment: offsets between tasks are not made use of",
            "an execution time is that of a job that nothing preempts while nothing else accesses memory",
            f"the core stalls when {own.budget} accesses have ended in a period of {in_words(own.period_ps)},"
            " until its end; what a regulator lets through beyond that is in the budgets",
            f"an access waits for at most one of each of {len(others)} other cores that the description uses,"
            f" {free} of them without a budget; write-backs count as accesses; nothing else accesses memory",
        ),
        explanation=() if worst is None else _explain(tasks, index, worst, own, blocking),
        notes=("with its stalls and waits it and the tasks before it never come to an end",)
        if worst is None
        else (),
        core=core,
    )


def _explain(
    tasks: Sequence[Regulated],
    index: int,
    worst: tuple[int, int, Window],
    own: PlannedBandwidth,
    blocking: int,
) -> tuple[Step, ...]:
    task, (_, earlier, window) = tasks[index], worst
    steps = Steps(-earlier * task.period)
    steps.put("jitter", f"{task.name} comes late", task.jitter)
    steps.put("blocking", "an access, or a switch, under way", blocking)
    for count, other in zip(window.jobs, tasks, strict=False):
        steps.put("interference", f"{count} x {other.name}", count * other.execution, count)
    steps.put("supply", "the core is stalled", window.stalls * own.stall_ps, window.stalls)
    steps.put("interference", "accesses of other cores", window.waiting)
    steps.put("own", f"{earlier} earlier x {task.name}", earlier * task.execution, earlier)
    steps.put("own", task.name, task.execution)
    return steps.done()


def regulated_core(figures: Figures, core: str) -> list[Bound]:
    """The bounds of a core with a budget of accesses."""
    plan = figures.plan
    planned = plan.cores[core]
    check_together(plan, core)
    budgets = {name: described.bandwidth for name, described in plan.cores.items()}
    own = budgets.pop(core)
    assert own is not None
    switch, late = figures.context_switch(core), figures.lateness(core)
    used = [switch.used, late.used]
    for name in plan.cores:
        if budgets.get(name) is not None or name == core:
            used.append(_used(figures, name))
    tasks = []
    for name in planned.tasks:
        task = plan.tasks[name]
        if task.accesses is None:
            raise MissingFigure(f"tasks.{name}.accesses", f"how often a job of {name} accesses memory")
        wcet, jitter = figures.wcet(name), figures.jitter(name)
        source = task.accesses_from
        kind, text = (UNSOURCED, "") if source is None else (source.kind, source.source)
        used += [wcet.used, jitter.used, (Used(f"tasks.{name}.accesses", str(task.accesses), kind, text),)]
        tasks.append(
            Regulated(name, wcet.ps, task.accesses, task.period_ps, task.deadline_ps, jitter.ps + late.ps)
        )
    rests = joined(*used)
    bounds = regulated(tasks, own, list(budgets.values()), context_switch=switch.ps, core=core)
    return [replace(bound, figures=rests) for bound in bounds]


def _used(figures: Figures, core: str) -> tuple[Used, ...]:
    """The figures used: the regulator is a choice, which it enforces; the cost of an access is a figure."""
    planned = figures.plan.cores[core]
    here, text = f"scheduling.{planned.entry}.bandwidth", str(planned.bandwidth)
    places = [f"{here}.{key}" for key in ("shortest", "longest")]
    return (Used(here, text, UNSOURCED, ""), *(figures.used(place) for place in places))
