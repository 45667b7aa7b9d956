# SPDX-License-Identifier: Apache-2.0
"""The input rows of a plan's tasks, written as the executive reads them."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from consort.base.errors import BadInput
from consort.model import FileInput, FunctionInput, PythonReference
from consort.plan import Plan, PlannedTask
from consort.run.config import TaskData
from consort.run.data import made_rows, recorded_rows, struct_dtype

ROW_DEVICES = ("recording", "function")


def input_rows(plan: Plan, layouts: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """The rows of each task that has an `input`, or one row of zeros where nothing at all is bound."""
    found = {}
    for task in plan.tasks.values():
        dtype = struct_dtype(layouts[task.name]["in"])
        if task.input is not None:
            found[task.name] = _rows(plan, task.input, task, dtype, f"tasks.{task.name}.input")
            continue
        for binding in task.reads:
            device = plan.devices.get(binding.source)
            if not binding.member and device is not None and device.kind in ROW_DEVICES:
                found[task.name] = _device_rows(plan, device.name, task, dtype)
    return found


def member_rows(plan: Plan, described: Mapping[str, Any]) -> dict[str, dict[str, NDArray[Any]]]:
    """Rows of each task's members that a recording or a function fills."""
    found: dict[str, dict[str, NDArray[Any]]] = {}
    layouts = {known["name"]: known for known in described["tasks"]}
    for task in plan.tasks.values():
        for binding in task.reads:
            device = plan.devices.get(binding.source)
            if not binding.member or device is None or device.kind not in ROW_DEVICES:
                continue
            place = next(
                b
                for b in described["bindings"]
                if (b["task"], b["member"], b["source"]) == (task.name, binding.member, "")
            )
            dtype = _member_dtype(layouts[task.name]["in"], binding.member, place)
            found.setdefault(task.name, {})[binding.member] = _device_rows(plan, device.name, task, dtype)
    return found


def _member_dtype(layout: Mapping[str, Any], member: str, place: Mapping[str, Any]) -> np.dtype[Any]:
    """The NumPy type of one member: of a scalar its own, of a struct one with the rest of the path."""
    inside = []
    for leaf in layout["members"]:
        name = str(leaf["name"])
        if name == member:
            inside.append({**leaf, "name": "value", "offset": 0})
        elif name.startswith(f"{member}."):
            inside.append(
                {**leaf, "name": name[len(member) + 1 :], "offset": leaf["offset"] - place["offset"]}
            )
    return struct_dtype({"bytes": place["bytes"], "members": inside})


def _device_rows(plan: Plan, name: str, task: PlannedTask, dtype: np.dtype[Any]) -> NDArray[Any]:
    device = plan.devices[name]
    if isinstance(device.reference, FileInput):
        given: FileInput | FunctionInput = device.reference
    else:
        given = FunctionInput(
            function=PythonReference.parse(str(device.reference)), arguments=dict(device.arguments)
        )
    return _rows(plan, given, task, dtype, f"devices.{name}")


def _rows(
    plan: Plan, given: FileInput | FunctionInput, task: PlannedTask, dtype: np.dtype[Any], field: str
) -> NDArray[Any]:
    try:
        if isinstance(given, FileInput):
            step = (
                1 / Fraction(given.rate.hertz) if given.rate is not None else Fraction(task.period_ps, 10**12)
            )
            return recorded_rows(plan.file, given, step, dtype)
        return made_rows(plan.file, given, dtype)
    except BadInput as error:
        if error.file is not None:
            raise
        # An error that does not lie in the input's file lies in its description.
        where = ".".join(filter(None, (field, error.field)))
        raise BadInput(error.message, file=plan.file, field=where) from error


def write_rows(
    plan: Plan,
    whole: Mapping[str, NDArray[Any]],
    members: Mapping[str, Mapping[str, NDArray[Any]]],
    folder: Path,
) -> dict[str, TaskData]:
    """Writes all rows into files of a folder, and returns which task has which."""
    found = {}
    for number, name in enumerate(plan.tasks):
        data = TaskData()
        if name in whole and whole[name].dtype.itemsize:
            file = folder / f"{number}.input"
            # Not tofile: its errors do not say what went wrong.
            file.write_bytes(whole[name].tobytes())
            data = TaskData(whole=file)
        files = {}
        for place, (member, rows) in enumerate(members.get(name, {}).items()):
            file = folder / f"{number}-{place}.input"
            file.write_bytes(rows.tobytes())
            files[member] = file
        found[name] = TaskData(data.whole, files)
    return found
