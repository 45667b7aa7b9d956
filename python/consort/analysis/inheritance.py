# SPDX-License-Identifier: Apache-2.0
"""Blocking under priority inheritance: which sections of less urgent tasks can block together."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import TypeVar

from consort.analysis.held import Held

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
