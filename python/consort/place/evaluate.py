# SPDX-License-Identifier: Apache-2.0
"""Values of a placement, by the analyses that `consort analyze` prints; each part is analysed once."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

from consort.analysis.lacking import lacking_figures
from consort.analysis.mode_changes import analyze_modes
from consort.analysis.result import Bound
from consort.analysis.system import analyze_system, response_times
from consort.model import BadDescription, System
from consort.place import goals
from consort.place.apply import Order, part, placed
from consort.place.goals import Bounds, Goal, Latencies
from consort.place.problem import Choice, Decision, Place, Problem
from consort.place.ranks import (
    audsley,
    deadline_order,
    given_order,
    least,
    ranked,
    slack_at,
    takes_audsley,
)
from consort.place.settings import BILLION, Setting
from consort.plan import Plan, plan

CHANGES = "changes of mode"


@dataclass(frozen=True)
class Part:
    """Tasks that share cores, directly or through others: nothing else says how long they take."""

    cores: frozenset[str]
    places: Mapping[Decision, Place]
    values: Mapping[int, int]
    """The index of the value of each setting that its bounds depend on, by the settings' numbers."""
    slack: int | None
    """The least share of a deadline that is left; None: one is not met."""
    order: Order
    why: str = ""
    late: frozenset[str] = frozenset()
    """Where it has no slack the cores on which a bound fails, one for each order; none: it breaks a rule."""


@dataclass(frozen=True)
class Outcome:
    """A placement: whether all holds, its values, and the bounds that say so."""

    choice: Choice
    parts: tuple[Part, ...]
    system: System | None = None
    bounds: Bounds = field(default_factory=dict)
    values: Mapping[Goal, int] = field(default_factory=dict)
    reactions: Mapping[str, int] = field(default_factory=dict)
    failing: tuple[Bound, ...] = ()
    why: str = ""

    @property
    def holds(self) -> bool:
        return bool(self.values)

    def moved(self, problem: Problem) -> list[str]:
        """The tasks that it moves."""
        return problem.moved(self.choice)


Key = tuple[frozenset[tuple[Decision, Place]], frozenset[tuple[int, int]]]


class Evaluator:
    """Analyses placements of a problem, and remembers their parts."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.latencies = Latencies(problem)
        self.analyses = 0
        self.missing: dict[str, None] = {}
        """The places of figures for want of which alone a placement was not accepted."""
        self._parts: dict[Key, Part] = {}
        self._outcomes: dict[Choice, Outcome] = {}
        self._alone: dict[tuple[Decision, Place], Mapping[str | None, Bound]] = {}
        names = problem.cores
        self._three_phase = [core for core in names if problem.policy(core) == "three-phase"]
        self._together = any(problem.system.scheduling_of(core).bandwidth is not None for core in names)

    def outcome(self, choice: Choice) -> Outcome:
        if choice not in self._outcomes:
            self._outcomes[choice] = self._judge(choice)
        return self._outcomes[choice]

    def parts(self, choice: Choice) -> Iterator[Part]:
        values = dict(enumerate(self.problem.set_in(choice)))
        for cores, places in self.split(choice):
            yield self.part(cores, places, values)

    def split(self, choice: Choice) -> list[tuple[frozenset[str], dict[Decision, Place]]]:
        """The parts of a placement: cores that masters, workers or the DMA engine join, and their tasks."""
        root: dict[str, str] = {}

        def top(core: str) -> str:
            while root.setdefault(core, core) != core:
                core = root[core]
            return core

        places = dict(zip(self.problem.decisions, self.problem.places(choice), strict=True))
        first: dict[str, str] = {}
        for decision, place in places.items():
            # Cores joined by a task's one priority, by the one DMA engine, and by the one memory bus.
            joined = [*place.cores, first.setdefault(f"task {decision.task}", place.on)]
            if place.execution == "three-phase":
                joined.append(first.setdefault("dma", place.on))
            if self._together:
                joined.append(first.setdefault("bus", place.on))
            for core in joined:
                root[top(core)] = top(joined[0])
        found: dict[str, tuple[set[str], dict[Decision, Place]]] = {}
        for decision, place in places.items():
            cores, mine = found.setdefault(top(place.on), (set(), {}))
            cores.update(place.cores)
            if place.execution == "three-phase":
                # One more core with such tasks would take its turns of the DMA engine.
                cores.update(self._three_phase)
            mine[decision] = place
        return [(frozenset(cores), mine) for cores, mine in found.values()]

    def part(
        self, cores: frozenset[str], places: Mapping[Decision, Place], values: Mapping[int, int]
    ) -> Part:
        """The slack of a part; cores of one class stand for each other. `values`: of all settings, or more
        than those that count."""
        core = next(iter(cores))
        seen = dict(places)
        if len(cores) == 1:
            first = self.problem.alike(core)[0]
            seen = {decision: replace(place, on=first) for decision, place in places.items()}
        offloaded = {decision.task for decision, place in places.items() if place.master is not None}
        # The slot of a core without tasks is in no round.
        used = {core for place in places.values() for core in place.cores}
        counting = {
            number: values[number]
            for number, setting in enumerate(self.problem.settings)
            if setting.cores & used or setting.task in offloaded
        }
        key = (frozenset(seen.items()), frozenset(counting.items()))
        if key not in self._parts:
            self._parts[key] = self._analysed(seen, counting)
        return replace(self._parts[key], cores=cores, places=dict(places))

    def alone(self, decision: Decision, place: Place) -> Mapping[str | None, Bound]:
        """The bound of a task that has its core, or its master and its worker, for itself, by mode.

        Empty where the description with this task alone breaks a rule: that says nothing of others.
        """
        on, master = self.problem.alike(place.on)[0], place.master
        if master is not None:
            master = next(core for core in self.problem.alike(master) if core != on)
        key = (decision, replace(place, on=on, master=master))
        if key not in self._alone:
            self._alone[key] = self._least_alone(*key)
        return self._alone[key]

    def _least_alone(self, decision: Decision, place: Place) -> Mapping[str | None, Bound]:
        """The bound with the values of the settings that suit it best."""
        counting = []
        for number, setting in enumerate(self.problem.settings):
            if setting.task == decision.task and place.master is not None:
                counting.append([(number, index) for index in range(len(setting.values))])
            elif setting.cores & {*place.cores}:
                # A budget; on a core that is not shared the largest is the best (placement.md, lemma 7).
                counting.append([(number, len(setting.values) - 1)])
        found: dict[str | None, Bound] = {}
        for values in product(*counting):
            try:
                system = part(self.problem, {decision: place}, {decision.task: None}, self._set(dict(values)))
                for view in self._views(system, {decision}):
                    whole = plan(system, "analysis", mode=view)
                    bound = response_times(whole)[0]
                    self._note_missing([bound], whole)
                    if view not in found or _sooner(bound, found[view]):
                        found[view] = bound
            except BadDescription:
                return {}
        return found

    def _views(self, system: System, decisions: Collection[Decision]) -> list[str | None]:
        """The modes in which some decisions count."""
        own = {self.problem.decisions.index(decision) for decision in decisions}
        return [
            view
            for view, active in self.problem.active.items()
            if own & set(active.values()) and (view is None or view in system.modes)
        ]

    def _set(self, values: Mapping[int, int]) -> list[tuple[Setting, str | int]]:
        settings = self.problem.settings
        return [(settings[number], settings[number].values[index]) for number, index in values.items()]

    def _analysed(self, places: Mapping[Decision, Place], values: Mapping[int, int]) -> Part:
        cores = frozenset(core for place in places.values() for core in place.cores)
        names = [n for n in self.problem.system.tasks if any(d.task == n for d in places)]
        unnumbered = any(self.problem.policy(core) == "edf" for core in cores)
        deadline = deadline_order(self.problem, names)
        first = dict.fromkeys(names) if unnumbered else numbers(deadline)
        self.analyses += 1
        try:
            system = part(self.problem, places, first, self._set(values))
            plans = {v: plan(system, "analysis", mode=v) for v in self._views(system, places)}
        except BadDescription as error:
            return Part(cores, places, values, None, None, error.problems[0].message)
        best = self._slack(plans, None)
        late = frozenset(best[2])
        if unnumbered:
            return Part(cores, places, values, best[0], None, best[1], late)
        order: tuple[str, ...] = deadline
        given = given_order(self.problem, names)
        if given is not None and given != deadline:
            value = self._slack(plans, given)
            late |= frozenset(value[2])
            if value[0] is not None and (best[0] is None or value[0] >= best[0]):
                best, order = value, given
        if len(names) > 1 and len(cores) == 1 and takes_audsley(self.problem, next(iter(cores))):
            chosen = audsley(names, lambda urgent, task: slack_at(plans, urgent, task), order)
            if chosen is not None and chosen != order:
                value = self._slack(plans, chosen)
                late |= frozenset(value[2])
                if value[0] is not None and (best[0] is None or value[0] > best[0]):
                    best, order = value, chosen
        return Part(cores, places, values, best[0], order, best[1], late)

    def _slack(
        self, plans: Mapping[str | None, Plan], order: Order
    ) -> tuple[int | None, str, tuple[str, ...]]:
        """The least slack of some tasks in all modes; the failure if there is none, and its core."""
        slacks = []
        for one in plans.values():
            bounds = response_times(one if order is None else ranked(one, order))
            self._note_missing(bounds, one)
            slacks.append(goals.slack_of(bounds))
            if slacks[-1] is None:
                bad = next(b for b in bounds if not b.schedulable)
                return None, bad.verdict(), (bad.core,)
        return least(slacks) if slacks else BILLION, "", ()

    def _judge(self, choice: Choice) -> Outcome:
        parts = tuple(self.parts(choice))
        bad = [one for one in parts if one.slack is None]
        if bad:
            return Outcome(choice, parts, why=bad[0].why)
        try:
            system = placed(self.problem, choice, ranks_of(parts))
            bounds = bounds_of(self.problem, system)
        except BadDescription as error:
            return Outcome(choice, parts, why=str(error.problems[0]))
        self.analyses += 1
        failing = tuple(failing_of(self.problem, bounds))
        self._note_missing(failing)
        if failing:
            return Outcome(choice, parts, system, bounds, failing=failing, why=failing[0].verdict())
        times = goals.reactions(self.problem, bounds)
        values = values_of(self.problem, choice, parts)
        if times is not None:
            values["reaction"] = -sum(times.values())
        return Outcome(choice, parts, system, bounds, values, times or {})

    def _note_missing(self, bounds: Collection[Bound], whole: Plan | None = None) -> None:
        """Notes the figures that bounds lack, where none fails for another reason.

        `whole`: the plan that they are of, whose other figures are then looked at as well.
        """
        failing = [bound for bound in bounds if not bound.schedulable]
        if any(bound.missing for bound in failing) and all(bound.response is None for bound in failing):
            lacking = [place for bound in failing for place in bound.missing]
            self.missing |= dict.fromkeys(lacking if whole is None else lacking_figures(whole, failing))


def _sooner(one: Bound, other: Bound) -> bool:
    return one.response is not None and (other.response is None or one.response < other.response)


def numbers(order: Sequence[str]) -> dict[str, int | None]:
    """Priorities that put tasks in an order."""
    return {name: len(order) - at for at, name in enumerate(order)}


def ranks_of(parts: Iterable[Part]) -> dict[str, int | None]:
    """Priorities for all tasks by the orders of their parts."""
    found: dict[str, int | None] = {}
    for one in parts:
        names = [decision.task for decision in one.places]
        found |= dict.fromkeys(names) if one.order is None else numbers(one.order)
    return found


def bounds_of(problem: Problem, system: System) -> Bounds:
    """All bounds of a description, in each of its modes, as `consort analyze` has them."""
    if system.mode_changes is not None:
        found = analyze_modes(system)
        bounds: dict[str | None, list[Bound]] = {CHANGES: list(found.changes)}
        bounds.update((mode, list(some)) for mode, some in found.modes.items())
        return bounds
    return {view: analyze_system(plan(system, "analysis", mode=view)) for view in problem.views}


def failing_of(problem: Problem, bounds: Bounds) -> Iterator[Bound]:
    for some in bounds.values():
        for bound in some:
            if not bound.schedulable and bound.task not in problem.waived:
                yield bound


def values_of(problem: Problem, choice: Choice, parts: Sequence[Part]) -> dict[Goal, int]:
    """The objectives of a placement with these parts that rest neither on chains nor on energies."""
    places = problem.places(choice)
    return {
        "slack": least([one.slack for one in parts]) or 0,
        "cores": -len({core for place in places for core in place.cores}),
        "budgets": goals.budgets(problem, choice),
        "moves": problem.stay(choice),
    }


def value_of(problem: Problem, choice: Choice, bounds: Bounds, goal: Goal) -> int | None:
    """An objective's value of a placement that has these bounds; None where a bound is missing."""
    if goal == "slack":
        return goals.slack_in(bounds)
    if goal == "reaction":
        times = goals.reactions(problem, bounds)
        return None if times is None else -sum(times.values())
    if goal == "energy":
        return goals.energy(problem, choice)
    if goal == "latency":
        return Latencies(problem).value(choice)
    return values_of(problem, choice, ())[goal]
