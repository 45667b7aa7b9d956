# SPDX-License-Identifier: Apache-2.0
"""Objectives of a placement: a whole number for each, the larger the better."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

from consort.analysis.channels import WORD_BYTES, Implementation, Side, read_time, write_time
from consort.analysis.figures import Figures, MissingFigure
from consort.analysis.result import Bound, in_words
from consort.base.errors import BadInput
from consort.model import System
from consort.place.problem import Choice, Decision, Place, Problem
from consort.place.settings import BILLION
from consort.plan import PlannedChannel, plan

Goal = Literal["slack", "cores", "reaction", "energy", "budgets", "latency", "moves"]
GOALS: tuple[Goal, ...] = tuple(goal for goal in get_args(Goal) if goal != "moves")
_SECOND = 10**12
# More than any sum of times or energies may be, and far from where the solver's integers end.
MOST = 10**17
# The bounds of a description, by the mode that they hold in; "changes" are those between modes.
Bounds = Mapping[str | None, list[Bound]]


@dataclass(frozen=True)
class Words:
    """An objective in words: its name, and the form of its values."""

    what: str
    value: Callable[[int], str]


WORDS: dict[Goal, Words] = {
    "slack": Words(
        "the least share of its deadline that a task's bound leaves", lambda v: f"{v / BILLION:.4%}"
    ),
    "cores": Words("cores that tasks take time of", lambda v: str(-v)),
    "reaction": Words("the sum of the chains' reaction times", lambda v: in_words(-v)),
    "energy": Words("energy of the jobs in a second", lambda v: f"{-v / _SECOND:.6g}J"),
    "budgets": Words("the sum of the budgets, as shares of their periods", lambda v: f"{-v / BILLION:.6g}"),
    "latency": Words("the sum of the channels' latencies", lambda v: in_words(-v)),
    "moves": Words("tasks and places that change", str),
}


def slack_of(bounds: Iterable[Bound]) -> int | None:
    """The least share that a bound leaves of its deadline, rounded down; None where one does not hold."""
    least = BILLION
    for bound in bounds:
        if not bound.schedulable:
            return None
        assert bound.response is not None and bound.deadline is not None
        least = min(least, (bound.deadline - bound.response) * BILLION // bound.deadline)
    return least


def chains_of(problem: Problem) -> dict[str, tuple[str | None, ...]]:
    """The chains whose reaction time depends on the placement, with the modes in which they are.

    Under logical execution time it does not, as long as all deadlines hold; with a sporadic task there is
    none.
    """
    found: dict[str, list[str | None]] = {}
    for view, system in problem.systems.items():
        for name, chain in system.chains.items():
            if chain.communication != "let" and not any(system.tasks[t].sporadic for t in chain.path):
                found.setdefault(name, []).append(view)
    return {name: tuple(views) for name, views in found.items()}


def slack_in(bounds: Bounds) -> int | None:
    """The least slack of all tasks in all modes; None where a deadline is not met."""
    return slack_of(b for some in bounds.values() for b in some if b.kind == "response time")


def term_of(chain: str, view: str | None = None, step: int | None = None) -> str:
    """The name in a cut of a chain's reaction time, or of the part that one of its tasks adds to it."""
    return f"reaction {chain}" if step is None else f"reaction {chain} {step} {view or ''}"


def reactions(problem: Problem, bounds: Bounds) -> dict[str, int] | None:
    """The longest reaction time of each chain in any mode [ps]; None if one has no bound."""
    found = {name: _longest(name, views, bounds) for name, views in chains_of(problem).items()}
    known = {name: longest for name, longest in found.items() if longest is not None}
    return known if len(known) == len(found) else None


def unbounded(problem: Problem, bounds: Bounds) -> list[str]:
    """The chains of which a mode has no bound of the reaction time."""
    return [name for name, views in chains_of(problem).items() if _longest(name, views, bounds) is None]


def _longest(chain: str, views: Iterable[str | None], bounds: Bounds) -> int | None:
    found = 0
    for view in views:
        known = [b.response for b in bounds[view] if b.task == chain and b.kind == "reaction time"]
        if not known or known[0] is None:
            return None
        found = max(found, known[0])
    return found


def power(problem: Problem, decision: Decision, place: Place) -> dict[str | None, int]:
    """The energy of a decision's jobs in a second, in each mode that it counts in [pJ], rounded up."""
    found = {}
    for view, active in problem.active.items():
        if problem.decisions[active[decision.task]] is not decision if decision.task in active else True:
            continue
        task = problem.systems[view].tasks[decision.task]
        kind = problem.system.platform_description.core(place.on).processor_name
        energy = task.energy_on(kind, place.execution)
        if energy is None:
            way = "" if place.execution == "local" else f" by {place.execution} execution"
            raise BadInput(
                f"a job of {decision.task} on {kind}{way} has no energy, and nothing is 0 because nobody"
                f" gave it; add it, for example 'energy: {{{kind}: {{value: 1mJ, assumed: why}}}}', or keep"
                f" the task where its energy is known (--keep {decision.task})",
                file=problem.system.file,
                field=f"tasks.{decision.task}.energy",
            )
        interval = task.interval.picoseconds
        found[view] = -(-energy.picojoules * _SECOND // interval)
    return found


def energy(problem: Problem, choice: Choice) -> int:
    """The energy of all jobs in a second, in the mode that takes most, as a value (negative)."""
    total: dict[str | None, int] = {}
    for decision, place in zip(problem.decisions, problem.places(choice), strict=True):
        for view, used in power(problem, decision, place).items():
            total[view] = total.get(view, 0) + used
    return -max(total.values())


def budgets(problem: Problem, choice: Choice) -> int:
    """The sum of the shares that all chosen budgets take of their periods, as a value (negative)."""
    pairs = zip(problem.settings, problem.set_in(choice), strict=True)
    return -sum(setting.shares[index] for setting, index in pairs if setting.shares)


def check_goal(problem: Problem, goal: Goal) -> None:
    """`BadInput` where the description cannot be placed for an objective."""
    if goal == "budgets" and not any(setting.shares for setting in problem.settings):
        raise BadInput(
            "no budget is chosen; add --choose supplies, or --choose bandwidths", field="--best budgets"
        )
    if goal == "reaction" and not chains_of(problem):
        raise BadInput(
            "no chain has a reaction time that a placement changes: each is under logical execution time, or"
            " has a sporadic task; choose another objective",
            file=problem.system.file,
            field="chains",
        )
    if goal == "reaction":
        found = [
            problem.systems[view].tasks[task]
            for chain, views in chains_of(problem).items()
            for view in views
            for task in problem.systems[view].chains[chain].path
        ]
        longest = sum(task.interval.picoseconds + task.deadline.picoseconds for task in found)
        _in_range(problem, longest, "chains", "the chains' periods and deadlines")
    if goal == "energy":
        most = 0
        for decision in problem.decisions:
            places = decision.places
            if decision.task in problem.kept:
                places = (places[decision.given],)
            used = [sum(power(problem, decision, place).values()) for place in places]
            most += max(used)
        _in_range(problem, most, "tasks", "the energies of all jobs in a second")


def _in_range(problem: Problem, total: int, field: str, what: str) -> None:
    if total * 2 > MOST:
        raise BadInput(
            f"{what} sum up to more than can be searched; choose another objective, or split the system",
            file=problem.system.file,
            field=field,
        )


@dataclass(frozen=True)
class End:
    """One end of a channel: its task's cost for each reader."""

    channel: str
    task: str
    index: int
    """The decision that says where the task runs."""
    implementation: Implementation
    writes: bool
    at_worker: bool = False

    def core(self, place: Place) -> str | None:
        """The core that accesses the channel; None: a request, or an answer, of a task that runs locally."""
        if "." in self.channel:
            return None if place.master is None else place.on if self.at_worker else place.master
        return place.on if place.master is None else place.master


class Latencies:
    """The latencies of mailboxes and queues, and the reads of snapshots, in memories."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self._known: dict[tuple[End, str, str], int] = {}

    @cached_property
    def _figures(self) -> Figures:
        return Figures(plan(self.problem.system, "analysis"))

    def check(self) -> None:
        """`BadInput` where what is described lacks a figure for any place that is to be chosen."""
        for ends in self.ends.values():
            for end in ends:
                decision = self.problem.decisions[end.index]
                kept = end.task in self.problem.kept
                for place in (decision.places[decision.given],) if kept else decision.places:
                    self.cost(end, place, self.here(end))
        if not any(self.ends.values()):
            raise BadInput(
                "no channel between tasks lies in a memory and has a latency; choose another objective",
                file=self.problem.system.file,
                field="channels",
            )

    @cached_property
    def memories(self) -> dict[str, str | None]:
        """The memory of each channel as described."""
        return {name: one.memory for name, one in self._figures.plan.channels.items()}

    @cached_property
    def ends(self) -> dict[str | None, list[End]]:
        """Each end as often as it counts, by mode: a writer once for each of its readers."""
        return {view: list(self._ends(view, system)) for view, system in self.problem.systems.items()}

    def _ends(self, view: str | None, system: System) -> Iterator[End]:
        links = system.platform_description.links
        active = self.problem.active[view]
        for name, channel in plan(self.problem.system, "analysis", mode=view).channels.items():
            if channel.memory in links or channel.implementation in ("double-buffer", "versions"):
                continue
            kind: Implementation = channel.implementation  # type: ignore[assignment]
            if channel.exchange_of is not None:
                index, asks = active[channel.exchange_of], name.endswith(".in")
                yield End(name, channel.exchange_of, index, kind, True, not asks)
                yield End(name, channel.exchange_of, index, kind, False, asks)
                continue
            yield from self._free(channel, kind, active)

    def _free(
        self, channel: PlannedChannel, kind: Implementation, active: Mapping[str, int]
    ) -> Iterator[End]:
        if channel.writer_core is None:
            return
        for reader, core in zip(channel.readers, channel.reader_cores, strict=True):
            if core is None:
                continue
            if kind != "snapshot":
                yield End(channel.name, channel.writer, active[channel.writer], kind, True)
            yield End(channel.name, reader, active[reader], kind, False)

    def cost(self, end: End, place: Place, memory: str) -> int:
        """The cost of an end at a place [ps]; `BadInput` names a figure that lacks."""
        core = end.core(place)
        if core is None:
            return 0
        kind = self.problem.system.platform_description.core(core).processor_name
        key = (end, kind, memory)
        if key not in self._known:
            try:
                side = self._side(end.channel, memory, kind)
            except MissingFigure as missing:
                raise BadInput(
                    f"{missing}; or keep {end.task} where it is known (--keep {end.task})",
                    file=self.problem.system.file,
                    field=f"channels.{end.channel}",
                ) from None
            look = 0 if end.implementation == "snapshot" else side.word
            self._known[key] = (
                write_time(end.implementation, side)
                if end.writes
                else look + read_time(end.implementation, side)
            )
        return self._known[key]

    def _side(self, channel: str, memory: str, kind: str) -> Side:
        size = self._figures.channel(channel)[1]
        word, copy = (self._figures.access(memory, bytes_, kind) for bytes_ in (WORD_BYTES, size))
        return Side(word.ps, copy.ps)

    def value(self, choice: Choice) -> int:
        """The sum, in the mode in which it is largest, as a value (negative)."""
        places = self.problem.places(choice)
        chosen = {
            one.path[1]: str(value) for one, value in self.problem.values(choice) if one.kind == "memories"
        }
        return -max(
            sum(self.cost(end, places[end.index], chosen.get(end.channel) or self.here(end)) for end in ends)
            for ends in self.ends.values()
        )

    def here(self, end: End) -> str:
        memory = self.memories[end.channel]
        if memory is None:
            raise BadInput(
                f"nothing says where the blocks of {end.channel} lie; add its 'memory'",
                file=self.problem.system.file,
                field=f"channels.{end.channel}.memory",
            )
        return memory
