# SPDX-License-Identifier: Apache-2.0
"""The call graph of a board's image with the stack use of each function: from the compiler, and from the
instructions of what came compiled (the compiler's library).

Of each object the compiler writes a call graph (-fcallgraph-info=su). What it cannot know is read from the
object: whose address is taken, which a call through a pointer may reach, and what assembly calls.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from consort.board.disassembly import stack_of_library

if TYPE_CHECKING:
    from elftools.elf.elffile import ELFFile

# Symbols: the stack's ends, and the bytes that an interrupt puts on it.
BOTTOM, TOP, FRAME = "stack_bottom", "stack_top", "consort_interrupt_frame"
# The compiler's name of whatever a pointer leads to.
POINTER = "__indirect_call"
_ITEM = re.compile(r"^(node|edge): \{ (.*) \}$")
_KEY = re.compile(r'(\w+) ?: "((?:[^"\\]|\\.)*)"')
_STACK = re.compile(r"^(\d+) bytes \(([a-z,]+)\)$")
# Relocations of calls and branches, by machine: their targets are not addresses that a program keeps.
_CALLS = {
    "EM_ARM": {10, 28, 29, 30, 51, 102, 103},
    "EM_AARCH64": {279, 280, 282, 283},
    "EM_RISCV": {16, 17, 18, 19, 44, 45},
}
# Tables for unwinding name each function.
_UNWINDING = (".ARM.exidx", ".ARM.extab", ".eh_frame")


@dataclass
class Function:
    """A function of an image."""

    title: str
    place: str = ""
    bytes: int | None = 0
    """Its own stack use, without its callees; None: its size is known only when it runs."""
    calls: dict[str, str] = field(default_factory=dict)
    """Its callees, `POINTER` for a call through a pointer, and the places of the calls."""


@dataclass(frozen=True)
class CallGraph:
    """An image's functions by their keys: a name, and of a local one the object before it."""

    functions: dict[str, Function]
    taken: frozenset[str]
    """Functions whose address is taken."""
    entered: frozenset[str]
    """Functions that assembly calls: the program, and those that interrupts call."""
    symbols: dict[str, int]
    """The symbols of the linker script and start.S for the stack (`BOTTOM`, `TOP`, `FRAME`)."""

    def write(self, file: Path) -> None:
        parts = {**asdict(self), "taken": sorted(self.taken), "entered": sorted(self.entered)}
        file.write_text(json.dumps(parts), encoding="utf-8")

    @classmethod
    def read(cls, file: Path) -> CallGraph:
        parts = json.loads(file.read_text(encoding="utf-8"))
        functions = {key: Function(**made) for key, made in parts["functions"].items()}
        return cls(functions, frozenset(parts["taken"]), frozenset(parts["entered"]), parts["symbols"])


def read_call_graph(image: Path, objects: Sequence[Path], tools: str) -> CallGraph:
    """The call graph of an image and of the objects it was linked from; the compiler's graph lies beside each
    (.ci).

    `tools`: the prefix of the cross tools.
    """
    symbols, names = _symbols(image)
    functions: dict[str, Function] = {}
    taken: set[str] = set()
    entered: set[str] = set()
    local = [_local(made) for made in objects]
    for number, made in enumerate(objects):
        graph = made.with_suffix(".ci")
        if graph.is_file():
            _compiled(graph.read_text(encoding="utf-8"), number, local[-1], functions)
    for number, made in enumerate(objects):
        found = (_key(number, name, local[number]) for name in _addresses(made))
        if made.with_suffix(".ci").is_file():
            taken.update(found)
        else:
            entered.update(_key(number, name, local[number]) for name in _references(made))
    there = {key for key in functions if key.rpartition(":")[2] in names}
    _library(image, tools, functions, symbols)
    return CallGraph(
        functions,
        frozenset(taken & there),
        frozenset(entered & there),
        {name: symbols[name] for name in (BOTTOM, TOP, FRAME) if name in symbols},
    )


def _key(number: int, name: str, local: set[str]) -> str:
    return f"{number}:{name}" if name in local else name


def _compiled(text: str, number: int, local: set[str], functions: dict[str, Function]) -> None:
    """Adds the functions of one object from the compiler's graph."""
    nodes: list[dict[str, str]] = []
    edges: list[dict[str, str]] = []
    for line in text.splitlines():
        if match := _ITEM.match(line):
            (nodes if match[1] == "node" else edges).append(dict(_KEY.findall(match[2])))
    for node in nodes:
        title, *more = node["label"].split("\\n")
        stack = _STACK.match(more[-1]) if more else None
        if stack is None:
            continue
        # A function that other objects do not see has its file before it: "step.cpp:_ZL4helpv".
        key = _key(number, node["title"].rpartition(":")[2], local)
        known = functions.setdefault(key, Function(title, more[0]))
        took = int(stack[1]) if stack[2] != "dynamic" else None
        # One that several objects have, of which the linker keeps any.
        known.bytes = None if known.bytes is None or took is None else max(known.bytes, took)
    for edge in edges:
        caller, callee = (
            _key(number, edge[end].rpartition(":")[2], local) for end in ("sourcename", "targetname")
        )
        functions[caller].calls.setdefault(callee, edge.get("label", ""))


def _library(image: Path, tools: str, functions: dict[str, Function], symbols: Mapping[str, int]) -> None:
    """Adds the functions of the compiler's library, as far as they are called."""
    wanted = {c for f in functions.values() for c in f.calls if c != POINTER and c not in functions}
    # A constructor may be called by either of its two names; the compiler describes one.
    compiled = {symbols[name]: name for name in functions if name in symbols}
    aliases = {name: compiled[symbols[name]] for name in wanted if symbols.get(name) in compiled}
    functions.update({name: functions[of] for name, of in aliases.items()})
    wanted -= aliases.keys()
    if not wanted:
        return
    for name, (took, calls) in stack_of_library(image, tools, wanted, symbols).items():
        functions.setdefault(name, Function(name, "the compiler's library", took, dict.fromkeys(calls, "")))


def _symbols(image: Path) -> tuple[dict[str, int], set[str]]:
    """Values of all symbols, and the names of all functions that the linker has kept."""
    from elftools.elf.elffile import ELFFile

    values, names = {}, set()
    with image.open("rb") as stream:
        for symbol in _table(ELFFile(stream)):
            if symbol["st_shndx"] != "SHN_UNDEF":
                values[symbol.name] = int(symbol["st_value"])
            if symbol["st_info"]["type"] == "STT_FUNC":
                names.add(symbol.name)
    return values, names


def _local(made: Path) -> set[str]:
    """Functions that only the object itself sees."""
    from elftools.elf.elffile import ELFFile

    with made.open("rb") as stream:
        return {
            symbol.name
            for symbol in _table(ELFFile(stream))
            if symbol["st_info"]["type"] == "STT_FUNC" and symbol["st_info"]["bind"] == "STB_LOCAL"
        }


def _table(elf: ELFFile) -> Iterable[Any]:
    from elftools.elf.sections import SymbolTableSection

    table = elf.get_section_by_name(".symtab")
    return table.iter_symbols() if isinstance(table, SymbolTableSection) else ()


def _references(made: Path) -> set[str]:
    """The symbols that an object names in code and data."""
    return {name for name, _ in _relocations(made)}


def _addresses(made: Path) -> set[str]:
    """The symbols that an object names, without those that it calls."""
    return {name for name, is_call in _relocations(made) if not is_call}


def _relocations(made: Path) -> Iterator[tuple[str, bool]]:
    from elftools.elf.elffile import ELFFile
    from elftools.elf.relocation import RelocationSection

    with made.open("rb") as stream:
        elf = ELFFile(stream)
        calls = _CALLS[elf.header["e_machine"]]
        # A local function is named by its section, in which it is alone (-ffunction-sections).
        alone: dict[tuple[int, int], str] = {}
        for symbol in _table(elf):
            if symbol["st_info"]["type"] == "STT_FUNC":
                alone[symbol["st_shndx"], symbol["st_value"] & ~1] = symbol.name
        for section in elf.iter_sections():
            if not isinstance(section, RelocationSection):
                continue
            of = elf.get_section(section["sh_info"])
            if not of["sh_flags"] & 2 or of.name.startswith(_UNWINDING):
                continue
            symbols: Any = elf.get_section(section["sh_link"])
            for entry in section.iter_relocations():
                symbol = symbols.get_symbol(entry["r_info_sym"])
                name = symbol.name
                if symbol["st_info"]["type"] == "STT_SECTION":
                    addend = entry["r_addend"] if section.is_RELA() else 0
                    name = alone.get((symbol["st_shndx"], addend), "")
                if name:
                    yield name, entry["r_info_type"] in calls
