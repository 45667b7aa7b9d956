# SPDX-License-Identifier: Apache-2.0
"""The time to hand over the state of tasks whose core differs between modes, against the agreement."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from consort.analysis.channels import WORD_BYTES
from consort.analysis.fail_over import state_bytes, take_over
from consort.analysis.figures import NOTHING, Cost, Figures, MissingFigure
from consort.analysis.result import Bound, Steps
from consort.plan import Plan

SOURCE = "docs/explanation/mode-changes.md, theorem 24"
KIND = "hand-over of state"
COPY, COMMIT, RELEASED = "copy", "commit", "released"


def hand_over(
    mode: str, plans: Mapping[str, Plan], memory: str | None, agreement: int, mortal: Collection[str] = ()
) -> Bound | None:
    """The bound of a change to a mode; None where no task of it is computed by another core in another one.

    A task's state lies at the core that last computed it, in whatever mode that was; where that core is
    `mortal`, it may be dead.
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
            ways = [_move(figures, task, core, memory) for core in cores]
            if any(core in mortal for core in cores):
                ways.append(take_over(figures, task, memory))
            cost = max(ways, key=lambda one: one.ps)
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


def phases(figures: Figures, task: str, source: str, memory: str) -> dict[str, Cost]:
    """Costs of a hand-over's parts: the old core writes the state and says so; the new one looks, sees it,
    and reads the state."""
    size, used = state_bytes(figures, task)
    platform = figures.platform
    old, new = (platform.core(core).processor_name for core in (source, figures.plan.tasks[task].computed_on))
    there = figures.access(memory, size, old) if size else NOTHING
    here = figures.access(memory, size, new) if size else NOTHING
    said, seen = figures.access(memory, WORD_BYTES, old), figures.access(memory, WORD_BYTES, new)
    # A look that came just too early, and the one that sees it.
    return {COPY: there + used, COMMIT: said, RELEASED: seen.times(2) + here}


def _move(figures: Figures, task: str, source: str, memory: str) -> Cost:
    parts = phases(figures, task, source, memory)
    return parts[COPY] + parts[COMMIT] + parts[RELEASED]
