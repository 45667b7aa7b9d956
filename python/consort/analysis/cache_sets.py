# SPDX-License-Identifier: Apache-2.0
"""Cache reloads of preempted jobs, from the sets of the cache that tasks use: evicting and useful blocks.

Tasks come in the order of their priorities, the most urgent first. `blockers`: of each task the less urgent
ones that may hold the core while it waits (theorem 20); what they load again then counts in its window.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from consort.analysis.unitask import Matrix

Blockers = Sequence[frozenset[int]]


@dataclass(frozen=True)
class Blocks:
    """The sets of the cache that a task's jobs touch, and those in which they use a block again."""

    evicting: frozenset[int]
    useful: frozenset[int]


def ecb_union(tasks: Sequence[Blocks], per_set: int, blockers: Blockers = ()) -> Matrix:
    """The ECB-union charge: blocks that each preempted task can lose to the preempting one and all that may
    preempt that in turn."""
    evicted = [_evicted(tasks, j) for j in range(len(tasks))]

    def charge(i: int, j: int) -> int:
        return per_set * max(len(tasks[g].useful & evicted[j]) for g in _below(i, j, blockers))

    return _matrix(tasks, charge)


def ucb_union(tasks: Sequence[Blocks], per_set: int, blockers: Blockers = ()) -> Matrix:
    """The UCB-union charge: blocks that the preempting task can take from all that may be preempted at
    once."""

    def charge(i: int, j: int) -> int:
        useful = frozenset[int]().union(*(tasks[g].useful for g in _below(i, j, blockers)))
        return per_set * len(useful & tasks[j].evicting)

    return _matrix(tasks, charge)


def _matrix(tasks: Sequence[Blocks], charge: Callable[[int, int], int]) -> Matrix:
    return [[charge(i, j) if j < i else 0 for j in range(len(tasks))] for i in range(len(tasks))]


def _evicted(tasks: Sequence[Blocks], upto: int) -> frozenset[int]:
    return frozenset[int]().union(*(task.evicting for task in tasks[: upto + 1]))


def _below(i: int, j: int, blockers: Blockers) -> list[int]:
    """The tasks whose jobs a job of j may preempt in a window of i."""
    return [*range(j + 1, i + 1), *sorted(blockers[i] if blockers else ())]


@dataclass(frozen=True)
class Lost:
    """Blocks that the jobs of one task, j, make others load again in a window of task i."""

    sizes: tuple[tuple[int, int], ...]
    """By preempted task: what a job of it loads again after one preemption, the most first [blocks]."""
    shared: tuple[tuple[tuple[int, ...], int], ...]
    """How many sets of j are useful to just these preempted tasks."""


def lost_to(tasks: Sequence[Blocks], i: int, j: int, blockers: Blockers = ()) -> Lost:
    """The counts of the multiset approaches, of the tasks that a job of j may preempt in a window of i."""
    below, evicted = _below(i, j, blockers), _evicted(tasks, j)
    sizes = sorted(((len(tasks[g].useful & evicted), g) for g in below), reverse=True)
    users = Counter(tuple(g for g in below if s in tasks[g].useful) for s in tasks[j].evicting)
    return Lost(
        tuple((g, size) for size, g in sizes if size),
        tuple((task, count) for task, count in sorted(users.items()) if task),
    )


def ecb_multiset(lost: Lost, jobs: int, preempted: Callable[[int], int]) -> int:
    """Sets loaded again because of so many jobs of j: the largest, each as often as it may happen."""
    total = 0
    for g, size in lost.sizes:
        count = min(jobs, preempted(g))
        total += count * size
        jobs -= count
    return total


def ucb_multiset(lost: Lost, jobs: int, preempted: Callable[[int], int]) -> int:
    """The same counted by set: each as often as jobs to which it is useful may be preempted by one of j."""
    total = 0
    for users, sets in lost.shared:
        total += sets * min(jobs, sum(preempted(g) for g in users))
    return total
