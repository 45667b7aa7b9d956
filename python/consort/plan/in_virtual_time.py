# SPDX-License-Identifier: Apache-2.0
"""Features that the executive in virtual time cannot honour, beside those of its target (targets.py)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from consort.base.errors import BadInput
from consort.model.document import Location
from consort.model.kinds import STAND_IN
from consort.plan.types import Plan, PlannedTask

# Limits of the scratchpad kernel in virtual time (ports/virtual/src/scratchpads.hpp).
MOST_CORES, MOST_TASKS = 16, 32
Refuse = Callable[[Location, str], BadInput]


def virtual_problems(plan: Plan, refuse: Refuse) -> Iterator[BadInput]:
    """Tasks whose jobs take an unknown time, and systems that its kernels have no room for."""
    for task in plan.tasks.values():
        yield from _execution(plan, task, refuse)
    cores = plan.three_phase_cores
    if len(cores) > MOST_CORES:
        last = next(task for task in plan.tasks.values() if task.core == cores[-1])
        yield refuse(
            ("tasks", last.name, "on"),
            f"{len(cores)} three-phase cores share a DMA, and in virtual time at most {MOST_CORES} do",
        )
    for core in cores:
        tasks = plan.cores[core].tasks
        if len(tasks) > MOST_TASKS:
            yield refuse(
                ("tasks", tasks[-1], "on"),
                f"{len(tasks)} three-phase tasks are on {core!r}; in virtual time at most {MOST_TASKS} are",
            )


def _execution(plan: Plan, task: PlannedTask, refuse: Refuse) -> Iterator[BadInput]:
    processor = plan.processor_of(task.name)
    if task.step == STAND_IN and task.wcet_ps is None:
        return  # refused on every target
    if task.wcet_ps is None:
        yield refuse(
            ("tasks", task.name, "wcet"),
            f"in virtual time a job takes what the description says, and the execution time of"
            f" {task.execution} execution on {processor} is not said; add it, for example"
            f" 'wcet: {{{processor}: 50us}}'",
        )
    if task.give_up_ps is not None and task.fallback_ps is None:
        kind = plan.cores[task.core].processor
        yield refuse(
            ("tasks", task.name, "wcet"),
            f"with 'on_miss: local-fallback' the master computes the step itself; add '{kind}: {{local: …}}'",
        )
