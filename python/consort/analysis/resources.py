# SPDX-License-Identifier: Apache-2.0
"""Resources that the tasks of a core share: how long a less urgent job that holds one blocks a task, and
which sections block together where holders inherit."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from consort.analysis.figures import Figures
from consort.analysis.result import Bound, Used, in_words, joined, with_theorem
from consort.plan import Plan


@dataclass(frozen=True)
class Held:
    """A section of a job: how long it holds a resource, and how urgent it is meanwhile."""

    task: str
    rank: int
    """0 is the most urgent; under earliest deadline first the relative deadline."""
    resource: str
    length: int
    ceiling: int
    """The rank of the most urgent task that uses it: that of the holder, or the most urgent it inherits."""
    times: int = 1
    inherits: bool = False


# Above this many tasks or resources the lower of two sums stands for the assignment, and is not below it.
MOST = 60


def blocking_together(held: Iterable[Held], rank: int) -> tuple[Held, ...]:
    """The sections that may all block a task of this rank, once each, and take longest together.

    One of each less urgent task, and one of each resource: an assignment. Of resources with a ceiling one
    job at most has begun a section that blocks, so they count as a single one.
    """
    longest: dict[tuple[str, str], Held] = {}
    for one in held:
        if one.ceiling <= rank < one.rank:
            pair = one.task, one.resource if one.inherits else ""
            if pair not in longest or one.length > longest[pair].length:
                longest[pair] = one
    return assigned(list(longest.values()), list(longest))


def assigned(sections: Sequence[Held], pairs: Sequence[tuple[str, str]]) -> tuple[Held, ...]:
    """The sections of the longest assignment of pairs, or sections of a sum above it."""
    rows, columns = (list(dict.fromkeys(pair[k] for pair in pairs)) for k in range(2))
    if max(len(rows), len(columns)) > MOST:
        by_task = _longest_each((pair[0] for pair in pairs), sections)
        by_resource = _longest_each((pair[1] for pair in pairs), sections)
        return min(by_task, by_resource, key=lambda some: sum(one.length for one in some))
    at = dict(zip(pairs, sections, strict=True))
    weights = [[at[row, column].length if (row, column) in at else 0 for column in columns] for row in rows]
    found = (at.get((rows[i], columns[j])) for i, j in heaviest(weights))
    return tuple(one for one in found if one is not None)


Key = TypeVar("Key", bound=Hashable)


def _longest_each(keys: Iterable[Key], sections: Sequence[Held]) -> tuple[Held, ...]:
    found: dict[Key, Held] = {}
    for key, one in zip(keys, sections, strict=True):
        if key not in found or one.length > found[key].length:
            found[key] = one
    return tuple(found.values())


def heaviest(weights: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
    """The pairs of rows and columns, each in one pair at most, with the largest sum of weights.

    Kuhn's method with potentials: rows are added one by one, each by a cheapest augmenting path.
    """
    if not weights:
        return []
    if len(weights) > len(weights[0]):
        return [(i, j) for j, i in heaviest([list(column) for column in zip(*weights, strict=True)])]
    n, m = len(weights), len(weights[0])
    row_potential, column_potential = [0] * n, [0] * m
    row_of: list[int | None] = [None] * m
    for row in range(n):
        least: list[int | None] = [None] * m  # the cheapest way to each column so far
        before: list[int | None] = [None] * m  # the column before it on that way
        done = [False] * m
        at, column = row, None
        while True:
            for j in range(m):
                if not done[j]:
                    cost = -weights[at][j] - row_potential[at] - column_potential[j]
                    known = least[j]
                    if known is None or cost < known:
                        least[j], before[j] = cost, column
            distance, column = min((d, j) for j, d in enumerate(least) if not done[j] and d is not None)
            row_potential[row] += distance
            for j in range(m):
                if done[j]:
                    column_potential[j] -= distance
                    row_potential[row_of[j]] += distance  # type: ignore[index]
                else:
                    least[j] -= distance  # type: ignore[operator]
            done[column] = True
            if row_of[column] is None:
                break
            at = row_of[column]  # type: ignore[assignment]
        while column is not None:
            previous = before[column]
            row_of[column] = row if previous is None else row_of[previous]
            column = previous
    return [(i, j) for j, i in enumerate(row_of) if i is not None]


def waits(held: Sequence[Held], task: str) -> int:
    """The most times that a job finds a resource taken and gives its core up until it is given back."""
    least = 0
    lower: set[str] = set()
    equal = False
    for mine in held:
        if mine.task != task or not mine.inherits:
            continue
        beside = [one for one in held if one.resource == mine.resource and one.task != task]
        as_urgent = any(one.rank == mine.rank for one in beside)
        less_urgent = {one.task for one in beside if one.rank > mine.rank}
        # A less urgent job that has given a resource back does not take it again in the job's window.
        least += mine.times if as_urgent else bool(less_urgent)
        lower |= less_urgent
        equal = equal or as_urgent
    return least if equal else min(least, len(lower))


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
