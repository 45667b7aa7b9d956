# SPDX-License-Identifier: Apache-2.0
"""The placement as a problem of whole numbers, for CP-SAT: constraints on any placement, and the cuts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from math import ceil

from ortools.sat.python import cp_model

from consort.analysis.result import Bound
from consort.place import goals
from consort.place.cuts import Cut, Literal
from consort.place.evaluate import Evaluator
from consort.place.goals import Goal
from consort.place.problem import Choice, Place, Problem
from consort.place.ranks import plain
from consort.place.settings import BILLION
from consort.place.together import add_slots, add_together, total

SEED = 1


@dataclass(frozen=True)
class Answer:
    """The solver's answer: a placement, and a bound that no placement exceeds; no placement: there is
    none."""

    choice: Choice | None
    bound: int
    known: bool = True
    """True if the solver came to an answer before its time was over."""


def _in_order(literal: Literal) -> tuple[int, int]:
    return literal.decision, literal.place


class Model:
    """All placements that are not known to fail, with an objective."""

    def __init__(
        self, problem: Problem, evaluator: Evaluator, goal: Goal, floors: Mapping[Goal, int]
    ) -> None:
        self.problem = problem
        self.evaluator = evaluator
        self.goal = goal
        self.model = cp_model.CpModel()
        self.at = [
            [self.model.new_bool_var(f"{decision} {place}") for place in decision.places]
            for decision in problem.decisions
        ]
        self.values = [
            [self.model.new_bool_var(f"{setting} {value}") for value in setting.values]
            for setting in problem.settings
        ]
        for row in (*self.at, *self.values):
            self.model.add_exactly_one(row)
        self._steps: dict[tuple[int, int], cp_model.IntVar] = {}
        self.terms: dict[str, cp_model.LinearExpr] = {}
        self._given()
        self._alone()
        self._roles()
        self._loads()
        self._resources()
        for one in dict.fromkeys([goal, *floors]):
            expression = getattr(self, f"_{one}")()
            if one in floors:
                self.model.add(expression >= floors[one])
            if one == goal:
                self.objective = expression
        add_together(self)
        add_slots(self)
        self.model.maximize(self.objective)

    def literal(self, one: Literal) -> cp_model.LiteralT:
        if one.decision >= len(self.at):
            return self._value(one)
        variable = self.at[one.decision][one.place]
        return variable if one.positive else ~variable

    def _value(self, one: Literal) -> cp_model.LiteralT:
        number, last = one.decision - len(self.at), one.place - (one.side == "at least")
        if one.side == "is":
            return self.values[number][one.place]
        if (number, last) not in self._steps:
            step = self.model.new_bool_var(f"{self.problem.settings[number]} up to {last}")
            self.model.add(total(self.values[number][: last + 1]) == step)
            self._steps[number, last] = step
        step = self._steps[number, last]
        return step if one.side == "at most" else ~step

    def add(self, cuts: Iterable[Cut]) -> None:
        for cut in cuts:
            literals = [self.literal(one) for one in sorted(cut.literals, key=_in_order)]
            if cut.term is None:
                self.model.add_bool_or([~literal for literal in literals])
            elif cut.term in self.terms:
                term = self.terms[cut.term]
                self.model.add(term <= cut.at_most).only_enforce_if(literals)

    def solve(self, seconds: float, hint: Choice | None) -> Answer:
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.random_seed = SEED
        solver.parameters.max_time_in_seconds = max(seconds, 0.01)
        self.model.clear_hints()  # type: ignore[no-untyped-call]
        if hint is not None:
            for row, chosen in zip((*self.at, *self.values), hint, strict=True):
                for i, variable in enumerate(row):
                    self.model.add_hint(variable, i == chosen)
        status = solver.solve(self.model)
        if status == cp_model.INFEASIBLE:
            return Answer(None, 0)
        if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            return Answer(None, 0, known=False)
        choice = tuple(
            next(i for i, variable in enumerate(row) if solver.boolean_value(variable))
            for row in (*self.at, *self.values)
        )
        if status == cp_model.OPTIMAL:
            return Answer(choice, solver.value(self.objective))
        return Answer(choice, ceil(solver.best_objective_bound))

    def _given(self) -> None:
        """Tasks that are kept, and how many may move."""
        moved: dict[str, cp_model.IntVar] = {}
        for decision, row in zip(self.problem.decisions, self.at, strict=True):
            if decision.task in self.problem.kept:
                self.model.add(row[decision.given] == 1)
            elsewhere = moved.setdefault(decision.task, self.model.new_bool_var(f"{decision.task} moves"))
            self.model.add_implication(~row[decision.given], elsewhere)
        self.moved = list(moved.values())
        if self.problem.moves is not None:
            # The solver takes no number of more than 64 bits.
            self.model.add(total(self.moved) <= min(self.problem.moves, len(self.moved)))

        for setting, row in zip(self.problem.settings, self.values, strict=True):
            if not setting.allowed:
                self.model.add(row[setting.given] == 0)
        for index, place, number, value in self.problem.apart:
            self.model.add_bool_or([~self.at[index][place], ~self.values[number][value]])

        for room, needs in self.problem.rooms:
            used = total(need * self.values[number][value] for (number, value), need in needs.items())
            self.model.add(used <= room)

    def _alone(self) -> None:
        """A task that has no bound, or a later one than it may, where it is alone does not go there."""
        for variable, bounds in self._bounds_alone():
            if goals.slack_of(bounds) is None:
                self.model.add(variable == 0)

    def _bounds_alone(self) -> Iterator[tuple[cp_model.IntVar, Collection[Bound]]]:
        """The bounds of each place of a task without all others (placement.md, lemma 1)."""
        for decision, row in zip(self.problem.decisions, self.at, strict=True):
            for place, variable in zip(decision.places, row, strict=True):
                if place.execution != "three-phase":
                    yield variable, self.evaluator.alone(decision, place).values()

    def _roles(self) -> None:
        """Nothing else is on a worker."""
        cores = self.problem.cores
        for view, active in self.problem.active.items():
            worker = {core: self.model.new_bool_var(f"{core} serves in {view}") for core in cores}
            for index in active.values():
                for place, variable in zip(self.problem.decisions[index].places, self.at[index], strict=True):
                    if place.master is None:
                        self.model.add_implication(variable, ~worker[place.on])
                    else:
                        self.model.add_implication(variable, worker[place.on])
                        self.model.add_implication(variable, ~worker[place.master])

    def _loads(self) -> None:
        """Constrains loads: no core has a bound for tasks that ask for more time than there is."""
        platform = self.problem.system.platform_description
        for view, active in self.problem.active.items():
            system = self.problem.systems[view]
            loads: dict[str, list[cp_model.LinearExpr]] = {}
            for name, index in active.items():
                task = system.tasks[name]
                for place, variable in zip(self.problem.decisions[index].places, self.at[index], strict=True):
                    wcet = task.wcet_on(platform.core(place.on).processor_name, place.execution)
                    if place.execution == "local" and wcet is not None:
                        share = wcet.picoseconds * BILLION // task.interval.picoseconds
                        loads.setdefault(place.on, []).append(share * variable)
            for core, terms in loads.items():
                self.model.add(total(terms) <= self._share(core))

    def _share(self, core: str) -> cp_model.LinearExprT:
        """The share of its time that a core has, rounded up."""
        for setting, row in zip(self.problem.settings, self.values, strict=True):
            if setting.kind == "supplies" and core in setting.cores:
                shares = (share // len(setting.cores) for share in setting.shares)
                return total(share * value for share, value in zip(shares, row, strict=True))
        return BILLION

    def _resources(self) -> None:
        """The tasks that use a resource are on one core."""
        for resource in self.problem.system.resources:
            users = [
                i
                for i, decision in enumerate(self.problem.decisions)
                if resource in self.problem.system.tasks[decision.task].sections
            ]
            for first, second in pairwise(users):
                cores = self.problem.cores
                for core in cores:
                    self.model.add(total(self.on(first, core)) == total(self.on(second, core)))

    def on(self, index: int, core: str) -> list[cp_model.IntVar]:
        places = self.problem.decisions[index].places
        return [variable for place, variable in zip(places, self.at[index], strict=True) if place.on == core]

    def _slack(self) -> cp_model.LinearExpr:
        """At most what each task has where it is alone on its core."""
        least = self.model.new_int_var(0, BILLION, "slack")
        self.terms["slack"] = least
        for variable, bounds in self._bounds_alone():
            slack = goals.slack_of(bounds)
            if slack is not None:
                self.model.add(least <= slack).only_enforce_if(variable)
        return least

    def _cores(self) -> cp_model.LinearExpr:
        used = {core: self.model.new_bool_var(f"{core} is used") for core in self.problem.cores}
        for decision, row in zip(self.problem.decisions, self.at, strict=True):
            for place, variable in zip(decision.places, row, strict=True):
                for core in place.cores:
                    self.model.add_implication(variable, used[core])
        return -total(used.values())

    def _moves(self) -> cp_model.LinearExpr:
        """The number of moves, as in `Problem.stay`."""
        rows = zip((*self.at, *self.values), self.problem.given, strict=True)
        stay = [row[given] for row, given in rows]
        count = len(stay)
        return total(stay) - count - (count + 1) * total(self.moved)

    def _budgets(self) -> cp_model.LinearExpr:
        """The budgets' value, as in `goals.budgets`."""
        pairs = zip(self.problem.settings, self.values, strict=True)
        return -total(
            share * value for setting, row in pairs for share, value in zip(setting.shares, row, strict=False)
        )

    def _latency(self) -> cp_model.LinearExpr:
        """The latencies' value, as in `Latencies.value`."""
        problem, latencies = self.problem, self.evaluator.latencies
        memories = {s.path[1]: number for number, s in enumerate(problem.settings) if s.kind == "memories"}
        apart = set(problem.apart)
        most = self.model.new_int_var(0, goals.MOST, "latency")
        for view, ends in latencies.ends.items():
            waits = []
            for end in ends:
                wait = self.model.new_int_var(0, goals.MOST, f"{end.channel} {view}")
                waits.append(wait)
                for at, place in enumerate(problem.decisions[end.index].places):
                    here = self.at[end.index][at]
                    number = memories.get(end.channel)
                    if number is None:
                        cost = latencies.cost(end, place, latencies.here(end))
                        self.model.add(wait >= cost).only_enforce_if(here)
                        continue
                    for value, memory in enumerate(problem.settings[number].values):
                        if (end.index, at, number, value) not in apart:
                            cost = latencies.cost(end, place, str(memory))
                            both = [here, self.values[number][value]]
                            self.model.add(wait >= cost).only_enforce_if(both)
            self.model.add(most >= total(waits))
        return -most

    def _energy(self) -> cp_model.LinearExpr:
        most = self.model.new_int_var(0, goals.MOST, "energy")
        by_view: dict[str | None, list[cp_model.LinearExpr]] = {}
        for decision, row in zip(self.problem.decisions, self.at, strict=True):
            for i, (place, variable) in enumerate(zip(decision.places, row, strict=True)):
                if decision.task in self.problem.kept and i != decision.given:
                    continue
                for view, used in goals.power(self.problem, decision, place).items():
                    by_view.setdefault(view, []).append(used * variable)
        for terms in by_view.values():
            self.model.add(most >= total(terms))
        return -most

    def _reaction(self) -> cp_model.LinearExpr:
        """The sum of the chains' reaction times, each the longest of its modes."""
        times = []
        for chain, views in goals.chains_of(self.problem).items():
            time = self.model.new_int_var(0, goals.MOST, f"reaction of {chain}")
            self.terms[goals.term_of(chain)] = -time
            times.append(time)
            for view in views:
                self.model.add(time >= self._least_reaction(chain, view))
        return -total(times)

    def _least_reaction(self, chain: str, view: str | None) -> cp_model.LinearExpr:
        """Theorem 11, with at least the response times of tasks that are alone (placement.md, lemma 5)."""
        system = self.problem.systems[view]
        path = system.chains[chain].path
        decisions = [self.problem.active[view][name] for name in path]
        periods = sum(system.tasks[name].interval.picoseconds for name in path)
        waits = [self.model.new_int_var(0, goals.MOST, f"{chain} {view} {step}") for step in range(len(path))]
        for step, decision in enumerate(decisions):
            self.terms[goals.term_of(chain, view, step)] = -waits[step]
            after = decisions[step + 1 : step + 3]
            for place, variable in zip(
                self.problem.decisions[decision].places, self.at[decision], strict=True
            ):
                least = self._alone_at(decision, place, view)
                beside: list[cp_model.IntVar] = []
                if after and self.problem.policy(place.on) != "edf":
                    # Before a less urgent task of the same core a task counts with its lateness only.
                    beside = self.on(after[0], place.on)
                apart = [~other for other in beside]
                self.model.add(waits[step] >= least).only_enforce_if([variable, *apart])
                if beside and plain(self.problem, place.on):
                    # Whichever is the more urgent, the other one waits for it.
                    there = Place("local", place.on)
                    both = least + self._alone_at(after[0], there, view)
                    ends = [~other for other in (self.on(after[1], place.on) if len(after) > 1 else ())]
                    self.model.add(waits[step] + waits[step + 1] >= both).only_enforce_if(
                        [variable, beside[0], *ends]
                    )
        return total(waits) + periods

    def _alone_at(self, decision: int, place: Place, view: str | None) -> int:
        """At least how long a task takes at a place [ps]."""
        task = self.problem.systems[view].tasks[self.problem.decisions[decision].task]
        kind = self.problem.system.platform_description.core(place.on).processor_name
        wcet = task.wcet_on(kind, place.execution)
        if place.execution != "three-phase":
            alone = self.evaluator.alone(self.problem.decisions[decision], place).get(view)
            if alone is not None and alone.response is not None:
                return alone.response
        return 0 if wcet is None else wcet.picoseconds
