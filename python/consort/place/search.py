# SPDX-License-Identifier: Apache-2.0
"""The search for the best placement, and the conflict where none holds.

CP-SAT proposes the best placement that is not known to fail, the analyses judge it, until no placement can be
better than the best one that holds.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from consort.base.errors import BadInput
from consort.base.waiting import Progress, silent
from consort.model import System
from consort.place.cuts import Cut, Cuts
from consort.place.evaluate import Evaluator, Outcome
from consort.place.goals import Goal, check_goal, energy, unbounded
from consort.place.model import Model
from consort.place.problem import Choice, Problem, problem_of

# optimal, infeasible: proven; feasible, unknown: the time was over; undecided: every placement that is not
# known to fail lacks a figure.
Status = Literal["optimal", "feasible", "infeasible", "undecided", "unknown"]


@dataclass(frozen=True)
class Found:
    """The best placement that was found, and what no placement exceeds."""

    status: Status
    goal: Goal
    outcome: Outcome | None
    value: int
    bound: int | None
    """None: the time was over before anything was known of it."""


class Search:
    """Placements of one problem; what it learns for one objective serves the next."""

    def __init__(self, problem: Problem, seconds: float, progress: Progress = silent) -> None:
        self.problem = problem
        self.until = time.monotonic() + seconds
        self.progress = progress
        self.evaluator = Evaluator(problem)
        self.learner = Cuts(problem, self.evaluator)
        self.cuts: dict[Cut, None] = {}
        self.rounds = 0
        self._known: dict[Choice, Outcome] = {}

    def best(
        self, goal: Goal, floors: Mapping[Goal, int] | None = None, *, any_will_do: bool = False
    ) -> Found:
        """The best placement for an objective, of those that are at least so good in others.

        With `any_will_do` the first one that holds.
        """
        floors = floors or {}
        for one in (goal, *floors):
            check_goal(self.problem, one)
            if one == "latency":
                self.evaluator.latencies.check()
        model = Model(self.problem, self.evaluator, goal, floors)
        model.add(self.cuts)
        self._judge(self.problem.given)
        aims = (goal, *floors)
        known = [one for one in self._known.values() if self._has(one, aims) and self._reaches(one, floors)]
        allowed = [one for one in known if self.problem.allows(one.choice)]
        incumbent = max(allowed, key=lambda one: self.value(one, goal), default=None)
        bound: int | None = None
        while True:
            best = None if incumbent is None else self.value(incumbent, goal)
            if any_will_do and incumbent is not None:
                return Found("feasible", goal, incumbent, best or 0, None)
            left = self.until - time.monotonic()
            self.progress(f"{self.rounds} placements analysed", None)
            answer = model.solve(left, None if incumbent is None else incumbent.choice)
            if answer.choice is None and answer.known:
                if incumbent is None:
                    self._refuse_unbounded(aims)
                    lacks = bool(self.evaluator.missing) and not self._late_anywhere()
                    return Found("undecided" if lacks else "infeasible", goal, None, 0, None)
                raise AssertionError("a cut excludes a placement that holds")
            if answer.known:
                # Cuts only lower what placements may reach.
                bound = answer.bound if bound is None else min(bound, answer.bound)
            if answer.choice is None or left <= 0:
                status: Status = "unknown" if incumbent is None else "feasible"
                return Found(status, goal, incumbent, best or 0, bound)
            if best is not None and answer.bound <= best:
                return Found("optimal", goal, incumbent, best, best)
            outcome = self._judge(answer.choice)
            if self._has(outcome, aims) and self._reaches(outcome, floors):
                value = self.value(outcome, goal)
                if best is None or value > best:
                    incumbent, best = outcome, value
                if value == answer.bound:
                    return Found("optimal", goal, incumbent, value, value)
            if not self._learn(model, outcome, goal, floors, best):
                raise AssertionError("no cut excludes a placement that is not what it was taken for")

    def _learn(
        self, model: Model, outcome: Outcome, goal: Goal, floors: Mapping[Goal, int], best: int | None
    ) -> bool:
        """Cuts without which the same placement would be proposed again; whether there are any."""
        target: int | None = None
        if goal == "slack":
            target = best or 0
        elif "slack" in floors:
            target = floors["slack"] - 1
        reactions = "reaction" in (goal, *floors)
        learnt = self.learner.of(outcome, target=target, reactions=reactions)
        new = [cut for cut in learnt if cut not in self.cuts]
        self.cuts |= dict.fromkeys(new)
        model.add(new)
        return bool(new)

    def _judge(self, choice: Choice) -> Outcome:
        if choice not in self._known:
            self.rounds += 1
            self._known[choice] = self.evaluator.outcome(choice)
        return self._known[choice]

    def _has(self, outcome: Outcome, aims: Iterable[Goal]) -> bool:
        """True if it holds, and has a value of each objective: not every chain that holds has a bound."""
        return outcome.holds and ("reaction" not in aims or "reaction" in outcome.values)

    def _refuse_unbounded(self, aims: Iterable[Goal]) -> None:
        """`BadInput` where placements hold, and each has a chain without a bound that an objective sums."""
        for one in self._known.values():
            if one.holds and not self._has(one, aims):
                chain = unbounded(self.problem, one.bounds)[0]
                raise BadInput(
                    "placements hold, and in none of them has the reaction time of each chain a bound: this"
                    " one has none; give it a limit, and analyze says why, or choose another objective",
                    file=self.problem.system.file,
                    field=f"chains.{chain}",
                )

    def _late_anywhere(self) -> bool:
        """True if a task is too late alone at each of its places, whatever figures are missing."""
        for decision in self.problem.decisions:
            kept = decision.task in self.problem.kept
            places = (decision.places[decision.given],) if kept else decision.places
            alone = [self.evaluator.alone(decision, place).values() for place in places]
            if all(any(not b.schedulable and not b.missing for b in bounds) for bounds in alone):
                return True
        return False

    def why(self) -> str:
        """The failure of the last placement that does not hold."""
        return next((one.why for one in reversed(self._known.values()) if one.why), "")

    def value(self, outcome: Outcome, goal: Goal) -> int:
        if goal == "energy":
            return energy(self.problem, outcome.choice)
        if goal == "latency":
            return self.evaluator.latencies.value(outcome.choice)
        return outcome.values[goal]

    def _reaches(self, outcome: Outcome, floors: Mapping[Goal, int]) -> bool:
        return all(self.value(outcome, goal) >= least for goal, least in floors.items())


Kind = Literal["task", "chain", "keep", "moves", "choose"]


@dataclass(frozen=True)
class Requirement:
    """A requirement on a placement, in the user's words."""

    kind: Kind
    name: str
    text: str


@dataclass(frozen=True)
class Conflict:
    """Requirements that no placement meets together."""

    requirements: tuple[Requirement, ...]
    minimal: bool
    """True if without any one of them there is a placement; else that is not known."""
    why: str = ""
    """The failure of the last placement that was looked at, if one task alone is in conflict."""


def requirements_of(problem: Problem) -> list[Requirement]:
    """All that a placement must meet: each can be given up alone."""
    found = []
    if problem.moves is not None:
        found.append(Requirement("moves", "", f"--moves {problem.moves}"))
    for kept in sorted(problem.kept, key=list(problem.system.tasks).index):
        at = next(d for d in problem.decisions if d.task == kept)
        found.append(Requirement("keep", kept, f"--keep {kept} (on {at.places[at.given]})"))
    for kind, span in problem.choose.items():
        if span is not None:
            found.append(Requirement("choose", kind, f"--choose {kind}={span.text}"))
    for name, chain in problem.system.chains.items():
        allowed = [f"{k} {v}" for k, v in (("reaction", chain.reaction), ("age", chain.age)) if v is not None]
        if allowed:
            found.append(Requirement("chain", name, f"chain {name} ({', '.join(allowed)})"))
    for name, task in problem.system.tasks.items():
        places = [str(p) for d in problem.decisions if d.task == name and d.mode is None for p in d.places]
        text = f"task {name}, deadline {task.deadline}, which may run on {_listed(problem.system, places)}"
        found.append(Requirement("task", name, text))
    return found


def _listed(system: System, places: Sequence[str]) -> str:
    """Places, with all cores of a group in one word."""
    found = list(places)
    for group, cores in system.platform_description.cores.items():
        names = [f"{group}-{index}" for index in range(cores.count)]
        if cores.count > 1 and all(name in found for name in names):
            found[found.index(names[0])] = f"{names[0]} to {names[-1]}"
            found = [name for name in found if name not in names]
    return ", ".join(found)


def known_conflict(problem: Problem, until: float) -> list[Requirement] | None:
    """Requirements that no placement meets, whatever the figures are that nobody gave; None: none is found.

    One after another is added, but for those with which it is undecided whether a placement meets them.
    """
    kept: list[Requirement] = []
    for one in requirements_of(problem):
        feasible, _ = _feasible(problem, [*kept, one], until - time.monotonic())
        if feasible is not None:
            kept.append(one)
        if feasible is False:
            return kept
    return None


def conflict_of(problem: Problem, seconds: float, progress: Progress, *, lacking: bool = False) -> Conflict:
    """A minimal set of requirements that cannot all be met, of a problem that has no placement.

    With `lacking` figures it is one of those that are in conflict whatever these are.

    Each is given up in turn: where there is still no placement, it was none of the reasons. One more
    requirement may make a bound lower (a task with an offset makes others' moments known), so that all that
    are left are tried again once one was given up.
    """
    until = time.monotonic() + seconds
    kept = (known_conflict(problem, until) if lacking else None) or requirements_of(problem)
    turns = deque(kept)
    needed = 0  # of those tried since one was given up
    minimal, why = True, ""
    while minimal and needed < len(kept):
        progress("requirements in conflict", needed / len(kept))
        one = turns.popleft()
        fewer = [other for other in kept if other != one]
        feasible, reason = _feasible(problem, fewer, until - time.monotonic())
        if feasible is None:
            minimal = False
        elif feasible:
            turns.append(one)
            needed += 1
        else:
            kept, why, needed = fewer, reason, 0
    return Conflict(tuple(kept), minimal, why if len(kept) == 1 else "")


def _feasible(
    problem: Problem, requirements: Sequence[Requirement], seconds: float
) -> tuple[bool | None, str]:
    """True if a placement meets some requirements, None if that is not known; and the failing bound."""
    if seconds <= 0:
        return None, ""
    names = {kind: {one.name for one in requirements if one.kind == kind} for kind in ("task", "chain")}
    if not names["task"]:
        return True, ""
    system = problem.system.without([name for name in problem.system.tasks if name not in names["task"]])
    ranges = {one.name for one in requirements if one.kind == "choose"}
    in_modes = any(d.mode is not None and len(d.places) > 1 for d in problem.decisions)
    fewer = problem_of(
        system,
        keep=[one.name for one in requirements if one.kind == "keep" and one.name in names["task"]],
        waived=[name for name in system.chains if name not in names["chain"]],
        moves=problem.moves if any(one.kind == "moves" for one in requirements) else None,
        in_modes=in_modes,
        choose={kind: span if kind in ranges else None for kind, span in problem.choose.items()},
    )
    search = Search(fewer, seconds)
    found = search.best("cores", any_will_do=True)
    if found.status in ("undecided", "unknown"):
        return None, ""
    return found.outcome is not None, search.why()
