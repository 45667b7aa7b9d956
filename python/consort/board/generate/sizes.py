# SPDX-License-Identifier: Apache-2.0
"""Sizes of three-phase tasks' parts in scratchpads and main memory, and checks that they fit."""

from __future__ import annotations

import re

from consort.base.errors import BadInput
from consort.board.generate.kernel import (
    PART_ALIGNMENT,
    PARTITIONS,
    PARTS,
    Box,
    PlannedCore,
    TableOptions,
    aligned,
)
from consort.board.generate.objects import Measured, measure
from consort.model import BadDescription, System
from consort.model.quantities import Size
from consort.model.task import Footprint


def sized(
    system: System,
    names: list[str],
    options: TableOptions,
    boxes: dict[str, tuple[Box | None, Box | None]],
    notes: list[str],
) -> System:
    """The system with the footprints that count: of the objects and the boxes, else the described ones."""
    tasks = dict(system.tasks)
    for name in (name for core in names for name in system.tasks_on(core)):
        task = tasks[name]
        described = described_size(task.footprint)
        size = dict(described)
        if name in options.objects:
            found = _measured(system, name, options)
            assert found is not None
            size |= {"code": found.code, "data": found.data}
            if task.footprint is not None:
                differ = [
                    f"{p} {size[p]} instead of {described[p]}" for p in PARTS[:2] if size[p] != described[p]
                ]
                notes += [f"{name}: measured {' and '.join(differ)} bytes; measured counts"] if differ else []
        elif task.footprint is None:
            raise BadInput(
                "what it needs in memory is not known; add it, or give --object"
                f" {name}=FILE for each of its object files",
                file=system.file,
                field=f"tasks.{name}.footprint",
            )
        for part, box in zip(PARTS[2:], boxes[name], strict=True):
            if box is None:
                continue
            if task.footprint is not None and 0 < size[part] < box.bytes:
                raise BadInput(
                    f"{box.bytes - size[part]} bytes too few: {box.capacity} messages of {box.payload} bytes"
                    f" take {box.bytes}",
                    file=system.file,
                    field=f"tasks.{name}.footprint.{part}",
                )
            if size[part] > box.bytes:
                notes.append(f"{name}: {part} take {box.bytes} bytes, not the {size[part]} described")
            size[part] = box.bytes
        tasks[name] = task.model_copy(update={"footprint": _footprint(size)})
    return system.model_copy(update={"tasks": tasks})


def described_size(footprint: Footprint | None) -> dict[str, int]:
    def size(part: str) -> int:
        figure = getattr(footprint, part) if footprint is not None else None
        return 0 if figure is None else int(figure.value.bytes)

    return {part: size(part) for part in PARTS}


def _footprint(size: dict[str, int]) -> Footprint:
    return Footprint.model_validate({part: str(Size(n)) for part, n in size.items()})


def partition_bytes(system: System, core: str) -> int:
    scratchpad = system.platform_description.core(core).scratchpad
    assert scratchpad is not None
    # Each partition begins on a line.
    return scratchpad.partition_bytes // PART_ALIGNMENT * PART_ALIGNMENT


def fits(system: System, core: str, options: TableOptions) -> None:
    scratchpad = system.platform_description.core(core).scratchpad
    assert scratchpad is not None
    whole = partition_bytes(system, core)
    limits: list[tuple[str, tuple[str, ...], int]] = [("", PARTS, whole)]
    if scratchpad.instructions is not None and scratchpad.data is not None:
        limits.append((" for code", PARTS[:1], scratchpad.instructions.value.bytes // PARTITIONS))
        limits.append((" for data", PARTS[1:], scratchpad.data.value.bytes // PARTITIONS))
    for name in system.tasks_on(core):
        size = described_size(system.tasks[name].footprint)
        for what, parts, limit in limits:
            needed = sum(aligned(size[part]) for part in parts)
            if needed > limit:
                said = ", ".join(f"{part} {size[part]}" for part in parts if size[part])
                raise BadInput(
                    f"{needed - limit} bytes too many for half of {core}'s scratchpad{what} ({limit} bytes;"
                    f" {said}, each from a multiple of {PART_ALIGNMENT})"
                    + symbols_of(system, name, options, parts),
                    file=system.file,
                    field=f"tasks.{name}.footprint",
                )


def symbols_of(system: System, task: str, options: TableOptions, parts: tuple[str, ...] = PARTS) -> str:
    """The part of a message that names the symbols that take the memory."""
    found = _measured(system, task, options)
    if found is None:
        return f"; --object {task}=FILE names the symbols that take them"
    part = parts[0] if parts == PARTS[:1] else "data" if "code" not in parts else ""
    return f"; most take {found.largest(part)}"


def with_symbols(error: BadDescription, options: TableOptions) -> BadDescription:
    """A description's problems; a footprint that is too large with the symbols of the task's objects."""
    problems = []
    for problem in error.problems:
        match = re.fullmatch(r"tasks\.([^.]+)\.footprint", problem.field or "")
        files = options.objects.get(match[1], ()) if match else ()
        if files:
            problem = problem.saying(f"{problem.message}; most take {measure(files, '').largest()}")
        problems.append(problem)
    return BadDescription(problems)


def _measured(system: System, task: str, options: TableOptions) -> Measured | None:
    if task not in options.objects:
        return None
    return measure(options.objects[task], system.core_of(task).processor.isa)


def image_places(
    system: System, cores: tuple[PlannedCore, ...], options: TableOptions
) -> dict[str, tuple[int, int]]:
    """The addresses of each task's code and data, one after the other, if a place was given."""
    if options.images is None:
        return {}
    if options.images % PART_ALIGNMENT:
        raise BadInput(f"{options.images:#x}: a multiple of {PART_ALIGNMENT} is needed", field="--images")
    at, found = options.images, {}
    for task in (task for core in cores for task in core.tasks):
        code, data = aligned(task.size["code"]), aligned(task.size["data"])
        found[task.name] = (at, at + code)
        at += code + data
    for name, memory in system.platform_description.memories.items():
        if memory.address is not None and memory.size is not None:
            end = memory.address + memory.size.value.bytes
            if memory.address <= options.images < end < at:
                raise BadInput(
                    f"images end at {at:#x}, {at - end} bytes behind the memory {name}", field="--images"
                )
    for core in cores:
        if core.address is None:
            continue
        if options.images < core.address + PARTITIONS * core.partition_bytes and core.address < at:
            raise BadInput(f"images reach into the scratchpad of {core.name}", field="--images")
    return found
