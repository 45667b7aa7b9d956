# SPDX-License-Identifier: Apache-2.0
"""Sizes of three-phase tasks' parts in scratchpads and main memory, and whether they fit."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
from consort.model import BadDescription, System
from consort.model.quantities import Size
from consort.model.task import Footprint

# Sections that a task's image leaves out: nothing unwinds in a scratchpad.
LEFT_OUT = (".note", ".eh_frame", ".ARM.exidx", ".ARM.extab", ".gcc_except_table")
# The machines that a processor's objects name; an instruction set that is not here takes any.
MACHINES = {
    "x86_64": ("EM_X86_64",),
    "aarch64": ("EM_AARCH64",),
    "armv7-a": ("EM_ARM",),
    "armv7-r": ("EM_ARM",),
    "armv7e-m": ("EM_ARM",),
    "armv8-r": ("EM_ARM", "EM_AARCH64"),
    "riscv32": ("EM_RISCV",),
    "riscv64": ("EM_RISCV",),
    "powerpc": ("EM_PPC",),
    "tricore": ("EM_TRICORE",),
}


@dataclass(frozen=True)
class Symbol:
    """A function or an object, and the part of the image that it lies in."""

    name: str
    part: str
    bytes: int


@dataclass(frozen=True)
class Measured:
    """Sizes of a task's parts, as its object files have them; the largest symbols first."""

    code: int
    data: int
    symbols: tuple[Symbol, ...]

    def largest(self, part: str = "", count: int = 5) -> str:
        """The symbols that take most, of one part or of both, in words."""
        chosen = [s for s in self.symbols if part in ("", s.part)][:count]
        return ", ".join(f"{s.name} {s.bytes} ({s.part})" for s in chosen) or "no symbol has a size"


def measure(files: Sequence[Path], isa: str) -> Measured:
    """The parts of all files together; `BadInput` names the file that cannot be used."""
    from elftools.common.exceptions import ELFError
    from elftools.elf.elffile import ELFFile

    at = {"code": 0, "data": 0}
    symbols: list[Symbol] = []
    # Inline functions and templates come with each object that uses them; the linker keeps one.
    shared: set[str] = set()
    for path in files:
        try:
            with path.open("rb") as stream:
                elf = ELFFile(stream)
                _add(elf, path, isa, at, symbols, shared)
        except OSError as error:
            raise BadInput(f"cannot be read: {error.strerror}", file=path) from error
        except (ELFError, UnicodeDecodeError) as error:
            raise BadInput(f"is not an ELF object file: {error or 'cut short'}", file=path) from error
    order = sorted(symbols, key=lambda s: (-s.bytes, s.name))
    return Measured(at["code"], at["data"], tuple(order))


def _add(elf: Any, path: Path, isa: str, at: dict[str, int], symbols: list[Symbol], shared: set[str]) -> None:
    from elftools.elf.constants import SH_FLAGS

    machine, wanted = elf.header["e_machine"], MACHINES.get(isa)
    if wanted is not None and machine not in wanted:
        raise BadInput(f"is for {machine}, and the task's core is {isa} ({' or '.join(wanted)})", file=path)
    parts: dict[int, str] = {}
    for number, section in enumerate(elf.iter_sections()):
        flags = section["sh_flags"]
        if not flags & SH_FLAGS.SHF_ALLOC or section.name.startswith(LEFT_OUT):
            continue
        if flags & SH_FLAGS.SHF_GROUP:
            if section.name in shared:
                continue
            shared.add(section.name)
        part = "data" if flags & SH_FLAGS.SHF_WRITE else "code"
        align = max(section["sh_addralign"], 1)
        at[part] = -(-at[part] // align) * align + section["sh_size"]
        parts[number] = part
    table = elf.get_section_by_name(".symtab")
    for symbol in table.iter_symbols() if table is not None else ():
        part_of = parts.get(symbol["st_shndx"], "")
        if symbol["st_info"]["type"] in ("STT_FUNC", "STT_OBJECT") and symbol["st_size"] and part_of:
            symbols.append(Symbol(symbol.name, part_of, symbol["st_size"]))
        elif symbol["st_shndx"] == "SHN_COMMON":
            align = max(symbol["st_value"], 1)
            at["data"] = -(-at["data"] // align) * align + symbol["st_size"]
            symbols.append(Symbol(symbol.name, "data", symbol["st_size"]))


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
                "its need of memory is not known; add it, or give --object"
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
