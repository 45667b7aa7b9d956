# SPDX-License-Identifier: Apache-2.0
"""What the board's scratchpad kernel takes from a description: its three-phase cores, and input rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from consort.analysis.figures import NotAnalysable
from consort.analysis.scratchpad import ThreePhaseCore, core_of, three_phase_cores
from consort.errors import BadInput
from consort.model import System
from consort.plan import plan_of
from consort.run.data import task_inputs


def planned_cores(system: System) -> dict[str, ThreePhaseCore]:
    """The cores with three-phase tasks by name, in order; `BadInput` where one cannot be analysed."""
    made = plan_of(system)
    try:
        return {core: core_of(made, core) for core in three_phase_cores(made)}
    except NotAnalysable as error:
        raise BadInput(str(error), file=system.file) from None


def task_rows(system: System, name: str, size: int) -> NDArray[Any]:
    """A task's input rows; without an input one of zeros."""
    task = system.tasks[name]
    if task.input is None or size == 0:
        return np.zeros(1, dtype=f"V{max(size, 1)}")
    try:
        return task_inputs(system, task, np.dtype(f"V{size}"))
    except BadInput as error:
        if error.file is not None:
            raise
        field = ".".join(filter(None, ("tasks", name, "input", error.field)))
        raise BadInput(error.message, file=system.file, field=field) from error
