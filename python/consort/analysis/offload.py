# SPDX-License-Identifier: Apache-2.0
"""Offloaded tasks: a master that waits for a worker, and a worker that several tasks and masters share.

A master's job sends its inputs, waits, and takes the outputs: on the master's core it suspends itself. How
long depends on the worker, where it waits for the jobs of others. docs/explanation/analyses.md, theorems 6
to 10.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from math import gcd
from typing import Any, Literal

from consort import _engine
from consort.analysis.reloads import CachedCore, by_windows
from consort.analysis.result import (
    OUT_OF_RANGE,
    OUT_OF_RANGE_NOTE,
    Bound,
    Step,
    Steps,
    in_words,
    least,
    within_range,
)
from consort.analysis.uniprocessor import edf, fixed_priority
from consort.analysis.unitask import Reloads, UniTask, distances_in, spacing_of
from consort.model.channel import Wait
from consort.plan.types import PlannedSupply

# How a worker chooses among the requests it finds: the most urgent task first (what `consort run` does), the
# oldest request, or one of the two, not known which.
Discipline = Literal["priority", "fifo", "either"]
# The action of a master's core while a job waits: run others, or keep looking for the answer.
MasterPolicy = Literal["fixed-priority", "fixed-priority-non-preemptive", "edf"]

_DOC = "docs/explanation/analyses.md"
_SOURCE = {
    "oblivious": f"{_DOC}, theorem 6 (suspension counted as execution)",
    "jitter": f"{_DOC}, theorem 7 (suspension of others as jitter R - C)",
    "framework": f"{_DOC}, theorem 8 (Chen, Nelissen & Huang 2016)",
}
_DISCIPLINE = {
    "priority": "a worker serves the most urgent task's request it finds, without preemption",
    "fifo": "a worker serves requests in the order in which they came, without preemption",
    "either": "a worker serves the most urgent or the oldest request it finds, without preemption",
}
_WAIT = {"priority": "theorem 9", "fifo": "theorem 10", "either": "theorems 9 and 10, the larger"}
_KEPT = "the master's core is kept while a job waits for an answer: that wait counts as execution"
# Rounds in which response times and waits at workers may grow before the search gives up.
ROUNDS = 1000


@dataclass(frozen=True)
class Master:
    """A core that releases jobs and awaits their answers."""

    tasks: Sequence[UniTask]
    policy: MasterPolicy = "fixed-priority"
    waiting: Wait = "sleep"
    context_switch: int = 0
    # A hypervisor's supply to the core; then no job offloads or suspends itself.
    supply: PlannedSupply | None = None
    # How much longer preempted jobs execute, each way to bound it; then no job waits either.
    reloads: Sequence[int | Reloads] = ()
    # Where that goes by sets of a cache, the same counted for each window.
    cache: CachedCore | None = None


def offloaded(
    masters: Mapping[str, Master], disciplines: Mapping[str, Discipline] | None = None
) -> dict[str, list[Bound]]:
    """End-to-end bounds of all tasks of some masters that share workers, by master.

    The workers serve these masters only. A bound counts from when the job was due to when its master has
    applied the outputs.
    """
    disciplines = disciplines or {}
    everything = [(core, task) for core, master in masters.items() for task in master.tasks]
    clients: dict[str, list[tuple[str, UniTask]]] = {}
    for core, task in everything:
        if task.remote is not None:
            clients.setdefault(task.remote.worker, []).append((core, task))
    waits = {(core, task.name): 0 for core, task in everything}
    found: dict[str, list[Bound]] = {}
    trouble = ""
    for _ in range(ROUNDS):
        found = {core: _bounds_of_master(core, master, waits) for core, master in masters.items()}
        responses = {(core, bound.task): bound.response for core in found for bound in found[core]}
        late = [
            task.name
            for core, task in everything
            if task.remote is not None and not _within(responses[core, task.name], task.period)
        ]
        if late:
            trouble = f"rests on {late[0]} being answered before its next job is due, which is not shown"
            break
        after = dict(waits)
        for worker, jobs in clients.items():
            found_waits = _waits(jobs, responses, disciplines.get(worker, "priority"))
            if found_waits is None:
                trouble = f"the worker {worker} is asked for more than it has"
                break
            after |= found_waits
        if trouble or after == waits:
            break
        waits = after
    else:
        trouble = "response times and waits at the workers did not settle"
    return {
        core: [
            _end_to_end(task, bound, waits[core, task.name], disciplines, trouble)
            for task, bound in zip(masters[core].tasks, bounds, strict=True)
        ]
        for core, bounds in found.items()
    }


def _within(response: int | None, limit: int) -> bool:
    return response is not None and response <= limit


def _waits(
    clients: Sequence[tuple[str, UniTask]],
    responses: Mapping[tuple[str, str], int | None],
    discipline: Discipline,
) -> dict[tuple[str, str], int] | None:
    """The longest wait of each client's request at its worker; None if the worker is overloaded."""
    computes = {(core, task.name): task.remote.compute for core, task in clients if task.remote is not None}
    by_age = {key: sum(computes.values()) - own for key, own in computes.items()}
    if discipline == "fifo":
        return by_age
    by_priority = _waits_by_priority(clients, responses)
    if discipline == "priority" or by_priority is None:
        return by_priority
    return {key: max(by_age[key], by_priority[key]) for key in by_age}


def _waits_by_priority(
    clients: Sequence[tuple[str, UniTask]], responses: Mapping[tuple[str, str], int | None]
) -> dict[tuple[str, str], int] | None:
    result: dict[tuple[str, str], int] = {}
    for core, task in clients:
        assert task.remote is not None
        blocking = 0
        # Execution, period and how late a request comes at most, of each that may go before this one.
        others: list[tuple[int, int, int]] = []
        for other_core, other in clients:
            assert other.remote is not None
            if other.remote.level > task.remote.level:
                blocking = max(blocking, other.remote.compute)
            elif (other_core, other.name) != (core, task.name):
                response = responses[other_core, other.name]
                assert response is not None
                # A request comes no earlier than its job is due, and early enough for it to end when it does.
                late = max(0, response - other.remote.answer - other.remote.compute)
                others.append((other.remote.compute, other.period, late))
        wait = wait_by_priority(blocking, others, task.period)
        if wait is None:
            return None
        result[core, task.name] = wait
    return result


def wait_by_priority(blocking: int, others: Sequence[tuple[int, int, int]], limit: int) -> int | None:
    """The wait of a request that a less urgent one blocks and others go before; None above the limit.

    Of each of the others: what its job takes in all, its period, and how late after its job is due a request
    may come.
    """
    wait, before = blocking, -1
    while wait != before and wait <= limit:
        before = wait
        # A blocking job began earlier: what comes at the very end of the wait is then too late to go before.
        closed = 0 if blocking else 1
        wait = blocking + sum(c * ((before + late + t - 1 + closed) // t) for c, t, late in others)
    return None if wait > limit else wait


def together(masters: Mapping[str, Master], core: str) -> set[str]:
    """A master and all others that its jobs may meet at a worker, directly or through others."""
    serving = {
        name: {task.remote.worker for task in master.tasks if task.remote is not None}
        for name, master in masters.items()
    }
    found, grown = {core}, True
    while grown:
        workers = set().union(*(serving[name] for name in found))
        more = {name for name in serving if serving[name] & workers} - found
        found |= more
        grown = bool(more)
    return found


def _suspension(task: UniTask, wait: int) -> int:
    remote = task.remote
    return task.suspension + (0 if remote is None else remote.request + wait + remote.compute + remote.answer)


def _bounds_of_master(core: str, master: Master, waits: Mapping[tuple[str, str], int]) -> list[Bound]:
    suspensions = [_suspension(task, waits[core, task.name]) for task in master.tasks]
    if master.supply is not None and any(suspensions):
        waiting = next(t.name for t, s in zip(master.tasks, suspensions, strict=True) if s)
        raise ValueError(f"{waiting} waits on a core that a hypervisor shares out")
    if any(suspensions) and any(task.threshold is not None for task in master.tasks):
        raise ValueError("jobs wait on a core with preemption thresholds")
    if master.waiting == "sleep" and any(suspensions):
        return _suspending(master, master.tasks, suspensions, core)
    if any(task.suspension > task.asked for task in master.tasks):
        return _suspending_and_spinning(master, suspensions, core)
    # The wait counts as execution: exact if the core keeps looking for the answer, safe if it does not.
    tasks = [
        UniTask(
            task.name,
            task.execution + suspension,
            task.period,
            task.deadline,
            task.jitter,
            task.blocking,
            task.level,
            task.offset,
            task.threshold,
            task.distances,
            task.late,
        )
        for task, suspension in zip(master.tasks, suspensions, strict=True)
    ]
    if master.policy == "edf":
        found = edf(
            tasks,
            context_switch=master.context_switch,
            core=core,
            supply=master.supply,
            cache_reload=next((r for r in master.reloads if isinstance(r, int)), 0),
        )
    else:
        preemptive = master.policy == "fixed-priority"
        ways = [
            fixed_priority(
                tasks,
                preemptive=preemptive,
                context_switch=master.context_switch,
                core=core,
                supply=master.supply,
                cache_reload=reload,
            )
            for reload in master.reloads or (0,)
        ]
        found = [least(bounds) for bounds in zip(*ways, strict=True)]
        if master.cache is not None:
            known = [bound.response for bound in found]
            counted = by_windows(tasks, master.cache, known, context_switch=master.context_switch, core=core)
            found = [least(bounds) for bounds in zip(found, counted, strict=True)]
    if not any(suspensions):
        return found
    kept = {task.name for task, wait in zip(master.tasks, suspensions, strict=True) if wait}
    return [
        replace(
            bound,
            assumptions=tuple(a for a in (*bound.assumptions, _KEPT) if not a.startswith("no job suspends")),
            explanation=_split_own(_blocked_by_waits(bound.explanation, kept), suspension, task.name),
        )
        for bound, suspension, task in zip(found, suspensions, master.tasks, strict=True)
    ]


def _suspending(
    master: Master, tasks: Sequence[UniTask], suspensions: Sequence[int], core: str
) -> list[Bound]:
    if master.policy == "edf":
        return _suspending_under_edf(tasks, suspensions, master.context_switch, core)
    preemptive = master.policy == "fixed-priority"
    return _self_suspending(tasks, suspensions, master.context_switch, core, preemptive=preemptive)


def _suspending_and_spinning(master: Master, suspensions: Sequence[int], core: str) -> list[Bound]:
    """Bounds of a core that is kept while a job waits for an answer, and given up by one that suspends
    itself."""
    own = [task.suspension - task.asked for task in master.tasks]
    kept = [whole - part for whole, part in zip(suspensions, own, strict=True)]
    tasks = [
        replace(
            task,
            execution=task.execution + spun,
            suspension=part,
            stretches=task.stretches - task.asks,
            remote=None,
        )
        for task, spun, part in zip(master.tasks, kept, own, strict=True)
    ]
    found = _suspending(master, tasks, own, core)
    if not any(kept):
        return found
    return [
        replace(
            bound,
            assumptions=(*bound.assumptions, _KEPT),
            explanation=_waiting_more(bound.explanation, spun, task.name),
        )
        for bound, spun, task in zip(found, kept, master.tasks, strict=True)
    ]


def _waiting_more(steps: Sequence[Step], spun: int, name: str) -> tuple[Step, ...]:
    """A job's whole wait as one step, which the last one has as its own."""
    *before, own = steps or (None,)
    if own is None or not spun:
        return tuple(steps)
    if not before or before[-1] is None or before[-1].kind != "suspension":
        return _split_own(steps, spun, name)
    wait = before.pop()
    assert wait is not None
    rest = replace(own, start=own.start + spun, length=own.length - spun)
    return (*(step for step in before if step is not None), replace(wait, length=wait.length + spun), rest)


def _blocked_by_waits(steps: Sequence[Step], kept: Collection[str]) -> tuple[Step, ...]:
    """`steps`; of a job that blocks and is one of `kept` it is said that it waits meanwhile."""
    said = "keeps the core while its worker computes"
    return tuple(
        replace(step, note=said) if step.kind == "blocking" and step.label in kept else step for step in steps
    )


def _split_own(steps: Sequence[Step], suspension: int, name: str) -> tuple[Step, ...]:
    """The last step is the job's own: its wait stands apart from its computation."""
    if not steps or not suspension:
        return tuple(steps)
    *before, own = steps
    wait = replace(own, kind="suspension", label=f"{name} waits", length=suspension)
    rest = replace(own, start=own.start + suspension, length=own.length - suspension)
    return (*before, wait, rest)


def _suspending_under_edf(
    tasks: Sequence[UniTask], suspensions: Sequence[int], context_switch: int, core: str
) -> list[Bound]:
    charged = []
    for task, suspension in zip(tasks, suspensions, strict=True):
        # A switch under way may hold up a return; a return is one more dispatch, and so is what it preempts.
        more = suspension + 3 * context_switch * task.returns
        charged.append(
            UniTask(
                task.name,
                task.execution + more + 2 * context_switch,
                task.period,
                task.deadline,
                task.jitter,
                task.blocking + (context_switch if len(tasks) > 1 else 0),
                distances=task.distances,
                late=task.late,
            )
        )
    found = edf(charged, core=core)
    return [
        replace(
            bound,
            source=f"{_DOC}, theorem 6 (suspension counted as execution), with theorem 3",
            assumptions=(
                *(a for a in bound.assumptions if not a.startswith("no job suspends")),
                *_suspends(tasks),
                *_switches(context_switch),
            ),
            explanation=_split_own(bound.explanation, suspension, task.name),
        )
        for bound, suspension, task in zip(found, suspensions, tasks, strict=True)
    ]


def _switches(context_switch: int) -> tuple[str, ...]:
    if not context_switch:
        return ()
    return (
        f"two context switches of {in_words(context_switch)} are charged to each job, and two to each of its"
        " waits",
    )


def _suspends(tasks: Sequence[UniTask]) -> tuple[str, ...]:
    often = [f"{task.name} {task.returns} times" for task in tasks if task.returns > 1]
    return (
        "a job may suspend itself at any moment, for its longest time in all; others run meanwhile",
        f"a job waits at most once{', but ' + ', '.join(often) if often else ''}",
    )


def _self_suspending(
    tasks: Sequence[UniTask],
    suspensions: Sequence[int],
    context_switch: int,
    core: str,
    *,
    preemptive: bool = True,
) -> list[Bound]:
    if not any(suspensions):
        plain = [t.without_waits() for t in tasks]
        return fixed_priority(plain, preemptive=preemptive, context_switch=context_switch, core=core)
    levels = [i if task.level is None else task.level for i, task in enumerate(tasks)]
    if levels != sorted(levels):
        raise ValueError("tasks must be given in the order of their priority levels")
    # Two switches for a job, and two more for each time that it stops in between.
    execution = [task.execution + 2 * context_switch * (1 + task.returns) for task in tasks]
    assumptions = [
        "one core, "
        + (
            "preemptive fixed priorities"
            if preemptive
            else "non-preemptive fixed priorities; a job that waits gives the core up"
        ),
        "consecutive releases of a task are due at least its period apart",
        "each release comes at most its jitter late",
        "releases at any moment: offsets between tasks are not made use of",
        *spacing_of(tasks),
        *_suspends(tasks),
        "jobs of one task come, and run, in the order in which they are due",
        *_switches(context_switch),
    ]
    known = [-1] * len(tasks)
    results = []
    for index, task in enumerate(tasks):
        # Work of lower priority that may hold the core when the job comes, and again at each return from a
        # wait: a context switch under way, or a whole job that is not preempted.
        lower = [k for k, level in enumerate(levels) if level > levels[index]]
        held = max((execution[k] for k in lower), default=0) if not preemptive else 0
        if preemptive and lower:
            held = context_switch
        blocking = task.blocking + held
        waits = [s + t.returns * max(blocking, held) for s, t in zip(suspensions, tasks, strict=True)]
        times = [t.period for t in tasks], [t.jitter for t in tasks]
        spaced = (time for t in tasks if t.distances for time in (*t.distances, t.late))
        tick = gcd(*execution, *waits, *times[0], *times[1], *spaced, blocking)
        raw = within_range(
            _engine.suspended_response,
            c=[c // tick for c in execution],
            t=[t // tick for t in times[0]],
            suspension=[s // tick for s in waits],
            # The other methods' proofs want preemption.
            response=[r // tick if r >= 0 and preemptive else -1 for r in known],
            jitter=[j // tick for j in times[1]],
            blocking=[blocking // tick if k == index else 0 for k in range(len(tasks))],
            level=levels,
            task=index,
            distances=distances_in(tasks, tick),
        )
        response = None if raw["bound"] is None else raw["bound"] * tick
        notes: tuple[str, ...] = ()
        if raw["verdict"] == OUT_OF_RANGE:
            notes = (OUT_OF_RANGE_NOTE,)
        elif response is None:
            notes = ("with its suspension it and the tasks before it ask for more than the core has",)
        elif raw["first_job_only"]:
            # The result bounds the first job only: it is not a bound of the others.
            notes = (
                f"a job whose predecessor is done when it is due takes up to {in_words(response)}, longer"
                " than the period: later jobs may take longer",
            )
            response = None
        # A task of the same level is no more urgent: nothing is known of it yet.
        if response is not None and levels.count(levels[index]) == 1:
            known[index] = response
        results.append(
            Bound(
                task=task.name,
                response=response,
                deadline=task.deadline,
                source=_SOURCE[raw.get("method", "oblivious")],
                assumptions=tuple(assumptions),
                explanation=()
                if response is None
                else _explain(tasks, execution, waits, blocking, index, raw, tick),
                notes=notes,
                core=core,
            )
        )
    return results


def _explain(
    tasks: Sequence[UniTask],
    execution: Sequence[int],
    waits: Sequence[int],
    blocking: int,
    index: int,
    raw: dict[str, Any],
    tick: int,
) -> tuple[Step, ...]:
    """Waits of the worst job, in ps from when it was due; the last step ends at the bound."""
    task = tasks[index]
    oblivious = raw["method"] == "oblivious"
    earlier = raw["job"]
    steps = Steps(-raw["due"] * tick)
    steps.put("jitter", f"{task.name} comes late", task.jitter)
    steps.put("blocking", "what holds the core", blocking)
    for k, other in enumerate(tasks):
        count = raw["jobs"][k]
        each = execution[k] + (waits[k] if oblivious else 0)
        note = "its suspension counts as execution" if oblivious and waits[k] else ""
        if raw["delayed"][k] and waits[k]:
            note = "its suspension counts as delay"
        steps.put("interference", f"{count} x {other.name}", count * each, count, note)
    if earlier:
        whole = earlier * (execution[index] + waits[index])
        steps.put("own", f"{earlier} earlier x {task.name}", whole, earlier)
    steps.put("suspension", f"{task.name} waits", waits[index])
    steps.put("own", task.name, execution[index])
    return steps.done()


def taken_apart(steps: Sequence[Step], parts: Sequence[tuple[str, int]]) -> tuple[Step, ...]:
    """The steps of a bound, with what the job itself waits for in parts; the rest of it waits otherwise."""
    found: list[Step] = []
    for step in steps:
        if step.kind != "suspension":
            found.append(step)
            continue
        at = step.start
        rest = step.length - sum(length for _, length in parts)
        for label, length in (*parts, ("waits otherwise", rest)):
            if length:
                found.append(Step("suspension", label, at, length))
                at += length
    return tuple(found)


def _end_to_end(
    task: UniTask, bound: Bound, wait: int, disciplines: Mapping[str, Discipline], trouble: str
) -> Bound:
    """The bound with its wait taken apart, and its assumptions on the worker."""
    remote = task.remote
    if remote is None and not trouble:
        return bound
    if trouble:
        # The search's last result bounds nothing.
        return replace(bound, response=None, explanation=(), notes=(*bound.notes, trouble))
    assert remote is not None
    discipline = disciplines.get(remote.worker, "priority")
    parts = [
        (f"request to {remote.worker}", remote.request),
        (f"other jobs at {remote.worker}", wait),
        (f"{remote.worker} computes {task.name}", remote.compute),
        (f"answer from {remote.worker}", remote.answer),
    ]
    return replace(
        bound,
        source=f"{bound.source}; wait at the worker: {_DOC}, {_WAIT[discipline]}",
        assumptions=(
            *bound.assumptions,
            _DISCIPLINE[discipline],
            f"{remote.worker} does nothing else; each job is answered before the next of its task is due",
        ),
        explanation=taken_apart(bound.explanation, parts),
    )
