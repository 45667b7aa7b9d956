# SPDX-License-Identifier: Apache-2.0
"""All bounds of a description: tasks by their cores' policies, chains, channels that have figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import get_args

from consort.analysis.accelerators import Ask, asks_of, with_requests
from consort.analysis.backlog import Arriving, Behind, arriving, behind, lateness, shortest
from consort.analysis.bandwidth import regulated_core
from consort.analysis.chains import Link, implicit, let
from consort.analysis.channel_bounds import Delivery, channel_bounds, deliveries, delivery_between, holds
from consort.analysis.figures import Figures, NotAnalysable, check_together
from consort.analysis.jitters import settled
from consort.analysis.offload import (
    Master,
    MasterPolicy,
    offloaded,
    together,
)
from consort.analysis.offload_costs import checkpoint, faults_of, offload_costs, pages_on, with_faults
from consort.analysis.reloads import cache_costs, with_reloads
from consort.analysis.resources import (
    blockers_of,
    blocking_of,
    sections_of,
    used_by,
    waits_of,
    with_resources,
)
from consort.analysis.result import Bound, Bounds, Used, in_words, joined
from consort.analysis.three_phase import bound_three_phase
from consort.analysis.unitask import Remote, UniTask, least_distances
from consort.base import arguments
from consort.model import System
from consort.model.channel import Service, Wait
from consort.plan import Plan, plan_of
from consort.plan.make import subject_of

_POLICIES: dict[str, MasterPolicy] = {
    "fixed-priority": "fixed-priority",
    "fixed-priority-non-preemptive": "fixed-priority-non-preemptive",
    "edf": "edf",
}
NOT_ANALYSED = "docs/explanation/analyses.md, what a description must say"


def analyze_system(
    subject: System | Plan, *, waiting: Wait | None = None, serving: Service | None = None
) -> list[Bound]:
    """Bounds of the response times of all tasks, then of the chains, then of the channels.

    What lacks a figure has no bound, and its notes say which figure. `waiting`, in place of what the plan
    says, is what a master's core does while an offloaded job is away: run other tasks (`sleep`), or keep
    looking for the answer (`spin`); `serving` likewise which request a worker serves.
    """
    plan = plan_of(subject_of(subject, "subject"))
    if waiting is not None:
        waiting = arguments.one_of("waiting", waiting, get_args(Wait))
    if serving is not None:
        serving = arguments.one_of("serving", serving, get_args(Service))
    plan = with_jitters(plan, waiting=waiting, serving=serving)
    tasks = response_times(plan, waiting=waiting, serving=serving)
    by_name = {bound.task: bound for bound in tasks}
    carried = deliveries(plan, by_name)
    arrived = arriving(plan, by_name)
    chains = _chains(plan, by_name, carried, arrived)
    tasks = [_with_arrivals(bound, arrived.get(bound.task)) for bound in tasks]
    return Bounds([*tasks, *chains, *channel_bounds(plan, by_name, carried)])


def with_jitters(plan: Plan, *, waiting: Wait | None = None, serving: Service | None = None) -> Plan:
    """The plan with a number for each `jitter: auto`, or why there is none; by the same bounds as
    `analyze_system`."""
    return settled(plan, lambda made: response_times(made, waiting=waiting, serving=serving))


def _with_arrivals(bound: Bound, by: Arriving | None) -> Bound:
    if by is None or not by.why or bound.response is None:
        return bound
    note = f"counted from when a block may release it; that none comes earlier is not shown: {by.why}"
    return replace(bound, notes=(*bound.notes, note))


def response_times(
    subject: System | Plan, *, waiting: Wait | None = None, serving: Service | None = None
) -> list[Bound]:
    """Bounds of the response times of all tasks, in the order of the description."""
    plan = plan_of(subject)
    found: dict[str, Bound] = {}
    three_phase = plan.three_phase_cores
    for core in three_phase:
        try:
            bounds = bound_three_phase(plan, core)
        except NotAnalysable as error:
            bounds = _none(plan, plan.cores[core].tasks, error)
        found |= {bound.task: bound for bound in bounds}

    masters: dict[str, Master] = {}
    figures = Figures(plan)
    used: dict[str, tuple[Used, ...]] = {}
    asks: dict[str, tuple[Ask, ...]] = {}
    for core, planned in plan.cores.items():
        names = _released_on(plan, core)
        if not names:
            continue
        try:
            if planned.bandwidth is not None:
                found |= {bound.task: bound for bound in regulated_core(figures, core)}
                continue
            master, figures_of = master_of(figures, core, names, waiting)
            here = {name: asks_of(figures, name, sleeps=master.waiting == "sleep") for name in names}
            asks |= here
            costs = [ask.used for some in here.values() for ask in some]
            masters[core], used[core] = master, joined(figures_of, *costs)
        except NotAnalysable as error:
            found |= {bound.task: bound for bound in _none(plan, names, error)}
    # A worker's tasks whose master could not be looked at would be missing from its queue.
    for worker in plan.workers:
        lost = [n for n in plan.cores[worker].serves if plan.tasks[n].core not in masters]
        shared = [
            core for core, master in masters.items() if any(_worker_of(t) == worker for t in master.tasks)
        ]
        for core in shared if lost else ():
            names = _released_on(plan, core)
            text = f"rests on {lost[0]}, which shares {worker} and has no bound"
            lacks = found[lost[0]].missing
            found |= {
                bound.task: replace(bound, missing=lacks) for bound in _none(plan, names, NotAnalysable(text))
            }
            del masters[core]
    services = {worker: serving or plan.cores[worker].service for worker in plan.workers}
    asks = {name: some for name, some in asks.items() if some and plan.tasks[name].core in masters}
    by_master = with_requests(plan, asks, masters, lambda some: offloaded(some, services))
    for core, bounds in by_master.items():
        by_master[core] = [_given_up(plan, bound) for bound in bounds]
    for core, bounds in by_master.items():
        cores = together(masters, core)
        rests = joined(*(used[one] for one in cores))
        falling = _fallbacks(plan, cores, by_master)
        held, paged = sections_of(plan, core), pages_on(plan, core)
        for bound in bounds:
            bound = with_resources(plan, _without_fallbacks(bound, falling), held)
            bound = with_faults(plan, with_reloads(plan, bound), paged)
            found[bound.task] = replace(bound, figures=rests)
    return list(_lacking_of_others(plan, found).values())


def _lacking_of_others(plan: Plan, found: Mapping[str, Bound]) -> dict[str, Bound]:
    """Bounds of all tasks. One that is none because another client of its accelerator lacks a figure lacks
    it, too, and so does every other of its core."""
    lacks: dict[str, tuple[str, ...]] = {}
    for accelerator in plan.accelerators.values():
        clients = [client.task for client in accelerator.clients]
        places = tuple(dict.fromkeys(place for task in clients for place in found[task].missing))
        for task in clients:
            lacks[plan.tasks[task].core] = lacks.get(plan.tasks[task].core, ()) + places

    def completed(bound: Bound) -> Bound:
        here = () if bound.response is not None else lacks.get(bound.core, ())
        return replace(bound, missing=here) if here and not bound.missing else bound

    return {name: completed(found[name]) for name in plan.tasks}


def _worker_of(task: UniTask) -> str | None:
    return None if task.remote is None else task.remote.worker


def _none(plan: Plan, names: Iterable[str], reason: NotAnalysable) -> list[Bound]:
    return [
        Bound(
            task=name,
            response=None,
            deadline=plan.tasks[name].deadline_ps,
            source=NOT_ANALYSED,
            notes=(str(reason),),
            core=plan.tasks[name].core,
            missing=reason.missing,
        )
        for name in names
    ]


def _released_on(plan: Plan, core: str) -> list[str]:
    """The tasks whose jobs a core releases, but for three-phase ones; the most urgent first."""
    return [name for name in plan.cores[core].tasks if plan.tasks[name].execution != "three-phase"]


def master_of(
    figures: Figures, core: str, names: list[str], waiting: Wait | None = None
) -> tuple[Master, tuple[Used, ...]]:
    """A core's tasks as the analysis takes them, and the figures that they rest on."""
    plan = figures.plan
    planned = plan.cores[core]
    if figures.lacking is None:
        # Figures are missing of what has no bound together, too.
        check_together(plan, core)
    waits = planned.wait if waiting is None else waiting
    switch, late = figures.context_switch(core), figures.lateness(core)
    held = sections_of(plan, core)
    reload = figures.cache_reload(core)
    sets = cache_costs(figures, core, blockers_of(plan, held, planned.tasks))
    # Where no task has an offset, nobody says that they begin together.
    moments = any(plan.tasks[name].has_offset for name in names) and not pages_on(plan, core)
    used = [switch.used, late.used, used_by(figures, held), reload.used if sets is None else sets.used]
    tasks = []
    for name in names:
        task = plan.tasks[name]
        suspension = task.self_suspension_ps or 0
        remote = None
        wcet, jitter = figures.wcet(name), figures.jitter(name)
        used += [wcet.used, jitter.used]
        execution = wcet.ps
        if task.worker is not None:
            costs = offload_costs(figures, name, sleeps=waits == "sleep")
            used.append(costs.used)
            execution = costs.send + costs.receive
            remote = Remote(
                task.worker,
                wcet.ps + costs.worker,
                request=costs.request,
                answer=costs.answer,
                level=plan.cores[task.worker].serves.index(name),
            )
        else:
            saved = checkpoint(figures, task)
            paged = faults_of(figures, name, switch)
            used += [saved.used, paged.used]
            execution += saved.ps + paged.ps
        if execution + suspension == 0 and remote is None and figures.lacking is not None:
            # Nobody gave its execution time; what else lacks is looked for, and no bound is made of it.
            continue
        blocking = blocking_of(plan, held, name)
        # Whoever finds a resource taken leaves the core to its holder, and comes back.
        execution += 2 * switch.ps * waits_of(plan, held, name)
        tasks.append(
            UniTask(
                name,
                execution,
                task.period_ps,
                task.deadline_ps,
                jitter=jitter.ps + late.ps,
                # It may have been preempted before it comes to block.
                blocking=sum(one.length + (reload.ps if sets is None else max(sets.own)) for one in blocking),
                level=task.rank,
                suspension=suspension,
                stretches=task.suspensions,
                remote=remote,
                # Offsets are made use of where no job gives the core up.
                offset=task.offset_ps if moments and not task.sporadic else None,
                threshold=task.threshold,
                distances=least_distances(task),
                late=late.ps,
            )
        )
    if planned.supply is not None:
        used.append(figures.supply(core))
    reloads = (reload.ps,) if sets is None else sets.reloads
    cache = None if sets is None else sets.windows
    master = Master(tasks, _POLICIES[planned.policy], waits, switch.ps, planned.supply, reloads, cache)
    return master, joined(*used)


def _given_up(plan: Plan, bound: Bound) -> Bound:
    """An offloaded job's bound, held against when its master gives the answer up where it then falls back."""
    task = plan.tasks[bound.task]
    if task.worker is None:
        return bound
    notes = bound.notes
    deadline = task.deadline_ps
    if task.give_up_ps is not None:
        # An answer is there at the latest `receive` before the bound.
        deadline = min(deadline, task.give_up_ps + (task.receive_ps or 0))
        notes = (
            *notes,
            f"its master gives an answer up after {in_words(task.give_up_ps)} and computes itself: the answer"
            " has to be there by then",
        )
    return replace(bound, deadline=deadline, notes=notes)


def _fallbacks(plan: Plan, cores: set[str], by_master: Mapping[str, list[Bound]]) -> list[tuple[str, str]]:
    """The masters that may have to compute offloaded work themselves, each with the task."""
    return [
        (core, bound.task)
        for core in cores
        for bound in by_master[core]
        if plan.tasks[bound.task].give_up_ps is not None and not bound.schedulable
    ]


def _without_fallbacks(bound: Bound, falling: Iterable[tuple[str, str]]) -> Bound:
    """Removes a bound where a master may compute another task's work itself: that work is in no bound."""
    for core, task in falling:
        if task != bound.task:
            note = f"rests on {task} being answered in time, which is not shown; else {core} computes it"
            return replace(bound, response=None, explanation=(), notes=(*bound.notes, note))
    return bound


def _link(plan: Plan, name: str, bound: Bound) -> Link:
    task = plan.tasks[name]
    core = plan.cores[task.core]
    return Link(
        name,
        None if task.sporadic else task.period_ps,
        holds(bound),
        jitter=lateness(plan, task),
        offset=task.offset_ps,
        interval=task.deadline_ps,
        core=task.core,
        by_priority=core.policy.startswith("fixed-priority") and task.execution == "local" and not task.waits,
        level=task.rank,
    )


def _released(plan: Plan, links: list[Link], arrived: Mapping[str, Arriving]) -> list[Link]:
    """The same tasks, where one releases the next."""
    made = [links[0]]
    for link in links[1:]:
        by = arrived.get(link.name)
        if by is None or by.writer != made[-1].name or by.let:
            made.append(link)
        elif by.blocks is None or by.why:
            made.append(replace(link, unfollowed=by.why))
        else:
            made[-1] = replace(made[-1], least=shortest(plan, by.writer))
            made.append(replace(link, period=by.blocks.apart if by.blocks.periodic else None, follows=True))
    return made


def _chains(
    plan: Plan,
    bounds: dict[str, Bound],
    carried: Mapping[str, Delivery],
    arrived: Mapping[str, Arriving],
) -> list[Bound]:
    results = []
    for name, chain in plan.chains.items():
        links = [_link(plan, task, bounds[task]) for task in chain.path]
        if chain.communication != "let":
            links = _released(plan, links, arrived)
        ways = [
            delivery_between(plan, carried, writer, reader)
            for writer, reader in zip(chain.path, chain.path[1:], strict=False)
        ]
        links = [
            link if way is None else replace(link, delivery=way.ps or 0, undelivered=way.why)
            for link, way in zip(links, [*ways, None], strict=True)
        ]
        waits = [
            behind(plan, bounds, carried, writer, reader)
            for writer, reader in zip(chain.path, chain.path[1:], strict=False)
        ]
        links = [
            replace(link, in_order=one.in_order, behind=one.more, unread=one.why)
            for link, one in zip(links, [*waits, Behind(in_order=False)], strict=True)
        ]
        analysis = let if chain.communication == "let" else implicit
        found = analysis(name, links, reaction=chain.reaction_ps, age=chain.age_ps)
        over = [way for way in ways if way is not None]
        figures = joined(*(bounds[task].figures for task in chain.path), *(way.used for way in over))
        places = [place for task in chain.path for place in bounds[task].missing]
        missing = tuple(dict.fromkeys([*places, *(place for way in over for place in way.missing)]))
        results += [
            replace(
                bound,
                figures=figures,
                missing=missing if bound.response is None else (),
                assumptions=(*bound.assumptions, *(one.rests for one in waits if one.rests)),
            )
            for bound in found
        ]
    # A missing bound that was not required is not a failure.
    return [bound for bound in results if bound.response is not None or bound.deadline is not None]
