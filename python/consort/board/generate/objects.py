# SPDX-License-Identifier: Apache-2.0
"""The memory that a task's object files need, and the symbols that take it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from consort.base.errors import BadInput

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
            raise BadInput(f"is no ELF object file: {error or 'cut short'}", file=path) from error
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
