# SPDX-License-Identifier: Apache-2.0
"""The call of a placement, for `consort place` and `consort.place`; few changes of priorities."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from consort.base import arguments
from consort.base.errors import BadInput, nearest
from consort.base.units import counted, html_table
from consort.base.waiting import Progress, silent
from consort.model import System
from consort.place.apply import placed
from consort.place.evaluate import Outcome, Part, bounds_of, failing_of, value_of
from consort.place.goals import GOALS, MOST, Bounds, Goal
from consort.place.problem import Problem, problem_of
from consort.place.ranks import given_order
from consort.place.search import Found, Search, known_conflict
from consort.place.settings import check_choose, parsed

# From one new priority to the next, so that a later task fits between.
_STEP = 10


def _settled(problem: Problem, outcome: Outcome, goal: Goal) -> tuple[System, Bounds]:
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

    def __repr__(self) -> str:
        return f"<{self._head()}>"

    def _head(self) -> str:
        moved = [] if self.best.outcome is None else self.best.outcome.moved(self.problem)
        count = counted(len(self.system.tasks), "task")
        return f"Placement {self.found.status}: {len(moved)} of {count} moved on {self.system.platform}"

    def _repr_html_(self) -> str:
        rows = [
            (name, _placed(self.problem.system, name), _placed(self.system, name))
            for name in self.system.tasks
        ]
        return html_table(self._head(), ("task", "was on", "is on"), rows)


def _placed(system: System, name: str) -> str:
    task = system.tasks[name]
    return task.on if task.master is None else f"{task.on}, master {task.master}"


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
    if arguments.text("best", best) not in GOALS:
        text = nearest(best, GOALS, "objectives")
        raise BadInput(f"{best!r} is not an objective; {text}", field="best")
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
    made, after = _settled(problem, chosen.outcome, best)
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
                f"{goal!r} is not an objective; {nearest(goal, GOALS, 'objectives')}", field="--pareto"
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
