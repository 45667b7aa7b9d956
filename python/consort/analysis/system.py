# SPDX-License-Identifier: Apache-2.0
"""All bounds of a description: tasks by their cores' policies, chains, channels that have figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from consort.analysis.chains import Link, implicit, let
from consort.analysis.channels import Side, age_when_read, latency, never_torn, read_time, whole
from consort.analysis.offload import Master, MasterPolicy, MasterTask, Remote, Waiting, offloaded
from consort.analysis.result import Bound, in_words
from consort.analysis.scratchpad import NotAnalysable, bound_three_phase, three_phase_cores
from consort.model import System

_POLICIES: dict[str, MasterPolicy] = {
    "fixed-priority": "fixed-priority",
    "fixed-priority-non-preemptive": "fixed-priority-non-preemptive",
    "edf": "edf",
}
NOT_ANALYSED = "docs/explanation/analyses.md, what a description must say"


def analyze_system(system: System, *, waiting: Waiting = "suspend") -> list[Bound]:
    """Bounds of the response times of all tasks, then of the chains, then of the channels.

    What lacks a figure has no bound, and its notes say which figure. `waiting` is what a master's core does
    while an offloaded job is away: run other tasks (`suspend`), or keep looking for the answer (`spin`).
    """
    tasks = response_times(system, waiting=waiting)
    by_name = {bound.task: bound for bound in tasks}
    return [*tasks, *_chains(system, by_name), *_channels(system, by_name)]


def response_times(system: System, *, waiting: Waiting = "suspend") -> list[Bound]:
    """Bounds of the response times of all tasks, in the order of the description."""
    found: dict[str, Bound] = {}
    three_phase = three_phase_cores(system)
    for core in three_phase:
        try:
            bounds = bound_three_phase(system, core)
        except NotAnalysable as error:
            bounds = _none(system, [n for n, t in system.tasks.items() if t.on == core], str(error))
        found |= {bound.task: bound for bound in bounds}

    workers = system.workers()
    owners = dict.fromkeys(
        task.released_by for task in system.tasks.values() if task.execution != "three-phase"
    )
    masters: dict[str, Master] = {}
    for core in owners:
        names = _released_on(system, core)
        try:
            if core in three_phase:
                raise NotAnalysable(f"{core} executes three-phase tasks, and nothing else may be on it")
            if core in workers:
                raise NotAnalysable(f"{core} is a worker, and nothing else may be on it")
            masters[core] = _master(system, core, names, waiting)
        except NotAnalysable as error:
            found |= {bound.task: bound for bound in _none(system, names, str(error))}
    # A worker's tasks whose master could not be looked at would be missing from its queue.
    for worker in workers:
        lost = [n for n, t in system.tasks.items() if t.on == worker and t.released_by not in masters]
        shared = [
            core for core, master in masters.items() if any(_worker_of(t) == worker for t in master.tasks)
        ]
        for core in shared if lost else ():
            names = _released_on(system, core)
            text = f"rests on {lost[0]}, which shares {worker} and has no bound"
            found |= {bound.task: bound for bound in _none(system, names, text)}
            del masters[core]
    by_master = offloaded(masters, dict.fromkeys(workers, "either"))
    for core, bounds in by_master.items():
        by_master[core] = [_given_up(system, bound) for bound in bounds]
    for core, bounds in by_master.items():
        found |= {
            bound.task: _without_fallbacks(system, bound, _together(masters, core), by_master)
            for bound in bounds
        }
    return [found[name] for name in system.tasks]


def _worker_of(task: MasterTask) -> str | None:
    return None if task.remote is None else task.remote.worker


def _none(system: System, names: Iterable[str], reason: str) -> list[Bound]:
    return [
        Bound(
            task=name,
            response=None,
            deadline=system.tasks[name].deadline.picoseconds,
            source=NOT_ANALYSED,
            notes=(reason,),
            core=system.tasks[name].released_by,
        )
        for name in names
    ]


def _released_on(system: System, core: str) -> list[str]:
    """The tasks whose jobs a core releases, the most urgent first."""
    order = system.priorities(core)
    names = [
        name
        for name, task in system.tasks.items()
        if task.released_by == core and task.execution != "three-phase"
    ]
    return sorted(names, key=lambda name: -order[name])


def _levels(values: dict[str, int], names: list[str]) -> dict[str, int]:
    """Priorities, the larger the more urgent, as places from 0 on; equal ones share theirs."""
    places = {value: i for i, value in enumerate(sorted({values[name] for name in names}, reverse=True))}
    return {name: places[values[name]] for name in names}


def _master(system: System, core: str, names: list[str], waiting: Waiting) -> Master:
    levels = _levels(system.priorities(core), names)
    policy = system.scheduling_of(core).policy
    if policy not in _POLICIES:
        raise NotAnalysable(f"scheduling of {core}: {policy} is for three-phase tasks; {names[0]} is not one")
    tasks = []
    for name in names:
        task = system.tasks[name]
        suspension = task.self_suspension.picoseconds if task.self_suspension is not None else 0
        remote = _remote(system, name) if task.execution == "offloaded" else None
        if remote is None:
            wcet = system.wcet(name)
            if wcet is None:
                processor = system.core_of(name).processor_name
                raise NotAnalysable(
                    f"tasks.{name}.wcet: no WCET for {task.execution} execution on {processor}"
                )
            execution = wcet.picoseconds
        else:
            dispatch = task.dispatch
            parts = () if dispatch is None else (dispatch.send, dispatch.receive)
            execution = sum(part.value.picoseconds for part in parts if part is not None)
        if execution + suspension == 0 and remote is None:
            raise NotAnalysable(f"tasks.{name}.wcet: an execution time of 0 cannot be analysed")
        tasks.append(
            MasterTask(
                name,
                execution,
                task.interval.picoseconds,
                task.deadline.picoseconds,
                jitter=task.jitter.picoseconds,
                level=levels[name],
                suspension=suspension,
                remote=remote,
            )
        )
    return Master(tasks, _POLICIES[policy], waiting, system.context_switch(core).picoseconds)


def _remote(system: System, name: str) -> Remote:
    task = system.tasks[name]
    worker = task.on
    wcet = system.wcet(name)
    if wcet is None or wcet.picoseconds == 0:
        processor = system.core_of(name).processor_name
        raise NotAnalysable(f"tasks.{name}.wcet: no WCET for offloaded execution on {processor}")
    clients = [n for n, t in system.tasks.items() if t.execution == "offloaded" and t.on == worker]
    levels = _levels(system.priorities(worker), clients)
    return Remote(
        worker,
        wcet.picoseconds,
        request=_passage(system, f"{name}.in", task.released_by, worker),
        answer=_passage(system, f"{name}.out", worker, task.released_by),
        level=levels[name],
    )


def _side(system: System, channel: str, core: str) -> Side | None:
    described = system.channel(channel)
    memory = system.platform_description.memories.get(described.memory or "")
    if memory is None or described.size is None:
        return None
    return Side.of(memory, described.size.bytes, system.platform_description.core(core).processor_name)


def _passage(system: System, channel: str, writer: str, reader: str) -> int:
    """How long a block takes through a mailbox [ps]; 0 where there is no figure for it."""
    sides = _side(system, channel, writer), _side(system, channel, reader)
    if sides[0] is None or sides[1] is None:
        return 0
    return latency(channel, "mailbox", sides[0], sides[1]).response or 0


def _given_up(system: System, bound: Bound) -> Bound:
    """An offloaded job's bound, held against when its master gives the answer up where it then falls back."""
    task = system.tasks[bound.task]
    if task.execution != "offloaded":
        return bound
    notes = bound.notes
    lacking = [
        f"{bound.task}.{end}"
        for end in ("in", "out")
        if _side(system, f"{bound.task}.{end}", task.on) is None
        or _side(system, f"{bound.task}.{end}", task.released_by) is None
    ]
    if lacking:
        notes = (*notes, f"the passage through {' and '.join(lacking)} counts as 0: no figures of its memory")
    dispatch = task.dispatch
    receive = (
        dispatch.receive.value.picoseconds if dispatch is not None and dispatch.receive is not None else 0
    )
    deadline = task.deadline.picoseconds
    if task.on_miss == "local-fallback":
        # An answer is there at the latest `receive` before the bound.
        patience = deadline - deadline // 5
        deadline = min(deadline, patience + receive)
        notes = (
            *notes,
            f"its master gives an answer up after {in_words(patience)} and computes itself: the answer has to"
            " be there by then",
        )
    return replace(bound, deadline=deadline, notes=notes)


def _together(masters: Mapping[str, Master], core: str) -> set[str]:
    """A master and all others that its jobs may meet at a worker, directly or through others."""
    serving = {name: {_worker_of(t) for t in master.tasks} - {None} for name, master in masters.items()}
    found, grown = {core}, True
    while grown:
        workers = set().union(*(serving[name] for name in found))
        more = {name for name in serving if serving[name] & workers} - found
        found |= more
        grown = bool(more)
    return found


def _without_fallbacks(
    system: System, bound: Bound, cores: set[str], by_master: Mapping[str, list[Bound]]
) -> Bound:
    """No bound where a master may come to compute what it has offloaded: that work is in no bound."""
    for core in cores:
        for other in by_master[core]:
            task = system.tasks[other.task]
            falls_back = task.execution == "offloaded" and task.on_miss == "local-fallback"
            if falls_back and not other.schedulable and other.task != bound.task:
                note = f"rests on {other.task} being answered in time, which is not shown; else {core}"
                note += " computes it"
                return replace(bound, response=None, explanation=(), notes=(*bound.notes, note))
    return bound


def _holds(bound: Bound) -> int | None:
    """A bound that others may rest on: some analyses promise nothing more once a deadline is missed."""
    return bound.response if bound.schedulable else None


def _link(system: System, name: str, bound: Bound) -> Link:
    task = system.tasks[name]
    core = task.released_by
    policy = system.scheduling_of(core).policy
    levels = _levels(system.priorities(core), _released_on(system, core))
    return Link(
        name,
        None if task.period is None else task.period.picoseconds,
        _holds(bound),
        jitter=task.jitter.picoseconds,
        offset=task.offset.picoseconds,
        interval=task.deadline.picoseconds,
        core=core,
        by_priority=policy.startswith("fixed-priority")
        and task.execution == "local"
        and task.self_suspension is None,
        level=levels.get(name, 0),
    )


def _chains(system: System, bounds: dict[str, Bound]) -> list[Bound]:
    results = []
    for name, chain in system.chains.items():
        links = [_link(system, task, bounds[task]) for task in chain.path]
        analysis = let if chain.communication == "let" else implicit
        results += analysis(
            name,
            links,
            reaction=None if chain.reaction is None else chain.reaction.picoseconds,
            age=None if chain.age is None else chain.age.picoseconds,
        )
    # What has no bound and was not required to have one is no failure.
    return [bound for bound in results if bound.response is not None or bound.deadline is not None]


def _channels(system: System, bounds: dict[str, Bound]) -> list[Bound]:
    results: list[Bound] = []
    for name in system.channels:
        writer = system.writer(name)
        task, _, end = name.rpartition(".")
        if task in system.tasks and end in ("in", "out"):
            ends = system.tasks[task].released_by, system.tasks[task].on
            source, targets = (ends[0], [(name, ends[1])]) if end == "in" else (ends[1], [(name, ends[0])])
        elif writer in system.tasks:
            source = system.tasks[writer].released_by
            readers = [reader for reader in system.readers(name) if reader in system.tasks]
            targets = [(reader, system.tasks[reader].released_by) for reader in readers]
        else:
            continue  # from a device, whose accesses no figure describes
        described = system.channel(name).implemented_by
        for reader, core in targets:
            label = name if len(targets) == 1 else f"{name} to {reader}"
            here, there = _side(system, name, source), _side(system, name, core)
            if described in ("mailbox", "queue"):
                if here is not None and there is not None:
                    kind = "mailbox" if described == "mailbox" else "queue"
                    results.append(latency(label, kind, here, there))  # type: ignore[arg-type]
                continue
            results += _latest(system, label, described, str(writer), reader, there, bounds)
    return results


def _latest(
    system: System,
    label: str,
    implementation: str,
    writer: str,
    reader: str,
    there: Side | None,
    bounds: dict[str, Bound],
) -> list[Bound]:
    """A double buffer's or a snapshot's bounds for one reader."""
    results = []
    if implementation == "snapshot" and there is not None:
        results.append(never_torn(label, there))
    task = system.tasks[writer]
    writes, span = _holds(bounds[writer]), _holds(bounds[reader])
    # Between its accesses the reader may be preempted, but no longer than its job takes.
    if implementation == "double-buffer" and writes is not None and span is not None:
        results.append(
            whole(
                label,
                writer_period=task.interval.picoseconds,
                writer_response=writes,
                read=span,
            )
        )
    if span is None and there is not None:
        span = read_time("snapshot" if implementation == "snapshot" else "double-buffer", there)
    age = age_when_read(
        label,
        writer_period=None if task.period is None else task.period.picoseconds,
        writer_response=writes,
        read=span or 0,
    )
    return [*results, age] if age.response is not None and span is not None else results
