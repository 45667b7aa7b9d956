# SPDX-License-Identifier: Apache-2.0
"""The figures that bounds of a plan need and nobody gave, each once, how to get them, and the answer that
bounds give without them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from consort.analysis.figures import Figures, MissingFigure, NotAnalysable, remedy_of
from consort.analysis.mode_changes import ModeBounds, analyze_modes, bounds_in_modes
from consort.analysis.result import Bound
from consort.analysis.system import analyze_system, master_of
from consort.base.errors import Held
from consort.base.units import counted
from consort.model import Duration, System
from consort.plan import Plan, plan_of
from consort.plan.make import subject_of

# Costs that are times by themselves: what holds with none of them may hold with some.
_TIMES = re.compile(r"tasks\..+\.wcet|cores\..+\.(context_switch|timer_lateness)|exchanges\..+\.max")


def held(subject: System | Plan, bounds: Sequence[Bound] | None = None) -> Held:
    """The answer of the bounds of a system or a plan, which are `bounds` where they are known.

    Undecided where some lack a figure, and with the least that it can be every bound holds that has one then.
    """
    subject = subject_of(subject)
    if bounds is None and isinstance(subject, System):
        return held_in_modes(analyze_modes(subject))
    plan = plan_of(subject)
    return held_in_modes(ModeBounds({"": plan}, {"": analyze_system(plan) if bounds is None else bounds}))


def held_in_modes(found: ModeBounds) -> Held:
    """The same of the bounds in each mode."""
    answer = first = answer_of(found.every)
    while answer is Held.UNDECIDED:
        places = lacking_in_modes(found)
        plans = {mode: _with_least(plan, places) for mode, plan in found.plans.items()}
        if all(plans[mode] is plan for mode, plan in found.plans.items()):
            break
        found = bounds_in_modes(found.given, plans)
        answer = answer_of(found.every)
    return _decided(first, answer)


def _decided(first: Held, at_least: Held) -> Held:
    """The answer, from that of the bounds and that with the least that missing figures can be."""
    return Held.UNDECIDED if first is Held.UNDECIDED and at_least is Held.HELD else at_least


def answer_of(bounds: Iterable[Bound]) -> Held:
    """The answer of bounds by themselves."""
    answers = {bound.held for bound in bounds}
    return next((one for one in (Held.NOT_HELD, Held.UNDECIDED) if one in answers), Held.HELD)


def _with_least(plan: Plan, places: Iterable[str]) -> Plan:
    """A plan whose missing times are the least that they can be; the same one where nothing is filled in."""
    # An execution takes some time; each of the other costs may be nothing.
    least = {
        place: (Duration(1 if place.endswith(".wcet") else 0), None)
        for place in places
        if _TIMES.fullmatch(place)
    }
    return replace(plan, figures={**least, **plan.figures}) if least.keys() - plan.figures.keys() else plan


def lacking_figures(plan: Plan, bounds: Iterable[Bound]) -> list[str]:
    """The places of the figures for want of which some of `bounds` do not hold; none where all of them do.

    A bound names the first that it lacks: each task without a bound is looked at by itself.
    """
    late = [bound for bound in bounds if not bound.schedulable]
    without = {bound.task for bound in late if bound.response is None}
    found = [place for bound in late for place in bound.missing]
    figures = Figures(plan, found)
    for core, planned in plan.cores.items():
        for name in planned.tasks:
            if planned.bandwidth is not None or name not in without:
                continue
            try:
                if plan.tasks[name].execution == "three-phase":
                    figures.context_switch(core)
                    figures.lateness(core)
                    figures.wcet(name)
                    figures.moves(name)
                else:
                    master_of(figures, core, [name])
            except MissingFigure as error:
                found.append(error.place)
            except NotAnalysable:
                # Its bound says why.
                continue
    return list(dict.fromkeys(found))


def lacking_in_modes(found: ModeBounds) -> list[str]:
    """The same of all modes, and of changes between them."""
    of_modes = [p for mode, bounds in found.modes.items() for p in lacking_figures(found.plans[mode], bounds)]
    at_changes = [place for bound in (*found.changes, *found.gaps) for place in bound.missing]
    return list(dict.fromkeys([*of_modes, *at_changes]))


def named(places: Sequence[str]) -> str:
    """The figures that nobody gave, in words."""
    return f"{counted(len(places), 'figure')} that nobody gave: {', '.join(places)}"


def remedies(places: Sequence[str]) -> str:
    """How to get each figure; those with one remedy together."""
    by: dict[str, list[str]] = {}
    for place in places:
        by.setdefault(remedy_of(place), []).append(place)
    ways = "; ".join(remedy.format(", ".join(some)) for remedy, some in by.items()).replace("`", "")
    named_only = all(place.endswith(".memory") for place in places)
    return ways if named_only else f"{ways}; or write 'assumed:' with a figure, and why"
