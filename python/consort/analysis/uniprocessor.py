# SPDX-License-Identifier: Apache-2.0
"""Response times on one core: fixed priorities and EDF, preemptive or not.

docs/explanation/analyses.md states each theorem with its assumptions, proof or source.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from typing import Any

from consort import _engine
from consort.analysis.result import (
    OUT_OF_RANGE,
    OUT_OF_RANGE_NOTE,
    Bound,
    Later,
    Step,
    Steps,
    in_words,
    within_range,
)
from consort.analysis.unitask import (
    ANY_MOMENT,
    HasSets,
    Reloads,
    distances_in,
    reloading,
    spacing_of,
    ticks_of,
    ticks_of_supply,
    timed,
    timed_under_edf,
    times_of,
    under,
    with_offsets,
)
from consort.analysis.unitask import UniTask as UniTask
from consort.analysis.unitask import utilization as utilization
from consort.plan.types import PlannedSupply

_DOC = "docs/explanation/analyses.md"
FP_PREEMPTIVE = f"{_DOC}, theorem 1 (Joseph & Pandya 1986; Lehoczky 1990; Tindell, Burns & Wellings 1994)"
FP_NON_PREEMPTIVE = f"{_DOC}, theorem 2 (Davis, Burns, Bril & Lukkien 2007)"
FP_THRESHOLDS = f"{_DOC}, theorem 28 (Wang & Saksena 1999; Regehr 2002; Keskin, Bril & Lukkien 2010)"
EDF_PREEMPTIVE = f"{_DOC}, theorem 3 (Spuri 1996)"
EDF_NON_PREEMPTIVE = f"{_DOC}, theorem 4 (George, Rivierre & Spuri 1996)"

_ALONE = "no job suspends itself; execution times hold whatever else runs"
RELEASES = (
    "consecutive releases of a task are due at least its period apart; each comes at most its jitter late",
    ANY_MOMENT,
    _ALONE,
    "jobs of one task come, and run, in the order in which they are due",
)


def reloaded(assumptions: Sequence[str], reload: int | HasSets) -> list[str]:
    """The assumptions with those on the reloads of a preempted job, which are then in no execution time."""
    text = (
        "no job suspends itself; an execution time is that of a job that nothing preempts, from a cold cache;"
    )
    if isinstance(reload, int):
        text += f" each time it was preempted it executes at most {in_words(reload)} longer"
    else:
        text += f" for each set in which it lost useful blocks it executes {in_words(reload.per_set)} longer"
    return [text if a == _ALONE else a for a in assumptions]


def fixed_priority(
    tasks: Sequence[UniTask],
    *,
    preemptive: bool = True,
    context_switch: int = 0,
    core: str = "",
    supply: PlannedSupply | None = None,
    cache_reload: int | Reloads = 0,
) -> list[Bound]:
    """Worst-case response times under fixed priorities; the tasks come in priority order, most urgent first.

    Every job is charged two context switches, one in and one out. A switch under way is not interrupted:
    a task with others below it may be blocked by one more. `cache_reload` is how much longer a job executes
    each time it was preempted, which each job of the others may be the cause of.
    """
    levels = _levels(tasks)
    limits = _thresholds(tasks, levels, preemptive, cache_reload)
    charged = []
    last = max(levels, default=0)
    for task, level in zip(tasks, levels, strict=True):
        switch = context_switch if preemptive and level < last else 0
        charged.append(task.with_cost(2 * context_switch, switch))
    arrays, tick = ticks_of(charged, *times_of(supply))
    assumptions = [
        "one core, fixed priorities, "
        + ("preemptive" if preemptive else "non-preemptive: a job that has begun runs to its end"),
        *RELEASES,
        *spacing_of(tasks),
    ]
    if limits is not None:
        assumptions[0] += " with preemption thresholds: a job that has begun is preempted only by tasks above"
        assumptions[0] += " its threshold"
    if len(set(levels)) < len(levels):
        assumptions.append("tasks of equal priority are served in any order")
    if context_switch:
        assumptions.append(f"two context switches of {in_words(context_switch)} are charged to each job")
    if cache_reload:
        assumptions = reloaded(assumptions, cache_reload)
    apart = timed(charged, levels, preemptive, supply) if limits is None else None
    distances = distances_in(charged, tick)
    how: dict[str, Any] = {"preemptive": preemptive} if limits is None else {"threshold": limits}
    source = FP_PREEMPTIVE if preemptive else FP_NON_PREEMPTIVE
    results = []
    for index, task in enumerate(tasks):
        seen = reloading(charged, index, cache_reload)
        if cache_reload:
            arrays, tick = ticks_of(seen, *times_of(supply))
            apart = timed(seen, levels, preemptive, supply) if limits is None else None
            distances = distances_in(seen, tick)
        raw = within_range(
            _engine.fp_response if limits is None else _engine.fp_threshold_response,
            c=arrays["execution"],
            t=arrays["period"],
            jitter=arrays["jitter"],
            blocking=arrays["blocking"],
            level=levels,
            task=index,
            supply=ticks_of_supply(supply, tick),
            distances=distances,
            **how,
        )
        bound = Bound(
            task=task.name,
            response=None if raw["bound"] is None else raw["bound"] * tick,
            deadline=task.deadline,
            source=source if limits is None else FP_THRESHOLDS,
            assumptions=tuple(assumptions),
            explanation=Later(
                partial(_explain, seen, index, raw, tick, _blockers(levels, index, preemptive, limits))
            ),
            notes=_why_none(seen, levels, index, raw),
            core=core,
        )
        results.append(under(with_offsets(bound, apart, index), supply))
    return results


def edf(
    tasks: Sequence[UniTask],
    *,
    preemptive: bool = True,
    context_switch: int = 0,
    core: str = "",
    supply: PlannedSupply | None = None,
    cache_reload: int = 0,
) -> list[Bound]:
    """Worst-case response times under earliest deadline first; context switches as in `fixed_priority`.

    Each job is charged a reload: of the earlier ones of a task itself some may have preempted others.
    """
    switch = context_switch if preemptive and len(tasks) > 1 else 0
    reload = cache_reload if len(tasks) > 1 else 0
    charged = [task.with_cost(2 * context_switch + reload, switch) for task in tasks]
    arrays, tick = ticks_of(charged, *times_of(supply))
    assumptions = [
        "one core, earliest deadline first, "
        + ("preemptive" if preemptive else "non-preemptive: a job that has begun runs to its end"),
        "deadlines count from when a job was due; jobs of equal deadline go in any order",
        *RELEASES,
        *spacing_of(tasks),
    ]
    if context_switch:
        assumptions.append(f"two context switches of {in_words(context_switch)} are charged to each job")
    if cache_reload:
        assumptions = reloaded(assumptions, cache_reload)
    apart = timed_under_edf(charged, supply) if preemptive else None
    distances = distances_in(charged, tick)
    results = []
    for index, task in enumerate(tasks):
        raw = within_range(
            _engine.edf_response,
            c=arrays["execution"],
            t=arrays["period"],
            d=arrays["deadline"],
            jitter=arrays["jitter"],
            blocking=arrays["blocking"],
            task=index,
            preemptive=preemptive,
            supply=ticks_of_supply(supply, tick),
            distances=distances,
        )
        results.append(
            Bound(
                task=task.name,
                response=None if raw["bound"] is None else raw["bound"] * tick,
                deadline=task.deadline,
                source=EDF_PREEMPTIVE if preemptive else EDF_NON_PREEMPTIVE,
                assumptions=tuple(assumptions),
                explanation=Later(partial(_explain_edf, charged, index, raw, tick)),
                notes=_why_none(charged, [0] * len(tasks), index, raw),
                core=core,
            )
        )
    return [under(with_offsets(bound, apart, index), supply) for index, bound in enumerate(results)]


def _levels(tasks: Sequence[UniTask]) -> list[int]:
    given = [task.level for task in tasks]
    if all(level is None for level in given):
        return list(range(len(tasks)))
    levels = [level for level in given if level is not None]
    if len(levels) < len(given):
        raise ValueError("some tasks have a priority level and some have none")
    if levels != sorted(levels):
        raise ValueError("tasks must be given in the order of their priority levels")
    return levels


def _thresholds(
    tasks: Sequence[UniTask], levels: Sequence[int], preemptive: bool, reload: int | Reloads
) -> list[int] | None:
    """The tasks' thresholds; None where none is above its task's own level: theorem 1 then."""
    limits = [level if t.threshold is None else t.threshold for t, level in zip(tasks, levels, strict=True)]
    if limits == list(levels):
        return None
    if not preemptive:
        raise ValueError("preemption thresholds are of preemptive cores")
    if not isinstance(reload, int):
        raise ValueError("with preemption thresholds what is loaded again is a stated cost, not sets")
    return limits


def _blockers(levels: Sequence[int], index: int, preemptive: bool, limits: Sequence[int] | None) -> list[int]:
    """The less urgent tasks of which a job that has begun keeps one waiting."""
    if preemptive and limits is None:
        return []
    lower = [k for k, level in enumerate(levels) if level > levels[index]]
    if limits is not None:
        return [k for k in lower if limits[k] <= levels[index]]
    return lower


def _interfere(levels: Sequence[int], index: int) -> list[int]:
    return [k for k, level in enumerate(levels) if k != index and level <= levels[index]]


def _why_none(
    tasks: Sequence[UniTask], levels: Sequence[int], index: int, raw: dict[str, Any]
) -> tuple[str, ...]:
    if raw["verdict"] == "overload":
        load = utilization([tasks[k] for k in (*_interfere(levels, index), index)])
        return (f"it and the tasks before it ask for {_percent(load)} of the core",)
    if raw["verdict"] == OUT_OF_RANGE:
        return (OUT_OF_RANGE_NOTE,)
    if raw["verdict"] == "too-long":
        return ("its busy window holds too many jobs to look at each; its load is at or next to 100 %",)
    return ()


def _percent(share: Fraction) -> str:
    return f"{float(share * 100):.6g} %"


def _explain(
    tasks: Sequence[UniTask],
    index: int,
    raw: dict[str, Any],
    tick: int,
    blockers: Sequence[int],
) -> tuple[Step, ...]:
    """Waits of the worst job, in ps from when it was due; the last step ends at the bound."""
    if raw["bound"] is None:
        return ()
    task = tasks[index]
    earlier = raw["job"]
    # The window begins when its first job comes, late by the jitter; the worst job is due that much later.
    steps = Steps(-raw["due"] * tick)
    steps.put(
        "jitter",
        f"{task.name} comes late" if not earlier else "the window's first job comes late",
        task.jitter,
    )
    longest = max((tasks[k] for k in blockers), key=lambda other: other.execution, default=None)
    if longest is not None and longest.execution > task.blocking:
        steps.put("blocking", longest.name, longest.execution, note="began just before")
    else:
        steps.put("blocking", "what holds the core", task.blocking)
    jobs = [(other, count) for other, count in zip(tasks, raw["jobs"], strict=True) if count]
    for other, count in jobs:
        steps.put("interference", f"{count} x {other.name}", count * other.execution, count)
    if earlier:
        note = f"job {earlier + 1} of the busy window is the worst"
        steps.put("own", f"{earlier} earlier x {task.name}", earlier * task.execution, earlier, note)
    steps.put("own", task.name, task.execution)
    return steps.done()


def _explain_edf(tasks: Sequence[UniTask], index: int, raw: dict[str, Any], tick: int) -> tuple[Step, ...]:
    """Waits of the worst job, in ps from when it was due; the last step ends at the bound."""
    if raw["bound"] is None:
        return ()
    task = tasks[index]
    late = -raw["arrival"] * tick
    steps = Steps(min(late, 0))
    if late > 0:
        steps.put("jitter", f"{task.name} comes late", late)
    blocking = raw["blocking"] * tick
    steps.put("blocking", "a job with a later deadline" if raw["open"] else "what holds the core", blocking)
    for k, (other, count) in enumerate(zip(tasks, raw["jobs"], strict=True)):
        if k != index:
            label = f"{count} x {other.name}"
            steps.put("interference", label, count * other.execution, count, "due no later")
    earlier = raw["jobs"][index] - 1
    steps.put("own", f"{earlier} earlier x {task.name}", earlier * task.execution, earlier)
    steps.put("own", task.name, task.execution)
    return steps.done()
