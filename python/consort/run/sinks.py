# SPDX-License-Identifier: Apache-2.0
"""Passes the blocks that tasks wrote to the sinks that are Python functions, once the run is over."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from consort.base.errors import BadInput
from consort.model import PythonReference
from consort.model.kinds import STAND_IN
from consort.plan import Plan
from consort.record import RawRun
from consort.record.outputs import column_name
from consort.run.data import call


def sink_problems(plan: Plan, folder: Path) -> Iterator[str]:
    """Calls the function of each sink with the blocks of each of its tasks, from the raw run folder; gives
    the problems that functions report."""
    written = [
        (number, task, binding, str(device.reference))
        for number, task in enumerate(plan.tasks.values())
        for binding in task.writes
        if (device := plan.devices.get(binding.source)) is not None
        and device.kind == "record"
        and device.reference is not None
        and task.step != STAND_IN
    ]
    if not written:
        return
    raw = RawRun.load(folder)
    for number, task, binding, function in written:
        here = f"sink {binding.source}, {task.name}"
        table = raw.tables.get(f"outputs-{number}")
        if table is None:
            yield f"{here}: nothing that it wrote was recorded"
            continue
        blocks = _written(np.array(table.rows), binding.member)
        try:
            said = call(plan.file, PythonReference.parse(function), task.name, blocks)
        except BadInput as error:
            said = error.message
        if said is not None:
            yield f"{here}: {said}"


def _written(rows: NDArray[Any], member: str) -> NDArray[Any]:
    """The jobs' numbers and what the binding gives of their outputs, in the order of the jobs."""
    start = column_name(member)

    def bound(name: str) -> bool:
        column = column_name(name)
        return name == "seq" or not member or column == start or column.startswith(f"{start}_")

    names = [name for name in rows.dtype.names or () if bound(name)]
    found = np.empty(rows.size, [(name, rows.dtype[name]) for name in names])
    for name in names:
        found[name] = rows[name]
    return np.sort(found, order="seq")
