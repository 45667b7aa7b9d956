# SPDX-License-Identifier: Apache-2.0
"""Stack use of precompiled functions (the compiler's library), from their instructions."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from consort.base.toolchain.compiler import run_tool

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
_CALLS = {"bl", "blx", "jal", "call"}
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
    with tempfile.TemporaryDirectory(prefix="consort-objdump-") as scratch:
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
        elif target is not None and (word in _CALLS or _JUMPS.match(word)) and target[1] != name:
            (part.calls if word in _CALLS else part.jumps).add(target[1])
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
