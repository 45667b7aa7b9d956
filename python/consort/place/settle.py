# SPDX-License-Identifier: Apache-2.0
"""A placement with as few changes of priorities as it needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from consort.model import System
from consort.place.apply import placed
from consort.place.evaluate import Outcome, Part, bounds_of, failing_of, value_of
from consort.place.goals import Bounds, Goal
from consort.place.problem import Problem
from consort.place.ranks import given_order

# From one new priority to the next, so that a later task fits between.
_STEP = 10


def settled(problem: Problem, outcome: Outcome, goal: Goal) -> tuple[System, Bounds]:
    """The description with the placement's places, and its bounds.

    Priorities stay as they are where all then holds and the objective is as good.
    """
    ranks: dict[str, int | None] = {}
    for part in outcome.parts:
        ranks |= few(problem, part)
    system = placed(problem, outcome.choice, ranks)
    bounds = bounds_of(problem, system)
    least = value_of(problem, outcome.choice, bounds, goal)
    assert least is not None, "the search has its value"
    for part in outcome.parts:
        names = {decision.task for decision in part.places}
        changed = {name: rank for name, rank in ranks.items() if name in names}
        given = {name: problem.system.tasks[name].priority for name in changed}
        # The given priorities of tasks that have come to a core of another policy may be missing, or too
        # many.
        if part.order is None or given == changed:
            continue
        if not (_unnumbered(given) or given_order(problem, sorted(names))):
            continue
        trial = ranks | given
        tried = placed(problem, outcome.choice, trial)
        found = bounds_of(problem, tried)
        value = value_of(problem, outcome.choice, found, goal)
        if not any(failing_of(problem, found)) and value is not None and value >= least:
            ranks, system, bounds = trial, tried, found
    return system, bounds


def _unnumbered(given: Mapping[str, int | None]) -> bool:
    return all(rank is None for rank in given.values())


def few(problem: Problem, part: Part) -> dict[str, int | None]:
    """Priorities that put a part's tasks in its order, most of them as they are given."""
    names = list(dict.fromkeys(decision.task for decision in part.places))
    if part.order is None:
        return dict.fromkeys(names)
    return dict(numbered(part.order, {name: problem.system.tasks[name].priority for name in names}))


def numbered(order: Sequence[str], given: Mapping[str, int | None]) -> dict[str, int]:
    """Numbers that decrease along an order: as many of the given ones as can be, and others between them."""
    kept = _decreasing([(name, rank) for name in order if (rank := given[name]) is not None])
    found: dict[str, int] = {}
    waiting: list[str] = []
    above: int | None = None
    for name in [*order, None]:
        below = None if name is None else kept.get(name)
        if name is not None and below is None:
            waiting.append(name)
            continue
        between = _between(above, below, len(waiting))
        if between is None:
            return {name: _STEP * (len(order) - at) for at, name in enumerate(order)}
        found |= dict(zip(waiting, between, strict=True))
        if name is not None and below is not None:
            found[name] = above = below
        waiting = []
    return found


def _between(above: int | None, below: int | None, count: int) -> list[int] | None:
    """So many numbers below one and above the other, in decreasing order; None where there are not."""
    if above is None:
        return [(below or 0) + _STEP * (count - at) for at in range(count)]
    if below is None:
        step = min(_STEP, max(1, above // (count + 1)))
        return [above - step * (at + 1) for at in range(count)]
    if above - below - 1 < count:
        return None
    return [above - (above - below) * (at + 1) // (count + 1) for at in range(count)]


def _decreasing(given: Sequence[tuple[str, int]]) -> dict[str, int]:
    """The longest part of a sequence whose numbers decrease."""
    ending: list[list[tuple[str, int]]] = []
    best: list[tuple[str, int]] = []
    for name, rank in given:
        longest: list[tuple[str, int]] = []
        for one in ending:
            if one[-1][1] > rank and len(one) > len(longest):
                longest = one
        ending.append([*longest, (name, rank)])
        if len(ending[-1]) > len(best):
            best = ending[-1]
    return dict(best)
