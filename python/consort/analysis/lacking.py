# SPDX-License-Identifier: Apache-2.0
"""Every figure that bounds of a plan need and nobody gave, each once, and how to get it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from consort.analysis.figures import Figures, MissingFigure, NotAnalysable, remedy_of
from consort.analysis.mode_changes import ModeBounds
from consort.analysis.result import Bound
from consort.analysis.system import master_of
from consort.base.units import counted
from consort.plan import Plan


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
    """The same of a system that changes its mode, in each mode, and at changes."""
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
    return f"{ways}; or write 'assumed:' with a figure, and why"
