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

from consort.base.owned import temporary_folder
from consort.base.toolchain.compiler import run_tool

if TYPE_CHECKING:
    from elftools.elf.elffile import ELFFile

_SYMBOL = re.compile(r"^([0-9a-f]+) <([^>]+)>:$")
_LINE = re.compile(r"^ *[0-9a-f]+:\t(\S+)(?:\t(.*))?$")
_TARGET = re.compile(r"<([^>+]+)(?:\+0x[0-9a-f]+)?>")
_REGISTERS = re.compile(r"\{([^}]*)\}")
# Instructions that take a constant off the stack pointer: 32-bit Arm, 64-bit Arm, RISC-V.
_LOWER = (
    re.compile(r"^sub(?:\.w|w)? sp, (?:sp, )?#(\d+)$"),
    re.compile(r"^(?:str|strd|stp)(?:\.w)? .*\[sp, #-(\d+)\]!$"),
    re.compile(r"^(?:c\.)?addi(?:16sp)? sp, ?sp, ?-(\d+)$"),
)
_GIVES_BACK = re.compile(
    r"^(add(?:\.w|w|i)? sp, .*#?\d+|(?:v?pop|ldm\S*|vldm\S*) .*|ldr\S* .*\[sp\], #\d+|ldp .*\[sp\], #\d+"
    r"|ldrd .*\[sp\], #\d+)$"
)
_WRITES_SP = re.compile(r"^(?:mov|movs|mv|sub|subs|add|adds|addi|and|bic|ldr|msr)\S* sp,")
_CALL_WORDS = {"bl", "blx", "jal", "call"}
_JUMPS = re.compile(r"^(?:b(?:\w\w)?(?:\.[nw])?|b\.\w\w|cbn?z|tbn?z|j|tail|b(?:eq|ne|le|ge|lt|gt)z|b\w+u)$")
# Calls whose targets nobody knows.
_THROUGH_REGISTERS = {"blx", "blr", "jalr"}
_FILLS = re.compile(r"^(nop\S*|\.word .*|\.short .*|udf .*)$")
_LEAVES = re.compile(
    r"^(bx lr|ret|eret|pop.*pc.*|ldm.*pc.*|ldr pc, .*|b(?:\.[nw])? .*|j .*|bx .*|br .*|jr .*)$"
)


def stack_of_library(
    image: Path, tools: str, wanted: Iterable[str], symbols: Mapping[str, int]
) -> dict[str, tuple[int | None, set[str]]]:
    """Stack use in bytes and callees of each of the functions, and of all that they call.

    All that a function ever takes counts together. None where it moves the stack by what it computes.
    `symbols`: all that the image defines; several may be names of one function.
    """
    with temporary_folder("objdump") as scratch:
        text = run_tool([f"{tools}objdump", "-d", "--no-show-raw-insn", str(image)], Path(scratch)).stdout
    bodies: dict[str, list[str]] = {}
    follows: dict[str, str] = {}
    names: dict[int, str] = {}
    last = ""
    for line in text.splitlines():
        if match := _SYMBOL.match(line):
            if last:
                follows[last] = match[2]
            last = match[2]
            names[int(match[1], 16)] = last
            bodies[last] = []
        elif last and (match := _LINE.match(line)):
            bodies[last].append(f"{match[1]} {(match[2] or '').split(';')[0].split('//')[0].strip()}".strip())
    parts = {name: _body(name, lines) for name, lines in bodies.items()}
    for name, part in parts.items():
        # Code that ends without a return goes on with the code behind it; nothing reaches code that fills a
        # gap.
        lines = [line for line in bodies[name] if not _FILLS.match(line)]
        if lines and not _LEAVES.match(lines[-1]) and name in follows:
            part.jumps.add(follows[name])
    found: dict[str, tuple[int | None, set[str]]] = {}
    left = [name for name in wanted if name in symbols]
    while left:
        name = left.pop()
        if name not in found:
            # The disassembly has one name for each address, an odd one for Thumb without its lowest bit.
            known = names.get(symbols[name]) or names.get(symbols[name] & ~1)
            found[name] = (None, set()) if known is None else _whole(known, parts)
            left += [called for called in found[name][1] if called in symbols]
    return found


@dataclass
class _Part:
    """The code under one symbol."""

    took: int | None = 0
    calls: set[str] = field(default_factory=set)
    jumps: set[str] = field(default_factory=set)


def _whole(name: str, parts: Mapping[str, _Part]) -> tuple[int | None, set[str]]:
    """A function with the parts that it jumps to, which have symbols of their own."""
    took: int | None = 0
    calls: set[str] = set()
    seen, left = set(), [name]
    while left:
        here = left.pop()
        if here in seen or here not in parts:
            continue
        seen.add(here)
        part = parts[here]
        took = None if took is None or part.took is None else took + part.took
        calls |= part.calls
        left += part.jumps
    return took, calls


def _body(name: str, lines: list[str]) -> _Part:
    part = _Part()
    for line in lines:
        word, _, rest = line.partition(" ")
        lower = _lowers(word, rest, line)
        if lower is not None:
            part.took = None if part.took is None else part.took + lower
        elif _WRITES_SP.match(line) and not _GIVES_BACK.match(line):
            part.took = None
        target = _TARGET.search(rest)
        if word in _THROUGH_REGISTERS and target is None:
            part.took = None
        elif target is not None and (word in _CALL_WORDS or _JUMPS.match(word)) and target[1] != name:
            (part.calls if word in _CALL_WORDS else part.jumps).add(target[1])
    return part


def _lowers(word: str, rest: str, line: str) -> int | None:
    """The bytes by which an instruction lowers the stack pointer; None: it does not, or not by a constant."""
    if word.startswith(("push", "vpush")) or (
        word.startswith(("stmdb", "stmfd", "vstmdb")) and rest.startswith("sp!")
    ):
        registers = _REGISTERS.search(rest)
        return None if registers is None else _count(registers[1])
    for form in _LOWER:
        if match := form.match(line):
            return int(match[1])
    return None


def _count(registers: str) -> int:
    """Bytes of a list of registers: r4-r7, lr, d8-d9."""
    total = 0
    for part in registers.split(","):
        first, _, last = part.strip().partition("-")
        size = 8 if first.startswith("d") else 4
        numbers = [int(n) if (n := re.sub(r"\D", "", one)) else 0 for one in (first, last or first)]
        total += size * (numbers[1] - numbers[0] + 1)
    return total


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
