# SPDX-License-Identifier: Apache-2.0
"""Every figure that bounds of a plan need and nobody gave, each once."""

from __future__ import annotations

from collections.abc import Iterable

from consort.analysis.figures import Figures, MissingFigure, NotAnalysable
from consort.analysis.result import Bound
from consort.analysis.system import master_of
from consort.plan import Plan


def lacking_figures(plan: Plan, bounds: Iterable[Bound]) -> list[str]:
    """The places of the figures. A bound names the first that it lacks: each task is looked at by itself."""
    found = [place for bound in bounds for place in bound.missing]
    figures = Figures(plan, found)
    for core, planned in plan.cores.items():
        for name in planned.tasks:
            if plan.tasks[name].execution == "three-phase" or planned.bandwidth is not None:
                continue
            try:
                master_of(figures, core, [name])
            except MissingFigure as error:
                found.append(error.place)
            except NotAnalysable:
                # Its bound says why.
                continue
    return list(dict.fromkeys(found))
