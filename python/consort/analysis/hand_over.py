# SPDX-License-Identifier: Apache-2.0
"""What it takes to hand over the state of tasks whose core differs between modes, against the agreement."""

from __future__ import annotations

from collections.abc import Mapping

from consort.analysis.channels import WORD_BYTES
from consort.analysis.figures import NOTHING, Cost, Figures, MissingFigure
from consort.analysis.result import Bound, Steps
from consort.plan import Plan

SOURCE = "docs/explanation/mode-changes.md, theorem 24"
KIND = "hand-over of state"


def hand_over(mode: str, plans: Mapping[str, Plan], memory: str | None, agreement: int) -> Bound | None:
    """The bound of a change to a mode; None where no task of it is computed by another core in another one.

    A task's state lies at the core that last computed it, in whatever mode that was.
    """
    made = plans[mode]
    figures = Figures(made)
    moved = {}
    for task, planned in made.tasks.items():
        everywhere = {one.tasks[task].computed_on for one in plans.values() if task in one.tasks}
        moved[task] = sorted(everywhere - {planned.computed_on})
    moved = {task: cores for task, cores in moved.items() if cores}
    if not moved or memory is None:
        return None
    name = f"to {mode}"
    steps, total = Steps(), NOTHING
    try:
        for task, cores in moved.items():
            cost = max((_move(figures, task, core, memory) for core in cores), key=lambda one: one.ps)
            steps.put("communication", f"state of {task}", cost.ps, note=f"from {' or '.join(cores)}")
            total = total + cost
    except MissingFigure as missing:
        return Bound(
            name, None, agreement, SOURCE, notes=(str(missing),), kind=KIND, missing=(missing.place,)
        )
    return Bound(
        name,
        total.ps,
        agreement,
        SOURCE,
        assumptions=("one task after another, each in one piece", "allowed: the agreement"),
        explanation=steps.done(),
        kind=KIND,
        figures=tuple(dict.fromkeys(total.used)),
    )


def _move(figures: Figures, task: str, source: str, memory: str) -> Cost:
    """The old core writes the state and says so; the new one looks, sees it, and reads the state."""
    footprint = figures.system.tasks[task].footprint
    if footprint is None or footprint.data is None:
        raise MissingFigure(f"tasks.{task}.footprint.data", f"the size of the state of {task}")
    size = footprint.data.value.bytes
    platform = figures.platform
    old, new = (platform.core(core).processor_name for core in (source, figures.plan.tasks[task].computed_on))
    there = figures.access(memory, size, old) if size else NOTHING
    here = figures.access(memory, size, new) if size else NOTHING
    used = Cost(0, (figures.used(f"tasks.{task}.footprint.data"),))
    said, seen = figures.access(memory, WORD_BYTES, old), figures.access(memory, WORD_BYTES, new)
    # A look that came just too early, and the one that sees it.
    return there + said + seen.times(2) + here + used
