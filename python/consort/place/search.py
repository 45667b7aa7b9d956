# SPDX-License-Identifier: Apache-2.0
"""The search: CP-SAT proposes the best placement that is not known to fail, the analyses judge it, until no
placement can be better than the best one that holds.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from consort.base.errors import BadInput
from consort.base.progress import Progress, silent
from consort.place.cuts import Cut, Cuts
from consort.place.evaluate import Evaluator, Outcome
from consort.place.goals import Goal, check_goal, energy, unbounded
from consort.place.model import Model
from consort.place.problem import Choice, Problem

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
