# SPDX-License-Identifier: Apache-2.0
"""Cuts: consequences of an analysed placement for others, which docs/explanation/placement.md proves."""

from __future__ import annotations

import typing
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import permutations, product

from consort.place.evaluate import Evaluator, Outcome, Part
from consort.place.goals import chains_of, term_of, unbounded
from consort.place.problem import Choice, Decision, Place, Problem
from consort.place.ranks import plain, takes_audsley

# A part's cores may be exchanged for others of their classes; no more such copies of a cut are made.
_COPIES = 24


Side = typing.Literal["is", "at most", "at least"]


@dataclass(frozen=True)
class Literal:
    """A literal: a decision has a place; for a setting, whose number comes after the decisions', the index of
    its value is this one, at most this one, or at least."""

    decision: int
    place: int
    positive: bool = True
    side: Side = "is"


@dataclass(frozen=True)
class Cut:
    """A cut: if all literals hold, a term is at most a value; `term` None: they cannot all hold.

    `general`: whether it speaks of further tasks on the same cores, too.
    """

    literals: frozenset[Literal]
    term: str | None = None
    at_most: int = 0
    general: bool = False


class Cuts:
    """Learns from outcomes."""

    def __init__(self, problem: Problem, evaluator: Evaluator) -> None:
        self.problem = problem
        self.evaluator = evaluator
        self.index = {decision: i for i, decision in enumerate(problem.decisions)}
        self.grows = cache(self._grows)

    def of(self, outcome: Outcome, *, target: int | None, reactions: bool) -> Iterator[Cut]:
        """`target`: the slack that a placement has to exceed to be of use, where slack counts; `reactions`:
        whether reaction times do."""
        for part in outcome.parts:
            if part.slack is None or target is not None:
                yield from self._of_part(part, -1 if part.slack is None else max(part.slack, target or 0))
        if any(part.slack is None for part in outcome.parts):
            return
        if not outcome.holds:
            chains = {bound.task for bound in outcome.failing} & self.problem.system.chains.keys()
            parts = list(outcome.parts)
            if chains and all(bound.task in chains for bound in outcome.failing):
                # One chain that fails is enough, and its parts are the fewer.
                parts = self._parts_of(outcome, min(chains))
                yield from self._exact(parts, None, 0)
            else:
                yield from self._exact(parts, None, 0, also=self._set_in(outcome.choice))
            return
        if reactions and (without := unbounded(self.problem, outcome.bounds)):
            yield from self._exact(self._parts_of(outcome, without[0]), None, 0)
        elif reactions:
            yield from self._of_chains(outcome)

    def _of_chains(self, outcome: Outcome) -> Iterator[Cut]:
        """Cuts from the part of a chain's reaction time that each task adds (theorem 11), as long as its part
        is as it is."""
        system = self.problem.system
        parts = {decision: part for part in outcome.parts for decision in part.places}
        for chain, views in chains_of(self.problem).items():
            rests_on = self._parts_of(outcome, chain)
            yield from self._exact(rests_on, term_of(chain), -outcome.reactions[chain])
            for view in views:
                responses = {b.task: b.response for b in outcome.bounds[view] if b.kind == "response time"}
                path = system.chains[chain].path
                on = [self.problem.decisions[self.problem.active[view][task]] for task in path]
                for step, (task, decision) in enumerate(zip(path, on, strict=True)):
                    part, after = parts[decision], on[step + 1 : step + 2]
                    response = responses[task]
                    assert response is not None, "all holds"
                    if after and self._waits_for(part, decision, after[0]):
                        continue
                    term = term_of(chain, view, step)
                    if self.problem.policy(part.places[decision].on) == "edf" and self._is_plain(part):
                        yield from self._alike(part.places, term, -response)
                    else:
                        yield from self._exact([part], term, -response)

    def _waits_for(self, part: Part, first: Decision, second: Decision) -> bool:
        """True if two tasks are on one core whose priorities make the second wait for the first."""
        if second not in part.places or part.order is None:
            return False
        if part.places[first].on != part.places[second].on:
            return False
        return part.order.index(first.task) < part.order.index(second.task)

    def _is_plain(self, part: Part) -> bool:
        return len(part.cores) == 1 and self.grows(next(iter(part.cores)))

    def _grows(self, core: str) -> bool:
        """True if more tasks on a core leave no more slack (proofs/placement.md, lemma 2)."""
        ranked = self.problem.policy(core) == "edf" or takes_audsley(self.problem, core)
        return ranked and plain(self.problem, core)

    def _of_part(self, part: Part, target: int) -> Iterator[Cut]:
        """Cuts from a part. `target`: the largest slack of it, or of fewer tasks; -1: it does not hold."""
        if not self._is_plain(part):
            poorest = self._most_values(part, target)
            if poorest.slack is None:
                yield from self._exact([poorest], None, 0, or_less=True)
            else:
                yield from self._exact([poorest], "slack", poorest.slack, or_less=True)
            return
        fewest = self._fewest(part, target)
        if fewest.slack is None:
            yield from self._alike(fewest.places, None, 0)
        else:
            yield from self._alike(fewest.places, "slack", fewest.slack)

    def _alike(self, places: Mapping[Decision, Place], term: str | None, at_most: int) -> Iterator[Cut]:
        """Cuts for all placements with these tasks on a core of this class, whatever else is there."""
        core = next(iter(places.values())).on
        for other in self.problem.alike(core):
            moved = {decision: replace(place, on=other) for decision, place in places.items()}
            if all(place in decision.places for decision, place in moved.items()):
                literals = frozenset(self._literal(decision, place) for decision, place in moved.items())
                yield Cut(literals, term, at_most, general=True)

    def _most_values(self, part: Part, target: int) -> Part:
        """The part with the largest budgets of supplies with which it does no better than the target."""
        best = part
        for number, index in part.values.items():
            setting = self.problem.settings[number]
            if not setting.rising:
                continue
            low, high = index, len(setting.values) - 1
            while low < high:
                middle = (low + high + 1) // 2
                tried = self.evaluator.part(part.cores, part.places, {**best.values, number: middle})
                if tried.slack is None or tried.slack <= target:
                    best, low = tried, middle
                else:
                    high = middle - 1
        return best

    def _fewest(self, part: Part, target: int) -> Part:
        """Tasks of a part without which those that remain would do better than the target."""
        best, places = part, dict(part.places)
        for task in dict.fromkeys(decision.task for decision in part.places):
            fewer = {d: place for d, place in places.items() if d.task != task}
            if not fewer:
                continue
            tried = self.evaluator.part(part.cores, fewer, part.values)
            if tried.slack is None or tried.slack <= target:
                best, places = tried, fewer
        return best

    def _parts_of(self, outcome: Outcome, chain: str) -> list[Part]:
        """The parts that a chain's bounds rest on; all of them where a link's other channels count, too."""
        system = self.problem.system
        links = system.platform_description.links
        if any(channel.memory in links for channel in system.channels.values()):
            return list(outcome.parts)
        views = chains_of(self.problem).get(chain, self.problem.views)
        path = system.chains[chain].path
        on: set[Decision] = set()
        for view in views:
            active = self.problem.active[view]
            on |= {self.problem.decisions[active[task]] for task in path if task in active}
        return [part for part in outcome.parts if on & part.places.keys()]

    def _exact(
        self,
        parts: Iterable[Part],
        term: str | None,
        at_most: int,
        *,
        or_less: bool = False,
        also: Iterable[Literal] = (),
    ) -> Iterator[Cut]:
        """Cuts for placements in which these cores have just these tasks, or others of their classes have.

        `or_less`: also of values of settings with which a part does no better (placement.md, lemma 7). Not
        of reaction times: with less, another order may have most slack.
        """
        places: dict[Decision, Place] = {}
        cores: set[str] = set()
        settings = set(also)
        for part in parts:
            places |= part.places
            cores |= part.cores
            settings |= {self._setting(part, number, or_less) for number in part.values}
        made = 0
        for names in self._renamed(sorted(cores)):
            moved = {decision: _on(place, names) for decision, place in places.items()}
            if all(place in decision.places for decision, place in moved.items()):
                yield Cut(self._literals(moved, set(names.values())) | settings, term, at_most)
                made += 1
            if made >= _COPIES:
                return

    def _renamed(self, cores: list[str]) -> Iterator[Mapping[str, str]]:
        """These cores, then every other choice of as many cores of the same classes, not too many of them."""
        by_class: dict[str, list[str]] = {}
        for core in cores:
            by_class.setdefault(self.problem.class_of(core), []).append(core)
        yield {core: core for core in cores}
        choices = [permutations(self.problem.alike(some[0]), len(some)) for some in by_class.values()]
        for chosen in product(*choices):
            names: dict[str, str] = {}
            for some, others in zip(by_class.values(), chosen, strict=True):
                names |= dict(zip(some, others, strict=True))
            if any(core != other for core, other in names.items()):
                yield names

    def _literals(self, places: Mapping[Decision, Place], cores: set[str]) -> frozenset[Literal]:
        found = {self._literal(decision, place) for decision, place in places.items()}
        for decision in self.problem.decisions:
            if decision in places:
                continue
            for i, place in enumerate(decision.places):
                if cores & set(place.cores):
                    found.add(Literal(self.index[decision], i, positive=False))
        return frozenset(found)

    def _set_in(self, choice: Choice) -> list[Literal]:
        """Literals that every setting has the value that it has in a choice."""
        first = len(self.problem.decisions)
        return [Literal(first + number, index) for number, index in enumerate(self.problem.set_in(choice))]

    def _setting(self, part: Part, number: int, or_less: bool) -> Literal:
        """Literals that a setting has the value that a part had, or one with which the part does no
        better."""
        setting, index = self.problem.settings[number], part.values[number]
        side: Side = "is"
        if or_less and setting.rising:
            side = "at most"
        elif (
            or_less
            and setting.kind == "bandwidths"
            and part.slack is None
            and len(part.late & part.cores) == 1
        ):
            # Less of its own, or more for others: neither makes a bound of the core that fails lower.
            if setting.cores & part.cores == part.late:
                side = "at most"
            elif not setting.cores & part.late:
                side = "at least"
        return Literal(len(self.problem.decisions) + number, index, side=side)

    def _literal(self, decision: Decision, place: Place) -> Literal:
        return Literal(self.index[decision], decision.places.index(place))


def _on(place: Place, names: Mapping[str, str]) -> Place:
    master = None if place.master is None else names[place.master]
    return replace(place, on=names[place.on], master=master)
