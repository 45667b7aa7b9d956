# SPDX-License-Identifier: Apache-2.0
"""The call of a placement, for `consort place` and `consort.place`."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from consort.base import arguments
from consort.base.errors import BadInput
from consort.base.problems import nearest
from consort.base.progress import Progress, silent
from consort.model import System
from consort.place.conflict import known_conflict
from consort.place.evaluate import bounds_of, failing_of, value_of
from consort.place.goals import GOALS, MOST, Bounds, Goal
from consort.place.problem import Problem, problem_of
from consort.place.search import Found, Search
from consort.place.settings import check_choose, parsed
from consort.place.settle import settled

SECONDS = 60.0


@dataclass(frozen=True)
class Placement:
    """The result of a search for a description's placement."""

    problem: Problem
    found: Found
    moves: Found | None
    """The one of the placements as good as the best that moves the fewest tasks. None: not looked for."""
    before: Bounds
    system: System
    """The description with the places and priorities that were chosen; as it was where there are none."""
    after: Bounds
    rounds: int
    missing: tuple[str, ...]
    """Figures for want of which alone placements were not accepted, by their places in the description."""
    value: int = 0
    """The objective's value, by the bounds of `system`."""

    @property
    def best(self) -> Found:
        """The chosen placement."""
        return self.found if self.moves is None or self.moves.outcome is None else self.moves


def place(
    system: System,
    best: Goal = "slack",
    *,
    keep: Collection[str] = (),
    moves: int | None = None,
    in_modes: bool = False,
    choose: Collection[str] = (),
    seconds: float = SECONDS,
    progress: Progress = silent,
) -> Placement:
    """Chooses where each task runs so that everything holds and an objective is best.

    The search ends after `seconds`; what it says is optimal is proven so. The parameters are the options of
    `consort place`. `BadInput` where the description leaves nothing to choose, or lacks a figure.
    """
    arguments.instance("system", system, System, "consort.load(path) makes one")
    if best not in GOALS:
        text = nearest(arguments.text("best", best), GOALS, "objectives")
        raise BadInput(f"{best!r} is no objective; {text}", field="--best")
    arguments.callback("progress", progress)
    moves = None if moves is None else arguments.whole("moves", moves, 0)
    in_modes = arguments.flag("in_modes", in_modes)
    seconds = arguments.number("seconds", seconds, 0, float("inf"))
    keep, choose = (
        [arguments.text(n, one) for one in arguments.several(n, s)]
        for n, s in (("keep", keep), ("choose", choose))
    )
    problem = problem_of(system, keep=keep, moves=moves, in_modes=in_modes, choose=parsed(choose))
    check_choose(system, problem.choose, problem.settings)
    search = Search(problem, seconds, progress)
    found = search.best(best)
    if found.status == "undecided" and known_conflict(problem, search.until):
        found = replace(found, status="infeasible")
    fewest = None
    if found.outcome is not None and found.outcome.values["moves"] < 0:
        fewest = search.best("moves", {best: found.value})
    before = bounds_of(problem, system)
    missing = tuple(search.evaluator.missing)
    chosen = found if fewest is None or fewest.outcome is None else fewest
    if chosen.outcome is None:
        return Placement(problem, found, fewest, before, system, before, search.rounds, missing)
    made, after = settled(problem, chosen.outcome, best)
    failing = list(failing_of(problem, after))
    value = value_of(problem, chosen.outcome.choice, after, best)
    if failing or value is None or value < found.value:
        raise AssertionError(f"the placement is not what the search took it for: {failing or value}")
    return Placement(problem, found, fewest, before, made, after, search.rounds, missing, value)


def front(
    system: System,
    first: Goal,
    second: Goal,
    *,
    points: int = 20,
    keep: Collection[str] = (),
    moves: int | None = None,
    in_modes: bool = False,
    choose: Collection[str] = (),
    seconds: float = SECONDS,
    progress: Progress = silent,
) -> tuple[Search, list[tuple[Found, Found]], bool]:
    """The placements of which none is better in one of two objectives and as good in the other.

    From the best in `first` on; and whether the front is whole, not cut off after `points` or by the time.
    """
    for goal in (first, second):
        if goal not in GOALS:
            raise BadInput(
                f"{goal!r} is no objective; {nearest(goal, GOALS, 'objectives')}", field="--pareto"
            )
    if first == second:
        raise BadInput("a front has two objectives; name two different ones", field="--pareto")
    problem = problem_of(system, keep=keep, moves=moves, in_modes=in_modes, choose=parsed(choose))
    check_choose(system, problem.choose, problem.settings)
    search = Search(problem, seconds, progress)
    front: list[tuple[Found, Found]] = []
    # From the beginning on a point has both values.
    floors: dict[Goal, int] = {second: -MOST} if second == "reaction" else {}
    while len(front) < points:
        one = search.best(first, floors)
        if one.outcome is None:
            return search, front, one.status in ("infeasible", "undecided")
        other = search.best(second, {**floors, first: one.value})
        if other.outcome is None:
            return search, front, False
        front.append((one, other))
        if one.status != "optimal" or other.status != "optimal":
            return search, front, False
        floors[second] = other.value + 1
    return search, front, False
