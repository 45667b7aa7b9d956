# SPDX-License-Identifier: Apache-2.0
"""Makes of remote.rdl what the RTL, both drivers (C++, Linux) and the reader of the documentation need.

Run with the Python of build/rtl-venv: registers.py write | check | json.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from c_header import c_header
from systemrdl import RDLCompiler
from systemrdl.node import AddressableNode, AddrmapNode, RegfileNode, RegNode
from systemrdl.rdltypes import OnWriteType

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
NOTE = "Made from rtl/regs/remote.rdl by rtl/regs/registers.py: do not edit."


@dataclass(frozen=True)
class Field:
    """A field of a register."""

    name: str
    low: int
    width: int
    reset: int | None
    writable: bool
    clears: bool  # a 1 that is written clears
    desc: str


@dataclass(frozen=True)
class Array:
    """One dimension that a register is repeated in."""

    name: str
    count: int
    stride: int


@dataclass(frozen=True)
class Register:
    """A register, at `offset` where all its indices are 0."""

    block: str
    name: str
    offset: int
    arrays: tuple[Array, ...]
    fields: tuple[Field, ...]
    desc: str

    @property
    def writable(self) -> bool:
        return any(field.writable for field in self.fields)

    @property
    def reset(self) -> int | None:
        """Its value after reset, None where it depends on the block's shape or on its links."""
        value = 0
        for field in self.fields:
            if field.reset is None:
                return None
            value |= field.reset << field.low
        return value


def load() -> list[Register]:
    """All registers of both blocks, in the order of their places."""
    compiler = RDLCompiler()
    compiler.compile_file(str(HERE / "remote.rdl"))
    top = compiler.elaborate("remote").top
    found: list[Register] = []
    for block in top.children():
        _walk(block, block.inst_name, "", 0, (), found)
    return found


def _walk(
    node: Any, block: str, prefix: str, offset: int, arrays: tuple[Array, ...], found: list[Register]
) -> None:
    assert isinstance(node, AddressableNode)
    if node.is_array:
        arrays = (*arrays, Array(node.inst_name, node.array_dimensions[0], node.array_stride))
    if not isinstance(node, AddrmapNode):
        offset += node.raw_address_offset
    if isinstance(node, RegNode):
        fields = tuple(
            Field(
                name=f.inst_name,
                low=f.low,
                width=f.width,
                reset=f.get_property("reset"),
                writable=f.is_sw_writable,
                clears=f.get_property("onwrite") == OnWriteType.woclr,
                desc=f.get_property("desc"),
            )
            for f in node.fields()
        )
        found.append(
            Register(block, prefix + node.inst_name, offset, arrays, fields, node.get_property("desc"))
        )
        return
    if isinstance(node, RegfileNode):
        prefix += node.inst_name + "_"
    for child in node.children(unroll=False):
        _walk(child, block, prefix, offset, arrays, found)


def camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


# Names in the RTL: where an array begins, if it is the outermost, and its stride.
SV_ARRAYS = {
    "link": ("Links", "LinkStride"),
    "port": ("Windows", "PortStride"),
    "window": ("", "WindowStride"),
    "link_table": ("Segments", "LinkSegmentsStride"),
    "segment": ("", "SegmentStride"),
}


def package(registers: list[Register]) -> str:
    """consort_remote_regs_pkg.sv."""
    lines = ["// SPDX-License-Identifier: Apache-2.0", f"// Places of registers, in bytes. {NOTE}"]
    lines.append("package consort_remote_regs_pkg;")
    seen: set[str] = set()

    def add(kind: str, name: str, value: str) -> None:
        if name not in seen:
            seen.add(name)
            lines.append(f"  localparam {kind} {name} = {value};")

    previous = ""
    for register in registers:
        block = camel(register.block)
        if previous and block != previous:
            lines.append("")
        previous = block
        place = register.offset
        for i, array in enumerate(register.arrays):
            base, stride = SV_ARRAYS[array.name]
            if base:
                start = min(r.offset for r in registers if r.block == register.block and array in r.arrays)
                add("logic [11:0]", block + base, f"12'h{start:03X}")
                place -= start
            add("logic [11:0]", block + stride, f"12'h{array.stride:03X}")
            if i == len(register.arrays) - 1:
                name = block + {"link": "Link", "window": "Window", "segment": "Segment"}[array.name]
                name += camel(register.name.removeprefix(_files(register)))
                if array.name == "link":
                    add("int unsigned", name, str(place))
                else:
                    width = (array.stride - 1).bit_length()
                    add(f"logic [{width - 1}:0]", name, f"{width}'h{place:0{-(-width // 4)}X}")
        if not register.arrays:
            name = block + camel(register.name)
            add("logic [11:0]", name, f"12'h{place:03X}")
            reset = register.reset
            if register.name == "id":
                assert reset is not None
                add("logic [31:0]", name + "Reset", f"32'h{reset >> 16:04X}_{reset & 0xFFFF:04X}")
            elif reset and all(field.writable for field in register.fields):
                add("int unsigned", name + "Reset", str(reset))
    return "\n".join([*lines, "endpackage", ""])


def _files(register: Register) -> str:
    """The names of the register files around it, as they stand before its own."""
    return "".join(array.name + "_" for array in register.arrays)


def header(registers: list[Register]) -> str:
    """include/consort/remote/registers.hpp."""
    lines = [
        "// SPDX-License-Identifier: Apache-2.0",
        "//",
        f"// {NOTE}",
        "// Registers of the cBlock and the mBlock: places and layouts. Freestanding.",
        "// clang-format off",
        "#pragma once",
        "",
        "#include <cstdint>",
        "",
    ]
    for block in dict.fromkeys(register.block for register in registers):
        lines += [f"namespace consort::remote::{block} {{", ""]
        own = [register for register in registers if register.block == block]
        arrays = dict.fromkeys(array for register in own for array in register.arrays)
        for array in arrays:
            lines.append(f"inline constexpr std::uint32_t kMax{camel(array.name)}s = {array.count};")
        lines.append("")
        for register in own:
            lines += _struct(register)
        lines += [f"}}  // namespace consort::remote::{block}", ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def _struct(register: Register) -> list[str]:
    name = camel(register.name)
    reset = register.reset
    rights = "" if register.writable else " Read-only."
    lines = [f"// {register.desc}{rights}", f"struct {name} {{"]
    lines.append(f"    static constexpr bool kWritable = {'true' if register.writable else 'false'};")
    if reset is not None:
        lines.append(f"    static constexpr std::uint32_t kReset = 0x{reset:X};")
    parameters = ", ".join(f"std::uint32_t {array.name}" for array in register.arrays)
    place = " + ".join([f"0x{register.offset:X}", *(f"{a.name} * 0x{a.stride:X}" for a in register.arrays)])
    lines.append(f"    static constexpr std::uint32_t at({parameters}) {{ return {place}; }}")
    lines += ["", f"    std::uint32_t bits = {'kReset' if reset is not None else '0'};", ""]
    for field in register.fields:
        mask = (1 << field.width) - 1
        shifted = f"bits >> {field.low}" if field.low else "bits"
        read = (
            "bits"
            if field.width == 32
            else f"({shifted}) & 0x{mask:X}"
            if field.low
            else f"bits & 0x{mask:X}"
        )
        lines.append(f"    // {field.desc}")
        lines.append(f"    [[nodiscard]] constexpr std::uint32_t {field.name}() const {{ return {read}; }}")
        if field.writable:
            there = f"0x{mask << field.low:X}U"
            value = f"value << {field.low}" if field.low else "value"
            lines.append(f"    constexpr void set_{field.name}(std::uint32_t value) {{")
            lines.append(f"        bits = (bits & ~{there}) | (({value}) & {there});")
            lines.append("    }")
            lines.append(f"    static constexpr std::uint32_t k{camel(field.name)}Max = 0x{mask:X};")
    lines += ["};", f"static_assert(sizeof({name}) == 4);"]
    last = ", ".join(f"{array.count - 1}" for array in register.arrays)
    end = register.offset + sum((a.count - 1) * a.stride for a in register.arrays)
    lines += [f"static_assert({name}::at({last}) == 0x{end:X});", ""]
    return lines


def page(registers: list[Register]) -> str:
    """docs/remote-registers.md."""
    lines = ["# Registers of the remote-memory blocks", "", f"<!-- {NOTE} -->", ""]
    lines += [
        "32-bit registers behind an AXI-Lite port at each block (`rtl/cblock/consort_cblock.sv`, `rtl/mblock/consort_mblock.sv`); in C++",
        "`remote-memory/include/consort/remote/registers.hpp`, with the driver `window.hpp` over it. Arrays are given at",
        "their longest; how long they are in a block is in its `shape`. A write to a read-only register or of some of a register's bytes, and",
        "any access where there is none, ends with SLVERR and changes nothing. Bits without a field read as",
        "zero and ignore what is written, as do bits of links that a block lacks. A field is read-only and 0",
        "after a reset where it does not say otherwise.",
        "",
    ]
    blocks = {block: [r for r in registers if r.block == block] for block in ("cblock", "mblock")}
    said = {block: [entry(r) for r in each] for block, each in blocks.items()}
    both = [each for each in said["cblock"] if each in said["mblock"]]
    for title, entries in (
        ("Both blocks", both),
        *((f"{block[0]}Block", [each for each in said[block] if each not in both]) for block in blocks),
    ):
        lines += [f"## {title}", "", *(line for each in entries for line in each)]
    return "\n".join(lines)


def entry(register: Register) -> list[str]:
    """A register on the page: its place and purpose, then a line for each field."""
    place = " + ".join([f"{register.offset:#05x}", *(f"{a.stride:#x} · {a.name}" for a in register.arrays)])
    counts = ", ".join(f"{a.name} 0…{a.count - 1}" for a in register.arrays)
    lines = [f"**`{register.name}`** at {place}: {register.desc}" + (f" ({counts})" if counts else ""), ""]
    for f in register.fields:
        bits = f"{f.low + f.width - 1}:{f.low}" if f.width > 1 else str(f.low)
        access = ", write 1 to clear" if f.clears else ", writable" if f.writable else ""
        value = f"{f.reset:#x}" if f.reset and f.reset > 9 else f.reset
        reset = ", of the block" if f.reset is None else f", reset {value}" if f.reset else ""
        said = "" if f.desc == f.name else f": {f.desc}"
        lines.append(f"- {bits} `{f.name}`{access}{reset}{said}")
    return [*lines, ""]


def as_json(registers: list[Register]) -> str:
    rows = []
    for r in registers:
        rows.append(
            {
                "block": r.block,
                "name": r.name,
                "offset": r.offset,
                "arrays": [{"name": a.name, "count": a.count, "stride": a.stride} for a in r.arrays],
                "writable": r.writable,
                "mask": sum(((1 << f.width) - 1) << f.low for f in r.fields if f.writable or not r.writable),
                "clears": sum(((1 << f.width) - 1) << f.low for f in r.fields if f.clears),
                "reset": r.reset,
            }
        )
    return json.dumps(rows, indent=1)


def main(words: list[str]) -> int:
    if words not in (["write"], ["check"], ["json"]):
        print("usage: registers.py write | check | json", file=sys.stderr)
        return 2
    registers = load()
    if words == ["json"]:
        print(as_json(registers))
        return 0
    files = {
        HERE / "consort_remote_regs_pkg.sv": package(registers),
        ROOT / "include" / "consort" / "remote" / "registers.hpp": header(registers),
        ROOT / "kernel-module" / "remap_registers.h": c_header(registers, NOTE),
        ROOT / "docs" / "remote-registers.md": page(registers),
    }
    stale = [path for path, text in files.items() if not path.exists() or path.read_text() != text]
    if words == ["write"]:
        for path in stale:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(files[path])
            print(f"written: {path.relative_to(ROOT)}")
        return 0
    for path in stale:
        print(
            f"{path.relative_to(ROOT)} is not what rtl/regs/remote.rdl says; run rtl/regs/registers.py write"
        )
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
