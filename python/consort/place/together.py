# SPDX-License-Identifier: Apache-2.0
"""Bounds on what tasks leave each other on one core, as constraints: placement.md, lemmas 6, 8 and 9."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ortools.sat.python import cp_model

from consort.model import Duration
from consort.place.goals import MOST
from consort.place.ranks import local_only
from consort.place.settings import BILLION
from consort.plan import Plan, plan

if TYPE_CHECKING:
    from consort.place.model import Model


# The most stretches of time that are distinguished for one set of tasks, and the most such sets of a core.
STRETCHES = 64
SETS = 32


@dataclass(frozen=True)
class Asked:
    """A task's demand on a core [ps]; the execution with two context switches."""

    name: str
    execution: int
    period: int
    deadline: int

    def jobs(self, begin: int) -> int:
        """The jobs that come at least in a window longer than `begin`."""
        # The first job of a task whose deadline is later than its period may be the one that is looked at.
        return 1 if self.deadline > self.period else begin // self.period + 1


@dataclass(frozen=True)
class Stretch:
    """A stretch of times: if the tasks are done after its begin and by `end`, each has had so many jobs."""

    end: int
    jobs: tuple[int, ...]


def stretches(tasks: Sequence[Asked], within: int) -> Iterator[Stretch]:
    """Stretches of the times up to `within`: in each the numbers of jobs are the same, or the least there."""
    begins = sorted({k * one.period for one in tasks for k in range(min(-(-within // one.period), 1000))})
    if len(begins) > STRETCHES:
        begins = [begins[at * len(begins) // STRETCHES] for at in range(STRETCHES)]
    for begin, end in zip(begins, [*begins[1:], within], strict=True):
        yield Stretch(end, tuple(one.jobs(begin) for one in tasks))


def levels(deadlines: Sequence[int]) -> list[int]:
    """The deadlines to examine, for each the tasks that are due by then."""
    every = sorted({*deadlines})
    if len(every) <= SETS:
        return every
    return [every[(at + 1) * len(every) // SETS - 1] for at in range(SETS)]


# Lengths of slots are counted in these [ps].
_TICK = 1000
There = Sequence[tuple[Asked, cp_model.IntVar]]


def total(terms: Iterable[cp_model.LinearExprT]) -> cp_model.LinearExpr:
    found: cp_model.LinearExpr = cp_model.LinearExpr.sum(list(terms))
    return found


def add_together(made: Model) -> None:
    """Adds that the last of tasks that come together waits for all others (lemmas 6 and 8)."""
    problem, least = made.problem, made.terms.get("slack")
    for view in problem.views:
        for core in problem.cores:
            if not local_only(problem, core):
                continue
            there = _asked(made, view, core, "local")
            every = sorted({asked.deadline for asked, _ in there})
            refined = levels(every) if problem.policy(core) == "fixed-priority" else []
            for deadline in every:
                some = [(asked, at) for asked, at in there if asked.deadline <= deadline]
                if deadline in refined and len(some) > 1:
                    _in_stretches(made.model, some, deadline, least)
                elif least is not None:
                    made.model.add(_work(some, deadline) + least <= BILLION)


def _asked(made: Model, view: str | None, core: str, execution: str) -> list[tuple[Asked, cp_model.IntVar]]:
    """The demand of each task that may come to a core, and the variable that says whether it does."""
    problem = made.problem
    system = problem.systems[view]
    kind = system.platform_description.core(core).processor_name
    switches = 2 * system.context_switch(core).picoseconds
    found = []
    for name, index in problem.active[view].items():
        task = system.tasks[name]
        for place, variable in zip(problem.decisions[index].places, made.at[index], strict=True):
            wcet = task.wcet_on(kind, place.execution)
            if place.on == core and place.execution == execution and wcet is not None:
                times = (task.interval.picoseconds, task.deadline.picoseconds)
                found.append((Asked(name, wcet.picoseconds + switches, *times), variable))
    return found


def _work(some: There, deadline: int) -> cp_model.LinearExpr:
    """Their executions, in billionths of a deadline, rounded down."""
    return total(asked.execution * BILLION // deadline * at for asked, at in some)


def _in_stretches(
    model: cp_model.CpModel, some: There, deadline: int, least: cp_model.LinearExpr | None
) -> None:
    """The last of some tasks is done in one of the stretches up to their deadline."""
    tasks = [asked for asked, _ in some]
    chosen = []
    for stretch in stretches(tasks, deadline):
        here = model.new_bool_var("")
        chosen.append(here)
        work = total(
            jobs * asked.execution * BILLION // deadline * at
            for jobs, (asked, at) in zip(stretch.jobs, some, strict=True)
        )
        model.add(work <= -(-stretch.end * BILLION // deadline)).only_enforce_if(here)
        if least is not None:
            model.add(work + least <= BILLION).only_enforce_if(here)
    model.add_bool_or(chosen)


def add_slots(made: Model) -> None:
    """Three-phase tasks of one core wait for each other, and for rounds of all slots (lemma 9)."""
    problem, model, least = made.problem, made.model, made.terms.get("slack")
    scheduling = problem.system.scheduling_of
    cores = [core for core in problem.cores if problem.policy(core) == "three-phase"]
    if not cores or any(scheduling(core).arbitration not in (None, "tdma") for core in cores):
        return
    planned = plan(problem.system, "analysis")
    for view in problem.views:
        there = {core: _asked(made, view, core, "three-phase") for core in cores}
        slots = {core: model.new_int_var(0, MOST // _TICK, f"slot of {core}") for core in cores}
        around = total(slots.values())
        for core, some in there.items():
            for asked, at in some:
                model.add(slots[core] >= _moving(planned, asked.name)).only_enforce_if(at)
                for length, where in _lengths(made, core):
                    model.add(slots[core] >= length).only_enforce_if([at, *where])
                due = [(one, other) for one, other in some if one.deadline <= asked.deadline]
                waits = 4 * around + 3 * slots[core]
                share = BILLION * _TICK // asked.deadline
                used = _work(due, asked.deadline) + share * waits
                if least is not None:
                    used += least
                model.add(used <= BILLION).only_enforce_if(at)


def _moving(planned: Plan, task: str) -> int:
    """The longer of a task's load and unload, which its core's slot holds; 0 where it is not known."""
    footprint = planned.tasks[task].footprint
    if footprint is None or footprint.load_ps is None or footprint.unload_ps is None:
        return 0
    return max(footprint.load_ps, footprint.unload_ps) // _TICK


def _lengths(made: Model, core: str) -> Iterable[tuple[int, list[cp_model.IntVar]]]:
    """The lengths that a core's slot may be given, each with what says that it is."""
    entry = made.problem.system.scheduling_entry(core)
    chosen = False
    for setting, row in zip(made.problem.settings, made.values, strict=True):
        if setting.path == ("scheduling", entry, "slot"):
            chosen = True
            for value, variable in zip(setting.values, row, strict=True):
                if value != "auto":
                    yield Duration.parse(str(value)).picoseconds // _TICK, [variable]
    given = made.problem.system.scheduling_of(core).slot
    if not chosen and given is not None and given != "auto":
        yield given.picoseconds // _TICK, []
