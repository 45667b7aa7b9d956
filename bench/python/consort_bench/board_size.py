# SPDX-License-Identifier: Apache-2.0
"""The parts of an image for a board's core, in bytes of code and of memory.

Code is told apart by the source line that each address was made from (the image's line table), so that a
function that was inlined counts for the part that it belongs to. Variables go by their names.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from consort.base.toolchain.builds import need_source_tree
from consort.board.image import opened_elf
from elftools.dwarf.lineprogram import LineProgram
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

EXECUTIVE, CHANNELS, START, STEPS, LIBRARY, CONSTANTS = (
    "executive",
    "channels and devices",
    "start-up and reports",
    "steps and plants",
    "compiler's and C library",
    "constants and descriptions",
)
# The first that fits, of a source's path in the tree.
_PARTS = (
    (LIBRARY, r"ports/bare/memory\.cpp|library/"),
    (START, r"ports/bare/(runtime|stack)\.cpp|.*/bare/(console|program|stack)\.hpp|ports/.*/start\.S"),
    (CHANNELS, r".*/bare/(offload|data_flow)\.hpp|include/consort/app/(channel|device)_ends\.hpp"),
    (CHANNELS, r"include/consort/(icc|offload)(/|\.hpp)|include/consort/(wire|layout|access)\.hpp"),
    (EXECUTIVE, r"(ports|include)/"),
    (STEPS, r".*"),
)


@dataclass(frozen=True)
class Part:
    """The bytes that one source, or one variable, adds to an image."""

    part: str
    memory: str  # flash or ram
    what: str
    bytes: int


def part_of(source: str) -> str:
    """The part that a source belongs to, by its path in the tree or as the compiler names it."""
    return next(part for part, pattern in _PARTS if re.fullmatch(f"(?:{pattern}).*", source))


def part_of_variable(symbol: str) -> str:
    """The part of a variable of the application's program: the core's, a task's, a channel's or a plant's."""
    if re.fullmatch(r"_ZN12_GLOBAL__N_14coreE|_ZN7consort.*", symbol):
        return EXECUTIVE
    ends = re.match(r"_ZN12_GLOBAL__N_1\d+(reads|writes|plant|worker)_", symbol)
    if symbol.startswith("_ZN12_GLOBAL__N_1"):
        return CHANNELS if ends else STEPS
    return START


def _outside(where: Path) -> str:
    """A source that is not in the tree: the generated program, a header of the compiler's, or its library."""
    if where.name == "application.cpp":
        return "include/application.cpp (made by consort)"
    return f"include/{where.name} (the compiler's)" if "include" in where.parts else f"library/{where.name}"


def _lines(program: LineProgram, root: Path) -> list[tuple[int, int, str]]:
    """Ranges of addresses with their source: [begin, end)."""
    version, files = program.header.version, program.header.file_entry
    folders = program.header.include_directory
    names = []
    for file in files:
        folder = folders[file.dir_index - (version < 5)] if file.dir_index or version >= 5 else b""
        path = (Path(folder.decode()) / file.name.decode()).as_posix()
        where = Path(path).resolve()
        names.append(where.relative_to(root).as_posix() if where.is_relative_to(root) else _outside(where))
    found, before = [], None
    for entry in program.get_entries():
        state = entry.state
        if state is None:
            continue
        if before is not None and state.address > before[0]:
            found.append((before[0], state.address, before[1]))
        before = None if state.end_sequence else (state.address, names[state.file - (version < 5)])
    return found


def _code(elf: ELFFile, root: Path, flash: range) -> Counter[str]:
    """Bytes by source, of code that has lines."""
    found: Counter[str] = Counter()
    dwarf = elf.get_dwarf_info()
    seen: set[int] = set()
    for unit in dwarf.iter_CUs():
        program = dwarf.line_program_for_CU(unit)
        for begin, end, source in _lines(program, root) if program is not None else ():
            # Functions that the linker left out are at 0, as is the vector table, which has no lines.
            if begin in flash and end - 1 in flash and begin not in seen and begin != 0:
                seen.add(begin)
                found[source] += end - begin
    return found


def parts(image: Path) -> list[Part]:
    """All of an image but its stack, by source and by variable, the largest first."""
    root = need_source_tree("reading an image").resolve()
    with opened_elf(image) as elf:
        text, symbols = elf.get_section_by_name(".text"), elf.get_section_by_name(".symtab")
        assert text is not None and isinstance(symbols, SymbolTableSection), "an image that consort built"
        flash = range(text["sh_addr"], text["sh_addr"] + text["sh_size"])
        code = _code(elf, root, flash)
        found = [Part(part_of(source), "flash", source, size) for source, size in code.items()]
        constants = 0
        for symbol in symbols.iter_symbols():
            kind, size, at = symbol["st_info"]["type"], symbol["st_size"], symbol["st_value"]
            if kind == "STT_OBJECT" and size and at in flash:
                constants += size
            elif kind == "STT_OBJECT" and size:
                found.append(Part(part_of_variable(symbol.name), "ram", symbol.name, size))
        rest = len(flash) - sum(code.values()) - constants
        found += [
            Part(LIBRARY, "flash", "code without lines, and vectors", rest),
            Part(CONSTANTS, "flash", "objects", constants),
        ]
    return sorted(found, key=lambda part: -part.bytes)
