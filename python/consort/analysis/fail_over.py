# SPDX-License-Identifier: Apache-2.0
"""Costs of being ready for a core's death, and the longest gap in its tasks' outputs when it dies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

from consort.analysis.channels import WORD_BYTES
from consort.analysis.figures import NOTHING, Cost, Figures, MissingFigure
from consort.analysis.result import Bound, Steps, in_words, joined
from consort.plan import Plan, PlannedTask
from consort.plan.types import PlannedChanges

SOURCE = "docs/explanation/mode-changes.md, theorem 26, with theorem 23"
KIND = "gap of a fail-over"


def state_bytes(figures: Figures, task: str) -> tuple[int, Cost]:
    """The size of a task's state, and the figure that says it."""
    footprint = figures.plan.tasks[task].footprint
    if footprint is None or footprint.data is None:
        raise MissingFigure(f"tasks.{task}.footprint.data", f"the size of the state of {task}")
    return footprint.data, Cost(0, (figures.used(f"tasks.{task}.footprint.data"),))


def checkpoint(figures: Figures, task: PlannedTask, *, loaded: bool = True) -> Cost:
    """The execution that each job adds to the step so that another core can go on: the state, and its
    number."""
    if task.checkpoint is None:
        return NOTHING
    size, used = state_bytes(figures, task.name)
    processor = figures.platform.core(task.core).processor_name
    word = figures.access(task.checkpoint, WORD_BYTES, processor, loaded=loaded)
    state = figures.access(task.checkpoint, size, processor, loaded=loaded) if size else NOTHING
    return used + state + word


def executions(plan: Plan) -> dict[str, int]:
    """The longest executions of jobs, with their checkpoints [ps]; tasks that lack a figure are left out."""
    figures = Figures(plan)
    found = {}
    for name, task in plan.tasks.items():
        if task.wcet_ps is None:
            continue
        with suppress(MissingFigure):
            found[name] = task.wcet_ps + checkpoint(figures, task).ps
    return found


def take_over(figures: Figures, task: str, memory: str) -> Cost:
    """The cost of taking a task over: the new core looks who had it, takes it, and reads the newest state."""
    size, used = state_bytes(figures, task)
    processor = figures.platform.core(figures.plan.tasks[task].computed_on).processor_name
    word = figures.access(memory, WORD_BYTES, processor)
    state = figures.access(memory, size, processor) if size else NOTHING
    # Two loads and a store of take_over(), four loads of poll(), in each of two rounds at most.
    return used + word.times(3 + 2 * 4) + state


def fail_over_bounds(
    given: PlannedChanges,
    plans: Mapping[str, Plan],
    modes: Mapping[str, Sequence[Bound]],
    changes: Mapping[str, Bound],
) -> list[Bound]:
    """The longest gap in each task's outputs when its core dies, from the core's last sign of life to the end
    of the task's first job elsewhere; of each core that may die and each mode in which it has the task."""
    found = []
    for core, to in given.fail_over.items():
        first = {bound.task: bound for bound in modes[to] if bound.kind == "response time"}
        for old, made in plans.items():
            for task in made.tasks.values():
                if task.core == core and task.name in first and old != to:
                    change = changes[f"{old} -> {to}"]
                    after = plans[to].tasks[task.name]
                    assert given.detection_ps is not None
                    name = gap_name(task.name, core, old)
                    found.append(_gap(name, after, first[task.name], change, given.detection_ps, to))
    return found


def gap_name(task: str, core: str, mode: str) -> str:
    return f"{task} when {core} dies in {mode}"


def _gap(name: str, after: PlannedTask, first: Bound, change: Bound, detection: int, to: str) -> Bound:
    missing = tuple(dict.fromkeys([*change.missing, *first.missing]))
    why = ""
    if change.response is None:
        why = f"rests on the change {change.task}, which has no bound"
    elif first.response is None:
        why = f"rests on the response time of {after.name} in {to}, which has no bound"
    elif after.sporadic:
        why = f"{after.name} is sporadic: nothing says when its next job is released"
    if why:
        return Bound(name, None, None, SOURCE, notes=(why,), kind=KIND, missing=missing)
    assert change.response is not None and first.response is not None
    steps = Steps()
    steps.put("communication", "detection", detection, note="from the last sign of life")
    steps.put("communication", f"change {change.task}", change.response)
    steps.put("own", f"offset of {after.name} in {to}", after.offset_ps)
    steps.put("own", f"first job of {after.name} in {to}", first.response)
    return Bound(
        name,
        detection + change.response + after.offset_ps + first.response,
        None,
        SOURCE,
        assumptions=(
            f"a dead core is known {in_words(detection)} after its last sign of life, and does nothing then",
            "one core dies at a time: the next one after the first jobs of the mode that follows",
        ),
        explanation=steps.done(),
        kind=KIND,
        figures=joined(change.figures, first.figures),
    )
