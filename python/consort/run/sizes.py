# SPDX-License-Identifier: Apache-2.0
"""Sizes of blocks, states, inputs and outputs: those of the compiled types, which described ones must be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from consort.base.errors import BadInput
from consort.model import BadDescription, Figure, Footprint, Size, System
from consort.model.document import Location
from consort.model.kinds import STAND_IN
from consort.plan import Plan

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
