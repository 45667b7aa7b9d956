# SPDX-License-Identifier: Apache-2.0
"""The blocks of a plan's tasks: their sizes, which are those of the compiled types and which described ones
must be; and input rows, written as the executive reads them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from consort.base.errors import BadInput
from consort.model import (
    BadDescription,
    Figure,
    FileInput,
    Footprint,
    FunctionInput,
    PythonReference,
    Size,
    System,
)
from consort.model.channel import STAND_IN
from consort.model.document import Location
from consort.plan import ModePlans, Plan, PlannedTask, row_ps
from consort.run.config import InputFiles
from consort.run.data import made_rows, recorded_rows, struct_dtype

SOURCE = "its type, as compiled"


def sized(system: System, plan: Plan, described: Mapping[str, Any]) -> System:
    """The description with the sizes of the types, as `describe` has them [bytes], where it gives none.

    `BadDescription` with all sizes that are not the types'. Stand-ins have no types: their sizes stay.
    """
    sizes = list(_sizes(plan, {task["name"]: task for task in described["tasks"]}, described["channels"]))
    problems = list(_unlike(system, sizes))
    if problems:
        raise BadDescription(problems)
    channels, tasks = dict(system.channels), dict(system.tasks)
    for one in sizes:
        if one.part == "size":
            channel = system.channel(one.name)
            channels[one.name] = channel.model_copy(update={"size": channel.size or Size(one.bytes)})
            continue
        task = tasks[one.name]
        # The footprint of a three-phase task has its code, too, which no type says.
        if task.footprint is None and (one.part != "data" or plan.tasks[one.name].execution == "three-phase"):
            continue
        footprint = task.footprint or Footprint()
        if getattr(footprint, one.part) is None:
            part = Figure[Size].model_validate({"value": str(Size(one.bytes)), "derived": SOURCE})
            footprint = footprint.model_copy(update={one.part: part})
            tasks[one.name] = task.model_copy(update={"footprint": footprint})
    return system.model_copy(update={"channels": channels, "tasks": tasks})


@dataclass(frozen=True)
class _Size:
    """The compiler's size of a part: `size` of a channel, or a part of a task's footprint."""

    name: str
    part: str
    bytes: int
    of: str

    @property
    def place(self) -> Location:
        if self.part == "size":
            return ("channels", self.name, "size")
        return ("tasks", self.name, "footprint", self.part)


def _sizes(plan: Plan, tasks: Mapping[str, Any], channels: list[Any]) -> Iterator[_Size]:
    blocks = {channel["name"]: channel["block"]["bytes"] for channel in channels}
    for name, channel in plan.channels.items():
        task = plan.tasks.get(channel.writer)
        # On its way to a device a message of a box is a block.
        if task is None or task.step in (None, STAND_IN) or not plan.tasks.keys() & {*channel.readers}:
            continue
        if channel.exchange_of is None:
            binding = next(one for one in task.writes if one.source == name)
            member = f"{binding.member!r} of the outputs" if binding.member else "the outputs"
            yield _Size(name, "size", blocks[name], f"{member} of {task.name!r}")
        else:
            end, what = ("in", "inputs") if name.endswith(".in") else ("out", "outputs")
            yield _Size(name, "size", tasks[task.name][end]["bytes"], f"the {what} of {task.name!r}")
    for name, planned in plan.tasks.items():
        if planned.step in (None, STAND_IN):
            continue
        size = {part: tasks[name][part]["bytes"] for part in ("in", "state", "out", "constants")}
        yield _Size(name, "data", size["state"] + size["constants"], "its state and constants")
        yield _Size(name, "inputs", size["in"], "its inputs")
        yield _Size(name, "outputs", size["out"], "its outputs")


def _unlike(system: System, sizes: list[_Size]) -> Iterator[BadInput]:
    document = system.document
    for one in sizes:
        given = _given(system, one)
        if given is not None and given != one.bytes:
            yield document.problem(
                one.place,
                f"{Size.spelled(given)} is not the size of the type of {one.of}, which is"
                f" {Size.spelled(one.bytes)}; write that, or remove it: a run takes it from the type",
            )


def _given(system: System, one: _Size) -> int | None:
    if one.part == "size":
        size = system.channel(one.name).size
        return None if size is None else size.bytes
    footprint = system.tasks[one.name].footprint
    figure = None if footprint is None else getattr(footprint, one.part)
    return None if figure is None else int(figure.value.bytes)


ROW_DEVICES = ("recording", "function")


def input_rows(plans: ModePlans, layouts: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """The rows of each task that has an `input`, or of a device that fills all of it."""
    plan = plans.whole
    return {
        task.name: _rows(plans, given, task, struct_dtype(layouts[task.name]["in"]), field)
        for task in plan.tasks.values()
        for member, given, field in _files_given(plan, task)
        if member is None
    }


def member_rows(plans: ModePlans, described: Mapping[str, Any]) -> dict[str, dict[str, NDArray[Any]]]:
    """Rows of each task's members that a recording or a function fills."""
    found: dict[str, dict[str, NDArray[Any]]] = {}
    layouts = {known["name"]: known for known in described["tasks"]}
    for task in plans.whole.tasks.values():
        for member, given, field in _files_given(plans.whole, task):
            if member is None:
                continue
            place = next(
                b
                for b in described["bindings"]
                if (b["task"], b["member"], b["source"]) == (task.name, member, "")
            )
            dtype = _member_dtype(layouts[task.name]["in"], member, place)
            found.setdefault(task.name, {})[member] = _rows(plans, given, task, dtype, field)
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


def _files_given(
    plan: Plan, task: PlannedTask
) -> Iterator[tuple[str | None, FileInput | FunctionInput, str]]:
    """Each source of recorded rows of a task: the member that it fills, None for all of In, and its place."""
    if task.input is not None:
        yield None, task.input, f"tasks.{task.name}.input"
    for binding in task.reads:
        device = plan.devices.get(binding.source)
        whole = not binding.member
        if device is None or device.kind not in ROW_DEVICES or (whole and task.input is not None):
            continue
        given: FileInput | FunctionInput
        if isinstance(device.reference, FileInput):
            given = device.reference
        else:
            function = PythonReference.parse(str(device.reference))
            given = FunctionInput(function=function, arguments=dict(device.arguments))
        yield None if whole else binding.member, given, f"devices.{device.name}"


def _rows(
    plans: ModePlans, given: FileInput | FunctionInput, task: PlannedTask, dtype: np.dtype[Any], field: str
) -> NDArray[Any]:
    plan = plans.whole
    try:
        if isinstance(given, FileInput):
            apart = Fraction(row_ps(task.name, plans.modes or {"": plan}), 10**12)
            step = 1 / Fraction(given.rate.hertz) if given.rate is not None else apart
            return recorded_rows(plan.file, given, step, dtype)
        return made_rows(plan.file, given, dtype)
    except BadInput as error:
        if error.file is not None:
            raise
        # An error that does not lie in the input's file lies in its description.
        where = ".".join(filter(None, (field, error.field)))
        raise BadInput(error.message, file=plan.file, field=where) from error


def _steps(plans: ModePlans, task: PlannedTask) -> dict[str | None, list[int]]:
    """The rows that a job goes on by in each mode, where that is its period: of recordings without a rate."""
    apart = row_ps(task.name, plans.modes) if plans.modes else 0
    return {
        member: [
            made.tasks[task.name].period_ps // apart if task.name in made.tasks else 1
            for made in plans.modes.values()
        ]
        for member, given, _ in _files_given(plans.whole, task)
        if plans.modes and isinstance(given, FileInput) and given.rate is None
    }


def write_rows(
    plans: ModePlans,
    whole: Mapping[str, NDArray[Any]],
    members: Mapping[str, Mapping[str, NDArray[Any]]],
    folder: Path,
) -> dict[str, InputFiles]:
    """Writes all rows into files of a folder, and returns which task has which."""
    found = {}
    for number, (name, task) in enumerate(plans.whole.tasks.items()):
        data = InputFiles()
        if name in whole and whole[name].dtype.itemsize:
            file = folder / f"{number}.input"
            # Not tofile: its errors do not say what went wrong.
            file.write_bytes(whole[name].tobytes())
            data = InputFiles(whole=file)
        files = {}
        for place, (member, rows) in enumerate(members.get(name, {}).items()):
            file = folder / f"{number}-{place}.input"
            file.write_bytes(rows.tobytes())
            files[member] = file
        found[name] = InputFiles(data.whole, files, _steps(plans, task))
    return found
