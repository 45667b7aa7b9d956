# SPDX-License-Identifier: Apache-2.0
"""Ranks of the tasks that share cores: the given ones, by deadline, or Audsley's where these are best."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from consort.place.goals import slack_of
from consort.place.problem import Problem
from consort.place.settings import BILLION
from consort.plan import Plan

Slack = int | None


def given_order(problem: Problem, tasks: Sequence[str]) -> tuple[str, ...] | None:
    """The order by the priorities of the description, if each of the tasks has one of its own."""
    given = {name: problem.system.tasks[name].priority for name in tasks}
    if None in given.values() or len(set(given.values())) < len(given):
        return None
    return tuple(sorted(tasks, key=lambda name: -(given[name] or 0)))


def deadline_order(problem: Problem, tasks: Sequence[str]) -> tuple[str, ...]:
    """The order by deadlines; of equal ones the task that stands first."""
    first = list(problem.system.tasks)
    return tuple(sorted(tasks, key=lambda n: (problem.system.tasks[n].deadline, first.index(n))))


def ranked(plan: Plan, order: Sequence[str]) -> Plan:
    """A plan whose cores take their tasks in another order, each at a rank of its own."""
    place = {name: at for at, name in enumerate(order)}
    cores = {
        name: replace(
            core,
            tasks=tuple(sorted(core.tasks, key=place.__getitem__)),
            serves=tuple(sorted(core.serves, key=place.__getitem__)),
        )
        for name, core in plan.cores.items()
    }
    ranks = {task: rank for core in cores.values() for rank, task in enumerate(core.tasks)}
    at_workers = {task: rank for core in cores.values() for rank, task in enumerate(core.serves)}
    tasks = {
        name: replace(task, rank=ranks[name], worker_rank=at_workers.get(name))
        for name, task in plan.tasks.items()
    }
    return replace(plan, cores=cores, tasks=tasks)


def audsley(
    tasks: Sequence[str], slack: Callable[[Sequence[str], str], Slack], before: Sequence[str]
) -> tuple[str, ...] | None:
    """The order whose least slack is the largest; None where no order holds.

    From the least urgent rank up, each rank goes to the task that has most slack there. `slack(urgent, task)`
    is that of a task below the others of `urgent`. Of equal ones the later one of `before` goes lower, so
    that an order that is as good as any stays. proofs/placement.md, lemma 3.
    """
    left, found = list(before), []
    while left:
        best, chosen = None, None
        for task in reversed(left):
            value = slack([other for other in left if other != task], task)
            if value is not None and (best is None or value > best):
                best, chosen = value, task
        if chosen is None:
            return None
        found.append(chosen)
        left.remove(chosen)
    return tuple(reversed(found))


def takes_audsley(problem: Problem, core: str) -> bool:
    """True if a bound on this core depends on which tasks are more urgent, not on their order.

    And whether it does not grow when one of them becomes less urgent: so it is under fixed priorities of
    local tasks that neither wait, nor hold a resource, nor have an offset.
    """
    return problem.policy(core).startswith("fixed-priority") and plain(problem, core)


def plain(problem: Problem, core: str) -> bool:
    """True if only local tasks may come to a core, and its bounds grow with each that does.

    proofs/placement.md, lemma 2.
    """
    return problem.system.scheduling_of(core).supply is None and local_only(problem, core)


def local_only(problem: Problem, core: str) -> bool:
    """The same, but for that the core may have a supply."""
    scheduling = problem.system.scheduling_of(core)
    beyond = (scheduling.cache, scheduling.cache_reload, scheduling.bandwidth)
    if any(part is not None for part in beyond) or scheduling.policy == "three-phase":
        return False
    for decision in problem.decisions:
        for place in decision.places:
            if core in place.cores:
                if place.execution != "local":
                    return False
                for system in problem.systems.values():
                    task = system.tasks.get(decision.task)
                    if task is not None and (task.self_suspension or task.sections or task.has_offset):
                        return False
    return True


def least(values: Sequence[Slack]) -> Slack:
    """The least of several slacks; None where one does not hold."""
    known = [value for value in values if value is not None]
    return None if len(known) < len(values) or not known else min(known)


def slack_at(plans: Mapping[str | None, Plan], urgent: Sequence[str], task: str) -> Slack:
    """A task's slack in all modes where it is the least urgent but for those that are not in `urgent`."""
    from consort.analysis.system import response_times

    values: list[Slack] = []
    for plan in plans.values():
        if task not in plan.tasks:
            continue
        others = [name for name in plan.tasks if name not in urgent and name != task]
        bounds = response_times(ranked(plan, [*urgent, task, *others]))
        values.append(slack_of(b for b in bounds if b.task == task))
    return least(values) if values else BILLION
