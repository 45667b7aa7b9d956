# SPDX-License-Identifier: Apache-2.0
"""Resources that the tasks of a core share: how long a less urgent job that holds one blocks a task."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from consort.analysis.figures import Figures
from consort.analysis.held import Held
from consort.analysis.inheritance import blocking_together, waits
from consort.analysis.result import Bound, Used, in_words, joined, with_theorem
from consort.plan import Plan

SOURCE = "docs/explanation/analyses.md, theorem 20 (Sha, Rajkumar & Lehoczky 1990; Baker 1991), with "
INHERITED = "docs/explanation/analyses.md, theorem 30 (Sha, Rajkumar & Lehoczky 1990), with "
CEILING = (
    "a job that holds a resource has the priority of its most urgent user (immediate priority ceiling);"
    " it holds one at a time"
)
INHERITANCE = (
    "a job that holds a resource has the priority of the most urgent job that waits for it, if that is higher"
    " (priority inheritance); it holds one at a time"
)
STACK = (
    "while a job holds a resource, none begins whose relative deadline is not below those of all its"
    " users (stack resource policy); it holds one at a time"
)


def sections_of(plan: Plan, core: str) -> list[Held]:
    """All sections of the tasks of a core."""
    found = []
    for name in plan.cores[core].tasks:
        task = plan.tasks[name]
        for section in task.sections:
            resource = plan.resources[section.resource]
            ceiling = min(rank_of(plan, user) for user in resource.users)
            found.append(
                Held(
                    name,
                    rank_of(plan, name),
                    section.resource,
                    section.length_ps,
                    ceiling,
                    section.times,
                    resource.inherits,
                )
            )
    return found


def rank_of(plan: Plan, name: str) -> int:
    """A task's rank among those that hold resources on its core; under EDF its relative deadline."""
    task = plan.tasks[name]
    return task.deadline_ps if plan.cores[task.core].policy == "edf" else task.rank


def longest_under_edf(held: Iterable[Held], deadline: int) -> Held | None:
    """The longest section that a task of a shorter deadline than its own may want; else as
    `longest_blocking`."""
    blocking = (one for one in held if one.rank > deadline and one.ceiling < one.rank)
    return max(blocking, key=lambda one: one.length, default=None)


def blocking_of(plan: Plan, held: Sequence[Held], name: str) -> tuple[Held, ...]:
    """The sections that block a task for the longest time in all, once each."""
    policy = plan.cores[plan.tasks[name].core].policy
    if not held or policy == "fixed-priority-non-preemptive":
        return ()  # nothing wants a resource while it is held
    rank = rank_of(plan, name)
    if policy == "edf":
        longest = longest_under_edf(held, rank)
        return () if longest is None else (longest,)
    return blocking_together(held, rank)


def waits_of(plan: Plan, held: Sequence[Held], name: str) -> int:
    """The most times that a job of a task gives its core up because a resource is taken."""
    policy = plan.cores[plan.tasks[name].core].policy
    return waits(held, name) if policy == "fixed-priority" else 0


def longest_blocking(held: Iterable[Held], rank: int) -> Held | None:
    """The longest section of a less urgent task that a task of this rank may have to wait for."""
    blocking = (one for one in held if one.ceiling <= rank < one.rank)
    return max(blocking, key=lambda one: one.length, default=None)


def blockers_of(plan: Plan, held: Sequence[Held], names: Sequence[str]) -> tuple[frozenset[int], ...]:
    """The tasks whose sections each task may have to wait for, by their places in `names`."""
    ranks = [rank_of(plan, name) for name in names]
    return tuple(
        frozenset(names.index(one.task) for one in held if one.ceiling <= rank < one.rank) for rank in ranks
    )


def used_by(figures: Figures, held: Sequence[Held]) -> tuple[Used, ...]:
    places = (f"tasks.{one.task}.sections.{one.resource}.length" for one in held)
    return joined([figures.used(place) for place in places])


def with_resources(plan: Plan, bound: Bound, held: Sequence[Held]) -> Bound:
    """A bound of a core whose tasks share resources, with what that rests on. `held`: its `sections_of`."""
    core = plan.cores[bound.core]
    if not held:
        return bound
    if core.policy == "fixed-priority-non-preemptive":
        text = "a job runs to its end, so that nobody else wants what it holds"
        return replace(bound, assumptions=(*bound.assumptions, text))
    found = blocking_of(plan, held, bound.task)
    rules = [CEILING] if any(not one.inherits for one in held) else []
    rules += [INHERITANCE] if any(one.inherits for one in held) else []
    if core.policy == "edf":
        rules = [STACK]
    notes = bound.notes
    if found:
        each = ", and ".join(
            f"by {one.task}, which holds {one.resource} for {in_words(one.length)}" for one in found
        )
        notes = (*notes, f"blocked at most once{',' if len(found) == 1 else ' each'} {each}")
    times = waits_of(plan, held, bound.task)
    if times:
        notes = (*notes, f"finds a resource taken at most {times} times: two context switches each")
    inherits = any(one.inherits for one in held)
    return replace(
        bound,
        source=with_theorem(INHERITED if inherits else SOURCE, bound),
        assumptions=(*bound.assumptions, *rules),
        notes=notes,
    )
